// SPDX-License-Identifier: Apache-2.0
//
// The trace in the form of torch's profiler and its memory timeline, read back with a strict parser, against a result
// counted by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "analyze/engine/question.h"
#include "base/buf.h"
#include "export/export.h"
#include "nasty_result.h"
#include "operators_result.h"

static const char *format = "kineto";

static enum st_status try_export(const struct st_result *fake,
				 const struct st_export_options *options, struct st_buf *out,
				 struct st_error *err)
{
	const struct st_exporter *exporter = st_exporters;
	struct st_sink *sink;
	enum st_status status;

	while (strcmp(exporter->name, format) != 0)
		exporter++;
	st_buf_init(out, 64 << 20);
	assert_int_equal(st_sink_open_buf(&sink, out, NULL), ST_OK);
	status = st_export_write(exporter, fake, options, sink, err);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
	return status;
}

static struct json_object *export(const struct st_result *fake,
				  const struct st_export_options *options)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *trace;
	struct st_buf out;

	assert_int_equal(try_export(fake, options, &out, NULL), ST_OK);
	st_buf_append_u8(&out, 0);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	trace = json_tokener_parse_ex(tokener, (char *)out.data, (int)out.size_bytes);
	assert_non_null(trace);
	json_tokener_free(tokener);
	st_buf_fini(&out);
	return trace;
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *found = NULL;

	if (!json_object_object_get_ex(object, key, &found))
		fail_msg("no %s in %s", key, json_object_to_json_string(object));
	return found;
}

static const char *text(struct json_object *object, const char *key)
{
	return json_object_get_string(member(object, key));
}

static int64_t number(struct json_object *object, const char *key)
{
	return json_object_get_int64(member(object, key));
}

/* Times of our own are whole microseconds with three decimals. */
static int64_t ns(struct json_object *object, const char *key)
{
	return (int64_t)(json_object_get_double(member(object, key)) * 1000 + 0.5);
}

static uint32_t count(struct json_object *trace, const char *cat)
{
	struct json_object *events = member(trace, "traceEvents");
	uint32_t found = 0;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *its, *event = json_object_array_get_idx(events, i);

		if (json_object_object_get_ex(event, "cat", &its))
			found += strcmp(json_object_get_string(its), cat) == 0;
	}
	return found;
}

/* The index-th event of the name and phase. */
static struct json_object *event(struct json_object *trace, const char *ph, const char *name,
				 unsigned int index)
{
	struct json_object *events = member(trace, "traceEvents");

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *one = json_object_array_get_idx(events, i);

		if (strcmp(text(one, "ph"), ph) == 0 && strcmp(text(one, "name"), name) == 0 &&
		    !index--)
			return one;
	}
	fail_msg("no %s", name);
	return NULL;
}

static struct json_object *args(struct json_object *trace, const char *name)
{
	return member(event(trace, "X", name, 0), "args");
}

static void test_slices(void **state)
{
	struct st_result *fake = operators_create();
	struct json_object *trace = export(fake, NULL), *one;

	(void)state;
	assert_int_equal(count(trace, "cpu_op") + count(trace, "user_annotation"),
			 OPERATORS_IN_FILE);
	one = event(trace, "X", "a \"range\"\n", 0);
	assert_string_equal(text(one, "cat"), "user_annotation");
	assert_int_equal(ns(one, "ts"), 6000); /* the base is 5 us before the start */
	assert_int_equal(ns(one, "dur"), 8000);
	assert_int_equal(number(one, "pid"), 100);
	assert_int_equal(number(one, "tid"), 100);
	assert_int_equal(number(trace, "baseTimeNanoseconds"), INT64_C(1790857026000000000));
	one = event(trace, "X", "nn.Module: Net.head", 0);
	assert_string_equal(text(one, "cat"), "python_function");
	assert_null(member(member(one, "args"), "Python parent id"));
	one = event(trace, "X", "aten::ones", 0);
	assert_int_equal(number(one, "tid"), 101);
	assert_string_equal(text(member(event(trace, "M", "thread_name", 1), "args"), "name"),
			    "thread 101 (wor\"ker)");
	json_object_put(trace);
	fake_destroy(fake);
}

