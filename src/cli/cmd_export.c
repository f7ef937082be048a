/* SPDX-License-Identifier: Apache-2.0
 *
 * strata export: one result, one format of another tool, one file.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/locate.h"
#include "cli/options.h"
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

static enum st_status write_export(const struct st_exporter *exporter,
				   const struct st_result *result, const char *path, bool quiet,
				   struct st_error *err)
{
	struct st_progress progress;
	struct st_sink *sink;
	enum st_status status = st_sink_open(&sink, path, err);

	if (status)
		return status;
	st_progress_init(&progress, quiet);
	st_sink_set_progress(sink, st_progress_show, &progress);
	status = exporter->write(result, sink, err);
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

static enum st_status run(const struct st_args *args, struct st_error *err)
{
	const char *format = st_args_value(args, ST_OPT_EXPORT);
	const char *path = st_args_value(args, ST_OPT_OUTPUT);
	const struct st_exporter *exporter;
	struct st_result *result;
	size_t next = 0;
	enum st_status status;

	if (!format && args->word_count)
		format = args->words[next++];
	if (!format)
		return st_error_set(err, ST_EUSAGE, 0,
				    "export needs a format: strata export chrome -o FILE");
	exporter = find_exporter(format);
	if (!exporter)
		return unknown_exporter(format, err);
	if (!path)
		return st_error_set(
			err, ST_EUSAGE, 0,
			"export needs a file: strata export %s -o FILE ('-' is standard output)",
			exporter->name);
	if (args->word_count > next + 1)
		return st_error_set(err, ST_EUSAGE, 0,
				    "'%.80s' is one word too many: one result at a time",
				    args->words[next + 1]);
	st_console_catch_ends(NULL);
	status = st_locate_open(&result, args, args->word_count > next ? args->words[next] : NULL,
				err);
	if (status)
		return status;
	status = write_export(exporter, result, path, st_args_flag(args, ST_OPT_QUIET, false), err);
	if (status == ST_OK)
		say_notes(result);
	st_result_close(result);
	return status;
}

int st_cmd_export(const struct st_args *args)
{
	struct st_error err = {0};
	const char *format = st_args_value(args, ST_OPT_EXPORT);

	if (!format && args->word_count)
		format = args->words[0];
	if (format && strcmp(format, "?") == 0) {
		for (const struct st_exporter *exporter = st_exporters; exporter->name; exporter++)
			printf("%-14s %s\n", exporter->name, exporter->summary);
		return ST_EXIT_OK;
	}
	return run(args, &err) ? st_console_fail(&err) : ST_EXIT_OK;
}
