// SPDX-License-Identifier: Apache-2.0
//
// Questions about samples, against tables that were worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/reports/compare.h"
#include "analyze/tables/report.h"
#include "analyze/samples/sample_set.h"
#include "fake_stacks.h"
#include "fake_result.h"
#include "format/operator.h"

/* main calls work, which has inner inlined and calls memcpy of the C library; main also runs Python code that calls
 * a native function; a worker thread spins in libgomp and works.
 *
 *   main thread, tasks: step [0, 100) with conv [10, 40) inside; then nothing.
 *   worker, created by the main thread: no tasks of its own.
 *
 *   time   weight  stack                                  task
 *     5      10    main work                              step
 *    12      20    main work inner                        conv
 *    15       5    main work memcpy                       conv
 *    50      40    main eval train(88) native             step
 *    60       7    main eval train(90)                    step
 *   150       3    main work work (recursion)             outside
 *   worker:
 *    20      30    start body                             conv, inherited
 *    55      25    start pool spin                        step, inherited
 *   160       9    start pool spin                        outside
 */
struct world {
	struct st_result *fake;
	uint32_t step, conv;
};

static uint32_t app, gomp, libc_module, python, script;

static void make_stacks(uint32_t nodes[8])
{
	uint32_t source = fake_source("/src/app.c"), py = fake_source("/src/train.py");
	uint32_t f_main = fake_function("main", app, ST_FUNCTION_NATIVE, 0);
	uint32_t f_work = fake_function("ns::Engine<int>::work", app, ST_FUNCTION_NATIVE, 0);
	uint32_t f_inner = fake_function("inner", app, ST_FUNCTION_NATIVE, 0);
	uint32_t f_memcpy =
		fake_function("memcpy", libc_module, ST_FUNCTION_NATIVE, ST_FUNCTION_SYSTEM);
	uint32_t f_eval = fake_function("_PyEval_EvalFrameDefault", python, ST_FUNCTION_NATIVE, 0);
	uint32_t f_train = fake_function("Model.train", script, ST_FUNCTION_PYTHON, 0);
	uint32_t f_native = fake_function("native", app, ST_FUNCTION_NATIVE, 0);
	uint32_t f_start =
		fake_function("start_thread", libc_module, ST_FUNCTION_NATIVE, ST_FUNCTION_SYSTEM);
	uint32_t f_body = fake_function("body", app, ST_FUNCTION_NATIVE, 0);
	uint32_t f_pool =
		fake_function("func@0x1b380", gomp, ST_FUNCTION_NATIVE, ST_FUNCTION_NO_SYMBOL);
	uint32_t f_spin =
		fake_function("func@0x1dfd0", gomp, ST_FUNCTION_NATIVE, ST_FUNCTION_NO_SYMBOL);
	uint32_t at_main, at_work, at_train, at_eval, at_start, at_pool;

	fake_function_at(f_work, source, 10);
	fake_function_at(f_inner, source, 3);
	fake_function_at(f_train, py, 80);
	at_main = fake_frame(0, f_main, 0, 0);
	at_work = nodes[0] = fake_frame(at_main, f_work, 12, 0);
	nodes[1] = fake_frame(at_work, f_inner, 4, ST_NAMED_INLINED);
	nodes[2] = fake_frame(at_work, f_memcpy, 0, 0);
	at_eval = fake_frame(at_main, f_eval, 0, ST_NAMED_EVAL);
	at_train = fake_frame(at_eval, f_train, 88, 0);
	nodes[3] = fake_frame(at_train, f_native, 0, 0);
	nodes[4] = fake_frame(at_eval, f_train, 90, 0);
	nodes[5] = fake_frame(at_work, f_work, 14, 0);
	at_start = fake_frame(0, f_start, 0, 0);
	nodes[6] = fake_frame(at_start, f_body, 0, 0);
	at_pool = fake_frame(at_start, f_pool, 0, 0);
	nodes[7] = fake_frame(at_pool, f_spin, 0, ST_NAMED_AT_PAUSE);
}

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	uint32_t process, label, nodes[8];

	world->fake = fake_create();
	fake_named_begin(world->fake);
	app = fake_module("app");
	gomp = fake_module("libgomp-a34b3233.so.1");
	libc_module = fake_module("libc.so.6");
	python = fake_module("python3.11");
	script = fake_module("train.py");
	process = fake_process(world->fake, "app", 100);
	world->fake->info.cpu_count = 2;
	world->fake->info.elapsed_ns = 200;
	fake_track(world->fake, process, "main", 100);
	make_stacks(nodes);
	label = fake_label(world->fake, "d", "step");
	world->step = fake_slice(world->fake, label, 0, 100, ST_NO_ROW);
	label = fake_label(world->fake, "d", "conv");
	world->conv = fake_slice(world->fake, label, 10, 40, world->step);
	fake_sample(world->fake, 5, 10, nodes[0], 0);
	fake_sample(world->fake, 12, 20, nodes[1], 0);
	fake_sample(world->fake, 15, 5, nodes[2], 0);
	fake_sample(world->fake, 50, 40, nodes[3], 0);
	fake_sample(world->fake, 60, 7, nodes[4], 0);
	fake_sample(world->fake, 150, 3, nodes[5], 0);
	fake_track(world->fake, process, "worker", 101);
	world->fake->creators[1] = 0;
	fake_sample(world->fake, 20, 30, nodes[6], 0);
	fake_sample(world->fake, 55, 25, nodes[7], 0);
	fake_sample(world->fake, 160, 9, nodes[7], 0);
	fake_finish(world->fake);
	*state = world;
	return 0;
}

