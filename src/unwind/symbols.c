// SPDX-License-Identifier: Apache-2.0
#include "unwind/symbols.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/vec.h"

enum {
	GRAIN_SHIFT = 4,
	SYMBOLS_MAX = 64 << 20,
	COVER_MAX_BYTES = 1 << 30,
	READ_SYMBOLS = 8192, /* at a time: what stays in a cache */
};

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

void st_unwind_symbols_init(struct st_unwind_symbols *symbols, uint64_t low, uint64_t high)
{
	*symbols =
		(struct st_unwind_symbols){.low = low >> GRAIN_SHIFT << GRAIN_SHIFT, .high = high};
	if (high >= symbols->low && high - symbols->low < COVER_MAX_BYTES)
		symbols->covered = calloc(((high - symbols->low) >> (GRAIN_SHIFT + 3)) + 1, 1);
}

void st_unwind_symbols_covered(struct st_unwind_symbols *symbols, uint64_t address)
{
	uint64_t grain = (address - symbols->low) >> GRAIN_SHIFT;

	if (symbols->covered && address >= symbols->low && address <= symbols->high)
		symbols->covered[grain >> 3] |= (uint8_t)(1u << (grain & 7));
}

/* Grains are coarser than addresses: a function without CFI in the same 16 bytes as one with is lost, which happens to
 * nobody since compilers align functions to 16. */
static bool is_covered(const struct st_unwind_symbols *symbols, uint64_t address)
{
	uint64_t grain = (address - symbols->low) >> GRAIN_SHIFT;

	return symbols->covered && address >= symbols->low && address <= symbols->high &&
	       symbols->covered[grain >> 3] & 1u << (grain & 7);
}

static bool add(struct st_unwind_symbols *symbols, const Elf64_Sym *symbol)
{
	return ST_VEC_PUSH(symbols->symbols, symbols->count, symbols->capacity,
			   (struct st_unwind_symbol){symbol->st_value, symbol->st_size});
}

static int compare_symbols(const void *left, const void *right)
{
	const struct st_unwind_symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* Of two names for one place the longer one first. */
	return a->size_bytes > b->size_bytes ? -1 : a->size_bytes < b->size_bytes;
}

void st_unwind_symbols_load(struct st_unwind_symbols *symbols, const struct st_elf_view *view)
{
	Elf64_Sym *table = malloc(READ_SYMBOLS * sizeof(*table));
	Elf64_Shdr section = {0};
	uint64_t count = 0;
	bool done = table;

	if (st_elf_view_section(view, SHT_SYMTAB, 0, &section) ||
	    st_elf_view_section(view, SHT_DYNSYM, 0, &section))
		count = section.sh_size / sizeof(*table);
	if (count > SYMBOLS_MAX || section.sh_offset > view->size_bytes)
		count = 0;
	for (uint64_t at = 0; done && at < count; at += READ_SYMBOLS) {
		size_t some = count - at < READ_SYMBOLS ? count - at : READ_SYMBOLS;

		done = st_elf_view_read(view, section.sh_offset + at * sizeof(*table), table,
					some * sizeof(*table));
		for (size_t i = 0; done && i < some; i++)
			if (is_function(&table[i]) && !is_covered(symbols, table[i].st_value) &&
			    is_code(view, table[i].st_value))
				done = add(symbols, &table[i]);
	}
	free(table);
	if (!done)
		symbols->count = 0;
	if (symbols->count)
		qsort(symbols->symbols, symbols->count, sizeof(*symbols->symbols), compare_symbols);
}

void st_unwind_symbols_fini(struct st_unwind_symbols *symbols)
{
	free(symbols->symbols);
	free(symbols->covered);
	*symbols = (struct st_unwind_symbols){0};
}

size_t st_unwind_symbols_from(const struct st_unwind_symbols *symbols, uint64_t address)
{
	return ST_SEARCH(i, 0, symbols->count, symbols->symbols[i].start < address);
}

static void add_row(void *arg, uint64_t address, const struct st_unwind_rule *rule)
{
	st_unwind_rows_add(arg, address, rule);
}

void st_unwind_code_reader_run(struct st_unwind_code_reader *code_reader, uint64_t start,
			       uint64_t end, struct st_unwind_rows *rows)
{
	const struct st_elf_view *view = code_reader->view;
	uint64_t offset, available;
	size_t size = end - start;

	if (!code_reader->derive)
		code_reader->derive = st_derive_create(view->machine);
	if (!code_reader->derive || size > ST_DERIVE_CODE_MAX_BYTES ||
	    !st_elf_view_locate(view, start, &offset, &available))
		return;
	if (size > available)
		size = available;
	if (size > code_reader->code_capacity) {
		free(code_reader->code);
		code_reader->code = malloc(size);
		code_reader->code_capacity = code_reader->code ? size : 0;
	}
	if (!code_reader->code || !st_elf_view_read(view, offset, code_reader->code, size) ||
	    !st_unwind_rows_begin(rows, start, start + size, true))
		return;
	st_derive_run(code_reader->derive, code_reader->code, size, start, add_row, rows);
}

void st_unwind_code_reader_fini(struct st_unwind_code_reader *code_reader)
{
	free(code_reader->code);
	st_derive_destroy(code_reader->derive);
	*code_reader = (struct st_unwind_code_reader){0};
}
