/* SPDX-License-Identifier: Apache-2.0
 *
 * The interval of a difference, against printed tables of Student's t and by counting how often it is wrong.
 */
#include "analyze/engine/welch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t state_of_chance = 88172645463325252ull;

static double uniform(void)
{
	state_of_chance ^= state_of_chance << 13;
	state_of_chance ^= state_of_chance >> 7;
	state_of_chance ^= state_of_chance << 17;
	return ((double)(state_of_chance >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2.0 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* Both sides of equal spread: the degrees of freedom add up, and t for 4 of them is 2.776 in every table. */
static void test_interval(void **state)
{
	const double first[] = {9, 10, 11}, second[] = {19, 20, 21};
	struct st_difference got = st_welch(st_mean_of(first, 3), st_mean_of(second, 3));

	(void)state;
	assert_true(got.is_known);
	assert_true(fabs(got.value - 10.0) <= 1e-9);
	assert_true(fabs(got.half_width - 2.776445 * sqrt(2.0 / 3.0)) < 1e-4);
	/* t = 12.247 with 4 degrees of freedom. */
	assert_true(fabs(got.p - 0.000255) <= 1e-5);
}

static void test_one_value_has_no_interval(void **state)
{
	const double one[] = {5}, many[] = {4, 5, 6};

	(void)state;
	assert_false(st_welch(st_mean_of(one, 1), st_mean_of(many, 3)).is_known);
	assert_false(st_welch(st_mean_of(many, 3), st_mean_of(one, 1)).is_known);
	assert_true(fabs(st_welch(st_mean_of(one, 1), st_mean_of(many, 3)).value - 0.0) <= 1e-9);
}

static void test_no_spread(void **state)
{
	const double same[] = {5, 5}, other[] = {6, 6};

	(void)state;
	assert_true(fabs(st_welch(st_mean_of(same, 2), st_mean_of(same, 2)).p - 1.0) <= 0.0);
	assert_true(fabs(st_welch(st_mean_of(same, 2), st_mean_of(other, 2)).p - 0.0) <= 0.0);
}

/* Of two sides that are alike, one in twenty is called different. */
static void test_chance(void **state)
{
	enum { ROUNDS = 20000 };
	unsigned int wrong = 0, outside = 0;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		double first[4], second[6];
		struct st_difference got;

		for (unsigned int k = 0; k < 4; k++)
			first[k] = 100.0 + normal();
		for (unsigned int k = 0; k < 6; k++)
			second[k] = 107.0 + 3.0 * normal();
		got = st_welch(st_mean_of(first, 4), st_mean_of(second, 6));
		outside += fabs(got.value - 7.0) > got.half_width;
		for (unsigned int k = 0; k < 6; k++)
			second[k] -= 7.0;
		wrong += st_welch(st_mean_of(first, 4), st_mean_of(second, 6)).p < 0.05;
	}
	assert_in_range(outside, ROUNDS * 4 / 100, ROUNDS * 6 / 100);
	assert_in_range(wrong, ROUNDS * 4 / 100, ROUNDS * 6 / 100);
}

/* Steps of a machine that is slow for a while do not vary by themselves: taken one by one they would seem certain. */
static void test_slow_phases(void **state)
{
	enum { ROUNDS = 2000, STEPS = 200, PHASE = 20 };
	unsigned int wrong = 0, naive = 0;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		double sides[2][STEPS], phase = 0.0;

		for (unsigned int k = 0; k < 2 * STEPS; k++) {
			if (k % PHASE == 0)
				phase = normal();
			sides[k / STEPS][k % STEPS] = 50.0 + phase + 0.3 * normal();
		}
		wrong += st_welch(st_mean_of_series(sides[0], STEPS),
				  st_mean_of_series(sides[1], STEPS))
				 .p < 0.05;
		naive +=
			st_welch(st_mean_of(sides[0], STEPS), st_mean_of(sides[1], STEPS)).p < 0.05;
	}
	assert_true(naive > ROUNDS / 3);
	assert_in_range(wrong, 0, ROUNDS * 8 / 100);
}

/* 100 samples against 100 may be 28 apart by chance. */
static void test_samples(void **state)
{
	struct st_mean side = st_mean_of_samples(1000.0, 100.0, 10.0);
	struct st_difference got = st_welch(side, side);

	(void)state;
	assert_true(fabs(got.half_width - 1.96 * 10.0 * sqrt(200.0)) < 0.5);
	assert_false(st_mean_of_series((const double[]){1, 2, 3, 4}, 4).freedom > 0.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_one_value_has_no_interval),
		cmocka_unit_test(test_no_spread),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_slow_phases),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
