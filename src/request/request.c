/* SPDX-License-Identifier: Apache-2.0
 *
 * One request, whatever its kind: read, answered, released.
 */
#include "request/request.h"

#include <stdlib.h>

#include "analyze/reports/compare.h"
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

static enum st_status compare(const struct st_request *request, struct st_result *const results[2],
			      struct st_request_rows *out, struct st_error *err)
{
	struct st_report_options options = request->options;
	struct st_comparison of = {&out->sides[0], &out->sides[1], results[0],
				   options.question.limit};
	const char *name = request->name;
	enum st_status status = ST_OK;

	if (request->is_default && !st_result_samples(results[0])->count &&
	    !st_result_samples(results[1])->count)
		name = "tasks";
	/* What a limit cuts off of one has to be there for the other. */
	options.question.limit = 0;
	for (size_t i = 0; i < 2 && !status; i++)
		status = st_report_build(results[i], name, &options, &out->sides[i], err);
	if (!status)
		status = st_report_compare(&of, &out->report, err);
	return status;
}

enum st_status st_request_build(const struct st_request *request,
				struct st_result *const results[2], struct st_request_rows *out,
				struct st_error *err)
{
	enum st_status status;

	if (request->command == ST_IN_QUERY)
		status = ask(request, results[0], &out->report, err);
	else if (results[1])
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
	st_report_fini(&answer->sides[0]);
	st_report_fini(&answer->sides[1]);
}
