// SPDX-License-Identifier: Apache-2.0
//
// The last resort, for code without any rule: looks for the return address on the stack. A candidate must
// point behind a call in a function with rules, and a walk from it must reach the end of the stack.
// Which calls count was measured on stacks whose truth was known:
//  - a leaf in anonymous memory (JIT code): indirect calls only, right in 99 of 100;
//  - a leaf in a file (assembly): any call. Checking the target would refuse tail calls;
//  - in the middle of a stack: indirect calls, and direct ones that aim at this very code; any other call
//    only when there is none of those.
// What is found is likely, not certain: its word carries ST_FRAME_WORD_RECOVERED.
#include <string.h>

#include "format/sample_record.h"
#include "unwind/rt/step.h"

enum { WORD = 8, JUMP_BYTES = 16, FP_CANDIDATES_MAX = 32 };

/* The code without rules. */
struct hole {
	const struct st_unwind_module *module; /* NULL: anonymous */
	uint64_t start, end;		       /* of the gap, or of the address alone */
	uint64_t pc;
	bool leaf;
};

enum pass { PASS_STRICT, PASS_ANY };

static struct hole hole_of(const struct st_walk *walk, const struct st_walk_frame *frame)
{
	uint64_t address = frame->pc - !frame->exact;
	struct hole hole = {.module = st_walk_module(walk, address),
			    .start = address,
			    .end = address + 1,
			    .pc = frame->pc,
			    .leaf = frame->exact};
	uint64_t start, end, bias;

	if (!hole.module || !hole.module->table)
		return hole;
	if (hole.module->table->flags & ST_TABLE_ANONYMOUS) {
		hole.module = NULL; /* code between known pieces: as if it were in no module */
		return hole;
	}
	bias = hole.module->bias;
	if (st_unwind_table_gap(hole.module->table, address - bias, &start, &end) ||
	    st_unwind_table_function(hole.module->table, address - bias, &start, &end)) {
		hole.start = start + bias;
		hole.end = end + bias;
	} else {
		/* Before the first function or behind the last. */
		hole.start = hole.module->start;
		hole.end = hole.module->end;
	}
	return hole;
}

/* Whether a direct call goes to the hole, through a PLT slot or not. */
static bool aims_at(const struct st_walker *walker, const struct hole *hole, uint64_t target)
{
	const struct st_walk *walk = walker->walk;
	uint8_t bytes[JUMP_BYTES];
	uint64_t slot;

	if (target >= hole->start && target < hole->end)
		return target <= hole->pc;
	if (!walk->read_code(walk->arg, target, bytes, sizeof(bytes)))
		return false;
	slot = walker->arch->jump_slot(bytes, target);
	return slot && walk->read_code(walk->arg, slot, &target, sizeof(target)) &&
	       target >= hole->start && target < hole->end && target <= hole->pc;
}

bool st_walk_is_behind_call(const struct st_walker *walker, uint64_t address)
{
	const struct st_walk *walk = walker->walk;
	uint8_t bytes[ST_ARCH_CALL_BYTES];
	uint64_t target;

	/* No code on the stack. */
	if (address >= walk->stack_low && address < walk->stack_high)
		return false;
	return address >= sizeof(bytes) &&
	       walk->read_code(walk->arg, address - sizeof(bytes), bytes, sizeof(bytes)) &&
	       walker->arch->call_before(bytes, address, &target) != ST_CALL_NONE;
}

static bool is_return_address(const struct st_walker *walker, const struct hole *hole,
			      uint64_t word, enum pass pass)
{
	const struct st_walk *walk = walker->walk;
	const struct st_unwind_module *module;
	uint8_t bytes[ST_ARCH_CALL_BYTES];
	enum st_call_kind kind;
	uint64_t target;
	bool has_rule;

	if (word < ST_ARCH_CALL_BYTES)
		return false;
	module = st_walk_module(walk, word - 1);
	if (!module || word - module->start < ST_ARCH_CALL_BYTES)
		return false;
	/* Without a table nobody can tell: taken for code, and the scan ends there. */
	has_rule = !module->table || st_unwind_table_rule(module->table, word - 1 - module->bias);
	/* Code without rules may call other code without rules, in its own file. */
	if (!has_rule && module != hole->module)
		return false;
	if (!walk->read_code(walk->arg, word - sizeof(bytes), bytes, sizeof(bytes)))
		return false;
	kind = walker->arch->call_before(bytes, word, &target);
	if (kind == ST_CALL_NONE)
		return false;
	if (!has_rule)
		return kind == ST_CALL_DIRECT && aims_at(walker, hole, target);
	if (kind == ST_CALL_INDIRECT)
		return true;
	if (!hole->module)
		return false;
	return hole->leaf || pass == PASS_ANY || aims_at(walker, hole, target);
}

/* A walk from a candidate; leaves its frames in place when it reaches the end. */
static enum st_walk_end try_frame(struct st_walker *walker, struct st_walk_frame *frame,
				  uint32_t level)
{
	struct st_walk *walk = walker->walk;
	uint32_t kept = walk->frame_count;
	enum st_walk_end end;

	if (!walker->trials_left || !walker->steps_left)
		return ST_WALK_NO_RULE;
	walker->trials_left--;
	walker->fp_guess_used = false;
	walker->young = ST_RECOVER_YOUNG;
	frame->fp_guessed = true;
	if (!st_walk_push(walk, frame->pc | ST_FRAME_WORD_RECOVERED))
		return ST_WALK_CUT;
	end = st_walk_chain(walker, frame);
	if (end == ST_WALK_NO_RULE && level + 1 < ST_RECOVER_LEVELS &&
	    st_walk_is_behind_call(walker, frame->pc)) {
		bool used = walker->fp_guess_used;

		end = st_walk_recover(walker, frame, level + 1);
		walker->fp_guess_used |= used;
	}
	walker->young = 0;
	/* The entry of a program or thread hardly ever calls code without rules; a leftover of its address does lie about. */
	if (end == ST_WALK_COMPLETE && walk->frame_count == kept + 1 && !walker->entry_may_call) {
		walker->saw_entry = true;
		end = ST_WALK_BAD;
	}
	if (end == ST_WALK_COMPLETE || end == ST_WALK_CUT)
		return end;
	walker->saw_no_table |= end == ST_WALK_NO_TABLE;
	walk->frame_count = kept;
	return ST_WALK_NO_RULE;
}

