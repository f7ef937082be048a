/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a program under collection, for the commands that do it.
 */
#ifndef ST_CLI_COLLECT_RUN_H
#define ST_CLI_COLLECT_RUN_H

struct st_args;
struct st_collect_config;

/* Called with the folder of the result when the program has ended. */
typedef void (*st_collect_show)(const char *path, const struct st_args *args);

/* Runs the program of config and ends as it ended; an exit code when it could not be started. The options in
 * config, if any, are kept in the result before those of the command line. show may be NULL. */
int st_collect_and_show(const struct st_args *args, struct st_collect_config *config,
			st_collect_show show);

#endif
