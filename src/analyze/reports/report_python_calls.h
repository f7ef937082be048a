/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of Python functions, as pstats shows them.
 */
#ifndef ST_ANALYZE_REPORTS_REPORT_PYTHON_CALLS_H
#define ST_ANALYZE_REPORTS_REPORT_PYTHON_CALLS_H

#include "analyze/tables/report.h"
#include "store/result.h"

struct st_arena;

enum st_status st_report_python_calls_build(const struct st_result *result,
					    const struct st_report_options *options,
					    struct st_report *out, struct st_error *err);
/* All calls that were counted. */
uint64_t st_python_calls_count(const struct st_result *result);
/* What the report can be sorted by, and pstats' words for it. */
struct st_set st_python_calls_metrics(void);
bool st_python_calls_metric(struct st_text text, enum st_metric *out);

/* "file.py:12(f)", "{built-in method builtins.len}". */
struct st_text st_python_function_label(const struct st_result *result, st_string_id file,
					uint32_t line, st_string_id name, struct st_arena *arena);

#endif
