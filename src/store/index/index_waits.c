// SPDX-License-Identifier: Apache-2.0
//
// Names of what threads wait for in the C library, and wakers. A wake is stamped before the object is released, so that the
// last one before a wait's end, by another thread and since the wait began, is what ended it.
#include "store/index/index_waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "store/index/index_spans.h"
#include "store/model/model.h"
#include "store/off_cpu.h"

static const char *const types[ST_WAIT_KINDS] = {
	[0] = "Several",
	[ST_WAIT_MUTEX] = "Mutex",
	[ST_WAIT_CONDITION] = "Condition Variable",
	[ST_WAIT_READ_LOCK] = "Reader/Writer Lock",
	[ST_WAIT_WRITE_LOCK] = "Reader/Writer Lock",
	[ST_WAIT_BARRIER] = "Barrier",
	[ST_WAIT_SEMAPHORE] = "Semaphore",
	[ST_WAIT_FUTEX] = "Futex",
	[ST_WAIT_GIL] = "Python GIL",
	[ST_WAIT_JOIN] = "Thread Join",
	[ST_WAIT_SLEEP] = "Sleep",
	[ST_WAIT_POLL] = "Poll",
	[ST_WAIT_READ] = "Read",
	[ST_WAIT_WRITE] = "Write",
	[ST_WAIT_FILE_SYNC] = "File Sync",
	[ST_WAIT_CHILD] = "Child Process",
	[ST_WAIT_SPIN_LOCK] = "Spin Lock",
	[ST_WAIT_ONCE] = "Once",
	[ST_WAIT_IDLE] = "Idle Worker",
	[ST_WAIT_REGION] = "OpenMP Region End",
	[ST_WAIT_SIGNAL] = "Signal",
	[ST_WAIT_FILE_LOCK] = "File Lock",
	[ST_WAIT_PAGE] = "Memory Page",
	[ST_WAIT_CALL] = "System Call",
	[ST_WAIT_OMP_BARRIER] = "OpenMP Barrier",
	[ST_WAIT_OMP_LOCK] = "OpenMP Lock",
};

uint32_t st_wait_object_kind(uint32_t kind)
{
	if (kind >= ST_WAIT_KINDS || !types[kind])
		return 0;
	return kind == ST_WAIT_READ_LOCK ? ST_WAIT_WRITE_LOCK : kind;
}

bool st_wait_name_object(struct st_sync_object *object, uint32_t kind, struct st_text_table *texts)
{
	char name[64] = "";
	unsigned long long value = object->address;

	object->attribute = kind << ST_SYNC_KIND_SHIFT;
	if (kind == ST_WAIT_SLEEP)
		snprintf(name, sizeof(name), "sleep");
	else if (kind == ST_WAIT_JOIN && value)
		snprintf(name, sizeof(name), "thread %llu", value);
	else if (kind == ST_WAIT_JOIN)
		snprintf(name, sizeof(name), "threads that had ended");
	else if (kind == ST_WAIT_CHILD && value)
		snprintf(name, sizeof(name), "process %llu", value);
	else if (kind == ST_WAIT_CHILD)
		snprintf(name, sizeof(name), "any child process");
	else if (kind == ST_WAIT_CALL)
		snprintf(name, sizeof(name), "system call %llu", value);
	else if (kind == ST_WAIT_SIGNAL || kind == ST_WAIT_PAGE)
		snprintf(name, sizeof(name), "%s", types[kind]);
	else if (st_wait_has_descriptor(kind) && value)
		snprintf(name, sizeof(name), "%s descriptor %llu", types[kind], value - 1);
	else if (st_wait_has_descriptor(kind))
		snprintf(name, sizeof(name), "%s descriptors", types[kind]);
	else if (kind == ST_WAIT_IDLE)
		snprintf(name, sizeof(name), "idle workers");
	else if (kind == ST_WAIT_GIL)
		snprintf(name, sizeof(name), "Python GIL");
	else if (!kind)
		snprintf(name, sizeof(name), "short waits");
	if (!st_text_table_add(texts, types[kind], strlen(types[kind]), &object->type))
		return false;
	return !name[0] || st_text_table_add(texts, name, strlen(name), &object->name);
}

bool st_wakes_add(struct st_wakes *wakes, uint32_t object, const struct st_event_row *row)
{
	return ST_VEC_PUSH(
		wakes->items, wakes->count, wakes->capacity,
		((struct st_wake){.object = object, .track = row->track, .ns = row->time_ns}));
}

