/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids of code objects: one each, one description each, whoever comes first and however often it fails; and the
 * layouts that a CPython says of itself.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/inproc/python/python_codes.h"
#include "collect/inproc/core/thread.h"
#include "unwind/rt/python_layout.h"

void *st_map_wiped(size_t size_bytes)
{
	return calloc(1, size_bytes);
}

static void test_ids(void **state)
{
	bool define;
	uint32_t id;

	(void)state;
	id = st_python_code_id(1000, &define);
	assert_int_not_equal(id, 0);
	assert_true(define);
	/* Being described: others may use the id, and leave the description alone. */
	assert_int_equal(st_python_code_id(1000, &define), id);
	assert_false(define);
	st_python_code_described(1000, id, false);
	/* There was no room for it: the next one describes it, under the same id. */
	assert_int_equal(st_python_code_id(1000, &define), id);
	assert_true(define);
	/* It was the same as another one. */
	st_python_code_described(1000, id + 70, true);
	assert_int_equal(st_python_code_id(1000, &define), id + 70);
	assert_false(define);
	/* Another one that wants the same place of the table. */
	assert_int_not_equal(st_python_code_id(1000 + (1ull << 40), &define), id);
	assert_true(define);
}

enum { THREADS = 4, CODES = 4000 };
static uint32_t ids[THREADS][CODES];
static uint32_t defined[THREADS][CODES];

static void *meet_all(void *arg)
{
	size_t thread = (size_t)(uintptr_t)arg;
	bool define;

	for (uint32_t i = 0; i < CODES; i++) {
		ids[thread][i] = st_python_code_id(1000000 + i * 7919ull, &define);
		defined[thread][i] = define;
		if (define)
			st_python_code_described(1000000 + i * 7919ull, ids[thread][i], true);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, meet_all, (void *)(uintptr_t)i),
				 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < CODES; i++) {
		uint32_t count = 0;

		for (size_t thread = 0; thread < THREADS; thread++) {
			assert_int_equal(ids[thread][i], ids[0][i]);
			count += defined[thread][i];
		}
		assert_int_not_equal(ids[0][i], 0);
		assert_int_equal(count, 1);
	}
}

/* A full table has each one described when it is met: not for ever nameless, and never another's name. */
static void test_full(void **state)
{
	bool define;
	uint32_t before = 0;

	(void)state;
	for (uint64_t i = 1; i < 100000; i++) {
		uint32_t id = st_python_code_id((i << 32) + i, &define);

		assert_true(define && id > before);
		before = id;
	}
	assert_true(st_python_code_id((99999ull << 32) + 99999, &define) > before);
	assert_true(define);
	assert_int_equal(st_python_code_id(1000, &define), 71);
	assert_false(define);
}

enum { PY313 = 0x030d0000, WORDS = 64 };

/* The words of 3.13.0 that are looked at: cookie, version, then groups of offsets. */
static void fill_offsets(uint64_t *words)
{
	memset(words, 0, WORDS * sizeof(*words));
	memcpy(words, "xdebugpy", 8);
	words[1] = PY313;
	words[19 + 4] = 72;
	words[19 + 7] = 232;
	words[19 + 8] = 32;
	words[28 + 1] = 8;
	words[28 + 3] = 56;
	words[28 + 5] = 70;
	words[34 + 1] = 112;
	words[34 + 2] = 120;
	words[34 + 3] = 128;
	words[34 + 4] = 136;
	words[34 + 5] = 68;
	words[34 + 9] = 200;
}

static void test_offsets(void **state)
{
	struct st_python_layout layout = *st_python_layout_of(PY313);
	const struct st_python_layout row = layout;
	uint64_t words[WORDS];
	bool free_threaded = false;

	(void)state;
	fill_offsets(words);
	assert_true(st_python_layout_refine(&layout, words, PY313, &free_threaded));
	assert_memory_equal(&layout, &row, sizeof(row));
	assert_false(free_threaded);
	/* A field that has moved is found; what is not named moves with its neighbour. */
	words[34 + 9] = 208;
	words[19 + 4] = 80;
	assert_true(st_python_layout_refine(&layout, words, PY313, &free_threaded));
	assert_int_equal(layout.state_frame, 80);
	assert_int_equal(layout.code_begin, 208);
	assert_int_equal(layout.code_traceable, row.code_traceable + 8);
	/* What makes no sense changes nothing. */
	layout = row;
	words[28 + 3] = 1ull << 40;
	assert_false(st_python_layout_refine(&layout, words, PY313, &free_threaded));
	assert_memory_equal(&layout, &row, sizeof(row));
	fill_offsets(words);
	words[0]++;
	assert_false(st_python_layout_refine(&layout, words, PY313, &free_threaded));
	fill_offsets(words);
	words[1] = 0x030e0000;
	assert_false(st_python_layout_refine(&layout, words, PY313, &free_threaded));
	fill_offsets(words);
	words[2] = 1;
	assert_true(st_python_layout_refine(&layout, words, PY313, &free_threaded));
	assert_true(free_threaded);
}

static void test_versions(void **state)
{
	(void)state;
	for (uint32_t minor = 0; minor < 30; minor++)
		assert_int_equal(st_python_layout_of(3u << 24 | minor << 16) != NULL,
				 minor >= 8 && minor <= 14);
	assert_null(st_python_layout_of(0x02071200));
	assert_null(st_python_layout_of(0x040b0000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),	 cmocka_unit_test(test_threads),
		cmocka_unit_test(test_full),	 cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_versions),
	};

	if (!st_python_codes_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
