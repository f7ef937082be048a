/* SPDX-License-Identifier: Apache-2.0
 *
 * Exports as answers.
 */
#include "serve/ask_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"
#include "request/request.h"
#include "serve/ask_words.h"
#include "serve/verbs.h"
#include "store/result.h"

/* What files of a format are usually called. */
static const char *suffix_of(const char *format)
{
	static const struct {
		const char *format, *suffix;
	} usual[] = {
		{"kineto", ".pt.trace.json"},
		{"perfetto", ".pftrace"},
		{"csv", ".csv"},
		{"flamegraph", ".html"},
		{"folded", ".folded"},
		{"speedscope", ".speedscope.json"},
		{"pprof", ".pb.gz"},
		{"torch-stacks", ".stacks.txt"},
		{"memory-timeline", ".memory.html"},
		{"html", ".html"},
	};

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (strcmp(usual[i].format, format) == 0)
			return usual[i].suffix;
	return ".json";
}

static const char *type_of(const char *name)
{
	static const struct {
		const char *suffix, *type;
	} known[] = {{".json", "application/json"},
		     {".html", "text/html; charset=utf-8"},
		     {".svg", "image/svg+xml"},
		     {".csv", "text/csv; charset=utf-8"},
		     {".txt", "text/plain; charset=utf-8"},
		     {".folded", "text/plain; charset=utf-8"},
		     {".gz", "application/gzip"}};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].suffix, dot) == 0)
			return known[i].type;
	return "application/octet-stream";
}

/* A plain name that no shell, header or file system takes apart. */
static bool is_plain_name(const char *name)
{
	size_t length = strlen(name);

	if (!length || length > 100 || name[0] == '.' || name[0] == '-')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
			return false;
	return true;
}

static enum st_status name_file(struct st_verb_call *call, const struct st_words *words,
				struct st_error *err)
{
	const char *result = st_result_info(call->result)->name;
	const char *format = words->count > 2 ? words->argv[2] : "";
	const char *name = NULL;
	enum st_status status = st_ask_text(call, "file", false, &name, err);

	if (status)
		return status;
	if (name && !is_plain_name(name))
		return st_error_set(err, ST_EUSAGE, 0,
				    "'file': expected a file name of letters, digits, '.', '_' "
				    "and '-', not '%.100s'",
				    name);
	if (name)
		snprintf(call->file_name, sizeof(call->file_name), "%s", name);
	else
		snprintf(call->file_name, sizeof(call->file_name), "%.80s%s",
			 is_plain_name(result) ? result : "result", suffix_of(format));
	call->media_type = type_of(call->file_name);
	return ST_OK;
}

enum st_status st_answer_file_init(struct st_answer_file *file, struct st_verb_call *call,
				   struct st_words *words, struct st_error *err)
{
	const char *base = getenv("TMPDIR");
	enum st_status status = name_file(call, words, err);

	if (status)
		return status;
	if (!base || base[0] != '/' || strlen(base) > 200)
		base = "/tmp";
	snprintf(file->folder, sizeof(file->folder), "%s/strata-serve-XXXXXX", base);
	if (!mkdtemp(file->folder)) {
		int code = errno;

		file->folder[0] = '\0';
		return st_error_set(err, ST_EIO, code, "%s: cannot create a temporary folder",
				    base);
	}
	snprintf(file->path, sizeof(file->path), "%s/%s", file->folder, call->file_name);
	status = st_words_add(words, "-output", err);
	return status ? status : st_words_add(words, file->path, err);
}

enum st_status st_answer_file_write(struct st_answer_file *file, struct st_verb_call *call,
				    const struct st_request *request, struct st_error *err)
{
	struct st_sink *sink;
	enum st_status status = st_sink_open(&sink, file->path, err);

	if (status)
		return status;
	st_sink_set_progress(sink, call->progress, call->progress_arg);
	status = st_export_write(request->exporter, call->result, &request->file, sink, err);
	if (!status && st_sink_empty(sink) && st_sink_is_unwritten(sink))
		status = st_error_set(err, ST_ENOTFOUND, 0, "nothing to write: %s",
				      st_sink_empty(sink));
	status = st_sink_finish(sink, status, err);
	if (status)
		return status;
	call->file_fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (call->file_fd < 0)
		return st_error_set(err, ST_EIO, errno, "%s", file->path);
	return ST_OK;
}

void st_answer_file_fini(struct st_answer_file *file)
{
	if (file->path[0])
		unlink(file->path);
	if (file->folder[0])
		rmdir(file->folder);
}
