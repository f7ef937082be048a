// SPDX-License-Identifier: Apache-2.0
//
// Absences over waits: every nanosecond of a life in one place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "analyze/datasets/thread_time.h"
#include "analyze/datasets/wait_sites.h"
#include "fake_result.h"

enum { MS = 1000000 };

static struct st_result *one_thread(void)
{
	struct st_result *fake = fake_create();
	uint32_t process = fake_process(fake, "program", 7);

	fake_track(fake, process, "", 7);
	return fake;
}

/* A wait that a function of the C library told. */
static void add_wait(struct st_result *fake, uint32_t kind, int64_t begin_ns, int64_t end_ns)
{
	fake_span(fake, (struct st_span){.kind = ST_SPAN_WAIT,
					 .begin_ns = begin_ns,
					 .end_ns = end_ns,
					 .slice = ST_NO_ROW,
					 .event = ST_SPAN_TOLD | kind});
}

static bool make_between(struct st_thread_times *times, const struct st_result *fake,
			 const int64_t *range_ns)
{
	struct st_wait_sites sites = {.result = fake}; /* no stacks */

	return st_thread_times_make(times, &sites, range_ns);
}

static bool make(struct st_thread_times *times, const struct st_result *fake)
{
	return make_between(times, fake, NULL);
}

static uint64_t sum_of(const struct st_thread_time *time)
{
	uint64_t sum = time->running_ns;

	for (unsigned int i = 0; i < ST_WAIT_CLASSES; i++)
		sum += time->class_ns[i];
	return sum;
}

static void test_classes(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	add_wait(fake, ST_WAIT_MUTEX, 10 * MS, 30 * MS);
	add_wait(fake, ST_WAIT_READ, 40 * MS, 50 * MS);
	fake_off(fake, 0, 5 * MS, 0, ST_OFF_BORN);
	fake_off(fake, 0, 12 * MS, 10 * MS, 0);		      /* in the mutex */
	fake_off(fake, 0, 25 * MS, 2 * MS, ST_OFF_PREEMPTED); /* still in it */
	fake_off(fake, 0, 32 * MS, 3 * MS, 0);		      /* in nothing */
	fake_off(fake, 0, 38 * MS, 6 * MS, 0);		      /* two before the read, four in it */
	fake_off(fake, 0, 60 * MS, 1 * MS, ST_OFF_LOST);
	fake_off(fake, 0, 105 * MS, 0, ST_OFF_ENDED);
	fake_finish(fake);
	assert_true(make(&times, fake));
	time = &times.threads[0];
	assert_true(times.is_exact && time->is_exact);
	assert_int_equal(time->life_ns, 100 * MS);
	assert_int_equal(sum_of(time), time->life_ns);
	assert_int_equal(time->class_ns[ST_WAITS_SYNC], 10 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_IO], 4 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_PREEMPTED], 2 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_UNEXPLAINED], 6 * MS);
	assert_int_equal(time->lost_ns, 1 * MS);
	assert_int_equal(times.waits[0].inactive_ns, 10 * MS);
	assert_int_equal(times.waits[0].preempted_ns, 2 * MS);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* A sum of short absences fills the waits around it, and none with more than it took. */
static void test_sums(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	add_wait(fake, ST_WAIT_MUTEX, 11 * MS, 12 * MS);
	add_wait(fake, ST_WAIT_SLEEP, 13 * MS, 15 * MS);
	add_wait(fake, ST_WAIT_MUTEX, 90 * MS, 99 * MS);
	fake_off(fake, 0, 0, 0, ST_OFF_BORN);
	fake_off(fake, 0, 10 * MS, 5 * MS, ST_OFF_SEVERAL);
	fake_off(fake, 0, 30 * MS, 1 * MS, ST_OFF_SEVERAL | ST_OFF_PREEMPTED);
	fake_off(fake, 0, 100 * MS, 0, ST_OFF_ENDED);
	fake_finish(fake);
	assert_true(make(&times, fake));
	time = &times.threads[0];
	assert_int_equal(time->class_ns[ST_WAITS_SYNC], 1 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_SLEEP], 2 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_PREEMPTED], 1 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_UNEXPLAINED], 2 * MS);
	assert_int_equal(sum_of(time), 100 * MS);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* In a pause nothing is recorded: it is no part of the life. */
