/* SPDX-License-Identifier: Apache-2.0
 *
 * The one loop of the server: descriptors, deadlines and child processes, each with a function that is called when
 * something happens. Everything in the server runs in the thread of the loop, one call at a time.
 */
#ifndef ST_SERVE_HTTP_LOOP_H
#define ST_SERVE_HTTP_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct st_loop;

/* What waits for a descriptor; the caller's, and stays until st_loop_forget. */
struct st_watch {
	int fd;
	void (*ready)(void *arg, uint32_t events); /* EPOLL* */
	void *arg;
};

/* A moment at which something is due; zeroed: none. */
struct st_timer {
	int64_t due_ms; /* of st_loop_now_ms */
	void (*due)(void *arg);
	void *arg;
	struct st_timer *next;
	bool is_set;
};

/* A process that was started; ended is called once, with the status of waitpid. */
struct st_child {
	pid_t pid; /* 0: none */
	void (*ended)(void *arg, int status);
	void *arg;
	struct st_child *next;
};

/* How a process is started. */
struct st_child_start {
	char *const *argv;
	char *const *environment;  /* NULL: ours */
	int folder_fd;		   /* its working folder; -1: ours */
	int in_fd, out_fd, err_fd; /* -1: /dev/null, of err_fd ours */
	int extra_fd;		   /* becomes its descriptor 3; -1: none */
	bool own_group;		   /* in a session of its own: our terminal is not its */
};

enum st_status st_loop_create(struct st_loop **out, struct st_error *err);
void st_loop_destroy(struct st_loop *loop);
int64_t st_loop_now_ms(void);

bool st_loop_watch(struct st_loop *loop, struct st_watch *watch, uint32_t events);
/* Also of one that was called just now, or that will be called in this round. */
void st_loop_forget(struct st_loop *loop, struct st_watch *watch);

void st_loop_at(struct st_loop *loop, struct st_timer *timer, int64_t due_ms);
void st_loop_cancel(struct st_loop *loop, struct st_timer *timer);

enum st_status st_loop_spawn(struct st_loop *loop, struct st_child *child,
			     const struct st_child_start *how, struct st_error *err);
/* Nobody waits for it any more; the loop still collects its end. */
void st_loop_abandon(struct st_loop *loop, struct st_child *child);

/* One round: waits at most max_ms (-1: as long as it takes) and calls what is due. */
void st_loop_round(struct st_loop *loop, int64_t max_ms);
/* SIGINT, SIGTERM and SIGHUP are caught; the one that came, or 0. SIGUSR1 counts separately. */
int st_loop_ended_by(const struct st_loop *loop);
bool st_loop_take_nudge(struct st_loop *loop);

#endif
