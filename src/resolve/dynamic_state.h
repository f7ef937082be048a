/* SPDX-License-Identifier: Apache-2.0
 *
 * JIT-compiled code described by files: internals for dynamic.c and jitdump.c only.
 */
#ifndef ST_RESOLVE_DYNAMIC_STATE_H
#define ST_RESOLVE_DYNAMIC_STATE_H

#include <stddef.h>

#include "resolve/ranges.h"
#include "store/text_table.h"

struct st_dynamic_line {
	uint64_t address; /* holds up to the next one */
	st_string_id file;
	uint32_t line;
};

struct st_dynamic_code {
	st_string_id name;
	uint64_t start, size_bytes;
	uint32_t first_line, line_count;
};

struct st_dynamic_codes {
	struct st_text_table texts;
	struct st_ranges ranges; /* index into items; later ones take the place of earlier ones */
	struct st_dynamic_code *items;
	uint32_t count, capacity;
	struct st_dynamic_line *lines;
	uint32_t line_count, line_capacity;
};

/* False: no memory. */
bool st_dynamic_add(struct st_dynamic_codes *codes, uint32_t process,
		    const struct st_dynamic_code *code);
bool st_perf_map_read(struct st_dynamic_codes *codes, uint32_t process, const char *text,
		      size_t size_bytes);
bool st_jitdump_read(struct st_dynamic_codes *codes, uint32_t process, const uint8_t *bytes,
		     size_t size_bytes);

#endif
