// SPDX-License-Identifier: Apache-2.0
//
// Reports "frames", "regions", "overlapped" and "sync": things with a begin and an end that do not nest.
#include "analyze/reports/report_rows.h"

static const uint8_t distribution[] = {ST_COUNT,       ST_WALL_TOTAL, ST_WALL_MIN, ST_WALL_AVG,
				       ST_WALL_MEDIAN, ST_WALL_P95,   ST_WALL_P99, ST_WALL_MAX,
				       ST_WALL_STDDEV, ST_LIST_END};

static const struct st_column frame_group_columns[] = {
	{"frame_rate_hz", "Frame Rate (1/s)", "", false},
};

static void frame_cells(struct st_rows_job *job, struct st_cell *cells, const void *figures,
			const struct st_answer_row *row)
{
	uint64_t wall_ns = st_answer_value(row, ST_WALL_TOTAL);

	(void)job;
	(void)figures;
	if (wall_ns)
		cells[0] = st_cell_double((double)st_answer_value(row, ST_COUNT) * 1e9 /
					  (double)wall_ns);
}

const struct st_rows_report st_frames_report = {
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
	.cells = frame_cells,
	.has_totals = true,
	.empty = "This result has no frames; programs record them with __itt_frame_begin_v3 and "
		 "__itt_frame_end_v3.",
};

const struct st_rows_report st_regions_report = {
	.set = ST_ROWS_REGIONS,
	.defaults = {ST_BY_REGION, ST_BY_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = distribution,
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Region Count",
		   [ST_WALL_TOTAL] = "Region Time",
		   [ST_WALL_AVG] = "Average Region Time"},
	.empty = "This result has no regions; programs record them with __itt_region_begin and "
		 "__itt_region_end.",
};

const struct st_rows_report st_overlapped_report = {
	.rows_name = "overlapped tasks",
	.set = ST_ROWS_OVERLAPPED,
	.defaults = {ST_BY_TASK_TYPE, ST_BY_TASK_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = distribution,
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.empty = "This result has no overlapped tasks; programs record them with "
		 "__itt_task_begin_overlapped and __itt_task_end_overlapped.",
};

#define WAITS_METRICS                                                                              \
	ST_LIST(ST_WAIT, ST_WAIT_COUNT, ST_PREEMPTED, ST_WAIT_AVG, ST_WALL_MEDIAN, ST_WALL_P95,    \
		ST_WALL_MAX, ST_CANCELLED, ST_SHORT_WAITS, ST_SHORT_WAIT_TOTAL)
#define WAITS_TITLES                                                                               \
	{                                                                                          \
		[ST_WALL_TOTAL] = "Wait Time", [ST_WALL_MEDIAN] = "Median (Not Short)",            \
		[ST_WALL_P95] = "P95 (Not Short)", [ST_WALL_MAX] = "Longest Wait"                  \
	}
#define NO_WAITS                                                                                   \
	"This result has no waits; record them with -collect threading. Programs and runtimes "    \
	"report their own with __itt_sync_prepare and __itt_sync_acquired."

const struct st_rows_report st_waits_report = {
	.rows_name = "waits",
	.set = ST_ROWS_SYNC,
	.defaults = {ST_BY_SYNC_TYPE, ST_BY_WAIT_CLASS},
	.default_count = 2,
	.joins_second = true,
	.metrics = WAITS_METRICS,
	.sorted_by = ST_WAIT,
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = WAITS_TITLES,
	.instance_time = "Duration",
	.empty = NO_WAITS,
};

const struct st_rows_report st_thread_time_report = {
	.rows_name = "thread time",
	.set = ST_ROWS_THREAD_TIME,
	.defaults = {ST_BY_THREAD, ST_BY_WAIT_CLASS},
	.default_count = 2,
	.metrics = ST_LIST(ST_WALL_TOTAL, ST_WALL_MAX),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_WALL_TOTAL] = "Time", [ST_WALL_MAX] = "Largest Part"},
	.instance_time = "Time",
	.empty = NO_WAITS,
};

