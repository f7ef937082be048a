/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers: started on demand, replaced when the result has changed, ended when they are in the way.
 */
#include "serve/http/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/http/pool_parts.h"
#include "serve/http/temporary.h"

enum {
	GIVE_UP_MS = 200,      /* for a request that was cancelled, to come to its end */
	IDLE_MS = 600000,      /* an unused worker gives its memory back */
	TWIN_IDLE_MS = 30000,  /* one of several of a result sooner */
	TWIN_RETRY_MS = 60000, /* after one that could not open what others have open */
	WAITING_TOO_LONG = 2,  /* requests that make another worker worth it */
	LIVE_MS = 1000,	       /* a result that grows is opened anew at most so often */
	LIVE_FACTOR = 5,       /* or less often: by what opening it takes */
	ARGUMENTS_MAX = 256,
};

enum st_status st_pool_create(struct st_pool **out, const struct st_pool_config *config,
			      struct st_error *err)
{
	struct st_pool *pool = calloc(1, sizeof(*pool));
	enum st_status status;

	*out = NULL;
	if (!pool)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	pool->config = *config;
	status = st_temporary_make(pool->temporary, sizeof(pool->temporary), &pool->lock_fd, err);
	if (status) {
		free(pool);
		return status;
	}
	*out = pool;
	return ST_OK;
}

void st_pool_destroy(struct st_pool *pool)
{
	if (!pool)
		return;
	pool->config.workers_max = 0; /* none is started any more */
	while (pool->jobs)
		st_job_cancel(pool->jobs);
	while (pool->workers)
		st_worker_end(pool->workers);
	st_temporary_remove(pool->temporary);
	close(pool->lock_fd);
	free(pool);
}

const char *st_pool_folder(const struct st_pool *pool)
{
	return pool->temporary;
}

static void free_worker(struct st_worker *worker)
{
	struct st_pool *pool = worker->pool;
	struct st_worker **at = &pool->workers;

	while (*at != worker)
		at = &(*at)->next;
	*at = worker->next;
	pool->worker_count--;
	st_loop_cancel(pool->config.loop, &worker->idle);
	st_loop_forget(pool->config.loop, &worker->watch);
	if (worker->watch.fd >= 0)
		close(worker->watch.fd);
	st_frame_in_fini(&worker->in);
	st_temporary_remove(worker->temporary);
	free(worker->key);
	free(worker);
}

void st_worker_end(struct st_worker *worker)
{
	if (worker->child.pid) {
		kill(worker->child.pid, SIGKILL);
		st_loop_abandon(worker->pool->config.loop, &worker->child);
	}
	worker->job = NULL;
	free_worker(worker);
}

void st_worker_give_up(struct st_worker *worker)
{
	worker->job = NULL;
	/* Most requests are a few milliseconds: opening the result anew would take longer, and all that it keeps would be
	 * lost. */
	st_loop_at(worker->pool->config.loop, &worker->idle, st_loop_now_ms() + GIVE_UP_MS);
}

/* Another worker of the same result and lane; NULL: none. */
static struct st_worker *twin_of(const struct st_worker *worker)
{
	for (struct st_worker *other = worker->pool->workers; other; other = other->next)
		if (other != worker && !other->is_silent && strcmp(other->key, worker->key) == 0)
			return other;
	return NULL;
}

/* What was asked of it fails; when it could not even open the result, so does all that waits for it. */
static void fail_jobs(struct st_worker *worker, struct st_web_reply *reply)
{
	struct st_pool *pool = worker->pool;
	struct st_job *job = worker->job;

	worker->job = NULL;
	if (job) {
		st_job_finish(job, reply);
		return;
	}
	if (worker->state != ST_WORKER_OPENING)
		return;
	if (twin_of(worker)) {
		pool->twins_from_ms = st_loop_now_ms() + TWIN_RETRY_MS;
		return;
	}
	for (job = pool->jobs; job;) {
		struct st_web_reply copy;

		if (job->state != ST_JOB_QUEUED || strcmp(job->key, worker->key) != 0) {
			job = job->next;
			continue;
		}
		st_reply_init(&copy);
		copy.status = reply->status;
		copy.media_type = reply->media_type;
		st_buf_append(&copy.body, reply->body.data, reply->body.size_bytes);
		st_job_finish(job, &copy);
		job = pool->jobs; /* whoever waited may have taken some */
	}
}

