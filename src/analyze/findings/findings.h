/* SPDX-License-Identifier: Apache-2.0
 *
 * Suggested changes to a program, by rules: each has a threshold, evidence with the command that shows it, a remedy
 * and how much that saves. Values are per step if the program has steps (without warm-up), otherwise for the whole
 * run. A saving is an estimate of the effect of the remedy on typical programs.
 */
#ifndef ST_ANALYZE_FINDINGS_FINDINGS_H
#define ST_ANALYZE_FINDINGS_FINDINGS_H

#include "analyze/tables/report.h"

struct st_arena;

struct st_finding {
	const char *rule;  /* "double-precision" */
	const char *what;  /* a sentence with figures */
	const char *where; /* operator, range or function that shows it */
	const char *threshold;
	const char *remedy;
	const char *command; /* shows the evidence; the result is left out */
	uint64_t evidence_ns;
	/* Equal: an estimate; else between these. */
	uint64_t saving_low_ns, saving_high_ns;
	bool depends_on_cpus; /* on how many of them others leave: it may not hold on a free machine */
};

enum { ST_FINDINGS_MAX = 24 };
struct st_findings {
	struct st_finding items[ST_FINDINGS_MAX]; /* the largest saving first */
	uint32_t count;
	uint32_t step_count; /* 0: there are no steps, figures are of the run */
	bool is_guess;	     /* what a step is */
	uint64_t step_ns;    /* a step, or the run, on average */
};

/* Columns of report "findings". */
enum st_finding_column {
	ST_FINDING_RULE,
	ST_FINDING_WHAT,
	ST_FINDING_WHERE,
	ST_FINDING_SAVING,
	ST_FINDING_SAVING_LOW,
	ST_FINDING_EVIDENCE,
	ST_FINDING_REMEDY,
	ST_FINDING_COMMAND,
	ST_FINDING_THRESHOLD,
	ST_FINDING_COLUMNS
};

/* Texts are in the arena, or constant. */
enum st_status st_findings_make(struct st_findings *out, const struct st_result *result,
				const struct st_report_options *options, struct st_arena *arena,
				struct st_error *err);

#endif
