/* SPDX-License-Identifier: Apache-2.0
 *
 * Proving and reading. See torch_layout.h.
 */
#include "collect/inproc/torch/torch_layout.h"

#include <string.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/intern.h"

enum {
	RECORD_BYTES = 256, /* no row needs more */
	VALUE_BYTES = 16,   /* of an IValue: payload, tag */
	TAG_TENSOR = 1,
	TAG_DOUBLE = 3,
	TAG_COMPLEX = 4,
	TAG_INT = 5,
	INPUTS_MAX = 256, /* that are kept, and hashed */
	LEARN_INPUTS = 8, /* that are looked at while learning */
	SIZES_INLINE = 5,
	ELEMENTS_FROM = 96, /* from the number of dimensions to the number of elements, … */
	DTYPE_FROM = 104,   /* … to the type: so in all releases that were looked at */
	OFFSET_FIRST = 8,
	OFFSET_COUNT = 20,
	TENSOR_BYTES = OFFSET_FIRST + OFFSET_COUNT * 8 + DTYPE_FROM + 8,
	ELEMENTS_TELLING = 8, /* a tensor of fewer may match by accident */
	TENSORS_NEEDED = 3,
	TAG_LIST_113 = 12,
	TAG_LIST_25 = 13,
	TAG_LIST_211 = 14,    /* 2.11, 2.13 */
	TAG_BOOL_TO_LIST = 4, /* in all of them */
	LIST_BYTES = 48,      /* of a list, as far as it is looked at */
	LIST_LEARN_MAX = 64,  /* elements of a list that is learned from */
	LIST_MAX = 1024,      /* elements of a list that is kept */
	LISTS_NEEDED = 2,
};

/* The two standard libraries that it is built with differ in the size of a text. */
const struct st_torch_record_row st_torch_record_rows[ST_TORCH_RECORD_ROWS] = {
	{"cxx11", 88, 200, 208},
	{"pre-cxx11", 88, 176, 184},
};

struct span {
	void *at;
	size_t bytes;
};

bool st_torch_read_safely(const void *from, void *to, size_t bytes)
{
	const struct span remote = {(void *)(uintptr_t)from, bytes}, local = {to, bytes};

	if (st_passive() || !from)
		return false;
	return st_syscall(SYS_process_vm_readv, st_syscall(SYS_getpid, 0), &local, 1, &remote, 1,
			  0) == (long)bytes;
}

static uint64_t word_at(const void *at, size_t offset)
{
	uint64_t word;

	memcpy(&word, (const char *)at + offset, sizeof(word));
	return word;
}

void st_torch_learner_init(struct st_torch_learner *learner, const void *nothing)
{
	*learner = (struct st_torch_learner){.rows = (1u << ST_TORCH_RECORD_ROWS) - 1,
					     .offsets = (1u << OFFSET_COUNT) - 1,
					     .nothing = nothing};
}

static bool row_fits(const struct st_torch_record_row *row, const char *record,
		     const struct st_torch_truth *truth)
{
	int64_t sequence = (int64_t)word_at(record, row->sequence);

	return word_at(record, row->thread) == truth->thread &&
	       word_at(record, row->inputs + 8u) == truth->inputs && sequence >= -1 &&
	       sequence <= truth->sequence_next;
}

static const struct st_torch_record_row *only_row(const struct st_torch_learner *learner)
{
	/* Numbers may stand there by accident; but then the pointer beside them does not lead to the right tensors. */
	for (int i = 0; learner->counted && i < ST_TORCH_RECORD_ROWS; i++)
		if (learner->rows == 1u << i)
			return &st_torch_record_rows[i];
	return NULL;
}

/* Whether a tensor's dimensions, sizes and elements stand at this place. */
static bool sizes_fit(const char *tensor, size_t at, const int64_t *sizes, uint64_t dimensions)
{
	int64_t far[ST_INPUT_DIMENSIONS_MAX];
	const char *stored = tensor + at + 8;
	uint64_t elements = 1;

	if (word_at(tensor, at) != dimensions)
		return false;
	for (uint64_t i = 0; i < dimensions; i++)
		elements *= (uint64_t)sizes[i];
	if (word_at(tensor, at + ELEMENTS_FROM) != elements)
		return false;
	if (dimensions > SIZES_INLINE) {
		if (!st_torch_read_safely((const void *)word_at(tensor, at + 8), far,
					  dimensions * sizeof(*far)))
			return false;
		stored = (const char *)far;
	}
	return !memcmp(stored, sizes, dimensions * sizeof(*sizes));
}

