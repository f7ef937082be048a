// SPDX-License-Identifier: Apache-2.0
//
// The table of sites (resolve/sites.h).
#include "resolve/sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { MODULE_SHIFT = 44 }; /* offsets are far below 16 TiB; other bits of kernel addresses are 1 */

bool st_sites_init(struct st_sites *sites)
{
	memset(sites, 0, sizeof(*sites));
	if (!ST_VEC_ROOM(sites->items, 0, sites->capacity))
		return false;
	sites->items[0] = (struct st_site){0};
	sites->count = 1;
	return true;
}

void st_sites_fini(struct st_sites *sites)
{
	free(sites->items);
	free(sites->inlined);
	st_id_map_fini(&sites->by_place);
	st_id_map_fini(&sites->by_code);
	memset(sites, 0, sizeof(*sites));
}

static uint32_t get(struct st_sites *sites, struct st_id_map *map, uint64_t key, bool *is_new)
{
	uint32_t found = st_id_map_get(map, key);

	*is_new = found == ST_ID_NONE;
	if (!*is_new)
		return found;
	if (!ST_VEC_ROOM(sites->items, sites->count, sites->capacity) ||
	    !st_id_map_put(map, key, sites->count)) {
		*is_new = false;
		return 0;
	}
	sites->items[sites->count] = (struct st_site){0};
	return sites->count++;
}

uint32_t st_sites_get(struct st_sites *sites, uint32_t module, uint64_t offset, bool *is_new)
{
	uint64_t low = offset & ((1ull << MODULE_SHIFT) - 1);
	uint32_t at = get(sites, &sites->by_place, (uint64_t)module << MODULE_SHIFT | low, is_new);

	if (*is_new)
		sites->items[at] =
			(struct st_site){.module = module, .offset = offset, .address = offset};
	return at;
}

uint32_t st_sites_get_code(struct st_sites *sites, uint32_t code, uint32_t offset, bool *is_new)
{
	return get(sites, &sites->by_code, st_id_pair(code, offset), is_new);
}

bool st_sites_add_inlined(struct st_sites *sites, const struct st_inlined *inlined)
{
	return ST_VEC_PUSH(sites->inlined, sites->inlined_count, sites->inlined_capacity, *inlined);
}
