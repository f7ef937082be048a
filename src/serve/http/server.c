/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts the parts together, runs the loop until a signal ends it, and takes them apart again.
 */
#include "serve/http/server.h"

#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "serve/http/browser.h"
#include "serve/http/collections.h"
#include "serve/http/events.h"
#include "serve/http/imports.h"
#include "serve/http/listen.h"
#include "serve/http/mhd.h"
#include "serve/http/tls.h"

enum {
	LOOK_MS = 1000,	  /* how often the list is looked at while somebody listens */
	LOOK_FACTOR = 20, /* or less often: by what looking takes */
	KEEP_ALIVE_MS = 15000,
	FAREWELL_ROUNDS = 8, /* for replies that are under way when we end */
	LINE_MAX_BYTES = 1024,
	TWINS_MAX = 4,
};

/* Everything of one run. */
struct run {
	struct st_server server;
	struct st_mhd *mhd;
	struct st_tls *tls;
	int private_fd;
	uint16_t port;
	struct st_timer look, keep_alive;
	struct st_watch keys;
	char address[ST_GUARD_NAME_MAX + 64]; /* of the page, without token */
	char opened[300];		      /* what led a browser to it; "": nothing */
	char opened_token[ST_SECRET_HEX];     /* that is in there */
};

static void look(void *arg)
{
	struct run *run = arg;
	struct st_server *server = &run->server;
	int64_t begin = st_loop_now_ms(), took;

	if (st_events_has_streams(server->events) && st_catalog_scan(&server->catalog))
		st_events_send(server->events, "results", "{}", 2);
	took = st_loop_now_ms() - begin;
	st_loop_at(server->loop, &run->look, begin + took + LOOK_MS + LOOK_FACTOR * took);
}

static void session_ended(void *arg, const struct st_session *session)
{
	struct run *run = arg;

	st_events_end_of(run->server.events, session);
}

static void keep_alive(void *arg)
{
	struct run *run = arg;

	st_sessions_expire(&run->server.sessions, st_loop_now_ms());
	st_events_keep_alive(run->server.events);
	st_loop_at(run->server.loop, &run->keep_alive, st_loop_now_ms() + KEEP_ALIVE_MS);
}

static void job_changed(void *arg, const struct st_job *job)
{
	struct run *run = arg;
	struct st_buf text;

	if (!st_events_has_streams(run->server.events))
		return;
	st_buf_init(&text, 4096);
	st_job_write(job, &text);
	if (!text.failed)
		st_events_send(run->server.events, "job", (const char *)text.data, text.size_bytes);
	st_buf_fini(&text);
}

/* Opens what was printed in a browser. */
static void open_browser(struct run *run, const char *address)
{
	struct st_server *server = &run->server;
	struct st_error err = {0};
	char line[LINE_MAX_BYTES];

	snprintf(run->opened, sizeof(run->opened), "%s/open.html", st_pool_folder(server->pool));
	memcpy(run->opened_token, server->sessions.token, sizeof(run->opened_token));
	if (!st_browser_open(server->loop, run->opened, address, &err))
		return;
	snprintf(line, sizeof(line), "no browser was opened: %s; open the address yourself",
		 err.text);
	server->config.say(line);
}

/* What led the browser here is of no use once its token was used or replaced. */
static void forget_opened(struct run *run)
{
	if (!run->opened[0] || strcmp(run->opened_token, run->server.sessions.token) == 0)
		return;
	unlink(run->opened);
	run->opened[0] = '\0';
}

/* The address, and the secret that opens it once. */
static void print_address(struct run *run, bool opens)
{
	const struct st_sessions *sessions = &run->server.sessions;
	bool has_token = !sessions->wants_passphrase || !sessions->passphrase_hash[0];
	char line[LINE_MAX_BYTES];

	snprintf(line, sizeof(line), "%s/%s%s", run->address, has_token ? "#token=" : "",
		 has_token ? sessions->token : "");
	run->server.config.print(line);
	if (opens)
		open_browser(run, line);
}

static void renew(struct run *run)
{
	if (st_sessions_renew_token(&run->server.sessions, st_loop_now_ms()))
		print_address(run, false);
}

/* Enter asks for a fresh address. */
static void on_keys(void *arg, uint32_t events)
{
	struct run *run = arg;
	char typed[256];
	ssize_t got = read(STDIN_FILENO, typed, sizeof(typed));

	(void)events;
	if (got <= 0) {
		st_loop_forget(run->server.loop, &run->keys);
		run->keys.fd = -1;
		return;
	}
	renew(run);
}

static enum st_status prepare_remote(struct run *run, struct st_error *err)
{
	const struct st_serve_config *config = &run->server.config;
	struct st_guard *guard = &run->server.guard;
	const char *names[ST_GUARD_NAMES_MAX + 2];
	char path[4096], line[LINE_MAX_BYTES];
	enum st_status status = ST_OK;
	size_t count = 0;

	run->private_fd = st_private_folder(path, sizeof(path), err);
	if (run->private_fd < 0)
		return err->status;
	if (config->resets_passphrase)
		st_passphrase_forget(run->private_fd);
	st_listen_names(guard);
	run->tls = calloc(1, sizeof(*run->tls));
	if (!run->tls)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	names[count++] = "localhost";
	for (size_t i = 0; i < guard->name_count; i++)
		names[count++] = guard->names[i];
	if (config->certificate)
		status = st_tls_read(run->tls, config->certificate, config->key, err);
	else
		status = st_tls_own(run->tls, run->private_fd, names, count, err);
	if (status && !config->certificate) {
		struct st_error why = *err;

		return st_error_set(err, status, 0, "%.200s: %.250s", path, why.text);
	}
	if (!status && !config->certificate) {
		config->say("the certificate is self-signed: a browser asks once whether to trust "
			    "it; its SHA-256 is");
		snprintf(line, sizeof(line), "  %s", run->tls->print);
		config->say(line);
	}
	return status;
}

