// SPDX-License-Identifier: Apache-2.0
//
// DWARF through libdw, unit by unit (resolve/dwarf_places.h).
#include "resolve/dwarf_places.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

enum { DEPTH_MAX = 256 };

struct span { /* places first … last - 1 */
	size_t first, last;
};

struct unit_walk {
	struct st_dwarf *dwarf;
	Dwarf_Files *files;
	size_t file_count;
};

static size_t first_from(const struct st_dwarf *dwarf, struct span in, uint64_t address)
{
	return ST_SEARCH(i, in.first, in.last, dwarf->places[i].address < address);
}

static const char *name_of(Dwarf_Die *die, bool *is_linkage_name)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	*is_linkage_name = name != NULL;
	return name ? name : dwarf_diename(die);
}

static uint32_t number_of(Dwarf_Die *die, unsigned int which)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!dwarf_attr(die, which, &attribute) || dwarf_formudata(&attribute, &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static void declared(Dwarf_Die *die, const char **file, uint32_t *line)
{
	int number = 0;

	*file = dwarf_decl_file(die);
	*line = dwarf_decl_line(die, &number) == 0 && number > 0 ? (uint32_t)number : 0;
}

static void set_function(struct unit_walk *walk, Dwarf_Die *die, struct span span)
{
	struct st_dwarf_place found = {0};

	found.name = name_of(die, &found.is_linkage_name);
	declared(die, &found.function_file, &found.function_line);
	for (size_t i = span.first; i < span.last; i++) {
		struct st_dwarf_place *place = &walk->dwarf->places[i];

		place->name = found.name;
		place->is_linkage_name = found.is_linkage_name;
		place->function_file = found.function_file;
		place->function_line = found.function_line;
		place->first = place->last = ST_DWARF_NONE;
	}
}

static void add_inlined(struct unit_walk *walk, Dwarf_Die *die, struct span span)
{
	struct st_dwarf *dwarf = walk->dwarf;
	struct st_dwarf_inlined row = {.next = ST_DWARF_NONE};
	uint32_t call_file = number_of(die, DW_AT_call_file);

	row.name = name_of(die, &row.is_linkage_name);
	declared(die, &row.file, &row.line);
	row.call_line = number_of(die, DW_AT_call_line);
	if (walk->files && call_file < walk->file_count)
		row.call_file = dwarf_filesrc(walk->files, call_file, NULL, NULL);
	for (size_t i = span.first; i < span.last; i++) {
		struct st_dwarf_place *place = &dwarf->places[i];
		uint32_t at = dwarf->inlined_count;

		if (!ST_VEC_ROOM(dwarf->inlined, at, dwarf->inlined_capacity)) {
			dwarf->failed = true;
			return;
		}
		dwarf->inlined[dwarf->inlined_count++] = row;
		if (place->last == ST_DWARF_NONE)
			place->first = at;
		else
			dwarf->inlined[place->last].next = at;
		place->last = at;
	}
}

static void walk_children(struct unit_walk *walk, Dwarf_Die *parent, struct span span, int depth);

/* A function or block with code: what of it holds places is noted and walked, range by range, so that
 * each place is seen once on each level. */
static void walk_code(struct unit_walk *walk, Dwarf_Die *die, int tag, struct span span, int depth)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		struct span part = {.first = first_from(walk->dwarf, span, start)};

		part.last = first_from(walk->dwarf, span, end);
		if (part.first >= part.last)
			continue;
		if (tag == DW_TAG_subprogram)
			set_function(walk, die, part);
		else if (tag == DW_TAG_inlined_subroutine)
			add_inlined(walk, die, part);
		walk_children(walk, die, part, depth + 1);
	}
}

static void walk_children(struct unit_walk *walk, Dwarf_Die *parent, struct span span, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || walk->dwarf->failed || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		switch (tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			walk_code(walk, &die, tag, span, depth);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			walk_children(walk, &die, span, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void find_lines(struct st_dwarf *dwarf, Dwarf_Die *unit, struct span span)
{
	Dwarf_Attribute attribute;
	const char *folder = NULL;

	if (dwarf_attr(unit, DW_AT_comp_dir, &attribute))
		folder = dwarf_formstring(&attribute);
	for (size_t i = span.first; i < span.last; i++) {
		Dwarf_Line *line = dwarf_getsrc_die(unit, dwarf->places[i].address);
		int number = 0;

		dwarf->places[i].folder = folder;
		if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
			continue;
		dwarf->places[i].line = (uint32_t)number;
		dwarf->places[i].file = dwarf_linesrc(line, NULL, NULL);
	}
}

/* One unit: its ranges that hold places. */
static void take_unit(struct st_dwarf *dwarf, Dwarf_Die *unit, Dwarf_Die *split)
{
	struct unit_walk walk = {.dwarf = dwarf};
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	bool prepared = false;

	while ((offset = dwarf_ranges(unit, offset, &base, &start, &end)) > 0) {
		struct span span = {.first = 0, .last = dwarf->count};
		struct span part = {.first = first_from(dwarf, span, start)};

		part.last = first_from(dwarf, span, end);
		if (part.first >= part.last)
			continue;
		if (!prepared &&
		    dwarf_getsrcfiles(split ? split : unit, &walk.files, &walk.file_count) != 0)
			walk.files = NULL;
		prepared = true;
		find_lines(dwarf, unit, part);
		walk_children(&walk, split ? split : unit, part, 0);
	}
}

bool st_dwarf_open(struct st_dwarf *dwarf, const struct st_elf_file *file,
		   struct st_dwarf_place *places, size_t count)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	GElf_Shdr header;
	Dwarf *handle;

	memset(dwarf, 0, sizeof(*dwarf));
	if (!st_elf_section(file, ".debug_info", &header) &&
	    !st_elf_section(file, ".zdebug_info", &header))
		return false;
	handle = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!handle)
		return false;
	dwarf->handle = handle;
	dwarf->places = places;
	dwarf->count = count;
	for (size_t i = 0; i < count; i++)
		places[i].first = places[i].last = ST_DWARF_NONE;
	while (dwarf_get_units(handle, unit, &unit, NULL, NULL, &die, &split) == 0)
		if (dwarf_tag(&die) == DW_TAG_compile_unit ||
		    dwarf_tag(&die) == DW_TAG_skeleton_unit)
			take_unit(dwarf, &die, split.addr ? &split : NULL);
	return true;
}

void st_dwarf_close(struct st_dwarf *dwarf)
{
	free(dwarf->inlined);
	if (dwarf->handle)
		dwarf_end(dwarf->handle);
	memset(dwarf, 0, sizeof(*dwarf));
}
