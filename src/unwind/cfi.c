// SPDX-License-Identifier: Apache-2.0
//
// CIEs, FDEs and their instructions. Reading and expressions are in cfi_read.c.
#include "unwind/cfi.h"

#include <dwarf.h>
#include <string.h>

#include "unwind/cfi_read.h"

enum { NO_ROLE = 0xff };
enum { ENCODING_FORMAT = 0x0f, ENCODING_BASE = 0x70, ENCODING_INDIRECT = 0x80, EH_PE_OMIT = 0xff };

bool st_cfi_pointer(const uint8_t **at, const uint8_t *stop, uint8_t encoding, uint64_t address,
		    uint64_t *value)
{
	struct st_cfi_reader reader = {*at, stop, false};
	uint64_t base = 0;

	if ((encoding & ENCODING_BASE) == 0x10)
		base = address;
	else if (encoding & ENCODING_BASE)
		return false;
	switch (encoding & ENCODING_FORMAT) {
	case 0x00: /* absptr */
	case 0x04:
	case 0x0c:
		*value = st_cfi_u64(&reader);
		break;
	case 0x01:
		*value = st_cfi_uleb(&reader);
		break;
	case 0x09:
		*value = (uint64_t)st_cfi_sleb(&reader);
		break;
	case 0x02:
		*value = st_cfi_u16(&reader);
		break;
	case 0x0a:
		*value = (uint64_t)(int64_t)(int16_t)st_cfi_u16(&reader);
		break;
	case 0x03:
		*value = st_cfi_u32(&reader);
		break;
	case 0x0b:
		*value = (uint64_t)(int64_t)(int32_t)st_cfi_u32(&reader);
		break;
	default:
		return false;
	}
	*value += base;
	*at = reader.at;
	return !reader.failed && !(encoding & ENCODING_INDIRECT);
}

/* The saved-register fields of a rule for a DWARF register; false: one that no rule carries. */
static bool slot_of(const struct st_cfi *cfi, struct st_unwind_rule *rule, uint64_t reg,
		    uint8_t **kind, int32_t **offset)
{
	if (reg == cfi->arch->fp) {
		*kind = &rule->fp;
		*offset = &rule->fp_offset;
	} else if (reg == cfi->arch->bx) {
		*kind = &rule->bx;
		*offset = &rule->bx_offset;
	} else {
		return false;
	}
	return true;
}

static inline void set_saved(const struct st_cfi *cfi, struct st_cfi_state *state, uint64_t reg,
			     enum st_saved_kind kind, int64_t offset)
{
	uint8_t *to_kind;
	int32_t *to_offset;
	bool fits = offset == (int32_t)offset;

	if (reg == cfi->arch->ra) {
		state->ra_undefined = kind == ST_SAVED_LOST;
		state->ra_odd = kind != ST_SAVED_CFA || offset != (int16_t)offset;
		state->rule.ra = (uint8_t)kind;
		state->rule.ra_offset = (int16_t)offset;
	} else if (slot_of(cfi, &state->rule, reg, &to_kind, &to_offset)) {
		*to_kind = (uint8_t)(fits ? kind : ST_SAVED_LOST);
		*to_offset =
			fits && (kind == ST_SAVED_CFA || kind == ST_SAVED_FP) ? (int32_t)offset : 0;
	}
}

static void set_odd(const struct st_cfi *cfi, struct st_cfi_state *state, uint64_t reg)
{
	set_saved(cfi, state, reg, ST_SAVED_LOST, 0);
	if (reg == cfi->arch->ra) {
		state->ra_undefined = false;
		state->ra_odd = true;
	}
}

static void restore_initial(const struct st_cfi *cfi, struct st_cfi_state *state,
			    const struct st_cfi_state *initial, uint64_t reg)
{
	if (reg == cfi->arch->ra) {
		state->ra_undefined = initial->ra_undefined;
		state->ra_odd = initial->ra_odd;
		state->rule.ra = initial->rule.ra;
		state->rule.ra_offset = initial->rule.ra_offset;
	} else if (reg == cfi->arch->fp) {
		state->rule.fp = initial->rule.fp;
		state->rule.fp_offset = initial->rule.fp_offset;
	} else if (reg == cfi->arch->bx) {
		state->rule.bx = initial->rule.bx;
		state->rule.bx_offset = initial->rule.bx_offset;
	}
}

/* The register as rules name it. */
static uint8_t role_of(const struct st_unwind_arch *arch, uint32_t reg)
{
	if (reg == arch->sp)
		return ST_REGISTER_SP;
	if (reg == arch->fp)
		return ST_REGISTER_FP;
	if (reg == arch->bx)
		return ST_REGISTER_BX;
	return reg < arch->register_count ? (uint8_t)(ST_REGISTER_CONTEXT + arch->context[reg])
					  : NO_ROLE;
}

