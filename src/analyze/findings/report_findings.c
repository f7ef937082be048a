// SPDX-License-Identifier: Apache-2.0
//
// Report "findings": what is worth changing, the largest saving first.
#include "analyze/findings/finding_rules.h"
#include "analyze/findings/findings.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/tables/report_make.h"

static const struct st_column columns[ST_FINDING_COLUMNS] = {
	[ST_FINDING_RULE] = {"rule", "Rule", "", true},
	[ST_FINDING_WHAT] = {"what", "Finding", "", false},
	[ST_FINDING_WHERE] = {"where", "Where", "", false},
	[ST_FINDING_SAVING] = {"saving_ns", "Saving", "ns", false},
	[ST_FINDING_SAVING_LOW] = {"saving_low_ns", "Saving:At Least", "ns", false},
	[ST_FINDING_EVIDENCE] = {"evidence_ns", "Evidence", "ns", false},
	[ST_FINDING_REMEDY] = {"remedy", "Remedy", "", false},
	[ST_FINDING_COMMAND] = {"command", "Shown By", "", false},
	[ST_FINDING_THRESHOLD] = {"threshold", "Threshold", "", false},
};

static void add_finding(struct st_report *out, const struct st_finding *finding)
{
	struct st_cell *cells = st_report_add(out, 0);

	cells[ST_FINDING_RULE] = st_cell_text(finding->rule);
	cells[ST_FINDING_WHAT] = st_cell_text(finding->what);
	cells[ST_FINDING_WHERE] = st_cell_text(finding->where);
	cells[ST_FINDING_SAVING] = st_cell_u64(finding->saving_high_ns);
	cells[ST_FINDING_SAVING_LOW] = st_cell_u64(finding->saving_low_ns);
	cells[ST_FINDING_EVIDENCE] = st_cell_u64(finding->evidence_ns);
	cells[ST_FINDING_REMEDY] = st_cell_text(finding->remedy);
	cells[ST_FINDING_COMMAND] = st_cell_text(finding->command);
	cells[ST_FINDING_THRESHOLD] = st_cell_text(finding->threshold);
}

enum st_status st_report_findings_build(const struct st_report_kind *kind,
					const struct st_result *result,
					const struct st_report_options *options,
					struct st_report *out, struct st_error *err)
{
	struct st_findings findings;
	uint64_t limit = options->question.limit;
	enum st_status status;

	(void)kind;
	st_report_columns(out, columns, ST_FINDING_COLUMNS);
	status = st_findings_make(&findings, result, options, st_report_arena(out), err);
	if (status)
		return status;
	out->subject = findings.step_count
			       ? st_arena_printf(st_report_arena(out),
						 "per step: %u steps of %s on average%s",
						 findings.step_count,
						 st_finding_duration(st_report_arena(out),
								     (double)findings.step_ns, 4),
						 findings.is_guess ? "; what a step is was guessed "
								     "(strata report steps)"
								   : "")
			       : "for the whole run: no steps were found";
	for (uint32_t i = 0; i < findings.count && (!limit || i < limit); i++)
		add_finding(out, &findings.items[i]);
	return ST_OK;
}
