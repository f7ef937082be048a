// SPDX-License-Identifier: Apache-2.0
//
// What is told about one thing on a timeline, and how things are found by name and time: against what made results hold,
// and against a plain look at every item.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "analyze/timeline/details.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "events_result.h"
#include "operators_result.h"

static struct st_result *fake;
static struct st_timeline_view *view;
static struct st_buf out;
static struct st_error err;
static struct st_json json;
static json_object *doc;

static int setup(void **state)
{
	(void)state;
	fake = NULL;
	view = NULL;
	doc = NULL;
	st_buf_init(&out, SIZE_MAX / 4);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_object_put(doc);
	st_timeline_view_close(view);
	fake_destroy(fake);
	st_buf_fini(&out);
	return 0;
}

static void open_view(void)
{
	if (st_timeline_view_open(&view, fake, &err))
		fail_msg("%s", err.text);
}

static void begin(void)
{
	st_buf_clear(&out);
	st_json_init(&json, &out);
	st_json_object_begin(&json);
}

static void end(enum st_status status)
{
	if (status)
		fail_msg("%s", err.text);
	st_json_object_end(&json);
	st_buf_append_u8(&out, 0);
	json_object_put(doc);
	doc = json_tokener_parse((const char *)out.data);
	assert_non_null(doc);
}

static void event(enum st_item_kind kind, uint32_t number)
{
	begin();
	end(st_view_event_json(view, kind, number, &json, &err));
}

/* The member at a path "a.b.c" of the answer; "#1" is an element. */
static json_object *at(const char *path)
{
	json_object *value = doc;

	while (*path) {
		char key[64];
		size_t length = strcspn(path, ".");

		memcpy(key, path, length);
		key[length] = '\0';
		if (key[0] == '#')
			value = json_object_array_get_idx(value, strtoul(key + 1, NULL, 10));
		else if (!json_object_object_get_ex(value, key, &value))
			fail_msg("no member %s in %s", key, (const char *)out.data);
		path += length + (path[length] == '.');
	}
	return value;
}

static int64_t number(const char *path)
{
	assert_true(json_object_is_type(at(path), json_type_int));
	return json_object_get_int64(at(path));
}

static const char *text(const char *path)
{
	return json_object_get_string(at(path));
}

static void tasks_tell_what_is_around_them(void **state)
{
	(void)state;
	fake = events_create();
	open_view();
	event(ST_ITEM_SLICE, EVENTS_OUTER);
	assert_string_equal(text("name"), "outer");
	assert_int_equal(number("wall_ns"), 900);
	assert_int_equal(number("self_ns"), 700);
	assert_int_equal(number("child_count"), 2);
	assert_null(at("parent"));
	assert_string_equal(text("python_line"), "train.py:88");
	assert_string_equal(text("args.id"), "1:2:3");
	assert_string_equal(text("args.metadata.late"), "told after a task inside");
	assert_string_equal(text("args.caller"), "lib.so+0x1");
	event(ST_ITEM_SLICE, EVENTS_FIRST);
	assert_int_equal(number("parent.row"), EVENTS_OUTER);
	assert_int_equal(number("lane"), 1);
	assert_string_equal(text("args.metadata.text"), "plain");
	assert_int_equal(json_object_array_length(at("args.metadata.s64")), 3);
}

static void spans_and_markers_are_told_too(void **state)
{
	(void)state;
	fake = events_create();
	open_view();
	event(ST_ITEM_SPAN, 1);
	assert_string_equal(text("name"), "request");
	assert_string_equal(text("category_name"), "overlapped");
	assert_int_equal(number("lane"), 1);
	assert_int_equal(number("previous.row"), 0);
	assert_int_equal(number("next.row"), 2);
	for (uint32_t i = 0; i < view->items[ST_ITEM_MARKER].count; i++) {
		event(ST_ITEM_MARKER, view->items[ST_ITEM_MARKER].number[i]);
		assert_int_equal(number("begin_ns"), number("end_ns"));
		assert_true(number("track") < view->count);
	}
}

static void operators_tell_inputs_and_backward(void **state)
{
	(void)state;
	fake = operators_create();
	fake->flows[0] = (struct st_slice_flow){OPERATORS_FORWARD, OPERATORS_BACKWARD, 3};
	fake->flow_count = 1;
	open_view();
	event(ST_ITEM_SLICE, OPERATORS_FORWARD);
	assert_int_equal(number("operator.sequence"), 7);
	assert_true(strlen(text("operator.input_shapes")) > 2);
	assert_int_equal(json_object_array_length(at("modules")), 1);
	assert_int_equal(json_object_array_length(at("flows")), 1);
	assert_int_equal(number("flows.#0.row"), OPERATORS_BACKWARD);
	assert_string_equal(text("flows.#0.direction"), "out");
	assert_string_equal(text("flows.#0.flow"), "backward");
	event(ST_ITEM_SLICE, OPERATORS_BACKWARD);
	assert_string_equal(text("flows.#0.direction"), "in");
	for (uint32_t i = 0, found = 0; !found; i++) {
		char path[64];

		snprintf(path, sizeof(path), "operator.same_sequence.#%u.row", i);
		found = number(path) == OPERATORS_FORWARD;
	}
}

