/* SPDX-License-Identifier: Apache-2.0
 *
 * Every request comes by here: is it for us, is it from our page, is who sends it logged in, may it do that; then the
 * row of the table answers. docs/http-api.md is the text to this table.
 */
#include "serve/http/route.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "serve/http/answers.h"
#include "serve/http/assets.h"
#include "serve/http/server.h"

enum { QUICK_MS = 300 };

const struct st_route st_routes[] = {
	{"GET", "/session", ST_ROUTE_OPEN, st_get_session},
	{"POST", "/session", ST_ROUTE_OPEN | ST_ROUTE_HAS_BODY, st_post_session},
	{"DELETE", "/session", 0, st_delete_session},
	{"GET", "/meta", 0, st_get_meta},
	{"GET", "/events", 0, st_get_events},
	{"GET", "/results", 0, st_get_results},
	{"GET", "/results/*", 0, st_get_result},
	{"PATCH", "/results/*", ST_ROUTE_HAS_BODY, st_patch_result},
	{"DELETE", "/results/*", 0, st_delete_result},
	{"POST", "/results/*/restore", ST_ROUTE_HAS_BODY, st_post_restore},
	{"POST", "/results/*/import", ST_ROUTE_HAS_BODY, st_post_import},
	{"POST", "/results/*/*", ST_ROUTE_HAS_BODY, st_post_verb},
	{"POST", "/compare", ST_ROUTE_HAS_BODY, st_post_compare},
	{"POST", "/projects", ST_ROUTE_HAS_BODY, st_post_project},
	{"POST", "/samples", ST_ROUTE_HAS_BODY, st_post_samples},
	{"GET", "/jobs/*", 0, st_get_job},
	{"DELETE", "/jobs/*", 0, st_delete_job},
	{"GET", "/capabilities", 0, st_get_capabilities},
	{"GET", "/collections", 0, st_get_collections},
	{"POST", "/collections", ST_ROUTE_HAS_BODY | ST_ROUTE_COLLECTS, st_post_collection},
	{"GET", "/collections/*", 0, st_get_collection},
	{"POST", "/collections/*/command", ST_ROUTE_HAS_BODY | ST_ROUTE_COLLECTS,
	 st_post_collection_command},
	{NULL, NULL, 0, NULL},
};

void st_exchange_ready(struct st_exchange *exchange)
{
	exchange->is_ready = true;
	if (exchange->resume)
		exchange->resume(exchange);
}

void st_exchange_fail(struct st_exchange *exchange, int status, const char *code,
		      const char *detail, const char *hint)
{
	st_reply_problem(&exchange->reply, status, code, detail, hint);
	st_exchange_ready(exchange);
}

void st_exchange_error(struct st_exchange *exchange, const struct st_error *err)
{
	st_reply_error(&exchange->reply, err);
	st_exchange_ready(exchange);
}

static void refuse(struct st_exchange *exchange, enum st_guard_verdict verdict)
{
	if (verdict == ST_GUARD_HOST)
		st_exchange_fail(
			exchange, 421, "host",
			"The name in the address is not one of this machine's, so that the "
			"request may come from a foreign page.",
			"Start strata serve with --base-url and that address if it is yours.");
	else if (verdict == ST_GUARD_ORIGIN)
		st_exchange_fail(exchange, 403, "origin",
				 "The request comes from another site's page.", NULL);
	else
		st_exchange_fail(exchange, 415, "content-type",
				 "Send JSON, with Content-Type: application/json.", NULL);
}

/* Whether who asks may start programs here. */
bool st_may_collect(const struct st_exchange *exchange)
{
	const struct st_server *server = exchange->server;

	return server->config.remote_collect ||
	       (exchange->request.is_loopback && exchange->session &&
		!exchange->session->is_remote);
}

/* Whether who asks is logged in and may do that; if not, that is said. It is asked when the headers are there and again
 * when the body is: meanwhile the session may have ended, and its place be another's. */
static bool check_access(struct st_exchange *exchange, const struct st_route *route)
{
	const struct st_web_request *request = &exchange->request;
	unsigned int flags = route ? route->flags : 0;

	exchange->session = st_sessions_find(&exchange->server->sessions, request->cookie,
					     request->authorization, st_loop_now_ms());
	if (!exchange->session && !(flags & ST_ROUTE_OPEN)) {
		st_exchange_fail(exchange, 401, "session", "You are not logged in.",
				 "Open the address that strata serve has printed.");
		return false;
	}
	if ((flags & ST_ROUTE_COLLECTS) && !st_may_collect(exchange)) {
		st_exchange_fail(exchange, 403, "collect",
				 "Programs cannot be started from another machine.",
				 "Start strata serve with --allow-remote-collect to allow it.");
		return false;
	}
	return true;
}

