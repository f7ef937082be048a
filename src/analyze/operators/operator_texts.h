/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs and scopes of operators in words, for reports, SQL and torch's tables alike.
 */
#ifndef ST_ANALYZE_OPERATORS_OPERATOR_TEXTS_H
#define ST_ANALYZE_OPERATORS_OPERATOR_TEXTS_H

#include "store/operators.h"

struct st_arena;
struct st_buf;

enum { ST_INPUTS_TEXT_MAX = 1 << 16 };

/* An empty place for what is no tensor. */
enum st_inputs_form {
	ST_INPUTS_SHAPES,	/* "[[8, 3], [[2, 2], [2, 2]], []]": a list has an inner list */
	ST_INPUTS_SHAPES_JSON,	/* the same, without a word of what was left out */
	ST_INPUTS_TYPES,	/* "[float, [float, float], Scalar]" */
	ST_INPUTS_TYPES_JSON,	/* the same with quotes */
	ST_INPUTS_TORCH_SHAPES, /* as FunctionEvent.input_shapes: a list is an empty place */
	ST_INPUTS_TORCH_TYPES,	/* as FunctionEvent.input_dtypes, JSON: "TensorList" */
};
void st_operator_inputs_text(struct st_buf *out, const struct st_signature *signature,
			     enum st_inputs_form form);
/* In the arena; the forms that are no JSON say it when inputs were left out. */
struct st_text st_operator_inputs_copy(const struct st_signature *signature,
				       enum st_inputs_form form, struct st_arena *arena);

/* For people; "[not recorded]" without inputs. In the arena. */
struct st_text st_operator_inputs_shown(const struct st_signature *signature,
					enum st_inputs_form form, struct st_arena *arena);
const char *st_operator_scope_text(uint32_t scope);

#endif
