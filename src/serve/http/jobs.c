/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs: from being asked to being fetched, cancelled or forgotten.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "serve/http/pool_parts.h"
#include "serve/http/secret.h"

/* An answer that nobody fetches, and work that nobody asks about any more. */
enum { FORGET_MS = 60000 };

static void remove_job(struct st_job *job)
{
	for (struct st_job **at = &job->pool->jobs; *at; at = &(*at)->next) {
		if (*at == job) {
			*at = job->next;
			job->pool->job_count--;
			break;
		}
	}
	st_loop_cancel(job->pool->config.loop, &job->forget);
	st_reply_fini(&job->reply);
	st_buf_fini(&job->message);
	free(job->texts);
	free(job->key);
	free(job);
}

static void tell_waiters(struct st_job *job)
{
	struct st_loop *loop = job->pool->config.loop;
	struct st_waiter *waiter = job->waiters, *next;

	/* The first one may take the job away. */
	job->waiters = NULL;
	for (struct st_waiter *one = waiter; one; one = one->next) {
		st_loop_cancel(loop, &one->timer);
		one->job = NULL;
	}
	for (; waiter; waiter = next) {
		next = waiter->next;
		waiter->ready(waiter->arg);
	}
}

static void forget(void *arg)
{
	st_job_cancel(arg);
}

static void touch(struct st_job *job)
{
	st_loop_at(job->pool->config.loop, &job->forget, st_loop_now_ms() + FORGET_MS);
}

struct st_job *st_pool_begin(struct st_pool *pool, const char *what)
{
	char secret[ST_SECRET_HEX];
	struct st_job **at = &pool->jobs, *job;

	if (pool->job_count >= ST_JOBS_MAX || !st_secret_make(secret))
		return NULL;
	job = calloc(1, sizeof(*job));
	if (!job)
		return NULL;
	job->pool = pool;
	snprintf(job->id, sizeof(job->id), "%.16s", secret);
	snprintf(job->what, sizeof(job->what), "%s", what);
	st_buf_init(&job->message, ST_FRAME_MAX_BYTES);
	st_reply_init(&job->reply);
	job->forget.due = forget;
	job->forget.arg = job;
	while (*at)
		at = &(*at)->next;
	*at = job;
	pool->job_count++;
	touch(job);
	return job;
}

static void fail(struct st_job *job, int status, const char *code, const char *detail)
{
	struct st_web_reply reply;

	st_reply_init(&reply);
	st_reply_problem(&reply, status, code, detail, NULL);
	st_job_finish(job, &reply);
}

/* Keeps the subject, and the name of the worker that it needs. */
static bool keep_subject(struct st_job *job, const struct st_subject *subject)
{
	uint32_t count = subject->counts[0] + subject->counts[1];
	struct st_buf key, texts;
	size_t used = 0;

	st_buf_init(&key, 1 << 20);
	st_buf_init(&texts, 1 << 20);
	st_buf_printf(&key, "%d %d %u", subject->folder_fd, (int)subject->lane, subject->counts[0]);
	for (uint32_t i = 0; i < count; i++) {
		/* Names may hold any byte, but no path has two slashes in a row. */
		st_buf_printf(&key, "//%s", subject->paths[i]);
		st_buf_append(&texts, subject->paths[i], strlen(subject->paths[i]) + 1);
	}
	st_buf_append_u8(&key, '\0');
	if (key.failed || texts.failed) {
		st_buf_fini(&key);
		st_buf_fini(&texts);
		return false;
	}
	job->key = (char *)key.data;
	job->texts = (char *)texts.data;
	job->subject = *subject;
	for (uint32_t i = 0; i < count; i++) {
		job->subject.paths[i] = job->texts + used;
		used += strlen(job->texts + used) + 1;
	}
	return true;
}

void st_job_hand_over(struct st_job *job, const struct st_subject *subject, const char *verb,
		      const char *json)
{
	job->cancel = NULL;
	st_buf_append(&job->message, verb, strlen(verb) + 1);
	st_buf_append_text(&job->message, json);
	if (job->message.failed || !keep_subject(job, subject)) {
		fail(job, 507, "memory", "out of memory");
		return;
	}
	job->state = ST_JOB_QUEUED;
	st_pool_dispatch(job->pool);
}

struct st_job *st_pool_ask(struct st_pool *pool, const struct st_subject *subject, const char *verb,
			   const char *json)
{
	struct st_job *job = st_pool_begin(pool, "waiting");

	if (job)
		st_job_hand_over(job, subject, verb, json);
	return job;
}

