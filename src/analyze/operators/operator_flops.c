// SPDX-License-Identifier: Apache-2.0
//
// The operations of an operator as torch's profiler counts them (with_flops=True): seven names, whatever the type of the
// numbers; add and mul by the elements of their first input, whatever it is broadcast to; conv2d but no other
// convolution. operator_work.c has our own count, which knows more operators. A table says which rule is whose.
#include "analyze/operators/operator_work.h"

enum rule { PRODUCT, BATCHED_PRODUCT, FIRST_INPUT, CONV2D };

static const struct {
	const char *name;
	enum rule rule;
	uint32_t first; /* input of the first factor */
} rules[] = {
	{"aten::mm", PRODUCT, 0},	   {"aten::addmm", PRODUCT, 1},
	{"aten::bmm", BATCHED_PRODUCT, 0}, {"aten::baddbmm", BATCHED_PRODUCT, 1},
	{"aten::mul", FIRST_INPUT, 0},	   {"aten::add", FIRST_INPUT, 0},
	{"aten::conv2d", CONV2D, 0},
};

/* As there, without a thought of more than 64 bits. */
static uint64_t elements(const struct st_input *input)
{
	uint64_t product = 1;

	for (uint32_t i = 0; i < input->dimension_count; i++)
		product *= (uint64_t)input->sizes[i];
	return product;
}

static uint64_t product(const struct st_input *a, const struct st_input *b, bool is_batched)
{
	uint64_t batch, inner;

	if (a->kind != ST_INPUT_TENSOR || b->kind != ST_INPUT_TENSOR || !a->dimension_count)
		return 0;
	batch = is_batched ? (uint64_t)a->sizes[0] : 1;
	inner = (uint64_t)a->sizes[a->dimension_count - 1];
	return batch && inner ? elements(a) / inner / batch * elements(b) * 2 : 0;
}

/* x, weight, bias, stride, padding, dilation, groups */
static uint64_t conv2d(const struct st_input *inputs)
{
	const struct st_input *x = &inputs[0], *w = &inputs[1], *groups = &inputs[6];
	uint64_t flops;

	if (x->dimension_count != 4 || w->dimension_count != 4 ||
	    groups->kind != ST_INPUT_INTEGER || !groups->sizes[0])
		return 0;
	for (uint32_t i = 3; i < 6; i++) {
		if (inputs[i].kind != ST_INPUT_INTEGER_LIST || inputs[i].integer_count != 2)
			return 0;
	}
	flops = 2 * (uint64_t)(x->sizes[0] * x->sizes[1] * w->sizes[0] * w->sizes[2] * w->sizes[3]);
	for (uint32_t i = 0; i < 2; i++) {
		int64_t stride = inputs[3].sizes[i], span;

		span = x->sizes[i + 2] + 2 * inputs[4].sizes[i] -
		       inputs[5].sizes[i] * (w->sizes[i + 2] - 1) - 1;
		if (stride <= 0 || span < 0)
			return 0;
		flops *= (uint64_t)(span / stride + 1);
	}
	return flops / (uint64_t)groups->sizes[0];
}

uint64_t st_operator_flops_of_torch(struct st_text name, const struct st_signature *signature)
{
	struct st_operands operands;
	const struct st_input *first;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (!st_text_equals(name, rules[i].name))
			continue;
		if (!(signature->flags & ST_SIGNATURE_INPUTS))
			return 0;
		st_operands_read(&operands, signature);
		first = &operands.items[rules[i].first];
		if (rules[i].rule == FIRST_INPUT)
			return operands.count && first->kind == ST_INPUT_TENSOR ? elements(first)
										: 0;
		if (rules[i].rule == CONV2D)
			return operands.count > 6 ? conv2d(operands.items) : 0;
		if (operands.count < rules[i].first + 2)
			return 0;
		return product(first, first + 1, rules[i].rule == BATCHED_PRODUCT);
	}
	return 0;
}
