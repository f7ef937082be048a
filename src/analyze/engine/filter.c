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

bool st_filter_hits(const char *pattern, struct st_text text)
{
	return (strlen(pattern) == text.size_bytes &&
		(!text.size_bytes || memcmp(pattern, text.bytes, text.size_bytes) == 0)) ||
	       st_pattern_match(pattern, text);
}

static bool key_hits(const struct st_dataset *dataset, enum st_grouping grouping,
		     const char *pattern, uint32_t key, struct st_arena *arena)
{
	struct st_text text = dataset->text(dataset, grouping, key, arena);
	const char *slash = grouping == ST_BY_PYTHON_LINE && text.size_bytes
				    ? memrchr(text.bytes, '/', text.size_bytes)
				    : NULL;

	if (st_filter_hits(pattern, text))
		return true;
	/* "train.py:88": whatever the rows are, the folder may be left out. */
	if (slash) {
		text.size_bytes -= (size_t)(slash + 1 - text.bytes);
		text.bytes = slash + 1;
		if (st_filter_hits(pattern, text))
			return true;
	}
	for (unsigned int i = 0; dataset->alias(dataset, grouping, key, i, &text, arena); i++) {
		if (text.size_bytes && st_filter_hits(pattern, text))
			return true;
	}
	return false;
}