static bool dtype_fits(const char *tensor, size_t at, int32_t dtype)
{
	uint16_t stored;

	memcpy(&stored, tensor + at + DTYPE_FROM, sizeof(stored));
	return dtype < 0 ? stored < ST_DTYPE_UNKNOWN : stored == dtype;
}

static void learn_tensor(struct st_torch_learner *learner, const void *address,
			 const struct st_torch_truth *truth, uint32_t input)
{
	const int64_t *sizes = truth->sizes[input].begin;
	uint64_t dimensions = (uint64_t)(truth->sizes[input].end - sizes), elements = 1;
	char tensor[TENSOR_BYTES];
	uint32_t fitting = 0;

	for (uint64_t i = 0; i < dimensions; i++)
		elements *= (uint64_t)sizes[i];
	if (address == learner->nothing || !dimensions || dimensions > ST_INPUT_DIMENSIONS_MAX ||
	    elements < ELEMENTS_TELLING)
		return;
	if (!st_torch_read_safely(address, tensor, sizeof(tensor))) {
		learner->refused = true;
		return;
	}
	for (uint32_t i = 0; i < OFFSET_COUNT; i++)
		if (sizes_fit(tensor, OFFSET_FIRST + i * 8u, sizes, dimensions) &&
		    dtype_fits(tensor, OFFSET_FIRST + i * 8u, truth->dtype))
			fitting |= 1u << i;
	learner->offsets &= fitting;
	if (!learner->offsets)
		learner->refused = true;
	if (!learner->tensors++) {
		learner->first_count = elements;
		learner->plain = word_at(tensor, 0);
	} else if (learner->first_count != elements) {
		learner->distinct = true;
	}
}

static void learn_inputs(struct st_torch_learner *learner, const char *values,
			 const struct st_torch_truth *truth)
{
	char value[LEARN_INPUTS * VALUE_BYTES];
	uint32_t count = truth->listed < LEARN_INPUTS ? truth->listed : LEARN_INPUTS;

	if (count > truth->inputs)
		count = (uint32_t)truth->inputs;
	if (!count)
		return;
	if (!st_torch_read_safely(values, value, (size_t)count * VALUE_BYTES)) {
		learner->refused = true;
		return;
	}
	for (uint32_t i = 0; i < count && !learner->refused; i++)
		if ((uint32_t)word_at(value, i * VALUE_BYTES + 8u) == TAG_TENSOR)
			learn_tensor(learner, (const void *)word_at(value, i * VALUE_BYTES), truth,
				     i);
}

void st_torch_learn(struct st_torch_learner *learner, const void *record,
		    const struct st_torch_truth *truth)
{
	const struct st_torch_record_row *row;
	char bytes[RECORD_BYTES];

	if (learner->refused)
		return;
	if (!st_torch_read_safely(record, bytes, sizeof(bytes))) {
		learner->refused = true;
		return;
	}
	for (uint32_t i = 0; i < ST_TORCH_RECORD_ROWS; i++)
		if (!row_fits(&st_torch_record_rows[i], bytes, truth))
			learner->rows &= ~(1u << i);
	if (!learner->rows) {
		learner->refused = true;
		return;
	}
	if (truth->inputs)
		learner->counted = true;
	row = only_row(learner);
	if (row)
		learn_inputs(learner, (const char *)word_at(bytes, row->inputs), truth);
}

bool st_torch_learned(const struct st_torch_learner *learner, struct st_torch_memory_layout *layout)
{
	const struct st_torch_record_row *row = only_row(learner);
	uint32_t offsets = learner->offsets;

	if (learner->refused || !row || learner->tensors < TENSORS_NEEDED || !learner->distinct ||
	    !offsets || (offsets & (offsets - 1)))
		return false;
	layout->record = row;
	layout->sizes = (uint16_t)(OFFSET_FIRST + 8 * __builtin_ctz(offsets));
	layout->nothing = learner->nothing;
	layout->plain = learner->plain;
	layout->list = 0;
	/* Between these two releases they moved, and the sizes did not: the first lists tell. */
	layout->tag_list = 0;
	if (layout->sizes != 64)
		layout->tag_list = layout->sizes == 72 ? TAG_LIST_113 : TAG_LIST_211;
	layout->tag_bool = layout->sizes == 72 || layout->sizes == 56
				   ? layout->tag_list - TAG_BOOL_TO_LIST
				   : 0;
	return true;
}

