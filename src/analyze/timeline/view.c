// SPDX-License-Identifier: Apache-2.0
//
// A view of a result: opened, closed, its labels, and what was made for its tracks, of which the least used goes when
// there is too much.
#include "analyze/timeline/view.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/timeline/lane_pack.h"
#include "analyze/timeline/tile_cache.h"
#include "base/vec.h"

/* 25 million slices; a result with more is drawn as well, and made again where the view goes back. */
#define MADE_MAX_BYTES ((size_t)256 << 20)
/* About a hundred screens full. */
#define TILES_MAX_BYTES ((size_t)32 << 20)

const char *const st_item_words[ST_ITEM_KINDS + 1] = {"slice",	"call", "span",
						      "marker", "step", ""};

static enum st_status out_of_memory(struct st_error *err)
{
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the timeline");
}

/* Labels ------------------------------------------------------------------------------------------- */

uint32_t st_view_add_label(struct st_timeline_view *view, struct st_text name,
			   struct st_text domain, uint32_t category)
{
	/* Each text of a result is there once, so where it is tells it from others. */
	uint32_t number = st_key_table_add(&view->label_keys, (uint64_t)(uintptr_t)name.bytes,
					   (uint64_t)(uintptr_t)domain.bytes, category);

	if (number == ST_ID_NONE)
		return ST_NO_ROW;
	if (number == view->more_count &&
	    !ST_VEC_PUSH(view->more_labels, view->more_count, view->more_capacity,
			 (struct st_view_label){name, domain, category}))
		return ST_NO_ROW;
	return view->label_count + number;
}

bool st_view_label(const struct st_timeline_view *view, uint32_t label, struct st_view_label *out)
{
	const struct st_label *known;

	if (label >= view->label_count) {
		if (label - view->label_count >= view->more_count)
			return false;
		*out = view->more_labels[label - view->label_count];
		return true;
	}
	known = &view->labels[label];
	*out = (struct st_view_label){st_result_text(view->result, known->name),
				      st_label_text(view->result, known, ST_BY_TASK_DOMAIN),
				      known->category};
	return true;
}

uint32_t st_view_label_category(const struct st_timeline_view *view, uint32_t label)
{
	if (label < view->label_count)
		return view->labels[label].category;
	return label - view->label_count < view->more_count
		       ? view->more_labels[label - view->label_count].category
		       : 0;
}

struct st_category_words st_view_category(uint32_t category)
{
	static const char *const titles[ST_CATEGORIES] = {
		[ST_CATEGORY_TASK] = "Tasks",
		[ST_CATEGORY_OPERATOR] = "Operators",
		[ST_CATEGORY_RANGE] = "Ranges",
		[ST_CATEGORY_STEP] = "Steps of torch.profiler",
		[ST_CATEGORY_MODULE] = "Modules",
		[ST_CATEGORY_PRIMITIVE] = "Primitives",
		[ST_CATEGORY_PRIMITIVE_OLD] = "Primitives",
		[ST_CATEGORY_PRIMITIVE_CREATE] = "Creation of primitives",
		[ST_CATEGORY_PRIMITIVE_STAGE] = "Stages of primitives",
		[ST_CATEGORY_RUNTIME_CALL] = "Runtime calls",
		[ST_CATEGORY_DEVICE_WAIT] = "Waits for the device",
		[ST_CATEGORY_KERNEL] = "Kernels",
		[ST_CATEGORY_COPY] = "Copies",
		[ST_CATEGORY_COMMUNICATION] = "Communication",
		[ST_CATEGORY_DEVICE_OVERHEAD] = "Overhead of devices",
		[ST_CATEGORY_DEVICE_MEMORY] = "Memory of devices",
	};
	static const struct st_category_words more[ST_VIEW_CATEGORIES - ST_CATEGORIES] = {
		[ST_VIEW_PYTHON - ST_CATEGORIES] = {"python", "Python calls"},
		[ST_VIEW_OVERLAPPED - ST_CATEGORIES] = {"overlapped", "Overlapped tasks"},
		[ST_VIEW_REGION - ST_CATEGORIES] = {"region", "Regions"},
		[ST_VIEW_FRAME - ST_CATEGORIES] = {"frame", "Frames"},
		[ST_VIEW_TIMED_TASK - ST_CATEGORIES] = {"timed", "Timed tasks"},
		[ST_VIEW_USER_EVENT - ST_CATEGORIES] = {"event", "User events"},
		[ST_VIEW_MARK - ST_CATEGORIES] = {"mark", "Marks"},
		[ST_VIEW_WAIT - ST_CATEGORIES] = {"wait", "Waits"},
		[ST_VIEW_HOLD - ST_CATEGORIES] = {"hold", "Holds"},
		[ST_VIEW_MARKER - ST_CATEGORIES] = {"marker", "Markers"},
		[ST_VIEW_STEP - ST_CATEGORIES] = {"step", "Steps"},
	};