/* "#12" is the number of a row: of a task in report tasks -group-by task. UINT32_MAX: it is not one. */
static uint32_t number_of(const char *pattern)
{
	char *end;
	unsigned long number;

	if (pattern[0] != '#' || pattern[1] < '0' || pattern[1] > '9')
		return UINT32_MAX;
	number = strtoul(pattern + 1, &end, 10);
	return *end || number >= UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

/* Whether a filter is about the rows themselves. */
static bool is_of_rows(const struct st_dataset *dataset, const struct st_filter *filter)
{
	return filter->grouping == dataset->instance ||
	       (filter->grouping == ST_BY_TASK && st_set_has(dataset->filters, ST_BY_TASK));
}

enum st_grouping st_filter_tests(const struct st_dataset *dataset, const struct st_filter *filter)
{
	return is_of_rows(dataset, filter) ? dataset->named_by : filter->grouping;
}

static void add_filter(struct st_selection *selection, const struct st_filter *filter)
{
	const struct st_dataset *dataset = selection->dataset;
	unsigned int at = selection->test_count;
	const struct st_key_column *keys = &selection->tests[at].keys;
	enum st_grouping grouping = selection->tests[at].grouping;
	uint8_t *hits = selection->tests[at].hits;
	uint8_t hit = filter->negate ? ST_HIT_UNWANTED : ST_HIT_WANTED;
	uint32_t number = number_of(filter->pattern);
	struct st_arena arena;

	selection->tests[at].has_wanted |= !filter->negate;
	if (number != UINT32_MAX && keys->is_numbered && number < keys->key_count)
		hits[number + 1] |= hit;
	st_arena_init(&arena, SIZE_MAX / 2);
	for (uint32_t key = 0; key < keys->key_count; key++) {
		if (key_hits(dataset, grouping, filter->pattern, key, &arena))
			hits[key] |= hit;
	}
	st_arena_fini(&arena);
}

/* Any of the patterns, and none of the negated ones. */
static bool is_wanted(const struct st_selection *selection, unsigned int test, unsigned int hits)
{
	return !(hits & ST_HIT_UNWANTED) &&
	       (hits & ST_HIT_WANTED || !selection->tests[test].has_wanted);
}

static enum st_status add_test(struct st_selection *selection, const struct st_question *question,
			       enum st_grouping grouping, struct st_error *err)
{
	const struct st_dataset *dataset = selection->dataset;
	const struct st_key_column *keys = &dataset->keys[grouping];
	unsigned int at = selection->test_count;
	uint8_t *hits = calloc((size_t)keys->key_count + 2, 1);

	if (!hits)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for a filter");
	selection->tests[at].grouping = grouping;
	selection->tests[at].keys = *keys;
	selection->tests[at].hits = hits;
	for (size_t i = 0; i < question->filter_count; i++) {
		const struct st_filter *filter = &question->filters[i];

		if (st_filter_tests(dataset, filter) != grouping)
			continue;
		add_filter(selection, filter);
		if (is_of_rows(dataset, filter) && number_of(filter->pattern) != UINT32_MAX)
			selection->tests[at].numbered = question;
	}
	for (uint32_t key = 0; key < keys->key_count; key++)
		hits[key] |= is_wanted(selection, at, hits[key]) ? ST_HIT_PASS : 0;
	selection->is_plain = selection->is_plain && !keys->axis && !selection->tests[at].numbered;
	selection->test_count++;
	return ST_OK;
}

static unsigned int number_hits(const struct st_selection *selection,
				const struct st_question *question, uint32_t row)
{
	const struct st_dataset *dataset = selection->dataset;
	uint32_t number = dataset->numbers ? dataset->numbers[row] : row;
	unsigned int hits = 0;

	for (size_t i = 0; i < question->filter_count; i++) {
		const struct st_filter *filter = &question->filters[i];

		if (is_of_rows(dataset, filter) && number_of(filter->pattern) == number)
			hits |= filter->negate ? ST_HIT_UNWANTED : ST_HIT_WANTED;
	}
	return hits;
}

static bool passes(const struct st_selection *selection, unsigned int test, uint32_t row)
{
	/* Read anew: a dataset that makes keys as it goes moves them. */
	const struct st_key_column *keys =
		&selection->dataset->keys[selection->tests[test].grouping];
	const uint8_t *hits = selection->tests[test].hits;
	const struct st_axis *axis = &selection->dataset->axes[keys->inner];
	uint32_t at, key;
	unsigned int found;

	if (!keys->axis) {
		found = hits[st_key_of(keys, row)];
		if (selection->tests[test].numbered)
			found |= number_hits(selection, selection->tests[test].numbered, row);
		return is_wanted(selection, test, found);
	}
	at = st_axis_first(axis, row);
	found = hits[st_key_of(keys, at)];
	while (at && axis->next && (at = axis->next[at]) != 0) {
		key = st_key_of(keys, at);
		/* What lies around a step or operator is in none; what is in it, is. */
		if (key)
			found |= hits[key];
	}
	return is_wanted(selection, test, found);
}

bool st_selection_look(const struct st_selection *selection, uint32_t row)
{
	for (unsigned int i = 0; i < selection->test_count; i++) {
		if (!passes(selection, i, row))
			return false;
	}
	return true;
}

enum st_status st_selection_init(struct st_selection *out, const struct st_dataset *dataset,
				 const struct st_question *question, struct st_error *err)
{
	bool filtered[ST_GROUPINGS] = {false};

	memset(out, 0, sizeof(*out));
	out->dataset = dataset;
	out->is_plain = true;
	out->has_time_range = question->has_time_range;
	out->begin_ns = question->time_begin_ns;
	out->end_ns = question->time_end_ns;
	for (size_t i = 0; i < question->filter_count; i++) {
		enum st_grouping grouping = st_filter_tests(dataset, &question->filters[i]);

		if (dataset->keys[grouping].tree)
			return st_error_set(
				err, ST_EUSAGE, 0, "cannot filter by %s; use %s",
				st_grouping_info(grouping)->name,
				st_grouping_info(dataset->keys[grouping].filtered_by)->name);
		if (!(st_set_has(dataset->answers, grouping) ||
		      st_set_has(dataset->filters, grouping)) ||
		    (!dataset->keys[grouping].key_count && dataset->row_count))
			return st_error_set(err, ST_EUSAGE, 0,
					    "cannot filter by %s: this report has no such grouping",
					    st_grouping_info(grouping)->name);
		filtered[grouping] = true;
	}
	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		enum st_status status;

		if (!filtered[i])
			continue;
		status = add_test(out, question, (enum st_grouping)i, err);
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
			return st_error_set(
				err, ST_EUSAGE, 0,
				"cannot filter by %s: only process and thread are supported here",
				st_grouping_info(grouping)->name);
	}
	return st_selection_init(out, dataset, question, err);
}

void st_selection_fini(struct st_selection *selection)
{
	if (!selection)
		return;
	for (unsigned int i = 0; i < selection->test_count; i++)
		free(selection->tests[i].hits);
	memset(selection, 0, sizeof(*selection));
}
