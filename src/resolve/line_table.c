// SPDX-License-Identifier: Apache-2.0
//
// The files of line tables through libdw, unit by unit (resolve/line_table.h).
#include "resolve/line_table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <limits.h>
#include <string.h>

#include "resolve/paths.h"

enum { WHOLE_MAX_BYTES = 16 << 20 }; /* of .debug_line: read in a fraction of a second */

static bool unit_names(Dwarf_Die *unit, const char *folder, const char *path)
{
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(unit, &files, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *name = dwarf_filesrc(files, i, NULL, NULL);
		char whole[PATH_MAX];

		if (!name)
			continue;
		st_path_of_unit(whole, name, folder);
		if (strcmp(whole, path) == 0)
			return true;
	}
	return false;
}

static bool holds_any(Dwarf_Die *unit, const struct st_line_search *search)
{
	for (size_t i = 0; i < search->count; i++)
		if (dwarf_haspc(unit, search->addresses[i]) == 1)
			return true;
	return false;
}

bool st_line_table_names(const struct st_elf_file *file, const struct st_line_search *search)
{
	bool names = false, whole;
	Dwarf_Die unit, split;
	Dwarf_CU *at = NULL;
	GElf_Shdr header;
	Dwarf *handle;

	if (!st_elf_section(file, ".debug_info", &header) &&
	    !st_elf_section(file, ".zdebug_info", &header))
		return false;
	whole = st_elf_section(file, ".debug_line", &header) && header.sh_size <= WHOLE_MAX_BYTES;
	handle = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	while (handle && !names &&
	       dwarf_get_units(handle, at, &at, NULL, NULL, &unit, &split) == 0) {
		Dwarf_Attribute attribute;
		const char *folder = NULL;

		if (dwarf_tag(&unit) != DW_TAG_compile_unit &&
		    dwarf_tag(&unit) != DW_TAG_skeleton_unit)
			continue;
		if (!whole && !holds_any(&unit, search))
			continue;
		if (dwarf_attr(&unit, DW_AT_comp_dir, &attribute))
			folder = dwarf_formstring(&attribute);
		names = unit_names(&unit, folder, search->path) ||
			(split.addr && unit_names(&split, folder, search->path));
	}
	if (handle)
		dwarf_end(handle);
	return names;
}
