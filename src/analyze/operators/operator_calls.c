// SPDX-License-Identifier: Apache-2.0
//
// Calls of Python functions as rows among the operators: torch's view of a profile with_stack=True. What is around what is
// then found by times alone, as torch does it: a range that is begun in one function and ended in another lies in
// what both were called by.
#include <string.h>

#include "base/map.h"
#include "analyze/operators/dataset_operators.h"
#include "store/traced_calls.h"

struct merging {
	struct st_operator_rows *rows;
	const struct st_operator_choice *choice;
	const struct st_traced_call *calls;
	uint32_t call_count;
	uint32_t *label_of; /* by call */
	uint32_t *moved;    /* by row before: where it is now */
	uint32_t slice_count;
};

/* What was running when the window began or ended counts from there, or up to there. */
static bool clip(const struct merging *merging, uint32_t call, int64_t *begin_ns, int64_t *end_ns)
{
	const struct st_operator_choice *choice = merging->choice;

	*begin_ns = merging->calls[call].begin_ns;
	*end_ns = merging->calls[call].end_ns;
	if (!choice->has_window)
		return true;
	if (*begin_ns >= choice->end_ns || *end_ns <= choice->begin_ns)
		return false;
	if (*begin_ns < choice->begin_ns)
		*begin_ns = choice->begin_ns;
	if (*end_ns > choice->end_ns)
		*end_ns = choice->end_ns;
	return true;
}

/* Labels behind those of the result: a name each. */
static bool add_labels(struct merging *merging)
{
	struct st_operator_rows *rows = merging->rows;
	struct st_key_texts *keys = &rows->texts[ST_BY_OPERATOR];
	struct st_pair_map names;
	uint32_t count, *name_of;
	uint8_t *kinds, *ranges;

	st_result_labels(rows->result, &count);
	st_pair_map_init(&names);
	for (uint32_t i = 0; i < merging->call_count; i++)
		merging->label_of[i] = count + st_pair_map_add(&names, merging->calls[i].name, 0);
	name_of = st_arena_calloc(&rows->arena, (size_t)count + names.count + 1, sizeof(*name_of));
	kinds = st_arena_calloc(&rows->arena, (size_t)count + names.count + 1, 1);
	ranges = st_arena_calloc(&rows->arena, (size_t)count + names.count + 1, 1);
	if (!name_of || !kinds || !ranges || names.failed) {
		st_pair_map_fini(&names);
		return false;
	}
	memcpy(name_of, rows->name_of, count * sizeof(*name_of));
	memcpy(kinds, rows->kind_of, count);
	memcpy(ranges, rows->is_range, count);
	for (uint32_t i = 0; i < names.count; i++) {
		struct st_text text = st_result_text(rows->result, (st_string_id)names.pairs[i].a);

		if (!text.size_bytes)
			text = (struct st_text){"[unknown]", 9};
		name_of[count + i] = st_key_texts_add(keys, text);
		kinds[count + i] = ST_LABEL_CALL;
	}
	rows->name_of = name_of;
	rows->kind_of = kinds;
	rows->is_range = ranges;
	st_pair_map_fini(&names);
	return !keys->failed;
}

/* Of two that begin together the one that ends later is around the other. */
static bool call_is_next(const struct merging *merging, const struct st_operator_rows *before,
			 uint32_t row, uint32_t call)
{
	int64_t begin_ns, end_ns;

	if (call == merging->call_count)
		return false;
	if (row == before->count || merging->calls[call].track != before->track[row])
		return row == before->count || merging->calls[call].track < before->track[row];
	clip(merging, call, &begin_ns, &end_ns);
	if (begin_ns != before->begin_ns[row])
		return begin_ns < before->begin_ns[row];
	return end_ns >= before->end_ns[row];
}

static void take_row(struct merging *merging, const struct st_operator_rows *before, uint32_t from)
{
	struct st_operator_rows *rows = merging->rows;
	uint32_t row = rows->count++;

	rows->own.slice[row] = before->slice[from];
	rows->own.label[row] = before->label[from];
	rows->own.track[row] = before->track[from];
	rows->own.begin_ns[row] = before->begin_ns[from];
	rows->own.end_ns[row] = before->end_ns[from];
	rows->own.flags[row] = before->flags[from];
	merging->moved[from] = row;
}

