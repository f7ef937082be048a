/* SPDX-License-Identifier: Apache-2.0
 *
 * Logging in and out.
 */
#include "serve/http/answers.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/json_out.h"
#include "serve/http/server.h"

static void write_state(struct st_exchange *exchange, const struct st_session *session,
			const char *bearer)
{
	static const char *const names[] = {"open", "token", "passphrase", "new-passphrase"};
	const struct st_sessions *sessions = &exchange->server->sessions;
	struct st_json json;

	st_json_init(&json, &exchange->reply.body);
	st_json_object_begin(&json);
	st_json_put_text(&json, "state", names[st_sessions_state(sessions, session)]);
	if (bearer)
		st_json_put_text(&json, "bearer", bearer);
	st_json_object_end(&json);
	st_buf_append_u8(&exchange->reply.body, '\n');
}

void st_get_session(struct st_exchange *exchange, const struct st_route_parts *parts,
		    const json_object *body)
{
	(void)parts;
	(void)body;
	write_state(exchange, exchange->session, NULL);
	st_exchange_ready(exchange);
}

static void refuse(struct st_exchange *exchange, enum st_login login, unsigned int wait_s,
		   const struct st_error *err)
{
	char text[120];

	switch (login) {
	case ST_LOGIN_WAIT:
		snprintf(text, sizeof(text), "Too many wrong attempts; wait %u s.", wait_s);
		exchange->reply.retry_after_s = wait_s;
		st_exchange_fail(exchange, 429, "wait", text, NULL);
		break;
	case ST_LOGIN_EXPIRED:
		st_exchange_fail(exchange, 401, "expired",
				 "The token was used already, or is too old.",
				 "Press Enter where strata serve runs: it prints a new address.");
		break;
	case ST_LOGIN_WEAK:
		snprintf(text, sizeof(text), "A passphrase has %d to %d bytes.", ST_PASSPHRASE_MIN,
			 ST_PASSPHRASE_MAX);
		st_exchange_fail(exchange, 400, "passphrase", text, NULL);
		break;
	case ST_LOGIN_FAILED:
		st_exchange_error(exchange, err);
		break;
	default:
		st_exchange_fail(exchange, 401, "wrong", "That is not it.", NULL);
	}
}

void st_post_session(struct st_exchange *exchange, const struct st_route_parts *parts,
		     const json_object *body)
{
	struct st_server *server = exchange->server;
	const struct st_login_try given = {.token = st_body_text(body, "token", NULL),
					   .passphrase = st_body_text(body, "passphrase", NULL),
					   .address = exchange->request.address,
					   .is_remote = !exchange->request.is_loopback};
	struct st_session *session;
	struct st_error err = {0};
	unsigned int wait_s = 0;
	json_object *bearer;
	enum st_login login;
	bool wants_bearer = json_object_object_get_ex(body, "bearer", &bearer) &&
			    json_object_get_boolean(bearer);

	(void)parts;
	login = st_sessions_login(&server->sessions, &given, st_loop_now_ms(), &session, &wait_s,
				  &err);
	if (login) {
		refuse(exchange, login, wait_s, &err);
		return;
	}
	/* A script gets the secret to send along; a browser gets it where no script can see it. */
	if (!wants_bearer)
		st_sessions_cookie(&server->sessions, session, server->config.remote,
				   exchange->reply.cookie, sizeof(exchange->reply.cookie));
	write_state(exchange, session, wants_bearer ? session->secret : NULL);
	st_exchange_ready(exchange);
}

void st_delete_session(struct st_exchange *exchange, const struct st_route_parts *parts,
		       const json_object *body)
{
	struct st_server *server = exchange->server;

	(void)parts;
	(void)body;
	st_sessions_close(&server->sessions, exchange->session);
	exchange->session = NULL;
	st_sessions_cookie(&server->sessions, NULL, server->config.remote, exchange->reply.cookie,
			   sizeof(exchange->reply.cookie));
	write_state(exchange, NULL, NULL);
	st_exchange_ready(exchange);
}
