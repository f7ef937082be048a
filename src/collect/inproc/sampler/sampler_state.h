/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the sampler share: its settings, the state of the process and of each thread.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_STATE_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_STATE_H

#include <signal.h>
#include <time.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/handler_ring.h"
#include "collect/inproc/sampler/sampler.h"
#include "collect/inproc/core/thread.h"
#include "format/sample_record.h"

#pragma GCC visibility push(hidden)

struct st_sampler_settings {
	uint64_t period_ns;    /* 0: no sampler */
	uint64_t period_ticks; /* of CPU time; 0: not known, or not a time */
	uint32_t depth;	       /* of native frames, and of Python's */
	uint32_t rung;	       /* none above it is tried */
	bool cycles;
	bool stacks;
	bool defer; /* a process may be armed at its first sample (sampler_birth.c) */
	bool late;  /* even in a program that does not call us about its signals (tests) */
	bool own;   /* threads inherit no event: strata opens theirs if they live on */
	bool empty; /* the handler returns at once: what a bare signal costs */
};
extern struct st_sampler_settings st_sampler_settings;

/* Of the process; a forked child finds it wiped, and arms itself anew. */
struct st_sampling {
	_Atomic uint32_t armed;	 /* enum st_sampler_rung; 0: not (yet) */
	_Atomic uint32_t signal; /* by which the trigger comes; 0: none */
	uint32_t pid;
	uint32_t tid;		      /* of the thread that armed */
	uint64_t arm_cpu_ns;	      /* its CPU time then */
	uint64_t nominal_ns;	      /* the period that was really set */
	bool late;		      /* other threads were there before */
	_Atomic uint32_t signal_lock; /* around what the program wants done at our signal */
	_Atomic uint32_t given_up;    /* no more samples: sandbox, or another's signal */
	_Atomic uint64_t not_taken;   /* before there was a header to count in */
	_Atomic uint64_t carried_ns;  /* from threads that have ended to the next first sample */
	_Atomic uint32_t thread_ns;   /* CPU time of a usual thread (sampler_phase.c) */
	_Atomic uint32_t anchors;     /* of threads that create others */
	_Atomic bool birth;	      /* not armed yet: a timer waits (sampler_birth.c) */
	int birth_timer, birth_signal;
};
extern struct st_sampling *st_sampling; /* NULL: no sampler */

/* Of a thread; lies in the pool of its slot (struct st_segment). */
struct st_inproc_sampler {
	struct st_handler_ring out;
	bool after_pause, first;
	bool by_timer;	   /* this sample: of the thread's first intervals (sampler_phase.c) */
	_Atomic bool busy; /* a handler is at it */
	bool is_long;	   /* the handler has taken half the time between two triggers */
	bool crowded;	   /* another thread has this one's thread-local storage */
	uint32_t current;  /* which of the two stacks is being filled; the other was written last */
	uint64_t written_time;	/* of the latest one that was */
	uint64_t rest_until;	/* ticks: no sample is taken before */
	uint64_t cpu_ns;	/* the thread's CPU time that samples account for */
	uint32_t unasked;	/* samples since the thread's clock was read */
	uint64_t handler_ticks; /* of the runs since the last sample that was written began */
	uint64_t lost;		/* samples that found no room, not yet told */
	uint64_t stack_low, stack_high; /* known to be readable; 0: not looked at yet */
	uint64_t stack_limit;		/* the stack cannot reach below this */
	uint32_t native_count[2], python_count[2];
};

/* Where the parts of a thread's memory are, from the beginning of its struct st_inproc_sampler. */
enum { ST_SAMPLER_HEAD_BYTES = 4096 };
uint64_t *st_sampler_native(struct st_inproc_sampler *sampler, uint32_t which);
uint64_t *st_sampler_python(struct st_inproc_sampler *sampler, uint32_t which);
void *st_sampler_cache(struct st_inproc_sampler *sampler);
void *st_sampler_python_memory(struct st_inproc_sampler *sampler);

/* sampler_thread.c. The calling thread's, NULL when a sample cannot be taken (counted). */
struct st_inproc_sampler *st_sampler_mine(void);
void st_sampler_count_not_taken(void);
bool st_sampler_has_samples(void); /* of the calling thread */

/* sampler_ring.c: the sample whose stacks are in `current`, with word 1 of ST_EXT_SAMPLE; false: no room (counted). */
bool st_sampler_write(struct st_inproc_sampler *sampler, uint32_t flags, uint64_t weight_word);

/* sampler_arm.c. Sees to the trigger, once in each process: now, or when the first sample is due. */
void st_sampler_arm(void);
/* Of a process that has waited; ns of CPU time to its first sample. */
void st_sampler_arm_now(uint64_t first_ns);
void st_sampler_arm_thread(void);
bool st_sampler_is_trigger(int signal, const siginfo_t *info);

/* The CPU time of the calling thread: a question to the kernel. */
static inline uint64_t st_sampler_cpu_ns(void)
{
	struct timespec now = {0};

	st_syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* sampler.c. The thread ends: what it has used since its last sample. */
void st_sampler_carry(const struct st_inproc_sampler *sampler);
void st_sampler_handler(int signal, siginfo_t *info, void *context);

/* sampler_signal.c: puts our handler in place of the program's, which is kept. False: there is a
 * foreign handler that was not set through us, or the kernel refuses. */
bool st_sampler_take_signal(int signal);
void st_sampler_signal_init(void);
void st_sampler_retake_signal(void);
/* In front of an exec: the signal can do nothing any more, and none of the trigger's waits. */
void st_sampler_ignore_signal(void);
void st_sampler_discard_pending(void);
/* The next program is to inherit the mask that this one believes to have; and back. */
void st_mask_show(bool shown);
/* Whether the program's calls about signals come to us. */
bool st_sampler_stands_between(void);
/* A signal that is not ours: what the program's own disposition says. */
void st_sampler_pass_on(int signal, siginfo_t *info, void *context);
/* sampler_restart.c: has an interrupted call that a signal of the program's is to end made again, which delivers it. At the end of the
 * handler, with all signals blocked. */
void st_sampler_restart(int trigger, void *context);

#pragma GCC visibility pop

#endif
