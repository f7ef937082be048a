/* SPDX-License-Identifier: Apache-2.0
 *
 * Length and fields of x86-64 instructions: enough to follow the stack pointer through a function, at some
 * nanoseconds an instruction. No names, no operands: a disassembler is another thing.
 */
#ifndef ST_UNWIND_X86_INSN_H
#define ST_UNWIND_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_X86_LENGTH_MAX = 15 };

enum st_x86_map { ST_X86_ONE = 0, ST_X86_0F = 1, ST_X86_0F38 = 2, ST_X86_0F3A = 3 };

struct st_x86_insn {
	uint8_t length;
	uint8_t map; /* enum st_x86_map, or that of the VEX or EVEX prefix (1 … 6) */
	uint8_t opcode;
	uint8_t modrm, sib;
	bool has_modrm, wide; /* REX.W */
	bool prefix_66;
	bool has_rex; /* without, byte registers 4 to 7 are ah, ch, dh, bh */
	uint8_t reg,
		rm; /* with their REX bits; rm is the base register where there is a SIB byte */
	uint8_t vex_register;
	int32_t displacement;
	int64_t immediate; /* sign-extended; of jumps and calls: the distance */
	/* Away from map: compilers test neighbours with one load, which waits for both of the stores before it. */
	bool vex;
};

/* False: not an instruction of 64-bit mode, or cut off. */
bool st_x86_decode(const uint8_t *code, size_t size_bytes, struct st_x86_insn *insn);

static inline bool st_x86_is_register(const struct st_x86_insn *insn)
{
	return insn->modrm >> 6 == 3;
}

/* A memory operand that is a register and a displacement, nothing else. */
static inline bool st_x86_is_plain_memory(const struct st_x86_insn *insn)
{
	unsigned int mod = insn->modrm >> 6, rm = insn->modrm & 7;

	if (!insn->has_modrm || mod == 3 || (mod == 0 && rm == 5))
		return false;
	return rm != 4 || ((insn->sib >> 3 & 7) == 4 && !(mod == 0 && (insn->sib & 7) == 5));
}

#endif
