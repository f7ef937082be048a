/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs of operators where they lie, in objects made by hand after the layouts of several releases of PyTorch; and
 * layouts that must be refused. tests/e2e/test_operators.py has the real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/inproc/torch/torch_layout.h"

struct st_shared st_shared; /* of state.c: no sandbox */

enum { THREAD = 3, FLOAT = 6, HALF = 5, INPUTS_MAX = 4, FAR_DIMENSIONS = 6 };

/* A release: where its things stand. */
struct release {
	size_t sequence, inputs, sizes;
};
static const struct release release_213 = {200, 208, 56};
static const struct release release_251 = {176, 184, 64};
static const struct release release_113 = {200, 208, 72};

struct fake {
	char record[512];
	char value[INPUTS_MAX][16];
	char tensor[INPUTS_MAX][512];
	struct st_torch_sizes sizes[INPUTS_MAX];
	struct st_torch_truth truth;
};

static void put(char *to, size_t at, uint64_t value)
{
	memcpy(to + at, &value, sizeof(value));
}

static void make(struct fake *fake, const struct release *release, uint32_t inputs)
{
	memset(fake, 0, sizeof(*fake));
	/* Nothing that is not meant: addresses, as of a real object. */
	for (size_t at = 0; at < sizeof(fake->record); at += 8)
		put(fake->record, at, (uint64_t)(uintptr_t)fake->record);
	put(fake->record, 88, THREAD);
	put(fake->record, release->sequence, UINT64_MAX);
	put(fake->record, release->inputs, (uint64_t)(uintptr_t)fake->value);
	put(fake->record, release->inputs + 8, inputs);
	fake->truth = (struct st_torch_truth){.thread = THREAD,
					      .inputs = inputs,
					      .dtype = -1,
					      .listed = inputs,
					      .sizes = fake->sizes};
}

static void add_tensor(struct fake *fake, const struct release *release, uint32_t input,
		       const int64_t *sizes, uint64_t dimensions, uint16_t dtype)
{
	char *tensor = fake->tensor[input];
	uint64_t elements = 1;

	for (size_t at = 0; at < sizeof(fake->tensor[0]); at += 8)
		put(tensor, at, (uint64_t)(uintptr_t)tensor);
	for (uint64_t i = 0; i < dimensions; i++)
		elements *= (uint64_t)sizes[i];
	put(tensor, release->sizes, dimensions);
	if (dimensions > 5)
		put(tensor, release->sizes + 8, (uint64_t)(uintptr_t)sizes);
	else
		memcpy(tensor + release->sizes + 8, sizes, dimensions * sizeof(*sizes));
	put(tensor, release->sizes + 96, elements);
	memcpy(tensor + release->sizes + 104, &dtype, sizeof(dtype));
	put(fake->value[input], 0, (uint64_t)(uintptr_t)tensor);
	put(fake->value[input], 8, 1);
	fake->sizes[input] = (struct st_torch_sizes){sizes, sizes + dimensions, NULL};
}

static const int64_t cube[] = {3, 5, 7}, plane[] = {11, 13}, far[] = {2, 3, 2, 5, 3, 7};

static bool learn(const struct release *release, struct st_torch_memory_layout *layout)
{
	struct st_torch_learner learner;
	struct fake fake;

	st_torch_learner_init(&learner, NULL);
	make(&fake, release, 1);
	add_tensor(&fake, release, 0, cube, 3, FLOAT);
	st_torch_learn(&learner, fake.record, &fake.truth);
	assert_false(st_torch_learned(&learner, layout)); /* one is not enough */
	make(&fake, release, 2);
	add_tensor(&fake, release, 0, plane, 2, HALF);
	add_tensor(&fake, release, 1, far, FAR_DIMENSIONS, FLOAT);
	st_torch_learn(&learner, fake.record, &fake.truth);
	return st_torch_learned(&learner, layout);
}

static void test_releases(void **state)
{
	struct st_torch_memory_layout layout;

	(void)state;
	assert_true(learn(&release_213, &layout));
	assert_string_equal(layout.record->name, "cxx11");
	assert_int_equal(layout.sizes, 56);
	assert_true(learn(&release_251, &layout));
	assert_string_equal(layout.record->name, "pre-cxx11");
	assert_int_equal(layout.sizes, 64);
	assert_true(learn(&release_113, &layout));
	assert_string_equal(layout.record->name, "cxx11");
	assert_int_equal(layout.sizes, 72);
}

