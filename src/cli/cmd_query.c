/* SPDX-License-Identifier: Apache-2.0
 *
 * strata query: hands SQL to analyze and has export write the rows. Ctrl-C ends the query at once.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/sql/sql.h"
#include "base/buf.h"
#include "cli/ask.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "request/options.h"
#include "request/request.h"
#include "store/result.h"

enum { SCHEMA_MAX_BYTES = 1 << 20 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* Before the query itself has begun, and while its answer is written. */
static void end_interrupted(int number)
{
	static const char text[] = "strata: error: the query was stopped\n";

	if (number != SIGINT)
		return;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(ST_EXIT_INTERRUPTED);
	_exit(ST_EXIT_INTERRUPTED);
}

static bool is_interrupted(void *arg)
{
	(void)arg;
	return interrupted;
}

/* The first Ctrl-C ends the query in order; a second one ends strata. */
static enum st_status ask(const struct st_request *request, struct st_result *const *results,
			  struct st_request_rows *out, struct st_error *err)
{
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;
	enum st_status status;

	sigemptyset(&action.sa_mask);
	/* Who started strata with Ctrl-C ignored wants it ignored. */
	if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaction(SIGINT, &action, NULL);
	status = st_request_build(request, results, out, err);
	sigaction(SIGINT, &before, NULL);
	return status;
}

static enum st_status answer(const struct st_args *args, struct st_request *request,
			     struct st_error *err)
{
	struct st_result *results[1];
	struct st_request_rows rows = {0};
	enum st_status status;

	request->limits.stopped = is_interrupted;
	st_console_catch_ends(end_interrupted);
	status = st_ask_open(results, args, request, err);
	if (!status) {
		st_busy_begin(st_args_flag(args, ST_OPT_QUIET, false), "asking");
		status = ask(request, results, &rows, err);
		st_busy_end();
	}
	if (!status)
		status = st_ask_write(request, &rows.report, results[0], err);
	st_request_rows_fini(&rows);
	st_result_close(results[0]);
	return status;
}

static int print_schema(void)
{
	struct st_buf text;
	bool done;

	st_buf_init(&text, SCHEMA_MAX_BYTES);
	done = st_sql_schema(&text);
	if (done)
		fwrite(text.data, 1, text.size_bytes, stdout);
	else
		st_console_error("out of memory");
	st_buf_fini(&text);
	return done ? ST_EXIT_OK : ST_EXIT_FAILED;
}

int st_cmd_query(const struct st_args *args)
{
	struct st_error err = {0};
	struct st_request request = {0};
	enum st_status status;

	if (st_args_flag(args, ST_OPT_SCHEMA, false))
		return print_schema();
	status = st_request_parse(&request, args, &err);
	if (status == ST_OK)
		status = answer(args, &request, &err);
	st_request_fini(&request);
	if (status && interrupted) {
		st_console_error("%s", err.text);
		return ST_EXIT_INTERRUPTED;
	}
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
