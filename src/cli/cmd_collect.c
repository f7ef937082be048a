/* SPDX-License-Identifier: Apache-2.0
 *
 * strata collect: reads the options, hands the program to collect/launch, prints the summary, and ends
 * the way the program ended. Nothing here writes to standard output: that belongs to the program.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/tables/report.h"
#include "base/buf.h"
#include "base/quote.h"
#include "cli/ask.h"
#include "cli/collect_run.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/finalize.h"
#include "cli/knobs.h"
#include "request/options.h"
#include "request/request.h"
#include "cli/target.h"
#include "request/values.h"
#include "collect/launch/run/collect.h"
#include "collect/launch/run/sampling.h"
#include "export/export.h"
#include "format/analysis.h"
#include "store/result.h"

enum { SUMMARY_WIDTH = 100, COMMAND_MAX_BYTES = 1 << 20 };

/* "'tasks', 'hotspots' or 'operators'": what this version has. */
static void list_analyses(char *out, size_t out_size)
{
	const char *last = NULL;
	size_t used = 0;

	*out = '\0';
	for (const struct st_analysis *analysis = st_analyses; analysis->name; analysis++) {
		if (analysis->refusal)
			continue;
		if (last && used < out_size)
			used += (size_t)snprintf(out + used, out_size - used, "%s'%s'",
						 used ? ", " : "", last);
		last = analysis->name;
	}
	if (last && used < out_size)
		snprintf(out + used, out_size - used, "%s'%s'", used ? " or " : "", last);
}

static enum st_status parse_type(const struct st_args *args, struct st_collect_config *config,
				 struct st_error *err)
{
	const char *typed = st_args_value(args, ST_OPT_COLLECT);
	const struct st_analysis *analysis;
	char near[160], list[160];

	if (!typed && args->word_count)
		typed = args->words[0];
	if (!typed)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"collect requires a type: strata -collect tasks [options] [--] program");
	list_analyses(list, sizeof(list));
	analysis = st_analysis_find(typed);
	if (analysis && analysis->refusal)
		return st_error_set(err, ST_EUSAGE, 0, "collection type '%s' %s; use %s", typed,
				    analysis->refusal, list);
	config->analysis = analysis;
	if (analysis)
		return ST_OK;
	st_row_near(st_analyses, sizeof(*st_analyses), typed, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown collection type '%.80s'%s%s", typed,
			    near[0] ? near : "; expected ", near[0] ? "" : list);
}

static enum st_status parse_times(const struct st_args *args, struct st_collect_config *config,
				  struct st_error *err)
{
	const char *duration = st_args_value(args, ST_OPT_DURATION);
	const char *resume = st_args_value(args, ST_OPT_RESUME_AFTER);
	enum st_status status;

	config->duration_s = -1;
	config->resume_after_s = -1;
	config->start_paused = st_args_flag(args, ST_OPT_START_PAUSED, false);
	if (duration && strcmp(duration, "unlimited") != 0) {
		status = st_value_seconds("duration", duration, &config->duration_s, err);
		if (status)
			return status;
		if (config->duration_s <= 0)
			return st_error_set(err, ST_EUSAGE, 0,
					    "-duration: must be longer than zero, not '%.60s'; use "
					    "'unlimited' for no limit",
					    duration);
	}
	if (resume) {
		status = st_value_seconds("resume-after", resume, &config->resume_after_s, err);
		if (status)
			return status;
		config->start_paused = true;
	}
	return ST_OK;
}

/* Options that say how reports show what was collected: kept in the result, as given. */
static enum st_status check_modes(const struct st_args *args, struct st_error *err)
{
	static const char *const stacks[] = {"user-only", "user-plus-one", "all", NULL};
	static const char *const inlines[] = {"on", "off", NULL};
	static const char *const loops[] = {"function-only", "loop-only", "loop-and-function",
					    NULL};
	static const char *const managed[] = {"auto", "native", "mixed", "managed", NULL};
	static const char *const finals[] = {"full", "fast", "deferred", "none", NULL};
	size_t which;
	enum st_status status = st_args_word(args, ST_OPT_CALL_STACK_MODE, stacks, &which, err);