static void test_inputs(void **state)
{
	struct st_result *fake = operators_create();
	struct json_object *trace = export(fake, NULL), *one = args(trace, "aten::linear");

	(void)state;
	assert_string_equal(
		json_object_to_json_string_ext(member(one, "Input Dims"), JSON_C_TO_STRING_PLAIN),
		"[[2,3],[3,70],[],[]]");
	assert_string_equal(
		json_object_to_json_string_ext(member(one, "Input type"), JSON_C_TO_STRING_PLAIN),
		"[\"float\",\"float\",\"Scalar\",\"\"]");
	assert_int_equal(json_object_array_length(member(one, "Concrete Inputs")), 4);
	assert_int_equal(json_object_array_length(member(one, "Input Strides")), 4);
	one = args(trace, "aten::cat");
	assert_string_equal(
		json_object_to_json_string_ext(member(one, "Input Dims"), JSON_C_TO_STRING_PLAIN),
		"[[[5],[]],[]]");
	assert_string_equal(
		json_object_to_json_string_ext(member(one, "Input type"), JSON_C_TO_STRING_PLAIN),
		"[\"TensorList\",\"Scalar\"]");
	assert_false(json_object_object_get_ex(args(trace, "aten::relu"), "Input Dims", NULL));
	json_object_put(trace);
	fake_destroy(fake);
}

/* The last operator of the sequence number and the node are joined; the wrapper has the node's number. */
static void test_forward_and_backward(void **state)
{
	struct st_result *fake = operators_create();
	struct json_object *trace = export(fake, NULL), *one;

	(void)state;
	assert_int_equal(count(trace, "fwdbwd"), 2);
	one = event(trace, "s", "fwdbwd", 0);
	assert_int_equal(ns(one, "ts"), 1300 + 5000);
	assert_int_equal(number(one, "id"), 1);
	one = event(trace, "f", "fwdbwd", 0);
	assert_int_equal(ns(one, "ts"), 4100 + 5000);
	assert_string_equal(text(one, "bp"), "e");
	one = args(trace, "autograd::engine::evaluate_function: AddmmBackward0");
	assert_int_equal(number(one, "Sequence number"), 7);
	assert_int_equal(number(one, "Fwd thread id"), 1);
	assert_int_equal(number(args(trace, "AddmmBackward0"), "Fwd thread id"), 1);
	assert_int_equal(number(args(trace, "aten::addmm"), "Fwd thread id"), 0);
	assert_false(json_object_object_get_ex(args(trace, "aten::mm"), "Sequence number", NULL));
	json_object_put(trace);
	fake_destroy(fake);
}

/* What ends behind the range it began in is drawn beside it, with all that is inside. */
static void test_crossing(void **state)
{
	struct st_result *fake = operators_create();
	struct json_object *trace = export(fake, NULL);
	struct json_object *one = event(trace, "X", "crossing", 0);

	(void)state;
	assert_true(number(one, "tid") > 1 << 22);
	assert_int_equal(number(member(one, "args"), "tid"), 100);
	assert_int_equal(ns(one, "dur"), 1500);
	assert_int_equal(number(event(trace, "X", "aten::relu", 0), "tid"), number(one, "tid"));
	json_object_put(trace);
	fake_destroy(fake);
}

static void test_memory(void **state)
{
	static const int64_t bytes[] = {500, 300, -200, -400, 100, 60, -50, 30, -10};
	struct st_result *fake = operators_create();
	struct json_object *trace = export(fake, NULL);
	int64_t total = 0;

	(void)state;
	assert_int_equal(count(trace, "cpu_instant_event"), sizeof(bytes) / sizeof(bytes[0]));
	for (unsigned int i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		struct json_object *one = member(event(trace, "i", "[memory]", i), "args");

		total += bytes[i];
		assert_int_equal(number(one, "Bytes"), bytes[i]);
		assert_int_equal(number(one, "Total Allocated"), total);
	}
	json_object_put(trace);
	fake_destroy(fake);
}

/* What began and ended inside; totals of memory go on from before. */
static void test_window(void **state)
{
	struct st_result *fake = operators_create();
	const struct st_question question = {
		.has_time_range = true, .time_begin_ns = 4000, .time_end_ns = 8100};
	const struct st_export_options options = {.question = &question};
	struct json_object *trace = export(fake, &options), *one;

	(void)state;
	assert_int_equal(count(trace, "cpu_op"), 4);
	assert_int_equal(count(trace, "user_annotation"), 0);
	assert_int_equal(count(trace, "fwdbwd"), 0);
	assert_int_equal(count(trace, "python_function"), 0);
	assert_int_equal(number(args(trace, "AddmmBackward0"), "Fwd thread id"), 1);
	one = member(event(trace, "i", "[memory]", 0), "args");
	assert_int_equal(number(one, "Total Allocated"), 200);
	one = event(trace, "X", "PyTorch Profiler (0)", 0);
	assert_int_equal(ns(one, "ts"), 9000);
	assert_int_equal(ns(one, "dur"), 4100);
	json_object_put(trace);
	fake_destroy(fake);
}