/* conv becomes an operator; what is around it is none. */
static void make_operator(struct world *world)
{
	world->fake->labels[1].domain = fake_text(world->fake, ST_OPERATOR_DOMAIN);
	world->fake->labels[1].category = ST_CATEGORY_OPERATOR;
}

static int teardown(void **state)
{
	struct world *world = *state;

	fake_named_end();
	fake_destroy(world->fake);
	free(world);
	return 0;
}

struct asked {
	struct st_sample_set set;
	struct st_answer answer;
};

static void ask(struct asked *out, const struct world *world, const struct st_sample_view *view,
		const struct st_question *question)
{
	struct st_sample_view all = {.call_stack_mode = ST_STACK_ALL};
	struct st_error err = {0};

	if (view)
		all = *view;
	if (all.call_stack_mode == ST_STACK_DEFAULT)
		all.call_stack_mode = ST_STACK_ALL;
	assert_int_equal(st_sample_set_open(&out->set, world->fake, &all, &err), ST_OK);
	if (st_sample_ask(&out->set, question, &out->answer, &err))
		fail_msg("%s", err.text);
}

static void done(struct asked *asked)
{
	st_answer_fini(&asked->answer);
	st_sample_set_close(&asked->set);
}

/* The row that a path of texts leads to, "a/b/c"; ST_NO_ROW when there is none. */
static uint32_t row_at(const struct st_answer *answer, const char *path)
{
	uint32_t first = answer->root_first, count = answer->root_count, row = ST_NO_ROW;

	while (*path) {
		size_t length = strcspn(path, "/");

		row = ST_NO_ROW;
		for (uint32_t i = 0; i < count && row == ST_NO_ROW; i++) {
			struct st_text text = answer->rows[first + i].text;

			if (text.size_bytes == length && memcmp(text.bytes, path, length) == 0)
				row = first + i;
		}
		if (row == ST_NO_ROW)
			return row;
		first = answer->rows[row].first_child;
		count = answer->rows[row].child_count;
		path += length + (path[length] == '/');
	}
	return row;
}

static uint64_t value(const struct asked *asked, const char *path, enum st_metric metric)
{
	uint32_t row = row_at(&asked->answer, path);

	if (row == ST_NO_ROW)
		fail_msg("no row %s", path);
	return st_answer_value(&asked->answer.rows[row], metric);
}

static uint64_t sum_of_roots(const struct asked *asked, enum st_metric metric)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < asked->answer.root_count; i++)
		sum += st_answer_value(&asked->answer.rows[asked->answer.root_first + i], metric);
	return sum;
}

#define QUESTION(...)                                                                              \
	(&(struct st_question){.groupings = {__VA_ARGS__},                                         \
			       .grouping_count = sizeof((enum st_grouping[]){__VA_ARGS__}) /       \
						 sizeof(enum st_grouping)})
#define WORK "ns::Engine<int>::work"

static void test_functions(void **state)
{
	struct asked asked;

	ask(&asked, *state, NULL, QUESTION(ST_BY_FUNCTION));
	assert_int_equal(value(&asked, "inner", ST_CPU_SELF), 20);
	assert_int_equal(value(&asked, WORK, ST_CPU_SELF), 10 + 3);
	/* Recursion counts once. */
	assert_int_equal(value(&asked, WORK, ST_CPU_TOTAL), 10 + 20 + 5 + 3);
	assert_int_equal(value(&asked, "main", ST_CPU_SELF), 0);
	assert_int_equal(value(&asked, "main", ST_CPU_TOTAL), 85);
	assert_int_equal(value(&asked, "Model.train", ST_CPU_SELF), 7);
	assert_int_equal(value(&asked, "Model.train", ST_CPU_TOTAL), 47);
	assert_int_equal(row_at(&asked.answer, "_PyEval_EvalFrameDefault"), ST_NO_ROW);
	assert_int_equal(value(&asked, "native", ST_SAMPLES), 1);
	assert_int_equal(st_answer_value(&asked.answer.total, ST_CPU_SELF), 149);
	assert_int_equal(st_answer_value(&asked.answer.total, ST_CPU_TOTAL), 149);
	assert_int_equal(st_answer_value(&asked.answer.total, ST_SAMPLES), 9);
	assert_int_equal(sum_of_roots(&asked, ST_CPU_SELF), 149);
	/* Most self time first. */
	assert_memory_equal(asked.answer.rows[asked.answer.root_first].text.bytes, "native", 6);
	done(&asked);
}

