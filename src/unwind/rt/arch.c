// SPDX-License-Identifier: Apache-2.0
//
// The rows of arch.h.
#include "unwind/rt/arch.h"

#include <elf.h>
#include <string.h>

enum {
	CALL_DIRECT_BYTES = 5,
	INDIRECT_MAX_BYTES = 7,
	SLOT_JUMP_BYTES = 6,
	GROUP_CALL = 2, /* FF /2 */
	MOD_REGISTER = 3,
	RM_SIB = 4,
	RM_RIP = 5,
};

/* Bytes of FF /2 with this ModRM (and SIB) byte, the opcode included; 0: another instruction. */
static size_t indirect_bytes(uint8_t modrm, uint8_t sib)
{
	unsigned int mod = modrm >> 6, rm = modrm & 7;
	size_t bytes = 2;

	if (((modrm >> 3) & 7) != GROUP_CALL)
		return 0;
	if (mod == MOD_REGISTER)
		return bytes;
	bytes += rm == RM_SIB;
	if (mod == 1)
		return bytes + 1;
	if (mod == 2 || rm == RM_RIP || (rm == RM_SIB && (sib & 7) == RM_RIP))
		return bytes + 4;
	return bytes;
}

static enum st_call_kind call_before(const uint8_t *bytes, uint64_t address, uint64_t *target)
{
	const uint8_t *end = bytes + ST_ARCH_CALL_BYTES;
	int32_t distance;

	*target = 0;
	for (size_t size = 2; size <= INDIRECT_MAX_BYTES; size++)
		if (end[-(ptrdiff_t)size] == 0xff &&
		    indirect_bytes(end[1 - (ptrdiff_t)size],
				   size > 2 ? end[2 - (ptrdiff_t)size] : 0) == size)
			return ST_CALL_INDIRECT;
	if (end[-CALL_DIRECT_BYTES] != 0xe8)
		return ST_CALL_NONE;
	memcpy(&distance, end - sizeof(distance), sizeof(distance));
	*target = address + (uint64_t)(int64_t)distance;
	return ST_CALL_DIRECT;
}

static uint64_t jump_slot(const uint8_t *bytes, uint64_t address)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;
	int32_t distance;

	if (!memcmp(bytes, endbr, sizeof(endbr)))
		at += sizeof(endbr);
	if (bytes[at] == 0xf2) /* bnd */
		at++;
	if (bytes[at] != 0xff || bytes[at + 1] != 0x25)
		return 0;
	memcpy(&distance, bytes + at + 2, sizeof(distance));
	return address + at + SLOT_JUMP_BYTES + (uint64_t)(int64_t)distance;
}

/* The words are those of uc_mcontext.gregs: r8 … r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. */
const struct st_unwind_arch st_unwind_arch_x86_64 = {
	.machine = EM_X86_64,
	.sp = 7,
	.fp = 6,
	.bx = 3,
	.ra = 16,
	.register_count = 17,
	.context_count = 17,
	.context_offset = 40,
	.context = {13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16},
	.call_before = call_before,
	.jump_slot = jump_slot,
};

const struct st_unwind_arch *st_unwind_arch_find(uint16_t machine)
{
	return machine == EM_X86_64 ? &st_unwind_arch_x86_64 : NULL;
}
