// SPDX-License-Identifier: Apache-2.0
//
// The part of the summary about what is worth changing first.
#include "analyze/findings/findings.h"
#include "analyze/summary/report_summary.h"
#include "store/operators.h"

enum { FIXES_SHOWN = 3 };

/* Filters of a summary are about tasks; rules look at whole steps. Without operators there is nothing to look at. */
enum st_status st_summary_add_fixes(struct st_report *report, const struct st_result *result,
				    const struct st_report_options *options, struct st_error *err)
{
	struct st_findings findings;
	enum st_status status;
	uint32_t sources;

	st_result_operator_sources(result, &sources);
	if (!sources || options->question.filter_count)
		return ST_OK;
	status = st_findings_make(&findings, result, options, st_report_arena(report), err);
	if (status)
		return status;
	for (uint32_t i = 0; i < findings.count && i < FIXES_SHOWN; i++) {
		const struct st_finding *finding = &findings.items[i];
		struct st_cell *cells = st_report_fact(report, "fix", finding->rule);

		cells[ST_SUMMARY_VALUE] = st_cell_text(finding->what);
		cells[ST_SUMMARY_COUNT] = st_cell_u64(findings.step_count);
		cells[ST_SUMMARY_TOTAL] = st_cell_u64(finding->saving_high_ns);
		cells[ST_SUMMARY_SELF] = st_cell_u64(finding->saving_low_ns);
	}
	return ST_OK;
}
