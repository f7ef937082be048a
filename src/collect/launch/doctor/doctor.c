// SPDX-License-Identifier: Apache-2.0
//
// The table of checks, the verdict, and what the checks share: reading below a root, and trying a
// system call in a child, because a seccomp filter may kill where it could refuse.
#include "collect/launch/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rt/clock.h"
#include "collect/launch/doctor/doctor_check.h"
#include "format/analysis.h"

enum { ATTEMPT_MS = 800, ATTEMPT_AGAIN_MS = 400, STATUS_BYTES = 8192 };

static const uint64_t examine_ns = 1200000000u;

/* clang-format off */
const struct st_doctor_check st_doctor_checks[] = {
	{"machine", "machine", st_doctor_machine},
	{"kernel", "kernel", st_doctor_kernel},
	{"container", "container or VM", st_doctor_container},
	{"libc", "C library", st_doctor_libc},
	{"collector", "collector", st_doctor_collector},
	{"environment", "environment", st_doctor_environment},
	{"memfd", "shared memory", st_doctor_memfd},
	{"sockets", "run-time folder", st_doctor_sockets},
	{"clock", "clock", st_doctor_clock},
	{"rights", "rights", st_doctor_rights},
	{"seccomp", "seccomp", st_doctor_seccomp},
	{"perf-family", "child processes", st_doctor_perf_family},
	{"perf-sampling", "sampling", st_doctor_perf_sampling},
	{"waits", "waits", st_doctor_waits},
	{"unwind-tables", "unwind tables", st_doctor_tables},
	{"perf-counters", "hardware counters", st_doctor_perf_counters},
	{"tracepoints", "tracepoints", st_doctor_tracepoints},
	{"uprobes", "uprobes", st_doctor_uprobes},
	{"kernel-symbols", "kernel symbols", st_doctor_kernel_symbols},
	{"ptrace", "ptrace", st_doctor_ptrace},
	{"memory", "memory", st_doctor_memory},
	{"shm", "/dev/shm", st_doctor_shm},
	{"disk", "disk", st_doctor_disk},
	{"limits", "limits", st_doctor_limits},
	{"python", "Python", st_doctor_python},
	{"python-frames", "Python frames", st_doctor_python_frames},
	{"pytorch", "PyTorch", st_doctor_pytorch},
	{"tensorflow", "TensorFlow", st_doctor_tensorflow},
	{"ittapi", "ittapi", st_doctor_ittapi},
	{"onednn", "oneDNN", st_doctor_onednn},
	{"level-zero", "Level Zero", st_doctor_level_zero},
	{"opencl", "OpenCL", st_doctor_opencl},
	{NULL, NULL, NULL},
};
/* clang-format on */

const char *st_doctor_status_name(enum st_doctor_status status)
{
	static const char *const names[] = {"ok", "limited", "missing", "unknown"};

	return names[status];
}

static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

void st_doctor_fact(struct st_doctor_finding *finding, enum st_doctor_status status,
		    const char *fmt, ...)
{
	va_list args;

	finding->status = status;
	va_start(args, fmt);
	vsnprintf(finding->fact, sizeof(finding->fact), fmt, args);
	va_end(args);
	clean(finding->fact);
}

void st_doctor_remedy(struct st_doctor_finding *finding, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(finding->remedy, sizeof(finding->remedy), fmt, args);
	va_end(args);
	clean(finding->remedy);
}

bool st_doctor_read(const struct st_doctor_context *context, const char *path, char *text,
		    size_t size_bytes)
{
	char whole[PATH_MAX];
	ssize_t n = -1;
	int fd;

	text[0] = '\0';
	if (snprintf(whole, sizeof(whole), "%s%s", context->root, path) >= (int)sizeof(whole))
		return false;
	fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		n = read(fd, text, size_bytes - 1);
		close(fd);
	}
	if (n < 0)
		return false;
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\0'))
		n--;
	text[n] = '\0';
	return true;
}

bool st_doctor_field(const char *text, const char *key, char *value, size_t size_bytes)
{
	size_t key_bytes = strlen(key);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		size_t bytes;

		if (strncmp(text, key, key_bytes) != 0)
			continue;
		text += key_bytes;
		text += strspn(text, " \t:");
		bytes = strcspn(text, "\n");
		if (bytes >= size_bytes)
			bytes = size_bytes - 1;
		memcpy(value, text, bytes);
		value[bytes] = '\0';
		return true;
	}
	value[0] = '\0';
	return false;
}

bool st_doctor_number(const struct st_doctor_context *context, const char *path, long long *out)
{
	char text[64], *end;

	*out = 0;
	if (!st_doctor_read(context, path, text, sizeof(text)))
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return end != text && !*end && !errno;
}

const char *st_doctor_size(uint64_t bytes, char *out, size_t size_bytes)
{
	if (bytes == UINT64_MAX)
		snprintf(out, size_bytes, "no limit");
	else if (bytes >= 1000000000u)
		snprintf(out, size_bytes, "%.1f GB", (double)bytes / 1e9);
	else if (bytes >= 1000000u)
		snprintf(out, size_bytes, "%.0f MB", (double)bytes / 1e6);
	else
		snprintf(out, size_bytes, "%" PRIu64 " KB", bytes / 1000);
	return out;
}

