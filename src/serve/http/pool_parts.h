/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two halves of the pool (jobs and workers) know of each other.
 */
#ifndef ST_SERVE_HTTP_POOL_PARTS_H
#define ST_SERVE_HTTP_POOL_PARTS_H

#include "serve/frame.h"
#include "serve/http/pool.h"

enum st_job_state { ST_JOB_ELSEWHERE, ST_JOB_QUEUED, ST_JOB_RUNNING, ST_JOB_DONE };

struct st_job {
	struct st_pool *pool;
	char id[ST_JOB_ID];
	enum st_job_state state;
	char *key; /* of the worker that does it */
	struct st_subject subject;
	char *texts; /* of the subject's paths */
	struct st_buf message;
	struct st_web_reply reply;
	double fraction;
	char what[80];
	struct st_waiter *waiters;
	struct st_timer forget; /* nobody has asked for it for long */
	void (*cancel)(void *arg);
	void *cancel_arg;
	struct st_job *next;
};

enum st_worker_state { ST_WORKER_OPENING, ST_WORKER_IDLE, ST_WORKER_BUSY };

struct st_worker {
	struct st_pool *pool;
	char *key;
	char generation[20];
	bool is_live;
	enum st_worker_state state;
	bool is_silent;	    /* hung up, or talks nonsense: it is on its way out */
	struct st_job *job; /* that it is at; NULL: none, or it was given up */
	struct st_child child;
	struct st_watch watch;
	struct st_frame_in in;
	char temporary[512]; /* its folder */
	int64_t started_ms, opened_ms, used_ms;
	struct st_timer idle; /* also of one that is given up */
	struct st_worker *next;
};

struct st_pool {
	struct st_pool_config config;
	struct st_job *jobs; /* oldest first */
	uint32_t job_count;
	struct st_worker *workers;
	uint32_t worker_count;
	char temporary[256];
	int lock_fd;	       /* of it */
	uint64_t number;       /* of the next temporary folder */
	int64_t twins_from_ms; /* when a second worker of a result may be started again */
};

/* Gives queued jobs to workers that are free or can be started. */
void st_pool_dispatch(struct st_pool *pool);
/* Ends a worker and frees it; its job, if any, is not told. */
void st_worker_end(struct st_worker *worker);
/* Nobody waits for what it is at; it is ended unless it is done with that soon. */
void st_worker_give_up(struct st_worker *worker);

#endif
