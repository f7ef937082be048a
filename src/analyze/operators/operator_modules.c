// SPDX-License-Identifier: Apache-2.0
//
// The nn.Module that an operator belongs to: the innermost call of one around it. Backward nodes run when that call is
// long over; autograd's sequence number tells which forward operator each belongs to, and what lies inside of a
// node belongs where the node does. Slices have one too, for the samples in them: a call of a module itself, an operator as
// above, and what else lies in one of them.
#include <stdlib.h>

#include "analyze/operators/dataset_operators.h"

static const struct st_text no_module = {"[no module]", 11};

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
	struct st_key_texts *texts = &rows->texts[ST_BY_NN_MODULE];
	struct job job = {.rows = rows};
	bool done;

	job.keys = st_arena_calloc(&rows->arena, (size_t)rows->count + 1, sizeof(*job.keys));
	job.linked = calloc((size_t)rows->count + 1, 1);
	job.calls = find_calls(rows);
	job.forwards = st_operators_forwards(dataset, rows);
	done = job.forwards && job.keys && job.linked && job.calls;
	st_key_texts_add(texts, no_module);
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

bool st_result_has_modules(const struct st_result *result)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);

	for (uint32_t i = 0; i < count; i++)
		if (labels[i].category == ST_CATEGORY_MODULE)
			return true;
	return false;
}

/* By label: the key of a module, else 0. */
static void map_labels(uint32_t *map, const struct st_operator_rows *rows,
		       struct st_key_texts *keys)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(rows->result, &count);

	for (uint32_t i = 0; i < count; i++)
		if (rows->kind_of[i] == ST_LABEL_MODULE)
			map[i] = st_key_texts_add(keys,
						  st_result_text(rows->result, labels[i].name));
}

static void set_slices(uint32_t *column, const struct st_dataset *operators,
		       const uint32_t *of_label, const uint32_t *of_operator)
{
	const struct st_operator_rows *rows = st_dataset_operators(operators);
	const struct st_slices *slices = st_result_slices(rows->result);

	/* Slices come after the slices around them. */
	for (uint32_t i = 0; i < slices->count; i++) {
		uint32_t row = rows->row_of_slice[i], up = slices->parent[i];

		if (of_label[slices->label[i]])
			column[i] = of_label[slices->label[i]];
		else if (row != ST_NO_ROW && rows->slice[row] == i)
			column[i] = of_operator[st_key_of(&operators->keys[ST_BY_NN_MODULE], row)];
		else
			column[i] = up == ST_NO_ROW ? 0 : column[up];
	}
}

bool st_slices_add_modules(struct st_dataset *dataset, const struct st_result *result,
			   struct st_key_texts *keys, struct st_arena *arena)
{
	uint32_t *column = st_arena_calloc(arena, (size_t)dataset->row_count + 1, sizeof(*column));
	uint32_t *of_label, *of_operator, label_count;
	const struct st_key_texts *theirs;
	struct st_operator_rows *rows;
	struct st_dataset operators;
	bool done;

	if (!column || st_dataset_operators_init(&operators, result, false, NULL))
		return false;
	rows = operators.private_data;
	theirs = &rows->texts[ST_BY_NN_MODULE];
	done = operators.prepare(&operators, ST_BY_NN_MODULE);
	st_key_texts_add(keys, no_module);
	st_result_labels(result, &label_count);
	of_label = st_operators_column(rows, label_count, sizeof(*of_label));
	of_operator = st_operators_column(rows, theirs->count, sizeof(*of_operator));
	if (of_label && of_operator) {
		map_labels(of_label, rows, keys);
		/* The operators' key of a module is the same module's key here. */
		for (uint32_t i = 1; i < theirs->count; i++)
			of_operator[i] = st_key_texts_add(keys, theirs->texts[i]);
	}
	done = done && of_label && of_operator && !keys->failed;
	if (done)
		set_slices(column, &operators, of_label, of_operator);
	dataset->keys[ST_BY_NN_MODULE] = st_keys(column, NULL, keys->count);
	st_dataset_operators_fini(&operators);
	return done;
}
