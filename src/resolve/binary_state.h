/* SPDX-License-Identifier: Apache-2.0
 *
 * One binary while its sites are resolved; for binary.c and binary_functions.c only.
 */
#ifndef ST_RESOLVE_BINARY_STATE_H
#define ST_RESOLVE_BINARY_STATE_H

#include "resolve/binary.h"
#include "resolve/dwarf_places.h"
#include "resolve/elf_symbols.h"

struct st_binary {
	const struct st_binary_work *work;
	uint32_t module;
	struct st_elf_file file, debug; /* debug may be empty */
	uint32_t *list;			/* the sites, by address */
	uint32_t count;
	struct st_bounds *bounds; /* in the order of list, both */
	struct st_dwarf_place *places;
	struct st_dwarf dwarf;
	bool has_dwarf;
	struct st_id_map by_start; /* functions */
	struct st_id_map by_name;  /* (name, source) -> function: inlined and not are one */
	uint32_t unnamed;	   /* function that stands for the whole module */
};

/* The function for all unknown addresses: "[libfoo.so]". */
uint32_t st_binary_unnamed(struct st_binary *binary);
/* Functions of the site at position `at`: the one that holds it and those inlined there. */
void st_binary_name_site(struct st_binary *binary, uint32_t at);

#endif
