// SPDX-License-Identifier: Apache-2.0
//
// Filters over samples. Native code is asked for where the CPU was; tasks and Python code wherever they are
// around a sample, because what runs inside them is what one wants to see of them.
#include "analyze/datasets/dataset_parts.h"
#include "analyze/engine/filter.h"
#include "analyze/samples/sample_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WANTED = 1, UNWANTED = 2 };

static bool text_hits(const char *pattern, struct st_text text)
{
	return text.size_bytes && st_pattern_match(pattern, text);
}

static bool path_hits(const char *pattern, struct st_text path)
{
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);

	return text_hits(pattern, path) ||
	       (slash &&
		text_hits(pattern,
			  (struct st_text){slash + 1,
					   path.size_bytes - 1 - (size_t)(slash - path.bytes)}));
}

/* Other texts by which frames are known. */
static bool frame_alias_hits(const struct st_sample_set *set, enum st_grouping grouping,
			     uint32_t key, const char *pattern)
{
	const struct st_frame_keys *keys = &set->keys[grouping];
	const struct st_named_function *function =
		&set->named->functions[keys->function ? keys->function[key] : 0];

	switch (grouping) {
	case ST_BY_FUNCTION:
	case ST_BY_FUNCTION_MANGLED:
		return text_hits(pattern, function->name) || text_hits(pattern, function->full) ||
		       text_hits(pattern, function->mangled);
	case ST_BY_MODULE:
	case ST_BY_MODULE_PATH:
		return path_hits(pattern, set->named->modules[function->module].path);
	case ST_BY_SOURCE_FILE:
	case ST_BY_SOURCE_FILE_PATH:
		return path_hits(pattern, set->named->sources[function->source]);
	case ST_BY_PYTHON_LINE:
		return path_hits(pattern, keys->texts[key]);
	default:
		return false;
	}
}

static bool key_hits(const struct st_sample_set *set, const struct st_filter *filter, uint32_t key,
		     struct st_arena *arena)
{
	enum st_grouping grouping = filter->grouping;
	struct st_text text = st_sample_text(set, grouping, key, arena);
	char number[32];

	if (st_pattern_match(filter->pattern, text))
		return true;
	/* One task: by its number in report tasks -group-by task. */
	if (grouping == ST_BY_TASK && key && filter->pattern[0] == '#') {
		(void)snprintf(number, sizeof(number), "#%u", key - 1);
		return strcmp(number, filter->pattern) == 0;
	}
	if (grouping == ST_BY_PROCESS || grouping == ST_BY_THREAD) {
		for (unsigned int i = 0;
		     st_place_alias(set->result, grouping, key, i, &text, arena); i++)
			if (st_pattern_match(filter->pattern, text))
				return true;
		return false;
	}
	return st_grouping_is_frame(grouping) &&
	       frame_alias_hits(set, grouping, key, filter->pattern);
}

static uint32_t key_count(const struct st_sample_set *set, enum st_grouping grouping)
{
	if (grouping == ST_BY_PROCESS)
		return set->process_count;
	if (grouping == ST_BY_THREAD)
		return set->track_count;
	if (grouping == ST_BY_CPU_CLASS)
		return ST_CPU_CLASSES;
	if (st_grouping_is_task(grouping))
		return set->slices.keys[grouping].key_count + 1;
	return set->keys[grouping].count;
}

static enum st_status add_test(struct st_sample_filter *out, struct st_sample_set *set,
			       const struct st_question *question, enum st_grouping grouping,
			       struct st_error *err)
{
	uint32_t count = key_count(set, grouping);
	uint8_t *hits = calloc((size_t)count + 1, 1);
	struct st_arena arena;
	bool has_wanted = false;

	if (!hits)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for a filter");
	for (size_t i = 0; i < question->filter_count; i++) {
		const struct st_filter *filter = &question->filters[i];

		if (filter->grouping != grouping)
			continue;
		has_wanted = has_wanted || !filter->negate;
		st_arena_init(&arena, SIZE_MAX / 2);
		for (uint32_t key = 0; key < count; key++)
			if (key_hits(set, filter, key, &arena))
				hits[key] |= filter->negate ? UNWANTED : WANTED;
		st_arena_fini(&arena);
	}
	out->tests[out->count].grouping = grouping;
	out->tests[out->count].has_wanted = has_wanted;
	out->tests[out->count++].hits = hits;
	return ST_OK;
}

enum st_status st_sample_filter_init(struct st_sample_filter *out, struct st_sample_set *set,
				     const struct st_question *question, struct st_error *err)
{
	enum st_status status;
	struct st_set filtered = {{0}};

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < question->filter_count; i++)
		st_set_add(&filtered, question->filters[i].grouping);
	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		enum st_grouping grouping = (enum st_grouping)i;

		if (!(st_set_has(filtered, i)))
			continue;
		status = st_sample_offers(set->result, grouping, st_sample_answers(), err);
		if (status)
			goto failed;
		if (grouping == ST_BY_CALLSTACK || grouping == ST_BY_FUNCTION_STACK)
			status = st_error_set(err, ST_EUSAGE, 0,
					      "a filter by %s is not possible: use function",
					      st_grouping_info(grouping)->name);
		else
			status = add_test(out, set, question, grouping, err);
		if (status)
			goto failed;
	}
	return ST_OK;
failed:
	st_sample_filter_fini(out);
	return status;
}

void st_sample_filter_fini(struct st_sample_filter *filter)
{
	for (unsigned int i = 0; i < filter->count; i++)
		free(filter->tests[i].hits);
	memset(filter, 0, sizeof(*filter));
}

/* All that a row is to a test: the hits of its keys together. */
static unsigned int row_hits(const struct st_sample_rows *rows, const struct st_sample_row *row,
			     enum st_grouping grouping, const uint8_t *hits)
{
	const struct st_sample_set *set = rows->set;
	unsigned int found = 0;
	uint32_t count, at;

	switch (grouping) {
	case ST_BY_PROCESS:
		return hits[st_result_tracks(set->result, &count)[row->track].process];
	case ST_BY_THREAD:
		return hits[row->track];
	case ST_BY_CPU_CLASS:
		return hits[row->cpu_class];
	default:
		break;
	}
	if (st_grouping_is_task(grouping)) {
		at = row->context;
		do {
			uint32_t key = st_context_key(&rows->contexts, at, grouping);

			/* What lies around a step or operator is in none; what is in it, is. */
			if (key || at == row->context)
				found |= hits[key];
			at = at ? rows->contexts.outer[at] : 0;
		} while (at);
		return found;
	}
	if (!st_grouping_is_python(grouping))
		return hits[set->keys[grouping].of_frame[row->frame]];
	at = row->python;
	do {
		found |= hits[set->keys[grouping].of_frame[at]];
		at = at ? set->python_of[set->named->frames[at].parent] : 0;
	} while (at);
	return found;
}

bool st_sample_filter_has(const struct st_sample_filter *filter, const struct st_sample_rows *rows,
			  const struct st_sample_row *row)
{
	for (unsigned int i = 0; i < filter->count; i++) {
		unsigned int found =
			row_hits(rows, row, filter->tests[i].grouping, filter->tests[i].hits);

		if (found & UNWANTED || (filter->tests[i].has_wanted && !(found & WANTED)))
			return false;
	}
	return true;
}
