// SPDX-License-Identifier: Apache-2.0
//
// Findings about waits, of threads, processes and steps laid out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/findings/findings.h"
#include "base/arena.h"
#include "fake_result.h"
#include "fake_stacks.h"
#include "format/wait_kind.h"

static const int64_t MS = 1000000;
enum { STEPS = 10, STEP_MS = 20, ROUND_MS = 90, LONG_STEP_MS = 100 };

static struct st_findings findings;
static struct st_arena arena;

static int setup(void **state)
{
	struct st_result *fake = fake_create();

	fake_named_begin(fake);
	st_arena_init(&arena, SIZE_MAX / 2);
	fake->info.type = "threading";
	fake->info.cpu_count = 2;
	fake->info.collected_ns = fake->info.elapsed_ns = 1000 * MS;
	*state = fake;
	return 0;
}

static int teardown(void **state)
{
	st_arena_fini(&arena);
	fake_named_end();
	fake_destroy(*state);
	return 0;
}

/* The object of a process, at an address that is the same in all of them. */
static uint32_t add_object(struct st_result *fake, uint32_t process, enum st_wait_kind kind,
			   const char *type)
{
	fake->sync_objects[fake->sync_object_count] =
		(struct st_sync_object){.process = process,
					.attribute = (uint32_t)kind << ST_SYNC_KIND_SHIFT,
					.address = 0x1000,
					.type = fake_text(fake, type)};
	return fake->sync_object_count++;
}

struct wait {
	uint32_t track, waker; /* the same: not known */
	uint32_t object;
	enum st_wait_kind kind;
};

static void add_wait(struct st_result *fake, struct wait wait, int64_t begin_ms, int64_t end_ms)
{
	fake_span(fake, (struct st_span){.kind = ST_SPAN_WAIT,
					 .begin_ns = begin_ms * MS,
					 .end_ns = end_ms * MS,
					 .process = fake->tracks[wait.track].process,
					 .begin_track = wait.track,
					 .end_track = wait.waker,
					 .slice = ST_NO_ROW,
					 .object = wait.object,
					 .event = ST_SPAN_TOLD | wait.kind});
}

