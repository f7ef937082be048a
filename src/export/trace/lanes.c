// SPDX-License-Identifier: Apache-2.0
//
// Lanes on which slices nest strictly (export/trace/lanes.h).
//
// The open slices form a heap by end, inner ones first where ends are equal. A slice goes on a lane only
// inside the innermost one there, so taking the heap's top always takes the innermost of its lane.
#include "export/trace/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

void st_lanes_fini(struct st_lanes *lanes)
{
	free(lanes->open);
	free(lanes->lanes);
	memset(lanes, 0, sizeof(*lanes));
}

void st_lanes_clear(struct st_lanes *lanes)
{
	lanes->open_count = 0;
	lanes->count = 0;
}

static bool ends_before(const struct st_lane_end *a, const struct st_lane_end *b)
{
	return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->row > b->row;
}

static bool push(struct st_lanes *lanes, const struct st_lane_end *end)
{
	uint32_t at = lanes->open_count;

	if (!ST_VEC_PUSH(lanes->open, lanes->open_count, lanes->open_capacity, *end))
		return false;
	while (at && ends_before(end, &lanes->open[(at - 1) / 2])) {
		lanes->open[at] = lanes->open[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	lanes->open[at] = *end;
	return true;
}

static void pop(struct st_lanes *lanes)
{
	const struct st_lane_end last = lanes->open[--lanes->open_count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < lanes->open_count) {
		if (child + 1 < lanes->open_count &&
		    ends_before(&lanes->open[child + 1], &lanes->open[child]))
			child++;
		if (!ends_before(&lanes->open[child], &last))
			break;
		lanes->open[at] = lanes->open[child];
		at = child;
	}
	lanes->open[at] = last;
}

/* Rows after the parent of a new one are not around it: they ended, at the latest now. */
static bool is_due(const struct st_lane_end *top, const struct st_lane_slice *slice)
{
	if (!slice || top->end_ns < slice->begin_ns)
		return true;
	return top->end_ns == slice->begin_ns &&
	       (slice->parent == ST_NO_ROW || top->row > slice->parent);
}

bool st_lanes_end(struct st_lanes *lanes, const struct st_lane_slice *slice,
		  struct st_lane_end *out)
{
	if (!lanes->open_count || !is_due(&lanes->open[0], slice))
		return false;
	*out = lanes->open[0];
	pop(lanes);
	lanes->lanes[out->lane] = out->below;
	return true;
}

static uint32_t add_lane(struct st_lanes *lanes)
{
	const struct st_lane empty = {.row = ST_NO_ROW};

	return ST_VEC_PUSH(lanes->lanes, lanes->count, lanes->capacity, empty) ? lanes->count - 1
									       : ST_NO_LANE;
}

/* The lane whose innermost open slice is the parent. The newest lanes are asked first: that is where a
 * program goes on that keeps outliving its tasks. */
static uint32_t lane_of_parent(const struct st_lanes *lanes, uint32_t parent)
{
	for (uint32_t lane = lanes->count; parent != ST_NO_ROW && lane-- > 0;) {
		if (lanes->lanes[lane].row == parent)
			return lane;
	}
	return ST_NO_LANE;
}

static uint32_t empty_lane(struct st_lanes *lanes, uint32_t first)
{
	for (uint32_t lane = first; lane < lanes->count; lane++) {
		if (lanes->lanes[lane].row == ST_NO_ROW)
			return lane;
	}
	return add_lane(lanes);
}

uint32_t st_lanes_begin(struct st_lanes *lanes, const struct st_lane_slice *slice)
{
	struct st_lane_end end = {.end_ns = slice->end_ns, .row = slice->row};

	end.lane = lane_of_parent(lanes, slice->parent);
	if (end.lane == ST_NO_LANE || slice->end_ns > lanes->lanes[end.lane].end_ns)
		end.lane = empty_lane(lanes, slice->parent == ST_NO_ROW ? 0 : 1);
	if (end.lane == ST_NO_LANE)
		return ST_NO_LANE;
	end.below = lanes->lanes[end.lane];
	if (!push(lanes, &end))
		return ST_NO_LANE;
	lanes->lanes[end.lane] =
		(struct st_lane){slice->end_ns, slice->row, end.below.row == ST_NO_ROW};
	return end.lane;
}
