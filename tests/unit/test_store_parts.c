// SPDX-License-Identifier: Apache-2.0
//
// The parts under the reader, one by one: clock, pauses, texts, ids, notes, families, chunk walk.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/rt/clock.h"
#include "format/slices.h"
#include "store/model/clock_map.h"
#include "store/family.h"
#include "store/model/notes.h"
#include "store/model/pauses.h"
#include "store/model/segment.h"
#include "store/text_table.h"

static const struct st_file_head tsc_head = {.clock = ST_CLOCK_TSC,
					     .start_ticks = 1000,
					     .start_mono_raw_ns = 5000000000ull,
					     .ticks_per_second = 2000000000};

static void test_clock_without_pairs(void **state)
{
	struct st_clock_map map;
	struct st_notes notes = {0};
	uint32_t hint = 0;

	(void)state;
	assert_int_equal(st_clock_map_build(&map, &tsc_head, NULL, 0, &notes), ST_OK);
	assert_int_equal(st_clock_map_ns(&map, &hint, 0), 0);
	assert_int_equal(st_clock_map_ns(&map, &hint, 1000), 0);
	assert_int_equal(st_clock_map_ns(&map, &hint, 3000), 1000);
	assert_int_equal(st_clock_map_ns(&map, &hint, UINT64_MAX), (int64_t)(UINT64_MAX / 2 - 500));
	st_clock_map_fini(&map);
	st_clock_map_fini(NULL);
	assert_int_equal(notes.count, 0);
}

static void test_clock_between_pairs(void **state)
{
	/* 2 GHz for a second, then a true 2.0002 GHz: the pairs win over the first estimate. */
	struct st_clock_pair pairs[] = {
		{4000401000ull, 7000000000ull, 20},
		{2000001000ull, 6000000000ull, 20},
		{1000, 5000000000ull, 20},
		{2000001500ull, 6000000250ull, 20}, /* too near to count */
	};
	struct st_clock_map map;
	struct st_notes notes = {0};
	uint32_t hint = 0;
	int64_t before = 0;

	(void)state;
	assert_int_equal(st_clock_map_build(&map, &tsc_head, pairs, 4, &notes), ST_OK);
	assert_int_equal(map.count, 3);
	assert_int_equal(st_clock_map_ns(&map, &hint, 2000001000ull), 1000000000);
	assert_int_equal(st_clock_map_ns(&map, &hint, 4000401000ull), 2000000000);
	/* An hour later, on the same line; back again with the hint far ahead. */
	assert_in_range(st_clock_map_ns(&map, &hint, 4000401000ull + 3600 * 2000400000ull),
			3602ull * 1000000000 - 1, 3602ull * 1000000000);
	assert_in_range(st_clock_map_ns(&map, &hint, 1001000), 499999, 500000);
	for (uint64_t ticks = 0; ticks < 9000000000ull; ticks += 999983) {
		int64_t ns = st_clock_map_ns(&map, &hint, ticks);

		assert_true(ns >= before);
		before = ns;
	}
	assert_int_equal(notes.count, 0);
	st_clock_map_fini(&map);
}

static void test_clock_jump_is_noted(void **state)
{
	struct st_clock_pair pairs[] = {
		{2000001000ull, 6000000000ull, 20},
		{4000001000ull, 7500000000ull, 20}, /* half as fast again: suspend or migration */
	};
	struct st_clock_map map;
	struct st_notes notes = {0};
	uint32_t hint = 0;

	(void)state;
	assert_int_equal(st_clock_map_build(&map, &tsc_head, pairs, 2, &notes), ST_OK);
	assert_int_equal(notes.count, 1);
	assert_non_null(strstr(notes.items[0], "clock rate changed by 50 % after 1.000 s"));
	assert_int_equal(st_clock_map_ns(&map, &hint, 3000001000ull), 1750000000);
	st_clock_map_fini(&map);
	st_notes_fini(&notes);
}

