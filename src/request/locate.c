/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the result a report or an export is about. What is inside the folder is the store's business.
 */
#include "request/locate.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "request/console.h"
#include "request/options.h"
#include "resolve/functions.h"
#include "store/result.h"
#include "store/writer.h"

bool st_locate_is_folder(const char *word)
{
	struct stat about;

	return stat(word, &about) == 0 && S_ISDIR(about.st_mode);
}

enum st_status st_locate_open_path(struct st_result **out, const char *path, bool quiet,
				   struct st_error *err)
{
	struct st_progress progress;
	struct st_result_options options = {
		.progress = st_progress_show,
		.progress_arg = &progress,
	};
	enum st_status status;

	/* A limit on file sizes shall be an error of the write, not the end of strata. No program is started
	 * after this, so nobody inherits it. */
	signal(SIGXFSZ, SIG_IGN);
	st_progress_init(&progress, quiet);
	status = st_result_open(out, path, &options, err);
	if (status == ST_OK)
		st_resolve_functions(*out);
	st_progress_fini(&progress);
	return status;
}

enum st_status st_locate_open(struct st_result **out, const struct st_args *args, const char *word,
			      struct st_error *err)
{
	const char *given = st_args_value(args, ST_OPT_RESULT_DIR);
	bool quiet = st_args_flag(args, ST_OPT_QUIET, false);
	char *newest = NULL;
	enum st_status status;

	*out = NULL;
	if (given && word)
		return st_error_set(err, ST_EUSAGE, 0,
				    "two results given: '%.80s' and '%.80s'; expected one", given,
				    word);
	if (!given)
		given = word;
	if (given)
		return st_locate_open_path(out, given, quiet, err);
	status = st_result_newest(".", &newest, err);
	if (status == ST_OK)
		status = st_locate_open_path(out, newest, quiet, err);
	free(newest);
	return status;
}
