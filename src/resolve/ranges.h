/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of addresses that may overlap, because code comes and goes: which of them holds an address at a
 * time.
 */
#ifndef ST_RESOLVE_RANGES_H
#define ST_RESOLVE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct st_range {
	uint64_t start, end;
	uint64_t reach; /* highest end up to here within the process, once sorted */
	int64_t from_ns, until_ns;
	uint32_t process;
	uint32_t index; /* the caller's */
};

struct st_ranges { /* zeroed: empty */
	struct st_range *items;
	uint32_t count, capacity;
};

bool st_ranges_add(struct st_ranges *ranges, const struct st_range *range); /* false: no memory */
void st_ranges_sort(struct st_ranges *ranges);
void st_ranges_fini(struct st_ranges *ranges);
/* How many ranges begin at or before the address, of this process or one before it in order. */
uint32_t st_ranges_begun(const struct st_ranges *ranges, uint32_t process, uint64_t address);
/* Of those that are not gone yet: the one there at the time, of several the newest; else the one that
 * begins soonest afterwards. NULL: none. */
const struct st_range *st_ranges_find(const struct st_ranges *ranges, uint32_t process,
				      uint64_t address, int64_t time_ns);

#endif
