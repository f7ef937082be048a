/* SPDX-License-Identifier: Apache-2.0
 *
 * How the durations of tasks and operators are distributed.
 */
#ifndef ST_ANALYZE_TIMELINE_HISTOGRAM_H
#define ST_ANALYZE_TIMELINE_HISTOGRAM_H

#include <stdint.h>

#include "base/error.h"

struct st_json;
struct st_question;
struct st_result;

enum { ST_HISTOGRAM_BINS_USUAL = 40, ST_HISTOGRAM_BINS_MAX = 1000 };

/* Of the slices that pass the filters of a question and begin in its time range: counts in bins of equal ratio from the
 * shortest to the longest, and the middle ones. Members of an object that is open. */
enum st_status st_histogram_json(const struct st_result *result, const struct st_question *question,
				 uint32_t bin_count, struct st_json *json, struct st_error *err);

#endif
