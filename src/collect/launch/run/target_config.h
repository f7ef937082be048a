/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of STRATA_CONFIG: what the collector inside the program has to know (format/ring_record.h).
 */
#ifndef ST_COLLECT_LAUNCH_RUN_TARGET_CONFIG_H
#define ST_COLLECT_LAUNCH_RUN_TARGET_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct st_buf;
struct st_collect_config;
struct st_sampling_plan;

struct st_target_config {
	const struct st_collect_config *config;
	const char *clock;
	bool paused;
	uint64_t ticks_per_second;		 /* of that clock; 0: not known */
	uint64_t resume_at_ns;			 /* CLOCK_MONOTONIC_RAW; 0: never by itself */
	const struct st_sampling_plan *sampling; /* NULL: no samples */
	bool own_events;	/* threads inherit no trigger: strata opens theirs (own_events.h) */
	const char *result;	/* the folder, from the root; NULL: not told */
	const char *ze_library; /* libstrata_ze.so; NULL: no program can use Level Zero */
	const char *cuda_chained; /* what the user has CUDA's driver load; NULL: nothing */
};

/* The number of its key "device": 0 when nothing of devices is recorded. */
unsigned int st_target_config_devices(const struct st_collect_config *config);
/* Terminated. The buffer's `failed` says whether it is whole. */
void st_target_config_text(struct st_buf *out, const struct st_target_config *target);

#endif
