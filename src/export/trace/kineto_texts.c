// SPDX-License-Identifier: Apache-2.0
//
// Texts that many events of the Kineto form share, made once: name and category of a label, the inputs of a signature.
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "export/trace/chrome_parts.h"
#include "export/trace/kineto_parts.h"

static bool is_module(const struct st_kineto *kineto, uint32_t label)
{
	return kineto->rows->kind_of[label] == ST_LABEL_MODULE;
}

static void add_head(struct st_kineto *kineto, uint32_t label, const struct st_label *what)
{
	static const char module[] = "nn.Module: ";
	struct st_text name = st_result_text(kineto->result, what->name);
	struct st_buf *whole;
	struct st_json json;

	st_json_init(&json, &kineto->heads);
	st_json_object_begin(&json);
	st_json_put_text(&json, "ph", "X");
	st_json_put_text(&json, "cat",
			 is_module(kineto, label) ? "python_function" : st_chrome_category(what));
	st_json_key(&json, "name");
	if (!is_module(kineto, label)) {
		st_json_bytes(&json, name.bytes, name.size_bytes);
		return;
	}
	whole = st_stream_scratch(&kineto->stream);
	st_buf_append_text(whole, module);
	st_buf_append(whole, name.bytes, name.size_bytes);
	st_json_bytes(&json, whole->data, whole->size_bytes);
}

bool st_kineto_make_heads(struct st_kineto *kineto)
{
	const struct st_label *labels = st_result_labels(kineto->result, &kineto->label_count);

	kineto->head_ends = calloc((size_t)kineto->label_count + 1, sizeof(*kineto->head_ends));
	for (uint32_t i = 0; kineto->head_ends && i < kineto->label_count; i++) {
		if (kineto->rows->kind_of[i] != ST_LABEL_OTHER)
			add_head(kineto, i, &labels[i]);
		kineto->head_ends[i] = kineto->heads.size_bytes;
	}
	return kineto->head_ends && !kineto->heads.failed;
}

enum column { TYPES, SIZES };

static const char *type_of(const struct st_input *input)
{
	switch (input->kind) {
	case ST_INPUT_TENSOR:
		return st_dtype_name(input->dtype);
	case ST_INPUT_TENSOR_LIST:
		return "TensorList";
	case ST_INPUT_SCALAR:
	case ST_INPUT_INTEGER:
		return "Scalar";
	case ST_INPUT_INTEGER_LIST:
	case ST_INPUT_SCALAR_LIST:
		return "ScalarList";
	default:
		return "";
	}
}

static void add_input(struct st_json *json, const struct st_input *input, enum column column)
{
	if (column == TYPES) {
		st_json_text(json, type_of(input));
		return;
	}
	st_json_array_begin(json);
	for (uint32_t i = 0; i < input->dimension_count; i++)
		st_json_i64(json, input->sizes[i]);
	st_json_array_end(json);
}

/* A list of tensors is one type, and sizes of its own. */
static void add_list(struct st_json *json, struct st_input_reader *reader,
		     const struct st_input *list, enum column column)
{
	struct st_input element;

	if (column == TYPES)
		st_json_text(json, type_of(list));
	else
		st_json_array_begin(json);
	for (uint32_t i = 0; i < list->list && st_input_next(reader, &element); i++)
		if (column == SIZES)
			add_input(json, &element, column);
	if (column == SIZES)
		st_json_array_end(json);
}

static void add_column(struct st_json *json, const struct st_signature *signature,
		       enum column column)
{
	struct st_input_reader reader;
	struct st_input input;

	st_json_array_begin(json);
	st_input_begin(&reader, signature);
	while (st_input_next(&reader, &input)) {
		if (input.kind == ST_INPUT_TENSOR_LIST)
			add_list(json, &reader, &input, column);
		else
			add_input(json, &input, column);
	}
	st_json_array_end(json);
}

/* Values and strides are not recorded: a place for each input, and nothing in it. */
static void add_places(struct st_json *json, uint32_t count, bool are_lists)
{
	st_json_array_begin(json);
	for (uint32_t i = 0; i < count; i++) {
		if (!are_lists) {
			st_json_text(json, "");
			continue;
		}
		st_json_array_begin(json);
		st_json_array_end(json);
	}
	st_json_array_end(json);
}

/* The members of an object that is not begun: the walk puts them behind others. */
static void add_inputs(struct st_kineto *kineto, const struct st_signature *signature)
{
	struct st_buf *text = st_stream_scratch(&kineto->stream);
	struct st_json json;

	st_json_init(&json, text);
	st_json_object_begin(&json);
	st_json_key(&json, "Concrete Inputs");
	add_places(&json, signature->input_count, false);
	st_json_key(&json, "Input type");
	add_column(&json, signature, TYPES);
	st_json_key(&json, "Input Strides");
	add_places(&json, signature->input_count, true);
	st_json_key(&json, "Input Dims");
	add_column(&json, signature, SIZES);
	st_buf_append_u8(&kineto->inputs, ',');
	if (text->size_bytes)
		st_buf_append(&kineto->inputs, text->data + 1, text->size_bytes - 1);
}

bool st_kineto_make_inputs(struct st_kineto *kineto)
{
	const struct st_signature *signatures =
		st_result_signatures(kineto->result, &kineto->signature_count);

	kineto->input_ends =
		calloc((size_t)kineto->signature_count + 1, sizeof(*kineto->input_ends));
	for (uint32_t i = 0; kineto->input_ends && i < kineto->signature_count; i++) {
		bool has_inputs = signatures[i].flags & ST_SIGNATURE_INPUTS &&
				  signatures[i].input_count && signatures[i].scope != ST_SCOPE_USER;

		if (has_inputs && kineto->parts & ST_PART_SHAPES)
			add_inputs(kineto, &signatures[i]);
		kineto->input_ends[i] = kineto->inputs.size_bytes;
	}
	return kineto->input_ends && !kineto->inputs.failed;
}
