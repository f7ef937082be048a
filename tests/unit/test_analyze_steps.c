// SPDX-License-Identifier: Apache-2.0
//
// Steps: where they are found, and that every nanosecond of one belongs to exactly one part, against loops laid out by
// hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/steps/step_list.h"
#include "fake_result.h"
#include "format/device_record.h"
#include "format/operator.h"

static struct st_result *fake;
static struct st_step_list list;
static struct st_dataset dataset;

static int setup(void **state)
{
	(void)state;
	fake = fake_create();
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	st_step_list_fini(&list);
	st_dataset_slices_fini(&dataset);
	fake_destroy(fake);
	return 0;
}

/* A slice by the first letter of what it is: o an operator, r a range, m a module, i an ITT task of PyTorch's, p a
 * primitive, d a call that drives a device, u a task of the user's. */
static uint32_t put(const char *what, int64_t begin_ns, int64_t end_ns, uint32_t parent)
{
	const char *domain = what[0] == 'o'   ? ST_OPERATOR_DOMAIN
			     : what[0] == 'r' ? ST_RANGE_DOMAIN
			     : what[0] == 'm' ? ST_MODULE_DOMAIN
			     : what[0] == 'i' ? "PyTorch"
			     : what[0] == 'p' ? "dnnl::primitive"
			     : what[0] == 'd' ? ST_RUNTIME_DOMAIN
					      : "app";
	uint32_t label = ST_NO_ROW;

	for (uint32_t i = 0; i < fake->label_count; i++)
		if (strcmp(fake->texts[fake->labels[i].name].bytes, what + 2) == 0 &&
		    strcmp(fake->texts[fake->labels[i].domain].bytes, domain) == 0)
			label = i;
	if (label == ST_NO_ROW)
		label = fake_label(fake, domain, what + 2);
	return fake_slice(fake, label, begin_ns, end_ns, parent);
}

static void find(void)
{
	struct st_error err = {0};

	fake_finish(fake);
	assert_int_equal(st_dataset_slices_init(&dataset, fake, NULL), ST_OK);
	if (st_step_list_make(&list, &dataset, fake, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < list.count; i++) {
		uint64_t sum = 0;

		for (unsigned int part = 0; part < ST_STEP_PART_KINDS; part++)
			sum += list.steps[i].part_ns[part];
		assert_int_equal(sum, list.steps[i].wall_ns);
	}
}

static void check(uint32_t step, const int64_t times[2], const uint64_t parts[ST_STEP_PART_KINDS])
{
	assert_true(step < list.count);
	assert_int_equal(list.steps[step].begin_ns, times[0]);
	assert_int_equal(list.steps[step].end_ns, times[1]);
	for (unsigned int i = 0; i < ST_STEP_PART_KINDS; i++)
		if (list.steps[step].part_ns[i] != parts[i])
			fail_msg("step %u: %s is %lu, not %lu", step, st_step_part_names[i],
				 list.steps[step].part_ns[i], parts[i]);
}

#define AT(begin, end) ((const int64_t[2]){begin, end})
#define PARTS(data, forward, backward, optimizer, other)                                           \
	((const uint64_t[ST_STEP_PART_KINDS]){data, forward, backward, optimizer, 0, other})

/* 1 ms: 100 µs of data, 50 + 200 + 100 forward, 300 backward, 50 + 100 of the optimizer, 100 the rest. */
static void put_training(int64_t at, uint32_t parent)
{
	const char *node = "o autograd::engine::evaluate_function: AddmmBackward0";
	uint32_t row = put("r enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at,
			   at + 100000, parent);

	put("o aten::stack", at + 50000, at + 90000, row);
	put("r Optimizer.zero_grad#Adam.zero_grad", at + 100000, at + 150000, parent);
	put("o aten::to", at + 150000, at + 200000, parent);
	row = put("m Net", at + 200000, at + 400000, parent);
	put("o aten::addmm", at + 250000, at + 350000, row);
	put("p inner_product", at + 300000, at + 340000, fake->slices.count - 1);
	put("o aten::sum", at + 400000, at + 500000, parent);
	/* Between nodes the engine is at work for 10 µs; before the first it is Python's call of it. */
	row = put(node, at + 540000, at + 640000, parent);
	put("o AddmmBackward0", at + 550000, at + 630000, row);
	row = put(node, at + 650000, at + 840000, parent);
	put("m Net", at + 700000, at + 800000, row); /* computed once more */
	put("o aten::linalg_vector_norm", at + 850000, at + 870000, parent);
	row = put("r Optimizer.step#Adam.step", at + 900000, at + 1000000, parent);
	put("o aten::_foreach_add_", at + 910000, at + 950000, row);
}

static const uint64_t training[ST_STEP_PART_KINDS] = {100000, 350000, 300000, 150000, 0, 100000};

static void test_steps_end_with_the_optimizer(void **state)
{
	uint32_t epoch;

	(void)state;
	put("o aten::uniform_", 0, 1000, ST_NO_ROW);
	epoch = put("r some epoch of mine", 5000, 10000000, ST_NO_ROW);
	for (int i = 0; i < 5; i++)
		put_training(100000 + 1000000 * i, epoch);
	find();
	assert_int_equal(list.source, ST_STEPS_OPTIMIZER);
	assert_memory_equal(list.what.bytes, "Optimizer.step#Adam.step", 24);
	assert_int_equal(list.count, 5);
	assert_int_equal(list.warm_up_count, 0);
	for (int i = 0; i < 5; i++)
		check((uint32_t)i, AT(100000 + 1000000 * i, 1100000 + 1000000 * i), training);
}

/* The same as ITT tasks tell it: no modules, so that only what they hold is forward. */
static void test_itt_tasks_tell_parts_too(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		int64_t at = 1000 * i;

		put("i aten::mul", at + 100, at + 200, ST_NO_ROW);
		put("i autograd::engine::evaluate_function: MulBackward0", at + 300, at + 500,
		    ST_NO_ROW);
		put("i Optimizer.step#SGD.step", at + 600, at + 1000, ST_NO_ROW);
	}
	find();
	assert_int_equal(list.source, ST_STEPS_OPTIMIZER);
	assert_int_equal(list.count, 4);
	check(0, AT(100, 1000), PARTS(0, 100, 200, 400, 200));
	check(2, AT(2000, 3000), PARTS(0, 100, 200, 400, 300));
}

