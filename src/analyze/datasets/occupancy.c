// SPDX-License-Identifier: Apache-2.0
//
// The rules of CUDA's own calculation: registers are given to warps in units of 256 in each quarter of a processor, shared
// memory to blocks in units of 128 bytes beside what the system takes of it.
#include "analyze/datasets/occupancy.h"

enum {
	REGISTER_UNIT = 256,
	QUARTERS = 4,
	SHARED_UNIT = 128,
	OLD_SHARED_UNIT = 256,
	AMPERE = 8 << 8
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Blocks that fit into a processor at once. */
static uint64_t resident_blocks(const struct st_device_about *about,
				const struct st_device_item *kernel, uint64_t warps)
{
	uint64_t most = smaller(about->blocks ? about->blocks : UINT32_MAX,
				about->threads / about->warp / warps);
	uint64_t registers = round_up((uint64_t)kernel->registers * about->warp, REGISTER_UNIT);
	uint64_t shared = round_up((uint64_t)kernel->shared_static + kernel->shared_dynamic +
					   about->reserved_shared_bytes,
				   about->version >= AMPERE ? SHARED_UNIT : OLD_SHARED_UNIT);

	if (registers && about->registers)
		most = smaller(most, about->registers / QUARTERS / registers * QUARTERS / warps);
	if (shared && about->shared_bytes)
		most = smaller(most, about->shared_bytes / shared);
	return most;
}

bool st_occupancy_of(const struct st_device_about *about, const struct st_device_item *kernel,
		     struct st_occupancy *out)
{
	uint64_t threads, warps;
	double resident;

	if (!about || !about->processors || !about->warp || !about->threads ||
	    kernel->kind != ST_DEVICE_KERNEL)
		return false;
	threads = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
	if (!threads)
		return false;
	warps = round_up(threads, about->warp) / about->warp;
	out->blocks =
		(double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2] / about->processors;
	out->warps = out->blocks * (double)threads / about->warp;
	resident = (double)resident_blocks(about, kernel, warps);
	if (resident > out->blocks)
		resident = out->blocks;
	out->share = resident * (double)threads / about->threads;
	return true;
}
