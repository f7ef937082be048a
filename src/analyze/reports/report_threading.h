/* SPDX-License-Identifier: Apache-2.0
 *
 * Report "threading" without a grouping: facts in sections, each with the report that has the details. Sections, in order: run, cpu,
 * concurrency, threads, waits, objects, gil, where, longest, openmp. Columns that do not concern a fact stay empty.
 */
#ifndef ST_ANALYZE_REPORTS_REPORT_THREADING_H
#define ST_ANALYZE_REPORTS_REPORT_THREADING_H

enum st_threading_column {
	ST_THREADING_SECTION,
	ST_THREADING_NAME,
	ST_THREADING_PLACE, /* where it is, whose, or of which class */
	ST_THREADING_TIME,
	ST_THREADING_SHARE,
	ST_THREADING_COUNT,
	ST_THREADING_DETAILS, /* words behind "strata report" */
	ST_THREADING_COLUMNS
};

#endif
