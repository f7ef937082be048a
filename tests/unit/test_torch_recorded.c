/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of a release that the machine of the tests need not have: PyTorch 2.5.1 as its wheels were built, with the
 * older of the two standard libraries. The objects are those of a real process, byte for byte, with their addresses made
 * those of this one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/inproc/torch/torch_layout.h"

struct st_shared st_shared; /* of state.c: no sandbox */

enum { SIZES_MAX = 6, LISTED_MAX = 4, OBJECTS_MAX = 8, SINGLE = 5, LIST = 5 };

struct recorded_object {
	uint64_t address;
	const uint64_t *words;
	uint32_t bytes;
};
struct recorded_sizes {
	uint32_t dimensions;
	int64_t sizes[SIZES_MAX];
};
struct recorded_operator {
	const char *name;
	uint64_t thread, inputs;
	int64_t next;
	int32_t dtype;
	const struct recorded_object *objects; /* the record itself is the first */
	uint32_t listed;
	struct recorded_sizes sizes[LISTED_MAX];
};

#include "torch_bytes_2_5_1.h"

/* One operator in this process. */
struct living {
	void *object[OBJECTS_MAX];
	struct st_torch_sizes sizes[LISTED_MAX];
	struct st_torch_truth truth;
};

/* Where an address leads in this process. The end of an object may be the beginning of the next. */
static uint64_t moved_to(const struct living *living, const struct recorded_object *objects,
			 uint64_t word)
{
	for (uint32_t k = 0; objects[k].words; k++)
		if (word - objects[k].address < objects[k].bytes)
			return (uint64_t)(uintptr_t)living->object[k] + (word - objects[k].address);
	for (uint32_t k = 0; objects[k].words; k++)
		if (word - objects[k].address == objects[k].bytes)
			return (uint64_t)(uintptr_t)living->object[k] + objects[k].bytes;
	return word;
}

static void bring_to_life(struct living *living, const struct recorded_operator *operator)
{
	const struct recorded_object *objects = operator->objects;
	uint32_t count = 0;

	memset(living, 0, sizeof(*living));
	for (; objects[count].words; count++) {
		assert_true(count < OBJECTS_MAX);
		living->object[count] = malloc(objects[count].bytes);
		assert_non_null(living->object[count]);
		memcpy(living->object[count], objects[count].words, objects[count].bytes);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t *words = living->object[i];

		for (uint32_t at = 0; at < objects[i].bytes / 8; at++)
			words[at] = moved_to(living, objects, words[at]);
	}
	for (uint32_t i = 0; i < operator->listed; i++)
		living->sizes[i] = (struct st_torch_sizes){
			operator->sizes[i].sizes,
			operator->sizes[i].sizes + operator->sizes[i].dimensions, NULL};
	living->truth = (struct st_torch_truth){.thread = operator->thread,
						.inputs = operator->inputs,
						.sequence_next = operator->next,
						.dtype = operator->dtype,
						.listed = operator->listed,
						.sizes = living->sizes};
}

static void bury(struct living *living)
{
	for (uint32_t i = 0; i < OBJECTS_MAX; i++)
		free(living->object[i]);
}

static bool learn(struct st_torch_learner *learner, struct st_torch_memory_layout *layout)
{
	for (uint32_t i = 0; i < SINGLE; i++) {
		struct living living;

		bring_to_life(&living, &recorded_operators[i]);
		st_torch_learn(learner, living.object[0], &living.truth);
		bury(&living);
	}
	return st_torch_learned(learner, layout);
}

static void test_right(void **state)
{
	struct st_torch_learner learner;
	struct st_torch_memory_layout layout;

	(void)state;
	st_torch_learner_init(&learner, NULL);
	assert_true(learn(&learner, &layout));
	assert_string_equal(layout.record->name, "pre-cxx11");
	assert_int_equal(layout.sizes, 64);
	for (uint32_t i = 0; i < SINGLE; i++) {
		const struct recorded_operator *operator= & recorded_operators[i];
		struct st_operator_inputs inputs;
		struct living living;
		uint8_t bytes[256];

		bring_to_life(&living, operator);
		inputs = st_torch_inputs_encode(&layout, living.object[0], bytes, sizeof(bytes));
		assert_int_equal(inputs.count, operator->inputs);
		assert_int_equal(bytes[0], ST_INPUT_TENSOR);
		assert_int_equal(bytes[1], operator->dtype);
		assert_int_equal(bytes[2], operator->sizes[0].dimensions);
		for (uint32_t k = 0; k < operator->sizes[0].dimensions; k++)
			assert_int_equal(bytes[3 + k], 2 * operator->sizes[0].sizes[k]);
		bury(&living);
	}
}

/* Each of these is what a release that is built otherwise would look like to us. */
static void test_wrong(void **state)
{
	struct st_torch_learner learner;
	struct st_torch_memory_layout layout;
	struct living living;

	(void)state;
	/* Read as the wheels of today are built. */
	st_torch_learner_init(&learner, NULL);
	learner.rows = 1;
	assert_false(learn(&learner, &layout));
	assert_true(learner.refused);
	/* A tensor has its sizes elsewhere. */
	st_torch_learner_init(&learner, NULL);
	learner.offsets &= ~(1u << (64 - 8) / 8);
	assert_false(learn(&learner, &layout));
	assert_true(learner.refused);
	/* A word more, or less, at the head of a record. */
	for (int shift = -8; shift <= 8; shift += 16) {
		st_torch_learner_init(&learner, NULL);
		for (uint32_t i = 0; i < SINGLE; i++) {
			char moved[512] = {0};

			bring_to_life(&living, &recorded_operators[i]);
			memcpy(moved + 16 + shift, living.object[0], 320);
			st_torch_learn(&learner, moved + 16, &living.truth);
			bury(&living);
		}
		assert_true(learner.refused);
		assert_false(st_torch_learned(&learner, &layout));
	}
}

static void test_list(void **state)
{
	struct st_torch_list_learner lists = {0};
	struct st_torch_learner learner;
	struct st_torch_memory_layout layout;
	struct living living;

	(void)state;
	st_torch_learner_init(&learner, NULL);
	assert_true(learn(&learner, &layout));
	bring_to_life(&living, &recorded_operators[LIST]);
	assert_true(st_torch_has_list(&layout, living.object[0]));
	for (int i = 0; i < 2; i++)
		st_torch_learn_list(&lists, &layout, living.object[0], &living.truth);
	assert_int_equal(layout.list, 16);
	bury(&living);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
