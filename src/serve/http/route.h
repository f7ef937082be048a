/* SPDX-License-Identifier: Apache-2.0
 *
 * From a method and a path to the function that answers: the table of the interface, /api/v1.
 */
#ifndef ST_SERVE_HTTP_ROUTE_H
#define ST_SERVE_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

struct json_object;
struct st_exchange;

enum { ST_ROUTE_PARTS = 2, ST_ROUTE_PART_MAX = 40 };

struct st_route_parts {
	char texts[ST_ROUTE_PARTS][ST_ROUTE_PART_MAX]; /* what stood where the pattern has a '*' */
};

typedef void st_route_fn(struct st_exchange *exchange, const struct st_route_parts *parts,
			 const struct json_object *body);

enum { ST_ROUTE_OPEN = 1, ST_ROUTE_HAS_BODY = 2, ST_ROUTE_COLLECTS = 4 };

struct st_route {
	const char *method, *pattern;
	unsigned int
		flags; /* OPEN: without being logged in; COLLECTS: only who may start programs */
	st_route_fn *answer;
};
extern const struct st_route st_routes[]; /* ends with a NULL method */

/* NULL: there is none; *known says whether the path exists with another method. */
const struct st_route *st_route_find(const struct st_route *routes, const char *method,
				     const char *path, struct st_route_parts *parts, bool *known);
/* One JSON object of at most 32 levels, strictly; NULL: it is not. The caller's to put back. */
struct json_object *st_body_parse(const char *text, size_t size_bytes);
/* A member that is a text without NUL, else otherwise. */
const char *st_body_text(const struct json_object *body, const char *key, const char *otherwise);

#endif
