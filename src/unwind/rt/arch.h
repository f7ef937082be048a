/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between processors: a row per architecture. Rules, tables and the walk know only the roles
 * (stack pointer, frame pointer, one more register that is carried along, return address); the row says which
 * registers play them, where a signal frame keeps them, and what a call looks like. x86-64 has a row; another
 * architecture is another row and its code reader (unwind/prologue.h).
 */
#ifndef ST_UNWIND_RT_ARCH_H
#define ST_UNWIND_RT_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_ARCH_REGISTERS_MAX = 34, ST_ARCH_CALL_BYTES = 8 };

enum st_call_kind {
	ST_CALL_NONE = 0,
	ST_CALL_INDIRECT = 1,
	ST_CALL_DIRECT = 2, /* the target is known */
};

struct st_unwind_arch {
	uint16_t machine;	 /* EM_* */
	uint8_t sp, fp, bx, ra;	 /* DWARF numbers */
	uint8_t register_count;	 /* DWARF numbers below this one have a word in context */
	uint8_t context_count;	 /* words of a signal frame's registers */
	uint16_t context_offset; /* bytes from the stack pointer of a signal frame to them */
	uint8_t context[ST_ARCH_REGISTERS_MAX]; /* by DWARF number: which word */
	/* Whether the ST_ARCH_CALL_BYTES bytes that end at `address` end with a call. */
	enum st_call_kind (*call_before)(const uint8_t *bytes, uint64_t address, uint64_t *target);
	/* Whether these 16 bytes at `address` jump through a slot (PLT): the slot's address, or 0. */
	uint64_t (*jump_slot)(const uint8_t *bytes, uint64_t address);
};

extern const struct st_unwind_arch st_unwind_arch_x86_64;

/* NULL: no row for this machine. */
const struct st_unwind_arch *st_unwind_arch_find(uint16_t machine);

#endif