static inline void set_cfa(const struct st_cfi *cfi, struct st_cfi_state *state, uint64_t reg,
			   int64_t offset)
{
	bool fits = offset == (int32_t)offset && reg < ST_ARCH_REGISTERS_MAX;

	state->cfa_expression = false;
	state->rule.cfa = fits ? ST_CFA_REGISTER : ST_CFA_UNKNOWN;
	state->cfa_register = fits ? (uint32_t)reg : 0;
	state->rule.cfa_register = role_of(cfi->arch, state->cfa_register);
	state->rule.cfa_offset = fits ? (int32_t)offset : 0;
	state->rule.cfa_add = 0;
}

/* The rule as a table has it: what does not matter is 0, so that equal ones are equal bytes. Most are the state's own:
 * copying millions of them, fields of which were just written, takes longer than the rest. */
static inline const struct st_unwind_rule *finished(const struct st_cfi_fde *fde,
						    const struct st_cfi_state *state)
{
	static const struct st_unwind_rule signal = {.cfa = ST_CFA_SIGNAL},
					   end = {.cfa = ST_CFA_END},
					   unknown = {.cfa = ST_CFA_UNKNOWN};
	const struct st_unwind_rule *rule = &state->rule;

	if (fde->cie->signal)
		return &signal;
	if (state->ra_undefined)
		return &end;
	if (rule->cfa == ST_CFA_UNKNOWN || rule->cfa == ST_CFA_GAP || state->ra_odd ||
	    rule->cfa_register == NO_ROLE)
		return &unknown;
	return rule;
}

struct machine {
	const struct st_cfi *cfi;
	const struct st_cfi_cie *cie;
	struct st_cfi_reader reader;
	struct st_cfi_state state;
	struct st_cfi_state remembered[ST_CFI_REMEMBER_MAX];
	uint32_t remembered_count;
	uint64_t pc;
	bool moved; /* by the last instruction */
};

/* An unsigned operand in units of the data alignment. Larger ones than any stack are refused. */
static inline int64_t factored(struct machine *machine)
{
	uint64_t value = st_cfi_uleb(&machine->reader);

	if (value > INT32_MAX)
		machine->reader.failed = true;
	return machine->reader.failed ? 0 : (int64_t)value * machine->cie->data_align;
}

static inline void define_cfa(struct machine *machine, uint8_t op)
{
	struct st_cfi_reader *reader = &machine->reader;
	struct st_cfi_state *state = &machine->state;
	uint64_t reg = state->cfa_register;
	int64_t offset = state->rule.cfa_offset;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = st_cfi_uleb(reader);
		offset = (int64_t)st_cfi_uleb(reader);
		break;
	case DW_CFA_def_cfa_sf:
		reg = st_cfi_uleb(reader);
		offset = st_cfi_sleb(reader) * machine->cie->data_align;
		break;
	case DW_CFA_def_cfa_register:
		reg = st_cfi_uleb(reader);
		break;
	case DW_CFA_def_cfa_offset:
		offset = (int64_t)st_cfi_uleb(reader);
		break;
	default: /* DW_CFA_def_cfa_offset_sf */
		offset = st_cfi_sleb(reader) * machine->cie->data_align;
	}
	set_cfa(machine->cfi, state, reg, offset);
}

static void define_register(struct machine *machine, uint8_t op)
{
	struct st_cfi_reader *reader = &machine->reader;
	struct st_cfi_state *state = &machine->state;
	uint64_t reg = st_cfi_uleb(reader);
	int64_t align = machine->cie->data_align;

	switch (op) {
	case DW_CFA_offset_extended:
		set_saved(machine->cfi, state, reg, ST_SAVED_CFA, factored(machine));
		break;
	case DW_CFA_offset_extended_sf:
		set_saved(machine->cfi, state, reg, ST_SAVED_CFA, st_cfi_sleb(reader) * align);
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_saved(machine->cfi, state, reg, ST_SAVED_CFA, -factored(machine));
		break;
	case DW_CFA_restore_extended:
		restore_initial(machine->cfi, state, &machine->cie->initial, reg);
		break;
	case DW_CFA_undefined:
		set_saved(machine->cfi, state, reg, ST_SAVED_LOST, 0);
		break;
	case DW_CFA_same_value:
		if (reg == machine->cfi->arch->ra)
			set_odd(machine->cfi, state, reg);
		else
			set_saved(machine->cfi, state, reg, ST_SAVED_SAME, 0);
		break;
	default: /* register, val_offset, val_offset_sf */
		st_cfi_uleb(reader);
		set_odd(machine->cfi, state, reg);
	}
}

