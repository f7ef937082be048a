// SPDX-License-Identifier: Apache-2.0
//
// A pass over the code from start to end. Each jump inside the function leaves the state at its target; behind a
// return or a jump the code goes on with the state that a jump left there. Where none did so yet (a jump from
// further down will come) the state of the function's body is assumed, and a second pass knows better.
#include "unwind/derive.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "unwind/derive_state.h"

enum { PASSES_MAX = 3 };

struct derived_row {
	uint32_t offset;
	struct st_unwind_rule rule;
};

struct st_derive {
	struct st_derive_state states[ST_DERIVE_STATES_MAX]; /* 0 is not used */
	uint32_t state_count;
	uint16_t *at; /* by offset in the code: the state that a jump left, 0: none */
	size_t at_capacity;
	struct derived_row *rows; /* of the last pass */
	uint32_t row_count, row_capacity;
};

/* One pass over one function. */
struct pass {
	struct st_derive *derive;
	const uint8_t *code;
	size_t size_bytes;
	struct st_derive_state state, body;
	bool live;	 /* the instruction before goes on to this one */
	bool after_call; /* which may not return */
	bool assumed;	 /* the state of some code was a guess */
	bool changed;	 /* a jump left a state where there was none */
	bool failed;	 /* no memory */
};

struct st_derive *st_derive_create(uint16_t machine)
{
	return machine == EM_X86_64 ? calloc(1, sizeof(struct st_derive)) : NULL;
}

void st_derive_destroy(struct st_derive *derive)
{
	if (!derive)
		return;
	free(derive->at);
	free(derive->rows);
	free(derive);
}

static bool prepare(struct st_derive *derive, size_t size_bytes)
{
	if (size_bytes > derive->at_capacity) {
		free(derive->at);
		derive->at = malloc(size_bytes * sizeof(*derive->at));
		derive->at_capacity = derive->at ? size_bytes : 0;
		if (!derive->at)
			return false;
	}
	memset(derive->at, 0, size_bytes * sizeof(*derive->at));
	derive->state_count = 1;
	return true;
}

/* 0: no room for another. The states of one function repeat: the newest are looked at first. */
static uint16_t keep_state(struct st_derive *derive, const struct st_derive_state *state)
{
	for (uint32_t i = derive->state_count; i-- > 1;)
		if (!memcmp(&derive->states[i], state, sizeof(*state)))
			return (uint16_t)i;
	if (derive->state_count == ST_DERIVE_STATES_MAX)
		return 0;
	derive->states[derive->state_count] = *state;
	return (uint16_t)derive->state_count++;
}

static void leave_state(struct pass *pass, size_t from_end, int64_t distance)
{
	uint64_t target = from_end + (uint64_t)distance;

	if (target >= pass->size_bytes || pass->derive->at[target])
		return;
	pass->derive->at[target] = keep_state(pass->derive, &pass->state);
	pass->changed |= pass->derive->at[target] && target < from_end;
}

static void emit(struct pass *pass, size_t offset, const struct st_unwind_rule *rule)
{
	struct st_derive *derive = pass->derive;

	if (derive->row_count &&
	    !memcmp(rule, &derive->rows[derive->row_count - 1].rule, sizeof(*rule)))
		return;
	if (!ST_VEC_PUSH(derive->rows, derive->row_count, derive->row_capacity,
			 (struct derived_row){(uint32_t)offset, *rule}))
		pass->failed = true;
}

/* The state of the instruction at `offset`, where jumps meet. */
static void arrive(struct pass *pass, size_t offset)
{
	uint16_t left = pass->derive->at[offset];

	if (pass->live && !(pass->after_call && left))
		return;
	if (left) {
		pass->state = pass->derive->states[left];
	} else if (!pass->live) {
		pass->state = pass->body;
		pass->assumed = true;
	}
	pass->state.changed = 1;
}

static int32_t depth(const struct st_derive_state *state)
{
	const struct st_stack_value *sp = &state->registers[ST_X86_RSP];

	return sp->kind == ST_VALUE_CFA ? sp->offset : INT32_MAX;
}

/* Jumps, calls and returns; what they do to the registers is st_derive_step's. */
static void follow(struct pass *pass, const struct st_x86_insn *insn, size_t end)
{
	uint8_t op = insn->opcode;
	unsigned int group = insn->modrm >> 3 & 7;
	bool jump = false, stop = false;

	pass->after_call = false;
	if (insn->vex)
		return;
	if (insn->map == ST_X86_0F) {
		jump = op >= 0x80 && op <= 0x8f;
		stop = op == 0x0b;
	} else if (insn->map == ST_X86_ONE) {
		jump = (op >= 0x70 && op <= 0x7f) || op == 0xe9 || op == 0xeb ||
		       (op >= 0xe0 && op <= 0xe3);
		stop = op == 0xe9 || op == 0xeb || op == 0xc3 || op == 0xc2 || op == 0xf4 ||
		       (op == 0xff && group == 4);
		pass->after_call = op == 0xe8 || (op == 0xff && group == 2);
	}
	if (jump)
		leave_state(pass, end, insn->immediate);
	/* Deepest where it calls or branches: that is the body, not an early way out. */
	if ((jump || pass->after_call) && depth(&pass->state) >= depth(&pass->body))
		pass->body = pass->state;
	pass->live = !stop;
}

/* False: an instruction that cannot be read. */
static bool run_pass(struct pass *pass)
{
	const struct st_unwind_rule unknown = {.cfa = ST_CFA_UNKNOWN, .flags = ST_RULE_DERIVED};
	struct st_x86_insn insn;
	uint32_t changed;

	pass->state = pass->body = st_derive_entry();
	pass->live = true;
	pass->after_call = pass->assumed = pass->changed = false;
	pass->derive->row_count = 0;
	pass->state.changed = 1;
	for (size_t at = 0; at < pass->size_bytes; at += insn.length) {
		arrive(pass, at);
		if (pass->state.changed) {
			struct st_unwind_rule rule = st_derive_rule(&pass->state);

			emit(pass, at, &rule);
			pass->state.changed = 0;
		}
		if (!st_x86_decode(pass->code + at, pass->size_bytes - at, &insn)) {
			emit(pass, at, &unknown);
			return false;
		}
		st_derive_step(&pass->state, &insn);
		changed = pass->state.changed;
		pass->state.changed = 0; /* kept states are compared as bytes */
		follow(pass, &insn, at + insn.length);
		pass->state.changed = changed;
	}
	return true;
}

bool st_derive_run(struct st_derive *derive, const uint8_t *code, size_t size_bytes,
		   uint64_t address, st_derive_row_fn row, void *arg)
{
	struct pass pass = {.derive = derive, .code = code, .size_bytes = size_bytes};

	if (!size_bytes || size_bytes > ST_DERIVE_CODE_MAX_BYTES || !prepare(derive, size_bytes))
		return false;
	for (int i = 0; i < PASSES_MAX; i++) {
		run_pass(&pass);
		if (!pass.assumed || !pass.changed)
			break;
	}
	if (pass.failed)
		return false;
	for (size_t i = 0; i < derive->row_count; i++)
		row(arg, address + derive->rows[i].offset, &derive->rows[i].rule);
	return true;
}
