/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of the table of verbs, the members of a request, and what verbs keep between requests.
 */
#include "serve/verbs.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "serve/ask.h"
#include "serve/flame_verbs.h"
#include "serve/log_verb.h"
#include "serve/timeline_verbs.h"

const struct st_serve_verb st_serve_verbs[] = {
	{"ask", ST_LANE_TABLES, true, st_verb_ask},
	{"export", ST_LANE_TABLES, false, st_verb_export},
	{"tracks", ST_LANE_QUICK, false, st_verb_tracks},
	{"labels", ST_LANE_QUICK, false, st_verb_labels},
	{"tiles", ST_LANE_QUICK, false, st_verb_tiles},
	{"event", ST_LANE_QUICK, false, st_verb_event},
	{"search", ST_LANE_QUICK, false, st_verb_search},
	{"next", ST_LANE_QUICK, false, st_verb_next},
	{"flame", ST_LANE_TABLES, true, st_verb_flame},
	{"log", ST_LANE_QUICK, false, st_verb_log},
	{"histogram", ST_LANE_TABLES, false, st_verb_histogram},
	{NULL, ST_LANE_TABLES, false, NULL},
};

const struct st_serve_verb *st_serve_verb_find(const char *name)
{
	for (const struct st_serve_verb *verb = st_serve_verbs; verb->name; verb++)
		if (strcmp(verb->name, name) == 0)
			return verb;
	return NULL;
}

/* NULL: it is not there, which is an error only where it must. An explicit null counts as absent. */
static enum st_status member(const struct st_verb_call *call, const char *key, bool must,
			     json_object **out, struct st_error *err)
{
	*out = NULL;
	if (!json_object_object_get_ex(call->ask, key, out))
		*out = NULL;
	if (!*out && must)
		return st_error_set(err, ST_EUSAGE, 0, "the request has no member '%s'", key);
	return ST_OK;
}

static enum st_status wrong(const char *key, const char *expected, struct st_error *err)
{
	return st_error_set(err, ST_EUSAGE, 0, "'%s': expected %s", key, expected);
}

/* A text with a NUL inside would mean something else to us than to who wrote it. */
static bool is_plain_text(json_object *value)
{
	return json_object_is_type(value, json_type_string) &&
	       strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

enum st_status st_ask_text(const struct st_verb_call *call, const char *key, bool must,
			   const char **out, struct st_error *err)
{
	json_object *value;
	enum st_status status = member(call, key, must, &value, err);

	if (status || !value)
		return status;
	if (!is_plain_text(value))
		return wrong(key, "a text", err);
	*out = json_object_get_string(value);
	return ST_OK;
}

enum st_status st_ask_i64(const struct st_verb_call *call, const char *key, bool must, int64_t *out,
			  struct st_error *err)
{
	json_object *value;
	enum st_status status = member(call, key, must, &value, err);

	if (status || !value)
		return status;
	if (!json_object_is_type(value, json_type_int))
		return wrong(key, "a whole number", err);
	*out = json_object_get_int64(value);
	return ST_OK;
}

enum st_status st_ask_truth(const struct st_verb_call *call, const char *key, bool *out,
			    struct st_error *err)
{
	json_object *value;
	enum st_status status = member(call, key, false, &value, err);

	if (status || !value)
		return status;
	if (!json_object_is_type(value, json_type_boolean))
		return wrong(key, "true or false", err);
	*out = json_object_get_boolean(value);
	return ST_OK;
}

enum st_status st_ask_texts(const struct st_verb_call *call, const char *key, const char ***out,
			    size_t *count, struct st_error *err)
{
	json_object *list;
	enum st_status status = member(call, key, false, &list, err);
	size_t size;

	*out = NULL;
	*count = 0;
	if (status)
		return status;
	if (list && !json_object_is_type(list, json_type_array))
		return wrong(key, "a list of texts", err);
	size = list ? json_object_array_length(list) : 0;
	*out = calloc(size + 1, sizeof(**out));
	if (!*out)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	for (; *count < size; (*count)++) {
		json_object *item = json_object_array_get_idx(list, *count);

		if (!is_plain_text(item))
			return wrong(key, "a list of texts", err);
		(*out)[*count] = json_object_get_string(item);
	}
	return ST_OK;
}

enum st_status st_ask_numbers(const struct st_verb_call *call, const char *key, size_t max,
			      uint32_t **out, size_t *count, struct st_error *err)
{
	json_object *list;
	enum st_status status = member(call, key, false, &list, err);
	size_t size;

	*out = NULL;
	*count = 0;
	if (status)
		return status;
	if (list && !json_object_is_type(list, json_type_array))
		return wrong(key, "a list of whole numbers", err);
	size = list ? json_object_array_length(list) : 0;
	if (size > max)
		return st_error_set(err, ST_EUSAGE, 0, "'%s': at most %zu numbers", key, max);
	*out = calloc(size + 1, sizeof(**out));
	if (!*out)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	for (; *count < size; (*count)++) {
		json_object *item = json_object_array_get_idx(list, *count);
		int64_t value =
			json_object_is_type(item, json_type_int) ? json_object_get_int64(item) : -1;

		if (value < 0 || value > UINT32_MAX)
			return wrong(key, "a list of whole numbers from 0 on", err);
		(*out)[*count] = (uint32_t)value;
	}
	return ST_OK;
}

enum { KEPT_MAX = 16 };

struct st_serve_kept {
	struct {
		const char *name;
		void *thing;
		st_serve_end_fn end;
	} places[KEPT_MAX];
	size_t count;
};

struct st_serve_kept *st_serve_kept_create(void)
{
	return calloc(1, sizeof(struct st_serve_kept));
}

void *st_serve_kept_get(struct st_serve_kept *kept, const char *name)
{
	for (size_t i = 0; i < kept->count; i++)
		if (strcmp(kept->places[i].name, name) == 0)
			return kept->places[i].thing;
	return NULL;
}

bool st_serve_kept_put(struct st_serve_kept *kept, const char *name, void *thing,
		       st_serve_end_fn end)
{
	if (kept->count == KEPT_MAX)
		return false;
	kept->places[kept->count].name = name;
	kept->places[kept->count].thing = thing;
	kept->places[kept->count++].end = end;
	return true;
}

void st_serve_kept_destroy(struct st_serve_kept *kept)
{
	if (!kept)
		return;
	for (size_t i = 0; i < kept->count; i++)
		kept->places[i].end(kept->places[i].thing);
	free(kept);
}
