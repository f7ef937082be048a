/* SPDX-License-Identifier: Apache-2.0
 *
 * The build functions of the table of reports in report_kinds.c.
 */
#ifndef ST_ANALYZE_REPORTS_REPORT_KINDS_H
#define ST_ANALYZE_REPORTS_REPORT_KINDS_H

#include "analyze/tables/report.h"

st_report_build_fn st_report_summary_build, st_report_top_down_build, st_report_timeline_build,
	st_report_info_build, st_report_quality_build, st_report_recorded_build,
	st_report_steps_build, st_report_findings_build;
/* Of samples, and about code. */
st_report_build_fn st_report_samples_build, st_report_threading_build, st_report_utilization_build,
	st_report_gprof_build, st_report_source_build, st_report_disassembly_build;
/* Of operators and of what Python called. */
st_report_build_fn st_report_operators_build, st_report_torch_averages_build,
	st_report_torch_events_build, st_report_memory_build, st_report_memory_timeline_build,
	st_report_python_calls_build;
/* Of slices or a set of rows: kind->rows. */
st_report_build_fn st_report_rows_build;

/* pstats' words for what python-calls can be sorted by. */
bool st_python_calls_metric(struct st_text text, enum st_metric *out);

/* The groupings of a question that names none, and the one that always comes last. ST_EUSAGE: too many. */
enum st_status st_report_default(const struct st_report_kind *kind, struct st_question *question,
				 struct st_error *err);

#endif
