/* SPDX-License-Identifier: Apache-2.0
 *
 * What reports over samples share.
 */
#ifndef ST_ANALYZE_REPORTS_REPORT_SAMPLES_H
#define ST_ANALYZE_REPORTS_REPORT_SAMPLES_H

#include "analyze/tables/report_make.h"
#include "analyze/samples/sample_set.h"

/* The metrics that have anything in a result. */
struct st_set st_sample_metrics(const struct st_result *result);
/* Files that names were not found in, and the like: to be said with the report. */
void st_report_add_notes(struct st_report *report, const struct st_sample_set *set);
/* Times as shares of the whole, or what was counted as samples: keys and units follow. Of a report on a part of the
 * result (a file, a function) the whole is all CPU time that was looked at, so that no share is above 1; 0: the total
 * of the report. */
void st_report_show_as(struct st_report *report, enum st_show_as show_as, uint64_t whole);

#endif
