// SPDX-License-Identifier: Apache-2.0
//
// Items of a view that are no slices: spans, markers, calls of Python functions and steps, as columns, and in which order
// and on which lane each track has them.
#include "analyze/timeline/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

static void *column(struct st_timeline_view *view, size_t count, size_t size_bytes)
{
	return st_arena_calloc(&view->arena, count + 1, size_bytes);
}

static bool make_columns(struct st_timeline_view *view, enum st_item_kind kind, uint32_t count)
{
	struct st_view_items *items = &view->items[kind];

	items->count = count;
	items->begin_ns = column(view, count, sizeof(*items->begin_ns));
	items->end_ns = column(view, count, sizeof(*items->end_ns));
	items->label = column(view, count, sizeof(*items->label));
	items->flags = column(view, count, sizeof(*items->flags));
	if (kind == ST_ITEM_CALL)
		items->parent = column(view, count, sizeof(*items->parent));
	else
		items->order = column(view, count, sizeof(*items->order));
	return !view->arena.failed;
}

/* Spans -------------------------------------------------------------------------------------------- */

static bool place_span(struct st_timeline_view *view, uint32_t span, uint32_t *group_of,
		       uint32_t *lane_of)
{
	const struct st_span_group *group = st_places_span(&view->places, span, &lane_of[span]);

	if (!group)
		return false;
	group_of[span] = (uint32_t)(group - view->places.groups);
	return true;
}

/* Sorts the spans by group; in a group they are by begin as they come. */
static bool order_spans(struct st_timeline_view *view, const uint32_t *group_of,
			const uint32_t *lane_of)
{
	struct st_view_items *items = &view->items[ST_ITEM_SPAN];
	uint32_t *next = column(view, (size_t)view->places.group_count + 1, sizeof(*next));

	if (!next)
		return false;
	for (uint32_t i = 0; i < items->count; i++)
		next[group_of[i] + 1]++;
	for (uint32_t i = 0; i < view->places.group_count; i++)
		next[i + 1] += next[i];
	view->first_of_group = column(view, (size_t)view->places.group_count + 1, sizeof(*next));
	if (!view->first_of_group)
		return false;
	memcpy(view->first_of_group, next, ((size_t)view->places.group_count + 1) * sizeof(*next));
	for (uint32_t i = 0; i < items->count; i++) {
		uint32_t at = next[group_of[i]]++;

		items->order[at] = i;
		items->lane[at] = lane_of[i];
	}
	return true;
}

bool st_view_find_spans(struct st_timeline_view *view)
{
	struct st_view_items *items = &view->items[ST_ITEM_SPAN];
	uint32_t count, *group_of, *lane_of;
	const struct st_span *spans = st_result_spans(view->result, &count);
	bool done;

	if (!count)
		return true;
	if (!make_columns(view, ST_ITEM_SPAN, count))
		return false;
	items->lane = column(view, count, sizeof(*items->lane));
	view->group_of_span = group_of = column(view, count, sizeof(*group_of));
	lane_of = malloc(count * sizeof(*lane_of));
	done = items->lane && group_of && lane_of;
	for (uint32_t i = 0; done && i < count; i++) {
		uint32_t kind = spans[i].kind;

		items->begin_ns[i] = spans[i].begin_ns;
		items->end_ns[i] = spans[i].end_ns;
		items->flags[i] = spans[i].flags & (ST_SLICE_UNFINISHED | ST_SLICE_CLIPPED);
		items->label[i] =
			st_view_add_label(view, st_places_span_title(&view->places, i).text,
					  st_result_text(view->result, spans[i].domain),
					  kind && kind < ST_SPAN_KINDS
						  ? ST_VIEW_OVERLAPPED + kind - ST_SPAN_OVERLAPPED
						  : ST_VIEW_REGION);
		done = items->label[i] != ST_NO_ROW && place_span(view, i, group_of, lane_of);
	}
	done = done && order_spans(view, group_of, lane_of);
	free(lane_of);
	return done;
}

/* Markers ------------------------------------------------------------------------------------------ */

struct marker {
	int64_t time_ns;
	uint32_t event, owner; /* process, or behind all of them the family */
};

