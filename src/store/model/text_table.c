// SPDX-License-Identifier: Apache-2.0
//
// The interned texts of store/model/text_table.h: bytes in large blocks, ids in an open-addressed table.
#include "store/model/text_table.h"

#include <stdlib.h>
#include <string.h>

#include "format/chunk.h"

enum {
	BLOCK_BYTES = 256 << 10,
	FIRST_SLOTS = 256,
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
	free(table->hashes);
	free(table->slots);
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

static bool grow_texts(struct st_text_table *table)
{
	uint32_t capacity = table->capacity ? table->capacity * 2 : FIRST_SLOTS;
	struct st_text *texts;
	uint32_t *hashes;

	texts = realloc(table->texts, capacity * sizeof(*texts));
	if (!texts)
		return false;
	table->texts = texts;
	hashes = realloc(table->hashes, capacity * sizeof(*hashes));
	if (!hashes)
		return false;
	table->hashes = hashes;
	table->capacity = capacity;
	return true;
}

static bool grow_slots(struct st_text_table *table)
{
	size_t slot_count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
	uint32_t *slots = calloc(slot_count, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t id = 0; id < table->count; id++) {
		size_t at = table->hashes[id] & (slot_count - 1);

		while (slots[at])
			at = (at + 1) & (slot_count - 1);
		slots[at] = id + 1;
	}
	free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return true;
}

/* The slot that holds this text, or the free one where it belongs. */
static size_t find_slot(const struct st_text_table *table, uint32_t hash, const void *bytes,
			size_t size_bytes)
{
	size_t at = hash & (table->slot_count - 1);

	for (;; at = (at + 1) & (table->slot_count - 1)) {
		uint32_t id = table->slots[at] - 1;
		const struct st_text *text;

		if (!table->slots[at])
			return at;
		text = &table->texts[id];
		if (table->hashes[id] == hash && text->size_bytes == size_bytes &&
		    (!size_bytes || memcmp(text->bytes, bytes, size_bytes) == 0))
			return at;
	}
}

bool st_text_table_add(struct st_text_table *table, const void *bytes, size_t size_bytes,
		       st_string_id *out)
{
	uint32_t hash = st_crc32c((uint32_t)size_bytes, bytes, size_bytes);
	size_t slot;
	char *copy;

	*out = 0;
	if ((size_t)table->count * 2 >= table->slot_count && !grow_slots(table))
		return false;
	slot = find_slot(table, hash, bytes, size_bytes);
	if (table->slots[slot]) {
		*out = table->slots[slot] - 1;
		return true;
	}
	if (table->count >= TEXTS_MAX || size_bytes > table_max_bytes - table->size_bytes)
		return false;
	if (table->count == table->capacity && !grow_texts(table))
		return false;
	copy = take_bytes(table, size_bytes + 1);
	if (!copy)
		return false;
	if (size_bytes)
		memcpy(copy, bytes, size_bytes);
	copy[size_bytes] = '\0';
	table->size_bytes += size_bytes;
	table->texts[table->count] = (struct st_text){.bytes = copy, .size_bytes = size_bytes};
	table->hashes[table->count] = hash;
	table->slots[slot] = ++table->count;
	*out = table->count - 1;
	return true;
}

struct st_text st_text_table_get(const struct st_text_table *table, st_string_id id)
{
	if (id >= table->count)
		return (struct st_text){.bytes = "", .size_bytes = 0};
	return table->texts[id];
}
