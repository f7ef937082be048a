// SPDX-License-Identifier: Apache-2.0
//
// Which spans and events make up each set of rows, and what their keys are.
#include "analyze/datasets/row_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/itt_values.h"
#include "store/family.h"

static struct st_text plain(const char *text)
{
	return (struct st_text){text, strlen(text)};
}

static struct st_text text_of(const struct st_rows *rows, st_string_id id)
{
	return st_result_text(rows->result, id);
}

uint32_t st_rows_process_of(const struct st_rows *rows, uint32_t track)
{
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(rows->result, &count);

	return track < count ? tracks[track].process : ST_NO_ROW;
}

void st_rows_add_span(struct st_rows *rows, uint32_t index, uint32_t number)
{
	uint32_t count;
	const struct st_span *span = &st_result_spans(rows->result, &count)[index];

	st_rows_add(rows, &(struct st_new_row){
				  .source = {index, span->event, number, ST_NO_ROW},
				  .begin_ns = span->begin_ns,
				  .end_ns = span->end_ns,
				  .process = span->process,
				  .track = span->begin_track != ST_NO_ROW ? span->begin_track
									  : span->end_track,
				  .flags = span->flags,
			  });
}

void st_rows_add_event(struct st_rows *rows, uint32_t index, uint32_t number, uint16_t flags)
{
	const struct st_event_row *row = &st_result_events(rows->result)->rows[index];

	st_rows_add(rows, &(struct st_new_row){
				  .source = {ST_NO_ROW, index, number, ST_NO_ROW},
				  .begin_ns = row->time_ns,
				  .end_ns = row->time_ns,
				  .process = st_rows_process_of(rows, row->track),
				  .track = row->track,
				  .flags = flags,
			  });
}

static bool fill_frames(struct st_rows *rows)
{
	uint32_t count, *numbers = NULL, capacity = 0;
	const struct st_span *spans = st_result_spans(rows->result, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t key;

		if (spans[i].kind != ST_SPAN_FRAME)
			continue;
		st_rows_add_span(rows, i, 0);
		st_rows_key(rows, ST_BY_FRAME_DOMAIN, text_of(rows, spans[i].domain));
		st_rows_key(rows, ST_BY_CATEGORY, plain("frame"));
		if (rows->failed)
			break;
		key = rows->columns[ST_BY_FRAME_DOMAIN][rows->count - 1];
		while (key >= capacity) {
			uint32_t *more = realloc(numbers, (capacity + 64) * sizeof(*numbers));

			if (!more) {
				free(numbers);
				return false;
			}
			numbers = more;
			memset(numbers + capacity, 0, 64 * sizeof(*numbers));
			capacity += 64;
		}
		rows->source[rows->count - 1].number = numbers[key]++;
	}
	free(numbers);
	return true;
}

static bool fill_regions(struct st_rows *rows)
{
	uint32_t count;
	const struct st_span *spans = st_result_spans(rows->result, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (spans[i].kind != ST_SPAN_REGION)
			continue;
		st_rows_add_span(rows, i, 0);
		st_rows_key(rows, ST_BY_DOMAIN, text_of(rows, spans[i].domain));
		st_rows_key(rows, ST_BY_REGION, text_of(rows, spans[i].name));
		st_rows_key(rows, ST_BY_CATEGORY, plain("region"));
	}
	return true;
}

static struct st_text family_of(struct st_rows *rows, st_string_id name)
{
	struct st_text text = text_of(rows, name);
	char *folded = st_arena_alloc(&rows->arena, text.size_bytes + 1);

	return folded ? (struct st_text){folded, st_family_fold(text, folded)} : text;
}

static bool fill_overlapped(struct st_rows *rows)
{
	uint32_t count;
	const struct st_span *spans = st_result_spans(rows->result, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (spans[i].kind != ST_SPAN_OVERLAPPED && spans[i].kind != ST_SPAN_TIMED_TASK)
			continue;
		st_rows_add_span(rows, i, 0);
		st_rows_key(rows, ST_BY_TASK_DOMAIN, text_of(rows, spans[i].domain));
		st_rows_key(rows, ST_BY_TASK_TYPE, text_of(rows, spans[i].name));
		st_rows_key(rows, ST_BY_TASK_FAMILY, family_of(rows, spans[i].name));
		st_rows_key(rows, ST_BY_CATEGORY, plain("task"));
	}
	return true;
}

