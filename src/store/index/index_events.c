// SPDX-License-Identifier: Apache-2.0
//
// Events into their rows: ids and data once each, names and objects of the process resolved, times that
// the program gave put on our axis. What follows from them is put together when all are there.
#include "store/index/index_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "format/event.h"
#include "format/wait_kind.h"
#include "store/model/model.h"

enum { NS_PER_SECOND = 1000000000 };

void st_event_tables_fini(struct st_event_tables *tables)
{
	st_key_table_fini(&tables->ids);
	st_text_table_fini(&tables->blobs);
	free(tables->objects);
	free(tables->object_sources);
	st_id_map_fini(&tables->object_of);
	st_key_table_fini(&tables->counters);
	free(tables->counter_objects);
	free(tables->wide);
	free(tables->wakes);
	free(tables->waits);
	st_key_table_fini(&tables->callers);
	free(tables->caller_ns);
}

/* The null id is the first. */
static uint32_t id_of(struct st_index_builder *builder, const uint64_t *d)
{
	struct st_key_table *ids = &builder->tables.ids;
	uint32_t id;

	if (!d[0] && !d[1] && !d[2])
		return 0;
	id = ids->count ? 0 : st_key_table_add(ids, 0, 0, 0);
	if (id != ST_ID_NONE)
		id = st_key_table_add(ids, d[0], d[1], d[2]);
	if (id != ST_ID_NONE)
		return id;
	builder->no_memory = true;
	return 0;
}

static uint32_t blob_of(struct st_index_builder *builder, const struct st_event *event)
{
	struct st_text_table *blobs = &builder->tables.blobs;
	uint32_t blob = 0;

	if (!event->data_bytes)
		return 0;
	if ((!blobs->count && !st_text_table_init(blobs)) ||
	    !st_text_table_add(blobs, event->data, event->data_bytes, &blob))
		builder->no_memory = true;
	return blob;
}

/* A time in a foreign clock domain, counted from when its numbers were asked for. */
static int64_t foreign_ns(struct st_index_builder *builder, const struct st_object_head *clock,
			  uint64_t time)
{
	uint32_t hint = 0;
	__int128 ns = (__int128)time - clock->number[1];

	ns = ns * NS_PER_SECOND / (__int128)clock->number[0];
	ns += st_clock_map_ns(&builder->meta->clock, &hint, clock->number[2]);
	if (ns < 0)
		return 0;
	return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static void take_time(struct st_index_builder *builder, const struct st_track_state *track,
		      const struct st_event *event, uint64_t ticks, struct st_event_row *row)
{
	const struct st_object_head *clock;
	uint32_t hint = 0;

	if (!(event->mask & ST_FIELD_TIME))
		return;
	if (!(event->mask & ST_FIELD_CLOCK)) {
		row->time_ns = st_clock_map_ns(&builder->meta->clock, &hint, event->time);
		row->flags |= ST_EVENT_TIME_GIVEN;
		return;
	}
	clock = st_index_clock_of(builder, track->process_id, event->clock, ticks);
	if (!clock || !clock->number[0])
		return; /* nobody can say what it means: when the call was made is what is known */
	row->time_ns = foreign_ns(builder, clock, event->time);
	row->flags |= ST_EVENT_TIME_GIVEN | ST_EVENT_TIME_ESTIMATED;
}

/* It was told at its end: from now on it is its begin, and how many ns it took. */
static void take_wait(struct st_index_builder *builder, uint64_t ticks, struct st_event_row *row)
{
	uint64_t begin = row->extra < ticks ? ticks - row->extra : 0;
	int64_t end_ns = row->time_ns;
	uint32_t hint = 0;

	row->time_ns = st_clock_map_ns(&builder->meta->clock, &hint, begin);
	if (row->time_ns > end_ns)
		row->time_ns = end_ns;
	row->extra = (uint64_t)(end_ns - row->time_ns);
}

static bool data_is_cut(const struct st_event *event)
{
	static const uint8_t type_bytes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};
	uint32_t type = event->detail & 0xffff;

	if (!(event->mask & ST_FIELD_DATA))
		return false;
	switch (event->kind) {
	case ST_EVENT_METADATA:
	case ST_EVENT_METADATA_SCOPED:
		return type < sizeof(type_bytes) && type_bytes[type] &&
		       event->extra > event->data_bytes / type_bytes[type];
	case ST_EVENT_METADATA_TEXT:
	case ST_EVENT_METADATA_TEXT_SCOPED:
		return event->extra > event->data_bytes;
	default:
		return false;
	}
}