/* It was not used for long, or goes on with what nobody waits for any more. */
static void idle_long(void *arg)
{
	struct st_worker *worker = arg;
	struct st_pool *pool = worker->pool;

	if (worker->state == ST_WORKER_IDLE || (worker->state == ST_WORKER_BUSY && !worker->job)) {
		st_worker_end(worker);
		st_pool_dispatch(pool);
	}
}

static void become_idle(struct st_worker *worker)
{
	worker->state = ST_WORKER_IDLE;
	worker->used_ms = st_loop_now_ms();
	st_loop_at(worker->pool->config.loop, &worker->idle,
		   worker->used_ms + (twin_of(worker) ? TWIN_IDLE_MS : IDLE_MS));
}

/* media type, NUL, file name, NUL, body. False: not of that form. */
static bool take_answer(struct st_worker *worker, struct st_web_reply *reply)
{
	static const char *const types[] = {
		"application/json",	    "application/vnd.strata.tiles",
		"text/csv; charset=utf-8",  "text/plain; charset=utf-8",
		"text/html; charset=utf-8", "image/svg+xml",
		"application/gzip"};
	const char *at = (const char *)worker->in.payload.data;
	size_t left = worker->in.payload.size_bytes, size = strnlen(at, left);

	if (size == left)
		return false;
	reply->media_type = "application/octet-stream";
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i], at) == 0)
			reply->media_type = types[i];
	at += size + 1;
	left -= size + 1;
	size = strnlen(at, left);
	if (size == left || size >= sizeof(reply->file_name) || strpbrk(at, "\"\\\r\n"))
		return false;
	memcpy(reply->file_name, at, size + 1);
	reply->file_fd = worker->in.fd;
	worker->in.fd = -1;
	return st_buf_append(&reply->body, at + size + 1, left - size - 1);
}

static void take_error(struct st_worker *worker, struct st_web_reply *reply)
{
	struct st_error err = {0};
	const struct st_buf *payload = &worker->in.payload;
	size_t size = payload->size_bytes < 4 ? 0 : payload->size_bytes - 4;
	uint32_t status = ST_EIO;

	if (payload->size_bytes >= 4)
		memcpy(&status, payload->data, 4);
	err.status = (enum st_status)status;
	snprintf(err.text, sizeof(err.text), "%.*s", (int)size,
		 size ? (const char *)payload->data + 4 : "");
	st_reply_error(reply, &err);
}

static void take_progress(struct st_worker *worker)
{
	struct st_pool *pool = worker->pool;
	const char *text, *what;
	double fraction = 0;
	char words[64] = "";

	st_buf_append_u8(&worker->in.payload, '\0');
	text = (const char *)worker->in.payload.data;
	if (worker->in.payload.failed || strncmp(text, "{\"fraction\":", 12) != 0)
		return;
	fraction = strtod(text + 12, NULL);
	what = strstr(text, "\"what\":\"");
	if (what)
		snprintf(words, sizeof(words), "%.*s", (int)strcspn(what + 8, "\""), what + 8);
	if (worker->job) {
		st_job_progress(worker->job, fraction, words);
		return;
	}
	if (twin_of(worker))
		return; /* what waits may be answered by that one before this one is open */
	for (struct st_job *job = pool->jobs; job; job = job->next)
		if (job->state == ST_JOB_QUEUED && strcmp(job->key, worker->key) == 0)
			st_job_progress(job, fraction, words);
}