static int by_object_and_time(const void *a, const void *b)
{
	const struct st_wake *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static uint32_t waker_of(const struct st_wakes *wakes, const struct st_span *span)
{
	struct st_wake end = {.object = span->object, .ns = span->end_ns};
	uint32_t at =
		ST_SEARCH(i, 0, wakes->count, by_object_and_time(&wakes->items[i], &end) <= 0);

	for (; at && wakes->items[at - 1].object == span->object &&
	       wakes->items[at - 1].ns >= span->begin_ns;
	     at--)
		if (wakes->items[at - 1].track != span->begin_track)
			return wakes->items[at - 1].track;
	return span->begin_track;
}

/* As the kernel tells it: the thread that woke the one that waits, in whatever process; not known where it is not in the
 * result. */
static uint32_t kernels_waker(const struct st_index_builder *builder, const uint32_t *tids,
			      const struct st_span *span)
{
	const struct st_off_row *rows = builder->meta->tables.off_cpu;
	const struct st_index_track *tracks = builder->meta->tracks;
	uint32_t found = span->begin_track;
	uint32_t at = ST_SEARCH(
		i, 0, builder->meta->tables.off_cpu_count,
		rows[i].track < span->begin_track ||
			(rows[i].track == span->begin_track && rows[i].begin_ns <= span->end_ns));

	while (at && rows[at - 1].track == span->begin_track &&
	       rows[at - 1].begin_ns >= span->begin_ns && !(rows[at - 1].flags & ST_OFF_WOKEN))
		at--;
	if (!at || rows[at - 1].track != span->begin_track ||
	    rows[at - 1].begin_ns < span->begin_ns || !rows[at - 1].count)
		return found;
	for (uint32_t i = 0; i < builder->meta->track_count; i++)
		if (tids[i] == rows[at - 1].count && tracks[i].first_ns <= span->end_ns &&
		    (found == span->begin_track || tracks[i].first_ns > tracks[found].first_ns))
			found = i;
	return found;
}

/* Of all tracks; NULL: no memory. */
static uint32_t *make_tids(const struct st_index_builder *builder)
{
	const struct st_index_meta *meta = builder->meta;
	uint32_t *tids = calloc((size_t)meta->track_count + 1, sizeof(*tids));

	for (uint32_t i = 0; tids && i < meta->track_count; i++) {
		const struct st_track_definition *told =
			st_model_track(builder->request->model, meta->tracks[i].process_id,
				       meta->tracks[i].track_id, false);

		tids[i] = told ? told->tid : 0;
	}
	return tids;
}

/* Numbers of threads are used again: the latest one that was there before the join was over. */
static uint32_t joined_thread(const struct st_index_builder *builder, const uint32_t *tids,
			      const struct st_span *span, uint64_t tid)
{
	const struct st_index_track *tracks = builder->meta->tracks;
	uint32_t found = span->begin_track;

	for (uint32_t i = 0; tid && i < builder->meta->track_count; i++)
		if (tids[i] == tid && i != span->begin_track &&
		    tracks[i].process_id == tracks[span->begin_track].process_id &&
		    tracks[i].first_ns <= span->end_ns &&
		    (found == span->begin_track || tracks[i].first_ns > tracks[found].first_ns))
			found = i;
	return found;
}

bool st_wakes_match(struct st_wakes *wakes, struct st_span_builder *spans,
		    const struct st_sync_object *objects)
{
	uint32_t *tids = NULL;

	if (wakes->count)
		qsort(wakes->items, wakes->count, sizeof(*wakes->items), by_object_and_time);
	for (uint32_t i = 0; i < spans->count; i++) {
		struct st_span *span = &spans->spans[i];
		bool is_join;

		if (span->kind != ST_SPAN_WAIT || !(span->event & ST_SPAN_TOLD) ||
		    span->flags & ST_SLICE_UNFINISHED)
			continue;
		is_join = (span->event & ST_WAIT_KIND_MASK) == ST_WAIT_JOIN;
		if (!is_join)
			span->end_track = waker_of(wakes, span);
		if (!is_join && (span->end_track != span->begin_track ||
				 !spans->builder->meta->tables.off_cpu_count))
			continue;
		if (!tids)
			tids = make_tids(spans->builder);
		if (!tids)
			return false;
		span->end_track = is_join ? joined_thread(spans->builder, tids, span,
							  objects[span->object].address)
					  : kernels_waker(spans->builder, tids, span);
	}
	free(tids);
	return true;
}
