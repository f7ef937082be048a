/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the result a report or an export is about. What is inside the folder is the store's business.
 */
#include "request/locate.h"

#include <stdlib.h>
#include <string.h>
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

/* What can be done about it: the newest result in the folder, or in the one that it would be in, or how to record one. */
static void add_way_out(const char *path, struct st_error *err)
{
	char *dir = strdup(path), *newest = NULL;
	struct st_error ignored = {0}, said = *err;
	bool is_there = st_locate_is_folder(path);
	char *slash = dir ? strrchr(dir, '/') : NULL;

	if (dir && !is_there && slash && slash != dir)
		*slash = '\0';
	if (dir && !st_result_newest(is_there || slash ? dir : ".", &newest, &ignored))
		st_error_set(err, said.status, 0, "%s; the newest one %s is %s", said.text,
			     is_there ? "in it" : "there", newest);
	else if (dir && !is_there)
		st_error_set(err, said.status, 0,
			     "%s; to record one: strata -collect hotspots -r %s -- program",
			     said.text, path);
	free(newest);
	free(dir);
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
	else if (path && status == ST_ENOTFOUND)
		add_way_out(path, err);
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
