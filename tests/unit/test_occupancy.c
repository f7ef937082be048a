// SPDX-License-Identifier: Apache-2.0
//
// The estimate of occupancy, against what torch's profiler wrote of kernels on an H200, and against the limits of the
// device, worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/datasets/occupancy.h"

static const struct st_device_about h200 = {
	.processors = 132,
	.threads = 2048,
	.registers = 65536,
	.blocks = 32,
	.shared_bytes = 233472,
	.warp = 32,
	.version = 9 << 8,
	.reserved_shared_bytes = 1024,
};

struct launch {
	uint16_t registers;
	uint32_t shared;
	uint32_t grid[3];
	uint16_t block[3];
	int percent;
};

static double share_of(const struct launch *launch, struct st_occupancy *out)
{
	struct st_device_item item = {.kind = ST_DEVICE_KERNEL,
				      .registers = launch->registers,
				      .shared_dynamic = launch->shared};

	for (unsigned int i = 0; i < 3; i++) {
		item.grid[i] = launch->grid[i];
		item.block[i] = launch->block[i];
	}
	assert_true(st_occupancy_of(&h200, &item, out));
	return out->share;
}

static void as_torch_says(void **state)
{
	static const struct launch launches[] = {
		{18, 0, {113, 1, 1}, {128, 1, 1}, 5},	 {28, 0, {29, 1, 1}, {128, 1, 1}, 1},
		{32, 0, {4, 1, 1}, {512, 1, 1}, 1},	 {32, 4224, {29, 1, 4}, {256, 1, 1}, 11},
		{32, 4224, {32, 1, 4}, {256, 1, 1}, 12}, {64, 2304, {113, 1, 1}, {8, 8, 1}, 3},
		{80, 6528, {1, 225, 1}, {64, 1, 1}, 5},	 {96, 13824, {16, 2, 1}, {128, 1, 1}, 2},
		{104, 1024, {2, 1, 4}, {64, 1, 1}, 0},	 {32, 2064, {1, 1, 1}, {64, 8, 1}, 0},
	};
	struct st_occupancy out;

	(void)state;
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		assert_int_equal((int)(100 * share_of(&launches[i], &out) + 0.5),
				 launches[i].percent);
	share_of(&launches[0], &out);
	assert_true(out.blocks > 0.85606 && out.blocks < 0.85607);
	assert_true(out.warps > 3.42424 && out.warps < 3.42425);
}

static void by_each_limit(void **state)
{
	static const struct launch launches[] = {
		/* 8 warps of 2,048 registers fit into a quarter: 32 warps, 4 blocks. */
		{64, 0, {100000, 1, 1}, {256, 1, 1}, 50},
		/* 5 warps of 3,072 registers into a quarter: 20 warps, 2 blocks of 8. */
		{96, 0, {100000, 1, 1}, {256, 1, 1}, 25},
		/* 64 warps, in 32 blocks of one at most. */
		{16, 0, {100000, 1, 1}, {32, 1, 1}, 50},
		/* 101,376 bytes and the system's 1,024: two fit. */
		{16, 101376, {100000, 1, 1}, {256, 1, 1}, 25},
		{16, 0, {100000, 1, 1}, {1024, 1, 1}, 100},
	};
	struct st_occupancy out;

	(void)state;
	for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		assert_int_equal((int)(100 * share_of(&launches[i], &out) + 0.5),
				 launches[i].percent);
}

static void not_known(void **state)
{
	const struct st_device_item copy = {.kind = ST_DEVICE_COPY},
				    none = {.kind = ST_DEVICE_KERNEL};
	const struct st_device_about nothing = {0};
	struct st_occupancy out;

	(void)state;
	assert_false(st_occupancy_of(NULL, &none, &out));
	assert_false(st_occupancy_of(&nothing, &none, &out));
	assert_false(st_occupancy_of(&h200, &none, &out));
	assert_false(st_occupancy_of(&h200, &copy, &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_torch_says),
		cmocka_unit_test(by_each_limit),
		cmocka_unit_test(not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
