/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks of devices on the collector's, and numbers by handles: what the libraries for OpenCL and Level Zero share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "collect/devices/handles.h"
#include "collect/devices/host_clock.h"
#include "collect/inproc/device/device.h"

enum { RATE = 3 }; /* ticks of this collector to a nanosecond */

static uint64_t raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t strata_device_ticks(void)
{
	return raw_ns() * RATE;
}

unsigned int strata_device_ticks_are_tsc(void)
{
	return true;
}

static int64_t off_by(uint64_t a, uint64_t b)
{
	return llabs((int64_t)(a - b));
}

/* There and back, within what two readings of a clock differ by. */
static void test_host_clock(void **state)
{
	struct st_host_clock clock = {0};
	uint64_t begin = raw_ns();

	(void)state;
	st_host_clock_read(&clock);
	while (raw_ns() - begin < 20000000)
		;
	st_host_clock_read(&clock);
	/* The line is through two readings: a busy machine may be off by some microseconds in 20 ms. */
	assert_true(clock.ticks_per_ns > RATE * 0.99 && clock.ticks_per_ns < RATE * 1.01);
	assert_true(off_by(st_host_clock_ticks(&clock, (int64_t)clock.ns), clock.ticks) <= 1);
	for (int64_t ns = -1000000; ns <= 1000000; ns += 250000) {
		int64_t at = (int64_t)clock.ns + ns;

		assert_true(llabs(st_host_clock_ns(&clock, st_host_clock_ticks(&clock, at)) - at) <=
			    2);
	}
}

/* A clock of its own: each stamp narrows down how far it is ahead. */
static void test_offset_of_another_clock(void **state)
{
	static const int64_t ahead = 123456789012345;
	struct st_clock_offset offset = {0};

	(void)state;
	st_clock_offset_add(&offset, ahead + 1500, 1000, 9000);
	assert_int_equal(offset.low, ahead - 7500);
	assert_int_equal(offset.high, ahead + 500);
	st_clock_offset_add(&offset, ahead + 20000, 19800, 20100);
	assert_int_equal(offset.low, ahead - 100);
	assert_int_equal(offset.high, ahead + 200);
	assert_int_equal(st_clock_offset_ns(&offset), ahead + 50);
	/* It has run away: what is new counts. */
	st_clock_offset_add(&offset, ahead + 31000, 30000, 30200);
	assert_int_equal(st_clock_offset_ns(&offset), ahead + 900);
}

/* One of the host's, which is then read for what it is. */
static void test_offset_of_the_hosts_clock(void **state)
{
	struct st_clock_offset offset = {0};

	(void)state;
	for (int i = 0; i < 10; i++) {
		int64_t now = (int64_t)raw_ns();

		st_clock_offset_add(&offset, now, now - 40000, now + 1000);
	}
	assert_int_equal(offset.not_these & 1, 0);
	assert_int_equal(st_clock_offset_ns(&offset), 0);
}

static void test_handles(void **state)
{
	static struct st_handles handles;
	static char objects[ST_HANDLES_MAX * 2];
	unsigned int kept = 0;

	(void)state;
	assert_int_equal(st_handles_get(&handles, &objects[1]), 0);
	assert_true(st_handles_set(&handles, &objects[1], 7));
	assert_int_equal(st_handles_get(&handles, &objects[1]), 7);
	/* Another in its place. */
	assert_true(st_handles_set(&handles, &objects[1], 8));
	assert_int_equal(st_handles_get(&handles, &objects[1]), 8);
	/* More than there is room for: what is refused is not there, what was taken stays. */
	for (uint32_t i = 2; i < sizeof(objects); i++)
		kept += st_handles_set(&handles, &objects[i], i);
	assert_true(kept > ST_HANDLES_MAX / 2 && kept < ST_HANDLES_MAX + 1);
	assert_int_equal(st_handles_get(&handles, &objects[1]), 8);
	for (uint32_t i = 2; i < sizeof(objects); i++) {
		uint32_t found = st_handles_get(&handles, &objects[i]);

		assert_true(found == 0 || found == i);
		kept -= found == i;
	}
	assert_int_equal(kept, 0);
	st_handles_clear(&handles);
	assert_int_equal(st_handles_get(&handles, &objects[1]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_clock),
		cmocka_unit_test(test_offset_of_another_clock),
		cmocka_unit_test(test_offset_of_the_hosts_clock),
		cmocka_unit_test(test_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
