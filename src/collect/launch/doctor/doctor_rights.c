// SPDX-License-Identifier: Apache-2.0
//
// Checks of rights: capabilities, seccomp, Yama, and perf events by trying them.
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/launch/doctor/doctor_check.h"
#include "collect/launch/family/family_state.h"

enum { STATUS_BYTES = 8192, SPIN = 200000 };

static const char paranoid_path[] = "/proc/sys/kernel/perf_event_paranoid";

static void try_family(void *arg, struct st_doctor_answer *answer)
{
	(void)arg;
	if (!st_family_perf_possible())
		answer->code = errno ? errno : EIO;
}

void st_doctor_rights(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	static const struct {
		unsigned int bit;
		const char *name;
	} known[] = {
		{ST_CAP_PERFMON, "PERFMON"},
		{ST_CAP_SYS_PTRACE, "SYS_PTRACE"},
		{ST_CAP_SYS_ADMIN, "SYS_ADMIN"},
		{ST_CAP_SYSLOG, "SYSLOG"},
	};
	char status[STATUS_BYTES], names[96] = "", value[16];
	bool perfmon = st_doctor_has_capability(context, ST_CAP_PERFMON) ||
		       st_doctor_has_capability(context, ST_CAP_SYS_ADMIN);
	size_t used = 0;

	if (!st_doctor_read(context, "/proc/self/status", status, sizeof(status))) {
		st_doctor_fact(finding, ST_DOCTOR_UNKNOWN, "cannot read /proc/self/status");
		st_doctor_remedy(finding, "mount /proc");
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (st_doctor_has_capability(context, known[i].bit))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? " " : "", known[i].name);
	st_doctor_field(status, "NoNewPrivs:", value, sizeof(value));
	st_doctor_fact(finding, perfmon ? ST_DOCTOR_OK : ST_DOCTOR_LIMITED,
		       "uid %u, capabilities: %s%s", (unsigned int)geteuid(),
		       names[0] ? names : "none of the relevant ones",
		       value[0] == '1' ? "; no new privileges" : "");
	if (!perfmon)
		st_doctor_remedy(
			finding,
			"run as root, or docker run --cap-add=PERFMON (tasks require neither)");
}

void st_doctor_seccomp(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	char status[STATUS_BYTES], mode[16], filters[16];
	struct st_doctor_answer answer;

	st_doctor_read(context, "/proc/self/status", status, sizeof(status));
	if (!st_doctor_field(status, "Seccomp:", mode, sizeof(mode))) {
		st_doctor_fact(finding, ST_DOCTOR_UNKNOWN, "not shown in /proc/self/status");
		st_doctor_remedy(finding, "mount /proc");
		return;
	}
	if (mode[0] == '0') {
		st_doctor_fact(finding, ST_DOCTOR_OK, "no seccomp filter on this process");
		return;
	}
	if (!st_doctor_field(status, "Seccomp_filters:", filters, sizeof(filters)))
		snprintf(filters, sizeof(filters), "some");
	st_doctor_attempt(try_family, NULL, &answer);
	if (!answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_OK,
			       "%s filter(s) on this process; perf_event_open is allowed", filters);
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_LIMITED,
		       "%s filter(s) on this process; perf_event_open fails", filters);
	st_doctor_remedy(finding,
			 "docker run --security-opt seccomp=PROFILE (must allow perf_event_open)");
}

void st_doctor_ptrace(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	bool capable = st_doctor_has_capability(context, ST_CAP_SYS_PTRACE);
	long long scope;

	if (!st_doctor_number(context, "/proc/sys/kernel/yama/ptrace_scope", &scope)) {
		st_doctor_fact(finding, ST_DOCTOR_OK,
			       "no Yama: processes of the same user can be traced");
		return;
	}
	if (scope == 0 || (scope < 3 && capable)) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "Yama ptrace_scope %lld%s", scope,
			       scope ? ", and CAP_SYS_PTRACE" : "");
		return;
	}
	st_doctor_fact(finding, scope == 1 ? ST_DOCTOR_LIMITED : ST_DOCTOR_MISSING,
		       "Yama ptrace_scope %lld: %s (tasks do not require ptrace)", scope,
		       scope == 1   ? "only child processes can be traced"
		       : scope == 2 ? "only root can trace"
				    : "tracing is disabled");
	if (scope < 3)
		st_doctor_remedy(finding, "sudo sysctl kernel.yama.ptrace_scope=0");
	else
		st_doctor_remedy(finding,
				 "set kernel.yama.ptrace_scope=0 in /etc/sysctl.d and reboot");
}