/* Whether the worker is still there afterwards. */
static bool take_message(struct st_worker *worker)
{
	struct st_job *job = worker->job;
	struct st_web_reply reply;
	bool stays = true;

	st_reply_init(&reply);
	switch (st_frame_in_kind(&worker->in)) {
	case ST_FRAME_PROGRESS:
		take_progress(worker);
		break;
	case ST_FRAME_OPENED:
		worker->opened_ms = st_loop_now_ms();
		become_idle(worker);
		break;
	case ST_FRAME_ERROR:
		take_error(worker, &reply);
		stays = worker->state == ST_WORKER_BUSY;
		if (stays)
			become_idle(worker);
		fail_jobs(worker, &reply);
		break;
	case ST_FRAME_ANSWER:
		if (!take_answer(worker, &reply))
			st_reply_problem(&reply, 502, "worker", "the worker's answer is damaged",
					 NULL);
		become_idle(worker);
		worker->job = NULL;
		if (job)
			st_job_finish(job, &reply);
		break;
	default:
		stays = false;
	}
	st_reply_fini(&reply);
	if (stays)
		st_frame_in_next(&worker->in);
	return stays;
}

static void read_messages(struct st_worker *worker);

/* Called when the process is gone: what it still said comes first. */
static void on_end(void *arg, int status)
{
	struct st_worker *worker = arg;
	struct st_pool *pool = worker->pool;
	struct st_web_reply reply;
	char text[160];

	if (!worker->is_silent)
		read_messages(worker);
	snprintf(text, sizeof(text), "the process that reads the result has ended");
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text),
			 "the process that reads the result was ended by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	st_reply_init(&reply);
	st_reply_problem(&reply, 502, "worker-ended", text,
			 "Ask again: a new one is started. If it ends again, the result is damaged "
			 "or too large for this machine's memory.");
	fail_jobs(worker, &reply);
	st_reply_fini(&reply);
	st_worker_end(worker);
	st_pool_dispatch(pool);
}

/* Nothing more is expected of it; its end will be told. */
static void silence(struct st_worker *worker)
{
	worker->is_silent = true;
	st_loop_forget(worker->pool->config.loop, &worker->watch);
	if (worker->child.pid)
		kill(worker->child.pid, SIGKILL);
}

static void read_messages(struct st_worker *worker)
{
	enum st_frame_state state;

	while ((state = st_frame_in_read(&worker->in, worker->watch.fd)) == ST_FRAME_WHOLE) {
		if (!take_message(worker)) {
			silence(worker);
			return;
		}
	}
	if (state != ST_FRAME_MORE)
		silence(worker);
}

static void on_message(void *arg, uint32_t events)
{
	struct st_worker *worker = arg;
	struct st_pool *pool = worker->pool;

	(void)events;
	read_messages(worker);
	st_pool_dispatch(pool);
}

/* strata -serve-worker COUNT [-source DIR]... -- PATH... */
static void fill_arguments(const struct st_pool *pool, const struct st_subject *subject,
			   char *count, const char **argv)
{
	uint32_t paths = subject->counts[0] + subject->counts[1];
	size_t at = 0;

	argv[at++] = "/proc/self/exe";
	argv[at++] = "-serve-worker";
	argv[at++] = count;
	for (size_t i = 0; pool->config.source_dirs[i] && at < ARGUMENTS_MAX / 2; i++) {
		argv[at++] = "-source";
		argv[at++] = pool->config.source_dirs[i];
	}
	argv[at++] = "--";
	for (uint32_t i = 0; i < paths; i++)
		argv[at++] = subject->paths[i];
	argv[at] = NULL;
}

static enum st_status spawn(struct st_worker *worker, const struct st_subject *subject, int far_fd,
			    struct st_error *err)
{
	const char *argv[ARGUMENTS_MAX + ST_SUBJECTS_MAX + 8];
	char count[16], temporary[560];
	const char **environment;
	size_t size = 0, at = 0;
	enum st_status status;

