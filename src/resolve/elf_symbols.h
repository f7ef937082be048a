/* SPDX-License-Identifier: Apache-2.0
 *
 * Which function holds an address of an ELF file. Asked for many addresses at once: the symbol table is
 * walked once and only what holds one of them is looked at, so a table of half a million symbols
 * costs neither memory nor sorting.
 */
#ifndef ST_RESOLVE_ELF_SYMBOLS_H
#define ST_RESOLVE_ELF_SYMBOLS_H

#include "resolve/elf_file.h"

enum st_bounds_kind {
	ST_BOUNDS_NONE = 0,
	ST_BOUNDS_SYMBOL, /* name, start and end are the symbol's */
	ST_BOUNDS_PLT,	  /* a stub that jumps to the named function of another module */
	ST_BOUNDS_FDE,	  /* no name: start and end as the unwind table has them */
};

struct st_bounds {
	uint64_t address;    /* asked for; ascending in an array */
	uint64_t start, end; /* found */
	const char *name;    /* as the table has it, versions ("@GLIBC…") included; borrowed */
	enum st_bounds_kind kind;
	uint8_t rank; /* of the symbol among those of the same place */
};

/* Both tables of a file that has them; those that are found keep what an earlier call found unless the new symbol
 * is the better one. A symbol without a size reaches no further than its first byte. */
void st_elf_find_symbols(const struct st_elf_file *file, struct st_bounds *bounds, size_t count);
/* The same of variables. */
void st_elf_find_variables(const struct st_elf_file *file, struct st_bounds *bounds, size_t count);
/* What has no symbol: stubs of the procedure linkage table. */
void st_elf_find_stubs(const struct st_elf_file *file, struct st_bounds *bounds, size_t count);
/* What still has none: bounds from .eh_frame_hdr and .eh_frame. */
void st_elf_find_fdes(const struct st_elf_file *file, struct st_bounds *bounds, size_t count);

#endif
