// SPDX-License-Identifier: Apache-2.0
//
// Findings about waits, of threads, processes and steps laid out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/findings/findings.h"
#include "base/arena.h"
#include "fake_result.h"
#include "fake_stacks.h"
#include "format/wait_kind.h"

static const int64_t MS = 1000000;

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_objects_of_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_waits_in_each_process, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