	while (environ[size])
		size++;
	environment = calloc(size + 2, sizeof(*environment));
	if (!environment)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	snprintf(temporary, sizeof(temporary), "TMPDIR=%s", worker->temporary);
	environment[at++] = temporary;
	for (size_t i = 0; i < size; i++)
		if (strncmp(environ[i], "TMPDIR=", 7) != 0)
			environment[at++] = environ[i];
	snprintf(count, sizeof(count), "%u", subject->counts[0]);
	fill_arguments(worker->pool, subject, count, argv);
	status = st_loop_spawn(
		worker->pool->config.loop, &worker->child,
		&(struct st_child_start){.argv = (char *const *)(uintptr_t)argv,
					 .environment = (char *const *)(uintptr_t)environment,
					 .folder_fd = subject->folder_fd,
					 .in_fd = -1,
					 .out_fd = -1,
					 .err_fd = -1,
					 .extra_fd = far_fd,
					 .own_group = true},
		err);
	free(environment);
	return status;
}

static struct st_worker *start_worker(struct st_pool *pool, const struct st_job *job,
				      struct st_error *err)
{
	struct st_worker *worker = calloc(1, sizeof(*worker));
	int pair[2] = {-1, -1};
	enum st_status status;

	if (!worker)
		return NULL;
	worker->pool = pool;
	worker->key = strdup(job->key);
	memcpy(worker->generation, job->subject.generation, sizeof(worker->generation));
	worker->is_live = job->subject.is_live;
	worker->started_ms = st_loop_now_ms();
	worker->child = (struct st_child){.ended = on_end, .arg = worker};
	worker->watch = (struct st_watch){.fd = -1, .ready = on_message, .arg = worker};
	worker->idle = (struct st_timer){.due = idle_long, .arg = worker};
	st_frame_in_init(&worker->in);
	snprintf(worker->temporary, sizeof(worker->temporary), "%s/%llu", pool->temporary,
		 (unsigned long long)pool->number++);
	worker->next = pool->workers;
	pool->workers = worker;
	pool->worker_count++;
	status = worker->key ? ST_OK : st_error_set(err, ST_ENOMEM, 0, "out of memory");
	if (!status && (mkdir(worker->temporary, 0700) ||
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)))
		status = st_error_set(err, ST_EIO, errno, "cannot start a worker");
	worker->watch.fd = pair[0];
	if (!status)
		status = spawn(worker, &job->subject, pair[1], err);
	if (pair[1] >= 0)
		close(pair[1]);
	if (!status && (fcntl(pair[0], F_SETFL, O_NONBLOCK) ||
			!st_loop_watch(pool->config.loop, &worker->watch, EPOLLIN)))
		status = st_error_set(err, ST_EIO, errno, "cannot start a worker");
	if (!status)
		return worker;
	st_worker_end(worker);
	return NULL;
}

/* One that is free, else any; NULL: there is none. */
static struct st_worker *find_worker(const struct st_pool *pool, const char *key)
{
	struct st_worker *found = NULL;

	for (struct st_worker *worker = pool->workers; worker; worker = worker->next) {
		if (strcmp(worker->key, key) != 0)
			continue;
		if (worker->state == ST_WORKER_IDLE && !worker->is_silent)
			return worker;
		found = worker;
	}
	return found;
}

/* Whether another worker shall help with what waits for this one. Only for what is quick, where a worker keeps nothing
 * that the next request needs; and not while the data grows, as each would have it as it was when it was opened. */
static bool needs_twin(const struct st_pool *pool, const struct st_job *job)
{
	unsigned int workers = 0, waiting = 0;

	if (job->subject.lane != ST_LANE_QUICK || job->subject.is_live ||
	    pool->worker_count >= pool->config.workers_max ||
	    st_loop_now_ms() < pool->twins_from_ms)
		return false;
	for (const struct st_worker *worker = pool->workers; worker; worker = worker->next) {
		if (strcmp(worker->key, job->key) != 0)
			continue;
		if (worker->state != ST_WORKER_BUSY)
			return false;
		workers++;
	}
	for (const struct st_job *other = pool->jobs; other; other = other->next)
		waiting += other->state == ST_JOB_QUEUED && strcmp(other->key, job->key) == 0;
	return waiting >= WAITING_TOO_LONG && workers < pool->config.twins_max;
}

