/* SPDX-License-Identifier: Apache-2.0
 *
 * The verb log: what strata wrote down while it collected.
 */
#ifndef ST_SERVE_LOG_VERB_H
#define ST_SERVE_LOG_VERB_H

#include "base/error.h"

struct st_verb_call;

enum st_status st_verb_log(struct st_verb_call *call, struct st_error *err);

#endif
