// SPDX-License-Identifier: Apache-2.0
//
// The protobuf wire format. Lengths stand in front of what they measure: one byte is kept free for
// them, and the few messages of 128 bytes and more are moved up when they end. So every length is as
// short as it can be, and no message is built in a place of its own first.
#include "export/protobuf.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_out.h"

enum {
	WIRE_VARINT = 0,
	WIRE_64_BITS = 1,
	WIRE_LENGTH = 2,
	VARINT_MAX_BYTES = 10,
	FIELD_MAX_BYTES = 2 * VARINT_MAX_BYTES
};

static size_t put_varint(uint8_t *to, uint64_t value)
{
	size_t count = 0;

	while (value >= 0x80) {
		to[count++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	to[count++] = (uint8_t)value;
	return count;
}

/* Most of a trace is small numbers: they are put where they belong as long as there is room for any. */
static bool has_room(const struct st_buf *out)
{
	return !out->failed && out->capacity_bytes - out->size_bytes >= FIELD_MAX_BYTES;
}

void st_pb_u64(struct st_buf *out, uint32_t field, uint64_t value)
{
	uint8_t bytes[FIELD_MAX_BYTES];
	uint8_t *to = has_room(out) ? out->data + out->size_bytes : bytes;
	size_t count = put_varint(to, (uint64_t)field << 3 | WIRE_VARINT);

	count += put_varint(to + count, value);
	if (to == bytes)
		st_buf_append(out, bytes, count);
	else
		out->size_bytes += count;
}

void st_pb_i64(struct st_buf *out, uint32_t field, int64_t value)
{
	st_pb_u64(out, field, (uint64_t)value);
}

void st_pb_fixed64(struct st_buf *out, uint32_t field, uint64_t value)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	st_buf_append(out, bytes, put_varint(bytes, (uint64_t)field << 3 | WIRE_64_BITS));
	st_buf_append_u64(out, value);
}

void st_pb_double(struct st_buf *out, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	st_pb_fixed64(out, field, bits);
}

size_t st_pb_begin(struct st_buf *out, uint32_t field)
{
	uint8_t bytes[FIELD_MAX_BYTES];
	uint8_t *to = has_room(out) ? out->data + out->size_bytes : bytes;
	size_t count = put_varint(to, (uint64_t)field << 3 | WIRE_LENGTH);

	to[count++] = 0;
	if (to == bytes)
		st_buf_append(out, bytes, count);
	else
		out->size_bytes += count;
	return out->size_bytes;
}

void st_pb_end(struct st_buf *out, size_t begin)
{
	uint8_t bytes[VARINT_MAX_BYTES];
	size_t size_bytes = out->size_bytes - begin;
	size_t count;

	if (size_bytes < 0x80 && !out->failed) {
		out->data[begin - 1] = (uint8_t)size_bytes;
		return;
	}
	count = put_varint(bytes, size_bytes);
	/* The place of the length is made at the end, where a buffer grows. */
	if (out->failed || !st_buf_append(out, bytes, count - 1))
		return;
	if (count > 1)
		memmove(out->data + begin + count - 1, out->data + begin, size_bytes);
	memcpy(out->data + begin - 1, bytes, count);
}

void st_pb_text(struct st_buf *out, uint32_t field, const void *bytes, size_t size_bytes)
{
	size_t begin = st_pb_begin(out, field);

	st_utf8_append_clean(out, bytes, size_bytes);
	st_pb_end(out, begin);
}
