// SPDX-License-Identifier: Apache-2.0
//
// The final steps for spans: unfinished ones are closed, pauses clip them, they are sorted and assigned
// to lanes.
//
// Lanes: spans of one kind, process and domain that overlap lie beside each other. Every span takes the
// lowest lane that is free when it begins: two heaps per group, of the lanes in use by when they become free,
// and of the free ones by their number.
#include "store/index/index_spans.h"

#include <stdlib.h>

#include "base/vec.h"
#include "store/model/model.h"

struct item {
	int64_t key;
	uint32_t lane;
};

struct heap {
	struct item *items;
	uint32_t count, capacity;
};

struct group {
	struct heap busy, free;
	uint32_t lanes;
};

static bool push(struct heap *heap, int64_t key, uint32_t lane)
{
	uint32_t at = heap->count;

	if (!ST_VEC_ROOM(heap->items, heap->count, heap->capacity))
		return false;
	heap->count++;
	while (at && heap->items[(at - 1) / 2].key > key) {
		heap->items[at] = heap->items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->items[at] = (struct item){.key = key, .lane = lane};
	return true;
}

static uint32_t pop(struct heap *heap)
{
	uint32_t lane = heap->items[0].lane, at = 0, child;
	struct item last = heap->items[--heap->count];

	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count && heap->items[child + 1].key < heap->items[child].key)
			child++;
		if (heap->items[child].key >= last.key)
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = last;
	return lane;
}

static bool assign(struct group *group, struct st_span *span)
{
	uint32_t lane;

	while (group->busy.count && group->busy.items[0].key <= span->begin_ns) {
		lane = pop(&group->busy);
		if (!push(&group->free, lane, lane))
			return false;
	}
	/* More at once than lanes can be numbered share the last one. */
	if (!group->free.count && group->lanes == UINT16_MAX) {
		span->lane = UINT16_MAX;
		return true;
	}
	lane = group->free.count ? pop(&group->free) : group->lanes++;
	span->lane = (uint16_t)lane;
	return push(&group->busy, span->end_ns, lane);
}

static bool assign_lanes(struct st_span *spans, uint32_t count)
{
	struct st_key_table keys = {0};
	struct group *groups = NULL;
	uint32_t capacity = 0;
	bool ok = true;

	for (uint32_t i = 0; i < count && ok; i++) {
		uint32_t known = keys.count;
		uint32_t key =
			st_key_table_add(&keys, spans[i].kind, spans[i].process, spans[i].domain);

		ok = key != ST_ID_NONE && ST_VEC_ROOM(groups, key, capacity);
		if (ok && key >= known)
			groups[key] = (struct group){0};
		ok = ok && assign(&groups[key], &spans[i]);
	}
	for (uint32_t i = 0; i < keys.count && i < capacity; i++) {
		free(groups[i].busy.items);
		free(groups[i].free.items);
	}
	free(groups);
	st_key_table_fini(&keys);
	return ok;
}

/* Where a span ends that nobody ended: with its thread, or with the process for what any thread may end. */
static int64_t end_of(const struct st_index_builder *builder, const struct st_span *span)
{
	const struct st_model *model = builder->request->model;
	uint32_t hint = 0;

	if (span->kind >= ST_SPAN_TIMED_TASK)
		return builder->meta->tracks[span->begin_track].last_ns;
	if (model->more[span->process].has_end)
		return st_clock_map_ns(&builder->meta->clock, &hint,
				       model->more[span->process].end_ticks);
	return builder->meta->last_ns;
}

/* As with slices: what ends inside a pause ends where the pause began. */
static void clip(struct st_index_builder *builder, struct st_span *span)
{
	uint32_t process_id = builder->request->model->processes[span->process].id;
	struct st_pause_range pauses = st_pauses_of(&builder->meta->pauses, process_id);
	const struct st_pause_span *pause = st_pause_at(pauses, span->end_ns);

	if (pause && span->end_ns > span->begin_ns) {
		st_span_close_at(span, pause->begin_ns);
		span->flags |= ST_SLICE_CLIPPED;
	} else if (st_pause_overlap_ns(pauses, span->begin_ns, span->end_ns)) {
		span->flags |= ST_SLICE_CLIPPED;
	}
}

/* Ends what is open, takes back what is no span; returns how many are left. */
static uint32_t finish(struct st_span_builder *out)
{
	struct st_index_builder *builder = out->builder;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < out->count; i++) {
		struct st_span *span = &out->spans[i];

		if (span->end_ns == ST_SPAN_OPEN) {
			if (span->kind == ST_SPAN_USER_EVENT || span->kind == ST_SPAN_MARK)
				continue;
			st_span_close_at(span, end_of(builder, span));
			span->flags |= ST_SLICE_UNFINISHED;
		}
		if (!span->kind)
			continue;
		clip(builder, span);
		/* A thread that still waits when all is over is nothing unusual. */
		if (span->flags & ST_SLICE_UNFINISHED && !(span->event & ST_SPAN_TOLD))
			builder->meta->spans_unfinished++;
		out->spans[kept++] = *span;
	}
	return kept;
}

static int by_kind_and_begin(const void *a, const void *b)
{
	const struct st_span *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

bool st_spans_complete(struct st_span_builder *spans)
{
	spans->count = finish(spans);
	if (spans->count)
		qsort(spans->spans, spans->count, sizeof(*spans->spans), by_kind_and_begin);
	return assign_lanes(spans->spans, spans->count);
}
