// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic behind the table of operator_rules.c.
#include "analyze/operator_work.h"

#include <string.h>

#include "store/operators.h"

enum { OPERANDS_MAX = 6, TORCH_HALF = 5, TORCH_FLOAT = 6, TORCH_DOUBLE = 7, TORCH_BFLOAT16 = 15 };

struct operands {
	struct st_input items[OPERANDS_MAX]; /* by place; those that are no tensors too */
	uint32_t count;
};

/* A product that stays below 2^63, or none. */
static bool times(uint64_t *product, int64_t factor)
{
	return factor >= 0 && !__builtin_mul_overflow(*product, (uint64_t)factor, product) &&
	       *product <= INT64_MAX;
}

static bool plus(uint64_t *sum, uint64_t more)
{
	return !__builtin_add_overflow(*sum, more, sum) && *sum <= INT64_MAX;
}

static bool elements(const struct st_input *input, uint64_t *out)
{
	*out = 1;
	for (uint32_t i = 0; i < input->dimension_count; i++) {
		if (!times(out, input->sizes[i]))
			return false;
	}
	return true;
}

static bool is_float(const struct st_input *input)
{
	return input->kind == ST_INPUT_TENSOR &&
	       ((input->dtype >= TORCH_HALF && input->dtype <= TORCH_DOUBLE) ||
		input->dtype == TORCH_BFLOAT16);
}

static const struct st_input *tensor_at(const struct operands *operands, uint32_t place)
{
	if (place >= operands->count || operands->items[place].kind != ST_INPUT_TENSOR)
		return NULL;
	return &operands->items[place];
}

/* A list counts as one place. */
static void read_operands(struct operands *out, const struct st_signature *signature)
{
	struct st_input_reader reader;
	struct st_input element;

	out->count = 0;
	st_input_begin(&reader, signature);
	while (out->count < OPERANDS_MAX && st_input_next(&reader, &out->items[out->count])) {
		uint32_t inside = out->items[out->count].list;

		for (uint32_t i = 0; i < inside && st_input_next(&reader, &element); i++)
			;
		out->count++;
	}
}

static bool read_bytes(const struct st_input *input, uint64_t *sum)
{
	uint64_t bytes;

	return st_dtype_bytes(input->dtype) && elements(input, &bytes) &&
	       times(&bytes, st_dtype_bytes(input->dtype)) && plus(sum, bytes);
}

/* Operands of one type, and a result of that type with so many elements. */
static void set_bytes(struct st_operator_work *work, const struct st_input *const *inputs,
		      uint32_t count, uint64_t result_elements)
{
	uint64_t sum = result_elements;

	if (!times(&sum, st_dtype_bytes(inputs[0]->dtype)))
		return;
	for (uint32_t i = 0; i < count; i++) {
		if (inputs[i]->dtype != inputs[0]->dtype || !read_bytes(inputs[i], &sum))
			return;
	}
	work->has_bytes = true;
	work->bytes = sum;
}

static void set_flops(struct st_operator_work *work, uint64_t flops)
{
	work->has_flops = true;
	work->flops = flops;
}

/* Sizes of both as torch broadcasts them, without the last `skip` of each; false when they do not fit. */
static bool broadcast(const struct st_input *a, const struct st_input *b, uint32_t skip,
		      struct st_input *out)
{
	uint32_t an = a->dimension_count > skip ? a->dimension_count - skip : 0;
	uint32_t bn = b->dimension_count > skip ? b->dimension_count - skip : 0;
	uint32_t count = an > bn ? an : bn;

	out->dimension_count = count;
	for (uint32_t i = 0; i < count; i++) {
		int64_t x = i < count - an ? 1 : a->sizes[i - (count - an)];
		int64_t y = i < count - bn ? 1 : b->sizes[i - (count - bn)];

		if (x != y && x != 1 && y != 1)
			return false;
		out->sizes[i] = x == 1 ? y : x;
	}
	return true;
}

/* Of torch.matmul: a vector is a row on the left and a column on the right. */
static void matmul(struct st_operator_work *work, const struct operands *operands, uint32_t first)
{
	const struct st_input *inputs[2] = {tensor_at(operands, first),
					    tensor_at(operands, first + 1)};
	const struct st_input *a = inputs[0], *b = inputs[1];
	struct st_input outer;
	uint64_t result, flops;
	int64_t m, n, k;

	if (!a || !b || !a->dimension_count || !b->dimension_count || !is_float(a))
		return;
	k = a->sizes[a->dimension_count - 1];
	m = a->dimension_count > 1 ? a->sizes[a->dimension_count - 2] : 1;
	n = b->dimension_count > 1 ? b->sizes[b->dimension_count - 1] : 1;
	if (b->sizes[b->dimension_count > 1 ? b->dimension_count - 2 : 0] != k ||
	    !broadcast(a, b, 2, &outer) || !elements(&outer, &result) || !times(&result, m) ||
	    !times(&result, n))
		return;
	flops = result;
	if (!times(&flops, k) || !times(&flops, 2))
		return;
	set_flops(work, flops);
	set_bytes(work, inputs, 2, result);
}

