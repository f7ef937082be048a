/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of other profilers, opened like results: each is imported once, by strata import, into a folder of the cache.
 */
#ifndef ST_SERVE_HTTP_IMPORTS_H
#define ST_SERVE_HTTP_IMPORTS_H

#include <stdbool.h>

#include "base/error.h"

struct st_entry;
struct st_imports;
struct st_job;
struct st_server;
struct st_subject;
struct st_web_reply;

enum { ST_IMPORTS_AT_ONCE = 2, ST_IMPORTS_WAITING = 32 };

/* What a job says while it waits for its turn to import, and then. */
void st_import_say(struct st_job *job, bool waits);
/* The answer to one more when too many wait. */
void st_import_refuse(struct st_web_reply *reply);

enum st_status st_imports_create(struct st_imports **out, struct st_server *server,
				 struct st_error *err);
void st_imports_destroy(struct st_imports *imports);
/* A job that imports the trace first, if it has to. subject has the lane only; json is copied. NULL: too many jobs. */
struct st_job *st_imports_ask(struct st_imports *imports, const struct st_entry *entry,
			      const struct st_subject *subject, const char *verb, const char *json);

#endif