/* The child: no core file, nothing of ours is flushed twice. */
static void attempt_child(st_doctor_try *attempt, void *arg, int fd)
{
	struct st_doctor_answer answer = {0};
	struct rlimit none = {0, 0};
	ssize_t n;

	setrlimit(RLIMIT_CORE, &none);
	attempt(arg, &answer);
	n = write(fd, &answer, sizeof(answer));
	_exit(n == (ssize_t)sizeof(answer) ? 0 : 1);
}

void st_doctor_attempt(st_doctor_try *attempt, void *arg, struct st_doctor_answer *answer)
{
	static int patience_ms = ATTEMPT_MS; /* once is enough: what hangs, hangs again */
	struct pollfd wait_for = {.events = POLLIN};
	int fds[2], status = 0;
	bool answered;
	pid_t pid;

	memset(answer, 0, sizeof(*answer));
	if (pipe2(fds, O_CLOEXEC) != 0) {
		answer->code = errno;
		return;
	}
	pid = fork();
	if (pid == 0)
		attempt_child(attempt, arg, fds[1]);
	close(fds[1]);
	if (pid < 0) {
		answer->code = errno;
		close(fds[0]);
		return;
	}
	wait_for.fd = fds[0];
	while (poll(&wait_for, 1, patience_ms) < 0 && errno == EINTR)
		;
	answered = (wait_for.revents & POLLIN) &&
		   read(fds[0], answer, sizeof(*answer)) == (ssize_t)sizeof(*answer);
	if (!wait_for.revents) {
		patience_ms = ATTEMPT_AGAIN_MS;
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(fds[0]);
	answer->text[sizeof(answer->text) - 1] = '\0';
	if (answered)
		return;
	memset(answer, 0, sizeof(*answer));
	answer->code = wait_for.revents ? -1 : ETIMEDOUT;
	answer->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

const char *st_doctor_why(const struct st_doctor_answer *answer, char *out, size_t size_bytes)
{
	if (answer->code == -1)
		snprintf(out, size_bytes, "killed by signal %d%s", answer->signal,
			 answer->signal == SIGSYS || answer->signal == SIGKILL
				 ? " (a seccomp filter)"
				 : "");
	else
		snprintf(out, size_bytes, "%s", strerror(answer->code));
	return out;
}

bool st_doctor_has_capability(const struct st_doctor_context *context, unsigned int bit)
{
	char text[STATUS_BYTES], value[32];

	if (!st_doctor_read(context, "/proc/self/status", text, sizeof(text)) ||
	    !st_doctor_field(text, "CapEff:", value, sizeof(value)))
		return false;
	return strtoull(value, NULL, 16) >> bit & 1;
}

static enum st_doctor_status status_of(const struct st_doctor_report *report, const char *name)
{
	for (unsigned int i = 0; i < report->count; i++)
		if (strcmp(st_doctor_checks[i].name, name) == 0)
			return report->findings[i].status;
	return ST_DOCTOR_UNKNOWN;
}

void st_doctor_conclude(struct st_doctor_report *report)
{
	const struct st_analysis *tasks = st_analysis_find("tasks");
	bool torch = status_of(report, "pytorch") == ST_DOCTOR_OK;
	bool one_dnn_off = status_of(report, "onednn") != ST_DOCTOR_OK;

	report->tasks = true;
	for (unsigned int i = 0; i < report->count; i++) {
		const struct st_doctor_check *check = &st_doctor_checks[i];

		if (!st_analysis_needs(tasks, check->name) ||
		    report->findings[i].status != ST_DOCTOR_MISSING)
			continue;
		report->tasks = false;
		snprintf(report->verdict, sizeof(report->verdict),
			 "-collect tasks does not work here: %s is missing; to enable: %s",
			 check->title, report->findings[i].remedy);
		return;
	}
	snprintf(report->verdict, sizeof(report->verdict),
		 "-collect tasks works here: it records the tasks that the program marks%s%s, with "
		 "times from %s; child processes are %s. -collect hotspots samples with %s. "
		 "Neither requires root, ptrace or hardware counters.",
		 torch ? " and PyTorch operators" : "",
		 one_dnn_off ? ", but not all oneDNN tasks" : "",
		 status_of(report, "clock") == ST_DOCTOR_OK ? "the cycle counter"
							    : "CLOCK_MONOTONIC_RAW",
		 status_of(report, "perf-family") == ST_DOCTOR_OK
			 ? "reported by the kernel"
			 : "found by scanning /proc, which can miss very short ones",
		 status_of(report, "perf-sampling") == ST_DOCTOR_OK
			 ? "one perf event per thread"
			 : "one timer per thread, at most a few hundred times a second");
}

void st_doctor_examine(const struct st_doctor_context *context, struct st_doctor_report *report)
{
	struct st_doctor_context here = {.root = "", .folder = "."};

	if (!context) {
		here.deadline_ns = st_clock_mono_raw_ns() + examine_ns;
		context = &here;
	}
	memset(report, 0, sizeof(*report));
	for (; st_doctor_checks[report->count].name && report->count < ST_DOCTOR_CHECKS_MAX;
	     report->count++)
		st_doctor_checks[report->count].run(context, &report->findings[report->count]);
	st_doctor_conclude(report);
}
