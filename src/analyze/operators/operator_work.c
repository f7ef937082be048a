// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic behind the table of operator_rules.c.
#include "analyze/operators/operator_work.h"

enum { TORCH_HALF = 5, TORCH_FLOAT = 6, TORCH_DOUBLE = 7, TORCH_BFLOAT16 = 15 };

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

static const struct st_input *tensor_at(const struct st_operands *operands, uint32_t place)
{
	if (place >= operands->count || operands->items[place].kind != ST_INPUT_TENSOR)
		return NULL;
	return &operands->items[place];
}

static bool read_bytes(const struct st_input *input, uint64_t *sum)
{
	uint64_t bytes;

	return st_dtype_bytes(input->dtype) && elements(input, &bytes) &&
	       times(&bytes, st_dtype_bytes(input->dtype)) && plus(sum, bytes);
}

/* Returns the bytes of a list's tensors in `out`, if they are of one type. */
static void read_list(struct st_operands *out, struct st_input_reader *reader, uint32_t inside)
{
	bool is_first = !out->list_bytes && !out->has_list_bytes;
	struct st_input element;
	uint32_t dtype = 0;
	bool is_known = true;

	for (uint32_t i = 0; i < inside && st_input_next(reader, &element); i++) {
		if (!is_first)
			continue;
		is_known = is_known && element.kind == ST_INPUT_TENSOR &&
			   (!i || element.dtype == dtype) && read_bytes(&element, &out->list_bytes);
		dtype = element.dtype;
	}
	if (is_first)
		out->has_list_bytes = inside && is_known;
}