struct st_job *st_pool_find(struct st_pool *pool, const char *id)
{
	for (struct st_job *job = pool->jobs; job; job = job->next)
		if (strcmp(job->id, id) == 0)
			return job;
	return NULL;
}

static void waited(void *arg)
{
	struct st_waiter *waiter = arg;

	st_job_leave(waiter);
	waiter->ready(waiter->arg);
}

void st_job_wait(struct st_job *job, struct st_waiter *waiter, int64_t until_ms)
{
	waiter->job = job;
	waiter->next = job->waiters;
	job->waiters = waiter;
	waiter->timer.due = waited;
	waiter->timer.arg = waiter;
	touch(job);
	st_loop_at(job->pool->config.loop, &waiter->timer, until_ms);
}

void st_job_leave(struct st_waiter *waiter)
{
	struct st_job *job = waiter->job;

	if (!job)
		return;
	for (struct st_waiter **at = &job->waiters; *at; at = &(*at)->next) {
		if (*at == waiter) {
			*at = waiter->next;
			break;
		}
	}
	st_loop_cancel(job->pool->config.loop, &waiter->timer);
	waiter->job = NULL;
	touch(job);
}

bool st_job_is_done(const struct st_job *job)
{
	return job->state == ST_JOB_DONE;
}

const char *st_job_id(const struct st_job *job)
{
	return job->id;
}

void st_job_take(struct st_job *job, struct st_web_reply *reply)
{
	st_reply_fini(reply);
	*reply = job->reply;
	st_reply_init(&job->reply);
	remove_job(job);
}

void st_job_write(const struct st_job *job, struct st_buf *out)
{
	struct st_json json;

	st_json_init(&json, out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "job", job->id);
	st_json_put_text(&json, "state",
			 job->state == ST_JOB_DONE     ? "done"
			 : job->state == ST_JOB_QUEUED ? "queued"
						       : "running");
	st_json_key(&json, "progress");
	st_json_double(&json, job->fraction);
	st_json_put_text(&json, "what", job->what);
	st_json_object_end(&json);
	st_buf_append_u8(out, '\n');
}

void st_job_progress(struct st_job *job, double fraction, const char *what)
{
	job->fraction = fraction;
	snprintf(job->what, sizeof(job->what), "%s", what);
	job->pool->config.changed(job->pool->config.arg, job);
}

void st_job_finish(struct st_job *job, struct st_web_reply *reply)
{
	st_reply_fini(&job->reply);
	job->reply = *reply;
	memcpy(job->reply.generation, job->subject.generation, sizeof(job->reply.generation));
	st_reply_init(reply);
	job->state = ST_JOB_DONE;
	job->cancel = NULL;
	job->fraction = 1;
	job->pool->config.changed(job->pool->config.arg, job);
	touch(job);
	tell_waiters(job);
}

void st_job_on_cancel(struct st_job *job, void (*cancel)(void *arg), void *arg)
{
	job->cancel = cancel;
	job->cancel_arg = arg;
}

/* The worker that is at this job, or that opens its result for nobody else; NULL: none. */
static struct st_worker *worker_at(const struct st_job *job)
{
	struct st_worker *worker = job->pool->workers;

	while (worker && worker->job != job &&
	       (job->state != ST_JOB_QUEUED || worker->state != ST_WORKER_OPENING ||
		strcmp(worker->key, job->key) != 0))
		worker = worker->next;
	for (const struct st_job *other = job->pool->jobs; worker && !worker->job && other;
	     other = other->next)
		if (other != job && other->state == ST_JOB_QUEUED &&
		    strcmp(other->key, worker->key) == 0)
			return NULL;
	return worker;
}

void st_job_cancel(struct st_job *job)
{
	struct st_pool *pool = job->pool;

	struct st_worker *worker = worker_at(job);
	char id[ST_JOB_ID];

	if (worker && worker->job)
		st_worker_give_up(worker);
	else if (worker)
		st_worker_end(worker);
	if (job->cancel)
		job->cancel(job->cancel_arg);
	memcpy(id, job->id, sizeof(id));
	job->state = ST_JOB_DONE;
	st_reply_problem(&job->reply, 499, "cancelled", "The request was cancelled.", NULL);
	tell_waiters(job);
	/* Whoever waited may have taken it. */
	job = st_pool_find(pool, id);
	if (job)
		remove_job(job);
	st_pool_dispatch(pool);
}
