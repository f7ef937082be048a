// SPDX-License-Identifier: Apache-2.0
//
// Flows: from the slice in which one left to the slices that it reached, whichever tracks of the process these are on.
// Only what producers name; nothing is guessed.
#include "store/index/index_build.h"

#include <stdlib.h>

#include "base/vec.h"

/* The clocks of devices are fitted to ours: what was launched may seem to begin before its launch. */
enum { FIT_NS = 1000000 };

struct end { /* one end of a flow */
	uint64_t id;
	int64_t ns;
	uint32_t process_id, kind, slice;
	bool leaves;
};

static bool is_same(const struct end *a, const struct end *b)
{
	return a->process_id == b->process_id && a->kind == b->kind && a->id == b->id;
}

/* Of the same moment the one that leaves comes first. */
static int by_flow_and_time(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return y->leaves - x->leaves;
}

static int by_slices(const void *a, const void *b)
{
	const struct st_slice_flow *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static bool join_ends(struct st_index_tables *out, const struct end *ends, uint32_t count)
{
	const struct end *from = NULL;
	uint32_t capacity = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (ends[i].leaves)
			from = &ends[i];
		else if (from && is_same(from, &ends[i]) &&
			 !ST_VEC_PUSH(
				 out->flows, out->flow_count, capacity,
				 (struct st_slice_flow){from->slice, ends[i].slice, ends[i].kind}))
			return false;
	}
	if (out->flow_count)
		qsort(out->flows, out->flow_count, sizeof(*out->flows), by_slices);
	return true;
}

/* Records of devices name their flows by themselves. */
static bool add_launches(const struct st_index_builder *builder, struct end **ends, uint32_t *count,
			 uint32_t *capacity)
{
	const struct st_index_columns *columns = &builder->index->columns;
	const struct st_index_tables *tables = &builder->meta->tables;

	for (uint32_t i = 0; i < tables->device_count; i++) {
		const struct st_device_item *item = &tables->devices[i];
		const uint32_t track = columns->track[item->row];
		const bool leaves = item->kind == ST_DEVICE_CALL;
		const struct end end = {.id = item->correlation,
					.ns = columns->begin_ns[item->row] + (leaves ? 0 : FIT_NS),
					.process_id = builder->meta->tracks[track].process_id,
					.kind = ST_FLOW_LAUNCH,
					.slice = item->row,
					.leaves = leaves};

		if (item->correlation && !ST_VEC_PUSH(*ends, *count, *capacity, end))
			return false;
	}
	return true;
}

bool st_index_flows_finish(struct st_index_builder *builder)
{
	const struct st_event_row *rows = builder->index->columns.events;
	struct end *ends = NULL;
	uint32_t count = 0, capacity = 0;
	bool ok = true;

	for (uint32_t i = 0; i < builder->event_count && ok; i++)
		if ((rows[i].kind == ST_EVENT_FLOW_OUT || rows[i].kind == ST_EVENT_FLOW_IN) &&
		    rows[i].slice != ST_NO_ROW)
			ok = ST_VEC_PUSH(
				ends, count, capacity,
				(struct end){
					.id = rows[i].value,
					.ns = rows[i].time_ns,
					.process_id =
						builder->meta->tracks[rows[i].track].process_id,
					.kind = rows[i].detail,
					.slice = rows[i].slice,
					.leaves = rows[i].kind == ST_EVENT_FLOW_OUT});
	ok = ok && add_launches(builder, &ends, &count, &capacity);
	if (ok && count) {
		qsort(ends, count, sizeof(*ends), by_flow_and_time);
		ok = join_ends(&builder->meta->tables, ends, count);
	}
	free(ends);
	return ok;
}
