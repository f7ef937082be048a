/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts about the tasks that samples are grouped by: their number and their durations.
 */
#ifndef ST_ANALYZE_REPORTS_SAMPLE_TASKS_H
#define ST_ANALYZE_REPORTS_SAMPLE_TASKS_H

#include "analyze/samples/sample_set.h"

struct st_task_figures {
	bool known;
	uint64_t count, wall_ns;
	int64_t start_ns; /* of one instance, else -1 */
};

/* A module's samples are of Python code between its operators, too: their count and time say little of it. */
bool st_grouping_has_task_figures(enum st_grouping grouping);
/* By answer row. NULL when memory is out. */
struct st_task_figures *st_task_figures_make(const struct st_sample_set *set,
					     const struct st_question *question,
					     const struct st_answer *answer);

#endif
