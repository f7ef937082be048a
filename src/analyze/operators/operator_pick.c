// SPDX-License-Identifier: Apache-2.0
//
// Picks the operators of a result out of its slices.
#include "analyze/operators/dataset_operators.h"

/* How much a kind of label tells; 0: it is no row. */
static const uint8_t rank_of[] = {
	[ST_LABEL_OPERATOR] = 3, [ST_LABEL_ITT] = 2,	 [ST_LABEL_PRIMITIVE] = 1,
	[ST_LABEL_CALL] = 0,	 [ST_LABEL_RUNTIME] = 3, [ST_LABEL_DEVICE] = 3};

/* What the choice of rows is made by. */
struct picking {
	struct st_operator_rows *rows;
	const struct st_slices *slices;
	const struct st_operator_choice *choice;
	uint8_t *wanted; /* by track: the rank that its rows have */
};

static uint8_t kind_of(const struct picking *picking, uint32_t slice)
{
	return picking->rows->kind_of[picking->slices->label[slice]];
}

/* A profile has what began and ended in it; and ranges, which end with it when they are still open. */
static bool is_inside(const struct picking *picking, uint32_t slice)
{
	const struct st_operator_choice *choice = picking->choice;
	const struct st_slices *slices = picking->slices;

	if (!choice->has_window)
		return true;
	if (slices->begin_ns[slice] < choice->begin_ns || slices->begin_ns[slice] >= choice->end_ns)
		return false;
	return (slices->end_ns[slice] <= choice->end_ns &&
		!(slices->flags[slice] & ST_SLICE_UNFINISHED)) ||
	       (picking->rows->is_range[slices->label[slice]] && choice->end_ns < INT64_MAX);
}

static bool is_row(const struct picking *picking, uint32_t slice)
{
	const struct st_slices *slices = picking->slices;
	uint8_t kind = kind_of(picking, slice), rank = rank_of[kind];

	return rank && rank == picking->wanted[slices->track[slice]] && is_inside(picking, slice) &&
	       (rank == rank_of[ST_LABEL_OPERATOR] || !(slices->flags[slice] & ST_SLICE_COPY));
}

/* What each process recorded at best: tasks of a worse kind do not stand in. */
static bool start_picking(struct picking *picking)
{
	const struct st_slices *slices = picking->slices;
	uint32_t track_count, process_count;
	const struct st_track *tracks = st_result_tracks(picking->rows->result, &track_count);
	uint8_t *best;

	st_result_processes(picking->rows->result, &process_count);
	best = st_operators_column(picking->rows, process_count, 1);
	picking->wanted = st_operators_column(picking->rows, track_count, 1);
	if (!best || !picking->wanted)
		return false;
	for (uint32_t i = 0; i < slices->count; i++) {
		uint8_t rank = rank_of[kind_of(picking, i)];

		if (rank > picking->wanted[slices->track[i]])
			picking->wanted[slices->track[i]] = rank;
	}
	for (uint32_t i = 0; i < track_count; i++)
		if (picking->wanted[i] > best[tracks[i].process])
			best[tracks[i].process] = picking->wanted[i];
	for (uint32_t i = 0; i < track_count; i++)
		picking->wanted[i] = best[tracks[i].process];
	return true;
}

bool st_operators_make_columns(struct st_operator_rows *rows, uint32_t count)
{
	struct st_operator_columns *own = &rows->own;
	const struct st_slices *slices = st_result_slices(rows->result);

	own->slice = st_operators_column(rows, count, sizeof(*own->slice));
	own->label = st_operators_column(rows, count, sizeof(*own->label));
	own->parent = st_operators_column(rows, count, sizeof(*own->parent));
	own->track = st_operators_column(rows, count, sizeof(*own->track));
	own->begin_ns = st_operators_column(rows, count, sizeof(*own->begin_ns));
	own->end_ns = st_operators_column(rows, count, sizeof(*own->end_ns));
	own->self_ns = st_operators_column(rows, count, sizeof(*own->self_ns));
	own->flags = st_operators_column(rows, count, sizeof(*own->flags));
	own->row_of_slice = st_operators_column(rows, slices->count, sizeof(*own->row_of_slice));
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

static void add_row(const struct picking *picking, uint32_t slice)
{
	struct st_operator_rows *rows = picking->rows;
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
static bool copy_rows(const struct picking *picking, uint32_t count)
{
	const struct st_slices *slices = picking->slices;
	uint32_t *row_of_slice;

	if (!st_operators_make_columns(picking->rows, count))
		return false;
	row_of_slice = picking->rows->own.row_of_slice;
	for (uint32_t i = 0; i < slices->count; i++) {
		uint32_t up = slices->parent[i];

		row_of_slice[i] = up == ST_NO_ROW ? ST_NO_ROW : row_of_slice[up];
		if (is_row(picking, i))
			add_row(picking, i);
	}
	return true;
}

/* Every slice is a row: millions of them need no columns beside the slices' own. Their self time is the same, as long
 * as none is a twin, whose time is another slice's. */
static bool share_rows(struct st_operator_rows *rows, const struct st_slices *slices)
{
	uint32_t *same = st_operators_column(rows, slices->count, sizeof(*same));

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
	struct picking picking = {rows, st_result_slices(rows->result), choice, NULL};
	uint32_t count = 0;

	if (!start_picking(&picking))
		return false;
	for (uint32_t i = 0; i < picking.slices->count; i++) {
		if (!is_row(&picking, i))
			continue;
		count++;
		rows->is_itt = rows->is_itt || kind_of(&picking, i) == ST_LABEL_ITT;
		rows->is_primitive =
			rows->is_primitive || kind_of(&picking, i) == ST_LABEL_PRIMITIVE;
	}
	if (count == picking.slices->count && !choice->as_torch &&
	    !st_result_quality(rows->result)->twins)
		return share_rows(rows, picking.slices);
	return copy_rows(&picking, count);
}
