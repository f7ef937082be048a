/* SPDX-License-Identifier: Apache-2.0
 *
 * Collections, and what this machine can measure. What strata's own commands know (doctor, command) they are asked.
 */
#include "serve/http/answers.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_check.h"
#include "serve/http/capture.h"
#include "serve/http/collections.h"
#include "serve/http/server.h"

/* Not a job: these take a moment, and whoever asks waits. */
enum { COMMAND_MS = 30000 };

/* A command that runs for a job: what becomes of its output depends on what was asked. */
struct running {
	struct st_server *server;
	char job_id[ST_JOB_ID];
	bool is_command; /* to a collection; else its output is the answer */
	char stops[17];	 /* the collection that it stops; "": none */
	struct st_capture *capture;
};

static void cancelled(void *arg)
{
	struct running *running = arg;

	st_capture_end(running->capture);
	free(running);
}

static void fill_reply(const struct running *running, const struct st_captured *captured,
		       struct st_web_reply *reply)
{
	const char *text = captured->out.data ? (const char *)captured->out.data : "";
	char line[400];

	st_last_line(&captured->err, line, sizeof(line));
	if (running->is_command && captured->is_ok)
		st_buf_append_text(&reply->body, "{}\n");
	else if (running->is_command)
		st_reply_problem(reply, 409, "command", line, NULL);
	else if (captured->out.size_bytes && st_json_is_value(text, captured->out.size_bytes))
		st_buf_append(&reply->body, captured->out.data, captured->out.size_bytes);
	else
		st_reply_problem(reply, 500, "doctor", line, NULL);
}

static void done(void *arg, const struct st_captured *captured)
{
	struct running *running = arg;
	struct st_job *job = st_pool_find(running->server->pool, running->job_id);
	struct st_collection *stopped =
		st_collections_find(running->server->collections, running->stops);
	struct st_web_reply reply;

	if (stopped && captured->is_ok)
		st_collection_stopped(stopped);
	st_reply_init(&reply);
	fill_reply(running, captured, &reply);
	free(running);
	if (job)
		st_job_finish(job, &reply);
	st_reply_fini(&reply);
}

/* stops: the id of the collection that the command stops, or "". */
static void run(struct st_exchange *exchange, const char *const *argv, bool is_command,
		const char *stops)
{
	struct st_server *server = exchange->server;
	struct st_job *job = st_pool_begin(server->pool, "asking");
	struct running *running = calloc(1, sizeof(*running));
	struct st_error err = {0};

	if (!job || !running) {
		free(running);
		st_exchange_follow(exchange, NULL, 0, false);
		return;
	}
	running->server = server;
	running->is_command = is_command;
	snprintf(running->stops, sizeof(running->stops), "%s", stops);
	memcpy(running->job_id, st_job_id(job), sizeof(running->job_id));
	running->capture = st_capture_start(server->loop, argv, done, running, &err);
	if (!running->capture) {
		struct st_web_reply reply;

		free(running);
		st_reply_init(&reply);
		st_reply_error(&reply, &err);
		st_job_finish(job, &reply);
	} else {
		st_job_on_cancel(job, cancelled, running);
	}
	st_exchange_follow(exchange, job, COMMAND_MS, false);
}

void st_get_capabilities(struct st_exchange *exchange, const struct st_route_parts *parts,
			 const json_object *body)
{
	const char *const argv[] = {exchange->server->config.program, "doctor", "-format", "json",
				    NULL};

	(void)parts;
	(void)body;
	run(exchange, argv, false, "");
}

void st_get_collections(struct st_exchange *exchange, const struct st_route_parts *parts,
			const json_object *body)
{
	struct st_collection *one = st_collections_first(exchange->server->collections);
	struct st_buf *out = &exchange->reply.body;

	(void)parts;
	(void)body;
	st_buf_append_text(out, "{\"collections\":[");
	for (; one; one = one->next) {
		st_collection_write(one, false, out);
		if (one->next)
			st_buf_append_u8(out, ',');
	}
	st_buf_append_text(out, "]}\n");
	st_exchange_ready(exchange);
}

void st_post_collection(struct st_exchange *exchange, const struct st_route_parts *parts,
			const json_object *body)
{
	struct st_collection *collection;
	struct st_error err = {0};

	(void)parts;
	if (st_collections_start(exchange->server->collections, body, &collection, &err)) {
		st_exchange_error(exchange, &err);
		return;
	}
	st_collection_write(collection, false, &exchange->reply.body);
	exchange->reply.status = 201;
	st_exchange_ready(exchange);
}

static struct st_collection *find(struct st_exchange *exchange, const char *id)
{
	struct st_collection *collection = st_collections_find(exchange->server->collections, id);

	if (!collection)
		st_exchange_fail(exchange, 404, "collection", "There is no such collection.", NULL);
	return collection;
}

static void send_command(struct st_exchange *exchange, const struct st_collection *collection,
			 const char *verb, const char *text)
{
	struct st_error err = {0};
	char **argv = st_collection_command(collection, verb, text, &err);

	if (!argv) {
		st_exchange_error(exchange, &err);
		return;
	}
	run(exchange, (const char *const *)argv, true,
	    strcmp(verb, "stop") == 0 ? collection->id : "");
	st_argv_free(argv);
}

static void end_program(struct st_exchange *exchange, struct st_collection *collection)
{
	struct st_error err = {0};

	if (st_collection_end_program(collection, &err)) {
		st_exchange_fail(exchange, 409, "command", err.text, NULL);
		return;
	}
	st_buf_append_text(&exchange->reply.body, "{}\n");
	st_exchange_ready(exchange);
}

void st_get_collection(struct st_exchange *exchange, const struct st_route_parts *parts,
		       const json_object *body)
{
	struct st_collection *collection = find(exchange, parts->texts[0]);

	(void)body;
	if (!collection)
		return;
	/* What it says now is there when it is asked about the next time. */
	st_collection_refresh(collection);
	st_collection_write(collection, true, &exchange->reply.body);
	st_exchange_ready(exchange);
}

void st_post_collection_command(struct st_exchange *exchange, const struct st_route_parts *parts,
				const json_object *body)
{
	static const char *const verbs[] = {"pause", "resume", "stop", "mark", "end"};
	struct st_collection *collection = find(exchange, parts->texts[0]);
	const char *verb = st_body_text(body, "verb", "");
	const char *text = st_body_text(body, "text", NULL);
	const char *known = NULL;

	if (!collection)
		return;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i], verb) == 0)
			known = verbs[i];
	if (!known)
		st_exchange_fail(exchange, 400, "usage",
				 "'verb': expected pause, resume, stop, mark or end", NULL);
	else if (text && (strcmp(known, "mark") != 0 || text[0] == '-'))
		st_exchange_fail(exchange, 400, "usage",
				 "'text' is that of a mark, and does not begin with a dash", NULL);
	else if (collection->state != ST_COLLECTION_RUNNING)
		st_exchange_fail(exchange, 409, "ended", "The collection has ended.", NULL);
	else if (strcmp(known, "end") == 0)
		end_program(exchange, collection);
	else
		send_command(exchange, collection, known, text);
}
