// SPDX-License-Identifier: Apache-2.0
//
// Functions of a binary (resolve/binary_state.h). One that is inlined in some places and called in others is one
// function, known by its name and the file that declares it.
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "resolve/binary_state.h"
#include "resolve/demangle.h"
#include "resolve/paths.h"

static struct st_named_function empty_function(const struct st_binary *binary)
{
	const struct st_named_module *module = &binary->work->names->modules[binary->module];

	return (struct st_named_function){
		.module = binary->module,
		.kind = ST_FUNCTION_NATIVE,
		.flags = st_module_is_system(module->name) ? ST_FUNCTION_SYSTEM : 0};
}

static uint32_t add_plain(const struct st_binary *binary, struct st_named_function *function,
			  const char *name)
{
	struct st_names *names = binary->work->names;

	function->name = st_names_keep(names, name, strlen(name));
	function->full = function->name;
	function->mangled = st_names_keep(names, "", 0);
	return st_names_function(names, function);
}

uint32_t st_binary_unnamed(struct st_binary *binary)
{
	const struct st_named_module *module = &binary->work->names->modules[binary->module];
	struct st_named_function function = empty_function(binary);
	char name[512];

	if (binary->unnamed)
		return binary->unnamed;
	function.flags |= ST_FUNCTION_NO_SYMBOL;
	snprintf(name, sizeof(name), module->name.bytes[0] == '[' ? "%s" : "[%s]",
		 module->name.bytes);
	binary->unnamed = add_plain(binary, &function, name);
	return binary->unnamed;
}

/* Index of a source by a path that may be relative to the folder of its unit. */
static uint32_t source_of(const struct st_binary *binary, const char *path, const char *folder)
{
	char whole[PATH_MAX];

	if (!path)
		return 0;
	st_path_of_unit(whole, path, folder);
	return st_names_source(binary->work->names, whole, strlen(whole));
}

/* The function of this name and source, or ST_ID_NONE; *key is where a new one belongs. */
static uint32_t find_named(struct st_binary *binary, struct st_text name, uint32_t source,
			   uint64_t *key)
{
	st_string_id id;

	*key = 0;
	if (!st_text_table_add(&binary->work->names->texts, name.bytes, name.size_bytes, &id)) {
		binary->work->names->failed = true;
		return ST_ID_NONE;
	}
	*key = st_id_pair(source, id);
	return st_id_map_get(&binary->by_name, *key);
}

static void set_names(struct st_binary *binary, struct st_named_function *function,
		      const char *symbol, const char *suffix)
{
	struct st_names *names = binary->work->names;
	struct st_demangled plain = st_demangle(names, symbol);
	char text[1024];
	int length;

	function->name = plain.name;
	function->full = plain.full;
	function->mangled = plain.mangled;
	length = *suffix ? snprintf(text, sizeof(text), "%s%s", plain.name.bytes, suffix) : 0;
	if (length > 0 && (size_t)length < sizeof(text))
		function->name = function->full = st_names_keep(names, text, (size_t)length);
}

static uint32_t add_function(struct st_binary *binary, struct st_named_function *function)
{
	struct st_names *names = binary->work->names;
	uint32_t found;
	uint64_t key;

	if (!function->source || !function->mangled.size_bytes)
		return st_names_function(names, function);
	found = find_named(binary, function->mangled, function->source, &key);
	if (found != ST_ID_NONE && !names->functions[found].end) {
		names->functions[found].start = function->start;
		names->functions[found].end = function->end;
		return found;
	}
	if (found != ST_ID_NONE) /* a copy of it, or another static one of that name */
		return st_names_function(names, function);
	found = st_names_function(names, function);
	if (!st_id_map_put(&binary->by_name, key, found))
		names->failed = true;
	return found;
}

