/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs of numbers as dense keys, in the order in which they came.
 */
#ifndef ST_ANALYZE_ENGINE_PAIR_MAP_H
#define ST_ANALYZE_ENGINE_PAIR_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct st_pair {
	uint64_t a, b;
};

struct st_pair_map {
	struct st_pair *pairs; /* by key */
	uint32_t count, capacity;
	uint32_t *slots; /* key + 1 */
	uint32_t mask;
	bool failed;
};

void st_pair_map_init(struct st_pair_map *map);
void st_pair_map_fini(struct st_pair_map *map);
/* The key of a pair, a new one if need be; 0 and failed when memory is out. */
uint32_t st_pair_map_add(struct st_pair_map *map, uint64_t a, uint64_t b);

#endif
