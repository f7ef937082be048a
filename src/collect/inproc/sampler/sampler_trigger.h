/* SPDX-License-Identifier: Apache-2.0
 *
 * Triggers: what their signals look like, and how those of the lower rungs are set.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_TRIGGER_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_TRIGGER_H

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
long st_timer_start_thread(uint64_t period_ns);
long st_timer_start_process(uint64_t period_ns);

#pragma GCC visibility pop

#endif