	if (category < ST_CATEGORIES)
		return (struct st_category_words){st_category_name((enum st_category)category),
						  titles[category] ? titles[category] : "Others"};
	return category < ST_VIEW_CATEGORIES ? more[category - ST_CATEGORIES]
					     : (struct st_category_words){"other", "Others"};
}

/* Items -------------------------------------------------------------------------------------------- */

struct st_item_columns st_view_columns(const struct st_timeline_view *view, enum st_item_kind kind)
{
	const struct st_view_items *items = &view->items[kind];

	if (kind == ST_ITEM_SLICE)
		return (struct st_item_columns){view->slices->begin_ns, view->slices->end_ns,
						view->slices->label, view->slices->flags};
	return (struct st_item_columns){items->begin_ns, items->end_ns, items->label, items->flags};
}

uint32_t st_view_item_row(const struct st_timeline_view *view, enum st_item_kind kind,
			  uint32_t number)
{
	const struct st_view_items *items = &view->items[kind];

	if (kind == ST_ITEM_SLICE)
		return number < view->slices->count ? number : ST_NO_ROW;
	if (!items->number)
		return number < items->count ? number : ST_NO_ROW;
	for (uint32_t i = 0; i < items->count; i++)
		if (items->number[i] == number)
			return i;
	return ST_NO_ROW;
}

uint32_t st_view_item_number(const struct st_timeline_view *view, enum st_item_kind kind,
			     uint32_t row)
{
	const uint32_t *numbers = kind == ST_ITEM_SLICE ? NULL : view->items[kind].number;

	return numbers ? numbers[row] : row;
}

uint32_t st_view_track_of(const struct st_timeline_view *view, enum st_item_kind kind, uint32_t row)
{
	if (kind == ST_ITEM_SLICE)
		return row < view->slices->count ? view->track_of_thread[view->slices->track[row]]
						 : ST_NO_ROW;
	for (uint32_t i = 0; i < view->count; i++) {
		const struct st_view_track *track = &view->tracks[i];

		if (track->items != kind)
			continue;
		if (kind == ST_ITEM_CALL) {
			if (row >= track->first && row - track->first < track->count)
				return i;
			continue;
		}
		for (uint32_t j = 0; j < track->count; j++)
			if (view->items[kind].order[track->first + j] == row)
				return i;
	}
	return ST_NO_ROW;
}

/* Filters ------------------------------------------------------------------------------------------ */

static bool is_of_place(const struct st_filter *filter)
{
	return filter->grouping == ST_BY_PROCESS || filter->grouping == ST_BY_THREAD;
}

enum st_status st_view_filter_init(struct st_view_filter *out, struct st_timeline_view *view,
				   const char *key, const struct st_question *question,
				   struct st_error *err)
{
	struct st_question places = {0};
	enum st_status status;

	memset(out, 0, sizeof(*out));
	out->key = key;
	out->question = question;
	out->of_places = calloc(question->filter_count + 1, sizeof(*out->of_places));
	if (!out->of_places)
		return out_of_memory(err);
	for (size_t i = 0; i < question->filter_count; i++)
		if (is_of_place(&question->filters[i]))
			out->of_places[places.filter_count++] = question->filters[i];
	places.filters = out->of_places;
	status = st_dataset_prepare(&view->dataset, question, err);
	if (!status)
		status = st_selection_init(&out->rows, &view->dataset, question, err);
	if (!status)
		status = st_selection_tracks(&out->places, &view->dataset, &places, err);
	return status;
}

void st_view_filter_fini(struct st_view_filter *filter)
{
	st_selection_fini(&filter->rows);
	st_selection_fini(&filter->places);
	free(filter->of_places);
	memset(filter, 0, sizeof(*filter));
}

