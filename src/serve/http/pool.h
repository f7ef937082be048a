/* SPDX-License-Identifier: Apache-2.0
 *
 * Worker processes and the jobs that they do: one worker for each open result and lane, more of the quick lane when
 * requests wait for each other, as many at once as are allowed, and a queue of jobs for each. A worker that is not used
 * makes place for another.
 */
#ifndef ST_SERVE_HTTP_POOL_H
#define ST_SERVE_HTTP_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "serve/http/loop.h"
#include "serve/http/reply.h"
#include "serve/verbs.h"

enum { ST_JOB_ID = 17, ST_JOBS_MAX = 512, ST_SUBJECTS_MAX = 64 };

struct st_pool;
struct st_job;

/* What a worker is about. Texts are copied by whoever keeps one. */
struct st_subject {
	int folder_fd; /* the paths are relative to it; stays open as long as the pool */
	const char *paths[ST_SUBJECTS_MAX];
	uint32_t counts[2];
	char generation[20];
	bool is_live; /* still being collected: it changes all the time */
	enum st_serve_lane lane;
};

struct st_pool_config {
	struct st_loop *loop;
	const char *const *source_dirs; /* ends with NULL */
	unsigned int workers_max;
	unsigned int twins_max; /* of one result in the quick lane */
	/* Something about a job has changed: its progress, or it is done. */
	void (*changed)(void *arg, const struct st_job *job);
	void *arg;
};

/* Somebody who wants to know when a job is done, or until a moment. ready is called once. */
struct st_waiter {
	void (*ready)(void *arg);
	void *arg;
	struct st_timer timer;
	struct st_job *job; /* NULL: does not wait */
	struct st_waiter *next;
};

enum st_status st_pool_create(struct st_pool **out, const struct st_pool_config *config,
			      struct st_error *err);
/* Ends all workers; who still waits is called. */
void st_pool_destroy(struct st_pool *pool);
/* A folder that only we can read, which goes with the pool. Workers have numbers in it. */
const char *st_pool_folder(const struct st_pool *pool);

/* A job for the verb; json is its object. NULL: there are too many already, or no memory. */
struct st_job *st_pool_ask(struct st_pool *pool, const struct st_subject *subject, const char *verb,
			   const char *json);
/* A job that something else does: it is done when st_job_finish says so. */
struct st_job *st_pool_begin(struct st_pool *pool, const char *what);
/* Gives a job of st_pool_begin to a worker, after what came before it is done. */
void st_job_hand_over(struct st_job *job, const struct st_subject *subject, const char *verb,
		      const char *json);
struct st_job *st_pool_find(struct st_pool *pool, const char *id);
void st_job_wait(struct st_job *job, struct st_waiter *waiter, int64_t until_ms);
void st_job_leave(struct st_waiter *waiter); /* no more waits */
bool st_job_is_done(const struct st_job *job);
const char *st_job_id(const struct st_job *job);
/* What it is answered; moves the body out. The job is gone then. */
void st_job_take(struct st_job *job, struct st_web_reply *reply);
/* Where it stands: {job, state, progress, what}. */
void st_job_write(const struct st_job *job, struct st_buf *out);
/* The reply is moved into the job. */
void st_job_finish(struct st_job *job, struct st_web_reply *reply);
/* What is being done, and how much of it is. */
void st_job_progress(struct st_job *job, double fraction, const char *what);
/* Ends the work on it; a worker that is at it is ended. Whoever waits is told. The job is gone then. */
void st_job_cancel(struct st_job *job);
/* What is cancelled with it, for jobs of st_pool_begin; called once, then forgotten. */
void st_job_on_cancel(struct st_job *job, void (*cancel)(void *arg), void *arg);

#endif