/* The data has changed since it was opened. One that changes all the time is opened anew only now and then. */
static bool is_stale(const struct st_worker *worker, const struct st_job *job)
{
	int64_t opening_ms = worker->opened_ms - worker->started_ms;
	int64_t life_ms = opening_ms * LIVE_FACTOR > LIVE_MS ? opening_ms * LIVE_FACTOR : LIVE_MS;

	if (worker->state != ST_WORKER_IDLE || worker->is_silent ||
	    strcmp(worker->generation, job->subject.generation) == 0)
		return false;
	return !job->subject.is_live || st_loop_now_ms() - worker->opened_ms > life_ms;
}

/* Whether there is room for one more, perhaps after ending the one that was unused longest. */
static bool make_room(struct st_pool *pool)
{
	struct st_worker *oldest = NULL;

	if (pool->worker_count < pool->config.workers_max)
		return true;
	for (struct st_worker *worker = pool->workers; worker; worker = worker->next)
		if (worker->state == ST_WORKER_IDLE && !worker->is_silent &&
		    (!oldest || worker->used_ms < oldest->used_ms))
			oldest = worker;
	if (!oldest)
		return false;
	st_worker_end(oldest);
	return true;
}

static void give(struct st_worker *worker, struct st_job *job)
{
	worker->state = ST_WORKER_BUSY;
	worker->job = job;
	job->state = ST_JOB_RUNNING;
	/* What it was opened with is what the answer is about. */
	memcpy(job->subject.generation, worker->generation, sizeof(worker->generation));
	snprintf(job->what, sizeof(job->what), "asking");
	job->fraction = 0;
	st_loop_cancel(worker->pool->config.loop, &worker->idle);
	/* It is idle, hence it reads: this does not wait long. One that has half of a request is of no use. */
	if (!st_frame_send(worker->watch.fd, ST_FRAME_REQUEST, job->message.data,
			   job->message.size_bytes, -1))
		silence(worker);
	st_buf_fini(&job->message);
	st_buf_init(&job->message, ST_FRAME_MAX_BYTES);
}

/* False: it has to wait. */
static bool place(struct st_pool *pool, struct st_job *job)
{
	struct st_worker *worker = find_worker(pool, job->key);
	struct st_error err = {0};
	bool has_room = false;

	if (worker && is_stale(worker, job)) {
		st_worker_end(worker);
		worker = NULL;
		has_room = true;
	}
	if (worker && worker->state != ST_WORKER_IDLE && needs_twin(pool, job)) {
		/* It is given something when it is open; if it cannot be started, the others go on. */
		if (!start_worker(pool, job, &err))
			pool->twins_from_ms = st_loop_now_ms() + TWIN_RETRY_MS;
		return false;
	}
	if (!worker) {
		if (!has_room && !make_room(pool))
			return false;
		worker = start_worker(pool, job, &err);
		if (!worker) {
			struct st_web_reply reply;

			st_reply_init(&reply);
			st_reply_error(&reply, &err);
			st_job_finish(job, &reply);
			return true;
		}
	}
	if (worker->state != ST_WORKER_IDLE || worker->is_silent)
		return false;
	give(worker, job);
	return true;
}

void st_pool_dispatch(struct st_pool *pool)
{
	bool again = pool->config.workers_max > 0;

	/* Placing one may finish it, and whoever waited may take it away: from the start again then. */
	while (again) {
		again = false;
		for (struct st_job *job = pool->jobs; job && !again; job = job->next)
			again = job->state == ST_JOB_QUEUED && place(pool, job);
	}
}