static int by_owner(const void *a, const void *b)
{
	const struct marker *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

static uint32_t owner_of(const struct st_timeline_view *view, struct st_place place)
{
	if (place.owner == ST_PLACE_THREAD && place.index < view->thread_count)
		return view->threads[place.index].process;
	return place.owner == ST_PLACE_PROCESS ? place.index : view->process_count;
}

static bool take_markers(struct st_timeline_view *view, const struct marker *markers,
			 uint32_t count)
{
	struct st_view_items *items = &view->items[ST_ITEM_MARKER];
	struct st_text no_domain = {"", 0};

	if (!make_columns(view, ST_ITEM_MARKER, count))
		return false;
	items->number = column(view, count, sizeof(*items->number));
	view->owner_of_marker = column(view, count, sizeof(*view->owner_of_marker));
	if (!items->number || !view->owner_of_marker)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		items->begin_ns[i] = items->end_ns[i] = markers[i].time_ns;
		items->number[i] = markers[i].event;
		items->order[i] = i;
		view->owner_of_marker[i] = markers[i].owner;
		items->label[i] = st_view_add_label(
			view, st_places_event_title(&view->places, markers[i].event).text,
			no_domain, ST_VIEW_MARKER);
		if (items->label[i] == ST_NO_ROW)
			return false;
	}
	return true;
}

bool st_view_find_markers(struct st_timeline_view *view)
{
	const struct st_events *events = st_result_events(view->result);
	struct marker *markers = NULL;
	uint32_t count = 0, capacity = 0;
	bool done = true;

	for (uint32_t i = 0; done && i < events->count; i++) {
		struct st_place place;

		if (!st_places_is_instant(&view->places, i, &place))
			continue;
		done = ST_VEC_PUSH(
			markers, count, capacity,
			(struct marker){events->rows[i].time_ns, i, owner_of(view, place)});
	}
	if (count)
		qsort(markers, count, sizeof(*markers), by_owner);
	done = done && (!count || take_markers(view, markers, count));
	free(markers);
	return done;
}

/* Calls -------------------------------------------------------------------------------------------- */

bool st_view_find_calls(struct st_timeline_view *view)
{
	struct st_view_items *items = &view->items[ST_ITEM_CALL];
	struct st_text no_domain = {"", 0};
	uint32_t count;

	view->calls = st_result_traced_calls(view->result, &count);
	if (!count)
		return true;
	if (!make_columns(view, ST_ITEM_CALL, count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct st_traced_call *call = &view->calls[i];

		items->begin_ns[i] = call->begin_ns;
		items->end_ns[i] = call->end_ns;
		items->parent[i] = call->parent;
		items->flags[i] = (uint16_t)(call->flags & ST_SLICE_UNFINISHED);
		items->label[i] = st_view_add_label(view, st_result_text(view->result, call->name),
						    no_domain, ST_VIEW_PYTHON);
		if (items->label[i] == ST_NO_ROW)
			return false;
	}
	return true;
}

/* Steps -------------------------------------------------------------------------------------------- */

static bool take_steps(struct st_timeline_view *view)
{
	struct st_view_items *items = &view->items[ST_ITEM_STEP];
	struct st_text no_domain = {"", 0};

	if (!make_columns(view, ST_ITEM_STEP, view->steps.count))
		return false;
	for (uint32_t i = 0; i < items->count; i++) {
		items->begin_ns[i] = view->steps.steps[i].begin_ns;
		items->end_ns[i] = view->steps.steps[i].end_ns;
		items->order[i] = i;
		items->label[i] = st_view_add_label(
			view, st_step_text(&view->steps, i, view->result, &view->arena), no_domain,
			ST_VIEW_STEP);
		if (items->label[i] == ST_NO_ROW)
			return false;
	}
	return !view->arena.failed;
}

enum st_status st_view_find_steps(struct st_timeline_view *view, struct st_error *err)
{
	enum st_status status;

	if (!view->slices->count)
		return ST_OK;
	status = st_step_list_make(&view->steps, &view->dataset, view->result, err);
	if (status || !view->steps.count)
		return status;
	return take_steps(view) ? ST_OK
				: st_error_set(err, ST_ENOMEM, 0, "out of memory for the timeline");
}