/* Kinds that begin or end a span, or come and go with an object, across threads. */
static bool is_wide(uint32_t kind)
{
	return (kind >= ST_EVENT_TIMED_BEGIN && kind <= ST_EVENT_FRAME_SUBMIT &&
		kind != ST_EVENT_TASK_GROUP) ||
	       (kind >= ST_EVENT_USER_START && kind <= ST_EVENT_MARK_OFF) ||
	       (kind >= ST_EVENT_SYNC_CREATE && kind <= ST_EVENT_SYNC_DESTROY) ||
	       kind == ST_EVENT_WAIT_OBJECT;
}

static void add_wide(struct st_index_builder *builder, uint32_t process_id, uint32_t row,
		     int64_t ns)
{
	struct st_event_tables *tables = &builder->tables;

	if (!ST_VEC_PUSH(tables->wide, tables->wide_count, tables->wide_capacity,
			 (struct st_wide_event){.ns = ns, .row = row, .process_id = process_id}))
		builder->no_memory = true;
}

static void add_wake(struct st_index_builder *builder, const struct st_track_state *track,
		     const struct st_event *event, int64_t ns)
{
	struct st_event_tables *tables = &builder->tables;

	if (!ST_VEC_PUSH(tables->wakes, tables->wake_count, tables->wake_capacity,
			 ((struct st_wake_event){.ns = ns,
						 .object = event->value,
						 .kind = event->detail,
						 .track = track->final})))
		builder->no_memory = true;
}

static void add_wait(struct st_index_builder *builder, const struct st_track_state *track,
		     const struct st_event *event, uint64_t ticks, int64_t ns)
{
	struct st_event_tables *tables = &builder->tables;
	struct st_event_row row = {.time_ns = ns, .extra = event->extra};

	take_time(builder, track, event, ticks, &row);
	take_wait(builder, event->mask & ST_FIELD_TIME ? event->time : ticks, &row);
	if (!ST_VEC_PUSH(tables->waits, tables->wait_count, tables->wait_capacity,
			 ((struct st_wait_event){.begin_ns = row.time_ns,
						 .ns = row.extra,
						 .object = event->value,
						 .track = track->final,
						 .slice = st_index_innermost(track),
						 .detail = event->detail & ST_WAIT_DETAIL_MASK})))
		builder->no_memory = true;
}

void st_index_take_event(struct st_index_builder *builder, struct st_track_state *track,
			 const struct st_event *event, uint64_t ticks, int64_t ns)
{
	struct st_index_label names = {0};
	struct st_event_row *row;
	uint32_t at;

	if (event->kind == ST_EVENT_WAKE) {
		add_wake(builder, track, event, ns);
		return;
	}
	if (event->kind == ST_EVENT_WAIT) {
		add_wait(builder, track, event, ticks, ns);
		return;
	}
	at = track->next_event++;
	row = &builder->index->columns.events[at];
	if (event->domain || event->name)
		names = st_index_texts_of(builder, track->process_id, event->domain, event->name);
	*row = (struct st_event_row){
		.time_ns = ns,
		.value = event->value,
		.extra = event->extra,
		.track = track->final,
		.slice = st_index_innermost(track),
		.domain = names.domain,
		.name = names.name,
		.object = ST_NO_ROW,
		.id = id_of(builder, event->id),
		.other = id_of(builder, event->other),
		.data = blob_of(builder, event),
		.detail = event->detail,
		.kind = event->kind < UINT16_MAX ? (uint16_t)event->kind : UINT16_MAX,
		.flags = data_is_cut(event) ? ST_EVENT_DATA_CUT : 0,
	};
	if (event->mask & ST_FIELD_OBJECT || event->kind == ST_EVENT_COUNTER_ADD)
		row->object = st_index_object_of(builder, track->process_id, event, names.domain,
						 names.name);
	take_time(builder, track, event, ticks, row);
	if (event->kind == ST_EVENT_WAIT_SUM || event->kind == ST_EVENT_HOLD ||
	    event->kind == ST_EVENT_HOLD_SUM || event->kind == ST_EVENT_PARALLEL)
		take_wait(builder, event->mask & ST_FIELD_TIME ? event->time : ticks, row);
	if (is_wide(event->kind))
		add_wide(builder, track->process_id, at,
			 event->kind == ST_EVENT_WAIT_OBJECT ? row->time_ns : ns);
}

