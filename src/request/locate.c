/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the result a report or an export is about. What is inside the folder is the store's business.
 */
#include "request/locate.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "request/options.h"
#include "resolve/functions.h"
#include "store/result.h"
#include "store/writer.h"

bool st_locate_is_folder(const char *word)
{
	struct stat about;

	return stat(word, &about) == 0 && S_ISDIR(about.st_mode);
}

enum st_status st_locate_open_path(struct st_result **out, const char *path,
				   st_progress_fn progress, struct st_error *err)
{
	const struct st_result_options options = {.progress = progress};
	char *newest = NULL;
	enum st_status status = ST_OK;

	*out = NULL;
	if (!path)
		status = st_result_newest(".", &newest, err);
	if (!status)
		status = st_result_open(out, path ? path : newest, &options, err);
	if (!status)
		st_resolve_functions(*out);
	free(newest);
	return status;
}

enum st_status st_locate_name(const char **out, const struct st_args *args, const char *word,
			      struct st_error *err)
{
	const char *given = st_args_value(args, ST_OPT_RESULT_DIR);

	*out = given ? given : word;
	if (given && word)
		return st_error_set(err, ST_EUSAGE, 0,
				    "two results given: '%.80s' and '%.80s'; expected one", given,
				    word);
	return ST_OK;
}