bool st_view_filter_has(const struct st_view_filter *filter, const struct st_timeline_view *view,
			uint32_t track)
{
	const struct st_view_track *at = &view->tracks[track];

	if (at->thread != ST_NO_ROW)
		return st_selection_has_track(&filter->places, at->thread);
	for (uint32_t i = 0; i < view->thread_count; i++)
		if ((at->process == ST_NO_ROW || view->threads[i].process == at->process) &&
		    st_selection_has_track(&filter->places, i))
			return true;
	return !filter->places.test_count;
}

/* Lanes -------------------------------------------------------------------------------------------- */

static bool is_in_range(const struct st_view_filter *filter, const struct st_item_columns *items,
			uint32_t row)
{
	int64_t begin_ns = items->begin_ns[row], end_ns = items->end_ns[row];

	return st_selection_clip(&filter->rows, &begin_ns, &end_ns);
}

/* Takes off the lanes what the filter leaves out; what stays is where it was. */
static void filter_lanes(const struct st_view_track *track, const struct st_item_columns *items,
			 const struct st_view_filter *filter, struct st_placed_items *placed,
			 uint32_t *lanes)
{
	for (uint32_t i = 0; i < placed->count; i++) {
		uint32_t row = placed->rows ? placed->rows[i] : placed->first + i;

		if (lanes[i] == ST_LANE_NONE)
			continue;
		if (!is_in_range(filter, items, row) ||
		    (track->items == ST_ITEM_SLICE && !st_selection_has(&filter->rows, row)))
			lanes[i] = ST_LANE_NONE;
	}
}

/* The lane of each item of a track. */
static uint32_t *place_items(const struct st_timeline_view *view, const struct st_view_track *track,
			     struct st_placed_items *out)
{
	const struct st_view_items *items = &view->items[track->items];
	struct st_lanes_packed packed = {0};

	*out = (struct st_placed_items){.first = track->first, .count = track->count};
	if (track->items == ST_ITEM_SLICE || track->items == ST_ITEM_CALL) {
		struct st_item_columns columns = st_view_columns(view, track->items);
		struct st_nested_items nested = {.begin_ns = columns.begin_ns,
						 .end_ns = columns.end_ns,
						 .parent = track->items == ST_ITEM_SLICE
								   ? view->slices->parent
								   : items->parent,
						 .flags = columns.flags,
						 .hidden_flags = ST_SLICE_TWIN,
						 .first = track->first,
						 .count = track->count};

		if (!st_lane_pack(&nested, &packed))
			return NULL;
	} else {
		out->rows = items->order + track->first;
		packed.lane_count = 1;
		packed.lanes = calloc((size_t)track->count + 1, sizeof(*packed.lanes));
		for (uint32_t i = 0; packed.lanes && items->lane && i < track->count; i++) {
			packed.lanes[i] = items->lane[track->first + i];
			if (packed.lanes[i] >= packed.lane_count)
				packed.lane_count = packed.lanes[i] + 1;
		}
	}
	out->lanes = packed.lanes;
	out->lane_count = packed.lane_count;
	return packed.lanes;
}

static bool make_lanes(const struct st_timeline_view *view, const struct st_view_track *track,
		       const struct st_view_filter *filter, struct st_lane_index *out)
{
	struct st_item_columns items = st_view_columns(view, track->items);
	struct st_placed_items placed;
	uint32_t *lanes = place_items(view, track, &placed);
	bool done;

	memset(out, 0, sizeof(*out));
	if (!lanes)
		return false;
	if (filter)
		filter_lanes(track, &items, filter, &placed, lanes);
	done = st_lane_index_make(out, &items, &placed);
	free(lanes);
	return done;
}

static bool is_made_for(const struct st_track_lanes *made, uint32_t track, const char *key)
{
	if (made->track != track || !made->filter != !key)
		return false;
	return !key || strcmp(made->filter, key) == 0;
}

static void forget(struct st_timeline_view *view, uint32_t at)
{
	view->made_bytes -= view->made[at].index.size_bytes;
	st_lane_index_fini(&view->made[at].index);
	free(view->made[at].filter);
	view->made[at] = view->made[--view->made_count];
}

