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

#include "base/buf.h"
#include "request/locate.h"
#include "request/options.h"
#include "request/request.h"
#include "export/export.h"
#include "store/result.h"

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

/* Builds what is asked and hands it over in its form. */
static enum st_status answer(const struct st_request *request, struct st_result *result, char **out,
			     struct st_error *err)
{
	struct st_result *const results[1] = {result};
	struct st_request_rows rows = {0};
	struct st_buf buf;
	struct st_sink *sink = NULL;
	enum st_status status = st_request_build(request, results, &rows, err);

	st_buf_init(&buf, SIZE_MAX / 4);
	if (!status)
		status = st_sink_open_buf(&sink, &buf, err);
	if (!status) {
		status = st_output_write(&request->output, &rows.report, result, sink, err);
		status = st_sink_finish(sink, status, err);
	}
	st_request_rows_fini(&rows);
	if (!status)
		return hand_over(&buf, out, err);
	st_buf_fini(&buf);
	return status;
}

static bool is_stopped(void *stop)
{
	return __atomic_load_n((const int *)stop, __ATOMIC_RELAXED) != 0;
}

/* Options that are the command's, not the question's. */
static enum st_status refuse_places(const struct st_args *args, const struct st_request *request,
				    struct st_error *err)
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

static enum st_status refuse_file(const struct st_args *args, const struct st_request *request,
				  struct st_error *err)
{
	if (request->result_word || st_args_has(args, ST_OPT_RESULT_DIR))
		return st_error_set(err, ST_EUSAGE, 0,
				    "the open result is exported; -result-dir cannot be given");
	if (strcmp(request->output.path, "-") == 0)
		return st_error_set(err, ST_EUSAGE, 0,
				    "an export requires a file, not standard output");
	return ST_OK;
}

static enum st_status write_file(const struct st_request *request, const struct st_result *result,
				 struct st_error *err)
{
	struct st_sink *sink;
	enum st_status status = st_sink_open(&sink, request->output.path, err);

	if (status)
		return status;
	status = st_export_write(request->exporter, result, &request->file, sink, err);
	return st_sink_finish(sink, status, err);
}

/* out NULL: an export. */
static enum st_status ask_by_words(struct st_result *result, const char *const *words,
				   size_t word_count, enum st_output_format format, char **out,
				   struct st_error *err)
{
	unsigned int command = out ? ST_IN_REPORT : ST_IN_EXPORT;
	struct st_request request = {0};
	struct st_args args = {0};
	const char **argv = NULL;
	enum st_status status = parse_words(&args, &argv, command, words, word_count, err);

	if (!status)
		status = st_request_parse(&request, &args, err);
	if (!status)
		status = out ? refuse_places(&args, &request, err)
			     : refuse_file(&args, &request, err);
	request.output.format = format;
	if (!status)
		status = out ? answer(&request, result, out, err)
			     : write_file(&request, result, err);
	st_request_fini(&request);
	st_args_fini(&args);
	free(argv);
	return status;
}

static int report(struct strata_result *result, const char *const *words, size_t word_count,
		  enum st_output_format format, char **out)
{
	struct st_error err = {0};
	struct guard guard;
	enum st_status status;

	*out = NULL;
	enter(&guard);
	status = ask_by_words(result->result, words, word_count, format, out, &err);
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
	status = st_locate_open_path(&opened->result, path, NULL, &err);
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
	const struct st_request request = {
		.command = ST_IN_QUERY,
		.output.format = ST_OUTPUT_JSON,
		.sql = sql,
		.limits = {.memory_bytes = memory_mb * UINT64_C(1000000),
			   .stopped = stop ? is_stopped : NULL,
			   .stopped_arg = (void *)stop},
	};
	struct st_error err = {0};
	struct guard guard;
	enum st_status status;

	*out = NULL;
	enter(&guard);
	status = answer(&request, result->result, out, &err);
	leave(&guard);
	return say(status, &err, out);
}

EXPORTED int strata_report_json(struct strata_result *result, const char *const *words,
				size_t word_count, char **out)
{
	return report(result, words, word_count, ST_OUTPUT_JSON, out);
}

EXPORTED int strata_report_text(struct strata_result *result, const char *const *words,
				size_t word_count, char **out)
{
	return report(result, words, word_count, ST_OUTPUT_TEXT, out);
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
	status = ask_by_words(result->result, words, word_count, ST_OUTPUT_TEXT, NULL, &err);
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
