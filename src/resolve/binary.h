/* SPDX-License-Identifier: Apache-2.0
 *
 * All sites of one binary at once: finds the file, makes sure that it is the one that ran, and names its
 * functions, lines and inlined functions.
 */
#ifndef ST_RESOLVE_BINARY_H
#define ST_RESOLVE_BINARY_H

#include "resolve/sites.h"

struct st_binary_work {
	struct st_names *names;
	struct st_sites *sites;
	const struct st_named_options *options; /* may be NULL */
	int64_t not_after_s; /* end of the recording: files without a build id must not be newer; 0: any */
	bool is_here;	     /* recorded on this machine since it was started */
};

/* list: indices of the sites of one module, in any order (sorted here). */
void st_binary_resolve(const struct st_binary_work *work, uint32_t module, uint32_t *list,
		       uint32_t count);
/* Of the machine rather than of the user: by the name of the module. */
bool st_module_is_system(struct st_text name);

#endif
