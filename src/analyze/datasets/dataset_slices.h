/* SPDX-License-Identifier: Apache-2.0
 *
 * The groupings of slices that are made only when a question needs them.
 */
#ifndef ST_ANALYZE_DATASETS_DATASET_SLICES_H
#define ST_ANALYZE_DATASETS_DATASET_SLICES_H

#include "analyze/datasets/dataset_parts.h"
#include "analyze/steps/step_list.h"

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
/* Once ST_BY_STEP was prepared; of slices only. */
const struct st_step_keys *st_dataset_slices_steps(const struct st_dataset *dataset);
/* What the slices of a label are called in a grouping. */
struct st_text st_label_text(const struct st_result *result, const struct st_label *label,
			     enum st_grouping grouping);

#endif