static void define_by_expression(struct machine *machine, uint8_t op)
{
	struct st_cfi_reader *reader = &machine->reader;
	struct st_cfi_state *state = &machine->state;
	uint64_t reg = op == DW_CFA_def_cfa_expression ? 0 : st_cfi_uleb(reader);
	struct st_cfi_reader block = st_cfi_block(reader);
	int64_t offset;

	if (op == DW_CFA_def_cfa_expression) {
		state->cfa_expression = true;
		if (!st_cfi_cfa_expression(machine->cfi->arch, block, state))
			state->rule.cfa = ST_CFA_UNKNOWN;
		else
			state->rule.cfa_register = role_of(machine->cfi->arch, state->cfa_register);
	} else if (op == DW_CFA_expression &&
		   st_cfi_fp_expression(machine->cfi->arch, block, &offset)) {
		set_saved(machine->cfi, state, reg, ST_SAVED_FP, offset);
	} else {
		set_odd(machine->cfi, state, reg);
	}
}

static inline void advance(struct machine *machine, uint64_t units)
{
	machine->pc += units * machine->cie->code_align;
	machine->moved = true;
}

/* Instructions of the kind that has its operand in the low six bits. */
static inline bool run_short(struct machine *machine, uint8_t op)
{
	uint8_t low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		advance(machine, low);
		return true;
	case DW_CFA_offset:
		set_saved(machine->cfi, &machine->state, low, ST_SAVED_CFA, factored(machine));
		return true;
	case DW_CFA_restore:
		restore_initial(machine->cfi, &machine->state, &machine->cie->initial, low);
		return true;
	default:
		return false;
	}
}

static bool remember(struct machine *machine, bool restore)
{
	if (!restore) {
		if (machine->remembered_count == ST_CFI_REMEMBER_MAX)
			return false;
		machine->remembered[machine->remembered_count++] = machine->state;
		return true;
	}
	if (!machine->remembered_count)
		return false;
	machine->state = machine->remembered[--machine->remembered_count];
	return true;
}

/* One instruction. False: the end, or one that is not known. */
static inline bool run_one(struct machine *machine)
{
	struct st_cfi_reader *reader = &machine->reader;
	uint8_t op = st_cfi_u8(reader);

	machine->moved = false;
	if (reader->failed)
		return false;
	if (run_short(machine, op))
		return !reader->failed;
	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		return false;
	case DW_CFA_advance_loc1:
		advance(machine, st_cfi_u8(reader));
		break;
	case DW_CFA_advance_loc2:
		advance(machine, st_cfi_u16(reader));
		break;
	case DW_CFA_advance_loc4:
		advance(machine, st_cfi_u32(reader));
		break;
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		return remember(machine, op == DW_CFA_restore_state);
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		define_cfa(machine, op);
		break;
	case DW_CFA_def_cfa_expression:
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		define_by_expression(machine, op);
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		define_register(machine, op);
		break;
	case DW_CFA_GNU_args_size:
		st_cfi_uleb(reader);
		break;
	default:
		return false;
	}
	return !reader->failed;
}

void st_cfi_rows(const struct st_cfi *cfi, const struct st_cfi_fde *fde, st_cfi_row_fn row,
		 void *arg)
{
	static const struct st_unwind_rule unknown = {.cfa = ST_CFA_UNKNOWN};
	struct machine
		machine; /* not cleared: remembered is large, and written before it is read */
	uint64_t at = fde->start;

	machine.cfi = cfi;
	machine.cie = fde->cie;
	machine.reader = (struct st_cfi_reader){fde->at, fde->stop, false};
	machine.pc = fde->start;
	machine.remembered_count = 0;
	machine.state = fde->cie->initial;
	while (machine.reader.at < machine.reader.stop) {
		if (!run_one(&machine)) {
			row(arg, at, &unknown);
			return;
		}
		if (!machine.moved || machine.pc == at)
			continue;
		/* Moving changes no rule: the state is that of the bytes just passed. */
		row(arg, at, finished(fde, &machine.state));
		at = machine.pc;
		if (at >= fde->end)
			return;
	}
	row(arg, at, finished(fde, &machine.state));
}

