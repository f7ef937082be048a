// SPDX-License-Identifier: Apache-2.0
//
// Operators: which slices they are, whose time and memory is whose, and which module they belong to, against numbers
// counted by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/operators/dataset_operators.h"
#include "analyze/tables/report.h"
#include "fake_inputs.h"
#include "fake_result.h"

struct made {
	struct st_result *fake;
	uint8_t inputs[FAKE_SMALL][FAKE_INPUTS_BYTES_MAX];
};

static uint32_t signature(struct made *made, const char *name, uint32_t scope, const char *inputs)
{
	struct st_result *fake = made->fake;
	uint32_t id = fake->signature_count++;

	fake->signatures[id] = (struct st_signature){
		.name = fake_text(fake, name),
		.scope = scope,
		.flags = inputs ? ST_SIGNATURE_INPUTS : 0,
		.inputs = made->inputs[id],
		.inputs_bytes = inputs ? fake_inputs(inputs, made->inputs[id]) : 0};
	return id;
}

/* An operator, range or module (by scope); rows in order. */
static uint32_t add(struct made *made, const char *name, uint32_t scope, const char *inputs,
		    int64_t times[2], uint32_t parent)
{
	struct st_result *fake = made->fake;
	const char *domain = scope == ST_SCOPE_USER	? ST_RANGE_DOMAIN
			     : scope == ST_SCOPE_MODULE ? ST_MODULE_DOMAIN
							: ST_OPERATOR_DOMAIN;
	uint32_t row = fake_slice(fake, fake_label(fake, domain, name), times[0], times[1], parent);

	fake->operators[fake->operator_count++] =
		(struct st_operator){.row = row,
				     .signature = signature(made, name, scope, inputs),
				     .sequence = ST_NO_SEQUENCE};
	return row;
}

#define AT(begin, end) ((int64_t[2]){begin, end})

static struct st_operator *known(struct made *made, uint32_t row)
{
	for (uint32_t i = 0; i < made->fake->operator_count; i++)
		if (made->fake->operators[i].row == row)
			return &made->fake->operators[i];
	return NULL;
}

static void begin(struct made *made)
{
	made->fake = fake_create();
	fake_process(made->fake, "train.py", 100);
	fake_track(made->fake, 0, "", 100);
}

static struct st_report ask(struct made *made, struct st_report_options options)
{
	struct st_report report;
	struct st_error err = {0};

	if (st_report_build(made->fake, "operators", &options, &report, &err))
		fail_msg("%s", err.text);
	return report;
}

static uint32_t column(const struct st_report *report, const char *key)
{
	for (uint32_t i = 0; i < report->column_count; i++)
		if (strcmp(report->columns[i].key, key) == 0)
			return i;
	fail_msg("no column %s", key);
	return 0;
}

/* The cell of the row whose first, or second, key is that text; NULL: the totals. */
static struct st_cell cell(const struct st_report *report, const char *name, const char *key)
{
	uint32_t at = column(report, key);

	if (!name)
		return report->totals.cells[at];
	for (uint32_t i = 0; i < report->row_count; i++) {
		for (uint32_t j = 0; j < report->group_by_count; j++) {
			struct st_cell text = report->rows[i].cells[j];

			if (text.kind == ST_CELL_TEXT && text.as.text.size_bytes == strlen(name) &&
			    memcmp(text.as.text.bytes, name, strlen(name)) == 0)
				return report->rows[i].cells[at];
		}
	}
	fail_msg("no row %s", name);
	return report->rows[0].cells[at];
}

static void expect(const struct st_report *report, const char *name, const char *key,
		   uint64_t value)
{
	struct st_cell found = cell(report, name, key);

	if (found.kind != ST_CELL_U64 || found.as.u64 != value)
		fail_msg("%s of %s: %llu, not %llu", key, name ? name : "all",
			 (unsigned long long)found.as.u64, (unsigned long long)value);
}