static void test_pauses(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;

	(void)state;
	fake->pauses[0] = (struct st_pause_window){ST_NO_ROW, 20 * MS, 60 * MS};
	fake->pause_count = 1;
	fake_off(fake, 0, 0, 0, ST_OFF_BORN);
	fake_off(fake, 0, 10 * MS, 20 * MS, ST_OFF_PREEMPTED);
	fake_off(fake, 0, 100 * MS, 0, ST_OFF_ENDED);
	fake_finish(fake);
	assert_true(make(&times, fake));
	assert_int_equal(times.threads[0].life_ns, 60 * MS);
	assert_int_equal(times.threads[0].class_ns[ST_WAITS_PREEMPTED], 10 * MS);
	assert_int_equal(times.threads[0].running_ns, 50 * MS);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* Of sums only the share of the time that was recorded: the pause is in their last 2 of 10 ms, or all around them. */
static void test_sums_around_pauses(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	fake->pauses[0] = (struct st_pause_window){ST_NO_ROW, 18 * MS, 60 * MS};
	fake->pause_count = 1;
	add_wait(fake, ST_WAIT_MUTEX, 12 * MS, 20 * MS);
	fake_off(fake, 0, 0, 0, ST_OFF_BORN);
	fake_off(fake, 0, 10 * MS, 10 * MS, ST_OFF_SEVERAL);
	fake_off(fake, 0, 20 * MS, 9 * MS, ST_OFF_SEVERAL);
	fake_off(fake, 0, 30 * MS, 9 * MS, ST_OFF_SEVERAL);
	fake_off(fake, 0, 40 * MS, 9 * MS, ST_OFF_SEVERAL | ST_OFF_PREEMPTED);
	fake_off(fake, 0, 65 * MS, 0, ST_OFF_ENDED);
	fake_finish(fake);
	assert_true(make(&times, fake));
	time = &times.threads[0];
	assert_int_equal(time->life_ns, 23 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_SYNC], 6 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_PREEMPTED], 0);
	assert_int_equal(time->class_ns[ST_WAITS_UNEXPLAINED], 2 * MS);
	assert_int_equal(sum_of(time), time->life_ns);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* Counts are of the time since they were read before. */
static void test_counts_around_pauses(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	fake->pauses[0] = (struct st_pause_window){ST_NO_ROW, 60 * MS, 180 * MS};
	fake->pause_count = 1;
	fake_off(fake, 0, 0, 0, ST_OFF_BORN | ST_OFF_RAN);
	fake_off(fake, 0, 50 * MS, 30 * MS, ST_OFF_RAN);
	fake_off(fake, 0, 50 * MS, 10 * MS, ST_OFF_RAN | ST_OFF_PREEMPTED);
	fake_off(fake, 0, 100 * MS, 45 * MS, ST_OFF_RAN);
	fake_off(fake, 0, 100 * MS, 5 * MS, ST_OFF_RAN | ST_OFF_PREEMPTED);
	fake_off(fake, 0, 150 * MS, 50 * MS, ST_OFF_RAN);
	fake_off(fake, 0, 200 * MS, 50 * MS, ST_OFF_RAN);
	fake_finish(fake);
	assert_true(make(&times, fake));
	time = &times.threads[0];
	assert_false(time->is_exact);
	assert_int_equal(time->life_ns, 80 * MS);
	assert_int_equal(time->running_ns, (30 + 9 + 0 + 20) * MS);
	assert_int_equal(time->class_ns[ST_WAITS_PREEMPTED], 11 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_UNEXPLAINED], 10 * MS);
	assert_int_equal(sum_of(time), time->life_ns);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* Without the kernel's word waits count as long as they took, and the rest is not explained. */
