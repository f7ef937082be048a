/* SPDX-License-Identifier: Apache-2.0
 *
 * Hash tables: open addressing with linear probing. st_map is the table itself: it holds the hash and the number of
 * each entry, while the entries lie where the owner wants them, mostly in an array in the order in which they came.
 * st_pair_map and st_id_map are ready-made ones for numbers. A zeroed map is a valid empty one; single entries are
 * never removed.
 */
#ifndef ST_BASE_MAP_H
#define ST_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_ID_NONE = UINT32_MAX };

struct st_map_slot {
	uint32_t hash;
	uint32_t number; /* + 1; 0: free */
};

struct st_map {
	struct st_map_slot *slots;
	uint32_t count, slot_count;
};

/* Whether the entry with that number has the key that is looked for. */
typedef bool (*st_map_same_fn)(const void *entries, uint32_t number, const void *key);

void st_map_fini(struct st_map *map);
void st_map_clear(struct st_map *map); /* keeps the memory */
/* Puts in an entry that is not there yet. False: no memory, and the map is as it was. */
bool st_map_add(struct st_map *map, uint32_t hash, uint32_t number);

/* The number of the entry with that key, or ST_ID_NONE. In the header so that the comparison becomes part of the
 * loop. */
static inline uint32_t st_map_find(const struct st_map *map, uint32_t hash, st_map_same_fn same,
				   const void *entries, const void *key)
{
	uint32_t mask = map->slot_count - 1;

	if (!map->count)
		return ST_ID_NONE;
	for (uint32_t at = hash & mask; map->slots[at].number; at = (at + 1) & mask)
		if (map->slots[at].hash == hash && same(entries, map->slots[at].number - 1, key))
			return map->slots[at].number - 1;
	return ST_ID_NONE;
}

static inline uint32_t st_hash_u64(uint64_t a)
{
	a = (a ^ a >> 32) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(a >> 32);
}

static inline uint32_t st_hash_pair(uint64_t a, uint64_t b)
{
	uint64_t hash = (a ^ (b << 29 | b >> 35)) * 0x9e3779b97f4a7c15ull;

	hash ^= hash >> 32;
	hash = (hash + b) * 0xd6e8feb86659fd93ull;
	return (uint32_t)(hash >> 32);
}

uint32_t st_hash_bytes(const void *bytes, size_t size_bytes);

/* Pairs of numbers, numbered from 0 in the order in which they came. */
struct st_pair {
	uint64_t a, b;
};

struct st_pair_map {
	struct st_pair *pairs; /* by number */
	uint32_t count, capacity;
	struct st_map map;
	bool failed;
};

static inline void st_pair_map_init(struct st_pair_map *map)
{
	*map = (struct st_pair_map){0};
}

void st_pair_map_fini(struct st_pair_map *map);
void st_pair_map_clear(struct st_pair_map *map); /* keeps the memory */
/* The number of a pair, a new one if need be; 0 and failed when memory is out. */
uint32_t st_pair_map_add(struct st_pair_map *map, uint64_t a, uint64_t b);

/* From a number (usually two ids) to a value below ST_ID_NONE. */
struct st_id_value {
	uint64_t id;
	uint32_t value;
};

struct st_id_map {
	struct st_id_value *items; /* in the order in which they came */
	uint32_t count, capacity;
	struct st_map map;
};

void st_id_map_fini(struct st_id_map *map);
void st_id_map_clear(
	struct st_id_map *map); /* keeps the memory: as many can be put without failing */
uint32_t st_id_map_get(const struct st_id_map *map, uint64_t id);	/* ST_ID_NONE when absent */
bool st_id_map_put(struct st_id_map *map, uint64_t id, uint32_t value); /* false: no memory */

static inline uint64_t st_id_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

#endif
