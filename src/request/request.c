/* SPDX-License-Identifier: Apache-2.0
 *
 * One request, whatever its kind: read, answered, released.
 */
#include "request/request.h"

#include <stdlib.h>

#include "analyze/reports/compare.h"
#include "analyze/reports/report_kinds.h"
#include "request/options.h"
#include "request/parts.h"
#include "store/samples.h"

enum { TEXT_COLUMNS_MAX = 48 };

enum st_status st_request_parse(struct st_request *request, const struct st_args *args,
				struct st_error *err)
{
	request->command = args->command;
	if (args->command == ST_IN_EXPORT)
		return st_export_args(request, args, err);
	return args->command == ST_IN_QUERY ? st_query_args(request, args, err)
					    : st_report_args(request, args, err);
}

void st_request_fini(struct st_request *request)
{
	st_output_fini(&request->output);
	free(request->filters);
	free(request->facts);
	free(request->search);
	free(request->sides.paths);
	free(request->sides.texts);
}

static enum st_status ask(const struct st_request *request, const struct st_result *result,
			  struct st_report *out, struct st_error *err)
{
	struct st_sql *sql;
	enum st_status status = st_sql_open(&sql, result, &request->limits, err);

	if (status)
		return status;
	status = st_sql_ask(sql, request->sql, out, err);
	st_sql_close(sql);
	if (!status && request->output.format == ST_OUTPUT_TEXT &&
	    out->column_count > TEXT_COLUMNS_MAX)
		status = st_error_set(
			err, ST_EUSAGE, 0,
			"%u columns are too many for a text table (maximum %d): select "
			"fewer columns, or use -format csv or json",
			out->column_count, TEXT_COLUMNS_MAX);
	return status;
}

/* Without a name, what changed at all; with a grouping, filter or order, the report that these are for. */
static bool is_overview(const struct st_request *request)
{
	const struct st_question *question = &request->options.question;

	return request->is_default && !question->grouping_count && !question->filter_count &&
	       !question->sort_count && !question->has_time_range && !request->columns;
}

static const char *compared_name(const struct st_request *request, struct st_result *const *results)
{
	for (uint32_t i = 0; i < st_request_result_count(request); i++)
		if (st_result_samples(results[i])->count)
			return request->name;
	return request->is_default ? "tasks" : request->name;
}

static enum st_status compare_named(const struct st_request *request,
				    struct st_result *const *results, struct st_request_rows *out,
				    struct st_error *err)
{
	const char *name = compared_name(request, results);
	struct st_report_options options = request->options;
	uint32_t count = st_request_result_count(request);
	struct st_comparison of = {
		.counts = {request->sides.counts[0], request->sides.counts[1]},
		.paths = request->sides.paths,
		.result = results[0],
		.limit = options.question.limit,
		.keeps_order =
			options.question.sort_count > 0 || st_report_kind_of(name)->is_in_order,
		.is_first_minus_second = request->command == ST_IN_REPORT,
	};
	enum st_status status = ST_OK;

	out->runs = calloc(count, sizeof(*out->runs));
	if (!out->runs)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the comparison");
	/* What a limit cuts off of one has to be there for the other. An overview has nothing to be compared by. */
	options.question.limit = 0;
	if (st_report_kind_of(name)->is_about_waits)
		status = st_report_default(st_report_kind_of(name), &options.question, err);
	while (out->run_count < count && !status) {
		status = st_report_build(results[out->run_count], name, &options,
					 &out->runs[out->run_count], err);
		out->run_count += !status;
	}
	of.reports = out->runs;
	return status ? status : st_report_compare(&of, &out->report, err);
}

static enum st_status compare(const struct st_request *request, struct st_result *const *results,
			      struct st_request_rows *out, struct st_error *err)
{
	const struct st_changes_of of = {
		.runs = results,
		.counts = {request->sides.counts[0], request->sides.counts[1]},
		.paths = request->sides.paths,
		.limit = request->options.question.limit,
		.view = &request->options.view,
	};
	struct st_report changes = {0};
	enum st_status status;

	if (is_overview(request))
		return st_changes_build(&of, &out->report, &out->headline, err);
	status = compare_named(request, results, out, err);
	if (!status && request->fail_above > 0.0)
		status = st_changes_build(&of, &changes, &out->headline, err);
	st_report_fini(&changes);
	return status;
}

uint32_t st_request_result_count(const struct st_request *request)
{
	uint32_t count = request->sides.counts[0] + request->sides.counts[1];

	return count ? count : 1;
}

const char *st_request_path(const struct st_request *request, uint32_t index)
{
	return request->sides.counts[0] ? request->sides.paths[index] : request->result_word;
}

enum st_status st_request_build(const struct st_request *request, struct st_result *const *results,
				struct st_request_rows *out, struct st_error *err)
{
	enum st_status status;

	if (request->command == ST_IN_QUERY)
		status = ask(request, results[0], &out->report, err);
	else if (request->sides.counts[0])
		status = compare(request, results, out, err);
	else
		status = st_report_build(results[0], request->name, &request->options, &out->report,
					 err);
	if (!status && request->columns)
		status = st_report_choose_columns(&out->report, request->columns, err);
	return status;
}

void st_request_rows_fini(struct st_request_rows *answer)
{
	st_report_fini(&answer->report);
	for (uint32_t i = 0; i < answer->run_count; i++)
		st_report_fini(&answer->runs[i]);
	free(answer->runs);
}