/* Shifted by a word each; the last one has nothing that can be followed. */
static void test_wrong_layouts(void **state)
{
	static const struct release wrong[] = {
		{208, 216, 56}, {192, 200, 56}, {168, 176, 64}, {200, 208, 52}, {200, 208, 240},
	};
	struct st_torch_memory_layout layout;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(learn(&wrong[i], &layout));
}

static void test_contradictions(void **state)
{
	struct st_torch_learner learner;
	struct st_torch_memory_layout layout;
	struct fake fake;

	(void)state;
	/* One record of another thread's number ends it for good. */
	st_torch_learner_init(&learner, NULL);
	for (int i = 0; i < 6; i++) {
		make(&fake, &release_213, 1);
		add_tensor(&fake, &release_213, 0, i % 2 ? cube : plane, i % 2 ? 3 : 2, FLOAT);
		fake.truth.thread = i == 2 ? THREAD + 1 : THREAD;
		st_torch_learn(&learner, fake.record, &fake.truth);
	}
	assert_true(learner.refused);
	assert_false(st_torch_learned(&learner, &layout));
	/* So does a type that is not the one that was asked for, and inputs at an address that is none. */
	st_torch_learner_init(&learner, NULL);
	make(&fake, &release_213, 1);
	add_tensor(&fake, &release_213, 0, cube, 3, FLOAT);
	fake.truth.dtype = HALF;
	st_torch_learn(&learner, fake.record, &fake.truth);
	assert_true(learner.refused);
	st_torch_learner_init(&learner, NULL);
	make(&fake, &release_213, 1);
	fake.sizes[0] = (struct st_torch_sizes){cube, cube + 3, NULL};
	put(fake.record, release_213.inputs, 8);
	st_torch_learn(&learner, fake.record, &fake.truth);
	assert_true(learner.refused);
}

/* A layout that was proven, and records of which it is not true. */
static void test_checked_again(void **state)
{
	static const int64_t none[] = {0}, other[] = {3, 5, 8};
	enum { ORDINARY = 0x1234 };
	struct st_torch_memory_layout layout;
	struct fake fake;

	(void)state;
	assert_true(learn(&release_213, &layout));
	layout.plain = ORDINARY;
	make(&fake, &release_213, 2);
	add_tensor(&fake, &release_213, 0, cube, 3, FLOAT);
	add_tensor(&fake, &release_213, 1, far, FAR_DIMENSIONS, HALF);
	put(fake.tensor[0], 0, ORDINARY);
	put(fake.tensor[1], 0, ORDINARY);
	assert_int_equal(st_torch_look(&layout, fake.record), ST_TORCH_ASK);
	assert_true(st_torch_agrees(&layout, fake.record, &fake.truth));
	/* The framework says otherwise: sizes, inputs, whose it is. */
	fake.sizes[0] = (struct st_torch_sizes){other, other + 3, NULL};
	assert_false(st_torch_agrees(&layout, fake.record, &fake.truth));
	fake.sizes[0] = (struct st_torch_sizes){cube, cube + 3, NULL};
	fake.truth.inputs = 3;
	assert_false(st_torch_agrees(&layout, fake.record, &fake.truth));
	fake.truth.inputs = 2;
	fake.truth.thread = THREAD + 1;
	assert_false(st_torch_agrees(&layout, fake.record, &fake.truth));
	/* Read a word too far, or too near: what stands there does not go together. */
	layout.sizes += 8;
	assert_int_equal(st_torch_look(&layout, fake.record), ST_TORCH_CONTRADICTS);
	layout.sizes -= 16;
	assert_int_equal(st_torch_look(&layout, fake.record), ST_TORCH_CONTRADICTS);
	layout.sizes += 8;
	put(fake.tensor[1], release_213.sizes + 96, 7);
	assert_int_equal(st_torch_look(&layout, fake.record), ST_TORCH_CONTRADICTS);
	/* A tensor of another kind may keep its sizes elsewhere, and one with symbols looks empty: neither is asked about. */
	put(fake.tensor[1], 0, ORDINARY + 8);
	assert_int_equal(st_torch_look(&layout, fake.record), ST_TORCH_FITS);
	add_tensor(&fake, &release_213, 1, none, 1, FLOAT);
	put(fake.tensor[1], 0, ORDINARY);
	assert_int_equal(st_torch_look(&layout, fake.record), ST_TORCH_FITS);
	/* An address that is none. */
	put(fake.value[1], 0, 8);
	assert_int_equal(st_torch_look(&layout, fake.record), ST_TORCH_CONTRADICTS);
	put(fake.record, release_213.inputs, 8);
	assert_int_equal(st_torch_look(&layout, fake.record), ST_TORCH_CONTRADICTS);
}

