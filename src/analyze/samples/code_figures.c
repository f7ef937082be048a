// SPDX-License-Identifier: Apache-2.0
//
// CPU time by place in code (analyze/samples/code_figures.h).
#include "analyze/samples/code_figures.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "base/buf.h"
#include "base/near.h"
#include "store/result.h"

enum { NEAR_MAX = 3 };

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

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each once, in any order: many modules have a function of the same name. Of a method the last part is enough. */
static size_t all_names(const struct st_named *named, const char **names, struct st_arena *arena)
{
	size_t count = 0, kept = 0;

	for (uint32_t i = 1; i < named->function_count; i++) {
		const struct st_named_function *function = &named->functions[i];
		const char *name = st_text_copy(arena, function->name).bytes;
		const char *dot =
			name && function->kind == ST_FUNCTION_PYTHON ? strrchr(name, '.') : NULL;

		if (name)
			names[count++] = dot && dot[1] ? dot + 1 : name;
	}
	qsort(names, count, sizeof(*names), by_text);
	for (size_t i = 0; i < count; i++)
		if (!kept || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	return kept;
}

/* "; did you mean 'positions' or 'position'?", or "". */
static void add_near(const struct st_named *named, const char *typed, struct st_buf *out)
{
	struct st_arena arena;
	const char **names, *near[NEAR_MAX];
	size_t found = 0;

	st_arena_init(&arena, SIZE_MAX / 2);
	names = calloc((size_t)named->function_count + 1, sizeof(*names));
	if (names)
		found = st_near_names(typed, names, all_names(named, names, &arena), near,
				      NEAR_MAX);
	for (size_t i = 0; i < found; i++)
		st_buf_printf(out, "%s'%.200s'%s", i ? " or " : "; did you mean ", near[i],
			      i + 1 == found ? "?" : "");
	free(names);
	st_arena_fini(&arena);
}

static enum st_status no_function(const struct st_named *named,
				  const struct st_source_object *object, struct st_error *err)
{
	enum st_status status;
	struct st_buf near;

	st_buf_init(&near, 1024);
	add_near(named, object->function, &near);
	st_buf_append_u8(&near, '\0');
	status = st_error_set(err, ST_ENOTFOUND, 0, "no function '%.200s' in the samples%s%s%s",
			      object->function, object->module ? " of module " : "",
			      object->module ? object->module : "",
			      near.failed ? "" : (const char *)near.data);
	st_buf_fini(&near);
	return status;
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
	return best ? ST_OK : no_function(named, object, err);
}
