// SPDX-License-Identifier: Apache-2.0
//
// The nn.Module that an operator belongs to: the innermost call of one around it. Backward nodes run when that call is
// long over; autograd's sequence number tells which forward operator each belongs to, and what lies inside of a
// node belongs where the node does.
#include <stdlib.h>

#include "analyze/operators/dataset_operators.h"

/* By slice: the innermost call of a module that it is or lies in, or ST_NO_ROW. Malloc'd. */
static uint32_t *find_calls(const struct st_operator_rows *rows)
{
	const struct st_slices *slices = st_result_slices(rows->result);
	uint32_t *calls = malloc(((size_t)slices->count + 1) * sizeof(*calls));

	for (uint32_t i = 0; calls && i < slices->count; i++) {
		uint32_t up = slices->parent[i];

		calls[i] = up == ST_NO_ROW ? ST_NO_ROW : calls[up];
		if (rows->kind_of[slices->label[i]] == ST_LABEL_MODULE)
			calls[i] = i;
	}
	return calls;
}

struct job {
	const struct st_operator_rows *rows;
	uint32_t *forwards; /* by row */
	uint32_t *calls;    /* by slice */
	uint32_t *keys;	    /* by row; 0 is no module */
	uint8_t *linked;    /* by row: it belongs where a forward operator does */
};

static void link_node(struct job *job, uint32_t row, uint32_t from)
{
	uint32_t up = job->rows->parent[row];

	job->keys[row] = job->keys[from];
	job->linked[row] = 1;
	if (up == ST_NO_ROW || job->linked[up] || !st_row_is_wrapper(job->rows, up))
		return;
	job->keys[up] = job->keys[from];
	job->linked[up] = 1;
}

/* Rows come after the rows around them, so that what a node found is there for those inside of it. */
static void follow_backward(struct job *job)
{
	const struct st_operator_rows *rows = job->rows;

	for (uint32_t row = 0; row < rows->count; row++) {
		uint32_t up = rows->parent[row], from = job->forwards[row];

		if (from != ST_NO_ROW && job->keys[from]) {
			link_node(job, row, from);
		} else if (up != ST_NO_ROW && job->linked[up] &&
			   job->calls[rows->slice[row]] == job->calls[rows->slice[up]]) {
			/* A module that is called inside of a node, to compute again, is its own. */
			job->keys[row] = job->keys[up];
			job->linked[row] = 1;
		}
	}
}

/* The innermost call around each row. */
static void set_keys(struct job *job, struct st_key_texts *texts)
{
	const struct st_operator_rows *rows = job->rows;
	const struct st_slices *slices = st_result_slices(rows->result);

	for (uint32_t row = 0; row < rows->count; row++) {
		uint32_t call = job->calls[rows->slice[row]];

		if (call != ST_NO_ROW)
			job->keys[row] = st_key_texts_add(
				texts, rows->texts[ST_BY_OPERATOR]
					       .texts[rows->name_of[slices->label[call]]]);
	}
}

bool st_operators_add_modules(struct st_dataset *dataset, struct st_operator_rows *rows)
{
	static const struct st_text none = {"[no module]", 11};
	struct st_key_texts *texts = &rows->texts[ST_BY_NN_MODULE];
	struct job job = {.rows = rows};
	bool done;

	job.keys = st_arena_calloc(&rows->arena, (size_t)rows->count + 1, sizeof(*job.keys));
	job.linked = calloc((size_t)rows->count + 1, 1);
	job.calls = find_calls(rows);
	job.forwards = st_operators_forwards(dataset, rows);
	done = job.forwards && job.keys && job.linked && job.calls;
	st_key_texts_add(texts, none);
	if (done) {
		set_keys(&job, texts);
		follow_backward(&job);
	}
	dataset->keys[ST_BY_NN_MODULE] = st_keys(job.keys, NULL, texts->count);
	done = done && !texts->failed;
	free(job.forwards);
	free(job.calls);
	free(job.linked);
	return done;
}