static void test_filters(void **state)
{
	const struct st_filter thread = {ST_BY_THREAD, true, "101"};
	const struct st_filter name = {ST_BY_OPERATOR, false, "aten::mm"};
	struct st_question question = {.filters = &thread, .filter_count = 1};
	const struct st_export_options options = {.question = &question};
	struct st_result *fake = operators_create();
	struct json_object *trace = export(fake, &options);
	struct st_error err = {0};
	struct st_buf out;

	(void)state;
	assert_int_equal(count(trace, "cpu_op") + count(trace, "user_annotation"),
			 OPERATORS_IN_FILE - 1);
	json_object_put(trace);
	question.filters = &name;
	assert_int_equal(try_export(fake, &options, &out, &err), ST_EUSAGE);
	assert_non_null(strstr(err.text, "cannot filter by operator"));
	st_buf_fini(&out);
	fake_destroy(fake);
}

static void test_facts(void **state)
{
	const struct st_export_fact facts[] = {{{"a\"", 2}, {"{\"b\": [1]}", 10}, true},
					       {{"c", 1}, {"NaN\n", 4}, false}};
	const struct st_export_options options = {
		.parts = ST_PART_NONE, .facts = facts, .fact_count = 2, .trace_name = "a/b\".json"};
	struct st_result *fake = operators_create();
	struct json_object *trace = export(fake, &options);

	(void)state;
	assert_int_equal(json_object_array_length(member(member(trace, "a\""), "b")), 1);
	assert_string_equal(text(trace, "c"), "NaN\n");
	assert_string_equal(text(trace, "traceName"), "a/b\".json");
	assert_false(json_object_object_get_ex(trace, "record_shapes", NULL));
	assert_int_equal(count(trace, "python_function"), 0);
	assert_int_equal(count(trace, "cpu_instant_event"), 0);
	assert_false(json_object_object_get_ex(args(trace, "aten::cat"), "Input Dims", NULL));
	json_object_put(trace);
	fake_destroy(fake);
}

/* Names of any bytes; tasks that are no operators; none at all. */
static void test_other_results(void **state)
{
	struct st_result *fake = nasty_create(), *empty = fake_create();
	struct json_object *trace = export(fake, NULL);

	(void)state;
	assert_int_equal(count(trace, "cpu_op"), 2 * NASTY_NAMES); /* of ITT */
	assert_int_equal(count(trace, "user_annotation"), 0);
	json_object_put(trace);
	trace = export(empty, NULL);
	assert_int_equal(count(trace, "cpu_op"), 0);
	json_object_put(trace);
	fake_destroy(fake);
	fake_destroy(empty);
}

static uint32_t add_node(struct st_result *fake, uint32_t parent, uint32_t code, uint32_t line)
{
	uint32_t node = fake->nodes.count++;

	fake->node_columns.parent[node] = parent;
	fake->node_columns.value[node] = code;
	fake->node_columns.line[node] = line;
	return node;
}

