// SPDX-License-Identifier: Apache-2.0
//
// One binary and the sites in it (resolve/binary.h).
#include "resolve/binary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resolve/demangle.h"
#include "resolve/elf_symbols.h"

struct binary {
	const struct st_binary_work *work;
	uint32_t module;
	struct st_elf_file file;
	struct st_bounds *bounds; /* by address */
	uint32_t *list;		  /* the sites, in the same order */
	uint32_t count;
	struct st_id_map by_start; /* functions */
	uint32_t unnamed;	   /* function that stands for the whole module */
};

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

static struct st_named_function empty_function(const struct binary *binary)
{
	const struct st_named_module *module = &binary->work->names->modules[binary->module];

	return (struct st_named_function){
		.module = binary->module,
		.kind = ST_FUNCTION_NATIVE,
		.flags = st_module_is_system(module->name) ? ST_FUNCTION_SYSTEM : 0};
}

static uint32_t add_plain(const struct binary *binary, struct st_named_function *function,
			  const char *name)
{
	struct st_names *names = binary->work->names;

	function->name = st_names_keep(names, name, strlen(name));
	function->full = function->name;
	function->mangled = st_names_keep(names, "", 0);
	return st_names_function(names, function);
}

/* One function for all places of which nothing is known: "[libfoo.so]". */
static uint32_t unnamed(struct binary *binary)
{
	const struct st_named_module *module = &binary->work->names->modules[binary->module];
	struct st_named_function function = empty_function(binary);
	char name[512];

	if (binary->unnamed)
		return binary->unnamed;
	function.flags |= ST_FUNCTION_NO_SYMBOL;
	if (module->name.size_bytes && module->name.bytes[0] == '[')
		snprintf(name, sizeof(name), "%s", module->name.bytes);
	else
		snprintf(name, sizeof(name), "[%s]", module->name.bytes);
	binary->unnamed = add_plain(binary, &function, name);
	return binary->unnamed;
}

static uint32_t function_of(struct binary *binary, const struct st_bounds *bounds)
{
	struct st_named_function function = empty_function(binary);
	struct st_demangled names;
	char name[64];
	uint32_t found;

	if (bounds->kind == ST_BOUNDS_NONE)
		return unnamed(binary);
	found = st_id_map_get(&binary->by_start, bounds->start);
	if (found != ST_ID_NONE)
		return found;
	function.start = bounds->start;
	function.end = bounds->end;
	if (bounds->kind == ST_BOUNDS_SYMBOL) {
		names = st_demangle(binary->work->names, bounds->name);
		function.name = names.name;
		function.full = names.full;
		function.mangled = names.mangled;
		found = st_names_function(binary->work->names, &function);
	} else {
		snprintf(name, sizeof(name), "func@0x%llx", (unsigned long long)bounds->start);
		function.flags |= ST_FUNCTION_NO_SYMBOL;
		found = add_plain(binary, &function, name);
	}
	if (!st_id_map_put(&binary->by_start, bounds->start, found))
		binary->work->names->failed = true;
	return found;
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
static bool take_sites(struct binary *binary)
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
	if (!binary->bounds)
		return false;
	for (uint32_t i = 0; i < binary->count; i++)
		binary->bounds[i].address = sites->items[binary->list[i]].address;
	return true;
}

static void name_sites(struct binary *binary)
{
	for (uint32_t i = 0; i < binary->count; i++) {
		struct st_site *site = &binary->work->sites->items[binary->list[i]];
		const struct st_bounds *bounds = &binary->bounds[i];

		site->function = function_of(binary, bounds);
		if (bounds->kind != ST_BOUNDS_NONE && is_at_pause(&binary->file, bounds))
			site->flags |= ST_SITE_AT_PAUSE;
	}
}

void st_binary_resolve(const struct st_binary_work *work, uint32_t module, uint32_t *list,
		       uint32_t count)
{
	struct binary binary = {.work = work, .module = module, .list = list, .count = count};
	const struct st_named_module *its = &work->names->modules[module];

	if (!st_elf_open(&binary.file, its->path.bytes) ||
	    (its->build_id.size_bytes &&
	     !st_elf_has_build_id(&binary.file, its->build_id.bytes, its->build_id.size_bytes))) {
		for (uint32_t i = 0; i < count; i++)
			work->sites->items[list[i]].function = unnamed(&binary);
		if (binary.file.elf)
			work->names->named.modules_changed++;
		else
			work->names->named.modules_missing++;
		st_elf_close(&binary.file);
		return;
	}
	if (take_sites(&binary)) {
		st_elf_find_symbols(&binary.file, binary.bounds, count);
		name_sites(&binary);
	} else {
		work->names->failed = true;
	}
	free(binary.bounds);
	st_id_map_fini(&binary.by_start);
	st_elf_close(&binary.file);
}