	if (!status)
		status = st_args_word(args, ST_OPT_INLINE_MODE, inlines, &which, err);
	if (!status)
		status = st_args_word(args, ST_OPT_LOOP_MODE, loops, &which, err);
	if (!status)
		status = st_args_word(args, ST_OPT_MRTE_MODE, managed, &which, err);
	if (!status)
		status = st_args_word(args, ST_OPT_FINALIZATION_MODE, finals, &which, err);
	return status;
}

static enum st_status parse_sampling(const struct st_args *args, struct st_collect_config *config,
				     struct st_error *err)
{
	static const char *const durations[] = {"veryshort", "short", "medium", "long", NULL};
	static const double scales[] = {1, 1, 10, 100};
	size_t duration = 0;
	uint64_t ignored;
	enum st_status status =
		st_args_word(args, ST_OPT_TARGET_DURATION_TYPE, durations, &duration, err);

	if (!status)
		status = check_modes(args, err);
	if (status || !(config->analysis->records & ST_RECORDS_SAMPLES))
		return status;
	config->sampling.interval_scale = scales[duration];
	return st_sampling_interval(&config->sampling, &ignored, err);
}

static enum st_status parse_config(const struct st_args *args, struct st_collect_config *config,
				   struct st_error *err)
{
	const char *limit = st_args_value(args, ST_OPT_DATA_LIMIT);
	const char *last = st_args_value(args, ST_OPT_RING_BUFFER);
	enum st_status status = parse_type(args, config, err);

	if (status == ST_OK)
		status = st_knobs_read(args, config, err);
	if (status == ST_OK)
		status = parse_sampling(args, config, err);
	if (status == ST_OK)
		status = parse_times(args, config, err);
	if (status == ST_OK && limit)
		status = st_value_megabytes("data-limit", limit, &config->data_limit_bytes, err);
	if (status == ST_OK && last)
		status = st_value_seconds("ring-buffer", last, &config->ring_buffer_s, err);
	if (status)
		return status;
	/* What cannot be done is refused, so that nobody believes it was. */
	if (!st_args_flag(args, ST_OPT_RETURN_APP_EXITCODE, true))
		return st_error_set(err, ST_EUSAGE, 0,
				    "-return-app-exitcode=false is not supported: the exit status "
				    "is always the program's");
	config->argv = args->target;
	config->argc = args->target_count;
	status = st_target_read(args, config, err);
	if (status)
		return status;
	if (!args->target && !config->target_pid)
		return st_error_set(err, ST_EUSAGE, 0,
				    "no program given: strata -collect %s [options] [--] program",
				    config->analysis->name);
	config->result_dir = st_args_value(args, ST_OPT_RESULT_DIR);
	config->app_working_dir = st_args_value(args, ST_OPT_APP_WORKING_DIR);
	config->quiet = st_args_flag(args, ST_OPT_QUIET, false);
	config->no_follow_child = !st_args_flag(args, ST_OPT_FOLLOW_CHILD, true);
	config->strata_version = ST_VERSION;
	return ST_OK;
}

static void say(void *arg, const char *line)
{
	(void)arg;
	st_console_say("%s", line);
}

/* The names of stacks, so that reports need not look them up; what fails here they try again. */
static void give_names(const struct st_result *result, const struct st_args *args)
{
	const char *mode = st_args_value(args, ST_OPT_FINALIZATION_MODE);
	struct st_finalized done;
	struct st_error err = {0};

	if (mode && (strcmp(mode, "none") == 0 || strcmp(mode, "deferred") == 0))
		return;
	if (st_finalize(result, args, false, &done, &err))
		st_console_error("cannot resolve function names: %s", err.text);
}

static enum st_status write_summary(const char *path, const struct st_args *args,
				    struct st_error *err)
{
	bool quiet = st_args_flag(args, ST_OPT_QUIET, false);
	unsigned int width = st_console_width(STDERR_FILENO);
	struct st_request request = {.output = {.path = (char *)"-"}, .name = "summary"};
	struct st_result *results[1] = {NULL};
	struct st_request_rows rows = {0};
	enum st_status status = st_ask_open_path(&results[0], path, quiet, err);

	if (status)
		return status;
	give_names(results[0], args);
	request.output.style.program = args->program;
	request.output.style.width = width && width < SUMMARY_WIDTH ? width : SUMMARY_WIDTH;
	if (st_args_flag(args, ST_OPT_SUMMARY, true)) {
		st_busy_begin(quiet, "building the summary");
		status = st_request_build(&request, results, &rows, err);
		st_busy_end();
		if (!status)
			status = st_ask_write(&request, &rows.report, results[0], err);
		st_request_rows_fini(&rows);
	}
	st_result_close(results[0]);
	return status;
}

