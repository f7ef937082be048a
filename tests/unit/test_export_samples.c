// SPDX-License-Identifier: Apache-2.0
//
// What is exported of samples: folded stacks, flame graph, speedscope and pprof, against a result whose stacks and
// times are known.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/question.h"
#include "base/buf.h"
#include "export/export.h"
#include "pf_decode.h"
#include "samples_result.h"

struct fixture {
	struct samples_result made;
	struct st_export_options options;
	struct st_question question;
	struct st_buf out;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	samples_create(&f->made);
	f->options.question = &f->question;
	st_buf_init(&f->out, 64 << 20);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	samples_destroy(&f->made);
	st_buf_fini(&f->out);
	free(f);
	return 0;
}

static enum st_status try_export(struct fixture *f, const char *name)
{
	const struct st_exporter *exporter = st_exporters;
	struct st_sink *sink;
	enum st_status status;

	while (strcmp(exporter->name, name))
		exporter++;
	st_buf_clear(&f->out);
	assert_int_equal(st_sink_open_buf(&sink, &f->out, NULL), ST_OK);
	status = st_export_write(exporter, f->made.fake, &f->options, sink, NULL);
	assert_int_equal(st_sink_close(sink, true, NULL), ST_OK);
	st_buf_append_u8(&f->out, 0);
	return status;
}

static const char *export(struct fixture *f, const char *name)
{
	assert_int_equal(try_export(f, name), ST_OK);
	return (const char *)f->out.data;
}

/* All lines, in any order. */
static void check_folded(struct fixture *f, const char *const *lines)
{
	const char *out = export(f, "folded");
	size_t bytes = 0;

	for (size_t i = 0; lines[i]; i++) {
		const char *at = strstr(out, lines[i]);

		if (!at || (at != out && at[-1] != '\n') || at[strlen(lines[i])] != '\n')
			fail_msg("no line '%s' in\n%s", lines[i], out);
		bytes += strlen(lines[i]) + 1;
	}
	assert_int_equal(bytes, strlen(out));
}

static void test_folded(void **state)
{
	static const char *const mixed[] = {
		"_start;train (train.py:88);at::conv<a: b>;jit_conv 70",
		"_start;train (train.py:88);at::conv<a: b>;dot 20",
		"_start;train (train.py:90);write;sys_write 5",
		"clone3;func@0x1de20 [libgomp.so.1] 4",
		"[no frame shown] 1",
		NULL,
	};

	check_folded(*state, mixed);
}

static void test_python_frames(void **state)
{
	static const char *const only[] = {"train (train.py:88) 90", "train (train.py:90) 5",
					   "[no frame shown] 5", NULL};
	static const char *const none[] = {
		"_start;eval;at::conv<a: b>;jit_conv 70",
		"_start;eval;at::conv<a: b>;dot 20",
		"_start;eval;write;sys_write 5",
		"clone3;func@0x1de20 [libgomp.so.1] 4",
		"[no frame shown] 1",
		NULL,
	};
	struct fixture *f = *state;

	f->options.view.python_frames = ST_PYTHON_ONLY;
	check_folded(f, only);
	f->options.view.python_frames = ST_PYTHON_NONE;
	check_folded(f, none);
}

static void test_call_stack_modes(void **state)
{
	static const char *const plus_one[] = {
		"train (train.py:88);at::conv<a: b>;jit_conv 70",
		"train (train.py:88);at::conv<a: b>;dot 20",
		"train (train.py:90);write 5",
		"func@0x1de20 [libgomp.so.1] 4",
		"[no frame shown] 1",
		NULL,
	};
	static const char *const only[] = {
		"train (train.py:88);at::conv<a: b>;jit_conv 70",
		"train (train.py:88);at::conv<a: b>;dot 20",
		"train (train.py:90) 5",
		"func@0x1de20 [libgomp.so.1] 4",
		"[no frame shown] 1",
		NULL,
	};
	struct fixture *f = *state;

	f->options.view.call_stack_mode = ST_STACK_USER_PLUS_ONE;
	check_folded(f, plus_one);
	f->options.view.call_stack_mode = ST_STACK_USER_ONLY;
	check_folded(f, only);
}