/* A range with a module in it, a linear with its addmm, in which oneDNN runs a primitive; then an add in an add. */
static void make_forward(struct made *made)
{
	uint32_t range, module, linear, addmm, outer, primitive;

	begin(made);
	range = add(made, "step", ST_SCOPE_USER, "", AT(0, 1000), ST_NO_ROW);
	module = add(made, "model.fc", ST_SCOPE_MODULE, NULL, AT(100, 700), range);
	linear = add(made, "aten::linear", ST_SCOPE_FUNCTION, "f2,3 f4,3 f4", AT(150, 650), module);
	addmm = add(made, "aten::addmm", ST_SCOPE_FUNCTION, "f4 f2,3 f3,4 s s", AT(200, 600),
		    linear);
	primitive = fake_slice(made->fake, fake_label(made->fake, "dnnl::primitive", "matmul"), 300,
			       500, addmm);
	outer = add(made, "aten::add", ST_SCOPE_FUNCTION, "f2,4 f4 s", AT(800, 900), range);
	add(made, "aten::add", ST_SCOPE_FUNCTION, "f2,4 f4 s", AT(820, 880), outer);
	add(made, "aten::relu", ST_SCOPE_FUNCTION, "i5", AT(2000, 2050), ST_NO_ROW);
	known(made, addmm)->allocated = 64;
	known(made, addmm)->freed = 16;
	known(made, linear)->allocated = 8;
	known(made, outer)->allocated = 32;
	/* A slice that is no operator took memory: it is the operator's around it. By row. */
	memmove(&made->fake->operators[5], &made->fake->operators[4],
		(made->fake->operator_count - 4) * sizeof(struct st_operator));
	made->fake->operator_count++;
	made->fake->operators[4] =
		(struct st_operator){primitive, ST_NO_ROW, ST_NO_SEQUENCE, 100, 0, 0, 0};
	made->fake->moments[made->fake->moment_count++] = (struct st_memory_moment){.time_ns = 1};
	fake_finish(made->fake);
}