static void test_operators(void **state)
{
	struct world *world = *state;
	struct asked asked;

	make_operator(world);
	ask(&asked, world, NULL, QUESTION(ST_BY_OPERATOR, ST_BY_FUNCTION));
	assert_int_equal(value(&asked, "conv", ST_CPU_SELF), 20 + 5 + 30);
	assert_int_equal(value(&asked, "conv", ST_CPU_INHERITED), 30);
	assert_int_equal(value(&asked, "conv/inner", ST_CPU_SELF), 20);
	/* Not in an operator: in "step" alone, or in nothing. What lies in an operator is not in here too. */
	assert_int_equal(value(&asked, "[no operator]", ST_CPU_SELF), 149 - 55);
	assert_int_equal(value(&asked, "[no operator]", ST_CPU_TOTAL), 149 - 55);
	assert_int_equal(asked.answer.root_count, 2);
	done(&asked);
	ask(&asked, world, NULL, QUESTION(ST_BY_TASK_DOMAIN, ST_BY_TASK_TYPE));
	assert_int_equal(value(&asked, "PyTorch/conv", ST_CPU_SELF), 55);
	done(&asked);
}

/* Steps that are spans of time: the optimizer ends them, and samples outside of any slice are in them. */
static void test_timed_steps(void **state)
{
	struct world *world = *state;
	struct st_result *fake = world->fake;
	struct asked asked;

	fake->labels[0] = (struct st_label){.domain = fake_text(fake, ST_RANGE_DOMAIN),
					    .name = fake_text(fake, "Optimizer.step#SGD.step"),
					    .family = fake_text(fake, "Optimizer.step#SGD.step"),
					    .category = ST_CATEGORY_RANGE};
	fake->label[world->conv] = fake->label[world->step];
	/* From 0 to 12 and from 12 to 58, of one thread; the other has none of its own. */
	fake->end_ns[world->step] = 12;
	fake->begin_ns[world->conv] = 55;
	fake->end_ns[world->conv] = 58;
	fake->parent[world->conv] = ST_NO_ROW;
	fake_finish(fake);
	ask(&asked, world, NULL, QUESTION(ST_BY_STEP, ST_BY_FUNCTION));
	assert_int_equal(value(&asked, "step 0", ST_CPU_SELF), 10);
	assert_int_equal(value(&asked, "step 1", ST_CPU_SELF), 20 + 5 + 40 + 30 + 25);
	assert_int_equal(value(&asked, "step 1/inner", ST_CPU_SELF), 20);
	assert_int_equal(value(&asked, "[no step]", ST_CPU_SELF), 7 + 3 + 9);
	done(&asked);
}

static void test_tasks(void **state)
{
	struct world *world = *state;
	struct asked asked;

	ask(&asked, world, NULL, QUESTION(ST_BY_TASK_DOMAIN, ST_BY_TASK_TYPE, ST_BY_FUNCTION));
	assert_int_equal(value(&asked, "d/conv", ST_CPU_SELF), 20 + 5 + 30);
	assert_int_equal(value(&asked, "d/conv", ST_CPU_INHERITED), 30);
	assert_int_equal(value(&asked, "d/conv", ST_CPU_TOTAL), 55);
	assert_int_equal(value(&asked, "d/step", ST_CPU_SELF), 10 + 40 + 7 + 25);
	assert_int_equal(value(&asked, "d/step", ST_CPU_INHERITED), 25);
	/* What is nested in it is in its total. */
	assert_int_equal(value(&asked, "d/step", ST_CPU_TOTAL), 82 + 55);
	assert_int_equal(value(&asked, "d", ST_CPU_TOTAL), 137);
	assert_int_equal(value(&asked, "d/step/inner", ST_CPU_TOTAL), 20);
	assert_int_equal(value(&asked, "d/step/inner", ST_CPU_SELF), 0);
	assert_int_equal(value(&asked, "d/conv/inner", ST_CPU_SELF), 20);
	assert_int_equal(value(&asked, "[Outside any task]/[Outside any task]", ST_CPU_SELF), 12);
	assert_int_equal(sum_of_roots(&asked, ST_CPU_SELF), 149);
	done(&asked);
	ask(&asked, world, NULL, QUESTION(ST_BY_TASK));
	assert_int_equal(value(&asked, "conv", ST_CPU_TOTAL), 55);
	assert_int_equal(asked.answer.rows[row_at(&asked.answer, "conv")].slice, world->conv);
	done(&asked);
}

