// SPDX-License-Identifier: Apache-2.0
//
// Events of single threads (own_events.h). An event sends a signal that ends a program which does not expect it, and the
// kernel knows threads by numbers that are used again: the event is opened switched off, and switched on only
// when its thread is known to be one of the process that asked for it.
#include "collect/launch/family/own_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "collect/launch/family/armed.h"
#include "collect/launch/family/family_state.h"
#include "collect/launch/family/followed.h"
#include "collect/launch/family/proc_info.h"

enum {
	YOUNG_MAX = 64 << 10,
	MOVE_MIN = 256,
	SCOPE_DESCENDANTS = 1,
	PERIOD_MIN_NS = 1000000,
	UNARMED_MIN_NS = 10000000
};

static const uint64_t age_ns = 20000000u, again_ns = 100000000u;

/* To signal somebody by an event one needs the rights of a debugger. */
static bool may_debug_descendants(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = file ? fgetc(file) - '0' : 0;

	if (file)
		fclose(file);
	return scope <= SCOPE_DESCENDANTS;
}

bool st_own_events_possible(uint64_t period_ns)
{
	struct timespec tick = {0};

	/* The timers that stand for an event until it is there are looked at on the scheduler's tick. */
	return !clock_getres(CLOCK_MONOTONIC_COARSE, &tick) &&
	       period_ns >= (uint64_t)tick.tv_sec * 1000000000u + (uint64_t)tick.tv_nsec &&
	       may_debug_descendants() && st_family_perf_possible();
}

void st_young_fini(struct st_young_threads *young)
{
	free(young->items);
	free(young->later);
	memset(young, 0, sizeof(*young));
}

/* Moves what is left to the front, now and then. */
static void close_up(struct st_young_threads *young)
{
	if (young->begin < MOVE_MIN || young->begin < young->count / 2)
		return;
	memmove(young->items, young->items + young->begin,
		(young->count - young->begin) * sizeof(*young->items));
	young->count -= young->begin;
	young->begin = 0;
}

void st_followed_thread_created(struct st_followed_table *table,
				const struct st_family_thread *thread)
{
	struct st_young_threads *young = &table->young;
	struct st_young item = {
		.pid = thread->pid, .tid = thread->tid, .born_ns = thread->mono_raw_ns};

	if (!table->own_events)
		return;
	close_up(young);
	if (young->count - young->begin >= YOUNG_MAX ||
	    !ST_VEC_PUSH(young->items, young->count, young->capacity, item))
		young->forgotten++;
}

static bool is_thread_of(pid_t pid, pid_t tid)
{
	return !syscall(SYS_tgkill, pid, tid, 0) || errno != ESRCH;
}

static int open_event(const struct st_shm_arm *arm, pid_t tid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = arm->period_ns,
		.disabled = 1,
		.exclude_hv = 1,
		.exclude_kernel = arm->rung != ST_RUNG_SIGTRAP,
		.remove_on_exec = 1,
		.sigtrap = 1,
		.sig_data = arm->mark,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Everything in the message is the target's word. */
static bool wants_events(const struct st_shm_arm *arm)
{
	return arm->period_ns >= PERIOD_MIN_NS && arm->flags & ST_ARM_OWN_EVENTS &&
	       arm->trigger == ST_TRIGGER_CPU_CLOCK &&
	       (arm->rung == ST_RUNG_SIGTRAP || arm->rung == ST_RUNG_SIGTRAP_USER);
}

static void arm_thread(struct st_armed *armed, const struct st_young *thread)
{
	int fd;

	if (!wants_events(&armed->arm) || st_armed_has(armed, thread->tid))
		return;
	fd = open_event(&armed->arm, thread->tid);
	if (fd < 0) {
		armed->refused += errno != ESRCH;
		return;
	}
	if (!is_thread_of(thread->pid, thread->tid)) {
		close(fd);
		return;
	}
	if (armed->enabled)
		(void)ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	st_armed_hold_own(armed, (uint32_t)thread->tid, fd);
}

static uint64_t cpu_of(const struct st_young *thread)
{
	char name[48], text[96];

	snprintf(name, sizeof(name), "task/%d/schedstat", (int)thread->tid);
	return st_proc_read(thread->pid, name, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10)
								       : 0;
}

/* Of a process that our library is in, and that was to be sampled. */
static void count_unarmed(struct st_followed_table *table, const struct st_young *thread)
{
	if (thread->cpu_ns < UNARMED_MIN_NS || !table->samples_all ||
	    !st_family_takes_part(table->family, thread->pid))
		return;
	table->young.unarmed_count++;
	table->young.unarmed_cpu_ns += thread->cpu_ns;
}

/* False: its process is not armed, or not yet. */
static bool see_to(struct st_followed_table *table, struct st_young *thread)
{
	struct st_armed *armed;

	if (!is_thread_of(thread->pid, thread->tid)) {
		count_unarmed(table, thread);
		return true;
	}
	armed = st_followed_armed(table, thread->pid);
	if (armed)
		arm_thread(armed, thread);
	else
		thread->cpu_ns = cpu_of(thread);
	return armed;
}

static void look_again(struct st_followed_table *table, uint64_t now_ns)
{
	struct st_young_threads *young = &table->young;
	uint32_t kept = 0;

	if (now_ns - young->looked_ns < again_ns)
		return;
	young->looked_ns = now_ns;
	for (uint32_t i = 0; i < young->later_count; i++)
		if (!see_to(table, &young->later[i]))
			young->later[kept++] = young->later[i];
	young->later_count = kept;
}

void st_followed_end_young(struct st_followed_table *table)
{
	struct st_young_threads *young = &table->young;

	for (uint32_t i = 0; i < young->later_count; i++)
		count_unarmed(table, &young->later[i]);
	young->begin = young->count = young->later_count = 0;
}

void st_followed_arm_young(struct st_followed_table *table, uint64_t now_ns)
{
	struct st_young_threads *young = &table->young;

	for (; young->begin < young->count; young->begin++) {
		struct st_young *thread = &young->items[young->begin];

		if (thread->born_ns + age_ns > now_ns)
			break;
		if (!see_to(table, thread) && (young->later_count >= YOUNG_MAX ||
					       !ST_VEC_PUSH(young->later, young->later_count,
							    young->later_capacity, *thread)))
			young->forgotten++;
	}
	look_again(table, now_ns);
}
