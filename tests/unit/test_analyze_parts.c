// SPDX-License-Identifier: Apache-2.0
//
// The parts of the question engine one by one: patterns, near names, percentiles, the arena, the
// timeline and the search for steps.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/engine/filter.h"
#include "analyze/engine/percentile.h"
#include "analyze/steps/steps.h"
#include "analyze/reports/timeline.h"
#include "base/arena.h"
#include "base/near.h"
#include "fake_result.h"

static bool matches(const char *pattern, const char *text)
{
	return st_pattern_match(pattern, (struct st_text){text, strlen(text)});
}

static void test_patterns(void **state)
{
	(void)state;
	assert_true(matches("iteration_*", "iteration_12"));
	assert_true(matches("*conv*", "aten::convolution"));
	assert_true(matches("*", ""));
	assert_true(matches("a*b*c", "a-b-b-c"));
	assert_true(matches("?x", "\xc3\xa4x")); /* one character, two bytes */
	assert_true(matches("\\*", "*"));
	assert_true(matches("a[0]", "a[0]")); /* brackets are common in names: not special */
	assert_false(matches("\\*", "x"));
	assert_false(matches("iteration_*", "Iteration_1"));
	assert_false(matches("a", "ab"));
	assert_false(matches("a?", "a"));
	assert_false(matches("", "a"));
	assert_true(st_pattern_match("a*b", (struct st_text){"a\0b", 3}));
	assert_false(st_pattern_match("a", (struct st_text){"a\0", 2}));
}

static void test_near_names(void **state)
{
	static const char *const names[] = {"task-type", "task-domain", "task-family", "thread"};
	const char *found[3];

	(void)state;
	assert_int_equal(st_near_distance("task-type", "task_type"), 0);
	assert_int_equal(st_near_distance("taks", "task"), 1);
	assert_int_equal(st_near_distance("", "abc"), 3);
	assert_int_equal(st_near_names("tasktype", names, 4, found, 3), 1);
	assert_string_equal(found[0], "task-type");
	assert_true(st_near_names("family", names, 4, found, 3) >= 1);
	assert_string_equal(found[0], "task-family");
	assert_int_equal(st_near_names("zzzzzz", names, 4, found, 3), 0);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void check_percentiles(uint64_t *values, size_t count)
{
	uint64_t *sorted = malloc((count + 1) * sizeof(*sorted));
	struct st_percentiles found;

	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	found = st_percentiles_take(values, count);
	assert_int_equal(found.median, sorted[(count * 50 + 99) / 100 - 1]);
	assert_int_equal(found.p95, sorted[(count * 95 + 99) / 100 - 1]);
	assert_int_equal(found.p99, sorted[(count * 99 + 99) / 100 - 1]);
	free(sorted);
}

static void test_percentiles_of_hard_orders(void **state)
{
	enum { COUNT = 5000 };
	uint64_t values[COUNT];
	uint64_t random = 1;

	(void)state;
	assert_int_equal(st_percentiles_take(values, 0).p99, 0);
	for (size_t count = 1; count < 300; count++) {
		for (size_t i = 0; i < count; i++) {
			random = random * 6364136223846793005ull + 1;
			values[i] = random >> 56;
		}
		check_percentiles(values, count);
	}
	for (unsigned int order = 0; order < 5; order++) {
		for (size_t i = 0; i < COUNT; i++) {
			size_t pipe = i < COUNT / 2 ? i : COUNT - i;
			const size_t orders[] = {i, COUNT - i, 7, pipe, i % 3};

			values[i] = orders[order];
		}
		check_percentiles(values, COUNT);
	}
}

static void test_arena_keeps_to_its_maximum(void **state)
{
	struct st_arena arena;
	char *big, *small;

	(void)state;
	st_arena_init(&arena, 300000);
	small = st_arena_printf(&arena, "%d", 42);
	big = st_arena_calloc(&arena, 100000, 2);
	assert_non_null(big);
	assert_string_equal(small, "42");
	assert_int_equal(big[199999], 0);
	assert_string_equal(st_arena_copy(&arena, "abcd", 3), "abc");
	assert_false(arena.failed);
	assert_null(st_arena_alloc(&arena, 200000));
	assert_true(arena.failed);
	assert_null(st_arena_alloc(&arena, 1));
	assert_null(st_arena_calloc(&arena, SIZE_MAX, 2));
	st_arena_fini(&arena);
}

/* Pieces are zero where they are asked to be, whether they share a block that was used before or have their own. */
static void test_arena_zeroes(void **state)
{
	static const size_t sizes[] = {1, 100, 16 << 10, (16 << 10) + 1, 60 << 10, 1 << 20};
	struct st_arena arena;

	(void)state;
	for (size_t round = 0; round < 2; round++) {
		st_arena_init(&arena, SIZE_MAX / 2);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			char *used = st_arena_alloc(&arena, sizes[i]);
			char *piece = st_arena_calloc(&arena, sizes[i], 1);

			assert_non_null(used);
			assert_non_null(piece);
			memset(used, 0x5a, sizes[i]);
			for (size_t at = 0; at < sizes[i]; at++)
				assert_int_equal(piece[at], 0);
			memset(piece, 0x5a, sizes[i]); /* what the next round is given again */
		}
		st_arena_fini(&arena);
	}
}

