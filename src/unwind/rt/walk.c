// SPDX-License-Identifier: Apache-2.0
//
// The walk by rules; what has none is left to recover.c. Every word comes out of a target's stack and every
// rule out of a file: both may hold anything.
#include "unwind/rt/walk.h"

#include <stdatomic.h>
#include <string.h>

#include "format/sample_record.h"
#include "unwind/rt/step.h"

enum {
	WORD = 8,
	FUNCTION_ALIGN = 16,
	CACHE_SETS = 1024, /* of two entries in one line of the processor's caches */
	CACHE_SHIFT = 10,
	USED_MAX = 64,
};

#define ADDRESS_LIMIT                                                                              \
	(1ull << 57) /* above it is no user memory, and frame words have flags there */

/* Of a cached address: what follows it is known to be where a call returns to (is_made_up). */
#define CALLED (1ull << 63)

/* The rules themselves: in a handler that comes a thousand times a second most of what it
 * looks at is not in the processor's caches any more. */
struct st_unwind_cache {
	uint32_t generation;
	uint32_t used_count;
	/* What the previous walk looked at: likely what the next one will. */
	struct {
		uint64_t address, sp;
	} used[USED_MAX];
	uint32_t module; /* the one that was looked for last */
	uint32_t reserved[13];
	struct cached {
		uint64_t address; /* 0: empty; | CALLED */
		struct st_unwind_rule rule;
	} sets[CACHE_SETS][2]; /* the newer one first */
};

size_t st_unwind_cache_bytes(void)
{
	return sizeof(struct st_unwind_cache);
}

bool st_walk_read(const struct st_walk *walk, uint64_t address, uint64_t *value)
{
	/* The address may be near 2^64: nothing is added to it. */
	if (address < walk->stack_low || address > walk->stack_high - WORD)
		return false;
	memcpy(value, walk->stack + (address - walk->stack_low), WORD);
	return true;
}

bool st_walk_push(struct st_walk *walk, uint64_t word)
{
	if (walk->frame_count >= walk->frames_max)
		return false;
	walk->frames[walk->frame_count++] = word;
	return true;
}