static void test_threads_classes_and_places(void **state)
{
	struct asked asked;

	ask(&asked, *state, NULL, QUESTION(ST_BY_THREAD, ST_BY_MODULE));
	assert_int_equal(value(&asked, "worker (101)", ST_CPU_SELF), 64);
	assert_int_equal(value(&asked, "worker (101)", ST_CPU_SPIN), 34);
	assert_int_equal(value(&asked, "worker (101)", ST_SPIN_IMBALANCE), 34);
	assert_int_equal(value(&asked, "worker (101)", ST_CPU_EFFECTIVE), 30);
	assert_int_equal(value(&asked, "worker (101)/libgomp-a34b3233.so.1", ST_CPU_SPIN), 34);
	assert_int_equal(value(&asked, "worker (101)/libc.so.6", ST_CPU_TOTAL), 64);
	assert_int_equal(value(&asked, "main (100)/app", ST_CPU_SELF), 10 + 20 + 40 + 3);
	done(&asked);
	ask(&asked, *state, NULL, QUESTION(ST_BY_CLASS));
	assert_int_equal(value(&asked, "ns::Engine<int>", ST_CPU_SELF), 13);
	assert_int_equal(value(&asked, "Model", ST_CPU_SELF), 7);
	done(&asked);
	ask(&asked, *state, NULL, QUESTION(ST_BY_SOURCE_LINE));
	assert_int_equal(value(&asked, "app.c:12", ST_CPU_SELF), 10);
	assert_int_equal(value(&asked, "app.c:12", ST_CPU_TOTAL), 38);
	assert_int_equal(value(&asked, "app.c:4", ST_CPU_SELF), 20);
	done(&asked);
	ask(&asked, *state, NULL, QUESTION(ST_BY_CPU_CLASS));
	assert_int_equal(value(&asked, "Spin: Imbalance or Serial Spinning", ST_CPU_SELF), 34);
	assert_int_equal(value(&asked, "Effective", ST_CPU_SELF), 115);
	done(&asked);
}

static void test_python(void **state)
{
	struct st_sample_view only = {.python_frames = ST_PYTHON_ONLY};
	struct st_sample_view none = {.python_frames = ST_PYTHON_NONE};
	struct asked asked;

	ask(&asked, *state, NULL, QUESTION(ST_BY_PYTHON_FUNCTION, ST_BY_PYTHON_LINE));
	assert_int_equal(value(&asked, "Model.train", ST_CPU_SELF), 47);
	assert_int_equal(value(&asked, "[No Python frame]/[No Python frame]", ST_CPU_SELF),
			 149 - 47);
	done(&asked);
	ask(&asked, *state, NULL, QUESTION(ST_BY_PYTHON_LINE));
	assert_int_equal(asked.answer.root_count, 3);
	assert_int_equal(sum_of_roots(&asked, ST_CPU_SELF), 149);
	done(&asked);
	ask(&asked, *state, &only, QUESTION(ST_BY_FUNCTION));
	assert_int_equal(asked.answer.root_count, 2);
	assert_int_equal(value(&asked, "Model.train", ST_CPU_SELF), 47);
	assert_int_equal(value(&asked, "[No stack]", ST_CPU_SELF), 102);
	done(&asked);
	ask(&asked, *state, &none, QUESTION(ST_BY_FUNCTION));
	assert_int_equal(value(&asked, "_PyEval_EvalFrameDefault", ST_CPU_SELF), 7);
	assert_int_equal(row_at(&asked.answer, "Model.train"), ST_NO_ROW);
	done(&asked);
}

static void test_stack_modes(void **state)
{
	struct st_sample_view user = {.call_stack_mode = ST_STACK_USER_ONLY};
	struct st_sample_view plus = {.call_stack_mode = ST_STACK_USER_PLUS_ONE};
	struct st_sample_view flat = {.no_inlines = true};
	struct asked asked;

	ask(&asked, *state, &user, QUESTION(ST_BY_FUNCTION));
	assert_int_equal(value(&asked, WORK, ST_CPU_SELF), 18);
	assert_int_equal(row_at(&asked.answer, "memcpy"), ST_NO_ROW);
	assert_int_equal(row_at(&asked.answer, "start_thread"), ST_NO_ROW);
	assert_int_equal(sum_of_roots(&asked, ST_CPU_SELF), 149);
	done(&asked);
	ask(&asked, *state, &plus, QUESTION(ST_BY_FUNCTION));
	assert_int_equal(value(&asked, "memcpy", ST_CPU_SELF), 5);
	done(&asked);
	ask(&asked, *state, &flat, QUESTION(ST_BY_FUNCTION));
	assert_int_equal(value(&asked, WORK, ST_CPU_SELF), 33);
	assert_int_equal(row_at(&asked.answer, "inner"), ST_NO_ROW);
	done(&asked);
}

