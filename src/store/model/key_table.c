// SPDX-License-Identifier: Apache-2.0
//
// Open addressing with linear probing, at most half full.
#include "store/model/key_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { FIRST_SLOTS = 128, KEYS_MAX = 1 << 30 };

void st_key_table_fini(struct st_key_table *table)
{
	if (!table)
		return;
	free(table->keys);
	free(table->slots);
	memset(table, 0, sizeof(*table));
}

/* The slot that holds this key, or the free one where it belongs. */
static size_t place_of(const struct st_key_table *table, const struct st_key *key)
{
	uint64_t hash = key->d[0] * 0x9e3779b97f4a7c15ull;
	size_t mask = table->slot_count - 1, at;

	hash = (hash ^ hash >> 32 ^ key->d[1]) * 0xc2b2ae3d27d4eb4full;
	hash = (hash ^ hash >> 29 ^ key->d[2]) * 0x9e3779b97f4a7c15ull;
	hash ^= hash >> 32;
	for (at = (size_t)hash & mask; table->slots[at]; at = (at + 1) & mask)
		if (memcmp(&table->keys[table->slots[at] - 1], key, sizeof(*key)) == 0)
			break;
	return at;
}

static bool grow_slots(struct st_key_table *table)
{
	struct st_key_table larger = *table;

	larger.slot_count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
	larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (uint32_t i = 0; i < table->count; i++)
		larger.slots[place_of(&larger, &table->keys[i])] = i + 1;
	free(table->slots);
	table->slots = larger.slots;
	table->slot_count = larger.slot_count;
	return true;
}

uint32_t st_key_table_add(struct st_key_table *table, uint64_t a, uint64_t b, uint64_t c)
{
	struct st_key key = {{a, b, c}};
	size_t at;

	if ((size_t)table->count * 2 >= table->slot_count && !grow_slots(table))
		return ST_ID_NONE;
	at = place_of(table, &key);
	if (table->slots[at])
		return table->slots[at] - 1;
	if (table->count >= KEYS_MAX ||
	    !st_grow(&table->keys, table->count, &table->capacity, sizeof(key)))
		return ST_ID_NONE;
	table->keys[table->count] = key;
	table->slots[at] = ++table->count;
	return table->count - 1;
}

uint32_t st_key_table_find(const struct st_key_table *table, uint64_t a, uint64_t b, uint64_t c)
{
	struct st_key key = {{a, b, c}};
	size_t at;

	if (!table->count)
		return ST_ID_NONE;
	at = place_of(table, &key);
	return table->slots[at] ? table->slots[at] - 1 : ST_ID_NONE;
}