static void find_address(struct run *run)
{
	const struct st_serve_config *config = &run->server.config;
	char name[ST_GUARD_NAME_MAX] = "localhost";

	if (config->base_url) {
		snprintf(run->address, sizeof(run->address), "%s", config->base_url);
		while (run->address[0] && run->address[strlen(run->address) - 1] == '/')
			run->address[strlen(run->address) - 1] = '\0';
		return;
	}
	if (config->remote && gethostname(name, sizeof(name)))
		snprintf(name, sizeof(name), "localhost");
	snprintf(run->address, sizeof(run->address), "%s://%s:%u",
		 config->remote ? "https" : "http", config->remote ? name : "127.0.0.1", run->port);
}

/* As many as can do something at once; a machine with very many has no need of that many. */
static unsigned int usable_cpus(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return count < TWINS_MAX ? (unsigned int)count : TWINS_MAX;
}

static enum st_status create_parts(struct run *run, struct st_error *err)
{
	struct st_server *server = &run->server;
	const struct st_serve_config *config = &server->config;
	const struct st_pool_config pool = {.loop = server->loop,
					    .source_dirs = config->source_dirs,
					    .workers_max = config->workers_max,
					    .twins_max = usable_cpus(),
					    .changed = job_changed,
					    .arg = run};
	enum st_status status;

	server->guard.is_remote = config->remote;
	if (config->base_url && !st_guard_set_base(&server->guard, config->base_url))
		return st_error_set(err, ST_EUSAGE, 0,
				    "--base-url: expected an address such as "
				    "https://host.example:8443, not '%.200s'",
				    config->base_url);
	status = config->remote ? prepare_remote(run, err) : ST_OK;
	if (!status)
		status = st_sessions_init(&server->sessions, run->private_fd, config->token_life_ms,
					  st_loop_now_ms(), err);
	if (!status)
		status = st_pool_create(&server->pool, &pool, err);
	if (!status)
		status = st_imports_create(&server->imports, server, err);
	server->import_turns =
		(struct st_turns){.at_once = ST_IMPORTS_AT_ONCE, .waiting_max = ST_IMPORTS_WAITING};
	server->events = st_events_create();
	server->sessions.ended = session_ended;
	server->sessions.ended_arg = run;
	server->collections = st_collections_create(server);
	if (!status && (!server->events || !server->collections))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory");
	return status;
}

static enum st_status start(struct run *run, struct st_error *err)
{
	struct st_server *server = &run->server;
	enum st_status status = st_loop_create(&server->loop, err);
	int listen_fd;

	if (!status)
		status = st_catalog_open(&server->catalog, server->config.data_directory, err);
	if (!status)
		status = create_parts(run, err);
	if (status)
		return status;
	run->port = server->config.port;
	listen_fd = st_listen(server->config.remote, &run->port, err);
	if (listen_fd < 0)
		return err->status;
	status =
		st_mhd_create(&run->mhd, server, listen_fd, run->tls ? run->tls->certificate : NULL,
			      run->tls ? run->tls->key : NULL, err);
	if (status)
		return status;
	run->look = (struct st_timer){.due = look, .arg = run};
	run->keep_alive = (struct st_timer){.due = keep_alive, .arg = run};
	look(run);
	keep_alive(run);
	run->keys = (struct st_watch){.fd = STDIN_FILENO, .ready = on_keys, .arg = run};
	if (!isatty(STDIN_FILENO) || !st_loop_watch(server->loop, &run->keys, EPOLLIN))
		run->keys.fd = -1;
	return ST_OK;
}

static void serve(struct run *run)
{
	struct st_server *server = &run->server;
	int64_t wait_ms = 0;

	find_address(run);
	print_address(run, server->config.opens_browser);
	while (!st_loop_ended_by(server->loop)) {
		st_loop_round(server->loop, wait_ms);
		if (st_loop_take_nudge(server->loop))
			renew(run);
		wait_ms = st_mhd_run(run->mhd);
		forget_opened(run);
	}
}

/* Whoever waits is told that we end, and replies that are under way are sent as far as that does not wait. */
static void end(struct run *run)
{
	struct st_server *server = &run->server;

	server->is_ending = true;
	server->import_turns.at_once = 0;
	st_pool_destroy(server->pool);
	server->pool = NULL;
	if (run->mhd) {
		st_events_end(server->events);
		for (int i = 0; i < FAREWELL_ROUNDS; i++)
			st_mhd_run(run->mhd);
		st_mhd_destroy(run->mhd);
	}
	st_imports_destroy(server->imports);
	st_collections_destroy(server->collections);
	st_events_destroy(server->events);
	st_catalog_close(&server->catalog);
	st_loop_destroy(server->loop);
	if (run->private_fd >= 0)
		close(run->private_fd);
	free(run->tls);
}

enum st_status st_server_run(const struct st_serve_config *config, struct st_error *err)
{
	struct run *run = calloc(1, sizeof(*run));
	enum st_status status;

	if (!run)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	run->server.config = *config;
	run->server.catalog.root_fd = -1;
	run->private_fd = -1;
	run->keys.fd = -1;
	gnutls_global_init();
	status = start(run, err);
	if (!status)
		serve(run);
	end(run);
	free(run);
	return status;
}