void st_doctor_kernel_symbols(const struct st_doctor_context *context,
			      struct st_doctor_finding *finding)
{
	long long restrict_value, paranoid;
	bool perf = st_doctor_has_capability(context, ST_CAP_PERFMON) ||
		    st_doctor_has_capability(context, ST_CAP_SYS_ADMIN);
	bool syslog = st_doctor_has_capability(context, ST_CAP_SYSLOG);

	if (!st_doctor_number(context, "/proc/sys/kernel/kptr_restrict", &restrict_value) ||
	    !st_doctor_number(context, paranoid_path, &paranoid)) {
		st_doctor_fact(finding, ST_DOCTOR_UNKNOWN,
			       "cannot read kptr_restrict or perf_event_paranoid");
		st_doctor_remedy(finding, "use a kernel with perf events and /proc/sys mounted");
		return;
	}
	if ((paranoid <= 1 || perf) && ((restrict_value == 0 && (paranoid <= 1 || syslog)) ||
					(restrict_value == 1 && syslog))) {
		st_doctor_fact(finding, ST_DOCTOR_OK,
			       "kptr_restrict %lld, perf_event_paranoid %lld", restrict_value,
			       paranoid);
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_MISSING,
		       "kptr_restrict %lld, perf_event_paranoid %lld: stacks have no kernel frames",
		       restrict_value, paranoid);
	st_doctor_remedy(finding,
			 "sudo sysctl kernel.perf_event_paranoid=1 kernel.kptr_restrict=0");
}

static int perf_open(struct perf_event_attr *attr)
{
	return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* value: what the event counted over a short loop of ours. */
static void try_event(void *arg, struct st_doctor_answer *answer)
{
	int fd = perf_open(arg);
	volatile unsigned int sum = 0;
	uint64_t count = 0;

	if (fd < 0) {
		answer->code = errno;
		return;
	}
	for (unsigned int i = 0; i < SPIN; i++)
		sum = sum + i;
	if (read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
		answer->value = count;
	close(fd);
}

/* The one change after a refusal: the filter, the setting, or the kernel. */
void st_doctor_perf_remedy(const struct st_doctor_context *context,
			   const struct st_doctor_answer *answer, int paranoid_needed,
			   struct st_doctor_finding *finding)
{
	bool refused = answer->code == EPERM || answer->code == EACCES || answer->code == -1;
	long long paranoid;

	if (!st_doctor_number(context, paranoid_path, &paranoid)) {
		st_doctor_remedy(finding, "use a kernel with perf events (CONFIG_PERF_EVENTS)");
	} else if (refused &&
		   (paranoid <= paranoid_needed ||
		    st_doctor_has_capability(context, ST_CAP_PERFMON) || answer->code == -1)) {
		st_doctor_remedy(
			finding,
			"docker run --security-opt seccomp=PROFILE (must allow perf_event_open)");
	} else if (refused) {
		st_doctor_remedy(finding, "sudo sysctl kernel.perf_event_paranoid=%d (now %lld)",
				 paranoid_needed, paranoid);
	} else if (answer->code == ENOSYS) {
		st_doctor_remedy(finding, "use a kernel or sandbox that supports perf_event_open");
	} else if (answer->code == EMFILE || answer->code == EINVAL) {
		st_doctor_remedy(finding, "ulimit -n 4096, and Linux 5.4 or newer");
	} else {
		st_doctor_remedy(finding, "run strata where perf stat -e cycles works");
	}
}

void st_doctor_perf_family(const struct st_doctor_context *context,
			   struct st_doctor_finding *finding)
{
	struct st_doctor_answer answer;
	char why[96];

	st_doctor_attempt(try_family, NULL, &answer);
	if (!answer.code) {
		st_doctor_fact(
			finding, ST_DOCTOR_OK,
			"the kernel reports every fork, exec and exit (software perf event)");
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_LIMITED, "found by scanning /proc; perf_event_open: %s",
		       st_doctor_why(&answer, why, sizeof(why)));
	st_doctor_perf_remedy(context, &answer, 2, finding);
}

void st_doctor_perf_counters(const struct st_doctor_context *context,
			     struct st_doctor_finding *finding)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct st_doctor_answer answer;
	char why[96];

	st_doctor_attempt(try_event, &attr, &answer);
	if (!answer.code && answer.value) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "CPU cycles can be counted");
		return;
	}
	if (answer.code == ENOENT || answer.code == EOPNOTSUPP || answer.code == ENODEV ||
	    !answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_MISSING, "%s",
			       answer.code ? "no PMU is available on this machine"
					   : "the cycles event opens but counts nothing");
		st_doctor_remedy(
			finding,
			"use bare metal, or a VM with a virtual PMU (KVM: -cpu host,pmu=on)");
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_MISSING, "cycles event: %s",
		       st_doctor_why(&answer, why, sizeof(why)));
	st_doctor_perf_remedy(context, &answer, 2, finding);
}

