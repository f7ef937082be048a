// SPDX-License-Identifier: Apache-2.0
//
// The tree over each lane, and windows on it (analyze/timeline/lane_index.h).
#include "analyze/timeline/lane_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "store/result.h"

/* Of a bucket that begins and ends within a node its items are looked at one by one. */
enum { FAN = 16 };

/* Nodes of the level above so many items or nodes. */
static uint32_t nodes_above(uint32_t count)
{
	return count > FAN ? count / FAN + (count % FAN != 0) : 0;
}

static uint32_t tree_nodes(uint32_t count)
{
	uint32_t sum = 0;

	for (uint32_t level = nodes_above(count); level; level = nodes_above(level))
		sum += level;
	return sum;
}

static void take_node(struct st_lane_node *into, const struct st_lane_node *from)
{
	into->sum_ns += from->sum_ns;
	if (into->longest == UINT32_MAX || from->longest_ns > into->longest_ns ||
	    (from->longest_ns == into->longest_ns && from->longest < into->longest)) {
		into->longest = from->longest;
		into->longest_ns = from->longest_ns;
	}
}

static struct st_lane_node node_of_item(const struct st_lane_index *index, uint32_t at)
{
	uint64_t took_ns = st_item_ns(&index->items, index->rows[at]);

	return (struct st_lane_node){took_ns, took_ns, at};
}

static void fill_tree(struct st_lane_index *index, const struct st_indexed_lane *lane)
{
	struct st_lane_node *nodes = index->nodes + lane->node_first, *below = nodes;
	uint32_t below_count = nodes_above(lane->count), count = below_count;

	for (uint32_t i = 0; i < count; i++)
		nodes[i] = (struct st_lane_node){0, 0, UINT32_MAX};
	for (uint32_t i = 0; count && i < lane->count; i++) {
		struct st_lane_node one = node_of_item(index, lane->first + i);

		take_node(&nodes[i / FAN], &one);
	}
	while ((count = nodes_above(below_count)) != 0) {
		struct st_lane_node *level = below + below_count;

		for (uint32_t i = 0; i < count; i++)
			level[i] = (struct st_lane_node){0, 0, UINT32_MAX};
		for (uint32_t i = 0; i < below_count; i++)
			take_node(&level[i / FAN], &below[i]);
		below = level;
		below_count = count;
	}
}

static bool make_lanes(struct st_lane_index *out, const struct st_placed_items *placed)
{
	uint32_t next = 0, node_count = 0;

	out->lane_count = placed->lane_count;
	out->lanes = calloc((size_t)placed->lane_count + 1, sizeof(*out->lanes));
	if (!out->lanes)
		return false;
	for (uint32_t i = 0; i < placed->count; i++)
		if (placed->lanes[i] != ST_LANE_NONE)
			out->lanes[placed->lanes[i]].count++;
	for (uint32_t i = 0; i < out->lane_count; i++) {
		out->lanes[i].first = next;
		out->lanes[i].node_first = node_count;
		next += out->lanes[i].count;
		node_count += tree_nodes(out->lanes[i].count);
	}
	out->count = next;
	out->rows = malloc(((size_t)next + 1) * sizeof(*out->rows));
	out->nodes = malloc(((size_t)node_count + 1) * sizeof(*out->nodes));
	out->size_bytes = next * sizeof(*out->rows) + node_count * sizeof(*out->nodes) +
			  out->lane_count * sizeof(*out->lanes);
	return out->rows && out->nodes;
}

bool st_lane_index_make(struct st_lane_index *out, const struct st_item_columns *items,
			const struct st_placed_items *placed)
{
	memset(out, 0, sizeof(*out));
	out->items = *items;
	if (!make_lanes(out, placed)) {
		st_lane_index_fini(out);
		return false;
	}
	for (uint32_t i = 0; i < out->lane_count; i++)
		out->lanes[i].count = 0;
	for (uint32_t i = 0; i < placed->count; i++) {
		struct st_indexed_lane *lane;

		if (placed->lanes[i] == ST_LANE_NONE)
			continue;
		lane = &out->lanes[placed->lanes[i]];
		out->rows[lane->first + lane->count++] =
			placed->rows ? placed->rows[i] : placed->first + i;
	}
	for (uint32_t i = 0; i < out->lane_count; i++)
		fill_tree(out, &out->lanes[i]);
	return true;
}

void st_lane_index_fini(struct st_lane_index *index)
{
	free(index->rows);
	free(index->lanes);
	free(index->nodes);
	memset(index, 0, sizeof(*index));
}

/* Sum and longest of the items from first to end of a lane. */
static struct st_lane_node sum_up(const struct st_lane_index *index,
				  const struct st_indexed_lane *lane, uint32_t first, uint32_t end)
{
	struct st_lane_node sum = {0, 0, UINT32_MAX};
	const struct st_lane_node *level = NULL, *above = index->nodes + lane->node_first;
	uint32_t count = lane->count;

	while (first < end) {
		bool is_top = nodes_above(count) == 0;

		while (first < end && (is_top || first % FAN || end - first < FAN)) {
			struct st_lane_node one =
				level ? level[first] : node_of_item(index, lane->first + first);

			take_node(&sum, &one);
			first++;
		}
		while (first < end && end % FAN) {
			struct st_lane_node one;

			end--;
			one = level ? level[end] : node_of_item(index, lane->first + end);
			take_node(&sum, &one);
		}
		first /= FAN;
		end /= FAN;
		level = above;
		count = nodes_above(count);
		above += count;
	}
	return sum;
}

