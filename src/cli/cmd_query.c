/* SPDX-License-Identifier: Apache-2.0
 *
 * strata query: hands SQL to analyze and has export write the rows. Ctrl-C ends the query at once.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/tables/report.h"
#include "analyze/sql/sql.h"
#include "base/buf.h"
#include "request/command.h"
#include "request/console.h"
#include "request/locate.h"
#include "request/options.h"
#include "request/output.h"
#include "request/values.h"
#include "store/result.h"

enum { MEMORY_MAX_MB = 1 << 20, TEXT_COLUMNS_MAX = 48, SCHEMA_MAX_BYTES = 1 << 20 };

struct request {
	const char *sql;
	const char *result_word;
	uint64_t memory_mb;
	struct st_output output;
};

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

/* "query SQL", "query RESULT SQL", "query SQL RESULT", "-query SQL [RESULT]". */
static enum st_status parse_words(const struct st_args *args, struct request *request,
				  struct st_error *err)
{
	const char *words[2] = {NULL, NULL};
	size_t count = 0;

	request->sql = st_args_value(args, ST_OPT_QUERY);
	for (size_t i = 0; i < args->word_count; i++) {
		if (count == (request->sql ? 1 : 2))
			return st_error_set(err, ST_EUSAGE, 0,
					    "unexpected argument '%.80s': put the SQL in quotes "
					    "and give one result",
					    args->words[i]);
		words[count++] = args->words[i];
	}
	if (request->sql) {
		request->result_word = words[0];
		return ST_OK;
	}
	if (count == 2 && st_locate_is_folder(words[0])) {
		request->result_word = words[0];
		request->sql = words[1];
	} else {
		request->sql = words[0];
		request->result_word = words[1];
	}
	if (!request->sql || (count == 1 && st_locate_is_folder(request->sql)))
		return st_error_set(err, ST_EUSAGE, 0,
				    "query requires SQL in quotes: strata query \"SELECT count(*) "
				    "FROM slices\" ('strata query --schema' lists the tables)");
	return ST_OK;
}

static enum st_status parse_request(const struct st_args *args, struct request *request,
				    struct st_error *err)
{
	const char *memory = st_args_value(args, ST_OPT_MEMORY_LIMIT);
	enum st_status status = parse_words(args, request, err);

	request->memory_mb = ST_SQL_MEMORY_MB;
	if (status == ST_OK && memory)
		status = st_value_count("memory-limit", memory, ST_SQL_MEMORY_MB_MIN, MEMORY_MAX_MB,
					&request->memory_mb, err);
	if (status == ST_OK)
		status = st_output_parse(&request->output, args, err);
	return status;
}

/* The first Ctrl-C ends the query in order; a second one ends strata. */
static enum st_status ask(const struct request *request, const struct st_result *result,
			  struct st_report *out, struct st_error *err)
{
	struct st_sql_options options = {.memory_bytes = request->memory_mb * 1000000,
					 .stopped = is_interrupted};
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;
	struct st_sql *sql;
	enum st_status status = st_sql_open(&sql, result, &options, err);

	if (status)
		return status;
	sigemptyset(&action.sa_mask);
	/* Who started strata with Ctrl-C ignored wants it ignored. */
	if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaction(SIGINT, &action, NULL);
	status = st_sql_ask(sql, request->sql, out, err);
	sigaction(SIGINT, &before, NULL);
	st_sql_close(sql);
	return status;
}

static enum st_status write_rows(const struct request *request, const struct st_report *report,
				 const struct st_result *result, struct st_error *err)
{
	if (request->output.format == ST_OUTPUT_TEXT && report->column_count > TEXT_COLUMNS_MAX)
		return st_error_set(err, ST_EUSAGE, 0,
				    "%u columns are too many for a text table (maximum %d): select "
				    "fewer columns, or use -format csv or json",
				    report->column_count, TEXT_COLUMNS_MAX);
	return st_output_write(&request->output, report, result, err);
}

static enum st_status answer(const struct st_args *args, const struct request *request,
			     struct st_error *err)
{
	struct st_result *result;
	struct st_report report = {0};
	enum st_status status;

	st_console_catch_ends(end_interrupted);
	status = st_locate_open(&result, args, request->result_word, err);
	if (status)
		return status;
	st_busy_begin(st_args_flag(args, ST_OPT_QUIET, false), "asking");
	status = ask(request, result, &report, err);
	st_busy_end();
	if (status == ST_OK) {
		status = write_rows(request, &report, result, err);
		st_report_fini(&report);
	}
	st_result_close(result);
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
	struct request request = {0};
	enum st_status status;

	if (st_args_flag(args, ST_OPT_SCHEMA, false))
		return print_schema();
	status = parse_request(args, &request, &err);
	if (status == ST_OK)
		status = answer(args, &request, &err);
	st_output_fini(&request.output);
	if (status && interrupted) {
		st_console_error("%s", err.text);
		return ST_EXIT_INTERRUPTED;
	}
	return status ? st_console_fail(&err) : ST_EXIT_OK;
}
