// SPDX-License-Identifier: Apache-2.0
//
// Checks of the machine itself: processor, kernel, container, clock, memory, limits.
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collect/launch/drain/clock.h"
#include "collect/launch/doctor/doctor_check.h"

enum { CPUINFO_BYTES = 8192, CLOCK_READS = 20000, STEP_MAX_TICKS = 4096 };

static const uint64_t memory_low_bytes = 512u << 20;
static const uint64_t address_space_low_bytes = (uint64_t)2 << 30;
static const uint64_t file_size_low_bytes = 1000000000u;

/* The lowest value of a control-group file from our own group up to the root; "max" is no limit. */
static uint64_t cgroup_limit(const struct st_doctor_context *context, const char *prefix,
			     const char *folder, const char *file)
{
	char groups[2048], group[PATH_MAX], path[PATH_MAX + 64];
	uint64_t lowest = UINT64_MAX;
	char *slash;

	st_doctor_read(context, "/proc/self/cgroup", groups, sizeof(groups));
	if (!st_doctor_field(groups, prefix, group, sizeof(group)))
		group[0] = '\0';
	do {
		long long value;

		slash = strrchr(group, '/');
		if (slash && !slash[1])
			*slash = '\0';
		snprintf(path, sizeof(path), "%s%s/%s", folder, group, file);
		if (st_doctor_number(context, path, &value) && value > 0 &&
		    (uint64_t)value < lowest && value < LLONG_MAX / 4096 * 4096)
			lowest = (uint64_t)value;
		slash = strrchr(group, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return lowest;
}

/* Processors' worth of time that the control group may use, or 0 for no limit. */
static double cpu_quota(const struct st_doctor_context *context)
{
	char groups[2048], group[512], path[600], text[64];
	char *end;
	double quota, period;

	st_doctor_read(context, "/proc/self/cgroup", groups, sizeof(groups));
	if (!st_doctor_field(groups, "0::", group, sizeof(group)))
		group[0] = '\0';
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
	if (!st_doctor_read(context, path, text, sizeof(text)))
		return 0;
	quota = strtod(text, &end);
	if (end == text)
		return 0;
	period = strtod(end, NULL);
	return period > 0 ? quota / period : 0;
}

void st_doctor_machine(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	char info[CPUINFO_BYTES], model[96], quota_text[48] = "";
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	double quota = cpu_quota(context);
	cpu_set_t allowed;
	int count;

	st_doctor_read(context, "/proc/cpuinfo", info, sizeof(info));
	if (!st_doctor_field(info, "model name", model, sizeof(model)))
		snprintf(model, sizeof(model), "unknown CPU model");
	/* More processors than the set has room for: all of them, then. */
	count = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed)
								     : (int)online;
	if (quota > 0)
		snprintf(quota_text, sizeof(quota_text), ", quota %.2g", quota);
	st_doctor_fact(finding, ST_DOCTOR_OK, "%s; %ld CPUs, %d allowed%s", model, online, count,
		       quota_text);
	if (count < online || (quota > 0 && quota < count)) {
		finding->status = ST_DOCTOR_LIMITED;
		st_doctor_remedy(finding, "%s",
				 count < online
					 ? "taskset -c 0-N strata ..., or docker run --cpuset-cpus"
					 : "docker run --cpus=N (cpu.max of the control group)");
	}
}

void st_doctor_kernel(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	char text[2048], name[96];
	struct utsname kernel;

	st_doctor_read(context, "/etc/os-release", text, sizeof(text));
	if (!st_doctor_field(text, "PRETTY_NAME=", name, sizeof(name)))
		snprintf(name, sizeof(name), "unknown distribution");
	name[strcspn(name + 1, "\"") + 1] = '\0';
	if (uname(&kernel) != 0) {
		st_doctor_fact(finding, ST_DOCTOR_UNKNOWN, "%s", name);
		st_doctor_remedy(finding, "allow the uname system call");
		return;
	}
	st_doctor_fact(finding, ST_DOCTOR_OK, "%s %s %s; %s", kernel.sysname, kernel.release,
		       kernel.machine, name[0] == '"' ? name + 1 : name);
}

static const char *container_kind(const struct st_doctor_context *context)
{
	static const char *const words[] = {"docker", "kubepods", "libpod", "lxc", "containerd"};
	static char kind[64];
	char text[4096];

	if (st_doctor_read(context, "/run/systemd/container", kind, sizeof(kind)) && kind[0])
		return kind;
	if (st_doctor_read(context, "/.dockerenv", text, sizeof(text)))
		return "docker";
	if (st_doctor_read(context, "/run/.containerenv", text, sizeof(text)))
		return "podman";
	st_doctor_read(context, "/proc/1/cgroup", text, sizeof(text));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(text, words[i]))
			return words[i];
	return NULL;
}

