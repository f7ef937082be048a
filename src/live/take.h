/* SPDX-License-Identifier: Apache-2.0
 *
 * The stacks that all threads of a running program have now. A thread is held for the time it takes to copy its
 * registers, its stack and its Python frames (some 0.1 ms), one thread after the other. A thread that waits in a
 * system call which such a hold would end early (epoll_wait, read and the like) is not held: it does not move.
 */
#ifndef ST_LIVE_TAKE_H
#define ST_LIVE_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "live/live_names.h"

enum { ST_LIVE_NAME_BYTES = 256 };

struct st_live_thread {
	uint32_t tid;
	char name[ST_LIVE_NAME_BYTES]; /* "" when it has none of its own */
	char state;		       /* as in ps; 'R' is active */
	int64_t call;	 /* number of the system call it is in; -1: none, or not known */
	bool holds_lock; /* the GIL */
	bool held;	 /* false: it was read without being held */
	bool moved; /* it was not held and went on meanwhile: Python frames may be of another instant */
	uint64_t held_ns;
	uint32_t flags;			/* enum st_sample_flag */
	struct st_merged_frame *frames; /* outermost first */
	uint32_t frame_count;
};

struct st_live_process {
	pid_t pid;
	uint32_t python_version; /* 0: there is no CPython that can be read */
	bool has_python;	 /* frames of Python are read */
	uint32_t lock_holder;	 /* thread that holds the GIL; 0: nobody */
	struct st_live_thread *threads;
	uint32_t thread_count, thread_capacity;
	const char *why_not_held; /* "" when threads can be held */
	struct st_live_names *names;
};

/* lines: with source lines of native functions. ST_EUNSUPPORTED says which rights are missing. */
enum st_status st_live_take(struct st_live_process **out, pid_t pid, bool lines,
			    struct st_error *err);
void st_live_process_destroy(struct st_live_process *process);

/* The short name that the kernel has of a thread; false: it is gone. */
bool st_live_comm(pid_t pid, uint32_t tid, char *out, size_t out_bytes);

/* What to do when reading a process is refused; code is errno. */
enum st_status st_live_refused(pid_t pid, int code, struct st_error *err);

#endif
