/* SPDX-License-Identifier: Apache-2.0
 *
 * What each slice is to a training step. Only step_*.c use this.
 */
#ifndef ST_ANALYZE_STEPS_STEP_ROWS_H
#define ST_ANALYZE_STEPS_STEP_ROWS_H

#include "analyze/steps/step_list.h"
#include "store/result.h"

/* What a label says by itself. */
enum st_step_label {
	ST_STEP_LABEL_NONE, /* ranges of the user, primitives: part of what is around them */
	ST_STEP_LABEL_OPERATOR,
	ST_STEP_LABEL_MODULE,
	ST_STEP_LABEL_DATA,
	ST_STEP_LABEL_BACKWARD,
	ST_STEP_LABEL_OPTIMIZER,
	ST_STEP_LABEL_ZERO_GRAD,
	ST_STEP_LABEL_FUNCTION, /* of TensorFlow, with all that it computes */
	ST_STEP_LABEL_WAIT,	/* for a device */
};

/* Beside enum st_step_part_kind. */
enum { ST_STEP_LOOSE = ST_STEP_PART_KINDS, ST_STEP_NOWHERE };

/* An optimizer that evaluates the model itself (optimizer.step(closure), as PyTorch Lightning does). */
struct st_closure {
	uint32_t row; /* of the optimizer's slice */
	int64_t until_ns; /* where the last backward pass in it ends: what follows is the optimizer's own */
};

struct st_step_rows {
	struct st_arena arena; /* of what is needed until the steps are found */
	const struct st_result *result;
	const struct st_slices *slices;
	uint8_t *of_label; /* enum st_step_label */
	/* By row: enum st_step_part_kind; ST_STEP_LOOSE: an operator in nothing else, which is part of the forward
	 * pass when a backward pass comes later in the step; ST_STEP_NOWHERE. */
	uint8_t *part;
	bool has_operators;
	struct st_closure *closures; /* by row; in the arena */
	uint32_t closure_count;
};

/* Result, slices and arena are there. */
bool st_step_rows_init(struct st_step_rows *rows);

static inline bool st_step_row_is(const struct st_step_rows *rows, uint32_t row,
				  enum st_step_label label)
{
	return rows->of_label[rows->slices->label[row]] == label &&
	       !(rows->slices->flags[row] & (ST_SLICE_TWIN | ST_SLICE_COPY));
}
/* The closure of an optimizer's slice, or NULL. */
const struct st_closure *st_step_closure(const struct st_step_rows *rows, uint32_t row);
/* An operator, module, … that lies in no other. */
bool st_step_row_is_outermost(const struct st_step_rows *rows, uint32_t row);

/* Outermost rows of a track in order. */
struct st_step_tokens {
	uint32_t *row, *token; /* equal tokens: same name and, where they tell steps, inputs */
	uint32_t count;
};
bool st_step_tokens_init(struct st_step_tokens *tokens, const struct st_step_rows *rows,
			 uint32_t track, bool with_inputs, struct st_arena *arena);

/* step_pattern.c: steps out of what a thread repeats. False when memory is out. */
bool st_step_pattern_find(struct st_step_list *list, const struct st_step_rows *rows);
/* step_parts.c: fills wall_ns and part_ns. False when memory is out. */
bool st_step_parts_fill(struct st_step_list *list, struct st_step_rows *rows);

#endif
