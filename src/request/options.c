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
#define LIVE (ST_IN_TOP | ST_IN_DUMP)
#define SERVE ST_IN_SERVE

/* clang-format off */
static const struct st_option options[ST_OPTIONS] = {
	[ST_OPT_COLLECT] = {"collect", 'c', "TYPE", COLLECT, ST_OPT_IS_COMMAND, NULL,
		"Run a program and record it; TYPE is what to record: tasks, hotspots, operators or threading."},
	[ST_OPT_REPORT] = {"report", 'R', "NAME", ST_IN_REPORT, ST_OPT_IS_COMMAND, NULL,
		"Print a report of a result."},
	[ST_OPT_EXPORT] = {"export", 0, "FORMAT", EXPORT, ST_OPT_IS_COMMAND, NULL,
		"Convert a result to the format of another tool."},
	[ST_OPT_QUERY] = {"query", 0, "SQL", QUERY, ST_OPT_IS_COMMAND, NULL,
		"Query a result with SQL."},
	[ST_OPT_COMMAND] = {"command", 0, "VERB", COMMAND, ST_OPT_IS_COMMAND, NULL,
		"Pause, resume, mark, query or stop a running collection."},
	[ST_OPT_FINALIZE] = {"finalize", 0, NULL, FINALIZE, ST_OPT_IS_COMMAND, NULL,
		"Resolve the function names of a result's stacks again."},
	[ST_OPT_HELP] = {"help", 'h', NULL, ST_IN_ALL, ST_OPT_IS_COMMAND, NULL,
		"Explain a command: strata help COMMAND."},
	[ST_OPT_VERSION] = {"version", 'V', NULL, ST_IN_ALL, ST_OPT_IS_COMMAND, NULL,
		"Print the version."},

	[ST_OPT_RESULT_DIR] = {"result-dir", 'r', "DIR",
		COLLECT | BOTTLENECK | FINALIZE | REPORT | EXPORT | QUERY | COMMAND | IMPORT, 0,
		"r@@@ta, r@@@hs, r@@@op or r@@@tr for collect, r@@@hs for bottleneck and import; otherwise the newest result in the working folder",
		"The result folder. Given twice for a report or compare: compare the two results. For collect, bottleneck and import: where to write the result; '@@@' becomes the first free number; an existing folder is an error."},
	[ST_OPT_QUIET] = {"quiet", 'q', NULL, COLLECT | BOTTLENECK | FINALIZE | REPORT | EXPORT | QUERY | COMMAND | IMPORT, 0,
		NULL, "Print only warnings, errors and the requested output (including the summary)."},
	[ST_OPT_VERBOSE] = {"verbose", 'v', NULL, COLLECT | FINALIZE | REPORT | EXPORT | QUERY, 0, NULL,
		"Accepted for compatibility; no effect."},
	[ST_OPT_SEARCH_DIR] = {"search-dir", 0, "PATH", COLLECT | FINALIZE | REPORT | EXPORT, ST_OPT_REPEATABLE, NULL,
		"Folders or files to search for binaries and symbols. Stored in the result."},
	[ST_OPT_SOURCE_SEARCH_DIR] = {"source-search-dir", 0, "PATH", COLLECT | FINALIZE | REPORT | EXPORT | SERVE,
		ST_OPT_REPEATABLE, NULL,
		"Folders to search for source files. Stored in the result; by serve they are only searched."},

	[ST_OPT_KNOB] = {"knob", 'k', "NAME=VALUE", COLLECT, ST_OPT_REPEATABLE, NULL,
		"Set a collection parameter; see Knobs."},
	[ST_OPT_DURATION] = {"duration", 'd', "SECONDS", COLLECT | ST_IN_TOP, 0, "unlimited",
		"Stop collecting after this time; the program keeps running. For top: watch for this time, then print one table."},
	[ST_OPT_COUNT] = {"count", 0, "N", ST_IN_TOP, 0, "unlimited",
		"Print N tables, one after the other, and end."},
	[ST_OPT_INTERVAL] = {"interval", 0, "SECONDS", ST_IN_TOP, 0, "1",
		"Time between two tables."},
	[ST_OPT_TARGET_PID] = {"target-pid", 0, "PID", COLLECT | LIVE, 0, NULL,
		"The running program to look at. For collect hotspots: sample it from outside, until it ends, -duration has passed or Ctrl-C."},
	[ST_OPT_TARGET_PROCESS] = {"target-process", 0, "NAME", COLLECT | LIVE, 0, NULL,
		"Same, by process name."},
	[ST_OPT_START_PAUSED] = {"start-paused", 0, NULL, COLLECT, 0, NULL,
		"Start paused: record nothing until the program calls __itt_resume, 'strata -command resume' is run, or -resume-after has passed."},
	[ST_OPT_RESUME_AFTER] = {"resume-after", 0, "SECONDS", COLLECT, 0, NULL,
		"Start paused and start recording after this time."},
	[ST_OPT_DATA_LIMIT] = {"data-limit", 0, "MB", COLLECT, 0, "0, no limit",
		"Stop collecting when the result reaches this size; the program keeps running. 1 MB is 10^6 bytes."},
	[ST_OPT_RING_BUFFER] = {"ring-buffer", 0, "SECONDS", COLLECT, 0, "0, keep everything",
		"Keep only the last seconds before the end; older data is dropped during the collection."},
	[ST_OPT_APP_WORKING_DIR] = {"app-working-dir", 0, "DIR", COLLECT, 0, "the current one",
		"Working folder of the program."},
	[ST_OPT_SUMMARY] = {"summary", 0, NULL, COLLECT, ST_OPT_NEGATABLE, "on",
		"Print the summary to standard error when the program has ended."},
	[ST_OPT_FOLLOW_CHILD] = {"follow-child", 0, NULL, COLLECT, ST_OPT_NEGATABLE, "on",
		"Also record the processes that the program starts. With -no-follow-child they run unrecorded, and the summary shows how many there were."},
	[ST_OPT_RETURN_APP_EXITCODE] = {"return-app-exitcode", 0, NULL, COLLECT, 0, "on",
		"Accepted for compatibility; the exit status is always the program's."},
	[ST_OPT_CALL_STACK_MODE] = {"call-stack-mode", 0, "user-only|user-plus-one|all", COLLECT | REPORT | EXPORT | LIVE, 0,
		"user-plus-one; all for export",
		"How system functions appear in stacks. Stored in the result for its reports."},
	[ST_OPT_INLINE_MODE] = {"inline-mode", 0, "on|off", COLLECT | REPORT | EXPORT, 0, "on",
		"Show inlined functions as separate functions. Stored in the result for its reports."},
	[ST_OPT_LOOP_MODE] = {"loop-mode", 0, "function-only|loop-only|loop-and-function", COLLECT | REPORT, 0,
		"function-only", "Accepted for compatibility; this version does not distinguish loops."},
	[ST_OPT_MRTE_MODE] = {"mrte-mode", 0, "auto|native|mixed|managed", COLLECT, 0, "auto",
		"Accepted for compatibility; JIT-compiled code is always named where its names are known."},
	[ST_OPT_FINALIZATION_MODE] = {"finalization-mode", 0, "full|fast|deferred|none", COLLECT, 0, "full",
		"When to resolve function names: at the end of the run (full, fast), or later, by 'strata finalize' or the first report (deferred, none)."},
	[ST_OPT_TARGET_DURATION_TYPE] = {"target-duration-type", 0, "veryshort|short|medium|long", COLLECT, 0,
		"short", "hotspots: medium makes the default sampling interval 10 times longer, long 100 times."},

	[ST_OPT_INTERPRETER] = {"interpreter", 0, "FILE", BOTTLENECK, 0, "python3 on the PATH",
		"The Python interpreter that runs the script."},

	[ST_OPT_FORMAT] = {"format", 0, "text|csv|json", REPORT | QUERY | DOCTOR | COMMAND | ST_IN_DUMP, 0, "text",
		"Output format; doctor, dump and command status have no csv."},
	[ST_OPT_GROUP_BY] = {"group-by", 0, "A,B,...", REPORT | EXPORT, 0, "depends on the report",
		"Grouping levels of the rows, outermost first; '?' lists them (with a result, only those available in it)."},
	[ST_OPT_COLUMN] = {"column", 0, "NAME,...", REPORT, 0, "all",
		"Show only the columns whose name contains one of these, ignoring case; '?' lists them. Grouping columns are always shown."},
	[ST_OPT_SOURCE_OBJECT] = {"source-object", 0, "KIND=NAME", REPORT, ST_OPT_REPEATABLE, NULL,
		"What the reports source and disassembly show: function=NAME or source-file=PATH (the last parts are enough), and module=NAME to distinguish functions of the same name."},
	[ST_OPT_FILTER] = {"filter", 0, "GROUPING=VALUE", REPORT | EXPORT, ST_OPT_REPEATABLE, NULL,
		"Keep only matching rows (!= for all others); '*' and '?' match as in a shell; '?' alone lists the groupings."},
	[ST_OPT_TIME_FILTER] = {"time-filter", 0, "BEGIN:END", REPORT | EXPORT, 0, "everything",
		"Use only this part of the run, in seconds since its start; either side may be empty."},
	[ST_OPT_SORT_DESC] = {"sort-desc", 'S', "METRIC,...", REPORT, 0, "total time",
		"Sort largest first, by up to three metrics; '?' lists them."},
	[ST_OPT_SORT_ASC] = {"sort-asc", 's', "METRIC,...", REPORT, 0, NULL, "Sort smallest first."},
	[ST_OPT_LIMIT] = {"limit", 0, "N", REPORT | ST_IN_TOP, 0, "all", "Show at most N rows at each level."},
	[ST_OPT_REPORT_OUTPUT] = {"report-output", 0, "FILE", REPORT | QUERY, 0, "standard output",
		"Write the report to a file; .txt, .csv or .json is appended to a name without an extension."},
	[ST_OPT_REPORT_WIDTH] = {"report-width", 0, "N", REPORT | QUERY, 0,
		"the terminal's, otherwise unlimited",
		"Width of a text report in characters; 0 is unlimited. To fit, names are shortened and the last columns left out."},
	[ST_OPT_REPORT_KNOB] = {"report-knob", 0, "NAME=VALUE", REPORT, ST_OPT_REPEATABLE, NULL,
		"Set a report parameter: bin-count=N, the number of bins of a timeline (60); cpu-classes=FILE, additional rules for spin and overhead time; min-percent=P (1) and max-depth=N (40), the smallest share and the deepest level of a tree that get lines of their own, 0 for all; torch-folding=true, count operators as torch.profiler does; for torch-averages and torch-events, the arguments of the torch functions by name: sort-by=self_cpu_time_total, row-limit=10, group-by-input-shape=true, profile-memory=true ..."},
	[ST_OPT_SHOW_AS] = {"show-as", 0, "values|samples|percent", REPORT, 0, "values",
		"Show CPU time as time, as sample counts, or as percentages of the total."},
	[ST_OPT_THRESHOLD_PERCENT] = {"cumulative-threshold-percent", 0, "N", REPORT, 0, "100",
		"For samples: at each level, show only the first rows that together account for N percent."},
	[ST_OPT_CSV_DELIMITER] = {"csv-delimiter", 0, "NAME", REPORT | QUERY, 0, "comma",
		"comma, tab, semicolon, colon, or a single character such as '|'."},

	[ST_OPT_AGAINST] = {"against", 0, "DIR", ST_IN_COMPARE, ST_OPT_REPEATABLE, NULL,
		"A result of the second side; those of the first are given by -r. Repeatable."},
	[ST_OPT_FAIL_ABOVE] = {"fail-above", 0, "PERCENT", ST_IN_COMPARE, 0, NULL,
		"Exit with status 3 if the second side is slower by more than this (5%): by the time of a step, or the elapsed time if there are no steps. If the interval of the difference is known, all of it must be above."},

	[ST_OPT_SCHEMA] = {"schema", 0, NULL, QUERY, 0, NULL,
		"List the tables and columns available to SQL; no result is required."},
	[ST_OPT_MEMORY_LIMIT] = {"memory-limit", 0, "MB", QUERY, 0, "256",
		"Memory limit for the query and its answer; a query that exceeds it fails. 1 MB is 10^6 bytes."},

	[ST_OPT_OUTPUT] = {"output", 'o', "FILE", EXPORT, 0, NULL,
		"The file to write; '-' is standard output; a name ending in .gz is compressed. A flame graph is an HTML page if the name ends in .html, otherwise an SVG image."},
	[ST_OPT_PYTHON_FRAMES] = {"python-frames", 0, "mixed|only|none", REPORT | EXPORT, 0, "mixed",
		"Show Python functions in place of the interpreter's own frames (mixed), only Python functions (only), or no Python functions (none)."},
	[ST_OPT_REVERSE] = {"reverse", 0, NULL, EXPORT, 0, NULL,
		"Invert the stacks, from where the CPU time was spent to the callers: flamegraph and folded."},
	[ST_OPT_PARTS] = {"parts", 0, "PART,...", EXPORT, 0, "everything that was recorded",
		"For kineto: what the trace contains in addition to operators: shapes, memory, stacks, modules, or none."},
	[ST_OPT_METADATA] = {"metadata", 0, "KEY=VALUE", EXPORT, ST_OPT_REPEATABLE, NULL,
		"For kineto: an additional key of the file; the value is JSON, otherwise a string."},
	[ST_OPT_METRIC] = {"metric", 0, "NAME", EXPORT, 0, "self_cpu_time_total",
		"For torch-stacks: the time to write, by torch's names: self_cpu_time_total, or self_cuda_time_total or self_xpu_time_total for the time on devices of what each operator launched."},
	[ST_OPT_DEVICE] = {"device", 0, "cpu|cuda:N|xpu:N", EXPORT, 0, "cpu",
		"For memory-timeline: whose memory; without a number, that of the first device."},

	[ST_OPT_DATA_DIRECTORY] = {"data-directory", 0, "DIR", SERVE, 0, "the working folder",
		"The folder with the results; those in its sub-folders (projects) are listed too, up to two levels deep."},
	[ST_OPT_WEB_PORT] = {"web-port", 0, "N", SERVE, 0, "0, any free port", "The port to listen on."},
	[ST_OPT_ALLOW_REMOTE_ACCESS] = {"allow-remote-access", 0, NULL, SERVE, 0, NULL,
		"Also listen to other machines, by HTTPS and with a passphrase that is chosen on the first visit. Without it only this machine can connect."},
	[ST_OPT_ALLOW_REMOTE_COLLECT] = {"allow-remote-collect", 0, NULL, SERVE, 0, NULL,
		"Let users on other machines start collections, which run programs as you."},
	[ST_OPT_OPEN] = {"open", 0, NULL, SERVE, 0, NULL, "Open the page in a browser (xdg-open)."},
	[ST_OPT_BASE_URL] = {"base-url", 0, "URL", SERVE, 0, NULL,
		"The address by which the server is reached through a proxy or by another name of this machine. A tunnel such as ssh -L needs none."},
	[ST_OPT_RESET_PASSPHRASE] = {"reset-passphrase", 0, NULL, SERVE, 0, NULL,
		"Forget the passphrase; a new one is chosen on the next visit."},
	[ST_OPT_CERTIFICATE] = {"certificate", 0, "FILE", SERVE, 0, "a self-signed one, created on first use",
		"Certificate (PEM) for HTTPS; requires -key."},
	[ST_OPT_KEY] = {"key", 0, "FILE", SERVE, 0, NULL, "Key (PEM) of the certificate."},
	[ST_OPT_WORKERS] = {"workers", 0, "N", SERVE, 0, "8",
		"Processes that hold results open, at most; each result takes one or two. The one unused longest makes place."},
	[ST_OPT_TOKEN_LIFETIME] = {"token-lifetime", 0, "SECONDS", SERVE, 0, "3600",
		"How long the printed address can be used to log in. Enter prints a new one."},
	[ST_OPT_LOGDIR] = {"logdir", 0, "DIR", SERVE, 0, NULL, "Same as -data-directory, as TensorBoard calls it."},
	[ST_OPT_PORT] = {"port", 0, "N", SERVE, 0, NULL, "Same as -web-port."},
	[ST_OPT_BIND_ALL] = {"bind-all", 0, NULL, SERVE, 0, NULL, "Same as -allow-remote-access; also --bind_all."},

	[ST_OPT_MAN] = {"man", 0, NULL, ST_IN_HELP, 0, NULL, "Print the manual page (roff)."},
	[ST_OPT_COMPLETION] = {"completion", 0, "bash|zsh", ST_IN_HELP, 0, NULL,
		"Print the completion script for this shell; an installation already includes it."},
};
/* clang-format on */

const struct st_option *st_option_at(enum st_option_id id)
{
	return &options[id];
}
