/* SPDX-License-Identifier: Apache-2.0
 *
 * The streams of events.
 */
#include "serve/http/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { PENDING_MAX = 256 << 10 };

struct st_stream_out {
	struct st_event_streams *events;
	const void *owner; /* the session */
	void (*wake)(void *arg);
	void *arg;
	struct st_buf pending;
	size_t taken;
	bool ended;
	bool lost; /* it did not read: the rest of what was meant for it is gone */
	struct st_stream_out *next;
};

struct st_event_streams {
	struct st_stream_out *streams;
	size_t count;
	bool ended;
};

struct st_event_streams *st_events_create(void)
{
	return calloc(1, sizeof(struct st_event_streams));
}

void st_events_destroy(struct st_event_streams *events)
{
	struct st_stream_out *next;

	for (struct st_stream_out *stream = events ? events->streams : NULL; stream;
	     stream = next) {
		next = stream->next;
		st_buf_fini(&stream->pending);
		free(stream);
	}
	free(events);
}

struct st_stream_out *st_events_join(struct st_event_streams *events, const void *owner,
				     void (*wake)(void *arg), void *arg)
{
	struct st_stream_out *stream;

	if (events->count >= ST_STREAMS_MAX)
		return NULL;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	stream->events = events;
	stream->owner = owner;
	stream->wake = wake;
	stream->arg = arg;
	st_buf_init(&stream->pending, PENDING_MAX);
	st_buf_append_text(&stream->pending, "retry: 2000\n\n");
	stream->next = events->streams;
	events->streams = stream;
	events->count++;
	return stream;
}

void st_events_leave(struct st_stream_out *stream)
{
	struct st_stream_out **at;

	if (!stream)
		return;
	at = &stream->events->streams;
	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	stream->events->count--;
	st_buf_fini(&stream->pending);
	free(stream);
}

bool st_events_has_streams(const struct st_event_streams *events)
{
	return events->streams != NULL;
}

static void put(struct st_event_streams *events, const char *text, size_t size_bytes)
{
	struct st_stream_out *next;

	for (struct st_stream_out *stream = events->streams; stream; stream = next) {
		next = stream->next;
		if (!stream->lost && !st_buf_append(&stream->pending, text, size_bytes))
			stream->lost = true;
		stream->wake(stream->arg);
	}
}

void st_events_send(struct st_event_streams *events, const char *kind, const char *data,
		    size_t size_bytes)
{
	struct st_buf text;

	if (!events->streams)
		return;
	while (size_bytes && data[size_bytes - 1] == '\n')
		size_bytes--;
	st_buf_init(&text, PENDING_MAX);
	st_buf_printf(&text, "event: %s\ndata: ", kind);
	st_buf_append(&text, data, size_bytes);
	st_buf_append_text(&text, "\n\n");
	if (!text.failed)
		put(events, (const char *)text.data, text.size_bytes);
	st_buf_fini(&text);
}

void st_events_keep_alive(struct st_event_streams *events)
{
	put(events, ":\n\n", 3);
}

void st_events_end(struct st_event_streams *events)
{
	events->ended = true;
	put(events, "", 0);
}

void st_events_end_of(struct st_event_streams *events, const void *owner)
{
	struct st_stream_out *next;

	for (struct st_stream_out *stream = events->streams; stream; stream = next) {
		next = stream->next;
		if (stream->owner != owner)
			continue;
		st_buf_clear(&stream->pending);
		stream->taken = 0;
		stream->ended = true;
		stream->wake(stream->arg);
	}
}

ssize_t st_events_read(struct st_stream_out *stream, char *to, size_t capacity)
{
	/* A client that was too slow: it connects again, and looks at everything anew. */
	static const char look_again[] = "event: results\ndata: {}\n\n";
	size_t left = stream->pending.size_bytes - stream->taken;

	if (stream->ended || (!left && stream->events->ended))
		return -1;
	if (left > capacity)
		left = capacity;
	if (left)
		memcpy(to, stream->pending.data + stream->taken, left);
	stream->taken += left;
	if (stream->taken == stream->pending.size_bytes) {
		st_buf_clear(&stream->pending);
		stream->taken = 0;
		if (stream->lost)
			st_buf_append_text(&stream->pending, look_again);
		stream->lost = false;
	}
	return (ssize_t)left;
}