static const struct st_finding *find(struct st_result *fake, const char *rule)
{
	const struct st_report_options options = {0};
	struct st_error err = {0};

	fake_finish(fake);
	if (st_findings_make(&findings, fake, &options, &arena, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < findings.count; i++)
		if (!strcmp(findings.items[i].rule, rule))
			return &findings.items[i];
	return NULL;
}

/* Four workers of one program, each with a mutex at the same address and two threads. Of each one waits for the other for
 * 300 ms; the other for this one, too, or not at all. */
static const struct st_finding *find_forked(struct st_result *fake, bool both_wait)
{
	for (uint32_t i = 0; i < 4; i++) {
		fake_process(fake, "worker", 100 + i);
		fake_track(fake, i, "", 100 + i);
		fake_track(fake, i, "helper", 200 + i);
		add_object(fake, i, ST_WAIT_MUTEX, "Mutex");
	}
	for (uint32_t i = 0; i < 4; i++)
		add_wait(fake, (struct wait){2 * i, 2 * i + 1, i, ST_WAIT_MUTEX}, 100, 400);
	for (uint32_t i = 0; i < 4 && both_wait; i++)
		add_wait(fake, (struct wait){2 * i + 1, 2 * i, i, ST_WAIT_MUTEX}, 500, 800);
	return find(fake, "lock-contention");
}

static void test_objects_of_processes(void **state)
{
	const struct st_finding *found = find_forked(*state, true);

	assert_non_null(found);
	assert_memory_equal(found->what, "2 threads wait for Mutex 0x1000, one of them 30 % of ",
			    strlen("2 threads wait for Mutex 0x1000, one of them 30 % of "));
	assert_int_equal(found->evidence_ns, 600 * MS);
	assert_int_equal(found->saving_high_ns, 300 * MS);
}

/* One thread that waits for a lock is nothing that a program is slow for; four of as many processes are not more. */
static void test_one_waits_in_each_process(void **state)
{
	assert_null(find_forked(*state, false));
}

/* Tasks "iteration N" on the newest thread. */
static void add_steps(struct st_result *fake, const uint32_t labels[STEPS], int64_t step_ms,
		      int64_t round_ms)
{
	for (uint32_t i = 0; i < STEPS; i++)
		fake_slice(fake, labels[i], i * round_ms * MS, (i * round_ms + step_ms) * MS,
			   ST_NO_ROW);
}

static void add_labels(struct st_result *fake, uint32_t labels[STEPS])
{
	char name[32];

	for (uint32_t i = 0; i < STEPS; i++) {
		snprintf(name, sizeof(name), "iteration %u", i);
		labels[i] = fake_label(fake, "d", name);
	}
}

/* A read begins 2 ms before the end of each step and ends with the gap of 70 ms behind it. */
static void test_between_steps(void **state)
{
	struct st_result *fake = *state;
	const struct st_finding *found;
	uint32_t labels[STEPS];

	fake_process(fake, "train", 100);
	fake_track(fake, 0, "", 100);
	add_labels(fake, labels);
	add_steps(fake, labels, STEP_MS, ROUND_MS);
	add_object(fake, 0, ST_WAIT_READ, "File");
	for (uint32_t i = 0; i < STEPS; i++)
		add_wait(fake, (struct wait){0, 0, 0, ST_WAIT_READ}, i * ROUND_MS + STEP_MS - 2,
			 (i + 1) * ROUND_MS);
	found = find(fake, "io-wait");
	assert_int_equal(findings.step_count, STEPS);
	assert_non_null(found);
	assert_memory_equal(found->what, "2.00 ms of a step (10 %) ",
			    strlen("2.00 ms of a step (10 %) "));
	assert_int_equal(found->evidence_ns, 2 * MS);
	assert_int_equal(found->saving_high_ns, 2 * MS);
}

/* Two threads of a process have steps of 100 ms, at the same time. The first waits 50 ms of each for a lock of the other, and the
 * other as long for one of the first, or not at all. */
static const struct st_finding *find_ranks(struct st_result *fake, bool both_wait)
{
	uint32_t labels[STEPS];

	fake_process(fake, "train", 100);
	add_labels(fake, labels);
	for (uint32_t i = 0; i < 2; i++) {
		fake_track(fake, 0, "rank", 100 + i);
		add_steps(fake, labels, LONG_STEP_MS, LONG_STEP_MS);
	}
	add_object(fake, 0, ST_WAIT_MUTEX, "Mutex");
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at_ms = (int64_t)i * LONG_STEP_MS;

		add_wait(fake, (struct wait){0, 1, 0, ST_WAIT_MUTEX}, at_ms, at_ms + 50);
		if (both_wait)
			add_wait(fake, (struct wait){1, 0, 0, ST_WAIT_MUTEX}, at_ms + 50,
				 at_ms + 100);
	}
	return find(fake, "lock-contention");
}

static void check_ranks(const struct st_finding *found, const char *what, int64_t evidence_ms)
{
	assert_int_equal(findings.step_count, 2 * STEPS);
	assert_non_null(found);
	assert_memory_equal(found->what, what, strlen(what));
	assert_int_equal(found->evidence_ns, evidence_ms * MS);
	assert_int_equal(found->saving_high_ns, 50 * MS);
}

static void test_steps_of_two_threads(void **state)
{
	check_ranks(find_ranks(*state, true),
		    "2 threads wait for Mutex 0x1000, one of them 50 % of a step", 100);
}

static void test_one_of_two_threads_waits(void **state)
{
	check_ranks(find_ranks(*state, false), "1 thread waits for Mutex 0x1000, 50 % of a step",
		    50);
}

/* Regions of 18 ms, of which threads wait half for its end: in each step, or behind it. */
static const struct st_finding *find_regions(struct st_result *fake, int64_t after_ms)
{
	uint32_t labels[STEPS];

	fake_process(fake, "train", 100);
	fake_track(fake, 0, "", 100);
	add_labels(fake, labels);
	add_steps(fake, labels, STEP_MS, ROUND_MS);
	for (uint32_t i = 0; i < STEPS; i++)
		fake_event(fake, (struct st_event_row){.kind = ST_EVENT_PARALLEL,
						       .time_ns = (i * ROUND_MS + after_ms) * MS,
						       .extra = 18 * (uint64_t)MS,
						       .slice = ST_NO_ROW,
						       .detail = 2 | (uint32_t)ST_PARALLEL_WHOLE / 2
									     << ST_PARALLEL_SHIFT});
	return find(fake, "openmp-imbalance");
}

static void test_regions_in_steps(void **state)
{
	assert_non_null(find_regions(*state, 1));
}

static void test_regions_between_steps(void **state)
{
	assert_null(find_regions(*state, STEP_MS + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_objects_of_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_waits_in_each_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_between_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_steps_of_two_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_of_two_threads_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_regions_in_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_regions_between_steps, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
