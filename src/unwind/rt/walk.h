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
	/* NULL: not there yet, walks end here with NO_TABLE. A file without CFI has a table too, an empty one, and
	 * stacks are recovered through it. */
	const struct st_unwind_table *table;
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
	/* All registers at the interruption, as a signal frame has them (x86-64: uc_mcontext.gregs); NULL: only
	 * those above are known. Needed in the few instructions that realign the stack. */
	const uint64_t *context;
	/* The stack: addresses low … high - 1 are readable at bytes + (address - low). In the target itself bytes is
	 * (const uint8_t *)low. */
	uint64_t stack_low, stack_high;
	const uint8_t *stack;
	/* For recovery: copies the target's memory (code before a return address, a PLT slot), at most 16 bytes; false
	 * when it cannot. Addresses come out of the stack: anything may be asked. May be NULL: no recovery. */
	bool (*read_code)(void *arg, uint64_t address, void *out, size_t size_bytes);
	void *arg;
	uint64_t *frames; /* out: words of format/sample_record.h, innermost first */
	uint32_t frames_max;
	bool recover; /* scan the stack where no rule exists */
	/* out */
	uint32_t frame_count;
	uint32_t flags;	     /* enum st_sample_flag: TRUNCATED, RECOVERED, NO_TABLE, DEPTH_CUT */
	uint64_t missing_pc; /* with TRUNCATED: where no rule was found; 0: another reason */
	/* The last frame: where a caller that knows of another stack (an alternate one) may go on. */
	uint64_t last_pc, last_sp, last_fp, last_bx;
};

/* Has the processor fetch what the previous walk with this cache looked at, all at once, instead of one after
 * the other as a walk comes to it. Nothing of it can fault. */
void st_walk_foresee(const struct st_unwind_cache *cache);

/* Async-signal-safe; about 300 bytes of stack for each of four levels at most. */
void st_walk_run(struct st_walk *walk);

#endif
