// SPDX-License-Identifier: Apache-2.0
//
// Writes and walks definition records. The cursor is the only way bytes of a definition are read: it
// never runs over its end, whatever the lengths inside say.
#include "format/definitions.h"

#include <string.h>

enum { RECORD_HEAD_BYTES = 8, BODY_SIZE_OFFSET = 4 };

size_t st_definition_begin(struct st_buf *out, enum st_definition_type type)
{
	size_t begin = out->size_bytes;

	st_buf_append_u16(out, (uint16_t)type);
	st_buf_append_u16(out, 0);
	st_buf_append_u32(out, 0);
	return begin;
}

void st_definition_text(struct st_buf *out, const void *bytes, size_t size_bytes)
{
	if (size_bytes > UINT32_MAX) {
		out->failed = true;
		return;
	}
	st_buf_append_u32(out, (uint32_t)size_bytes);
	st_buf_append(out, bytes, size_bytes);
}

void st_definition_end(struct st_buf *out, size_t begin)
{
	size_t body_bytes;
	uint32_t size;

	if (out->failed)
		return;
	body_bytes = out->size_bytes - begin - RECORD_HEAD_BYTES;
	if (body_bytes > UINT32_MAX) {
		out->failed = true;
		return;
	}
	size = (uint32_t)body_bytes;
	memcpy(out->data + begin + BODY_SIZE_OFFSET, &size, sizeof(size));
}

/* The next bytes, or NULL (and failed from then on) when there are not that many. */
static const uint8_t *take(struct st_cursor *cursor, size_t size_bytes)
{
	const uint8_t *at = cursor->at;

	if (cursor->failed || size_bytes > (size_t)(cursor->end - at)) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += size_bytes;
	return at;
}

static uint64_t take_little_endian(struct st_cursor *cursor, unsigned int width)
{
	const uint8_t *at = take(cursor, width);
	uint64_t value = 0;

	for (unsigned int i = 0; at && i < width; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

uint16_t st_cursor_u16(struct st_cursor *cursor)
{
	return (uint16_t)take_little_endian(cursor, 2);
}

uint32_t st_cursor_u32(struct st_cursor *cursor)
{
	return (uint32_t)take_little_endian(cursor, 4);
}

uint64_t st_cursor_u64(struct st_cursor *cursor)
{
	return take_little_endian(cursor, 8);
}

struct st_text st_cursor_text(struct st_cursor *cursor)
{
	uint32_t size_bytes = st_cursor_u32(cursor);
	const uint8_t *at = take(cursor, size_bytes);

	if (!at)
		return (struct st_text){.bytes = "", .size_bytes = 0};
	return (struct st_text){.bytes = (const char *)at, .size_bytes = size_bytes};
}

bool st_definition_next(struct st_cursor *payload, enum st_definition_type *type,
			struct st_cursor *body)
{
	uint32_t body_bytes;
	const uint8_t *at;

	memset(body, 0, sizeof(*body));
	if (payload->failed || payload->at == payload->end)
		return false;
	*type = (enum st_definition_type)st_cursor_u16(payload);
	st_cursor_u16(payload);
	body_bytes = st_cursor_u32(payload);
	at = take(payload, body_bytes);
	if (!at)
		return false;
	body->at = at;
	body->end = at + body_bytes;
	return true;
}
