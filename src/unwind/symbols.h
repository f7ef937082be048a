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
	struct st_unwind_symbol *symbols;
	size_t count;
	size_t next; /* the builder's place */
	struct st_derive *derive;
	uint8_t *code; /* of one function at a time */
	size_t code_capacity;
	uint64_t low, high;
	uint8_t *
		covered; /* a bit for each 16 bytes of low … high: a function with CFI begins there */
};

/* All of them; none when there is no symbol table or no memory. */
void st_unwind_symbols_load(struct st_unwind_symbols *symbols, const struct st_elf_view *view);
/* A function with CFI begins here: its symbol is not needed. */
void st_unwind_symbols_covered(struct st_unwind_symbols *symbols, uint64_t address);
/* Drops what is covered, sorts the rest. */
void st_unwind_symbols_sort(struct st_unwind_symbols *symbols);
void st_unwind_symbols_fini(struct st_unwind_symbols *symbols);
/* Adds the rows that the function's code implies. */
void st_unwind_symbols_derive(struct st_unwind_symbols *symbols, const struct st_elf_view *view,
			      uint64_t start, uint64_t end, struct st_unwind_rows *rows);

#endif
