/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of commands and the look-up in it.
 */
#include "request/command.h"

#include <string.h>

#include "request/options.h"

/* clang-format off */
const struct st_command st_commands[] = {
	{"collect", ST_IN_COLLECT, "collect TYPE [options] [--] program [arguments]",
	 "Run a program and record it.",
	 "TYPE is what to record. 'tasks': everything that the program, or a library in it "
	 "such as oneDNN, tells through the ITT API: tasks, frames, counters, markers and "
	 "so on, and PyTorch's operators. 'hotspots': the same, and where the CPU time goes: samples of every "
	 "thread with their stacks, from Python lines to native code. 'operators': the tasks, and every operator of PyTorch, from an unchanged "
	 "program, with inputs, memory and nn.Module. The program's output, signals and exit status are "
	 "its own; everything strata has to say goes to standard error."},
	{"bottleneck", ST_IN_BOTTLENECK, "bottleneck [options] script.py [arguments]",
	 "Run a Python script and say on one page what slows it down.",
	 "The script is run once, unchanged, with its operators, memory and samples recorded and every call of a Python "
	 "function counted. When it has ended, standard output gets the page: environment, Python functions in cProfile's "
	 "columns, operators by self CPU time, memory, steps and findings. The exit status is the script's. The result "
	 "stays: every report opens it."},
	{"report", ST_IN_REPORT, "report NAME [RESULT] [options]",
	 "Print a report of a result.",
	 "RESULT is a result folder; without one the newest in the working folder is taken."},
	{"compare", ST_IN_COMPARE, "compare [NAME] RESULT RESULT [options]",
	 "Print a report of two results side by side.",
	 "NAME is a report: hotspots (the default where there are samples), summary, top-down, callstacks or tasks. Rows "
	 "match by name. Each figure stands there for the first result, for the second, and as first less second: what "
	 "became faster is positive."},
	{"export", ST_IN_EXPORT, "export FORMAT [RESULT] -o FILE [options]",
	 "Write a result in the format of another tool.",
	 "RESULT is a result folder; without one the newest in the working folder is taken."},
	{"finalize", ST_IN_FINALIZE, "finalize [RESULT] [options]",
	 "Look the names of a result's stacks up again.",
	 "Functions, lines and inlined functions of every stack, kept in the result for all reports. Collecting does "
	 "it at the end, unless -finalization-mode says otherwise. RESULT is a result folder; without one the newest "
	 "in the working folder is taken."},
	{"query", ST_IN_QUERY, "query [RESULT] \"SQL\" [options]",
	 "Ask a result in SQL.",
	 "One SELECT of SQLite's dialect over the tables that -schema lists; a result can only be read. "
	 "RESULT is a result folder; without one the newest in the working folder is taken."},
	{"command", ST_IN_COMMAND, "command VERB [RESULT] [options]",
	 "Steer a running collection.",
	 "Speaks to the strata that writes RESULT; without one, the newest in the working folder. The program "
	 "itself is never ended. mark takes the text of the instant: strata command mark 'epoch 3' -r RESULT."},
	{"doctor", ST_IN_DOCTOR, "doctor [-format text|json]",
	 "Say what can be measured on this machine.",
	 "One line for each thing that matters, and for each thing missing the one change that unlocks it. "
	 "Nothing is changed; what a security filter might punish is tried in a child process."},
	{"import", ST_IN_IMPORT, "import FILE [-r DIR]",
	 "Make a result of what another profiler recorded.",
	 "FILE is a perf.data file (perf record, with frame pointers or --call-graph dwarf) or the text that perf "
	 "script prints; '-' is standard input. Every report opens the result."},
	{"help", ST_IN_HELP, "help [COMMAND]", "Explain a command and its options.", NULL},
	{"version", ST_IN_VERSION, "version", "Print the version.", NULL},
	{NULL, 0, NULL, NULL, NULL},
};
/* clang-format on */

static const char *const later_commands[] = {
	"archive",
	"collect-with",
	"serve",
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

enum st_status st_command_parse(const char *word, unsigned int *bit, struct st_error *err)
{
	const char *names[16];
	size_t count = 0;
	char near[160];

	*bit = 0;
	for (const struct st_command *command = st_commands; command->name; command++) {
		if (strcmp(word, command->name) == 0) {
			*bit = command->bit;
			return ST_OK;
		}
		names[count++] = command->name;
	}
	if (st_command_is_later(word))
		return st_error_set(err, ST_EUSAGE, 0, "'%s' is not available yet in this version",
				    word);
	st_near_text(word, names, count, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown command '%.80s'%s (strata help)", word,
			    near);
}
