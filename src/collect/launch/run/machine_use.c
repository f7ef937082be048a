// SPDX-License-Identifier: Apache-2.0
//
// /proc/stat counts the time of all CPUs, in a container those of its host, in units of 10 ms; control groups of either
// version tell their limit and how long it has held their processes back.
#include "collect/launch/run/machine_use.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/json_out.h"

enum { LINE_BYTES = 512, TIMES = 8 };
enum cpu_time { USER, NICE, SYSTEM, IDLE, IO_WAIT, IRQ, SOFT_IRQ, STEAL };

static void add_times(struct st_machine_times *out, const char *text)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), ns[TIMES] = {0};

	for (unsigned int i = 0; i < TIMES; i++) {
		char *end;

		ns[i] = strtoull(text, &end, 10) * tick_ns;
		if (end == text)
			break;
		text = end;
	}
	/* The time of guests is in that of users. */
	out->busy_ns += ns[USER] + ns[NICE] + ns[SYSTEM] + ns[IRQ] + ns[SOFT_IRQ];
	out->idle_ns += ns[IDLE] + ns[IO_WAIT];
	out->stolen_ns += ns[STEAL];
	out->cpu_count++;
}

/* The lines "cpu0 …" come first; "cpu  …" is the sum of all, also of CPUs that are off now. */
static void read_times(FILE *file, const cpu_set_t *allowed, struct st_machine_times *all,
		       struct st_machine_times *some)
{
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), file) && strncmp(line, "cpu", 3) == 0) {
		char *end;
		unsigned long cpu = strtoul(line + 3, &end, 10);

		if (end == line + 3 || line[3] == ' ')
			continue;
		add_times(all, end);
		if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, allowed))
			add_times(some, end);
	}
}

