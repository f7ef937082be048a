// SPDX-License-Identifier: Apache-2.0
//
// The arena of base/arena.h: a list of blocks, the newest first.
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 10, ALIGN = 16 };

struct st_arena_block {
	struct st_arena_block *next;
	size_t size_bytes, used_bytes;
	_Alignas(ALIGN) unsigned char data[];
};

void st_arena_init(struct st_arena *arena, size_t max_bytes)
{
	memset(arena, 0, sizeof(*arena));
	arena->max_bytes = max_bytes;
}

void st_arena_fini(struct st_arena *arena)
{
	struct st_arena_block *block, *next;

	if (!arena)
		return;
	for (block = arena->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	memset(arena, 0, sizeof(*arena));
}

void st_arena_take(struct st_arena *to, struct st_arena *from)
{
	struct st_arena_block **end = &to->blocks;

	while (*end)
		end = &(*end)->next;
	*end = from->blocks;
	to->used_bytes += from->used_bytes;
	to->failed = to->failed || from->failed;
	from->blocks = NULL;
	from->used_bytes = 0;
}

static struct st_arena_block *add_block(struct st_arena *arena, size_t need, bool zeroed)
{
	size_t size = need > BLOCK_BYTES / 4 ? need : BLOCK_BYTES;
	struct st_arena_block *block =
		zeroed ? calloc(1, sizeof(*block) + size) : malloc(sizeof(*block) + size);

	if (!block)
		return NULL;
	block->size_bytes = size;
	block->used_bytes = 0;
	/* A block made for one big piece goes behind the current one, whose room is still good. */
	if (arena->blocks && size == need) {
		block->next = arena->blocks->next;
		arena->blocks->next = block;
	} else {
		block->next = arena->blocks;
		arena->blocks = block;
	}
	return block;
}

static void *take_piece(struct st_arena *arena, size_t size_bytes, bool zeroed)
{
	struct st_arena_block *block = arena->blocks;
	bool is_fresh = false;
	size_t need;
	void *piece;

	if (arena->failed || size_bytes > arena->max_bytes - arena->used_bytes) {
		arena->failed = true;
		return NULL;
	}
	need = (size_bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (need == 0)
		need = ALIGN;
	if (!block || need > block->size_bytes - block->used_bytes) {
		/* A big piece has a block of its own: fresh pages are zero, and cost nothing before they are used. */
		is_fresh = zeroed && need > BLOCK_BYTES / 4;
		block = need >= size_bytes ? add_block(arena, need, is_fresh) : NULL;
		if (!block) {
			arena->failed = true;
			return NULL;
		}
	}
	piece = block->data + block->used_bytes;
	block->used_bytes += need;
	arena->used_bytes += size_bytes;
	if (zeroed && !is_fresh)
		memset(piece, 0, size_bytes);
	return piece;
}

void *st_arena_alloc(struct st_arena *arena, size_t size_bytes)
{
	return take_piece(arena, size_bytes, false);
}

void *st_arena_calloc(struct st_arena *arena, size_t count, size_t size_bytes)
{
	if (size_bytes && count > SIZE_MAX / size_bytes) {
		arena->failed = true;
		return NULL;
	}
	return take_piece(arena, count * size_bytes, true);
}

char *st_arena_copy(struct st_arena *arena, const void *bytes, size_t size_bytes)
{
	char *copy = size_bytes < SIZE_MAX ? st_arena_alloc(arena, size_bytes + 1) : NULL;

	if (!copy)
		return NULL;
	if (size_bytes)
		memcpy(copy, bytes, size_bytes);
	copy[size_bytes] = '\0';
	return copy;
}

char *st_arena_printf(struct st_arena *arena, const char *fmt, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, fmt);
	length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	text = length < 0 ? NULL : st_arena_alloc(arena, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(args, fmt);
	vsnprintf(text, (size_t)length + 1, fmt, args);
	va_end(args);
	return text;
}
