// SPDX-License-Identifier: Apache-2.0
//
// Events between the words of a ring, struct st_event and the bytes of a trace. Both inputs may be
// hostile: every length is checked against what is there.
#include "format/event.h"

#include <string.h>

#include "format/varint.h"

enum {
	/* Everything but the data: ten numbers of 32 bits at most, eleven of 64. */
	HEAD_MAX_BYTES = 10 * ST_VARINT32_MAX_BYTES + 11 * ST_VARINT64_MAX_BYTES,
	ID_WORDS = 3,
	WORD_BYTES = 8,
};

struct words {
	const uint64_t *at;
	uint32_t left;
	bool failed;
};

static uint64_t take_word(struct words *words)
{
	if (!words->left) {
		words->failed = true;
		return 0;
	}
	words->left--;
	return *words->at++;
}

static void take_id(struct words *words, uint64_t *id)
{
	for (unsigned int i = 0; i < ID_WORDS; i++)
		id[i] = take_word(words);
}

static void take_data(struct words *words, struct st_event *out)
{
	uint64_t size_bytes = take_word(words);
	uint64_t count;

	if (words->failed || size_bytes > ST_EVENT_DATA_MAX) {
		words->failed = true;
		return;
	}
	count = (size_bytes + WORD_BYTES - 1) / WORD_BYTES;
	if (count > words->left) {
		words->failed = true;
		return;
	}
	out->data = words->at;
	out->data_bytes = (size_t)size_bytes;
	words->at += count;
	words->left -= (uint32_t)count;
}

bool st_event_from_words(struct st_event *out, const uint64_t *words, uint32_t word_count)
{
	struct words in = {.at = words, .left = word_count};
	uint64_t head = take_word(&in), names = 0;

	memset(out, 0, sizeof(*out));
	out->kind = head & 0xffff;
	out->mask = head >> 16 & 0xffff;
	out->detail = (uint32_t)(head >> 32);
	if (in.failed || !out->kind || out->mask & ~(uint32_t)ST_FIELDS_ALL)
		return false;
	if (out->mask & ST_FIELD_NAMES)
		names = take_word(&in);
	out->domain = (uint32_t)names;
	out->name = (uint32_t)(names >> 32);
	if (out->mask & ST_FIELD_ID)
		take_id(&in, out->id);
	if (out->mask & ST_FIELD_OTHER)
		take_id(&in, out->other);
	if (out->mask & ST_FIELD_VALUE)
		out->value = take_word(&in);
	if (out->mask & ST_FIELD_EXTRA)
		out->extra = take_word(&in);
	if (out->mask & ST_FIELD_OBJECT)
		out->object = (uint32_t)take_word(&in);
	if (out->mask & ST_FIELD_TIME)
		out->time = take_word(&in);
	if (out->mask & ST_FIELD_CLOCK)
		out->clock = (uint32_t)take_word(&in);
	if (out->mask & ST_FIELD_DATA)
		take_data(&in, out);
	return !in.failed && !in.left;
}

static uint8_t *put_id(uint8_t *at, const uint64_t *id)
{
	for (unsigned int i = 0; i < ID_WORDS; i++)
		at = st_varint_put(at, id[i]);
	return at;
}

void st_event_encode(const struct st_event *event, struct st_buf *out)
{
	uint32_t mask = event->mask & ST_FIELDS_ALL;
	uint8_t *at;

	if (!st_buf_reserve(out, HEAD_MAX_BYTES + event->data_bytes))
		return;
	at = out->data + out->size_bytes;
	at = st_varint_put(at, event->kind);
	at = st_varint_put(at, mask);
	at = st_varint_put(at, event->detail);
	if (mask & ST_FIELD_NAMES)
		at = st_varint_put(st_varint_put(at, event->domain), event->name);
	if (mask & ST_FIELD_ID)
		at = put_id(at, event->id);
	if (mask & ST_FIELD_OTHER)
		at = put_id(at, event->other);
	if (mask & ST_FIELD_VALUE)
		at = st_varint_put(at, event->value);
	if (mask & ST_FIELD_EXTRA)
		at = st_varint_put(at, event->extra);
	if (mask & ST_FIELD_OBJECT)
		at = st_varint_put(at, event->object);
	if (mask & ST_FIELD_TIME)
		at = st_varint_put(at, event->time);
	if (mask & ST_FIELD_CLOCK)
		at = st_varint_put(at, event->clock);
	if (mask & ST_FIELD_DATA) {
		at = st_varint_put(at, event->data_bytes);
		if (event->data_bytes)
			memcpy(at, event->data, event->data_bytes);
		at += event->data_bytes;
	}
	out->size_bytes = (size_t)(at - out->data);
}

struct bytes {
	const uint8_t *at, *end;
	bool failed;
};

static uint64_t take_u64(struct bytes *in)
{
	uint64_t value = 0;

	if (!in->failed && !st_varint_get(&in->at, in->end, &value))
		in->failed = true;
	return in->failed ? 0 : value;
}

static uint32_t take_u32(struct bytes *in)
{
	uint64_t value = take_u64(in);

	if (value > UINT32_MAX)
		in->failed = true;
	return in->failed ? 0 : (uint32_t)value;
}

static void take_packed_id(struct bytes *in, uint64_t *id)
{
	for (unsigned int i = 0; i < ID_WORDS; i++)
		id[i] = take_u64(in);
}

static void take_packed_data(struct bytes *in, struct st_event *out)
{
	uint64_t size_bytes = take_u64(in);

	if (in->failed || size_bytes > (uint64_t)(in->end - in->at)) {
		in->failed = true;
		return;
	}
	out->data = in->at;
	out->data_bytes = (size_t)size_bytes;
	in->at += size_bytes;
}

static void take_fields(struct bytes *in, struct st_event *out)
{
	if (out->mask & ST_FIELD_NAMES) {
		out->domain = take_u32(in);
		out->name = take_u32(in);
	}
	if (out->mask & ST_FIELD_ID)
		take_packed_id(in, out->id);
	if (out->mask & ST_FIELD_OTHER)
		take_packed_id(in, out->other);
	if (out->mask & ST_FIELD_VALUE)
		out->value = take_u64(in);
	if (out->mask & ST_FIELD_EXTRA)
		out->extra = take_u64(in);
	if (out->mask & ST_FIELD_OBJECT)
		out->object = take_u32(in);
	if (out->mask & ST_FIELD_TIME)
		out->time = take_u64(in);
	if (out->mask & ST_FIELD_CLOCK)
		out->clock = take_u32(in);
	if (out->mask & ST_FIELD_DATA)
		take_packed_data(in, out);
}

enum st_status st_event_decode(struct st_event *out, const void *body, size_t body_bytes,
			       struct st_error *err)
{
	struct bytes in = {.at = body, .end = (const uint8_t *)body + body_bytes};

	memset(out, 0, sizeof(*out));
	out->kind = take_u32(&in);
	out->mask = take_u32(&in);
	out->detail = take_u32(&in);
	if (!in.failed && out->mask & ~(uint32_t)ST_FIELDS_ALL)
		return st_error_set(err, ST_ECORRUPT, 0, "event with unknown fields (mask %x)",
				    out->mask);
	take_fields(&in, out);
	if (in.failed)
		return st_error_set(err, ST_ECORRUPT, 0, "event of %zu bytes is truncated",
				    body_bytes);
	if (in.at != in.end)
		return st_error_set(err, ST_ECORRUPT, 0, "event of kind %u has %zu extra bytes",
				    out->kind, (size_t)(in.end - in.at));
	return ST_OK;
}
