// SPDX-License-Identifier: Apache-2.0
//
// Columns of OpenMP's parallel regions.
#include "analyze/tables/report_make.h"
#include "analyze/tables/row_cells.h"

/* arg: the metric */
static struct st_cell region_cell(const struct st_table_at *at)
{
	const struct st_dataset *regions = st_row_dataset(at);
	const struct st_measure *measure =
		st_dataset_measure(regions, (enum st_metric)at->column->arg);

	return st_cell_u64(st_measure_read(measure, regions, at->row, at->tables->range_ns));
}

static struct st_cell is_parallel_cell(const struct st_table_at *at)
{
	return st_cell_u64(st_openmp_region(st_row_dataset(at), at->row).is_parallel);
}

const struct st_table_column st_openmp_columns[ST_OPENMP_COLUMNS] = {
	ROW_AND_NAME("region", "function and line, or '[Serial - outside parallel regions]'"),
	START("Start Time"),
	{"threads", "threads of the region", ST_INTEGER, .cell = region_cell,
	 .arg = ST_REGION_THREAD_SUM, .title = "Threads"},
	{"imbalance_ns", "wait_ns / threads: what evenly spread work would save", ST_INTEGER,
	 .cell = region_cell, .arg = ST_IMBALANCE, .title = "Imbalance Time", .unit = "ns"},
	{"wait_ns", "how long its threads waited for its end, all together", ST_INTEGER,
	 .cell = region_cell, .arg = ST_REGION_WAIT, .title = "Wait Time", .unit = "ns"},
	KEY("function", "function that has the region", "Function", ST_BY_FUNCTION),
	KEY("source_line", "its file and line", "Source Line", ST_BY_SOURCE_LINE),
	PROCESS,
	KEY("thread", "thread that began it", "Thread", ST_BY_THREAD),
	{"track", "row in threads, or NULL", ST_INTEGER, .cell = st_row_track_cell},
	{"process_id", "row in processes, or NULL", ST_INTEGER, .cell = st_row_process_id_cell},
	{"parallel", "1, or 0 of time outside regions", ST_INTEGER, .cell = is_parallel_cell},
};
