/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a framework's allocator, each from its allocation until it was freed, and what was held when. A block is
 * identified by its address: allocation and free may be in different operators and threads.
 */
#ifndef ST_ANALYZE_OPERATORS_MEMORY_BLOCKS_H
#define ST_ANALYZE_OPERATORS_MEMORY_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct st_result;

struct st_memory_block {
	int64_t begin_ns;
	int64_t end_ns; /* INT64_MAX: it was never taken back */
	uint64_t bytes;
	uint32_t slice; /* the innermost that was open when it was given out, or ST_NO_ROW */
	uint32_t track, process;
};

struct st_memory_blocks {
	struct st_memory_block *items; /* by begin */
	uint32_t count;
	uint64_t unknown_bytes; /* freed blocks without a recorded allocation: not counted */
	uint32_t unknown_count;
	uint32_t again_count; /* given out a second time; that they were taken back was not seen */
};

/* False: no memory. */
bool st_memory_blocks_make(struct st_memory_blocks *out, const struct st_result *result);
void st_memory_blocks_fini(struct st_memory_blocks *blocks);

/* A moment at which the memory that is held changes. */
struct st_memory_change {
	int64_t time_ns;
	int64_t bytes;	/* below 0: given back */
	uint64_t held;	/* by all processes together, behind it */
	uint64_t taken; /* given out up to it, all together */
};

/* All of them by time; of one time those that give back first. Malloc'd; NULL: no memory. Twice as many as blocks at
 * most. */
struct st_memory_change *st_memory_changes(const struct st_memory_blocks *blocks, uint32_t *count);

struct st_memory_peak {
	int64_t time_ns;
	uint64_t bytes;
};
/* The most that was held in that time, and when first. */
struct st_memory_peak st_memory_peak(const struct st_memory_change *changes, uint32_t count,
				     int64_t begin_ns, int64_t end_ns);
/* The last change up to a moment; zeros: there is none. */
struct st_memory_change st_memory_at(const struct st_memory_change *changes, uint32_t count,
				     int64_t time_ns);
/* What is held at a moment, changes of that moment included. */
uint64_t st_memory_held(const struct st_memory_change *changes, uint32_t count, int64_t time_ns);

static inline bool st_memory_block_is_held(const struct st_memory_block *block, int64_t time_ns)
{
	return block->begin_ns <= time_ns && block->end_ns > time_ns;
}

#endif
