// SPDX-License-Identifier: Apache-2.0
//
// Open addressing, at most half full.
#include "analyze/engine/pair_map.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_pair(uint64_t a, uint64_t b)
{
	uint64_t hash = (a ^ (b << 29 | b >> 35)) * 0x9e3779b97f4a7c15ull;

	hash ^= hash >> 32;
	hash = (hash + b) * 0xd6e8feb86659fd93ull;
	return (uint32_t)(hash >> 32);
}

void st_pair_map_init(struct st_pair_map *map)
{
	memset(map, 0, sizeof(*map));
}

void st_pair_map_fini(struct st_pair_map *map)
{
	free(map->pairs);
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

static bool grow(struct st_pair_map *map)
{
	uint32_t capacity = map->capacity ? map->capacity * 2 : 256, mask = capacity * 2 - 1;
	uint32_t *slots = capacity > map->capacity && mask > capacity
				  ? calloc((size_t)mask + 1, sizeof(*slots))
				  : NULL;
	struct st_pair *pairs = slots ? realloc(map->pairs, capacity * sizeof(*pairs)) : NULL;

	if (!pairs) {
		free(slots);
		map->failed = true;
		return false;
	}
	for (uint32_t i = 0; i < map->count; i++) {
		uint32_t at = hash_pair(pairs[i].a, pairs[i].b) & mask;

		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = i + 1;
	}
	free(map->slots);
	map->slots = slots;
	map->pairs = pairs;
	map->mask = mask;
	map->capacity = capacity;
	return true;
}

uint32_t st_pair_map_add(struct st_pair_map *map, uint64_t a, uint64_t b)
{
	uint32_t at;

	if (map->count == map->capacity && !grow(map))
		return 0;
	for (at = hash_pair(a, b) & map->mask; map->slots[at]; at = (at + 1) & map->mask) {
		const struct st_pair *known = &map->pairs[map->slots[at] - 1];

		if (known->a == a && known->b == b)
			return map->slots[at] - 1;
	}
	map->pairs[map->count] = (struct st_pair){a, b};
	map->slots[at] = ++map->count;
	return map->count - 1;
}
