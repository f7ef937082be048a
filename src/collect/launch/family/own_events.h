/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of single threads, opened by strata. A thread that inherits an event pays for it when it is created and when it
 * ends, most of them for nothing, because they end before a first sample. So where ST_ARM_OWN_EVENTS is agreed on,
 * nobody inherits one: threads that are still there after a while get theirs from outside.
 */
#ifndef ST_COLLECT_LAUNCH_FAMILY_OWN_EVENTS_H
#define ST_COLLECT_LAUNCH_FAMILY_OWN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct st_family_thread;
struct st_followed_table;

struct st_young {
	pid_t pid, tid;
	uint64_t born_ns;
	uint64_t cpu_ns; /* as far as it was seen */
};

/* Threads that have no event yet. A zeroed one is valid. */
struct st_young_threads {
	struct st_young *items; /* by age */
	uint32_t begin, count, capacity;
	struct st_young *later; /* whose process is not armed yet */
	uint32_t later_count, later_capacity;
	uint64_t looked_ns;
	uint64_t forgotten; /* there were too many at once */
	/* Ended, or left at the end, in a process that was not armed: only bare system calls make such threads. */
	uint64_t unarmed_count, unarmed_cpu_ns;
};

/* Whether strata may open such events in the processes that it starts, at this period. */
bool st_own_events_possible(uint64_t period_ns);
void st_young_fini(struct st_young_threads *young);
void st_followed_thread_created(struct st_followed_table *table,
				const struct st_family_thread *thread);
/* The run ends: those that are left count as not armed. */
void st_followed_end_young(struct st_followed_table *table);
/* Opens the events of those that are due. */
void st_followed_arm_young(struct st_followed_table *table, uint64_t now_ns);

#endif