/* The newest one stays, however large. */
static void forget_least_used(struct st_timeline_view *view)
{
	while (view->made_bytes > view->made_max_bytes && view->made_count > 1) {
		uint32_t least = 0;

		for (uint32_t i = 1; i < view->made_count; i++)
			if (view->made[i].used < view->made[least].used)
				least = i;
		forget(view, least);
	}
}

enum st_status st_view_lanes(struct st_timeline_view *view, uint32_t track,
			     const struct st_view_filter *filter, const struct st_lane_index **out,
			     struct st_error *err)
{
	const char *key = filter ? filter->key : NULL;
	struct st_track_lanes made = {.track = track};

	*out = NULL;
	view->clock++;
	for (uint32_t i = 0; i < view->made_count; i++) {
		if (!is_made_for(&view->made[i], track, key))
			continue;
		view->made[i].used = view->clock;
		*out = &view->made[i].index;
		return ST_OK;
	}
	made.filter = key ? strdup(key) : NULL;
	made.used = view->clock;
	if ((key && !made.filter) || !make_lanes(view, &view->tracks[track], filter, &made.index) ||
	    !ST_VEC_PUSH(view->made, view->made_count, view->made_capacity, made)) {
		st_lane_index_fini(&made.index);
		free(made.filter);
		return out_of_memory(err);
	}
	view->made_bytes += made.index.size_bytes;
	forget_least_used(view);
	for (uint32_t i = 0; i < view->made_count; i++)
		if (view->made[i].used == view->clock)
			*out = &view->made[i].index;
	return ST_OK;
}

/* The view ----------------------------------------------------------------------------------------- */

static enum st_status find_all(struct st_timeline_view *view, struct st_error *err)
{
	enum st_status status = st_ties_make(&view->ties, view->result, err);

	if (status)
		return status;
	if (!st_thing_args_init(&view->args, view->result, &view->ties) ||
	    !st_places_init(&view->places, &view->args))
		return out_of_memory(err);
	status = st_dataset_slices_init(&view->dataset, view->result, err);
	if (!status)
		status = st_counters_make(&view->counters, view->result, err);
	if (!status)
		status = st_view_find_steps(view, err);
	if (status)
		return status;
	if (!st_view_find_spans(view) || !st_view_find_markers(view) || !st_view_find_calls(view) ||
	    !st_view_find_values(view))
		return out_of_memory(err);
	return st_view_find_tracks(view, err);
}

enum st_status st_timeline_view_open(struct st_timeline_view **out, const struct st_result *result,
				     struct st_error *err)
{
	struct st_timeline_view *view = calloc(1, sizeof(*view));
	enum st_status status;

	*out = NULL;
	if (!view)
		return out_of_memory(err);
	view->result = result;
	view->slices = st_result_slices(result);
	view->threads = st_result_tracks(result, &view->thread_count);
	view->processes = st_result_processes(result, &view->process_count);
	view->labels = st_result_labels(result, &view->label_count);
	view->made_max_bytes = MADE_MAX_BYTES;
	view->tiles = st_tile_cache_create(TILES_MAX_BYTES);
	st_arena_init(&view->arena, SIZE_MAX / 2);
	status = find_all(view, err);
	if (status)
		st_timeline_view_close(view);
	else
		*out = view;
	return status;
}

void st_timeline_view_close(struct st_timeline_view *view)
{
	if (!view)
		return;
	while (view->made_count)
		forget(view, 0);
	free(view->made);
	st_tile_cache_destroy(view->tiles);
	for (uint32_t i = 0; view->sample_blocks && i < view->thread_count; i++)
		free(view->sample_blocks[i]);
	for (uint32_t i = 0; i < view->series_count; i++) {
		free(view->series[i].time_ns);
		free(view->series[i].value);
		free(view->series[i].blocks);
	}
	free(view->sample_blocks);
	free(view->series);
	free(view->tracks);
	free(view->more_labels);
	st_key_table_fini(&view->label_keys);
	st_counters_fini(&view->counters);
	st_step_list_fini(&view->steps);
	st_dataset_slices_fini(&view->dataset);
	st_places_fini(&view->places);
	st_thing_args_fini(&view->args);
	st_ties_fini(&view->ties);
	st_arena_fini(&view->arena);
	free(view);
}
