/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the named stacks of a result from what this machine has; for named.c.
 */
#ifndef ST_RESOLVE_NAMED_BUILD_H
#define ST_RESOLVE_NAMED_BUILD_H

#include "resolve/names.h"

/* NULL: no memory. options may be NULL. */
struct st_names *st_names_build(const struct st_result *result,
				const struct st_named_options *options);

#endif
