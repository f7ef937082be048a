/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the reports torch-averages and torch-events.
 */
#ifndef ST_ANALYZE_TORCH_REPORT_TORCH_H
#define ST_ANALYZE_TORCH_REPORT_TORCH_H

#include "analyze/tables/report.h"
#include "analyze/torch/torch_events.h"

/* Adds the rows, in torch's order: by begin, what lasts longer first. False: no memory. */
bool st_torch_add_averages(struct st_report *report, struct st_torch_events *events);
bool st_torch_add_events(struct st_report *report, struct st_torch_events *events);

/* Orders, measures and cuts the rows as table() was told. ST_EUSAGE: no such attribute. */
enum st_status st_torch_lay_out(struct st_report *report, const struct st_report_options *options,
				struct st_error *err);

#endif
