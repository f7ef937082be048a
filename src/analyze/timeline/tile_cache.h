/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles that were made before, as bytes: pages that look at the same part of a result, and one that goes back, ask for
 * the same ones. Bounded; what was not used longest makes place.
 */
#ifndef ST_ANALYZE_TIMELINE_TILE_CACHE_H
#define ST_ANALYZE_TIMELINE_TILE_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct st_tile_cache;

/* What makes a tile what it is; all of it is compared. No filter: those are another view of the data each. */
struct st_tile_key {
	int64_t index;
	uint32_t track, level;
	uint32_t lane_first, lane_end;
};

struct st_cached_tile {
	const uint8_t *data; /* NULL: it is not there */
	size_t size_bytes;
	uint32_t tiles; /* how many the bytes are */
};

/* NULL: no memory. */
struct st_tile_cache *st_tile_cache_create(size_t max_bytes);
void st_tile_cache_destroy(struct st_tile_cache *cache);
/* Good until the next put. A cache that is NULL has nothing. */
struct st_cached_tile st_tile_cache_get(struct st_tile_cache *cache, const struct st_tile_key *key);
/* Copies the bytes. What does not fit, or finds no memory, is not kept. */
void st_tile_cache_put(struct st_tile_cache *cache, const struct st_tile_key *key,
		       const struct st_cached_tile *tile);

#endif