/* main at line 5 calls forward (Net.py:10), which calls helper (site-packages/lib.py:3) for one operator. */
static void add_stacks(struct st_result *fake)
{
	static const struct {
		const char *file, *name;
		uint32_t line;
	} codes[] = {{"/srv/app/main.py", "<module>", 1},
		     {"/srv/app/net.py", "Net.forward", 10},
		     {"/usr/lib/python3/dist-packages/lib.py", "make.<locals>.helper", 3},
		     {"/usr/lib/python3.11/nn.py", "Module._wrapped_call_impl", 7}};
	uint32_t outer, forward, helper;

	fake->info.working_dir = "/srv/app";
	for (uint32_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		fake->python_codes[fake->python_code_count++] =
			(struct st_python_code){.file = fake_text(fake, codes[i].file),
						.name = fake_text(fake, codes[i].name),
						.first_line = codes[i].line};
	outer = add_node(fake, 0, 0, 5);
	forward = add_node(fake, add_node(fake, outer, 3, 8), 1, 11);
	helper = add_node(fake, add_node(fake, add_node(fake, outer, 3, 8), 1, 12), 2, 4);
	fake->operators[OPERATORS_RANGE].stack = outer;
	fake->operators[OPERATORS_OUTER].stack = forward;
	fake->operators[OPERATORS_FORWARD].stack = helper;
	fake->operators[OPERATORS_WRAPPER].stack = outer;
	fake->operators[OPERATORS_CAT].stack = outer;
}

static void test_functions(void **state)
{
	struct st_result *fake = operators_create();
	struct json_object *trace, *one, *module;

	(void)state;
	add_stacks(fake);
	trace = export(fake, NULL);
	assert_int_equal(number(trace, "with_stack"), 1);
	assert_int_equal(count(trace, "python_function"), 5);
	/* Around everything, by the range's own stack, with the line it was at. */
	one = event(trace, "X", "main.py(5): <module>", 0);
	assert_int_equal(ns(one, "ts"), 1000 + 5000);
	assert_int_equal(ns(one, "dur"), 8000);
	assert_null(member(member(one, "args"), "Python parent id"));
	module = event(trace, "X", "nn.Module: Net.head", 0);
	assert_int_equal(number(member(module, "args"), "Python parent id"),
			 number(member(one, "args"), "Python id"));
	/* In the module, from its first operator to its last. */
	one = event(trace, "X", "nn.py(7): _wrapped_call_impl", 0);
	assert_int_equal(number(member(one, "args"), "Python parent id"),
			 number(member(module, "args"), "Python id"));
	assert_int_equal(ns(one, "ts"), 1200 + 5000);
	assert_int_equal(ns(one, "dur"), 1700);
	assert_int_equal(ns(event(trace, "X", "net.py(10): forward", 0), "dur"), 1700);
	/* In the operator that calls it. */
	one = event(trace, "X", "lib.py(3): helper", 0);
	assert_int_equal(ns(one, "ts"), 1300 + 5000);
	assert_int_equal(ns(one, "dur"), 1500);
	json_object_put(trace);
	fake_destroy(fake);
}

static void test_stacks(void **state)
{
	struct st_result *fake = operators_create();
	struct st_buf out;

	(void)state;
	add_stacks(fake);
	format = "torch-stacks";
	assert_int_equal(try_export(fake, NULL, &out, NULL), ST_OK);
	format = "kineto";
	st_buf_append_u8(&out, 0);
	/* Only what took a microsecond by itself, with the lines that ran; a node has the stack of its operator. */
	assert_string_equal((char *)out.data,
			    "/srv/app/main.py(5):_<module> 2\n"
			    "/srv/app/main.py(5):_<module>;/usr/lib/python3.11/nn.py(8):_"
			    "_wrapped_call_impl;/srv/app/net.py(12):_forward;lib.py(4):_helper 1\n"
			    "/srv/app/main.py(5):_<module>;/usr/lib/python3.11/nn.py(8):_"
			    "_wrapped_call_impl;/srv/app/net.py(11):_forward 1\n");
	st_buf_fini(&out);
	fake_destroy(fake);
}

static void assert_timeline(const struct st_result *fake, const struct st_export_options *options,
			    const char *expected)
{
	struct json_object *read;

	format = "memory-timeline";
	read = export(fake, options);
	format = "kineto";
	assert_string_equal(json_object_to_json_string_ext(read, JSON_C_TO_STRING_PLAIN), expected);
	json_object_put(read);
}

/* Microseconds since 1970; the last of each counts. Moments are 1.4, 2, 4.3, 5 and 6.6 us after 5 us. */
static void test_memory_timeline(void **state)
{
	struct st_question question = {
		.has_time_range = true, .time_begin_ns = 4000, .time_end_ns = 5000};
	struct st_export_options options = {.question = &question};
	const struct st_filter nobody = {ST_BY_THREAD, false, "101"};
	struct st_result *fake = operators_create(), *empty = fake_create();

	(void)state;
	assert_timeline(fake, NULL,
			"[[1790857026000006,1790857026000007,1790857026000009,1790857026000010,"
			"1790857026000011],"
			"[[0,0,0,0,0,0,0,0,500],[0,0,0,0,0,0,0,0,600],[0,0,0,0,0,0,0,0,300],"
			"[0,0,0,0,0,0,0,0,340],[0,0,0,0,0,0,0,0,330]]]");
	assert_timeline(empty, NULL, "[[],[]]");
	options.is_raw = true;
	assert_timeline(
		fake, &options,
		"[[-1,1,600,7],[1790857026000009300,4,-400,7],[1790857026000009300,2,100,7],"
		"[1790857026000010000,2,60,7],[1790857026000010000,4,-50,7],"
		"[1790857026000010000,2,30,7]]");
	question.filters = &nobody;
	question.filter_count = 1;
	assert_timeline(fake, &options, "[]");
	fake_destroy(fake);
	fake_destroy(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_inputs),
		cmocka_unit_test(test_forward_and_backward),
		cmocka_unit_test(test_crossing),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_other_results),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_memory_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
