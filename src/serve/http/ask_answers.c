/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about results: they become jobs of workers.
 */
#include "serve/http/answers.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/beneath.h"
#include "serve/http/imports.h"
#include "serve/http/server.h"

enum { WAIT_MAX_MS = 30000 };

/* The generation now: what was listed may be old. */
static bool fill_subject(struct st_server *server, const struct st_entry *entry,
			 struct st_subject *subject)
{
	uint64_t ignored;
	int fd = st_beneath_open(server->catalog.root_fd, entry->path, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return false;
	st_entry_generation(fd, subject->generation, &ignored);
	close(fd);
	subject->folder_fd = server->catalog.root_fd;
	subject->paths[0] = entry->path;
	subject->counts[0] = 1;
	subject->is_live = strcmp(entry->state, "running") == 0;
	return true;
}

static void no_result(struct st_exchange *exchange)
{
	st_exchange_fail(exchange, 404, "result", "There is no such result.",
			 "It may have been renamed, moved or removed.");
}

void st_post_verb(struct st_exchange *exchange, const struct st_route_parts *parts,
		  const json_object *body)
{
	struct st_server *server = exchange->server;
	const struct st_serve_verb *verb = server->config.find_verb(parts->texts[1]);
	const struct st_entry *entry = st_catalog_find(&server->catalog, parts->texts[0]);
	const char *text = (const char *)exchange->request.body.data;
	struct st_subject subject = {0};
	struct st_job *job;

	(void)body;
	if (!verb) {
		st_exchange_fail(exchange, 404, "verb", "There is no such verb.", NULL);
		return;
	}
	if (!entry || entry->is_project) {
		no_result(exchange);
		return;
	}
	subject.lane = verb->lane;
	if (entry->is_trace) {
		job = st_imports_ask(server->imports, entry, &subject, verb->name, text);
	} else if (fill_subject(server, entry, &subject)) {
		job = st_pool_ask(server->pool, &subject, verb->name, text);
	} else {
		no_result(exchange);
		return;
	}
	st_exchange_follow(exchange, job, st_quick_ms(), true);
}

/* Both sides; the list of results may be read anew between them, so that their paths are copied. */
struct sides {
	struct st_subject subject;
	char paths[ST_SUBJECTS_MAX][ST_ENTRY_PATH];
};

/* The ids of one side. False: it has none, or names one that does not exist; that was said. */
static bool add_side(struct st_exchange *exchange, const json_object *body, const char *key,
		     unsigned int side, struct sides *sides)
{
	struct st_server *server = exchange->server;
	struct st_subject *subject = &sides->subject;
	json_object *list;
	size_t count;

	if (!json_object_object_get_ex(body, key, &list) ||
	    !json_object_is_type(list, json_type_array) || !json_object_array_length(list) ||
	    json_object_array_length(list) > ST_SUBJECTS_MAX / 2) {
		st_exchange_fail(exchange, 400, "usage",
				 "'a' and 'b' are lists of one to 32 ids of results.", NULL);
		return false;
	}
	count = json_object_array_length(list);
	for (size_t i = 0; i < count; i++) {
		json_object *item = json_object_array_get_idx(list, i);
		const struct st_entry *entry = NULL;
		struct st_subject one = {0};

		if (json_object_is_type(item, json_type_string))
			entry = st_catalog_find(&server->catalog, json_object_get_string(item));
		if (entry && entry->is_trace) {
			st_exchange_fail(exchange, 409, "trace",
					 "Only results can be compared, and this is a trace.",
					 "Make it a result with strata import.");
			return false;
		}
		if (!entry || entry->is_project || !fill_subject(server, entry, &one)) {
			no_result(exchange);
			return false;
		}
		uint32_t at = subject->counts[0] + subject->counts[1];

		memcpy(sides->paths[at], entry->path, sizeof(entry->path));
		subject->paths[at] = sides->paths[at];
		subject->counts[side]++;
		/* Of all of them: when one changes, all are opened anew. */
		snprintf(subject->generation, sizeof(subject->generation), "%016llx",
			 strtoull(subject->generation, NULL, 16) * 31 +
				 strtoull(one.generation, NULL, 16));
	}
	return true;
}

void st_post_compare(struct st_exchange *exchange, const struct st_route_parts *parts,
		     const json_object *body)
{
	struct st_server *server = exchange->server;
	/* A verb such as flame, or a command of the command line, which is for ask. */
	const struct st_serve_verb *named =
		server->config.find_verb(st_body_text(body, "command", "ask"));
	const struct st_serve_verb *verb = named ? named : server->config.find_verb("ask");
	struct sides *sides = calloc(1, sizeof(*sides));

	(void)parts;
	if (!sides) {
		st_exchange_fail(exchange, 507, "memory", "out of memory", NULL);
	} else if (!verb || !verb->compares) {
		st_exchange_fail(exchange, 404, "verb", "There is no such verb for two results.",
				 NULL);
	} else if (add_side(exchange, body, "a", 0, sides) &&
		   add_side(exchange, body, "b", 1, sides)) {
		sides->subject.folder_fd = server->catalog.root_fd;
		sides->subject.lane = verb->lane;
		st_exchange_follow(exchange,
				   st_pool_ask(server->pool, &sides->subject, verb->name,
					       (const char *)exchange->request.body.data),
				   st_quick_ms(), true);
	}
	free(sides);
}

static struct st_job *find_job(struct st_exchange *exchange, const char *id)
{
	struct st_job *job = st_pool_find(exchange->server->pool, id);

	if (!job)
		st_exchange_fail(exchange, 404, "job", "There is no such job.",
				 "It was fetched already, cancelled, or forgotten.");
	return job;
}

void st_get_job(struct st_exchange *exchange, const struct st_route_parts *parts,
		const json_object *body)
{
	struct st_job *job = find_job(exchange, parts->texts[0]);
	long wait_ms = strtol(exchange->request.wait_ms, NULL, 10);

	(void)body;
	if (wait_ms > WAIT_MAX_MS)
		wait_ms = WAIT_MAX_MS;
	if (job)
		st_exchange_follow(exchange, job, wait_ms, false);
}

void st_delete_job(struct st_exchange *exchange, const struct st_route_parts *parts,
		   const json_object *body)
{
	struct st_job *job = st_pool_find(exchange->server->pool, parts->texts[0]);

	(void)body;
	/* Who cancels cannot know whether it has just ended: nothing is left to do then. */
	if (job)
		st_job_cancel(job);
	st_buf_append_text(&exchange->reply.body, "{}\n");
	st_exchange_ready(exchange);
}
