// SPDX-License-Identifier: Apache-2.0
//
// Keys of three numbers (store/key_table.h).
#include "store/key_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { KEYS_MAX = 1 << 30 };

void st_key_table_fini(struct st_key_table *table)
{
	if (!table)
		return;
	free(table->keys);
	st_map_fini(&table->map);
	memset(table, 0, sizeof(*table));
}

static uint32_t hash_of(const struct st_key *key)
{
	return st_hash_pair(key->d[0] * 0xc2b2ae3d27d4eb4full ^ key->d[1], key->d[2]);
}

static bool is_key(const void *keys, uint32_t number, const void *key)
{
	return memcmp((const struct st_key *)keys + number, key, sizeof(struct st_key)) == 0;
}

uint32_t st_key_table_add(struct st_key_table *table, uint64_t a, uint64_t b, uint64_t c)
{
	struct st_key key = {{a, b, c}};
	uint32_t hash = hash_of(&key);
	uint32_t number = st_map_find(&table->map, hash, is_key, table->keys, &key);

	if (number != ST_ID_NONE)
		return number;
	if (table->count >= KEYS_MAX || !ST_VEC_ROOM(table->keys, table->count, table->capacity) ||
	    !st_map_add(&table->map, hash, table->count))
		return ST_ID_NONE;
	table->keys[table->count] = key;
	return table->count++;
}

uint32_t st_key_table_find(const struct st_key_table *table, uint64_t a, uint64_t b, uint64_t c)
{
	struct st_key key = {{a, b, c}};

	return st_map_find(&table->map, hash_of(&key), is_key, table->keys, &key);
}
