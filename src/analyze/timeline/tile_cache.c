// SPDX-License-Identifier: Apache-2.0
//
// A hash table with chains, and a list in the order of use (analyze/timeline/tile_cache.h).
#include "analyze/timeline/tile_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1 << 14, ENTRY_SHARE = 8 };

struct entry {
	struct st_tile_key key;
	uint32_t tiles;
	size_t size_bytes;
	struct entry *same_place;    /* the next one of the chain */
	struct entry *newer, *older; /* by use */
	uint8_t data[];
};

struct st_tile_cache {
	struct entry *places[PLACES];
	struct entry *newest, *oldest;
	size_t size_bytes, max_bytes;
};

static uint32_t place_of(const struct st_tile_key *key)
{
	const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = (uint64_t)key->index * factor;

	hash = (hash ^ (hash >> 29) ^ (((uint64_t)key->track << 32) | key->level)) * factor;
	hash = (hash ^ (hash >> 32) ^ (((uint64_t)key->lane_first << 32) | key->lane_end)) * factor;
	return (uint32_t)(hash >> 50);
}

_Static_assert(PLACES == 1 << (64 - 50), "a place is what is left of the hash");

static bool is_same(const struct st_tile_key *a, const struct st_tile_key *b)
{
	return a->index == b->index && a->track == b->track && a->level == b->level &&
	       a->lane_first == b->lane_first && a->lane_end == b->lane_end;
}

struct st_tile_cache *st_tile_cache_create(size_t max_bytes)
{
	struct st_tile_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->max_bytes = max_bytes;
	return cache;
}

static void unlink_use(struct st_tile_cache *cache, struct entry *entry)
{
	if (entry->newer)
		entry->newer->older = entry->older;
	else
		cache->newest = entry->older;
	if (entry->older)
		entry->older->newer = entry->newer;
	else
		cache->oldest = entry->newer;
}

static void link_newest(struct st_tile_cache *cache, struct entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	if (cache->newest)
		cache->newest->newer = entry;
	else
		cache->oldest = entry;
	cache->newest = entry;
}

static size_t cost(const struct entry *entry)
{
	return sizeof(*entry) + entry->size_bytes;
}

static void forget(struct st_tile_cache *cache, struct entry *entry)
{
	struct entry **at = &cache->places[place_of(&entry->key)];

	while (*at != entry)
		at = &(*at)->same_place;
	*at = entry->same_place;
	unlink_use(cache, entry);
	cache->size_bytes -= cost(entry);
	free(entry);
}

void st_tile_cache_destroy(struct st_tile_cache *cache)
{
	struct entry *older;

	if (!cache)
		return;
	for (struct entry *entry = cache->newest; entry; entry = older) {
		older = entry->older;
		free(entry);
	}
	free(cache);
}

static struct entry *find(const struct st_tile_cache *cache, const struct st_tile_key *key)
{
	struct entry *entry = cache->places[place_of(key)];

	while (entry && !is_same(&entry->key, key))
		entry = entry->same_place;
	return entry;
}

struct st_cached_tile st_tile_cache_get(struct st_tile_cache *cache, const struct st_tile_key *key)
{
	struct entry *entry = cache ? find(cache, key) : NULL;

	if (!entry)
		return (struct st_cached_tile){NULL, 0, 0};
	unlink_use(cache, entry);
	link_newest(cache, entry);
	return (struct st_cached_tile){entry->data, entry->size_bytes, entry->tiles};
}

void st_tile_cache_put(struct st_tile_cache *cache, const struct st_tile_key *key,
		       const struct st_cached_tile *tile)
{
	struct entry *entry, **place;

	/* One that would drive out most of the others is not worth it. */
	if (!cache || tile->size_bytes > cache->max_bytes / ENTRY_SHARE || find(cache, key))
		return;
	entry = malloc(sizeof(*entry) + tile->size_bytes);
	if (!entry)
		return;
	place = &cache->places[place_of(key)];
	entry->key = *key;
	entry->tiles = tile->tiles;
	entry->size_bytes = tile->size_bytes;
	entry->same_place = *place;
	memcpy(entry->data, tile->data, tile->size_bytes);
	*place = entry;
	link_newest(cache, entry);
	cache->size_bytes += cost(entry);
	/* The new one alone fits. */
	while (cache->oldest != entry && cache->size_bytes > cache->max_bytes)
		forget(cache, cache->oldest);
}
