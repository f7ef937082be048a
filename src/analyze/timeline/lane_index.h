/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes of one row of a timeline at any zoom. Items lie on lanes on which they do not overlap; over each lane there is
 * a tree that knows the longest item and the sum of all durations of every 16, 256 … items, so that what a window
 * shows is found in steps of buckets and not of items.
 *
 * A window is 512 buckets of 2^level ns. An item that lasts at least a bucket is a box by itself. Shorter ones that
 * begin in the same bucket, one after the other, are one box: how many, the longest, and how much of it they cover.
 * Nothing is left out.
 */
#ifndef ST_ANALYZE_TIMELINE_LANE_INDEX_H
#define ST_ANALYZE_TIMELINE_LANE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_TILE_BUCKETS = 512, ST_TILE_LEVEL_MAX = 44, ST_LANE_NONE = UINT32_MAX };

/* What is drawn, as columns by row. */
struct st_item_columns {
	const int64_t *begin_ns, *end_ns;
	const uint32_t *label;
	const uint16_t *flags; /* of slices */
};

/* Of one item. */
static inline uint64_t st_item_ns(const struct st_item_columns *items, uint32_t row)
{
	return items->end_ns[row] > items->begin_ns[row]
		       ? (uint64_t)(items->end_ns[row] - items->begin_ns[row])
		       : 0;
}

/* Items with their lanes: those of a lane in order, none begins before the one in front of it ends. */
struct st_placed_items {
	const uint32_t *rows; /* NULL: the rows from `first` on */
	uint32_t first, count;
	const uint32_t *lanes; /* ST_LANE_NONE: not drawn */
	uint32_t lane_count;
};

struct st_indexed_lane {
	uint32_t first, count; /* of rows */
	uint32_t node_first;   /* of its tree */
};

struct st_lane_node {
	uint64_t sum_ns;
	uint64_t longest_ns;
	uint32_t longest; /* where it is in rows; the first of equal ones */
};

struct st_lane_index {
	struct st_item_columns items;
	uint32_t *rows; /* by lane, then begin */
	struct st_indexed_lane *lanes;
	struct st_lane_node *nodes;
	uint32_t count, lane_count;
	size_t size_bytes;
};

/* False: no memory, and there is none. */
bool st_lane_index_make(struct st_lane_index *out, const struct st_item_columns *items,
			const struct st_placed_items *placed);
void st_lane_index_fini(struct st_lane_index *index);

enum {
	ST_BOX_MERGED = 1,
	ST_BOX_FROM_LEFT = 2,
	ST_BOX_TO_RIGHT = 4,
	ST_BOX_CUT = 8, /* unfinished or clipped */
	ST_BOX_MISMATCHED = 16,
	ST_BOX_COPY = 32,
};

struct st_box {
	int64_t begin_ns, end_ns; /* within the window */
	uint32_t count;
	uint32_t row; /* of the longest */
	uint32_t lane;
	uint8_t busy; /* of 255 */
	uint8_t flags;
};

struct st_boxes {
	struct st_box *items;
	uint32_t count, capacity;
};

struct st_tile_window {
	int64_t begin_ns;
	unsigned int level;
	uint32_t lane_first, lane_end;
};

/* Adds the boxes of a window, by lane and time. False: no memory. */
bool st_lane_index_boxes(const struct st_lane_index *index, const struct st_tile_window *window,
			 struct st_boxes *out);

#endif
