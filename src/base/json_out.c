// SPDX-License-Identifier: Apache-2.0
//
// The JSON writer of base/json_out.h, and the cleaning of foreign text to valid UTF-8.
#include "base/json_out.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

size_t st_utf8_length(const uint8_t *p, const uint8_t *end)
{
	size_t left = (size_t)(end - p);

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		return left >= 2 && (p[1] & 0xc0) == 0x80 ? 2 : 0;
	if (p[0] >= 0xe0 && p[0] <= 0xef) {
		if (left < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80)
			return 0;
		if (p[0] == 0xe0 && p[1] < 0xa0)
			return 0;
		if (p[0] == 0xed && p[1] > 0x9f)
			return 0;
		return 3;
	}
	if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		if (left < 4 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80 ||
		    (p[3] & 0xc0) != 0x80)
			return 0;
		if (p[0] == 0xf0 && p[1] < 0x90)
			return 0;
		if (p[0] == 0xf4 && p[1] > 0x8f)
			return 0;
		return 4;
	}
	return 0;
}

bool st_utf8_is_valid(const void *bytes, size_t size_bytes)
{
	const uint8_t *p = bytes, *end = p + size_bytes;
	size_t length = 1;

	while (p < end && (length = st_utf8_length(p, end)) > 0)
		p += length;
	return length > 0;
}

void st_utf8_append_clean(struct st_buf *out, const void *bytes, size_t size_bytes)
{
	const uint8_t *p = bytes, *end = p + size_bytes;

	while (p < end) {
		const uint8_t *run = p;
		size_t length = 1;

		while (p < end && (length = st_utf8_length(p, end)) > 0)
			p += length;
		st_buf_append(out, run, (size_t)(p - run));
		if (p < end) {
			st_buf_append(out, replacement, 3);
			p++;
		}
	}
}

void st_json_init(struct st_json *json, struct st_buf *out)
{
	memset(json, 0, sizeof(*json));
	json->out = out;
}

static void before_value(struct st_json *json)
{
	uint64_t bit = 1ull << json->depth;

	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->has_items & bit)
		st_buf_append_u8(json->out, ',');
	json->has_items |= bit;
}

static void open_level(struct st_json *json, char bracket)
{
	before_value(json);
	st_buf_append_u8(json->out, (uint8_t)bracket);
	assert(json->depth < ST_JSON_MAX_DEPTH);
	json->depth++;
	json->has_items &= ~(1ull << json->depth);
}

static void close_level(struct st_json *json, char bracket)
{
	assert(json->depth > 0 && !json->after_key);
	json->depth--;
	st_buf_append_u8(json->out, (uint8_t)bracket);
}

void st_json_object_begin(struct st_json *json)
{
	open_level(json, '{');
}

void st_json_object_end(struct st_json *json)
{
	close_level(json, '}');
}

void st_json_array_begin(struct st_json *json)
{
	open_level(json, '[');
}

void st_json_array_end(struct st_json *json)
{
	close_level(json, ']');
}

static void append_escape(struct st_buf *out, uint8_t c)
{
	static const char hex[] = "0123456789abcdef";
	uint8_t escape[6] = {'\\', 'u', '0', '0', 0, 0};

	switch (c) {
	case '"':
	case '\\':
		st_buf_append_u8(out, '\\');
		st_buf_append_u8(out, c);
		return;
	case '\n':
		st_buf_append(out, "\\n", 2);
		return;
	case '\r':
		st_buf_append(out, "\\r", 2);
		return;
	case '\t':
		st_buf_append(out, "\\t", 2);
		return;
	default:
		escape[4] = (uint8_t)hex[c >> 4];
		escape[5] = (uint8_t)hex[c & 15];
		st_buf_append(out, escape, 6);
	}
}

static bool plain(uint8_t c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c < 0x7f;
}

static void append_string(struct st_buf *out, const uint8_t *p, size_t size_bytes)
{
	const uint8_t *end = p + size_bytes;

	st_buf_append_u8(out, '"');
	while (p < end) {
		const uint8_t *run = p;
		size_t length;

		while (p < end && plain(*p))
			p++;
		st_buf_append(out, run, (size_t)(p - run));
		if (p == end)
			break;
		if (*p < 0x80) {
			append_escape(out, *p++);
			continue;
		}
		length = st_utf8_length(p, end);
		if (length)
			st_buf_append(out, p, length);
		else
			st_buf_append(out, replacement, 3);
		p += length ? length : 1;
	}
	st_buf_append_u8(out, '"');
}

void st_json_key(struct st_json *json, const char *key)
{
	st_json_key_bytes(json, key, strlen(key));
}

void st_json_key_bytes(struct st_json *json, const void *bytes, size_t size_bytes)
{
	before_value(json);
	append_string(json->out, bytes, size_bytes);
	st_buf_append_u8(json->out, ':');
	json->after_key = true;
}

void st_json_text(struct st_json *json, const char *text)
{
	st_json_bytes(json, text, strlen(text));
}

void st_json_bytes(struct st_json *json, const void *bytes, size_t size_bytes)
{
	before_value(json);
	append_string(json->out, bytes, size_bytes);
}

void st_json_u64(struct st_json *json, uint64_t value)
{
	before_value(json);
	st_buf_printf(json->out, "%llu", (unsigned long long)value);
}

void st_json_i64(struct st_json *json, int64_t value)
{
	before_value(json);
	st_buf_printf(json->out, "%lld", (long long)value);
}

void st_json_double(struct st_json *json, double value)
{
	char text[40];

	before_value(json);
	if (!isfinite(value)) {
		st_buf_append(json->out, "null", 4);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	st_buf_append_text(json->out, text);
}

void st_json_bool(struct st_json *json, bool value)
{
	before_value(json);
	st_buf_append_text(json->out, value ? "true" : "false");
}

void st_json_null(struct st_json *json)
{
	before_value(json);
	st_buf_append(json->out, "null", 4);
}

void st_json_value(struct st_json *json, const void *bytes, size_t size_bytes)
{
	before_value(json);
	st_buf_append(json->out, bytes, size_bytes);
}

void st_json_put_text(struct st_json *json, const char *key, const char *text)
{
	st_json_key(json, key);
	st_json_text(json, text ? text : "");
}

void st_json_put_bytes(struct st_json *json, const char *key, const void *bytes, size_t size_bytes)
{
	st_json_key(json, key);
	st_json_bytes(json, bytes, size_bytes);
}

void st_json_put_u64(struct st_json *json, const char *key, uint64_t value)
{
	st_json_key(json, key);
	st_json_u64(json, value);
}

void st_json_put_i64(struct st_json *json, const char *key, int64_t value)
{
	st_json_key(json, key);
	st_json_i64(json, value);
}

void st_json_put_bool(struct st_json *json, const char *key, bool value)
{
	st_json_key(json, key);
	st_json_bool(json, value);
}

void st_json_put_object(struct st_json *json, const char *key)
{
	st_json_key(json, key);
	st_json_object_begin(json);
}

void st_json_put_array(struct st_json *json, const char *key)
{
	st_json_key(json, key);
	st_json_array_begin(json);
}
