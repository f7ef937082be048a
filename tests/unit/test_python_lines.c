/* SPDX-License-Identifier: Apache-2.0
 *
 * Line tables made by hand after the descriptions of their formats, and damaged ones. Those of whole
 * standard libraries are in tests/e2e/test_python_walk.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/sample_record.h"
#include "store/python_lines.h"

enum { PY39 = 0x030912f0, PY310 = 0x030a0df0, PY311 = 0x030b07f0, PY314 = 0x030e02f0 };

static uint32_t line(uint32_t version, const void *bytes, size_t size, uint32_t position)
{
	struct st_python_line_table table = {
		.version = version, .first_line = 100, .bytes = bytes, .size_bytes = size};

	return st_python_line_of(&table, position);
}

static void test_deltas(void **state)
{
	/* Bytes 0-5: 100; 6-9: 102; 10-17: 92 (back by 10); then a step of 300 lines in pieces. */
	static const uint8_t bytes[] = {6, 2, 4, 0xF6, 8, 127, 0, 127, 0, 46};
	struct st_python_line_table cut = {.version = PY39,
					   .flags = ST_PYTHON_CODE_TABLE_CUT,
					   .first_line = 100,
					   .bytes = bytes,
					   .size_bytes = 4};

	(void)state;
	assert_int_equal(line(PY39, bytes, sizeof(bytes), 0), 100);
	assert_int_equal(line(PY39, bytes, sizeof(bytes), 5), 100);
	assert_int_equal(line(PY39, bytes, sizeof(bytes), 6), 102);
	assert_int_equal(line(PY39, bytes, sizeof(bytes), 10), 92);
	assert_int_equal(line(PY39, bytes, sizeof(bytes), 18), 392);
	assert_int_equal(line(PY39, bytes, sizeof(bytes), 9999), 392);
	assert_int_equal(line(PY39, NULL, 0, 4), 100);
	assert_int_equal(line(PY39, bytes, 3, 12), 0); /* ends inside a pair */
	/* The rest of the table was not copied: what lies behind is not known. */
	assert_int_equal(st_python_line_of(&cut, 8), 102);
	assert_int_equal(st_python_line_of(&cut, 10), 0);
}

static void test_ranges(void **state)
{
	/* Bytes 0-3: 101; 4-7: none; 8-9: 99; then a jump of 200 lines through an empty range. */
	static const uint8_t bytes[] = {4, 1, 4, 0x80, 2, 0xFE, 0, 127, 6, 73};

	(void)state;
	assert_int_equal(line(PY310, bytes, sizeof(bytes), 0), 101);
	assert_int_equal(line(PY310, bytes, sizeof(bytes), 1), 101);
	assert_int_equal(line(PY310, bytes, sizeof(bytes), 2), 0);
	assert_int_equal(line(PY310, bytes, sizeof(bytes), 4), 99);
	assert_int_equal(line(PY310, bytes, sizeof(bytes), 5), 299);
	assert_int_equal(line(PY310, bytes, sizeof(bytes), 8), 0); /* behind the end */
	assert_int_equal(line(PY310, bytes, 5, 4), 0);
}

#define HEAD(kind, instructions) (uint8_t)(128 | (kind) << 3 | ((instructions)-1))

static void test_locations(void **state)
{
	static const uint8_t bytes[] = {
		HEAD(0, 2),  0x21,	 /* units 0-1: same line */
		HEAD(11, 1), 4,	      9, /* 2: + 1 */
		HEAD(15, 3),		 /* 3-5: none */
		HEAD(13, 1), 64 | 17, 1, /* 6: - 40: 81 = 0b1 010001, lowest six first */
		HEAD(14, 8), 40,      3, 1, 64 | 1, 30, /* 7-14: + 20, end line, columns */
		HEAD(12, 1), 0,	      0,		/* 15: + 2 */
	};
	static const uint8_t endless[] = {HEAD(13, 1), 127, 127, 127, 127, 127, 127, 127, 1};

	(void)state;
	for (uint32_t version = PY311; version <= PY314; version += PY314 - PY311) {
		assert_int_equal(line(version, bytes, sizeof(bytes), 0), 100);
		assert_int_equal(line(version, bytes, sizeof(bytes), 2), 101);
		assert_int_equal(line(version, bytes, sizeof(bytes), 4), 0);
		assert_int_equal(line(version, bytes, sizeof(bytes), 6), 61);
		assert_int_equal(line(version, bytes, sizeof(bytes), 14), 81);
		assert_int_equal(line(version, bytes, sizeof(bytes), 15), 83);
		assert_int_equal(line(version, bytes, sizeof(bytes), 16), 0);
	}
	assert_int_equal(line(PY311, bytes + 1, sizeof(bytes) - 1, 1), 0); /* no head */
	assert_int_equal(line(PY311, bytes, 8, 6), 0); /* ends inside an entry */
	assert_int_equal(line(PY311, endless, sizeof(endless), 0), 0);
}

static void test_not_begun(void **state)
{
	(void)state;
	assert_int_equal(line(PY39, NULL, 0, ST_PYTHON_POSITION_NONE), 100);
	assert_int_equal(line(PY310, NULL, 0, ST_PYTHON_POSITION_NONE), 100);
	assert_int_equal(line(PY311, NULL, 0, ST_PYTHON_POSITION_NONE), 100);
	assert_int_equal(line(PY311, NULL, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deltas),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_not_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
