/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine did beside the program: how busy its CPUs were, and how long a control group held the program back.
 */
#ifndef ST_COLLECT_LAUNCH_RUN_MACHINE_USE_H
#define ST_COLLECT_LAUNCH_RUN_MACHINE_USE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct st_json;

/* At one moment, since the machine was started. */
struct st_machine_times {
	uint64_t busy_ns, idle_ns,
		stolen_ns; /* summed over these CPUs; stolen: by other virtual machines */
	uint64_t throttled_ns;
	uint64_t strata_cpu_ns;
	uint32_t cpu_count; /* 0: the kernel does not tell */
	bool allowed_only;  /* CPUs that the program may use; else all of the machine's */
};

struct st_machine_use {
	struct st_machine_times begin, end;
	uint64_t target_cpu_ns; /* at the end; 0: not known */
	double cpu_limit; /* CPUs' worth of time that the control group may use; 0: no limit */
	bool has_begun, has_ended;
};

/* Of CPUs in `allowed` where that leaves some out and /proc/stat knows them all, else of all CPUs. root: "" or a folder
 * with /proc and /sys in it, for tests. */
void st_machine_read(struct st_machine_times *out, const char *root, const cpu_set_t *allowed);
/* The lowest limit of the control group and those around it, and how long it has held its processes back. */
double st_machine_cpu_limit(const char *root, uint64_t *throttled_ns);

void st_machine_begin(struct st_machine_use *use);
/* The first call counts. target_cpu_ns: of the program so far, or 0. */
void st_machine_end(struct st_machine_use *use, uint64_t target_cpu_ns);
/* "machine": {…} of result.json; nothing where nothing is known. */
void st_machine_put(const struct st_machine_use *use, struct st_json *json);

#endif
