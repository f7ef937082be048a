// SPDX-License-Identifier: Apache-2.0
//
// Which part of a training step a slice belongs to. Names tell: those of PyTorch's own ranges are the same in every
// version, and the same whether its operators were recorded or came as ITT tasks.
#include "analyze/steps/step_rows.h"

#include "analyze/datasets/words.h"
#include "base/search.h"
#include "format/operator.h"
#include "store/operators.h"

/* Ranges that are PyTorch's, not the user's. */
static enum st_step_label label_of_range(struct st_text name)
{
	static const struct {
		const char *prefix;
		enum st_step_label label;
	} known[] = {
		{"enumerate(DataLoader)#", ST_STEP_LABEL_DATA},
		{"Optimizer.step#", ST_STEP_LABEL_OPTIMIZER},
		{"Optimizer.zero_grad#", ST_STEP_LABEL_ZERO_GRAD},
		{"autograd::engine::evaluate_function", ST_STEP_LABEL_BACKWARD},
		/* Compiled code shows nothing inside of these. */
		{"Torch-Compiled Region", ST_STEP_LABEL_OPERATOR},
		{"TorchDynamo Cache Lookup", ST_STEP_LABEL_OPERATOR},
		{"## Call CompiledFxGraph", ST_STEP_LABEL_OPERATOR},
		{"DistributedDataParallel.forward", ST_STEP_LABEL_MODULE},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (st_text_begins(name, known[i].prefix))
			return known[i].label;
	}
	return ST_STEP_LABEL_NONE;
}

static enum st_step_label label_of(const struct st_result *result, const struct st_label *label)
{
	enum st_category category = label->category;
	struct st_text name = st_result_text(result, label->name);
	enum st_step_label of_range;

	if (st_text_equals(st_result_text(result, label->domain), ST_TF_FUNCTION_DOMAIN))
		return ST_STEP_LABEL_FUNCTION;
	if (category == ST_CATEGORY_DEVICE_WAIT)
		return ST_STEP_LABEL_WAIT;
	if (category == ST_CATEGORY_MODULE)
		return ST_STEP_LABEL_MODULE;
	/* oneDNN's, in programs of which no operators are known. */
	if (st_category_is_primitive(category))
		return st_text_holds(name, "backward") ? ST_STEP_LABEL_BACKWARD
						       : ST_STEP_LABEL_OPERATOR;
	if (!st_category_is_torch(category))
		return ST_STEP_LABEL_NONE;
	of_range = label_of_range(name);
	if (of_range != ST_STEP_LABEL_NONE)
		return of_range;
	return category == ST_CATEGORY_OPERATOR ? ST_STEP_LABEL_OPERATOR : ST_STEP_LABEL_NONE;
}

static bool read_labels(struct st_step_rows *rows)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(rows->result, &count);

	rows->of_label = st_arena_calloc(&rows->arena, (size_t)count + 1, 1);
	if (!rows->of_label)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		rows->of_label[i] = (uint8_t)label_of(rows->result, &labels[i]);
		rows->has_operators =
			rows->has_operators || (rows->of_label[i] != ST_STEP_LABEL_NONE &&
						rows->of_label[i] != ST_STEP_LABEL_WAIT);
	}
	return true;
}

/* up: what is around it. */
static unsigned int part_in(enum st_step_label label, unsigned int up)
{
	switch (label) {
	case ST_STEP_LABEL_DATA:
		return ST_STEP_DATA;
	case ST_STEP_LABEL_BACKWARD:
		return up == ST_STEP_DATA ? up : ST_STEP_BACKWARD;
	case ST_STEP_LABEL_OPTIMIZER:
	case ST_STEP_LABEL_ZERO_GRAD:
		return up == ST_STEP_DATA ? up : ST_STEP_OPTIMIZER;
	case ST_STEP_LABEL_MODULE:
		/* An optimizer may call the model (a closure); recomputed activations are the backward pass's. */
		return up == ST_STEP_DATA || up == ST_STEP_BACKWARD ? up : ST_STEP_FORWARD;
	case ST_STEP_LABEL_WAIT:
		return up == ST_STEP_DATA ? up : ST_STEP_DEVICE;
	case ST_STEP_LABEL_FUNCTION:
	case ST_STEP_LABEL_OPERATOR:
		return up == ST_STEP_NOWHERE ? ST_STEP_LOOSE : up;
	default:
		return up;
	}
}

const struct st_closure *st_step_closure(const struct st_step_rows *rows, uint32_t row)
{
	uint32_t at = ST_SEARCH(i, 0, rows->closure_count, rows->closures[i].row < row);

	return at < rows->closure_count && rows->closures[at].row == row ? &rows->closures[at]
									 : NULL;
}

/* The optimizer's slice around a row, or ST_NO_ROW. */
static uint32_t optimizer_around(const struct st_step_rows *rows, uint32_t row)
{
	do {
		row = rows->slices->parent[row];
	} while (row != ST_NO_ROW && !st_step_row_is(rows, row, ST_STEP_LABEL_OPTIMIZER));
	return row;
}

