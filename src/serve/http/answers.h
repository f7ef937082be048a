/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions behind the rows of the table of routes.
 */
#ifndef ST_SERVE_HTTP_ANSWERS_H
#define ST_SERVE_HTTP_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "serve/http/route.h"

/* session_answers.c */
st_route_fn st_get_session, st_post_session, st_delete_session;
/* result_answers.c */
st_route_fn st_get_meta, st_get_events, st_get_results, st_get_result, st_patch_result;
st_route_fn st_delete_result, st_post_restore, st_post_project;
/* import_answers.c */
st_route_fn st_post_import, st_post_samples;
/* ask_answers.c */
st_route_fn st_post_verb, st_post_compare, st_get_job, st_delete_job;
/* collection_answers.c */
st_route_fn st_get_capabilities, st_get_collections, st_post_collection, st_get_collection;
st_route_fn st_post_collection_command;

/* Who asks may start programs. */
bool st_may_collect(const struct st_exchange *exchange);
/* After so long an answer comes as a job. */
int64_t st_quick_ms(void);

#endif
