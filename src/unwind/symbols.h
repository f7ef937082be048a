/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that an ELF file names and sizes but gives no call frame information for.
 */
#ifndef ST_UNWIND_SYMBOLS_H
#define ST_UNWIND_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/derive.h"
#include "unwind/elf_view.h"
#include "unwind/rows.h"

struct st_unwind_symbol {
	uint64_t start, size_bytes;
};

struct st_unwind_symbols {
	struct st_unwind_symbol *symbols; /* by start */
	uint32_t count, capacity;
	uint64_t low, high;
	uint8_t *
		covered; /* a bit for each 16 bytes of low … high: a function with CFI begins there */
};

/* Reads their code; one for each thread. */
struct st_unwind_code_reader {
	const struct st_elf_view *view;
	struct st_derive *derive;
	uint8_t *code; /* of one function at a time */
	size_t code_capacity;
};

/* Functions with CFI will begin between low and high. */
void st_unwind_symbols_init(struct st_unwind_symbols *symbols, uint64_t low, uint64_t high);
/* A function with CFI begins here: its symbol is not needed. */
void st_unwind_symbols_covered(struct st_unwind_symbols *symbols, uint64_t address);
/* All that are not covered; none when there is no symbol table or no memory. */
void st_unwind_symbols_load(struct st_unwind_symbols *symbols, const struct st_elf_view *view);
void st_unwind_symbols_fini(struct st_unwind_symbols *symbols);
/* The first that begins at an address or behind it. */
size_t st_unwind_symbols_from(const struct st_unwind_symbols *symbols, uint64_t address);

/* Adds the rows that the function's code implies. */
void st_unwind_code_reader_run(struct st_unwind_code_reader *code_reader, uint64_t start,
			       uint64_t end, struct st_unwind_rows *rows);
void st_unwind_code_reader_fini(struct st_unwind_code_reader *code_reader);

#endif