void st_operands_read(struct st_operands *out, const struct st_signature *signature)
{
	struct st_input_reader reader;

	out->count = 0;
	out->list_bytes = 0;
	out->has_list_bytes = false;
	st_input_begin(&reader, signature);
	while (out->count < ST_OPERANDS_MAX && st_input_next(&reader, &out->items[out->count])) {
		read_list(out, &reader, out->items[out->count].list);
		out->count++;
	}
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
static void matmul(struct st_operator_work *work, const struct st_operands *operands,
		   const struct st_work_entry *entry)
{
	const struct st_input *inputs[2] = {tensor_at(operands, entry->first),
					    tensor_at(operands, entry->first + 1)};
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

static void linear(struct st_operator_work *work, const struct st_operands *operands,
		   const struct st_work_entry *entry)
{
	const struct st_input *inputs[3] = {tensor_at(operands, 0),
					    tensor_at(operands, entry->first + 1),
					    tensor_at(operands, entry->first + 2)};
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

/* A number of a list; a list of one stands for all dimensions. Without a place for it there is one that changes
 * nothing. */
static bool step_at(const struct st_operands *operands, uint32_t place, uint32_t index,
		    int64_t *out)
{
	const struct st_input *input = &operands->items[place];

	*out = 1;
	if (!place)
		return true;
	if (place >= operands->count || input->kind != ST_INPUT_INTEGER_LIST ||
	    (input->integer_count != 1 && index >= input->integer_count))
		return false;
	*out = input->sizes[input->integer_count == 1 ? 0 : index];
	return *out >= 0 && *out <= INT32_MAX;
}

/* Size of a result along one dimension. */
static bool result_size(const struct st_operands *operands,
			const struct st_convolution_places *places, uint32_t index,
			bool is_transposed, int64_t *out)
{
	const struct st_input *x = &operands->items[0], *w = &operands->items[1];
	uint32_t ahead = x->dimension_count - (w->dimension_count - 2);
	int64_t size = x->sizes[ahead + index], kernel = w->sizes[index + 2], stride, padding;
	int64_t dilation, more = 0;

	if (size > INT32_MAX || kernel > INT32_MAX ||
	    !step_at(operands, places->stride, index, &stride) || !stride ||
	    !step_at(operands, places->padding, index, &padding) ||
	    !step_at(operands, places->dilation, index, &dilation))
		return false;
	if (is_transposed) {
		if (!step_at(operands, places->output_padding, index, &more))
			return false;
		*out = (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1;
	} else {
		size += 2 * padding - dilation * (kernel - 1) - 1;
		*out = size < 0 ? -1 : size / stride + 1;
	}
	return *out >= 0;
}

/* Elements of the result. */
static bool result_elements(const struct st_operands *operands,
			    const struct st_convolution_places *places, bool is_transposed,
			    uint64_t *out)
{
	const struct st_input *x = &operands->items[0], *w = &operands->items[1];
	int64_t size;

	/* The channels of a transposed one are those of the kernel, times the groups, which its other sizes do not tell. */
	*out = 1;
	if (is_transposed) {
		const struct st_input *groups = &operands->items[places->groups];

		if (places->groups &&
		    (operands->count <= places->groups || groups->kind != ST_INPUT_INTEGER ||
		     !times(out, groups->sizes[0])))
			return false;
		if (!times(out, w->sizes[1]))
			return false;
	} else if (!times(out, w->sizes[0])) {
		return false;
	}
	if (x->dimension_count == w->dimension_count && !times(out, x->sizes[0]))
		return false;
	for (uint32_t i = 0; i + 2 < w->dimension_count; i++) {
		if (!result_size(operands, places, i, is_transposed, &size) || !times(out, size))
			return false;
	}
	return true;
}

/* What one pass over a convolution takes: each element of `met` meets a kernel without its first dimension. */
static bool pass_flops(uint64_t met, const struct st_input *w, uint64_t *out)
{
	*out = met;
	for (uint32_t i = 1; i < w->dimension_count; i++) {
		if (!times(out, w->sizes[i]))
			return false;
	}
	return times(out, 2);
}

static bool is_convolution(const struct st_input *x, const struct st_input *w)
{
	/* Without a batch there is one size less. */
	return x && w && w->dimension_count > 2 && is_float(x) &&
	       (x->dimension_count == w->dimension_count ||
		x->dimension_count + 1 == w->dimension_count);
}

static void convolution(struct st_operator_work *work, const struct st_operands *operands,
			const struct st_work_entry *entry)
{
	const struct st_convolution_places *places = entry->places;
	const struct st_input *inputs[3] = {tensor_at(operands, 0), tensor_at(operands, 1),
					    places->bias ? tensor_at(operands, places->bias)
							 : NULL};
	const struct st_input *x = inputs[0], *w = inputs[1];
	bool is_transposed = places->is_transposed, has_result;
	uint64_t flops, result = 0, met;

	if (!is_convolution(x, w) ||
	    (places->has_batch && x->dimension_count != w->dimension_count))
		return;
	if (places->transposed) {
		const struct st_input *told = &operands->items[places->transposed];

		if (places->transposed >= operands->count || told->kind != ST_INPUT_INTEGER)
			return;
		is_transposed = told->sizes[0] != 0;
	}
	has_result = result_elements(operands, places, is_transposed, &result);
	met = result;
	/* Every element of a transposed one's input meets the kernel: its result is not needed for that. */
	if (is_transposed ? x->sizes[x->dimension_count == w->dimension_count] != w->sizes[0] ||
				    !elements(x, &met)
			  : !has_result)
		return;
	if (!pass_flops(met, w, &flops))
		return;
	set_flops(work, flops);
	if (has_result)
		set_bytes(work, inputs, inputs[2] ? 3 : 2, result);
}

/* Of a backward convolution; its gradient, input and kernel are the first inputs. */
enum { GRADIENT, INPUT, WEIGHT, GRADIENTS = 3 };

/* The gradient of the input and that of the kernel take as much as the convolution did; that of the bias is a sum. */
static void convolution_backward(struct st_operator_work *work, const struct st_operands *operands,
				 const struct st_work_entry *entry)
{
	const struct st_convolution_places *places = entry->places;
	const struct st_input *inputs[3] = {tensor_at(operands, GRADIENT)};
	const struct st_input *go = inputs[0], *x = tensor_at(operands, INPUT);
	const struct st_input *w = tensor_at(operands, WEIGHT);
	const struct st_input *mask = &operands->items[places->mask];
	const struct st_input *transposed = &operands->items[places->transposed];
	uint64_t met, flops, result = 0;
	uint32_t count = 1;

	if (!go || !is_convolution(x, w) || operands->count <= places->mask ||
	    mask->kind != ST_INPUT_INTEGER_LIST || mask->integer_count != GRADIENTS ||
	    (places->transposed && transposed->kind != ST_INPUT_INTEGER) ||
	    !elements(places->transposed && transposed->sizes[0] ? x : go, &met) ||
	    !pass_flops(met, w, &flops) ||
	    !times(&flops, (mask->sizes[0] != 0) + (mask->sizes[1] != 0)))
		return;
	set_flops(work, flops);
	if (mask->sizes[0]) {
		inputs[count++] = w;
		if (!elements(x, &met) || !plus(&result, met))
			return;
	}
	if (mask->sizes[1]) {
		inputs[count++] = x;
		if (!elements(w, &met) || !plus(&result, met))
			return;
	}
	if (mask->sizes[2] && !plus(&result, (uint64_t)go->sizes[1]))
		return;
	set_bytes(work, inputs, count, result);
}

/* q[…, L, E], k[…, S, E], v[…, S, F]: scores, then their product with the values. Backward: the scores again, and four
 * products of the same sizes for the gradients. */
static void attention(struct st_operator_work *work, const struct st_operands *operands,
		      const struct st_work_entry *entry)
{
	bool is_backward = entry->rule == ST_WORK_ATTENTION_BACKWARD;
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

static void by_element(struct st_operator_work *work, const struct st_operands *operands,
		       const struct st_work_entry *entry)
{
	const struct st_input *inputs[ST_OPERANDS_MAX];
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

/* The gates of a recurrent layer, for each element of a sequence and of a batch: of its input, and of what it has kept. */
static void recurrent(struct st_operator_work *work, const struct st_operands *operands,
		      const struct st_work_entry *entry)
{
	const struct st_input *x = tensor_at(operands, 0), *w = tensor_at(operands, 1);
	const struct st_input *kept = tensor_at(operands, 2);
	uint64_t flops, more;

	if (!x || !w || !kept || x->dimension_count != 3 || w->dimension_count != 2 ||
	    kept->dimension_count != 2 || x->sizes[2] != w->sizes[1] ||
	    w->sizes[0] != kept->sizes[0] || !is_float(x) || !elements(w, &flops) ||
	    !elements(kept, &more) || !plus(&flops, more) || !times(&flops, x->sizes[0]) ||
	    !times(&flops, x->sizes[1]) || !times(&flops, 2 * (int64_t)entry->factor))
		return;
	set_flops(work, flops);
}

static void move(struct st_operator_work *work, const struct st_operands *operands,
		 const struct st_work_entry *entry)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < entry->inputs + entry->factor; i++) {
		const struct st_input *input =
			tensor_at(operands, i < entry->inputs ? entry->first + i : entry->first);

		if (!input || !read_bytes(input, &bytes))
			return;
	}
	work->has_bytes = true;
	work->bytes = bytes;
}

static void gather(struct st_operator_work *work, const struct st_operands *operands,
		   const struct st_work_entry *entry)
{
	const struct st_input *table = tensor_at(operands, 0);
	const struct st_input *index = tensor_at(operands, entry->first);
	uint64_t bytes;

	if (!table || !index || !table->dimension_count || !elements(index, &bytes) ||
	    (entry->factor && !times(&bytes, table->sizes[table->dimension_count - 1])) ||
	    !st_dtype_bytes(table->dtype) || !times(&bytes, st_dtype_bytes(table->dtype)) ||
	    !times(&bytes, 2) || !read_bytes(index, &bytes))
		return;
	work->has_bytes = true;
	work->bytes = bytes;
}

static void concatenate(struct st_operator_work *work, const struct st_operands *operands,
			const struct st_work_entry *entry)
{
	uint64_t bytes = operands->list_bytes;

	(void)entry;
	if (!operands->has_list_bytes || !times(&bytes, 2))
		return;
	work->has_bytes = true;
	work->bytes = bytes;
}

static void (*const rules[])(struct st_operator_work *, const struct st_operands *,
			     const struct st_work_entry *) = {
	[ST_WORK_MATMUL] = matmul,	     [ST_WORK_LINEAR] = linear,
	[ST_WORK_CONVOLUTION] = convolution, [ST_WORK_CONVOLUTION_BACKWARD] = convolution_backward,
	[ST_WORK_ATTENTION] = attention,     [ST_WORK_ATTENTION_BACKWARD] = attention,
	[ST_WORK_ELEMENTS] = by_element,     [ST_WORK_REDUCE] = by_element,
	[ST_WORK_RECURRENT] = recurrent,     [ST_WORK_MOVE] = move,
	[ST_WORK_GATHER] = gather,	     [ST_WORK_CONCATENATE] = concatenate,
};

static const struct st_work_entry *find(struct st_text name)
{
	for (const struct st_work_entry *entry = st_work_entries; entry->name; entry++)
		if (st_text_equals(name, entry->name))
			return entry;
	return NULL;
}

struct st_operator_work st_operator_work(struct st_text name, const struct st_signature *signature)
{
	const struct st_work_entry *entry = find(name);
	struct st_operator_work work = {.has_flops = false};
	struct st_operands operands;

	if (!entry || !(signature->flags & ST_SIGNATURE_INPUTS))
		return work;
	st_operands_read(&operands, signature);
	rules[entry->rule](&work, &operands, entry);
	return work;
}
