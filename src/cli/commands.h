/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands of request/command.h do, and how strata ends.
 */
#ifndef ST_CLI_COMMANDS_H
#define ST_CLI_COMMANDS_H

struct st_args;

/* Exit codes of strata itself; the program's own status comes through unchanged. */
enum st_exit {
	ST_EXIT_OK = 0,
	ST_EXIT_FAILED = 1,
	ST_EXIT_USAGE = 2,
	ST_EXIT_ABOVE = 3,	     /* compare: slower than -fail-above allows */
	ST_EXIT_STRATA_FAILED = 125, /* collect: before the program has started */
	ST_EXIT_INTERRUPTED = 130    /* query: by Ctrl-C */
};

/* Runs a command and gives its exit code. */
int st_command_run(unsigned int bit, const struct st_args *args);
int st_cmd_collect(const struct st_args *args);
int st_cmd_bottleneck(const struct st_args *args);
int st_cmd_report(const struct st_args *args);
int st_cmd_export(const struct st_args *args);
int st_cmd_finalize(const struct st_args *args);
int st_cmd_query(const struct st_args *args);
int st_cmd_command(const struct st_args *args);
int st_cmd_doctor(const struct st_args *args);
int st_cmd_import(const struct st_args *args);
int st_cmd_top(const struct st_args *args);
int st_cmd_dump(const struct st_args *args);
int st_cmd_serve(const struct st_args *args);
int st_cmd_help(const struct st_args *args);
int st_cmd_version(const struct st_args *args);

/* What a running collection can be asked to do. */
struct st_verb {
	const char *name;
	const char *help;
};
extern const struct st_verb st_verbs[]; /* ends with a NULL name */

/* Help for one command on standard output; 0 for the overview. */
int st_help_print(unsigned int command);

#endif