static void test_stacks(void **state)
{
	struct asked asked;

	ask(&asked, *state, NULL, QUESTION(ST_BY_FUNCTION, ST_BY_CALLSTACK));
	assert_int_equal(value(&asked, "inner/" WORK "/main", ST_CPU_SELF), 20);
	assert_int_equal(value(&asked, WORK "/main", ST_CPU_SELF), 10);
	assert_int_equal(value(&asked, WORK "/" WORK "/main", ST_CPU_SELF), 3);
	assert_int_equal(value(&asked, "native/Model.train/main", ST_CPU_SELF), 40);
	done(&asked);
	ask(&asked, *state, NULL, QUESTION(ST_BY_FUNCTION_STACK));
	assert_int_equal(value(&asked, "main", ST_CPU_TOTAL), 85);
	assert_int_equal(value(&asked, "main", ST_CPU_SELF), 0);
	assert_int_equal(value(&asked, "main/" WORK, ST_CPU_TOTAL), 38);
	assert_int_equal(value(&asked, "main/" WORK, ST_CPU_SELF), 10);
	assert_int_equal(value(&asked, "main/" WORK "/" WORK, ST_CPU_TOTAL), 3);
	assert_int_equal(value(&asked, "main/Model.train", ST_CPU_TOTAL), 47);
	assert_int_equal(sum_of_roots(&asked, ST_CPU_TOTAL), 149);
	done(&asked);
	ask(&asked, *state, NULL, QUESTION(ST_BY_TASK_TYPE, ST_BY_FUNCTION, ST_BY_CALLSTACK));
	assert_int_equal(value(&asked, "conv/inner/" WORK "/main", ST_CPU_SELF), 20);
	done(&asked);
}

static struct st_question *with_filter(struct st_question *question, struct st_filter *filter,
				       enum st_grouping grouping, const char *pattern)
{
	filter->grouping = grouping;
	filter->pattern = pattern;
	question->filters = filter;
	question->filter_count = 1;
	return question;
}

static uint64_t filtered_total(const struct world *world, enum st_grouping grouping,
			       const char *pattern, bool negate)
{
	struct st_filter filter = {.negate = negate};
	struct st_question question = *QUESTION(ST_BY_FUNCTION);
	struct asked asked;
	uint64_t total;

	ask(&asked, world, NULL, with_filter(&question, &filter, grouping, pattern));
	total = st_answer_value(&asked.answer.total, ST_CPU_SELF);
	done(&asked);
	return total;
}

static void test_filters(void **state)
{
	struct world *world = *state;
	struct st_question question = *QUESTION(ST_BY_FUNCTION);
	struct asked asked;

	assert_int_equal(filtered_total(world, ST_BY_FUNCTION, "inner", false), 20);
	assert_int_equal(filtered_total(world, ST_BY_FUNCTION, "inner", true), 129);
	assert_int_equal(filtered_total(world, ST_BY_MODULE, "lib*", false), 39);
	/* Tasks hold what is nested in them; Python lines what they call. */
	assert_int_equal(filtered_total(world, ST_BY_TASK_TYPE, "step", false), 137);
	assert_int_equal(filtered_total(world, ST_BY_TASK_TYPE, "conv", true), 94);
	assert_int_equal(filtered_total(world, ST_BY_TASK, "#1", false), 55);
	assert_int_equal(filtered_total(world, ST_BY_TASK, "#0", true), 12);
	assert_int_equal(filtered_total(world, ST_BY_TASK, "step", false), 137);
	assert_int_equal(filtered_total(world, ST_BY_PYTHON_LINE, "train.py:88", false), 40);
	assert_int_equal(filtered_total(world, ST_BY_THREAD, "101", false), 64);
	assert_int_equal(filtered_total(world, ST_BY_CPU_CLASS, "Spin*", false), 34);
	question.has_time_range = true;
	question.time_begin_ns = 10;
	question.time_end_ns = 55;
	ask(&asked, world, NULL, &question);
	assert_int_equal(st_answer_value(&asked.answer.total, ST_CPU_SELF), 20 + 5 + 40 + 30);
	done(&asked);
}

static void test_limit(void **state)
{
	struct st_question question = *QUESTION(ST_BY_FUNCTION);
	struct st_sample_view view = {.threshold_percent = 25.0};
	struct asked asked;

	question.limit = 2;
	ask(&asked, *state, NULL, &question);
	assert_int_equal(asked.answer.root_count, 3);
	assert_int_equal(sum_of_roots(&asked, ST_CPU_SELF), 149);
	assert_int_equal(value(&asked, "[Others]", ST_CPU_SELF), 149 - 40 - 34);
	/* Every sample has main or start_thread in it, and these are among the others. */
	assert_int_equal(value(&asked, "[Others]", ST_CPU_TOTAL), 149);
	done(&asked);
	question.limit = 0;
	ask(&asked, *state, &view, &question);
	assert_int_equal(asked.answer.root_count, 2);
	assert_int_equal(value(&asked, "native", ST_CPU_SELF), 40);
	done(&asked);
}

/* A report's number, by texts of its first column. */
static uint64_t cell(const struct st_report *report, const char *key, const char *column)
{
	uint32_t at = 0;

	while (at < report->column_count && strcmp(report->columns[at].key, column) != 0)
		at++;
	assert_true(at < report->column_count);
	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct st_cell *first = &report->rows[i].cells[0];

		if (first->kind == ST_CELL_TEXT && first->as.text.size_bytes == strlen(key) &&
		    memcmp(first->as.text.bytes, key, strlen(key)) == 0) {
			const struct st_cell *found = &report->rows[i].cells[at];

			return found->kind == ST_CELL_DOUBLE
				       ? (uint64_t)(found->as.number * 1000.0 + 0.5)
				       : found->as.u64;
		}
	}
	fail_msg("no row %s", key);
	return 0;
}

