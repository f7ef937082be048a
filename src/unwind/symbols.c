// SPDX-License-Identifier: Apache-2.0
#include "unwind/symbols.h"

#include <stdlib.h>

enum { GRAIN_SHIFT = 4, SYMBOLS_MAX = 64 << 20, COVER_MAX_BYTES = 1 << 30 };

static bool is_function(const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_size && symbol->st_value + symbol->st_size > symbol->st_value;
}

static bool is_code(const struct st_elf_view *view, uint64_t address)
{
	for (uint32_t i = 0; i < view->header_count; i++) {
		const Elf64_Phdr *header = &view->headers[i];

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X) &&
		    address >= header->p_vaddr && address - header->p_vaddr < header->p_filesz)
			return true;
	}
	return false;
}

void st_unwind_symbols_load(struct st_unwind_symbols *symbols, const struct st_elf_view *view)
{
	struct st_elf_part part = {0};
	const Elf64_Sym *table;
	Elf64_Shdr section;
	size_t count;

	*symbols = (struct st_unwind_symbols){.low = UINT64_MAX};
	if ((!st_elf_view_section(view, SHT_SYMTAB, 0, &section) &&
	     !st_elf_view_section(view, SHT_DYNSYM, 0, &section)) ||
	    section.sh_size / sizeof(*table) > SYMBOLS_MAX ||
	    !st_elf_view_load(view, section.sh_offset, section.sh_size, &part))
		return;
	table = (const Elf64_Sym *)part.data; /* malloc aligns it */
	count = part.size_bytes / sizeof(*table);
	symbols->symbols = malloc(count * sizeof(*symbols->symbols) + 1);
	for (size_t i = 0; symbols->symbols && i < count; i++) {
		if (!is_function(&table[i]) || !is_code(view, table[i].st_value))
			continue;
		symbols->symbols[symbols->count++] =
			(struct st_unwind_symbol){table[i].st_value, table[i].st_size};
		if (table[i].st_value < symbols->low)
			symbols->low = table[i].st_value;
		if (table[i].st_value > symbols->high)
			symbols->high = table[i].st_value;
	}
	st_elf_part_fini(&part);
	if (symbols->count && symbols->high - symbols->low < COVER_MAX_BYTES)
		symbols->covered =
			calloc(((symbols->high - symbols->low) >> (GRAIN_SHIFT + 3)) + 1, 1);
}

void st_unwind_symbols_covered(struct st_unwind_symbols *symbols, uint64_t address)
{
	uint64_t grain = (address - symbols->low) >> GRAIN_SHIFT;

	if (symbols->covered && address >= symbols->low && address <= symbols->high)
		symbols->covered[grain >> 3] |= (uint8_t)(1u << (grain & 7));
}

static int compare_symbols(const void *left, const void *right)
{
	const struct st_unwind_symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* Of two names for one place the longer one first. */
	return a->size_bytes > b->size_bytes ? -1 : a->size_bytes < b->size_bytes;
}

void st_unwind_symbols_sort(struct st_unwind_symbols *symbols)
{
	size_t kept = 0;

	/* Grains are coarser than addresses: a function without CFI in the same 16 bytes as one with is lost,
	 * which happens to nobody since compilers align functions to 16. */
	for (size_t i = 0; symbols->covered && i < symbols->count; i++) {
		uint64_t grain = (symbols->symbols[i].start - symbols->low) >> GRAIN_SHIFT;

		if (!(symbols->covered[grain >> 3] & 1u << (grain & 7)))
			symbols->symbols[kept++] = symbols->symbols[i];
	}
	if (symbols->covered)
		symbols->count = kept;
	if (symbols->count)
		qsort(symbols->symbols, symbols->count, sizeof(*symbols->symbols), compare_symbols);
}

void st_unwind_symbols_fini(struct st_unwind_symbols *symbols)
{
	free(symbols->symbols);
	free(symbols->covered);
	free(symbols->code);
	st_derive_destroy(symbols->derive);
	*symbols = (struct st_unwind_symbols){0};
}

static void add_row(void *arg, uint64_t address, const struct st_unwind_rule *rule)
{
	st_unwind_rows_add(arg, address, rule);
}

void st_unwind_symbols_derive(struct st_unwind_symbols *symbols, const struct st_elf_view *view,
			      uint64_t start, uint64_t end, struct st_unwind_rows *rows)
{
	uint64_t offset, available;
	size_t size = end - start;

	if (!symbols->derive)
		symbols->derive = st_derive_create(view->machine);
	if (!symbols->derive || size > ST_DERIVE_CODE_MAX_BYTES ||
	    !st_elf_view_locate(view, start, &offset, &available))
		return;
	if (size > available)
		size = available;
	if (size > symbols->code_capacity) {
		free(symbols->code);
		symbols->code = malloc(size);
		symbols->code_capacity = symbols->code ? size : 0;
	}
	if (!symbols->code || !st_elf_view_read(view, offset, symbols->code, size) ||
	    !st_unwind_rows_begin(rows, start, start + size, true))
		return;
	st_derive_run(symbols->derive, symbols->code, size, start, add_row, rows);
}
