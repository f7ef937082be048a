/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the command, parses its options, runs it. The code a command returns is the exit status, except
 * that output which could not be written makes it a failure.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/join.h"
#include "collect/launch/run/creation.h"
#include "request/options.h"
#include "serve/worker.h"

/* Usage errors, and the one other thing that can go wrong before a command runs: no memory. */
static int fail(unsigned int command, const struct st_error *err)
{
	int code = st_console_fail(err);

	return code == ST_EXIT_FAILED && (command & (ST_IN_COLLECT | ST_IN_BOTTLENECK))
		       ? ST_EXIT_STRATA_FAILED
		       : code;
}

static int run(int argc, char **argv)
{
	struct st_error err = {0};
	struct st_args args = {0};
	unsigned int command = 0;
	int code;

	if (st_args_find_command(argc, argv, &command, &err))
		return fail(command, &err);
	if (st_args_parse(&args, command, argc, argv, &err)) {
		st_args_fini(&args);
		return fail(command, &err);
	}
	st_console_equip(&args);
	if (command != ST_IN_HELP && st_args_has(&args, ST_OPT_HELP))
		code = st_help_print(command);
	else if (command != ST_IN_HELP && st_args_has(&args, ST_OPT_VERSION))
		code = st_cmd_version(&args);
	else
		code = st_command_run(command, &args);
	st_args_fini(&args);
	return code;
}

/* Installed as strata-backend too, which is strata serve. False: no memory. */
static bool take_name(int *argc, char ***argv)
{
	const char *slash = *argc > 0 ? strrchr((*argv)[0], '/') : NULL;
	char **longer;

	if (*argc < 1 || strcmp(slash ? slash + 1 : (*argv)[0], "strata-backend") != 0)
		return true;
	longer = calloc((size_t)*argc + 2, sizeof(*longer));
	if (!longer)
		return false;
	longer[0] = (*argv)[0];
	longer[1] = "serve";
	memcpy(longer + 2, *argv + 1, (size_t)*argc * sizeof(*longer));
	*argv = longer;
	++*argc;
	return true;
}

int main(int argc, char **argv)
{
	int code;

	if (st_join_is_asked(argc, argv))
		return st_join_run(argv);
	if (st_creation_is_asked(argc, argv))
		return st_creation_run(argv);
	if (st_worker_is_asked(argc, argv))
		return st_worker_run(argc, argv);
	st_console_init();
	if (!take_name(&argc, &argv))
		return ST_EXIT_FAILED;
	code = run(argc, argv);
	/* Help, lists and the version go through stdio; a full disk must not look like success. */
	if ((fflush(stdout) || ferror(stdout)) && code == ST_EXIT_OK) {
		if (errno != EPIPE)
			st_console_error("standard output: %s", strerror(errno));
		code = ST_EXIT_FAILED;
	}
	return code;
}
