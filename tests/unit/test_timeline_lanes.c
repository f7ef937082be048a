// SPDX-License-Identifier: Apache-2.0
//
// Boxes of lanes against the same found without a tree, item by item, over random items and windows; and that lanes
// hold every item, without overlap.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/timeline/lane_index.h"
#include "analyze/timeline/lane_pack.h"
#include "store/result.h"

enum { ITEMS = 20000, LEVELS = 26 };

static int64_t begins[ITEMS], ends[ITEMS];
static uint32_t labels[ITEMS], parents[ITEMS], lanes[ITEMS];
static uint16_t flags[ITEMS];
static uint64_t seed;

static const struct st_item_columns columns = {begins, ends, labels, flags};

static uint64_t next_random(uint64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

/* Short and long ones, some that last no time, some that touch; now and then a pause. */
static void lay_out(uint32_t count)
{
	int64_t at = -1000;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t scale = UINT64_C(1) << next_random(12);

		if (next_random(4))
			at += (int64_t)next_random(scale) + (next_random(500) == 0 ? 1 << 20 : 0);
		begins[i] = at;
		if (next_random(8))
			at += (int64_t)next_random(scale * (next_random(100) == 0 ? 1024 : 1) + 1);
		ends[i] = at;
		flags[i] = next_random(50) ? 0 : ST_SLICE_UNFINISHED;
		lanes[i] = 0;
	}
}

struct expected {
	struct st_box box;
	uint64_t covered_ns;
	uint64_t longest_ns;
	int64_t bucket;
	bool is_long;
};

/* The definition, item by item. */
static uint32_t find_plainly(uint32_t count, const struct st_tile_window *window,
			     struct expected *out)
{
	int64_t left = window->begin_ns, width = INT64_C(1) << window->level;
	int64_t right = left + width * ST_TILE_BUCKETS;
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i++) {
		int64_t begin = begins[i] < left ? left : begins[i];
		int64_t end = ends[i] > right ? right : ends[i];
		int64_t took = ends[i] - begins[i], bucket = (begin - left) / width;
		struct expected *last = found ? &out[found - 1] : NULL;

		if (begins[i] >= right || (ends[i] <= left && begins[i] < left))
			continue;
		if (!last || took >= width || last->is_long || last->bucket != bucket) {
			last = &out[found++];
			*last = (struct expected){.bucket = bucket, .is_long = took >= width};
			last->box.begin_ns = begin;
			last->box.flags = begins[i] < left ? ST_BOX_FROM_LEFT : 0;
			last->box.row = i;
			last->longest_ns = (uint64_t)took;
		}
		if ((uint64_t)took > last->longest_ns) {
			last->box.row = i;
			last->longest_ns = (uint64_t)took;
		}
		last->box.end_ns = end;
		last->box.count++;
		last->covered_ns += (uint64_t)(end - begin);
		last->box.flags |= ends[i] > right ? ST_BOX_TO_RIGHT : 0;
	}
	return found;
}

static void compare(const struct st_lane_index *index, uint32_t count,
		    const struct st_tile_window *window)
{
	static struct expected expected[ITEMS];
	struct st_boxes boxes = {0};
	uint32_t found = find_plainly(count, window, expected);

	assert_true(st_lane_index_boxes(index, window, &boxes));
	assert_int_equal(boxes.count, found);
	assert_true(boxes.count <= 2 * ST_TILE_BUCKETS + 1);
	for (uint32_t i = 0; i < found; i++) {
		const struct st_box *box = &boxes.items[i], *wanted = &expected[i].box;
		uint64_t width = (uint64_t)(wanted->end_ns - wanted->begin_ns);
		unsigned int more = (wanted->count > 1 ? ST_BOX_MERGED : 0) |
				    (flags[wanted->row] ? ST_BOX_CUT : 0);

		assert_int_equal(box->begin_ns, wanted->begin_ns);
		assert_int_equal(box->end_ns, wanted->end_ns);
		assert_int_equal(box->count, wanted->count);
		assert_int_equal(box->row, wanted->row);
		assert_int_equal(box->flags, wanted->flags | more);
		assert_int_equal(box->busy,
				 width ? (expected[i].covered_ns * 255 + width / 2) / width : 255);
	}
	free(boxes.items);
}

