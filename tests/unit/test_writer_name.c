/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of result folders: the next free one and the newest one.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/writer.h"

static const char *const folders[] = {"r000hs", "r001ta", "r003ta", "r007", "r00x", "x_000", "new"};
enum { FOLDER_COUNT = sizeof(folders) / sizeof(folders[0]) };

static int setup(void **state)
{
	static char base[] = "/tmp/strata-test-name-XXXXXX";

	assert_non_null(mkdtemp(base));
	assert_int_equal(chdir(base), 0);
	for (int i = 0; i < FOLDER_COUNT; i++)
		assert_int_equal(mkdir(folders[i], 0755), 0);
	*state = base;
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < FOLDER_COUNT; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/result.json", folders[i]);
		unlink(path);
		assert_int_equal(rmdir(folders[i]), 0);
	}
	assert_int_equal(chdir("/"), 0);
	return rmdir(*state);
}

static void expect(const char *pattern, const char *name)
{
	struct st_error err = {0};
	char *out = NULL;

	assert_int_equal(st_result_name(pattern, &out, &err), ST_OK);
	assert_string_equal(out, name);
	free(out);
}

static void test_next_free(void **state)
{
	char pattern[128], name[128];

	expect("r@@@ta", "r002ta"); /* 000 is taken by another type */
	expect("r@@@ta///", "r002ta");
	expect("q@@@", "q000");
	expect("new/@@@", "new/000");
	expect("free", "free");
	snprintf(pattern, sizeof(pattern), "%s/r@@@tr", (const char *)*state);
	snprintf(name, sizeof(name), "%s/r002tr", (const char *)*state);
	expect(pattern, name);
}

static void test_taken(void **state)
{
	struct st_error err = {0};
	char *out = NULL;

	(void)state;
	assert_int_equal(st_result_name("x", &out, &err), ST_OK);
	free(out);
	assert_int_equal(st_result_name("new", &out, &err), ST_EEXIST);
	assert_null(out);
	assert_non_null(strstr(err.text, "new_000 is free"));
	assert_int_equal(st_result_name("", &out, &err), ST_EUSAGE);
}

static void make_result(const char *folder, time_t time)
{
	struct timespec times[2] = {{.tv_sec = time}, {.tv_sec = time}};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/result.json", folder);
	fd = open(path, O_WRONLY | O_CREAT, 0644);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static void test_newest(void **state)
{
	struct st_error err = {0};
	char *out = NULL, expected[128];

	assert_int_equal(st_result_newest(".", &out, &err), ST_ENOTFOUND);
	assert_null(out);
	make_result("r003ta", 2000);
	make_result("r000hs", 3000);
	make_result("r001ta", 1000);
	assert_int_equal(st_result_newest(".", &out, &err), ST_OK);
	assert_string_equal(out, "r000hs");
	free(out);
	assert_int_equal(st_result_newest(*state, &out, &err), ST_OK);
	snprintf(expected, sizeof(expected), "%s/r000hs", (const char *)*state);
	assert_string_equal(out, expected);
	free(out);
	assert_int_equal(st_result_newest("nowhere", &out, &err), ST_EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_free),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_newest),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
