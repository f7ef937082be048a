/* SPDX-License-Identifier: Apache-2.0
 *
 * Integers among the inputs of an operator, and lists of them: a convolution's stride and padding. A list lies behind a
 * pointer whose tag, and whose own layout, differ from release to release. Both are proven by lists of which the
 * contents are known: those of our own probe, or those of a convolution of the program's, which have to fit the sizes
 * of its tensors.
 */
#include <string.h>

#include "collect/inproc/torch/torch_layout.h"

enum {
	VALUE_BYTES = 16, /* of an IValue: payload, tag */
	TAG_TENSOR = 1,
	TAG_INT = 5,
	BOOL_BELOW_LIST = 4, /* from a list's tag down to a bool's, in every release */
	LIST_BYTES = 40,     /* of a list, as far as it is looked at */
	LISTS_NEEDED = 2,
	SIZES_INLINE = 5,
	VALUE_MOST = 1 << 20, /* of a convolution's stride and the like */
};

/* What a release may have: the tag of a list, and where in it its elements are told. */
static const struct {
	uint32_t tag;
	uint16_t place;
} kinds[ST_TORCH_LIST_KINDS] = {{12, 16}, {12, 24}, {13, 16}, {13, 24}, {14, 16}, {14, 24}};

static uint64_t word_at(const void *at, size_t offset)
{
	uint64_t word;

	memcpy(&word, (const char *)at + offset, sizeof(word));
	return word;
}

static uint32_t tag_of(const char *value)
{
	return (uint32_t)word_at(value, 8);
}

/* The elements of a list that may not be one; false: it is none of this kind, or has not so many. */
static bool read_elements(const char *value, uint32_t kind, uint64_t count, char *elements)
{
	char list[LIST_BYTES];
	uint64_t begin, end;

	if (tag_of(value) != kinds[kind].tag ||
	    !st_torch_read_safely((const void *)word_at(value, 0), list, sizeof(list)))
		return false;
	begin = word_at(list, kinds[kind].place);
	end = word_at(list, kinds[kind].place + 8u);
	return begin && end - begin == count * VALUE_BYTES &&
	       st_torch_read_safely((const void *)begin, elements, count * VALUE_BYTES);
}

static bool list_fits(const char *value, uint32_t kind, const struct st_torch_sizes *expected)
{
	uint64_t count = (uint64_t)(expected->end - expected->begin);
	char elements[ST_INPUT_DIMENSIONS_MAX * VALUE_BYTES];

	if (!count || count > ST_INPUT_DIMENSIONS_MAX ||
	    !read_elements(value, kind, count, elements))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (tag_of(elements + i * VALUE_BYTES) != TAG_INT ||
		    (int64_t)word_at(elements, i * VALUE_BYTES) != expected->begin[i])
			return false;
	return true;
}

static void narrow(struct st_torch_value_learner *learner, uint32_t fitting)
{
	if (!learner->seen++)
		learner->fitting = fitting;
	learner->fitting &= fitting;
	learner->refused = learner->refused || !learner->fitting;
}

void st_torch_learn_values(struct st_torch_value_learner *learner,
			   const struct st_torch_memory_layout *layout, const void *record,
			   const struct st_torch_sizes expected[2])
{
	const char *values = (const char *)word_at(record, layout->record->inputs);
	char value[3 * VALUE_BYTES];
	uint32_t fitting = 0;

	if (word_at(record, layout->record->inputs + 8u) < 3 ||
	    !st_torch_read_safely(values, value, sizeof(value))) {
		learner->refused = true;
		return;
	}
	for (uint32_t i = 0; i < ST_TORCH_LIST_KINDS; i++)
		if (list_fits(value + VALUE_BYTES, i, &expected[0]) &&
		    list_fits(value + 2 * VALUE_BYTES, i, &expected[1]))
			fitting |= 1u << i;
	narrow(learner, fitting);
}

bool st_torch_values_learned(const struct st_torch_value_learner *learner,
			     struct st_torch_memory_layout *layout)
{
	uint32_t fitting = learner->fitting, kind;

	if (learner->refused || learner->seen < LISTS_NEEDED || !fitting ||
	    (fitting & (fitting - 1)))
		return false;
	kind = (uint32_t)__builtin_ctz(fitting);
	layout->tag_list = kinds[kind].tag;
	layout->tag_bool = kinds[kind].tag - BOOL_BELOW_LIST;
	layout->list = kinds[kind].place;
	return true;
}

/* Inputs of aten::convolution. */
enum {
	INPUT,
	WEIGHT,
	BIAS,
	STRIDE,
	PADDING,
	DILATION,
	TRANSPOSED,
	OUTPUT_PADDING,
	GROUPS,
	CONVOLUTION_INPUTS
};

