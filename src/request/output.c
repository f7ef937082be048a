/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a report goes and in which form: -format, -csv-delimiter, -report-output and -report-width mean
 * the same to every command that prints rows.
 */
#include "request/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/quality.h"
#include "analyze/tables/report.h"
#include "base/buf.h"
#include "request/options.h"
#include "request/values.h"

/* A tree for people: what is worth a line. */
enum { TREE_PERCENT = 1, TREE_DEPTH = 40 };

static const char *const format_names[ST_OUTPUTS] = {"text", "csv", "json"};
static const char *const format_suffixes[ST_OUTPUTS] = {".txt", ".csv", ".json"};

static enum st_status parse_format(const struct st_args *args, struct st_output *output,
				   struct st_error *err)
{
	const char *typed = st_args_value(args, ST_OPT_FORMAT);

	output->format = ST_OUTPUT_TEXT;
	if (!typed)
		return ST_OK;
	for (unsigned int i = 0; i < ST_OUTPUTS; i++) {
		if (strcmp(typed, format_names[i]) == 0) {
			output->format = i;
			return ST_OK;
		}
	}
	return st_error_set(err, ST_EUSAGE, 0, "-format: expected text, csv or json, not '%.60s'",
			    typed);
}

static enum st_status parse_delimiter(const struct st_args *args, struct st_output *output,
				      struct st_error *err)
{
	static const struct {
		const char *name;
		char byte;
	} words[] = {{"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"colon", ':'}};
	const char *typed = st_args_value(args, ST_OPT_CSV_DELIMITER);

	output->delimiter = ',';
	if (!typed)
		return ST_OK;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(typed, words[i].name) == 0) {
			output->delimiter = words[i].byte;
			return ST_OK;
		}
	}
	/* A quote, a line end or a letter would make a file that no reader takes apart again. */
	if (typed[0] && !typed[1] && strchr(",;:|\t !#$%&/^~", typed[0])) {
		output->delimiter = typed[0];
		return ST_OK;
	}
	return st_error_set(err, ST_EUSAGE, 0,
			    "-csv-delimiter: expected comma, tab, semicolon, colon or a single "
			    "character such as '|', not '%.60s'",
			    typed);
}

/* Where the report goes; a name without a suffix gets the format's. */
static enum st_status parse_output(const struct st_args *args, struct st_output *output,
				   struct st_error *err)
{
	const char *given = st_args_value(args, ST_OPT_REPORT_OUTPUT);
	const char *path = given ? given : "-";
	const char *slash = strrchr(path, '/');
	const char *suffix = "";
	size_t size;

	if (slash && !slash[1])
		return st_error_set(err, ST_EUSAGE, 0, "-report-output: %.200s is a folder", given);
	if (given && strcmp(given, "-") != 0 && !strchr(slash ? slash : given, '.'))
		suffix = format_suffixes[output->format];
	size = strlen(path) + strlen(suffix) + 1;
	output->path = malloc(size);
	if (!output->path)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	snprintf(output->path, size, "%s%s", path, suffix);
	return ST_OK;
}

static enum st_status parse_style(const struct st_args *args, struct st_output *output,
				  struct st_error *err)
{
	const char *width = st_args_value(args, ST_OPT_REPORT_WIDTH);
	/* The analyser does not know that st_error_set never returns ST_OK. */
	bool to_stdout = output->path && strcmp(output->path, "-") == 0;
	uint64_t columns = 0;
	enum st_status status;

	output->style.colour = to_stdout && args->has_colour;
	output->style.width = to_stdout ? args->screen_width : 0;
	output->style.program = args->program;
	output->style.tree_percent = TREE_PERCENT;
	output->style.tree_depth = TREE_DEPTH;
	output->style.tree_values = st_args_value(args, ST_OPT_SHOW_AS) != NULL;
	if (width) {
		status = st_value_count("report-width", width, 0, 100000, &columns, err);
		if (status)
			return status;
		output->style.width = (unsigned int)columns;
	}
	return ST_OK;
}

enum st_status st_output_parse(struct st_output *output, const struct st_args *args,
			       struct st_error *err)
{
	enum st_status status = parse_format(args, output, err);

	if (status == ST_OK)
		status = parse_delimiter(args, output, err);
	if (status == ST_OK)
		status = parse_output(args, output, err);
	if (status == ST_OK)
		status = parse_style(args, output, err);
	return status;
}

void st_output_fini(struct st_output *output)
{
	free(output->path);
	output->path = NULL;
}

enum st_status st_output_write(const struct st_output *output, const struct st_report *report,
			       const struct st_result *result, struct st_sink *sink,
			       struct st_error *err)
{
	if (output->format == ST_OUTPUT_CSV)
		return st_report_write_csv(report, result, output->delimiter, sink, err);
	if (output->format == ST_OUTPUT_JSON)
		return st_report_write_json(report, result, sink, err);
	return st_report_write_text(report, result, &output->style, sink, err);
}

bool st_output_notes(const struct st_output *output, const struct st_report *report,
		     const struct st_result *result, struct st_buf *out)
{
	bool is_pure = output->format == ST_OUTPUT_CSV ||
		       (output->format == ST_OUTPUT_TEXT && report->torch && !report->as_table);

	if (is_pure && !st_quality_flaws(result, out))
		return false;
	for (uint32_t i = 0; is_pure && i < report->note_count; i++)
		st_buf_printf(out, "%s\n", report->notes[i]);
	return !out->failed;
}
