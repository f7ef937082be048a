// SPDX-License-Identifier: Apache-2.0
//
// Opening the named stacks of a result (resolve/named.h): from what is kept in its folder, else from what
// this machine has.
#include "resolve/named.h"

#include "resolve/resolved.h"
#include "resolve/search.h"
#include "store/samples.h"

static void say(const struct st_named_options *options, double fraction, const char *what)
{
	if (options && options->progress)
		options->progress(options->progress_arg, fraction, what);
}

static bool build(struct st_resolved *out, const struct st_result *result,
		  const struct st_named_options *options)
{
	struct st_search search;
	bool ok = st_search_init(&search, result, options) &&
		  st_resolved_build(out, result, &search.options);

	st_search_fini(&search);
	return ok;
}

enum st_status st_named_open(struct st_named **out, const struct st_result *result,
			     const struct st_named_options *options, struct st_error *err)
{
	struct st_resolved resolved = {0};
	bool ok = (!options || !options->redo) && st_resolved_load(&resolved, result, options);

	*out = NULL;
	if (!ok) {
		st_resolved_fini(&resolved);
		ok = build(&resolved, result, options);
		if (ok && options && options->keep)
			st_resolved_save(&resolved, result, options);
	}
	if (ok) {
		say(options, 0.9, "frames");
		st_resolved_frames(&resolved, st_result_stack_nodes(result),
				   options && options->inlines);
		say(options, 1, "done");
	}
	if (!ok || resolved.names->failed) {
		st_resolved_fini(&resolved);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for function names");
	}
	*out = &resolved.names->named;
	resolved.names = NULL;
	st_resolved_fini(&resolved);
	return ST_OK;
}

void st_named_close(struct st_named *named)
{
	st_names_destroy((struct st_names *)named);
}
