// SPDX-License-Identifier: Apache-2.0
//
// Rules of findings against loops laid out by hand, whose savings are known to the nanosecond.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/findings/findings.h"
#include "analyze/findings/recording_cost.h"
#include "base/arena.h"
#include "fake_result.h"
#include "format/operator.h"

enum { STEPS = 10, STEP_NS = 1000000, PAIR_NS = 20 };

static struct st_result *fake;
static struct st_findings findings;
static struct st_arena arena;
static uint32_t step_label, operator_label, inner_label, primitive_label;

static int setup(void **state)
{
	(void)state;
	fake = fake_create();
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	fake->info.event_cost_ns_x1000 = PAIR_NS * 1000;
	fake->info.fresh_mib_ns = 3000;
	fake->info.path = "my results/r000op";
	step_label = fake_label(fake, ST_RANGE_DOMAIN, "step");
	inner_label = fake_label(fake, ST_OPERATOR_DOMAIN, "aten::_local_scalar_dense");
	primitive_label = fake_label(fake, "dnnl::primitive::execute", "inner_product");
	st_arena_init(&arena, SIZE_MAX / 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	st_arena_fini(&arena);
	fake_destroy(fake);
	return 0;
}

/* An operator of 800 us in a step of 1 ms. */
static uint32_t put_step(uint32_t number, uint32_t *operator)
{
	int64_t at = (int64_t)number * STEP_NS;
	uint32_t step = fake_slice(fake, step_label, at, at + STEP_NS, ST_NO_ROW);

	*operator= fake_slice(fake, operator_label, at + 100000, at + 900000, step);
	return step;
}

static void sign(uint32_t row, uint32_t signature)
{
	fake->operators[fake->operator_count++] = (struct st_operator){
		.row = row, .signature = signature, .sequence = ST_NO_SEQUENCE};
	if (signature >= fake->signature_count)
		fake->signature_count = signature + 1;
	fake->signatures[signature] = (struct st_signature){
		.name = fake->labels[operator_label].name, .flags = ST_SIGNATURE_INPUTS};
}

static const struct st_finding *find(const char *rule)
{
	const struct st_report_options options = {0};
	struct st_error err = {0};

	fake_finish(fake);
	if (st_findings_make(&findings, fake, &options, &arena, &err))
		fail_msg("%s", err.text);
	assert_true(findings.step_count >= STEPS - 2);
	assert_int_equal(findings.step_ns, STEP_NS);
	for (uint32_t i = 0; i < findings.count; i++)
		if (!strcmp(findings.items[i].rule, rule))
			return &findings.items[i];
	return NULL;
}

/* Two operators a step were recorded: what that took is nobody's saving. */
static void test_recording_is_subtracted(void **state)
{
	const struct st_finding *found;
	uint32_t row;

	(void)state;
	operator_label = fake_label(fake, ST_OPERATOR_DOMAIN, "aten::item");
	for (uint32_t i = 0; i < STEPS; i++) {
		put_step(i, &row);
		fake_slice(fake, inner_label, fake->begin_ns[row] + 10, fake->end_ns[row] - 10,
			   row);
	}
	found = find("scalar-reads");
	assert_non_null(found);
	assert_int_equal(found->evidence_ns, 800000);
	assert_int_equal(found->saving_high_ns, 800000 - 2 * ST_PAIRS_A_NAME * PAIR_NS);
	assert_int_equal(found->saving_low_ns, found->saving_high_ns);
	/* It is typed into a shell. */
	assert_non_null(strstr(found->command, " -r 'my results/r000op'"));
}

static void test_unknown_cost_is_a_bound(void **state)
{
	const struct st_finding *found;
	uint32_t row;

	(void)state;
	fake->info.event_cost_ns_x1000 = 0;
	operator_label = fake_label(fake, ST_OPERATOR_DOMAIN, "aten::item");
	for (uint32_t i = 0; i < STEPS; i++)
		put_step(i, &row);
	found = find("scalar-reads");
	assert_non_null(found);
	assert_int_equal(found->saving_low_ns, 0);
	assert_int_equal(found->saving_high_ns, 800000);
}

/* Ten reads of 2 us a step, 80 us apart, in this range; between them an operator of this name for 70 us. */
static const struct st_finding *find_reads(const char *range, const char *between)
{
	uint32_t range_label = fake_label(fake, ST_RANGE_DOMAIN, range);
	uint32_t between_label = fake_label(fake, ST_OPERATOR_DOMAIN, between);
	uint32_t item_label = fake_label(fake, ST_OPERATOR_DOMAIN, "aten::item");

	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = (int64_t)i * STEP_NS;
		uint32_t step = fake_slice(fake, step_label, at, at + STEP_NS, ST_NO_ROW);
		uint32_t inside =
			fake_slice(fake, range_label, at + 1000, at + STEP_NS - 1000, step);

		for (uint32_t read = 0; read < 10; read++) {
			at = (int64_t)i * STEP_NS + 2000 + read * 80000;
			fake_slice(fake, item_label, at, at + 2000, inside);
			fake_slice(fake, between_label, at + 5000, at + 75000, inside);
		}
	}
	return find("scalar-reads");
}