/* By the proven layout of tensors. */
static const int64_t *sizes_of(const struct st_torch_memory_layout *layout, const char *value,
			       uint64_t *dimensions)
{
	const char *tensor = (const char *)word_at(value, 0);

	*dimensions = 0;
	if (tag_of(value) != TAG_TENSOR || !tensor || tensor == layout->nothing)
		return NULL;
	*dimensions = word_at(tensor, layout->sizes);
	if (*dimensions > SIZES_INLINE)
		return (const int64_t *)word_at(tensor, layout->sizes + 8u);
	return (const int64_t *)(tensor + layout->sizes + 8);
}

static bool steps_fit(const char *value, uint32_t kind, uint64_t count, int64_t least)
{
	char elements[SIZES_INLINE * VALUE_BYTES];

	if (!read_elements(value, kind, count, elements))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		int64_t step = (int64_t)word_at(elements, i * VALUE_BYTES);

		if (tag_of(elements + i * VALUE_BYTES) != TAG_INT || step < least ||
		    step > VALUE_MOST)
			return false;
	}
	return true;
}

static bool convolution_fits(const char *values, uint32_t kind, const int64_t *input,
			     const int64_t *weight, uint64_t steps)
{
	int64_t groups = (int64_t)word_at(values, GROUPS * VALUE_BYTES);
	uint8_t transposed = (uint8_t)values[TRANSPOSED * VALUE_BYTES];

	if (tag_of(values + TRANSPOSED * VALUE_BYTES) != kinds[kind].tag - BOOL_BELOW_LIST ||
	    transposed > 1 || tag_of(values + GROUPS * VALUE_BYTES) != TAG_INT || groups < 1 ||
	    groups > VALUE_MOST)
		return false;
	return input[1] == (transposed ? weight[0] : groups * weight[1]) &&
	       steps_fit(values + STRIDE * VALUE_BYTES, kind, steps, 1) &&
	       steps_fit(values + PADDING * VALUE_BYTES, kind, steps, 0) &&
	       steps_fit(values + DILATION * VALUE_BYTES, kind, steps, 1) &&
	       steps_fit(values + OUTPUT_PADDING * VALUE_BYTES, kind, steps, 0);
}

void st_torch_learn_convolution(struct st_torch_value_learner *learner,
				const struct st_torch_memory_layout *layout, const void *record)
{
	const char *values = (const char *)word_at(record, layout->record->inputs);
	uint64_t dimensions, input_dimensions;
	const int64_t *input, *weight;
	uint32_t fitting = 0;

	if (word_at(record, layout->record->inputs + 8u) != CONVOLUTION_INPUTS)
		return;
	input = sizes_of(layout, values + INPUT * VALUE_BYTES, &input_dimensions);
	weight = sizes_of(layout, values + WEIGHT * VALUE_BYTES, &dimensions);
	if (!input || !weight || dimensions < 3 || dimensions > SIZES_INLINE ||
	    input_dimensions != dimensions)
		return;
	for (uint32_t i = 0; i < ST_TORCH_LIST_KINDS; i++)
		if (convolution_fits(values, i, input, weight, dimensions - 2))
			fitting |= 1u << i;
	narrow(learner, fitting);
}

/* Integers where they lie: one, or those of a list. */
static const char *integers_of(const struct st_torch_memory_layout *layout, const char *value,
			       uint64_t *count)
{
	const char *list = (const char *)word_at(value, 0);
	uint64_t begin, bytes;
	uint32_t tag = tag_of(value);

	*count = 1;
	if (tag == TAG_INT || (tag && tag == layout->tag_bool))
		return value;
	if (tag != layout->tag_list || !list)
		return NULL;
	begin = word_at(list, layout->list);
	bytes = word_at(list, layout->list + 8u) - begin;
	*count = bytes / VALUE_BYTES;
	return bytes % VALUE_BYTES || !*count || *count > ST_INPUT_DIMENSIONS_MAX
		       ? NULL
		       : (const char *)begin;
}

bool st_torch_read_integers(const struct st_torch_memory_layout *layout, const char *value,
			    struct st_torch_integers *out)
{
	uint64_t count;
	const char *elements = layout->list ? integers_of(layout, value, &count) : NULL;

	if (!elements)
		return false;
	out->is_list = elements != value;
	out->count = (uint32_t)count;
	for (uint32_t i = 0; i < count; i++, elements += VALUE_BYTES) {
		if (tag_of(elements) == TAG_INT)
			out->values[i] = (int64_t)word_at(elements, 0);
		else if (tag_of(elements) == layout->tag_bool)
			out->values[i] = *elements != 0;
		else
			return false;
	}
	return true;
}
