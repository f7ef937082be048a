/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions, tokens and the wait after wrong tries. All in memory: whoever restarts the server logs in again.
 */
#include "serve/http/session.h"

#include <stdio.h>
#include <string.h>

enum { SESSION_MS = 7 * 24 * 3600 * 1000 };

enum st_status st_sessions_init(struct st_sessions *sessions, int private_fd, int64_t token_life_ms,
				int64_t now_ms, struct st_error *err)
{
	char instance[ST_SECRET_HEX];

	memset(sessions, 0, sizeof(*sessions));
	sessions->private_fd = private_fd;
	sessions->wants_passphrase = private_fd >= 0;
	sessions->token_life_ms = token_life_ms;
	/* Cookies do not know ports: each server has a name of its own for them. */
	if (!st_secret_make(instance) || !st_sessions_renew_token(sessions, now_ms))
		return st_error_set(err, ST_EIO, 0, "the system gives no random numbers");
	snprintf(sessions->cookie_name, sizeof(sessions->cookie_name), "strata_%.8s", instance);
	return private_fd >= 0 ? st_passphrase_load(private_fd, sessions->passphrase_hash, err)
			       : ST_OK;
}

bool st_sessions_renew_token(struct st_sessions *sessions, int64_t now_ms)
{
	if (sessions->token[0])
		memcpy(sessions->old_token, sessions->token, sizeof(sessions->token));
	sessions->token_until_ms = now_ms + sessions->token_life_ms;
	return st_secret_make(sessions->token);
}

static struct st_session *find_secret(struct st_sessions *sessions, const char *secret,
				      int64_t now_ms)
{
	struct st_session *found = NULL;

	/* All are compared, so that the time says nothing of which one it is. */
	for (size_t i = 0; i < ST_SESSIONS_MAX; i++)
		if (st_secret_equal(sessions->open[i].secret, secret))
			found = &sessions->open[i];
	if (!found)
		return NULL;
	if (found->until_ms <= now_ms) {
		st_sessions_close(sessions, found);
		return NULL;
	}
	found->until_ms = now_ms + SESSION_MS;
	return found;
}

/* The value of our cookie among "a=b; c=d"; false: it is not there, or is none of ours. */
static bool take_cookie(const struct st_sessions *sessions, const char *cookies, char *out)
{
	size_t name = strlen(sessions->cookie_name);

	while (*cookies) {
		size_t length;

		cookies += strspn(cookies, "; ");
		length = strcspn(cookies, ";");
		if (length == name + 1 + (ST_SECRET_HEX - 1) && cookies[name] == '=' &&
		    strncmp(cookies, sessions->cookie_name, name) == 0) {
			memcpy(out, cookies + name + 1, ST_SECRET_HEX - 1);
			out[ST_SECRET_HEX - 1] = '\0';
			return true;
		}
		cookies += length;
	}
	return false;
}

struct st_session *st_sessions_find(struct st_sessions *sessions, const char *cookies,
				    const char *authorization, int64_t now_ms)
{
	char secret[ST_SECRET_HEX];

	if (strncmp(authorization, "Bearer ", 7) == 0)
		return strlen(authorization + 7) == ST_SECRET_HEX - 1
			       ? find_secret(sessions, authorization + 7, now_ms)
			       : NULL;
	return take_cookie(sessions, cookies, secret) ? find_secret(sessions, secret, now_ms)
						      : NULL;
}

enum st_session_state st_sessions_state(const struct st_sessions *sessions,
					const struct st_session *session)
{
	if (session)
		return ST_SESSION_OPEN;
	if (!sessions->wants_passphrase)
		return ST_SESSION_TOKEN;
	return sessions->passphrase_hash[0] ? ST_SESSION_PASSPHRASE : ST_SESSION_NEW_PASSPHRASE;
}

static enum st_login check_token(const struct st_sessions *sessions, const char *token,
				 int64_t now_ms)
{
	if (!token)
		return ST_LOGIN_WRONG;
	if (st_secret_equal(sessions->old_token, token))
		return ST_LOGIN_EXPIRED;
	if (!st_secret_equal(sessions->token, token))
		return ST_LOGIN_WRONG;
	return now_ms < sessions->token_until_ms ? ST_LOGIN_OK : ST_LOGIN_EXPIRED;
}

/* A token opens one session. */
static void use_token(struct st_sessions *sessions)
{
	memcpy(sessions->old_token, sessions->token, sizeof(sessions->token));
	sessions->token[0] = '\0';
}

