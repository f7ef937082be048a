// SPDX-License-Identifier: Apache-2.0
//
// How many CPUs did effective work at the same time, and the rules that say what is effective.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/samples/cpu_class.h"
#include "analyze/samples/sample_set.h"
#include "analyze/samples/utilization.h"
#include "analyze/tables/report.h"
#include "fake_result.h"
#include "fake_stacks.h"

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
	fake_named_end();
	fake_destroy(*state);
	return 0;
}

/* For how long so many CPUs worked, as the report says it. */
static uint64_t elapsed_ns(const struct st_report *report, const char *cpus)
{
	uint32_t at = 0;

	while (at < report->column_count && strcmp(report->columns[at].key, "elapsed_ns") != 0)
		at++;
	assert_true(at < report->column_count);
	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct st_cell *cells = report->rows[i].cells;

		if (cells[0].kind == ST_CELL_TEXT && cells[0].as.text.size_bytes == strlen(cpus) &&
		    memcmp(cells[0].as.text.bytes, cpus, strlen(cpus)) == 0)
			return cells[at].as.u64;
	}
	fail_msg("no row %s", cpus);
	return 0;
}

/* Three seconds of two threads on two CPUs: both for one, one for one, none for one. */
static void test_utilization(void **state)
{
	struct st_result *fake = *state;
	const uint64_t second = 1000000000, step = 10000000;
	struct st_report_options options = {0};
	struct st_report report;
	struct st_error err = {0};
	uint32_t app_module = fake_module("busy"), node, spin;

	node = fake_frame(0, fake_function("busy", app_module, ST_FUNCTION_NATIVE, 0), 0, 0);
	spin = fake_frame(0,
			  fake_function("sched_yield", fake_module("libc.so.6"), ST_FUNCTION_NATIVE,
					ST_FUNCTION_SYSTEM),
			  0, 0);
	fake->info.elapsed_ns = (int64_t)(4 * second);
	fake_track(fake, 0, "a", 200);
	for (uint64_t at = step; at <= 2 * second; at += step)
		fake_sample(fake, (int64_t)at, step, node, 0);
	fake_track(fake, 0, "b", 201);
	for (uint64_t at = step; at <= second; at += step)
		fake_sample(fake, (int64_t)at, step, node, 0);
	/* Spinning is no work. */
	for (uint64_t at = 3 * second + step; at <= 4 * second; at += step)
		fake_sample(fake, (int64_t)at, step, spin, 0);
	fake_finish(fake);
	assert_int_equal(st_report_build(fake, "utilization", &options, &report, &err), ST_OK);
	assert_int_equal(elapsed_ns(&report, "0"), 2 * second);
	assert_int_equal(elapsed_ns(&report, "1"), second);
	assert_int_equal(elapsed_ns(&report, "2"), second);
	st_report_fini(&report);
	assert_int_equal(st_report_build(fake, "summary", &options, &report, &err), ST_OK);
	st_report_fini(&report);
}

/* Two threads on two CPUs are not too many, also in a range that is shorter than a slot. */
static void test_utilization_of_a_moment(void **state)
{
	struct st_result *fake = *state;
	const uint64_t second = 1000000000, step = 10000000;
	struct st_question question = {
		.has_time_range = true, .time_begin_ns = 500000000, .time_end_ns = 515000000};
	struct st_sample_view view = {0};
	struct st_utilization use;
	struct st_sample_set set;
	struct st_error err = {0};
	uint32_t node = fake_frame(
		0, fake_function("busy", fake_module("busy"), ST_FUNCTION_NATIVE, 0), 0, 0);

	fake->info.elapsed_ns = (int64_t)second;
	fake->info.cpu_count = 2;
	for (uint32_t thread = 0; thread < 2; thread++) {
		fake_track(fake, 0, "a", 200 + thread);
		for (uint64_t at = step; at <= second; at += step)
			fake_sample(fake, (int64_t)at, step, node, 0);
	}
	fake_finish(fake);
	assert_int_equal(st_sample_set_open(&set, fake, &view, &err), ST_OK);
	assert_int_equal(st_utilization_make(&use, &set, &question, &err), ST_OK);
	assert_int_equal(use.recorded_ns, 15000000);
	assert_int_equal(use.oversubscribed_ns, 0);
	assert_int_equal(use.threads, 2);
	st_utilization_fini(&use);
	st_sample_set_close(&set);
}