static void take_call(struct merging *merging, uint32_t call)
{
	struct st_operator_rows *rows = merging->rows;
	uint32_t row;
	int64_t begin_ns, end_ns;

	if (!clip(merging, call, &begin_ns, &end_ns))
		return;
	row = rows->count++;
	rows->own.slice[row] = merging->slice_count + call;
	rows->own.label[row] = merging->label_of[call];
	rows->own.track[row] = merging->calls[call].track;
	rows->own.begin_ns[row] = begin_ns;
	rows->own.end_ns[row] = end_ns;
	rows->row_of_call[call] = row;
}

/* The innermost call that each row began in: calls of a thread nest. */
static void set_calls(const struct merging *merging)
{
	struct st_operator_rows *rows = merging->rows;
	uint32_t inner = ST_NO_ROW;

	for (uint32_t row = 0; row < rows->count; row++) {
		if (row && rows->track[row] != rows->track[row - 1])
			inner = ST_NO_ROW;
		if (st_row_is_call(rows, row))
			inner = rows->slice[row] - merging->slice_count;
		while (inner != ST_NO_ROW &&
		       (rows->row_of_call[inner] == ST_NO_ROW ||
			(rows->row_of_call[inner] != row &&
			 rows->end_ns[rows->row_of_call[inner]] <= rows->begin_ns[row])))
			inner = merging->calls[inner].parent;
		rows->call[row] = inner;
	}
}

static void set_parents(struct st_operator_rows *rows)
{
	uint32_t open = ST_NO_ROW;

	for (uint32_t row = 0; row < rows->count; row++) {
		if (row && rows->track[row] != rows->track[row - 1])
			open = ST_NO_ROW;
		while (open != ST_NO_ROW && (rows->begin_ns[row] >= rows->end_ns[open] ||
					     rows->end_ns[row] > rows->end_ns[open]))
			open = rows->parent[open];
		rows->own.parent[row] = open;
		open = row;
	}
}

static bool make_room(struct merging *merging, const struct st_operator_rows *before)
{
	struct st_operator_rows *rows = merging->rows;
	size_t count = (size_t)merging->call_count + 1;

	merging->label_of = st_arena_calloc(&rows->arena, count, sizeof(uint32_t));
	merging->moved = st_arena_calloc(&rows->arena, (size_t)before->count + 1, sizeof(uint32_t));
	rows->row_of_call = st_arena_calloc(&rows->arena, count, sizeof(uint32_t));
	rows->call = st_arena_calloc(&rows->arena, before->count + count, sizeof(uint32_t));
	return !rows->arena.failed && add_labels(merging) &&
	       st_operators_make_columns(rows, before->count + merging->call_count);
}

bool st_operators_add_calls(struct st_operator_rows *rows, const struct st_operator_choice *choice)
{
	const struct st_slices *slices = st_result_slices(rows->result);
	struct merging merging = {.rows = rows, .choice = choice, .slice_count = slices->count};
	struct st_operator_rows before;
	uint32_t row = 0, call = 0;

	merging.calls = st_result_traced_calls(rows->result, &merging.call_count);
	if (!merging.call_count)
		return true;
	before = *rows;
	if (!make_room(&merging, &before))
		return false;
	for (uint32_t i = 0; i < merging.call_count; i++)
		rows->row_of_call[i] = ST_NO_ROW;
	rows->count = 0;
	while (row < before.count || call < merging.call_count) {
		if (call_is_next(&merging, &before, row, call))
			take_call(&merging, call++);
		else
			take_row(&merging, &before, row++);
	}
	for (uint32_t i = 0; i < slices->count; i++)
		rows->own.row_of_slice[i] = before.row_of_slice[i] == ST_NO_ROW
						    ? ST_NO_ROW
						    : merging.moved[before.row_of_slice[i]];
	set_calls(&merging);
	set_parents(rows);
	rows->has_calls = true;
	return true;
}
