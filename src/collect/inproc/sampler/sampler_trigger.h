/* SPDX-License-Identifier: Apache-2.0
 *
 * Triggers: what their signals look like, and how those of the lower rungs are set.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_TRIGGER_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_TRIGGER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Where libc's headers may be too old to say. */
enum {
	ST_TRAP_PERF = 6,	   /* si_code of a perf event's SIGTRAP */
	ST_SIGINFO_PERF_DATA = 24, /* sig_data of the event, in siginfo_t */
};

void st_timer_init(void);
/* The event sends SIGPROF to the calling thread. Like the others: 0, or a negated errno. */
long st_timer_set_signal(long fd);
long st_timer_start_process(uint64_t period_ns);

/* sampler_phase.c. The first interval of the calling thread; `rung` is the trigger it has besides, or
 * ST_RUNG_THREAD_TIMER: this is all it has. */
long st_phase_begin(uint32_t rung, uint64_t first_ns); /* 0: by chance */
/* Whether a first thread can do with a timer alone until its first sample; and that timer. */
bool st_phase_can_wait(void);
long st_phase_wait(int signal, int *timer);
/* At the start of the calling thread: whether it is in a pause, in which triggers are off. */
void st_phase_note_pause(void);
bool st_phase_began_paused(void);
/* Whether a sample is to be taken at this signal of the trigger. */
bool st_phase_admits(const siginfo_t *info);
/* The thread's CPU time that no sample of its own is to stand for. */
uint64_t st_phase_before_ns(void);
/* What the thread's first sample stands for, besides or instead of its own CPU time. */
uint64_t st_phase_first_ns(uint64_t own_ns, bool by_timer);
/* CPU time at the end of a thread that is in none of its samples. */
void st_phase_carry(uint64_t cpu_ns);
/* It was written, or came in a pause. */
void st_phase_done(bool paused);

/* Of a program that was forked: the timer was the other one's. */
void st_phase_forget(void);

/* sampler_arm.c: the calling thread is about to create another one. */
void st_sampler_anchor(void);

#pragma GCC visibility pop

#endif
