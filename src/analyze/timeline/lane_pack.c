// SPDX-License-Identifier: Apache-2.0
//
// Lanes of nested items (analyze/timeline/lane_pack.h).
#include "analyze/timeline/lane_pack.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/timeline/lane_index.h"
#include "base/vec.h"
#include "store/result.h"

struct lane_ends {
	int64_t *ends_ns;
	uint32_t count, capacity;
};

/* The first free lane from `lane` on; ST_LANE_NONE: no memory. */
static uint32_t take_lane(struct lane_ends *lanes, uint32_t lane, int64_t begin_ns, int64_t end_ns)
{
	while (lane < lanes->count && lanes->ends_ns[lane] > begin_ns)
		lane++;
	while (lane >= lanes->count)
		if (!ST_VEC_PUSH(lanes->ends_ns, lanes->count, lanes->capacity, INT64_MIN))
			return ST_LANE_NONE;
	lanes->ends_ns[lane] = end_ns > begin_ns ? end_ns : begin_ns;
	return lane;
}

bool st_lane_pack(const struct st_nested_items *items, struct st_lanes_packed *out)
{
	struct lane_ends ends = {0};
	uint32_t *lanes = malloc(((size_t)items->count + 1) * sizeof(*lanes));
	/* By item: the lane that what lies inside begins at. */
	uint32_t *inside = malloc(((size_t)items->count + 1) * sizeof(*inside));
	bool done = lanes && inside;

	for (uint32_t i = 0; done && i < items->count; i++) {
		uint32_t row = items->first + i, parent = items->parent[row];
		bool has_parent = parent != ST_NO_ROW && parent >= items->first && parent < row;

		inside[i] = has_parent ? inside[parent - items->first] : 0;
		lanes[i] = ST_LANE_NONE;
		if (items->flags && items->flags[row] & items->hidden_flags)
			continue;
		lanes[i] = take_lane(&ends, inside[i], items->begin_ns[row], items->end_ns[row]);
		done = lanes[i] != ST_LANE_NONE;
		inside[i] = lanes[i] + 1;
	}
	free(ends.ends_ns);
	free(inside);
	if (!done) {
		free(lanes);
		lanes = NULL;
	}
	*out = (struct st_lanes_packed){lanes, ends.count};
	return done;
}
