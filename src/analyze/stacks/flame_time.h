/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks in the order of time, thread by thread: a frame that neighbouring samples have in common is one box. As columns
 * of JSON.
 */
#ifndef ST_ANALYZE_STACKS_FLAME_TIME_H
#define ST_ANALYZE_STACKS_FLAME_TIME_H

#include "analyze/stacks/stacks.h"

struct st_json;

enum { ST_FLAME_TIME_MAX = 50000 }; /* boxes */

/* Members of an object that is open. min_ratio: boxes with less of the time that is shown are left out and counted; more
 * are where there are too many. */
enum st_status st_flame_time_json(struct st_stacks *stacks, double min_ratio, struct st_json *json,
				  struct st_error *err);

#endif
