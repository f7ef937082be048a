/* SPDX-License-Identifier: Apache-2.0
 *
 * Server-sent events: what a page is told without asking, and those who listen.
 */
#ifndef ST_SERVE_HTTP_EVENTS_H
#define ST_SERVE_HTTP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { ST_STREAMS_MAX = 64 };

struct st_buf;
struct st_event_streams;
struct st_stream_out;

struct st_event_streams *st_events_create(void);
void st_events_destroy(struct st_event_streams *events);
/* data is one line of JSON. Streams that do not read lose events, not the server its memory: they are told to look again. */
void st_events_send(struct st_event_streams *events, const char *kind, const char *data,
		    size_t size_bytes);
bool st_events_has_streams(const struct st_event_streams *events);
/* So that broken connections are noticed and proxies keep whole ones. */
void st_events_keep_alive(struct st_event_streams *events);
/* From now on nothing more comes: who listens is let go. */
void st_events_end(struct st_event_streams *events);

/* A listener; NULL: there are too many. wake is called when there is something to read. */
struct st_stream_out *st_events_join(struct st_event_streams *events, const void *owner,
				     void (*wake)(void *arg), void *arg);
/* Lets go those that the owner has. */
void st_events_end_of(struct st_event_streams *events, const void *owner);
void st_events_leave(struct st_stream_out *stream);
/* Bytes taken; 0: nothing now; -1: it is over. */
ssize_t st_events_read(struct st_stream_out *stream, char *to, size_t capacity);

#endif
