/* SPDX-License-Identifier: Apache-2.0
 *
 * The words and options of a report as a question: what strata report reads, and the library too.
 */
#include <stdlib.h>
#include <string.h>

#include "request/locate.h"
#include "request/options.h"
#include "request/parts.h"
#include "request/values.h"

/* Columns of a timeline beside its bins (name, share, count), and how many bins it may have. */
enum { TIMELINE_FRAME = 50, TIMELINE_BINS_MIN = 10, TIMELINE_BINS_MAX = 60 };

/* Reports users of VTune will ask for and which need data this version does not record. */
static const char *const later_reports[] = {
	"affinity",  "exec-query", "gprof-cc", "hw-events", "platform-power-analysis",
	"vectspots", "wait-time",
};

const struct st_report_kind *st_report_kind_of(const char *name)
{
	return st_row_find(st_report_kinds, sizeof(*st_report_kinds), name);
}

enum st_status st_report_unknown(const char *typed, struct st_error *err)
{
	char near[160];

	for (size_t i = 0; i < sizeof(later_reports) / sizeof(later_reports[0]); i++)
		if (strcmp(typed, later_reports[i]) == 0)
			return st_error_set(err, ST_EUSAGE, 0,
					    "report '%s' is not available in this version; 'strata "
					    "report ?' lists the reports",
					    typed);
	st_row_near(st_report_kinds, sizeof(*st_report_kinds), typed, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown report '%.80s'%s%s", typed, near,
			    near[0] ? "" : "; 'strata report ?' lists them");
}

/* "report NAME [RESULT]", "-report NAME … [RESULT]" and, for the summary, just "report RESULT". */
static enum st_status parse_words(const struct st_args *args, struct st_request *request,
				  struct st_error *err)
{
	size_t next = 0;

	if (args->command == ST_IN_COMPARE)
		return st_compare_args(request, args, err);

	request->name = st_args_value(args, ST_OPT_REPORT);
	if (!request->name && args->word_count)
		request->name = args->words[next++];
	if (!request->name)
		return st_error_set(err, ST_EUSAGE, 0,
				    "report requires a name: strata report summary ('strata report "
				    "?' lists them)");
	if (!st_report_kind_of(request->name) && next == 1 && args->word_count == 1 &&
	    st_locate_is_folder(request->name)) {
		request->result_word = request->name;
		request->name = "summary";
		return ST_OK;
	}
	if (!st_report_kind_of(request->name))
		return st_report_unknown(request->name, err);
	/* "report source train.py": a word that is no result names what is shown. */
	if (next < args->word_count &&
	    st_report_kind_of(request->name)->accepts & ST_ACCEPTS_OBJECT &&
	    !st_locate_is_folder(args->words[next])) {
		if (st_report_kind_of(request->name)->is_about_file)
			request->options.object.source_file = args->words[next++];
		else
			request->options.object.function = args->words[next++];
	}
	if (next < args->word_count)
		request->result_word = args->words[next++];
	if (next < args->word_count)
		return st_error_set(err, ST_EUSAGE, 0,
				    "unexpected argument '%.80s': only one result can be given",
				    args->words[next]);
	return ST_OK;
}

static enum st_status parse_sort(const struct st_args *args, struct st_request *request,
				 struct st_error *err)
{
	const struct st_report_kind *kind = st_report_kind_of(request->name);
	struct st_question *question = &request->options.question;
	const char *descending = st_args_value(args, ST_OPT_SORT_DESC);
	const char *text = st_args_value(args, ST_OPT_SORT_ASC);

	if (descending && text)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-sort-desc and -sort-asc cannot be combined");
	question->sort_ascending = text != NULL;
	if (descending)
		text = descending;
	while (text) {
		const char *comma = strchr(text, ',');
		size_t size = comma ? (size_t)(comma - text) : strlen(text);
		enum st_status status;

		if (question->sort_count == ST_QUESTION_SORT_MAX)
			return st_error_set(err, ST_EUSAGE, 0, "-sort-%s: at most %d metrics",
					    descending ? "desc" : "asc", ST_QUESTION_SORT_MAX);
		status = st_report_metric_parse(
			kind, (struct st_text){text, size}, &question->sort[question->sort_count],
			&question->sort_is_plain[question->sort_count], err);
		if (status)
			return status;
		question->sort_count++;
		text = comma ? comma + 1 : NULL;
	}
	return ST_OK;
}

static enum st_status parse_truth(const char *value, bool *out, struct st_error *err)
{
	*out = strcmp(value, "true") == 0;
	if (*out || strcmp(value, "false") == 0)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0,
			    "-report-knob torch-folding: expected true or false, not '%.60s'",
			    value);
}

static enum st_status parse_tree_percent(const char *value, double *out, struct st_error *err)
{
	char *end;

	*out = strtod(value, &end);
	if (end != value && !*end && *out >= 0 && *out <= 100)
		return ST_OK;
	return st_error_set(err, ST_EUSAGE, 0,
			    "-report-knob min-percent: expected a percentage between 0 and 100, "
			    "not '%.60s'",
			    value);
}