/* An optimizer reads a number for each parameter, and works in between: that is no cost of reading. */
static void test_reads_of_an_optimizer(void **state)
{
	(void)state;
	assert_null(find_reads("Optimizer.step#Adam.step", "aten::mul_"));
}

/* A loop that does nothing but read costs all of its time. */
static void test_reads_in_a_loop(void **state)
{
	const struct st_finding *found = find_reads("evaluation", "aten::select");

	(void)state;
	assert_non_null(found);
	assert_int_equal(found->evidence_ns, 9 * 80000 + 2000);
	assert_non_null(strstr(found->what, "10 single values outside the optimizer"));
}

static void test_a_loop_in_an_optimizer_is_the_optimizers(void **state)
{
	const struct st_finding *found = find_reads("Optimizer.step#Mine.step", "aten::select");

	(void)state;
	assert_non_null(found);
	assert_string_equal(found->where, "Optimizer.step#Mine.step");
	assert_non_null(strstr(found->what, "by the optimizer (Optimizer.step#Mine.step)"));
	assert_non_null(strstr(found->remedy, "fused=True"));
}

/* Most of a step are short operators of an optimizer: it can be told to take fewer. */
static void test_short_operators_of_an_optimizer(void **state)
{
	uint32_t range_label = fake_label(fake, ST_RANGE_DOMAIN, "Optimizer.step#Adam.step");
	uint32_t label = fake_label(fake, ST_OPERATOR_DOMAIN, "aten::mul_");
	const struct st_finding *found;

	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = (int64_t)i * STEP_NS;
		uint32_t step = fake_slice(fake, step_label, at, at + STEP_NS, ST_NO_ROW);
		uint32_t inside =
			fake_slice(fake, range_label, at + 1000, at + STEP_NS - 1000, step);

		for (uint32_t j = 0; j < 120; j++)
			fake_slice(fake, label, at + 2000 + j * 8000, at + 8000 + j * 8000, inside);
	}
	found = find("tiny-operators");
	assert_non_null(found);
	assert_string_equal(found->where, "Optimizer.step#Adam.step");
	assert_non_null(strstr(found->remedy, "foreach=True"));
}

/* The same time is doubles, reads and new memory: remedies do not save it three times. */
static void test_savings_fit_into_a_step(void **state)
{
	static const uint8_t tensor[] = {ST_INPUT_TENSOR, 7, 1, 2 * 5};
	uint64_t sum_ns = 0;
	uint32_t row;

	(void)state;
	fake->info.fresh_mib_ns = 9000;
	operator_label = fake_label(fake, ST_OPERATOR_DOMAIN, "aten::item");
	for (uint32_t i = 0; i < STEPS; i++) {
		put_step(i, &row);
		sign(row, 0);
		fake->moments[fake->moment_count++] =
			(struct st_memory_moment){.time_ns = fake->begin_ns[row] + 1,
						  .row = row,
						  .allocated = (uint64_t)64 << 20,
						  .address = 0x1000};
		fake->moments[fake->moment_count++] =
			(struct st_memory_moment){.time_ns = fake->end_ns[row] + 1,
						  .row = ST_NO_ROW,
						  .freed = (uint64_t)64 << 20,
						  .address = 0x1000};
	}
	fake->signatures[0].inputs = tensor;
	fake->signatures[0].inputs_bytes = sizeof(tensor);
	fake->signatures[0].input_count = 1;
	assert_non_null(find("scalar-reads"));
	assert_true(findings.count >= 2);
	for (uint32_t i = 0; i < findings.count; i++) {
		assert_true(findings.items[i].saving_low_ns <= findings.items[i].saving_high_ns);
		sum_ns += findings.items[i].saving_high_ns;
	}
	/* The operators; what a step does beside them is no double and no read. */
	assert_true(sum_ns <= 800000);
}

