/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of Python functions, as pstats shows them.
 */
#ifndef ST_ANALYZE_REPORTS_REPORT_PYTHON_CALLS_H
#define ST_ANALYZE_REPORTS_REPORT_PYTHON_CALLS_H

#include "analyze/tables/report.h"
#include "store/result.h"

struct st_arena;

/* All calls that were counted. */
uint64_t st_python_calls_count(const struct st_result *result);
/* "file.py:12(f)", "{built-in method builtins.len}". */
struct st_text st_python_function_label(const struct st_result *result, st_string_id file,
					uint32_t line, st_string_id name, struct st_arena *arena);

#endif
