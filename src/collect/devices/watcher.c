/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that waits for devices. A round is a matter of a few calls; at the program's end the last round is made by
 * the thread that ends it, in front of the maker's own handlers, and the watcher makes no more.
 */
#include "collect/devices/watcher.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collect/inproc/device/device.h"

enum {
	AWAITING_NS = 10000000,
	IDLE_NS = 50000000,
	STACK_BYTES = 256 << 10,
	REST_ROUNDS_MAX = 100, /* of AWAITING_NS, after the end of a recording */
	ROUND_WAITS_MAX = 200, /* for room in the ring, each of ROOM_WAIT_NS */
	ROOM_WAIT_NS = 500000,
	END_WAIT_MS = 500, /* for the watcher's round to end */
	NS_PER_SECOND = 1000000000,
	NS_PER_MS = 1000000,
};

static struct st_watcher_options options;
static atomic_int owner; /* the process that it was started in; 0: none */
static atomic_bool is_over;
static atomic_bool is_watched; /* there is a watcher */
static sem_t hurry;
static pthread_mutex_t round_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int waits; /* in this round */

static struct timespec after(long ns)
{
	struct timespec when;

	clock_gettime(CLOCK_MONOTONIC, &when);
	when.tv_nsec += ns;
	while (when.tv_nsec >= NS_PER_SECOND) {
		when.tv_nsec -= NS_PER_SECOND;
		when.tv_sec++;
	}
	return when;
}

static bool is_needed(void)
{
	return !st_watcher_is_over() && strata_device_state() != ST_DEVICE_SILENT;
}

static bool make_round(void)
{
	bool awaiting = false;

	pthread_mutex_lock(&round_lock);
	waits = 0;
	if (!st_watcher_is_over())
		awaiting = options.round();
	pthread_mutex_unlock(&round_lock);
	return awaiting;
}

static void watch_recording(void)
{
	bool awaiting = true;

	while (is_needed()) {
		struct timespec until = after(awaiting ? AWAITING_NS : IDLE_NS);

		while (sem_clockwait(&hurry, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR)
			;
		while (sem_trywait(&hurry) == 0)
			;
		awaiting = make_round();
	}
}

static void make_last_round(void)
{
	pthread_mutex_lock(&round_lock);
	waits = 0;
	if (!st_watcher_is_over())
		options.finish();
	pthread_mutex_unlock(&round_lock);
}

/* What was under way at the end of a recording: it is waited for a while, told as it is then, and let go. */
static void watch_rest(void)
{
	const struct timespec a_while = {.tv_nsec = AWAITING_NS};

	for (unsigned int i = 0; make_round() && i < REST_ROUNDS_MAX && !is_needed(); i++)
		nanosleep(&a_while, NULL);
	if (!is_needed())
		make_last_round();
}

/* Until a recording is over, and on when another one has begun meanwhile. */
static void *watch(void *arg)
{
	(void)arg;
	do {
		watch_recording();
		watch_rest();
		atomic_store(&is_watched, false);
	} while (is_needed() && !atomic_exchange(&is_watched, true));
	return NULL;
}

/* A thread that is in a round may be waiting for what this one holds. */
static void finish(void)
{
	struct timespec until = after((long)END_WAIT_MS * NS_PER_MS);

	if (atomic_load_explicit(&owner, memory_order_relaxed) != getpid())
		return;
	if (pthread_mutex_clocklock(&round_lock, CLOCK_MONOTONIC, &until) != 0) {
		atomic_store_explicit(&is_over, true, memory_order_relaxed);
		return;
	}
	waits = 0;
	options.finish();
	atomic_store_explicit(&is_over, true, memory_order_relaxed);
	pthread_mutex_unlock(&round_lock);
}

void st_watcher_start(const struct st_watcher_options *wanted)
{
	static bool registered;
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;

	if (atomic_exchange(&is_watched, true))
		return;
	options = *wanted;
	atomic_store_explicit(&is_over, false, memory_order_relaxed);
	atomic_store_explicit(&owner, getpid(), memory_order_relaxed);
	if (!registered) {
		sem_init(&hurry, 0, 0);
		atexit(finish);
	}
	registered = true;
	if (pthread_attr_init(&attributes)) {
		atomic_store(&is_watched, false);
		return;
	}
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (!pthread_create(&thread, &attributes, watch, NULL))
		pthread_setname_np(thread, options.name);
	else
		atomic_store(&is_watched, false);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

void st_watcher_hurry(void)
{
	sem_post(&hurry);
}

void st_watcher_round_now(void)
{
	if (atomic_load_explicit(&owner, memory_order_relaxed) == getpid())
		make_round();
}

bool st_watcher_is_over(void)
{
	return atomic_load_explicit(&is_over, memory_order_relaxed);
}

void st_watcher_forked(void)
{
	atomic_store_explicit(&owner, 0, memory_order_relaxed);
	atomic_store_explicit(&is_over, true, memory_order_relaxed);
	atomic_store_explicit(&is_watched, false, memory_order_relaxed);
	pthread_mutex_init(&round_lock, NULL);
}

void st_watcher_put(struct st_device_record *record, bool is_communication)
{
	const struct timespec a_while = {.tv_nsec = ROOM_WAIT_NS};
	unsigned int done;

	while ((done = strata_device_put(record, is_communication)) == ST_DEVICE_FULL &&
	       waits++ < ROUND_WAITS_MAX)
		nanosleep(&a_while, NULL);
	if (done == ST_DEVICE_FULL)
		strata_device_lost(1);
}
