// SPDX-License-Identifier: Apache-2.0
//
// Operators and the memory that slices took (store/operators.h), gathered while the records are decoded. They come
// track by track as chunks do; in the index they lie by row and by time.
#include "store/index/index_build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/slices.h"
#include "store/model/model.h"

static uint32_t add_operator(struct st_index_builder *builder, struct st_operator item)
{
	struct st_operator_tables *tables = &builder->operators;

	if (!ST_VEC_ROOM(tables->items, tables->count, tables->capacity)) {
		builder->no_memory = true;
		return ST_NO_ROW;
	}
	tables->items[tables->count] = item;
	return tables->count++;
}

uint32_t st_index_take_operator(struct st_index_builder *builder,
				const struct st_track_state *track,
				const struct st_slice_record *record, uint32_t row)
{
	const struct st_model *model = builder->request->model;
	uint32_t signature = st_model_signature(model, track->process_id, record->signature);
	uint32_t stack = 0;
	bool broken = false;

	if (signature == ST_ID_NONE)
		builder->operators.missing++;
	/* Calls of modules stand among the operators, but tell no stacks. */
	else if (model->signatures[signature].head.scope != ST_SCOPE_MODULE)
		stack = st_forest_node(&model->forest, track->process_id, record->stack, &broken);
	return add_operator(builder, (struct st_operator){.row = row,
							  .signature = signature,
							  .sequence = record->sequence,
							  .stack = stack});
}

/* Marks of one record of the ring come together, in the order of their kinds. */
static struct st_memory_moment *moment_at(struct st_index_builder *builder,
					  struct st_track_state *track, uint32_t row, int64_t ns,
					  const struct st_slice_record *record)
{
	struct st_operator_tables *tables = &builder->operators;
	struct st_memory_moment *last = NULL;
	enum st_slice_mark mark = record->mark;

	if (tables->moment_count)
		last = &tables->moments[tables->moment_count - 1];
	if (last && !record->address && !last->address && last->track == track->final &&
	    last->row == row && last->time_ns == ns && mark > tables->last_mark) {
		tables->last_mark = mark;
		return last;
	}
	if (tables->moment_count >= ST_NO_ROW - 1 ||
	    !ST_VEC_ROOM(tables->moments, tables->moment_count, tables->moment_capacity) ||
	    !tables->moments) {
		builder->no_memory = true;
		return NULL;
	}
	tables->last_mark = mark;
	last = &tables->moments[tables->moment_count++];
	*last = (struct st_memory_moment){
		.time_ns = ns, .track = track->final, .row = row, .address = record->address};
	return last;
}

void st_index_take_memory(struct st_index_builder *builder, struct st_track_state *track,
			  const struct st_slice_record *record, int64_t ns)
{
	struct st_open_slice *open = st_index_innermost_open(track);
	struct st_operator *item = NULL;
	struct st_memory_moment *moment =
		moment_at(builder, track, open ? open->row : ST_NO_ROW, ns, record);

	if (open && open->item == ST_NO_ROW)
		open->item =
			add_operator(builder, (struct st_operator){.row = open->row,
								   .signature = ST_NO_ROW,
								   .sequence = ST_NO_SEQUENCE});
	if (!moment || builder->no_memory)
		return;
	if (open)
		item = &builder->operators.items[open->item];
	if (record->mark == ST_MARK_ALLOCATED) {
		moment->allocated += record->value;
		if (item)
			item->allocated += record->value;
	} else if (record->mark == ST_MARK_FREED) {
		moment->freed += record->value;
		if (item)
			item->freed += record->value;
	} else if (record->value > moment->peak) {
		moment->peak = record->value;
	}
}

void st_index_take_device_memory(struct st_index_builder *builder,
				 const struct st_track_state *track,
				 const struct st_slice_record *record, int64_t ns)
{
	struct st_operator_tables *tables = &builder->operators;
	bool is_allocated = record->mark == ST_MARK_DEVICE_ALLOCATED;
	const struct st_memory_moment moment = {.time_ns = ns,
						.track = track->final,
						.row = st_index_innermost(track),
						.allocated = is_allocated ? record->value : 0,
						.freed = is_allocated ? 0 : record->value,
						.address = record->address,
						.place = record->place};

	if (tables->device_moment_count >= ST_NO_ROW - 1 ||
	    !ST_VEC_PUSH(tables->device_moments, tables->device_moment_count,
			 tables->device_moment_capacity, moment))
		builder->no_memory = true;
}

/* There is one for each row at most, so that every one of them has a place to be put down. */
static bool sort_by_row(struct st_index_builder *builder)
{
	struct st_operator_tables *tables = &builder->operators;
	struct st_operator *sorted;
	uint32_t *at, count = 0;
	bool in_order = true;

	for (uint32_t i = 1; i < tables->count; i++)
		in_order &= tables->items[i - 1].row < tables->items[i].row;
	if (in_order)
		return true;
	at = calloc(builder->row_count, sizeof(*at));
	sorted = malloc(tables->count * sizeof(*sorted));
	if (at && sorted) {
		for (uint32_t i = 0; i < tables->count; i++)
			at[tables->items[i].row] = i + 1;
		for (uint64_t row = 0; row < builder->row_count; row++)
			if (at[row])
				sorted[count++] = tables->items[at[row] - 1];
		free(tables->items);
		tables->items = sorted;
		tables->count = tables->capacity = count;
		sorted = NULL;
	}
	free(at);
	free(sorted);
	return count > 0;
}

static int by_time(const void *a, const void *b)
{
	const struct st_memory_moment *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static void sort_moments(struct st_memory_moment *moments, uint32_t count)
{
	bool in_order = true;

	for (uint32_t i = 1; i < count; i++)
		in_order &= moments[i - 1].time_ns <= moments[i].time_ns;
	if (!in_order)
		qsort(moments, count, sizeof(*moments), by_time);
}

bool st_index_operators_finish(struct st_index_builder *builder)
{
	struct st_operator_tables *tables = &builder->operators;
	struct st_index_tables *out = &builder->meta->tables;

	if (!sort_by_row(builder))
		return false;
	sort_moments(tables->moments, tables->moment_count);
	sort_moments(tables->device_moments, tables->device_moment_count);
	if (tables->missing)
		st_notes_add(&builder->meta->notes,
			     "the inputs of %" PRIu64 " operator%s are not in the definitions",
			     tables->missing, tables->missing == 1 ? " was" : "s were");
	out->operators = tables->items;
	out->operator_count = tables->count;
	out->moments = tables->moments;
	out->moment_count = tables->moment_count;
	out->device_moments = tables->device_moments;
	out->device_moment_count = tables->device_moment_count;
	memset(tables, 0, sizeof(*tables));
	return true;
}
