/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands: name, bit in the option table, what help says, and what to call.
 */
#ifndef ST_REQUEST_COMMAND_H
#define ST_REQUEST_COMMAND_H

#include <stdbool.h>

#include "base/error.h"

struct st_args;

/* Exit codes of strata itself; the program's own status comes through unchanged. */
enum st_exit {
	ST_EXIT_OK = 0,
	ST_EXIT_FAILED = 1,
	ST_EXIT_USAGE = 2,
	ST_EXIT_STRATA_FAILED = 125, /* collect: before the program has started */
	ST_EXIT_INTERRUPTED = 130    /* query: by Ctrl-C */
};

struct st_command {
	const char *name;
	unsigned int bit;
	const char *usage; /* after "strata " */
	const char *summary;
	const char *description; /* a paragraph for help, or NULL */
};
extern const struct st_command st_commands[]; /* ends with a NULL name */

const struct st_command *st_command_of(unsigned int bit);
const char *st_command_name(unsigned int bit);
/* ST_EUSAGE, with near names, when word is no command of this version. */
enum st_status st_command_parse(const char *word, unsigned int *bit, struct st_error *err);
/* A command that a later version has. */
bool st_command_is_later(const char *word);

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
