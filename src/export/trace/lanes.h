/* SPDX-License-Identifier: Apache-2.0
 *
 * Lays the slices of one thread on lanes, so that on every lane they nest strictly and a reader who
 * pairs begins and ends by a stack gets every pair right. Lane 0 takes what nests, which is nearly
 * always everything. A slice that outlives the one it began in gets a lane beside it, with all that
 * nests in it; a lane is used again once it is empty.
 *
 * Rows come in order of begin, parents first. Before each row, take the ends that are due.
 */
#ifndef ST_EXPORT_TRACE_LANES_H
#define ST_EXPORT_TRACE_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/result.h"

enum { ST_NO_LANE = UINT32_MAX };

struct st_lane_slice {
	int64_t begin_ns, end_ns;
	uint32_t row, parent; /* parent ST_NO_ROW: none */
};

struct st_lane {
	int64_t end_ns;	   /* of its innermost open slice */
	uint32_t row;	   /* that slice, or ST_NO_ROW */
	bool is_outermost; /* nothing else is open on the lane */
};

struct st_lane_end {
	int64_t end_ns;
	uint32_t row, lane;
	struct st_lane below; /* what is innermost on the lane after it */
};

/* Zeroed: empty. */
struct st_lanes {
	struct st_lane_end *open; /* a heap, the next to end on top */
	uint32_t open_count, open_capacity;
	struct st_lane *lanes;
	uint32_t count, capacity;
};

void st_lanes_fini(struct st_lanes *lanes);
void st_lanes_clear(struct st_lanes *lanes); /* for the next thread; keeps the memory */
/* The next slice that ends before `slice` begins; false when there is none. Of those that end at the very
 * moment it begins, the ones it lies in stay open. NULL: whatever is still open. */
bool st_lanes_end(struct st_lanes *lanes, const struct st_lane_slice *slice,
		  struct st_lane_end *out);
/* Opens a slice; returns its lane, or ST_NO_LANE when memory is out. Lanes are numbered as they are
 * first used. */
uint32_t st_lanes_begin(struct st_lanes *lanes, const struct st_lane_slice *slice);

#endif
