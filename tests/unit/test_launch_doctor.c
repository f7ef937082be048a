/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of strata doctor against made-up machines: a folder stands for the root, so that a kernel
 * setting can be tested without being set.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rt/clock.h"
#include "collect/launch/doctor/doctor_check.h"
#include "format/analysis.h"

static char root[256];
static struct st_doctor_context context;
static struct st_doctor_finding finding;

static void put(const char *path, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *slash = strchr(whole + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Every test has a root of its own, empty. */
static int new_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "%s/doctor-XXXXXX", P_tmpdir);
	if (!mkdtemp(root))
		return -1;
	context = (struct st_doctor_context){
		.root = root, .folder = root, .deadline_ns = st_clock_mono_raw_ns() + 1000000000u};
	return 0;
}

static int drop_root(void **state)
{
	char *const words[] = {"rm", "-rf", root, NULL};
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		execvp(words[0], words);
		_exit(1);
	}
	return pid > 0 ? 0 : -1;
}

static void run(st_doctor_run *check)
{
	memset(&finding, 0, sizeof(finding));
	check(&context, &finding);
	assert_true(finding.fact[0]);
	/* What is not well says what to do, what is well has nothing to say. */
	assert_int_equal(finding.status == ST_DOCTOR_OK, finding.remedy[0] == '\0');
}

static void expect(st_doctor_run *check, enum st_doctor_status status, const char *fact,
		   const char *remedy)
{
	run(check);
	if (finding.status != status || !strstr(finding.fact, fact) ||
	    !strstr(finding.remedy, remedy))
		fail_msg("%s: '%s' '%s'", st_doctor_status_name(finding.status), finding.fact,
			 finding.remedy);
}

static void test_empty_machine(void **state)
{
	(void)state;
	/* Nothing can be read: nobody crashes, everybody says something. */
	for (const struct st_doctor_check *check = st_doctor_checks; check->name; check++)
		run(check->run);
	expect(st_doctor_memory, ST_DOCTOR_UNKNOWN, "/proc/meminfo", "mount /proc");
	expect(st_doctor_rights, ST_DOCTOR_UNKNOWN, "/proc/self/status", "mount /proc");
	expect(st_doctor_seccomp, ST_DOCTOR_UNKNOWN, "not shown in /proc", "mount /proc");
	expect(st_doctor_clock, ST_DOCTOR_LIMITED, "CLOCK_MONOTONIC_RAW", "");
	expect(st_doctor_uprobes, ST_DOCTOR_MISSING, "does not support", "CONFIG_UPROBE_EVENTS");
	expect(st_doctor_tracepoints, ST_DOCTOR_MISSING, "tracefs", "mount -t tracefs");
}

static void test_table(void **state)
{
	size_t count = 0;

	(void)state;
	for (const struct st_doctor_check *a = st_doctor_checks; a->name; a++, count++) {
		assert_true(strlen(a->title) <= 18); /* the column of the text */
		for (const struct st_doctor_check *b = st_doctor_checks; b < a; b++)
			assert_string_not_equal(a->name, b->name);
	}
	assert_true(count > 20 && count <= ST_DOCTOR_CHECKS_MAX);
}