static struct st_text object_name(const struct st_rows *rows, uint32_t object)
{
	uint32_t count;
	const struct st_object *objects = st_result_objects(rows->result, &count);

	return object < count ? text_of(rows, objects[object].name) : plain("");
}

static void marker_keys(struct st_rows *rows, struct st_text name, st_string_id domain,
			const char *scope)
{
	st_rows_key(rows, ST_BY_MARKER, name);
	st_rows_key(rows, ST_BY_DOMAIN, text_of(rows, domain));
	st_rows_key(rows, ST_BY_SCOPE, plain(scope));
}

/* A mark of strata's own command belongs to no thread. */
static const char *mark_scope(const struct st_event_row *row)
{
	return row->track == ST_NO_ROW ? "global" : row->detail & 1 ? "process" : "thread";
}

static void add_marker(struct st_rows *rows, uint32_t index)
{
	const struct st_event_row *row = &st_result_events(rows->result)->rows[index];

	st_rows_add_event(rows, index, 0, 0);
	if (row->kind == ST_EVENT_MARKER) {
		marker_keys(rows, text_of(rows, row->name), row->domain,
			    st_scope_name(row->detail));
		st_rows_key(rows, ST_BY_CATEGORY, plain("marker"));
	} else {
		struct st_text name = row->track == ST_NO_ROW ? plain("strata command mark")
							      : object_name(rows, row->object);

		marker_keys(rows, name, row->domain,
			    row->kind == ST_EVENT_MARK ? mark_scope(row) : "thread");
		st_rows_key(rows, ST_BY_CATEGORY,
			    plain(row->kind == ST_EVENT_MARK ? "mark" : "event"));
	}
}

static bool fill_markers(struct st_rows *rows)
{
	const struct st_events *events = st_result_events(rows->result);
	uint32_t count;
	const struct st_span *spans = st_result_spans(rows->result, &count);
	/* Events that are the begin of a span are in that span's row. */
	uint8_t *spanned = calloc((size_t)events->count + 1, 1);

	if (!spanned)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		bool is_mark = spans[i].kind == ST_SPAN_MARK;
		const char *scope = "thread";

		if (!is_mark && spans[i].kind != ST_SPAN_USER_EVENT)
			continue;
		if (spans[i].event < events->count) {
			spanned[spans[i].event] = 1;
			if (is_mark)
				scope = mark_scope(&events->rows[spans[i].event]);
		}
		st_rows_add_span(rows, i, 0);
		marker_keys(rows, object_name(rows, spans[i].object), spans[i].domain, scope);
		st_rows_key(rows, ST_BY_CATEGORY, plain(is_mark ? "mark" : "event"));
	}
	for (uint32_t i = 0; i < events->count; i++) {
		uint16_t kind = events->rows[i].kind;

		if ((kind == ST_EVENT_MARKER || kind == ST_EVENT_USER_START ||
		     kind == ST_EVENT_MARK) &&
		    !spanned[i])
			add_marker(rows, i);
	}
	free(spanned);
	return true;
}

static bool fill_samples(struct st_rows *rows)
{
	if (st_counters_make(&rows->counters, rows->result, NULL))
		return false;
	for (uint32_t i = 0; i < rows->counters.count; i++) {
		const struct st_counter *counter = &rows->counters.counters[i];
		uint32_t key = st_key_texts_append(&rows->texts[ST_BY_COUNTER],
						   text_of(rows, counter->definition->name));

		if (rows->texts[ST_BY_COUNTER].failed)
			return false;
		for (uint32_t j = 0; j < counter->sample_count; j++) {
			st_rows_add_event(rows, counter->samples[j].event, i, 0);
			if (rows->failed)
				return false;
			rows->source[rows->count - 1].sample = j;
			rows->columns[ST_BY_COUNTER][rows->count - 1] = key;
			st_rows_key(rows, ST_BY_DOMAIN, text_of(rows, counter->definition->domain));
		}
	}
	return true;
}

static bool fill_relations(struct st_rows *rows)
{
	const struct st_events *events = st_result_events(rows->result);
	struct st_id_names *names = st_id_names_make(rows->result);

	if (!names)
		return false;
	for (uint32_t i = 0; i < events->count && !rows->failed; i++) {
		const struct st_event_row *row = &events->rows[i];

		if (row->kind != ST_EVENT_RELATION)
			continue;
		st_rows_add_event(rows, i, 0, 0);
		st_rows_key(rows, ST_BY_HEAD,
			    row->id ? st_id_names_text(names, row->id, &rows->arena)
				    : st_slice_name(rows->result, row->slice));
		st_rows_key(rows, ST_BY_RELATION, plain(st_relation_name(row->detail)));
		st_rows_key(rows, ST_BY_TAIL, st_id_names_text(names, row->other, &rows->arena));
		st_rows_key(rows, ST_BY_DOMAIN, text_of(rows, row->domain));
	}
	st_id_names_free(names);
	return !rows->arena.failed;
}

