/* SPDX-License-Identifier: Apache-2.0
 *
 * CPython's line tables and strings, made by hand after the descriptions of their formats; and damaged
 * ones, which must give nothing instead of something wrong. tests/e2e/test_task_lines.py has the real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "collect/inproc/python/python_table.h"

static uint32_t line(enum st_python_lines format, const void *table, size_t bytes, int64_t offset)
{
	struct st_python_span span = {.address = (uint64_t)(uintptr_t)table, .size_bytes = bytes};
	uint32_t direct = st_python_line_at(format, &span, 100, offset);

	span.careful = true;
	assert_int_equal(st_python_line_at(format, &span, 100, offset), direct);
	return direct;
}

static void test_deltas(void **state)
{
	/* Bytes 0-5: 100; 6-9: 102; 10 on: 92 (back by 10); then a step of 300 lines in pieces. */
	static const uint8_t table[] = {6, 2, 4, 0xF6, 8, 127, 0, 127, 0, 46};

	(void)state;
	assert_int_equal(line(ST_LINES_DELTAS, table, sizeof(table), 0), 100);
	assert_int_equal(line(ST_LINES_DELTAS, table, sizeof(table), 5), 100);
	assert_int_equal(line(ST_LINES_DELTAS, table, sizeof(table), 6), 102);
	assert_int_equal(line(ST_LINES_DELTAS, table, sizeof(table), 10), 92);
	assert_int_equal(line(ST_LINES_DELTAS, table, sizeof(table), 18), 392);
	assert_int_equal(line(ST_LINES_DELTAS, table, sizeof(table), 9999), 392);
	assert_int_equal(line(ST_LINES_DELTAS, table, sizeof(table), -1), 100);
	assert_int_equal(line(ST_LINES_DELTAS, table, 0, 4), 100);
	assert_int_equal(line(ST_LINES_DELTAS, table, 3, 12), 0); /* cut inside a pair */
}

static void test_ranges(void **state)
{
	/* 0-3: 101; 4-7: none; 8-9: 99; then a jump of 200 lines through an empty range. */
	static const uint8_t table[] = {4, 1, 4, 0x80, 2, 0xFE, 0, 127, 6, 73};

	(void)state;
	assert_int_equal(line(ST_LINES_RANGES, table, sizeof(table), 0), 101);
	assert_int_equal(line(ST_LINES_RANGES, table, sizeof(table), 5), 0);
	assert_int_equal(line(ST_LINES_RANGES, table, sizeof(table), 8), 99);
	assert_int_equal(line(ST_LINES_RANGES, table, sizeof(table), 10), 299);
	assert_int_equal(line(ST_LINES_RANGES, table, sizeof(table), 16), 0); /* behind the end */
	assert_int_equal(line(ST_LINES_RANGES, table, 5, 9), 0);
}

#define HEAD(kind, instructions) (uint8_t)(128 | (kind) << 3 | ((instructions)-1))

static void test_locations(void **state)
{
	static const uint8_t table[] = {
		HEAD(0, 2),  0x21,	 /* bytes 0-3: same line */
		HEAD(11, 1), 4,	      9, /* 4-5: + 1 */
		HEAD(15, 3),		 /* 6-11: none */
		HEAD(13, 1), 64 | 17, 1, /* 12-13: - 40: 81 = 0b1 010001, lowest six first */
		HEAD(14, 8), 40,      3, 1, 64 | 1, 30, /* 14-29: + 20, end line, columns */
		HEAD(12, 1), 0,	      0,		/* 30-31: + 2 */
	};

	(void)state;
	assert_int_equal(line(ST_LINES_LOCATIONS, table, sizeof(table), 0), 100);
	assert_int_equal(line(ST_LINES_LOCATIONS, table, sizeof(table), 4), 101);
	assert_int_equal(line(ST_LINES_LOCATIONS, table, sizeof(table), 8), 0);
	assert_int_equal(line(ST_LINES_LOCATIONS, table, sizeof(table), 12), 61);
	assert_int_equal(line(ST_LINES_LOCATIONS, table, sizeof(table), 28), 81);
	assert_int_equal(line(ST_LINES_LOCATIONS, table, sizeof(table), 30), 83);
	assert_int_equal(line(ST_LINES_LOCATIONS, table, sizeof(table), 32), 0);
	assert_int_equal(line(ST_LINES_LOCATIONS, table + 1, sizeof(table) - 1, 2),
			 0);					     /* no head */
	assert_int_equal(line(ST_LINES_LOCATIONS, table, 7, 12), 0); /* cut inside an entry */
}