static void test_reports(void **state)
{
	struct world *world = *state;
	struct st_report_options options = {0};
	struct st_report report;
	struct st_error err = {0};

	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &report, &err), ST_OK);
	assert_string_equal(report.columns[0].key, "function");
	assert_string_equal(report.columns[1].title, "CPU Time");
	assert_int_equal(cell(&report, "native", "cpu_self_ns"), 40);
	assert_int_equal(cell(&report, "func@0x1dfd0", "spin_imbalance_ns"), 34);
	st_report_fini(&report);

	options.question = *QUESTION(ST_BY_TASK_TYPE);
	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &report, &err), ST_OK);
	assert_int_equal(cell(&report, "conv", "wall_total_ns"), 30);
	assert_int_equal(cell(&report, "conv", "count"), 1);
	/* 55 ns of CPU in 30 ns of time on 2 CPUs. */
	assert_int_equal(cell(&report, "conv", "cpu_utilization_ratio"), 917);
	st_report_fini(&report);

	options.question = *QUESTION(ST_BY_FUNCTION);
	options.view.show_as = ST_SHOW_PERCENT;
	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &report, &err), ST_OK);
	assert_int_equal(cell(&report, "native", "cpu_self_ratio"), 268);
	st_report_fini(&report);
	options.view.show_as = ST_SHOW_SAMPLES;
	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &report, &err), ST_OK);
	assert_int_equal(cell(&report, WORK, "cpu_self_samples"), 2);
	st_report_fini(&report);
	options.view.show_as = ST_SHOW_VALUES;
	options.question = (struct st_question){0};
	assert_int_equal(st_report_build(world->fake, "top-down", &options, &report, &err), ST_OK);
	assert_int_equal(cell(&report, "main", "cpu_total_ns"), 85);
	st_report_fini(&report);
	assert_int_equal(st_report_build(world->fake, "callstacks", &options, &report, &err),
			 ST_OK);
	assert_int_equal(report.group_by_count, 2);
	st_report_fini(&report);
}

static void test_python_lines_without_frames(void **state)
{
	struct world *world = *state;
	struct st_report_options options = {.view = {.python_frames = ST_PYTHON_NONE}};
	struct st_report report;
	struct st_error err = {0};

	options.question = *QUESTION(ST_BY_PYTHON_LINE);
	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &report, &err), ST_OK);
	assert_int_equal(cell(&report, "/src/train.py:90", "cpu_self_ns"), 7);
	assert_int_equal(cell(&report, "/src/train.py:88", "cpu_total_ns"), 40);
	st_report_fini(&report);
	/* With the evaluation function, too, which is all that is shown of it. */
	options.question = *QUESTION(ST_BY_PYTHON_LINE, ST_BY_FUNCTION);
	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &report, &err), ST_OK);
	assert_int_equal(cell(&report, "/src/train.py:90", "cpu_self_ns"), 7);
	st_report_fini(&report);
}

/* The number of a line of a block of gprof-cc. */
static uint64_t gprof(const struct st_report *report, uint64_t block, const char *name,
		      const char *column)
{
	uint32_t at = 0;

	while (at < report->column_count && strcmp(report->columns[at].key, column) != 0)
		at++;
	assert_true(at < report->column_count);
	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct st_cell *cells = report->rows[i].cells;

		if (cells[7].as.u64 == block && cells[4].as.text.size_bytes == strlen(name) &&
		    memcmp(cells[4].as.text.bytes, name, strlen(name)) == 0)
			return cells[at].kind == ST_CELL_DOUBLE
				       ? (uint64_t)(cells[at].as.number * 1000.0 + 0.5)
				       : cells[at].as.u64;
	}
	fail_msg("no line %s", name);
	return 0;
}

static void test_gprof(void **state)
{
	struct world *world = *state;
	struct st_report_options options = {.view = {.call_stack_mode = ST_STACK_ALL}};
	struct st_report report;
	struct st_error err = {0};

	assert_int_equal(st_report_build(world->fake, "gprof-cc", &options, &report, &err), ST_OK);
	/* Total times: main 85, start_thread 64, Model.train 47, native 40, work 38 … */
	assert_int_equal(gprof(&report, 1, "main", "cpu_children_ns"), 85);
	assert_int_equal(gprof(&report, 1, "main", "cpu_total_ratio"), 570);
	assert_int_equal(gprof(&report, 1, "  <spontaneous>", "cpu_children_ns"), 85);
	assert_int_equal(gprof(&report, 1, "  Model.train", "cpu_self_ns"), 7);
	assert_int_equal(gprof(&report, 1, "  Model.train", "cpu_children_ns"), 40);
	assert_int_equal(gprof(&report, 5, WORK, "cpu_self_ns"), 13);
	assert_int_equal(gprof(&report, 5, WORK, "cpu_children_ns"), 25);
	assert_int_equal(gprof(&report, 5, "  main", "cpu_self_ns"), 10);
	assert_int_equal(gprof(&report, 5, "  memcpy", "cpu_self_ns"), 5);
	st_report_fini(&report);
}