const struct st_unwind_module *st_walk_module(const struct st_walk *walk, uint64_t address)
{
	const struct st_unwind_module *modules = walk->modules.modules;
	uint32_t low = 0, high = walk->modules.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (modules[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < modules[low - 1].end ? &modules[low - 1] : NULL;
}

/* Mostly it is the one of the previous question. */
static const struct st_unwind_module *module_near(const struct st_walk *walk, uint64_t address)
{
	const struct st_unwind_module *module;

	if (!walk->cache)
		return st_walk_module(walk, address);
	if (walk->cache->module < walk->modules.count) {
		module = &walk->modules.modules[walk->cache->module];
		if (address >= module->start && address < module->end)
			return module;
	}
	module = st_walk_module(walk, address);
	if (module)
		walk->cache->module = (uint32_t)(module - walk->modules.modules);
	return module;
}

static const struct st_unwind_rule *find_slowly(const struct st_walk *walk, uint64_t address,
						bool *no_table)
{
	const struct st_unwind_module *module = module_near(walk, address);
	uint32_t row;

	if (!module || !module->table) {
		*no_table = module;
		return NULL;
	}
	if (!st_unwind_table_row(module->table, address - module->bias, &row))
		return NULL;
	return st_unwind_table_rule_at(module->table,
				       st_unwind_table_row_rules(module->table)[row] & ST_ROW_RULE);
}

static uint32_t set_of(uint64_t address)
{
	return (uint32_t)(address ^ address >> CACHE_SHIFT) & (CACHE_SETS - 1);
}

static struct cached *entry_of(struct st_unwind_cache *cache, uint64_t address)
{
	struct cached *set = cache->sets[set_of(address)];

	for (int i = 0; address && i < 2; i++)
		if ((set[i].address & ~CALLED) == address)
			return &set[i];
	return NULL;
}

/* A handler that interrupts this one on the same thread must not find half a rule. */
static void put_entry(struct cached *entry, uint64_t address, const struct st_unwind_rule *rule)
{
	entry->address = 0;
	atomic_signal_fence(memory_order_seq_cst);
	entry->rule = *rule;
	atomic_signal_fence(memory_order_seq_cst);
	entry->address = address;
}

static void remember(struct st_unwind_cache *cache, uint64_t address,
		     const struct st_unwind_rule *rule)
{
	struct cached *set = cache->sets[set_of(address)];

	put_entry(&set[1], set[0].address, &set[0].rule);
	put_entry(&set[0], address, rule);
}

void st_walk_foresee(const struct st_unwind_cache *cache)
{
	for (uint32_t i = 0; i < cache->used_count && i < USED_MAX; i++) {
		__builtin_prefetch(cache->sets[set_of(cache->used[i].address)]);
		__builtin_prefetch((const void *)(uintptr_t)(cache->used[i].sp - WORD));
	}
}

static void note_used(struct st_unwind_cache *cache, uint64_t address, uint64_t sp)
{
	if (!cache || cache->used_count >= USED_MAX)
		return;
	cache->used[cache->used_count].address = address;
	cache->used[cache->used_count++].sp = sp;
}

/* `exact`: of the innermost frame, which will hardly be asked for again. */
static const struct st_unwind_rule *find(const struct st_walk *walk, uint64_t address, bool exact,
					 bool *no_table)
{
	const struct st_unwind_rule *rule;
	const struct cached *entry;

	if (!walk->cache || exact)
		return find_slowly(walk, address, no_table);
	entry = entry_of(walk->cache, address);
	if (entry)
		return &entry->rule;
	rule = find_slowly(walk, address, no_table);
	if (rule)
		remember(walk->cache, address, rule);
	return rule;
}

static bool register_value(struct st_walker *walker, const struct st_walk_frame *frame,
			   uint32_t which, uint64_t *value)
{
	uint32_t word = which - ST_REGISTER_CONTEXT;

	if (which == ST_REGISTER_SP) {
		*value = frame->sp;
	} else if (which == ST_REGISTER_FP) {
		*value = frame->fp;
		walker->fp_guess_used |= frame->fp_guessed;
	} else if (which == ST_REGISTER_BX) {
		*value = frame->bx;
	} else {
		if (which < ST_REGISTER_CONTEXT || word >= walker->arch->context_count ||
		    !frame->context)
			return false;
		memcpy(value, frame->context + word * WORD, WORD);
	}
	return true;
}

static bool find_cfa(struct st_walker *walker, const struct st_walk_frame *frame,
		     const struct st_unwind_rule *rule, uint64_t *cfa)
{
	uint64_t base;

	if (rule->cfa == ST_CFA_PLT) {
		*cfa = frame->sp + (uint64_t)(int64_t)rule->cfa_offset;
		if ((int64_t)(frame->pc & 15) >= rule->cfa_add)
			*cfa += WORD;
		return true;
	}
	if (!register_value(walker, frame, rule->cfa_register, &base))
		return false;
	base += (uint64_t)(int64_t)rule->cfa_offset;
	if (rule->cfa == ST_CFA_DEREF) {
		if (!st_walk_read(walker->walk, base, &base))
			return false;
		base += (uint64_t)(int64_t)rule->cfa_add;
	}
	*cfa = base;
	return true;
}

/* A saved register. GCC leaves "saved" behind after the pop: a slot below the stack pointer means that the
 * register holds the caller's value again. */
static bool restore(struct st_walker *walker, const struct st_walk_frame *frame, uint8_t kind,
		    uint64_t slot, uint64_t *value)
{
	if (kind == ST_SAVED_LOST) {
		*value = 0;
		return true;
	}
	if (kind == ST_SAVED_SAME || slot < frame->sp)
		return true;
	return st_walk_read(walker->walk, slot, value);
}

static enum st_walk_end step_signal(struct st_walker *walker, struct st_walk_frame *frame)
{
	const struct st_unwind_arch *arch = walker->arch;
	const struct st_walk *walk = walker->walk;
	const uint64_t size = (uint64_t)arch->context_count * WORD;
	uint64_t words[4], at;
	const uint8_t wanted[4] = {arch->ra, arch->sp, arch->fp, arch->bx};

	if (frame->sp < walk->stack_low || frame->sp > walk->stack_high - WORD ||
	    walk->stack_high - frame->sp < arch->context_offset + size)
		return ST_WALK_BAD;
	at = frame->sp + arch->context_offset;
	for (int i = 0; i < 4; i++)
		if (!st_walk_read(walk, at + (uint64_t)arch->context[wanted[i]] * WORD, &words[i]))
			return ST_WALK_BAD;
	*frame = (struct st_walk_frame){.pc = words[0],
					.sp = words[1],
					.fp = words[2],
					.bx = words[3],
					.exact = true,
					.context = walk->stack + (at - walk->stack_low)};
	return words[0] < ADDRESS_LIMIT ? ST_WALK_COMPLETE : ST_WALK_BAD;
}

enum st_walk_end st_walk_step(struct st_walker *walker, struct st_walk_frame *frame,
			      const struct st_unwind_rule *rule, bool *last)
{
	uint64_t cfa, pc, fp = frame->fp, bx = frame->bx, fp_base, bx_base;

	*last = rule->cfa == ST_CFA_END;
	if (*last)
		return ST_WALK_COMPLETE;
	if (rule->cfa == ST_CFA_SIGNAL)
		return step_signal(walker, frame);
	if (rule->cfa > ST_CFA_PLT || rule->ra != ST_SAVED_CFA ||
	    !find_cfa(walker, frame, rule, &cfa))
		return ST_WALK_NO_RULE;
	if (cfa <= frame->sp ||
	    !st_walk_read(walker->walk, cfa + (uint64_t)(int64_t)rule->ra_offset, &pc))
		return ST_WALK_BAD;
	fp_base = rule->fp == ST_SAVED_FP ? frame->fp : cfa;
	bx_base = rule->bx == ST_SAVED_FP ? frame->fp : cfa;
	if (!restore(walker, frame, rule->fp, fp_base + (uint64_t)(int64_t)rule->fp_offset, &fp) ||
	    !restore(walker, frame, rule->bx, bx_base + (uint64_t)(int64_t)rule->bx_offset, &bx))
		return ST_WALK_BAD;
	/* Some threads and fibres end in a return address of 0; on trial it is more likely a word that was none. */
	*last = pc == 0;
	if (*last)
		return walker->young ? ST_WALK_BAD : ST_WALK_COMPLETE;
	if (pc >= ADDRESS_LIMIT)
		return ST_WALK_BAD;
	frame->fp_guessed = frame->fp_guessed && rule->fp == ST_SAVED_SAME;
	frame->pc = pc;
	frame->sp = cfa;
	frame->fp = fp;
	frame->bx = bx;
	frame->exact = false;
	frame->context = NULL;
	return ST_WALK_COMPLETE;
}

static bool is_known_called(struct st_unwind_cache *cache, uint64_t pc)
{
	const struct cached *entry = cache ? entry_of(cache, pc - 1) : NULL;

	return entry && entry->address & CALLED;
}

static void know_called(struct st_unwind_cache *cache, uint64_t pc)
{
	struct cached *entry = cache ? entry_of(cache, pc - 1) : NULL;

	if (entry)
		entry->address |= CALLED;
}

/* Whether the caller was never called but made up: the start function of a fibre, put on its stack as a return address.
 * Functions begin at multiples of 16; a call that does not return may stand right before one, too. */
static bool is_made_up(const struct st_walker *walker, uint64_t pc)
{
	const struct st_walk *walk = walker->walk;
	const struct st_unwind_module *module;
	bool no_table;

	if (pc & (FUNCTION_ALIGN - 1) || !walk->read_code || is_known_called(walk->cache, pc))
		return false;
	module = st_walk_module(walk, pc);
	if (module && module->table &&
	    (st_unwind_table_is_start(module->table, pc - module->bias) ||
	     !st_unwind_table_rule(module->table, pc - module->bias)) &&
	    !st_walk_is_behind_call(walker, pc))
		return true;
	/* The walk asks for that rule next. */
	if (find(walk, pc - 1, false, &no_table))
		know_called(walk->cache, pc);
	return false;
}

/* Behind a call, or where a signal handler returns to. */
static bool may_be_caller(const struct st_walker *walker, const struct st_walk_frame *frame)
{
	const struct st_unwind_rule *rule;
	bool no_table;

	if (frame->exact || st_walk_is_behind_call(walker, frame->pc))
		return true;
	rule = find(walker->walk, frame->pc - 1, false, &no_table);
	return rule && rule->cfa == ST_CFA_SIGNAL;
}

enum st_walk_end st_walk_chain(struct st_walker *walker, struct st_walk_frame *frame)
{
	struct st_walk *walk = walker->walk;
	bool made_up = false;

	for (;;) {
		bool no_table = false, last, guessed = walker->fp_guess_used;
		const uint64_t address = frame->pc - !frame->exact;
		const struct st_unwind_rule *rule = find(walk, address, frame->exact, &no_table);
		enum st_walk_end end;

		/* Nobody called it: what its rule calls a return address is something else. */
		if (made_up && (!rule || rule->cfa != ST_CFA_SIGNAL))
			return walker->young ? ST_WALK_BAD : ST_WALK_COMPLETE;
		if (!rule)
			return no_table ? ST_WALK_NO_TABLE : ST_WALK_NO_RULE;
		end = st_walk_step(walker, frame, rule, &last);
		if (end != ST_WALK_COMPLETE || last)
			return end;
		note_used(walk->cache, address, frame->sp);
		made_up = !frame->exact && is_made_up(walker, frame->pc);
		frame->exact |= made_up;
		if (!st_walk_push(walk, frame->pc | (frame->exact ? ST_FRAME_WORD_EXACT : 0)))
			return ST_WALK_CUT;
		if (walker->steps_left && !--walker->steps_left)
			return ST_WALK_BAD;
		/* A wrong candidate or frame pointer leads to words that are no return addresses. */
		if ((walker->young || (walker->fp_guess_used && !guessed)) &&
		    !may_be_caller(walker, frame))
			return ST_WALK_BAD;
		walker->young -= walker->young > 0;
	}
}

static void forget_old(struct st_unwind_cache *cache, uint32_t generation)
{
	if (cache->generation == generation)
		return;
	memset(cache->sets, 0, sizeof(cache->sets));
	/* A handler that interrupts this one on the same thread must not find the new generation over old
	 * entries. */
	atomic_signal_fence(memory_order_seq_cst);
	cache->generation = generation;
}

static void finish(struct st_walker *walker, const struct st_walk_frame *frame,
		   enum st_walk_end end)
{
	struct st_walk *walk = walker->walk;

	walk->last_pc = frame->pc;
	walk->last_sp = frame->sp;
	walk->last_fp = frame->fp;
	walk->last_bx = frame->bx;
	if (end == ST_WALK_COMPLETE)
		return;
	walk->flags |= ST_SAMPLE_TRUNCATED;
	if (end == ST_WALK_CUT)
		walk->flags |= ST_SAMPLE_DEPTH_CUT;
	if (end == ST_WALK_NO_TABLE || walker->saw_no_table)
		walk->flags |= ST_SAMPLE_NO_TABLE;
	if (end == ST_WALK_NO_TABLE || end == ST_WALK_NO_RULE)
		walk->missing_pc = frame->pc;
}

void st_walk_run(struct st_walk *walk)
{
	struct st_walker walker = {.walk = walk, .arch = &st_unwind_arch_x86_64};
	struct st_walk_frame frame = {.pc = walk->pc,
				      .sp = walk->sp,
				      .fp = walk->fp,
				      .bx = walk->bx,
				      .context = (const uint8_t *)walk->context,
				      .exact = true};
	enum st_walk_end end = ST_WALK_BAD;

	walk->frame_count = 0;
	walk->flags = 0;
	walk->missing_pc = 0;
	if (walk->cache) {
		forget_old(walk->cache, walk->generation);
		walk->cache->used_count = 0;
	}
	if (!st_walk_push(walk, walk->pc & (ADDRESS_LIMIT - 1))) {
		end = ST_WALK_CUT;
	} else if (walk->stack_high >= walk->stack_low + WORD && walk->stack_low < ADDRESS_LIMIT) {
		end = st_walk_chain(&walker, &frame);
		if (end == ST_WALK_NO_RULE && walk->recover && walk->read_code) {
			walker.trials_left = ST_RECOVER_TRIALS;
			walker.steps_left = ST_RECOVER_STEPS;
			walker.words_left = ST_RECOVER_WORDS;
			end = st_walk_recover(&walker, &frame, 0);
		}
	}
	finish(&walker, &frame, end);
}
