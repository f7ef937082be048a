/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the server that need no connection: who is let in, which path means what, sessions, names and ids.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "serve/http/catalog.h"
#include "serve/http/events.h"
#include "serve/http/guard.h"
#include "serve/http/peers.h"
#include "serve/http/pool_parts.h"
#include "serve/http/reply.h"
#include "serve/http/route.h"
#include "serve/http/session.h"
#include "serve/http/temporary.h"

enum { HOUR_MS = 3600000, MINUTE_MS = 60000 };

static struct st_web_request plain(const char *method, const char *path, const char *host)
{
	return (struct st_web_request){.method = method,
				       .path = path,
				       .host = host,
				       .origin = "",
				       .fetch_site = "",
				       .content_type = "application/json",
				       .cookie = "",
				       .authorization = ""};
}

static void test_host_names(void **state)
{
	static const struct {
		const char *host, *name; /* NULL: refused */
	} rows[] = {
		{"localhost", "localhost"},
		{"LocalHost:8080", "localhost"},
		{"localhost.", "localhost"},
		{"127.0.0.1:65535", "127.0.0.1"},
		{"[::1]:99", "::1"},
		{"[::1]", "::1"},
		{"", NULL},
		{":80", NULL},
		{"a b", NULL},
		{"a:b", NULL},
		{"a:123456", NULL},
		{"[::1", NULL},
		{"[::1]x", NULL},
		{"a/b", NULL},
		{"user@host", NULL},
		{"host:80:80", NULL},
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_host = st_guard_host_name(rows[i].host, name, sizeof(name));

		assert_int_equal(is_host, rows[i].name != NULL);
		if (rows[i].name)
			assert_string_equal(name, rows[i].name);
	}
	assert_false(st_guard_host_name("much-too-long", name, 5));
}