/* Behind the object's table of functions, one or two words of reference counts. */
static const uint16_t list_places[ST_TORCH_LIST_PLACES] = {16, 24};

static bool is_list(const struct st_torch_memory_layout *layout, uint32_t tag)
{
	if (layout->tag_list)
		return tag == layout->tag_list;
	return tag == TAG_LIST_25 || tag == TAG_LIST_211;
}

/* The elements of a list, when such can be there. */
static uint64_t elements_at(const char *list, size_t place, const char **first)
{
	uint64_t begin = word_at(list, place), end = word_at(list, place + 8);

	*first = (const char *)begin;
	if (!begin || end <= begin || (end - begin) % VALUE_BYTES)
		return 0;
	return (end - begin) / VALUE_BYTES;
}

static bool tensor_fits(const struct st_torch_memory_layout *layout, const void *address,
			const struct st_torch_sizes *sizes)
{
	char tensor[TENSOR_BYTES];

	return st_torch_read_safely(address, tensor, sizeof(tensor)) &&
	       sizes_fit(tensor, layout->sizes, sizes->begin,
			 (uint64_t)(sizes->end - sizes->begin));
}

/* How many of the told sizes an input stands for; 0: it does not fit. */
static uint64_t input_fits(const struct st_torch_memory_layout *layout, const char *value,
			   size_t place, const struct st_torch_sizes *sizes, uint64_t left)
{
	char list[LIST_BYTES], elements[LIST_LEARN_MAX * VALUE_BYTES];
	const char *first;
	uint64_t count;

	if (!is_list(layout, (uint32_t)word_at(value, 8)))
		return 1;
	if (!st_torch_read_safely((const void *)word_at(value, 0), list, sizeof(list)))
		return 0;
	count = elements_at(list, place, &first);
	if (!count)
		return 1;
	if (count > LIST_LEARN_MAX || !st_torch_read_safely(first, elements, count * VALUE_BYTES))
		return 0;
	if ((uint32_t)word_at(elements, 8) != TAG_TENSOR)
		return 1;
	for (uint64_t i = 0; i < count; i++)
		if (i >= left || (uint32_t)word_at(elements, i * VALUE_BYTES + 8) != TAG_TENSOR ||
		    !tensor_fits(layout, (const void *)word_at(elements, i * VALUE_BYTES),
				 &sizes[i]))
			return 0;
	return count;
}

static bool place_fits(const struct st_torch_memory_layout *layout, const void *record,
		       size_t place, const struct st_torch_truth *truth)
{
	const char *values = (const char *)word_at(record, layout->record->inputs);
	uint64_t told = 0;

	for (uint64_t i = 0; i < truth->inputs; i++) {
		uint64_t fitting = told < truth->listed
					   ? input_fits(layout, values + i * VALUE_BYTES, place,
							truth->sizes + told, truth->listed - told)
					   : 0;

		if (!fitting)
			return false;
		told += fitting;
	}
	return told == truth->listed && told > truth->inputs;
}

uint32_t st_torch_has_list(const struct st_torch_memory_layout *layout, const void *record)
{
	const char *values = (const char *)word_at(record, layout->record->inputs);
	uint64_t count = word_at(record, layout->record->inputs + 8u);
	char list[LIST_BYTES], element[VALUE_BYTES];
	const char *first;

	for (uint64_t i = 0; i < count && i < LEARN_INPUTS; i++) {
		if (!is_list(layout, (uint32_t)word_at(values, i * VALUE_BYTES + 8)) ||
		    !st_torch_read_safely((const void *)word_at(values, i * VALUE_BYTES), list,
					  sizeof(list)))
			continue;
		for (int place = 0; place < ST_TORCH_LIST_PLACES; place++)
			if (elements_at(list, list_places[place], &first) > 1 &&
			    st_torch_read_safely(first, element, sizeof(element)) &&
			    (uint32_t)word_at(element, 8) == TAG_TENSOR)
				return (uint32_t)word_at(values, i * VALUE_BYTES + 8);
	}
	return 0;
}

