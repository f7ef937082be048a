// SPDX-License-Identifier: Apache-2.0
//
// Reports "frames", "regions" and "overlapped": things with a begin and an end that do not nest.
#include "analyze/reports/report_rows.h"

static const uint8_t distribution[] = {ST_COUNT,       ST_WALL_TOTAL, ST_WALL_MIN, ST_WALL_AVG,
				       ST_WALL_MEDIAN, ST_WALL_P95,   ST_WALL_P99, ST_WALL_MAX,
				       ST_WALL_STDDEV, ST_LIST_END};

static const struct st_span *span_of(struct st_rows_job *job, uint32_t row)
{
	uint32_t count;

	return &st_result_spans(job->result,
				&count)[st_dataset_rows_source(job->dataset, row).span];
}

/* The thread that ended it, when that is another one than began it. */
static struct st_cell end_thread(struct st_rows_job *job, const struct st_span *span)
{
	if (span->end_track == ST_NO_ROW || span->end_track == span->begin_track)
		return (struct st_cell){.kind = ST_CELL_NONE};
	return st_cell_bytes(
		job->dataset->text(job->dataset, ST_BY_THREAD, span->end_track, job->arena));
}

static const struct st_column frame_group_columns[] = {
	{"frame_rate_hz", "Frame Rate (1/s)", "", false},
};

static struct st_cell frame_rate(const struct st_answer_row *row)
{
	if (!st_answer_value(row, ST_WALL_TOTAL))
		return (struct st_cell){.kind = ST_CELL_NONE};
	return st_cell_double((double)st_answer_value(row, ST_COUNT) * 1e9 /
			      (double)st_answer_value(row, ST_WALL_TOTAL));
}

static void frame_groups(struct st_rows_job *job)
{
	for (uint32_t i = 0; i < job->report->row_count; i++)
		*st_rows_cells(job, i) = frame_rate(&job->answer->rows[i]);
	*st_rows_cells(job, ST_NO_ROW) = frame_rate(&job->answer->total);
}

static const struct st_column frame_columns[] = {
	{"start_ns", "Start Time", "ns", false},
	{"frame_domain", "Frame Domain", "", true},
	{"id", "Id", "", true},
	{"process", "Process", "", true},
	{"thread", "Thread", "", true},
	{"end_thread", "Ended By", "", true},
	{"flags", "Flags", "", true},
};

static void frame_instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	const struct st_span *span = span_of(job, row);

	cells[0] = st_cell_i64(span->begin_ns);
	cells[1] = st_rows_place(job, ST_BY_FRAME_DOMAIN, row);
	cells[2] = st_rows_id(job, span->id);
	cells[3] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[4] = st_rows_place(job, ST_BY_THREAD, row);
	cells[5] = end_thread(job, span);
	cells[6] = st_cell_text(st_span_flags(span->flags));
}

const struct st_rows_report st_frames_report = {
	.name = "frames",
	.set = ST_ROWS_FRAMES,
	.defaults = {ST_BY_FRAME_DOMAIN},
	.default_count = 1,
	.metrics = distribution,
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Frame Count",
		   [ST_WALL_TOTAL] = "Frame Time",
		   [ST_WALL_AVG] = "Average Frame Time"},
	.group_columns = frame_group_columns,
	.group_column_count = 1,
	.group_cells = frame_groups,
	.instance_columns = frame_columns,
	.instance_column_count = sizeof(frame_columns) / sizeof(frame_columns[0]),
	.instance_cells = frame_instance,
	.empty = "This result holds no frames; programs make them with __itt_frame_begin_v3 and "
		 "__itt_frame_end_v3.",
};

static const struct st_column region_columns[] = {
	{"start_ns", "Start Time", "ns", false},
	{"domain", "Domain", "", true},
	{"id", "Id", "", true},
	{"parent_id", "Parent Id", "", true},
	{"process", "Process", "", true},
	{"thread", "Thread", "", true},
	{"end_thread", "Ended By", "", true},
	{"flags", "Flags", "", true},
};

static void region_instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	const struct st_span *span = span_of(job, row);

	cells[0] = st_cell_i64(span->begin_ns);
	cells[1] = st_rows_text(job, span->domain);
	cells[2] = st_rows_id(job, span->id);
	cells[3] = st_rows_id(job, span->parent);
	cells[4] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[5] = st_rows_place(job, ST_BY_THREAD, row);
	cells[6] = end_thread(job, span);
	cells[7] = st_cell_text(st_span_flags(span->flags));
}

const struct st_rows_report st_regions_report = {
	.name = "regions",
	.set = ST_ROWS_REGIONS,
	.defaults = {ST_BY_REGION, ST_BY_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = distribution,
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Region Count",
		   [ST_WALL_TOTAL] = "Region Time",
		   [ST_WALL_AVG] = "Average Region Time"},
	.instance_columns = region_columns,
	.instance_column_count = sizeof(region_columns) / sizeof(region_columns[0]),
	.instance_cells = region_instance,
	.empty = "This result holds no regions; programs make them with __itt_region_begin and "
		 "__itt_region_end.",
};

static const struct st_column overlapped_columns[] = {
	{"start_ns", "Start Time", "ns", false},
	{"task_domain", "Task Domain", "", true},
	{"kind", "Kind", "", true},
	{"id", "Id", "", true},
	{"parent_id", "Parent Id", "", true},
	{"process", "Process", "", true},
	{"thread", "Thread", "", true},
	{"end_thread", "Ended By", "", true},
	{"flags", "Flags", "", true},
};

static void overlapped_instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	const struct st_span *span = span_of(job, row);

	cells[0] = st_cell_i64(span->begin_ns);
	cells[1] = st_rows_text(job, span->domain);
	cells[2] = st_cell_text(span->kind == ST_SPAN_OVERLAPPED ? "overlapped" : "timed");
	cells[3] = st_rows_id(job, span->id);
	cells[4] = st_rows_id(job, span->parent);
	cells[5] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[6] = st_rows_place(job, ST_BY_THREAD, row);
	cells[7] = end_thread(job, span);
	cells[8] = st_cell_text(st_span_flags(span->flags));
}

const struct st_rows_report st_overlapped_report = {
	.name = "overlapped",
	.rows_name = "overlapped tasks",
	.set = ST_ROWS_OVERLAPPED,
	.defaults = {ST_BY_TASK_TYPE, ST_BY_TASK_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = distribution,
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.instance_columns = overlapped_columns,
	.instance_column_count = sizeof(overlapped_columns) / sizeof(overlapped_columns[0]),
	.instance_cells = overlapped_instance,
	.empty = "This result holds no overlapped tasks; programs make them with "
		 "__itt_task_begin_overlapped and __itt_task_end_overlapped.",
};
