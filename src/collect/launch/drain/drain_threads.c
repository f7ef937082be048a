// SPDX-License-Identifier: Apache-2.0
//
// What must go when a thread has gone, so that a program that creates threads for ever does not make us grow.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/launch/drain/clock.h"
#include "collect/launch/drain/drain_state.h"

bool st_drain_thread_gone(int pid, uint32_t tid)
{
	return tid == 0 || tid > INT32_MAX ||
	       (syscall(SYS_tgkill, pid, (int)tid, 0) != 0 && errno == ESRCH);
}

static void reap_outside(struct st_drain *drain, int pid)
{
	struct st_outside_slots *outside = &drain->outside;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < outside->count; i++) {
		struct st_slot_reader *slot = outside->slots[i];
		bool was_gone = slot->gone_ticks != 0;

		slot->gone_ticks = st_drain_thread_gone(pid, slot->tid)
					   ? st_launch_clock_now(drain->shared->clock)
					   : 0;
		if (was_gone && slot->gone_ticks) {
			st_drain_end_samples(drain, slot);
			free(slot);
		} else {
			outside->slots[kept++] = slot;
		}
	}
	outside->count = kept;
}

void st_drain_reap_known(struct st_drain *drain, int pid)
{
	st_drain_reap_names(drain, pid);
	st_drain_reap_creators(drain, pid);
	reap_outside(drain, pid);
}
