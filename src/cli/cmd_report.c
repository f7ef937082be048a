/* SPDX-License-Identifier: Apache-2.0
 *
 * strata report: turns options into a question, asks analyze, and has export write the answer.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/reports/compare.h"
#include "analyze/datasets/quality.h"
#include "analyze/tables/report.h"
#include "base/buf.h"
#include "request/command.h"
#include "request/console.h"
#include "request/locate.h"
#include "request/options.h"
#include "request/output.h"
#include "request/report_args.h"
#include "store/result.h"
#include "store/samples.h"

static bool asks_for_list(const char *value)
{
	return value && strcmp(value, "?") == 0;
}

static bool asks_for_groupings(const struct st_args *args)
{
	if (asks_for_list(st_args_value(args, ST_OPT_GROUP_BY)))
		return true;
	for (size_t i = 0; i < args->given_count; i++)
		if (args->given[i].id == ST_OPT_FILTER && asks_for_list(args->given[i].value))
			return true;
	return false;
}

static bool asks_for_metrics(const struct st_args *args)
{
	return asks_for_list(st_args_value(args, ST_OPT_SORT_DESC)) ||
	       asks_for_list(st_args_value(args, ST_OPT_SORT_ASC));
}

/* The report that is asked about, if any. */
static const struct st_report_kind *asked_kind(const struct st_args *args)
{
	const char *name = st_args_value(args, ST_OPT_REPORT);

	return st_report_kind_of(!name && args->word_count ? args->words[0] : name);
}

/* What the report can be grouped by: of the result at hand what it can answer, without one everything. */
static enum st_status print_groupings(const struct st_args *args, struct st_error *err)
{
	const char *name = st_args_value(args, ST_OPT_REPORT);
	const struct st_report_kind *kind = asked_kind(args);
	const char *word = args->word_count > (name ? 0u : 1u) ? args->words[name ? 0 : 1] : NULL;
	bool is_named = word || st_args_value(args, ST_OPT_RESULT_DIR);
	struct st_set set = st_set_range(0, ST_SET_MAX);
	struct st_result *result = NULL;
	struct st_error ignored;
	enum st_status status;

	if (kind) {
		status = st_locate_open(&result, args, word, is_named ? err : &ignored);
		if (status && is_named)
			return status;
		status = st_report_groupings(kind, status ? NULL : result, &set, err);
		st_result_close(result);
		if (status)
			return status;
	}
	for (unsigned int i = 0; i < ST_GROUPINGS; i++)
		if (st_set_has(set, i))
			printf("%-14s %s\n", st_grouping_info(i)->name, st_grouping_info(i)->title);
	return ST_OK;
}

static void print_metrics(const struct st_report_kind *kind)
{
	struct st_set set = kind ? st_report_metrics(kind) : st_set_range(0, ST_METRICS);

	for (unsigned int i = 0; i < ST_METRICS; i++)
		if (st_set_has(set, i))
			printf("%-14s %s\n", st_metric_info(i)->key,
			       kind ? st_report_metric_title(kind, i) : st_metric_info(i)->title);
}

static void print_columns(const struct st_report *report)
{
	for (uint32_t i = 0; i < report->column_count; i++)
		printf("%-16s %s\n", report->columns[i].key, report->columns[i].title);
}

static void print_reports(void)
{
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++)
		printf("%-14s %s\n", kind->name, kind->summary);
}

static enum st_status answer(const struct st_args *args, const struct st_report_args *request,
			     struct st_error *err)
{
	struct st_result *result;
	struct st_report report = {0};
	enum st_status status;

	st_console_catch_ends(NULL);
	status = st_locate_open(&result, args, request->result_word, err);
	if (status)
		return status;
	st_busy_begin(st_args_flag(args, ST_OPT_QUIET, false), "building the report");
	status = st_report_build(result, request->name, &request->options, &report, err);
	st_busy_end();
	if (status == ST_OK && asks_for_list(request->columns)) {
		print_columns(&report);
	} else if (status == ST_OK) {
		if (request->columns)
			status = st_report_choose_columns(&report, request->columns, err);
		if (status == ST_OK)
			status = st_output_write(&request->output, &report, result, err);
	}
	st_report_fini(&report);
	st_result_close(result);
	return status;
}

