/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a trace in JSON, one event after the other: it may be gigabytes, of which only one event is looked at at a
 * time. Finds where members and events begin and end; what they hold is for others to parse.
 */
#ifndef ST_COLLECT_IMPORT_KINETO_TEXT_H
#define ST_COLLECT_IMPORT_KINETO_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "format/definitions.h"

struct st_kineto_part {
	struct st_text key; /* of a member of the document, as it is written; of an event none */
	struct st_text value;
	size_t offset; /* in the text */
	bool is_event;
};

/* What it returns, if not ST_OK, ends the walk. */
typedef enum st_status (*st_kineto_visit)(void *arg, const struct st_kineto_part *part,
					  struct st_error *err);

/* Whether a text may be such a trace: an object or a list. */
bool st_kineto_is_text(const char *bytes, size_t size_bytes);
/* *torn: the text ended inside of its list of events; those before were visited. ST_ECORRUPT with an offset when it is
 * no JSON, ST_EUNSUPPORTED when it has no list of events. */
enum st_status st_kineto_walk(struct st_text text, st_kineto_visit visit, void *arg, bool *torn,
			      struct st_error *err);

#endif
