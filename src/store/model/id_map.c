// SPDX-License-Identifier: Apache-2.0
//
// Open addressing with linear probing, at most three quarters full.
#include "store/model/id_map.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

void st_id_map_fini(struct st_id_map *map)
{
	if (!map)
		return;
	free(map->keys);
	free(map->values);
	memset(map, 0, sizeof(*map));
}

static size_t place_of(const struct st_id_map *map, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15ull;
	size_t at;

	hash ^= hash >> 29;
	at = (size_t)hash & (map->capacity - 1);
	while (map->values[at] != ST_ID_NONE && map->keys[at] != key)
		at = (at + 1) & (map->capacity - 1);
	return at;
}

static bool grow(struct st_id_map *map)
{
	struct st_id_map larger = {.count = map->count};

	larger.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
	larger.keys = calloc(larger.capacity, sizeof(*larger.keys));
	larger.values = malloc(larger.capacity * sizeof(*larger.values));
	if (!larger.keys || !larger.values) {
		st_id_map_fini(&larger);
		return false;
	}
	memset(larger.values, 0xff, larger.capacity * sizeof(*larger.values));
	for (size_t i = 0; i < map->capacity; i++) {
		size_t at;

		if (map->values[i] == ST_ID_NONE)
			continue;
		at = place_of(&larger, map->keys[i]);
		larger.keys[at] = map->keys[i];
		larger.values[at] = map->values[i];
	}
	st_id_map_fini(map);
	*map = larger;
	return true;
}

uint32_t st_id_map_get(const struct st_id_map *map, uint64_t key)
{
	if (!map->count)
		return ST_ID_NONE;
	return map->values[place_of(map, key)];
}

bool st_id_map_put(struct st_id_map *map, uint64_t key, uint32_t value)
{
	size_t at;

	if (map->count * 4 >= map->capacity * 3 && !grow(map))
		return false;
	at = place_of(map, key);
	if (map->values[at] == ST_ID_NONE)
		map->count++;
	map->keys[at] = key;
	map->values[at] = value;
	return true;
}
