/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of options. Parsing (args.c), help (cmd_help.c), the manual page (manual.c), completion
 * (completion.c) and near-name errors all read it, so an option exists in all of them or in none.
 */
#include "request/options.h"

#define COLLECT ST_IN_COLLECT
#define REPORT (ST_IN_REPORT | ST_IN_COMPARE)
#define EXPORT ST_IN_EXPORT
#define QUERY ST_IN_QUERY
#define DOCTOR ST_IN_DOCTOR
#define COMMAND ST_IN_COMMAND
#define FINALIZE ST_IN_FINALIZE
#define IMPORT ST_IN_IMPORT
#define BOTTLENECK ST_IN_BOTTLENECK

/* clang-format off */
static const struct st_option options[ST_OPTIONS] = {
	[ST_OPT_COLLECT] = {"collect", 'c', "TYPE", COLLECT, ST_OPT_IS_COMMAND, NULL,
		"Run a program and record it; TYPE is what to record: tasks, hotspots or operators."},
	[ST_OPT_REPORT] = {"report", 'R', "NAME", ST_IN_REPORT, ST_OPT_IS_COMMAND, NULL,
		"Print a report of a result."},
	[ST_OPT_EXPORT] = {"export", 0, "FORMAT", EXPORT, ST_OPT_IS_COMMAND, NULL,
		"Write a result in the format of another tool."},
	[ST_OPT_QUERY] = {"query", 0, "SQL", QUERY, ST_OPT_IS_COMMAND, NULL,
		"Ask a result in SQL."},
	[ST_OPT_COMMAND] = {"command", 0, "VERB", COMMAND, ST_OPT_IS_COMMAND, NULL,
		"Pause, resume, mark, ask or end a running collection."},
	[ST_OPT_FINALIZE] = {"finalize", 0, NULL, FINALIZE, ST_OPT_IS_COMMAND, NULL,
		"Look the names of a result's stacks up again."},
	[ST_OPT_HELP] = {"help", 'h', NULL, ST_IN_ALL, ST_OPT_IS_COMMAND, NULL,
		"Explain a command: strata help COMMAND."},
	[ST_OPT_VERSION] = {"version", 'V', NULL, ST_IN_ALL, ST_OPT_IS_COMMAND, NULL,
		"Print the version."},

	[ST_OPT_RESULT_DIR] = {"result-dir", 'r', "DIR",
		COLLECT | BOTTLENECK | FINALIZE | REPORT | EXPORT | QUERY | COMMAND | IMPORT, 0,
		"r@@@ta or r@@@hs for collect, r@@@hs for bottleneck and import; else the newest result of the working folder",
		"The result folder; twice in a report: both, and the difference. For collect, bottleneck and import: where to write it; '@@@' becomes the first free number; "
		"a folder that exists is refused."},
	[ST_OPT_QUIET] = {"quiet", 'q', NULL, COLLECT | BOTTLENECK | FINALIZE | REPORT | EXPORT | QUERY | COMMAND | IMPORT, 0,
		NULL, "Only warnings, errors and what was asked for (the summary too)."},
	[ST_OPT_VERBOSE] = {"verbose", 'v', NULL, COLLECT | FINALIZE | REPORT | EXPORT | QUERY, 0, NULL,
		"Accepted. There is nothing more to say in this version."},
	[ST_OPT_SEARCH_DIR] = {"search-dir", 0, "PATH", COLLECT | FINALIZE | REPORT | EXPORT, ST_OPT_REPEATABLE, NULL,
		"Where binaries and symbols may be found: folders or files. Kept in the result."},
	[ST_OPT_SOURCE_SEARCH_DIR] = {"source-search-dir", 0, "PATH", COLLECT | FINALIZE | REPORT | EXPORT,
		ST_OPT_REPEATABLE, NULL,
		"Where sources may be found. Kept in the result."},

	[ST_OPT_KNOB] = {"knob", 'k', "NAME=VALUE", COLLECT, ST_OPT_REPEATABLE, NULL,
		"A setting of the collection; see Knobs."},
	[ST_OPT_DURATION] = {"duration", 'd', "SECONDS", COLLECT, 0, "unlimited",
		"Stop collecting after this time; the program goes on."},
	[ST_OPT_TARGET_PID] = {"target-pid", 0, "PID", COLLECT, 0, NULL,
		"hotspots: sample a program that runs already, from outside; until it ends, -duration has passed or "
		"Ctrl-C."},
	[ST_OPT_TARGET_PROCESS] = {"target-process", 0, "NAME", COLLECT, 0, NULL,
		"The same, by the name of its program."},
	[ST_OPT_START_PAUSED] = {"start-paused", 0, NULL, COLLECT, 0, NULL,
		"Record nothing until the program (__itt_resume) or strata -command resume resumes, or -resume-after "
		"has passed."},
	[ST_OPT_RESUME_AFTER] = {"resume-after", 0, "SECONDS", COLLECT, 0, NULL,
		"Start paused and begin to record after this time."},
	[ST_OPT_DATA_LIMIT] = {"data-limit", 0, "MB", COLLECT, 0, "0, no limit",
		"Stop collecting when the result has this size; the program goes on. 1 MB is 10^6 bytes."},
	[ST_OPT_RING_BUFFER] = {"ring-buffer", 0, "SECONDS", COLLECT, 0, "0, keep everything",
		"Keep only the last seconds before the end; what is older is dropped while collecting."},
	[ST_OPT_APP_WORKING_DIR] = {"app-working-dir", 0, "DIR", COLLECT, 0, "the current one",
		"Working folder of the program."},
	[ST_OPT_SUMMARY] = {"summary", 0, NULL, COLLECT, ST_OPT_NEGATABLE, "on",
		"Print the summary on standard error when the program has ended."},
	[ST_OPT_FOLLOW_CHILD] = {"follow-child", 0, NULL, COLLECT, ST_OPT_NEGATABLE, "on",
		"Record the processes that the program starts as well. With -no-follow-child they run "
		"unrecorded, and the summary says how many there were."},
	[ST_OPT_RETURN_APP_EXITCODE] = {"return-app-exitcode", 0, NULL, COLLECT, 0, "on",
		"Accepted. The exit status is always the program's."},
	[ST_OPT_CALL_STACK_MODE] = {"call-stack-mode", 0, "user-only|user-plus-one|all", COLLECT | REPORT | EXPORT, 0,
		"user-plus-one; all for export",
		"How functions of the system show in stacks. Kept in the result for its reports."},
	[ST_OPT_INLINE_MODE] = {"inline-mode", 0, "on|off", COLLECT | REPORT | EXPORT, 0, "on",
		"Show inlined functions as functions. Kept in the result for its reports."},
	[ST_OPT_LOOP_MODE] = {"loop-mode", 0, "function-only|loop-only|loop-and-function", COLLECT | REPORT, 0,
		"function-only", "Accepted. Loops are not told apart in this version."},
	[ST_OPT_MRTE_MODE] = {"mrte-mode", 0, "auto|native|mixed|managed", COLLECT, 0, "auto",
		"Accepted. Code made at run time is named wherever its names are known."},
	[ST_OPT_FINALIZATION_MODE] = {"finalization-mode", 0, "full|fast|deferred|none", COLLECT, 0, "full",
		"When the names of functions are looked up: at the end of the run (full, fast), or later, by "
		"'strata finalize' or the first report (deferred, none)."},
	[ST_OPT_TARGET_DURATION_TYPE] = {"target-duration-type", 0, "veryshort|short|medium|long", COLLECT, 0,
		"short", "hotspots: medium makes the usual sampling interval 10 times longer, long 100 times."},

	[ST_OPT_INTERPRETER] = {"interpreter", 0, "FILE", BOTTLENECK, 0, "python3 on the PATH",
		"The Python that runs the script."},

	[ST_OPT_FORMAT] = {"format", 0, "text|csv|json", REPORT | QUERY | DOCTOR | COMMAND, 0, "text",
		"Form of the output; doctor and command status have no csv."},
	[ST_OPT_GROUP_BY] = {"group-by", 0, "A,B,...", REPORT | EXPORT, 0, "depends on the report",
		"Levels of the rows, outermost first; '?' lists them (with a result, those it can answer)."},
	[ST_OPT_COLUMN] = {"column", 0, "NAME,...", REPORT, 0, "all",
		"Show only the columns whose name holds one of these, any case; '?' lists them. Columns of the "
		"grouping stay."},
	[ST_OPT_SOURCE_OBJECT] = {"source-object", 0, "KIND=NAME", REPORT, ST_OPT_REPEATABLE, NULL,
		"What the reports source and disassembly show: function=NAME or source-file=PATH (its last parts "
		"are enough), and module=NAME to tell functions of one name apart."},
	[ST_OPT_FILTER] = {"filter", 0, "GROUPING=VALUE", REPORT | EXPORT, ST_OPT_REPEATABLE, NULL,
		"Keep only matching rows (!= for all others); '*' and '?' match as in a shell; "
		"-filter '?' lists the groupings."},
	[ST_OPT_TIME_FILTER] = {"time-filter", 0, "BEGIN:END", REPORT | EXPORT, 0, "everything",
		"Only this part of the run, in seconds since its start; either side may be empty."},
	[ST_OPT_SORT_DESC] = {"sort-desc", 'S', "METRIC,...", REPORT, 0, "total time",
		"Largest first, by up to three metrics; '?' lists them."},
	[ST_OPT_SORT_ASC] = {"sort-asc", 's', "METRIC,...", REPORT, 0, NULL, "Smallest first."},
	[ST_OPT_LIMIT] = {"limit", 0, "N", REPORT, 0, "all", "At most N rows at each level."},
	[ST_OPT_REPORT_OUTPUT] = {"report-output", 0, "FILE", REPORT | QUERY, 0, "standard output",
		"Write the report to a file; .txt, .csv or .json is appended to a name without a suffix."},
	[ST_OPT_REPORT_WIDTH] = {"report-width", 0, "N", REPORT | QUERY, 0,
		"the terminal's, else unlimited",
		"Columns of a text report; 0 is unlimited. Names are cut and the last columns left out to fit."},
	[ST_OPT_REPORT_KNOB] = {"report-knob", 0, "NAME=VALUE", REPORT, ST_OPT_REPEATABLE, NULL,
		"A setting of the report: bin-count=N, the number of slots of a timeline (60); cpu-classes=FILE, "
		"further rules for what CPU time is spin or overhead; torch-folding=true, operators as torch's profiler "
		"counts them; of torch-averages and torch-events the arguments of torch's functions by their names: "
		"sort-by=self_cpu_time_total, row-limit=10, group-by-input-shape=true, profile-memory=true …"},
	[ST_OPT_SHOW_AS] = {"show-as", 0, "values|samples|percent", REPORT, 0, "values",
		"CPU time as time, as numbers of samples, or as shares of the total."},
	[ST_OPT_THRESHOLD_PERCENT] = {"cumulative-threshold-percent", 0, "N", REPORT, 0, "100",
		"Of samples: at each level the first rows that together hold N percent."},
	[ST_OPT_CSV_DELIMITER] = {"csv-delimiter", 0, "NAME", REPORT | QUERY, 0, "comma",
		"comma, tab, semicolon, colon, or one mark such as '|'."},

	[ST_OPT_SCHEMA] = {"schema", 0, NULL, QUERY, 0, NULL,
		"List the tables and columns that SQL can ask; needs no result."},
	[ST_OPT_MEMORY_LIMIT] = {"memory-limit", 0, "MB", QUERY, 0, "256",
		"Memory for the query and its answer; over it the query fails. 1 MB is 10^6 bytes."},

	[ST_OPT_OUTPUT] = {"output", 'o', "FILE", EXPORT, 0, NULL,
		"The file to write; '-' is standard output, a name that ends in .gz is compressed. A flame graph is a "
		"page if the name ends in .html, else an SVG picture."},
	[ST_OPT_PYTHON_FRAMES] = {"python-frames", 0, "mixed|only|none", REPORT | EXPORT, 0, "mixed",
		"Python functions in place of the interpreter that runs them, nothing else, or not at all."},
	[ST_OPT_REVERSE] = {"reverse", 0, NULL, EXPORT, 0, NULL,
		"From where the CPU time went to the callers: flamegraph and folded."},
	[ST_OPT_PARTS] = {"parts", 0, "PART,...", EXPORT, 0, "whatever was recorded",
		"Of kineto, what the trace has beside operators: shapes, memory, stacks, modules, or none."},
	[ST_OPT_METADATA] = {"metadata", 0, "KEY=VALUE", EXPORT, ST_OPT_REPEATABLE, NULL,
		"Of kineto: a further key of the file; the value is JSON, or else a text."},

	[ST_OPT_MAN] = {"man", 0, NULL, ST_IN_HELP, 0, NULL, "Print the manual page (roff)."},
	[ST_OPT_COMPLETION] = {"completion", 0, "bash|zsh", ST_IN_HELP, 0, NULL,
		"Print the script that completes command lines in this shell; installations have it already."},
};
/* clang-format on */

const struct st_option *st_option_at(enum st_option_id id)
{
	return &options[id];
}
