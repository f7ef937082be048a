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

/* What an event and a group of events have of a row. */
void st_torch_row_cells(struct st_cell *cells, const struct st_torch_events *events, uint32_t row);

/* Orders, measures and cuts the rows as table() was told. ST_EUSAGE: no such attribute. */
enum st_status st_torch_lay_out(struct st_report *report, const struct st_report_options *options,
				struct st_error *err);

#endif
