/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reports about memory share: blocks, what was held when, the peak, and how it grew from step to step.
 */
#ifndef ST_ANALYZE_REPORTS_REPORT_MEMORY_H
#define ST_ANALYZE_REPORTS_REPORT_MEMORY_H

#include "analyze/engine/dataset.h"
#include "analyze/operators/memory_blocks.h"
#include "analyze/tables/report.h"
#include "analyze/steps/step_list.h"

struct st_memory_view {
	struct st_memory_blocks blocks;
	struct st_memory_change *changes;
	uint32_t change_count;
	int64_t begin_ns, end_ns; /* that the reports are about */
	struct st_memory_peak peak;
	uint64_t end_bytes;
	uint32_t peak_held_count; /* blocks */
	struct st_step_list steps;
	bool has_growth;       /* there are two steps at least that are no warm-up */
	int64_t growth_bytes;  /* from the end of one step to the end of the next, on average */
	uint32_t growth_steps; /* that it is of */
	bool has_pauses;
	uint32_t sum_count; /* moments without addresses: not counted */
};

enum st_status st_memory_view_make(struct st_memory_view *out, const struct st_result *result,
				   const struct st_question *question, struct st_error *err);
void st_memory_view_fini(struct st_memory_view *view);

/* What is counted of the blocks that were held at the peak. */
extern const struct st_measure st_memory_measures[];
enum { ST_MEMORY_MEASURES = 4 };

/* "peak 45.3 MB at 1.234 s, in 17 blocks; 1.2 MB at the end; +0 B per step (10 steps)" */
const char *st_memory_view_text(const struct st_memory_view *view, const struct st_result *result,
				struct st_arena *arena);
void st_memory_view_notes(const struct st_memory_view *view, struct st_report *report);
/* What to say when there are no rows. */
const char *st_memory_view_empty(const struct st_memory_view *view);

#endif