void st_torch_learn_list(struct st_torch_list_learner *learner,
			 struct st_torch_memory_layout *layout, const void *record,
			 const struct st_torch_truth *truth)
{
	uint32_t fitting = 0, tag = st_torch_has_list(layout, record);

	for (uint32_t place = 0; place < ST_TORCH_LIST_PLACES; place++)
		if (place_fits(layout, record, list_places[place], truth)) {
			learner->votes[place]++;
			fitting |= 1u << place;
		}
	if (fitting && !learner->tag)
		learner->tag = tag;
	if (fitting == (1u << ST_TORCH_LIST_PLACES) - 1 || (fitting && tag != learner->tag))
		learner->refused = true;
	for (uint32_t place = 0; place < ST_TORCH_LIST_PLACES && !learner->refused; place++)
		if (learner->votes[place] >= LISTS_NEEDED && !learner->votes[1 - place]) {
			layout->tag_list = learner->tag;
			layout->tag_bool = learner->tag - TAG_BOOL_TO_LIST;
			layout->list = list_places[place];
		}
}

/* One input where it lies. */
struct input {
	enum st_operator_input kind;
	uint32_t dimensions;
	uint16_t dtype;
	const int64_t *sizes;
	uint32_t count; /* of a list's elements */
	const char *elements;
};

static inline bool is_scalar(const struct st_torch_memory_layout *layout, uint32_t tag)
{
	return tag == TAG_DOUBLE || tag == TAG_COMPLEX || tag == TAG_INT ||
	       (tag && tag == layout->tag_bool);
}

/* The first element says what a list is of. */
static void read_list(const struct st_torch_memory_layout *layout, const char *value,
		      struct input *input)
{
	const char *list = (const char *)word_at(value, 0), *first;
	uint64_t count = list ? elements_at(list, layout->list, &first) : 0;
	uint32_t tag = count ? (uint32_t)word_at(first, 8) : 0;

	if (is_scalar(layout, tag))
		input->kind = ST_INPUT_SCALAR_LIST;
	if (tag != TAG_TENSOR)
		return;
	input->kind = ST_INPUT_TENSOR_LIST;
	input->count = (uint32_t)(count < LIST_MAX ? count : LIST_MAX);
	input->elements = first;
}

static inline __attribute__((always_inline)) struct input
read_input(const struct st_torch_memory_layout *layout, const char *value)
{
	struct input input = {.kind = ST_INPUT_OTHER};
	uint32_t tag = (uint32_t)word_at(value, 8);
	const char *tensor, *at;
	uint64_t dimensions;

	if (tag != TAG_TENSOR) {
		if (is_scalar(layout, tag))
			input.kind = ST_INPUT_SCALAR;
		else if (tag == layout->tag_list && layout->list)
			read_list(layout, value, &input);
		return input;
	}
	tensor = (const char *)word_at(value, 0);
	if (!tensor || tensor == layout->nothing) {
		input.kind = ST_INPUT_UNDEFINED;
		return input;
	}
	at = tensor + layout->sizes;
	dimensions = word_at(at, 0);
	if (ST_UNLIKELY(dimensions > ST_INPUT_DIMENSIONS_MAX))
		return input;
	input.kind = ST_INPUT_TENSOR;
	input.dimensions = (uint32_t)dimensions;
	memcpy(&input.dtype, at + DTYPE_FROM, sizeof(input.dtype));
	input.sizes = (const int64_t *)(at + 8);
	if (ST_UNLIKELY(dimensions > SIZES_INLINE))
		input.sizes = (const int64_t *)word_at(at, 8);
	return input;
}

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* Two at a time: one product has to wait for the other. */
static inline uint64_t mix_two(uint64_t hash, uint64_t one, uint64_t other)
{
	return st_text_mix(hash ^ one, other) ^ hash;
}

static inline uint64_t hash_parts(uint64_t hash, enum st_operator_input kind, uint32_t dtype,
				  uint32_t dimensions, const int64_t *sizes)
{
	uint64_t head = (uint64_t)kind | (uint64_t)dtype << 8 | (uint64_t)dimensions << 32;
	uint32_t k = 1;

	if (!dimensions)
		return mix(hash, head);
	hash = mix_two(hash, head, (uint64_t)sizes[0]);
	for (; k + 1 < dimensions; k += 2)
		hash = mix_two(hash, (uint64_t)sizes[k], (uint64_t)sizes[k + 1]);
	return k < dimensions ? mix(hash, (uint64_t)sizes[k]) : hash;
}