const struct st_rows_report st_sync_objects_report = {
	.rows_name = "waits",
	.set = ST_ROWS_SYNC,
	.defaults = {ST_BY_SYNC_OBJECT, ST_BY_SYNC_TYPE},
	.default_count = 2,
	.joins_second = true,
	.metrics = WAITS_METRICS,
	.sorted_by = ST_WAIT,
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = WAITS_TITLES,
	.instance_time = "Duration",
	.empty = NO_WAITS,
};

static const struct st_column openmp_group_columns[] = {
	{"imbalance_ratio", "Imbalance (% of Time)", "", false},
};

static void openmp_cells(struct st_rows_job *job, struct st_cell *cells, const void *figures,
			 const struct st_answer_row *row)
{
	uint64_t wall_ns = st_answer_value(row, ST_WALL_TOTAL);

	(void)job;
	(void)figures;
	if (wall_ns)
		cells[0] = st_cell_double((double)st_answer_value(row, ST_IMBALANCE) /
					  (double)wall_ns);
}

const struct st_rows_report st_openmp_report = {
	.rows_name = "OpenMP regions",
	.set = ST_ROWS_OPENMP,
	.defaults = {ST_BY_REGION},
	.default_count = 1,
	.metrics = ST_LIST(ST_WALL_TOTAL, ST_IMBALANCE, ST_COUNT, ST_REGION_THREADS, ST_REGION_WAIT,
			   ST_WALL_AVG, ST_WALL_MEDIAN, ST_WALL_P95, ST_WALL_MAX),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Instance Count",
		   [ST_WALL_TOTAL] = "Elapsed Time",
		   [ST_WALL_AVG] = "Average Time",
		   [ST_WALL_MAX] = "Longest",
		   [ST_REGION_THREADS] = "Threads"},
	.instance_time = "Elapsed Time",
	.group_columns = openmp_group_columns,
	.group_column_count = 1,
	.cells = openmp_cells,
	.has_totals = true,
	.empty = "This result has no OpenMP regions; -collect threading records those of libgomp, "
		 "libomp and libiomp5.",
};

/* As many pieces as there are samples and waits on the way: their number means nothing. */
const struct st_rows_report st_critical_path_report = {
	.rows_name = "pieces of a path",
	.set = ST_ROWS_PATH,
	.defaults = {ST_BY_THREAD, ST_BY_WAIT_CLASS, ST_BY_PYTHON_LINE},
	.default_count = 3,
	.metrics = ST_LIST(ST_WALL_TOTAL, ST_WALL_MAX),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_WALL_TOTAL] = "Time", [ST_WALL_MAX] = "Longest Piece"},
	.instance_time = "Duration",
	.empty = "This result has no waits; record them with -collect threading.",
};

const struct st_rows_report st_sync_report = {
	.rows_name = "waits",
	.set = ST_ROWS_SYNC,
	.defaults = {ST_BY_SYNC_OBJECT, ST_BY_SYNC_TYPE},
	.default_count = 2,
	.joins_second = true,
	.metrics = ST_LIST(ST_COUNT, ST_WALL_TOTAL, ST_WALL_AVG, ST_WALL_MAX, ST_CANCELLED,
			   ST_ACQUISITIONS, ST_RELEASES, ST_HOLD_TOTAL, ST_HOLD_AVG),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Wait Count",
		   [ST_WALL_TOTAL] = "Wait Time",
		   [ST_WALL_AVG] = "Average Wait Time",
		   [ST_WALL_MAX] = "Longest Wait"},
	.instance_time = "Duration", /* of waits and of holds */
	.empty = "This result has no waits; programs and runtimes report them with "
		 "__itt_sync_prepare, __itt_sync_acquired and __itt_sync_releasing.",
};
