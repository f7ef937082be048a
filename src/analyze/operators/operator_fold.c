// SPDX-License-Identifier: Apache-2.0
//
// Rows as torch's profiler counts them: an operator whose only child has its own name ("aten::add" in "aten::add")
// is one with it, repeatedly. One pass does it all, because rows come after the rows around them: a row that is
// folded leaves its children to the row around it before they are met.
#include "analyze/operators/dataset_operators.h"

#include <stdlib.h>

#include "store/traced_calls.h"

/* Rows that are left move together; what pointed to a row that is gone points to what took it in. */
static void close_up(struct st_operator_rows *rows, uint32_t *into)
{
	struct st_operator_columns *own = &rows->own;
	uint32_t kept = 0;

	for (uint32_t row = 0; row < rows->count; row++) {
		if (into[row] != row) {
			into[row] = into[into[row]]; /* an earlier row, which has moved */
			continue;
		}
		own->slice[kept] = own->slice[row];
		own->label[kept] = own->label[row];
		own->track[kept] = own->track[row];
		own->begin_ns[kept] = own->begin_ns[row];
		own->end_ns[kept] = own->end_ns[row];
		own->flags[kept] = own->flags[row];
		if (rows->has_calls)
			rows->call[kept] = rows->call[row];
		own->parent[kept] =
			own->parent[row] == ST_NO_ROW ? ST_NO_ROW : into[own->parent[row]];
		into[row] = kept++;
	}
	rows->count = kept;
}

static void move_calls(struct st_operator_rows *rows, const uint32_t *into)
{
	uint32_t count;

	st_result_traced_calls(rows->result, &count);
	for (uint32_t i = 0; i < count; i++)
		if (rows->row_of_call[i] != ST_NO_ROW)
			rows->row_of_call[i] = into[rows->row_of_call[i]];
}

bool st_operators_fold(struct st_operator_rows *rows)
{
	const struct st_slices *slices = st_result_slices(rows->result);
	uint32_t *children = calloc((size_t)rows->count + 1, sizeof(*children));
	uint32_t *into = calloc((size_t)rows->count + 1, sizeof(*into));
	bool done = children && into;

	for (uint32_t row = 0; done && row < rows->count; row++) {
		into[row] = row;
		if (rows->parent[row] != ST_NO_ROW)
			children[rows->parent[row]]++;
	}
	for (uint32_t row = 0; done && row < rows->count; row++) {
		uint32_t parent = rows->parent[row];

		if (parent == ST_NO_ROW)
			continue;
		parent = rows->own.parent[row] = into[parent];
		if (children[parent] != 1 ||
		    rows->name_of[rows->label[row]] != rows->name_of[rows->label[parent]])
			continue;
		into[row] = parent;
		children[parent] = children[row];
	}
	if (done)
		close_up(rows, into);
	for (uint32_t i = 0; done && i < slices->count; i++) {
		if (rows->row_of_slice[i] != ST_NO_ROW)
			rows->own.row_of_slice[i] = into[rows->row_of_slice[i]];
	}
	if (done && rows->has_calls)
		move_calls(rows, into);
	free(children);
	free(into);
	return done;
}
