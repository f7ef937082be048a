/* SPDX-License-Identifier: Apache-2.0
 *
 * Selects the rows of a dataset that a question is about. Patterns are tried once per key, so that a
 * row costs a table look-up for each grouping that is filtered.
 */
#ifndef ST_ANALYZE_ENGINE_FILTER_H
#define ST_ANALYZE_ENGINE_FILTER_H

#include "analyze/engine/dataset.h"

enum { ST_HIT_WANTED = 1, ST_HIT_UNWANTED = 2, ST_HIT_PASS = 4 };

struct st_selection {
	const struct st_dataset *dataset;
	struct st_selection_test {
		enum st_grouping grouping;
		struct st_key_column keys;
		uint8_t *
			hits; /* by key: set of ST_HIT_…, PASS when a row with this key alone is wanted */
		bool has_wanted;
		const struct st_question
			*numbered; /* whose filters name single rows: "#12"; or NULL */
	} tests[ST_GROUPINGS];
	unsigned int test_count;
	bool is_plain; /* in all tests: one key a row, and no row is named by its number */
	bool has_time_range;
	int64_t begin_ns, end_ns;
};

enum st_status st_selection_init(struct st_selection *out, const struct st_dataset *dataset,
				 const struct st_question *question, struct st_error *err);
void st_selection_fini(struct st_selection *selection);

/* The grouping whose keys a filter looks at: rows have no text of their own, they are named as what they are. */
enum st_grouping st_filter_tests(const struct st_dataset *dataset, const struct st_filter *filter);
/* One meaning of a filter everywhere: the exact text always matches, also when it has a '*' of its own; else the pattern
 * does. Of a key that is its text or one of the aliases. */
bool st_filter_hits(const char *pattern, struct st_text text);
/* '*' any bytes, '?' one character, '\\' before either takes it literally; the whole text must match. */
bool st_pattern_match(const char *pattern, struct st_text text);

/* st_selection_has where it is not plain. */
bool st_selection_look(const struct st_selection *selection, uint32_t row);

/* Is the row wanted? */
static inline bool st_selection_has(const struct st_selection *selection, uint32_t row)
{
	if (!selection->is_plain)
		return st_selection_look(selection, row);
	for (unsigned int i = 0; i < selection->test_count; i++) {
		const struct st_selection_test *test = &selection->tests[i];

		if (!(test->hits[st_key_of(&test->keys, row)] & ST_HIT_PASS))
			return false;
	}
	return true;
}

/* The same by track, for what is not a row of the dataset: filters by anything but process and thread are refused. */
enum st_status st_selection_tracks(struct st_selection *out, const struct st_dataset *dataset,
				   const struct st_question *question, struct st_error *err);
static inline bool st_selection_has_track(const struct st_selection *selection, uint32_t track)
{
	for (unsigned int i = 0; i < selection->test_count; i++) {
		const uint32_t *map = selection->tests[i].keys.map;

		if (!(selection->tests[i].hits[map ? map[track] : track] & ST_HIT_PASS))
			return false;
	}
	return true;
}

/* Clips to the time range; false when the interval lies outside. An empty interval is inside when its
 * moment is. */
static inline bool st_selection_clip(const struct st_selection *selection, int64_t *begin_ns,
				     int64_t *end_ns)
{
	if (!selection->has_time_range)
		return true;
	if (*begin_ns >= selection->end_ns || *end_ns < selection->begin_ns ||
	    (*end_ns == selection->begin_ns && *begin_ns != *end_ns))
		return false;
	if (*begin_ns < selection->begin_ns)
		*begin_ns = selection->begin_ns;
	if (*end_ns > selection->end_ns)
		*end_ns = selection->end_ns;
	return true;
}

#endif
