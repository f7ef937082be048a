// SPDX-License-Identifier: Apache-2.0
#include "unwind/derive_state.h"

#include <string.h>

#include "unwind/rt/arch.h"

enum { WORD = 8, ALU_SUB = 5, ALU_AND = 4, ALU_CMP = 7, FRAME_MAX = 1 << 30 };

/* DWARF numbers of the registers as instructions number them. */
static const uint8_t dwarf_number[ST_X86_REGISTERS] = {0, 2, 1,	 3,  7,	 6,  4,	 5,
						       8, 9, 10, 11, 12, 13, 14, 15};

struct st_derive_state st_derive_entry(void)
{
	struct st_derive_state state;

	memset(&state, 0, sizeof(state)); /* states are compared as bytes */
	state.registers[ST_X86_RSP].kind = ST_VALUE_CFA;
	state.registers[ST_X86_RSP].offset = WORD;
	return state;
}

static struct st_stack_value moved(struct st_stack_value value, int64_t by)
{
	int64_t offset = value.offset - by;

	if (value.kind == ST_VALUE_UNKNOWN || offset > FRAME_MAX || offset < -FRAME_MAX)
		memset(&value, 0, sizeof(value));
	else
		value.offset = (int32_t)offset;
	return value;
}

static bool same_value(struct st_stack_value left, struct st_stack_value right)
{
	return left.kind && left.kind == right.kind && left.offset == right.offset;
}

static struct st_kept_value *kept_of(struct st_derive_state *state, uint8_t number)
{
	if (number == ST_X86_RBP)
		return &state->fp;
	return number == ST_X86_RBX ? &state->bx : NULL;
}

/* A register gets a value that is not the caller's. */
static void overwrite(struct st_derive_state *state, uint8_t number, struct st_stack_value value)
{
	struct st_kept_value *kept = kept_of(state, number);

	state->changed |= value.kind || state->registers[number].kind;
	state->registers[number] = value;
	if (kept && kept->state == ST_SAVED_SAME) {
		kept->state = ST_SAVED_LOST;
		state->changed = 1;
	}
}

static void forget(struct st_derive_state *state, uint8_t number)
{
	struct st_stack_value unknown;

	memset(&unknown, 0, sizeof(unknown));
	overwrite(state, number, unknown);
}

/* A register is written to a place on the stack. */
static void store(struct st_derive_state *state, uint8_t number, struct st_stack_value slot)
{
	struct st_kept_value *kept = kept_of(state, number);

	if (!slot.kind)
		return;
	state->changed = 1;
	if (kept && kept->state == ST_SAVED_SAME) {
		kept->state = ST_SAVED_CFA;
		kept->slot = slot;
	}
	if (state->registers[number].kind == ST_VALUE_CFA && number != ST_X86_RSP) {
		state->saved_at = slot;
		state->saved_offset = state->registers[number].offset;
	}
}

/* A register is read back from the stack. */
static void load(struct st_derive_state *state, uint8_t number, struct st_stack_value slot,
		 bool popped)
{
	struct st_kept_value *kept = kept_of(state, number);
	struct st_stack_value value;

	memset(&value, 0, sizeof(value));
	if (same_value(slot, state->saved_at)) {
		value.kind = ST_VALUE_CFA;
		value.offset = state->saved_offset;
	}
	overwrite(state, number, value);
	/* Without a known slot (the stack pointer came from elsewhere) a pop is taken for the restoring one. */
	if (kept && kept->state == ST_SAVED_CFA &&
	    (same_value(slot, kept->slot) || (popped && !slot.kind))) {
		memset(kept, 0, sizeof(*kept));
		kept->state = ST_SAVED_SAME;
		state->changed = 1;
	}
}

static void push(struct st_derive_state *state, int number)
{
	struct st_stack_value *sp = &state->registers[ST_X86_RSP];

	*sp = moved(*sp, -WORD);
	state->changed = 1;
	if (number >= 0)
		store(state, (uint8_t)number, *sp);
}

