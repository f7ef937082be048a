/* SPDX-License-Identifier: Apache-2.0
 *
 * Who lets waiting threads go on, by the kernel's tracepoint sched_waking on all CPUs: also from other processes, and with the
 * time that the woken thread then waits for a CPU. Needs root, or CAP_PERFMON and a readable tracefs.
 */
#ifndef ST_COLLECT_HOST_WAKES_H
#define ST_COLLECT_HOST_WAKES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct st_wake_watch;

struct st_waking {
	uint64_t ns; /* CLOCK_MONOTONIC_RAW */
	uint32_t woken;
	uint32_t waker; /* 0: an interrupt */
};

/* ST_EUNSUPPORTED: err->text says what is missing. */
enum st_status st_wake_watch_create(struct st_wake_watch **out, struct st_error *err);
void st_wake_watch_destroy(struct st_wake_watch *watch);
/* Tells what is there, in order of time. */
void st_wake_watch_poll(struct st_wake_watch *watch,
			void (*each)(void *arg, const struct st_waking *waking), void *arg);
uint64_t st_wake_watch_lost(const struct st_wake_watch *watch);

#endif
