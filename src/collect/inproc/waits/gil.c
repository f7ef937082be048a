/* SPDX-License-Identifier: Apache-2.0
 *
 * Python's interpreter lock, of CPython 3.8 to 3.13. Its two condition variables and their mutexes lie at the same distances in
 * all of them, so that a wait for one of them with its own mutex is the lock's. Whoever has taken it signals the one, whoever
 * drops it the other: that is how long it is waited for and held. At both the lock itself must say that it is taken, or is
 * not; an interpreter where it ever says otherwise has another layout, and is not looked at again. Holds are short and many: what is
 * under 100 us is only added up.
 */
#include "collect/inproc/waits/gil.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "collect/inproc/core/thread.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/python/python_runtime.h"
#include "collect/inproc/sampler/sampler.h"
#include "collect/inproc/waits/gil_layout.h"
#include "collect/inproc/waits/objects.h"
#include "collect/inproc/waits/seam.h"
#include "collect/inproc/waits/waits.h"

#define ST_EXPORT __attribute__((visibility("default")))

enum { LOCKED = 16, CONDITION = 32, MUTEX = 80, SWITCH_CONDITION = 120, SWITCH_MUTEX = 168 };

/* As in seam.h. Relaxed: whoever sees it late has missed a hold. */
ST_EXPORT uint64_t strata_wait_gil;

static const uint8_t *runtime;
static const struct st_gil_layout *layout; /* NULL: not known */
static uint32_t refusal;		   /* what the user is to be told then */

static void set_lock(uint64_t at)
{
	__atomic_store_n(&strata_wait_gil, at, __ATOMIC_RELAXED);
}

/* The main interpreter makes it when it starts: until then there is none, and no thread that waits for it. */
static void look(void)
{
	const uint8_t *interpreter;
	uint64_t at;

	if (layout->lock) {
		set_lock((uint64_t)(uintptr_t)(runtime + layout->lock));
		return;
	}
	interpreter = *(const uint8_t *const *)(const void *)(runtime + layout->interpreter);
	if (!interpreter)
		return;
	at = *(const uint64_t *)(const void *)(interpreter + layout->pointer);
	if (at)
		set_lock(at);
}

void st_gil_find(void)
{
	struct st_python_runtime python = {0};
	uint32_t notice = 0;

	if (!st_python_is_here() || !st_python_runtime_find(&python))
		return;
	runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
	layout = st_gil_layout(python.version, python.free_threaded, &notice);
	if (layout && runtime)
		set_lock(ST_GIL_NOT_YET);
	else
		refusal = notice;
}

void st_gil_hello(void)
{
	if (refusal)
		atomic_fetch_or_explicit(&st_header()->notices, refusal, memory_order_relaxed);
}

static uint64_t lock_of(void)
{
	if (__atomic_load_n(&strata_wait_gil, __ATOMIC_RELAXED) == ST_GIL_NOT_YET)
		look();
	return __atomic_load_n(&strata_wait_gil, __ATOMIC_RELAXED);
}

/* What is known was wrong. */
static bool is_refused(uint64_t at, int locked)
{
	if (__atomic_load_n((const int *)(uintptr_t)(at + LOCKED), __ATOMIC_RELAXED) == locked)
		return false;
	set_lock(0);
	st_notice(ST_NOTICE_NO_GIL);
	return true;
}

void st_gil_recognize(struct st_open_wait *wait)
{
	uint64_t at = lock_of();

	if (at <= ST_GIL_NOT_YET)
		return;
	if (wait->object == at + CONDITION && wait->beside == at + MUTEX)
		wait->beside = ST_GIL_TAKES;
	else if (wait->object == at + SWITCH_CONDITION && wait->beside == at + SWITCH_MUTEX)
		wait->beside = 0;
	else
		return;
	wait->kind = ST_WAIT_GIL;
	wait->object = at;
}

/* The wait that the thread was in until it had the lock; how long it was, if it was told. */
static uint64_t end_wait(struct st_thread *thread, uint64_t at, uint64_t now)
{
	struct st_shm_wait *shared = &thread->slot->wait;
	struct st_open_wait wait = {.kind = ST_WAIT_GIL, .object = at};
	uint64_t took;

	wait.begin = atomic_load_explicit(&shared->begin, memory_order_relaxed);
	atomic_store_explicit(&shared->begin, 0, memory_order_relaxed);
	thread->waits.takes_gil = false;
	took = now > wait.begin ? now - wait.begin : 0;
	if (!wait.begin || (thread->waits.was_paused && st_waits_paused(thread)))
		return 0;
	if (took >= st_waits_least(ST_WAIT_GIL))
		return st_waits_record(thread, &wait, ST_WAIT_DONE, now) ? took : 0;
	st_waits_add_up(thread, &wait, ST_WAIT_DONE, now);
	return 0;
}

/* The calling thread's, only to be read: nobody else writes it. NULL: nothing is known of it. */
static const struct st_wait_sums *mine(void)
{
	const struct st_hot *hot = st_tls;

	return hot && hot->data ? &((const struct st_thread *)hot)->waits : NULL;
}

