// SPDX-License-Identifier: Apache-2.0
//
// The trigger events of sampled processes (armed.h). PERF_EVENT_IOC_ENABLE and _DISABLE reach all threads
// that inherited an event; everything in the message is the target's word and is bounded before use.
#include "collect/launch/family/armed.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "format/definitions.h"

enum { RUNG_COUNT = ST_RUNG_IMPORTED + 1, TRIGGER_COUNT = ST_TRIGGER_CPU_TIME + 1 };

static const char *const rung_names[RUNG_COUNT] = {
	[ST_RUNG_NONE] = "none",
	[ST_RUNG_SIGTRAP] = "sigtrap",
	[ST_RUNG_SIGTRAP_USER] = "sigtrap, user mode only",
	[ST_RUNG_SETSIG] = "signal per thread, user mode only",
	[ST_RUNG_THREAD_TIMER] = "timer per thread",
	[ST_RUNG_PROCESS_TIMER] = "timer per process",
	[ST_RUNG_OUTSIDE] = "read from outside",
	[ST_RUNG_IMPORTED] = "imported",
};

static const char *const trigger_names[TRIGGER_COUNT] = {
	[ST_TRIGGER_CPU_CLOCK] = "cpu-clock",
	[ST_TRIGGER_CYCLES] = "cycles",
	[ST_TRIGGER_CPU_TIME] = "CPU time",
};

const char *st_rung_name(enum st_sampler_rung rung)
{
	return (unsigned int)rung < RUNG_COUNT ? rung_names[rung] : "unknown";
}

const char *st_trigger_name(enum st_sampler_trigger trigger)
{
	return trigger && (unsigned int)trigger < TRIGGER_COUNT ? trigger_names[trigger]
								: "unknown";
}

/* What a hostile or newer collector may have sent becomes what we know. */
static void take_arm(struct st_armed *armed, const struct st_shm_arm *arm)
{
	armed->arm = *arm;
	armed->arms++;
	armed->by_first_thread |= arm->tid == arm->pid;
	if (arm->rung > ST_RUNG_PROCESS_TIMER)
		armed->arm.rung = ST_RUNG_NONE;
	if (arm->trigger > ST_TRIGGER_CPU_TIME)
		armed->arm.trigger = 0;
	/* It comes running. To enable it once more could undo what the target does before an exec. */
	armed->enabled = 1;
}

static void close_events(struct st_armed *armed)
{
	while (armed->event_count)
		close(armed->events[--armed->event_count].fd);
}

/* Threads of other namespaces are taken for living. */
static bool has_thread(const struct st_armed *armed, const struct st_armed_event *event)
{
	return armed->pid <= 0 || (armed->arm.pid != (uint32_t)armed->pid && !event->is_own) ||
	       !syscall(SYS_tgkill, armed->pid, event->tid, 0) || errno != ESRCH;
}

/* Threads may live on that have inherited the event of one that is gone. */
static bool is_of_one_thread(const struct st_armed *armed, uint32_t index)
{
	return armed->arm.rung == ST_RUNG_SETSIG || index > 0;
}

static void purge(struct st_armed *armed)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < armed->event_count; i++) {
		if (!is_of_one_thread(armed, i) || has_thread(armed, &armed->events[i]))
			armed->events[kept++] = armed->events[i];
		else
			close(armed->events[i].fd);
	}
	armed->event_count = kept;
}

static void hold(struct st_armed *armed, struct st_armed_event event)
{
	if (event.fd < 0)
		return;
	if (armed->event_count == armed->event_capacity)
		purge(armed);
	if (armed->event_count >= ST_ARMED_EVENTS_MAX ||
	    !ST_VEC_PUSH(armed->events, armed->event_count, armed->event_capacity, event)) {
		armed->refused++; /* that thread is not sampled */
		close(event.fd);
	}
}

void st_armed_hold(struct st_armed *armed, uint32_t tid, int event)
{
	hold(armed, (struct st_armed_event){.fd = event, .tid = tid});
}

void st_armed_hold_own(struct st_armed *armed, uint32_t tid, int event)
{
	hold(armed, (struct st_armed_event){.fd = event, .tid = tid, .is_own = true});
}

