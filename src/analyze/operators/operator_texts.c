// SPDX-License-Identifier: Apache-2.0
//
// Inputs and scopes of operators in words.
#include "analyze/operators/operator_texts.h"

#include "analyze/datasets/dataset_parts.h"

static void add_sizes(struct st_buf *out, const struct st_input *input)
{
	st_buf_append_u8(out, '[');
	for (uint32_t i = 0; i < input->dimension_count; i++)
		st_buf_printf(out, "%s%lld", i ? ", " : "", (long long)input->sizes[i]);
	st_buf_append_u8(out, ']');
}

static void add_type(struct st_buf *out, const struct st_input *input)
{
	if (input->kind == ST_INPUT_TENSOR)
		st_buf_append_text(out, st_dtype_name(input->dtype));
	else if (input->kind == ST_INPUT_SCALAR || input->kind == ST_INPUT_INTEGER)
		st_buf_append_text(out, "Scalar");
}

static void add_input(struct st_buf *out, const struct st_input *input, enum st_inputs_form form)
{
	bool is_tensor = input->kind == ST_INPUT_TENSOR;

	switch (form) {
	case ST_INPUTS_SHAPES:
	case ST_INPUTS_SHAPES_JSON:
	case ST_INPUTS_TORCH_SHAPES:
		if (is_tensor)
			add_sizes(out, input);
		else
			st_buf_append_text(out, "[]");
		break;
	case ST_INPUTS_TYPES:
		add_type(out, input);
		break;
	default:
		st_buf_append_u8(out, '"');
		if (form == ST_INPUTS_TORCH_TYPES &&
		    (input->kind == ST_INPUT_INTEGER_LIST || input->kind == ST_INPUT_SCALAR_LIST))
			st_buf_append_text(out, "ScalarList");
		add_type(out, input);
		st_buf_append_u8(out, '"');
	}
}

/* Of a list: torch has one word for it, we have what is in it. */
static void add_list(struct st_buf *out, struct st_input_reader *reader, uint32_t count,
		     enum st_inputs_form form)
{
	bool is_word = form == ST_INPUTS_TORCH_SHAPES || form == ST_INPUTS_TORCH_TYPES;
	struct st_input element;

	st_buf_append_text(out, form == ST_INPUTS_TORCH_TYPES ? "\"TensorList\"" : "[");
	for (uint32_t i = 0; i < count && st_input_next(reader, &element); i++) {
		if (is_word)
			continue;
		st_buf_append_text(out, i ? ", " : "");
		add_input(out, &element, form);
	}
	st_buf_append_text(out, form == ST_INPUTS_TORCH_TYPES ? "" : "]");
}

void st_operator_inputs_text(struct st_buf *out, const struct st_signature *signature,
			     enum st_inputs_form form)
{
	struct st_input_reader reader;
	struct st_input input;
	bool first = true;

	st_buf_append_u8(out, '[');
	st_input_begin(&reader, signature);
	while (st_input_next(&reader, &input)) {
		st_buf_append_text(out, first ? "" : ", ");
		first = false;
		if (input.kind == ST_INPUT_TENSOR_LIST)
			add_list(out, &reader, input.list, form);
		else
			add_input(out, &input, form);
	}
	st_buf_append_u8(out, ']');
}

struct st_text st_operator_inputs_copy(const struct st_signature *signature,
				       enum st_inputs_form form, struct st_arena *arena)
{
	struct st_buf out;

	st_buf_init(&out, ST_INPUTS_TEXT_MAX);
	st_operator_inputs_text(&out, signature, form);
	if (form == ST_INPUTS_SHAPES || form == ST_INPUTS_TYPES) {
		if (!out.failed && signature->flags & ST_SIGNATURE_CUT) {
			out.size_bytes--;
			st_buf_append_text(&out, signature->input_count ? ", …]" : "…]");
		}
	}
	return st_text_take(arena, &out);
}

struct st_text st_operator_inputs_shown(const struct st_signature *signature,
					enum st_inputs_form form, struct st_arena *arena)
{
	static const struct st_text not_recorded = {"[not recorded]", 14};

	return signature->flags & ST_SIGNATURE_INPUTS
		       ? st_operator_inputs_copy(signature, form, arena)
		       : not_recorded;
}

const char *st_operator_scope_text(uint32_t scope)
{
	static const char *const words[] = {
		[ST_SCOPE_FUNCTION] = "function",
		[ST_SCOPE_BACKWARD] = "backward",
		[ST_SCOPE_SCRIPT] = "torchscript",
		[ST_SCOPE_KERNEL_DTYPE] = "kernel dtype",
		[ST_SCOPE_CUSTOM_CLASS] = "custom class",
		[ST_SCOPE_BUILD_FEATURE] = "build feature",
		[ST_SCOPE_LITE] = "lite interpreter",
		[ST_SCOPE_USER] = "user",
		[ST_SCOPE_STATIC_OP] = "static operator",
		[ST_SCOPE_STATIC_MODEL] = "static model",
	};

	if (scope == ST_SCOPE_MODULE)
		return "module";
	return scope < sizeof(words) / sizeof(words[0]) ? words[scope] : "[unknown]";
}
