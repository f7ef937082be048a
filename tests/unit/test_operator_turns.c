// SPDX-License-Identifier: Apache-2.0
//
// Operators that were recorded in turns: what those that were not recorded are estimated at, against programs laid out by
// hand whose operators are all known.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/datasets/operator_turns.h"
#include "analyze/tables/report.h"
#include "base/buf.h"
#include "fake_result.h"
#include "format/event_kind.h"
#include "format/operator.h"

enum { MS = 1000000, US = 1000, BURST = ST_TURN_WITH | ST_TURN_COMPARED };

static struct st_result *fake;
static struct st_report report;
static bool has_report;

static int setup(void **state)
{
	(void)state;
	fake = fake_create();
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	has_report = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (has_report)
		st_report_fini(&report);
	fake_destroy(fake);
	return 0;
}

/* What begins at a time, and how often the framework had allocated by then. */
static void turn(int64_t at_ns, uint32_t detail, uint64_t progress)
{
	fake_event(fake, (struct st_event_row){.time_ns = at_ns,
					       .kind = ST_EVENT_OPERATOR_TURN,
					       .detail = detail,
					       .value = progress});
}

static uint32_t put(const char *domain, const char *name, int64_t begin_ns, int64_t end_ns)
{
	uint32_t label = ST_NO_ROW;

	for (uint32_t i = 0; i < fake->label_count; i++)
		if (strcmp(fake->texts[fake->labels[i].name].bytes, name) == 0)
			label = i;
	if (label == ST_NO_ROW)
		label = fake_label(fake, domain, name);
	return fake_slice(fake, label, begin_ns, end_ns, ST_NO_ROW);
}

static void operator(const char *name, int64_t begin_ns, int64_t took_ns)
{
	put(ST_OPERATOR_DOMAIN, name, begin_ns, begin_ns + took_ns);
}

static uint64_t figure(const char *name, const char *key)
{
	struct st_error err = {0};
	uint32_t at = UINT32_MAX;

	if (!has_report) {
		fake->processes[0].last_ns = fake->event_rows[fake->events.count - 1].time_ns;
		fake_finish(fake);
		if (st_report_build(fake, "tasks", &(struct st_report_options){0}, &report, &err))
			fail_msg("%s", err.text);
		has_report = true;
	}
	for (uint32_t i = 0; i < report.column_count; i++)
		if (strcmp(report.columns[i].key, key) == 0)
			at = i;
	assert_int_not_equal(at, UINT32_MAX);
	for (uint32_t i = 0; i < report.row_count; i++) {
		struct st_cell text = report.rows[i].cells[0];

		if (text.as.text.size_bytes == strlen(name) &&
		    memcmp(text.as.text.bytes, name, strlen(name)) == 0)
			return report.rows[i].cells[at].as.u64;
	}
	fail_msg("no row %s", name);
	return 0;
}

/* Two bursts that stand for different numbers of operators, which took different times in them. */
static void test_an_average_is_the_total_by_the_count(void **state)
{
	uint64_t count, total_ns, average_ns;

	(void)state;
	turn(0, ST_TURN_WITH | ST_TURN_WHOLE, 0);
	operator("aten::mm", 50 * MS, 20 * MS);
	turn(100 * MS, ST_TURN_WITHOUT, 1000);
	turn(200 * MS, BURST, 2000);
	operator("aten::mm", 250 * MS, 1 * MS);
	turn(300 * MS, ST_TURN_WITHOUT, 3000);
	turn(1300 * MS, BURST, 13000);
	operator("aten::mm", 1350 * MS, 3 * MS);
	turn(1400 * MS, ST_TURN_WITHOUT, 14000);
	turn(1500 * MS, ST_TURN_WITHOUT, 15000);
	count = figure("aten::mm", "count");
	total_ns = figure("aten::mm", "wall_total_ns");
	average_ns = figure("aten::mm", "wall_avg_ns");
	assert_int_equal(count, 15);
	assert_int_equal(average_ns, (total_ns + count / 2) / count);
}

static struct {
	int64_t at_ns;
	uint64_t progress;
	uint32_t steps;
} loop;

/* A step: the model is called, two products, and a sine for each 20 allocations. */
static void step(int64_t took_ns, uint64_t work, bool is_recorded)
{
	int64_t each_ns = took_ns / 20, at_ns = loop.at_ns + 2 * US;

	put(ST_MODULE_DOMAIN, "Net", loop.at_ns + US, at_ns);
	for (uint32_t i = 0; is_recorded && i < 2 + work / 20; i++)
		operator(i < 2 ? "aten::mm" : "aten::sin", at_ns + i * each_ns, each_ns);
	loop.at_ns += took_ns;
	loop.progress += work;
	loop.steps++;
}

static void next_turn(uint32_t detail)
{
	turn(loop.at_ns, detail, loop.progress);
}

static void begin_loop(uint32_t recorded_steps)
{
	memset(&loop, 0, sizeof(loop));
	next_turn(ST_TURN_WITH | ST_TURN_WHOLE);
	for (uint32_t i = 0; i < recorded_steps; i++)
		step(50 * MS, 100, true);
	next_turn(ST_TURN_WITHOUT);
}

static struct st_operator_turns words(char *text, size_t size)
{
	struct st_operator_turns turns;
	struct st_buf out;

	assert_int_equal(st_operator_turns_make(&turns, fake, NULL), ST_OK);
	st_buf_init(&out, size);
	st_operator_turns_words(&turns, &out);
	assert_false(out.failed);
	assert_true(out.size_bytes < size);
	memcpy(text, out.data, out.size_bytes);
	text[out.size_bytes] = 0;
	st_buf_fini(&out);
	st_operator_turns_fini(&turns); /* its rows: the figures stay */
	return turns;
}

