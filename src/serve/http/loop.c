/* SPDX-License-Identifier: Apache-2.0
 *
 * epoll, a list of deadlines, and signals as a descriptor.
 */
#include "serve/http/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, EXTRA_FD = 3 };

struct st_loop {
	int epoll_fd, signal_fd;
	struct st_timer *timers;
	struct st_child *children;
	/* The round that is being called: entries of watches that were forgotten meanwhile are emptied. */
	struct epoll_event *events;
	int event_count;
	int ended_by;
	bool nudged;
	sigset_t before;
};

int64_t st_loop_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

enum st_status st_loop_create(struct st_loop **out, struct st_error *err)
{
	struct st_loop *loop = calloc(1, sizeof(*loop));
	struct epoll_event about = {.events = EPOLLIN};
	sigset_t caught;

	*out = NULL;
	if (!loop)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	sigemptyset(&caught);
	sigaddset(&caught, SIGINT);
	sigaddset(&caught, SIGTERM);
	sigaddset(&caught, SIGHUP);
	sigaddset(&caught, SIGUSR1);
	sigaddset(&caught, SIGCHLD);
	/* A signal that is ignored never shows up in a descriptor, and its children could not be waited for. */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of the write, not our end */
	sigprocmask(SIG_BLOCK, &caught, &loop->before);
	loop->signal_fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->signal_fd < 0 || loop->epoll_fd < 0 ||
	    epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->signal_fd, &about)) {
		st_error_set(err, ST_EIO, errno, "cannot wait for events");
		st_loop_destroy(loop);
		return ST_EIO;
	}
	*out = loop;
	return ST_OK;
}

static void end_freed(void *arg, int status)
{
	(void)status;
	free(arg);
}

void st_loop_destroy(struct st_loop *loop)
{
	if (!loop)
		return;
	while (loop->children) {
		struct st_child *child = loop->children;

		loop->children = child->next;
		if (child->ended == end_freed)
			free(child);
	}
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	sigprocmask(SIG_SETMASK, &loop->before, NULL);
	free(loop);
}

bool st_loop_watch(struct st_loop *loop, struct st_watch *watch, uint32_t events)
{
	struct epoll_event about = {.events = events, .data.ptr = watch};

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, watch->fd, &about) == 0;
}

void st_loop_forget(struct st_loop *loop, struct st_watch *watch)
{
	if (watch->fd < 0)
		return;
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	for (int i = 0; i < loop->event_count; i++)
		if (loop->events[i].data.ptr == watch)
			loop->events[i].events = 0;
}

void st_loop_at(struct st_loop *loop, struct st_timer *timer, int64_t due_ms)
{
	struct st_timer **at = &loop->timers;

	st_loop_cancel(loop, timer);
	while (*at && (*at)->due_ms <= due_ms)
		at = &(*at)->next;
	timer->due_ms = due_ms;
	timer->is_set = true;
	timer->next = *at;
	*at = timer;
}

void st_loop_cancel(struct st_loop *loop, struct st_timer *timer)
{
	if (!timer->is_set)
		return;
	for (struct st_timer **at = &loop->timers; *at; at = &(*at)->next) {
		if (*at == timer) {
			*at = timer->next;
			break;
		}
	}
	timer->is_set = false;
}

/* The descriptors of the new process. Those of the others close by themselves. */
static int place_files(posix_spawn_file_actions_t *files, const struct st_child_start *how)
{
	int failed = posix_spawn_file_actions_init(files);

	if (failed)
		return failed;
	if (how->extra_fd >= 0)
		failed = posix_spawn_file_actions_adddup2(files, how->extra_fd, EXTRA_FD);
	if (!failed && how->in_fd >= 0)
		failed = posix_spawn_file_actions_adddup2(files, how->in_fd, STDIN_FILENO);
	else if (!failed)
		failed = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null",
							  O_RDONLY, 0);
	if (!failed && how->out_fd >= 0)
		failed = posix_spawn_file_actions_adddup2(files, how->out_fd, STDOUT_FILENO);
	else if (!failed)
		failed = posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null",
							  O_WRONLY, 0);
	if (!failed && how->err_fd >= 0)
		failed = posix_spawn_file_actions_adddup2(files, how->err_fd, STDERR_FILENO);
	if (!failed && how->folder_fd >= 0)
		failed = posix_spawn_file_actions_addfchdir_np(files, how->folder_fd);
	return failed;
}

