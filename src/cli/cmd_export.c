/* SPDX-License-Identifier: Apache-2.0
 *
 * strata export: one result, one format of another tool, one file.
 */
#include <stdio.h>
#include <string.h>

#include "request/command.h"
#include "request/console.h"
#include "request/export_args.h"
#include "request/locate.h"
#include "request/options.h"
#include "export/export.h"
#include "store/result.h"

static enum st_status write_export(const struct st_export_args *request,
				   const struct st_result *result, bool quiet, struct st_error *err)
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

static enum st_status run(const struct st_args *args, struct st_export_args *request,
			  struct st_error *err)
{
	struct st_result *result;
	enum st_status status = st_export_args_parse(request, args, err);

	if (status)
		return status;
	st_console_catch_ends(NULL);
	status = st_locate_open(&result, args, request->result_word, err);
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
	struct st_export_args request = {0};
	const char *format = st_args_value(args, ST_OPT_EXPORT);
	enum st_status status;

	if (!format && args->word_count)
		format = args->words[0];
	if (format && strcmp(format, "?") == 0) {
		for (const struct st_exporter *exporter = st_exporters; exporter->name; exporter++)
			printf("%-16s %s\n", exporter->name, exporter->summary);
		return ST_EXIT_OK;
	}
	status = run(args, &request, &err);
	st_export_args_fini(&request);
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
