// SPDX-License-Identifier: Apache-2.0
//
// The growable buffer of base/buf.h.
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void st_buf_init(struct st_buf *buf, size_t max_bytes)
{
	memset(buf, 0, sizeof(*buf));
	buf->max_bytes = max_bytes;
}

void st_buf_fini(struct st_buf *buf)
{
	if (!buf)
		return;
	free(buf->data);
	memset(buf, 0, sizeof(*buf));
}

void st_buf_clear(struct st_buf *buf)
{
	buf->size_bytes = 0;
	buf->failed = false;
}

bool st_buf_reserve(struct st_buf *buf, size_t more_bytes)
{
	size_t need, capacity;
	uint8_t *data;

	if (buf->failed)
		return false;
	if (more_bytes <= buf->capacity_bytes - buf->size_bytes)
		return true;
	if (more_bytes > buf->max_bytes - buf->size_bytes) {
		buf->failed = true;
		return false;
	}
	need = buf->size_bytes + more_bytes;
	capacity = buf->capacity_bytes ? buf->capacity_bytes : 256;
	while (capacity < need)
		capacity *= 2;
	if (capacity > buf->max_bytes)
		capacity = buf->max_bytes;
	data = realloc(buf->data, capacity);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->capacity_bytes = capacity;
	return true;
}

bool st_buf_append(struct st_buf *buf, const void *data, size_t size_bytes)
{
	if (!st_buf_reserve(buf, size_bytes))
		return false;
	if (size_bytes)
		memcpy(buf->data + buf->size_bytes, data, size_bytes);
	buf->size_bytes += size_bytes;
	return true;
}

bool st_buf_append_u8(struct st_buf *buf, uint8_t value)
{
	return st_buf_append(buf, &value, 1);
}

static bool append_little_endian(struct st_buf *buf, uint64_t value, unsigned int width)
{
	uint8_t bytes[8];

	for (unsigned int i = 0; i < width; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	return st_buf_append(buf, bytes, width);
}

bool st_buf_append_u16(struct st_buf *buf, uint16_t value)
{
	return append_little_endian(buf, value, 2);
}

bool st_buf_append_u32(struct st_buf *buf, uint32_t value)
{
	return append_little_endian(buf, value, 4);
}

bool st_buf_append_u64(struct st_buf *buf, uint64_t value)
{
	return append_little_endian(buf, value, 8);
}

bool st_buf_append_text(struct st_buf *buf, const char *text)
{
	return st_buf_append(buf, text, strlen(text));
}

bool st_buf_append_count(struct st_buf *buf, uint64_t count)
{
	char digits[24], shown[32];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t to = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			shown[to++] = ',';
		shown[to++] = digits[i];
	}
	return st_buf_append(buf, shown, to);
}

bool st_buf_printf(struct st_buf *buf, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (length < 0 || !st_buf_reserve(buf, (size_t)length + 1)) {
		buf->failed = true;
		return false;
	}
	va_start(args, fmt);
	vsnprintf((char *)buf->data + buf->size_bytes, (size_t)length + 1, fmt, args);
	va_end(args);
	buf->size_bytes += (size_t)length;
	return true;
}
