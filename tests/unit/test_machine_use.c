// SPDX-License-Identifier: Apache-2.0
//
// How busy the machine was, and what a control group allows: read from files as the kernel writes them.
#include <ftw.h>
#include <limits.h>
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

#include "collect/launch/run/machine_use.h"

static char root[64];

static void write_text(const char *path, const char *text)
{
	char whole[PATH_MAX];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = whole + strlen(root) + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(whole, 0700);
		*at = '/';
	}
	file = fopen(whole, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/test_machine_use.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char three_cpus[] = "cpu  6 6 6 6 6 6 6 6 0 0\n"
				 "cpu0 100 20 30 400 50 6 7 8 9 0\n"
				 "cpu1 200 0 0 300 0 0 0 0 0 0\n"
				 "cpu4 1 0 0 2 0 0 0 0\n"
				 "intr 1 2 3\ncpu9 9 9 9 9 9 9 9 9 9 9\n";

/* In units of 10 ms: guests' time is users' already, waiting for a disk is idle. */
static void test_times(void **state)
{
	uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	struct st_machine_times times;
	cpu_set_t allowed;

	(void)state;
	write_text("/proc/stat", three_cpus);
	CPU_ZERO(&allowed);
	CPU_SET(0, &allowed);
	CPU_SET(1, &allowed);
	CPU_SET(4, &allowed);
	st_machine_read(&times, root, &allowed);
	assert_int_equal(times.cpu_count, 3);
	assert_false(times.allowed_only);
	assert_int_equal(times.busy_ns, (163 + 200 + 1) * tick);
	assert_int_equal(times.idle_ns, (450 + 300 + 2) * tick);
	assert_int_equal(times.stolen_ns, 8 * tick);
	CPU_CLR(1, &allowed);
	st_machine_read(&times, root, &allowed);
	assert_int_equal(times.cpu_count, 2);
	assert_true(times.allowed_only);
	assert_int_equal(times.busy_ns, (163 + 1) * tick);
	/* A container that is shown other CPUs than those it runs on: all that it is shown. */
	CPU_SET(7, &allowed);
	st_machine_read(&times, root, &allowed);
	assert_int_equal(times.cpu_count, 3);
	assert_false(times.allowed_only);
}

static void test_nothing_to_read(void **state)
{
	struct st_machine_times times;
	uint64_t throttled_ns = 1;
	cpu_set_t allowed;

	(void)state;
	CPU_ZERO(&allowed);
	CPU_SET(0, &allowed);
	st_machine_read(&times, root, &allowed);
	assert_int_equal(times.cpu_count, 0);
	assert_true(st_machine_cpu_limit(root, &throttled_ns) == 0.0);
	assert_int_equal(throttled_ns, 0);
	write_text("/proc/stat", "cpu\ncpu0\nintr\n");
	st_machine_read(&times, root, &allowed);
	assert_int_equal(times.busy_ns + times.idle_ns + times.stolen_ns, 0);
}

/* The lowest limit counts, wherever it is set, with the time that it has held back. */
static void test_second_version(void **state)
{
	uint64_t throttled_ns;

	(void)state;
	write_text("/proc/self/cgroup", "0::/pod/box\n");
	write_text("/sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
	write_text("/sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
	write_text("/sys/fs/cgroup/pod/cpu.stat", "usage_usec 9\nthrottled_usec 2500\n");
	assert_true(st_machine_cpu_limit(root, &throttled_ns) == 1.5);
	assert_int_equal(throttled_ns, 2500000);
	write_text("/sys/fs/cgroup/pod/box/cpu.max", "50000 100000\n");
	assert_true(st_machine_cpu_limit(root, &throttled_ns) == 0.5);
	assert_int_equal(throttled_ns, 0);
}

/* Containers see their own group as the root of what is mounted, whatever its path is outside. */
static void test_first_version(void **state)
{
	uint64_t throttled_ns;

	(void)state;
	write_text("/proc/self/cgroup", "3:cpuset:/x\n12:cpu,cpuacct:/docker/17\n0::/other\n");
	write_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
	write_text("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	write_text("/sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 3\nthrottled_time 777\n");
	assert_true(st_machine_cpu_limit(root, &throttled_ns) == 2.0);
	assert_int_equal(throttled_ns, 777);
	write_text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	assert_true(st_machine_cpu_limit(root, &throttled_ns) == 0.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_to_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_second_version, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_first_version, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
