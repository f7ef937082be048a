/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads wait for, as the library of waits tells it (collect/waits) and as results keep it: the detail of
 * ST_EVENT_WAIT to ST_EVENT_WAIT_OBJECT. Numbers are file format: never changed, only added.
 *
 * Header only: the collector links no code of format/.
 */
#ifndef ST_FORMAT_WAIT_KIND_H
#define ST_FORMAT_WAIT_KIND_H

#include <stdint.h>

enum st_wait_kind {
	ST_WAIT_MUTEX = 1,     /* object: its address; so of all up to the futex */
	ST_WAIT_CONDITION = 2, /* and the time to get its mutex back */
	ST_WAIT_READ_LOCK = 3,
	ST_WAIT_WRITE_LOCK = 4,
	ST_WAIT_BARRIER = 5,
	ST_WAIT_SEMAPHORE = 6,
	ST_WAIT_FUTEX = 7, /* by syscall(): C++ atomics, Rust, thread pools */
	ST_WAIT_GIL = 8,   /* Python's interpreter lock */
	ST_WAIT_JOIN = 9,  /* object: the thread's id */
	ST_WAIT_SLEEP = 10,
	ST_WAIT_POLL = 11,  /* poll, select, epoll_wait; object: the descriptor, if it is one */
	ST_WAIT_READ = 12,  /* read, recv, accept; object: the descriptor */
	ST_WAIT_WRITE = 13, /* write, send, connect */
	ST_WAIT_FILE_SYNC = 14,
	ST_WAIT_CHILD = 15, /* object: the process's id, or 0 */
	ST_WAIT_SPIN_LOCK = 16,
	ST_WAIT_ONCE = 17, /* for another thread that does it: pthread_once */
	ST_WAIT_IDLE = 18, /* a worker of OpenMP between two regions */
	ST_WAIT_REGION =
		19, /* the end of an OpenMP region, for its last thread; object: its function or caller */
	ST_WAIT_SIGNAL = 20,
	ST_WAIT_FILE_LOCK = 21, /* object: the descriptor */
	/* As strata sees them from outside. */
	ST_WAIT_PAGE = 22,	  /* of memory, that comes from a file or from swap */
	ST_WAIT_CALL = 23,	  /* any other system call; object: its number */
	ST_WAIT_OMP_BARRIER = 24, /* within a region; object: who calls it */
	ST_WAIT_OMP_LOCK = 25,	  /* critical sections of OpenMP */
	ST_WAIT_KINDS
};

enum st_wait_outcome {
	ST_WAIT_DONE = 0,
	ST_WAIT_TIMED_OUT = 1,
	ST_WAIT_INTERRUPTED = 2, /* by a signal: EINTR */
	ST_WAIT_CANCELLED = 3,	 /* the thread was cancelled in it */
	ST_WAIT_FAILED = 4,
	ST_WAIT_ABANDONED = 5, /* left by longjmp or an exception; its end is a guess */
	ST_WAIT_OPEN = 6,      /* still waiting when the recording ended */
	ST_WAIT_SEEN = 7,      /* from outside: how it ended is not known */
	ST_WAIT_OUTCOMES
};

/* Classes of time on no CPU, each of which has one remedy. Of the last three no kind of wait tells. */
enum st_wait_class {
	ST_WAITS_SYNC,
	ST_WAITS_GIL,
	ST_WAITS_IO,
	ST_WAITS_SLEEP,
	ST_WAITS_IDLE,	      /* a worker of a pool that has nothing to do */
	ST_WAITS_PREEMPTED,   /* ready to run, and others had the CPUs */
	ST_WAITS_UNEXPLAINED, /* waited, and nobody knows for what */
	ST_WAIT_CLASSES
};

static inline enum st_wait_class st_wait_class_of(uint32_t kind)
{
	if (kind == ST_WAIT_GIL)
		return ST_WAITS_GIL;
	if (kind == ST_WAIT_SLEEP)
		return ST_WAITS_SLEEP;
	if (kind == ST_WAIT_CALL)
		return ST_WAITS_UNEXPLAINED;
	if (kind == ST_WAIT_IDLE)
		return ST_WAITS_IDLE;
	return (kind >= ST_WAIT_POLL && kind <= ST_WAIT_CHILD) || kind == ST_WAIT_FILE_LOCK ||
			       kind == ST_WAIT_PAGE
		       ? ST_WAITS_IO
		       : ST_WAITS_SYNC;
}

static inline int st_wait_has_address(uint32_t kind)
{
	return (kind >= ST_WAIT_MUTEX && kind <= ST_WAIT_GIL) || kind == ST_WAIT_SPIN_LOCK ||
	       kind == ST_WAIT_ONCE || kind == ST_WAIT_REGION || kind == ST_WAIT_OMP_BARRIER ||
	       kind == ST_WAIT_OMP_LOCK;
}

static inline int st_wait_has_descriptor(uint32_t kind)
{
	return (kind >= ST_WAIT_POLL && kind <= ST_WAIT_FILE_SYNC) || kind == ST_WAIT_FILE_LOCK;
}

/* Detail of ST_EVENT_WAIT: kind | outcome << 8; of ST_EVENT_WAIT_SUM and ST_EVENT_HOLD_SUM: kind | how many << 8 | outcome << 29, where
 * those of kind 0 have had any. */
enum {
	ST_WAIT_KIND_MASK = 0xff,
	ST_WAIT_SHIFT = 8,
	ST_WAIT_DETAIL_MASK = 0xffff,
	ST_WAIT_COUNT_MAX = 0x1fffff,
	ST_WAIT_OUTCOME_SHIFT = 29
};

/* How many of them one sum can count: more are several sums, with the time in the first. */
static inline uint32_t st_wait_sum_part(uint64_t count)
{
	return (uint32_t)(count < ST_WAIT_COUNT_MAX ? count : ST_WAIT_COUNT_MAX);
}

static inline uint32_t st_wait_sum_detail(uint32_t kind, uint32_t outcome, uint64_t count)
{
	return kind | st_wait_sum_part(count) << ST_WAIT_SHIFT | outcome << ST_WAIT_OUTCOME_SHIFT;
}

static inline uint32_t st_wait_sum_count(uint32_t detail)
{
	return detail >> ST_WAIT_SHIFT & ST_WAIT_COUNT_MAX;
}

/* Whether a thread gave up what it waited for. Who polls or sleeps has got what he wanted when the time is over. */
static inline int st_wait_is_given_up(uint32_t kind, uint32_t outcome)
{
	return outcome == ST_WAIT_CANCELLED ||
	       (outcome == ST_WAIT_TIMED_OUT && st_wait_class_of(kind) == ST_WAITS_SYNC);
}

#endif