static void refuse_size(struct st_exchange *exchange)
{
	char text[80];

	snprintf(text, sizeof(text), "The body is larger than %zu KiB.",
		 (exchange->request.body.max_bytes - 1) >> 10);
	st_exchange_fail(exchange, 413, "size", text, NULL);
}

static void begin_route(struct st_exchange *exchange)
{
	struct st_web_request *request = &exchange->request;
	struct st_route_parts parts;
	const struct st_route *route;
	bool known;

	route = st_route_find(st_routes, request->method, request->path, &parts, &known);
	if (!check_access(exchange, route))
		return;
	/* And the NUL at its end. */
	st_buf_init(&request->body, (exchange->session ? ST_HTTP_BODY_MAX : ST_HTTP_LOGIN_MAX) + 1);
	if (!route && known)
		st_exchange_fail(exchange, 405, "method", "The path takes other methods.", NULL);
	else if (!route)
		st_exchange_fail(exchange, 404, "path", "There is no such path.", NULL);
	else if (request->content_length >= request->body.max_bytes)
		refuse_size(exchange);
}

void st_routes_begin(struct st_exchange *exchange)
{
	struct st_web_request *request = &exchange->request;
	enum st_guard_verdict verdict = st_guard_check(&exchange->server->guard, request);

	request->is_loopback = request->is_loopback && !st_guard_is_proxied(request);
	if (exchange->server->is_ending)
		st_exchange_fail(exchange, 503, "ending", "The server is being ended.", NULL);
	else if (verdict)
		refuse(exchange, verdict);
	else if (strlen(request->path) > ST_HTTP_PATH_MAX)
		st_exchange_fail(exchange, 404, "path", "The path is too long.", NULL);
	else if (strncmp(request->path, "/api/", 5) == 0)
		begin_route(exchange);
	else if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
		st_exchange_fail(exchange, 405, "method", "The page can only be read.", NULL);
	else {
		st_assets_answer(exchange);
		st_exchange_ready(exchange);
	}
}

void st_routes_answer(struct st_exchange *exchange)
{
	const struct st_web_request *request = &exchange->request;
	struct st_route_parts parts;
	const struct st_route *route;
	json_object *body = NULL;
	bool known;

	route = st_route_find(st_routes, request->method, request->path, &parts, &known);
	if (!route)
		return;
	/* Its headers came before the end began, its body after: there is nobody left to ask. */
	if (exchange->server->is_ending) {
		st_exchange_fail(exchange, 503, "ending", "The server is being ended.", NULL);
		return;
	}
	if (!check_access(exchange, route))
		return;
	if (request->body.failed) {
		refuse_size(exchange);
		return;
	}
	if (route->flags & ST_ROUTE_HAS_BODY) {
		body = request->body.size_bytes ? st_body_parse((const char *)request->body.data,
								request->body.size_bytes - 1)
						: NULL;
		if (!body) {
			st_exchange_fail(exchange, 400, "json", "The body is not a JSON object.",
					 NULL);
			return;
		}
	}
	route->answer(exchange, &parts, body);
	json_object_put(body);
}

/* The job is done, or has taken long enough: says so. */
static void follow_up(void *arg)
{
	struct st_exchange *exchange = arg;
	struct st_job *job = st_pool_find(exchange->server->pool, exchange->job_id);

	exchange->job_id[0] = '\0';
	if (!job) {
		st_exchange_fail(exchange, 404, "job", "The job is gone.", NULL);
		return;
	}
	if (st_job_is_done(job)) {
		st_job_take(job, &exchange->reply);
	} else {
		exchange->reply.status = 202;
		st_job_write(job, &exchange->reply.body);
	}
	st_exchange_ready(exchange);
}

void st_exchange_follow(struct st_exchange *exchange, struct st_job *job, int64_t wait_ms,
			bool owns_job)
{
	if (!job) {
		st_exchange_fail(exchange, 503, "busy", "Too many requests are waiting.",
				 "Try again in a moment.");
		return;
	}
	memcpy(exchange->job_id, st_job_id(job), sizeof(exchange->job_id));
	exchange->owns_job = owns_job;
	exchange->waiter.ready = follow_up;
	exchange->waiter.arg = exchange;
	if (st_job_is_done(job) || wait_ms <= 0)
		follow_up(exchange);
	else
		st_job_wait(job, &exchange->waiter, st_loop_now_ms() + wait_ms);
}

int64_t st_quick_ms(void)
{
	return QUICK_MS;
}

void st_routes_abandon(struct st_exchange *exchange)
{
	struct st_job *job =
		exchange->job_id[0] ? st_pool_find(exchange->server->pool, exchange->job_id) : NULL;

	st_job_leave(&exchange->waiter);
	if (job && exchange->owns_job && !st_job_is_done(job))
		st_job_cancel(job);
	exchange->job_id[0] = '\0';
}
