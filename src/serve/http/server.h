/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the server, as those who answer requests see them.
 */
#ifndef ST_SERVE_HTTP_SERVER_H
#define ST_SERVE_HTTP_SERVER_H

#include "serve/http/catalog.h"
#include "serve/http/guard.h"
#include "serve/http/loop.h"
#include "serve/http/pool.h"
#include "serve/http/session.h"
#include "serve/http/turns.h"
#include "serve/serve.h"

struct st_collections;
struct st_event_streams;
struct st_imports;

struct st_server {
	struct st_serve_config config;
	struct st_loop *loop;
	struct st_catalog catalog;
	struct st_pool *pool;
	struct st_sessions sessions;
	struct st_guard guard;
	struct st_event_streams *events;
	struct st_collections *collections;
	struct st_imports *imports;
	struct st_turns import_turns; /* of all that runs strata import */
	bool is_ending;		      /* nothing new is begun */
};

/* One request and its reply. */
struct st_exchange {
	struct st_server *server;
	struct st_web_request request;
	struct st_web_reply reply;
	bool is_ready;	/* the reply is what it shall be */
	bool is_stream; /* the reply is the stream of events */
	struct st_session *session;
	struct st_waiter waiter; /* for a job */
	char job_id[ST_JOB_ID];	 /* that it waits for; "": none */
	bool owns_job;		 /* the job is cancelled when the other side hangs up */
	void *connection;	 /* of the HTTP library */
	/* Called when a reply that was not ready at once has become so. */
	void (*resume)(struct st_exchange *exchange);
};

/* Serves until a signal ends it. */
enum st_status st_server_run(const struct st_serve_config *config, struct st_error *err);

/* Answers: the reply is set and ready now, or later by resume. */
void st_routes_begin(
	struct st_exchange *exchange); /* before the body is there: what can be refused already */
void st_routes_answer(struct st_exchange *exchange);
/* The other side has hung up. */
void st_routes_abandon(struct st_exchange *exchange);
/* Replies now, with a body that is set, or with a problem. */
void st_exchange_ready(struct st_exchange *exchange);
void st_exchange_fail(struct st_exchange *exchange, int status, const char *code,
		      const char *detail, const char *hint);
void st_exchange_error(struct st_exchange *exchange, const struct st_error *err);
/* Replies with what the job answers, or when that takes long with where it stands. */
void st_exchange_follow(struct st_exchange *exchange, struct st_job *job, int64_t wait_ms,
			bool owns_job);

#endif