static void test_clock(void **state)
{
	static const char source[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";

	(void)state;
	put("/proc/cpuinfo", "flags\t\t: fpu constant_tsc nonstop_tsc\n");
	put(source, "kvm-clock\n");
#if defined(__x86_64__)
	expect(st_doctor_clock, ST_DOCTOR_LIMITED, "clock source is kvm-clock", "clocksource=tsc");
	put(source, "tsc\n");
	expect(st_doctor_clock, ST_DOCTOR_OK, "cycle counter", "");
	put("/proc/cpuinfo", "flags\t\t: fpu constant_tsc\n");
	expect(st_doctor_clock, ST_DOCTOR_LIMITED, "not constant-rate", "invtsc");
#endif
}

static void test_rights_and_seccomp(void **state)
{
	(void)state;
	put("/proc/self/status", "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t0\n");
	expect(st_doctor_rights, ST_DOCTOR_LIMITED, "none of the relevant ones; no new privileges",
	       "PERFMON");
	expect(st_doctor_seccomp, ST_DOCTOR_OK, "no seccomp filter", "");
	put("/proc/self/status", "CapEff:\t0000004000080000\nSeccomp:\t0\n");
	expect(st_doctor_rights, ST_DOCTOR_OK, "PERFMON SYS_PTRACE", "");
}

static void test_kernel_settings(void **state)
{
	(void)state;
	expect(st_doctor_ptrace, ST_DOCTOR_OK, "no Yama", "");
	put("/proc/self/status", "CapEff:\t0000000000000000\n");
	put("/proc/sys/kernel/yama/ptrace_scope", "1\n");
	expect(st_doctor_ptrace, ST_DOCTOR_LIMITED, "only child processes", "ptrace_scope=0");
	put("/proc/sys/kernel/yama/ptrace_scope", "3\n");
	expect(st_doctor_ptrace, ST_DOCTOR_MISSING, "tracing is disabled", "reboot");
	expect(st_doctor_kernel_symbols, ST_DOCTOR_UNKNOWN, "cannot read", "perf events");
	put("/proc/sys/kernel/kptr_restrict", "1\n");
	put("/proc/sys/kernel/perf_event_paranoid", "2\n");
	expect(st_doctor_kernel_symbols, ST_DOCTOR_MISSING, "kptr_restrict 1", "kptr_restrict=0");
	put("/proc/self/status", "CapEff:\t000001ffffffffff\n");
	expect(st_doctor_kernel_symbols, ST_DOCTOR_OK, "kptr_restrict 1", "");
	put("/proc/sys/kernel/yama/ptrace_scope", "2\n");
	expect(st_doctor_ptrace, ST_DOCTOR_OK, "CAP_SYS_PTRACE", "");
}

static void test_memory(void **state)
{
	(void)state;
	put("/proc/meminfo", "MemTotal:  8000000 kB\nMemAvailable:  4000000 kB\n");
	expect(st_doctor_memory, ST_DOCTOR_OK,
	       "4.1 GB of 8.2 GB available; control group: no limit", "");
	/* The lowest limit on the way up counts, not the one of our own group. */
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/a/memory.max", "268435456\n");
	expect(st_doctor_memory, ST_DOCTOR_LIMITED, "control group: 268 MB", "--memory");
	put("/sys/fs/cgroup/a/memory.max", "max\n");
	put("/proc/meminfo", "MemTotal:  8000000 kB\nMemAvailable:  100000 kB\n");
	expect(st_doctor_memory, ST_DOCTOR_LIMITED, "102 MB of", "ring-size");
}

static void test_machine_and_container(void **state)
{
	(void)state;
	expect(st_doctor_container, ST_DOCTOR_OK, "no sign of a container", "");
	put("/proc/cpuinfo", "model name\t: Good \x1b[31mProcessor\nflags\t: fpu hypervisor\n");
	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
	/* Control characters of a file never reach the terminal. */
	expect(st_doctor_machine, ST_DOCTOR_LIMITED, "Good ?[31mProcessor", "");
	assert_non_null(strstr(finding.fact, "quota 0.5"));
	put("/run/systemd/container", "lxc\n");
	put("/sys/class/dmi/id/sys_vendor", "QEMU\n");
	expect(st_doctor_container, ST_DOCTOR_OK, "container: lxc; virtual machine (QEMU)", "");
	put("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Some Linux 1\"\n");
	expect(st_doctor_kernel, ST_DOCTOR_OK, "; Some Linux 1", "");
}

static void test_environment(void **state)
{
	(void)state;
	unsetenv("LD_PRELOAD");
	setenv("INTEL_LIBITTNOTIFY64", "/opt/other/lib.so", 1);
	expect(st_doctor_environment, ST_DOCTOR_LIMITED, "/opt/other/lib.so", "unset");
	unsetenv("INTEL_LIBITTNOTIFY64");
	setenv("INTEL_JIT_PROFILER64", "/opt/other/jit.so", 1);
	expect(st_doctor_environment, ST_DOCTOR_LIMITED, "/opt/other/jit.so",
	       "unset INTEL_JIT_PROFILER64");
	unsetenv("INTEL_JIT_PROFILER64");
	expect(st_doctor_environment, ST_DOCTOR_OK, "are not set", "");
	setenv("ONEDNN_ITT_TASK_LEVEL", "0", 1);
	expect(st_doctor_onednn, ST_DOCTOR_MISSING, "not marked", "unset ONEDNN_ITT_TASK_LEVEL");
	setenv("ONEDNN_ITT_TASK_LEVEL", "2", 1);
	setenv("DNNL_ITT_TASK_LEVEL", "1", 1);
	expect(st_doctor_onednn, ST_DOCTOR_LIMITED, "calling thread", "unset DNNL_ITT_TASK_LEVEL");
	unsetenv("DNNL_ITT_TASK_LEVEL");
	expect(st_doctor_onednn, ST_DOCTOR_OK, "", "");
	unsetenv("ONEDNN_ITT_TASK_LEVEL");
}

/* A loader is a file of a name; what it can do is what stands in it. */
static void test_device_loaders(void **state)
{
	char folder[sizeof(root) + 16];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/loaders", root);
	setenv("LD_LIBRARY_PATH", folder, 1);
	unsetenv("ZE_ENABLE_TRACING_LAYER");
	unsetenv("IPEX_ZE_TRACING");
	put("/loaders/libOpenCL.so.1", "an old one");
	expect(st_doctor_opencl, ST_DOCTOR_LIMITED, "takes no layers", "install");
	put("/loaders/libOpenCL.so.1", "reads OPENCL_LAYERS");
	expect(st_doctor_opencl, ST_DOCTOR_OK, "takes layers", "");
	put("/loaders/libze_loader.so.1", "x");
	put("/loaders/libze_tracing_layer.so.1", "x");
	expect(st_doctor_level_zero, ST_DOCTOR_OK, "with its tracing layer", "");
	setenv("IPEX_ZE_TRACING", "0", 1);
	expect(st_doctor_level_zero, ST_DOCTOR_LIMITED, "IPEX_ZE_TRACING=0",
	       "unset IPEX_ZE_TRACING");
	setenv("ZE_ENABLE_TRACING_LAYER", "1", 1);
	expect(st_doctor_level_zero, ST_DOCTOR_OK, "with its tracing layer", "");
	setenv("ZE_ENABLE_TRACING_LAYER", "0", 1);
	expect(st_doctor_level_zero, ST_DOCTOR_LIMITED, "ZE_ENABLE_TRACING_LAYER=0", "unset");
	unsetenv("ZE_ENABLE_TRACING_LAYER");
	unsetenv("IPEX_ZE_TRACING");
	unsetenv("LD_LIBRARY_PATH");
}

/* An ELF file that names no sections; the text is somewhere behind its head. */
static void put_library(const char *path, const char *text, size_t at)
{
	static const unsigned char head[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
	char whole[512];
	int fd;

	put(path, "");
	snprintf(whole, sizeof(whole), "%s%s", root, path);
	fd = open(whole, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(pwrite(fd, text, strlen(text), (off_t)at), strlen(text));
	close(fd);
}

static void test_packages(void **state)
{
	static const size_t block_bytes = 1 << 18;
	char path[512], before[4096];

	(void)state;
	snprintf(before, sizeof(before), "%s", getenv("PATH"));
	snprintf(path, sizeof(path), "%s/v/bin", root);
	setenv("PATH", path, 1);
	unsetenv("PYTHONPATH");
	expect(st_doctor_python, ST_DOCTOR_MISSING, "no python", "");
	expect(st_doctor_ittapi, ST_DOCTOR_MISSING, "no Python", "pip install ittapi");

	put("/v/bin/python", "\x7f not a script");
	snprintf(path, sizeof(path), "%s/v/bin/python", root);
	chmod(path, 0755);
	put("/v/pyvenv.cfg", "include-system-site-packages = false\n");
	expect(st_doctor_python, ST_DOCTOR_OK, "/v/bin/python", "");
	expect(st_doctor_pytorch, ST_DOCTOR_MISSING, "not installed", "pip install torch");

	put("/v/lib/python3.11/site-packages/torch/__init__.py", "");
	put("/v/lib/python3.11/site-packages/torch-2.99.1+cpu.dist-info/RECORD", "");
	put_library("/v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", "nothing", 100);
	expect(st_doctor_pytorch, ST_DOCTOR_LIMITED, "2.99.1+cpu is built without ITT",
	       "--upgrade torch");
	/* Across the border of two blocks. */
	put_library("/v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so",
		    "INTEL_LIBITTNOTIFY64", block_bytes - 7);
	expect(st_doctor_pytorch, ST_DOCTOR_OK, "2.99.1+cpu supports ITT", "");
	context.deadline_ns = 0;
	expect(st_doctor_pytorch, ST_DOCTOR_UNKNOWN, "took too long", "again");

	/* A shim whose version is not known, then one whose version is. */
	put("/v/bin/python", "#!/bin/sh\n");
	setenv("PYENV_VERSION", "9.9", 1);
	expect(st_doctor_pytorch, ST_DOCTOR_UNKNOWN, "is a script", "activate");
	put("/v/versions/9.9/bin/python", "\x7f");
	snprintf(path, sizeof(path), "%s/v/versions/9.9/bin/python", root);
	chmod(path, 0755);
	expect(st_doctor_python, ST_DOCTOR_OK, "versions/9.9/bin/python", "");
	unsetenv("PYENV_VERSION");
	setenv("PATH", before, 1);
}

static void test_disk(void **state)
{
	(void)state;
	context.folder = "/no/such/folder";
	expect(st_doctor_disk, ST_DOCTOR_LIMITED, "cannot write", "-r DIR");
	expect(st_doctor_shm, ST_DOCTOR_LIMITED, "not mounted", "mount -t tmpfs");
}

static void die(void *arg, struct st_doctor_answer *answer)
{
	(void)answer;
	signal(*(int *)arg, SIG_DFL); /* cmocka catches it */
	raise(*(int *)arg);
}

static void hang(void *arg, struct st_doctor_answer *answer)
{
	(void)arg;
	(void)answer;
	for (;;)
		pause();
}

static void succeed(void *arg, struct st_doctor_answer *answer)
{
	(void)arg;
	answer->value = 42;
}

static void test_attempt(void **state)
{
	struct st_doctor_answer answer;
	int signal_number = SIGSYS;
	char why[96];

	(void)state;
	st_doctor_attempt(succeed, NULL, &answer);
	assert_int_equal(answer.code, 0);
	assert_int_equal(answer.value, 42);
	st_doctor_attempt(die, &signal_number, &answer);
	assert_int_equal(answer.code, -1);
	assert_int_equal(answer.signal, SIGSYS);
	assert_non_null(strstr(st_doctor_why(&answer, why, sizeof(why)), "seccomp"));
	st_doctor_attempt(hang, NULL, &answer);
	assert_int_equal(answer.code, ETIMEDOUT);
}

static void test_verdict(void **state)
{
	static struct st_doctor_report report;

	(void)state;
	while (st_doctor_checks[report.count].name)
		report.count++;
	st_doctor_conclude(&report);
	assert_true(report.tasks);
	assert_non_null(strstr(report.verdict, "the cycle counter"));
	for (unsigned int i = 0; i < report.count; i++) {
		report.findings[i].status = ST_DOCTOR_MISSING;
		st_doctor_conclude(&report);
		/* Only what tasks stand on stops them. */
		assert_int_equal(report.tasks, !st_analysis_needs(st_analysis_find("tasks"),
								  st_doctor_checks[i].name));
		report.findings[i].status = ST_DOCTOR_OK;
	}
}

/* The last test: the filter stays on this process. */
static void test_perf_refused(void **state)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	(void)state;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
		skip();
	put("/proc/self/status", "CapEff:\t0000000000000000\n");
	put("/proc/sys/kernel/perf_event_paranoid", "3\n");
	expect(st_doctor_perf_family, ST_DOCTOR_LIMITED, "Permission denied",
	       "sysctl kernel.perf_event_paranoid=2 (now 3)");
	expect(st_doctor_perf_sampling, ST_DOCTOR_LIMITED, "Permission denied", "paranoid=2");
	/* The setting would allow it, so it is the filter. */
	put("/proc/sys/kernel/perf_event_paranoid", "2\n");
	expect(st_doctor_perf_sampling, ST_DOCTOR_LIMITED, "Permission denied", "seccomp=");
	put("/proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t2\nSeccomp_filters:\t3\n");
	expect(st_doctor_seccomp, ST_DOCTOR_LIMITED, "3 filter", "seccomp=");
	put("/sys/bus/event_source/devices/uprobe/type", "7\n");
	expect(st_doctor_uprobes, ST_DOCTOR_MISSING, "Permission denied", "root");
	put("/sys/kernel/tracing/events/sched/sched_switch/id", "300\n");
	expect(st_doctor_tracepoints, ST_DOCTOR_MISSING, "Permission denied", "paranoid=-1");
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, new_root, drop_root)
	const struct CMUnitTest tests[] = {
		ROW(test_empty_machine),
		ROW(test_table),
		ROW(test_clock),
		ROW(test_rights_and_seccomp),
		ROW(test_kernel_settings),
		ROW(test_memory),
		ROW(test_machine_and_container),
		ROW(test_environment),
		ROW(test_device_loaders),
		ROW(test_packages),
		ROW(test_disk),
		ROW(test_attempt),
		ROW(test_verdict),
		ROW(test_perf_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
