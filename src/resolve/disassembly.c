// SPDX-License-Identifier: Apache-2.0
//
// Instructions through capstone (resolve/disassembly.h), in Intel's notation, with the names of what they jump
// to and the lines they come from.
#include "resolve/disassembly.h"

#include <capstone/capstone.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/search.h"
#include "base/vec.h"
#include "resolve/demangle.h"
#include "resolve/dwarf_places.h"
#include "resolve/elf_symbols.h"
#include "resolve/find_file.h"
#include "resolve/paths.h"

enum { CODE_MAX_BYTES = 64 << 20 };

struct jump {
	uint32_t instruction;
	uint64_t target;
	bool is_call;
};

struct work {
	struct st_arena *arena;
	struct st_disassembly *out;
	uint32_t capacity;
	struct st_elf_file file, debug;
	uint64_t start, end;
	struct jump *jumps;
	uint32_t jump_count, jump_capacity;
	bool next_starts; /* the next instruction starts a block */
	bool failed;
};

static bool open_engine(const struct st_elf_file *file, csh *out)
{
	GElf_Ehdr header;
	cs_arch arch = CS_ARCH_X86;
	cs_mode mode = CS_MODE_64;

	if (!gelf_getehdr(file->elf, &header))
		return false;
	if (header.e_machine == EM_AARCH64) {
		arch = CS_ARCH_ARM64;
		mode = CS_MODE_ARM;
	} else if (header.e_machine != EM_X86_64) {
		return false;
	}
	if (cs_open(arch, mode, out) != CS_ERR_OK)
		return false;
	cs_option(*out, CS_OPT_DETAIL, CS_OPT_ON);
	cs_option(*out, CS_OPT_SKIPDATA, CS_OPT_ON); /* data between code does not end it */
	return true;
}

static bool is_in_group(csh engine, const cs_insn *insn, unsigned int group)
{
	return insn->id != 0 && cs_insn_group(engine, insn, group);
}

/* Where a direct jump or call goes: its only number. */
static bool target_of(const struct work *work, const cs_insn *insn, uint64_t *out)
{
	GElf_Ehdr header;

	if (!insn->detail || !gelf_getehdr(work->file.elf, &header))
		return false;
	if (header.e_machine == EM_X86_64) {
		const cs_x86 *x86 = &insn->detail->x86;

		if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
			return false;
		*out = (uint64_t)x86->operands[0].imm;
		return true;
	}
	for (unsigned int i = insn->detail->arm64.op_count; i > 0; i--) {
		if (insn->detail->arm64.operands[i - 1].type != ARM64_OP_IMM)
			continue;
		*out = (uint64_t)insn->detail->arm64.operands[i - 1].imm;
		return true;
	}
	return false;
}

static void note_jump(struct work *work, csh engine, const cs_insn *insn)
{
	struct jump jump = {.instruction = work->out->count - 1};
	bool jumps = is_in_group(engine, insn, CS_GRP_JUMP);

	jump.is_call = is_in_group(engine, insn, CS_GRP_CALL);
	work->next_starts = jumps || is_in_group(engine, insn, CS_GRP_RET);
	if ((!jumps && !jump.is_call) || !target_of(work, insn, &jump.target))
		return;
	if (!ST_VEC_PUSH(work->jumps, work->jump_count, work->jump_capacity, jump))
		work->failed = true;
}

static void add_instruction(struct work *work, csh engine, const cs_insn *insn)
{
	struct st_instruction item = {.address = insn->address,
				      .size_bytes = insn->size,
				      .starts_block = work->next_starts,
				      .source = ""};

	item.text = st_arena_printf(work->arena, "%s%s%s", insn->mnemonic,
				    insn->op_str[0] ? " " : "", insn->op_str);
	if (!item.text || !ST_VEC_PUSH(work->out->items, work->out->count, work->capacity, item)) {
		work->failed = true;
		return;
	}
	note_jump(work, engine, insn);
}

static bool decode(struct work *work)
{
	size_t left, size_bytes = work->end - work->start;
	const uint8_t *bytes = st_elf_bytes_at(&work->file, work->start, &left);
	uint64_t address = work->start;
	cs_insn *insn;
	csh engine;

	if (!bytes || !open_engine(&work->file, &engine))
		return false;
	if (size_bytes > left)
		size_bytes = left;
	insn = cs_malloc(engine);
	work->next_starts = true;
	while (insn && !work->failed && cs_disasm_iter(engine, &bytes, &size_bytes, &address, insn))
		add_instruction(work, engine, insn);
	work->failed |= !insn;
	if (insn)
		cs_free(insn, 1);
	cs_close(&engine);
	return true;
}

static struct st_instruction *at_address(const struct work *work, uint64_t address)
{
	uint32_t low = ST_SEARCH(i, 0, work->out->count, work->out->items[i].address < address);

	if (low == work->out->count || work->out->items[low].address != address)
		return NULL;
	return &work->out->items[low];
}

