// SPDX-License-Identifier: Apache-2.0
//
// Where waits lead: critical paths, and what the holders of a lock do meanwhile.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the first four first */
#include <cmocka.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/findings/findings.h"
#include "base/arena.h"
#include "fake_result.h"
#include "format/wait_kind.h"

enum { MS = 1000000 };

static struct st_result *fake;

static int setup(void **state)
{
	uint32_t process;

	(void)state;
	fake = fake_create();
	fake->info.type = "threading";
	process = fake_process(fake, "program", 7);
	fake_track(fake, process, "first", 7);
	fake_track(fake, process, "second", 8);
	fake_track(fake, process, "third", 9);
	for (uint32_t i = 0; i < fake->track_count; i++)
		fake->tracks[i].last_ns = 100 * MS;
	fake->info.elapsed_ns = 100 * MS;
	fake->sync_objects[fake->sync_object_count++] = (struct st_sync_object){
		.attribute = ST_WAIT_MUTEX << ST_SYNC_KIND_SHIFT,
		.address = 0x1000,
		.type = fake_text(fake, "Mutex"),
		.name = fake_text(fake, "lock"),
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_destroy(fake);
	return 0;
}

static void add_wait(uint32_t track, uint32_t waker, int64_t begin_ns, int64_t end_ns)
{
	fake_span(fake, (struct st_span){.kind = ST_SPAN_WAIT,
					 .begin_ns = begin_ns,
					 .end_ns = end_ns,
					 .begin_track = track,
					 .end_track = waker,
					 .slice = ST_NO_ROW,
					 .event = ST_SPAN_TOLD | ST_WAIT_MUTEX});
}

/* "first Running 0-10, …" of the first thread, in ms. */
static const char *path(void)
{
	const struct st_path_range range = {0, 0, 100 * MS, {"[no step]", 9}};
	static char words[1000];
	struct st_dataset rows;
	struct st_arena arena;
	size_t used = 0;

	fake_finish(fake);
	st_arena_init(&arena, SIZE_MAX / 2);
	assert_int_equal(st_dataset_path_open(&rows, fake, &range, 1, NULL), ST_OK);
	for (uint32_t i = 0; i < rows.row_count && used < sizeof(words); i++) {
		uint32_t track = st_key_of(&rows.keys[ST_BY_THREAD], i);
		struct st_text name = st_result_text(fake, fake->tracks[track].name);
		struct st_text class =
			rows.text(&rows, ST_BY_WAIT_CLASS,
				  st_key_of(&rows.keys[ST_BY_WAIT_CLASS], i), &arena);

		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s %s %d-%d",
					 i ? ", " : "", name.bytes, class.bytes,
					 (int)(rows.begin_ns[i] / MS), (int)(rows.end_ns[i] / MS));
	}
	st_dataset_rows_fini(&rows);
	st_arena_fini(&arena);
	return words;
}

static void test_a_path_follows_who_ends_the_wait(void **state)
{
	(void)state;
	add_wait(0, 1, 20 * MS, 80 * MS);
	add_wait(1, 2, 30 * MS, 50 * MS);
	fake_off(fake, 2, 0, 0, ST_OFF_BORN);
	fake_off(fake, 2, 35 * MS, 5 * MS, 0);
	fake_off(fake, 2, 42 * MS, 3 * MS, ST_OFF_PREEMPTED);
	assert_string_equal(path(), "first Running 0-20, second Running 20-30, "
				    "third Running 30-35, third Unexplained 35-40, "
				    "third Running 40-42, third Preempted 42-45, "
				    "third Running 45-50, second Running 50-80, "
				    "first Running 80-100");
}

/* The kernel's counts say how long a thread ran, and that is no absence behind the moment at which they were read. */
static void test_a_path_without_context_switches(void **state)
{
	(void)state;
	add_wait(0, 1, 20 * MS, 80 * MS);
	fake_off(fake, 0, 0, 0, ST_OFF_BORN | ST_OFF_RAN);
	fake_off(fake, 0, 50 * MS, 20 * MS, ST_OFF_RAN);
	fake_off(fake, 0, 85 * MS, 5 * MS, ST_OFF_RAN);
	fake_off(fake, 1, 0, 0, ST_OFF_BORN | ST_OFF_RAN);
	fake_off(fake, 1, 50 * MS, 40 * MS, ST_OFF_RAN);
	fake_off(fake, 1, 50 * MS, 10 * MS, ST_OFF_RAN | ST_OFF_PREEMPTED);
	assert_string_equal(path(),
			    "first Running 0-20, second Running 20-80, first Running 80-100");
}

/* Whoever ends a wait may have begun to live in it, or have ended when the other one gets a CPU. */
static void test_a_path_leads_to_the_living(void **state)
{
	(void)state;
	fake->tracks[1].first_ns = 60 * MS;
	fake->tracks[1].last_ns = 75 * MS;
	add_wait(0, 1, 20 * MS, 80 * MS);
	add_wait(1, 2, 65 * MS, 70 * MS);
	assert_string_equal(path(), "first Running 0-20, first Synchronization 20-60, "
				    "second Running 60-65, third Running 65-70, "
				    "second Running 70-75, first Synchronization 75-80, "
				    "first Running 80-100");
}