static void test_cycles(void **state)
{
	struct world *world = *state;
	struct st_report_options options = {.view = {.call_stack_mode = ST_STACK_ALL}};
	uint32_t even = fake_function("even", app, ST_FUNCTION_NATIVE, 0);
	uint32_t odd = fake_function("odd", app, ST_FUNCTION_NATIVE, 0);
	uint32_t node = fake_frame(0, even, 0, 0);
	struct st_report report;
	struct st_error err = {0};

	node = fake_frame(node, odd, 0, 0);
	node = fake_frame(node, even, 0, 0);
	fake_sample(world->fake, 170, 1000, node, 0);
	fake_finish(world->fake);
	assert_int_equal(st_report_build(world->fake, "gprof-cc", &options, &report, &err), ST_OK);
	assert_int_equal(gprof(&report, 1, "even <cycle 1>", "cpu_self_ns"), 1000);
	/* First as its caller: what even did when odd called it. */
	assert_int_equal(gprof(&report, 1, "  odd <cycle 1>", "cpu_self_ns"), 1000);
	st_report_fini(&report);
}

static void compare(const struct world *world, struct st_comparison of, struct st_report *out)
{
	static const char *const paths[] = {"old", "new", "new2", "new3"};
	struct st_error err = {0};

	of.paths = paths;
	of.result = world->fake;
	assert_int_equal(st_report_compare(&of, out, &err), ST_OK);
}

static void test_comparison(void **state)
{
	struct world *world = *state;
	struct st_filter filter = {.grouping = ST_BY_THREAD, .pattern = "100"};
	struct st_report_options options = {.view = {.call_stack_mode = ST_STACK_ALL}};
	struct st_report both, one, compared;
	struct st_error err = {0};

	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &both, &err), ST_OK);
	options.question.filters = &filter;
	options.question.filter_count = 1;
	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &one, &err), ST_OK);
	const struct st_report down[] = {both, one}, up[] = {one, both};

	compare(world, (struct st_comparison){.reports = down, .counts = {1, 1}}, &compared);
	assert_int_equal(cell(&compared, "body", "first_cpu_self_ns"), 30);
	assert_int_equal((int64_t)cell(&compared, "body", "difference_cpu_self_ns"), -30);
	assert_int_equal(cell(&compared, "native", "second_cpu_self_ns"), 40);
	assert_int_equal(cell(&compared, "native", "difference_cpu_self_ns"), 0);
	st_report_fini(&compared);
	compare(world, (struct st_comparison){.reports = up, .counts = {1, 1}}, &compared);
	assert_int_equal(cell(&compared, "body", "difference_cpu_self_ns"), 30);
	st_report_fini(&compared);
	/* The sign of VTune. */
	compare(world,
		(struct st_comparison){
			.reports = down, .counts = {1, 1}, .is_first_minus_second = true},
		&compared);
	assert_int_equal(cell(&compared, "body", "difference_cpu_self_ns"), 30);
	st_report_fini(&compared);
	/* What the limit cuts off is summed: 149 in all, 40 of them of native. */
	compare(world,
		(struct st_comparison){
			.reports = down, .counts = {1, 1}, .limit = 1, .keeps_order = true},
		&compared);
	assert_int_equal(compared.row_count, 2);
	assert_int_equal(cell(&compared, "native", "first_cpu_self_ns"), 40);
	assert_int_equal(cell(&compared, "[Others]", "first_cpu_self_ns"), 109);
	assert_int_equal((int64_t)cell(&compared, "[Others]", "difference_cpu_self_ns"), -64);
	st_report_fini(&compared);
	st_report_fini(&one);
	st_report_fini(&both);
}

/* A row that one of several runs does not have counts as zero there, and the largest change is first. */
static void test_comparison_of_runs(void **state)
{
	struct world *world = *state;
	struct st_filter filter = {.grouping = ST_BY_THREAD, .pattern = "100"};
	struct st_report_options options = {.view = {.call_stack_mode = ST_STACK_ALL}};
	struct st_report both, one, compared;
	struct st_error err = {0};
	uint32_t column = 0;

	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &both, &err), ST_OK);
	options.question.filters = &filter;
	options.question.filter_count = 1;
	assert_int_equal(st_report_build(world->fake, "hotspots", &options, &one, &err), ST_OK);
	const struct st_report runs[] = {one, one, both, one};

	compare(world, (struct st_comparison){.reports = runs, .counts = {2, 2}}, &compared);
	assert_int_equal(cell(&compared, "body", "first_cpu_self_ns"), 0);
	assert_int_equal(cell(&compared, "body", "second_cpu_self_ns"), 15);
	assert_int_equal(cell(&compared, "body", "difference_cpu_self_ns"), 15);
	/* Runs of 0, 0 and of 30, 0: a mean of 15 with a standard error of 15 and one degree of freedom. */
	assert_int_equal(cell(&compared, "body", "interval_cpu_self_ns"), 191);
	assert_int_equal(cell(&compared, "native", "interval_cpu_self_ns"), 0);
	while (strcmp(compared.columns[column].key, "difference_cpu_self_ns") != 0)
		column++;
	for (uint32_t i = 1; i < compared.root_count; i++)
		assert_true(llabs(compared.rows[i - 1].cells[column].as.i64) >=
			    llabs(compared.rows[i].cells[column].as.i64));
	st_report_fini(&compared);
	st_report_fini(&one);
	st_report_fini(&both);
}

