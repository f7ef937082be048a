/* SPDX-License-Identifier: Apache-2.0
 *
 * The way from a request to its answer, the same for every command that asks.
 */
#include "cli/ask.h"

#include <signal.h>

#include "base/buf.h"
#include "cli/console.h"
#include "request/locate.h"
#include "request/options.h"
#include "request/request.h"

enum { NOTES_MAX_BYTES = 1 << 20 };

enum st_status st_ask_open_path(struct st_result **out, const char *path, bool quiet,
				struct st_error *err)
{
	enum st_status status;

	/* A limit on file sizes shall be an error of the write, not the end of strata. No program is started
	 * after this, so nobody inherits it. */
	signal(SIGXFSZ, SIG_IGN);
	st_progress_begin(quiet);
	status = st_locate_open_path(out, path, st_progress_show, err);
	st_progress_end();
	return status;
}

enum st_status st_ask_open(struct st_result **out, const struct st_args *args,
			   const struct st_request *request, struct st_error *err)
{
	bool quiet = st_args_flag(args, ST_OPT_QUIET, false);
	uint32_t count = st_request_result_count(request);
	enum st_status status = ST_OK;

	for (uint32_t i = 0; i < count; i++)
		out[i] = NULL;
	for (uint32_t i = 0; i < count && !status; i++) {
		const char *path = st_request_path(request, i);

		if (!request->sides.counts[0])
			status = st_locate_name(&path, args, path, err);
		if (!status)
			status = st_ask_open_path(&out[i], path, quiet, err);
	}
	return status;
}

enum st_status st_ask_write(const struct st_request *request, const struct st_report *report,
			    const struct st_result *result, struct st_error *err)
{
	struct st_buf notes;
	struct st_sink *sink;
	enum st_status status = st_sink_open(&sink, request->output.path, err);

	if (status)
		return status;
	status = st_output_write(&request->output, report, result, sink, err);
	status = st_sink_finish(sink, status, err);
	if (status)
		return status;
	st_buf_init(&notes, NOTES_MAX_BYTES);
	if (st_output_notes(&request->output, report, result, &notes))
		st_console_say_lines("note", &notes);
	else
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the report's notes");
	st_buf_fini(&notes);
	return status;
}