void st_machine_read(struct st_machine_times *out, const char *root, const cpu_set_t *allowed)
{
	struct st_machine_times all = {0}, some = {.allowed_only = true};
	struct rusage usage = {0};
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/stat", root);
	file = fopen(path, "re");
	if (file) {
		read_times(file, allowed, &all, &some);
		fclose(file);
	}
	/* A container may be shown other numbers of CPUs than those it runs on. */
	*out = some.cpu_count < all.cpu_count && (int)some.cpu_count == CPU_COUNT(allowed) ? some
											   : all;
	getrusage(RUSAGE_SELF, &usage);
	out->strata_cpu_ns =
		(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
		(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
	st_machine_cpu_limit(root, &out->throttled_ns);
}

/* The first line of a file that begins with a word, without that; false: none. */
static bool read_line(const char *path, const char *word, char *out, size_t size)
{
	FILE *file = fopen(path, "re");
	char line[PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = strncmp(line, word, strlen(word)) == 0;
	}
	if (file)
		fclose(file);
	if (found)
		snprintf(out, size, "%s", line + strlen(word));
	return found;
}

/* The group of a controller, of version 2 for "": "12:cpu,cpuacct:/docker/…", "0::/…". */
static void find_group(const char *root, const char *controller, char *out, size_t size)
{
	char path[PATH_MAX], line[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	out[0] = '\0';
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
		size_t length = strlen(controller);

		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		for (char *at = ++names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
			if (strncmp(at, controller, length) == 0 &&
			    (at[length] == '\0' || (length && at[length] == ',')))
				snprintf(out, size, "%s", group);
	}
	if (file)
		fclose(file);
}

/* CPUs' worth of time of one group; 0: no limit. */
static double limit_of(const char *folder, bool is_second)
{
	char path[2 * PATH_MAX], quota[64], period[64] = "";
	char *more;
	double us;

	snprintf(path, sizeof(path), "%s/%s", folder, is_second ? "cpu.max" : "cpu.cfs_quota_us");
	if (!read_line(path, "", quota, sizeof(quota)))
		return 0;
	us = strtod(quota, &more);
	if (!is_second) {
		snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
		read_line(path, "", period, sizeof(period));
		more = period;
	}
	return us > 0 && strtod(more, NULL) > 0 ? us / strtod(more, NULL) : 0;
}

static uint64_t throttled_of(const char *folder, bool is_second)
{
	char path[2 * PATH_MAX], number[64];

	snprintf(path, sizeof(path), "%s/cpu.stat", folder);
	if (!read_line(path, is_second ? "throttled_usec " : "throttled_time ", number,
		       sizeof(number)))
		return 0;
	return strtoull(number, NULL, 10) * (is_second ? 1000 : 1);
}

/* From a group up to the root of what is mounted. */
static double lowest_limit(const char *root, bool is_second, uint64_t *throttled_ns)
{
	char group[PATH_MAX], folder[PATH_MAX + 64];
	double lowest = 0;
	char *slash;

	find_group(root, is_second ? "" : "cpu", group, sizeof(group));
	do {
		double limit;

		slash = strrchr(group, '/');
		if (slash && !slash[1])
			*slash = '\0';
		snprintf(folder, sizeof(folder), "%s/sys/fs/cgroup%s%s", root,
			 is_second ? "" : "/cpu", group);
		limit = limit_of(folder, is_second);
		if (limit > 0 && (lowest <= 0 || limit < lowest)) {
			lowest = limit;
			*throttled_ns = throttled_of(folder, is_second);
		}
		slash = strrchr(group, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return lowest;
}

double st_machine_cpu_limit(const char *root, uint64_t *throttled_ns)
{
	double limit;

	*throttled_ns = 0;
	limit = lowest_limit(root, true, throttled_ns);
	return limit > 0 ? limit : lowest_limit(root, false, throttled_ns);
}

static void read_now(struct st_machine_times *out)
{
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	st_machine_read(out, "", &allowed);
}

void st_machine_begin(struct st_machine_use *use)
{
	uint64_t ignored;

	memset(use, 0, sizeof(*use));
	use->cpu_limit = st_machine_cpu_limit("", &ignored);
	read_now(&use->begin);
	use->has_begun = true;
}

void st_machine_end(struct st_machine_use *use, uint64_t target_cpu_ns)
{
	if (!use->has_begun || use->has_ended)
		return;
	read_now(&use->end);
	use->target_cpu_ns = target_cpu_ns;
	use->has_ended = true;
}

/* CPUs come and go, and their counters with them. */
static uint64_t grown(uint64_t begin, uint64_t end)
{
	return end > begin ? end - begin : 0;
}

void st_machine_put(const struct st_machine_use *use, struct st_json *json)
{
	struct st_machine_use now = *use;
	const struct st_machine_times *begin = &now.begin, *end = &now.end;

	st_machine_end(&now, 0);
	if (!begin->cpu_count || begin->cpu_count != end->cpu_count ||
	    begin->allowed_only != end->allowed_only)
		return;
	st_json_put_object(json, "machine");
	st_json_put_u64(json, "cpu_count", end->cpu_count);
	st_json_put_bool(json, "allowed_only", end->allowed_only);
	st_json_put_u64(json, "busy_ns", grown(begin->busy_ns, end->busy_ns));
	st_json_put_u64(json, "idle_ns", grown(begin->idle_ns, end->idle_ns));
	st_json_put_u64(json, "stolen_ns", grown(begin->stolen_ns, end->stolen_ns));
	st_json_put_u64(json, "strata_cpu_ns", grown(begin->strata_cpu_ns, end->strata_cpu_ns));
	if (now.target_cpu_ns)
		st_json_put_u64(json, "target_cpu_ns", now.target_cpu_ns);
	if (now.cpu_limit > 0) {
		st_json_key(json, "cpu_limit");
		st_json_double(json, now.cpu_limit);
		st_json_put_u64(json, "throttled_ns",
				grown(begin->throttled_ns, end->throttled_ns));
	}
	st_json_object_end(json);
}
