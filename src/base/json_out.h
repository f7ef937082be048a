/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes strict JSON (RFC 8259) into a buffer, piece by piece. Commas and nesting are kept by the
 * writer. Text may be any bytes: what is not valid UTF-8 becomes U+FFFD, control characters are
 * escaped; so the output always parses. A NaN or infinity is written as null.
 */
#ifndef ST_BASE_JSON_OUT_H
#define ST_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_buf;

struct st_json {
	struct st_buf *out;
	uint64_t has_items; /* one bit per nesting level */
	unsigned int depth;
	bool after_key;
};

enum { ST_JSON_MAX_DEPTH = 63 };

void st_json_init(struct st_json *json, struct st_buf *out);
void st_json_object_begin(struct st_json *json);
void st_json_object_end(struct st_json *json);
void st_json_array_begin(struct st_json *json);
void st_json_array_end(struct st_json *json);
void st_json_key(struct st_json *json, const char *key);
void st_json_key_bytes(struct st_json *json, const void *bytes, size_t size_bytes);
void st_json_text(struct st_json *json, const char *text);
void st_json_bytes(struct st_json *json, const void *bytes, size_t size_bytes);
void st_json_u64(struct st_json *json, uint64_t value);
void st_json_i64(struct st_json *json, int64_t value);
void st_json_double(struct st_json *json, double value); /* reads back as the very same */
void st_json_bool(struct st_json *json, bool value);
void st_json_null(struct st_json *json);
/* A value that is JSON already, as it is. */
void st_json_value(struct st_json *json, const void *bytes, size_t size_bytes);

/* Members of an object: a key and its value; no text (NULL) is an empty one. */
void st_json_put_text(struct st_json *json, const char *key, const char *text);
void st_json_put_bytes(struct st_json *json, const char *key, const void *bytes, size_t size_bytes);
void st_json_put_u64(struct st_json *json, const char *key, uint64_t value);
void st_json_put_i64(struct st_json *json, const char *key, int64_t value);
void st_json_put_bool(struct st_json *json, const char *key, bool value);
void st_json_put_object(struct st_json *json, const char *key); /* begins it */
void st_json_put_array(struct st_json *json, const char *key);

/* Length of the valid UTF-8 sequence at p, before end; or 0. Refuses overlong forms, surrogates and
 * > U+10FFFF. */
size_t st_utf8_length(const uint8_t *p, const uint8_t *end);
bool st_utf8_is_valid(const void *bytes, size_t size_bytes);
/* Appends text as valid UTF-8: bad bytes become U+FFFD. Nothing is escaped. */
void st_utf8_append_clean(struct st_buf *out, const void *bytes, size_t size_bytes);

#endif
