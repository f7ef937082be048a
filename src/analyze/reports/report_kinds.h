/* SPDX-License-Identifier: Apache-2.0
 *
 * The build functions of the table of reports in report.c.
 */
#ifndef ST_ANALYZE_REPORTS_REPORT_KINDS_H
#define ST_ANALYZE_REPORTS_REPORT_KINDS_H

#include "analyze/tables/report.h"

enum st_status st_report_summary_build(const struct st_result *result,
				       const struct st_report_options *options,
				       struct st_report *out, struct st_error *err);
enum st_status st_report_tasks_build(const struct st_result *result,
				     const struct st_report_options *options, struct st_report *out,
				     struct st_error *err);
enum st_status st_report_top_down_build(const struct st_result *result,
					const struct st_report_options *options,
					struct st_report *out, struct st_error *err);
enum st_status st_report_timeline_build(const struct st_result *result,
					const struct st_report_options *options,
					struct st_report *out, struct st_error *err);
enum st_status st_report_info_build(const struct st_result *result,
				    const struct st_report_options *options, struct st_report *out,
				    struct st_error *err);

enum st_status st_report_operators_build(const struct st_result *result,
					 const struct st_report_options *options,
					 struct st_report *out, struct st_error *err);

/* As torch's profiler answers. */
enum st_status st_report_torch_averages_build(const struct st_result *result,
					      const struct st_report_options *options,
					      struct st_report *out, struct st_error *err);
enum st_status st_report_torch_events_build(const struct st_result *result,
					    const struct st_report_options *options,
					    struct st_report *out, struct st_error *err);
enum st_status st_report_steps_build(const struct st_result *result,
				     const struct st_report_options *options, struct st_report *out,
				     struct st_error *err);
enum st_status st_report_findings_build(const struct st_result *result,
					const struct st_report_options *options,
					struct st_report *out, struct st_error *err);

enum st_status st_report_memory_build(const struct st_result *result,
				      const struct st_report_options *options,
				      struct st_report *out, struct st_error *err);
enum st_status st_report_memory_timeline_build(const struct st_result *result,
					       const struct st_report_options *options,
					       struct st_report *out, struct st_error *err);

/* Reports over samples. */
enum st_status st_report_hotspots_build(const struct st_result *result,
					const struct st_report_options *options,
					struct st_report *out, struct st_error *err);
enum st_status st_report_callstacks_build(const struct st_result *result,
					  const struct st_report_options *options,
					  struct st_report *out, struct st_error *err);
enum st_status st_report_utilization_build(const struct st_result *result,
					   const struct st_report_options *options,
					   struct st_report *out, struct st_error *err);
enum st_status st_report_gprof_build(const struct st_result *result,
				     const struct st_report_options *options, struct st_report *out,
				     struct st_error *err);
enum st_status st_report_call_tree_build(const struct st_result *result,
					 const struct st_report_options *options,
					 struct st_report *out, struct st_error *err);

/* Reports about code. */
enum st_status st_report_source_build(const struct st_result *result,
				      const struct st_report_options *options,
				      struct st_report *out, struct st_error *err);
enum st_status st_report_disassembly_build(const struct st_result *result,
					   const struct st_report_options *options,
					   struct st_report *out, struct st_error *err);

struct st_rows_report;
enum st_status st_rows_report_build(const struct st_rows_report *kind,
				    const struct st_result *result,
				    const struct st_report_options *options, struct st_report *out,
				    struct st_error *err);

#endif
