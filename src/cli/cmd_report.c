/* SPDX-License-Identifier: Apache-2.0
 *
 * strata report: turns options into a question, asks analyze, and has export write the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/quality.h"
#include "analyze/tables/report.h"
#include "base/buf.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "request/locate.h"
#include "request/options.h"
#include "request/request.h"
#include "store/result.h"

static bool asks_for_list(const char *value)
{
	return value && strcmp(value, "?") == 0;
}

static bool asks_for_groupings(const struct st_args *args)
{
	bool asks = asks_for_list(st_args_value(args, ST_OPT_GROUP_BY));
	const char *filter;

	for (size_t at = 0; (filter = st_args_next(args, ST_OPT_FILTER, &at));)
		asks |= asks_for_list(filter);
	return asks;
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
	const char *path;
	enum st_status status;

	if (kind) {
		status = st_locate_name(&path, args, word, err);
		if (!status)
			status = st_ask_open_path(&result, path,
						  st_args_flag(args, ST_OPT_QUIET, false),
						  is_named ? err : &ignored);
		if (status && is_named)
			return status;
		status = st_report_groupings(kind, status ? NULL : result,
					     asks_for_list(st_args_value(args, ST_OPT_GROUP_BY))
						     ? ST_ASKED_GROUPS
						     : ST_ASKED_FILTERS,
					     &set, err);
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

/* What is shown below a comparison is the quality of the first result: that of the others is said apart. */
static void say_quality(const struct st_result *result)
{
	struct st_buf lines;

	st_buf_init(&lines, 1 << 20);
	if (st_quality_flaws(result, &lines))
		st_console_say_lines(st_result_info(result)->name, &lines);
	st_buf_fini(&lines);
}

/* Whether the second side is slower than allowed; says why, or why that cannot be told. */
static bool is_above(const struct st_request *request, const struct st_headline *headline)
{
	const struct st_difference *difference = &headline->difference;
	double first = headline->first_ns, limit = request->fail_above;
	double change = first > 0.0 ? difference->value / first : 0.0;
	double half = first > 0.0 ? difference->half_width / first : 0.0;
	bool is_known = difference->is_known;
	char spread[160] = "";

	if (!(limit > 0.0))
		return false;
	if (is_known)
		snprintf(spread, sizeof(spread),
			 " (95 %% interval %+.1f to %+.1f %%, n = %zu and %zu %s)",
			 (change - half) * 100.0, (change + half) * 100.0, headline->counts[0],
			 headline->counts[1], headline->is_of_runs ? "runs" : "steps of one run");
	else
		snprintf(spread, sizeof(spread), " (one value each: chance cannot be told)");
	if (is_known ? change - half > limit : change > limit) {
		st_console_say("fail: %s changed by %+.1f %%%s, more than the %.4g %% allowed",
			       headline->what, change * 100.0, spread, limit * 100.0);
		return true;
	}
	if (is_known && change + half > limit)
		st_console_say("pass, but too little to tell: %s changed by %+.1f %%%s, which "
			       "may be more than the %.4g %% allowed; give more runs",
			       headline->what, change * 100.0, spread, limit * 100.0);
	else
		st_console_say("pass: %s changed by %+.1f %%%s, not more than the %.4g %% allowed",
			       headline->what, change * 100.0, spread, limit * 100.0);
	return false;
}

static enum st_status build_and_write(const struct st_args *args, struct st_request *request,
				      struct st_result *const *results, bool *failed,
				      struct st_error *err)
{
	bool lists_columns = asks_for_list(request->columns);
	struct st_request_rows rows = {0};
	enum st_status status;

	if (lists_columns)
		request->columns = NULL;
	st_busy_begin(st_args_flag(args, ST_OPT_QUIET, false), "building the report");
	status = st_request_build(request, results, &rows, err);
	st_busy_end();
	if (!status && lists_columns)
		print_columns(&rows.report);
	else if (!status)
		status = st_ask_write(request, &rows.report, results[0], err);
	for (uint32_t i = 1; i < st_request_result_count(request) && !status; i++)
		say_quality(results[i]);
	if (!status)
		*failed = is_above(request, &rows.headline);
	st_request_rows_fini(&rows);
	return status;
}

static enum st_status answer(const struct st_args *args, struct st_request *request, bool *failed,
			     struct st_error *err)
{
	uint32_t count = st_request_result_count(request);
	struct st_result **results = calloc(count, sizeof(struct st_result *));
	enum st_status status;

	if (!results)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	st_console_catch_ends(NULL);
	status = st_ask_open(results, args, request, err);
	if (!status)
		status = build_and_write(args, request, results, failed, err);
	for (uint32_t i = 0; i < count; i++)
		st_result_close(results[i]);
	free(results);
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
	struct st_request request = {0};
	enum st_status status;
	bool failed = false;

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
	status = st_request_parse(&request, args, &err);
	if (status == ST_OK)
		status = answer(args, &request, &failed, &err);
	st_request_fini(&request);
	if (status)
		return st_console_fail(&err);
	return failed ? ST_EXIT_ABOVE : ST_EXIT_OK;
}
