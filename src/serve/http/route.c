/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths and bodies of requests, taken apart. Whatever comes in, only known paths, plain ids and strict JSON get further.
 */
#include "serve/http/route.h"

#include <ctype.h>
#include <json-c/json.h>
#include <string.h>

#include "base/json_check.h"

static const char base[] = "/api/v1";

/* An id or the name of a verb. */
static bool is_plain(const char *text, size_t size)
{
	if (!size || size >= ST_ROUTE_PART_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '-' && text[i] != '_')
			return false;
	return true;
}

/* "/results/x/tiles" fits the pattern "/results/" + "*" + "/" + "*". */
static bool fits(const char *pattern, const char *path, struct st_route_parts *parts)
{
	size_t part = 0;

	memset(parts, 0, sizeof(*parts));
	while (*pattern) {
		size_t size = strcspn(path, "/");

		if (*pattern != '*') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		if (part == ST_ROUTE_PARTS || !is_plain(path, size))
			return false;
		memcpy(parts->texts[part++], path, size);
		path += size;
		pattern++;
	}
	return !*path;
}

const struct st_route *st_route_find(const struct st_route *routes, const char *method,
				     const char *path, struct st_route_parts *parts, bool *known)
{
	*known = false;
	if (strncmp(path, base, strlen(base)) != 0)
		return NULL;
	path += strlen(base);
	for (const struct st_route *route = routes; route->method; route++) {
		if (!fits(route->pattern, path, parts))
			continue;
		*known = true;
		if (strcmp(route->method, method) == 0)
			return route;
	}
	return NULL;
}

json_object *st_body_parse(const char *text, size_t size_bytes)
{
	json_tokener *tokener;
	json_object *object = NULL;

	/* json-c takes things for JSON that others do not: what it is was found out before. */
	if (!st_json_is_value(text, size_bytes))
		return NULL;
	tokener = json_tokener_new_ex(ST_JSON_CHECK_DEPTH + 2);
	if (!tokener)
		return NULL;
	object = json_tokener_parse_ex(tokener, text, (int)size_bytes);
	json_tokener_free(tokener);
	if (json_object_is_type(object, json_type_object))
		return object;
	json_object_put(object);
	return NULL;
}

const char *st_body_text(const json_object *body, const char *key, const char *otherwise)
{
	json_object *value;

	if (!json_object_object_get_ex(body, key, &value) ||
	    !json_object_is_type(value, json_type_string) ||
	    strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value))
		return otherwise;
	return json_object_get_string(value);
}