static enum st_login set_passphrase(struct st_sessions *sessions, const struct st_login_try *given,
				    int64_t now_ms, struct st_error *err)
{
	char hash[ST_PASSPHRASE_HASH];
	size_t length = given->passphrase ? strlen(given->passphrase) : 0;
	enum st_login login = check_token(sessions, given->token, now_ms);

	if (login)
		return login;
	if (length < ST_PASSPHRASE_MIN || length > ST_PASSPHRASE_MAX)
		return ST_LOGIN_WEAK;
	if (!st_passphrase_hash(given->passphrase, hash)) {
		st_error_set(err, ST_EIO, 0, "the passphrase cannot be hashed");
		return ST_LOGIN_FAILED;
	}
	if (st_passphrase_save(sessions->private_fd, hash, err))
		return ST_LOGIN_FAILED;
	memcpy(sessions->passphrase_hash, hash, sizeof(hash));
	use_token(sessions);
	return ST_LOGIN_OK;
}

static enum st_login check(struct st_sessions *sessions, const struct st_login_try *given,
			   int64_t now_ms, struct st_error *err)
{
	enum st_login login;

	if (!sessions->wants_passphrase) {
		login = check_token(sessions, given->token, now_ms);
		if (!login)
			use_token(sessions);
		return login;
	}
	if (!sessions->passphrase_hash[0])
		return set_passphrase(sessions, given, now_ms, err);
	return given->passphrase && strlen(given->passphrase) <= ST_PASSPHRASE_MAX &&
			       st_passphrase_fits(given->passphrase, sessions->passphrase_hash)
		       ? ST_LOGIN_OK
		       : ST_LOGIN_WRONG;
}

/* A free place, else that of the session that has been quiet longest. */
static struct st_session *open_session(struct st_sessions *sessions, bool is_remote, int64_t now_ms)
{
	struct st_session *place = &sessions->open[0];

	for (size_t i = 0; i < ST_SESSIONS_MAX; i++) {
		struct st_session *session = &sessions->open[i];

		if (!session->secret[0] || session->until_ms < place->until_ms)
			place = session;
		if (!session->secret[0])
			break;
	}
	if (place->secret[0])
		st_sessions_close(sessions, place);
	if (!st_secret_make(place->secret))
		return NULL;
	place->until_ms = now_ms + SESSION_MS;
	place->is_remote = is_remote;
	return place;
}

enum st_login st_sessions_login(struct st_sessions *sessions, const struct st_login_try *given,
				int64_t now_ms, struct st_session **out, unsigned int *wait_s,
				struct st_error *err)
{
	struct st_throttle *throttle = &sessions->throttle;
	struct st_login_caller *caller = st_throttle_caller(throttle, given->address);
	enum st_login login;

	*out = NULL;
	/* On loopback all users of the machine have one address: the wrong tries of another one shall not keep out who
	 * has the token, which nobody guesses. */
	*wait_s = st_throttle_wait_s(throttle, caller, given->is_remote, now_ms);
	if (*wait_s && (sessions->wants_passphrase || check_token(sessions, given->token, now_ms)))
		return ST_LOGIN_WAIT;
	login = check(sessions, given, now_ms, err);
	if (login == ST_LOGIN_WRONG || login == ST_LOGIN_EXPIRED)
		st_throttle_wrong(throttle, caller, given->is_remote, now_ms);
	if (login)
		return login;
	st_throttle_right(caller, now_ms);
	*out = open_session(sessions, given->is_remote, now_ms);
	if (*out)
		return ST_LOGIN_OK;
	st_error_set(err, ST_EIO, 0, "the system gives no random numbers");
	return ST_LOGIN_FAILED;
}

void st_sessions_close(struct st_sessions *sessions, struct st_session *session)
{
	if (sessions->ended)
		sessions->ended(sessions->ended_arg, session);
	memset(session, 0, sizeof(*session));
}

void st_sessions_expire(struct st_sessions *sessions, int64_t now_ms)
{
	for (size_t i = 0; i < ST_SESSIONS_MAX; i++)
		if (sessions->open[i].secret[0] && sessions->open[i].until_ms <= now_ms)
			st_sessions_close(sessions, &sessions->open[i]);
}

void st_sessions_cookie(const struct st_sessions *sessions, const struct st_session *session,
			bool is_secure, char *out, size_t out_size)
{
	snprintf(out, out_size, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s; Max-Age=%d",
		 sessions->cookie_name, session ? session->secret : "", is_secure ? "; Secure" : "",
		 session ? SESSION_MS / 1000 : 0);
}
