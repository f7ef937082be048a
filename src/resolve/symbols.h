/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions by place in a file: which symbol of an ELF file, or of its separate debug file, holds a byte.
 * Files are opened when first asked for and stay open.
 */
#ifndef ST_RESOLVE_SYMBOLS_H
#define ST_RESOLVE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct st_symbols;

struct st_symbol {
	const char *name; /* as the symbol table has it; borrowed until st_symbols_destroy */
	uint64_t offset;  /* of the place asked for, from the beginning of the function */
};

/* NULL: no memory. */
struct st_symbols *st_symbols_create(void);
void st_symbols_destroy(struct st_symbols *symbols);

/* False: no such file, no ELF file, or nothing there has a name. */
bool st_symbols_find(struct st_symbols *symbols, const char *path, uint64_t file_offset,
		     struct st_symbol *out);

#endif