static void test_torchs_own_steps_come_first(void **state)
{
	uint32_t step;
	char name[32] = "r ProfilerStep#0";

	(void)state;
	for (int i = 0; i < 4; i++) {
		name[15] = (char)('3' + i);
		step = put(name, 1200000 * i, 1200000 * i + 1100000, ST_NO_ROW);
		put_training(1200000 * i + 50000, step);
	}
	/* One that was begun and is none. */
	put("r ProfilerStep#7", 4800000, 4801000, ST_NO_ROW);
	find();
	assert_int_equal(list.source, ST_STEPS_PROFILER);
	assert_int_equal(list.count, 4);
	check(1, AT(1200000, 2300000), PARTS(100000, 350000, 300000, 150000, 200000));
	assert_false(st_step_list_is_timed(&list));
}

static void test_a_loader_begins_steps(void **state)
{
	const char *next = "r enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

	(void)state;
	for (int i = 0; i < 4; i++) {
		put(next, 1000 * i, 1000 * i + 200, ST_NO_ROW);
		put("o aten::conv2d", 1000 * i + 300, 1000 * i + 700, ST_NO_ROW);
		put("o aten::item", 1000 * i + 750, 1000 * i + 800, ST_NO_ROW);
	}
	put(next, 4000, 4010, ST_NO_ROW); /* no more */
	find();
	assert_int_equal(list.source, ST_STEPS_DATA);
	assert_int_equal(list.count, 4);
	check(3, AT(3000, 4000), PARTS(200, 450, 0, 0, 350));
}

static void test_a_model_begins_steps(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		uint32_t net = put("m Net", 1000 * i, 1000 * i + 600, ST_NO_ROW);

		put("m Net.layer", 1000 * i + 100, 1000 * i + 200, net);
		put("m Net.layer", 1000 * i + 300, 1000 * i + 400, net);
		put("o aten::argmax", 1000 * i + 700, 1000 * i + 800, ST_NO_ROW);
	}
	find();
	assert_int_equal(list.source, ST_STEPS_MODULE);
	assert_int_equal(list.count, 5);
	check(1, AT(1000, 2000), PARTS(0, 700, 0, 0, 300));
	check(4, AT(4000, 4800), PARTS(0, 700, 0, 0, 100));
}

