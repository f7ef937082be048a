/* SPDX-License-Identifier: Apache-2.0
 *
 * strata export: one result, one format of another tool, one file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/locate.h"
#include "cli/options.h"
#include "cli/question_args.h"
#include "cli/view_args.h"
#include "export/export.h"
#include "store/result.h"

static const struct st_exporter *find_exporter(const char *typed)
{
	for (const struct st_exporter *exporter = st_exporters; exporter->name; exporter++)
		if (strcmp(typed, exporter->name) == 0)
			return exporter;
	return NULL;
}

static enum st_status unknown_exporter(const char *typed, struct st_error *err)
{
	const char *names[32];
	size_t count = 0;
	char near[160];

	for (const struct st_exporter *exporter = st_exporters; exporter->name && count < 32;
	     exporter++)
		names[count++] = exporter->name;
	st_near_text(typed, names, count, near, sizeof(near));
	return st_error_set(err, ST_EUSAGE, 0, "unknown export format '%.80s'%s%s", typed, near,
			    near[0] ? "" : "; 'strata export ?' lists them");
}

struct request {
	const struct st_exporter *exporter;
	const char *path;
	struct st_export_options options;
	struct st_question question;
	struct st_filter *filters; /* owned */
	struct st_view_args view_args;
};

static bool has_suffix(const char *path, const char *suffix)
{
	size_t length = strlen(path), wanted = strlen(suffix);

	return length > wanted && strcmp(path + length - wanted, suffix) == 0;
}

/* An option that the format does not heed must not seem to have worked. */
static enum st_status refuse_options(const struct st_args *args, const struct st_exporter *exporter,
				     struct st_error *err)
{
	static const struct {
		enum st_option_id option;
		unsigned int needs;
	} takers[] = {
		{ST_OPT_GROUP_BY, ST_EXPORT_GROUPS},
		{ST_OPT_FILTER, ST_EXPORT_TAKES_SAMPLES},
		{ST_OPT_TIME_FILTER, ST_EXPORT_TAKES_SAMPLES},
		{ST_OPT_CALL_STACK_MODE, ST_EXPORT_SHOWS_STACKS},
		{ST_OPT_PYTHON_FRAMES, ST_EXPORT_SHOWS_STACKS},
		{ST_OPT_INLINE_MODE, ST_EXPORT_SHOWS_STACKS},
		{ST_OPT_REVERSE, ST_EXPORT_REVERSES},
	};

	for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
		if (st_args_has(args, takers[i].option) && !(exporter->flags & takers[i].needs))
			return st_error_set(err, ST_EUSAGE, 0, "export %s does not take -%s",
					    exporter->name, st_option_at(takers[i].option)->name);
	}
	return ST_OK;
}

static enum st_status parse_options(const struct st_args *args, struct request *request,
				    struct st_error *err)
{
	enum st_status status = refuse_options(args, request->exporter, err);

	if (!status)
		status = st_view_args_parse(&request->view_args, args, &request->options.view, err);
	if (!status)
		status = st_question_args(args, UINT64_MAX, &request->question, &request->filters,
					  err);
	request->options.question = &request->question;
	request->options.reverse = st_args_flag(args, ST_OPT_REVERSE, false);
	request->options.is_page =
		has_suffix(request->path, ".html") || has_suffix(request->path, ".htm");
	return status;
}

static enum st_status write_export(const struct request *request, const struct st_result *result,
				   bool quiet, struct st_error *err)
{
	struct st_progress progress;
	struct st_sink *sink;
	enum st_status status = st_sink_open(&sink, request->path, err);

	if (status)
		return status;
	st_progress_init(&progress, quiet);
	st_sink_set_progress(sink, st_progress_show, &progress);
	status = request->exporter->write(result, &request->options, sink, err);
	st_progress_fini(&progress);
	if (status) {
		st_sink_close(sink, false, NULL);
		return status;
	}
	return st_sink_close(sink, true, err);
}

/* What could not be read is missing from the file, whose format has no place to say so. */
static void say_notes(const struct st_result *result)
{
	const struct st_quality *quality = st_result_quality(result);

	for (size_t i = 0; i < quality->note_count; i++)
		st_console_say("note: %s", quality->notes[i]);
}

static enum st_status run(const struct st_args *args, struct request *request, struct st_error *err)
{
	const char *format = st_args_value(args, ST_OPT_EXPORT);
	struct st_result *result;
	size_t next = 0;
	enum st_status status;

	if (!format && args->word_count)
		format = args->words[next++];
	if (!format)
		return st_error_set(err, ST_EUSAGE, 0,
				    "export needs a format: strata export chrome -o FILE");
	request->path = st_args_value(args, ST_OPT_OUTPUT);
	request->exporter = find_exporter(format);
	if (!request->exporter)
		return unknown_exporter(format, err);
	if (!request->path)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"export needs a file: strata export %s -o FILE ('-' is standard output)",
			request->exporter->name);
	if (args->word_count > next + 1)
		return st_error_set(err, ST_EUSAGE, 0,
				    "'%.80s' is one word too many: one result at a time",
				    args->words[next + 1]);
	status = parse_options(args, request, err);
	if (status)
		return status;
	st_console_catch_ends(NULL);
	status = st_locate_open(&result, args, args->word_count > next ? args->words[next] : NULL,
				err);
	if (status)
		return status;
	status = write_export(request, result, st_args_flag(args, ST_OPT_QUIET, false), err);
	if (status == ST_OK)
		say_notes(result);
	st_result_close(result);
	return status;
}

int st_cmd_export(const struct st_args *args)
{
	struct st_error err = {0};
	struct request request = {0};
	const char *format = st_args_value(args, ST_OPT_EXPORT);
	enum st_status status;

	if (!format && args->word_count)
		format = args->words[0];
	if (format && strcmp(format, "?") == 0) {
		for (const struct st_exporter *exporter = st_exporters; exporter->name; exporter++)
			printf("%-14s %s\n", exporter->name, exporter->summary);
		return ST_EXIT_OK;
	}
	status = run(args, &request, &err);
	free(request.filters);
	st_view_args_fini(&request.view_args);
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
