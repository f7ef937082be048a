// SPDX-License-Identifier: Apache-2.0
//
// Kernel symbols (resolve/kernel.h). The list has no sizes: each function ends where the next begins.
#include "resolve/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/search.h"
#include "base/vec.h"

enum { NAMES_MAX_BYTES = 64 << 20 };

struct symbol {
	uint64_t start;
	size_t name; /* offset of its name */
};

struct symbols {
	struct symbol *items;
	uint32_t count, capacity;
	struct st_buf names;
};

static int by_start(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* "ffffffff81000000 T _stext" or "… t name\t[module]". False: no memory. */
static bool take_line(struct symbols *symbols, char *line)
{
	struct symbol symbol = {.name = symbols->names.size_bytes};
	char *at, *name;

	symbol.start = strtoull(line, &at, 16);
	if (!symbol.start || at[0] != ' ' || !strchr("tTwW", at[1]) || at[2] != ' ')
		return true;
	name = at + 3;
	name[strcspn(name, "\t\n")] = '\0';
	if (!ST_VEC_ROOM(symbols->items, symbols->count, symbols->capacity) ||
	    !st_buf_append(&symbols->names, name, strlen(name) + 1))
		return false;
	symbols->items[symbols->count++] = symbol;
	return true;
}

static bool read_symbols(struct symbols *symbols)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[1024];
	bool ok = true;

	if (!file)
		return true;
	while (ok && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0000000000000000 ", 17) == 0 && !symbols->count)
			break; /* hidden from us: all are 0 */
		ok = take_line(symbols, line);
	}
	fclose(file);
	if (symbols->count)
		qsort(symbols->items, symbols->count, sizeof(*symbols->items), by_start);
	return ok;
}

/* How many symbols begin at or before the address. */
static uint32_t begun(const struct symbols *symbols, uint64_t address)
{
	return ST_SEARCH(i, 0, symbols->count, symbols->items[i].start <= address);
}

static uint32_t add(struct st_names *names, uint32_t module, const struct symbols *symbols,
		    uint32_t at)
{
	struct st_named_function function = {
		.module = module, .kind = ST_FUNCTION_KERNEL, .flags = ST_FUNCTION_SYSTEM};
	const char *name = "[kernel]";

	if (at) {
		name = (const char *)symbols->names.data + symbols->items[at - 1].name;
		function.start = symbols->items[at - 1].start;
		function.end = at < symbols->count ? symbols->items[at].start : 0;
	} else {
		function.flags |= ST_FUNCTION_NO_SYMBOL;
	}
	function.name = function.full = st_names_keep(names, name, strlen(name));
	function.mangled = st_names_keep(names, "", 0);
	return st_names_function(names, &function);
}

void st_kernel_resolve(struct st_names *names, struct st_sites *sites, const uint32_t *list,
		       uint32_t count, bool is_here)
{
	struct symbols symbols = {0};
	struct st_id_map by_symbol = {0};

	st_buf_init(&symbols.names, NAMES_MAX_BYTES);
	if (is_here && !read_symbols(&symbols))
		names->failed = true;
	for (uint32_t i = 0; i < count; i++) {
		struct st_site *site = &sites->items[list[i]];
		uint32_t at = begun(&symbols, site->address);
		uint32_t found = st_id_map_get(&by_symbol, at);

		if (found == ST_ID_NONE) {
			found = add(names, site->module, &symbols, at);
			if (!st_id_map_put(&by_symbol, at, found))
				names->failed = true;
		}
		site->function = found;
	}
	st_id_map_fini(&by_symbol);
	st_buf_fini(&symbols.names);
	free(symbols.items);
}