/* Each operator runs a primitive for 100 us. */
static const struct st_finding *find_churn(bool is_new_each_time)
{
	uint32_t row;

	operator_label = fake_label(fake, ST_OPERATOR_DOMAIN, "aten::addmm");
	for (uint32_t i = 0; i < STEPS; i++) {
		put_step(i, &row);
		sign(row, is_new_each_time ? i : 0);
		fake_slice(fake, primitive_label, fake->begin_ns[row] + 700000, fake->end_ns[row],
			   row);
	}
	return find("shape-churn");
}

static void test_new_sizes(void **state)
{
	const struct st_finding *found = find_churn(true);

	(void)state;
	assert_non_null(found);
	/* Less the 10 us that an operator needs anyway. */
	assert_int_equal(found->saving_high_ns, 690000);
	assert_int_equal(found->saving_low_ns, 690000);
	assert_string_equal(found->where, "aten::addmm");
}

static void test_one_size(void **state)
{
	(void)state;
	assert_null(find_churn(false));
}

static const struct st_finding *find_fresh(uint64_t bytes)
{
	uint32_t row;

	operator_label = fake_label(fake, ST_OPERATOR_DOMAIN, "aten::mul");
	for (uint32_t i = 0; i < STEPS; i++) {
		put_step(i, &row);
		fake->moments[fake->moment_count++] =
			(struct st_memory_moment){.time_ns = fake->begin_ns[row] + 1,
						  .row = row,
						  .allocated = bytes,
						  .address = 0x1000};
		fake->moments[fake->moment_count++] =
			(struct st_memory_moment){.time_ns = fake->end_ns[row] + 1,
						  .row = ST_NO_ROW,
						  .freed = bytes,
						  .address = 0x1000};
	}
	return find("allocation-churn");
}

static void test_fresh_memory(void **state)
{
	const struct st_finding *found = find_fresh((uint64_t)64 << 20);

	(void)state;
	assert_non_null(found);
	/* 64 MiB at 3 us, and a third more because they are cold. */
	assert_int_equal(found->saving_high_ns, 256000);
	assert_string_equal(found->where, "aten::mul");
}

/* The C library keeps what is smaller. */
static void test_kept_memory(void **state)
{
	(void)state;
	fake->info.fresh_mib_ns = 30000;
	assert_null(find_fresh((uint64_t)31 << 20));
}

/* 800 us of an operator on doubles in each step, within a range of this name. */
static const struct st_finding *find_doubles(const char *range, const char *name)
{
	static const uint8_t tensor[] = {ST_INPUT_TENSOR, 7, 1, 2 * 5};
	uint32_t row;

	step_label = fake_label(fake, ST_RANGE_DOMAIN, range);
	operator_label = fake_label(fake, ST_OPERATOR_DOMAIN, name);
	for (uint32_t i = 0; i < STEPS; i++) {
		put_step(i, &row);
		sign(row, 0);
	}
	fake->signatures[0].inputs = tensor;
	fake->signatures[0].inputs_bytes = sizeof(tensor);
	fake->signatures[0].input_count = 1;
	return find("double-precision");
}

static void test_doubles(void **state)
{
	const struct st_finding *found = find_doubles("convergence step", "aten::mm");

	(void)state;
	assert_non_null(found);
	assert_int_equal(found->saving_high_ns, 400000);
	assert_null(strstr(found->what, "convolutions"));
}

static void test_convolutions_of_doubles(void **state)
{
	const struct st_finding *found = find_doubles("step", "aten::convolution");

	(void)state;
	assert_non_null(found);
	assert_in_range(found->saving_high_ns, 533330, 533334);
	assert_non_null(strstr(found->what, "convolutions"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_recording_is_subtracted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_cost_is_a_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reads_of_an_optimizer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reads_in_a_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short_operators_of_an_optimizer, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_loop_in_an_optimizer_is_the_optimizers,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_savings_fit_into_a_step, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_size, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fresh_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_convolutions_of_doubles, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
