/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of functions: this program's own, whose addresses it knows.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "resolve/symbols.h"

int place_of_a_known_function(int x);

__attribute__((noinline)) int place_of_a_known_function(int x)
{
	for (int i = 0; i < 100; i++)
		x = x * 31 + i;
	return x;
}

/* The file offset of an address of this process, from the kernel's own list. */
static uint64_t file_offset_of(const void *address, char path[PATH_MAX])
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long long start, end, offset;
	uint64_t found = UINT64_MAX;
	char line[PATH_MAX + 128];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		char *at = line, *slash = strchr(line, '/');

		start = strtoull(at, &at, 16);
		end = strtoull(at + 1, &at, 16);
		at += 6; /* the access rights */
		offset = strtoull(at, &at, 16);
		if ((uintptr_t)address < start || (uintptr_t)address >= end || !slash)
			continue;
		slash[strcspn(slash, "\n")] = '\0';
		snprintf(path, PATH_MAX, "%s", slash);
		found = (uintptr_t)address - start + offset;
	}
	fclose(maps);
	assert_true(found != UINT64_MAX);
	return found;
}

static void test_own_function(void **state)
{
	struct st_symbols *symbols = st_symbols_create();
	char path[PATH_MAX];
	struct st_symbol symbol = {0};
	uint64_t offset = file_offset_of((const void *)place_of_a_known_function, path);

	(void)state;
	assert_non_null(symbols);
	assert_true(st_symbols_find(symbols, path, offset, &symbol));
	assert_string_equal(symbol.name, "place_of_a_known_function");
	assert_int_equal(symbol.offset, 0);
	assert_true(st_symbols_find(symbols, path, offset + 3, &symbol));
	assert_string_equal(symbol.name, "place_of_a_known_function");
	assert_int_equal(symbol.offset, 3);
	st_symbols_destroy(symbols);
}

static void test_function_of_a_library(void **state)
{
	struct st_symbols *symbols = st_symbols_create();
	char path[PATH_MAX];
	struct st_symbol symbol = {0};
	uint64_t offset = file_offset_of((const void *)getppid, path);

	(void)state;
	assert_non_null(symbols);
	assert_true(st_symbols_find(symbols, path, offset, &symbol));
	assert_non_null(strstr(symbol.name, "getppid"));
	st_symbols_destroy(symbols);
}

static void test_what_cannot_be_found(void **state)
{
	struct st_symbols *symbols = st_symbols_create();
	struct st_symbol symbol = {0};

	(void)state;
	assert_non_null(symbols);
	for (int i = 0; i < 2; i++) {
		assert_false(st_symbols_find(symbols, "/no/such/file", 4096, &symbol));
		assert_false(st_symbols_find(symbols, "/proc/self/status", 4096, &symbol));
		assert_false(st_symbols_find(symbols, "/proc/self/exe", UINT64_MAX, &symbol));
	}
	st_symbols_destroy(symbols);
	st_symbols_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_function),
		cmocka_unit_test(test_function_of_a_library),
		cmocka_unit_test(test_what_cannot_be_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