void st_doctor_container(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	char info[CPUINFO_BYTES], vendor[64], product[64], version[256];
	const char *kind = container_kind(context);
	const char *machine = "no sign of a virtual machine";

	st_doctor_read(context, "/proc/cpuinfo", info, sizeof(info));
	st_doctor_read(context, "/proc/version", version, sizeof(version));
	st_doctor_read(context, "/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	st_doctor_read(context, "/sys/class/dmi/id/product_name", product, sizeof(product));
	if (strstr(version, "microsoft") || strstr(version, "Microsoft"))
		machine = "virtual machine (WSL)";
	else if (strstr(info, " hypervisor"))
		machine = "virtual machine";
	st_doctor_fact(finding, ST_DOCTOR_OK, "%s%s; %s%s%s%s%s%s", kind ? "container: " : "",
		       kind ? kind : "no sign of a container", machine,
		       vendor[0] || product[0] ? " (" : "", vendor,
		       vendor[0] && product[0] ? " " : "", product,
		       vendor[0] || product[0] ? ")" : "");
}

/* value: the step between readings, in 1/100 ns. A stray reading is one tick off now and then, so the
 * step is the smallest one that is common. */
static void try_clock(void *arg, struct st_doctor_answer *answer)
{
	enum st_clock clock = *(enum st_clock *)arg;
	struct st_clock_pair before = st_launch_clock_pair(clock, 50), after;
	uint64_t last = clock == ST_CLOCK_TSC ? st_clock_tsc() : st_clock_mono_raw_ns();
	static unsigned int counts[STEP_MAX_TICKS];
	unsigned int step = 1;

	for (int i = 0; i < CLOCK_READS; i++) {
		uint64_t now = clock == ST_CLOCK_TSC ? st_clock_tsc() : st_clock_mono_raw_ns();

		if (now > last && now - last < STEP_MAX_TICKS)
			counts[now - last]++;
		last = now;
	}
	while (step < STEP_MAX_TICKS - 1 && counts[step] < CLOCK_READS / 20)
		step++;
	after = st_launch_clock_pair(clock, 50);
	answer->value =
		(uint64_t)((double)step * 1e11 / (double)st_launch_clock_rate(&before, &after));
}

void st_doctor_clock(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	struct st_clock_trust trust = st_launch_clock_trust(context->root);
	struct st_doctor_answer answer;
	char why[96];

	st_doctor_attempt(try_clock, &trust.clock, &answer);
	if (answer.code) {
		st_doctor_fact(finding, ST_DOCTOR_UNKNOWN, "cannot read %s: %s",
			       st_launch_clock_name(trust.clock),
			       st_doctor_why(&answer, why, sizeof(why)));
		st_doctor_remedy(finding, "run strata without PR_SET_TSC and strict seccomp");
	} else if (trust.clock == ST_CLOCK_TSC) {
		st_doctor_fact(finding, ST_DOCTOR_OK,
			       "cycle counter, also used by the kernel; resolution %.1f ns",
			       (double)answer.value / 100);
	} else {
		st_doctor_fact(
			finding, ST_DOCTOR_LIMITED,
			"CLOCK_MONOTONIC_RAW (resolution %.1f ns, more overhead per record): %s%s",
			(double)answer.value / 100,
			trust.steady ? "the kernel's clock source is "
				     : "the CPU's cycle counter is not constant-rate",
			trust.steady ? trust.source : "");
		st_doctor_remedy(finding, "%s",
				 trust.steady ? "boot with clocksource=tsc tsc=reliable, if the "
						"host guarantees an invariant TSC"
					      : "expose an invariant TSC to the guest (-cpu host,"
						"+invtsc), or use another machine");
	}
}

void st_doctor_memory(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	char info[4096], total_text[32], free_text[32], limit_text[32], a[32], b[32], c[32];
	uint64_t limit, v1, available;

	if (!st_doctor_read(context, "/proc/meminfo", info, sizeof(info))) {
		st_doctor_fact(finding, ST_DOCTOR_UNKNOWN, "cannot read /proc/meminfo");
		st_doctor_remedy(finding, "mount /proc");
		return;
	}
	st_doctor_field(info, "MemTotal:", total_text, sizeof(total_text));
	st_doctor_field(info, "MemAvailable:", free_text, sizeof(free_text));
	available = strtoull(free_text, NULL, 10) * 1024;
	limit = cgroup_limit(context, "0::", "/sys/fs/cgroup", "memory.max");
	v1 = cgroup_limit(context, "memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes");
	if (v1 < limit)
		limit = v1;
	st_doctor_size(limit, limit_text, sizeof(limit_text));
	st_doctor_fact(finding, ST_DOCTOR_OK, "%s of %s available; control group: %s",
		       st_doctor_size(available, a, sizeof(a)),
		       st_doctor_size(strtoull(total_text, NULL, 10) * 1024, b, sizeof(b)),
		       st_doctor_size(limit, c, sizeof(c)));
	if (available < memory_low_bytes || limit < memory_low_bytes) {
		finding->status = ST_DOCTOR_LIMITED;
		st_doctor_remedy(finding, "%s",
				 limit < memory_low_bytes
					 ? "docker run --memory=2g, or use -knob ring-size=64"
					 : "free some memory, or use -knob ring-size=64");
	}
}

static uint64_t limit_of(int resource)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

static const char *count_text(uint64_t count, char *out, size_t size_bytes)
{
	if (count == UINT64_MAX)
		snprintf(out, size_bytes, "no limit");
	else
		snprintf(out, size_bytes, "%" PRIu64, count);
	return out;
}

void st_doctor_limits(const struct st_doctor_context *context, struct st_doctor_finding *finding)
{
	uint64_t space = limit_of(RLIMIT_AS), files = limit_of(RLIMIT_NOFILE),
		 locked = limit_of(RLIMIT_MEMLOCK), file_size = limit_of(RLIMIT_FSIZE),
		 processes = limit_of(RLIMIT_NPROC);
	const char *remedy = NULL;
	char a[32], b[32], c[32], d[32], e[32];

	(void)context;
	if (space < address_space_low_bytes)
		remedy = "ulimit -v unlimited (buffers for 64 threads map 64 MB in the program)";
	else if (files < 256)
		remedy = "ulimit -n 4096 (strata uses three file descriptors per process)";
	else if (file_size < file_size_low_bytes)
		remedy = "ulimit -f unlimited (result files are truncated at the limit)";
	else if (processes < 64 && geteuid() != 0)
		remedy = "ulimit -u 4096";
	st_doctor_fact(finding, remedy ? ST_DOCTOR_LIMITED : ST_DOCTOR_OK,
		       "address space %s, files %s, locked %s, file size %s, processes %s",
		       st_doctor_size(space, a, sizeof(a)), count_text(files, b, sizeof(b)),
		       st_doctor_size(locked, c, sizeof(c)),
		       st_doctor_size(file_size, d, sizeof(d)),
		       count_text(processes, e, sizeof(e)));
	if (remedy)
		st_doctor_remedy(finding, "%s", remedy);
}
