/* SPDX-License-Identifier: Apache-2.0
 *
 * strata report: turns options into a question, asks analyze, and has export write the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "analyze/quality.h"
#include "analyze/report.h"
#include "base/buf.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/locate.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/question_args.h"
#include "cli/values.h"
#include "cli/view_args.h"
#include "store/result.h"
#include "store/samples.h"

/* Columns of a timeline beside its bins (name, share, count), and how many bins it may have. */
enum { TIMELINE_FRAME = 50, TIMELINE_BINS_MIN = 10, TIMELINE_BINS_MAX = 60 };

struct request {
	const char *name;
	const char *result_word; /* a plain word that names the result, or NULL */
	const char *second;	 /* another one, to compare with, or NULL */
	bool is_default;	 /* nobody named the report */
	struct st_report_options options;
	struct st_filter *filters; /* owned; texts are argv's */
	const char *columns;	   /* as typed, or NULL */
	struct st_view_args view;
	struct st_output output;
};

/* Reports users of VTune will ask for and which need data this version does not record. */
static const char *const later_reports[] = {
	"affinity",  "exec-query", "gprof-cc", "hw-events", "platform-power-analysis",
	"vectspots", "wait-time",
};

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

static const struct st_report_kind *kind_of(const char *name)
{
	for (const struct st_report_kind *kind = st_report_kinds; name && kind->name; kind++)
		if (strcmp(name, kind->name) == 0)
			return kind;
	return NULL;
}

/* The report that is asked about, if any. */
static const struct st_report_kind *asked_kind(const struct st_args *args)
{
	const char *name = st_args_value(args, ST_OPT_REPORT);

	return kind_of(!name && args->word_count ? args->words[0] : name);
}

/* What the report can be grouped by: of the result at hand what it can answer, without one everything. */
static enum st_status print_groupings(const struct st_args *args, struct st_error *err)
{
	const char *name = st_args_value(args, ST_OPT_REPORT);
	const struct st_report_kind *kind = asked_kind(args);
	const char *word = args->word_count > (name ? 0u : 1u) ? args->words[name ? 0 : 1] : NULL;
	bool is_named = word || st_args_value(args, ST_OPT_RESULT_DIR);
	uint64_t set = UINT64_MAX;
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
		if (set & ST_BIT(i))
			printf("%-14s %s\n", st_grouping_info(i)->name, st_grouping_info(i)->title);
	return ST_OK;
}

