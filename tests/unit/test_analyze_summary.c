// SPDX-License-Identifier: Apache-2.0
//
// Facts of the summary, of all and of a part of results laid out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/summary/report_summary.h"
#include "analyze/tables/report.h"
#include "fake_result.h"
#include "fake_stacks.h"
#include "format/wait_kind.h"

static const int64_t MS = 1000000;

static struct st_report report;

static int setup(void **state)
{
	struct st_result *fake = fake_create();

	fake_named_begin(fake);
	fake->info.cpu_count = 2;
	fake_track(fake, fake_process(fake, "app", 100), "main", 100);
	*state = fake;
	return 0;
}

static int teardown(void **state)
{
	st_report_fini(&report);
	fake_named_end();
	fake_destroy(*state);
	return 0;
}

static void build(struct st_result *fake, struct st_question question)
{
	struct st_report_options options = {.question = question};
	struct st_error err = {0};

	fake_finish(fake);
	st_report_fini(&report);
	if (st_report_build(fake, "summary", &options, &report, &err))
		fail_msg("%s", err.text);
}

static struct st_question range(int64_t begin_ms, int64_t end_ms)
{
	return (struct st_question){
		.has_time_range = true, .time_begin_ns = begin_ms * MS, .time_end_ns = end_ms * MS};
}

static bool is_text(const struct st_cell *cell, const char *text)
{
	return cell->kind == ST_CELL_TEXT && cell->as.text.size_bytes == strlen(text) &&
	       !memcmp(cell->as.text.bytes, text, strlen(text));
}

/* The first row of a section, with that name unless it is NULL; NULL: there is none. */
static const struct st_cell *row_of(const char *section, const char *name)
{
	for (uint32_t i = 0; i < report.row_count; i++) {
		const struct st_cell *cells = report.rows[i].cells;

		if (is_text(&cells[ST_SUMMARY_SECTION], section) &&
		    (!name || is_text(&cells[ST_SUMMARY_NAME], name)))
			return cells;
	}
	return NULL;
}

static double off_cpu_percent(void)
{
	const struct st_cell *cells = row_of("cpu", "off_cpu_ratio");

	assert_non_null(cells);
	return cells[ST_SUMMARY_VALUE].as.number * 100.0;
}

/* A second on a CPU, and nine of which every tenth millisecond is. */
static void test_off_cpu_of_a_part(void **state)
{
	struct st_result *fake = *state;
	uint32_t node = fake_frame(
		0, fake_function("busy", fake_module("app"), ST_FUNCTION_NATIVE, 0), 0, 0);

	fake->info.elapsed_ns = 10000 * MS;
	for (int64_t at = 10; at <= 1000; at += 10)
		fake_sample(fake, at * MS, (uint64_t)(10 * MS), node, 0);
	for (int64_t at = 1100; at <= 10000; at += 100)
		fake_sample(fake, at * MS, (uint64_t)(10 * MS), node, 0);
	build(fake, (struct st_question){0});
	assert_in_range((int)off_cpu_percent(), 80, 82);
	build(fake, range(0, 1001));
	assert_in_range((int)off_cpu_percent(), 0, 1);
	build(fake, range(2000, 8000));
	assert_in_range((int)off_cpu_percent(), 89, 91);
}

/* A wait of a thread for a mutex that the other one holds. */
static void add_wait(struct st_result *fake, uint32_t track, int64_t begin_ms, int64_t end_ms)
{
	fake_span(fake, (struct st_span){.kind = ST_SPAN_WAIT,
					 .begin_ns = begin_ms * MS,
					 .end_ns = end_ms * MS,
					 .begin_track = track,
					 .end_track = 1 - track,
					 .slice = ST_NO_ROW,
					 .event = ST_SPAN_TOLD | ST_WAIT_MUTEX});
}

static void add_read(struct st_result *fake, int64_t begin_ms, int64_t end_ms)
{
	fake_span(fake, (struct st_span){.kind = ST_SPAN_WAIT,
					 .begin_ns = begin_ms * MS,
					 .end_ns = end_ms * MS,
					 .slice = ST_NO_ROW,
					 .event = ST_SPAN_TOLD | ST_WAIT_READ});
}

/* Findings are of the whole run: beside figures of a part of it they would be of another thing. */
static void test_no_fixes_of_a_part(void **state)
{
	struct st_result *fake = *state;

	fake->info.type = "threading";
	fake->info.collected_ns = fake->info.elapsed_ns = 1000 * MS;
	fake->sync_objects[fake->sync_object_count++] =
		(struct st_sync_object){.attribute = ST_WAIT_MUTEX << ST_SYNC_KIND_SHIFT,
					.address = 0x1000,
					.type = fake_text(fake, "Mutex")};
	fake_track(fake, 0, "worker", 101);
	add_wait(fake, 0, 100, 400);
	add_wait(fake, 1, 500, 800);
	build(fake, (struct st_question){0});
	assert_non_null(row_of("fix", "lock-contention"));
	build(fake, range(850, 1000));
	assert_null(row_of("fix", NULL));
}

