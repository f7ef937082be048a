/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks by words. The words are parsed by the parser of the command line, so that a page and a shell mean the same by
 * them; those that name places of the machine are refused. The last reports are kept as they were built: opening a
 * row of a tree, or the next page of a table, asks for the same report again.
 */
#include "serve/ask.h"

#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "export/export.h"
#include "request/options.h"
#include "request/request.h"
#include "serve/ask_file.h"
#include "serve/ask_words.h"
#include "serve/verbs.h"
#include "store/result.h"

enum { KEPT_REPORTS = 6, PAGE_LIMIT_MAX = 100000, PAGE_LIMIT = 200 };

/* A report as it was built, with everything that its texts point into. */
struct built {
	struct st_words words;
	struct st_request_rows rows;
	uint64_t used; /* larger: later */
};

struct reports {
	struct built *items[KEPT_REPORTS];
	uint64_t clock;
};

static void built_destroy(struct built *built)
{
	if (!built)
		return;
	st_request_rows_fini(&built->rows);
	st_words_fini(&built->words);
	free(built);
}

static void reports_end(void *thing)
{
	struct reports *reports = thing;

	for (size_t i = 0; i < KEPT_REPORTS; i++)
		built_destroy(reports->items[i]);
	free(reports);
}

static struct reports *reports_of(struct st_verb_call *call)
{
	struct reports *reports = st_serve_kept_get(call->kept, "reports");

	if (reports)
		return reports;
	reports = calloc(1, sizeof(*reports));
	if (reports && !st_serve_kept_put(call->kept, "reports", reports, reports_end)) {
		free(reports);
		reports = NULL;
	}
	return reports;
}

/* The same words of the same command, already built; NULL: there is none. */
static struct built *find_built(struct reports *reports, const struct st_words *words)
{
	for (size_t i = 0; i < KEPT_REPORTS; i++) {
		struct built *built = reports->items[i];

		if (built && st_words_equal(&built->words, words)) {
			built->used = ++reports->clock;
			return built;
		}
	}
	return NULL;
}

static void keep_built(struct reports *reports, struct built *built)
{
	size_t oldest = 0;

	for (size_t i = 1; i < KEPT_REPORTS && reports->items[oldest]; i++)
		if (!reports->items[i] || reports->items[i]->used < reports->items[oldest]->used)
			oldest = i;
	built_destroy(reports->items[oldest]);
	built->used = ++reports->clock;
	reports->items[oldest] = built;
}

static enum st_status build(struct st_verb_call *call, struct reports *reports,
			    struct st_words *words, struct built **out, struct st_error *err)
{
	struct built *built = find_built(reports, words);
	enum st_status status;

	*out = built;
	if (built)
		return ST_OK;
	built = calloc(1, sizeof(*built));
	if (!built)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	built->words = *words;
	*words = (struct st_words){0};
	status = st_words_parse(&built->words, err);
	if (!status)
		status = st_request_build(&built->words.request, call->results, &built->rows, err);
	if (status) {
		built_destroy(built);
		return status;
	}
	keep_built(reports, built);
	*out = built;
	return ST_OK;
}

/* "page": {"path": [..], "offset": 0, "limit": 200, "depth": 1}. path is the caller's to free. */
static enum st_status read_page(const struct st_verb_call *call, bool *has_page,
				struct st_report_page *page, uint32_t **path, struct st_error *err)
{
	struct st_verb_call inner = *call;
	int64_t offset = 0, limit = PAGE_LIMIT, depth = 1;
	json_object *object = NULL;
	size_t count = 0;
	enum st_status status;

	*path = NULL;
	*has_page = json_object_object_get_ex(call->ask, "page", &object) && object;
	if (!*has_page)
		return ST_OK;
	if (!json_object_is_type(object, json_type_object))
		return st_error_set(err, ST_EUSAGE, 0, "'page': expected an object");
	inner.ask = object;
	status = st_ask_numbers(&inner, "path", ST_REPORT_PATH_MAX, path, &count, err);
	if (!status)
		status = st_ask_i64(&inner, "offset", false, &offset, err);
	if (!status)
		status = st_ask_i64(&inner, "limit", false, &limit, err);
	if (!status)
		status = st_ask_i64(&inner, "depth", false, &depth, err);
	if (status)
		return status;
	if (offset < 0 || limit < 0 || limit > PAGE_LIMIT_MAX || depth < 1 ||
	    depth > ST_REPORT_PAGE_DEPTH)
		return st_error_set(err, ST_EUSAGE, 0,
				    "'page': expected an offset from 0 on, a limit of at most %d "
				    "and a depth of 1 to %d",
				    PAGE_LIMIT_MAX, ST_REPORT_PAGE_DEPTH);
	*page = (struct st_report_page){*path, (uint32_t)count, (uint64_t)offset, (uint64_t)limit,
					(uint32_t)depth};
	return ST_OK;
}

static enum st_status write_answer(struct st_verb_call *call, const struct built *built,
				   const struct st_report_page *page, struct st_error *err)
{
	const struct st_output *output = &built->words.request.output;
	struct st_sink *sink = NULL;
	enum st_status status = st_sink_open_buf(&sink, call->out, err);

	if (status)
		return status;
	if (page)
		status = st_report_write_json_page(&built->rows.report, call->result, page, sink,
						   err);
	else
		status = st_output_write(output, &built->rows.report, call->result, sink, err);
	if (output->format == ST_OUTPUT_CSV)
		call->media_type = "text/csv; charset=utf-8";
	else if (output->format == ST_OUTPUT_TEXT)
		call->media_type = "text/plain; charset=utf-8";
	return st_sink_finish(sink, status, err);
}

enum st_status st_verb_ask(struct st_verb_call *call, struct st_error *err)
{
	struct reports *reports = reports_of(call);
	struct st_report_page page = {0};
	struct st_words words = {0};
	struct built *built = NULL;
	uint32_t *path = NULL;
	bool has_page = false;
	enum st_status status = st_words_read(&words, call, "report", err);

	if (!status && words.command == ST_IN_EXPORT)
		status = st_error_set(err, ST_EUSAGE, 0,
				      "an export is asked for by the verb export");
	if (!status && !reports)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory");
	if (!status)
		status = read_page(call, &has_page, &page, &path, err);
	if (!status && has_page && strcmp(words.format, "json") != 0)
		status = st_error_set(err, ST_EUSAGE, 0, "only JSON comes in pages");
	if (!status)
		status = build(call, reports, &words, &built, err);
	if (!status)
		status = write_answer(call, built, has_page ? &page : NULL, err);
	free(path);
	st_words_fini(&words);
	return status;
}

enum st_status st_verb_export(struct st_verb_call *call, struct st_error *err)
{
	struct st_words words = {0};
	struct st_answer_file file = {0};
	enum st_status status = st_words_read(&words, call, "export", err);

	if (!status && words.command != ST_IN_EXPORT)
		status = st_error_set(err, ST_EUSAGE, 0, "'command': expected export");
	if (!status)
		status = st_answer_file_init(&file, call, &words, err);
	if (!status)
		status = st_words_parse(&words, err);
	/* What the file says of itself is its name, not where it was written. */
	words.request.file.trace_name = call->file_name;
	if (!status)
		status = st_answer_file_write(&file, call, &words.request, err);
	st_answer_file_fini(&file);
	st_words_fini(&words);
	return status;
}
