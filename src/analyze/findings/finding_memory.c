// SPDX-License-Identifier: Apache-2.0
//
// Rules over the memory of operators.
#include <stdlib.h>

#include "analyze/findings/finding_rules.h"
#include "analyze/operators/memory_blocks.h"

/* The C library gets larger blocks from the kernel each time, and gives them back each time: its limit moves with the
 * blocks that are freed, up to here. */
static const uint64_t always_fresh_bytes = (uint64_t)32 << 20;
#define MIB 1048576.0
/* The measured piece fits into a cache; pages of a block that does not are cold when they are cleared, and push out what the
 * operator works on. Measured: 527 us for a MiB of 40 beside 393 of that piece. */
#define COLD (4.0 / 3.0)

/* Every page of a fresh block is a trip into the kernel, which clears it. What that costs was measured at the start. */
bool st_find_allocation_churn(struct st_finding_ground *ground, struct st_finding *out)
{
	uint64_t fresh_ns = st_result_info(ground->result)->fresh_mib_ns;
	uint64_t bytes = 0, count = 0, largest_bytes = 0;
	uint32_t largest = ST_NO_ROW;
	struct st_memory_blocks blocks;

	if (!fresh_ns || !st_memory_blocks_make(&blocks, ground->result))
		return false;
	for (uint32_t i = 0; i < blocks.count; i++) {
		const struct st_memory_block *block = &blocks.items[i];

		if (block->bytes < always_fresh_bytes || block->begin_ns < ground->begin_ns ||
		    block->begin_ns > ground->end_ns || block->end_ns == INT64_MAX)
			continue;
		bytes += block->bytes;
		count++;
		if (block->bytes > largest_bytes) {
			largest_bytes = block->bytes;
			largest = block->slice;
		}
	}
	st_memory_blocks_fini(&blocks);
	out->evidence_ns = (uint64_t)((double)bytes / MIB * (double)fresh_ns * COLD);
	if ((double)count < ground->divisor || st_finding_share(ground, out->evidence_ns) < 0.1)
		return false;
	out->saving_low_ns = out->saving_high_ns = out->evidence_ns;
	if (largest != ST_NO_ROW && ground->rows->row_of_slice[largest] != ST_NO_ROW)
		out->where = st_finding_where(ground, ground->rows->row_of_slice[largest]);
	out->what = st_arena_printf(
		ground->arena,
		"about %s for %s MB of new memory in %s blocks: the C library "
		"returns blocks of that size to the kernel each time",
		st_finding_time(ground, out->evidence_ns),
		st_finding_figure(ground->arena, (double)bytes / ground->divisor / 1e6, 3),
		st_finding_number(ground, count));
	return true;
}