static void linear(struct st_operator_work *work, const struct operands *operands)
{
	const struct st_input *inputs[3] = {tensor_at(operands, 0), tensor_at(operands, 1),
					    tensor_at(operands, 2)};
	const struct st_input *x = inputs[0], *w = inputs[1];
	uint64_t flops, result = 1;

	if (!x || !w || !x->dimension_count || w->dimension_count != 2 || !is_float(x) ||
	    x->sizes[x->dimension_count - 1] != w->sizes[1] || !elements(x, &flops) ||
	    !times(&flops, w->sizes[0]) || !times(&flops, 2))
		return;
	for (uint32_t i = 0; i + 1 < x->dimension_count; i++) {
		if (!times(&result, x->sizes[i]))
			return;
	}
	set_flops(work, flops);
	if (times(&result, w->sizes[0]))
		set_bytes(work, inputs, inputs[2] ? 3 : 2, result);
}

static void transposed(struct st_operator_work *work, const struct operands *operands)
{
	const struct st_input *x = tensor_at(operands, 0), *w = tensor_at(operands, 1);
	uint64_t flops;

	if (!x || !w || w->dimension_count < 3 || !is_float(x))
		return;
	/* Without a batch there is one size less. */
	if ((x->dimension_count != w->dimension_count &&
	     x->dimension_count + 1 != w->dimension_count) ||
	    x->sizes[x->dimension_count == w->dimension_count] != w->sizes[0] ||
	    !elements(x, &flops) || !times(&flops, 2))
		return;
	for (uint32_t i = 1; i < w->dimension_count; i++) {
		if (!times(&flops, w->sizes[i]))
			return;
	}
	set_flops(work, flops);
}

/* q[…, L, E], k[…, S, E], v[…, S, F]: scores, then their product with the values. Backward: the scores again, and four
 * products of the same sizes for the gradients. */
static void attention(struct st_operator_work *work, const struct operands *operands,
		      bool is_backward)
{
	const struct st_input *inputs[3] = {tensor_at(operands, is_backward),
					    tensor_at(operands, is_backward + 1u),
					    tensor_at(operands, is_backward + 2u)};
	const struct st_input *q = inputs[0], *k = inputs[1], *v = inputs[2];
	uint64_t pairs, result, flops;
	uint32_t last;
	int64_t keys;

	if (!q || !k || !v || q->dimension_count < 2 || !is_float(q) ||
	    k->dimension_count != q->dimension_count || v->dimension_count != q->dimension_count)
		return;
	last = q->dimension_count - 1;
	keys = k->sizes[last - 1];
	if (k->sizes[last] != q->sizes[last] || v->sizes[last - 1] != keys || !q->sizes[last] ||
	    !elements(q, &pairs))
		return;
	result = pairs = pairs / (uint64_t)q->sizes[last]; /* rows of q */
	flops = (uint64_t)q->sizes[last] * (is_backward ? 3 : 1) +
		(uint64_t)v->sizes[last] * (is_backward ? 2 : 1);
	if (!times(&pairs, keys) || !times(&flops, 2) || !times(&flops, (int64_t)pairs))
		return;
	set_flops(work, flops);
	if (!is_backward && times(&result, v->sizes[last]))
		set_bytes(work, inputs, 3, result);
}

static void by_element(struct st_operator_work *work, const struct operands *operands,
		       const struct st_work_entry *entry)
{
	const struct st_input *inputs[OPERANDS_MAX];
	struct st_input shape = {.dimension_count = 0}, wider;
	uint64_t result, flops;
	uint32_t count = 0;

	for (uint32_t i = 0; i < entry->inputs; i++) {
		const struct st_input *input = tensor_at(operands, entry->first + i);

		/* A number in place of a tensor is nothing to read; an operand of no size is one too. */
		if (!input)
			continue;
		if (!broadcast(input, &shape, 0, &wider))
			return;
		shape = wider;
		if (input->dimension_count || entry->inputs == 1)
			inputs[count++] = input;
	}
	if (!count || !is_float(inputs[0]) || !elements(&shape, &result))
		return;
	flops = result;
	if (!times(&flops, entry->factor))
		return;
	set_flops(work, flops);
	if (entry->rule == ST_WORK_ELEMENTS)
		set_bytes(work, inputs, count, result);
}

static const struct st_work_entry *find(struct st_text name)
{
	for (const struct st_work_entry *entry = st_work_entries; entry->name; entry++) {
		if (strlen(entry->name) == name.size_bytes &&
		    memcmp(entry->name, name.bytes, name.size_bytes) == 0)
			return entry;
	}
	return NULL;
}

struct st_operator_work st_operator_work(struct st_text name, const struct st_signature *signature)
{
	const struct st_work_entry *entry = find(name);
	struct st_operator_work work = {.has_flops = false};
	struct operands operands;

	if (!entry || !(signature->flags & ST_SIGNATURE_INPUTS))
		return work;
	read_operands(&operands, signature);
	switch (entry->rule) {
	case ST_WORK_MATMUL:
		matmul(&work, &operands, entry->first);
		break;
	case ST_WORK_LINEAR:
		linear(&work, &operands);
		break;
	case ST_WORK_TRANSPOSED:
		transposed(&work, &operands);
		break;
	case ST_WORK_ATTENTION:
	case ST_WORK_ATTENTION_BACKWARD:
		attention(&work, &operands, entry->rule == ST_WORK_ATTENTION_BACKWARD);
		break;
	case ST_WORK_ELEMENTS:
	case ST_WORK_REDUCE:
		by_element(&work, &operands, entry);
		break;
	}
	return work;
}
