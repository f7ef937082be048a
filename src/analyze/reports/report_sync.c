// SPDX-License-Identifier: Apache-2.0
//
// Report "sync": waits for locks, barriers and the like, and how long they were held.
#include "analyze/reports/report_rows.h"

enum { CANCELLED, ACQUISITIONS, RELEASES, HOLD_TIME, HOLD_AVG, GROUP_COLUMNS };

static const struct st_column group_columns[GROUP_COLUMNS] = {
	[CANCELLED] = {"cancelled", "Cancelled", "", false},
	[ACQUISITIONS] = {"acquisitions", "Acquisitions", "", false},
	[RELEASES] = {"releases", "Releases", "", false},
	[HOLD_TIME] = {"hold_total_ns", "Hold Time", "ns", false},
	[HOLD_AVG] = {"hold_avg_ns", "Average Hold Time", "ns", false},
};

struct figures {
	uint64_t cancelled, acquisitions, releases, holds, hold_ns;
};

static void add(struct st_rows_job *job, void *sum, uint32_t row)
{
	struct figures *figures = sum;
	struct st_row_source source = st_dataset_rows_source(job->dataset, row);
	uint32_t span_count;
	const struct st_span *spans = st_result_spans(job->result, &span_count);

	if (source.span == ST_NO_ROW) {
		uint16_t kind = st_result_events(job->result)->rows[source.event].kind;

		figures->acquisitions += kind == ST_EVENT_SYNC_ACQUIRED;
		figures->releases += kind == ST_EVENT_SYNC_RELEASING;
	} else if (spans[source.span].kind == ST_SPAN_HOLD) {
		figures->holds++;
		figures->hold_ns += job->dataset->self_ns[row];
	} else {
		figures->cancelled += (spans[source.span].flags & ST_SPAN_CANCELLED) != 0;
	}
}

static void set_cells(struct st_rows_job *job, struct st_cell *cells, const void *sum,
		      const struct st_answer_row *row)
{
	const struct figures *figures = sum;

	(void)job;
	(void)row;
	cells[CANCELLED] = st_cell_u64(figures->cancelled);
	cells[ACQUISITIONS] = st_cell_u64(figures->acquisitions);
	cells[RELEASES] = st_cell_u64(figures->releases);
	cells[HOLD_TIME] = st_cell_u64(figures->hold_ns);
	cells[HOLD_AVG] = st_cell_u64(
		figures->holds ? (figures->hold_ns + figures->holds / 2) / figures->holds : 0);
}

const struct st_rows_report st_sync_report = {
	.rows_name = "waits",
	.set = ST_ROWS_SYNC,
	.defaults = {ST_BY_SYNC_OBJECT, ST_BY_SYNC_TYPE},
	.default_count = 2,
	.joins_second = true,
	.metrics = ST_LIST(ST_COUNT, ST_WALL_TOTAL, ST_WALL_AVG, ST_WALL_MAX),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Wait Count",
		   [ST_WALL_TOTAL] = "Wait Time",
		   [ST_WALL_AVG] = "Average Wait Time",
		   [ST_WALL_MAX] = "Longest Wait"},
	.instance_time = "Duration", /* of waits and of holds */
	.group_columns = group_columns,
	.group_column_count = GROUP_COLUMNS,
	.figures_bytes = sizeof(struct figures),
	.add = add,
	.cells = set_cells,
	.has_totals = true,
	.empty = "This result has no waits; programs and runtimes report them with "
		 "__itt_sync_prepare, __itt_sync_acquired and __itt_sync_releasing.",
};
