/* SPDX-License-Identifier: Apache-2.0
 *
 * One track cut into equal bins of time: how long tasks were open in each, and which type had the
 * most self time.
 */
#ifndef ST_ANALYZE_REPORTS_TIMELINE_H
#define ST_ANALYZE_REPORTS_TIMELINE_H

#include "analyze/engine/filter.h"

struct st_timeline_bin {
	uint64_t busy_ns; /* time with at least one task open */
	uint64_t top_ns;  /* of it, the part of the type with the largest self time */
	uint32_t top_key; /* that type (ST_BY_TASK_TYPE), or UINT32_MAX when there is none */
	uint32_t count;	  /* tasks that begin here */
	uint64_t cpu_ns;  /* on a CPU, by samples; st_timeline_fill leaves it at 0 */
};

struct st_timeline {
	const struct st_dataset *dataset;
	const struct st_selection *selection;
	const struct st_result *result;
	bool has_samples;
	bool is_by_place; /* filters are by process and thread, if there are any */
	int64_t begin_ns, end_ns;
	uint32_t bin_count;
	uint64_t *self_ns; /* scratch, by type: zero between calls */
	uint32_t *touched; /* scratch, by type */
	uint32_t *open;	   /* scratch: stack of rows */
};

enum { ST_TIMELINE_DEPTH_MAX = 65536 };

bool st_timeline_init(struct st_timeline *out, const struct st_dataset *dataset,
		      const struct st_selection *selection);
void st_timeline_fini(struct st_timeline *timeline);
int64_t st_timeline_bin_begin(const struct st_timeline *timeline, uint32_t bin);
/* The bin that a time lies in: the first of one before, the last of one behind all. */
uint32_t st_timeline_bin_at(const struct st_timeline *timeline, int64_t time_ns);
/* Fills bin_count bins for a track. */
void st_timeline_fill(struct st_timeline *timeline, uint32_t track, struct st_timeline_bin *bins);

#endif