static void test_clock_refuses_nonsense(void **state)
{
	struct st_clock_pair pairs[] = {
		{2000001000ull, 6000000000ull, 20},
		{3000001000ull, 5500000000ull, 20}, /* back in time */
		{3500001000ull, 1, 20},		    /* before the start */
		{4000001000ull, UINT64_MAX, 20},    /* not a clock */
		{4000001001ull, 1ull << 62, 20},    /* a rate no clock has */
		{UINT64_MAX, 6000000000000ull, 20}, /* nor this one */
	};
	struct st_clock_map map;
	struct st_notes notes = {0};
	uint32_t hint = 0;

	(void)state;
	assert_int_equal(st_clock_map_build(&map, &tsc_head, pairs, 6, &notes), ST_OK);
	assert_int_equal(map.count, 2);
	assert_non_null(strstr(notes.items[0], "5 of 6 clock readings"));
	assert_int_equal(st_clock_map_ns(&map, &hint, 3000001000ull), 1500000000);
	st_clock_map_fini(&map);
	st_notes_fini(&notes);
}

static void test_pause_spans(void **state)
{
	struct st_pauses pauses = {0};
	struct st_pause_range range;

	(void)state;
	/* Two pauses in a row count as one, and so does a second resume. */
	st_pauses_add_event(&pauses, (struct st_pause_event){7, ST_MARK_RESUME, 30});
	st_pauses_add_event(&pauses, (struct st_pause_event){7, ST_MARK_PAUSE, 10});
	st_pauses_add_event(&pauses, (struct st_pause_event){7, ST_MARK_PAUSE, 20});
	st_pauses_add_event(&pauses, (struct st_pause_event){7, ST_MARK_RESUME, 40});
	st_pauses_add_event(&pauses, (struct st_pause_event){0, ST_MARK_PAUSE, 25});
	st_pauses_add_event(&pauses, (struct st_pause_event){0, ST_MARK_RESUME, 35});
	st_pauses_add_event(&pauses, (struct st_pause_event){7, ST_MARK_DETACH, 80});
	st_pauses_add_event(&pauses, (struct st_pause_event){7, ST_MARK_RESUME, 90});
	assert_true(st_pauses_build(&pauses, 100));
	assert_true(st_pauses_merge(&pauses));
	assert_int_equal(pauses.span_count, 3);
	range = st_pauses_of(&pauses, 7);
	assert_int_equal(range.count, 2);
	assert_int_equal(range.spans[0].begin_ns, 10);
	assert_int_equal(range.spans[0].end_ns, 35);
	assert_int_equal(range.spans[1].begin_ns, 80);
	assert_int_equal(range.spans[1].end_ns, 100);
	assert_int_equal(st_pause_overlap_ns(range, 0, 1000), 45);
	assert_int_equal(st_pause_overlap_ns(range, 12, 14), 2);
	assert_int_equal(st_pause_overlap_ns(range, 35, 80), 0);
	assert_int_equal(st_pause_overlap_ns(range, 34, 81), 2);
	assert_null(st_pause_at(range, 10));
	assert_non_null(st_pause_at(range, 11));
	assert_non_null(st_pause_at(range, 35));
	assert_null(st_pause_at(range, 36));
	/* A process without pauses of its own has the family's. */
	range = st_pauses_of(&pauses, 8);
	assert_int_equal(range.count, 1);
	assert_int_equal(range.spans[0].begin_ns, 25);
	st_pauses_fini(&pauses);
	assert_int_equal(st_pauses_of(&pauses, 8).count, 0);
	assert_true(st_pauses_build(&pauses, 1) && st_pauses_merge(&pauses));
	st_pauses_fini(&pauses);
}

static void test_texts(void **state)
{
	struct st_text_table table;
	st_string_id id, first;
	char text[32];

	(void)state;
	assert_true(st_text_table_init(&table));
	assert_int_equal(table.count, 1);
	for (uint32_t i = 0; i < 100000; i++) {
		int length = snprintf(text, sizeof(text), "label %u", i);

		assert_true(st_text_table_add(&table, text, (size_t)length, &id));
		assert_int_equal(id, i + 1);
	}
	assert_true(st_text_table_add(&table, "label 70000", 11, &first));
	assert_int_equal(first, 70001);
	assert_string_equal(st_text_table_get(&table, first).bytes, "label 70000");
	assert_true(st_text_table_add(&table, "", 0, &id));
	assert_int_equal(id, 0);
	/* A prefix, and the same bytes with a NUL behind, are texts of their own. */
	assert_true(st_text_table_add(&table, "label 70000", 12, &id));
	assert_int_not_equal(id, first);
	st_text_table_fini(&table);
	st_text_table_fini(NULL);
}

