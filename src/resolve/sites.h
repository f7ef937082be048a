/* SPDX-License-Identifier: Apache-2.0
 *
 * Sites: the distinct places of code that stacks point to. Everything slow (symbols, lines, inlined
 * functions) is done once for each, however many stacks and processes pass through it.
 */
#ifndef ST_RESOLVE_SITES_H
#define ST_RESOLVE_SITES_H

#include "resolve/names.h"

enum { ST_SITE_AT_PAUSE = 1 };

struct st_site {
	uint32_t module; /* index into modules of the names */
	uint32_t function;
	uint64_t offset;  /* in the file; of JIT code: from its start; of the kernel: the address */
	uint64_t address; /* in the module */
	uint32_t source, line; /* of the innermost function */
	uint32_t inlined_first, inlined_count;
	uint32_t flags;
};

struct st_inlined { /* outermost first */
	uint32_t function;
	uint32_t source, line; /* of the call, in the function round it */
};

struct st_sites {
	struct st_site *items; /* [0] is the unknown place */
	uint32_t count, capacity;
	struct st_inlined *inlined;
	uint32_t inlined_count, inlined_capacity;
	struct st_id_map by_place, by_code;
};

bool st_sites_init(struct st_sites *sites);
void st_sites_fini(struct st_sites *sites);
/* Index of the site of a module at an offset; made when new (*is_new). 0: no memory. */
uint32_t st_sites_get(struct st_sites *sites, uint32_t module, uint64_t offset, bool *is_new);
/* The same of a piece of JIT code (an index into st_result_code, or any number of the caller's). */
uint32_t st_sites_get_code(struct st_sites *sites, uint32_t code, uint32_t offset, bool *is_new);
bool st_sites_add_inlined(struct st_sites *sites, const struct st_inlined *inlined);

#endif
