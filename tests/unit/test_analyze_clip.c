// SPDX-License-Identifier: Apache-2.0
//
// What is counted of rows beside their time, where a question is about a part of that time only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/tables/report.h"
#include "fake_result.h"
#include "fake_stacks.h"

static const int64_t SECOND = 1000000000;

static int setup(void **state)
{
	struct st_result *fake = fake_create();

	fake_named_begin(fake);
	fake_track(fake, fake_process(fake, "app", 100), "main", 100);
	fake->processes[0].last_ns = 10 * SECOND;
	*state = fake;
	return 0;
}

static int teardown(void **state)
{
	fake_named_end();
	fake_destroy(*state);
	return 0;
}

/* The only row of some of the seconds; of all where they end before they begin. */
static void ask(const struct st_result *fake, enum st_row_set set, int64_t begin_s, int64_t end_s,
		uint64_t *values)
{
	struct st_question question = {.groupings = {ST_BY_THREAD},
				       .grouping_count = 1,
				       .metrics = ST_SET(ST_WALL_TOTAL),
				       .has_time_range = end_s > begin_s,
				       .time_begin_ns = begin_s * SECOND,
				       .time_end_ns = end_s * SECOND};
	struct st_dataset dataset;
	struct st_answer answer;
	struct st_error err = {0};

	assert_int_equal(st_dataset_rows_init(&dataset, fake, set, &err), ST_OK);
	assert_int_equal(st_dataset_prepare(&dataset, &question, &err), ST_OK);
	assert_int_equal(st_dataset_ask(&dataset, &question, &answer, &err), ST_OK);
	for (unsigned int i = 0; i < ST_MEASURES; i++)
		values[i] = st_answer_value(&answer.total, (enum st_metric)i);
	st_answer_fini(&answer);
	st_dataset_rows_fini(&dataset);
}

/* Ten seconds of four threads, which wait four of them for its end. */
static void add_region(struct st_result *fake)
{
	fake_event(fake, (struct st_event_row){.kind = ST_EVENT_PARALLEL,
					       .extra = 10 * (uint64_t)SECOND,
					       .slice = ST_NO_ROW,
					       .detail = 4 | (uint32_t)(0.4 * ST_PARALLEL_WHOLE)
								     << ST_PARALLEL_SHIFT});
	fake_finish(fake);
}

static void test_region(void **state)
{
	uint64_t values[ST_MEASURES];

	add_region(*state);
	ask(*state, ST_ROWS_OPENMP, 0, 0, values);
	assert_int_equal(values[ST_WALL_TOTAL], 10 * SECOND);
	assert_in_range(values[ST_IMBALANCE], 4 * SECOND - 10000, 4 * SECOND + 10000);
	ask(*state, ST_ROWS_OPENMP, 9, 10, values);
	assert_int_equal(values[ST_WALL_TOTAL], SECOND);
	assert_in_range(values[ST_IMBALANCE], 4 * SECOND / 10 - 1000, 4 * SECOND / 10 + 1000);
	assert_in_range(values[ST_REGION_WAIT], 16 * SECOND / 10 - 4000, 16 * SECOND / 10 + 4000);
	/* How many threads it had is no time. */
	assert_int_equal(values[ST_REGION_THREAD_SUM], 4);
}

static uint64_t cell_of(const struct st_report *report, const char *key)
{
	uint32_t at = 0;

	while (at < report->column_count && strcmp(report->columns[at].key, key) != 0)
		at++;
	assert_true(at < report->column_count);
	assert_int_equal(report->row_count, 1);
	return report->rows[0].cells[at].as.u64;
}

/* A single region has the columns of the table beside its time. */
static void test_single_region(void **state)
{
	struct st_report_options options = {.question = {.groupings = {ST_BY_INSTANCE},
							 .grouping_count = 1,
							 .has_time_range = true,
							 .time_begin_ns = 9 * SECOND,
							 .time_end_ns = 10 * SECOND}};
	struct st_report report;
	struct st_error err = {0};

	add_region(*state);
	assert_int_equal(st_report_build(*state, "openmp", &options, &report, &err), ST_OK);
	assert_int_equal(cell_of(&report, "wall_total_ns"), SECOND);
	assert_in_range(cell_of(&report, "imbalance_ns"), 4 * SECOND / 10 - 1000,
			4 * SECOND / 10 + 1000);
	st_report_fini(&report);
}

/* A wait from 0 to 10 s, in which the thread lost its CPU from 1 to 5 s; and a hold as long. */
static void add_wait(struct st_result *fake)
{
	struct st_span span = {.kind = ST_SPAN_WAIT,
			       .end_ns = 10 * SECOND,
			       .slice = ST_NO_ROW,
			       .object = ST_NO_ROW,
			       .event = ST_SPAN_TOLD | ST_WAIT_MUTEX};

	fake_span(fake, span);
	span.kind = ST_SPAN_HOLD;
	span.event = ST_NO_ROW;
	fake_span(fake, span);
	fake_off(fake, 0, 0, 0, ST_OFF_BORN);
	fake_off(fake, 0, SECOND, 4 * (uint64_t)SECOND, ST_OFF_PREEMPTED);
	fake_off(fake, 0, 10 * SECOND, 0, ST_OFF_ENDED);
	fake_finish(fake);
}

static void test_wait(void **state)
{
	static const struct {
		int64_t begin_s, end_s, wait_s, preempted_s;
	} cases[] = {{0, 0, 10, 4}, {8, 9, 1, 0}, {4, 6, 2, 1}, {2, 3, 1, 1}, {0, 10, 10, 4}};
	uint64_t values[ST_MEASURES];

	add_wait(*state);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ask(*state, ST_ROWS_SYNC, cases[i].begin_s, cases[i].end_s, values);
		assert_int_equal(values[ST_WALL_TOTAL], cases[i].wait_s * SECOND);
		assert_int_equal(values[ST_PREEMPTED], cases[i].preempted_s * SECOND);
		assert_int_equal(values[ST_HOLD_TOTAL], cases[i].wait_s * SECOND);
		assert_int_equal(values[ST_HOLDS], 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_region, setup, teardown),
		cmocka_unit_test_setup_teardown(test_single_region, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wait, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
