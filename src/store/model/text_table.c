// SPDX-License-Identifier: Apache-2.0
//
// The interned texts of store/text_table.h: bytes in large blocks.
#include "store/text_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/chunk.h"

enum {
	BLOCK_BYTES = 256 << 10,
	TEXTS_MAX = 1 << 30,
};
/* More names than any program has; a file that defines more is refused rather than believed. */
static const uint64_t table_max_bytes = 4ull << 30;

struct st_text_block {
	struct st_text_block *next;
	size_t used_bytes, size_bytes;
	char data[];
};

bool st_text_table_init(struct st_text_table *table)
{
	st_string_id id;

	memset(table, 0, sizeof(*table));
	return st_text_table_add(table, "", 0, &id);
}

void st_text_table_fini(struct st_text_table *table)
{
	if (!table)
		return;
	while (table->blocks) {
		struct st_text_block *next = table->blocks->next;

		free(table->blocks);
		table->blocks = next;
	}
	free(table->texts);
	st_map_fini(&table->map);
	memset(table, 0, sizeof(*table));
}

/* Room for one text and its terminator. A long one gets a block of its own, behind the current one, so
 * that the current one goes on being filled. */
static char *take_bytes(struct st_text_table *table, size_t size_bytes)
{
	struct st_text_block *block = table->blocks;
	size_t block_bytes = size_bytes > BLOCK_BYTES / 4 ? size_bytes : BLOCK_BYTES;
	char *at;

	if (!block || block->size_bytes - block->used_bytes < size_bytes) {
		block = malloc(sizeof(*block) + block_bytes);
		if (!block)
			return NULL;
		block->used_bytes = 0;
		block->size_bytes = block_bytes;
		if (table->blocks && block_bytes != BLOCK_BYTES) {
			block->next = table->blocks->next;
			table->blocks->next = block;
		} else {
			block->next = table->blocks;
			table->blocks = block;
		}
	}
	at = block->data + block->used_bytes;
	block->used_bytes += size_bytes;
	return at;
}

static bool is_text(const void *texts, uint32_t id, const void *key)
{
	const struct st_text *known = (const struct st_text *)texts + id, *wanted = key;

	return known->size_bytes == wanted->size_bytes &&
	       (!known->size_bytes || memcmp(known->bytes, wanted->bytes, known->size_bytes) == 0);
}

bool st_text_table_add(struct st_text_table *table, const void *bytes, size_t size_bytes,
		       st_string_id *out)
{
	struct st_text text = {bytes, size_bytes};
	uint32_t hash = st_crc32c((uint32_t)size_bytes, bytes, size_bytes);
	uint32_t id = st_map_find(&table->map, hash, is_text, table->texts, &text);
	char *copy;

	*out = id == ST_ID_NONE ? 0 : id;
	if (id != ST_ID_NONE)
		return true;
	if (table->count >= TEXTS_MAX || size_bytes > table_max_bytes - table->size_bytes ||
	    !ST_VEC_ROOM(table->texts, table->count, table->capacity))
		return false;
	copy = take_bytes(table, size_bytes + 1);
	if (!copy || !st_map_add(&table->map, hash, table->count))
		return false;
	if (size_bytes)
		memcpy(copy, bytes, size_bytes);
	copy[size_bytes] = '\0';
	table->size_bytes += size_bytes;
	table->texts[table->count] = (struct st_text){.bytes = copy, .size_bytes = size_bytes};
	*out = table->count++;
	return true;
}

struct st_text st_text_table_get(const struct st_text_table *table, st_string_id id)
{
	if (id >= table->count)
		return (struct st_text){.bytes = "", .size_bytes = 0};
	return table->texts[id];
}