static void print_metrics(const struct st_report_kind *kind)
{
	uint64_t set = kind ? st_report_metrics(kind) : UINT64_MAX;

	for (unsigned int i = 0; i < ST_METRICS; i++)
		if (set & ST_BIT(i))
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

static enum st_status unknown_report(const char *typed, struct st_error *err)
{
	const char *names[32];
	size_t count = 0;
	char near[160];

	for (size_t i = 0; i < sizeof(later_reports) / sizeof(later_reports[0]); i++)
		if (strcmp(typed, later_reports[i]) == 0)
			return st_error_set(
				err, ST_EUSAGE, 0,
				"report '%s' is not available yet in this version; 'strata report "
				"?' lists what is",
				typed);
	for (const struct st_report_kind *kind = st_report_kinds; kind->name && count < 32; kind++)
		names[count++] = kind->name;
	st_near_text(typed, names, count, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown report '%.80s'%s%s", typed, near,
			    near[0] ? "" : "; 'strata report ?' lists them");
}

static bool is_report(const char *word)
{
	return kind_of(word);
}

/* "compare [NAME] A B". */
static enum st_status parse_compare_words(const struct st_args *args, struct request *request,
					  struct st_error *err)
{
	size_t next = args->word_count == 3 ? 1 : 0;

	request->is_default = !next;
	request->name = next ? args->words[0] : "hotspots";
	if (!is_report(request->name))
		return unknown_report(request->name, err);
	if (args->word_count != next + 2)
		return st_error_set(err, ST_EUSAGE, 0,
				    "compare needs two results: strata compare r000hs r001hs");
	request->result_word = args->words[next];
	request->second = args->words[next + 1];
	return ST_OK;
}

/* "-r A -r B" in a report. */
static enum st_status parse_second(const struct st_args *args, struct request *request,
				   struct st_error *err)
{
	const char *named[2] = {NULL, NULL};
	size_t count = 0;

	for (size_t i = 0; i < args->given_count; i++) {
		if (args->given[i].id != ST_OPT_RESULT_DIR)
			continue;
		if (count == 2)
			return st_error_set(err, ST_EUSAGE, 0,
					    "two results can be compared, not more");
		named[count++] = args->given[i].value;
	}
	if (count < 2)
		return ST_OK;
	if (request->result_word)
		return st_error_set(err, ST_EUSAGE, 0, "two results can be compared, not more");
	request->result_word = named[0];
	request->second = named[1];
	return ST_OK;
}

/* "report NAME [RESULT]", "-report NAME … [RESULT]" and, for the summary, just "report RESULT". */
static enum st_status parse_words(const struct st_args *args, struct request *request,
				  struct st_error *err)
{
	size_t next = 0;

	if (args->command == ST_IN_COMPARE)
		return parse_compare_words(args, request, err);

	request->name = st_args_value(args, ST_OPT_REPORT);
	if (!request->name && args->word_count)
		request->name = args->words[next++];
	if (!request->name)
		return st_error_set(err, ST_EUSAGE, 0,
				    "report needs a name: strata report summary ('strata report ?' "
				    "lists them)");
	if (!is_report(request->name) && next == 1 && args->word_count == 1 &&
	    st_locate_is_folder(request->name)) {
		request->result_word = request->name;
		request->name = "summary";
		return ST_OK;
	}
	if (!is_report(request->name))
		return unknown_report(request->name, err);
	/* "report source train.py": a word that is no result names what is shown. */
	if (next < args->word_count && kind_of(request->name)->accepts & ST_ACCEPTS_OBJECT &&
	    !st_locate_is_folder(args->words[next])) {
		if (strcmp(request->name, "source") == 0)
			request->options.object.source_file = args->words[next++];
		else
			request->options.object.function = args->words[next++];
	}
	if (next < args->word_count)
		request->result_word = args->words[next++];
	if (next < args->word_count)
		return st_error_set(err, ST_EUSAGE, 0,
				    "'%.80s' is one word too many: one result at a time",
				    args->words[next]);
	return ST_OK;
}

static enum st_status parse_sort(const struct st_args *args, struct request *request,
				 struct st_error *err)
{
	const struct st_report_kind *kind = kind_of(request->name);
	struct st_question *question = &request->options.question;
	const char *descending = st_args_value(args, ST_OPT_SORT_DESC);
	const char *text = st_args_value(args, ST_OPT_SORT_ASC);

	if (descending && text)
		return st_error_set(err, ST_EUSAGE, 0,
				    "-sort-desc and -sort-asc exclude each other");
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
		status = st_report_metric_parse(kind, (struct st_text){text, size},
						&question->sort[question->sort_count], err);
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
			    "-report-knob torch-folding: expected true or false; not '%.60s'",
			    value);
}

static enum st_status parse_report_knobs(const struct st_args *args, struct request *request,
					 struct st_error *err)
{
	for (size_t i = 0; i < args->given_count; i++) {
		char name[64];
		const char *value;
		uint64_t count;
		enum st_status status;

		if (args->given[i].id != ST_OPT_REPORT_KNOB)
			continue;
		status = st_value_pair("report-knob", args->given[i].value, name, sizeof(name),
				       &value, err);
		if (status)
			return status;
		if (strcmp(name, "cpu-classes") == 0) {
			request->options.view.class_rules = value;
			continue;
		}
		if (strcmp(name, "torch-folding") == 0) {
			status = parse_truth(value, &request->options.torch_folding, err);
			if (status)
				return status;
			continue;
		}
		if (strcmp(name, "bin-count") != 0 && strcmp(name, "bin_count") != 0)
			return st_error_set(err, ST_EUSAGE, 0,
					    "unknown report knob '%s'; there are bin-count, "
					    "cpu-classes and torch-folding",
					    name);
		status = st_value_count("report-knob bin-count", value, 1, 100000, &count, err);
		if (status)
			return status;
		request->options.bin_count = (uint32_t)count;
	}
	return ST_OK;
}

