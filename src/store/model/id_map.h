/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash map from a 64-bit key (usually two ids) to a 32-bit value below ST_ID_NONE. Grows as needed;
 * entries are never removed. A zeroed map is a valid empty one.
 */
#ifndef ST_STORE_MODEL_ID_MAP_H
#define ST_STORE_MODEL_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_ID_NONE = UINT32_MAX };

struct st_id_map {
	uint64_t *keys;
	uint32_t *values; /* ST_ID_NONE: the place is free */
	size_t count, capacity;
};

void st_id_map_fini(struct st_id_map *map);
uint32_t st_id_map_get(const struct st_id_map *map, uint64_t key); /* ST_ID_NONE when absent */
bool st_id_map_put(struct st_id_map *map, uint64_t key, uint32_t value); /* false: no memory */

static inline uint64_t st_id_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

#endif
