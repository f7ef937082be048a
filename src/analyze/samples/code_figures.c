// SPDX-License-Identifier: Apache-2.0
//
// CPU time by place in code (analyze/samples/code_figures.h).
#include "analyze/samples/code_figures.h"

#include <stdlib.h>
#include <string.h>

#include "store/result.h"

static uint64_t weight_of(const struct st_sample_rows *rows, const struct st_sample_row *row)
{
	return rows->set->view.show_as == ST_SHOW_SAMPLES ? row->samples : row->weight;
}

static bool is_python(const struct st_named *named, uint32_t frame)
{
	return named->functions[named->frames[frame].function].kind == ST_FUNCTION_PYTHON;
}

/* Native code that a Python line called is that line's own time, as in -group-by python-line. */
static void count_row(struct st_code_count *count, const struct st_sample_rows *rows,
		      uint32_t index)
{
	const struct st_sample_row *row = &rows->rows[index];
	const struct st_named *named = rows->set->named;
	uint64_t weight = weight_of(rows, row);
	bool inside = false, in_python = false;

	count->all += weight;
	for (uint32_t frame = row->frame; frame; frame = st_sample_caller(rows->set, frame)) {
		uint32_t bucket = count->bucket_of(count->arg, named, frame);
		struct st_code_figures *figures = &count->figures[bucket];
		bool python = is_python(named, frame);
		bool self = frame == row->frame || (python && !in_python);

		in_python = in_python || python;
		if (bucket == ST_NO_ROW)
			continue;
		if (self) {
			figures->self += weight;
			figures->samples += row->samples;
			count->whole.self += weight;
			count->whole.samples += row->samples;
		}
		inside = true;
		if (figures->stamp == index + 1)
			continue;
		figures->stamp = index + 1;
		figures->total += weight;
	}
	if (inside)
		count->whole.total += weight;
}

void st_code_count(struct st_code_count *count, const struct st_sample_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++)
		if (!(rows->rows[i].flags & ST_SAMPLE_OFF_CPU))
			count_row(count, rows, i);
}

bool st_code_path_fits(struct st_text path, const char *typed)
{
	size_t length = strlen(typed);

	if (!length || length > path.size_bytes ||
	    memcmp(path.bytes + path.size_bytes - length, typed, length) != 0)
		return false;
	return length == path.size_bytes || typed[0] == '/' ||
	       path.bytes[path.size_bytes - length - 1] == '/';
}

static bool is_text(struct st_text text, const char *typed)
{
	return text.size_bytes == strlen(typed) && memcmp(text.bytes, typed, text.size_bytes) == 0;
}

/* 2: the name, 1: its last part, 0: another function. */
static int fit_of(const struct st_named_function *function, const char *typed)
{
	size_t length = strlen(typed);
	struct st_text name = function->name;
	char before;

	if (is_text(name, typed) || is_text(function->full, typed) ||
	    is_text(function->mangled, typed))
		return 2;
	if (!length || length >= name.size_bytes ||
	    memcmp(name.bytes + name.size_bytes - length, typed, length) != 0)
		return 0;
	before = name.bytes[name.size_bytes - length - 1];
	return before == ':' || before == '.';
}

static uint32_t function_bucket(const void *arg, const struct st_named *named, uint32_t frame)
{
	(void)arg;
	return named->frames[frame].function;
}

enum st_status st_code_find_function(const struct st_sample_rows *rows,
				     const struct st_source_object *object, uint32_t *out,
				     struct st_error *err)
{
	const struct st_named *named = rows->set->named;
	struct st_code_count count = {.count = named->function_count, .bucket_of = function_bucket};
	uint32_t best = 0;
	int best_fit = 0;

	count.figures = calloc((size_t)named->function_count + 1, sizeof(*count.figures));
	if (!count.figures)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the functions");
	st_code_count(&count, rows);
	for (uint32_t i = 1; i < named->function_count; i++) {
		const struct st_named_function *function = &named->functions[i];
		int fit = fit_of(function, object->function);

		if (!fit ||
		    (object->module &&
		     !st_code_path_fits(named->modules[function->module].path, object->module)))
			continue;
		if (fit < best_fit ||
		    (fit == best_fit && count.figures[i].total <= count.figures[best].total))
			continue;
		best = i;
		best_fit = fit;
	}
	free(count.figures);
	*out = best;
	if (!best)
		return st_error_set(err, ST_ENOTFOUND, 0, "no function '%.200s' in the samples%s%s",
				    object->function, object->module ? " of module " : "",
				    object->module ? object->module : "");
	return ST_OK;
}
