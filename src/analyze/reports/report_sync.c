// SPDX-License-Identifier: Apache-2.0
//
// Report "sync": waits for locks, barriers and the like, and how long they were held.
#include "analyze/reports/report_rows.h"

#include <stdlib.h>

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

static void count(struct figures *figures, struct st_rows_job *job, uint32_t row)
{
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

static void set_cells(struct st_cell *cells, const struct figures *figures)
{
	cells[CANCELLED] = st_cell_u64(figures->cancelled);
	cells[ACQUISITIONS] = st_cell_u64(figures->acquisitions);
	cells[RELEASES] = st_cell_u64(figures->releases);
	cells[HOLD_TIME] = st_cell_u64(figures->hold_ns);
	cells[HOLD_AVG] = st_cell_u64(
		figures->holds ? (figures->hold_ns + figures->holds / 2) / figures->holds : 0);
}

static void groups(struct st_rows_job *job)
{
	uint32_t row_count = job->report->row_count;
	struct figures *figures = calloc((size_t)row_count + 1, sizeof(*figures));

	if (!figures) {
		job->arena->failed = true;
		return;
	}
	for (uint32_t row = 0; row < job->dataset->row_count; row++) {
		uint32_t at = job->answer->row_of[row];

		if (at == ST_NO_ROW)
			continue;
		count(&figures[row_count], job, row);
		/* The inner level of the default is shown as a column: its rows are not in the report. */
		for (; at != ST_NO_ROW; at = job->answer->rows[at].parent) {
			if (at < row_count)
				count(&figures[at], job, row);
		}
	}
	for (uint32_t i = 0; i < row_count; i++)
		set_cells(st_rows_cells(job, i), &figures[i]);
	set_cells(st_rows_cells(job, ST_NO_ROW), &figures[row_count]);
	free(figures);
}

static const struct st_column instance_columns[] = {
	{"start_ns", "Start Time", "ns", false},
	{"sync_type", "Sync Object Type", "", true},
	{"kind", "Kind", "", true},
	{"task", "In Task", "", true},
	{"process", "Process", "", true},
	{"thread", "Thread", "", true},
	{"flags", "Flags", "", true},
};

static void instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	struct st_row_source source = st_dataset_rows_source(job->dataset, row);
	uint32_t span_count;
	const struct st_span *spans = st_result_spans(job->result, &span_count);
	const struct st_events *events = st_result_events(job->result);
	uint32_t slice = source.span != ST_NO_ROW	? spans[source.span].slice
			 : source.event < events->count ? events->rows[source.event].slice
							: ST_NO_ROW;
	const char *kind = "wait";

	if (source.span == ST_NO_ROW)
		kind = events->rows[source.event].kind == ST_EVENT_SYNC_ACQUIRED ? "acquired"
										 : "releasing";
	else if (spans[source.span].kind == ST_SPAN_HOLD)
		kind = "hold";
	cells[0] = st_cell_i64(job->dataset->begin_ns[row]);
	cells[1] = st_rows_place(job, ST_BY_SYNC_TYPE, row);
	cells[2] = st_cell_text(kind);
	if (slice != ST_NO_ROW)
		cells[3] = st_cell_bytes(st_slice_name(job->result, slice));
	cells[4] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[5] = st_rows_place(job, ST_BY_THREAD, row);
	if (source.span != ST_NO_ROW)
		cells[6] = st_cell_text(st_span_flags(spans[source.span].flags));
}

const struct st_rows_report st_sync_report = {
	.name = "sync",
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
	.group_cells = groups,
	.instance_columns = instance_columns,
	.instance_column_count = sizeof(instance_columns) / sizeof(instance_columns[0]),
	.instance_cells = instance,
	.empty = "This result holds no waits; programs and runtimes tell them with "
		 "__itt_sync_prepare, __itt_sync_acquired and __itt_sync_releasing.",
};
