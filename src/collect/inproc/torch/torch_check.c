/* SPDX-License-Identifier: Apache-2.0
 *
 * A layout that was proven, looked at again while operators are recorded. What stands in a tensor tells on itself: its
 * sizes give the number of elements that stands beside them. Where that holds, the framework may be asked as well; but
 * not about tensors of kinds whose sizes are computed (nested ones, those with symbols), which would call Python, or throw.
 */
#include <string.h>

#include "collect/inproc/torch/torch_layout.h"

enum {
	VALUE_BYTES = 16, /* of an IValue: payload, tag */
	TAG_TENSOR = 1,
	INPUTS_LOOKED = 8,
	SIZES_INLINE = 5,
	ELEMENTS_FROM = 96,
	DTYPE_FROM = 104,
	TENSOR_BYTES = 104 + 8, /* from its number of dimensions on */
	DTYPES_MAX = 128,	/* there are 47 today */
};

static uint64_t word_at(const void *at, size_t offset)
{
	uint64_t word;

	memcpy(&word, (const char *)at + offset, sizeof(word));
	return word;
}

/* Of an ordinary tensor: whether its parts go together. */
static enum st_torch_verdict look_at_tensor(const struct st_torch_memory_layout *layout,
					    const char *address)
{
	int64_t far[ST_INPUT_DIMENSIONS_MAX];
	char tensor[TENSOR_BYTES];
	const char *sizes = tensor + 8;
	uint64_t dimensions, elements = 1;
	uint16_t dtype;

	if (!st_torch_read_safely(address + layout->sizes, tensor, sizeof(tensor)))
		return ST_TORCH_CONTRADICTS;
	dimensions = word_at(tensor, 0);
	memcpy(&dtype, tensor + DTYPE_FROM, sizeof(dtype));
	if (dimensions > ST_INPUT_DIMENSIONS_MAX || dtype >= DTYPES_MAX)
		return ST_TORCH_CONTRADICTS;
	if (dimensions > SIZES_INLINE) {
		if (!st_torch_read_safely((const void *)word_at(tensor, 8), far,
					  dimensions * sizeof(*far)))
			return ST_TORCH_CONTRADICTS;
		sizes = (const char *)far;
	}
	for (uint64_t i = 0; i < dimensions; i++)
		elements *= word_at(sizes, i * 8);
	if (elements != word_at(tensor, ELEMENTS_FROM))
		return ST_TORCH_CONTRADICTS;
	/* One with symbols for sizes looks as if it were empty. */
	return elements ? ST_TORCH_ASK : ST_TORCH_FITS;
}

enum st_torch_verdict st_torch_look(const struct st_torch_memory_layout *layout, const void *record)
{
	const void *from = (const void *)word_at(record, layout->record->inputs);
	uint64_t count = word_at(record, layout->record->inputs + 8u), table;
	char values[INPUTS_LOOKED * VALUE_BYTES];
	bool ask = count <= INPUTS_LOOKED;
	uint32_t tensors = 0;

	if (count > INPUTS_LOOKED)
		count = INPUTS_LOOKED;
	if (!count)
		return ST_TORCH_FITS;
	if (!st_torch_read_safely(from, values, count * VALUE_BYTES))
		return ST_TORCH_CONTRADICTS;
	for (uint64_t i = 0; i < count; i++) {
		const char *tensor = (const char *)word_at(values, i * VALUE_BYTES);
		enum st_torch_verdict verdict;

		if ((uint32_t)word_at(values, i * VALUE_BYTES + 8) != TAG_TENSOR || !tensor ||
		    tensor == layout->nothing)
			continue;
		if (!st_torch_read_safely(tensor, &table, sizeof(table)))
			return ST_TORCH_CONTRADICTS;
		verdict = table == layout->plain ? look_at_tensor(layout, tensor) : ST_TORCH_FITS;
		if (verdict == ST_TORCH_CONTRADICTS)
			return verdict;
		ask = ask && verdict == ST_TORCH_ASK;
		tensors++;
	}
	return ask && tensors ? ST_TORCH_ASK : ST_TORCH_FITS;
}

static bool input_agrees(const struct st_torch_memory_layout *layout, const char *value,
			 const struct st_torch_sizes *told)
{
	const char *tensor = (const char *)word_at(value, 0), *stored;
	uint64_t dimensions = (uint64_t)(told->end - told->begin);

	if ((uint32_t)word_at(value, 8) != TAG_TENSOR || !tensor || tensor == layout->nothing)
		return true;
	if (word_at(tensor, layout->sizes) != dimensions)
		return false;
	stored = tensor + layout->sizes + 8;
	if (dimensions > SIZES_INLINE)
		stored = (const char *)word_at(stored, 0);
	return !dimensions || !memcmp(stored, told->begin, dimensions * sizeof(*told->begin));
}

bool st_torch_agrees(const struct st_torch_memory_layout *layout, const void *record,
		     const struct st_torch_truth *truth)
{
	const char *values = (const char *)word_at(record, layout->record->inputs);

	if (word_at(record, layout->record->inputs + 8u) != truth->inputs ||
	    word_at(record, layout->record->thread) != truth->thread)
		return false;
	for (uint32_t i = 0; i < truth->listed && i < truth->inputs; i++)
		if (!input_agrees(layout, values + (size_t)i * VALUE_BYTES, &truth->sizes[i]))
			return false;
	return true;
}
