/* SPDX-License-Identifier: Apache-2.0
 *
 * What changed between two sides, on one page: the run as a whole, the steps and their parts, operators and functions,
 * each with its difference, the interval of the difference, and whether that is more than chance. Where every run has
 * steps, operators and functions are counted per step and without start-up, so that runs of any length can be compared.
 */
#ifndef ST_ANALYZE_REPORTS_CHANGES_H
#define ST_ANALYZE_REPORTS_CHANGES_H

#include "analyze/engine/welch.h"
#include "analyze/reports/compare.h"

struct st_changes_of {
	struct st_result *const *runs; /* of the first side, then of the second */
	uint32_t counts[ST_SIDES];
	const char *const *paths;
	uint64_t limit; /* operators, and functions; 0: a few */
	const struct st_sample_view *view;
};

/* The figure that says how fast the program is: the time of a step or, without steps, the elapsed time. */
struct st_headline {
	const char *what;
	double first_ns;
	struct st_difference difference;
	size_t counts[ST_SIDES]; /* of what it is a mean of */
	bool is_of_runs;	 /* of runs, rather than of the steps of one */
};

enum st_status st_changes_build(const struct st_changes_of *of, struct st_report *out,
				struct st_headline *headline, struct st_error *err);

#endif