/* Of a thread that waits at once, nothing is told before that wait is over. */
static void test_a_path_leads_to_a_wait_that_is_the_first_record(void **state)
{
	(void)state;
	fake->tracks[1].first_ns = 70 * MS;
	add_wait(0, 1, 20 * MS, 80 * MS);
	add_wait(1, 2, 30 * MS, 70 * MS);
	assert_string_equal(path(), "first Running 0-20, first Synchronization 20-30, "
				    "third Running 30-70, second Running 70-80, "
				    "first Running 80-100");
}

/* A waker of which nothing is known in the whole wait is none. */
static void test_a_path_without_a_living_waker(void **state)
{
	(void)state;
	fake->tracks[1].first_ns = 90 * MS;
	add_wait(0, 1, 20 * MS, 80 * MS);
	assert_string_equal(path(), "first Running 0-20, first Synchronization 20-80, "
				    "first Running 80-100");
}

/* Its texts live as long as the arena. */
static struct st_finding find(const char *rule, struct st_arena *arena)
{
	const struct st_report_options options = {0};
	struct st_finding found = {.what = ""};
	struct st_findings findings;
	struct st_error err = {0};

	fake_finish(fake);
	if (st_findings_make(&findings, fake, &options, arena, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < findings.count; i++)
		if (!strcmp(findings.items[i].rule, rule))
			found = findings.items[i];
	return found;
}

/* What the findings say of the lock that the first two threads wait for, and the third holds. */
static void find_lock(char *out, size_t out_size)
{
	struct st_arena arena;

	add_wait(0, 2, 0, 100 * MS);
	add_wait(1, 2, 0, 100 * MS);
	st_arena_init(&arena, SIZE_MAX / 2);
	snprintf(out, out_size, "%s", find("lock-contention", &arena).what);
	st_arena_fini(&arena);
}

static void test_holders_without_context_switches(void **state)
{
	char what[1000];

	(void)state;
	fake_off(fake, 2, 0, 0, ST_OFF_BORN | ST_OFF_RAN);
	fake_off(fake, 2, 50 * MS, 10 * MS, ST_OFF_RAN);
	fake_off(fake, 2, 50 * MS, 40 * MS, ST_OFF_RAN | ST_OFF_PREEMPTED);
	find_lock(what, sizeof(what));
	assert_non_null(strstr(what, "its holder runs 100 % of that time"));
	assert_null(strstr(what, "has no CPU"));
}

/* A sum of short absences begins at the first of them, and may lie over a long one. */
static void test_holders_are_ready_no_longer_than_they_hold(void **state)
{
	char what[1000];

	(void)state;
	fake_off(fake, 2, 0, 0, ST_OFF_BORN);
	fake_off(fake, 2, 0, 5 * MS, ST_OFF_SEVERAL | ST_OFF_PREEMPTED);
	fake_off(fake, 2, 1 * MS, 99 * MS, ST_OFF_PREEMPTED);
	find_lock(what, sizeof(what));
	assert_non_null(strstr(what, "its holder runs 0 % of that time, has no CPU 100 %"));
}

/* A region of 100 ms, half of which is imbalance. */
static struct st_finding find_imbalance(void)
{
	struct st_finding found;
	struct st_arena arena;

	fake_event(fake, (struct st_event_row){
				 .kind = ST_EVENT_PARALLEL,
				 .track = 0,
				 .slice = ST_NO_ROW,
				 .extra = 100 * MS,
				 .detail = ST_PARALLEL_WHOLE / 2 << ST_PARALLEL_SHIFT | 3,
			 });
	st_arena_init(&arena, SIZE_MAX / 2);
	found = find("openmp-imbalance", &arena);
	st_arena_fini(&arena);
	return found;
}

/* Threads without a CPU are late as well: what of the imbalance is theirs is not sure to be saved. */
static void test_imbalance(void **state)
{
	struct st_finding found;

	(void)state;
	fake_off(fake, 2, 0, 0, ST_OFF_BORN);
	fake_off(fake, 2, 50 * MS, 20 * MS, ST_OFF_PREEMPTED);
	found = find_imbalance();
	assert_in_range(found.saving_high_ns, 49 * MS, 51 * MS);
	assert_int_equal(found.saving_low_ns, found.saving_high_ns - 20 * MS);
}

/* Of totals nobody knows when that was. */
static void test_imbalance_without_context_switches(void **state)
{
	struct st_finding found;

	(void)state;
	fake_off(fake, 2, 0, 0, ST_OFF_BORN | ST_OFF_RAN);
	fake_off(fake, 2, 50 * MS, 30 * MS, ST_OFF_RAN);
	fake_off(fake, 2, 50 * MS, 20 * MS, ST_OFF_RAN | ST_OFF_PREEMPTED);
	found = find_imbalance();
	assert_in_range(found.saving_high_ns, 49 * MS, 51 * MS);
	assert_int_equal(found.saving_low_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_path_follows_who_ends_the_wait, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_path_without_context_switches, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_path_leads_to_the_living, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_path_leads_to_a_wait_that_is_the_first_record, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_path_without_a_living_waker, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_holders_without_context_switches, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_holders_are_ready_no_longer_than_they_hold,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_imbalance, setup, teardown),
		cmocka_unit_test_setup_teardown(test_imbalance_without_context_switches, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