static uint64_t hash_input(const struct input *input, uint64_t hash)
{
	return hash_parts(hash, input->kind, input->dtype, input->dimensions, input->sizes);
}

static __attribute__((noinline)) uint64_t hash_list(const struct st_torch_memory_layout *layout,
						    const struct input *list, uint64_t hash)
{
	hash = mix(hash, list->count);
	for (uint32_t i = 0; i < list->count; i++) {
		struct input input = read_input(layout, list->elements + (size_t)i * VALUE_BYTES);

		if (input.kind == ST_INPUT_TENSOR_LIST)
			input.kind = ST_INPUT_OTHER;
		hash = hash_input(&input, hash);
	}
	return hash;
}

static __attribute__((noinline)) uint64_t hash_value(const struct st_torch_memory_layout *layout,
						     const char *value, uint64_t hash)
{
	struct input input = read_input(layout, value);

	hash = hash_input(&input, hash);
	return input.kind == ST_INPUT_TENSOR_LIST ? hash_list(layout, &input, hash) : hash;
}

/* What most values are, a tensor of few dimensions or a number, without a detour through memory; false: another one. */
static inline bool hash_usual(const struct st_torch_memory_layout *layout, const char *value,
			      uint64_t *hash)
{
	const char *tensor = (const char *)word_at(value, 0), *at;
	uint32_t tag = (uint32_t)word_at(value, 8);
	uint64_t dimensions;
	uint16_t dtype;

	if (tag != TAG_TENSOR) {
		if (!is_scalar(layout, tag))
			return false;
		*hash = hash_parts(*hash, ST_INPUT_SCALAR, 0, 0, NULL);
		return true;
	}
	if (!tensor || tensor == layout->nothing)
		return false;
	at = tensor + layout->sizes;
	dimensions = word_at(at, 0);
	if (ST_UNLIKELY(dimensions > SIZES_INLINE))
		return false;
	memcpy(&dtype, at + DTYPE_FROM, sizeof(dtype));
	*hash = hash_parts(*hash, ST_INPUT_TENSOR, dtype, (uint32_t)dimensions,
			   (const int64_t *)(at + 8));
	return true;
}

uint64_t st_torch_inputs_hash(const struct st_torch_memory_layout *layout, const void *record,
			      uint64_t hash)
{
	const char *values = (const char *)word_at(record, layout->record->inputs);
	uint64_t count = word_at(record, layout->record->inputs + 8u);

	hash = mix(hash, count);
	if (count > INPUTS_MAX)
		count = INPUTS_MAX;
	for (uint64_t i = 0; i < count; i++) {
		const char *value = values + i * VALUE_BYTES;

		if (!hash_usual(layout, value, &hash))
			hash = hash_value(layout, value, hash);
	}
	return hash | 1;
}

uint64_t st_torch_values_hash(const struct st_torch_memory_layout *layout, const void *record,
			      uint64_t hash)
{
	const char *values = (const char *)word_at(record, layout->record->inputs);
	uint64_t count = word_at(record, layout->record->inputs + 8u);
	struct st_torch_integers integers;

	hash = st_torch_inputs_hash(layout, record, hash);
	if (count > INPUTS_MAX)
		count = INPUTS_MAX;
	for (uint64_t i = 0; i < count; i++) {
		if (!st_torch_read_integers(layout, values + i * VALUE_BYTES, &integers))
			continue;
		hash = mix(hash, i << 8 | integers.count);
		for (uint32_t k = 0; k < integers.count; k++)
			hash = mix(hash, (uint64_t)integers.values[k]);
	}
	return hash | 1;
}

struct writer {
	uint8_t *at, *end;
	bool full;
};

static void put_byte(struct writer *writer, uint8_t byte)
{
	if (writer->at == writer->end)
		writer->full = true;
	else
		*writer->at++ = byte;
}

static void put_size(struct writer *writer, int64_t size)
{
	uint64_t value = (uint64_t)size << 1 ^ (uint64_t)(size >> 63);

	for (; value >= 128; value >>= 7)
		put_byte(writer, (uint8_t)(value | 128));
	put_byte(writer, (uint8_t)value);
}