static bool is_metadata(uint16_t kind)
{
	return kind >= ST_EVENT_METADATA && kind <= ST_EVENT_METADATA_FORMATTED;
}

static bool fill_metadata(struct st_rows *rows)
{
	const struct st_events *events = st_result_events(rows->result);
	struct st_id_names *names = st_id_names_make(rows->result);

	if (!names)
		return false;
	for (uint32_t i = 0; i < events->count && !rows->failed; i++) {
		const struct st_event_row *row = &events->rows[i];

		if (!is_metadata(row->kind))
			continue;
		st_rows_add_event(rows, i, 0, 0);
		st_rows_key(rows, ST_BY_TASK_TYPE,
			    st_metadata_owner(rows->result, names, row, &rows->arena));
		st_rows_key(rows, ST_BY_METADATA_KEY, text_of(rows, row->name));
		st_rows_key(rows, ST_BY_DOMAIN, text_of(rows, row->domain));
	}
	st_id_names_free(names);
	return !rows->arena.failed;
}

static bool fill_histograms(struct st_rows *rows)
{
	const struct st_events *events = st_result_events(rows->result);
	uint32_t count;
	const struct st_object *objects = st_result_objects(rows->result, &count);

	for (uint32_t i = 0; i < events->count && !rows->failed; i++) {
		const struct st_event_row *row = &events->rows[i];

		if (row->kind != ST_EVENT_HISTOGRAM)
			continue;
		st_rows_add_event(rows, i, 0, 0);
		st_rows_key(rows, ST_BY_HISTOGRAM, object_name(rows, row->object));
		st_rows_key(rows, ST_BY_DOMAIN,
			    row->object < count ? text_of(rows, objects[row->object].domain)
						: plain(""));
	}
	return true;
}