/* Optimizers that a backward pass lies in. */
static bool find_closures(struct st_step_rows *rows)
{
	const struct st_slices *slices = rows->slices;
	uint32_t count = 0;

	for (uint32_t row = 0; row < slices->count; row++)
		count += st_step_row_is(rows, row, ST_STEP_LABEL_OPTIMIZER);
	rows->closures = st_arena_calloc(&rows->arena, (size_t)count + 1, sizeof(*rows->closures));
	if (!rows->closures)
		return false;
	for (uint32_t row = 0; count && row < slices->count; row++)
		if (st_step_row_is(rows, row, ST_STEP_LABEL_OPTIMIZER))
			rows->closures[rows->closure_count++] =
				(struct st_closure){.row = row, .until_ns = INT64_MIN};
	for (uint32_t row = 0; count && row < slices->count; row++) {
		struct st_closure *closure;
		uint32_t around;

		if (!st_step_row_is(rows, row, ST_STEP_LABEL_BACKWARD))
			continue;
		around = optimizer_around(rows, row);
		closure = around == ST_NO_ROW ? NULL
					      : (struct st_closure *)st_step_closure(rows, around);
		if (closure && slices->end_ns[row] > closure->until_ns)
			closure->until_ns = slices->end_ns[row];
	}
	return true;
}

/* In an optimizer, before the backward pass that its closure ends with: a part of the forward pass. */
static bool is_in_closure(const struct st_step_rows *rows, uint32_t row)
{
	uint32_t around = optimizer_around(rows, row);
	const struct st_closure *closure =
		around == ST_NO_ROW ? NULL : st_step_closure(rows, around);

	return closure && rows->slices->begin_ns[row] < closure->until_ns;
}

bool st_step_rows_init(struct st_step_rows *rows)
{
	if (!read_labels(rows))
		return false;
	if (!rows->has_operators)
		return true;
	rows->part = st_arena_alloc(&rows->arena, (size_t)rows->slices->count + 1);
	if (!rows->part || !find_closures(rows))
		return false;
	/* Rows come after the rows around them. */
	for (uint32_t row = 0; row < rows->slices->count; row++) {
		uint32_t parent = rows->slices->parent[row];
		unsigned int up = parent == ST_NO_ROW ? ST_STEP_NOWHERE : rows->part[parent];
		enum st_step_label label = rows->of_label[rows->slices->label[row]];

		rows->part[row] = (uint8_t)part_in(label, up);
		if (label == ST_STEP_LABEL_OPERATOR && up == ST_STEP_OPTIMIZER &&
		    st_step_row_is(rows, parent, ST_STEP_LABEL_OPTIMIZER) &&
		    is_in_closure(rows, row))
			rows->part[row] = ST_STEP_FORWARD;
	}
	return true;
}

bool st_step_row_is_outermost(const struct st_step_rows *rows, uint32_t row)
{
	uint32_t parent = rows->slices->parent[row];

	if (rows->part[row] == ST_STEP_NOWHERE || rows->part[row] == ST_STEP_DEVICE ||
	    rows->slices->flags[row] & (ST_SLICE_TWIN | ST_SLICE_COPY))
		return false;
	/* A twin may be what lies around the operator. */
	while (parent != ST_NO_ROW && rows->slices->flags[parent] & ST_SLICE_TWIN)
		parent = rows->slices->parent[parent];
	return parent == ST_NO_ROW || rows->part[parent] == ST_STEP_NOWHERE;
}

static uint32_t token_of(const struct st_step_rows *rows, uint32_t row, bool with_inputs)
{
	uint32_t count;
	const struct st_operator *known;

	if (!with_inputs)
		return rows->slices->label[row];
	st_result_labels(rows->result, &count);
	known = st_result_operator_of(rows->result, row);
	return known && known->signature != ST_NO_ROW ? count + known->signature
						      : rows->slices->label[row];
}

bool st_step_tokens_init(struct st_step_tokens *tokens, const struct st_step_rows *rows,
			 uint32_t track, bool with_inputs, struct st_arena *arena)
{
	uint32_t count, found = 0;
	const struct st_track *at = &st_result_tracks(rows->result, &count)[track];

	tokens->count = 0;
	for (uint32_t row = at->row_begin; row < at->row_end; row++)
		found += st_step_row_is_outermost(rows, row);
	tokens->row = st_arena_alloc(arena, ((size_t)found + 1) * sizeof(*tokens->row));
	tokens->token = st_arena_alloc(arena, ((size_t)found + 1) * sizeof(*tokens->token));
	if (arena->failed)
		return false;
	for (uint32_t row = at->row_begin; row < at->row_end; row++) {
		if (!st_step_row_is_outermost(rows, row))
			continue;
		tokens->row[tokens->count] = row;
		tokens->token[tokens->count++] = token_of(rows, row, with_inputs);
	}
	return true;
}
