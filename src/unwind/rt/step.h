/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the walker: one walk's state, one frame's step, and recovery. Not for others.
 */
#ifndef ST_UNWIND_RT_STEP_H
#define ST_UNWIND_RT_STEP_H

#include "unwind/rt/arch.h"
#include "unwind/rt/table.h"
#include "unwind/rt/walk.h"

/* What one walk may spend on recovery: trial walks, steps in them, words looked at. */
enum {
	ST_RECOVER_TRIALS = 400,
	ST_RECOVER_STEPS = 20000,
	ST_RECOVER_WORDS = 16384,
	ST_RECOVER_LEVELS = 3,
	ST_RECOVER_YOUNG = 8, /* frames after which a trial may end in a return address of 0 */
};

struct st_walk_frame {
	uint64_t pc, sp, fp, bx;
	const uint8_t *context; /* registers of a signal frame, or NULL */
	bool exact;		/* pc is that of an interrupted instruction, no return address */
	bool fp_guessed;	/* fp is a candidate of a scan, not restored by a rule since */
};

enum st_walk_end {
	ST_WALK_COMPLETE,
	ST_WALK_NO_RULE,
	ST_WALK_NO_TABLE,
	ST_WALK_BAD, /* a rule leads outside the stack, or downwards */
	ST_WALK_CUT, /* frames_max */
};

struct st_walker {
	struct st_walk *walk;
	const struct st_unwind_arch *arch;
	uint32_t trials_left, steps_left, words_left;
	uint32_t young;	    /* on trial, and this many frames to go until it counts for more */
	bool fp_guess_used; /* a rule used a guessed fp */
	bool saw_no_table;
	/* A trial ended at its very first frame; and whether that counts, for want of anything better. */
	bool saw_entry, entry_may_call;
};

bool st_walk_read(const struct st_walk *walk, uint64_t address, uint64_t *value);
bool st_walk_push(struct st_walk *walk, uint64_t word);
/* The module that holds an address; NULL: none. */
const struct st_unwind_module *st_walk_module(const struct st_walk *walk, uint64_t address);
/* Whether an address is one behind a call. */
bool st_walk_is_behind_call(const struct st_walker *walker, uint64_t address);
/* Applies a rule: the frame becomes its caller's. */
enum st_walk_end st_walk_step(struct st_walker *walker, struct st_walk_frame *frame,
			      const struct st_unwind_rule *rule, bool *last);
/* From a frame whose word is stored already, by rules alone. frame: the last one reached. */
enum st_walk_end st_walk_chain(struct st_walker *walker, struct st_walk_frame *frame);
/* Finds the caller of a frame without a rule, and the rest: COMPLETE or CUT. NO_RULE, NO_TABLE: nothing is changed. */
enum st_walk_end st_walk_recover(struct st_walker *walker, struct st_walk_frame *frame,
				 uint32_t level);

#endif
