/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the result of a request and writes the answer, with progress messages on a terminal.
 */
#ifndef ST_CLI_ASK_H
#define ST_CLI_ASK_H

#include <stdbool.h>

#include "base/error.h"

struct st_args;
struct st_report;
struct st_request;
struct st_result;

/* Opens with a progress line; path NULL: the newest of the working folder. */
enum st_status st_ask_open_path(struct st_result **out, const char *path, bool quiet,
				struct st_error *err);
/* The one that -r or a word names, or of a comparison both. Close both also after a failure. */
enum st_status st_ask_open(struct st_result **out, const struct st_args *args,
			   const struct st_request *request, struct st_error *err);
/* Writes rows where the request wants them; what has no place beside them is said on the console. */
enum st_status st_ask_write(const struct st_request *request, const struct st_report *report,
			    const struct st_result *result, struct st_error *err);

#endif