static int by_address(const void *a, const void *b)
{
	const struct st_bounds *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static const struct st_bounds *bounds_at(const struct st_bounds *bounds, size_t count,
					 uint64_t address)
{
	const struct st_bounds key = {.address = address};

	return bsearch(&key, bounds, count, sizeof(key), by_address);
}

static void name_target(struct work *work, struct st_names *names, const struct jump *jump,
			const struct st_bounds *found)
{
	struct st_instruction *from = &work->out->items[jump->instruction];
	uint64_t into = found ? jump->target - found->start : 0;
	const char *text;

	if (jump->target >= work->start && jump->target < work->end) {
		struct st_instruction *to = at_address(work, jump->target);

		if (to && !jump->is_call)
			to->starts_block = true;
		text = st_arena_printf(work->arena, "%s <+0x%llx>", from->text,
				       (unsigned long long)(jump->target - work->start));
	} else if (found && found->name) {
		text = st_arena_printf(work->arena, into ? "%s <%s%s+0x%llx>" : "%s <%s%s>",
				       from->text, st_demangle(names, found->name).name.bytes,
				       found->kind == ST_BOUNDS_PLT ? "@plt" : "",
				       (unsigned long long)into);
	} else {
		return;
	}
	if (text)
		from->text = text;
}

static void name_targets(struct work *work)
{
	struct st_bounds *bounds = calloc((size_t)work->jump_count + 1, sizeof(*bounds));
	struct st_names *names = st_names_create(0);

	for (uint32_t i = 0; bounds && i < work->jump_count; i++)
		bounds[i].address = work->jumps[i].target;
	if (bounds && names) {
		qsort(bounds, work->jump_count, sizeof(*bounds), by_address);
		if (work->debug.elf)
			st_elf_find_symbols(&work->debug, bounds, work->jump_count);
		st_elf_find_symbols(&work->file, bounds, work->jump_count);
		st_elf_find_stubs(&work->file, bounds, work->jump_count);
		for (uint32_t i = 0; i < work->jump_count; i++)
			name_target(work, names, &work->jumps[i],
				    bounds_at(bounds, work->jump_count, work->jumps[i].target));
	} else {
		work->failed = true;
	}
	st_names_destroy(names);
	free(bounds);
}

static void set_line(struct work *work, uint32_t at, const struct st_dwarf_place *place)
{
	struct st_instruction *item = &work->out->items[at];
	char whole[PATH_MAX];

	if (!place->file || !place->line)
		return;
	st_path_of_unit(whole, place->file, place->folder);
	item->line = place->line;
	if (at && strcmp(item[-1].source, whole) == 0)
		item->source = item[-1].source;
	else
		item->source = st_arena_copy(work->arena, whole, strlen(whole));
	if (!item->source) {
		item->source = "";
		work->failed = true;
	}
}

static void find_lines(struct work *work)
{
	struct st_dwarf_place *places = calloc((size_t)work->out->count + 1, sizeof(*places));
	struct st_dwarf dwarf;

	if (!places) {
		work->failed = true;
		return;
	}
	for (uint32_t i = 0; i < work->out->count; i++)
		places[i].address = work->out->items[i].address;
	if (st_dwarf_open(&dwarf, &work->file, places, work->out->count) ||
	    (work->debug.elf && st_dwarf_open(&dwarf, &work->debug, places, work->out->count))) {
		for (uint32_t i = 0; i < work->out->count; i++)
			set_line(work, i, &places[i]);
		st_dwarf_close(&dwarf);
	}
	free(places);
}

static enum st_status open_code(struct work *work, const struct st_named *named, uint32_t function,
				const struct st_named_options *options, struct st_error *err)
{
	const struct st_named_function *its = &named->functions[function];
	const struct st_named_module *module = &named->modules[its->module];
	struct st_wanted wanted = {.path = module->path, .build_id = module->build_id};
	enum st_found found;

	if (its->kind != ST_FUNCTION_NATIVE || !its->end || its->end - its->start > CODE_MAX_BYTES)
		return st_error_set(err, ST_ENOTFOUND, 0,
				    "%.200s has no code in a file: nothing to disassemble",
				    its->name.bytes);
	found = st_find_binary(&work->file, &wanted, options);
	if (found != ST_FOUND)
		return st_error_set(
			err, ST_ENOTFOUND, 0, "%.300s %s; use -search-dir to locate the right file",
			module->path.bytes,
			found == ST_FOUND_CHANGED ? "is not the file that ran" : "cannot be read");
	work->start = its->start;
	work->end = its->end;
	st_find_debug(&work->debug, &work->file, options);
	return ST_OK;
}

enum st_status st_disassembly_open(struct st_disassembly *out, const struct st_named *named,
				   uint32_t function, const struct st_named_options *options,
				   struct st_error *err)
{
	struct work work = {.arena = calloc(1, sizeof(*work.arena)), .out = out};
	enum st_status status;

	memset(out, 0, sizeof(*out));
	if (!work.arena)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the instructions");
	st_arena_init(work.arena, SIZE_MAX / 2);
	out->memory = work.arena;
	status = open_code(&work, named, function, options, err);
	if (!status && !decode(&work))
		status = st_error_set(err, ST_EUNSUPPORTED, 0,
				      "cannot disassemble code for this kind of CPU");
	if (!status && !work.failed) {
		name_targets(&work);
		find_lines(&work);
	}
	if (!status && work.failed)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the instructions");
	free(work.jumps);
	st_elf_close(&work.debug);
	st_elf_close(&work.file);
	if (status)
		st_disassembly_close(out);
	return status;
}

void st_disassembly_close(struct st_disassembly *disassembly)
{
	free(disassembly->items);
	if (disassembly->memory) {
		st_arena_fini(disassembly->memory);
		free(disassembly->memory);
	}
	memset(disassembly, 0, sizeof(*disassembly));
}