static void test_without_switches(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;

	(void)state;
	add_wait(fake, ST_WAIT_SLEEP, 10 * MS, 40 * MS);
	fake->tracks[0].last_ns = 100 * MS;
	fake_finish(fake);
	assert_true(make(&times, fake));
	assert_false(times.is_exact);
	assert_int_equal(times.threads[0].class_ns[ST_WAITS_SLEEP], 30 * MS);
	assert_int_equal(times.threads[0].class_ns[ST_WAITS_UNEXPLAINED], 70 * MS);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* Of a thread that waits at once, nothing is told before that wait is over. */
static void test_a_wait_is_the_first_record(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;

	(void)state;
	add_wait(fake, ST_WAIT_SLEEP, 10 * MS, 90 * MS);
	fake->tracks[0].first_ns = 90 * MS;
	fake->tracks[0].last_ns = 100 * MS;
	fake_finish(fake);
	assert_true(make(&times, fake));
	assert_int_equal(times.threads[0].life_ns, 90 * MS);
	assert_int_equal(times.threads[0].class_ns[ST_WAITS_SLEEP], 80 * MS);
	assert_int_equal(times.threads[0].class_ns[ST_WAITS_UNEXPLAINED], 10 * MS);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* It spins in its waits: the kernel counts that as running, and a moment is in one class only. */
static void test_counts_of_spinning_waits(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	add_wait(fake, ST_WAIT_MUTEX, 10 * MS, 40 * MS);
	add_wait(fake, ST_WAIT_SLEEP, 50 * MS, 60 * MS);
	fake_off(fake, 0, 0, 0, ST_OFF_BORN | ST_OFF_RAN);
	fake_off(fake, 0, 50 * MS, 50 * MS, ST_OFF_RAN);
	fake_off(fake, 0, 100 * MS, 30 * MS + 1, ST_OFF_RAN);
	fake_off(fake, 0, 100 * MS, 20 * MS, ST_OFF_RAN | ST_OFF_PREEMPTED);
	fake_finish(fake);
	assert_true(make(&times, fake));
	time = &times.threads[0];
	assert_int_equal(time->life_ns, 100 * MS);
	assert_int_equal(time->running_ns, 80 * MS + 1);
	assert_int_equal(time->class_ns[ST_WAITS_SYNC], 15 * MS - 1);
	assert_int_equal(time->class_ns[ST_WAITS_SLEEP], 5 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_PREEMPTED], 0);
	assert_int_equal(time->class_ns[ST_WAITS_UNEXPLAINED], 0);
	assert_int_equal(times.preempted_count, 0);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* Ready time that does not fit beside the waits lies in them. */
static void test_counts_of_ready_time(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	add_wait(fake, ST_WAIT_MUTEX, 10 * MS, 40 * MS);
	fake_off(fake, 0, 0, 0, ST_OFF_BORN | ST_OFF_RAN);
	fake_off(fake, 0, 100 * MS, 55 * MS, ST_OFF_RAN);
	fake_off(fake, 0, 100 * MS, 20 * MS, ST_OFF_RAN | ST_OFF_PREEMPTED);
	fake_finish(fake);
	assert_true(make(&times, fake));
	time = &times.threads[0];
	assert_int_equal(time->running_ns, 55 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_SYNC], 30 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_PREEMPTED], 15 * MS);
	assert_int_equal(sum_of(time), 100 * MS);
	assert_int_equal(times.preempted_count, 1);
	assert_int_equal(times.preempted[0].ns, 15 * MS);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* By samples it is the same. */
static void test_samples_of_spinning_waits(void **state)
{
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	add_wait(fake, ST_WAIT_MUTEX, 10 * MS, 100 * MS);
	fake->tracks[0].last_ns = 100 * MS;
	for (int64_t at = 10; at <= 70; at += 10)
		fake_sample(fake, at * MS, 10 * MS, 0, 0);
	fake_finish(fake);
	assert_true(make(&times, fake));
	time = &times.threads[0];
	assert_int_equal(time->life_ns, 100 * MS);
	assert_int_equal(time->running_ns, 70 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_SYNC], 30 * MS);
	assert_int_equal(sum_of(time), time->life_ns);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

/* Of a part of the run: absences as far as they lie in it, and of sums their share. */
static void test_range(void **state)
{
	const int64_t range_ns[2] = {20 * MS, 65 * MS}, before_ns[2] = {0, 5 * MS};
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	add_wait(fake, ST_WAIT_MUTEX, 10 * MS, 30 * MS);
	add_wait(fake, ST_WAIT_READ, 40 * MS, 50 * MS);
	fake_off(fake, 0, 5 * MS, 0, ST_OFF_BORN);
	fake_off(fake, 0, 12 * MS, 15 * MS, 0); /* in the mutex, 7 in the range */
	fake_off(fake, 0, 27 * MS, 2 * MS, ST_OFF_PREEMPTED);
	fake_off(fake, 0, 40 * MS, 10 * MS, 0); /* in the read */
	fake_off(fake, 0, 60 * MS, 8 * MS,
		 ST_OFF_SEVERAL); /* half of the stretch is in the range */
	fake_off(fake, 0, 80 * MS, 10 * MS, 0);
	fake_off(fake, 0, 105 * MS, 0, ST_OFF_ENDED);
	fake_finish(fake);
	assert_true(make_between(&times, fake, range_ns));
	time = &times.threads[0];
	assert_true(time->is_known);
	assert_int_equal(time->begin_ns, 20 * MS);
	assert_int_equal(time->end_ns, 65 * MS);
	assert_int_equal(time->life_ns, 45 * MS);
	assert_int_equal(sum_of(time), time->life_ns);
	assert_int_equal(time->class_ns[ST_WAITS_SYNC], 7 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_IO], 10 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_PREEMPTED], 2 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_UNEXPLAINED], 4 * MS);
	st_thread_times_fini(&times);
	assert_true(make_between(&times, fake, before_ns));
	assert_int_equal(sum_of(&times.threads[0]), 0);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

