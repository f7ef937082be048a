/* SPDX-License-Identifier: Apache-2.0
 *
 * strata import: a file of another profiler, one result.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "request/options.h"
#include "collect/import/import.h"

enum { COMMAND_MAX_BYTES = 1 << 16 };

static void say(const char *result, const struct st_import_counts *counts)
{
	if (counts->slices)
		st_console_say("imported %" PRIu64 " events of %" PRIu64
			       " threads and device streams into %s",
			       counts->slices, counts->threads, result);
	else
		st_console_say("imported %" PRIu64 " samples from %" PRIu64
			       " threads (%.3f s of CPU time) into %s",
			       counts->samples, counts->threads, (double)counts->cpu_ns / 1e9,
			       result);
	if (counts->idle)
		st_console_say("note: %" PRIu64 " samples of idle CPUs were skipped", counts->idle);
	if (counts->other)
		st_console_say("note: %" PRIu64 " samples of other events were skipped",
			       counts->other);
	if (counts->lost)
		st_console_say("note: perf lost %" PRIu64 " records while recording", counts->lost);
	if (counts->torn)
		st_console_say("note: the file is cut off inside of its list of events");
	if (counts->clipped)
		st_console_say(
			"note: %" PRIu64
			" calls of Python functions end after the call around them; they were cut",
			counts->clipped);
	if (counts->skipped)
		st_console_say("note: %" PRIu64
			       " lines or records were not recognized and were skipped",
			       counts->skipped);
}

static enum st_status import(const struct st_args *args, const char *path, struct st_error *err)
{
	bool quiet = st_args_flag(args, ST_OPT_QUIET, false);
	struct st_import_counts counts;
	struct st_import_options options = {.path = path,
					    .result_dir = st_args_value(args, ST_OPT_RESULT_DIR),
					    .version = ST_VERSION};
	enum st_status status;
	struct st_buf command;
	char *result;

	st_buf_init(&command, COMMAND_MAX_BYTES);
	st_buf_append_text(&command, "strata import ");
	st_quote_word(&command, path);
	st_buf_append_u8(&command, 0);
	options.command = command.failed ? NULL : (const char *)command.data;
	st_progress_begin(quiet);
	options.progress = st_progress_show;
	status = st_import_file(&options, &result, &counts, err);
	st_progress_end();
	st_buf_fini(&command);
	if (!status && !quiet)
		say(result, &counts);
	free(result);
	return status;
}

int st_cmd_import(const struct st_args *args)
{
	struct st_error err = {0};
	enum st_status status;

	if (args->word_count != 1)
		status = st_error_set(
			&err, ST_EUSAGE, 0,
			args->word_count ? "unexpected argument '%.80s': only one file can be given"
					 : "import requires a file: strata import perf.data%s",
			args->word_count ? args->words[1] : "");
	else
		status = import(args, args->words[0], &err);
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