static void test_times(void **state)
{
	static struct made made;
	struct st_report report;

	(void)state;
	make_forward(&made);
	report = ask(&made, (struct st_report_options){0});
	assert_int_equal(report.row_count, 5);
	/* Neither the primitive nor the module is a row, or takes time from one. */
	expect(&report, "aten::addmm", "wall_self_ns", 400);
	expect(&report, "aten::linear", "wall_self_ns", 100);
	expect(&report, "aten::linear", "wall_total_ns", 500);
	expect(&report, "step", "wall_self_ns", 400);
	expect(&report, "aten::add", "count", 2);
	expect(&report, "aten::add", "wall_total_ns", 100);
	expect(&report, "aten::add", "wall_self_ns", 100);
	expect(&report, "aten::add", "wall_avg_ns", 80);
	/* Outermost: the step and the relu. */
	expect(&report, NULL, "wall_self_ns", 1050);
	expect(&report, NULL, "wall_total_ns", 1050);
	assert_float_equal(cell(&report, "aten::addmm", "self_ratio").as.number, 400.0 / 1050,
			   1e-12);
	assert_float_equal(cell(&report, "aten::linear", "total_ratio").as.number, 500.0 / 1050,
			   1e-12);
	/* By self time. */
	assert_memory_equal(report.rows[4].cells[0].as.text.bytes, "aten::relu", 10);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

static void test_memory(void **state)
{
	static struct made made;
	struct st_report report;

	(void)state;
	make_forward(&made);
	report = ask(&made, (struct st_report_options){0});
	expect(&report, "aten::addmm", "self_allocated_bytes", 164);
	expect(&report, "aten::addmm", "freed_bytes", 16);
	expect(&report, "aten::linear", "self_allocated_bytes", 8);
	expect(&report, "aten::linear", "allocated_bytes", 172);
	expect(&report, "aten::linear", "self_freed_bytes", 0);
	expect(&report, "aten::add", "allocated_bytes", 32); /* once, though two are open */
	expect(&report, "step", "allocated_bytes", 204);
	expect(&report, "step", "self_allocated_bytes", 0);
	expect(&report, NULL, "allocated_bytes", 204);
	expect(&report, NULL, "self_allocated_bytes", 204);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

static void test_work_of_groups(void **state)
{
	static struct made made;
	struct st_report report;
	struct st_report_options by_thread = {
		.question = {.groupings = {ST_BY_THREAD, ST_BY_OPERATOR}, .grouping_count = 2}};

	(void)state;
	make_forward(&made);
	report = ask(&made, by_thread);
	expect(&report, "aten::addmm", "flops", 48);  /* 2 · 2 · 3 · 4 */
	expect(&report, "aten::linear", "flops", 48); /* the same ones */
	expect(&report, "aten::add", "flops", 8);     /* the inner one is the outer one's */
	expect(&report, NULL, "flops", 56);
	assert_int_equal(cell(&report, "step", "flops").kind, ST_CELL_NONE);
	assert_int_equal(cell(&report, "aten::relu", "flops").kind, ST_CELL_NONE); /* integers */
	/* 6 + 12 floats read, 8 written, in 400 ns; linear reads its 4 of bias too. */
	expect(&report, "aten::addmm", "moved_bytes", 104);
	expect(&report, "aten::linear", "moved_bytes", 120);
	assert_float_equal(cell(&report, "aten::addmm", "gflops_per_s").as.number, 0.12, 1e-12);
	assert_float_equal(cell(&report, "aten::addmm", "gbytes_per_s").as.number, 0.26, 1e-12);
	assert_float_equal(cell(&report, "aten::addmm", "flops_per_byte").as.number, 48.0 / 104,
			   1e-12);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

static void test_folding(void **state)
{
	static struct made made;
	struct st_report report;

	(void)state;
	make_forward(&made);
	report = ask(&made, (struct st_report_options){.torch_folding = true});
	expect(&report, "aten::add", "count", 1);
	expect(&report, "aten::add", "wall_self_ns", 100);
	expect(&report, "aten::add", "self_allocated_bytes", 32);
	expect(&report, NULL, "count", 5);
	expect(&report, NULL, "wall_self_ns", 1050);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

/* a(a(a(b), …)) is one with b in it; a(a, b) stays: two children. Helpers of the profiler do not count as children. */
static void test_folding_chain(void **state)
{
	static struct made made;
	struct st_report report;
	uint32_t a;

	(void)state;
	begin(&made);
	a = add(&made, "a", ST_SCOPE_FUNCTION, NULL, AT(0, 100), ST_NO_ROW);
	add(&made, "profiler::_record_function_exit", ST_SCOPE_FUNCTION, NULL, AT(1, 2), a);
	a = add(&made, "a", ST_SCOPE_FUNCTION, NULL, AT(10, 90), a);
	a = add(&made, "a", ST_SCOPE_FUNCTION, NULL, AT(20, 80), a);
	add(&made, "b", ST_SCOPE_FUNCTION, NULL, AT(30, 40), a);
	a = add(&made, "a", ST_SCOPE_FUNCTION, NULL, AT(200, 300), ST_NO_ROW);
	add(&made, "a", ST_SCOPE_FUNCTION, NULL, AT(210, 220), a);
	add(&made, "b", ST_SCOPE_FUNCTION, NULL, AT(230, 240), a);
	fake_finish(made.fake);
	report = ask(&made, (struct st_report_options){.torch_folding = true});
	assert_int_equal(report.row_count, 2);
	expect(&report, "a", "count", 3);
	expect(&report, "a", "wall_self_ns", 90 + 80 + 10);
	expect(&report, "b", "count", 2);
	st_report_fini(&report);
	report = ask(&made, (struct st_report_options){0});
	expect(&report, "a", "count", 5);
	expect(&report, NULL, "count", 8);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

static void test_shapes(void **state)
{
	static struct made made;
	struct st_report report;
	struct st_report_options options = {
		.question = {.groupings = {ST_BY_OPERATOR, ST_BY_INPUT_SHAPES, ST_BY_INPUT_TYPES},
			     .grouping_count = 3}};

	(void)state;
	begin(&made);
	add(&made, "aten::cat", ST_SCOPE_FUNCTION, "L2 f2,3 d300 s", AT(0, 1), ST_NO_ROW);
	add(&made, "aten::cat", ST_SCOPE_FUNCTION, "L2 f2,3 d300 s", AT(1, 2), ST_NO_ROW);
	add(&made, "aten::cat", ST_SCOPE_FUNCTION, "u o f", AT(2, 3), ST_NO_ROW);
	add(&made, "aten::cat", ST_SCOPE_BACKWARD, NULL, AT(3, 4), ST_NO_ROW);
	fake_finish(made.fake);
	report = ask(&made, options);
	expect(&report, "[[[2, 3], [300]], []]", "count", 2);
	expect(&report, "[[float, double], Scalar]", "count", 2);
	expect(&report, "[[], [], []]", "count", 1);
	expect(&report, "[, , float]", "count", 1);
	expect(&report, "[not recorded]", "count", 1);
	st_report_fini(&report);
	options.question.groupings[0] = ST_BY_OPERATOR_SCOPE;
	options.question.grouping_count = 1;
	report = ask(&made, options);
	expect(&report, "function", "count", 3);
	expect(&report, "backward", "count", 1);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

/* Two modules forward, then backward; the node of the first one runs in its wrapper, with an operator inside. */
static void test_modules(void **state)
{
	static struct made made;
	struct st_report_options options = {
		.question = {.groupings = {ST_BY_NN_MODULE, ST_BY_OPERATOR}, .grouping_count = 2}};
	struct st_report report;
	uint32_t model, module, row;

	(void)state;
	begin(&made);
	model = add(&made, "model", ST_SCOPE_MODULE, NULL, AT(0, 100), ST_NO_ROW);
	module = add(&made, "model.0", ST_SCOPE_MODULE, NULL, AT(1, 40), model);
	row = add(&made, "aten::t", ST_SCOPE_FUNCTION, NULL, AT(2, 3), module);
	known(&made, row)->sequence = 7;
	row = add(&made, "aten::mm", ST_SCOPE_FUNCTION, NULL, AT(4, 10), module);
	known(&made, row)->sequence = 8;
	module = add(&made, "model.1", ST_SCOPE_MODULE, NULL, AT(50, 90), model);
	row = add(&made, "aten::relu", ST_SCOPE_FUNCTION, NULL, AT(51, 60), module);
	known(&made, row)->sequence = 9;
	add(&made, "aten::sum", ST_SCOPE_FUNCTION, NULL, AT(110, 120), ST_NO_ROW);
	row = add(&made, "ReluBackward0", ST_SCOPE_BACKWARD, NULL, AT(200, 210), ST_NO_ROW);
	known(&made, row)->sequence = 9;
	module = add(&made, "autograd::engine::evaluate_function: MmBackward0", ST_SCOPE_FUNCTION,
		     NULL, AT(220, 260), ST_NO_ROW);
	row = add(&made, "MmBackward0", ST_SCOPE_BACKWARD, NULL, AT(221, 240), module);
	known(&made, row)->sequence = 8;
	add(&made, "aten::mm", ST_SCOPE_FUNCTION, NULL, AT(222, 230), row);
	add(&made, "aten::add_", ST_SCOPE_FUNCTION, NULL, AT(245, 250), module);
	row = add(&made, "SumBackward0", ST_SCOPE_BACKWARD, NULL, AT(300, 310), ST_NO_ROW);
	known(&made, row)->sequence = 10;
	fake_finish(made.fake);
	report = ask(&made, options);
	/* aten::t, aten::mm; wrapper, node, aten::mm and aten::add_. */
	expect(&report, "model.0", "count", 6);
	expect(&report, "model.1", "count", 2);
	expect(&report, "[no module]", "count", 2);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

/* Forward from two lines of one function; the node that belongs to the first is called from elsewhere, its wrapper and
 * what it calls go with it; Python code inside of a node has a stack of its own. */
static void test_stacks(void **state)
{
	static struct made made;
	struct st_report_options options = {
		.question = {.groupings = {ST_BY_PYTHON_LINE}, .grouping_count = 1}};
	struct st_report report;
	uint32_t code, outer, first, second, backward, row, around;

	(void)state;
	begin(&made);
	code = fake_python_code(made.fake, 0, "net.py", "f", 1);
	outer = fake_python_node(made.fake, 0, code, 30);
	first = fake_python_node(made.fake, outer, code, 10);
	second = fake_python_node(made.fake, outer, code, 11);
	backward = fake_python_node(made.fake, outer, code, 20);
	row = add(&made, "aten::mm", ST_SCOPE_FUNCTION, NULL, AT(0, 9), ST_NO_ROW);
	known(&made, row)->stack = first;
	known(&made, row)->sequence = 8;
	row = add(&made, "aten::relu", ST_SCOPE_FUNCTION, NULL, AT(10, 19), ST_NO_ROW);
	known(&made, row)->stack = second;
	around = add(&made, "autograd::engine::evaluate_function: MmBackward0", ST_SCOPE_FUNCTION,
		     NULL, AT(20, 60), ST_NO_ROW);
	known(&made, around)->stack = backward;
	row = add(&made, "MmBackward0", ST_SCOPE_BACKWARD, NULL, AT(21, 50), around);
	known(&made, row)->stack = backward;
	known(&made, row)->sequence = 8;
	around = add(&made, "aten::mm", ST_SCOPE_FUNCTION, NULL, AT(22, 30), row);
	known(&made, around)->stack = backward;
	around = add(&made, "aten::sin", ST_SCOPE_FUNCTION, NULL, AT(31, 40), row);
	known(&made, around)->stack = second;
	add(&made, "aten::cos", ST_SCOPE_FUNCTION, NULL, AT(70, 80), ST_NO_ROW);
	fake_finish(made.fake);
	report = ask(&made, options);
	expect(&report, "net.py:10", "count", 1);
	expect(&report, "net.py:10 [backward]", "count", 3);
	expect(&report, "net.py:11", "count", 2);
	expect(&report, "[no Python stack]", "count", 1);
	st_report_fini(&report);
	options.question.groupings[0] = ST_BY_CALLSTACK;
	report = ask(&made, options);
	expect(&report, "f (net.py:10) < f (net.py:30) [backward]", "count", 3);
	st_report_fini(&report);
	options.question.groupings[0] = ST_BY_PYTHON_FUNCTION;
	report = ask(&made, options);
	expect(&report, "f", "count", 3);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

/* A number that two threads count belongs to neither for a node on a third; on its own thread it is clear. */
static void test_modules_of_threads(void **state)
{
	static struct made made;
	struct st_report_options options = {
		.question = {.groupings = {ST_BY_NN_MODULE}, .grouping_count = 1}};
	struct st_report report;
	uint32_t module, row;

	(void)state;
	begin(&made);
	for (unsigned int i = 0; i < 2; i++) {
		if (i)
			fake_track(made.fake, 0, "", 101);
		module = add(&made, i ? "second" : "first", ST_SCOPE_MODULE, NULL, AT(0, 10),
			     ST_NO_ROW);
		row = add(&made, "aten::mul", ST_SCOPE_FUNCTION, NULL, AT(1, 2), module);
		known(&made, row)->sequence = 5;
		row = add(&made, "MulBackward0", ST_SCOPE_BACKWARD, NULL, AT(20, 21), ST_NO_ROW);
		known(&made, row)->sequence = 5;
	}
	fake_track(made.fake, 0, "", 102);
	row = add(&made, "MulBackward0", ST_SCOPE_BACKWARD, NULL, AT(30, 31), ST_NO_ROW);
	known(&made, row)->sequence = 5;
	fake_finish(made.fake);
	report = ask(&made, options);
	expect(&report, "first", "count", 2);
	expect(&report, "second", "count", 2);
	expect(&report, "[no module]", "count", 1);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

/* Without operators, tasks of PyTorch's ITT domain stand in; with them they are the same ones told twice. */
static void test_itt(void **state)
{
	static struct made made;
	struct st_report report;

	(void)state;
	begin(&made);
	fake_slice(made.fake, fake_label(made.fake, "PyTorch", "aten::mm"), 0, 10, ST_NO_ROW);
	fake_slice(made.fake, fake_label(made.fake, "other", "task"), 20, 30, ST_NO_ROW);
	fake_finish(made.fake);
	report = ask(&made, (struct st_report_options){0});
	assert_int_equal(report.row_count, 1);
	expect(&report, "aten::mm", "count", 1);
	assert_non_null(strstr(report.subject, "ITT"));
	st_report_fini(&report);
	fake_track(made.fake, 0, "", 101);
	add(&made, "aten::bmm", ST_SCOPE_FUNCTION, NULL, AT(5, 6), ST_NO_ROW);
	fake_finish(made.fake);
	report = ask(&made, (struct st_report_options){0});
	assert_int_equal(report.row_count, 1);
	expect(&report, "aten::bmm", "count", 1);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

static void open_operators(struct st_dataset *out, const struct made *made)
{
	assert_int_equal(st_dataset_operators_init(out, made->fake, false, NULL), ST_OK);
}

static void check_nested(const struct st_dataset *dataset)
{
	static const uint64_t self_ns[] = {70, 20, 10};
	const struct st_operator_rows *rows = st_dataset_operators(dataset);

	assert_int_equal(dataset->row_count, 3);
	for (uint32_t row = 0; row < 3; row++) {
		assert_int_equal(dataset->self_ns[row], self_ns[row]);
		assert_int_equal(rows->slice[row], row);
		assert_int_equal(rows->row_of_slice[row], row);
		assert_int_equal(dataset->parent[row], row ? row - 1 : ST_NO_ROW);
		assert_int_equal(rows->signature[row], rows->signature_count);
		assert_int_equal(st_operator_sequence(rows, row), ST_NO_SEQUENCE);
		assert_int_equal(rows->stack[row], 0);
	}
	assert_int_equal(dataset->tracks[0].end, 3);
}

static uint64_t count_with(const struct made *made, enum st_grouping grouping, const char *pattern)
{
	struct st_filter filter = {grouping, false, pattern};
	struct st_question question = {.filters = &filter, .filter_count = 1};
	struct st_dataset dataset;
	struct st_answer answer;
	uint64_t count;

	open_operators(&dataset, made);
	assert_int_equal(st_dataset_prepare(&dataset, &question, NULL), ST_OK);
	assert_int_equal(st_dataset_ask(&dataset, &question, &answer, NULL), ST_OK);
	count = st_answer_value(&answer.total, ST_COUNT);
	st_answer_fini(&answer);
	st_dataset_operators_fini(&dataset);
	return count;
}

/* Filters mean what they mean for tasks; "#N" is the row that the slice has in report tasks. */
static void test_filters_as_of_tasks(void **state)
{
	static struct made made;
	uint32_t other, mm, star;

	(void)state;
	begin(&made);
	other = fake_label(made.fake, "other", "task");
	mm = fake_label(made.fake, "PyTorch", "aten::mm");
	star = fake_label(made.fake, "PyTorch", "aten::m*");
	fake_slice(made.fake, other, 0, 200, ST_NO_ROW);
	fake_slice(made.fake, mm, 10, 40, 0);
	fake_slice(made.fake, star, 50, 60, 0);
	fake_slice(made.fake, mm, 70, 80, 0);
	fake_finish(made.fake);
	assert_int_equal(count_with(&made, ST_BY_OPERATOR, "aten::m*"), 3);
	assert_int_equal(count_with(&made, ST_BY_OPERATOR, "aten::m\\*"), 1);
	assert_int_equal(count_with(&made, ST_BY_TASK, "aten::mm"), 2);
	assert_int_equal(count_with(&made, ST_BY_TASK, "#3"), 1);
	assert_int_equal(count_with(&made, ST_BY_INSTANCE, "#0"), 0);
	assert_int_equal(count_with(&made, ST_BY_TASK_TYPE, "*mm"), 2);
	assert_int_equal(count_with(&made, ST_BY_TASK_DOMAIN, "PyTorch"), 3);
	assert_int_equal(count_with(&made, ST_BY_CATEGORY, "op"), 3);
	fake_destroy(made.fake);
}

/* Millions of operators and nothing else take no second set of columns; one other slice, a twin, or torch's view makes
 * columns of their own, with the same figures. */
static void test_columns_of_slices(void **state)
{
	static struct made made;
	struct st_dataset dataset;
	const struct st_slices *slices;
	uint32_t label;

	(void)state;
	begin(&made);
	slices = st_result_slices(made.fake);
	label = fake_label(made.fake, "PyTorch", "aten::mm");
	fake_slice(made.fake, label, 0, 100, ST_NO_ROW);
	fake_slice(made.fake, label, 10, 40, 0);
	fake_slice(made.fake, label, 20, 30, 1);
	fake_finish(made.fake);
	open_operators(&dataset, &made);
	assert_ptr_equal(dataset.begin_ns, slices->begin_ns);
	assert_ptr_equal(dataset.self_ns, slices->self_ns);
	assert_ptr_equal(dataset.flags, slices->flags);
	check_nested(&dataset);
	st_dataset_operators_fini(&dataset);

	made.fake->quality.twins = 1;
	open_operators(&dataset, &made);
	assert_ptr_not_equal(dataset.self_ns, slices->self_ns);
	check_nested(&dataset);
	st_dataset_operators_fini(&dataset);
	made.fake->quality.twins = 0;

	assert_int_equal(st_dataset_operators_init(&dataset, made.fake, true, NULL), ST_OK);
	assert_ptr_not_equal(dataset.flags, slices->flags);
	st_dataset_operators_fini(&dataset);

	fake_slice(made.fake, fake_label(made.fake, "other", "task"), 200, 300, ST_NO_ROW);
	fake_finish(made.fake);
	open_operators(&dataset, &made);
	assert_ptr_not_equal(dataset.begin_ns, slices->begin_ns);
	check_nested(&dataset);
	st_dataset_operators_fini(&dataset);
	fake_destroy(made.fake);
}

static void test_instances(void **state)
{
	static struct made made;
	struct st_report_options options = {
		.question = {.groupings = {ST_BY_INSTANCE}, .grouping_count = 1}};
	struct st_report report;

	(void)state;
	make_forward(&made);
	report = ask(&made, options);
	assert_int_equal(report.row_count, 6);
	assert_int_equal(report.rows[2].cells[column(&report, "parent")].as.u64, 2);
	assert_memory_equal(report.rows[2].cells[column(&report, "input_shapes")].as.text.bytes,
			    "[[4], [2, 3], [3, 4], [], []]", 29);
	st_report_fini(&report);
	fake_destroy(made.fake);
}

static void test_refused(void **state)
{
	static struct made made;
	struct st_report report;
	struct st_error err = {0};
	struct st_report_options options = {
		.question = {.groupings = {ST_BY_NN_MODULE}, .grouping_count = 1}};

	(void)state;
	begin(&made);
	add(&made, "aten::mm", ST_SCOPE_FUNCTION, NULL, AT(0, 10), ST_NO_ROW);
	fake_finish(made.fake);
	assert_int_equal(st_report_build(made.fake, "operators", &options, &report, &err),
			 ST_EUSAGE);
	options.question.groupings[0] = ST_BY_INPUT_SHAPES;
	assert_int_equal(st_report_build(made.fake, "operators", &options, &report, &err),
			 ST_EUSAGE);
	fake_destroy(made.fake);
}

static void test_source(void **state)
{
	static struct made made;
	struct st_report report;

	(void)state;
	begin(&made);
	add(&made, "aten::mm", ST_SCOPE_FUNCTION, NULL, AT(0, 10), ST_NO_ROW);
	made.fake->operator_sources[0] = (struct st_operator_source){
		.level = ST_OPERATORS_IN_PLACE, .framework = fake_text(made.fake, "PyTorch 2.13")};
	made.fake->operator_sources[1] =
		(struct st_operator_source){.level = ST_OPERATORS_NAMES,
					    .flags = ST_OPERATORS_UNTESTED,
					    .framework = fake_text(made.fake, "PyTorch 1.0"),
					    .why = fake_text(made.fake, "no layout held")};
	made.fake->operator_source_count = 2;
	fake_finish(made.fake);
	report = ask(&made, (struct st_report_options){0});
	assert_string_equal(report.subject, "PyTorch 1.0: every operator, without inputs; no "
					    "layout held; self-check passed, untested version");
	st_report_fini(&report);
	fake_destroy(made.fake);
}

/* By figures that the report computes itself, with a limit: the engine knows none of them. */
static void test_order_of_figures(void **state)
{
	static const struct {
		enum st_metric metric;
		const char *first, *second;
	} orders[] = {
		{ST_FLOPS, "aten::addmm", "aten::add"},
		{ST_MOVED, "aten::add", "aten::addmm"},
		{ST_GFLOPS, "aten::add", "aten::addmm"},
		{ST_INTENSITY, "aten::addmm", "aten::neg"},
		{ST_SELF_ALLOCATED, "aten::neg", "aten::add"},
	};
	static struct made made;

	(void)state;
	begin(&made);
	/* 2·8·8·8 operations on 4·3·64 bytes in 1000 ns; 512 on 4·3·512 bytes in 10. */
	add(&made, "aten::addmm", ST_SCOPE_FUNCTION, "f8 f8,8 f8,8 s s", AT(0, 1000), ST_NO_ROW);
	add(&made, "aten::add", ST_SCOPE_FUNCTION, "f512 f512 s", AT(2000, 2010), ST_NO_ROW);
	add(&made, "aten::neg", ST_SCOPE_FUNCTION, "f1", AT(3000, 9000), ST_NO_ROW);
	known(&made, 1)->allocated = 5;
	known(&made, 2)->allocated = 9;
	made.fake->moments[made.fake->moment_count++] = (struct st_memory_moment){.time_ns = 1};
	fake_finish(made.fake);
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct st_report_options options = {
			.question = {.sort = {orders[i].metric}, .sort_count = 1, .limit = 2}};
		struct st_report report = ask(&made, options);

		assert_int_equal(report.row_count, 3); /* and the rest */
		assert_string_equal(report.rows[0].cells[0].as.text.bytes, orders[i].first);
		assert_string_equal(report.rows[1].cells[0].as.text.bytes, orders[i].second);
		expect(&report, "[Others]", "count", 1);
		st_report_fini(&report);
		options.question.sort_ascending = true;
		options.question.limit = 0;
		report = ask(&made, options);
		assert_string_equal(report.rows[2].cells[0].as.text.bytes, orders[i].first);
		st_report_fini(&report);
	}
	fake_destroy(made.fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters_as_of_tasks),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_work_of_groups),
		cmocka_unit_test(test_folding),
		cmocka_unit_test(test_folding_chain),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_modules_of_threads),
		cmocka_unit_test(test_itt),
		cmocka_unit_test(test_columns_of_slices),
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_order_of_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
