/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker: the process that holds a result open and answers the server's requests about it, one at a time. What a
 * damaged or hostile result does to it costs that one process.
 */
#ifndef ST_SERVE_WORKER_H
#define ST_SERVE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct st_verb_call;

enum { ST_WORKER_SOCKET = 3 }; /* its descriptor for the server */

/* strata -serve-worker COUNT [-source DIR]... -- PATH..., in the folder that the paths are relative to. COUNT of the
 * paths are the first side of a comparison, the others the second. No command for people. */
bool st_worker_is_asked(int argc, char **argv);
int st_worker_run(int argc, char **argv);

/* Answers one request: the verb of that name with the JSON text as its object. For the worker and for tests. */
enum st_status st_worker_answer(struct st_verb_call *call, const char *verb, const char *json,
				struct st_error *err);

#endif
