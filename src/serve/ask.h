/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that ask as the command line does: a report, a comparison, SQL or an export, by the very words that
 * follow the command there.
 */
#ifndef ST_SERVE_ASK_H
#define ST_SERVE_ASK_H

#include "base/error.h"

struct st_verb_call;

/* {"command": "report" | "query" | "compare", "words": [...], "page": {...}?} */
enum st_status st_verb_ask(struct st_verb_call *call, struct st_error *err);
/* {"words": [FORMAT, ...]}; the answer is a file. */
enum st_status st_verb_export(struct st_verb_call *call, struct st_error *err);

#endif
