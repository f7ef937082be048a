/* SPDX-License-Identifier: Apache-2.0
 *
 * A table that is built in parts is, byte for byte, the one that is built in one: of files, and of functions that are
 * next to each other, apart, and inside of each other where parts meet.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/build.h"
#include "unwind/rows.h"

static void assert_same(const struct st_unwind_image *left, const struct st_unwind_image *right)
{
	assert_int_equal(left->size_bytes, right->size_bytes);
	assert_memory_equal(left->data, right->data, left->size_bytes);
}

static int compare_library(struct dl_phdr_info *info, size_t size, void *count)
{
	const char *path =
		info->dlpi_name && info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	static const uint32_t flags[] = {0, ST_BUILD_MANY_PARTS};
	struct st_unwind_image one, other;

	(void)size;
	if (st_unwind_build_file(&one, path, ST_BUILD_ONE_PART, NULL) != ST_OK)
		return 0; /* the vdso is no file */
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		assert_int_equal(st_unwind_build_file(&other, path, flags[i], NULL), ST_OK);
		assert_same(&one, &other);
		st_unwind_image_fini(&other);
	}
	*(int *)count += one.table->function_count > 1000;
	st_unwind_image_fini(&one);
	return 0;
}

static void test_libraries(void **state)
{
	int large = 0;

	(void)state;
	dl_iterate_phdr(compare_library, &large);
	assert_true(large > 0); /* the C library is */
}

enum { BASE = 0x1000, FUNCTIONS = 8, PARTS = 3 };

/* Next to each other, 8 bytes apart, 100 apart, inside of the one before, that again, behind both. */
static const struct {
	uint64_t start, end;
} functions[FUNCTIONS] = {{0x1010, 0x1100}, {0x1100, 0x1200}, {0x1208, 0x1300}, {0x1364, 0x1500},
			  {0x1400, 0x1450}, {0x1410, 0x1420}, {0x1500, 0x1540}, {0x1540, 0x1600}};

static void add(struct st_unwind_rows *rows, int index)
{
	struct st_unwind_rule rule = {.cfa = ST_CFA_REGISTER};
	uint64_t start = functions[index].start;

	assert_true(st_unwind_rows_begin(rows, start, functions[index].end, index % 3 == 0));
	for (int i = 0; i < 4; i++) {
		/* Rules of other functions, in another order, and one of its own. */
		rule.cfa_offset = i == 3 ? 1000 + index : 8 * ((index + i) % 4);
		st_unwind_rows_add(rows, start + (uint64_t)i * 4, &rule);
	}
}

static void build(struct st_unwind_image *image, const int *first, size_t count)
{
	const struct st_unwind_table head = {.machine = EM_X86_64};
	struct st_unwind_rows parts[PARTS];

	for (size_t i = 0; i < count; i++) {
		assert_true(st_unwind_rows_init(&parts[i], BASE, 0));
		parts[i].is_later = i > 0;
		for (int at = first[i]; at < (i + 1 < count ? first[i + 1] : FUNCTIONS); at++)
			add(&parts[i], at);
	}
	if (count > 1)
		assert_true(st_unwind_rows_join(parts, count));
	assert_int_equal(st_unwind_rows_finish(parts, count, &head, image, NULL), ST_OK);
	for (size_t i = 0; i < count; i++)
		st_unwind_rows_fini(&parts[i]);
}

static void test_where_parts_meet(void **state)
{
	struct st_unwind_image one, other;
	uint32_t row;

	(void)state;
	build(&one, (const int[]){0}, 1);
	assert_int_equal(one.table->function_count, FUNCTIONS);
	assert_int_equal(one.table->derived_count, 3);
	/* Not found by accident: the function that another one cuts off has nothing behind. */
	assert_true(st_unwind_table_row(one.table, 0x1404, &row));
	for (int i = 0; i <= FUNCTIONS; i++) {
		for (int j = i; j <= FUNCTIONS; j++) {
			build(&other, (const int[]){0, i, j}, PARTS);
			assert_same(&one, &other);
			st_unwind_image_fini(&other);
		}
	}
	st_unwind_image_fini(&one);
}

/* More rules than a table has room for: parts do not know which of them come first. */
static void test_too_many_rules(void **state)
{
	struct st_unwind_rule rule = {.cfa = ST_CFA_REGISTER};
	struct st_unwind_rows parts[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint64_t start = BASE + (uint64_t)i * 0x100000;

		assert_true(st_unwind_rows_init(&parts[i], BASE, 0));
		parts[i].is_later = i;
		assert_true(st_unwind_rows_begin(&parts[i], start, start + 0x100000, false));
		for (int at = 0; at < 20000; at++) {
			rule.cfa_offset = i * 20000 + at;
			st_unwind_rows_add(&parts[i], start + (uint64_t)at, &rule);
		}
		assert_int_equal(parts[i].rule_count, 20001);
		assert_false(parts[i].is_full);
	}
	assert_false(st_unwind_rows_join(parts, 2));
	for (int i = 0; i < 2; i++)
		st_unwind_rows_fini(&parts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_where_parts_meet),
		cmocka_unit_test(test_too_many_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