static enum st_status parse_object(const struct st_args *args, struct request *request,
				   struct st_error *err)
{
	struct st_source_object *object = &request->options.object;

	for (size_t i = 0; i < args->given_count; i++) {
		char name[64];
		const char *value;
		enum st_status status;

		if (args->given[i].id != ST_OPT_SOURCE_OBJECT)
			continue;
		status = st_value_pair("source-object", args->given[i].value, name, sizeof(name),
				       &value, err);
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
					    "-source-object %.64s: there are function, source-file "
					    "and module",
					    name);
	}
	return ST_OK;
}

static enum st_status parse_question(const struct st_args *args, struct request *request,
				     struct st_error *err)
{
	struct st_question *question = &request->options.question;
	const char *limit = st_args_value(args, ST_OPT_LIMIT);
	uint64_t offered = UINT64_MAX;
	enum st_status status = st_report_groupings(kind_of(request->name), NULL, &offered, err);

	if (!offered)
		offered = UINT64_MAX; /* a report without groupings says so itself */
	if (status == ST_OK)
		status = st_question_args(args, offered, question, &request->filters, err);
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
static void fit_timeline(struct request *request)
{
	unsigned int width = request->output.style.width;

	if (strcmp(request->name, "timeline") != 0 || request->output.format != ST_OUTPUT_TEXT ||
	    request->options.bin_count || !width || width >= TIMELINE_FRAME + TIMELINE_BINS_MAX)
		return;
	request->options.bin_count = width > TIMELINE_FRAME + TIMELINE_BINS_MIN
					     ? width - TIMELINE_FRAME
					     : TIMELINE_BINS_MIN;
}

static enum st_status parse_request(const struct st_args *args, struct request *request,
				    struct st_error *err)
{
	enum st_status status = parse_words(args, request, err);

	if (status == ST_OK)
		status = parse_second(args, request, err);
	if (status == ST_OK)
		status = st_output_parse(&request->output, args, err);
	if (status == ST_OK)
		status = parse_question(args, request, err);
	if (status == ST_OK)
		status = st_view_args_parse(&request->view, args, &request->options.view, err);
	request->columns = st_args_value(args, ST_OPT_COLUMN);
	if (status == ST_OK)
		fit_timeline(request);
	return status;
}

static enum st_status answer(const struct st_args *args, const struct request *request,
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

static enum st_status write_comparison(const struct request *request,
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

static enum st_status compare(const struct st_args *args, const struct request *request,
			      struct st_error *err)
{
	bool quiet = st_args_flag(args, ST_OPT_QUIET, false);
	struct st_result *results[2] = {NULL, NULL};
	enum st_status status;

	if (!can_compare(request->name))
		return st_error_set(
			err, ST_EUSAGE, 0,
			"report %s takes one result: summary, hotspots, top-down, callstacks "
			"and tasks can compare two",
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
			return st_error_set(err, ST_EUSAGE, 0, "report %s cannot be asked with -%s",
					    kind->name, st_option_at(lists[i].option)->name);
	}
	return ST_OK;
}

int st_cmd_report(const struct st_args *args)
{
	struct st_error err = {0};
	struct request request = {0};
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
	status = parse_request(args, &request, &err);
	if (status == ST_OK)
		status = request.second ? compare(args, &request, &err)
					: answer(args, &request, &err);
	free(request.filters);
	st_view_args_fini(&request.view);
	st_output_fini(&request.output);
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
