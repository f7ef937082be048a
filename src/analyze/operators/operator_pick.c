// SPDX-License-Identifier: Apache-2.0
//
// Picks the operators of a result out of its slices.
#include "analyze/operators/dataset_operators.h"

#include <stdlib.h>

/* How much a kind of label tells; 0: it is no row. */
static uint8_t rank_of(enum st_operator_label kind)
{
	switch (kind) {
	case ST_LABEL_OPERATOR:
		return 3;
	case ST_LABEL_ITT:
		return 2;
	case ST_LABEL_PRIMITIVE:
		return 1;
	default:
		return 0;
	}
}

/* What the choice of rows is made by. */
struct picking {
	const struct st_slices *slices;
	const struct st_operator_choice *choice;
	uint8_t *wanted; /* by track: the rank that its rows have */
	uint8_t *rank;	 /* by label */
};

/* A profile has what began and ended in it; and ranges, which end with it when they are still open. */
static bool is_inside(const struct st_operator_rows *rows, const struct picking *picking,
		      uint32_t slice)
{
	const struct st_operator_choice *choice = picking->choice;
	const struct st_slices *slices = picking->slices;

	if (!choice->has_window)
		return true;
	if (slices->begin_ns[slice] < choice->begin_ns || slices->begin_ns[slice] >= choice->end_ns)
		return false;
	return (slices->end_ns[slice] <= choice->end_ns &&
		!(slices->flags[slice] & ST_SLICE_UNFINISHED)) ||
	       (rows->is_range[slices->label[slice]] && choice->end_ns < INT64_MAX);
}

static bool is_row(const struct st_operator_rows *rows, const struct picking *picking,
		   uint32_t slice)
{
	const struct st_slices *slices = picking->slices;
	uint32_t label = slices->label[slice];
	uint8_t rank = picking->rank[label];

	if (!rank || rank != picking->wanted[slices->track[slice]] ||
	    !is_inside(rows, picking, slice))
		return false;
	return rows->kind_of[label] == ST_LABEL_OPERATOR || !(slices->flags[slice] & ST_SLICE_COPY);
}

/* What each process recorded at best: tasks of a worse kind do not stand in. */
static bool start_picking(struct picking *picking, const struct st_operator_rows *rows)
{
	const struct st_slices *slices = picking->slices;
	uint32_t track_count, process_count, label_count;
	const struct st_track *tracks = st_result_tracks(rows->result, &track_count);
	uint8_t *best;

	st_result_processes(rows->result, &process_count);
	st_result_labels(rows->result, &label_count);
	best = calloc((size_t)process_count + 1, 1);
	picking->rank = calloc((size_t)label_count + 1, 1);
	picking->wanted = calloc((size_t)track_count + 1, 1);
	if (!best || !picking->rank || !picking->wanted) {
		free(best);
		return false;
	}
	for (uint32_t i = 0; i < label_count; i++)
		picking->rank[i] = rank_of(rows->kind_of[i]);
	for (uint32_t i = 0; i < slices->count; i++) {
		uint8_t rank = picking->rank[slices->label[i]];

		if (rank > picking->wanted[slices->track[i]])
			picking->wanted[slices->track[i]] = rank;
	}
	for (uint32_t i = 0; i < track_count; i++)
		if (picking->wanted[i] > best[tracks[i].process])
			best[tracks[i].process] = picking->wanted[i];
	for (uint32_t i = 0; i < track_count; i++)
		picking->wanted[i] = best[tracks[i].process];
	free(best);
	return true;
}

static void *column(struct st_operator_rows *rows, size_t count, size_t size_bytes)
{
	return st_arena_calloc(&rows->arena, count + 1, size_bytes);
}

