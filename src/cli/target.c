/* SPDX-License-Identifier: Apache-2.0
 *
 * By number, or by the last name of the program: exactly one process must have it.
 */
#include "cli/target.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "live/live_names.h"
#include "request/options.h"
#include "request/values.h"
#include "collect/launch/family/proc_info.h"
#include "collect/launch/run/collect.h"
#include "format/analysis.h"
#include "resolve/short_name.h"

enum { COMMAND_BYTES = 64 << 10, ARGUMENTS_MAX = 1024, PIDS_SHOWN = 5 };

/* /proc/PID/cmdline as an argv. */
static enum st_status read_command(int pid, struct st_target *target, struct st_error *err)
{
	static char bytes[COMMAND_BYTES];
	static char *arguments[ARGUMENTS_MAX + 1];
	ssize_t size = st_proc_read(pid, "cmdline", bytes, sizeof(bytes));
	int count = 0;

	if (size < 0)
		return st_error_set(err, ST_EUSAGE, 0, "-target-pid: no process %d", pid);
	for (size_t at = 0; at < (size_t)size && count < ARGUMENTS_MAX;
	     at += strlen(bytes + at) + 1)
		arguments[count++] = bytes + at;
	if (!count)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-target-pid: process %d is a kernel thread or has ended", pid);
	arguments[count] = NULL;
	target->pid = pid;
	target->argv = arguments;
	target->argc = count;
	return ST_OK;
}

static bool has_name(int pid, const char *name)
{
	char link[64], path[PATH_MAX];
	ssize_t length;
	const char *last;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return false;
	path[length] = '\0';
	last = strrchr(path, '/');
	if (strcmp(last ? last + 1 : path, name) == 0)
		return true;
	/* The short name, which a program may give itself. */
	if (st_proc_read(pid, "comm", path, sizeof(path)) <= 0)
		return false;
	path[strcspn(path, "\n")] = '\0';
	return strcmp(path, name) == 0;
}

static enum st_status find_process(const char *name, int *pid, struct st_error *err)
{
	char list[128] = "";
	size_t used = 0;
	int found = 0;
	struct dirent *entry;
	DIR *folder = opendir("/proc");

	while (folder && (entry = readdir(folder)) != NULL) {
		int one = (int)strtol(entry->d_name, NULL, 10);

		if (one <= 0 || one == (int)getpid() || !has_name(one, name))
			continue;
		*pid = one;
		if (found++ < PIDS_SHOWN && used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d",
						 used ? ", " : "", one);
	}
	if (folder)
		closedir(folder);
	if (found == 1)
		return ST_OK;
	if (!found)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-target-process: no running process is named '%.60s'", name);
	return st_error_set(err, ST_EUSAGE, 0,
			    "-target-process: %d processes are named '%.60s' (%s%s); choose one "
			    "with -target-pid",
			    found, name, list, found > PIDS_SHOWN ? ", …" : "");
}

enum st_status st_target_find(const struct st_args *args, struct st_target *target,
			      struct st_error *err)
{
	const char *number = st_args_value(args, ST_OPT_TARGET_PID);
	const char *name = st_args_value(args, ST_OPT_TARGET_PROCESS);
	enum st_status status = ST_OK;
	uint64_t value = 0;
	int pid = 0;

	if (number) {
		status = st_value_count("target-pid", number, 1, INT_MAX, &value, err);
		pid = (int)value;
	} else {
		status = find_process(name, &pid, err);
	}
	return status ? status : read_command(pid, target, err);
}

enum st_status st_target_read(const struct st_args *args, struct st_collect_config *config,
			      struct st_error *err)
{
	bool number = st_args_has(args, ST_OPT_TARGET_PID);
	bool name = st_args_has(args, ST_OPT_TARGET_PROCESS);
	struct st_target target;
	enum st_status status;

	if (!number && !name)
		return ST_OK;
	if (args->target || (number && name))
		return st_error_set(
			err, ST_EUSAGE, 0,
			"-target-pid, -target-process and a program to run cannot be combined");
	if (!(config->analysis->records & ST_RECORDS_SAMPLES) ||
	    config->analysis->records & ST_RECORDS_WAITS)
		return st_error_set(err, ST_EUSAGE, 0,
				    "a running program can only be sampled: strata -collect "
				    "hotspots -target-pid PID");
	status = st_target_find(args, &target, err);
	if (status)
		return status;
	config->argv = target.argv;
	config->argc = target.argc;
	config->target_pid = target.pid;
	return ST_OK;
}

enum st_status st_target_live(const struct st_args *args, struct st_target *target,
			      struct st_error *err)
{
	const char *mode = st_args_value(args, ST_OPT_CALL_STACK_MODE);

	if (args->word_count)
		return st_error_set(err, ST_EUSAGE, 0,
				    "unexpected argument '%.80s': name the program with "
				    "-target-pid PID or -target-process NAME",
				    args->words[0]);
	if (st_args_has(args, ST_OPT_TARGET_PID) == st_args_has(args, ST_OPT_TARGET_PROCESS))
		return st_error_set(
			err, ST_EUSAGE, 0,
			"which program? One of -target-pid PID and -target-process NAME "
			"is required");
	target->all = mode && strcmp(mode, "all") == 0;
	if (mode && !target->all && strcmp(mode, "user-only") != 0 &&
	    strcmp(mode, "user-plus-one") != 0)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-call-stack-mode: expected user-only, user-plus-one or all, "
				    "not '%.60s'",
				    mode);
	return st_target_find(args, target, err);
}

/* Up to 3.10 only the name of the file tells, which has no patch level. */
void st_target_python(uint32_t version, char *out, size_t out_bytes)
{
	if (!version)
		snprintf(out, out_bytes, "%s", "");
	else if (!(version & 0xffff))
		snprintf(out, out_bytes, "%u.%u", version >> 24, version >> 16 & 255);
	else
		snprintf(out, out_bytes, "%u.%u.%u", version >> 24, version >> 16 & 255,
			 version >> 8 & 255);
}

void st_target_function(const struct st_live_frame *frame, struct st_buf *out)
{
	if (frame->python)
		st_buf_append(out, frame->function.bytes, frame->function.size_bytes);
	else
		st_short_name(frame->function, out);
}
