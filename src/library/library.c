/* SPDX-License-Identifier: Apache-2.0
 *
 * The few functions of libstrata.so over the same parts as the command line. The process is somebody else's: a
 * lock, one signal held back while files are written, and nothing else of it is touched.
 */
#include "library/strata.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/tables/report.h"
#include "analyze/sql/sql.h"
#include "base/buf.h"
#include "request/export_args.h"
#include "request/locate.h"
#include "request/options.h"
#include "request/report_args.h"
#include "export/export.h"
#include "resolve/functions.h"
#include "store/result.h"
#include "store/writer.h"

#define EXPORTED __attribute__((visibility("default")))

enum { SCHEMA_MAX_BYTES = 1 << 20 };

_Static_assert((int)STRATA_USAGE == (int)ST_EUSAGE && (int)STRATA_UNSUPPORTED == ST_EUNSUPPORTED,
	       "the statuses of the interface are ours");

struct strata_result {
	struct st_result *result;
};

/* SQLite's cap on memory, the names of functions and what reports keep in a result are not made for two at a time. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* A limit on file sizes is an error of the write, not the end of the program. */
struct guard {
	sigset_t only, before;
};

static void enter(struct guard *guard)
{
	pthread_mutex_lock(&turn);
	sigemptyset(&guard->only);
	sigaddset(&guard->only, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &guard->only, &guard->before);
}