/* Layers repeat inside of a step; one step in twelve writes a log. */
static void test_operators_that_repeat(void **state)
{
	int64_t at = 0;

	(void)state;
	put("o aten::normal_", at, at + 10, ST_NO_ROW);
	for (int i = 0; i < 240; i++) {
		at = 1000 * (i + 1);
		put("o aten::embedding", at, at + 50, ST_NO_ROW);
		for (int layer = 0; layer < 3; layer++) {
			put("o aten::linear", at + 100 + 100 * layer, at + 150 + 100 * layer,
			    ST_NO_ROW);
			put("o aten::relu", at + 150 + 100 * layer, at + 190 + 100 * layer,
			    ST_NO_ROW);
		}
		put("o aten::softmax", at + 500, at + 600, ST_NO_ROW);
		if (i % 12 == 7)
			put("o aten::item", at + 700, at + 750, ST_NO_ROW);
	}
	find();
	assert_int_equal(list.source, ST_STEPS_PATTERN);
	assert_memory_equal(list.what.bytes, "aten::embedding", 15);
	assert_int_equal(list.count, 240);
	check(0, AT(1000, 2000), PARTS(0, 50 + 270 + 100, 0, 0, 580));
	check(7, AT(8000, 9000), PARTS(0, 50 + 270 + 100 + 50, 0, 0, 530));
	assert_true(st_step_list_is_timed(&list));
	assert_int_equal(st_step_at(&list, fake, 0, 999), ST_NO_ROW);
	assert_int_equal(st_step_at(&list, fake, 0, 1000), 0);
	assert_int_equal(st_step_at(&list, fake, 0, 8999), 7);
	assert_int_equal(st_step_at(&list, fake, 0, 300000), ST_NO_ROW);
}

/* The first operator of a round occurs twice in it. */
static void test_rounds_begin_where_they_begin(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		put("o aten::mm", 1000 * i, 1000 * i + 100, ST_NO_ROW);
		put("o aten::relu", 1000 * i + 100, 1000 * i + 200, ST_NO_ROW);
		put("o aten::mm", 1000 * i + 200, 1000 * i + 300, ST_NO_ROW);
		put("o aten::sum", 1000 * i + 300, 1000 * i + 400, ST_NO_ROW);
	}
	find();
	assert_int_equal(list.count, 6);
	assert_memory_equal(list.what.bytes, "aten::mm", 8);
	check(2, AT(2000, 3000), PARTS(0, 400, 0, 0, 600));
	check(5, AT(5000, 5400), PARTS(0, 400, 0, 0, 0));
}

static void test_what_is_no_loop(void **state)
{
	static const char *const names[] = {"o a::a", "o a::b", "o a::c", "o a::d", "o a::e"};

	(void)state;
	for (uint32_t i = 0; i < 60; i++) /* no two rounds are alike */
		put(names[(i * i / 3 + i / 7) % 5], 10 * i, 10 * i + 9, ST_NO_ROW);
	for (uint32_t i = 60; i < 90; i++) /* one operator alone is no step */
		put("o a::f", 10 * i, 10 * i + 9, ST_NO_ROW);
	find();
	assert_int_equal(list.count, 0);
	assert_int_equal(list.source, ST_STEPS_NONE);
}

static void test_warm_up_is_left_out(void **state)
{
	struct st_step_figures figures;
	int64_t at = 0;

	(void)state;
	for (int i = 0; i < 12; i++) {
		int64_t length = i == 0 ? 90000 : i == 1 ? 2000 : i == 6 ? 5000 : 1000;

		put("r my step", at, at + length, ST_NO_ROW);
		put("o aten::mm", at + 100, at + 400, fake->slices.count - 1);
		at += length;
	}
	find();
	assert_int_equal(list.source, ST_STEPS_NAMED);
	assert_int_equal(list.warm_up_count, 2);
	assert_true(list.steps[0].is_warm_up && list.steps[1].is_warm_up);
	assert_false(list.steps[6].is_warm_up);
	assert_int_equal(st_step_figures_make(&list, &figures, NULL), ST_OK);
	assert_int_equal(figures.count, 10);
	assert_int_equal(figures.wall_ns, 9 * 1000 + 5000);
	assert_int_equal(figures.took.median, 1000);
	assert_int_equal(figures.took.p99, 5000);
	assert_int_equal(figures.part_ns[ST_STEP_FORWARD], 10 * 300);
}

