/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands and the look-up in it.
 */
#include "request/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "request/options.h"

/* clang-format off */
const struct st_command st_commands[] = {
	{"collect", ST_IN_COLLECT, "collect TYPE [options] [--] program [arguments]",
	 "Run a program and record it.",
	 "TYPE is what to record. 'tasks': everything that the program, or a library such as oneDNN, reports through the ITT API (tasks, frames, counters, markers and so on), and PyTorch operators. 'hotspots': the same plus where the CPU time goes: samples of every thread with call stacks, from Python lines to native code. 'operators': tasks plus every PyTorch operator of an unmodified program, with inputs, memory, nn.Module and what it ran on devices. 'threading': hotspots plus what threads wait for: locks, conditions, the Python GIL, input and output, sleeps. The program keeps its own output, signals and exit status; strata prints its messages to standard error."},
	{"bottleneck", ST_IN_BOTTLENECK, "bottleneck [options] script.py [arguments]",
	 "Run a Python script and show on one page what slows it down.",
	 "Runs the unmodified script once, records its operators, memory and samples, and counts every call of a Python function. When the script ends, the page is printed to standard output: environment, Python functions in the columns of cProfile, operators by self CPU time, memory, steps and findings. The exit status is the script's. The result is kept for all other reports."},
	{"report", ST_IN_REPORT, "report NAME [RESULT] [options]",
	 "Print a report of a result.",
	 "RESULT is a result folder; the default is the newest in the working folder."},
	{"compare", ST_IN_COMPARE, "compare [NAME] RESULT[,RESULT...] RESULT[,RESULT...] [options]",
	 "Show what changed between two results.",
	 "Without NAME: elapsed and CPU time, steps and their parts, operators and functions, each for both sides, with the difference (second minus first: + means that the second takes longer), its 95 % interval, and whether that is more than chance. NAME is a report to show side by side instead: summary, steps, operators, hotspots, top-down, callstacks or tasks. Several runs on a side, as a list or by -r and -against, tell a change from chance. Rows are matched by name and sorted by change."},
	{"export", ST_IN_EXPORT, "export FORMAT [RESULT] -o FILE [options]",
	 "Convert a result to the format of another tool.",
	 "RESULT is a result folder; the default is the newest in the working folder."},
	{"finalize", ST_IN_FINALIZE, "finalize [RESULT] [options]",
	 "Resolve the function names of a result's stacks again.",
	 "Resolves functions, source lines and inlined functions of every stack and stores them in the result for all reports. A collection does this when it ends, unless -finalization-mode says otherwise. RESULT is a result folder; the default is the newest in the working folder."},
	{"query", ST_IN_QUERY, "query [RESULT] \"SQL\" [options]",
	 "Query a result with SQL.",
	 "Runs one SELECT statement (SQLite dialect) on the tables that -schema lists; results are read-only. RESULT is a result folder; the default is the newest in the working folder."},
	{"command", ST_IN_COMMAND, "command VERB [RESULT] [options]",
	 "Control a running collection.",
	 "Sends a command to the strata that is recording RESULT; the default is the newest result in the working folder. The program itself is never terminated. mark takes the text of the marker: strata command mark 'epoch 3' -r RESULT."},
	{"top", ST_IN_TOP, "top -target-pid PID [options]",
	 "Show which functions of a running program use the CPU, live.",
	 "Samples the program from outside 100 times a second, without stopping it: Python functions and native ones, by CPU time, and who holds the GIL. On a terminal the view is renewed every second; keys: o and t sort by own and total time of the last interval, O and T by those since the start, h shows threads, r resets, space halts the view, q ends. Otherwise, or with -count or -duration, plain tables are printed. Functions of the interpreter itself are left out unless -call-stack-mode is all."},
	{"dump", ST_IN_DUMP, "dump -target-pid PID [options]",
	 "Print what every thread of a running program does now.",
	 "Prints the stack of each thread, innermost frame first, Python and native frames in one; its name, whether it runs or waits (and in which system call), and who holds the GIL. Each thread is held for about 0.1 ms; threads in system calls that would notice that are read without. Functions of the interpreter itself are left out unless -call-stack-mode is all."},
	{"doctor", ST_IN_DOCTOR, "doctor [-format text|json]",
	 "Show what can be measured on this machine.",
	 "Prints one line for each capability and, for each one missing, the one change that enables it. Nothing on the machine is changed; calls that a security filter might punish are tried in a child process."},
	{"import", ST_IN_IMPORT, "import FILE [-r DIR]",
	 "Create a result from another profiler's recording.",
	 "FILE is a perf.data file (perf record, with frame pointers or --call-graph dwarf), the output of perf script, or a trace of torch.profiler (*.pt.trace.json, also as .gz); '-' is standard input. All reports work on the result."},
	{"serve", ST_IN_SERVE, "serve [options]",
	 "Show results in a browser.",
	 "Serves the results of a folder as a web page, which is part of strata and works offline. Prints the address to open, with a token that opens it once; only this machine can connect unless -allow-remote-access is given. Results appear as they are collected, new collections can be started from the page, and PyTorch traces (*.pt.trace.json) are listed and opened like results. Ctrl-C ends it. Also installed as strata-backend."},
	{"help", ST_IN_HELP, "help [COMMAND]", "Explain a command and its options.", NULL},
	{"version", ST_IN_VERSION, "version", "Print the version.", NULL},
	{NULL, 0, NULL, NULL, NULL},
};
/* clang-format on */

static const char *const later_commands[] = {
	"archive",
	"collect-with",
};

enum { LATER_COUNT = sizeof(later_commands) / sizeof(later_commands[0]) };

const struct st_command *st_command_of(unsigned int bit)
{
	for (const struct st_command *command = st_commands; command->name; command++)
		if (command->bit & bit)
			return command;
	return NULL;
}

const char *st_command_name(unsigned int bit)
{
	const struct st_command *command = st_command_of(bit);

	return bit == ST_IN_ALL || !command ? "" : command->name;
}

bool st_command_is_later(const char *word)
{
	for (size_t i = 0; i < LATER_COUNT; i++)
		if (strcmp(word, later_commands[i]) == 0)
			return true;
	return false;
}

static bool is_executable(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

bool st_command_on_path(const char *word, char *path, size_t capacity)
{
	const char *at = getenv("PATH");

	while (at && *at) {
		size_t length = strcspn(at, ":");
		int size = snprintf(path, capacity, "%.*s/%s", (int)length, at, word);

		if (length && size > 0 && (size_t)size < capacity && is_executable(path))
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

bool st_command_is_program(const char *word)
{
	char path[4096];

	return strchr(word, '/') ? is_executable(word)
				 : st_command_on_path(word, path, sizeof(path));
}

enum st_status st_command_parse(const char *word, unsigned int *bit, struct st_error *err)
{
	const struct st_command *command = st_row_find(st_commands, sizeof(*st_commands), word);
	char near[160];

	*bit = command ? command->bit : 0;
	if (command)
		return ST_OK;
	if (st_command_is_later(word))
		return st_error_set(err, ST_EUSAGE, 0, "'%s' is not available in this version",
				    word);
	st_row_near(st_commands, sizeof(*st_commands), word, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown command '%.80s'%s (strata help)", word,
			    near);
}
