/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds and opens the result of a command.
 */
#ifndef ST_REQUEST_LOCATE_H
#define ST_REQUEST_LOCATE_H

#include <stdbool.h>

#include "base/error.h"
#include "request/options.h"

struct st_result;

/* Opens a result; path NULL: the newest of the working folder. */
enum st_status st_locate_open_path(struct st_result **out, const char *path,
				   st_progress_fn progress, struct st_error *err);
/* The name that -r gives, or word (may be NULL); NULL: neither. Both are refused. */
enum st_status st_locate_name(const char **out, const struct st_args *args, const char *word,
			      struct st_error *err);
bool st_locate_is_folder(const char *word);

#endif
