// SPDX-License-Identifier: Apache-2.0
//
// Growth of the hash table, and the ready-made maps (base/map.h). At most half of the slots are in use.
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { FIRST_SLOTS = 64, SLOTS_MAX = 1u << 31 };

void st_map_fini(struct st_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

void st_map_clear(struct st_map *map)
{
	if (map->count)
		memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
	map->count = 0;
}

static void put(struct st_map_slot *slots, uint32_t slot_count, struct st_map_slot slot)
{
	uint32_t mask = slot_count - 1, at = slot.hash & mask;

	while (slots[at].number)
		at = (at + 1) & mask;
	slots[at] = slot;
}

static bool grow(struct st_map *map)
{
	uint32_t slot_count = map->slot_count ? map->slot_count * 2 : FIRST_SLOTS;
	struct st_map_slot *slots;

	slots = map->slot_count < SLOTS_MAX ? calloc(slot_count, sizeof(*slots)) : NULL;
	if (!slots)
		return false;
	for (uint32_t i = 0; i < map->slot_count; i++)
		if (map->slots[i].number)
			put(slots, slot_count, map->slots[i]);
	free(map->slots);
	map->slots = slots;
	map->slot_count = slot_count;
	return true;
}

bool st_map_add(struct st_map *map, uint32_t hash, uint32_t number)
{
	if (map->count >= map->slot_count / 2 && !grow(map))
		return false;
	put(map->slots, map->slot_count, (struct st_map_slot){hash, number + 1});
	map->count++;
	return true;
}

uint32_t st_hash_bytes(const void *bytes, size_t size_bytes)
{
	const uint8_t *at = bytes;
	uint64_t hash = size_bytes, word;

	for (; size_bytes >= sizeof(word); at += sizeof(word), size_bytes -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	word = 0;
	if (size_bytes)
		memcpy(&word, at, size_bytes);
	hash = (hash ^ word) * 0xd6e8feb86659fd93ull;
	return (uint32_t)(hash >> 32);
}

/* Pairs ------------------------------------------------------------------------------------------------ */

void st_pair_map_fini(struct st_pair_map *map)
{
	free(map->pairs);
	st_map_fini(&map->map);
	memset(map, 0, sizeof(*map));
}

void st_pair_map_clear(struct st_pair_map *map)
{
	st_map_clear(&map->map);
	map->count = 0;
	map->failed = false;
}

static bool is_pair(const void *pairs, uint32_t number, const void *key)
{
	const struct st_pair *known = (const struct st_pair *)pairs + number, *wanted = key;

	return known->a == wanted->a && known->b == wanted->b;
}

uint32_t st_pair_map_add(struct st_pair_map *map, uint64_t a, uint64_t b)
{
	struct st_pair pair = {a, b};
	uint32_t hash = st_hash_pair(a, b);
	uint32_t number = st_map_find(&map->map, hash, is_pair, map->pairs, &pair);

	if (number != ST_ID_NONE)
		return number;
	if (!ST_VEC_ROOM(map->pairs, map->count, map->capacity) ||
	    !st_map_add(&map->map, hash, map->count)) {
		map->failed = true;
		return 0;
	}
	map->pairs[map->count] = pair;
	return map->count++;
}

/* Ids -------------------------------------------------------------------------------------------------- */

void st_id_map_fini(struct st_id_map *map)
{
	if (!map)
		return;
	free(map->items);
	st_map_fini(&map->map);
	memset(map, 0, sizeof(*map));
}

void st_id_map_clear(struct st_id_map *map)
{
	st_map_clear(&map->map);
	map->count = 0;
}

static bool is_id(const void *items, uint32_t number, const void *key)
{
	return ((const struct st_id_value *)items)[number].id == *(const uint64_t *)key;
}

uint32_t st_id_map_get(const struct st_id_map *map, uint64_t id)
{
	uint32_t at = st_map_find(&map->map, st_hash_u64(id), is_id, map->items, &id);

	return at == ST_ID_NONE ? at : map->items[at].value;
}

bool st_id_map_put(struct st_id_map *map, uint64_t id, uint32_t value)
{
	uint32_t hash = st_hash_u64(id), at = st_map_find(&map->map, hash, is_id, map->items, &id);

	if (at != ST_ID_NONE) {
		map->items[at].value = value;
		return true;
	}
	if (!ST_VEC_ROOM(map->items, map->count, map->capacity) ||
	    !st_map_add(&map->map, hash, map->count))
		return false;
	map->items[map->count++] = (struct st_id_value){id, value};
	return true;
}