static void test_reversed(void **state)
{
	static const char *const lines[] = {
		"jit_conv;at::conv<a: b>;train (train.py:88);_start 70",
		"dot;at::conv<a: b>;train (train.py:88);_start 20",
		"sys_write;write;train (train.py:90);_start 5",
		"func@0x1de20 [libgomp.so.1];clone3 4",
		"[no frame shown] 1",
		NULL,
	};
	struct fixture *f = *state;

	f->options.reverse = true;
	check_folded(f, lines);
}

static void test_groups_and_times(void **state)
{
	static const char *const by_thread[] = {
		"main (100);_start;train (train.py:88);at::conv<a: b>;jit_conv 70",
		"main (100);_start;train (train.py:88);at::conv<a: b>;dot 20",
		"main (100);_start;train (train.py:90);write;sys_write 5",
		"pool (101);clone3;func@0x1de20 [libgomp.so.1] 4",
		"pool (101);[no frame shown] 1",
		NULL,
	};
	static const char *const reversed[] = {
		"python3 (100);pool (101);func@0x1de20 [libgomp.so.1];clone3 4",
		"python3 (100);main (100);jit_conv;at::conv<a: b>;train (train.py:88);_start 40",
		NULL,
	};
	struct fixture *f = *state;

	f->question.groupings[0] = ST_BY_THREAD;
	f->question.grouping_count = 1;
	check_folded(f, by_thread);
	f->question.groupings[0] = ST_BY_PROCESS;
	f->question.groupings[1] = ST_BY_THREAD;
	f->question.grouping_count = 2;
	f->question.has_time_range = true;
	f->question.time_begin_ns = 100;
	f->question.time_end_ns = 200;
	f->options.reverse = true;
	check_folded(f, reversed);
	f->question.time_begin_ns = 10000;
	f->question.time_end_ns = 20000;
	assert_int_equal(try_export(f, "folded"), ST_EUSAGE);
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

static void test_flame_graph(void **state)
{
	struct fixture *f = *state;
	const char *svg = export(f, "flamegraph");

	/* The start of a thread says nothing. */
	assert_int_equal(count_of(svg, "<g class=\"f "), 11);
	assert_null(strstr(svg, "clone3"));
	assert_non_null(strstr(svg, "without interpreter, dispatcher and import frames"));
	f->options.view.call_stack_mode = ST_STACK_ALL;
	svg = export(f, "flamegraph");
	assert_null(strstr(svg, "without interpreter"));
	assert_int_equal(strncmp(svg, "<?xml", 5), 0);
	/* all, _start, two of train, conv, jit, dot, write, sys_write, clone3, worker, no frame */
	assert_int_equal(count_of(svg, "<g class=\"f "), 12);
	assert_non_null(strstr(svg,
			       "<g class=\"f jit\" data-b=\"0\" data-w=\"70\" data-d=\"4\">"
			       "<title>jit_conv\nCPU time 70 ns (70.0 %), self 70 ns (70.0 %), "
			       "2 samples\n[Dynamic code]</title>"));
	assert_non_null(strstr(svg, "<title>at::conv&lt;a; b&gt;\n"));
	assert_int_equal(count_of(svg, "<g class=\"f recovered\""), 1);
	assert_int_equal(count_of(svg, "<g class=\"f inlined\""), 1);
	assert_int_equal(count_of(svg, "<g class=\"f kernel\""), 1);
	assert_int_equal(count_of(svg, "<g class=\"f python\""), 2);
	assert_non_null(strstr(svg, "Python 0.0 %"));
	assert_non_null(strstr(svg, "JIT 70.0 %"));
	assert_null(strstr(svg, "src=")); /* all of it is in the file */
	assert_null(strstr(svg, "href="));
	f->options.is_page = true;
	assert_int_equal(strncmp(export(f, "flamegraph"), "<!DOCTYPE html>", 15), 0);
}

/* A thousand branches too narrow to see are one box that counts them. */
static void test_small_frames(void **state)
{
	struct fixture *f = *state;
	struct fake_named *names = f->made.names;
	uint32_t root = fake_function(names, ST_FUNCTION_NATIVE, "big", "big", "");
	uint32_t node = fake_call(names, 0, root, 1), leaf;
	const char *svg;

	fake_sample(f->made.fake, 1000, 100000000, node, 0);
	for (uint32_t i = 0; i < 200; i++) {
		leaf = fake_call(names, node,
				 fake_function(names, ST_FUNCTION_NATIVE, "big", "leaf", ""), i);
		fake_sample(f->made.fake, 2000 + i, 3, leaf, 0);
	}
	svg = export(f, "flamegraph");
	assert_non_null(strstr(svg,
			       "<title>[200 small]\nCPU time 600 ns (&lt;0.1 %), 200 samples\n"
			       "200 branches too narrow to draw, 200 frames in total</title>"));
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

static int64_t item(struct json_object *array, size_t index)
{
	return json_object_get_int64(json_object_array_get_idx(array, index));
}

static void test_speedscope(void **state)
{
	struct fixture *f = *state;
	struct json_object *file = json_tokener_parse(export(f, "speedscope"));
	struct json_object *frames, *profiles, *main_thread, *pool, *stack;

	assert_non_null(file);
	frames = member(member(file, "shared"), "frames");
	profiles = member(file, "profiles");
	assert_int_equal(json_object_array_length(profiles), 2);
	main_thread = json_object_array_get_idx(profiles, 0);
	assert_string_equal(json_object_get_string(member(main_thread, "unit")), "nanoseconds");
	assert_string_equal(json_object_get_string(member(main_thread, "name")),
			    "python3 (100) main (100)");
	assert_int_equal(json_object_get_int64(member(main_thread, "endValue")), 95);
	/* The first two samples have one stack. */
	assert_int_equal(json_object_array_length(member(main_thread, "samples")), 3);
	assert_int_equal(item(member(main_thread, "weights"), 0), 70);
	assert_int_equal(item(member(main_thread, "weights"), 2), 5);
	stack = json_object_array_get_idx(member(main_thread, "samples"), 0);
	assert_int_equal(json_object_array_length(stack), 4);
	assert_string_equal(
		json_object_get_string(
			member(json_object_array_get_idx(frames, (size_t)item(stack, 1)), "name")),
		"train (train.py:88)");
	assert_int_equal(
		json_object_get_int(
			member(json_object_array_get_idx(frames, (size_t)item(stack, 1)), "line")),
		88);
	pool = json_object_array_get_idx(profiles, 1);
	assert_int_equal(item(member(pool, "weights"), 1), 1);
	json_object_put(file);
}

/* The text of a number of the string table. */
static struct pf_message string_at(struct pf_message profile, uint64_t index)
{
	struct pf_field field;

	while (pf_take_field(&profile, &field)) {
		if (field.number == 6 && index-- == 0)
			return field.bytes;
	}
	fail_msg("no such string");
	return profile;
}

static bool is_string(struct pf_message profile, uint64_t index, const char *wanted)
{
	struct pf_message text = string_at(profile, index);

	return (size_t)(text.end - text.at) == strlen(wanted) &&
	       !memcmp(text.at, wanted, strlen(wanted));
}

static uint64_t varint_of(struct pf_message *packed)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	do
		value |= (uint64_t)(*packed->at & 0x7f) << shift, shift += 7;
	while (*packed->at++ & 0x80);
	return value;
}

static bool has_label(struct pf_message profile, struct pf_message sample, const char *key,
		      const char *text)
{
	struct pf_field field;

	while (pf_take_field(&sample, &field)) {
		if (field.number == 3 && is_string(profile, pf_number_of(field.bytes, 1, 0), key) &&
		    is_string(profile, pf_number_of(field.bytes, 2, 0), text))
			return true;
	}
	return false;
}

static void test_pprof(void **state)
{
	struct fixture *f = *state;
	struct pf_message profile;
	struct pf_field field, values;
	uint64_t samples = 0, total_ns = 0, counts = 0, inlined = 0, build_ids = 0;

	export(f, "pprof");
	profile = (struct pf_message){f->out.data, f->out.data + f->out.size_bytes - 1};
	for (struct pf_message left = profile; pf_take_field(&left, &field);) {
		struct pf_message packed;

		if (field.number == 4) {
			struct pf_message lines = field.bytes;
			struct pf_field line;
			unsigned int count = 0;

			while (pf_take_field(&lines, &line))
				count += line.number == 4;
			inlined += count == 2;
		}
		if (field.number == 3 && pf_number_of(field.bytes, 6, 0))
			build_ids += is_string(profile, pf_number_of(field.bytes, 6, 0), "01ab");
		if (field.number != 2)
			continue;
		samples++;
		assert_true(pf_find(field.bytes, 2, &values));
		packed = values.bytes;
		counts += varint_of(&packed);
		total_ns += varint_of(&packed);
		assert_true(has_label(profile, field.bytes, "process", "python3 (100)"));
		if (samples == 1)
			assert_true(has_label(profile, field.bytes, "task", "aten::conv2d"));
	}
	assert_int_equal(samples, 5);
	assert_int_equal(counts, 6);
	assert_int_equal(total_ns, 100);
	assert_int_equal(inlined, 1);
	assert_int_equal(build_ids, 1);
	assert_true(is_string(profile, 0, ""));
	assert_true(is_string(profile, pf_number_of(profile, 14, 0), "cpu"));
	assert_int_equal(pf_number_of(profile, 12, 0), 10000000);
}

/* Follows the parents of a node of V8's kind of profile. */
static void check_path(struct json_object *nodes, int64_t id, const char *const *names)
{
	for (; id != 1; names++) {
		struct json_object *node = NULL;

		for (size_t i = 0; i < json_object_array_length(nodes); i++) {
			node = json_object_array_get_idx(nodes, i);
			if (json_object_get_int64(member(node, "id")) == id)
				break;
		}
		assert_non_null(*names);
		assert_string_equal(
			json_object_get_string(member(member(node, "callFrame"), "functionName")),
			*names);
		id = json_object_get_int64(member(node, "parent"));
	}
	assert_null(*names);
}

static void test_chrome(void **state)
{
	static const char *const path[] = {"jit_conv", "at::conv<a; b>", "train (train.py:88)",
					   "_start", NULL};
	struct fixture *f = *state;
	struct json_object *file = json_tokener_parse(export(f, "chrome"));
	struct json_object *events = member(file, "traceEvents");
	int64_t weights = 0, chunks = 0, profiles = 0;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i), *data, *list;
		const char *name;

		if (strcmp(json_object_get_string(member(event, "ph")), "P"))
			continue;
		name = json_object_get_string(member(event, "name"));
		data = member(member(event, "args"), "data");
		profiles += !strcmp(name, "Profile");
		if (strcmp(name, "ProfileChunk"))
			continue;
		list = member(data, "weights_ns");
		for (size_t j = 0; j < json_object_array_length(list); j++)
			weights += item(list, j);
		assert_int_equal(json_object_array_length(member(data, "timeDeltas")),
				 json_object_array_length(list));
		list = member(member(data, "cpuProfile"), "samples");
		if (!chunks++) {
			assert_int_equal(json_object_get_int64(member(event, "tid")), 100);
			assert_int_equal(json_object_array_length(list), 4);
			check_path(member(member(data, "cpuProfile"), "nodes"), item(list, 0),
				   path);
		}
	}
	assert_int_equal(profiles, 2);
	assert_int_equal(chunks, 2);
	assert_int_equal(weights, 100);
	json_object_put(file);
}

