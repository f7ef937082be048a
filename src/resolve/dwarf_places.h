/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines, declarations and inlined functions of many addresses at once, from DWARF. The tree of each
 * compilation unit that holds one of them is walked once, and only below what holds one; asking
 * address by address walks it again for each, which takes minutes where this takes milliseconds.
 */
#ifndef ST_RESOLVE_DWARF_PLACES_H
#define ST_RESOLVE_DWARF_PLACES_H

#include "resolve/elf_file.h"

enum { ST_DWARF_NONE = UINT32_MAX };

struct st_dwarf_inlined { /* texts are borrowed until st_dwarf_close; NULL: not known */
	const char *name;
	bool is_linkage_name;
	const char *file; /* where it is declared */
	uint32_t line;
	const char *call_file;
	uint32_t call_line;
	uint32_t next; /* the one inside it, or ST_DWARF_NONE */
};

struct st_dwarf_place {
	uint64_t address; /* asked for; ascending in an array */
	const char *file;
	uint32_t line;
	const char *name; /* of the function round it all, as DWARF has it */
	bool is_linkage_name;
	const char *function_file; /* where that is declared */
	uint32_t function_line;
	uint32_t first, last; /* inlined ones, outermost first */
	const char *folder;   /* where the compiler ran: paths above may be relative to it */
};

struct st_dwarf {
	void *handle;
	struct st_dwarf_place *places; /* the caller's */
	size_t count;
	struct st_dwarf_inlined *inlined;
	uint32_t inlined_count, inlined_capacity;
	bool failed; /* no memory */
};

/* False: the file has no DWARF. Texts stay valid until close. */
bool st_dwarf_open(struct st_dwarf *dwarf, const struct st_elf_file *file,
		   struct st_dwarf_place *places, size_t count);
void st_dwarf_close(struct st_dwarf *dwarf);

#endif