/* Two threads over 100 ns in ten bins, with a gap, nesting and tasks across borders. */
static void test_timeline_bins(void **state)
{
	struct st_result *fake = fake_create();
	struct st_selection selection = {0};
	struct st_timeline timeline;
	struct st_timeline_bin bins[10];
	struct st_dataset dataset;
	uint64_t busy = 0;
	uint32_t outer;

	(void)state;
	fake_label(fake, "D", "outer");
	fake_label(fake, "D", "inner");
	fake_process(fake, "p", 1);
	fake_track(fake, 0, "", 1);
	outer = fake_slice(fake, 0, 5, 47, ST_NO_ROW);
	fake_slice(fake, 1, 12, 19, outer);
	fake_slice(fake, 1, 20, 32, outer);
	fake_slice(fake, 0, 100, 120, ST_NO_ROW); /* begins where the range ends */
	fake_finish(fake);
	assert_int_equal(st_dataset_slices_init(&dataset, fake, NULL), ST_OK);
	assert_true(st_timeline_init(&timeline, &dataset, &selection));
	timeline.begin_ns = 0;
	timeline.end_ns = 100;
	timeline.bin_count = 10;
	st_timeline_fill(&timeline, 0, bins);
	assert_int_equal(bins[0].busy_ns, 5);
	assert_int_equal(bins[0].count, 1);
	assert_int_equal(bins[1].busy_ns, 10);
	assert_int_equal(bins[1].top_ns, 7); /* inner from 12 to 19 */
	assert_int_equal(bins[1].top_key, 1);
	assert_int_equal(bins[2].count, 1);
	assert_int_equal(bins[3].top_key, 0); /* outer from 32 on */
	assert_int_equal(bins[4].busy_ns, 7);
	assert_int_equal(bins[5].busy_ns, 0);
	assert_int_equal(bins[5].top_key, UINT32_MAX);
	for (int i = 0; i < 10; i++)
		busy += bins[i].busy_ns;
	assert_int_equal(busy, 42);
	st_timeline_fini(&timeline);
	st_dataset_slices_fini(&dataset);
	fake_destroy(fake);
}

static void test_steps_are_found_with_their_parts(void **state)
{
	struct st_result *fake = fake_create();
	struct st_dataset dataset;
	struct st_steps steps;

	(void)state;
	fake_label(fake, "PyTorch", "iteration_0");
	fake_label(fake, "PyTorch", "iteration_1");
	fake_label(fake, "PyTorch", "aten::conv2d");
	fake_label(fake, "PyTorch", "aten::linear");
	fake_process(fake, "p", 1);
	fake_track(fake, 0, "", 1);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t step = fake_slice(fake, i, 1000 * i, 1000 * i + 900, ST_NO_ROW);

		fake_slice(fake, 2, 1000 * i + 100, 1000 * i + 200, step);
		fake_slice(fake, 3, 1000 * i + 200, 1000 * i + 800, step);
	}
	fake_finish(fake);
	assert_int_equal(st_dataset_slices_init(&dataset, fake, NULL), ST_OK);
	assert_int_equal(st_steps_find(&steps, &dataset, fake, NULL), ST_OK);
	assert_true(steps.found);
	assert_memory_equal(steps.family.text.bytes, "iteration_*", 11);
	assert_int_equal(steps.family.count, 2);
	assert_int_equal(steps.family.took.median, 900);
	assert_int_equal(steps.family.took.p99, 900);
	assert_int_equal(steps.sum_ns, 1800);
	assert_int_equal(steps.part_count, 2);
	assert_memory_equal(steps.parts[0].text.bytes, "aten::linear", 12);
	assert_int_equal(steps.parts[0].total_ns, 1200);
	assert_int_equal(steps.parts[1].total_ns, 200);
	assert_int_equal(steps.self_ns, 400);
	assert_int_equal(steps.other_count, 0);
	st_dataset_slices_fini(&dataset);
	fake_destroy(fake);
}

static void test_operators_are_no_steps(void **state)
{
	struct st_result *fake = fake_create();
	struct st_dataset dataset;
	struct st_steps steps;

	(void)state;
	fake_label(fake, "PyTorch", "aten::conv2d");
	fake_label(fake, "PyTorch", "aten::_iter_0");
	fake_process(fake, "p", 1);
	fake_track(fake, 0, "", 1);
	for (uint32_t i = 0; i < 10; i++)
		fake_slice(fake, i % 2, 10 * i, 10 * i + 10, ST_NO_ROW);
	fake_finish(fake);
	assert_int_equal(st_dataset_slices_init(&dataset, fake, NULL), ST_OK);
	assert_int_equal(st_steps_find(&steps, &dataset, fake, NULL), ST_OK);
	assert_false(steps.found);
	st_dataset_slices_fini(&dataset);
	fake_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_near_names),
		cmocka_unit_test(test_percentiles_of_hard_orders),
		cmocka_unit_test(test_arena_keeps_to_its_maximum),
		cmocka_unit_test(test_arena_zeroes),
		cmocka_unit_test(test_timeline_bins),
		cmocka_unit_test(test_steps_are_found_with_their_parts),
		cmocka_unit_test(test_operators_are_no_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