static bool can_compare(const char *name)
{
	static const char *const names[] = {"summary", "hotspots", "top-down", "callstacks",
					    "tasks"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static enum st_status write_comparison(const struct st_report_args *request,
				       struct st_result *const results[2], struct st_error *err)
{
	struct st_report reports[2] = {0}, compared = {0};
	struct st_report_options options = request->options;
	struct st_comparison of = {&reports[0], &reports[1], results[0], options.question.limit};
	const char *name = request->name;
	enum st_status status = ST_OK;

	if (request->is_default && !st_result_samples(results[0])->count &&
	    !st_result_samples(results[1])->count)
		name = "tasks";
	/* What a limit cuts off of one has to be there for the other. */
	options.question.limit = 0;
	for (size_t i = 0; i < 2 && !status; i++)
		status = st_report_build(results[i], name, &options, &reports[i], err);
	if (!status)
		status = st_report_compare(&of, &compared, err);
	if (!status && asks_for_list(request->columns)) {
		print_columns(&compared);
	} else if (!status) {
		if (request->columns)
			status = st_report_choose_columns(&compared, request->columns, err);
		if (!status)
			status = st_output_write(&request->output, &compared, results[0], err);
	}
	st_report_fini(&compared);
	st_report_fini(&reports[0]);
	st_report_fini(&reports[1]);
	return status;
}

/* What is shown below the table is the quality of the first result: that of the second is said apart. */
static void say_quality(const struct st_result *result)
{
	struct st_buf lines;

	st_buf_init(&lines, 1 << 20);
	if (st_quality_lines(result, &lines)) {
		const char *at = (const char *)lines.data, *end = at + lines.size_bytes;

		for (const char *stop; at < end; at = stop + 1) {
			stop = memchr(at, '\n', (size_t)(end - at));
			if (!stop)
				break;
			st_console_say("%s: %.*s", st_result_info(result)->name, (int)(stop - at),
				       at);
		}
	}
	st_buf_fini(&lines);
}

static enum st_status compare(const struct st_args *args, const struct st_report_args *request,
			      struct st_error *err)
{
	bool quiet = st_args_flag(args, ST_OPT_QUIET, false);
	struct st_result *results[2] = {NULL, NULL};
	enum st_status status;

	if (!can_compare(request->name))
		return st_error_set(err, ST_EUSAGE, 0,
				    "report %s takes one result; only summary, hotspots, top-down, "
				    "callstacks and tasks can compare two",
				    request->name);
	st_console_catch_ends(NULL);
	status = st_locate_open_path(&results[0], request->result_word, quiet, err);
	if (!status)
		status = st_locate_open_path(&results[1], request->second, quiet, err);
	if (!status)
		status = write_comparison(request, results, err);
	if (!status)
		say_quality(results[1]);
	st_result_close(results[1]);
	st_result_close(results[0]);
	return status;
}

/* The list of what an option takes, of a report that does not take the option. */
static enum st_status check_list(const struct st_args *args, struct st_error *err)
{
	static const struct {
		enum st_option_id option;
		unsigned int needs;
	} lists[] = {
		{ST_OPT_GROUP_BY, ST_ACCEPTS_GROUP_BY},
		{ST_OPT_FILTER, ST_ACCEPTS_FILTER},
		{ST_OPT_SORT_DESC, ST_ACCEPTS_SORT},
		{ST_OPT_SORT_ASC, ST_ACCEPTS_SORT},
	};
	const struct st_report_kind *kind = asked_kind(args);

	for (size_t i = 0; kind && i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (st_args_value(args, lists[i].option) && !(kind->accepts & lists[i].needs))
			return st_error_set(err, ST_EUSAGE, 0, "report %s does not support -%s",
					    kind->name, st_option_at(lists[i].option)->name);
	}
	return ST_OK;
}

int st_cmd_report(const struct st_args *args)
{
	struct st_error err = {0};
	struct st_report_args request = {0};
	enum st_status status;

	if (asks_for_list(st_args_value(args, ST_OPT_REPORT)) ||
	    (args->word_count && asks_for_list(args->words[0]))) {
		print_reports();
		return ST_EXIT_OK;
	}
	if ((asks_for_groupings(args) || asks_for_metrics(args)) && check_list(args, &err))
		return st_console_fail(&err);
	if (asks_for_groupings(args))
		return print_groupings(args, &err) ? st_console_fail(&err) : ST_EXIT_OK;
	if (asks_for_metrics(args)) {
		print_metrics(asked_kind(args));
		return ST_EXIT_OK;
	}
	status = st_report_args_parse(&request, args, &err);
	if (status == ST_OK)
		status = request.second ? compare(args, &request, &err)
					: answer(args, &request, &err);
	st_report_args_fini(&request);
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
