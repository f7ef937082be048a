/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of Python functions through the drain: functions and sums are kept as they come, and nothing hostile is believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drain_fixture.h"
#include "format/ring_record.h"
#include "format/varint.h"

static uint64_t suspects(const struct fixture *f)
{
	return st_drain_counts(f->drain)->suspect;
}

static void define(struct fixture *f, uint32_t id, uint32_t file_bytes, const char *texts)
{
	char body[128];
	uint32_t head[2] = {12, file_bytes};

	memcpy(body, head, sizeof(head));
	memcpy(body + sizeof(head), texts, strlen(texts));
	fake_segment_define(&f->segment, ST_DEFINE_PYTHON_FUNCTION, id, body,
			    (uint32_t)(sizeof(head) + strlen(texts)));
}

static void test_function(void **state)
{
	struct fixture *f = *state;
	const struct seen_definition *d;
	struct st_cursor body;
	struct st_text text;

	define(f, 3, 4, "a.pyname");
	drain_all(f);
	d = find_definition(f, ST_DEF_PYTHON_FUNCTION, 3);
	assert_non_null(d);
	body = (struct st_cursor){.at = d->body, .end = d->body + d->body_bytes};
	assert_int_equal(st_cursor_u32(&body), 3);
	assert_int_equal(st_cursor_u32(&body), 12);
	text = st_cursor_text(&body);
	assert_int_equal(text.size_bytes, 4);
	assert_memory_equal(text.bytes, "a.py", 4);
	text = st_cursor_text(&body);
	assert_int_equal(text.size_bytes, 4);
	assert_memory_equal(text.bytes, "name", 4);
	assert_true(body.at == body.end && !body.failed);
	assert_int_equal(suspects(f), 0);
}

static void test_bad_functions(void **state)
{
	struct fixture *f = *state;

	define(f, 0, 4, "a.pyname");
	define(f, 1 << 21, 4, "a.pyname");
	define(f, 1, 9, "a.pyname");
	define(f, 1, UINT32_MAX, "a.pyname");
	fake_segment_define(&f->segment, ST_DEFINE_PYTHON_FUNCTION, 1, "short", 5);
	drain_all(f);
	assert_int_equal(suspects(f), 5);
	assert_null(find_definition(f, ST_DEF_PYTHON_FUNCTION, 1));
}

static void test_calls(void **state)
{
	struct fixture *f = *state;
	const uint64_t words[] = {st_word_ext(ST_EXT_PYTHON_CALLS, 13, 10),
				  4711,
				  2,
				  3,
				  300,
				  1,
				  1000,
				  2000,
				  0,
				  5,
				  5,
				  50,
				  60};
	static const uint64_t want[] = {3, 300, 1, 1000, 2000, 0, 5, 5, 50, 60};
	const struct seen_definition *d;
	struct st_cursor body;

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, words, 13);
	drain_all(f);
	assert_int_equal(suspects(f), 0);
	d = find_definition(f, ST_DEF_PYTHON_CALLS, 4711);
	assert_non_null(d);
	body = (struct st_cursor){.at = d->body, .end = d->body + d->body_bytes};
	assert_int_equal(st_cursor_u32(&body), 4711);
	assert_int_equal(st_cursor_u32(&body), 2);
	assert_int_equal(st_cursor_u64(&body), f->start + 10);
	assert_int_equal(st_cursor_u64(&body), 2);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		uint64_t value;

		assert_true(st_varint_get(&body.at, body.end, &value));
		assert_int_equal(value, want[i]);
	}
	assert_true(body.at == body.end);
}

static void test_bad_calls(void **state)
{
	static const uint64_t bad[][8] = {
		{8, 1ull << 40, 0, 1, 1, 1, 1, 1}, {8, 1, 1ull << 63, 1, 1, 1, 1, 1},
		{8, 1, 0, 1ull << 33, 1, 1, 1, 1}, {8, 1, 0, 1, UINT64_MAX, 1, 1, 1},
		{8, 1, 0, 1, 1, 1, 1, UINT64_MAX}, {7, 1, 0, 1, 1, 1, 1, 1},
	};
	struct fixture *f = *state;

	fake_segment_own(&f->segment, 0, 1, f->start);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t words[8];

		memcpy(words, bad[i], sizeof(words));
		words[0] = st_word_ext(ST_EXT_PYTHON_CALLS, (uint32_t)bad[i][0], 1);
		fake_segment_push(&f->segment, 0, words, (uint32_t)bad[i][0]);
	}
	drain_all(f);
	assert_int_equal(suspects(f), sizeof(bad) / sizeof(bad[0]));
	assert_null(find_definition(f, ST_DEF_PYTHON_CALLS, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_function, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_bad_functions, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_calls, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_bad_calls, drain_setup, drain_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
