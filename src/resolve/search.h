/* SPDX-License-Identifier: Apache-2.0
 *
 * Where to search for files: first the folders given now, then those given when the result was
 * collected.
 */
#ifndef ST_RESOLVE_SEARCH_H
#define ST_RESOLVE_SEARCH_H

#include "base/arena.h"
#include "resolve/named.h"

struct st_search {
	struct st_named_options options; /* with both; the rest as given */
	struct st_arena arena;
};

/* given may be NULL. False: no memory; out is to be freed in any case. */
bool st_search_init(struct st_search *out, const struct st_result *result,
		    const struct st_named_options *given);
void st_search_fini(struct st_search *search);

#endif