static double error_of(const char *text)
{
	const char *sign = strstr(text, "counts \302\261 ");

	assert_non_null(sign);
	return atof(sign + strlen("counts \302\261 ")) / 100.0;
}

/* Others took the CPUs while the only burst was recorded: the steps behind it were eighty times as fast. */
static void test_steps_tell_how_much_was_not_recorded(void **state)
{
	char text[512];
	uint64_t sines, run_ns;

	(void)state;
	begin_loop(2);
	for (uint32_t i = 0; i < 5; i++)
		step(10 * MS, 100, false);
	next_turn(BURST);
	step(100 * MS, 100, true);
	step(100 * MS, 140, true);
	next_turn(ST_TURN_WITHOUT);
	for (uint32_t i = 0; i < 100; i++)
		step(1 * MS, 100, false);
	next_turn(ST_TURN_WITHOUT);
	run_ns = (uint64_t)loop.at_ns;
	assert_int_equal(figure("Net", "count"), loop.steps);
	assert_int_equal(figure("aten::mm", "count"), 2 * loop.steps);
	sines = figure("aten::sin", "count");
	words(text, sizeof(text));
	assert_non_null(strstr(text, "in 1 turn, "));
	assert_non_null(strstr(text, "times are uncertain"));
	assert_true(labs((long)sines - (long)(loop.progress / 20)) <=
		    (long)(error_of(text) * (double)sines) + 1);
	/* No more time than there was, and the average is that of the estimate. */
	assert_true(figure("aten::mm", "wall_total_ns") + figure("aten::sin", "wall_total_ns") <
		    run_ns);
	assert_int_equal(figure("aten::mm", "wall_avg_ns"),
			 (figure("aten::mm", "wall_total_ns") + loop.steps) / (2 * loop.steps));
}

/* The first turn ends in the middle of a step, of which only the beginning was recorded. */
static void test_the_count_is_that_of_the_steps_to_the_last(void **state)
{
	(void)state;
	begin_loop(2);
	put(ST_MODULE_DOMAIN, "Net", loop.at_ns - 4 * MS, loop.at_ns - 3 * MS);
	operator("aten::mm", loop.at_ns - 2 * MS, 1 * MS);
	loop.steps++;
	for (uint32_t burst = 0; burst < 3; burst++) {
		for (uint32_t i = 0; i < 7; i++)
			step(10 * MS, 80 + 10 * i, false);
		next_turn(BURST);
		for (uint32_t i = 0; i < 2 + burst; i++)
			step(10 * MS, 100, true);
		next_turn(ST_TURN_WITHOUT);
	}
	next_turn(ST_TURN_WITHOUT);
	assert_int_equal(figure("aten::mm", "count"), 2 * loop.steps);
}

/* Bursts saw it train; it evaluated for as many steps of a third of the work, which nobody saw. */
static void test_steps_of_another_kind_are_not_those_of_bursts(void **state)
{
	(void)state;
	begin_loop(2);
	for (uint32_t burst = 0; burst < 2; burst++) {
		next_turn(BURST);
		step(10 * MS, 120, true);
		step(10 * MS, 120, true);
		next_turn(ST_TURN_WITHOUT);
	}
	for (uint32_t i = 0; i < 100; i++)
		step(3 * MS, 40, false);
	next_turn(ST_TURN_WITHOUT);
	/* By work: 4000 / 480. */
	assert_in_range(figure("aten::mm", "count"), 2 * (2 + 4 + 33), 2 * (2 + 4 + 34));
}

/* Of work that went on at another pace, in no steps, nobody knows what it was. */
static void test_what_cannot_be_estimated_is_said(void **state)
{
	char text[512];

	(void)state;
	turn(0, ST_TURN_WITH | ST_TURN_WHOLE, 0);
	turn(100 * MS, BURST, 1000);
	operator("aten::mm", 150 * MS, 1 * MS);
	turn(200 * MS, ST_TURN_WITHOUT, 2000);
	turn(300 * MS, ST_TURN_WITHOUT, 12000);
	fake->processes[0].last_ns = 300 * MS;
	fake_finish(fake);
	words(text, sizeof(text));
	assert_non_null(strstr(text, "counts are too low by up to a factor of 5.5"));
}

/* The last turn of a process that was killed: what was done in it is a guess by its time. */
static void test_work_known_by_its_time_is_uncertain(void **state)
{
	char text[512];

	(void)state;
	turn(0, ST_TURN_WITH | ST_TURN_WHOLE, 0);
	for (uint32_t i = 1; i < 5; i++) {
		turn(i * 200 * MS, BURST, i * 2000);
		fake->processes[0].last_ns = i * 200 * MS + 100 * MS;
		turn(fake->processes[0].last_ns, ST_TURN_WITHOUT, i * 2000 + 1000);
	}
	for (uint32_t i = 1; i < 5; i++) {
		fake->operators[fake->operator_count++] =
			(struct st_operator){.row = fake->slices.count, .signature = ST_NO_ROW};
		operator("aten::mm", i * 200 * MS + 50 * MS, 1 * MS);
	}
	fake->processes[0].last_ns += 500 * MS;
	fake_finish(fake);
	words(text, sizeof(text));
	/* Four bursts, three turns between them and five times as much at the end. */
	assert_true(error_of(text) > 5.0 / 12 - 0.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_average_is_the_total_by_the_count, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_steps_tell_how_much_was_not_recorded, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_the_count_is_that_of_the_steps_to_the_last,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_steps_of_another_kind_are_not_those_of_bursts,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_estimated_is_said, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_work_known_by_its_time_is_uncertain, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
