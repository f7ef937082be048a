/* SPDX-License-Identifier: Apache-2.0
 *
 * Ticks to nanoseconds since the start of collection: straight lines between the calibration pairs,
 * never going back. Before the start everything is 0; behind the last pair its line goes on.
 */
#ifndef ST_STORE_MODEL_CLOCK_MAP_H
#define ST_STORE_MODEL_CLOCK_MAP_H

#include <stdint.h>

#include "base/error.h"
#include "base/rt/clock.h"
#include "format/chunk.h"

struct st_notes;

struct st_clock_knot {
	uint64_t ticks;
	int64_t ns;
	uint64_t slope; /* ns per tick from here on, times 2^ST_CLOCK_SLOPE_BITS */
};
enum { ST_CLOCK_SLOPE_BITS = 44 };

struct st_clock_map {
	struct st_clock_knot *knots; /* owned; at least one after build */
	uint32_t count;
};

/* Pairs in any order; unusable ones are left out and noted, a jump of the rate is noted. */
enum st_status st_clock_map_build(struct st_clock_map *map, const struct st_file_head *head,
				  struct st_clock_pair *pairs, uint32_t pair_count,
				  struct st_notes *notes);
void st_clock_map_fini(struct st_clock_map *map);
/* hint: the caller's place in the map, 0 at first; makes ascending look-ups cheap. */
int64_t st_clock_map_ns(const struct st_clock_map *map, uint32_t *hint, uint64_t ticks);

#endif
