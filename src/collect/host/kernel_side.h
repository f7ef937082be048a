/* SPDX-License-Identifier: Apache-2.0
 *
 * What a signal handler cannot see of a program, watched from strata: the kernel's part of its stacks, and
 * when its threads leave the processor and come back. Needs rights for the first (root, CAP_PERFMON or
 * perf_event_paranoid below 2), hardly any for the second; says what it got.
 *
 * Kernel stacks are samples of their own, at the same rate as those taken inside the program. The two never
 * hit the same instant, so a sample of the program that stands right behind a system call gets
 * the kernel frames of the nearest kernel sample of the same thread inside the same call site.
 */
#ifndef ST_COLLECT_HOST_KERNEL_SIDE_H
#define ST_COLLECT_HOST_KERNEL_SIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum { ST_KERNEL_CHAIN_MAX = 48 };

struct st_kernel_side;

struct st_kernel_wait { /* a thread was off the processor */
	uint32_t pid, tid;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC_RAW */
	bool preempted;		   /* it could have gone on */
	uint32_t count; /* how many: short ones of a thread are summed, begin is the first one's */
	uint64_t off_ns;
};

struct st_kernel_options {
	pid_t pid; /* with all it starts from now on */
	uint64_t period_ns;
	bool stacks, switches;
	/* May be NULL. */
	void (*waited)(void *arg, const struct st_kernel_wait *wait);
	void *arg;
};

struct st_kernel_state {
	bool stacks, switches;
	char why[160]; /* what is missing, and how to get it; "" when nothing is */
	uint64_t lost; /* records that the kernel had no room for */
	uint64_t samples, joined;
};

/* Never fails for lack of rights: see the state. */
enum st_status st_kernel_side_create(struct st_kernel_side **out,
				     const struct st_kernel_options *options, struct st_error *err);
void st_kernel_side_destroy(struct st_kernel_side *side);
/* Takes in what happened since the last call; all: everything there is. */
void st_kernel_side_poll(struct st_kernel_side *side, bool all);
const struct st_kernel_state *st_kernel_side_state(const struct st_kernel_side *side);

/* The kernel frames, innermost first, that belong on a sample of `tid` whose interrupted pc is `pc`; 0 when there
 * are none. The first is an exact address, the others are return addresses. */
uint32_t st_kernel_side_find(struct st_kernel_side *side, uint32_t tid, uint64_t pc,
			     uint64_t mono_raw_ns, const uint64_t **frames);

#endif
