// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi_read.h"

#include <dwarf.h>
#include <string.h>

enum { LEB_BITS = 7, LEB_MORE = 0x80, LEB_SIGN = 0x40 };

static bool take(struct st_cfi_reader *reader, void *out, size_t size_bytes)
{
	if (reader->failed || (size_t)(reader->stop - reader->at) < size_bytes) {
		reader->failed = true;
		return false;
	}
	memcpy(out, reader->at, size_bytes);
	reader->at += size_bytes;
	return true;
}

uint16_t st_cfi_u16(struct st_cfi_reader *reader)
{
	uint16_t value = 0;

	take(reader, &value, sizeof(value));
	return value;
}

uint32_t st_cfi_u32(struct st_cfi_reader *reader)
{
	uint32_t value = 0;

	take(reader, &value, sizeof(value));
	return value;
}

uint64_t st_cfi_u64(struct st_cfi_reader *reader)
{
	uint64_t value = 0;

	take(reader, &value, sizeof(value));
	return value;
}

static uint64_t leb(struct st_cfi_reader *reader, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = st_cfi_u8(reader);
		if (shift < 64)
			value |= (uint64_t)(byte & ~LEB_MORE) << shift;
		shift += LEB_BITS;
	} while ((byte & LEB_MORE) && !reader->failed);
	if (is_signed && (byte & LEB_SIGN) && shift < 64)
		value |= ~0ull << shift;
	return value;
}

uint64_t st_cfi_uleb_long(struct st_cfi_reader *reader)
{
	return leb(reader, false);
}

/* Values beyond 32 bits are of no use to a rule; kept small so that products cannot overflow. */
int64_t st_cfi_sleb(struct st_cfi_reader *reader)
{
	int64_t value = (int64_t)leb(reader, true);

	if (value != (int32_t)value)
		reader->failed = true;
	return reader->failed ? 0 : value;
}

struct st_cfi_reader st_cfi_block(struct st_cfi_reader *reader)
{
	uint64_t size = st_cfi_uleb(reader);
	struct st_cfi_reader block = {reader->at, reader->at, true};

	if (reader->failed || size > (uint64_t)(reader->stop - reader->at)) {
		reader->failed = true;
		return block;
	}
	reader->at += size;
	return (struct st_cfi_reader){block.at, reader->at, false};
}

/* breg7 8, breg16 0, lit15, and, lit N, ge, lit3, shl, plus: eight more from byte N of each 16. */
static bool is_plt(const struct st_unwind_arch *arch, struct st_cfi_reader block,
		   struct st_cfi_state *state)
{
	static const uint8_t tail[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	uint8_t limit;
	int64_t offset;

	if (st_cfi_u8(&block) != DW_OP_breg0 + arch->sp)
		return false;
	offset = st_cfi_sleb(&block);
	if (st_cfi_u8(&block) != DW_OP_breg0 + arch->ra || st_cfi_sleb(&block) != 0 ||
	    st_cfi_u8(&block) != DW_OP_lit15 || st_cfi_u8(&block) != DW_OP_and)
		return false;
	limit = (uint8_t)(st_cfi_u8(&block) - DW_OP_lit0);
	if (block.failed || limit > 15 || (size_t)(block.stop - block.at) != sizeof(tail) ||
	    memcmp(block.at, tail, sizeof(tail)) != 0)
		return false;
	state->rule.cfa = ST_CFA_PLT;
	state->rule.cfa_register = ST_REGISTER_SP;
	state->rule.cfa_offset = (int32_t)offset;
	state->rule.cfa_add = limit;
	state->cfa_register = arch->sp;
	return true;
}

bool st_cfi_cfa_expression(const struct st_unwind_arch *arch, struct st_cfi_reader block,
			   struct st_cfi_state *state)
{
	struct st_cfi_reader start = block;
	uint8_t op = st_cfi_u8(&block);
	int64_t offset, add = 0;

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	offset = st_cfi_sleb(&block);
	if (block.failed)
		return false;
	state->cfa_register = op - DW_OP_breg0;
	state->rule.cfa_offset = (int32_t)offset;
	state->rule.cfa_add = 0;
	if (block.at == block.stop) {
		state->rule.cfa = ST_CFA_REGISTER;
		return true;
	}
	if (st_cfi_u8(&block) != DW_OP_deref)
		return is_plt(arch, start, state);
	if (block.at < block.stop) {
		if (st_cfi_u8(&block) != DW_OP_plus_uconst)
			return false;
		add = (int64_t)st_cfi_uleb(&block);
	}
	if (block.failed || block.at != block.stop || add < 0 || add > INT32_MAX)
		return false;
	state->rule.cfa = ST_CFA_DEREF;
	state->rule.cfa_add = (int32_t)add;
	return true;
}

bool st_cfi_fp_expression(const struct st_unwind_arch *arch, struct st_cfi_reader block,
			  int64_t *offset)
{
	if (st_cfi_u8(&block) != DW_OP_breg0 + arch->fp)
		return false;
	*offset = st_cfi_sleb(&block);
	return !block.failed && block.at == block.stop;
}
