/* SPDX-License-Identifier: Apache-2.0
 *
 * strata finalize: looks the names of all stacks up again, for instance on another machine, or when the
 * debug files have been found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/finalize.h"
#include "request/locate.h"
#include "request/options.h"
#include "request/request.h"
#include "resolve/named.h"
#include "store/result.h"
#include "store/samples.h"

enum st_status st_finalize(const struct st_result *result, const struct st_args *args, bool redo,
			   struct st_finalized *out, struct st_error *err)
{
	struct st_named_options options = {.redo = redo};
	const char **search = NULL;
	struct st_named *named = NULL;
	enum st_status status;

	memset(out, 0, sizeof(*out));
	if (!st_result_samples(result)->count)
		return ST_OK;
	status = st_naming_args(&options, &search, args, err);
	st_progress_begin(st_args_flag(args, ST_OPT_QUIET, false));
	if (!status)
		status = st_named_open(&named, result, &options, err);
	st_progress_end();
	if (!status) {
		*out = (struct st_finalized){.stacks = named->node_count,
					     .functions = named->function_count,
					     .modules = named->module_count,
					     .unknown_frames = named->unknown_frames,
					     .no_symbol_frames = named->no_symbol_frames,
					     .modules_missing = named->modules_missing,
					     .modules_changed = named->modules_changed};
		st_named_close(named);
	}
	free(search);
	return status;
}

static void tell(const struct st_finalized *done)
{
	/* Entry 0 of both stands for none. */
	st_console_say("resolved %u functions in %u modules for %u stack nodes; %llu frames have "
		       "no known module, %llu have no symbol",
		       done->functions ? done->functions - 1 : 0,
		       done->modules ? done->modules - 1 : 0, done->stacks,
		       (unsigned long long)done->unknown_frames,
		       (unsigned long long)done->no_symbol_frames);
	if (done->modules_missing || done->modules_changed)
		st_console_say("%llu modules were not found and %llu differ from the files that "
			       "ran; use -search-dir to add folders",
			       (unsigned long long)done->modules_missing,
			       (unsigned long long)done->modules_changed);
}

/* Recipes of collect carry such options word for word; who finalizes, means them. */
static void warn_of_missing(const struct st_args *args)
{
	for (size_t i = 0; i < args->given_count; i++) {
		const struct st_given *given = &args->given[i];

		if ((given->id == ST_OPT_SEARCH_DIR || given->id == ST_OPT_SOURCE_SEARCH_DIR) &&
		    access(given->value, F_OK) != 0)
			st_console_say("warning: -%s %.300s: no such file or folder",
				       given->id == ST_OPT_SEARCH_DIR ? "search-dir"
								      : "source-search-dir",
				       given->value);
	}
}

int st_cmd_finalize(const struct st_args *args)
{
	struct st_error err = {0};
	struct st_result *result = NULL;
	bool quiet = st_args_flag(args, ST_OPT_QUIET, false);
	struct st_finalized done;
	const char *path;
	int code = ST_EXIT_OK;

	if (args->word_count > 1) {
		st_console_error("unexpected argument '%.80s': only one result can be given",
				 args->words[1]);
		return ST_EXIT_USAGE;
	}
	if (st_locate_name(&path, args, args->word_count ? args->words[0] : NULL, &err) ||
	    st_ask_open_path(&result, path, quiet, &err))
		return st_console_fail(&err);
	warn_of_missing(args);
	st_console_catch_ends(NULL);
	if (st_finalize(result, args, true, &done, &err))
		code = st_console_fail(&err);
	else if (!quiet && done.stacks)
		tell(&done);
	else if (!done.stacks && !quiet)
		st_console_say("the result has no samples: nothing to resolve");
	st_result_close(result);
	return code;
}
