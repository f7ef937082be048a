/* SPDX-License-Identifier: Apache-2.0
 *
 * Which groups and domains the collector takes to be wanted. Each case runs in a child: the choice is made
 * once per process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/inproc/core/choose.h"

/* Returns a bit for each name that is wanted. */
static int wanted(const char *patterns, const char *const names[])
{
	pid_t child = fork();
	int status;

	if (!child) {
		int bits = 0;

		st_choose_domains(patterns);
		for (int i = 0; names[i]; i++)
			bits |= st_domain_wanted(names[i]) << i;
		_exit(bits);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool process_wanted(const char *patterns, const char *executable, const char *script)
{
	const char *const names[] = {executable, script};
	pid_t child = fork();
	int status;

	if (!child) {
		st_choose_processes(patterns);
		_exit(st_process_wanted(names, script ? 2 : 1));
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_processes(void **state)
{
	(void)state;
	assert_true(process_wanted("", "python3.11", "train.py"));
	assert_true(process_wanted("train.py", "python3.11", "train.py"));
	assert_true(process_wanted("python*", "python3.11", "train.py"));
	assert_false(process_wanted("train.py", "python3.11", "other.py"));
	assert_false(process_wanted("train.py", "bash", NULL));
	assert_true(process_wanted("!cc1*;other", "python3.11", "train.py"));
	assert_false(process_wanted("!cc1*", "cc1plus", NULL));
	assert_false(process_wanted("python*,!other.py", "python3.11", "other.py"));
}

static void test_domains(void **state)
{
	static const char *const names[] = {"a", "ab", "b", "x.y", "", NULL};
	static const char *const odd[] = {"a,b;c", "*", "a b", "\xc3\xa4", "aab", NULL};

	(void)state;
	assert_int_equal(wanted(NULL, names), 31);
	assert_int_equal(wanted("a", names), 1);
	assert_int_equal(wanted("a,b", names), 5);
	assert_int_equal(wanted("a*", names), 3);
	assert_int_equal(wanted("?", names), 5);
	assert_int_equal(wanted("*", names), 31);
	assert_int_equal(wanted("!a", names), 30);
	assert_int_equal(wanted("!a*,!b", names), 24);
	assert_int_equal(wanted("*,!a", names), 30);
	assert_int_equal(wanted("*b,!ab", names), 4);
	assert_int_equal(wanted("!a*,ab", names), 2);
	assert_int_equal(wanted("*.*", names), 8);
	assert_int_equal(wanted("x.y;paused=1", names), 8);
	/* Quoted bytes mean themselves. */
	assert_int_equal(wanted("a%2Cb%3bc", odd), 1);
	assert_int_equal(wanted("%2A", odd), 2);
	assert_int_equal(wanted("a%20b", odd), 4);
	assert_int_equal(wanted("?", odd), 2 | 8);
	assert_int_equal(wanted("%C3%A4", odd), 8);
	assert_int_equal(wanted("*a*b", odd), 4 | 16);
	assert_int_equal(wanted("*c", odd), 1);
}

static int groups(const char *config, const char *environment)
{
	static const int tried[] = {1, 2, 0x10, 0x100, 0x1000, 3, -1};
	pid_t child = fork();
	int status;

	if (!child) {
		int bits = 0;

		st_choose_groups(config, environment);
		for (int i = 0; i < 7; i++)
			bits |= st_group_wanted(tried[i]) << i;
		_exit(bits);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_groups(void **state)
{
	(void)state;
	assert_int_equal(groups(NULL, NULL), 127);
	assert_int_equal(groups(NULL, ""), 127);
	/* counter, frame, stitch and heap come with any choice by the environment. */
	assert_int_equal(groups(NULL, "structure"), 8 | 16 | 64);
	assert_int_equal(groups(NULL, "control;sync structure"), 2 | 4 | 8 | 16 | 32 | 64);
	assert_int_equal(groups(NULL, ",,control,nonsense"), 2 | 8 | 32 | 64);
	assert_int_equal(groups(NULL, "all"), 127);
	assert_int_equal(groups("1000", "sync"), 16 | 64);
	assert_int_equal(groups("0x10;clock=tsc", NULL), 4 | 64);
	assert_int_equal(groups("ffffffff", NULL), 127);
	assert_int_equal(groups("0", NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