/* Augmentation letters behind 'z'. */
static bool read_augmentation(struct st_cfi_cie *cie, struct st_cfi_reader *reader,
			      const char *letters)
{
	struct st_cfi_reader data = st_cfi_block(reader);
	uint64_t ignored;
	uint8_t encoding;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->pointer_encoding = st_cfi_u8(&data);
			break;
		case 'L':
			st_cfi_u8(&data);
			break;
		case 'P':
			/* Only its length matters: any base will do, and following it is not needed. */
			encoding = st_cfi_u8(&data) & ENCODING_FORMAT;
			if (!st_cfi_pointer(&data.at, data.stop, encoding, 0, &ignored))
				return false;
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
			break;
		default:
			return true; /* the data's length is known: the rest does not matter */
		}
	}
	return !data.failed;
}

static bool parse_cie(const struct st_cfi *cfi, struct st_cfi_cie *cie, struct st_cfi_reader reader)
{
	struct machine machine = {.cfi = cfi, .cie = cie};
	uint8_t version = st_cfi_u8(&reader);
	const char *letters = (const char *)reader.at;
	const uint8_t *end = memchr(reader.at, 0, (size_t)(reader.stop - reader.at));

	if (!end || reader.failed || (version != 1 && version != 3 && version != 4))
		return false;
	reader.at = end + 1;
	if (version == 4)
		st_cfi_u16(&reader); /* sizes of an address and of a segment selector */
	cie->code_align = st_cfi_uleb(&reader);
	cie->data_align = st_cfi_sleb(&reader);
	if (version == 1)
		st_cfi_u8(&reader);
	else
		st_cfi_uleb(&reader);
	cie->has_size = letters[0] == 'z';
	if (letters[0] && !cie->has_size)
		return false;
	if (cie->has_size && !read_augmentation(cie, &reader, letters + 1))
		return false;
	machine.reader = reader;
	while (machine.reader.at < machine.reader.stop)
		if (!run_one(&machine))
			return false;
	cie->initial = machine.state;
	return !reader.failed && cie->data_align == (int32_t)cie->data_align &&
	       cie->code_align <= UINT16_MAX;
}

/* The body of an entry behind its length field, and the offset behind it. */
static bool entry_at(const struct st_cfi *cfi, uint64_t offset, struct st_cfi_reader *body,
		     uint64_t *next)
{
	struct st_cfi_reader reader;
	uint64_t size;

	*next = 0;
	if (offset >= cfi->size_bytes)
		return false;
	reader = (struct st_cfi_reader){cfi->data + offset, cfi->data + cfi->size_bytes, false};
	size = st_cfi_u32(&reader);
	if (size == UINT32_MAX)
		size = st_cfi_u64(&reader);
	if (reader.failed || !size || size > (uint64_t)(reader.stop - reader.at))
		return false;
	*body = (struct st_cfi_reader){reader.at, reader.at + size, false};
	*next = (uint64_t)(body->stop - cfi->data);
	return true;
}

static const struct st_cfi_cie *find_cie(struct st_cfi *cfi, uint64_t offset)
{
	struct st_cfi_cie *cie = &cfi->cies[(offset >> 3) % ST_CFI_CIE_CACHE];
	struct st_cfi_reader body;
	uint64_t next;

	if (cie->valid && cie->offset == offset)
		return cie;
	*cie = (struct st_cfi_cie){.offset = offset};
	if (!entry_at(cfi, offset, &body, &next) || st_cfi_u32(&body) != 0 || body.failed)
		return NULL;
	cie->valid = parse_cie(cfi, cie, body);
	return cie->valid ? cie : NULL;
}

bool st_cfi_fde(struct st_cfi *cfi, uint64_t offset, struct st_cfi_fde *fde, uint64_t *next)
{
	struct st_cfi_reader body;
	const uint8_t *id_at;
	uint64_t id, size;

	if (!entry_at(cfi, offset, &body, next))
		return false;
	id_at = body.at;
	id = st_cfi_u32(&body);
	if (!id || body.failed || id > (uint64_t)(id_at - cfi->data))
		return false;
	fde->cie = find_cie(cfi, (uint64_t)(id_at - cfi->data) - id);
	if (!fde->cie ||
	    !st_cfi_pointer(&body.at, body.stop, fde->cie->pointer_encoding,
			    cfi->address + (uint64_t)(body.at - cfi->data), &fde->start))
		return false;
	if (!st_cfi_pointer(&body.at, body.stop, fde->cie->pointer_encoding & ENCODING_FORMAT, 0,
			    &size))
		return false;
	/* A size has no sign, whatever the encoding of the start. */
	if ((fde->cie->pointer_encoding & ENCODING_FORMAT) == 0x0b)
		size &= UINT32_MAX;
	fde->end = fde->start + size;
	if (fde->end < fde->start)
		return false;
	if (fde->cie->has_size)
		st_cfi_block(&body);
	fde->at = body.at;
	fde->stop = body.stop;
	return !body.failed;
}
