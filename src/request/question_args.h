/* SPDX-License-Identifier: Apache-2.0
 *
 * The options that say which rows are asked for and how they are grouped, the same for reports and exports.
 */
#ifndef ST_REQUEST_QUESTION_ARGS_H
#define ST_REQUEST_QUESTION_ARGS_H

#include "analyze/engine/question.h"

struct st_args;

/* Fills groupings, filters and time range. *filters is owned by the caller, also after a failure; its texts are
 * argv's. Groupings that are not in offered are refused. */
enum st_status st_question_args(const struct st_args *args, struct st_set offered,
				struct st_question *question, struct st_filter **filters,
				struct st_error *err);

#endif