/* Ten steps of 20 ms. A read begins 2 ms before the end of each and ends with the gap of 70 ms behind it; another one is all in
 * the gap. */
static void test_waits_between_steps(void **state)
{
	struct st_result *fake = *state;
	const struct st_cell *cells;
	char name[32];

	fake->info.type = "threading";
	fake->info.collected_ns = fake->info.elapsed_ns = 1000 * MS;
	fake->sync_objects[fake->sync_object_count++] =
		(struct st_sync_object){.attribute = ST_WAIT_READ << ST_SYNC_KIND_SHIFT,
					.address = 5,
					.type = fake_text(fake, "File")};
	for (int64_t i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "iteration %d", (int)i);
		fake_slice(fake, fake_label(fake, "d", name), i * 90 * MS, (i * 90 + 20) * MS,
			   ST_NO_ROW);
		add_read(fake, i * 90 + 18, i * 90 + 80);
		add_read(fake, i * 90 + 81, i * 90 + 90);
	}
	build(fake, (struct st_question){0});
	cells = row_of("waits_for", NULL);
	assert_non_null(cells);
	assert_int_equal(cells[ST_SUMMARY_COUNT].as.u64, 10);
	assert_int_equal(cells[ST_SUMMARY_TOTAL].as.u64, 2 * MS);
	assert_true(cells[ST_SUMMARY_RATIO].as.number == 0.1);
}

/* tf.data works for 60 ms in a thread of a pool, and for 40 ms in the loop of the program, in task "loop" and at a line of
 * its own; the call of map() takes 1 ms. */
static void add_input(struct st_result *fake)
{
	uint32_t tf = fake_module("libtensorflow_framework.so.2"), script = fake_module("train.py");
	uint32_t own = fake_function("train", script, ST_FUNCTION_PYTHON, 0);
	uint32_t map = fake_function("DatasetV2.map", script, ST_FUNCTION_PYTHON, 0);
	uint32_t next = fake_function("tensorflow::data::GetNext", tf, ST_FUNCTION_NATIVE, 0);
	uint32_t work = fake_function("tensorflow::data::MapDataset", tf, ST_FUNCTION_NATIVE, 0);
	uint32_t label = fake_label(fake, "d", "loop");

	fake_function_at(own, fake_source("/srv/job/train.py"), 1);
	fake_function_at(map,
			 fake_source("/usr/lib/python3/dist-packages/tensorflow/python/data/ops/"
				     "dataset_ops.py"),
			 1);
	fake->info.elapsed_ns = 1000 * MS;
	fake_slice(fake, label, 100 * MS, 200 * MS, ST_NO_ROW);
	fake_slice(fake, fake_label(fake, "d", "end"), 300 * MS, 400 * MS, ST_NO_ROW);
	fake_sample(fake, 50 * MS, (uint64_t)MS, fake_frame(fake_frame(0, own, 5, 0), map, 7, 0),
		    0);
	fake_sample(fake, 150 * MS, (uint64_t)(40 * MS),
		    fake_frame(fake_frame(0, own, 10, 0), next, 0, 0), 0);
	fake_track(fake, 0, "pool", 101);
	fake_sample(fake, 150 * MS, (uint64_t)(60 * MS), fake_frame(0, work, 0, 0), 0);
}

static void check_line(const char *name, int64_t ms, int64_t of_ms)
{
	const struct st_cell *cells = row_of("own_line", name);

	assert_non_null(cells);
	assert_int_equal(cells[ST_SUMMARY_CPU_TOTAL].as.u64, ms * MS);
	assert_true(cells[ST_SUMMARY_RATIO].as.number == (double)ms / (double)of_ms);
}

/* Each sample counts for one line. */
static void test_lines_of_input(void **state)
{
	add_input(*state);
	build(*state, (struct st_question){0});
	check_line("/srv/job/train.py:5", 61, 101);
	check_line("/srv/job/train.py:10", 40, 101);
}

static void test_lines_of_a_task(void **state)
{
	struct st_filter filter = {ST_BY_TASK_TYPE, false, "loop"};

	add_input(*state);
	build(*state, (struct st_question){.filters = &filter, .filter_count = 1});
	check_line("/srv/job/train.py:10", 40, 40);
	assert_null(row_of("own_line", "/srv/job/train.py:5"));
	filter.pattern = "end";
	build(*state, (struct st_question){.filters = &filter, .filter_count = 1});
	assert_null(row_of("own_line", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_off_cpu_of_a_part, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_fixes_of_a_part, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waits_between_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_of_input, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_of_a_task, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