static void nothing_that_is_not_there(void **state)
{
	static const struct st_find_next beyond = {.track = 1000};
	static const struct st_find many = {.limit = UINT32_MAX, .offset = 1};

	(void)state;
	fake = events_create();
	open_view();
	begin();
	for (unsigned int kind = 0; kind <= ST_ITEM_KINDS; kind++) {
		assert_int_equal(st_view_event_json(view, (enum st_item_kind)kind, UINT32_MAX - 1,
						    &json, &err),
				 ST_EUSAGE);
	}
	assert_int_equal(st_view_next_json(view, &beyond, &json, &err), ST_EUSAGE);
	assert_int_equal(st_view_search_json(view, &many, &json, &err), ST_EUSAGE);
}

/* Names in any case, wherever they are; hits by time over all threads. */
static void search_finds_all(void **state)
{
	struct st_find find = {.text = "O", .limit = 100};
	int64_t last = INT64_MIN;
	uint64_t sum = 0;

	(void)state;
	fake = events_create();
	open_view();
	begin();
	end(st_view_search_json(view, &find, &json, &err));
	assert_true(number("total") >= 3);
	assert_int_equal(json_object_array_length(at("hits")), number("total"));
	for (size_t i = 0; i < json_object_array_length(at("hits")); i++) {
		char path[64];

		snprintf(path, sizeof(path), "hits.#%zu.begin_ns", i);
		assert_true(number(path) >= last);
		last = number(path);
	}
	for (unsigned int i = 0; i < ST_FIND_BUCKETS; i++) {
		char path[64];

		snprintf(path, sizeof(path), "buckets.#%u", i);
		sum += (uint64_t)number(path);
	}
	assert_int_equal(sum, number("total"));
	find = (struct st_find){
		.text = "second", .limit = 1, .has_range = true, .begin_ns = 0, .end_ns = 400};
	begin();
	end(st_view_search_json(view, &find, &json, &err));
	assert_int_equal(number("total"), 0);
	find.end_ns = 401;
	begin();
	end(st_view_search_json(view, &find, &json, &err));
	assert_int_equal(number("total"), 1);
	assert_int_equal(number("hits.#0.row"), EVENTS_SECOND);
	assert_int_equal(number("names.#0.wall_total_ns"), 100);
}

/* A task inside of one of the same name adds nothing to the time of that name. */
static void time_is_counted_once(void **state)
{
	struct st_find find = {.text = "again", .limit = 10};
	uint32_t label, outer, inner;

	(void)state;
	fake = fake_create();
	fake_process(fake, "p", 1);
	label = fake_label(fake, "d", "Again");
	fake_label(fake, "d", "other");
	fake_track(fake, 0, "", 1);
	outer = fake_slice(fake, label, 0, 100, ST_NO_ROW);
	inner = fake_slice(fake, label + 1, 10, 90, outer);
	fake_slice(fake, label, 20, 80, inner);
	fake_slice(fake, label, 200, 210, ST_NO_ROW);
	fake_finish(fake);
	open_view();
	begin();
	end(st_view_search_json(view, &find, &json, &err));
	assert_int_equal(number("names.#0.count"), 3);
	assert_int_equal(number("names.#0.wall_total_ns"), 110);
}

static void next_is_the_nearest(void **state)
{
	struct st_find_next next = {.track = ST_NO_ROW, .from_ns = 301};
	uint32_t labels[] = {1, 2};

	(void)state;
	fake = events_create();
	open_view();
	next.what = (struct st_find){.labels = labels, .label_count = 2};
	begin();
	end(st_view_next_json(view, &next, &json, &err));
	assert_int_equal(number("row"), EVENTS_SECOND);
	next.backward = true;
	begin();
	end(st_view_next_json(view, &next, &json, &err));
	assert_int_equal(number("row"), EVENTS_FIRST);
	next.from_ns = 200;
	begin();
	end(st_view_next_json(view, &next, &json, &err));
	assert_null(at("row"));
	/* Without names: the next thing of a track. */
	next = (struct st_find_next){.track = view->track_of_thread[0], .from_ns = 101};
	begin();
	end(st_view_next_json(view, &next, &json, &err));
	assert_int_equal(number("row"), EVENTS_FIRST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tasks_tell_what_is_around_them, setup, teardown),
		cmocka_unit_test_setup_teardown(spans_and_markers_are_told_too, setup, teardown),
		cmocka_unit_test_setup_teardown(operators_tell_inputs_and_backward, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nothing_that_is_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(search_finds_all, setup, teardown),
		cmocka_unit_test_setup_teardown(time_is_counted_once, setup, teardown),
		cmocka_unit_test_setup_teardown(next_is_the_nearest, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
