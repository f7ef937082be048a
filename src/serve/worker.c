/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of a worker: open, then answer until the server hangs up.
 */
#include "serve/worker.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json_out.h"
#include "resolve/functions.h"
#include "serve/beneath.h"
#include "serve/frame.h"
#include "serve/verbs.h"
#include "store/result.h"

enum {
	JSON_DEPTH = 16,
	INLINE_MAX_BYTES = 256 << 10, /* larger answers travel as a file */
	PROGRESS_NS = 50000000,
	OOM_SCORE = 500,
};

struct worker {
	struct st_verb_call call;
	const char **paths;
	const char **sources;
	uint32_t count; /* of results */
	int64_t said_ns;
};

bool st_worker_is_asked(int argc, char **argv)
{
	return argc > 3 && strcmp(argv[1], "-serve-worker") == 0;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Often enough to be looked at, seldom enough to cost nothing. */
static void say_progress(void *arg, double fraction, const char *what)
{
	struct worker *worker = arg;
	int64_t now = now_ns();
	struct st_json json;
	struct st_buf text;

	if (now - worker->said_ns < PROGRESS_NS)
		return;
	worker->said_ns = now;
	st_buf_init(&text, 4096);
	st_json_init(&json, &text);
	st_json_object_begin(&json);
	st_json_key(&json, "fraction");
	st_json_double(&json, fraction);
	st_json_put_text(&json, "what", what);
	st_json_object_end(&json);
	if (!text.failed)
		st_frame_send(ST_WORKER_SOCKET, ST_FRAME_PROGRESS, text.data, text.size_bytes, -1);
	st_buf_fini(&text);
}

/* NULL: not one JSON object and nothing else. */
static json_object *parse_object(const char *json, struct st_error *err)
{
	json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
	json_object *object = NULL;
	size_t size = strlen(json);

	if (tokener) {
		json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
		object = json_tokener_parse_ex(tokener, json, (int)size + 1);
		if (json_tokener_get_error(tokener) != json_tokener_success) {
			json_object_put(object);
			object = NULL;
		}
		json_tokener_free(tokener);
	}
	if (json_object_is_type(object, json_type_object))
		return object;
	json_object_put(object);
	st_error_set(err, ST_EUSAGE, 0, "the body of the request is not a JSON object");
	return NULL;
}

enum st_status st_worker_answer(struct st_verb_call *call, const char *verb, const char *json,
				struct st_error *err)
{
	const struct st_serve_verb *row = st_serve_verb_find(verb);
	json_object *ask;
	enum st_status status;

	call->file_fd = -1;
	call->file_name[0] = '\0';
	call->media_type = "application/json";
	if (!row)
		return st_error_set(err, ST_ENOTFOUND, 0, "there is no verb '%.60s'", verb);
	if (call->counts[1] && !row->compares)
		return st_error_set(err, ST_EUSAGE, 0, "'%s' is about one result", verb);
	ask = parse_object(json, err);
	if (!ask)
		return err->status;
	call->ask = ask;
	status = row->answer(call, err);
	if (!status && call->out->failed)
		status = st_error_set(err, ST_ENOMEM, 0, "the answer is too large");
	json_object_put(ask);
	return status;
}

static bool send_error(const struct st_error *err)
{
	struct st_buf text;
	bool sent;

	st_buf_init(&text, sizeof(err->text) + 64);
	st_buf_append_u32(&text, (uint32_t)err->status);
	st_buf_append_text(&text, err->text);
	sent = st_frame_send(ST_WORKER_SOCKET, ST_FRAME_ERROR, text.data, text.size_bytes, -1);
	st_buf_fini(&text);
	return sent;
}

/* The body in a file that has no name. */
static int body_file(const struct st_buf *body)
{
	int fd = memfd_create("answer", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < body->size_bytes) {
		ssize_t wrote = write(fd, body->data + done, body->size_bytes - done);

		if (wrote <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)wrote;
	}
	return fd;
}

static bool send_answer(struct st_verb_call *call)
{
	bool is_large = call->file_fd < 0 && call->out->size_bytes > INLINE_MAX_BYTES;
	struct st_error err = {0};
	struct st_buf head;
	bool sent;

	if (is_large) {
		call->file_fd = body_file(call->out);
		if (call->file_fd < 0) {
			st_error_set(&err, ST_ENOMEM, 0, "out of memory for the answer");
			return send_error(&err);
		}
	}
	st_buf_init(&head, ST_FRAME_MAX_BYTES);
	st_buf_append(&head, call->media_type, strlen(call->media_type) + 1);
	st_buf_append(&head, call->file_name, strlen(call->file_name) + 1);
	if (call->file_fd < 0)
		st_buf_append(&head, call->out->data, call->out->size_bytes);
	sent = !head.failed && st_frame_send(ST_WORKER_SOCKET, ST_FRAME_ANSWER, head.data,
					     head.size_bytes, call->file_fd);
	if (call->file_fd >= 0)
		close(call->file_fd);
	st_buf_fini(&head);
	return sent;
}

static bool serve_one(struct worker *worker, struct st_frame_in *in)
{
	struct st_error err = {0};
	struct st_buf out;
	const char *verb = (const char *)in->payload.data;
	const char *json;
	bool sent;

	st_buf_append_u8(&in->payload, '\0');
	if (in->payload.failed || st_frame_in_kind(in) != ST_FRAME_REQUEST)
		return false;
	/* A request without a body has its own end right behind the verb. */
	json = strlen(verb) + 1 < in->payload.size_bytes ? verb + strlen(verb) + 1 : "";
	st_buf_init(&out, SIZE_MAX / 4);
	worker->call.out = &out;
	sent = st_worker_answer(&worker->call, verb, json, &err) ? send_error(&err)
								 : send_answer(&worker->call);
	st_buf_fini(&out);
	worker->call.out = NULL;
	return sent;
}

static enum st_status open_result(struct worker *worker, uint32_t index, struct st_error *err)
{
	const struct st_result_options options = {.progress = say_progress, .progress_arg = worker};
	const char *path = worker->paths[index];
	int fd = st_beneath_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	bool plain = fd >= 0 && st_beneath_is_plain(fd);
	enum st_status status;

	if (fd >= 0)
		close(fd);
	if (fd < 0)
		return st_error_set(err, ST_ENOTFOUND, 0, "%s: no such result folder", path);
	if (!plain)
		return st_error_set(err, ST_ECORRUPT, 0,
				    "%s holds a link, which no result does; it is not "
				    "opened",
				    path);
	status = st_result_open(&worker->call.results[index], path, &options, err);
	if (!status)
		st_resolve_functions(worker->call.results[index]);
	return status;
}

static enum st_status open_all(struct worker *worker, struct st_error *err)
{
	enum st_status status = ST_OK;

	worker->call.results = calloc(worker->count, sizeof(*worker->call.results));
	worker->call.kept = st_serve_kept_create();
	if (!worker->call.results || !worker->call.kept)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	for (uint32_t i = 0; i < worker->count && !status; i++)
		status = open_result(worker, i, err);
	worker->call.result = worker->call.results[0];
	worker->call.paths = worker->paths;
	worker->call.source_dirs = worker->sources;
	worker->call.progress = say_progress;
	worker->call.progress_arg = worker;
	return status;
}

static void close_all(struct worker *worker)
{
	st_serve_kept_destroy(worker->call.kept);
	for (uint32_t i = 0; worker->call.results && i < worker->count; i++)
		st_result_close(worker->call.results[i]);
	free(worker->call.results);
	free(worker->paths);
	free(worker->sources);
}

/* The paths and folders among the arguments. */
static bool read_arguments(struct worker *worker, int argc, char **argv)
{
	int at = 3;
	long first = strtol(argv[2], NULL, 10);
	size_t sources = 0;

	worker->paths = calloc((size_t)argc + 1, sizeof(*worker->paths));
	worker->sources = calloc((size_t)argc + 1, sizeof(*worker->sources));
	if (!worker->paths || !worker->sources)
		return false;
	for (; at + 1 < argc && strcmp(argv[at], "-source") == 0; at += 2)
		worker->sources[sources++] = argv[at + 1];
	at += at < argc && strcmp(argv[at], "--") == 0;
	for (; at < argc; at++)
		worker->paths[worker->count++] = argv[at];
	if (first < 1 || (unsigned long)first > worker->count)
		return false;
	worker->call.counts[0] = (uint32_t)first;
	worker->call.counts[1] = worker->count - (uint32_t)first;
	return true;
}

/* When memory is short, a worker goes rather than the server, or the program that is being profiled. */
static void offer_to_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "%d", OOM_SCORE);
	close(fd);
}

int st_worker_run(int argc, char **argv)
{
	struct worker worker = {0};
	struct st_error err = {0};
	struct st_frame_in in;

	/* A server that is killed takes its workers along; a full disk is an error, not the end. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGXFSZ, SIG_IGN);
	offer_to_oom();
	st_frame_in_init(&in);
	if (!read_arguments(&worker, argc, argv)) {
		fprintf(stderr, "strata: -serve-worker is started by strata serve\n");
	} else if (open_all(&worker, &err)) {
		send_error(&err);
	} else if (st_frame_send(ST_WORKER_SOCKET, ST_FRAME_OPENED, NULL, 0, -1)) {
		while (st_frame_in_read(&in, ST_WORKER_SOCKET) == ST_FRAME_WHOLE &&
		       serve_one(&worker, &in))
			st_frame_in_next(&in);
	}
	st_frame_in_fini(&in);
	close_all(&worker);
	return 0;
}
