/* SPDX-License-Identifier: Apache-2.0
 *
 * strata -join PID FD FOLDER: how a program that records itself (strata.profile() in Python) starts us. No command for
 * people, so that it stands in no table, help or manual.
 */
#include "cli/join.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "collect/launch/run/collect.h"
#include "collect/launch/family/proc_info.h"
#include "format/analysis.h"

enum { ARGUMENTS = 5, ARGV_MAX = 4096 };

static int number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *end || value <= 0 || value > 0x7fffffff ? 0 : (int)value;
}

/* The program's arguments, which the kernel joins by NUL. */
static int split(char *command, size_t size_bytes, char **argv)
{
	int count = 0;

	for (size_t at = 0; at < size_bytes && count < ARGV_MAX; at += strlen(command + at) + 1)
		argv[count++] = command + at;
	argv[count] = NULL;
	return count;
}

bool st_join_is_asked(int argc, char **argv)
{
	return argc == ARGUMENTS && strcmp(argv[1], "-join") == 0;
}

int st_join_run(char **argv)
{
	static char *program[ARGV_MAX + 1];
	struct st_collect_config config = {.analysis = st_analysis_find("operators"),
					   .quiet = true,
					   .resume_after_s = -1,
					   .duration_s = -1,
					   .no_follow_child = true,
					   .operators = {.on = ST_CHOICE_OFF},
					   .joined_pid = number(argv[2]),
					   .ready_fd = number(argv[3]),
					   .joined_dir = argv[4],
					   .argv = program,
					   .strata_version = ST_VERSION,
					   .collect_command = "strata.profile()"};
	struct st_error err = {0};
	size_t size_bytes = 0;
	char *command;
	int code;

	if (!config.joined_pid || !config.ready_fd || config.joined_dir[0] != '/')
		return ST_EXIT_USAGE;
	command = st_proc_command(config.joined_pid, &size_bytes);
	if (command)
		config.argc = split(command, size_bytes, program);
	code = st_collect_join(&config, &err) ? ST_EXIT_STRATA_FAILED : ST_EXIT_OK;
	/* Whoever waits for a word gets the reason instead. */
	if (code && err.text[0] && write(config.ready_fd, err.text, strlen(err.text)) < 0)
		code = ST_EXIT_STRATA_FAILED;
	free(command);
	return code;
}