static void pop(struct st_derive_state *state, uint8_t number)
{
	struct st_stack_value slot = state->registers[ST_X86_RSP];

	state->registers[ST_X86_RSP] = moved(slot, WORD);
	state->changed = 1;
	if (number != ST_X86_RSP)
		load(state, number, slot, true);
}

static void leave(struct st_derive_state *state)
{
	overwrite(state, ST_X86_RSP, state->registers[ST_X86_RBP]);
	pop(state, ST_X86_RBP);
}

static struct st_stack_value memory_operand(const struct st_derive_state *state,
					    const struct st_x86_insn *insn)
{
	struct st_stack_value none;

	memset(&none, 0, sizeof(none));
	return st_x86_is_plain_memory(insn) ? moved(state->registers[insn->rm], insn->displacement)
					    : none;
}

static void mov(struct st_derive_state *state, const struct st_x86_insn *insn, bool to_rm)
{
	uint8_t to = to_rm ? insn->rm : insn->reg, from = to_rm ? insn->reg : insn->rm;

	if (st_x86_is_register(insn)) {
		if (insn->wide)
			overwrite(state, to, state->registers[from]);
		else
			forget(state, to);
	} else if (to_rm) {
		if (insn->wide)
			store(state, insn->reg, memory_operand(state, insn));
	} else {
		load(state, insn->reg, memory_operand(state, insn), false);
	}
}

/* add, sub, and … of a register and a constant. */
static void alu_constant(struct st_derive_state *state, const struct st_x86_insn *insn)
{
	unsigned int what = insn->modrm >> 3 & 7;
	struct st_stack_value value;

	if (what == ALU_CMP || !st_x86_is_register(insn))
		return;
	memset(&value, 0, sizeof(value));
	if (insn->wide && (what == 0 || what == ALU_SUB))
		value = moved(state->registers[insn->rm],
			      what == 0 ? insn->immediate : -insn->immediate);
	else if (insn->wide && what == ALU_AND && insn->rm == ST_X86_RSP)
		value.kind = ST_VALUE_LOCAL; /* the beginning of a new reference */
	if (value.kind == ST_VALUE_LOCAL && what == ALU_AND) {
		for (int i = 0; i < ST_X86_REGISTERS; i++)
			if (state->registers[i].kind == ST_VALUE_LOCAL)
				memset(&state->registers[i], 0, sizeof(state->registers[i]));
		if (state->saved_at.kind == ST_VALUE_LOCAL)
			memset(&state->saved_at, 0, sizeof(state->saved_at));
	}
	overwrite(state, insn->rm, value);
}

static void call(struct st_derive_state *state)
{
	static const uint8_t scratch[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};

	for (size_t i = 0; i < sizeof(scratch); i++)
		memset(&state->registers[scratch[i]], 0, sizeof(state->registers[0]));
	state->changed = 1;
}

/* Which register an instruction of the 0F maps, VEX or EVEX writes; -1: none that counts. */
static int written_by_0f(const struct st_x86_insn *insn)
{
	uint8_t op = insn->opcode;

	if (insn->map == ST_X86_0F && !insn->vex) {
		if ((op >= 0x40 && op <= 0x4f) || op == 0xaf || (op >= 0xb6 && op <= 0xbf) ||
		    op == 0x2c || op == 0x2d || op == 0x50 || op == 0xd7 || op == 0xc5)
			return op == 0xba ? -1 : insn->reg;
		if (st_x86_is_register(insn) &&
		    ((op >= 0x90 && op <= 0x9f) || op == 0xb0 || op == 0xb1 || op == 0xc0 ||
		     op == 0xc1 || op == 0x7e))
			return insn->rm;
		return op == 0xa2 ? ST_X86_RBX : -1; /* cpuid */
	}
	if (insn->vex && insn->map == ST_X86_0F)
		return op == 0x2c || op == 0x2d || op == 0x93 || op == 0x50 || op == 0xd7 ||
				       op == 0x78 || op == 0x79
			       ? insn->reg
		       : op == 0x7e && st_x86_is_register(insn) ? insn->rm
								: -1;
	if (insn->vex && insn->map == ST_X86_0F38) {
		if (op == 0xf3)
			return insn->vex_register;
		return op == 0xf2 || (op >= 0xf5 && op <= 0xf7) ? insn->reg : -1;
	}
	if (insn->map == ST_X86_0F3A)
		return insn->vex && op == 0xf0				      ? insn->reg
		       : op >= 0x14 && op <= 0x17 && st_x86_is_register(insn) ? insn->rm
									      : -1;
	return -1;
}

