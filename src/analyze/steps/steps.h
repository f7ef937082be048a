/* SPDX-License-Identifier: Apache-2.0
 *
 * The tasks that look like the steps of a program (iterations, epochs, batches), and what their time
 * is made of.
 */
#ifndef ST_ANALYZE_STEPS_STEPS_H
#define ST_ANALYZE_STEPS_STEPS_H

#include "analyze/datasets/dataset_parts.h"
#include "analyze/steps/step_list.h"

enum { ST_STEP_PARTS_MAX = 4 };

struct st_step_part {
	struct st_text text;
	uint64_t total_ns, count;
};

/* The family of steps that was found. */
struct st_step_family {
	struct st_text text; /* borrowed from the result */
	uint64_t count, total_ns;
	struct st_percentiles took;
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

/* The steps of a result, and the key of each in ST_BY_STEP. */
struct st_step_keys {
	struct st_step_list list;
	uint32_t *keys; /* by step; in the arena */
};

/* ST_BY_STEP: the step (step_list.h) that each slice is or lies in. out->list is the caller's to end, also after a
 * failure: false, when memory is out. */
bool st_dataset_add_steps(struct st_dataset *dataset, const struct st_result *result,
			  struct st_key_texts *texts, struct st_arena *arena,
			  struct st_step_keys *out);

enum st_status st_steps_find(struct st_steps *out, const struct st_dataset *dataset,
			     const struct st_result *result, struct st_error *err);

#endif
