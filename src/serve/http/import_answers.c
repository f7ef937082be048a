/* SPDX-License-Identifier: Apache-2.0
 *
 * What is brought into the data directory: a trace that becomes a result of its own, and the sample traces that are part
 * of the program.
 */
#include "serve/http/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_out.h"
#include "serve/beneath.h"
#include "serve/http/capture.h"
#include "serve/http/events.h"
#include "serve/http/imports.h"
#include "serve/http/sample_traces.h"
#include "serve/http/secret.h"
#include "serve/http/server.h"
#include "serve/http/temporary.h"

static const char samples_folder[] = "samples";

/* An import that a job waits for. */
struct bringing {
	struct st_server *server;
	struct st_turn_place turn;
	struct st_capture *capture;
	char job_id[ST_JOB_ID];
	char trace[ST_ENTRY_ID];
	char path[ST_ENTRY_PATH]; /* of the result, below the data directory */
	char incoming[4200];	  /* folder that it is written in first; "": none */
	int lock_fd;		  /* of it */
};

static void announce(struct st_server *server)
{
	st_catalog_scan(&server->catalog);
	st_events_send(server->events, "results", "{}", 2);
}

static void reply_id(struct st_web_reply *reply, const char *path)
{
	char id[ST_ENTRY_ID];
	struct st_json json;

	st_secret_digest(path, id, ST_ENTRY_ID - 1);
	st_json_init(&json, &reply->body);
	st_json_object_begin(&json);
	st_json_put_text(&json, "id", id);
	st_json_object_end(&json);
	st_buf_append_u8(&reply->body, '\n');
}

static void free_bringing(struct bringing *bringing)
{
	st_capture_end(bringing->capture);
	/* What its process writes until it has ended, the next server removes. */
	st_temporary_remove(bringing->incoming);
	if (bringing->lock_fd >= 0)
		close(bringing->lock_fd);
	st_turns_give_back(&bringing->server->import_turns, &bringing->turn);
	free(bringing);
}

/* Moves what is whole to its place, beside the trace. */
static enum st_status settle(struct bringing *bringing, struct st_error *err)
{
	struct st_catalog *catalog = &bringing->server->catalog;
	const struct st_entry *entry = st_catalog_find(catalog, bringing->trace);
	char from[sizeof(bringing->incoming) + 4];

	if (!entry)
		return st_error_set(err, ST_ENOTFOUND, 0, "the trace is gone");
	if (st_catalog_free_place(catalog, entry, bringing->path, err))
		return err->status;
	snprintf(from, sizeof(from), "%s/r", bringing->incoming);
	/* No folder with something in it is replaced by another. */
	if (renameat(AT_FDCWD, from, catalog->root_fd, bringing->path))
		return st_error_set(err, ST_EIO, errno, "%.200s cannot be created", bringing->path);
	return ST_OK;
}

static void brought(void *arg, const struct st_captured *captured)
{
	struct bringing *bringing = arg;
	struct st_job *job = st_pool_find(bringing->server->pool, bringing->job_id);
	struct st_web_reply reply;
	struct st_error err = {0};
	char text[400];

	st_reply_init(&reply);
	if (captured->is_ok && settle(bringing, &err)) {
		st_reply_error(&reply, &err);
	} else if (captured->is_ok) {
		reply_id(&reply, bringing->path);
		announce(bringing->server);
	} else {
		st_last_line(&captured->err, text, sizeof(text));
		st_reply_problem(&reply, 422, "import",
				 text[0] ? text : "strata import has ended without a word", NULL);
	}
	bringing->capture = NULL;
	if (job)
		st_job_finish(job, &reply);
	st_reply_fini(&reply);
	free_bringing(bringing);
}

static void give_up(void *arg)
{
	free_bringing(arg);
}

static bool start(struct bringing *bringing, struct st_error *err)
{
	struct st_server *server = bringing->server;
	const struct st_entry *entry = st_catalog_find(&server->catalog, bringing->trace);
	char file[ST_ENTRY_PATH + 4200], place[sizeof(bringing->incoming) + 4];
	const char *argv[] = {server->config.program, "import", file, "-r", place, "-quiet", NULL};

	if (!entry) {
		st_error_set(err, ST_ENOTFOUND, 0, "the trace is gone");
		return false;
	}
	snprintf(bringing->incoming, sizeof(bringing->incoming), "%s/" ST_INCOMING_PREFIX "XXXXXX",
		 server->catalog.root);
	if (!st_temporary_hold(bringing->incoming, &bringing->lock_fd)) {
		st_error_set(err, ST_EIO, errno, "%.200s: no folder can be created",
			     server->catalog.root);
		bringing->incoming[0] = '\0';
		return false;
	}
	snprintf(file, sizeof(file), "%s/%s", server->catalog.root, entry->path);
	snprintf(place, sizeof(place), "%s/r", bringing->incoming);
	bringing->capture = st_capture_start(server->loop, argv, brought, bringing, err);
	return bringing->capture != NULL;
}