static void test_notes_are_bounded(void **state)
{
	struct st_notes notes = {0}, more = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		st_notes_add(&notes, "note %d \x1b[31m", i);
	st_notes_add(&more, "another");
	st_notes_append(&notes, &more);
	st_notes_close(&notes);
	st_notes_close(&notes);
	assert_int_equal(notes.count, ST_NOTES_MAX + 1);
	assert_string_equal(notes.items[3], "note 3 ?[31m");
	assert_string_equal(notes.items[ST_NOTES_MAX], "and 37 more notes");
	st_notes_fini(&notes);
	st_notes_fini(&more);
}

static void test_families(void **state)
{
	static const char *const cases[][2] = {
		{"iteration_0", "iteration_*"},
		{"iteration_17", "iteration_*"},
		{"", ""},
		{"2", "*"},
		{"aten::conv2d", "aten::conv2d"},
		{"conv2d_12", "conv2d_*"},
		{"a1b22c3", "a1b22c*"},
		{"layer1.conv2", "layer*.conv*"},
		{"7z_9", "*z_*"},
		{"no digits", "no digits"},
	};
	struct st_text_table table;
	char *large = malloc(100000);
	st_string_id name, family;

	(void)state;
	assert_true(st_text_table_init(&table));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		st_text_table_add(&table, cases[i][0], strlen(cases[i][0]), &name);
		assert_true(st_family_of(&table, name, &family));
		assert_string_equal(st_text_table_get(&table, family).bytes, cases[i][1]);
	}
	memset(large, '5', 100000);
	large[0] = 'x';
	st_text_table_add(&table, large, 100000, &name);
	assert_true(st_family_of(&table, name, &family));
	assert_string_equal(st_text_table_get(&table, family).bytes, "x*");
	free(large);
	st_text_table_fini(&table);
}

/* A payload that looks like chunks must not be mistaken for them, and looking must not take forever. */
static void test_search_among_false_magics(void **state)
{
	const uint32_t magic = ST_CHUNK_MAGIC;
	struct st_packer *packer;
	struct st_notes notes = {0};
	struct st_chunk_header header = {.type = ST_CHUNK_END, .sequence = 1};
	struct st_chunk_view view;
	struct st_error err = {0};
	struct st_chunk_walk walk;
	struct st_buf file;

	(void)state;
	st_packer_create(&packer, &err);
	st_buf_init(&file, 1 << 20);
	st_buf_append_u32(&file, 0);
	for (int i = 0; i < 50000; i++)
		st_buf_append(&file, &magic, sizeof(magic));
	st_packer_append(packer, &header, NULL, 0, &file, &err);
	st_chunk_walk_init(&walk, "file", file.data, file.size_bytes, &notes);
	assert_int_equal(st_chunk_walk_next(&walk, &view, &err), ST_OK);
	assert_int_equal(view.offset, 200004);
	assert_int_equal(walk.damaged_bytes, 200004);
	assert_int_equal(st_chunk_walk_next(&walk, &view, &err), ST_ENOTFOUND);
	assert_int_equal(st_chunk_walk_next(&walk, &view, &err), ST_ENOTFOUND);
	st_notes_fini(&notes);
	st_buf_fini(&file);
	st_packer_destroy(packer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_without_pairs),
		cmocka_unit_test(test_clock_between_pairs),
		cmocka_unit_test(test_clock_jump_is_noted),
		cmocka_unit_test(test_clock_refuses_nonsense),
		cmocka_unit_test(test_pause_spans),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_notes_are_bounded),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_search_among_false_magics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
