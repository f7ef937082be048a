/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks a native stack by compact unwind tables (unwind/rt/table.h). Runs in a signal handler of the target, in
 * strata on a copied stack, and on stacks of a file: no libc, no memory of its own, every read inside the
 * bounds it is given.
 */
#ifndef ST_UNWIND_RT_WALK_H
#define ST_UNWIND_RT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_unwind_table; /* a mapped table file */

/* One executable mapping; an array of these is sorted by start and disjoint. */
struct st_unwind_module {
	uint64_t start, end;
	uint64_t bias;
	const struct st_unwind_table *table; /* NULL: none (yet) */
};

struct st_unwind_modules {
	const struct st_unwind_module *modules;
	uint32_t count;
};

/* Remembers rules by pc; one for each thread, zeroed memory to begin with; NULL: none. Forgotten when
 * `generation` of the walk changes. */
struct st_unwind_cache;
size_t st_unwind_cache_bytes(void);

struct st_walk {
	/* in */
	struct st_unwind_modules modules;
	struct st_unwind_cache *cache;
	uint32_t generation;	 /* of the set of modules */
	uint64_t pc, sp, fp, bx; /* x86-64: rip, rsp, rbp, rbx at the interruption */
	/* The stack: addresses low … high - 1 are readable at bytes + (address - low). In the target itself bytes is
	 * (const uint8_t *)low. */
	uint64_t stack_low, stack_high;
	const uint8_t *stack;
	/* Executable bytes at an address outside tables (JIT code), for recovery: copies size bytes, false when it
	 * cannot. May be NULL. */
	bool (*read_code)(void *arg, uint64_t address, void *out, size_t size_bytes);
	void *arg;
	uint64_t *frames; /* out: words of format/sample_record.h, innermost first */
	uint32_t frames_max;
	bool recover; /* scan the stack where no rule exists */
	/* out */
	uint32_t frame_count;
	uint32_t flags;	     /* enum st_sample_flag: TRUNCATED, RECOVERED, NO_TABLE, DEPTH_CUT */
	uint64_t missing_pc; /* with TRUNCATED: where no rule was found; 0: another reason */
};

void st_walk_run(struct st_walk *walk);

#endif