static int place_attributes(posix_spawnattr_t *attributes, const struct st_child_start *how)
{
	short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
	int failed = posix_spawnattr_init(attributes);
	sigset_t none, plain;

	if (failed)
		return failed;
	sigemptyset(&none);
	sigemptyset(&plain);
	sigaddset(&plain, SIGPIPE);
	sigaddset(&plain, SIGXFSZ);
	sigaddset(&plain, SIGCHLD);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &plain);
	/* Without our terminal, too: who asks it for something would be stopped, and wait for ever. */
	if (how->own_group)
		flags |= POSIX_SPAWN_SETSID;
	return posix_spawnattr_setflags(attributes, flags);
}

enum st_status st_loop_spawn(struct st_loop *loop, struct st_child *child,
			     const struct st_child_start *how, struct st_error *err)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int failed = place_files(&files, how);

	if (!failed)
		failed = place_attributes(&attributes, how);
	if (!failed) {
		failed = posix_spawnp(&child->pid, how->argv[0], &files, &attributes, how->argv,
				      how->environment ? how->environment : environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	if (failed) {
		child->pid = 0;
		return st_error_set(err, ST_EIO, failed, "cannot start %.200s", how->argv[0]);
	}
	child->next = loop->children;
	loop->children = child;
	return ST_OK;
}

static void unlink_child(struct st_loop *loop, struct st_child *child)
{
	for (struct st_child **at = &loop->children; *at; at = &(*at)->next) {
		if (*at == child) {
			*at = child->next;
			return;
		}
	}
}

void st_loop_abandon(struct st_loop *loop, struct st_child *child)
{
	struct st_child *orphan;

	if (!child->pid)
		return;
	unlink_child(loop, child);
	orphan = calloc(1, sizeof(*orphan));
	if (orphan) {
		*orphan = (struct st_child){child->pid, end_freed, orphan, loop->children};
		loop->children = orphan;
	}
	child->pid = 0;
}

static void reap(struct st_loop *loop)
{
	struct st_child *child = loop->children;

	while (child) {
		int status;

		if (waitpid(child->pid, &status, WNOHANG) != child->pid) {
			child = child->next;
			continue;
		}
		unlink_child(loop, child);
		child->pid = 0;
		child->ended(child->arg, status);
		child = loop->children; /* what was called may have changed the list */
	}
}

static void take_signals(struct st_loop *loop)
{
	struct signalfd_siginfo info;
	bool ended = false;

	while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			ended = true;
		else if (info.ssi_signo == SIGUSR1)
			loop->nudged = true;
		else
			loop->ended_by = (int)info.ssi_signo;
	}
	if (ended)
		reap(loop);
}

static void call_timers(struct st_loop *loop)
{
	int64_t now = st_loop_now_ms();

	while (loop->timers && loop->timers->due_ms <= now) {
		struct st_timer *timer = loop->timers;

		st_loop_cancel(loop, timer);
		timer->due(timer->arg);
	}
}

void st_loop_round(struct st_loop *loop, int64_t max_ms)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t wait_ms = max_ms;

	if (loop->timers) {
		int64_t due = loop->timers->due_ms - st_loop_now_ms();

		due = due < 0 ? 0 : due;
		wait_ms = wait_ms < 0 || due < wait_ms ? due : wait_ms;
	}
	loop->events = events;
	loop->event_count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX,
				       wait_ms > 60000 ? 60000 : (int)wait_ms);
	for (int i = 0; i < loop->event_count; i++) {
		struct st_watch *watch = events[i].data.ptr;

		if (!watch)
			take_signals(loop);
		else if (events[i].events)
			watch->ready(watch->arg, events[i].events);
	}
	loop->event_count = 0;
	loop->events = NULL;
	call_timers(loop);
}

int st_loop_ended_by(const struct st_loop *loop)
{
	return loop->ended_by;
}

bool st_loop_take_nudge(struct st_loop *loop)
{
	bool nudged = loop->nudged;

	loop->nudged = false;
	return nudged;
}
