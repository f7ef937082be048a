/* SPDX-License-Identifier: Apache-2.0
 *
 * The tasks that look like the steps of a program (iterations, epochs, batches), and what their time
 * is made of.
 */
#ifndef ST_ANALYZE_STEPS_STEPS_H
#define ST_ANALYZE_STEPS_STEPS_H

#include "analyze/engine/dataset.h"

enum { ST_STEP_PARTS_MAX = 4 };

struct st_step_part {
	struct st_text text;
	uint64_t total_ns, count;
};

/* The family of steps that was found. */
struct st_step_family {
	struct st_text text; /* borrowed from the result */
	uint64_t count, total_ns, median_ns, p95_ns, p99_ns;
};

struct st_steps {
	bool found;
	bool is_profiler; /* they are torch.profiler's own */
	bool is_counted;  /* their name has a number, and says nothing of steps */
	uint32_t family_key;
	struct st_step_family family;
	struct st_step_part parts[ST_STEP_PARTS_MAX]; /* direct children, the largest first */
	unsigned int part_count;
	uint64_t other_count, other_ns; /* children that are not among the parts */
	uint64_t self_ns;		/* in no child */
	uint64_t sum_ns;		/* of all steps */
};

enum st_status st_steps_find(struct st_steps *out, const struct st_dataset *dataset,
			     const struct st_result *result, struct st_error *err);

#endif