bool st_armed_has(const struct st_armed *armed, pid_t tid)
{
	bool same_namespace = armed->arm.pid == (uint32_t)armed->pid;

	for (uint32_t i = 0; i < armed->event_count; i++)
		if (armed->events[i].tid == (uint32_t)tid &&
		    (armed->events[i].is_own || same_namespace))
			return true;
	return false;
}

struct st_armed *st_armed_create(const struct st_shm_arm *arm, pid_t pid, int event, int pidfd)
{
	struct st_armed *armed = calloc(1, sizeof(*armed));

	if (!armed) {
		if (event >= 0)
			close(event);
		if (pidfd >= 0)
			close(pidfd);
		return NULL;
	}
	armed->pid = pid;
	armed->pidfd = pidfd;
	take_arm(armed, arm);
	st_armed_hold(armed, arm->tid, event);
	return armed;
}

void st_armed_destroy(struct st_armed *armed)
{
	if (!armed)
		return;
	close_events(armed);
	if (armed->pidfd >= 0)
		close(armed->pidfd);
	free(armed->events);
	free(armed);
}

void st_armed_again(struct st_armed *armed, const struct st_shm_arm *arm, int event)
{
	/* On the inherited rungs there is one event a process, and a new one replaces it. */
	if (arm->rung != ST_RUNG_SETSIG || armed->arm.rung != ST_RUNG_SETSIG)
		close_events(armed);
	take_arm(armed, arm);
	st_armed_hold(armed, arm->tid, event);
}

void st_armed_enable(struct st_armed *armed, bool on)
{
	if (armed->enabled == (int)on)
		return;
	armed->enabled = on;
	for (uint32_t i = 0; i < armed->event_count; i++)
		ioctl(armed->events[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

bool st_armed_is_live(const struct st_armed *armed)
{
	return armed->pid <= 0 || !kill(armed->pid, 0) || errno != ESRCH;
}

bool st_armed_is_next_program(const struct st_armed *armed, const struct st_shm_arm *arm)
{
	if (armed->arm.rung != ST_RUNG_SETSIG || arm->rung != ST_RUNG_SETSIG)
		return true;
	return armed->by_first_thread && arm->tid == arm->pid;
}

static const struct {
	uint32_t flag;
	const char *text;
} reasons[] = {
	{ST_ARM_FOREIGN_HANDLER, "the program handles SIGTRAP itself"},
	{ST_ARM_TRACED, "it runs under a debugger"},
	{ST_ARM_NOT_PRELOADED,
	 "it was started without LD_PRELOAD, so the collector was loaded too late"},
	{ST_ARM_GO, "the Go runtime handles all signals itself"},
};

void st_armed_why(const struct st_shm_arm *arm, char *out, size_t out_size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (arm->flags & reasons[i].flag && used < out_size)
			used += (size_t)snprintf(out + used, out_size - used, "%s%s",
						 used ? "; " : "", reasons[i].text);
	for (unsigned int i = ST_RUNG_SIGTRAP;
	     i <= ST_RUNG_PROCESS_TIMER && (i < arm->rung || arm->rung == ST_RUNG_NONE); i++) {
		int size;

		if (arm->errors[i] <= 0 || used >= out_size)
			continue;
		size = snprintf(out + used, out_size - used, "%s%s: %s", used ? "; " : "",
				rung_names[i], strerror(arm->errors[i]));
		used += size > 0 ? (size_t)size : 0;
	}
}

void st_armed_define(const struct st_shm_arm *arm, uint64_t time, struct st_buf *out)
{
	size_t begin = st_definition_begin(out, ST_DEF_SAMPLER);
	char why[512];

	st_armed_why(arm, why, sizeof(why));
	st_buf_append_u32(out, arm->rung);
	st_buf_append_u32(out, arm->trigger);
	st_buf_append_u32(out, arm->flags);
	st_buf_append_u32(out, 0);
	st_buf_append_u64(out, arm->period_ns);
	st_buf_append_u64(out, time);
	st_definition_text(out, why, strlen(why));
	st_definition_end(out, begin);
}
