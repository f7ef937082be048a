/* SPDX-License-Identifier: Apache-2.0
 *
 * The groupings of slices that are made only when a question needs them.
 */
#ifndef ST_ANALYZE_DATASET_SLICES_H
#define ST_ANALYZE_DATASET_SLICES_H

#include "analyze/dataset_parts.h"

/* ST_BY_STEP: the step (steps.h) that each slice is or lies in. False when memory is out. */
bool st_dataset_add_steps(struct st_dataset *dataset, struct st_key_texts *keys,
			  struct st_arena *arena);

#endif
