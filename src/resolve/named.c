// SPDX-License-Identifier: Apache-2.0
//
// Opening the named stacks of a result (resolve/named.h).
#include "resolve/named.h"

#include "resolve/named_build.h"

enum st_status st_named_open(struct st_named **out, const struct st_result *result,
			     const struct st_named_options *options, struct st_error *err)
{
	struct st_names *names = st_names_build(result, options);

	*out = names ? &names->named : NULL;
	if (!names)
		return st_error_set(err, ST_ENOMEM, 0, "no memory for the names of the stacks");
	return ST_OK;
}

void st_named_close(struct st_named *named)
{
	st_names_destroy((struct st_names *)named);
}