static void taken(uint64_t at, uint64_t now, const void *caller)
{
	uint64_t took = 0;
	const struct st_wait_sums *sums = mine();
	struct st_waits_entered in;

	if (sums && sums->takes_gil ? !st_waits_enter_to_write(&in) : !st_waits_enter(&in, false))
		return;
	if (in.thread->waits.takes_gil)
		took = end_wait(in.thread, at, now);
	in.thread->waits.held_since = st_waits_paused(in.thread) ? 0 : now;
	st_waits_leave(&in);
	if (took >= st_waits_settings.stack && took)
		st_sampler_wait(now, took, caller);
}

/* Short holds since the last time, as far as there is room. */
static void tell_holds(struct st_thread *thread, uint64_t at)
{
	struct st_wait_sums *sums = &thread->waits;
	struct st_wait_sum sum = {.object = at,
				  .ticks = sums->hold_ticks,
				  .count = sums->hold_count,
				  .kind = ST_WAIT_GIL,
				  .outcome = ST_WAIT_DONE};

	if (!sum.count || !st_waits_room(thread, st_waits_sum_records(&sum)))
		return;
	st_waits_put_sum(thread, ST_EVENT_HOLD_SUM, &sum);
	sums->hold_count = sum.count;
	sums->hold_ticks = sum.ticks;
	atomic_store_explicit(&thread->slot->wait.hold_count, sum.count, memory_order_relaxed);
	atomic_store_explicit(&thread->slot->wait.hold_ticks, sum.ticks, memory_order_relaxed);
}

static void add_hold(struct st_thread *thread, uint64_t now, uint64_t took)
{
	struct st_wait_sums *sums = &thread->waits;

	if (!sums->hold_count)
		sums->holds_since = now;
	sums->hold_count++;
	sums->hold_ticks += took;
	atomic_store_explicit(&thread->slot->wait.hold_count, sums->hold_count,
			      memory_order_relaxed);
	atomic_store_explicit(&thread->slot->wait.hold_ticks, sums->hold_ticks,
			      memory_order_relaxed);
}

static void record_hold(struct st_thread *thread, uint64_t at, uint64_t now, uint64_t took)
{
	if (!st_waits_room(thread, 1) ||
	    !st_event_put(thread, &(struct st_record){.kind = ST_EVENT_HOLD,
						      .mask = ST_FIELD_NAMES | ST_FIELD_VALUE |
							      ST_FIELD_EXTRA,
						      .detail = ST_WAIT_GIL,
						      .name_id = st_wait_line(thread),
						      .value = at,
						      .extra = took,
						      .ticks = now}))
		add_hold(thread, now, took);
}

static void dropped(uint64_t at, uint64_t now)
{
	uint64_t took;
	struct st_waits_entered in;
	const struct st_wait_sums *sums = mine();

	if (!sums || !sums->held_since || now < sums->held_since)
		return;
	took = now - sums->held_since;
	if (took < st_waits_settings.long_enough &&
	    (!sums->hold_count || now - sums->holds_since < st_waits_settings.sum)) {
		if (!st_waits_enter(&in, false))
			return;
		add_hold(in.thread, now, took);
	} else {
		if (!st_waits_enter_to_write(&in))
			return;
		if (took < st_waits_settings.long_enough)
			add_hold(in.thread, now, took);
		else if (!st_waits_paused(in.thread))
			record_hold(in.thread, at, now, took);
		tell_holds(in.thread, at);
	}
	in.thread->waits.held_since = 0;
	st_waits_leave(&in);
}

ST_EXPORT void strata_wait_gil_signal(uint64_t condition, bool is_awaited, const void *caller)
{
	uint64_t now = strata_wait_ticks(), at = now ? lock_of() : 0;
	uint32_t kind = ST_WAIT_CONDITION;
	int saved = errno;

	if (at > ST_GIL_NOT_YET &&
	    (condition == at + CONDITION || condition == at + SWITCH_CONDITION) &&
	    !is_refused(at, condition == at + SWITCH_CONDITION)) {
		kind = ST_WAIT_GIL;
		if (condition == at + SWITCH_CONDITION)
			taken(at, now, caller);
		else
			dropped(at, now);
	}
	if (is_awaited)
		strata_wait_wake(kind, kind == ST_WAIT_GIL ? at : condition, 0);
	errno = saved;
}

void st_gil_retire(struct st_thread *thread)
{
	uint64_t at = __atomic_load_n(&strata_wait_gil, __ATOMIC_RELAXED);

	tell_holds(thread, at > ST_GIL_NOT_YET ? at : 0);
	if (thread->waits.hold_count)
		atomic_fetch_add_explicit(&thread->ring->events_dropped, thread->waits.hold_count,
					  memory_order_relaxed);
	thread->waits.hold_count = 0;
	thread->waits.hold_ticks = thread->waits.held_since = 0;
	atomic_store_explicit(&thread->slot->wait.hold_count, 0, memory_order_relaxed);
	atomic_store_explicit(&thread->slot->wait.hold_ticks, 0, memory_order_relaxed);
}
