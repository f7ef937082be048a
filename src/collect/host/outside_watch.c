// SPDX-License-Identifier: Apache-2.0
#include "collect/host/outside_watch.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/search.h"
#include "base/rt/clock.h"

enum {
	FRAMES_MAX = 1024,
	KEPT_MAX = 4096,
	STACK_BYTES = 256 << 10,
	/* The sampled thread waits meanwhile: very deep stacks, often sampled, are not read each time. */
	PAUSE_TIMES = 10,
};

/* From the sample to the switch lie the kernel's copy of the stack and its way to the scheduler. In a system call
 * the program does not go on, however long it takes. */
static const uint64_t out_ns = 150000, out_in_kernel_ns = 2000000;
static const uint64_t slice_ns = 100000; /* the shortest turn the kernel grants */

struct watcher {
	struct st_outside_watch *watch;
	uint32_t ring;
	int fd;
	pthread_t thread;
	bool started;
	uint64_t frames[FRAMES_MAX];
};

struct st_outside_watch {
	struct st_perf_rings *rings;
	st_outside_walk walk;
	void *arg;
	int stop_fd;
	struct watcher *watchers;
	uint32_t count;
	pthread_mutex_t lock; /* of the following */
	struct st_outside_capture *first, **last;
	uint32_t kept;
};

/* To run as soon as a sample wakes it: as a real-time thread where that is allowed, else with short turns. */
static void hurry(uint32_t processor)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof(attr), .policy = SCHED_FIFO, .priority = 1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (processor < CPU_SETSIZE)
		(void)sched_setaffinity(0, sizeof(set), &set);
	if (syscall(SYS_sched_setattr, 0, &attr, 0) == 0)
		return;
	attr.policy = SCHED_OTHER;
	attr.priority = 0;
	attr.runtime = slice_ns;
	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

static void keep(struct st_outside_watch *watch, const struct st_outside_capture *seen)
{
	struct st_outside_capture *capture =
		malloc(sizeof(*capture) + seen->count * sizeof(*seen->frames));

	if (!capture)
		return;
	*capture = *seen;
	capture->frames = (uint64_t *)(capture + 1);
	memcpy(capture->frames, seen->frames, seen->count * sizeof(*seen->frames));
	pthread_mutex_lock(&watch->lock);
	if (watch->kept < KEPT_MAX) {
		*watch->last = capture;
		watch->last = &capture->next;
		watch->kept++;
		capture = NULL;
	}
	pthread_mutex_unlock(&watch->lock);
	free(capture);
}

static void *run(void *arg)
{
	struct watcher *watcher = arg;
	struct st_outside_watch *watch = watcher->watch;
	struct pollfd polled[] = {{.fd = watcher->fd, .events = POLLIN},
				  {.fd = watch->stop_fd, .events = POLLIN}};
	uint64_t position = 0, next_ns = 0, began_ns;

	hurry(watcher->ring);
	while (poll(polled, 2, -1) >= 0 && !polled[1].revents) {
		struct st_outside_capture seen = {.frames = watcher->frames};
		struct st_perf_newest newest;

		if (polled[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			polled[0].fd = -1; /* all its threads have ended */
		began_ns = st_clock_mono_raw_ns();
		if (!st_perf_rings_newest(watch->rings, watcher->ring, &position, &newest) ||
		    began_ns < next_ns)
			continue;
		seen.tid = newest.tid;
		seen.time = newest.time;
		seen.count = watch->walk(watch->arg, newest.tid, watcher->frames, FRAMES_MAX,
					 &seen.flags);
		seen.read_ns = st_clock_mono_raw_ns();
		next_ns = seen.read_ns + (seen.read_ns - began_ns) * PAUSE_TIMES;
		keep(watch, &seen);
	}
	return NULL;
}

static bool start(struct st_outside_watch *watch)
{
	pthread_attr_t attr;
	bool any = false;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (uint32_t i = 0; i < watch->count; i++) {
		struct watcher *watcher = &watch->watchers[i];

		watcher->watch = watch;
		watcher->ring = i;
		watcher->fd = st_perf_rings_fd(watch->rings, i);
		watcher->started = watcher->fd >= 0 &&
				   pthread_create(&watcher->thread, &attr, run, watcher) == 0;
		any |= watcher->started;
	}
	pthread_attr_destroy(&attr);
	return any;
}

struct st_outside_watch *st_outside_watch_create(struct st_perf_rings *rings, st_outside_walk walk,
						 void *arg)
{
	struct st_outside_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->rings = rings;
	watch->walk = walk;
	watch->arg = arg;
	watch->last = &watch->first;
	pthread_mutex_init(&watch->lock, NULL);
	watch->count = st_perf_rings_count(rings);
	watch->watchers = calloc(watch->count, sizeof(*watch->watchers));
	watch->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (watch->watchers && watch->stop_fd >= 0 && start(watch))
		return watch;
	st_outside_watch_destroy(watch);
	return NULL;
}

void st_outside_watch_destroy(struct st_outside_watch *watch)
{
	static const uint64_t one = 1;

	if (!watch)
		return;
	if (watch->stop_fd >= 0 && write(watch->stop_fd, &one, sizeof(one)) == sizeof(one))
		for (uint32_t i = 0; watch->watchers && i < watch->count; i++)
			if (watch->watchers[i].started)
				pthread_join(watch->watchers[i].thread, NULL);
	while (watch->first) {
		struct st_outside_capture *next = watch->first->next;

		free(watch->first);
		watch->first = next;
	}
	if (watch->stop_fd >= 0)
		close(watch->stop_fd);
	pthread_mutex_destroy(&watch->lock);
	free(watch->watchers);
	free(watch);
}

/* Samples are asked for in order of time: what is much older than the one asked for was of a lost sample. */
struct st_outside_capture *st_outside_watch_take(struct st_outside_watch *watch, uint32_t tid,
						 uint64_t time)
{
	static const uint64_t forget_ns = 1000000000u;
	struct st_outside_capture **at, *found = NULL;

	pthread_mutex_lock(&watch->lock);
	for (at = &watch->first; *at && !found;) {
		struct st_outside_capture *capture = *at;
		bool match = capture->tid == tid && capture->time == time;

		if (!match && capture->time + forget_ns >= time) {
			at = &capture->next;
			continue;
		}
		*at = capture->next;
		if (!capture->next)
			watch->last = at;
		watch->kept--;
		if (match)
			found = capture;
		else
			free(capture);
	}
	pthread_mutex_unlock(&watch->lock);
	return found;
}

bool st_outside_captured_in_time(const struct st_outside_switches *switches,
				 const struct st_outside_capture *capture, bool in_kernel)
{
	uint32_t at = ST_SEARCH(i, 0, switches->count, switches->entries[i].time <= capture->time);
	bool out = false;

	if (capture->read_ns > switches->until_ns)
		return false;
	for (; at < switches->count && switches->entries[at].time <= capture->read_ns; at++) {
		const struct st_outside_switch *one = &switches->entries[at];

		if (one->tid != capture->tid)
			continue;
		if (out || !one->out ||
		    one->time - capture->time > (in_kernel ? out_in_kernel_ns : out_ns))
			return false;
		out = true;
	}
	return out;
}