/* The function that holds a place. DWARF may know one that the symbol table does not. */
static uint32_t function_of(struct st_binary *binary, uint32_t at)
{
	const struct st_bounds *bounds = &binary->bounds[at];
	const struct st_dwarf_place *place = binary->has_dwarf ? &binary->places[at] : NULL;
	struct st_named_function function = empty_function(binary);
	const char *symbol = bounds->name;
	char name[64];
	uint32_t found;

	if (!symbol && place)
		symbol = place->name;
	if (bounds->kind == ST_BOUNDS_NONE && !symbol)
		return st_binary_unnamed(binary);
	found = bounds->end ? st_id_map_get(&binary->by_start, bounds->start) : ST_ID_NONE;
	if (found != ST_ID_NONE)
		return found;
	function.start = bounds->start;
	function.end = bounds->end;
	if (place) {
		function.source = source_of(binary, place->function_file, place->folder);
		function.line = place->function_line;
	}
	if (symbol) {
		set_names(binary, &function, symbol, bounds->kind == ST_BOUNDS_PLT ? "@plt" : "");
		found = add_function(binary, &function);
	} else {
		snprintf(name, sizeof(name), "func@0x%llx", (unsigned long long)bounds->start);
		function.flags |= ST_FUNCTION_NO_SYMBOL;
		found = add_plain(binary, &function, name);
	}
	if (bounds->end && !st_id_map_put(&binary->by_start, bounds->start, found))
		binary->work->names->failed = true;
	return found;
}

static uint32_t inlined_function(struct st_binary *binary, const struct st_dwarf_inlined *inlined,
				 const char *folder)
{
	struct st_named_function function = empty_function(binary);
	const char *symbol = inlined->name ? inlined->name : "[inlined function]";
	struct st_text name = {symbol, strlen(symbol)};
	uint32_t found;
	uint64_t key;

	function.source = source_of(binary, inlined->file, folder);
	function.line = inlined->line;
	found = find_named(binary, name, function.source, &key);
	if (found != ST_ID_NONE || binary->work->names->failed)
		return found != ST_ID_NONE ? found : 0;
	set_names(binary, &function, symbol, "");
	found = st_names_function(binary->work->names, &function);
	if (!st_id_map_put(&binary->by_name, key, found))
		binary->work->names->failed = true;
	return found;
}

/* The body of a function under another of its names (read and __GI___libc_read), told as inlined in it. */
static bool is_itself(const struct st_bounds *bounds, const struct st_dwarf_place *place,
		      const struct st_dwarf_inlined *inlined)
{
	return bounds->name && inlined->name && inlined->file && place->function_file &&
	       inlined->line && inlined->line == place->function_line &&
	       strcmp(inlined->file, place->function_file) == 0 &&
	       strcmp(inlined->name, bounds->name) != 0;
}

static void add_inlined(struct st_binary *binary, struct st_site *site,
			const struct st_bounds *bounds, const struct st_dwarf_place *place)
{
	struct st_sites *sites = binary->work->sites;

	site->inlined_first = sites->inlined_count;
	for (uint32_t i = place->first; i != ST_DWARF_NONE; i = binary->dwarf.inlined[i].next) {
		const struct st_dwarf_inlined *inlined = &binary->dwarf.inlined[i];
		struct st_inlined row = {.line = inlined->call_line};

		if (is_itself(bounds, place, inlined))
			continue;
		row.function = inlined_function(binary, inlined, place->folder);
		row.source = source_of(binary, inlined->call_file, place->folder);
		if (!st_sites_add_inlined(sites, &row)) {
			binary->work->names->failed = true;
			return;
		}
		site->inlined_count++;
	}
}

void st_binary_name_site(struct st_binary *binary, uint32_t at)
{
	struct st_site *site = &binary->work->sites->items[binary->list[at]];
	const struct st_dwarf_place *place;

	site->function = function_of(binary, at);
	if (!binary->has_dwarf)
		return;
	place = &binary->places[at];
	site->source = source_of(binary, place->file, place->folder);
	site->line = place->line;
	add_inlined(binary, site, &binary->bounds[at], place);
}
