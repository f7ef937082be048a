/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is logged in. A secret that was printed (the token) or chosen (the passphrase) is exchanged once for a session,
 * whose secret is in a cookie that no script can read. Wrong tries make the next ones wait.
 */
#ifndef ST_SERVE_HTTP_SESSION_H
#define ST_SERVE_HTTP_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/http/secret.h"
#include "serve/http/throttle.h"

enum { ST_SESSIONS_MAX = 64 };

enum st_login {
	ST_LOGIN_OK,
	ST_LOGIN_WRONG,	  /* the token or passphrase */
	ST_LOGIN_EXPIRED, /* the token was right once */
	ST_LOGIN_WAIT,	  /* too many wrong ones */
	ST_LOGIN_WEAK,	  /* a new passphrase that is too short or too long */
	ST_LOGIN_FAILED	  /* could not be kept; the error says why */
};

struct st_session {
	char secret[ST_SECRET_HEX]; /* "": free */
	int64_t until_ms;
	bool is_remote; /* logged in from another machine */
};

struct st_sessions {
	bool wants_passphrase;
	int private_fd;				  /* where the passphrase is kept */
	char passphrase_hash[ST_PASSPHRASE_HASH]; /* "": not chosen yet */
	char token[ST_SECRET_HEX];		  /* "": used */
	char old_token[ST_SECRET_HEX];		  /* the last one that was used or has expired */
	int64_t token_until_ms, token_life_ms;
	char cookie_name[32];
	struct st_session open[ST_SESSIONS_MAX];
	struct st_throttle throttle;
	/* A session is over: closed, expired, or it had to make place; may be NULL. */
	void (*ended)(void *arg, const struct st_session *session);
	void *ended_arg;
};

enum st_session_state {
	ST_SESSION_OPEN,
	ST_SESSION_TOKEN,
	ST_SESSION_PASSPHRASE,
	ST_SESSION_NEW_PASSPHRASE
};

/* private_fd -1: by token only. */
enum st_status st_sessions_init(struct st_sessions *sessions, int private_fd, int64_t token_life_ms,
				int64_t now_ms, struct st_error *err);
/* A fresh token in place of the last one. */
bool st_sessions_renew_token(struct st_sessions *sessions, int64_t now_ms);
/* The session that a request's cookies or its bearer names; NULL: none. It lasts anew. */
struct st_session *st_sessions_find(struct st_sessions *sessions, const char *cookies,
				    const char *authorization, int64_t now_ms);
enum st_session_state st_sessions_state(const struct st_sessions *sessions,
					const struct st_session *session);

struct st_login_try {
	const char *token, *passphrase; /* NULL: not given */
	const char *address;
	bool is_remote;
};
/* Opens a session; *wait_s says for how long to wait. */
enum st_login st_sessions_login(struct st_sessions *sessions, const struct st_login_try *given,
				int64_t now_ms, struct st_session **out, unsigned int *wait_s,
				struct st_error *err);
void st_sessions_close(struct st_sessions *sessions, struct st_session *session);
/* Closes those that nobody has used for too long: what they listen to would never end otherwise. */
void st_sessions_expire(struct st_sessions *sessions, int64_t now_ms);
/* What Set-Cookie says. session NULL: that it is over. */
void st_sessions_cookie(const struct st_sessions *sessions, const struct st_session *session,
			bool is_secure, char *out, size_t out_size);

#endif
