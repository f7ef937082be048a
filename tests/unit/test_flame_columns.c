// SPDX-License-Identifier: Apache-2.0
//
// Flame graphs as columns: every nanosecond is somewhere, cut or not; a root, two sides, and stacks over time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "analyze/stacks/flame_columns.h"
#include "analyze/stacks/flame_time.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "samples_result.h"

static struct samples_result made;
static struct st_flames flames;
static struct st_buf out;
static struct st_json json;
static struct st_error err;
static json_object *doc;

static int setup(void **state)
{
	(void)state;
	samples_create(&made);
	memset(&flames, 0, sizeof(flames));
	st_buf_init(&out, SIZE_MAX / 4);
	doc = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_object_put(doc);
	st_flames_fini(&flames);
	st_buf_fini(&out);
	samples_destroy(&made);
	return 0;
}

static void add(unsigned int side, bool reverse)
{
	struct st_stacks stacks;
	struct st_flame_tree tree = {0};

	assert_int_equal(st_stacks_need(&stacks, made.fake, NULL, NULL, &err), ST_OK);
	assert_int_equal(st_flame_tree_make(&tree, &stacks, reverse, &err), ST_OK);
	assert_int_equal(st_flames_add(&flames, &tree, side, &err), ST_OK);
	st_flame_tree_fini(&tree);
	st_stacks_fini(&stacks);
}

static void make(unsigned int sides, bool reverse)
{
	assert_int_equal(st_flames_init(&flames, sides, &err), ST_OK);
	for (unsigned int i = 0; i < sides; i++)
		add(i, reverse);
	assert_int_equal(st_flames_finish(&flames, &err), ST_OK);
}

static void parse(void)
{
	st_json_object_end(&json);
	st_buf_append_u8(&out, 0);
	json_object_put(doc);
	doc = json_tokener_parse((const char *)out.data);
	assert_non_null(doc);
}

static void begin(void)
{
	st_buf_clear(&out);
	st_json_init(&json, &out);
	st_json_object_begin(&json);
}

static void ask(const struct st_flames_ask *wanted)
{
	begin();
	if (st_flames_json(&flames, wanted, &json, &err))
		fail_msg("%s", err.text);
	parse();
}

static json_object *member(json_object *of, const char *key)
{
	json_object *value = NULL;

	if (!json_object_object_get_ex(of, key, &value))
		fail_msg("no member %s", key);
	return value;
}

static int64_t cell(const char *column, size_t at)
{
	return json_object_get_int64(
		json_object_array_get_idx(member(member(doc, "nodes"), column), at));
}

static size_t node_count(void)
{
	return json_object_array_length(member(member(doc, "nodes"), "parent"));
}

static const char *name_at(size_t at)
{
	return json_object_get_string(
		json_object_array_get_idx(member(doc, "names"), (size_t)cell("name", at)));
}

/* Self times and what was folded make the whole, and no child has more than its parent. */
static void check_sums(const char *self, const char *total, const char *folded)
{
	int64_t sum = 0;

	for (size_t i = 0; i < node_count(); i++) {
		sum += cell(self, i) + cell(folded, i);
		if (cell("parent", i) < 0)
			continue;
		assert_true((size_t)cell("parent", i) < i);
		assert_true(cell(total, i) <= cell(total, (size_t)cell("parent", i)));
		assert_int_equal(cell("depth", i), cell("depth", (size_t)cell("parent", i)) + 1);
	}
	assert_int_equal(sum, cell(total, 0));
}

static void nothing_is_lost(void **state)
{
	static const double ratios[] = {0.0, 0.01, 0.1, 0.5, 1.0};

	(void)state;
	for (unsigned int reverse = 0; reverse < 2; reverse++) {
		make(1, reverse);
		for (size_t i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
			struct st_flames_ask wanted = {.min_ratio = ratios[i]};
			uint64_t folded = 0;

			ask(&wanted);
			assert_int_equal(cell("total_ns", 0), 100);
			check_sums("self_ns", "total_ns", "folded_ns");
			for (size_t k = 0; k < node_count(); k++)
				folded += (uint64_t)cell("folded", k);
			assert_int_equal(node_count() + folded, flames.count);
			wanted.max_depth = 2;
			ask(&wanted);
			check_sums("self_ns", "total_ns", "folded_ns");
			for (size_t k = 0; k < node_count(); k++)
				assert_true(cell("depth", k) <= 2);
		}
		st_flames_fini(&flames);
	}
}

static void a_root_is_a_path_of_names(void **state)
{
	struct st_flames_ask wanted = {0};
	const char *path[2];
	char first[128], second[128];

	(void)state;
	make(1, false);
	ask(&wanted);
	snprintf(first, sizeof(first), "%s", name_at(1));
	snprintf(second, sizeof(second), "%s", name_at(2));
	assert_int_equal(cell("parent", 2), 1);
	path[0] = first;
	path[1] = second;
	wanted.root = path;
	wanted.root_count = 2;
	ask(&wanted);
	assert_string_equal(name_at(0), second);
	assert_int_equal(cell("depth", 0), 0);
	check_sums("self_ns", "total_ns", "folded_ns");
	path[1] = "nobody";
	begin();
	assert_int_equal(st_flames_json(&flames, &wanted, &json, &err), ST_ENOTFOUND);
	wanted = (struct st_flames_ask){.min_ratio = 2.0};
	assert_int_equal(st_flames_json(&flames, &wanted, &json, &err), ST_EUSAGE);
}

/* The same result on both sides: all paths match. */
static void sides_match_by_names(void **state)
{
	static const struct st_flames_ask all = {0};
	uint32_t alone;

	(void)state;
	make(1, false);
	alone = flames.count;
	st_flames_fini(&flames);
	make(2, false);
	assert_int_equal(flames.count, alone);
	ask(&all);
	check_sums("self_ns", "total_ns", "folded_ns");
	check_sums("self_b_ns", "total_b_ns", "folded_b_ns");
	for (size_t i = 0; i < node_count(); i++)
		assert_int_equal(cell("total_ns", i), cell("total_b_ns", i));
}

/* Boxes of a depth cover what the samples took, and lie inside of those around them. */
static void stacks_over_time_nest(void **state)
{
	struct st_stacks stacks;
	json_object *boxes;
	size_t count;
	int64_t outermost = 0;

	(void)state;
	assert_int_equal(st_stacks_need(&stacks, made.fake, NULL, NULL, &err), ST_OK);
	begin();
	assert_int_equal(st_flame_time_json(&stacks, 0.0, &json, &err), ST_OK);
	parse();
	assert_int_equal(json_object_array_length(member(doc, "threads")), 2);
	boxes = member(doc, "boxes");
	count = json_object_array_length(member(boxes, "depth"));
	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		int64_t box[2], depth = json_object_get_int64(
					json_object_array_get_idx(member(boxes, "depth"), i));

		box[0] = json_object_get_int64(
			json_object_array_get_idx(member(boxes, "begin_ns"), i));
		box[1] = json_object_get_int64(
			json_object_array_get_idx(member(boxes, "end_ns"), i));
		assert_true(box[0] <= box[1]);
		if (!depth)
			outermost += box[1] - box[0];
	}
	/* All but the sample without a stack. */
	assert_true(outermost >= 99);
	begin();
	assert_int_equal(st_flame_time_json(&stacks, 1.5, &json, &err), ST_EUSAGE);
	st_stacks_fini(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(a_root_is_a_path_of_names, setup, teardown),
		cmocka_unit_test_setup_teardown(sides_match_by_names, setup, teardown),
		cmocka_unit_test_setup_teardown(stacks_over_time_nest, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