/* Paused time is in no part. */
static void test_pauses_in_steps(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		put("o aten::mm", 1000 * i, 1000 * i + 500, ST_NO_ROW);
		put("r Optimizer.step#SGD.step", 1000 * i + 600, 1000 * i + 1000, ST_NO_ROW);
	}
	fake->pauses[fake->pause_count++] =
		(struct st_pause_window){.process = 0, .begin_ns = 1400, .end_ns = 1700};
	find();
	assert_int_equal(list.steps[1].wall_ns, 700);
	check(1, AT(1000, 2000), PARTS(0, 400, 0, 300, 0));
}

/* Waits for a device are a part of their own, in an operator and between two, and tell no steps. */
static void test_waits_for_a_device(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		put("o aten::item", 1000 * i, 1000 * i + 300, ST_NO_ROW);
		put("d cudaLaunchKernel", 1000 * i + 10, 1000 * i + 60, fake->slices.count - 1);
		put("d cudaStreamSynchronize", 1000 * i + 100, 1000 * i + 250,
		    fake->slices.count - 2);
		put("d cudaDeviceSynchronize", 1000 * i + 350, 1000 * i + 420, ST_NO_ROW);
		put("r Optimizer.step#SGD.step", 1000 * i + 500, 1000 * i + 900, ST_NO_ROW);
	}
	find();
	assert_int_equal(list.count, 4);
	check(1, AT(900, 1900),
	      ((const uint64_t[ST_STEP_PART_KINDS]){0, 150, 0, 400, 150 + 70, 230}));
}

/* A twin around an operator does not make it two. */
static void test_twins_change_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		uint32_t twin = put("i aten::mm", 1000 * i, 1000 * i + 300, ST_NO_ROW);

		fake->flags[twin] = ST_SLICE_TWIN;
		put("o aten::mm", 1000 * i + 10, 1000 * i + 290, twin);
		put("r Optimizer.step#SGD.step", 1000 * i + 500, 1000 * i + 900, ST_NO_ROW);
		twin = put("i Optimizer.step#SGD.step", 1000 * i + 510, 1000 * i + 890,
			   fake->slices.count - 1);
		fake->flags[twin] = ST_SLICE_TWIN;
	}
	find();
	assert_int_equal(list.count, 4);
	check(1, AT(900, 1900), PARTS(0, 300, 0, 400, 300));
}

/* Other threads of the process take part in its steps. */
static void test_steps_of_other_threads(void **state)
{
	struct st_question question = {.groupings = {ST_BY_STEP}, .grouping_count = 1};
	struct st_answer answer;

	(void)state;
	for (int i = 0; i < 3; i++)
		put_training(1000000 * i, ST_NO_ROW);
	fake_track(fake, 0, "helper", 101);
	put("u work", 1500000, 1600000, ST_NO_ROW);
	put("u work", 9000000, 9600000, ST_NO_ROW);
	find();
	assert_int_equal(st_dataset_prepare(&dataset, &question, NULL), ST_OK);
	assert_int_equal(st_dataset_ask(&dataset, &question, &answer, NULL), ST_OK);
	assert_int_equal(answer.root_count, 4);
	for (uint32_t i = 0; i < answer.root_count; i++) {
		const struct st_answer_row *row = &answer.rows[answer.root_first + i];
		uint64_t expected = memcmp(row->text.bytes, "step 1", 6) == 0  ? 15 + 1
				    : memcmp(row->text.bytes, "step ", 5) == 0 ? 15
									       : 1;

		assert_int_equal(st_answer_value(row, ST_COUNT), expected);
	}
	st_answer_fini(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_steps_end_with_the_optimizer),
		TEST(test_itt_tasks_tell_parts_too),
		TEST(test_torchs_own_steps_come_first),
		TEST(test_a_loader_begins_steps),
		TEST(test_a_model_begins_steps),
		TEST(test_operators_that_repeat),
		TEST(test_rounds_begin_where_they_begin),
		TEST(test_what_is_no_loop),
		TEST(test_warm_up_is_left_out),
		TEST(test_pauses_in_steps),
		TEST(test_waits_for_a_device),
		TEST(test_twins_change_nothing),
		TEST(test_steps_of_other_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