static void test_loopback(void **state)
{
	static const char *const yes[] = {"localhost", "a.localhost", "127.0.0.1", "127.255.0.9",
					  "::1"};
	static const char *const no[] = {
		"localhost.evil", "xlocalhost", "127.0.0.1.evil", "127.1",	"127.0.0.",
		"128.0.0.1",	  "::2",	"127.0.0.1x",	  ".localhost", "127...1"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(st_guard_is_loopback(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(st_guard_is_loopback(no[i]));
}

static void test_guard(void **state)
{
	static const struct st_guard local;
	struct st_guard remote = {.is_remote = true};
	struct st_web_request request = plain("POST", "/api/v1/compare", "localhost:7");

	(void)state;
	assert_int_equal(st_guard_check(&local, &request), ST_GUARD_OK);
	request.origin = "http://localhost:7";
	assert_int_equal(st_guard_check(&local, &request), ST_GUARD_OK);
	request.origin = "http://localhost:8";
	assert_int_equal(st_guard_check(&local, &request), ST_GUARD_ORIGIN);
	request.origin = "null";
	assert_int_equal(st_guard_check(&local, &request), ST_GUARD_ORIGIN);
	request.origin = "";
	request.fetch_site = "cross-site";
	assert_int_equal(st_guard_check(&local, &request), ST_GUARD_ORIGIN);
	request.fetch_site = "same-origin";
	request.content_type = "text/plain";
	assert_int_equal(st_guard_check(&local, &request), ST_GUARD_TYPE);
	request.content_type = "application/json; charset=utf-8";
	assert_int_equal(st_guard_check(&local, &request), ST_GUARD_OK);
	request.host = "evil.example";
	assert_int_equal(st_guard_check(&local, &request), ST_GUARD_HOST);

	assert_false(st_guard_set_base(&remote, "lab.example"));
	assert_false(st_guard_set_base(&remote, "ftp://lab.example"));
	assert_false(st_guard_set_base(&remote, "https:///x"));
	assert_true(st_guard_set_base(&remote, "https://Lab.example:8443/strata"));
	st_guard_add_name(&remote, "Gpu-Host");
	request.host = "gpu-host:9";
	assert_int_equal(st_guard_check(&remote, &request), ST_GUARD_OK);
	request.origin = "https://lab.example:8443";
	assert_int_equal(st_guard_check(&remote, &request), ST_GUARD_OK);
	request.origin = "http://gpu-host:9"; /* not what the page came by */
	assert_int_equal(st_guard_check(&remote, &request), ST_GUARD_ORIGIN);
	/* A link from anywhere may lead to the page, not to the interface. */
	request = plain("GET", "/r/1", "gpu-host");
	request.fetch_site = "cross-site";
	assert_int_equal(st_guard_check(&remote, &request), ST_GUARD_OK);
	request.path = "/api/v1/results";
	assert_int_equal(st_guard_check(&remote, &request), ST_GUARD_ORIGIN);
}

static void answer(struct st_exchange *exchange, const struct st_route_parts *parts,
		   const json_object *body)
{
	(void)exchange;
	(void)parts;
	(void)body;
}

static void test_routes(void **state)
{
	static const struct st_route routes[] = {{"GET", "/results", 0, answer},
						 {"POST", "/results/*/restore", 0, answer},
						 {"POST", "/results/*/*", 0, answer},
						 {"GET", "/results/*", 0, answer},
						 {NULL, NULL, 0, NULL}};
	static const char *const none[] = {
		"/api/v1",
		"/api/v1/",
		"/api/v1/result",
		"/api/v1/results/",
		"/api/v1/results/..",
		"/api/v1/results/a/../b",
		"/api/v1/results/a/b/c",
		"/api/v2/results",
		"/api/v1/results/a%2fb",
		"/api/v1/results/.",
		"/api/v1/results//tiles",
		"/api/v1/results/a b",
		"/api/v1/results/0123456789012345678901234567890123456789",
	};
	struct st_route_parts parts;
	bool known;

	(void)state;
	assert_ptr_equal(st_route_find(routes, "GET", "/api/v1/results", &parts, &known),
			 &routes[0]);
	assert_ptr_equal(
		st_route_find(routes, "POST", "/api/v1/results/ab/restore", &parts, &known),
		&routes[1]);
	assert_ptr_equal(st_route_find(routes, "POST", "/api/v1/results/ab/tiles", &parts, &known),
			 &routes[2]);
	assert_string_equal(parts.texts[0], "ab");
	assert_string_equal(parts.texts[1], "tiles");
	assert_null(st_route_find(routes, "PUT", "/api/v1/results", &parts, &known));
	assert_true(known);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_null(st_route_find(routes, "GET", none[i], &parts, &known));
		assert_null(st_route_find(routes, "POST", none[i], &parts, &known));
	}
}

static void test_bodies(void **state)
{
	static const char *const no[] = {"",	    "[]",	  "1",		 "{",	"{}x",
					 "{'a':1}", "{\"a\":01}", "{\"a\":NaN}", "null"};
	json_object *body = st_body_parse(" {\"a\": \"b\", \"c\": \"d\\u0000e\"} ", 29);

	(void)state;
	assert_non_null(body);
	assert_string_equal(st_body_text(body, "a", "x"), "b");
	assert_string_equal(st_body_text(body, "c", "x"), "x"); /* a NUL inside */
	assert_string_equal(st_body_text(body, "d", "x"), "x");
	json_object_put(body);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_null(st_body_parse(no[i], strlen(no[i])));
}

static enum st_login try(struct st_sessions *sessions, const char *token, const char *passphrase,
			 int64_t now_ms, struct st_session **out)
{
	struct st_login_try given = {.token = token, .passphrase = passphrase, .address = "::9"};
	struct st_error err = {0};
	unsigned int wait_s = 0;

	return st_sessions_login(sessions, &given, now_ms, out, &wait_s, &err);
}

static void test_token(void **state)
{
	static struct st_sessions sessions;
	struct st_session *session;
	struct st_error err = {0};
	char token[ST_SECRET_HEX], cookie[256];

	(void)state;
	assert_int_equal(st_sessions_init(&sessions, -1, HOUR_MS, 1000, &err), ST_OK);
	memcpy(token, sessions.token, sizeof(token));
	assert_int_equal(strlen(token), 32);
	assert_int_equal(try(&sessions, NULL, NULL, 1000, &session), ST_LOGIN_WRONG);
	assert_int_equal(try(&sessions, "", NULL, 1000, &session), ST_LOGIN_WRONG);
	assert_int_equal(try(&sessions, token, NULL, 1000, &session), ST_LOGIN_OK);
	assert_int_equal(try(&sessions, token, NULL, 1000, &(struct st_session *){NULL}),
			 ST_LOGIN_EXPIRED);
	/* The empty place of a used token is no token. */
	assert_int_equal(try(&sessions, "", NULL, 1000, &(struct st_session *){NULL}),
			 ST_LOGIN_WRONG);
	st_sessions_cookie(&sessions, session, true, cookie, sizeof(cookie));
	assert_non_null(strstr(cookie, "; HttpOnly; SameSite=Strict; Secure; Max-Age=604800"));
	*strchr(cookie, ';') = '\0';
	assert_ptr_equal(st_sessions_find(&sessions, cookie, "", 2000), session);
	assert_null(st_sessions_find(&sessions, "", "", 2000));
	assert_null(st_sessions_find(&sessions, "", "Bearer ", 2000));
	/* Seven days without a word. */
	assert_null(st_sessions_find(&sessions, cookie, "", 2000 + 7 * 24 * (int64_t)HOUR_MS));
	assert_null(st_sessions_find(&sessions, cookie, "", 2001));

	assert_true(st_sessions_renew_token(&sessions, 5000));
	memcpy(token, sessions.token, sizeof(token));
	assert_int_equal(try(&sessions, token, NULL, 5000 + HOUR_MS, &session), ST_LOGIN_EXPIRED);
}

static void test_waiting(void **state)
{
	static struct st_sessions sessions;
	struct st_session *session;
	struct st_error err = {0};
	int64_t now = 1000;

	(void)state;
	assert_int_equal(st_sessions_init(&sessions, -1, HOUR_MS, now, &err), ST_OK);
	for (int i = 0; i < 5; i++)
		assert_int_equal(try(&sessions, "x", NULL, now, &session), ST_LOGIN_WRONG);
	assert_int_equal(try(&sessions, "x", NULL, now, &session), ST_LOGIN_WAIT);
	now += 1000;
	/* One more wrong one doubles the wait. */
	assert_int_equal(try(&sessions, "x", NULL, now, &session), ST_LOGIN_WRONG);
	assert_int_equal(try(&sessions, "x", NULL, now + 1999, &session), ST_LOGIN_WAIT);
	/* Who has the token does not wait for others of the same address, and ends their wait. */
	assert_int_equal(try(&sessions, sessions.token, NULL, now + 1999, &session), ST_LOGIN_OK);
	assert_int_equal(try(&sessions, "x", NULL, now + 1999, &session), ST_LOGIN_WRONG);
}

/* A wrong try with a token from an address. */
static enum st_login try_from(struct st_sessions *sessions, const char *address, int64_t now_ms,
			      unsigned int *wait_s)
{
	struct st_login_try given = {
		.token = "x", .address = address, .is_remote = strncmp(address, "127.", 4) != 0};
	struct st_session *session;
	struct st_error err = {0};

	return st_sessions_login(sessions, &given, now_ms, &session, wait_s, &err);
}

/* Of all addresses together: the one thread has other things to do than to hash. Nobody is kept out by it for long. */
static void test_waiting_of_all(void **state)
{
	static struct st_sessions sessions;
	struct st_session *session;
	struct st_error err = {0};
	unsigned int wait_s = 0;
	int64_t now = 1000;
	char address[32];

	(void)state;
	assert_int_equal(st_sessions_init(&sessions, -1, HOUR_MS, now, &err), ST_OK);
	assert_int_equal(try(&sessions, sessions.token, NULL, now, &session), ST_LOGIN_OK);
	for (int i = 0; i < 30; i++) {
		snprintf(address, sizeof(address), "10.0.0.%d", i);
		assert_int_equal(try_from(&sessions, address, now, &wait_s), ST_LOGIN_WRONG);
	}
	/* A stranger waits until one more try is there, not until all of them are. */
	assert_int_equal(try_from(&sessions, "10.0.1.1", now, &wait_s), ST_LOGIN_WAIT);
	assert_int_equal(wait_s, 2);
	assert_int_equal(try_from(&sessions, "10.0.1.1", now + 2000, &wait_s), ST_LOGIN_WRONG);
	assert_int_equal(try_from(&sessions, "10.0.1.1", now + 2000, &wait_s), ST_LOGIN_WAIT);
	/* Neither who has logged in before nor who sits at the machine waits for other machines. */
	assert_int_equal(try(&sessions, "x", NULL, now + 2000, &session), ST_LOGIN_WRONG);
	assert_int_equal(try_from(&sessions, "127.0.0.1", now + 2000, &wait_s), ST_LOGIN_WRONG);
	/* However many addresses there are, the one that is known stays known. */
	now += 2000;
	for (int i = 0; i < 2 * ST_CALLERS_MAX; i++) {
		snprintf(address, sizeof(address), "10.1.%d.%d", i / 200, i % 200);
		now += 2000;
		assert_int_equal(try_from(&sessions, address, now, &wait_s), ST_LOGIN_WRONG);
	}
	assert_int_equal(try_from(&sessions, "10.0.1.2", now, &wait_s), ST_LOGIN_WAIT);
	assert_int_equal(try(&sessions, "x", NULL, now, &session), ST_LOGIN_WRONG);
}

/* Who has an address of IPv6 has all of its network. */
static void test_waiting_of_a_network(void **state)
{
	static struct st_sessions sessions;
	struct st_error err = {0};
	unsigned int wait_s = 0;
	char address[32];

	(void)state;
	assert_int_equal(st_sessions_init(&sessions, -1, HOUR_MS, 0, &err), ST_OK);
	for (int i = 0; i < 5; i++) {
		snprintf(address, sizeof(address), "2001:db8::%d", i);
		assert_int_equal(try_from(&sessions, address, 0, &wait_s), ST_LOGIN_WRONG);
	}
	assert_int_equal(try_from(&sessions, "2001:db8::ffff:1", 0, &wait_s), ST_LOGIN_WAIT);
	assert_int_equal(try_from(&sessions, "2001:db8:0:1::1", 0, &wait_s), ST_LOGIN_WRONG);
	/* IPv4 within IPv6 is no network. */
	for (int i = 0; i < 8; i++) {
		snprintf(address, sizeof(address), "::ffff:10.0.0.%d", i);
		assert_int_equal(try_from(&sessions, address, 0, &wait_s), ST_LOGIN_WRONG);
	}
}

/* Whether the other side of a connection was closed. */
static bool is_shut(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void test_peers_that_take_long(void **state)
{
	enum { SLOW, RESTING, SENDING, READING, WAITING, COUNT };
	struct st_peer all[COUNT];
	struct st_peers peers = {0};
	int pairs[COUNT][2];

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
		st_peers_join(&peers, &all[i], pairs[i][0], 0);
	}
	st_peer_set(&all[RESTING], ST_PEER_RESTS, false, 5000);
	st_peer_set(&all[SENDING], ST_PEER_SENDS, true, 1000);
	st_peer_set(&all[READING], ST_PEER_WAITS, false, 2000);
	st_peer_set(&all[WAITING], ST_PEER_WAITS, true, 1000);
	assert_int_equal(st_peers_sweep(&peers, 14999), 15000);
	assert_false(is_shut(pairs[SLOW][1]));
	assert_int_equal(st_peers_sweep(&peers, 15000), 61000);
	assert_true(is_shut(pairs[SLOW][1]));
	assert_int_equal(st_peers_sweep(&peers, 62000), 65000);
	assert_true(is_shut(pairs[SENDING][1]) && is_shut(pairs[READING][1]));
	assert_false(is_shut(pairs[RESTING][1]));
	assert_int_equal(st_peers_sweep(&peers, 65000), -1);
	assert_true(is_shut(pairs[RESTING][1]));
	assert_int_equal(st_peers_sweep(&peers, HOUR_MS), -1);
	assert_false(is_shut(pairs[WAITING][1]));
	for (int i = 0; i < COUNT; i++) {
		st_peers_leave(&peers, &all[i]);
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	assert_null(peers.first);
	assert_int_equal(peers.count, 0);
}

/* The one that has been at the same thing longest makes place, but for who waits for an answer that is due to them. */
static void test_peers_that_are_many(void **state)
{
	static struct st_peer all[ST_PEERS_ROOM + 3];
	struct st_peers peers = {0};
	int pairs[4][2];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
	for (int i = 0; i < ST_PEERS_ROOM; i++)
		st_peers_join(&peers, &all[i], i < 3 ? pairs[i][0] : pairs[3][0], i);
	st_peer_set(&all[0], ST_PEER_WAITS, true, 0);
	assert_false(is_shut(pairs[1][1]));
	st_peers_join(&peers, &all[ST_PEERS_ROOM], pairs[3][0], 1000);
	assert_true(is_shut(pairs[1][1]));
	assert_false(is_shut(pairs[2][1]));
	st_peers_join(&peers, &all[ST_PEERS_ROOM + 1], pairs[3][0], 1000);
	assert_true(is_shut(pairs[2][1]));
	/* Those that were closed and have gone are no reason to close more. */
	st_peers_leave(&peers, &all[1]);
	st_peers_leave(&peers, &all[2]);
	st_peers_leave(&peers, &all[4]);
	st_peers_join(&peers, &all[ST_PEERS_ROOM + 2], pairs[3][0], 1000);
	assert_false(is_shut(pairs[0][1]) || is_shut(pairs[3][1]));
	for (int i = 0; i < 4; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
}

static void nobody_told(void *arg, const struct st_job *job)
{
	(void)arg;
	(void)job;
}

/* What is cancelled is given a moment to come to its end: a worker that were ended for it would take all that it keeps
 * along, and a page cancels often. */
static void test_cancelled_work_ends_by_itself(void **state)
{
	struct st_pool pool = {.config.changed = nobody_told};
	struct st_worker worker = {.pool = &pool, .state = ST_WORKER_BUSY, .key = strdup("x")};
	struct st_error err = {0};
	struct st_job *job;

	(void)state;
	assert_int_equal(st_loop_create(&pool.config.loop, &err), ST_OK);
	worker.watch.fd = -1;
	pool.workers = &worker;
	pool.worker_count = 1;
	job = st_pool_begin(&pool, "asking");
	assert_non_null(job);
	job->state = ST_JOB_RUNNING;
	worker.job = job;
	st_job_cancel(job);
	assert_null(pool.jobs);
	assert_ptr_equal(pool.workers, &worker);
	assert_null(worker.job);
	assert_int_equal(worker.state, ST_WORKER_BUSY);
	/* If it does not, it is ended after all. */
	assert_true(worker.idle.is_set);
	st_loop_cancel(pool.config.loop, &worker.idle);
	st_loop_destroy(pool.config.loop);
	free(worker.key);
}

static void test_many_sessions(void **state)
{
	static struct st_sessions sessions;
	struct st_session *session;
	struct st_error err = {0};
	char first[256], cookie[256];

	(void)state;
	assert_int_equal(st_sessions_init(&sessions, -1, HOUR_MS, 0, &err), ST_OK);
	for (int i = 0; i <= ST_SESSIONS_MAX; i++) {
		assert_true(st_sessions_renew_token(&sessions, i));
		assert_int_equal(try(&sessions, sessions.token, NULL, i, &session), ST_LOGIN_OK);
		st_sessions_cookie(&sessions, session, false, cookie, sizeof(cookie));
		*strchr(cookie, ';') = '\0';
		if (i == 0)
			snprintf(first, sizeof(first), "%s", cookie);
	}
	/* The one that was quiet longest has made place. */
	assert_null(st_sessions_find(&sessions, first, "", 100));
	assert_non_null(st_sessions_find(&sessions, cookie, "", 100));
}

static void count_wakes(void *arg)
{
	++*(unsigned int *)arg;
}

static void end_streams(void *arg, const struct st_session *session)
{
	st_events_end_of(arg, session);
}

static bool is_over(struct st_stream_out *stream)
{
	char text[64];

	return st_events_read(stream, text, sizeof(text)) < 0;
}

/* A session that is over listens to nothing more, however it ended. */
static void test_streams_end_with_their_session(void **state)
{
	const int64_t week_ms = 7 * 24 * (int64_t)HOUR_MS;
	struct st_event_streams *events = st_events_create();
	static struct st_sessions sessions;
	struct st_session *session, *other;
	struct st_stream_out *stream, *others;
	struct st_error err = {0};
	unsigned int woken = 0;

	(void)state;
	assert_int_equal(st_sessions_init(&sessions, -1, HOUR_MS, 0, &err), ST_OK);
	sessions.ended = end_streams;
	sessions.ended_arg = events;
	assert_int_equal(try(&sessions, sessions.token, NULL, 0, &session), ST_LOGIN_OK);
	stream = st_events_join(events, session, count_wakes, &woken);
	assert_true(st_sessions_renew_token(&sessions, 10));
	assert_int_equal(try(&sessions, sessions.token, NULL, 10, &other), ST_LOGIN_OK);
	others = st_events_join(events, other, count_wakes, &woken);
	st_sessions_expire(&sessions, week_ms - 1);
	assert_false(is_over(stream) || woken);
	st_sessions_expire(&sessions, week_ms);
	assert_true(is_over(stream));
	assert_int_equal(woken, 1);
	assert_false(is_over(others));
	st_events_leave(stream);
	/* Its place is another's now, who does not get its stream. */
	for (int i = 0; i < ST_SESSIONS_MAX; i++) {
		assert_false(is_over(others));
		assert_true(st_sessions_renew_token(&sessions, 20 + i));
		assert_int_equal(try(&sessions, sessions.token, NULL, 20 + i, &session),
				 ST_LOGIN_OK);
	}
	assert_ptr_equal(session, other);
	assert_true(is_over(others));
	st_events_leave(others);
	st_events_destroy(events);
}

static void test_passphrase(void **state)
{
	char hash[ST_PASSPHRASE_HASH], again[ST_PASSPHRASE_HASH];

	(void)state;
	assert_true(st_passphrase_hash("correct horse", hash));
	assert_true(st_passphrase_hash("correct horse", again));
	assert_string_not_equal(hash, again); /* salted */
	assert_true(st_passphrase_fits("correct horse", hash));
	assert_false(st_passphrase_fits("correct hors", hash));
	assert_false(st_passphrase_fits("", hash));
	assert_false(st_passphrase_fits("correct horse", "pbkdf2-sha256$600000$"));
	assert_false(st_passphrase_fits("correct horse", ""));
}

static void test_names(void **state)
{
	static const char *const fine[] = {"r000hs", "before the change", "a.b-c_d+e=f"};
	static const char *const bad[] = {"",	 ".",  "..", ".x",   "-r",
					  "a/b", " a", "a ", "a\nb", "\xff"};

	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_true(st_name_is_fine(fine[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(st_name_is_fine(bad[i]));
	assert_true(st_name_is_trace("run.pt.trace.json"));
	assert_true(st_name_is_trace("run.pt.trace.json.gz"));
	assert_false(st_name_is_trace(".pt.trace.json"));
	assert_false(st_name_is_trace("run.json"));
	assert_false(st_name_is_trace("run.pt.trace.json.bak"));
}

static void make_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_folder(const char *folder, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0777), 0);
}

static void test_catalog(void **state)
{
	char folder[] = "/tmp/test-serve-XXXXXX", id[ST_ENTRY_ID];
	struct st_catalog catalog;
	struct st_error err = {0};
	const struct st_entry *entry;

	(void)state;
	assert_non_null(mkdtemp(folder));
	make_folder(folder, "r000hs");
	make_file(folder, "r000hs/result.json",
		  "{\"state\": \"finished\", \"exit\": {\"code\": 3}}");
	make_folder(folder, "empty");
	make_folder(folder, "other");
	make_file(folder, "other/file", "");
	make_folder(folder, "damaged");
	make_file(folder, "damaged/result.json", "{");
	make_folder(folder, ".hidden");
	make_file(folder, ".hidden/result.json", "{}");
	assert_int_equal(st_catalog_open(&catalog, folder, &err), ST_OK);
	assert_int_equal(catalog.count,
			 3); /* the two, and the empty folder that waits for a result */
	st_secret_digest("r000hs", id, ST_ENTRY_ID - 1);
	entry = st_catalog_find(&catalog, id);
	assert_non_null(entry);
	assert_string_equal(entry->exit, "3");
	assert_null(st_catalog_find(&catalog, "0123456789abcdef"));
	assert_false(st_catalog_scan(&catalog)); /* nothing has changed */
	make_file(folder, "r000hs/trace.000.strata", "more");
	assert_true(st_catalog_scan(&catalog));
	entry = st_catalog_find(&catalog, id);
	/* What is derived from the data does not make it other data. */
	char before[17];

	memcpy(before, entry->generation, sizeof(before));
	make_file(folder, "r000hs/index.strata", "index");
	st_catalog_scan(&catalog);
	assert_string_equal(st_catalog_find(&catalog, id)->generation, before);
	assert_int_equal(st_catalog_remove(&catalog, st_catalog_find(&catalog, id), &err), ST_OK);
	assert_true(st_catalog_scan(&catalog));
	assert_null(st_catalog_find(&catalog, id));
	assert_int_equal(st_catalog_restore(&catalog, id, &err), ST_OK);
	assert_non_null(st_catalog_find(&catalog, id));
	assert_int_equal(st_catalog_restore(&catalog, id, &err), ST_ENOTFOUND);
	st_catalog_close(&catalog);
	st_temporary_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_names),
		cmocka_unit_test(test_loopback),
		cmocka_unit_test(test_guard),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_waiting_of_all),
		cmocka_unit_test(test_waiting_of_a_network),
		cmocka_unit_test(test_peers_that_take_long),
		cmocka_unit_test(test_peers_that_are_many),
		cmocka_unit_test(test_cancelled_work_ends_by_itself),
		cmocka_unit_test(test_many_sessions),
		cmocka_unit_test(test_streams_end_with_their_session),
		cmocka_unit_test(test_passphrase),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_catalog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
