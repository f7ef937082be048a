// SPDX-License-Identifier: Apache-2.0
//
// Filters of a question, evaluated into one table of passing keys per filtered grouping.
#include "analyze/engine/filter.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the character at p: whole UTF-8 sequences count as one, bad bytes singly. */
static size_t character_bytes(const char *p, const char *end)
{
	size_t length = 1;

	if (((unsigned char)*p & 0xc0) != 0xc0)
		return 1;
	while (length < 4 && p + length < end && ((unsigned char)p[length] & 0xc0) == 0x80)
		length++;
	return length;
}

bool st_pattern_match(const char *pattern, struct st_text text)
{
	const char *at = text.bytes, *end = text.bytes + text.size_bytes;
	const char *star = NULL, *star_at = NULL;

	/* The last '*' is the only one worth going back to: what an earlier one took can stay. */
	for (;;) {
		if (*pattern == '*') {
			star = ++pattern;
			star_at = at;
			continue;
		}
		if (at == end && !*pattern)
			return true;
		if (at < end && *pattern == '?') {
			at += character_bytes(at, end);
			pattern++;
			continue;
		}
		if (at < end && *pattern) {
			const char *literal = pattern;

			if (literal[0] == '\\' &&
			    (literal[1] == '*' || literal[1] == '?' || literal[1] == '\\'))
				literal++;
			if (*literal == *at) {
				pattern = literal + 1;
				at++;
				continue;
			}
		}
		if (!star || star_at == end)
			return false;
		pattern = star;
		at = ++star_at;
	}
}

static bool filter_hits(const char *pattern, struct st_text text)
{
	/* The exact text always matches, also when it has a '*' of its own ("iteration_*"). */
	return (strlen(pattern) == text.size_bytes &&
		memcmp(pattern, text.bytes, text.size_bytes) == 0) ||
	       st_pattern_match(pattern, text);
}

static bool key_hits(const struct st_dataset *dataset, const struct st_filter *filter, uint32_t key,
		     struct st_arena *arena)
{
	struct st_text text = dataset->text(dataset, filter->grouping, key, arena);

	if (filter_hits(filter->pattern, text))
		return true;
	for (unsigned int i = 0; dataset->alias(dataset, filter->grouping, key, i, &text, arena);
	     i++) {
		if (filter_hits(filter->pattern, text))
			return true;
	}
	return false;
}

/* Any of the patterns, and none of the negated ones. */
static bool key_passes(const struct st_dataset *dataset, const struct st_question *question,
		       enum st_grouping grouping, uint32_t key, struct st_arena *arena)
{
	bool wanted = false, has_wanted = false;

	for (size_t i = 0; i < question->filter_count; i++) {
		struct st_filter filter = question->filters[i];

		if (filter.grouping == dataset->instance)
			filter.grouping = dataset->named_by;
		if (filter.grouping != grouping)
			continue;
		if (filter.negate && key_hits(dataset, &filter, key, arena))
			return false;
		if (!filter.negate) {
			has_wanted = true;
			wanted = wanted || key_hits(dataset, &filter, key, arena);
		}
	}
	return wanted || !has_wanted;
}

static enum st_status add_test(struct st_selection *selection, const struct st_dataset *dataset,
			       const struct st_question *question, enum st_grouping grouping,
			       struct st_error *err)
{
	const struct st_key_column *keys = &dataset->keys[grouping];
	uint8_t *pass = malloc((size_t)keys->key_count + 1);
	struct st_arena arena;

	if (!pass)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for a filter");
	st_arena_init(&arena, SIZE_MAX / 2);
	for (uint32_t key = 0; key < keys->key_count; key++) {
		pass[key] = key_passes(dataset, question, grouping, key, &arena);
	}
	st_arena_fini(&arena);
	selection->tests[selection->test_count].keys = *keys;
	selection->tests[selection->test_count++].pass = pass;
	return ST_OK;
}

enum st_status st_selection_init(struct st_selection *out, const struct st_dataset *dataset,
				 const struct st_question *question, struct st_error *err)
{
	bool filtered[ST_GROUPINGS] = {false};

	memset(out, 0, sizeof(*out));
	out->has_time_range = question->has_time_range;
	out->begin_ns = question->time_begin_ns;
	out->end_ns = question->time_end_ns;
	for (size_t i = 0; i < question->filter_count; i++) {
		enum st_grouping grouping = question->filters[i].grouping;

		if (grouping == ST_BY_TASK_STACK)
			return st_error_set(
				err, ST_EUSAGE, 0,
				"a filter by task-stack is not possible: use task-type");
		/* A task is named as its type is; there is no other text to compare. */
		if (grouping == dataset->instance)
			grouping = dataset->named_by;
		if (!(st_set_has(dataset->answers, grouping)) ||
		    (!dataset->keys[grouping].key_count && dataset->row_count))
			return st_error_set(err, ST_EUSAGE, 0,
					    "a filter by %s is not possible: this data has no such "
					    "grouping",
					    st_grouping_info(grouping)->name);
		filtered[grouping] = true;
	}
	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		enum st_status status;

		if (!filtered[i])
			continue;
		status = add_test(out, dataset, question, (enum st_grouping)i, err);
		if (status) {
			st_selection_fini(out);
			return status;
		}
	}
	return ST_OK;
}

enum st_status st_selection_tracks(struct st_selection *out, const struct st_dataset *dataset,
				   const struct st_question *question, struct st_error *err)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < question->filter_count; i++) {
		enum st_grouping grouping = question->filters[i].grouping;

		if (grouping != ST_BY_PROCESS && grouping != ST_BY_THREAD)
			return st_error_set(err, ST_EUSAGE, 0,
					    "only filters by process and thread are possible here, "
					    "not by %s",
					    st_grouping_info(grouping)->name);
	}
	return st_selection_init(out, dataset, question, err);
}

void st_selection_fini(struct st_selection *selection)
{
	if (!selection)
		return;
	for (unsigned int i = 0; i < selection->test_count; i++)
		free(selection->tests[i].pass);
	memset(selection, 0, sizeof(*selection));
}