/* Its turn has come. */
static void begin(void *arg)
{
	struct bringing *bringing = arg;
	struct st_job *job = st_pool_find(bringing->server->pool, bringing->job_id);
	struct st_web_reply reply;
	struct st_error err = {0};

	if (start(bringing, &err)) {
		st_import_say(job, false);
		return;
	}
	st_reply_init(&reply);
	st_reply_error(&reply, &err);
	st_job_finish(job, &reply);
	free_bringing(bringing);
}

void st_post_import(struct st_exchange *exchange, const struct st_route_parts *parts,
		    const json_object *body)
{
	struct st_server *server = exchange->server;
	const struct st_entry *entry = st_catalog_find(&server->catalog, parts->texts[0]);
	struct bringing *bringing;
	struct st_job *job;

	(void)body;
	if (!entry || !entry->is_trace) {
		st_exchange_fail(exchange, 404, "result", "There is no such trace.",
				 "Only traces of other profilers are imported.");
		return;
	}
	bringing = calloc(1, sizeof(*bringing));
	job = bringing ? st_pool_begin(server->pool, "importing the trace") : NULL;
	if (!job) {
		free(bringing);
		st_exchange_fail(exchange, 503, "busy", "Too many requests are waiting.",
				 "Try again in a moment.");
		return;
	}
	bringing->server = server;
	bringing->lock_fd = -1;
	bringing->turn = (struct st_turn_place){.begin = begin, .arg = bringing};
	snprintf(bringing->trace, sizeof(bringing->trace), "%s", entry->id);
	memcpy(bringing->job_id, st_job_id(job), sizeof(bringing->job_id));
	st_job_on_cancel(job, give_up, bringing);
	st_import_say(job, true);
	if (st_turns_take(&server->import_turns, &bringing->turn)) {
		st_exchange_follow(exchange, job, st_quick_ms(), true);
		return;
	}
	st_job_cancel(job);
	st_import_refuse(&exchange->reply);
	st_exchange_ready(exchange);
}

static bool write_all(int fd, const unsigned char *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(fd, bytes, size);

		if (done <= 0)
			return false;
		bytes += done;
		size -= (size_t)done;
	}
	return true;
}

/* One that is there already stays as it is. */
static enum st_status write_sample(int folder_fd, const struct st_sample *sample,
				   struct st_error *err)
{
	int fd = openat(folder_fd, sample->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	bool is_whole;

	if (fd < 0 && errno == EEXIST)
		return ST_OK;
	is_whole = fd >= 0 && write_all(fd, sample->bytes, *sample->size_bytes);
	if (!is_whole)
		st_error_set(err, ST_EIO, errno, "the sample '%s' cannot be written", sample->name);
	if (fd >= 0 && close(fd) && is_whole)
		is_whole = !st_error_set(err, ST_EIO, errno, "the sample '%s'", sample->name);
	if (!is_whole && fd >= 0)
		unlinkat(folder_fd, sample->name, 0);
	return is_whole ? ST_OK : ST_EIO;
}

static void reply_samples(struct st_exchange *exchange)
{
	struct st_json json;

	st_json_init(&json, &exchange->reply.body);
	st_json_object_begin(&json);
	st_json_put_text(&json, "project", samples_folder);
	st_json_put_array(&json, "ids");
	for (const struct st_sample *sample = st_samples; sample->name; sample++) {
		char path[ST_ENTRY_PATH], id[ST_ENTRY_ID];

		snprintf(path, sizeof(path), "%s/%s", samples_folder, sample->name);
		st_secret_digest(path, id, ST_ENTRY_ID - 1);
		st_json_text(&json, id);
	}
	st_json_array_end(&json);
	st_json_object_end(&json);
	st_buf_append_u8(&exchange->reply.body, '\n');
	announce(exchange->server);
	st_exchange_ready(exchange);
}

void st_post_samples(struct st_exchange *exchange, const struct st_route_parts *parts,
		     const json_object *body)
{
	int root_fd = exchange->server->catalog.root_fd, fd;
	enum st_status status = ST_OK;
	struct st_error err = {0};

	(void)parts;
	(void)body;
	mkdirat(root_fd, samples_folder, 0777);
	fd = st_beneath_open(root_fd, samples_folder, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		status = st_error_set(&err, ST_EIO, errno, "the folder '%s' cannot be used",
				      samples_folder);
	for (const struct st_sample *sample = st_samples; !status && sample->name; sample++)
		status = write_sample(fd, sample, &err);
	if (fd >= 0)
		close(fd);
	if (status)
		st_exchange_error(exchange, &err);
	else
		reply_samples(exchange);
}