static void boxes_are_those_of_the_definition(void **state)
{
	static const uint32_t counts[] = {0, 1, 63, 64, 65, 4096, 4097, 20000};

	(void)state;
	for (unsigned int round = 0; round < sizeof(counts) / sizeof(counts[0]); round++) {
		uint32_t count = counts[round];
		struct st_placed_items placed = {.count = count, .lanes = lanes, .lane_count = 1};
		struct st_lane_index index;

		seed = round + 1;
		lay_out(count);
		assert_true(st_lane_index_make(&index, &columns, &placed));
		for (unsigned int level = 0; level < LEVELS; level++)
			for (unsigned int i = 0; i < 20; i++) {
				int64_t tile = INT64_C(1) << (level + 9);
				int64_t all = count ? ends[count - 1] + 2000 : 1;
				struct st_tile_window window = {
					.begin_ns =
						((int64_t)next_random((uint64_t)(all / tile) + 2) -
						 1) *
						tile,
					.level = level,
					.lane_end = 1};

				compare(&index, count, &window);
			}
		st_lane_index_fini(&index);
	}
}

/* Items of many lanes, each in one box or another. */
static void nothing_is_left_out(void **state)
{
	struct st_placed_items placed = {.count = ITEMS, .lanes = lanes, .lane_count = 70};
	struct st_tile_window window = {.begin_ns = -(1 << 20), .level = 34, .lane_end = 100};
	struct st_lane_index index;
	struct st_boxes boxes = {0};
	uint64_t count = 0, hidden = 0;

	(void)state;
	seed = 99;
	lay_out(ITEMS);
	for (uint32_t i = 0; i < ITEMS; i++) {
		lanes[i] = (uint32_t)next_random(71);
		if (lanes[i] == 70) {
			lanes[i] = ST_LANE_NONE;
			hidden++;
		}
	}
	assert_true(st_lane_index_make(&index, &columns, &placed));
	assert_true(st_lane_index_boxes(&index, &window, &boxes));
	for (uint32_t i = 0; i < boxes.count; i++)
		count += boxes.items[i].count;
	assert_int_equal(count + hidden, ITEMS);
	window.lane_first = 70;
	boxes.count = 0;
	assert_true(st_lane_index_boxes(&index, &window, &boxes));
	assert_int_equal(boxes.count, 0);
	free(boxes.items);
	st_lane_index_fini(&index);
}

/* Tasks in tasks, of which one in ten outlives what it began in, and one in twenty is a twin. */
static void nest(uint32_t count)
{
	uint32_t open[64], depth = 0;
	int64_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		at += (int64_t)next_random(20);
		while (depth && (ends[open[depth - 1]] <= at || depth == 60))
			depth--;
		begins[i] = at;
		ends[i] = at + (int64_t)next_random(UINT64_C(4) << next_random(12));
		parents[i] = depth ? open[depth - 1] : ST_NO_ROW;
		if (depth && next_random(10) && ends[i] > ends[open[depth - 1]])
			ends[i] = ends[open[depth - 1]];
		flags[i] = next_random(20) ? 0 : ST_SLICE_TWIN;
		open[depth++] = i;
	}
}

static void lanes_do_not_overlap(void **state)
{
	struct st_nested_items items = {begins, ends, parents, flags, ST_SLICE_TWIN, 0, ITEMS};
	struct st_lanes_packed packed;
	int64_t *free_from;

	(void)state;
	seed = 7;
	nest(ITEMS);
	assert_true(st_lane_pack(&items, &packed));
	free_from = calloc(packed.lane_count + 1, sizeof(*free_from));
	assert_non_null(free_from);
	for (uint32_t i = 0; i < ITEMS; i++) {
		uint32_t lane = packed.lanes[i], outer = parents[i];

		assert_int_equal(lane == ST_LANE_NONE, flags[i] != 0);
		if (lane == ST_LANE_NONE)
			continue;
		assert_true(lane < packed.lane_count);
		assert_true(begins[i] >= free_from[lane]);
		free_from[lane] = ends[i];
		while (outer != ST_NO_ROW && packed.lanes[outer] == ST_LANE_NONE)
			outer = parents[outer];
		if (outer != ST_NO_ROW)
			assert_true(lane > packed.lanes[outer]);
	}
	free(free_from);
	free(packed.lanes);
}

/* What nests uses as many lanes as it is deep, and a twin takes none. */
static void twins_take_no_lane(void **state)
{
	struct st_nested_items items = {begins, ends, parents, flags, ST_SLICE_TWIN, 0, 3};
	struct st_lanes_packed packed;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		begins[i] = i;
		ends[i] = 100 - i;
		parents[i] = i ? i - 1 : ST_NO_ROW;
		flags[i] = i == 1 ? ST_SLICE_TWIN : 0;
	}
	assert_true(st_lane_pack(&items, &packed));
	assert_int_equal(packed.lane_count, 2);
	assert_int_equal(packed.lanes[0], 0);
	assert_int_equal(packed.lanes[1], ST_LANE_NONE);
	assert_int_equal(packed.lanes[2], 1);
	free(packed.lanes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boxes_are_those_of_the_definition),
		cmocka_unit_test(nothing_is_left_out),
		cmocka_unit_test(lanes_do_not_overlap),
		cmocka_unit_test(twins_take_no_lane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
