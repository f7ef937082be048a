/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts nested items on lanes: what lies inside of something is one lane below it, and what does not nest, because it
 * outlives what it began in, goes further down until it overlaps nothing. Nothing is left out but what is hidden.
 */
#ifndef ST_ANALYZE_TIMELINE_LANE_PACK_H
#define ST_ANALYZE_TIMELINE_LANE_PACK_H

#include <stdbool.h>
#include <stdint.h>

/* Rows in order of begin, what is around an item before it. */
struct st_nested_items {
	const int64_t *begin_ns, *end_ns;
	const uint32_t *parent; /* row, or ST_NO_ROW */
	const uint16_t *flags;
	uint16_t hidden_flags; /* an item with one of these is not drawn */
	uint32_t first, count;
};

struct st_lanes_packed {
	uint32_t *lanes; /* by item from the first on, or ST_LANE_NONE; freed by the caller */
	uint32_t lane_count;
};

/* False: no memory, and there is nothing to free. */
bool st_lane_pack(const struct st_nested_items *items, struct st_lanes_packed *out);

#endif