static void leave(const struct guard *guard)
{
	const struct timespec at_once = {0, 0};

	if (!sigismember(&guard->before, SIGXFSZ))
		sigtimedwait(&guard->only, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
	pthread_mutex_unlock(&turn);
}

static int say(enum st_status status, const struct st_error *err, char **out)
{
	if (status && out)
		*out = strdup(err->text);
	return (int)status;
}

static enum st_status open_path(struct st_result **out, const char *path, struct st_error *err)
{
	const struct st_result_options options = {0};
	char *newest = NULL;
	enum st_status status = ST_OK;

	if (!path)
		status = st_result_newest(".", &newest, err);
	if (!status)
		status = st_result_open(out, path ? path : newest, &options, err);
	if (!status)
		st_resolve_functions(*out);
	free(newest);
	return status;
}

/* The document as a text of its own; also the end of the buffer. */
static enum st_status hand_over(struct st_buf *buf, char **out, struct st_error *err)
{
	if (!st_buf_append_u8(buf, '\0')) {
		st_buf_fini(buf);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	}
	*out = (char *)buf->data;
	return ST_OK;
}

static enum st_status write_report(const struct st_report *report, const struct st_result *result,
				   const struct st_text_style *style, char **out,
				   struct st_error *err)
{
	struct st_buf buf;
	struct st_sink *sink;
	enum st_status status;

	st_buf_init(&buf, SIZE_MAX / 4);
	status = st_sink_open_buf(&sink, &buf, err);
	if (status)
		return status;
	status = style ? st_report_write_text(report, result, style, sink, err)
		       : st_report_write_json(report, result, sink, err);
	if (status)
		st_sink_close(sink, false, NULL);
	else
		status = st_sink_close(sink, true, err);
	if (!status)
		return hand_over(&buf, out, err);
	st_buf_fini(&buf);
	return status;
}

static bool is_stopped(void *stop)
{
	return __atomic_load_n((const int *)stop, __ATOMIC_RELAXED) != 0;
}

static enum st_status ask(const struct st_result *result, const char *text,
			  const struct st_sql_options *options, char **out, struct st_error *err)
{
	struct st_report report = {0};
	struct st_sql *sql;
	enum st_status status = st_sql_open(&sql, result, options, err);

	if (status)
		return status;
	status = st_sql_ask(sql, text, &report, err);
	st_sql_close(sql);
	if (status)
		return status;
	status = write_report(&report, result, NULL, out, err);
	st_report_fini(&report);
	return status;
}

/* Options that are the command's, not the question's. */
static enum st_status refuse_places(const struct st_args *args,
				    const struct st_report_args *request, struct st_error *err)
{
	static const enum st_option_id places[] = {ST_OPT_RESULT_DIR, ST_OPT_FORMAT,
						   ST_OPT_REPORT_OUTPUT, ST_OPT_CSV_DELIMITER,
						   ST_OPT_REPORT};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (st_args_has(args, places[i]))
			return st_error_set(
				err, ST_EUSAGE, 0,
				"-%s is an option of the command line, not of an open result",
				st_option_at(places[i])->name);
	if (request->result_word)
		return st_error_set(err, ST_EUSAGE, 0, "unexpected argument '%.80s'",
				    request->result_word);
	return ST_OK;
}

static enum st_status build(const struct st_args *args, const struct st_result *result,
			    bool is_text, char **out, struct st_error *err)
{
	struct st_report_args request = {0};
	struct st_report report = {0};
	enum st_status status = st_report_args_parse(&request, args, err);

	if (!status)
		status = refuse_places(args, &request, err);
	if (!status)
		status = st_report_build(result, request.name, &request.options, &report, err);
	if (!status && request.columns)
		status = st_report_choose_columns(&report, request.columns, err);
	if (!status)
		status = write_report(&report, result, is_text ? &request.output.style : NULL, out,
				      err);
	st_report_fini(&report);
	st_report_args_fini(&request);
	return status;
}

/* The words as the command line would have them. argv is the caller's to free when they are no more needed. */
static enum st_status parse_words(struct st_args *args, const char ***argv, unsigned int command,
				  const char *const *words, size_t word_count, struct st_error *err)
{
	const char *const first[] = {"strata", command == ST_IN_EXPORT ? "export" : "report",
				     "-quiet"};
	enum { FIRST = sizeof(first) / sizeof(first[0]), WORDS_MAX = 4096 };

	if (word_count > WORDS_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "more than %d arguments", WORDS_MAX);
	*argv = calloc(FIRST + word_count + 1, sizeof(**argv));
	if (!*argv)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	memcpy(*argv, first, sizeof(first));
	if (word_count)
		memcpy(*argv + FIRST, words, word_count * sizeof(*words));
	/* The parser only reads them; its type is that of main. */
	return st_args_parse(args, command, (int)(FIRST + word_count), (char **)*argv, err);
}

static enum st_status report_by_words(const struct st_result *result, const char *const *words,
				      size_t word_count, bool is_text, char **out,
				      struct st_error *err)
{
	struct st_args args = {0};
	const char **argv = NULL;
	enum st_status status = parse_words(&args, &argv, ST_IN_REPORT, words, word_count, err);

	if (!status)
		status = build(&args, result, is_text, out, err);
	st_args_fini(&args);
	free(argv);
	return status;
}

static enum st_status export(const struct st_args *args, const struct st_result *result,
			     struct st_error *err) {
	struct st_export_args request = {0}; struct st_sink * sink;
	enum st_status status = st_export_args_parse(&request, args, err);

	if (!status && (request.result_word || st_args_has(args, ST_OPT_RESULT_DIR)))
		status = st_error_set(err, ST_EUSAGE, 0,
				      "the open result is exported; -result-dir cannot be given");
	if (!status && strcmp(request.path, "-") == 0)
		status = st_error_set(err, ST_EUSAGE, 0,
				      "an export requires a file, not standard output");
	if (!status) status = st_sink_open(&sink, request.path, err);
	if (!status){status = request.exporter->write(result, &request.options, sink, err);
		     if (status) st_sink_close(sink, false, NULL);
		     else status = st_sink_close(sink, true, err);}
st_export_args_fini(&request);
return status;
}

static enum st_status export_by_words(const struct st_result *result, const char *const *words,
				      size_t word_count, struct st_error *err)
{
	struct st_args args = {0};
	const char **argv = NULL;
	enum st_status status = parse_words(&args, &argv, ST_IN_EXPORT, words, word_count, err);

	if (!status)
		status = export(&args, result, err);
	st_args_fini(&args);
	free(argv);
	return status;
}

static int report(struct strata_result *result, const char *const *words, size_t word_count,
		  bool is_text, char **out)
{
	struct st_error err = {0};
	struct guard guard;
	enum st_status status;

	*out = NULL;
	enter(&guard);
	status = report_by_words(result->result, words, word_count, is_text, out, &err);
	leave(&guard);
	return say(status, &err, out);
}

EXPORTED unsigned int strata_abi_version(void)
{
	return STRATA_ABI;
}

EXPORTED const char *strata_version(void)
{
	return ST_VERSION;
}

EXPORTED int strata_open(const char *path, struct strata_result **out, char **error)
{
	struct strata_result *opened = calloc(1, sizeof(*opened));
	struct st_error err = {0};
	struct guard guard;
	enum st_status status;

	*out = NULL;
	if (error)
		*error = NULL;
	if (!opened)
		return STRATA_MEMORY;
	enter(&guard);
	status = open_path(&opened->result, path, &err);
	leave(&guard);
	if (status)
		free(opened);
	else
		*out = opened;
	return say(status, &err, error);
}

EXPORTED void strata_close(struct strata_result *result)
{
	struct guard guard;

	if (!result)
		return;
	enter(&guard);
	st_result_close(result->result);
	leave(&guard);
	free(result);
}

EXPORTED int strata_query_json(struct strata_result *result, const char *sql,
			       unsigned int memory_mb, const int *stop, char **out)
{
	const struct st_sql_options options = {.memory_bytes = memory_mb * UINT64_C(1000000),
					       .stopped = stop ? is_stopped : NULL,
					       .stopped_arg = (void *)stop};
	struct st_error err = {0};
	struct guard guard;
	enum st_status status;

	*out = NULL;
	enter(&guard);
	status = ask(result->result, sql, &options, out, &err);
	leave(&guard);
	return say(status, &err, out);
}

EXPORTED int strata_report_json(struct strata_result *result, const char *const *words,
				size_t word_count, char **out)
{
	return report(result, words, word_count, false, out);
}

EXPORTED int strata_report_text(struct strata_result *result, const char *const *words,
				size_t word_count, char **out)
{
	return report(result, words, word_count, true, out);
}

EXPORTED int strata_export(struct strata_result *result, const char *const *words,
			   size_t word_count, char **error)
{
	struct st_error err = {0};
	struct guard guard;
	enum st_status status;

	if (error)
		*error = NULL;
	enter(&guard);
	status = export_by_words(result->result, words, word_count, &err);
	leave(&guard);
	return say(status, &err, error);
}

EXPORTED char *strata_schema(void)
{
	struct st_buf text;

	st_buf_init(&text, SCHEMA_MAX_BYTES);
	if (st_sql_schema(&text) && st_buf_append_u8(&text, '\0'))
		return (char *)text.data;
	st_buf_fini(&text);
	return NULL;
}

EXPORTED void strata_free(void *text)
{
	free(text);
}