/* The first item from `from` on that begins at that time or later. Near ones are tried first: most buckets hold few. */
static uint32_t first_from(const struct st_lane_index *index, const struct st_indexed_lane *lane,
			   uint32_t from, int64_t time_ns)
{
	const uint32_t *rows = index->rows + lane->first;
	const int64_t *begin_ns = index->items.begin_ns;
	uint32_t step = 1, low = from, high;

	while (low + step < lane->count && begin_ns[rows[low + step]] < time_ns) {
		low += step;
		step *= 2;
	}
	high = low + step < lane->count ? low + step : lane->count;
	return ST_SEARCH(i, low, high, begin_ns[rows[i]] < time_ns);
}

static uint8_t flags_of(const struct st_lane_index *index, uint32_t row)
{
	unsigned int flags = index->items.flags ? index->items.flags[row] : 0, shown = 0;

	if (flags & (ST_SLICE_UNFINISHED | ST_SLICE_CLIPPED))
		shown |= ST_BOX_CUT;
	if (flags & ST_SLICE_MISMATCHED)
		shown |= ST_BOX_MISMATCHED;
	if (flags & ST_SLICE_COPY)
		shown |= ST_BOX_COPY;
	return (uint8_t)shown;
}

static uint8_t share_of(uint64_t part_ns, uint64_t whole_ns)
{
	if (!whole_ns)
		return 255;
	return (uint8_t)(((unsigned __int128)part_ns * 255 + whole_ns / 2) / whole_ns);
}

/* One box of the items first … end - 1 of a lane. */
static bool add_box(const struct st_lane_index *index, const struct st_indexed_lane *lane,
		    const struct st_tile_window *window, const uint32_t range[2],
		    struct st_boxes *out)
{
	const struct st_item_columns *items = &index->items;
	int64_t left_ns = window->begin_ns;
	int64_t right_ns = left_ns + ((int64_t)ST_TILE_BUCKETS << window->level);
	uint32_t first = index->rows[lane->first + range[0]];
	uint32_t last = index->rows[lane->first + range[1] - 1];
	struct st_lane_node sum = sum_up(index, lane, range[0], range[1]);
	struct st_box box = {.begin_ns = items->begin_ns[first],
			     .end_ns = items->begin_ns[last] + (int64_t)st_item_ns(items, last),
			     .count = range[1] - range[0],
			     .row = index->rows[sum.longest],
			     .lane = (uint32_t)(lane - index->lanes)};

	box.flags = flags_of(index, box.row);
	if (box.count > 1)
		box.flags |= ST_BOX_MERGED;
	if (box.begin_ns < left_ns) {
		sum.sum_ns -= (uint64_t)(left_ns - box.begin_ns);
		box.begin_ns = left_ns;
		box.flags |= ST_BOX_FROM_LEFT;
	}
	if (box.end_ns > right_ns) {
		sum.sum_ns -= (uint64_t)(box.end_ns - right_ns);
		box.end_ns = right_ns;
		box.flags |= ST_BOX_TO_RIGHT;
	}
	box.busy = share_of(sum.sum_ns, (uint64_t)(box.end_ns - box.begin_ns));
	return ST_VEC_PUSH(out->items, out->count, out->capacity, box);
}

static bool add_lane(const struct st_lane_index *index, const struct st_indexed_lane *lane,
		     const struct st_tile_window *window, struct st_boxes *out)
{
	const struct st_item_columns *items = &index->items;
	const uint32_t *rows = index->rows + lane->first;
	int64_t left_ns = window->begin_ns;
	int64_t right_ns = left_ns + ((int64_t)ST_TILE_BUCKETS << window->level);
	uint64_t bucket_ns = UINT64_C(1) << window->level;
	/* What ends where the window begins lies before it; but what lasts no time, and begins there, in it. */
	uint32_t at =
		ST_SEARCH(i, 0, lane->count,
			  items->end_ns[rows[i]] <= left_ns && items->begin_ns[rows[i]] < left_ns);

	while (at < lane->count && items->begin_ns[rows[at]] < right_ns) {
		uint32_t range[2] = {at, at + 1};
		int64_t begin_ns = items->begin_ns[rows[at]];

		if (st_item_ns(items, rows[at]) < bucket_ns) {
			uint64_t bucket = begin_ns > left_ns
						  ? (uint64_t)(begin_ns - left_ns) >> window->level
						  : 0;

			range[1] = first_from(index, lane, at,
					      left_ns + (int64_t)((bucket + 1) << window->level));
			/* The last one may reach far beyond the bucket. */
			if (range[1] - at > 1 && st_item_ns(items, rows[range[1] - 1]) >= bucket_ns)
				range[1]--;
		}
		if (!add_box(index, lane, window, range, out))
			return false;
		at = range[1];
	}
	return true;
}

bool st_lane_index_boxes(const struct st_lane_index *index, const struct st_tile_window *window,
			 struct st_boxes *out)
{
	uint32_t end = window->lane_end < index->lane_count ? window->lane_end : index->lane_count;

	for (uint32_t i = window->lane_first; i < end; i++)
		if (!add_lane(index, &index->lanes[i], window, out))
			return false;
	return true;
}
