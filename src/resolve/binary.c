// SPDX-License-Identifier: Apache-2.0
//
// One binary and the sites in it (resolve/binary.h).
#include "resolve/binary.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "resolve/binary_state.h"
#include "resolve/find_file.h"

bool st_module_is_system(struct st_text name)
{
	static const char *const begins[] = {
		"libc.so",	"libc-",      "ld-linux",   "ld-2",	 "libm.so",    "libm-",
		"libmvec",	"libpthread", "librt.so",   "librt-",	 "libdl",      "libgcc_s",
		"libstdc++.so", "libc++.so",  "libc++abi",  "libresolv", "libutil.so", "ld-musl",
		"libnss_",	"[vdso]",     "[vsyscall]", "[kernel]",	 "libanl",     "libnsl"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t length = strlen(begins[i]);

		if (name.size_bytes >= length && memcmp(name.bytes, begins[i], length) == 0)
			return true;
	}
	return false;
}

/* A processor that waits in a loop is interrupted at or, more often, right behind the pause. */
static bool is_at_pause(const struct st_elf_file *file, const struct st_bounds *bounds)
{
	static const uint8_t pause[] = {0xf3, 0x90};
	size_t left;
	const uint8_t *bytes = st_elf_bytes_at(file, bounds->address, &left);

	if (bytes && left >= sizeof(pause) && memcmp(bytes, pause, sizeof(pause)) == 0)
		return true;
	if (bounds->address < bounds->start + sizeof(pause))
		return false;
	bytes = st_elf_bytes_at(file, bounds->address - sizeof(pause), &left);
	return bytes && left >= sizeof(pause) && memcmp(bytes, pause, sizeof(pause)) == 0;
}

static int by_address(const void *a, const void *b, void *arg)
{
	const struct st_sites *sites = arg;
	uint64_t x = sites->items[*(const uint32_t *)a].address;
	uint64_t y = sites->items[*(const uint32_t *)b].address;

	return x < y ? -1 : x > y;
}

/* From places in the file to addresses, and in their order. */
static bool take_sites(struct st_binary *binary)
{
	struct st_sites *sites = binary->work->sites;

	for (uint32_t i = 0; i < binary->count; i++) {
		struct st_site *site = &sites->items[binary->list[i]];
		uint64_t address;

		if (st_elf_address(&binary->file, site->offset, &address))
			site->address = address;
	}
	qsort_r(binary->list, binary->count, sizeof(*binary->list), by_address, sites);
	binary->bounds = calloc((size_t)binary->count + 1, sizeof(*binary->bounds));
	binary->places = calloc((size_t)binary->count + 1, sizeof(*binary->places));
	if (!binary->bounds || !binary->places)
		return false;
	for (uint32_t i = 0; i < binary->count; i++) {
		binary->bounds[i].address = sites->items[binary->list[i]].address;
		binary->places[i].address = binary->bounds[i].address;
	}
	return true;
}

/* The separate debug file is looked for when the file itself lacks symbols or lines. */
static void read_tables(struct st_binary *binary)
{
	const struct st_named_options *options = binary->work->options;
	GElf_Shdr header;
	bool whole = st_elf_section_of_type(&binary->file, SHT_SYMTAB, &header) != NULL;
	bool lines = st_elf_section(&binary->file, ".debug_info", &header) != NULL;

	if ((!whole || !lines) && binary->file.path)
		st_find_debug(&binary->debug, &binary->file, options);
	if (binary->debug.elf)
		st_elf_find_symbols(&binary->debug, binary->bounds, binary->count);
	st_elf_find_symbols(&binary->file, binary->bounds, binary->count);
	st_elf_find_stubs(&binary->file, binary->bounds, binary->count);
	st_elf_find_fdes(&binary->file, binary->bounds, binary->count);
	binary->has_dwarf =
		st_dwarf_open(&binary->dwarf, &binary->file, binary->places, binary->count) ||
		(binary->debug.elf &&
		 st_dwarf_open(&binary->dwarf, &binary->debug, binary->places, binary->count));
	if (binary->dwarf.failed)
		binary->work->names->failed = true;
}

static void name_sites(struct st_binary *binary)
{
	for (uint32_t i = 0; i < binary->count; i++) {
		struct st_site *site = &binary->work->sites->items[binary->list[i]];

		st_binary_name_site(binary, i);
		if (binary->bounds[i].kind != ST_BOUNDS_NONE &&
		    is_at_pause(&binary->file, &binary->bounds[i]))
			site->flags |= ST_SITE_AT_PAUSE;
	}
}

/* The code that the kernel puts into every process: ours is the same while the kernel is. */
static bool open_vdso(struct st_elf_file *file)
{
	const uint8_t *image = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image;

	if (!image || header->e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	return st_elf_open_memory(file, image,
				  header->e_shoff + (size_t)header->e_shnum * header->e_shentsize);
}

static enum st_found open_file(struct st_binary *binary)
{
	const struct st_named_module *module = &binary->work->names->modules[binary->module];
	struct st_wanted wanted = {.path = module->path,
				   .build_id = module->build_id,
				   .not_after_s = binary->work->not_after_s};
	enum st_found found;

	if (module->path.bytes[0] != '[') {
		found = st_find_binary(&binary->file, &wanted, binary->work->options);
		return found;
	}
	if (strcmp(module->path.bytes, "[vdso]") != 0 || !binary->work->is_here ||
	    !open_vdso(&binary->file))
		return ST_FOUND_MISSING;
	if (module->build_id.size_bytes &&
	    !st_elf_has_build_id(&binary->file, module->build_id.bytes,
				 module->build_id.size_bytes)) {
		st_elf_close(&binary->file);
		return ST_FOUND_CHANGED;
	}
	return ST_FOUND;
}

static void give_up(struct st_binary *binary, enum st_found found)
{
	struct st_names *names = binary->work->names;
	const char *path = names->modules[binary->module].path.bytes;

	for (uint32_t i = 0; i < binary->count; i++)
		binary->work->sites->items[binary->list[i]].function = st_binary_unnamed(binary);
	if (found == ST_FOUND_CHANGED) {
		names->named.modules_changed++;
		st_names_note(
			names,
			"%s is not the file that ran (different build ID or modification time), so "
			"its functions have no names; use -search-dir to locate the right one",
			path);
	} else if (path[0] != '[') {
		names->named.modules_missing++;
		st_names_note(names,
			      "cannot read %s, so its functions have no names; use -search-dir to "
			      "locate it",
			      path);
	}
}

void st_binary_resolve(const struct st_binary_work *work, uint32_t module, uint32_t *list,
		       uint32_t count)
{
	struct st_binary binary = {.work = work, .module = module, .list = list, .count = count};
	enum st_found found = open_file(&binary);

	if (found != ST_FOUND) {
		give_up(&binary, found);
		return;
	}
	if (take_sites(&binary)) {
		read_tables(&binary);
		name_sites(&binary);
	} else {
		work->names->failed = true;
	}
	st_dwarf_close(&binary.dwarf);
	free(binary.bounds);
	free(binary.places);
	st_id_map_fini(&binary.by_start);
	st_id_map_fini(&binary.by_name);
	st_elf_close(&binary.debug);
	st_elf_close(&binary.file);
}
