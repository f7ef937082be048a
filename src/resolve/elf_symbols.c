// SPDX-License-Identifier: Apache-2.0
//
// Symbols of many addresses in one walk over the table (resolve/elf_symbols.h).
#include "resolve/elf_symbols.h"

#include <string.h>

#include "base/search.h"

/* Of several names of one place: the one people write. Fewer leading underscores first (read, not
 * __read, though that one is the global), then the stronger binding. */
static uint8_t rank_of(const char *name, const GElf_Sym *symbol)
{
	static const uint8_t of_binding[] = {[STB_LOCAL] = 0, [STB_GLOBAL] = 2, [STB_WEAK] = 1};
	unsigned int binding = GELF_ST_BIND(symbol->st_info);
	size_t underscores = strspn(name, "_");
	uint8_t rank = binding <= STB_WEAK ? of_binding[binding] : 0;

	if (underscores > 15)
		underscores = 15;
	return (uint8_t)((15 - underscores) << 2 | rank);
}

/* First of the addresses that is not below start. */
static size_t first_from(const struct st_bounds *bounds, size_t count, uint64_t start)
{
	return ST_SEARCH(i, 0, count, bounds[i].address < start);
}

/* The innermost symbol is the better one; of the same place the smaller, then by rank, then by name, so
 * that the answer does not depend on the order of the table. */
static bool is_better(const struct st_bounds *old, const struct st_bounds *new)
{
	if (old->kind != ST_BOUNDS_SYMBOL)
		return true;
	if (old->start != new->start)
		return new->start > old->start;
	if (old->end != new->end)
		return new->end < old->end;
	if (old->rank != new->rank)
		return new->rank > old->rank;
	return strcmp(new->name, old->name) < 0;
}

static void offer(const struct st_elf_file *file, size_t names, const GElf_Sym *symbol,
		  struct st_bounds *bounds, size_t count)
{
	uint64_t size_bytes = symbol->st_size ? symbol->st_size : 1;
	uint64_t end = symbol->st_value + size_bytes;
	size_t at = first_from(bounds, count, symbol->st_value);
	struct st_bounds found = {.start = symbol->st_value, .end = end, .kind = ST_BOUNDS_SYMBOL};

	if (end < symbol->st_value || at == count || bounds[at].address >= end)
		return;
	found.name = elf_strptr(file->elf, names, symbol->st_name);
	if (!found.name || !*found.name)
		return;
	found.rank = rank_of(found.name, symbol);
	for (; at < count && bounds[at].address < end; at++) {
		found.address = bounds[at].address;
		if (is_better(&bounds[at], &found))
			bounds[at] = found;
	}
}

static bool is_function(const GElf_Sym *symbol)
{
	unsigned int kind = GELF_ST_TYPE(symbol->st_info);

	return kind == STT_FUNC || kind == STT_GNU_IFUNC || (kind == STT_NOTYPE && symbol->st_size);
}

static bool is_variable(const GElf_Sym *symbol)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size;
}

static void walk_table(const struct st_elf_file *file, uint32_t type,
		       bool (*is_wanted)(const GElf_Sym *), struct st_bounds *bounds, size_t count)
{
	GElf_Shdr header;
	Elf_Scn *section = st_elf_section_of_type(file, type, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	size_t symbols;

	if (!data || !header.sh_entsize)
		return;
	symbols = header.sh_size / header.sh_entsize;
	if (symbols > INT32_MAX)
		return;
	for (size_t i = 1; i < symbols; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
		    !is_wanted(&symbol))
			continue;
		offer(file, header.sh_link, &symbol, bounds, count);
	}
}

void st_elf_find_symbols(const struct st_elf_file *file, struct st_bounds *bounds, size_t count)
{
	walk_table(file, SHT_SYMTAB, is_function, bounds, count);
	walk_table(file, SHT_DYNSYM, is_function, bounds, count);
}

void st_elf_find_variables(const struct st_elf_file *file, struct st_bounds *bounds, size_t count)
{
	walk_table(file, SHT_SYMTAB, is_variable, bounds, count);
	walk_table(file, SHT_DYNSYM, is_variable, bounds, count);
}