/* From here on our standard output is standard error: what we print next can never end up in the
 * program's output, and a pipe the program wrote to closes with the program. */
static void print_summary(const char *path, const struct st_args *args)
{
	struct st_error err = {0};

	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return;
	if (write_summary(path, args, &err))
		st_console_error("cannot build the summary: %s", err.text);
}

/* Ends as the program ended. A fatal signal is raised again, without a core file of our own. */
static int end_like(int wait_status)
{
	const struct rlimit no_core = {0, 0};
	sigset_t set;
	int number;

	if (!WIFSIGNALED(wait_status))
		return WEXITSTATUS(wait_status);
	number = WTERMSIG(wait_status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}

/* False when there is nothing to show: the folder was moved or deleted while the program ran. */
static bool say_where(const char *path, bool quiet)
{
	if (access(path, F_OK) != 0) {
		st_console_say("%s no longer exists: the folder was moved or deleted during the "
			       "collection",
			       path);
		return false;
	}
	if (!quiet)
		st_console_say("the result is in %s", path);
	return true;
}

static int program_status; /* wait status, for a Ctrl-C during the summary */

/* A Ctrl-C when the program is gone ends the summary; the status is the program's all the same. */
static void end_early(int number)
{
	(void)number;
	_exit(end_like(program_status));
}

static int run(const struct st_args *args, struct st_collect_config *config, st_collect_show show)
{
	struct st_error err = {0};
	struct st_collect_outcome outcome = {0};
	enum st_status status;

	config->say = say;
	status = st_collect_run(config, &outcome, &err);
	if (status)
		st_console_error("%s", err.text);
	if (!outcome.started) {
		free(outcome.result_path);
		return outcome.exit_status ? outcome.exit_status : ST_EXIT_STRATA_FAILED;
	}
	program_status = outcome.wait_status;
	st_console_catch_ends(end_early);
	if (outcome.result_path && say_where(outcome.result_path, config->quiet) && show)
		show(outcome.result_path, args);
	free(outcome.result_path);
	return end_like(outcome.wait_status);
}

/* Every option as given, for result.json, behind those that config has; malloc'd, the texts are the command line's. */
static struct st_collect_option *list_options(const struct st_args *args,
					      const struct st_collect_config *config, size_t *count)
{
	size_t own = config->option_count;
	struct st_collect_option *list = calloc(own + args->given_count + 1, sizeof(*list));

	*count = own;
	for (size_t i = 0; list && i < own; i++)
		list[i] = config->options[i];
	for (size_t i = 0; list && i < args->given_count; i++) {
		const struct st_given *given = &args->given[i];
		const struct st_option *option = st_option_at(given->id);

		if (option->flags & ST_OPT_IS_COMMAND)
			continue;
		list[(*count)++] = (struct st_collect_option){
			.name = option->name,
			.value = given->value,
			.on = given->on,
			.repeatable = (option->flags & ST_OPT_REPEATABLE) != 0};
	}
	return list;
}

int st_collect_and_show(const struct st_args *args, struct st_collect_config *config,
			st_collect_show show)
{
	struct st_collect_option *options = list_options(args, config, &config->option_count);
	struct st_buf command;
	int code;

	config->options = options;
	if (!options) {
		st_console_error("out of memory");
		return ST_EXIT_STRATA_FAILED;
	}
	st_buf_init(&command, COMMAND_MAX_BYTES);
	st_quote_command(&command, args->argc, args->argv);
	st_buf_append_u8(&command, '\0');
	config->collect_command = command.failed ? "" : (const char *)command.data;
	code = run(args, config, show);
	st_buf_fini(&command);
	free(options);
	return code;
}

int st_cmd_collect(const struct st_args *args)
{
	struct st_error err = {0};
	struct st_collect_config config = {0};
	bool shows;

	if (parse_config(args, &config, &err)) {
		st_console_error("%s", err.text);
		return ST_EXIT_USAGE;
	}
	shows = (config.analysis->records & ST_RECORDS_SAMPLES) ||
		st_args_flag(args, ST_OPT_SUMMARY, true);
	return st_collect_and_show(args, &config, shows ? print_summary : NULL);
}
