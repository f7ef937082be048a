// SPDX-License-Identifier: Apache-2.0
//
// The tracks of a view in the order in which they are drawn: of each process itself, its steps, what spans its threads,
// its markers and counters, then its threads, each with what it has beside its tasks.
#include "analyze/timeline/view.h"

#include <math.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "store/samples.h"

static struct st_text words(const char *text)
{
	return (struct st_text){text, strlen(text)};
}

static uint64_t lost_of(const struct st_loss *loss)
{
	return loss->slices_dropped + loss->no_slot + loss->suspect + loss->events_dropped +
	       loss->samples_dropped;
}

/* NULL: no memory. Good until the next one is added. */
static struct st_view_track *add_track(struct st_timeline_view *view, const char *kind,
				       uint32_t parent)
{
	struct st_view_track track = {.kind = kind,
				      .title = words(""),
				      .subtitle = words(""),
				      .unit = words(""),
				      .parent = parent,
				      .process = ST_NO_ROW,
				      .thread = ST_NO_ROW,
				      .items = ST_ITEM_NONE};

	if (parent != ST_NO_ROW) {
		track.process = view->tracks[parent].process;
		track.thread = view->tracks[parent].thread;
		track.first_ns = view->tracks[parent].first_ns;
		track.last_ns = view->tracks[parent].last_ns;
	}
	if (!ST_VEC_PUSH(view->tracks, view->count, view->capacity, track))
		return NULL;
	return &view->tracks[view->count - 1];
}

/* Where the items of a track are, and from when to when. */
static void set_items(struct st_timeline_view *view, struct st_view_track *track,
		      enum st_item_kind kind, uint32_t first, uint32_t count)
{
	struct st_item_columns columns = st_view_columns(view, kind);
	const uint32_t *order = view->items[kind].order;

	track->items = kind;
	track->first = first;
	track->count = count;
	for (uint32_t i = 0; kind != ST_ITEM_SLICE && i < count; i++) {
		uint32_t row = order ? order[first + i] : first + i;

		if (!i || columns.begin_ns[row] < track->first_ns)
			track->first_ns = columns.begin_ns[row];
		if (!i || columns.end_ns[row] > track->last_ns)
			track->last_ns = columns.end_ns[row];
	}
}

/* Spans of a place, a track for each kind and domain. */
static bool add_spans(struct st_timeline_view *view, uint32_t parent, enum st_place_owner owner,
		      uint32_t index)
{
	static const char *const kinds[ST_SPAN_KINDS] = {"regions", "overlapped", "regions",
							 "frames",  "timed",	  "events",
							 "marks",   "waits",	  "holds"};

	for (uint32_t i = 0; i < view->places.group_count; i++) {
		const struct st_span_group *group = &view->places.groups[i];
		struct st_view_track *track;

		if (group->place.owner != owner || group->place.index != index)
			continue;
		track = add_track(view, kinds[group->kind < ST_SPAN_KINDS ? group->kind : 0],
				  parent);
		if (!track)
			return false;
		track->title = words(st_span_kind_name(group->kind));
		track->subtitle = st_result_text(view->result, group->domain);
		track->group = i;
		set_items(view, track, ST_ITEM_SPAN, view->first_of_group[i],
			  view->first_of_group[i + 1] - view->first_of_group[i]);
	}
	return true;
}

/* Markers of a process, or of the family. */
static bool add_markers(struct st_timeline_view *view, uint32_t parent, uint32_t owner)
{
	const struct st_view_items *items = &view->items[ST_ITEM_MARKER];
	struct st_view_track *track;
	uint32_t first = ST_SEARCH(i, 0, items->count, view->owner_of_marker[i] < owner);
	uint32_t end = ST_SEARCH(i, first, items->count, view->owner_of_marker[i] <= owner);

	if (first == end)
		return true;
	track = add_track(view, "markers", parent);
	if (!track)
		return false;
	track->title = words("Markers");
	track->group = owner;
	set_items(view, track, ST_ITEM_MARKER, first, end - first);
	return true;
}

static bool add_steps(struct st_timeline_view *view, uint32_t parent, uint32_t process)
{
	const struct st_step_list *list = &view->steps;
	uint32_t first = 0, end;

	for (; first < list->count; first = end) {
		uint32_t thread = list->steps[first].track;
		struct st_view_track *track;

		for (end = first; end < list->count && list->steps[end].track == thread;)
			end++;
		if (thread >= view->thread_count || view->threads[thread].process != process)
			continue;
		track = add_track(view, "steps", parent);
		if (!track)
			return false;
		track->title = words("Steps");
		track->subtitle = words(st_step_source_text(list, &view->arena));
		track->thread = thread;
		set_items(view, track, ST_ITEM_STEP, first, end - first);
	}
	return true;
}

static void set_series(struct st_timeline_view *view, struct st_view_track *track,
		       enum st_value_source source, uint32_t at)
{
	const struct st_value_series *series = &view->series[at];

	track->values = source;
	track->counter = at;
	track->samples = series->count;
	track->first_ns = series->time_ns[0];
	track->last_ns = series->time_ns[series->count - 1];
	track->value_min = track->value_max = series->value[0];
	for (uint32_t i = 0; i <= (series->count - 1) / 64; i++) {
		track->value_min = fmin(track->value_min, series->blocks[i].min);
		track->value_max = fmax(track->value_max, series->blocks[i].max);
	}
}