static void test_range_of_counts(void **state)
{
	const int64_t range_ns[2] = {25 * MS, 75 * MS};
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	add_wait(fake, ST_WAIT_SLEEP, 70 * MS, 90 * MS);
	fake_off(fake, 0, 0, 0, ST_OFF_BORN | ST_OFF_RAN);
	fake_off(fake, 0, 50 * MS, 40 * MS, ST_OFF_RAN);
	fake_off(fake, 0, 100 * MS, 10 * MS, ST_OFF_RAN);
	fake_off(fake, 0, 150 * MS, 50 * MS, ST_OFF_RAN);
	fake_finish(fake);
	assert_true(make_between(&times, fake, range_ns));
	time = &times.threads[0];
	assert_int_equal(time->life_ns, 50 * MS);
	assert_int_equal(time->running_ns, (20 + 5) * MS);
	assert_int_equal(time->class_ns[ST_WAITS_SLEEP], 5 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_UNEXPLAINED], 20 * MS);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

static void test_range_of_samples(void **state)
{
	const int64_t range_ns[2] = {25 * MS, 75 * MS};
	struct st_result *fake = one_thread();
	struct st_thread_times times;
	const struct st_thread_time *time;

	(void)state;
	add_wait(fake, ST_WAIT_SLEEP, 60 * MS, 90 * MS);
	fake->tracks[0].last_ns = 100 * MS;
	for (int64_t at = 10; at <= 50; at += 10)
		fake_sample(fake, at * MS, 10 * MS, 0, 0);
	fake_finish(fake);
	assert_true(make_between(&times, fake, range_ns));
	time = &times.threads[0];
	assert_int_equal(time->life_ns, 50 * MS);
	assert_int_equal(time->running_ns, 30 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_SLEEP], 15 * MS);
	assert_int_equal(time->class_ns[ST_WAITS_UNEXPLAINED], 5 * MS);
	st_thread_times_fini(&times);
	fake_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_sums_around_pauses),
		cmocka_unit_test(test_counts_around_pauses),
		cmocka_unit_test(test_without_switches),
		cmocka_unit_test(test_a_wait_is_the_first_record),
		cmocka_unit_test(test_counts_of_spinning_waits),
		cmocka_unit_test(test_counts_of_ready_time),
		cmocka_unit_test(test_samples_of_spinning_waits),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_range_of_counts),
		cmocka_unit_test(test_range_of_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
