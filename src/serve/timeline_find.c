/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs that look for things on the timeline, and at one of them.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/timeline/details.h"
#include "base/json_out.h"
#include "serve/timeline_verbs.h"
#include "serve/verbs.h"

enum { HITS_USUAL = 100 };

/* A whole number that is an index; absent: it stays as it is. */
static enum st_status read_index(const struct st_verb_call *call, const char *key, bool must,
				 uint32_t *out, struct st_error *err)
{
	int64_t value = -1;
	enum st_status status = st_ask_i64(call, key, must, &value, err);

	if (status)
		return status;
	if (value == -1 && !must && !json_object_object_get_ex(call->ask, key, NULL))
		return ST_OK;
	if (value < 0 || value >= UINT32_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "'%s': expected a number from 0 on", key);
	*out = (uint32_t)value;
	return ST_OK;
}

enum st_status st_verb_event(struct st_verb_call *call, struct st_error *err)
{
	struct st_timeline_view *view;
	struct st_json json;
	const char *word = "slice";
	uint32_t row = 0, kind = 0;
	enum st_status status = st_timeline_of(call, &view, err);

	if (!status)
		status = read_index(call, "row", true, &row, err);
	if (!status)
		status = st_ask_text(call, "kind", false, &word, err);
	if (status)
		return status;
	while (kind < ST_ITEM_KINDS && strcmp(st_item_words[kind], word) != 0)
		kind++;
	if (kind == ST_ITEM_KINDS)
		return st_error_set(err, ST_EUSAGE, 0,
				    "'kind': expected slice, call, span, marker or step, not "
				    "'%.40s'",
				    word);
	st_json_init(&json, call->out);
	st_json_object_begin(&json);
	status = st_view_event_json(view, (enum st_item_kind)kind, row, &json, err);
	st_json_object_end(&json);
	return status;
}

/* labels is the caller's to free, also after a failure. */
static enum st_status read_find(const struct st_verb_call *call, struct st_find *find,
				uint32_t **labels, struct st_error *err)
{
	size_t count = 0;
	enum st_status status = st_ask_text(call, "text", false, &find->text, err);

	if (!status)
		status = st_ask_numbers(call, "labels", ST_VIEW_LABELS_MAX, labels, &count, err);
	find->labels = *labels;
	find->label_count = (uint32_t)count;
	return status;
}

static enum st_status read_range(const struct st_verb_call *call, struct st_find *find,
				 struct st_error *err)
{
	json_object *range = NULL, *begin, *end;

	json_object_object_get_ex(call->ask, "range", &range);
	if (!range)
		return ST_OK;
	begin = json_object_is_type(range, json_type_array) ? json_object_array_get_idx(range, 0)
							    : NULL;
	end = json_object_is_type(range, json_type_array) ? json_object_array_get_idx(range, 1)
							  : NULL;
	if (!json_object_is_type(begin, json_type_int) || !json_object_is_type(end, json_type_int))
		return st_error_set(err, ST_EUSAGE, 0, "'range': expected [begin_ns, end_ns]");
	find->has_range = true;
	find->begin_ns = json_object_get_int64(begin);
	find->end_ns = json_object_get_int64(end);
	return ST_OK;
}

enum st_status st_verb_search(struct st_verb_call *call, struct st_error *err)
{
	struct st_timeline_view *view;
	struct st_find find = {.limit = HITS_USUAL};
	struct st_json json;
	uint32_t *labels = NULL;
	enum st_status status = st_timeline_of(call, &view, err);

	if (!status)
		status = read_find(call, &find, &labels, err);
	if (!status)
		status = read_range(call, &find, err);
	if (!status)
		status = read_index(call, "offset", false, &find.offset, err);
	if (!status)
		status = read_index(call, "limit", false, &find.limit, err);
	if (!status) {
		st_json_init(&json, call->out);
		st_json_object_begin(&json);
		status = st_view_search_json(view, &find, &json, err);
		st_json_object_end(&json);
	}
	free(labels);
	return status;
}

enum st_status st_verb_next(struct st_verb_call *call, struct st_error *err)
{
	struct st_timeline_view *view;
	struct st_find_next next = {.track = UINT32_MAX};
	struct st_json json;
	const char *direction = "next";
	uint32_t *labels = NULL;
	enum st_status status = st_timeline_of(call, &view, err);

	if (!status)
		status = read_find(call, &next.what, &labels, err);
	if (!status)
		status = st_ask_i64(call, "from_ns", true, &next.from_ns, err);
	if (!status)
		status = read_index(call, "track", false, &next.track, err);
	if (!status)
		status = st_ask_text(call, "direction", false, &direction, err);
	if (!status && strcmp(direction, "next") != 0 && strcmp(direction, "previous") != 0)
		status = st_error_set(err, ST_EUSAGE, 0, "'direction': expected next or previous");
	if (!status) {
		next.backward = strcmp(direction, "previous") == 0;
		st_json_init(&json, call->out);
		st_json_object_begin(&json);
		status = st_view_next_json(view, &next, &json, err);
		st_json_object_end(&json);
	}
	free(labels);
	return status;
}
