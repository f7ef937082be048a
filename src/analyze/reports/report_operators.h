/* SPDX-License-Identifier: Apache-2.0
 *
 * What report "operators" and the summary say about where operators come from.
 */
#ifndef ST_ANALYZE_REPORTS_REPORT_OPERATORS_H
#define ST_ANALYZE_REPORTS_REPORT_OPERATORS_H

#include "analyze/operators/dataset_operators.h"

/* One line: how they were recorded, by which framework, and why not better; NULL when there is nothing to say. */
const char *st_operators_source(const struct st_result *result, const struct st_dataset *operators,
				struct st_arena *arena);
/* What to say when there are none. */
const char *st_operators_empty(const struct st_result *result);

#endif
