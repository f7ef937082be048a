/* SPDX-License-Identifier: Apache-2.0
 *
 * A growable byte buffer with a maximum fixed at creation. A failed append (no memory, or over the
 * maximum) sets `failed` and leaves the content as it was; later appends do nothing, so a caller may
 * append many things and test once.
 */
#ifndef ST_BASE_BUF_H
#define ST_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_buf {
	uint8_t *data;
	size_t size_bytes;
	size_t capacity_bytes;
	size_t max_bytes;
	bool failed;
};

void st_buf_init(struct st_buf *buf, size_t max_bytes);
void st_buf_fini(struct st_buf *buf);
void st_buf_clear(struct st_buf *buf); /* keeps the memory, forgets content and failure */
bool st_buf_reserve(struct st_buf *buf, size_t more_bytes);
bool st_buf_append(struct st_buf *buf, const void *data, size_t size_bytes);
bool st_buf_append_u8(struct st_buf *buf, uint8_t value);
bool st_buf_append_u16(struct st_buf *buf, uint16_t value); /* little-endian */
bool st_buf_append_u32(struct st_buf *buf, uint32_t value);
bool st_buf_append_u64(struct st_buf *buf, uint64_t value);
bool st_buf_append_text(struct st_buf *buf, const char *text); /* without the terminator */
bool st_buf_append_count(struct st_buf *buf, uint64_t count);  /* "1,234,567" */
bool st_buf_printf(struct st_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