bool st_operators_make_columns(struct st_operator_rows *rows, uint32_t count)
{
	struct st_operator_columns *own = &rows->own;
	const struct st_slices *slices = st_result_slices(rows->result);

	own->slice = column(rows, count, sizeof(*own->slice));
	own->label = column(rows, count, sizeof(*own->label));
	own->parent = column(rows, count, sizeof(*own->parent));
	own->track = column(rows, count, sizeof(*own->track));
	own->begin_ns = column(rows, count, sizeof(*own->begin_ns));
	own->end_ns = column(rows, count, sizeof(*own->end_ns));
	own->self_ns = column(rows, count, sizeof(*own->self_ns));
	own->flags = column(rows, count, sizeof(*own->flags));
	own->row_of_slice = column(rows, slices->count, sizeof(*own->row_of_slice));
	rows->slice = own->slice;
	rows->label = own->label;
	rows->parent = own->parent;
	rows->track = own->track;
	rows->begin_ns = own->begin_ns;
	rows->end_ns = own->end_ns;
	rows->self_ns = own->self_ns;
	rows->flags = own->flags;
	rows->row_of_slice = own->row_of_slice;
	return !rows->arena.failed;
}

static void add_row(struct st_operator_rows *rows, const struct picking *picking, uint32_t slice)
{
	const struct st_operator_choice *choice = picking->choice;
	const struct st_slices *slices = picking->slices;
	struct st_operator_columns *own = &rows->own;
	uint32_t row = rows->count++, up = slices->parent[slice];

	own->slice[row] = slice;
	own->label[row] = slices->label[slice];
	own->parent[row] = up == ST_NO_ROW ? ST_NO_ROW : own->row_of_slice[up];
	own->track[row] = slices->track[slice];
	own->begin_ns[row] = slices->begin_ns[slice];
	own->end_ns[row] = slices->end_ns[slice];
	if (choice->has_window && own->end_ns[row] > choice->end_ns)
		own->end_ns[row] = choice->end_ns;
	/* For torch what goes on behind the end of the range that it began in does not lie in it. */
	while (choice->as_torch && own->parent[row] != ST_NO_ROW &&
	       (own->flags[own->parent[row]] & ST_SLICE_MISMATCHED) &&
	       own->end_ns[own->parent[row]] < own->end_ns[row])
		own->parent[row] = own->parent[own->parent[row]];
	own->flags[row] = slices->flags[slice];
	own->row_of_slice[slice] = row;
}

/* Rows of a track lie together, as its slices do. */
static bool copy_rows(struct st_operator_rows *rows, const struct picking *picking, uint32_t count)
{
	const struct st_slices *slices = picking->slices;

	if (!st_operators_make_columns(rows, count))
		return false;
	for (uint32_t i = 0; i < slices->count; i++) {
		uint32_t up = slices->parent[i];

		rows->own.row_of_slice[i] =
			up == ST_NO_ROW ? ST_NO_ROW : rows->own.row_of_slice[up];
		if (is_row(rows, picking, i))
			add_row(rows, picking, i);
	}
	return true;
}

/* Every slice is a row: millions of them need no columns beside the slices' own. Their self time is the same, as long
 * as none is a twin, whose time is another slice's. */
static bool share_rows(struct st_operator_rows *rows, const struct st_slices *slices)
{
	uint32_t *same = column(rows, slices->count, sizeof(*same));

	if (!same)
		return false;
	for (uint32_t i = 0; i < slices->count; i++)
		same[i] = i;
	rows->count = slices->count;
	rows->slice = rows->row_of_slice = same;
	rows->label = slices->label;
	rows->parent = slices->parent;
	rows->track = slices->track;
	rows->begin_ns = slices->begin_ns;
	rows->end_ns = slices->end_ns;
	rows->self_ns = slices->self_ns;
	rows->flags = slices->flags;
	return true;
}

bool st_operators_pick(struct st_operator_rows *rows, const struct st_operator_choice *choice)
{
	struct picking picking = {.slices = st_result_slices(rows->result), .choice = choice};
	uint32_t count = 0;
	bool done = start_picking(&picking, rows);

	for (uint32_t i = 0; done && i < picking.slices->count; i++) {
		uint8_t kind = rows->kind_of[picking.slices->label[i]];

		if (!is_row(rows, &picking, i))
			continue;
		count++;
		rows->is_itt = rows->is_itt || kind == ST_LABEL_ITT;
		rows->is_primitive = rows->is_primitive || kind == ST_LABEL_PRIMITIVE;
	}
	if (done && count == picking.slices->count && !choice->as_torch &&
	    !st_result_quality(rows->result)->twins)
		done = share_rows(rows, picking.slices);
	else if (done)
		done = copy_rows(rows, &picking, count);
	free(picking.wanted);
	free(picking.rank);
	return done;
}