static void add_family_marks(struct st_index_builder *builder)
{
	const struct st_model *model = builder->request->model;
	uint32_t hint = 0;

	for (uint32_t i = 0; i < model->mark_count; i++)
		builder->index->columns.events[builder->event_count + i] = (struct st_event_row){
			.time_ns = st_clock_map_ns(&builder->meta->clock, &hint,
						   model->marks[i].ticks),
			.track = ST_NO_ROW,
			.slice = ST_NO_ROW,
			.name = model->marks[i].text,
			.object = ST_NO_ROW,
			.detail = 1,
			.kind = ST_EVENT_MARKER,
		};
}

struct task_event {
	uint32_t slice, row;
};

static int by_slice(const void *a, const void *b)
{
	const struct task_event *x = a, *y = b;

	if (x->slice != y->slice)
		return x->slice < y->slice ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* They follow their begins, so they lie in order already; only a hostile trace needs sorting. */
static bool sort_task_events(const struct st_event_row *rows, uint32_t *events, uint32_t count)
{
	struct task_event *sorted;
	bool in_order = true;

	for (uint32_t i = 1; i < count; i++)
		in_order &= rows[events[i - 1]].slice <= rows[events[i]].slice;
	if (in_order)
		return true;
	sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return false;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (struct task_event){.slice = rows[events[i]].slice, .row = events[i]};
	qsort(sorted, count, sizeof(*sorted), by_slice);
	for (uint32_t i = 0; i < count; i++)
		events[i] = sorted[i].row;
	free(sorted);
	return true;
}

/* Rows that tell of a slice: its id, its line, its function. */
static bool find_task_events(struct st_index_builder *builder)
{
	struct st_index_tables *out = &builder->meta->tables;
	const struct st_event_row *rows = builder->index->columns.events;
	uint32_t capacity = 0;

	for (uint32_t i = 0; i < builder->event_count; i++) {
		if (rows[i].kind < ST_EVENT_TASK_ID || rows[i].kind > ST_EVENT_TASK_FN ||
		    rows[i].slice == ST_NO_ROW)
			continue;
		if (!ST_VEC_PUSH(out->task_events, out->task_event_count, capacity, i))
			return false;
	}
	return sort_task_events(rows, out->task_events, out->task_event_count);
}

static void take_ids(struct st_index_builder *builder)
{
	struct st_index_tables *out = &builder->meta->tables;
	struct st_key_table *ids = &builder->tables.ids;

	_Static_assert(sizeof(struct st_itt_id) == sizeof(struct st_key), "an id is a key");
	out->ids = (struct st_itt_id *)(void *)ids->keys;
	out->id_count = ids->count;
	ids->keys = NULL;
	st_key_table_fini(ids);
}

static bool take_blobs(struct st_index_tables *tables, const struct st_text_table *texts)
{
	char *at;

	if (texts->count < 2)
		return true;
	tables->blob_ends = calloc(texts->count, sizeof(*tables->blob_ends));
	at = tables->blob_bytes = malloc((size_t)texts->size_bytes + texts->count);
	if (!tables->blob_ends || !tables->blob_bytes)
		return false;
	for (uint32_t i = 0; i < texts->count; i++) {
		size_t bytes = texts->texts[i].size_bytes;

		memcpy(at, texts->texts[i].bytes, bytes + 1);
		tables->blob_ends[i] = (uint64_t)(at - tables->blob_bytes) + bytes;
		at += bytes + 1;
	}
	tables->blob_count = texts->count;
	tables->blob_size_bytes = (uint64_t)(at - tables->blob_bytes);
	return true;
}

/* Waits that strata saw from outside came later than what their thread told itself: what it had open then is looked up. */
static void place_seen(struct st_index_builder *builder)
{
	const struct st_index_columns *columns = &builder->index->columns;

	for (uint32_t i = 0; i < builder->tables.wait_count; i++) {
		struct st_wait_event *wait = &builder->tables.waits[i];
		const struct st_index_track *track = &builder->meta->tracks[wait->track];
		uint32_t slice;

		if (wait->detail >> ST_WAIT_SHIFT != ST_WAIT_SEEN)
			continue;
		slice = ST_SEARCH(j, track->row_begin, track->row_end,
				  columns->begin_ns[j] <= wait->begin_ns);
		slice = slice > track->row_begin ? slice - 1 : ST_NO_ROW;
		while (slice != ST_NO_ROW && columns->end_ns[slice] <= wait->begin_ns)
			slice = columns->parent[slice];
		wait->slice = slice;
	}
}

/* Of each track, by its final number: how many rows of the tracks before it stayed empty; then of all. */
static uint32_t *find_shifts(const struct st_index_builder *builder)
{
	uint32_t count = builder->meta->track_count, shift = 0;
	uint32_t *shifts = calloc((size_t)count + 1, sizeof(*shifts));

	for (uint32_t i = 0; shifts && i < builder->track_count; i++) {
		const struct st_track_state *track = &builder->tracks[i];

		shifts[track->final] =
			builder->meta->tracks[track->final].event_end - track->next_event;
	}
	for (uint32_t i = 0; shifts && i < count; i++) {
		uint32_t empty = shifts[i];

		shifts[i] = shift;
		shift += empty;
	}
	if (shifts)
		shifts[count] = shift;
	return shifts;
}

/* Rows that waits and wakes were counted for are empty: those behind them close up, and the file is so much shorter. */
static bool close_up(struct st_index_builder *builder)
{
	struct st_event_row *rows = builder->index->columns.events;
	uint32_t tracks = builder->meta->track_count, *shifts, end = 0;

	if (!builder->tables.wake_count && !builder->tables.wait_count)
		return true;
	shifts = find_shifts(builder);
	if (!shifts)
		return false;
	for (uint32_t i = 0; i < builder->tables.wide_count; i++)
		builder->tables.wide[i].row -= shifts[rows[builder->tables.wide[i].row].track];
	for (uint32_t i = 0; i < tracks; i++) {
		struct st_index_track *track = &builder->meta->tracks[i];
		uint32_t count =
			track->event_end - track->event_begin - (shifts[i + 1] - shifts[i]);

		memmove(&rows[track->event_begin - shifts[i]], &rows[track->event_begin],
			count * sizeof(*rows));
		track->event_begin -= shifts[i];
		track->event_end = end = track->event_begin + count;
	}
	free(shifts);
	builder->event_count = end;
	return st_index_cut_events(builder->index, end + builder->request->model->mark_count);
}

void st_index_finish_events(struct st_index_builder *builder)
{
	struct st_index_tables *out = &builder->meta->tables;

	if (!close_up(builder)) {
		builder->no_memory = true;
		return;
	}
	add_family_marks(builder);
	place_seen(builder);
	if (!st_index_objects_finish(builder) || !find_task_events(builder) ||
	    !st_index_copies_finish(builder) || !st_index_spans_finish(builder) ||
	    !st_index_callers_finish(builder) || !st_index_flows_finish(builder) ||
	    !take_blobs(out, &builder->tables.blobs))
		builder->no_memory = true;
	take_ids(builder);
}
