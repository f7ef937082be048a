// SPDX-License-Identifier: Apache-2.0
//
// What an operator was called with, from the arguments of its event to the bytes of a signature
// (format/operator.h): "Input Dims", "Input type" and "Concrete Inputs" are lists of the same length.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/import/kineto_parts.h"
#include "format/operator.h"
#include "format/varint.h"
#include "store/operators.h"

enum { LIST_MAX = 64, DTYPE_UNKNOWN = 255, FLAGS_AT = 9, COUNT_AT = 10 };

struct json_object *st_kineto_member(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_is_type(json, json_type_object))
		json_object_object_get_ex(json, key, &value);
	return value;
}

int64_t st_kineto_integer(struct json_object *json, const char *key, int64_t otherwise)
{
	struct json_object *value = st_kineto_member(json, key);

	return json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : otherwise;
}

static struct json_object *item(struct json_object *list, size_t at)
{
	if (!json_object_is_type(list, json_type_array) || at >= json_object_array_length(list))
		return NULL;
	return json_object_array_get_idx(list, at);
}

static void put_number(struct st_buf *out, int64_t value)
{
	uint8_t bytes[ST_VARINT64_MAX_BYTES];

	st_buf_append(out, bytes, (size_t)(st_varint_put(bytes, st_zigzag(value)) - bytes));
}

static uint8_t dtype_of(const char *name)
{
	for (uint32_t i = 0; strcmp(st_dtype_name(i), "?") != 0; i++)
		if (strcmp(st_dtype_name(i), name) == 0)
			return (uint8_t)i;
	return DTYPE_UNKNOWN;
}

static void put_tensor(struct st_buf *out, uint8_t dtype, struct json_object *sizes)
{
	size_t count = json_object_array_length(sizes);

	if (count > ST_INPUT_DIMENSIONS_MAX)
		count = ST_INPUT_DIMENSIONS_MAX;
	st_buf_append_u8(out, ST_INPUT_TENSOR);
	st_buf_append_u8(out, dtype);
	st_buf_append_u8(out, (uint8_t)count);
	for (size_t i = 0; i < count; i++)
		put_number(out, json_object_get_int64(item(sizes, i)));
}

static void put_tensors(struct st_buf *out, struct json_object *list)
{
	size_t count = json_object_array_length(list);

	if (count > LIST_MAX)
		count = LIST_MAX;
	st_buf_append_u8(out, ST_INPUT_TENSOR_LIST);
	st_buf_append_u16(out, (uint16_t)count);
	for (size_t i = 0; i < count; i++) {
		if (json_object_is_type(item(list, i), json_type_array))
			put_tensor(out, DTYPE_UNKNOWN, item(list, i));
		else
			st_buf_append_u8(out, ST_INPUT_UNDEFINED);
	}
}

/* The integers of "1" or "[1, 1]" or "True"; -1: they are none. */
static int read_integers(const char *text, int64_t *out)
{
	int count = 0;

	if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
		out[0] = text[0] == 'T';
		return 1;
	}
	text += *text == '[';
	while (*text && *text != ']') {
		char *end;

		errno = 0;
		if (count == LIST_MAX)
			return -1;
		out[count++] = strtoll(text, &end, 10);
		if (errno || end == text || (*end && *end != ',' && *end != ']'))
			return -1;
		text = *end == ',' ? end + 1 : end;
	}
	return count;
}

static void put_scalar(struct st_buf *out, bool is_list, const char *text)
{
	int64_t numbers[LIST_MAX];
	int count = text ? read_integers(text, numbers) : -1;

	if (count < 0 || (!is_list && count != 1)) {
		st_buf_append_u8(out, is_list ? ST_INPUT_SCALAR_LIST : ST_INPUT_SCALAR);
		return;
	}
	st_buf_append_u8(out, is_list ? ST_INPUT_INTEGER_LIST : ST_INPUT_INTEGER);
	if (is_list)
		st_buf_append_u16(out, (uint16_t)count);
	for (int i = 0; i < count; i++)
		put_number(out, numbers[i]);
}

static void put_input(struct st_buf *out, struct json_object *args, size_t at)
{
	struct json_object *sizes = item(st_kineto_member(args, "Input Dims"), at);
	struct json_object *type = item(st_kineto_member(args, "Input type"), at);
	struct json_object *value = item(st_kineto_member(args, "Concrete Inputs"), at);
	const char *name =
		json_object_is_type(type, json_type_string) ? json_object_get_string(type) : "";
	bool has_sizes = json_object_is_type(sizes, json_type_array);

	if (strcmp(name, "TensorList") == 0 && has_sizes)
		put_tensors(out, sizes);
	else if (strcmp(name, "Scalar") == 0 || strcmp(name, "ScalarList") == 0)
		put_scalar(out, name[sizeof("Scalar") - 1] != '\0',
			   json_object_is_type(value, json_type_string)
				   ? json_object_get_string(value)
				   : NULL);
	else if (*name && has_sizes && strcmp(name, "GenericList") != 0)
		put_tensor(out, dtype_of(name), sizes);
	else
		st_buf_append_u8(out, ST_INPUT_OTHER);
}

/* Torch says of nodes of the backward pass which thread ran the forward operator. What wraps a node shows the node's
 * number, and is none itself. */
static uint8_t scope_of(const struct st_kineto_event *event, struct st_text name,
			struct json_object *args)
{
	if (event->is_range)
		return ST_SCOPE_USER;
	return st_kineto_integer(args, "Fwd thread id", 0) &&
			       !st_text_begins(name, "autograd::engine::evaluate_function: ")
		       ? ST_SCOPE_BACKWARD
		       : ST_SCOPE_FUNCTION;
}

uint32_t st_kineto_signature(struct st_kineto_job *kineto, uint32_t process,
			     const struct st_kineto_event *event, struct json_object *args)
{
	struct st_import_slice_names *names = &kineto->out->processes[process].slices;
	struct json_object *types = st_kineto_member(args, "Input type");
	bool has_inputs = json_object_is_type(types, json_type_array);
	size_t count = has_inputs ? json_object_array_length(types) : 0, kept = 0;
	struct st_text name = st_text_table_get(&kineto->out->texts, event->name);
	struct st_buf *out = &kineto->scratch;

	st_buf_clear(out);
	st_buf_append_u32(out, st_import_id(kineto->out, &names->domains, event->domain));
	st_buf_append_u32(out, st_import_id(kineto->out, &names->names, event->name));
	st_buf_append_u8(out, scope_of(event, name, args));
	st_buf_append_u8(out, has_inputs ? ST_SIGNATURE_INPUTS : 0);
	st_buf_append_u16(out, 0);
	for (size_t before; kept < count; kept++) {
		before = out->size_bytes;
		put_input(out, args, kept);
		if (out->size_bytes > ST_SIGNATURE_BYTES_MAX) {
			out->size_bytes = before;
			break;
		}
	}
	if (out->failed) {
		kineto->out->no_memory = true;
		return 0;
	}
	out->data[FLAGS_AT] |= kept < count ? ST_SIGNATURE_CUT : 0;
	out->data[COUNT_AT] = (uint8_t)kept;
	out->data[COUNT_AT + 1] = (uint8_t)(kept >> 8);
	names->has_operators = true;
	names->has_inputs |= has_inputs;
	names->framework = kineto->framework;
	return st_import_id(kineto->out, &names->signatures,
			    st_import_text(kineto->out, out->data, out->size_bytes));
}