/* Tables longer than the window of the reader. */
static void test_long_table(void **state)
{
	static uint8_t table[6000];

	(void)state;
	for (size_t i = 0; i < sizeof(table); i += 3) {
		table[i] = HEAD(11, 1);
		table[i + 1] = table[i + 2] = 1;
	}
	assert_int_equal(line(ST_LINES_LOCATIONS, table, sizeof(table), 1999 * 2), 100 + 2000);
	assert_int_equal(line(ST_LINES_LOCATIONS, table, sizeof(table), 85 * 2), 100 + 86);
}

static void test_unmapped(void **state)
{
	uint8_t *page =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct st_python_span span = {.address = (uint64_t)(uintptr_t)page, .careful = true};
	uint64_t word;

	(void)state;
	assert_true(page != MAP_FAILED);
	assert_int_equal(munmap(page + 4096, 4096), 0);
	assert_false(st_python_read(&word, (uint64_t)(uintptr_t)page + 4092, 8, true));
	assert_false(st_python_read(&word, 64, 8, true));
	assert_false(st_python_read(&word, 64, 8, false));
	assert_false(st_python_read(&word, ~7ull, 8, false));
	span.size_bytes = 1ull << 40; /* a length that lies; the whole page is "no step" */
	assert_int_equal(st_python_line_at(ST_LINES_DELTAS, &span, 1, 5), 0);
	munmap(page, 4096);
}

/* The head of a string object as the table of layouts has it for 3.12 on. */
static const struct st_python_strings layout = {
	.length = 16, .state = 32, .ascii_data = 40, .data = 56};

static bool text_of(uint32_t state, uint64_t characters, const void *data, size_t bytes, char *text,
		    size_t capacity)
{
	uint64_t object[32] = {0};
	struct st_python_span span = {.address = (uint64_t)(uintptr_t)object};
	uint32_t length = 0;

	object[2] = characters;
	memcpy(&object[4], &state, sizeof(state));
	memcpy(&object[state & 64 ? 5 : 7], data, bytes);
	if (!st_python_text(&layout, &span, text, capacity, &length))
		return false;
	text[length] = '\0';
	return true;
}

static void test_text(void **state)
{
	static const uint8_t latin[] = {'a', 0xE9};
	static const uint16_t wide[] = {0x141, 'b', 0x20AC, 0xDCFF, 0xD800};
	static const uint32_t widest[] = {0x1F40D, 'c'};
	enum { ASCII = 1 << 2 | 32 | 64, ONE = 1 << 2 | 32, TWO = 2 << 2 | 32, FOUR = 4 << 2 | 32 };
	char text[64];

	(void)state;
	assert_true(text_of(ASCII, 4, "x.py", 4, text, 60));
	assert_string_equal(text, "x.py");
	assert_true(text_of(ASCII, 0, "", 0, text, 60));
	assert_string_equal(text, "");
	assert_true(text_of(ONE, 2, latin, sizeof(latin), text, 60));
	assert_string_equal(text, "a\xC3\xA9");
	assert_true(text_of(TWO, 5, wide, sizeof(wide), text, 60));
	assert_string_equal(text, "\xC5\x81"
				  "b\xE2\x82\xAC\xFF\xEF\xBF\xBD");
	assert_true(text_of(FOUR, 2, widest, sizeof(widest), text, 60));
	assert_string_equal(text, "\xF0\x9F\x90\x8D"
				  "c");
	assert_false(text_of(ASCII, 4, "x.py", 4, text, 3));
	assert_false(text_of(FOUR, 2, widest, sizeof(widest), text, 6));
	assert_false(text_of(1 << 2, 4, "x.py", 4, text, 60));	    /* not compact */
	assert_false(text_of(3 << 2 | 32, 4, "x.py", 4, text, 60)); /* no such width */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deltas),	  cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_locations), cmocka_unit_test(test_long_table),
		cmocka_unit_test(test_unmapped),  cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
