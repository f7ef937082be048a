/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices as a dataset with everything that can be told of them: also the steps and modules that they are in.
 */
#ifndef ST_ANALYZE_OPERATORS_DATASET_TASKS_H
#define ST_ANALYZE_OPERATORS_DATASET_TASKS_H

#include "analyze/datasets/dataset_slices.h"
#include "analyze/steps/steps.h"

enum st_status st_dataset_slices_init(struct st_dataset *out, const struct st_result *result,
				      struct st_error *err);
/* Once ST_BY_STEP was prepared. */
const struct st_step_keys *st_dataset_slices_steps(const struct st_dataset *dataset);

/* One question about slices. */
enum st_status st_question_ask(const struct st_result *result, const struct st_question *question,
			       struct st_answer *out, struct st_error *err);

#endif
