/* SPDX-License-Identifier: Apache-2.0
 *
 * The one table of options and the parser driven by it. The grammar is VTune's: one or two dashes,
 * "-name value" or "-name=value", long names shortened word by word ("-res-dir", "-r-d") while that is
 * unambiguous, one letter for the common ones. The program to run begins at the first argument that is
 * not an option, or after "--"; everything from there on is its own.
 */
#ifndef ST_REQUEST_OPTIONS_H
#define ST_REQUEST_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum st_command_bit {
	ST_IN_COLLECT = 1,
	ST_IN_REPORT = 2,
	ST_IN_EXPORT = 4,
	ST_IN_HELP = 8,
	ST_IN_VERSION = 16,
	ST_IN_QUERY = 32,
	ST_IN_DOCTOR = 64,
	ST_IN_COMMAND = 128,
	ST_IN_FINALIZE = 256,
	ST_IN_IMPORT = 512,
	ST_IN_COMPARE = 1024,
	ST_IN_BOTTLENECK = 2048,
	ST_IN_TOP = 4096,
	ST_IN_DUMP = 8192,
	ST_IN_SERVE = 16384,
	ST_IN_ALL = 0xffff,
};

enum st_option_id {
	/* Commands in VTune's spelling; the value, if any, is the command's first word. */
	ST_OPT_COLLECT,
	ST_OPT_REPORT,
	ST_OPT_EXPORT,
	ST_OPT_QUERY,
	ST_OPT_COMMAND,
	ST_OPT_FINALIZE,
	ST_OPT_HELP,
	ST_OPT_VERSION,
	/* Of several commands. */
	ST_OPT_RESULT_DIR,
	ST_OPT_QUIET,
	ST_OPT_VERBOSE,
	ST_OPT_SEARCH_DIR,
	ST_OPT_SOURCE_SEARCH_DIR,
	/* Of collect. */
	ST_OPT_KNOB,
	ST_OPT_DURATION,
	ST_OPT_COUNT,
	ST_OPT_INTERVAL,
	ST_OPT_TARGET_PID,
	ST_OPT_TARGET_PROCESS,
	ST_OPT_START_PAUSED,
	ST_OPT_RESUME_AFTER,
	ST_OPT_DATA_LIMIT,
	ST_OPT_RING_BUFFER,
	ST_OPT_APP_WORKING_DIR,
	ST_OPT_SUMMARY,
	ST_OPT_FOLLOW_CHILD,
	ST_OPT_RETURN_APP_EXITCODE,
	ST_OPT_CALL_STACK_MODE,
	ST_OPT_INLINE_MODE,
	ST_OPT_LOOP_MODE,
	ST_OPT_MRTE_MODE,
	ST_OPT_FINALIZATION_MODE,
	ST_OPT_TARGET_DURATION_TYPE,
	/* Of bottleneck. */
	ST_OPT_INTERPRETER,
	/* Of report. */
	ST_OPT_FORMAT,
	ST_OPT_GROUP_BY,
	ST_OPT_COLUMN,
	ST_OPT_SOURCE_OBJECT,
	ST_OPT_FILTER,
	ST_OPT_TIME_FILTER,
	ST_OPT_SORT_DESC,
	ST_OPT_SORT_ASC,
	ST_OPT_LIMIT,
	ST_OPT_REPORT_OUTPUT,
	ST_OPT_REPORT_WIDTH,
	ST_OPT_REPORT_KNOB,
	ST_OPT_SHOW_AS,
	ST_OPT_THRESHOLD_PERCENT,
	ST_OPT_CSV_DELIMITER,
	/* Of compare. */
	ST_OPT_AGAINST,
	ST_OPT_FAIL_ABOVE,
	/* Of query. */
	ST_OPT_SCHEMA,
	ST_OPT_MEMORY_LIMIT,
	/* Of export. */
	ST_OPT_OUTPUT,
	ST_OPT_PYTHON_FRAMES,
	ST_OPT_REVERSE,
	ST_OPT_PARTS,
	ST_OPT_METADATA,
	ST_OPT_METRIC,
	ST_OPT_DEVICE,
	/* Of serve. */
	ST_OPT_DATA_DIRECTORY,
	ST_OPT_WEB_PORT,
	ST_OPT_ALLOW_REMOTE_ACCESS,
	ST_OPT_ALLOW_REMOTE_COLLECT,
	ST_OPT_OPEN,
	ST_OPT_BASE_URL,
	ST_OPT_RESET_PASSPHRASE,
	ST_OPT_CERTIFICATE,
	ST_OPT_KEY,
	ST_OPT_WORKERS,
	ST_OPT_TOKEN_LIFETIME,
	ST_OPT_LOGDIR,
	ST_OPT_PORT,
	ST_OPT_BIND_ALL,
	/* Of help. */
	ST_OPT_MAN,
	ST_OPT_COMPLETION,
	ST_OPTIONS
};

