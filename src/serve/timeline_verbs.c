/* SPDX-License-Identifier: Apache-2.0
 *
 * From a request's JSON to a question to the view of the result (analyze/timeline), which is kept: the lanes of a large
 * track are made once.
 */
#include "serve/timeline_verbs.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/timeline/tiles.h"
#include "analyze/timeline/view.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "serve/question_words.h"
#include "serve/verbs.h"

static void end_view(void *view)
{
	st_timeline_view_close(view);
}

enum st_status st_timeline_of(struct st_verb_call *call, struct st_timeline_view **out,
			      struct st_error *err)
{
	enum st_status status;

	*out = st_serve_kept_get(call->kept, "timeline");
	if (*out)
		return ST_OK;
	call->progress(call->progress_arg, 0.0, "preparing the timeline");
	status = st_timeline_view_open(out, call->result, err);
	if (!status && !st_serve_kept_put(call->kept, "timeline", *out, end_view)) {
		st_timeline_view_close(*out);
		*out = NULL;
		status = st_error_set(err, ST_ENOMEM, 0, "no room for the timeline");
	}
	return status;
}

enum st_status st_verb_tracks(struct st_verb_call *call, struct st_error *err)
{
	struct st_timeline_view *view;
	struct st_json json;
	enum st_status status = st_timeline_of(call, &view, err);

	if (status)
		return status;
	st_json_init(&json, call->out);
	st_json_object_begin(&json);
	status = st_view_tracks_json(view, &json, err);
	st_json_object_end(&json);
	return status;
}

enum st_status st_verb_labels(struct st_verb_call *call, struct st_error *err)
{
	struct st_timeline_view *view;
	struct st_json json;
	uint32_t *ids = NULL;
	size_t count = 0;
	enum st_status status = st_timeline_of(call, &view, err);

	if (!status)
		status = st_ask_numbers(call, "ids", ST_VIEW_LABELS_MAX, &ids, &count, err);
	if (!status) {
		st_json_init(&json, call->out);
		st_json_object_begin(&json);
		status = st_view_labels_json(view, ids, (uint32_t)count, &json, err);
		st_json_object_end(&json);
	}
	free(ids);
	return status;
}

/* Tiles -------------------------------------------------------------------------------------------- */

static bool is_pair(json_object *pair, struct st_tile_place *out)
{
	json_object *track, *index;

	if (!json_object_is_type(pair, json_type_array) || json_object_array_length(pair) != 2)
		return false;
	track = json_object_array_get_idx(pair, 0);
	index = json_object_array_get_idx(pair, 1);
	if (!json_object_is_type(track, json_type_int) ||
	    !json_object_is_type(index, json_type_int) || json_object_get_int64(track) < 0 ||
	    json_object_get_int64(track) > UINT32_MAX)
		return false;
	*out = (struct st_tile_place){(uint32_t)json_object_get_int64(track),
				      json_object_get_int64(index)};
	return true;
}

/* places is the caller's to free, also after a failure. */
static enum st_status read_places(const struct st_verb_call *call, struct st_tile_place **places,
				  uint32_t *count, struct st_error *err)
{
	json_object *list = NULL;
	size_t size;

	json_object_object_get_ex(call->ask, "tiles", &list);
	if (!json_object_is_type(list, json_type_array))
		return st_error_set(err, ST_EUSAGE, 0,
				    "'tiles': expected a list of pairs [track, index]");
	size = json_object_array_length(list);
	if (size > ST_TILES_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "%zu tiles at once: ask for at most %d",
				    size, ST_TILES_MAX);
	*places = calloc(size + 1, sizeof(**places));
	if (!*places)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	for (*count = 0; *count < size; (*count)++)
		if (!is_pair(json_object_array_get_idx(list, *count), *places + *count))
			return st_error_set(err, ST_EUSAGE, 0,
					    "'tiles': expected a list of pairs [track, index]");
	return ST_OK;
}

static enum st_status read_lanes(const struct st_verb_call *call, struct st_tiles_ask *ask,
				 struct st_error *err)
{
	uint32_t *lanes = NULL;
	size_t count = 0;
	enum st_status status = st_ask_numbers(call, "lanes", 2, &lanes, &count, err);

	if (!status && count == 1)
		status = st_error_set(err, ST_EUSAGE, 0, "'lanes': expected [first, end]");
	if (!status && count == 2) {
		ask->lane_first = lanes[0];
		ask->lane_end = lanes[1];
	}
	free(lanes);
	return status;
}

/* The filter that a request has, as words of the command line. Zeroed: none. */
struct ask_filter {
	struct st_words words;
	struct st_buf key;
	struct st_view_filter filter;
	bool is_given;
};

static void filter_fini(struct ask_filter *filter)
{
	st_view_filter_fini(&filter->filter);
	st_words_fini(&filter->words);
	st_buf_fini(&filter->key);
}

static enum st_status read_filter(const struct st_verb_call *call, struct st_timeline_view *view,
				  struct ask_filter *out, struct st_error *err)
{
	struct st_verb_call inner = *call;
	json_object *given = NULL;
	enum st_status status;

	st_buf_init(&out->key, 1 << 20);
	json_object_object_get_ex(call->ask, "filter", &given);
	if (!given)
		return ST_OK;
	if (!json_object_is_type(given, json_type_object))
		return st_error_set(err, ST_EUSAGE, 0, "'filter': expected {\"words\": [...]}");
	inner.ask = given;
	status = st_question_words(&out->words, &inner, "report", "tasks", err);
	for (size_t i = 0; !status && i < out->words.count; i++) {
		st_buf_append_text(&out->key, out->words.argv[i]);
		st_buf_append_u8(&out->key, '\n');
	}
	if (!status && !st_buf_append_u8(&out->key, 0))
		status = st_error_set(err, ST_EUSAGE, 0, "the filter is too long");
	if (!status)
		status = st_view_filter_init(&out->filter, view, (const char *)out->key.data,
					     &out->words.request.options.question, err);
	out->is_given = !status;
	return status;
}

enum st_status st_verb_tiles(struct st_verb_call *call, struct st_error *err)
{
	struct st_timeline_view *view;
	struct st_tile_place *places = NULL;
	struct ask_filter filter = {0};
	struct st_tiles_ask ask = {0};
	int64_t level = 0;
	enum st_status status = st_timeline_of(call, &view, err);

	if (!status)
		status = st_ask_i64(call, "level", true, &level, err);
	if (!status && (level < 0 || level > ST_TILE_LEVEL_MAX))
		status = st_error_set(err, ST_EUSAGE, 0, "'level': expected 0 to %d",
				      ST_TILE_LEVEL_MAX);
	if (!status)
		status = read_places(call, &places, &ask.count, err);
	if (!status)
		status = read_lanes(call, &ask, err);
	if (!status)
		status = read_filter(call, view, &filter, err);
	if (!status) {
		ask.level = (uint32_t)level;
		ask.places = places;
		ask.filter = filter.is_given ? &filter.filter : NULL;
		call->media_type = "application/vnd.strata.tiles";
		status = st_view_tiles(view, &ask, call->out, err);
	}
	filter_fini(&filter);
	free(places);
	return status;
}