void st_doctor_tracepoints(const struct st_doctor_context *context,
			   struct st_doctor_finding *finding)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .disabled = 1};
	struct st_doctor_answer answer;
	char why[96], mounts[1 << 14];
	long long id;

	if (!st_doctor_number(context, "/sys/kernel/tracing/events/sched/sched_switch/id", &id) &&
	    !st_doctor_number(context, "/sys/kernel/debug/tracing/events/sched/sched_switch/id",
			      &id)) {
		st_doctor_fact(finding, ST_DOCTOR_MISSING,
			       "tracefs is not mounted or not readable by this user");
		st_doctor_read(context, "/proc/self/mounts", mounts, sizeof(mounts));
		if (strstr(mounts, " tracefs "))
			st_doctor_remedy(finding, "run as root, or sudo mount -o remount,mode=755 "
						  "/sys/kernel/tracing");
		else
			st_doctor_remedy(finding, "sudo mount -t tracefs -o mode=755 tracefs "
						  "/sys/kernel/tracing");
		return;
	}
	attr.config = (uint64_t)id;
	st_doctor_attempt(try_event, &attr, &answer);
	if (!answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "sched:sched_switch can be opened");
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_MISSING, "sched:sched_switch: %s",
		       st_doctor_why(&answer, why, sizeof(why)));
	st_doctor_perf_remedy(context, &answer, -1, finding);
}

/* Rights are tested before the file is looked for, so a file that does not exist tells them, and no
 * probe is ever set. */
static void try_uprobe(void *arg, struct st_doctor_answer *answer)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .disabled = 1};

	attr.type = *(uint32_t *)arg;
	attr.config1 = (uint64_t)(uintptr_t) "/proc/self/strata-no-such-file";
	if (perf_open(&attr) < 0 && errno != ENOENT)
		answer->code = errno;
}

void st_doctor_uprobes(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	struct st_doctor_answer answer;
	long long type;
	uint32_t type_number;
	char why[96];

	if (!st_doctor_number(context, "/sys/bus/event_source/devices/uprobe/type", &type)) {
		st_doctor_fact(finding, ST_DOCTOR_MISSING, "this kernel does not support uprobes");
		st_doctor_remedy(finding,
				 "use a kernel with CONFIG_UPROBE_EVENTS and /sys mounted");
		return;
	}
	type_number = (uint32_t)type;
	st_doctor_attempt(try_uprobe, &type_number, &answer);
	if (!answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_OK, "can be set");
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_MISSING, "perf_event_open: %s",
		       st_doctor_why(&answer, why, sizeof(why)));
	if (st_doctor_has_capability(context, ST_CAP_PERFMON) || answer.code == -1)
		st_doctor_perf_remedy(context, &answer, -1, finding);
	else
		st_doctor_remedy(finding, "run as root, or docker run --cap-add=PERFMON");
}
