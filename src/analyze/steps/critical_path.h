/* SPDX-License-Identifier: Apache-2.0
 *
 * The critical paths of steps through waits and wakes: what a step would have to be shorter by to be shorter itself. Of a
 * program without steps it is that of its first thread.
 */
#ifndef ST_ANALYZE_STEPS_CRITICAL_PATH_H
#define ST_ANALYZE_STEPS_CRITICAL_PATH_H

#include "analyze/datasets/dataset_rows.h"

/* ST_ROWS_PATH; without rows where no waits were recorded. */
enum st_status st_dataset_path_init(struct st_dataset *out, const struct st_result *result,
				    struct st_error *err);

#endif