static uint64_t class_weight(const struct world *world, const char *title)
{
	struct st_question question = *QUESTION(ST_BY_CPU_CLASS);
	struct asked asked;
	uint32_t row;
	uint64_t found;

	ask(&asked, world, NULL, &question);
	row = row_at(&asked.answer, title);
	found = row == ST_NO_ROW ? 0 : st_answer_value(&asked.answer.rows[row], ST_CPU_SELF);
	done(&asked);
	return found;
}

/* Who is on the stack decides: the C library takes the class of its caller, named entry points tell what an
 * unnamed loop waits for, and work below a parallel region is work. */
static void test_classes(void **state)
{
	struct world *world = *state;
	uint8_t sys = ST_FUNCTION_SYSTEM, bare = ST_FUNCTION_NO_SYMBOL;
	uint32_t kernel = fake_module("[kernel]");
	uint32_t user = fake_frame(0, fake_function("user", app, ST_FUNCTION_NATIVE, 0), 0, 0);
	uint32_t yield = fake_function("__sched_yield", libc_module, ST_FUNCTION_NATIVE, sys);
	uint32_t futex = fake_function("futex_wait", kernel, ST_FUNCTION_KERNEL, 0);
	uint32_t call = fake_function("syscall", libc_module, ST_FUNCTION_NATIVE, sys);
	uint32_t lock = fake_function("pthread_mutex_lock", libc_module, ST_FUNCTION_NATIVE, sys);
	uint32_t wait = fake_function("func@0x1", gomp, ST_FUNCTION_NATIVE, bare);
	uint32_t other = fake_function("func@0x2", gomp, ST_FUNCTION_NATIVE, bare);
	uint32_t parallel = fake_function("GOMP_parallel", gomp, ST_FUNCTION_NATIVE, 0);
	uint32_t critical = fake_function("GOMP_critical_start", gomp, ST_FUNCTION_NATIVE, 0);
	uint32_t region = fake_function("region", app, ST_FUNCTION_NATIVE, 0);
	uint32_t dynamic = fake_module("[Dynamic code]");
	uint32_t barrier = fake_function("jit_t", dynamic, ST_FUNCTION_JIT, 0);
	uint32_t kernel_made = fake_function("jit_conv_t", dynamic, ST_FUNCTION_JIT, 0);
	uint32_t at_parallel = fake_frame(user, parallel, 0, 0);
	uint32_t at_critical = fake_frame(user, critical, 0, 0);
	uint32_t at_wait = fake_frame(at_parallel, wait, 0, ST_NAMED_AT_PAUSE);

	fake_sample(world->fake, 171, 1000, fake_frame(user, yield, 0, 0), 0);
	fake_sample(world->fake, 172, 200, fake_frame(fake_frame(user, lock, 0, 0), futex, 0, 0),
		    0);
	fake_sample(world->fake, 173, 3000, at_wait, 0);
	/* The same loop, not at its pause, in a system call. */
	fake_sample(world->fake, 174, 40000,
		    fake_frame(fake_frame(at_parallel, wait, 0, 0), call, 0, 0), 0);
	fake_sample(world->fake, 175, 500000, at_parallel, 0);
	fake_sample(world->fake, 176, 6000000, fake_frame(at_critical, wait, 0, ST_NAMED_AT_PAUSE),
		    0);
	fake_sample(world->fake, 177, 70000000, fake_frame(user, other, 0, 0), 0);
	fake_sample(world->fake, 178, 800000000, fake_frame(at_parallel, region, 0, 0), 0);
	/* What oneDNN compiles is work, but for its barrier. */
	fake_sample(world->fake, 179, 100000, fake_frame(at_parallel, barrier, 0, 0), 0);
	fake_sample(world->fake, 180, 20000000000, fake_frame(at_parallel, kernel_made, 0, 0), 0);
	fake_finish(world->fake);
	assert_int_equal(class_weight(world, "Spin: Other"), 1000);
	assert_int_equal(class_weight(world, "Spin: Lock Contention"), 6000200);
	assert_int_equal(class_weight(world, "Spin: Imbalance or Serial Spinning"),
			 34 + 43000 + 100000);
	assert_int_equal(class_weight(world, "Overhead: Creation"), 500000);
	assert_int_equal(class_weight(world, "Overhead: Other"), 70000000);
	assert_int_equal(class_weight(world, "Effective"), 115 + 800000000 + 20000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tasks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_operators, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timed_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads_classes_and_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_python, setup, teardown),
		cmocka_unit_test_setup_teardown(test_python_lines_without_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stack_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_filters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gprof, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cycles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_comparison, setup, teardown),
		cmocka_unit_test_setup_teardown(test_comparison_of_runs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_classes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