static enum st_status parse_report_knob(const char *text, struct st_request *request,
					struct st_error *err)
{
	struct st_report_options *options = &request->options;
	char name[64];
	const char *value;
	uint64_t count = 0;
	enum st_status status;

	if (st_torch_text(&options->torch, text))
		return ST_OK;
	status = st_value_pair("report-knob", text, name, sizeof(name), &value, err);
	if (status)
		return status;
	if (strcmp(name, "torch-folding") == 0)
		return parse_truth(value, &options->torch_folding, err);
	if (strcmp(name, "bin-count") == 0 || strcmp(name, "bin_count") == 0) {
		status = st_value_count("report-knob bin-count", value, 1, 100000, &count, err);
		options->bin_count = (uint32_t)count;
		return status;
	}
	if (strcmp(name, "min-percent") == 0)
		return parse_tree_percent(value, &request->output.style.tree_percent, err);
	if (strcmp(name, "max-depth") == 0) {
		status = st_value_count("report-knob max-depth", value, 0, 1000000, &count, err);
		request->output.style.tree_depth = (unsigned int)count;
		return status;
	}
	if (strcmp(name, "cpu-classes") != 0)
		return st_torch_knob(&options->torch, name, value, err);
	options->view.class_rules = value;
	return ST_OK;
}

static enum st_status parse_report_knobs(const struct st_args *args, struct st_request *request,
					 struct st_error *err)
{
	enum st_status status = ST_OK;
	const char *text;

	for (size_t at = 0; !status && (text = st_args_next(args, ST_OPT_REPORT_KNOB, &at));)
		status = parse_report_knob(text, request, err);
	return status;
}

static enum st_status parse_object(const struct st_args *args, struct st_request *request,
				   struct st_error *err)
{
	struct st_source_object *object = &request->options.object;
	const char *text, *value;
	char name[64];

	for (size_t at = 0; (text = st_args_next(args, ST_OPT_SOURCE_OBJECT, &at));) {
		enum st_status status =
			st_value_pair("source-object", text, name, sizeof(name), &value, err);

		if (status)
			return status;
		if (strcmp(name, "function") == 0)
			object->function = value;
		else if (strcmp(name, "source-file") == 0)
			object->source_file = value;
		else if (strcmp(name, "module") == 0)
			object->module = value;
		else
			return st_error_set(err, ST_EUSAGE, 0,
					    "-source-object: unknown key '%.64s'; expected "
					    "function, source-file or module",
					    name);
	}
	return ST_OK;
}

static enum st_status parse_question(const struct st_args *args, struct st_request *request,
				     struct st_error *err)
{
	struct st_question *question = &request->options.question;
	const char *limit = st_args_value(args, ST_OPT_LIMIT);
	struct st_set offered = {{0}};
	enum st_status status = st_report_groupings(st_report_kind_of(request->name), NULL,
						    ST_ASKED_GROUPS, &offered, err);

	if (st_set_is_empty(offered))
		offered = st_set_range(
			0, ST_GROUPINGS); /* a report without groupings says so itself */
	if (status == ST_OK)
		status = st_question_args(request, args, offered, err);
	if (status == ST_OK)
		status = parse_sort(args, request, err);
	if (status == ST_OK)
		status = parse_report_knobs(args, request, err);
	if (status == ST_OK)
		status = parse_object(args, request, err);
	if (status == ST_OK && limit)
		status = st_value_count("limit", limit, 1, UINT64_MAX, &question->limit, err);
	return status;
}

/* A timeline that nobody gave a number of bins takes as many as fit the line. */
static void fit_timeline(struct st_request *request)
{
	unsigned int width = request->output.style.width;

	if (st_report_kind_of(request->name)->layout != ST_LAYOUT_TIMELINE ||
	    request->output.format != ST_OUTPUT_TEXT || request->options.bin_count || !width ||
	    width >= TIMELINE_FRAME + TIMELINE_BINS_MAX)
		return;
	request->options.bin_count = width > TIMELINE_FRAME + TIMELINE_BINS_MIN
					     ? width - TIMELINE_FRAME
					     : TIMELINE_BINS_MIN;
}

enum st_status st_report_args(struct st_request *request, const struct st_args *args,
			      struct st_error *err)
{
	enum st_status status = parse_words(args, request, err);

	if (status == ST_OK && args->command == ST_IN_REPORT)
		status = st_compare_results(request, args, err);
	if (status == ST_OK)
		status = st_output_parse(&request->output, args, err);
	if (status == ST_OK)
		status = parse_question(args, request, err);
	if (status == ST_OK)
		status = st_view_args(request, args, err);
	if (status == ST_OK && request->sides.counts[0] &&
	    !st_report_kind_of(request->name)->is_comparable)
		status = st_error_set(
			err, ST_EUSAGE, 0,
			"report %s takes one result; only summary, steps, operators, hotspots, "
			"top-down, callstacks and tasks can compare two",
			request->name);
	request->columns = st_args_value(args, ST_OPT_COLUMN);
	/* People read texts; what programs read has everything. */
	request->options.view.folds_glue = request->output.format == ST_OUTPUT_TEXT &&
					   request->options.view.call_stack_mode != ST_STACK_ALL;
	if (status == ST_OK)
		fit_timeline(request);
	return status;
}
