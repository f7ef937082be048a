/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the text of report "summary".
 */
#ifndef ST_EXPORT_REPORT_TEXT_SUMMARY_H
#define ST_EXPORT_REPORT_TEXT_SUMMARY_H

#include "export/report/text.h"
#include "export/report/text_flow.h"

enum { ST_SUMMARY_MARGIN = 8 };

unsigned int st_summary_width(const struct st_text_job *job);
uint32_t st_summary_count(const struct st_text_job *job, const char *section);
/* The index-th row of a section, or NULL. */
const struct st_cell *st_summary_row(const struct st_text_job *job, const char *section,
				     uint32_t index);
/* The value of a named fact; an empty cell when it is not there. */
const struct st_cell *st_summary_fact(const struct st_text_job *job, const char *section,
				      const char *name);
void st_summary_margin(struct st_text_job *job, const char *word);
/* A line with word in front, ready for running text. */
void st_summary_begin(struct st_text_job *job, struct st_flow *flow, const char *word);
/* A sentence behind a word, on lines of its own. */
void st_summary_sentence(struct st_text_job *job, const char *word, struct st_text text);

/* The first line, the block STEP and the line about the quality of the data. */
void st_summary_add_head(struct st_text_job *job);
void st_summary_add_steps(struct st_text_job *job);
void st_summary_add_quality(struct st_text_job *job);
void st_summary_show_thread_time(struct st_text_job *job, uint32_t rows);
/* How many samples, and a comma when more follows; true: there are some, and nothing follows. */
bool st_summary_add_sample_count(struct st_text_job *job, struct st_buf *piece, bool more);
void st_summary_add_stacks(struct st_text_job *job, struct st_flow *flow);
void st_summary_show_devices(struct st_text_job *job);
void st_summary_add_cpu(struct st_text_job *job);
void st_summary_show_processes(struct st_text_job *job, uint32_t rows);
void st_summary_show_start_up(struct st_text_job *job);
void st_summary_add_lines(struct st_text_job *job, uint32_t rows);
void st_summary_add_hotspots(struct st_text_job *job, uint32_t rows);
/* fixes: so many of them at most. */
void st_summary_add_findings(struct st_text_job *job, uint32_t fixes);

#endif