/* Threads that are ready to run, by the kernel's count of a second each; elsewhere nothing is known. */
static void test_oversubscription(void **state)
{
	static const struct {
		double cpu, delay,
			queued; /* threads that ran, that waited, and how long a thread waited */
		bool is_crowded;
		double own; /* of the delay: behind each other */
	} seconds[] = {
		{2.0, 0.0, 0.0, false, 0.0}, /* two threads that never wait */
		{2.0, 2.0, 0.5, true, 2.0},  /* four threads on two CPUs */
		{1.0, 1.0, 0.0, false, 0.0}, /* two threads, and others on the machine */
		{0.3, 5.0, 0.0, false,
		 0.0}, /* many that have next to nothing to do wait behind others */
		{1.0, 7.0, 5.0 / 9, true, 3.5}, /* eight threads have one of the CPUs */
	};
	enum { SECONDS = sizeof(seconds) / sizeof(seconds[0]) };
	struct st_result *fake = *state;
	const double second = 1e9;
	struct st_question question = {0};
	struct st_sample_view view = {0};
	struct st_utilization use;
	struct st_sample_set set;
	struct st_error err = {0};
	double queued = 0.0, own = 0.0, delay = 0.0;

	fake->info.elapsed_ns = 20 * (int64_t)second;
	fake->info.cpu_count = 2;
	for (uint32_t i = 0; i < SECONDS; i++) {
		fake->demands[fake->demand_count++] =
			(struct st_cpu_demand){.begin_ns = (int64_t)(i * second),
					       .end_ns = (int64_t)((i + 1) * second),
					       .cpu_ns = (uint64_t)(seconds[i].cpu * second),
					       .delay_ns = (uint64_t)(seconds[i].delay * second)};
		queued += seconds[i].queued * second;
		own += seconds[i].own * second;
		delay += seconds[i].delay * second;
	}
	fake_finish(fake);
	assert_int_equal(st_sample_set_open(&set, fake, &view, &err), ST_OK);
	assert_int_equal(st_utilization_make(&use, &set, &question, &err), ST_OK);
	assert_int_equal(use.watched_ns, SECONDS * (uint64_t)second);
	assert_int_equal(use.oversubscribed_ns, 2 * (uint64_t)second);
	assert_in_range(use.queued_ns, (uint64_t)queued - 5, (uint64_t)queued + 5);
	assert_in_range(use.own_delay_ns, (uint64_t)own - 5, (uint64_t)own + 5);
	assert_in_range(use.delay_ns, (uint64_t)delay - 5, (uint64_t)delay + 5);
	st_utilization_fini(&use);
	for (uint32_t i = 0; i < SECONDS; i++) {
		question = (struct st_question){.has_time_range = true,
						.time_begin_ns = (int64_t)(i * second),
						.time_end_ns = (int64_t)((i + 0.5) * second)};
		assert_int_equal(st_utilization_make(&use, &set, &question, &err), ST_OK);
		assert_int_equal(use.oversubscribed_ns,
				 seconds[i].is_crowded ? (uint64_t)(second / 2) : 0);
		st_utilization_fini(&use);
	}
	st_sample_set_close(&set);
}

static void test_rules(void **state)
{
	static const char good[] = "# mine\n  app|other   bo*|x  overhead-atomics # why not\n\n"
				   "lib?  *  spin-other at-pause\r\n";
	static const char *const bad[] = {"app body", "app body fast", "app body spin-lock never",
					  "app a||b spin-lock", "app b spin-lock pause more"};
	struct st_class_rules rules = {0};
	struct st_error err = {0};

	(void)state;
	assert_int_equal(st_class_rules_parse(&rules, good, sizeof(good) - 1, "good", &err), ST_OK);
	assert_int_equal(rules.count, 2);
	assert_int_equal(rules.rules[0].cpu_class, ST_CLASS_OVERHEAD_ATOMICS);
	assert_int_equal(rules.rules[1].pause, ST_PAUSE_AT);
	assert_true(rules.rules[1].is_rest);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(st_class_rules_parse(&rules, bad[i], strlen(bad[i]), "bad", &err),
				 ST_EUSAGE);
	st_class_rules_fini(&rules);
	/* Ours are well formed. */
	assert_int_equal(st_class_rules_load(&rules, NULL, &err), ST_OK);
	assert_true(rules.count > 30);
	st_class_rules_fini(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_utilization, setup, teardown),
		cmocka_unit_test_setup_teardown(test_utilization_of_a_moment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_oversubscription, setup, teardown),
		cmocka_unit_test(test_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
