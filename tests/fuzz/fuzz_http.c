// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target on what the server reads of a request itself: the input is lines (method, path, host, origin, fetch site,
// content type, cookie, authorization) and then the body. Whatever it is, it is refused, or becomes a route with plain
// parts and one JSON object.
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http/catalog.h"
#include "serve/http/collections.h"
#include "serve/http/guard.h"
#include "serve/http/reply.h"
#include "serve/http/route.h"
#include "serve/http/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

enum { FIELDS = 8 };

/* Each in memory of its own: a read past its end is seen. */
static char *take_line(const uint8_t **data, size_t *size_bytes)
{
	const uint8_t *end = *size_bytes ? memchr(*data, '\n', *size_bytes) : NULL;
	size_t length = end ? (size_t)(end - *data) : *size_bytes;
	char *line = calloc(length + 1, 1);

	if (!line)
		abort();
	if (length)
		memcpy(line, *data, length);
	*data += length + (end != NULL);
	*size_bytes -= length + (end != NULL);
	return line;
}

static void check_route(const struct st_web_request *request)
{
	struct st_route_parts parts;
	bool known;

	if (!st_route_find(st_routes, request->method, request->path, &parts, &known))
		return;
	for (size_t i = 0; i < ST_ROUTE_PARTS; i++)
		if (strpbrk(parts.texts[i], "/.%\\ \n"))
			abort(); /* an id that could be a path */
}

static void check_body(const char *text, size_t size_bytes)
{
	json_object *body = st_body_parse(text, size_bytes);
	struct st_argv argv = {0}, environment = {0};
	struct st_error err = {0};

	if (!body)
		return;
	if (!json_object_is_type(body, json_type_object))
		abort();
	if (st_collect_words(&argv, body, "/data/r000hs", &err) && !err.text[0])
		abort(); /* refused without a word */
	st_collect_environment(&environment, body, false, &err);
	st_host_is_fine(st_body_text(body, "host", ""));
	st_name_is_fine(st_body_text(body, "name", ""));
	st_argv_free(argv.words);
	st_argv_free(environment.words);
	json_object_put(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static struct st_sessions sessions;
	struct st_guard guard = {.is_remote = size_bytes % 2 == 1};
	struct st_error err = {0};
	char *lines[FIELDS];
	char *body;
	size_t body_bytes;

	for (size_t i = 0; i < FIELDS; i++)
		lines[i] = take_line(&data, &size_bytes);
	body_bytes = size_bytes;
	body = calloc(body_bytes + 1, 1);
	if (!body || (!sessions.cookie_name[0] && st_sessions_init(&sessions, -1, 1000, 0, &err)))
		abort();
	if (body_bytes)
		memcpy(body, data, body_bytes);
	const struct st_web_request request = {.method = lines[0],
					       .path = lines[1],
					       .host = lines[2],
					       .origin = lines[3],
					       .fetch_site = lines[4],
					       .content_type = lines[5],
					       .cookie = lines[6],
					       .authorization = lines[7]};

	st_guard_set_base(&guard, lines[3]);
	st_guard_check(&guard, &request);
	if (st_sessions_find(&sessions, request.cookie, request.authorization, 1))
		abort(); /* nobody is logged in */
	check_route(&request);
	check_body(body, body_bytes);
	for (size_t i = 0; i < FIELDS; i++)
		free(lines[i]);
	free(body);
	return 0;
}