/* False, and nothing of it, when there is no room. */
static bool put_input(struct writer *writer, const struct input *input)
{
	uint8_t *begin = writer->at;

	put_byte(writer, (uint8_t)input->kind);
	if (input->kind == ST_INPUT_TENSOR) {
		put_byte(writer, (uint8_t)(input->dtype < ST_DTYPE_UNKNOWN ? input->dtype
									   : ST_DTYPE_UNKNOWN));
		put_byte(writer, (uint8_t)input->dimensions);
		for (uint32_t k = 0; k < input->dimensions; k++)
			put_size(writer, input->sizes[k]);
	}
	if (writer->full)
		writer->at = begin;
	return !writer->full;
}

static bool put_list(const struct st_torch_memory_layout *layout, struct writer *writer,
		     const struct input *list)
{
	uint8_t *begin = writer->at;

	put_byte(writer, ST_INPUT_TENSOR_LIST);
	put_byte(writer, (uint8_t)list->count);
	put_byte(writer, (uint8_t)(list->count >> 8));
	for (uint32_t i = 0; i < list->count && !writer->full; i++) {
		struct input input = read_input(layout, list->elements + (size_t)i * VALUE_BYTES);

		if (input.kind == ST_INPUT_TENSOR_LIST)
			input.kind = ST_INPUT_OTHER;
		put_input(writer, &input);
	}
	if (writer->full)
		writer->at = begin;
	return !writer->full;
}

static bool put_integers(struct writer *writer, const struct st_torch_integers *integers)
{
	uint8_t *begin = writer->at;

	put_byte(writer, integers->is_list ? ST_INPUT_INTEGER_LIST : ST_INPUT_INTEGER);
	if (integers->is_list) {
		put_byte(writer, (uint8_t)integers->count);
		put_byte(writer, 0);
	}
	for (uint32_t i = 0; i < integers->count; i++)
		put_size(writer, integers->values[i]);
	if (writer->full)
		writer->at = begin;
	return !writer->full;
}

static struct st_operator_inputs finish(const struct writer *writer, const uint8_t *begin,
					uint32_t put, uint64_t all)
{
	return (struct st_operator_inputs){
		.bytes = (uint32_t)(writer->at - begin),
		.count = (uint16_t)put,
		.flags = (uint8_t)(ST_SIGNATURE_INPUTS | (put < all ? ST_SIGNATURE_CUT : 0))};
}

static struct st_operator_inputs encode(const struct st_torch_memory_layout *layout,
					const void *record, struct writer writer,
					bool with_integers)
{
	const char *values = (const char *)word_at(record, layout->record->inputs);
	uint64_t all = word_at(record, layout->record->inputs + 8u);
	const uint8_t *begin = writer.at;
	struct st_torch_integers integers;
	uint32_t put = 0;

	for (; put < all && put < INPUTS_MAX; put++) {
		const char *value = values + (size_t)put * VALUE_BYTES;
		struct input input = read_input(layout, value);
		bool done;

		if (input.kind == ST_INPUT_TENSOR_LIST)
			done = put_list(layout, &writer, &input);
		else if (with_integers && st_torch_read_integers(layout, value, &integers))
			done = put_integers(&writer, &integers);
		else
			done = put_input(&writer, &input);
		if (!done)
			break;
	}
	return finish(&writer, begin, put, all);
}

struct st_operator_inputs st_torch_inputs_encode(const struct st_torch_memory_layout *layout,
						 const void *record, uint8_t *to, uint32_t room)
{
	return encode(layout, record, (struct writer){to, to + room, false}, false);
}

struct st_operator_inputs st_torch_values_encode(const struct st_torch_memory_layout *layout,
						 const void *record, uint8_t *to, uint32_t room)
{
	return encode(layout, record, (struct writer){to, to + room, false}, true);
}

struct st_operator_inputs st_torch_truth_encode(const struct st_torch_truth *truth, uint8_t *to,
						uint32_t room)
{
	struct writer writer = {to, to + room, false};
	uint32_t put = 0;

	for (; put < truth->listed; put++) {
		struct input input = {.kind = ST_INPUT_OTHER, .dtype = ST_DTYPE_UNKNOWN};
		int64_t dimensions = truth->sizes[put].end - truth->sizes[put].begin;

		if (dimensions > 0 && dimensions <= ST_INPUT_DIMENSIONS_MAX) {
			input.kind = ST_INPUT_TENSOR;
			input.dimensions = (uint32_t)dimensions;
			input.sizes = truth->sizes[put].begin;
		}
		if (!put_input(&writer, &input))
			break;
	}
	return finish(&writer, to, put, truth->inputs);
}
