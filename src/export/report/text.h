/* SPDX-License-Identifier: Apache-2.0
 *
 * The text writers of single reports; report_text.c chooses among them.
 */
#ifndef ST_EXPORT_REPORT_TEXT_H
#define ST_EXPORT_REPORT_TEXT_H

#include "analyze/tables/report.h"
#include "export/export.h"

/* What a text writer works with. Full buffers go to the sink as it writes. */
struct st_text_job {
	const struct st_report *report;
	const struct st_result *result;
	const struct st_text_style *style;
	struct st_sink *sink;
	struct st_buf *out;
};

/* Passes on what is in out when it is much. */
enum st_status st_text_spill(struct st_text_job *job, struct st_error *err);

/* A report in its own layout, without the notes about the result. */
enum st_status st_text_body(struct st_text_job *job, struct st_error *err);

enum st_status st_text_table(struct st_text_job *job, struct st_error *err);
enum st_status st_text_tree(struct st_text_job *job, struct st_error *err);
enum st_status st_text_summary(struct st_text_job *job, struct st_error *err);
enum st_status st_text_timeline(struct st_text_job *job, struct st_error *err);
enum st_status st_text_findings(struct st_text_job *job, struct st_error *err);
enum st_status st_text_info(struct st_text_job *job, struct st_error *err);
enum st_status st_text_threading(struct st_text_job *job, struct st_error *err);
enum st_status st_text_torch(struct st_text_job *job, struct st_error *err);

/* Rows in the order in which a reader meets them, parents before children; malloc'd, report->row_count
 * long. NULL when memory is out. */
uint32_t *st_report_preorder(const struct st_report *report);

#endif
