/* SPDX-License-Identifier: Apache-2.0
 *
 * Sites in code that a JIT compiler reported (st_result_code): methods, their lines, methods inlined
 * in them.
 */
#ifndef ST_RESOLVE_JIT_SITES_H
#define ST_RESOLVE_JIT_SITES_H

#include "resolve/places.h"
#include "resolve/sites.h"

struct st_jit_work {
	const struct st_result *result;
	struct st_names *names;
	struct st_sites *sites;
	struct st_id_map functions; /* (name, module) -> function; freed by the caller */
};

/* The site of an address in piece number code, with all its names. 0: no memory. */
uint32_t st_jit_site(struct st_jit_work *work, const struct st_code_places *places, uint32_t code,
		     uint64_t address);
/* The function of a name in dynamic code; equal names are one function. */
uint32_t st_jit_function(struct st_jit_work *work, struct st_text module, struct st_text name,
			 uint32_t source);

#endif
