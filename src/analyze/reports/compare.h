/* SPDX-License-Identifier: Apache-2.0
 *
 * Two reports of one kind side by side: each value of the first, of the second, and first minus second,
 * so that positive means faster. Rows are matched by name, never by address.
 */
#ifndef ST_ANALYZE_REPORTS_COMPARE_H
#define ST_ANALYZE_REPORTS_COMPARE_H

#include "analyze/tables/report.h"

struct st_comparison {
	const struct st_report *first, *second; /* must live as long as the comparison */
	const struct st_result *result;		/* of the first */
	uint64_t limit;				/* rows of each level; 0: all */
};
enum st_status st_report_compare(const struct st_comparison *of, struct st_report *out,
				 struct st_error *err);

#endif
