// SPDX-License-Identifier: Apache-2.0
//
// Tracks and labels of a view as JSON.
#include "analyze/timeline/view.h"

#include "base/json_out.h"

enum { PAUSES_MAX = 10000 };

static void put_text(struct st_json *json, const char *key, struct st_text text)
{
	st_json_put_bytes(json, key, text.bytes, text.size_bytes);
}

static void put_index(struct st_json *json, const char *key, uint32_t index)
{
	st_json_key(json, key);
	if (index == ST_NO_ROW)
		st_json_null(json);
	else
		st_json_u64(json, index);
}

static void put_double(struct st_json *json, const char *key, double value)
{
	st_json_key(json, key);
	st_json_double(json, value);
}

static void put_track(const struct st_timeline_view *view, uint32_t id, struct st_json *json)
{
	const struct st_view_track *track = &view->tracks[id];

	st_json_object_begin(json);
	st_json_put_u64(json, "id", id);
	st_json_put_text(json, "kind", track->kind);
	put_text(json, "title", track->title);
	put_text(json, "subtitle", track->subtitle);
	put_index(json, "parent", track->parent);
	put_index(json, "process", track->process);
	put_index(json, "tid",
		  track->thread == ST_NO_ROW ? ST_NO_ROW : view->threads[track->thread].tid);
	st_json_put_u64(json, "lanes", track->lanes);
	st_json_put_u64(json, "items", track->count);
	st_json_put_u64(json, "samples", track->samples);
	st_json_put_i64(json, "first_ns", track->first_ns);
	st_json_put_i64(json, "last_ns", track->last_ns);
	st_json_put_bool(json, "has_boxes", track->items != ST_ITEM_NONE);
	st_json_put_bool(json, "has_values", track->values != ST_VALUES_NONE);
	st_json_put_text(json, "event_kind", st_item_words[track->items]);
	put_text(json, "unit", track->unit);
	put_double(json, "value_min", track->value_min);
	put_double(json, "value_max", track->value_max);
	st_json_put_u64(json, "lost", track->lost);
	st_json_object_end(json);
}

static void put_pauses(const struct st_timeline_view *view, struct st_json *json)
{
	uint32_t count;
	const struct st_pause_window *pauses = st_result_pauses(view->result, &count);

	st_json_put_u64(json, "pause_count", count);
	st_json_put_array(json, "pauses");
	for (uint32_t i = 0; i < count && i < PAUSES_MAX; i++) {
		st_json_object_begin(json);
		put_index(json, "process", pauses[i].process);
		st_json_put_i64(json, "begin_ns", pauses[i].begin_ns);
		st_json_put_i64(json, "end_ns", pauses[i].end_ns);
		st_json_object_end(json);
	}
	st_json_array_end(json);
}

static void put_categories(struct st_json *json)
{
	st_json_put_array(json, "categories");
	for (uint32_t i = 0; i < ST_VIEW_CATEGORIES; i++) {
		struct st_category_words words = st_view_category(i);

		st_json_object_begin(json);
		st_json_put_u64(json, "id", i);
		st_json_put_text(json, "name", words.name);
		st_json_put_text(json, "title", words.title);
		st_json_object_end(json);
	}
	st_json_array_end(json);
}

/* How high a track is takes its lanes, which the first tiles need as well. */
static enum st_status count_lanes(struct st_timeline_view *view, struct st_error *err)
{
	for (uint32_t i = 0; i < view->count; i++) {
		const struct st_lane_index *lanes;
		enum st_status status;

		if (view->tracks[i].items == ST_ITEM_NONE || view->tracks[i].lanes)
			continue;
		status = st_view_lanes(view, i, NULL, &lanes, err);
		if (status)
			return status;
		view->tracks[i].lanes = lanes->lane_count;
	}
	return ST_OK;
}

enum st_status st_view_tracks_json(struct st_timeline_view *view, struct st_json *json,
				   struct st_error *err)
{
	enum st_status status = count_lanes(view, err);

	if (status)
		return status;
	st_json_put_i64(json, "begin_ns", view->begin_ns);
	st_json_put_i64(json, "end_ns", view->end_ns);
	st_json_put_i64(json, "kept_from_ns", st_result_info(view->result)->kept_from_ns);
	st_json_put_text(json, "step_source",
			 view->steps.count ? st_step_source_text(&view->steps, &view->arena) : "");
	st_json_put_array(json, "tracks");
	for (uint32_t i = 0; i < view->count; i++)
		put_track(view, i, json);
	st_json_array_end(json);
	put_categories(json);
	put_pauses(view, json);
	return ST_OK;
}

enum st_status st_view_labels_json(const struct st_timeline_view *view, const uint32_t *labels,
				   uint32_t count, struct st_json *json, struct st_error *err)
{
	if (count > ST_VIEW_LABELS_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "%u labels at once: ask for at most %d",
				    count, ST_VIEW_LABELS_MAX);
	st_json_put_array(json, "labels");
	for (uint32_t i = 0; i < count; i++) {
		struct st_view_label label;

		if (!st_view_label(view, labels[i], &label))
			return st_error_set(err, ST_EUSAGE, 0, "there is no label %u", labels[i]);
		st_json_object_begin(json);
		st_json_put_u64(json, "id", labels[i]);
		put_text(json, "name", label.name);
		put_text(json, "domain", label.domain);
		st_json_put_u64(json, "category", label.category);
		st_json_object_end(json);
	}
	st_json_array_end(json);
	return ST_OK;
}