static bool add_counters(struct st_timeline_view *view, uint32_t parent, uint32_t process)
{
	uint32_t memory = view->counters.count + process;
	struct st_view_track *track;

	for (uint32_t i = 0; i < view->counters.count; i++) {
		const struct st_counter *counter = &view->counters.counters[i];

		if (!counter->sample_count || counter->definition->process != process)
			continue;
		track = add_track(view, "counter", parent);
		if (!track)
			return false;
		track->title = st_result_text(view->result, counter->definition->name);
		track->subtitle = st_result_text(view->result, counter->definition->domain);
		track->unit = st_result_text(view->result, counter->unit);
		set_series(view, track, ST_VALUES_COUNTER, i);
	}
	if (!view->series[memory].count)
		return true;
	track = add_track(view, "memory", parent);
	if (!track)
		return false;
	track->title = words("Framework memory");
	track->subtitle = words("held since recording began");
	track->unit = words("B");
	set_series(view, track, ST_VALUES_MEMORY, memory);
	return true;
}

static bool add_calls(struct st_timeline_view *view, uint32_t parent, uint32_t thread)
{
	uint32_t count = view->items[ST_ITEM_CALL].count;
	uint32_t first = ST_SEARCH(i, 0, count, view->calls[i].track < thread);
	uint32_t end = ST_SEARCH(i, first, count, view->calls[i].track <= thread);
	struct st_view_track *track;

	if (first == end)
		return true;
	track = add_track(view, "python", parent);
	if (!track)
		return false;
	track->title = words("Python calls");
	set_items(view, track, ST_ITEM_CALL, first, end - first);
	return true;
}

static const char *kind_of(const struct st_track *thread)
{
	switch (thread->kind) {
	case ST_TRACK_THREAD:
		return "thread";
	case ST_TRACK_DEVICE_STREAM:
	case ST_TRACK_DEVICE_QUEUE:
		return "device";
	default:
		return "other";
	}
}

static bool add_thread(struct st_timeline_view *view, uint32_t parent, uint32_t index)
{
	const struct st_samples *samples = st_result_samples(view->result);
	const struct st_track *thread = &view->threads[index];
	struct st_view_track *track = add_track(view, kind_of(thread), parent);
	uint32_t at = view->count - 1;

	if (!track)
		return false;
	view->track_of_thread[index] = at;
	track->title = st_place_thread(view->result, index, &view->arena);
	track->thread = index;
	track->first_ns = thread->first_ns;
	track->last_ns = thread->last_ns;
	track->lost = lost_of(&thread->loss);
	if (thread->row_end > thread->row_begin)
		set_items(view, track, ST_ITEM_SLICE, thread->row_begin,
			  thread->row_end - thread->row_begin);
	if (samples->count)
		track->samples =
			samples->first_of_track[index + 1] - samples->first_of_track[index];
	if (track->samples) {
		track->values = ST_VALUES_THREAD_CPU;
		track->unit = words("CPUs");
		track->value_max = 1.0;
		view->tracks[parent].samples += track->samples;
		view->tracks[parent].value_max += 1.0;
	}
	return add_calls(view, at, index) && add_spans(view, at, ST_PLACE_THREAD, index);
}

static bool add_process(struct st_timeline_view *view, uint32_t index)
{
	const struct st_process *process = &view->processes[index];
	struct st_view_track *track = add_track(view, "process", ST_NO_ROW);
	uint32_t at = view->count - 1;
	double cpus = st_result_info(view->result)->cpu_count;

	if (!track)
		return false;
	track->title = st_place_process(view->result, index, &view->arena);
	track->subtitle = st_result_text(view->result, process->command_line);
	track->process = index;
	track->first_ns = process->first_ns;
	track->last_ns = process->last_ns;
	track->lost = lost_of(&process->loss);
	if (!add_steps(view, at, index) || !add_spans(view, at, ST_PLACE_PROCESS, index) ||
	    !add_markers(view, at, index) || !add_counters(view, at, index))
		return false;
	for (uint32_t i = 0; i < view->thread_count; i++)
		if (view->threads[i].process == index && !add_thread(view, at, i))
			return false;
	track = &view->tracks[at];
	if (track->samples) {
		track->values = ST_VALUES_PROCESS_CPU;
		track->unit = words("CPUs");
		if (cpus > 0.0 && cpus < track->value_max)
			track->value_max = cpus;
	}
	return true;
}

static void find_ends(struct st_timeline_view *view)
{
	const struct st_result_info *info = st_result_info(view->result);

	view->begin_ns = info->kept_from_ns;
	view->end_ns =
		info->elapsed_ns > info->kept_from_ns ? info->elapsed_ns : info->kept_from_ns;
	for (uint32_t i = 0; i < view->count; i++) {
		if (view->tracks[i].first_ns < view->begin_ns)
			view->begin_ns = view->tracks[i].first_ns;
		if (view->tracks[i].last_ns > view->end_ns)
			view->end_ns = view->tracks[i].last_ns;
	}
}

enum st_status st_view_find_tracks(struct st_timeline_view *view, struct st_error *err)
{
	bool done;

	view->track_of_thread = st_arena_calloc(&view->arena, (size_t)view->thread_count + 1,
						sizeof(*view->track_of_thread));
	if (!view->track_of_thread)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the timeline");
	for (uint32_t i = 0; i < view->thread_count; i++)
		view->track_of_thread[i] = ST_NO_ROW;
	done = add_markers(view, ST_NO_ROW, view->process_count);
	for (uint32_t i = 0; done && i < view->process_count; i++)
		done = add_process(view, i);
	if (!done || view->arena.failed)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the timeline");
	find_ends(view);
	return ST_OK;
}
