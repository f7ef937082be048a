/* SPDX-License-Identifier: Apache-2.0
 *
 * Verbs of flame graphs and of the distribution of durations.
 */
#ifndef ST_SERVE_FLAME_VERBS_H
#define ST_SERVE_FLAME_VERBS_H

#include "base/error.h"

struct st_verb_call;

/* Of one result, or of the two sides of a comparison laid over each other. */
enum st_status st_verb_flame(struct st_verb_call *call, struct st_error *err);
enum st_status st_verb_histogram(struct st_verb_call *call, struct st_error *err);

#endif
