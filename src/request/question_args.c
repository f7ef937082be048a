/* SPDX-License-Identifier: Apache-2.0
 *
 * -group-by, -filter and -time-filter.
 */
#include <stdlib.h>
#include <string.h>

#include "request/options.h"
#include "request/parts.h"
#include "request/values.h"

static enum st_status parse_groupings(const char *text, struct st_set offered,
				      struct st_question *question, struct st_error *err)
{
	while (text) {
		const char *comma = strchr(text, ',');
		size_t size = comma ? (size_t)(comma - text) : strlen(text);
		enum st_status status;

		if (question->grouping_count == ST_QUESTION_DEPTH_MAX)
			return st_error_set(err, ST_EUSAGE, 0, "-group-by: at most %d levels",
					    ST_QUESTION_DEPTH_MAX);
		status = st_grouping_parse(text, size, offered,
					   &question->groupings[question->grouping_count], err);
		if (status)
			return status;
		question->grouping_count++;
		text = comma ? comma + 1 : NULL;
	}
	return ST_OK;
}

static enum st_status parse_filter(const char *text, struct st_set offered, struct st_filter *out,
				   struct st_error *err)
{
	const char *equals = strchr(text, '=');
	size_t size;

	if (!equals || equals == text)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"-filter: expected grouping=value or grouping!=value, not '%.60s'", text);
	out->negate = equals[-1] == '!';
	size = (size_t)(equals - text) - (out->negate ? 1 : 0);
	out->pattern = equals + 1;
	return st_grouping_parse(text, size, offered, &out->grouping, err);
}

static enum st_status parse_filters(struct st_request *request, const struct st_args *args,
				    struct st_set offered, struct st_error *err)
{
	struct st_question *question = &request->options.question;
	enum st_status status = ST_OK;
	const char *text;

	request->filters = calloc(args->given_count + 1, sizeof(*request->filters));
	if (!request->filters)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	question->filters = request->filters;
	for (size_t at = 0; !status && (text = st_args_next(args, ST_OPT_FILTER, &at));)
		status = parse_filter(text, offered, &request->filters[question->filter_count++],
				      err);
	return status;
}

enum st_status st_question_args(struct st_request *request, const struct st_args *args,
				struct st_set offered, struct st_error *err)
{
	struct st_question *question = &request->options.question;
	const char *range = st_args_value(args, ST_OPT_TIME_FILTER);
	enum st_status status =
		parse_groupings(st_args_value(args, ST_OPT_GROUP_BY), offered, question, err);

	if (status == ST_OK)
		status = parse_filters(request, args, offered, err);
	if (status == ST_OK && range) {
		question->has_time_range = true;
		status = st_value_time_range("time-filter", range, &question->time_begin_ns,
					     &question->time_end_ns, err);
	}
	return status;
}
