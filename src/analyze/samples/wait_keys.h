/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits by what only their stacks and their tasks tell: function, Python line, operator, step.
 */
#ifndef ST_ANALYZE_SAMPLES_WAIT_KEYS_H
#define ST_ANALYZE_SAMPLES_WAIT_KEYS_H

#include "analyze/samples/sample_set.h"

/* Groupings that waits have besides those of dataset_rows.h: where they were recorded, and where there are none at all, so
 * that a filter by function finds none instead of being wrong. None where only the program told of its waits, without
 * stacks. result NULL: in any. */
struct st_set st_wait_keys(const struct st_result *result);
/* Lets the waits of the set answer them, as long as the set is open. */
void st_wait_keys_offer(struct st_sample_set *set);

#endif
