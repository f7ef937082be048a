/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is allocated piece by piece and freed at once. A failed piece (no memory, or over the
 * maximum) sets `failed`; later calls fail too, so a caller may test once. Pieces are aligned to 16
 * bytes and not zeroed unless asked for.
 */
#ifndef ST_BASE_ARENA_H
#define ST_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct st_arena_block;

struct st_arena {
	struct st_arena_block *blocks;
	size_t used_bytes;
	size_t max_bytes;
	bool failed;
};

void st_arena_init(struct st_arena *arena, size_t max_bytes);
void st_arena_fini(struct st_arena *arena);
/* Moves every piece of from into to, where they live on; from is empty afterwards. */
void st_arena_take(struct st_arena *to, struct st_arena *from);
void *st_arena_alloc(struct st_arena *arena, size_t size_bytes);
void *st_arena_calloc(struct st_arena *arena, size_t count, size_t size_bytes);
/* A copy with a terminator behind it. */
char *st_arena_copy(struct st_arena *arena, const void *bytes, size_t size_bytes);
char *st_arena_printf(struct st_arena *arena, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