static void test_small_tensors_prove_nothing(void **state)
{
	static const int64_t one[] = {1}, two[] = {2, 1};
	struct st_torch_learner learner;
	struct st_torch_memory_layout layout;
	struct fake fake;

	(void)state;
	st_torch_learner_init(&learner, NULL);
	for (int i = 0; i < 100; i++) {
		make(&fake, &release_213, 1);
		add_tensor(&fake, &release_213, 0, i % 2 ? one : two, i % 2 ? 1 : 2, FLOAT);
		st_torch_learn(&learner, fake.record, &fake.truth);
	}
	assert_false(learner.refused);
	assert_false(st_torch_learned(&learner, &layout));
}

static void test_inputs(void **state)
{
	static const uint8_t expected[] = {
		ST_INPUT_TENSOR,    FLOAT,	    3, 6, 10, 14, ST_INPUT_SCALAR,
		ST_INPUT_UNDEFINED, ST_INPUT_OTHER,
	};
	struct st_torch_memory_layout layout;
	struct st_operator_inputs inputs;
	struct fake fake;
	uint8_t bytes[64];
	uint64_t hash;
	char nothing;

	(void)state;
	assert_true(learn(&release_213, &layout));
	layout.nothing = &nothing;
	make(&fake, &release_213, 4);
	add_tensor(&fake, &release_213, 0, cube, 3, FLOAT);
	put(fake.value[1], 8, 10); /* a bool */
	put(fake.value[2], 0, (uint64_t)(uintptr_t)&nothing);
	put(fake.value[2], 8, 1);
	put(fake.value[3], 8, 12); /* a text */
	inputs = st_torch_inputs_encode(&layout, fake.record, bytes, sizeof(bytes));
	assert_int_equal(inputs.count, 4);
	assert_int_equal(inputs.flags, ST_SIGNATURE_INPUTS);
	assert_int_equal(inputs.bytes, sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
	/* Without room for all of them: whole ones, and said. */
	inputs = st_torch_inputs_encode(&layout, fake.record, bytes, 7);
	assert_int_equal(inputs.count, 2);
	assert_int_equal(inputs.bytes, 7);
	assert_int_equal(inputs.flags, ST_SIGNATURE_INPUTS | ST_SIGNATURE_CUT);
	/* The hash knows sizes, types and names. */
	hash = st_torch_inputs_hash(&layout, fake.record, 1);
	assert_true(hash == st_torch_inputs_hash(&layout, fake.record, 1));
	assert_true(hash != st_torch_inputs_hash(&layout, fake.record, 3));
	put(fake.tensor[0], 64, 4);
	assert_true(hash != st_torch_inputs_hash(&layout, fake.record, 1));
	put(fake.tensor[0], 64, 3);
	fake.tensor[0][160] = HALF;
	assert_true(hash != st_torch_inputs_hash(&layout, fake.record, 1));
}

/* A list of 2.13: two words, begin, end. */
struct list {
	uint64_t head[2], begin, end, rest[4];
	char element[2][16];
};

static void make_list(struct list *list, struct fake *fake)
{
	memset(list, 0, sizeof(*list));
	add_tensor(fake, &release_213, 2, plane, 2, HALF);
	add_tensor(fake, &release_213, 3, cube, 3, FLOAT);
	memcpy(list->element[0], fake->value[2], 16);
	memcpy(list->element[1], fake->value[3], 16);
	list->begin = (uint64_t)(uintptr_t)list->element[0];
	list->end = (uint64_t)(uintptr_t)(list->element + 2);
	put(fake->value[0], 0, (uint64_t)(uintptr_t)list);
	put(fake->value[0], 8, 14);
	put(fake->value[1], 8, 5);
	/* As the framework tells it: the two tensors, then the number. */
	fake->sizes[0] = fake->sizes[2];
	fake->sizes[1] = fake->sizes[3];
	fake->sizes[2] = (struct st_torch_sizes){0};
	fake->truth.listed = 3;
}

static void test_lists(void **state)
{
	static const uint8_t expected[] = {
		ST_INPUT_TENSOR_LIST,
		2,
		0,
		ST_INPUT_TENSOR,
		HALF,
		2,
		22,
		26,
		ST_INPUT_TENSOR,
		FLOAT,
		3,
		6,
		10,
		14,
		ST_INPUT_SCALAR,
	};
	struct st_torch_list_learner learner = {0};
	struct st_operator_inputs inputs;
	struct st_torch_memory_layout layout;
	struct fake fake;
	struct list list;
	uint8_t bytes[64];
	uint64_t hash;

	(void)state;
	assert_true(learn(&release_213, &layout));
	make(&fake, &release_213, 2);
	make_list(&list, &fake);
	assert_true(st_torch_has_list(&layout, fake.record));
	inputs = st_torch_inputs_encode(&layout, fake.record, bytes, sizeof(bytes));
	assert_int_equal(inputs.bytes, 2); /* not proven: nothing is known of it */
	hash = st_torch_inputs_hash(&layout, fake.record, 1);
	st_torch_learn_list(&learner, &layout, fake.record, &fake.truth);
	assert_int_equal(layout.list, 0);
	st_torch_learn_list(&learner, &layout, fake.record, &fake.truth);
	assert_int_equal(layout.list, 16);
	inputs = st_torch_inputs_encode(&layout, fake.record, bytes, sizeof(bytes));
	assert_int_equal(inputs.count, 2);
	assert_int_equal(inputs.bytes, sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_true(hash != st_torch_inputs_hash(&layout, fake.record, 1));
	inputs = st_torch_inputs_encode(&layout, fake.record, bytes, 13);
	assert_int_equal(inputs.count, 0);
	assert_int_equal(inputs.flags, ST_SIGNATURE_INPUTS | ST_SIGNATURE_CUT);
}

static void test_wrong_lists(void **state)
{
	struct st_torch_list_learner learner = {0};
	struct st_torch_memory_layout layout;
	struct fake fake;
	struct list list;

	(void)state;
	assert_true(learn(&release_213, &layout));
	make(&fake, &release_213, 2);
	make_list(&list, &fake);
	fake.sizes[1] = (struct st_torch_sizes){plane, plane + 2, NULL}; /* not what the list has */
	for (int i = 0; i < 10; i++)
		st_torch_learn_list(&learner, &layout, fake.record, &fake.truth);
	assert_int_equal(layout.list, 0);
	put(fake.value[0], 0, 8); /* nor can this be followed */
	assert_false(st_torch_has_list(&layout, fake.record));
	st_torch_learn_list(&learner, &layout, fake.record, &fake.truth);
	assert_int_equal(layout.list, 0);
}

/* Lists of integers of a release; `tag` is that of lists there, `head` the words before the elements. */
struct integers {
	uint64_t words[8];
	char element[4][16];
};

static void make_integers(struct fake *fake, struct integers *list, uint32_t input,
			  const int64_t *values, uint32_t count)
{
	memset(list, 0, sizeof(*list));
	for (uint32_t i = 0; i < count; i++) {
		put(list->element[i], 0, (uint64_t)values[i]);
		put(list->element[i], 8, 5);
	}
	list->words[2] = (uint64_t)(uintptr_t)list->element;
	list->words[3] = (uint64_t)(uintptr_t)list->element[count];
	put(fake->value[input], 0, (uint64_t)(uintptr_t)list);
	put(fake->value[input], 8, 14);
}

static void make_view(struct fake *fake, struct integers lists[2], const int64_t *sizes,
		      const int64_t *strides, uint32_t count)
{
	make(fake, &release_213, 3);
	add_tensor(fake, &release_213, 0, sizes, count, FLOAT);
	make_integers(fake, &lists[0], 1, sizes, count);
	make_integers(fake, &lists[1], 2, strides, count);
}

static void test_integers(void **state)
{
	static const int64_t strides[] = {35, 7, 1}, rows[] = {13, 1};
	static const uint8_t expected[] = {ST_INPUT_TENSOR,	  FLOAT, 3, 6, 10, 14,
					   ST_INPUT_INTEGER_LIST, 3,	 0, 6, 10, 14,
					   ST_INPUT_INTEGER,	  1};
	const struct st_torch_sizes cubes[2] = {{cube, cube + 3, NULL},
						{strides, strides + 3, NULL}};
	const struct st_torch_sizes planes[2] = {{plane, plane + 2, NULL}, {rows, rows + 2, NULL}};
	struct st_torch_value_learner learner = {0};
	struct st_operator_inputs inputs;
	struct st_torch_memory_layout layout;
	struct integers lists[2];
	struct fake fake;
	uint8_t bytes[64];
	uint64_t hash;

	(void)state;
	assert_true(learn(&release_213, &layout));
	make_view(&fake, lists, plane, rows, 2);
	st_torch_learn_values(&learner, &layout, fake.record, planes);
	assert_false(st_torch_values_learned(&learner, &layout));
	make_view(&fake, lists, cube, strides, 3);
	st_torch_learn_values(&learner, &layout, fake.record, cubes);
	inputs = st_torch_values_encode(&layout, fake.record, bytes, sizeof(bytes));
	assert_int_equal(inputs.bytes, 8); /* not proven */
	assert_true(st_torch_values_learned(&learner, &layout));
	assert_int_equal(layout.list, 16);
	assert_int_equal(layout.tag_list, 14);
	assert_int_equal(layout.tag_bool, 10);
	put(fake.value[2], 0, UINT64_MAX); /* an integer, -1 */
	put(fake.value[2], 8, 5);
	inputs = st_torch_values_encode(&layout, fake.record, bytes, sizeof(bytes));
	assert_int_equal(inputs.bytes, sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
	inputs = st_torch_inputs_encode(&layout, fake.record, bytes, sizeof(bytes));
	assert_int_equal(inputs.bytes, 8);
	assert_int_equal(bytes[6], ST_INPUT_SCALAR_LIST);
	hash = st_torch_values_hash(&layout, fake.record, 1);
	put(lists[0].element[1], 0, 6);
	assert_true(hash != st_torch_values_hash(&layout, fake.record, 1));
	put(lists[0].element[1], 8, 3); /* a list of something else is not read */
	inputs = st_torch_values_encode(&layout, fake.record, bytes, sizeof(bytes));
	assert_int_equal(inputs.bytes, 6 + 1 + 2);
}

/* Numbers that are not those, another kind in the second record, an address that is none: refused. */
static void test_wrong_integers(void **state)
{
	static const int64_t strides[] = {35, 7, 1}, others[] = {35, 7, 2};
	const struct st_torch_sizes truth[2] = {{cube, cube + 3, NULL},
						{strides, strides + 3, NULL}};
	const struct st_torch_sizes wrong[2] = {{cube, cube + 3, NULL}, {others, others + 3, NULL}};
	struct st_torch_memory_layout layout;
	struct integers lists[2];
	struct fake fake;

	(void)state;
	assert_true(learn(&release_213, &layout));
	for (int i = 0; i < 4; i++) {
		struct st_torch_value_learner learner = {0};

		make_view(&fake, lists, cube, strides, 3);
		st_torch_learn_values(&learner, &layout, fake.record, truth);
		if (i == 1)
			put(fake.value[1], 8, 13);
		if (i == 2)
			put(fake.value[2], 0, 8);
		if (i == 3)
			put((char *)lists[0].words, 16, 8);
		st_torch_learn_values(&learner, &layout, fake.record, i ? truth : wrong);
		assert_true(learner.refused);
		assert_false(st_torch_values_learned(&learner, &layout));
		assert_int_equal(layout.list, 0);
	}
}

static void make_convolution(struct fake *fake, char (*values)[16], struct integers lists[4])
{
	static const int64_t input[] = {2, 6, 8, 9}, weight[] = {4, 3, 3, 3}, step[] = {1, 2};
	static const uint32_t places[] = {3, 4, 5, 7};

	make(fake, &release_213, 9);
	add_tensor(fake, &release_213, 0, input, 4, FLOAT);
	add_tensor(fake, &release_213, 1, weight, 4, FLOAT);
	memset(values, 0, 9 * sizeof(*values));
	for (int i = 0; i < 4; i++) {
		make_integers(fake, &lists[i], 2, step, 2);
		memcpy(values[places[i]], fake->value[2], 16);
	}
	memcpy(values[0], fake->value[0], 16);
	memcpy(values[1], fake->value[1], 16);
	put(values[6], 8, 10); /* not transposed */
	put(values[8], 0, 2);
	put(values[8], 8, 5);
	put(fake->record, release_213.inputs, (uint64_t)(uintptr_t)values);
}

static void test_convolutions_prove_lists(void **state)
{
	struct st_torch_value_learner learner = {0};
	struct st_torch_memory_layout layout;
	struct integers lists[4];
	struct fake fake;
	char values[9][16];

	(void)state;
	assert_true(learn(&release_213, &layout));
	make_convolution(&fake, values, lists);
	st_torch_learn_convolution(&learner, &layout, fake.record);
	assert_false(st_torch_values_learned(&learner, &layout));
	st_torch_learn_convolution(&learner, &layout, fake.record);
	assert_true(st_torch_values_learned(&learner, &layout));
	assert_int_equal(layout.list, 16);
	assert_int_equal(layout.tag_bool, 10);
	/* Groups that do not fit the channels. */
	learner = (struct st_torch_value_learner){0};
	put(values[8], 0, 3);
	st_torch_learn_convolution(&learner, &layout, fake.record);
	assert_true(learner.refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_releases),
		cmocka_unit_test(test_wrong_layouts),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_checked_again),
		cmocka_unit_test(test_small_tensors_prove_nothing),
		cmocka_unit_test(test_inputs),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_wrong_lists),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_wrong_integers),
		cmocka_unit_test(test_convolutions_prove_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