/* The next candidate for the caller's fp below *at: a word that points further up the stack. */
static bool next_fp(const struct st_walk *walk, uint64_t bottom, uint64_t slot, uint64_t *at,
		    uint64_t *fp)
{
	while (*at >= bottom + WORD) {
		*at -= WORD;
		if (!st_walk_read(walk, *at, fp))
			return false;
		if (*fp > slot && *fp < walk->stack_high && *fp % WORD == 0)
			return true;
	}
	return false;
}

/* A return address at `slot`: the caller's fp is the current one, or was pushed right after the return address,
 * or somewhere below. The other order finds the frame pointers of older frames, which skip callers. */
static enum st_walk_end try_slot(struct st_walker *walker, struct st_walk_frame *frame,
				 uint64_t slot, uint32_t level)
{
	const struct st_walk_frame hole = *frame;
	struct st_walk *walk = walker->walk;
	struct st_walk_frame next = {.sp = slot + WORD, .fp = hole.fp, .bx = hole.bx};
	enum st_walk_end end;
	uint64_t at = slot;

	if (!st_walk_read(walk, slot, &next.pc))
		return ST_WALK_NO_RULE;
	for (int i = 0; i < FP_CANDIDATES_MAX; i++) {
		*frame = next;
		end = try_frame(walker, frame, level);
		if (end != ST_WALK_NO_RULE)
			return end;
		if (!walker->fp_guess_used || !next_fp(walk, hole.sp, slot, &at, &next.fp))
			break;
	}
	*frame = hole;
	return ST_WALK_NO_RULE;
}

/* Whether fp may be the frame pointer of the leaf itself: then a candidate below it that counts on fp, or whose own
 * frame would hold the place that fp points to, is a leftover: a frame too many, or one in place of another. */
static bool is_own_frame(const struct st_walker *walker, const struct hole *hole,
			 const struct st_walk_frame *frame, uint64_t slot)
{
	const struct st_walk *walk = walker->walk;
	const struct st_unwind_module *module;
	const struct st_unwind_rule *rule;
	uint64_t word, above;

	if (hole->module || !hole->leaf || slot == frame->sp || frame->fp <= slot ||
	    frame->fp >= walk->stack_high || !st_walk_read(walk, slot, &word) ||
	    !st_walk_read(walk, frame->fp + WORD, &above))
		return false;
	module = st_walk_module(walk, word - 1);
	rule = module && module->table
		       ? st_unwind_table_rule(module->table, word - 1 - module->bias)
		       : NULL;
	if (!rule || rule->cfa != ST_CFA_REGISTER)
		return false;
	return (rule->cfa_register == ST_REGISTER_FP ||
		(rule->cfa_register == ST_REGISTER_SP && rule->cfa_offset > 0 &&
		 frame->fp - slot < (uint64_t)rule->cfa_offset)) &&
	       is_return_address(walker, hole, above, PASS_STRICT);
}

static enum st_walk_end scan(struct st_walker *walker, struct st_walk_frame *frame,
			     const struct hole *hole, enum pass pass, uint32_t level)
{
	struct st_walk *walk = walker->walk;
	uint64_t slot = (frame->sp + WORD - 1) & ~(uint64_t)(WORD - 1);
	uint64_t word;

	for (; walker->words_left && walker->trials_left; slot += WORD) {
		enum st_walk_end end;

		walker->words_left--;
		if (!st_walk_read(walk, slot, &word))
			break;
		if (!is_return_address(walker, hole, word, pass))
			continue;
		/* Likely the caller, whose table is not there: what lies further up would be a stack without it. */
		if (!st_walk_module(walk, word - 1)->table)
			return ST_WALK_NO_TABLE;
		end = ST_WALK_NO_RULE;
		if (is_own_frame(walker, hole, frame, slot))
			end = try_slot(walker, frame, frame->fp + WORD, level);
		if (end == ST_WALK_NO_RULE)
			end = try_slot(walker, frame, slot, level);
		if (end != ST_WALK_NO_RULE)
			return end;
	}
	return ST_WALK_NO_RULE;
}

enum st_walk_end st_walk_recover(struct st_walker *walker, struct st_walk_frame *frame,
				 uint32_t level)
{
	struct st_walk *walk = walker->walk;
	struct hole hole = hole_of(walk, frame);
	enum st_walk_end end = scan(walker, frame, &hole, PASS_STRICT, level);

	if (end == ST_WALK_NO_RULE && hole.module && !hole.leaf)
		end = scan(walker, frame, &hole, PASS_ANY, level);
	if (end == ST_WALK_NO_RULE && walker->saw_entry && !level) {
		walker->entry_may_call = true;
		end = scan(walker, frame, &hole, PASS_ANY, level);
	}
	if (end == ST_WALK_COMPLETE || end == ST_WALK_CUT)
		walk->flags |= ST_SAMPLE_RECOVERED;
	return end;
}