/* The same for the one-byte map, where the instruction is none of those that st_derive_step follows. */
static int written_by(const struct st_x86_insn *insn)
{
	uint8_t op = insn->opcode;
	unsigned int group = insn->modrm >> 3 & 7;

	if (insn->map != ST_X86_ONE)
		return written_by_0f(insn);
	if (op < 0x40) {
		if ((op & 7) > 3 || (op & 0x38) == 0x38)
			return (op & 7) > 3 && (op & 7) < 6 && (op & 0x38) != 0x38 ? ST_X86_RAX
										   : -1;
		if ((op & 7) > 1)
			return insn->reg;
		return st_x86_is_register(insn) ? insn->rm : -1;
	}
	if (op == 0x63 || op == 0x69 || op == 0x6b || op == 0x8a || op == 0x8d)
		return insn->reg;
	if (op >= 0xb0 && op <= 0xbf)
		return insn->rm;
	if (!insn->has_modrm || !st_x86_is_register(insn))
		return -1;
	if (op == 0x80 || op == 0x82)
		return group == ALU_CMP ? -1 : insn->rm;
	if (op == 0xf6 || op == 0xf7)
		return group == 2 || group == 3 ? insn->rm : -1;
	if (op == 0xfe || op == 0xff)
		return group < 2 ? insn->rm : -1;
	if (op == 0x86 || op == 0x87 || op == 0x88 || op == 0xc0 || op == 0xc1 || op == 0xc6 ||
	    op == 0xc7 || (op >= 0xd0 && op <= 0xd3))
		return insn->rm;
	return -1;
}

/* Instructions on bytes. */
static bool is_byte(const struct st_x86_insn *insn)
{
	uint8_t op = insn->opcode;

	if (insn->map == ST_X86_0F)
		return !insn->vex && ((op >= 0x90 && op <= 0x9f) || op == 0xb0 || op == 0xc0);
	if (insn->map != ST_X86_ONE)
		return false;
	return op < 0x40 ? !(op & 1)
			 : op == 0x80 || op == 0x82 || op == 0x86 || op == 0x88 || op == 0x8a ||
				   (op >= 0xb0 && op <= 0xb7) || op == 0xc0 || op == 0xc6 ||
				   op == 0xd0 || op == 0xd2 || op == 0xf6 || op == 0xfe;
}

static uint8_t register_of_byte(const struct st_x86_insn *insn, uint8_t number)
{
	return !insn->has_rex && number >= 4 && number < 8 ? (uint8_t)(number - 4) : number;
}

static void step_other(struct st_derive_state *state, const struct st_x86_insn *insn)
{
	int written = written_by(insn);

	if (written >= 0 && is_byte(insn))
		written = register_of_byte(insn, (uint8_t)written);

	if (written >= 0)
		forget(state, (uint8_t)written);
	if (insn->map == ST_X86_ONE && (insn->opcode == 0x86 || insn->opcode == 0x87))
		forget(state, is_byte(insn) ? register_of_byte(insn, insn->reg) : insn->reg);
}

void st_derive_step(struct st_derive_state *state, const struct st_x86_insn *insn)
{
	uint8_t op = insn->opcode;
	unsigned int group = insn->modrm >> 3 & 7;

	if (insn->map != ST_X86_ONE || insn->vex) {
		step_other(state, insn);
		return;
	}
	if (op >= 0x50 && op <= 0x57)
		push(state, insn->rm);
	else if (op >= 0x58 && op <= 0x5f)
		pop(state, insn->rm);
	else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && group == 6))
		push(state, -1);
	else if (op == 0x9d || op == 0x8f)
		overwrite(state, ST_X86_RSP, moved(state->registers[ST_X86_RSP], WORD));
	else if (op == 0x89 || op == 0x8b)
		mov(state, insn, op == 0x89);
	else if (op == 0x8d)
		overwrite(state, insn->reg, memory_operand(state, insn));
	else if (op == 0x81 || op == 0x83)
		alu_constant(state, insn);
	else if (op == 0xe8 || (op == 0xff && group == 2))
		call(state);
	else if (op == 0xc9)
		leave(state);
	else
		step_other(state, insn);
}

