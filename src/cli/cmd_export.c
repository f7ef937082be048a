/* SPDX-License-Identifier: Apache-2.0
 *
 * strata export: one result, one format of another tool, one file.
 */
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "request/options.h"
#include "request/request.h"
#include "export/export.h"
#include "store/result.h"

static enum st_status write_export(const struct st_request *request, const struct st_result *result,
				   bool quiet, struct st_error *err)
{
	struct st_sink *sink;
	const char *empty;
	enum st_status status = st_sink_open(&sink, request->output.path, err);

	if (status)
		return status;
	st_progress_begin(quiet);
	st_sink_set_progress(sink, st_progress_show, NULL);
	status = st_export_write(request->exporter, result, &request->file, sink, err);
	st_progress_end();
	empty = status ? NULL : st_sink_empty(sink);
	/* A file without a byte is of no format. */
	if (empty && st_sink_is_unwritten(sink))
		status = st_error_set(err, ST_EUSAGE, 0, "nothing to write: %s", empty);
	status = st_sink_finish(sink, status, err);
	if (!status && empty)
		st_console_say("note: nothing in it: %s", empty);
	return status;
}

/* What could not be read is missing from the file, whose format has no place to say so. */
static void say_notes(const struct st_result *result)
{
	const struct st_quality *quality = st_result_quality(result);

	for (size_t i = 0; i < quality->note_count; i++)
		st_console_say("note: %s", quality->notes[i]);
}

static enum st_status run(const struct st_args *args, struct st_request *request,
			  struct st_error *err)
{
	struct st_result *results[1];
	enum st_status status = st_request_parse(request, args, err);

	if (status)
		return status;
	st_console_catch_ends(NULL);
	status = st_ask_open(results, args, request, err);
	if (!status)
		status = write_export(request, results[0], st_args_flag(args, ST_OPT_QUIET, false),
				      err);
	if (!status)
		say_notes(results[0]);
	st_result_close(results[0]);
	return status;
}

int st_cmd_export(const struct st_args *args)
{
	struct st_error err = {0};
	struct st_request request = {0};
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
	st_request_fini(&request);
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
