// SPDX-License-Identifier: Apache-2.0
//
// Inputs and scopes of operators in words.
#include "analyze/dataset_operators.h"
#include "base/buf.h"

enum { TEXT_MAX_BYTES = 1 << 16 };

static const struct st_text not_recorded = {"[not recorded]", 14};

static void add_sizes(struct st_buf *out, const struct st_input *input)
{
	st_buf_append_u8(out, '[');
	for (uint32_t i = 0; i < input->dimension_count; i++)
		st_buf_printf(out, "%s%lld", i ? ", " : "", (long long)input->sizes[i]);
	st_buf_append_u8(out, ']');
}

static void add_shape(struct st_buf *out, const struct st_input *input)
{
	if (input->kind == ST_INPUT_TENSOR)
		add_sizes(out, input);
	else
		st_buf_append_text(out, "[]");
}

static void add_type(struct st_buf *out, const struct st_input *input)
{
	if (input->kind == ST_INPUT_TENSOR)
		st_buf_append_text(out, st_dtype_name(input->dtype));
	else if (input->kind == ST_INPUT_SCALAR || input->kind == ST_INPUT_INTEGER)
		st_buf_append_text(out, "Scalar");
}

typedef void (*add_input)(struct st_buf *out, const struct st_input *input);

/* The tensors of a list. */
static void add_list(struct st_buf *out, struct st_input_reader *reader, uint32_t count,
		     add_input add)
{
	struct st_input element;

	st_buf_append_u8(out, '[');
	for (uint32_t i = 0; i < count && st_input_next(reader, &element); i++) {
		if (!add)
			continue;
		st_buf_append_text(out, i ? ", " : "");
		add(out, &element);
	}
	st_buf_append_u8(out, ']');
}

static struct st_text list_text(const struct st_signature *signature, struct st_arena *arena,
				add_input add, bool with_lists)
{
	struct st_input_reader reader;
	struct st_input input;
	struct st_buf out;
	char *text;
	bool first = true;
	size_t size_bytes;

	if (!(signature->flags & ST_SIGNATURE_INPUTS))
		return not_recorded;
	st_buf_init(&out, TEXT_MAX_BYTES);
	st_buf_append_u8(&out, '[');
	st_input_begin(&reader, signature);
	while (st_input_next(&reader, &input)) {
		st_buf_append_text(&out, first ? "" : ", ");
		first = false;
		if (input.kind == ST_INPUT_TENSOR_LIST)
			add_list(&out, &reader, input.list, with_lists ? add : NULL);
		else
			add(&out, &input);
	}
	st_buf_append_text(&out, signature->flags & ST_SIGNATURE_CUT ? ", …]" : "]");
	if (out.failed)
		arena->failed = true;
	size_bytes = out.size_bytes;
	text = st_arena_copy(arena, out.data, size_bytes);
	st_buf_fini(&out);
	return (struct st_text){text ? text : "", text ? size_bytes : 0};
}

struct st_text st_operator_shapes_text(const struct st_signature *signature, struct st_arena *arena)
{
	return list_text(signature, arena, add_shape, true);
}

struct st_text st_operator_shapes_of_torch(const struct st_signature *signature,
					   struct st_arena *arena)
{
	return list_text(signature, arena, add_shape, false);
}

struct st_text st_operator_types_text(const struct st_signature *signature, struct st_arena *arena)
{
	return list_text(signature, arena, add_type, true);
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

	return scope < sizeof(words) / sizeof(words[0]) ? words[scope] : "[unknown]";
}