static void set_kept(const struct st_derive_state *state, const struct st_kept_value *kept,
		     uint8_t *kind, int32_t *offset)
{
	const struct st_stack_value *fp = &state->registers[ST_X86_RBP];

	*kind = (uint8_t)kept->state;
	*offset = 0;
	if (kept->state != ST_SAVED_CFA)
		return;
	if (kept->slot.kind == ST_VALUE_CFA) {
		*offset = -kept->slot.offset;
	} else if (fp->kind == ST_VALUE_LOCAL) {
		*kind = ST_SAVED_FP;
		*offset = fp->offset - kept->slot.offset;
	} else {
		*kind = ST_SAVED_LOST;
	}
}

/* The register that leads to the CFA: the frame pointer if it is one (it points at the caller's), because it
 * does not change; else the stack pointer. */
static bool set_cfa(const struct st_derive_state *state, struct st_unwind_rule *rule)
{
	static const uint8_t order[] = {ST_X86_RBP, ST_X86_RSP, ST_X86_RBP, ST_X86_RBX};
	static const uint8_t role[] = {ST_REGISTER_FP, ST_REGISTER_SP, ST_REGISTER_FP,
				       ST_REGISTER_BX};
	const struct st_stack_value *sp = &state->registers[ST_X86_RSP];
	bool is_frame = state->fp.state == ST_SAVED_CFA &&
			same_value(state->registers[ST_X86_RBP], state->fp.slot);

	for (size_t i = is_frame ? 0 : 1; i < sizeof(order); i++) {
		if (state->registers[order[i]].kind != ST_VALUE_CFA)
			continue;
		rule->cfa = ST_CFA_REGISTER;
		rule->cfa_register = role[i];
		rule->cfa_offset = state->registers[order[i]].offset;
		return true;
	}
	for (size_t i = 0; i < 2; i++) {
		const struct st_stack_value *base = &state->registers[order[i]];

		if (!base->kind || base->kind != state->saved_at.kind)
			continue;
		rule->cfa = ST_CFA_DEREF;
		rule->cfa_register = role[i];
		rule->cfa_offset = base->offset - state->saved_at.offset;
		rule->cfa_add = state->saved_offset;
		return true;
	}
	for (uint8_t i = 0; i < ST_X86_REGISTERS && sp->kind != ST_VALUE_CFA; i++) {
		if (state->registers[i].kind != ST_VALUE_CFA)
			continue;
		rule->cfa = ST_CFA_REGISTER;
		rule->cfa_register = (uint8_t)(ST_REGISTER_CONTEXT +
					       st_unwind_arch_x86_64.context[dwarf_number[i]]);
		rule->cfa_offset = state->registers[i].offset;
		return true;
	}
	return false;
}

struct st_unwind_rule st_derive_rule(const struct st_derive_state *state)
{
	struct st_unwind_rule rule = {
		.flags = ST_RULE_DERIVED, .ra = ST_SAVED_CFA, .ra_offset = -WORD};

	if (!set_cfa(state, &rule) ||
	    (rule.cfa == ST_CFA_REGISTER && rule.cfa_register == ST_REGISTER_SP &&
	     rule.cfa_offset < WORD))
		return (struct st_unwind_rule){.cfa = ST_CFA_UNKNOWN, .flags = ST_RULE_DERIVED};
	set_kept(state, &state->fp, &rule.fp, &rule.fp_offset);
	set_kept(state, &state->bx, &rule.bx, &rule.bx_offset);
	return rule;
}