static int by_event_time(const void *a, const void *b, void *arg)
{
	const struct st_event_row *rows = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (rows[x].time_ns != rows[y].time_ns)
		return rows[x].time_ns < rows[y].time_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* By time, because a block may be freed by another thread than the one that asked for it. */
static bool fill_heap(struct st_rows *rows)
{
	const struct st_events *events = st_result_events(rows->result);
	uint32_t *order = malloc(((size_t)events->count + 1) * sizeof(*order));
	uint32_t count = 0, object_count;
	const struct st_object *objects = st_result_objects(rows->result, &object_count);

	if (!order)
		return false;
	for (uint32_t i = 0; i < events->count; i++) {
		uint16_t kind = events->rows[i].kind;

		if (kind == ST_EVENT_HEAP_ALLOCATE_END || kind == ST_EVENT_HEAP_FREE_END ||
		    kind == ST_EVENT_HEAP_REALLOCATE_END)
			order[count++] = i;
	}
	qsort_r(order, count, sizeof(*order), by_event_time, (void *)(uintptr_t)events->rows);
	for (uint32_t i = 0; i < count && !rows->failed; i++) {
		uint32_t object = events->rows[order[i]].object;

		st_rows_add_event(rows, order[i], 0, 0);
		st_rows_key(rows, ST_BY_HEAP_FUNCTION, object_name(rows, object));
		st_rows_key(rows, ST_BY_DOMAIN,
			    object < object_count ? text_of(rows, objects[object].domain)
						  : plain(""));
		st_rows_key(rows, ST_BY_CATEGORY, plain("alloc"));
	}
	free(order);
	return rows->failed || st_heap_calls_make(rows);
}

const struct st_row_set_info st_row_sets[ST_ROW_SETS] = {
	[ST_ROWS_FRAMES] = {"frames", ST_LIST(ST_BY_CATEGORY, ST_BY_FRAME_DOMAIN), ST_BY_FRAME,
			    ST_BY_FRAME, fill_frames},
	[ST_ROWS_REGIONS] = {"regions", ST_LIST(ST_BY_CATEGORY, ST_BY_DOMAIN, ST_BY_REGION),
			     ST_BY_INSTANCE, ST_BY_REGION, fill_regions},
	[ST_ROWS_OVERLAPPED] = {"overlapped tasks",
				ST_LIST(ST_BY_CATEGORY, ST_BY_TASK_DOMAIN, ST_BY_TASK_TYPE,
					ST_BY_TASK_FAMILY),
				ST_BY_TASK, ST_BY_TASK_TYPE, fill_overlapped},
	[ST_ROWS_MARKERS] = {"markers",
			     ST_LIST(ST_BY_CATEGORY, ST_BY_DOMAIN, ST_BY_MARKER, ST_BY_SCOPE),
			     ST_BY_INSTANCE, ST_BY_MARKER, fill_markers},
	[ST_ROWS_SYNC] = {"waits",
			  ST_LIST(ST_BY_CATEGORY, ST_BY_TASK_TYPE, ST_BY_SYNC_OBJECT,
				  ST_BY_SYNC_TYPE, ST_BY_CREATED_AT, ST_BY_WAIT_CLASS, ST_BY_WAKER),
			  ST_BY_INSTANCE, ST_BY_SYNC_OBJECT, st_rows_fill_waits, st_sync_measures,
			  ST_SYNC_MEASURES},
	[ST_ROWS_SAMPLES] = {"counters", ST_LIST(ST_BY_DOMAIN, ST_BY_COUNTER), ST_BY_SAMPLE,
			     ST_BY_COUNTER, fill_samples},
	[ST_ROWS_RELATIONS] = {"relations",
			       ST_LIST(ST_BY_DOMAIN, ST_BY_HEAD, ST_BY_RELATION, ST_BY_TAIL),
			       ST_BY_INSTANCE, ST_BY_HEAD, fill_relations},
	[ST_ROWS_METADATA] = {"metadata",
			      ST_LIST(ST_BY_DOMAIN, ST_BY_TASK_TYPE, ST_BY_METADATA_KEY),
			      ST_BY_INSTANCE, ST_BY_TASK_TYPE, fill_metadata},
	[ST_ROWS_HISTOGRAMS] = {"histograms", ST_LIST(ST_BY_DOMAIN, ST_BY_HISTOGRAM),
				ST_BY_INSTANCE, ST_BY_HISTOGRAM, fill_histograms},
	[ST_ROWS_HEAP] = {"heap calls", ST_LIST(ST_BY_CATEGORY, ST_BY_DOMAIN, ST_BY_HEAP_FUNCTION),
			  ST_BY_INSTANCE, ST_BY_HEAP_FUNCTION, fill_heap, st_heap_measures,
			  ST_HEAP_MEASURES},
	[ST_ROWS_PATH] = {"pieces",
			  ST_LIST(ST_BY_STEP, ST_BY_WAIT_CLASS, ST_BY_SYNC_OBJECT, ST_BY_FUNCTION,
				  ST_BY_PYTHON_LINE),
			  ST_BY_INSTANCE, ST_BY_WAIT_CLASS, st_rows_fill_path},
	[ST_ROWS_THREAD_TIME] = {"thread time", ST_LIST(ST_BY_WAIT_CLASS), ST_BY_INSTANCE,
				 ST_BY_WAIT_CLASS, st_rows_fill_thread_time},
	[ST_ROWS_KERNELS] = {"what ran on devices",
			     ST_LIST(ST_BY_CATEGORY, ST_BY_TASK_TYPE, ST_BY_DEVICE, ST_BY_LAUNCH,
				     ST_BY_OPERATOR),
			     ST_BY_INSTANCE, ST_BY_TASK_TYPE, st_rows_fill_kernels,
			     st_kernel_measures, ST_KERNEL_MEASURES},
	[ST_ROWS_OPENMP] = {"OpenMP regions",
			    ST_LIST(ST_BY_CATEGORY, ST_BY_TASK_TYPE, ST_BY_REGION, ST_BY_FUNCTION,
				    ST_BY_SOURCE_LINE),
			    ST_BY_INSTANCE, ST_BY_REGION, st_rows_fill_openmp, st_openmp_measures,
			    ST_OPENMP_MEASURES},
	[ST_ROWS_GAPS] = {"gaps of devices",
			  ST_LIST(ST_BY_TASK_TYPE, ST_BY_DEVICE, ST_BY_GAP_REASON, ST_BY_OPERATOR),
			  ST_BY_INSTANCE, ST_BY_GAP_REASON, st_rows_fill_gaps},
};
