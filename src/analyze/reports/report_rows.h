/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports over slices and over the sets of dataset_rows.h: groups with the engine's figures and some of their own, or one
 * row each with the columns of its table (analyze/tables/table.h). A report is a struct st_rows_report: data,
 * and functions that add up what the engine does not know.
 */
#ifndef ST_ANALYZE_REPORTS_REPORT_ROWS_H
#define ST_ANALYZE_REPORTS_REPORT_ROWS_H

#include "analyze/datasets/dataset_rows.h"
#include "analyze/tables/report_make.h"

/* A report that is being made. */
struct st_rows_job {
	const struct st_result *result;
	const struct st_dataset *dataset;
	struct st_report *report;
	const struct st_answer *answer; /* its rows have the numbers of the report's rows */
	struct st_arena *arena;		/* of the report */
};

struct st_rows_report {
	const char *rows_name; /* what its rows are called, where that is not the name */
	bool of_slices;	       /* rather than of a set of rows */
	enum st_row_set set;
	enum st_grouping defaults[3];
	unsigned int default_count;
	/* By default the second grouping is a column of the first: a name nearly always has one domain. */
	bool joins_second;
	const uint8_t *metrics, /* lists of enum st_metric, in the order in which they are shown */
		*instance_metrics;
	enum st_metric sorted_by; /* groups, unless asked otherwise; 0: by their time */
	const char *titles[ST_METRICS];
	const char *const
		*keys; /* columns of a single row, up to a NULL; NULL: those with a title */
	const char *instance_time; /* title of the time of a single row, where it is another one */
	/* Columns of groups that the engine does not know. Figures of a group start as zeros; each of its rows is
	 * added once, and then they become cells. */
	const struct st_column *group_columns;
	uint32_t group_column_count;
	size_t figures_bytes;
	void (*add)(struct st_rows_job *job, void *figures, uint32_t row);
	void (*cells)(struct st_rows_job *job, struct st_cell *cells, const void *figures,
		      const struct st_answer_row *row);
	bool has_totals;   /* cells of all rows together mean something; they need no figures */
	const char *empty; /* what to say when the result has no such thing */
};
extern const struct st_rows_report st_tasks_report, st_frames_report, st_regions_report,
	st_overlapped_report, st_markers_report, st_metadata_report, st_relations_report,
	st_sync_report, st_waits_report, st_thread_time_report, st_sync_objects_report,
	st_critical_path_report, st_counters_report, st_histograms_report, st_heap_report,
	st_kernels_report, st_gaps_report, st_openmp_report;

struct st_cell st_rows_text(struct st_rows_job *job, st_string_id text);

#endif
