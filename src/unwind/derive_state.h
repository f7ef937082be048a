/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside derive.c: what is known about registers and stack at one instruction of x86-64 code.
 */
#ifndef ST_UNWIND_DERIVE_STATE_H
#define ST_UNWIND_DERIVE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/rt/table.h"
#include "unwind/x86_insn.h"

enum { ST_X86_RAX = 0, ST_X86_RBX = 3, ST_X86_RSP = 4, ST_X86_RBP = 5, ST_X86_REGISTERS = 16 };

enum st_value_kind {
	ST_VALUE_UNKNOWN = 0,
	ST_VALUE_CFA = 1,   /* CFA - offset */
	ST_VALUE_LOCAL = 2, /* aligned stack pointer - offset: the CFA is at an unknown distance */
};

/* An address on the stack: the value of a register, or where something was saved. */
struct st_stack_value {
	uint32_t kind; /* enum st_value_kind */
	int32_t offset;
};

/* Where the caller's value of a register that must be kept is. */
struct st_kept_value {
	uint32_t state; /* ST_SAVED_SAME: in the register; _CFA: at slot; _LOST */
	struct st_stack_value slot;
};

/* Compared as bytes: no padding. */
struct st_derive_state {
	struct st_stack_value registers[ST_X86_REGISTERS];
	struct st_kept_value fp, bx;
	/* A slot that holds the address CFA - saved_offset: the old stack pointer after a realignment. */
	struct st_stack_value saved_at;
	int32_t saved_offset;
	uint32_t
		changed; /* by the last step, so that the rule may be another; the caller clears it */
};

struct st_derive_state st_derive_entry(void);
/* What an instruction does to the state; jumps are the caller's business. */
void st_derive_step(struct st_derive_state *state, const struct st_x86_insn *insn);
struct st_unwind_rule st_derive_rule(const struct st_derive_state *state);

#endif