static void test_perfetto(void **state)
{
	struct fixture *f = *state;
	struct pf_message trace;
	struct pf_field packet, sample, interned, field;
	uint64_t samples = 0, last = 0, total = 0, stacks = 0, errors = 0;

	export(f, "perfetto");
	trace = (struct pf_message){f->out.data, f->out.data + f->out.size_bytes - 1};
	while (pf_take_field(&trace, &packet)) {
		if (!pf_find(packet.bytes, 66, &sample))
			continue;
		samples++;
		assert_int_equal(pf_number_of(sample.bytes, 2, 0), 100);
		if (pf_number_of(sample.bytes, 6, 0) < last)
			total += last; /* the next thread counts from 0 */
		last = pf_number_of(sample.bytes, 6, 0);
		errors += pf_number_of(sample.bytes, 16, 0) == 3;
		if (!pf_find(packet.bytes, 12, &interned))
			continue;
		while (pf_take_field(&interned.bytes, &field))
			stacks += field.number == 7;
	}
	assert_int_equal(samples, 6);
	assert_int_equal(total + last, 100);
	assert_int_equal(stacks, 4);
	assert_int_equal(errors, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_folded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_python_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_call_stack_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reversed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups_and_times, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flame_graph, setup, teardown),
		cmocka_unit_test_setup_teardown(test_small_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_speedscope, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pprof, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chrome, setup, teardown),
		cmocka_unit_test_setup_teardown(test_perfetto, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