enum st_option_flag {
	ST_OPT_IS_COMMAND = 1,
	ST_OPT_NEGATABLE = 2, /* a flag that also exists as -no-name */
	ST_OPT_REPEATABLE = 4,
};

struct st_option {
	const char *name;
	char letter;	      /* one-letter form, or 0 */
	const char *argument; /* what the value is, for help; NULL for a flag */
	unsigned int commands;
	unsigned int flags;
	const char *default_text; /* NULL when there is nothing to say */
	const char *help;
};

const struct st_option *st_option_at(enum st_option_id id);

typedef void (*st_progress_fn)(void *arg, double fraction, const char *what);

/* One option as given. */
struct st_given {
	enum st_option_id id;
	const char *value; /* NULL for a flag */
	bool on;	   /* a flag's truth: false for -no-name and -name=false */
};

struct st_args {
	unsigned int command; /* ST_IN_* */
	int argc;	      /* all of the command line, as it came */
	char **argv;
	struct st_given *given;
	size_t given_count;
	char **words; /* plain words that belong to the command: its name, a result */
	size_t word_count;
	/* Set by who has a terminal: how far work is goes there, and what it can show. Else all zero. */
	st_progress_fn progress;
	unsigned int screen_width; /* columns of standard output; 0: no terminal */
	bool has_colour;
	const char *
		program; /* how strata was called, where its name alone would not find it; or NULL */
	char **target; /* the program and its arguments, NULL-terminated; NULL when there is none */
	int target_count;
};

/* Finds which command argv asks for ("collect …" or "-collect …", also after other options). The text
 * of err is complete and names near commands. */
enum st_status st_args_find_command(int argc, char **argv, unsigned int *command,
				    struct st_error *err);

/* Parses everything after the program's name. On failure err holds one sentence for the user. */
enum st_status st_args_parse(struct st_args *args, unsigned int command, int argc, char **argv,
			     struct st_error *err);
void st_args_fini(struct st_args *args);

/* The value given last, or NULL. */
const char *st_args_value(const struct st_args *args, enum st_option_id id);
/* The next value of an option that may be given more than once, from *at (0 at first) on; NULL: no more. */
const char *st_args_next(const struct st_args *args, enum st_option_id id, size_t *at);
/* The place among words (which end with NULL) of what was given; *out stays when nothing was. */
enum st_status st_args_word(const struct st_args *args, enum st_option_id id,
			    const char *const *words, size_t *out, struct st_error *err);
bool st_args_flag(const struct st_args *args, enum st_option_id id, bool otherwise);
bool st_args_has(const struct st_args *args, enum st_option_id id);

/* "; did you mean 'a' or 'b'?" into out, or "" when nothing is near. */
void st_near_text(const char *typed, const char *const *names, size_t count, char *out,
		  size_t out_size);
/* Tables whose rows begin with a name and end with one that has none: the row of that name or NULL, and near names. */
const void *st_row_find(const void *rows, size_t row_bytes, const char *name);
void st_row_near(const void *rows, size_t row_bytes, const char *typed, char *out, size_t out_size);

#endif
