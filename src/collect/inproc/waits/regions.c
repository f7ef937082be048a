/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits of OpenMP's threads for the end of a region, and for the next one. Who has done his part waits until all have; that is over
 * when the thread that began the region goes on, which only that thread knows at once. So it tells the others in their slots:
 * from then on they are idle. They make their records when they have work again. Between the two a thread is inside of its run
 * time: waits of that are part of this one. Nobody begins a region between vfork and exec, so nobody asks whose storage it has.
 */
#include "collect/inproc/waits/regions.h"

#include <errno.h>
#include <stdatomic.h>

#include "collect/inproc/core/choose.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/itt/event.h"
#include "collect/inproc/sampler/sampler.h"
#include "collect/inproc/waits/seam.h"
#include "collect/inproc/waits/waits.h"

#define ST_EXPORT __attribute__((visibility("default")))

/* It may have ended long ago, and the thread have told other things since: then its record says when. */
static bool tell(struct st_thread *thread, const struct st_open_wait *wait, uint64_t end,
		 uint64_t now)
{
	struct st_record record = {.kind = ST_EVENT_WAIT,
				   .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA,
				   .detail = wait->kind,
				   .value = wait->object,
				   .extra = end - wait->begin,
				   .time = end,
				   .ticks = now};

	if (end != now)
		record.mask |= ST_FIELD_TIME;
	return st_waits_room(thread, 1) && st_event_put(thread, &record);
}

static void add(struct st_thread *thread, const struct st_open_wait *wait, uint64_t end,
		uint64_t now)
{
	uint64_t took = end > wait->begin ? end - wait->begin : 0;

	if (took < st_waits_least(wait->kind) || !tell(thread, wait, end, now))
		st_waits_add_up(thread, wait, ST_WAIT_DONE, end);
}

/* Takes the open wait out of the slot; before `now` the thread has waited and was idle. */
static void finish(struct st_thread *thread, uint64_t now)
{
	struct st_region_wait *region = &thread->waits.region;
	struct st_open_wait wait = {
		.begin = region->begin, .object = region->object, .kind = region->kind};
	uint64_t end = atomic_exchange_explicit(&thread->slot->wait.begin, 0, memory_order_relaxed);

	region->begin = 0;
	if (st_waits_paused(thread))
		return;
	/* Still the begin: nobody has said that the region is over. */
	add(thread, &wait, end != wait.begin ? end : now, now);
	if (end != wait.begin && now > end) {
		wait = (struct st_open_wait){.begin = end, .kind = ST_WAIT_IDLE};
		add(thread, &wait, now, now);
	}
}

void st_region_retire(struct st_thread *thread)
{
	if (thread->waits.region.begin)
		finish(thread, st_ticks());
}

static bool waits_here(void)
{
	const struct st_hot *hot = st_tls;

	return hot && hot->data && ((const struct st_thread *)hot)->waits.region.begin;
}

ST_EXPORT void strata_region_work(void)
{
	struct st_waits_entered in;
	int saved = errno;

	if (!waits_here() || !st_waits_enter_to_write(&in))
		return;
	finish(in.thread, st_ticks());
	st_waits_leave(&in);
	errno = saved;
}

/* The wait stands in the thread's slot from now on; false: it is part of another one, or of a pause. */
static bool open_wait(struct st_thread *thread, uint32_t kind, uint64_t object)
{
	struct st_shm_wait *shared = &thread->slot->wait;
	struct st_region_wait *wait = &thread->waits.region;

	if (atomic_load_explicit(&shared->begin, memory_order_relaxed) || st_waits_paused(thread))
		return false;
	*wait = (struct st_region_wait){.begin = st_ticks(), .object = object, .kind = kind};
	thread->waits.frame = UINTPTR_MAX;
	thread->waits.was_paused = false;
	atomic_store_explicit(&shared->object, object, memory_order_relaxed);
	atomic_store_explicit(&shared->kind, kind, memory_order_relaxed);
	atomic_store_explicit(&shared->region_begin, wait->begin, memory_order_relaxed);
	atomic_store_explicit(&shared->begin, wait->begin, memory_order_release);
	return true;
}

ST_EXPORT void strata_region_leave(const struct st_region *region, struct st_region_place *place)
{
	struct st_waits_entered in;
	int saved = errno;

	*place = (struct st_region_place){0};
	if (!st_waits_enter(&in, false))
		return;
	if (open_wait(in.thread, ST_WAIT_REGION, region->object))
		/* OpenMP's own barrier is between this and whoever reads it. */
		*place = (struct st_region_place){.wait = &in.thread->slot->wait,
						  .begin = in.thread->waits.region.begin};
	st_waits_leave(&in);
	errno = saved;
}

/* Who still waits there is idle from now on; who does not has gone, or has other work. Together they have waited as long as that. */
static uint64_t let_go(const struct st_region *region, uint32_t threads,
		       const struct st_shm_wait *own, uint64_t now)
{
	uint64_t waited = 0;

	for (uint32_t i = 0; i < threads && i < ST_REGION_THREADS; i++) {
		const struct st_region_place *place = &region->places[i];
		uint64_t begin = place->begin;

		if (place->wait &&
		    (place->wait == own || atomic_compare_exchange_strong_explicit(
						   &place->wait->begin, &begin, now,
						   memory_order_relaxed, memory_order_relaxed)))
			waited += now - place->begin;
	}
	return waited;
}

static uint32_t share_of(uint64_t part, uint64_t whole)
{
	while (part >> 40) {
		part >>= 1;
		whole >>= 1;
	}
	return part < whole ? (uint32_t)(part * ST_PARALLEL_WHOLE / whole) : ST_PARALLEL_WHOLE;
}

static void tell_region(struct st_thread *thread, const struct st_region *region, uint64_t now,
			uint64_t waited)
{
	uint32_t known = atomic_load_explicit(&region->threads, memory_order_relaxed);
	uint32_t threads = known ? known : 1;
	uint64_t took = now - region->begin;

	if (st_waits_paused(thread))
		return;
	if (!st_waits_room(thread, 1)) {
		atomic_fetch_add_explicit(&thread->ring->events_dropped, 1, memory_order_relaxed);
		return;
	}
	st_waits_put(thread, ST_EVENT_PARALLEL,
		     (threads < ST_PARALLEL_THREADS ? threads : ST_PARALLEL_THREADS) |
			     share_of(waited, took * threads) << ST_PARALLEL_SHIFT,
		     region->object, took, now);
}

ST_EXPORT void strata_region_end(struct st_region *region)
{
	/* Pairs with OpenMP's barrier. */
	uint32_t threads = atomic_load_explicit(&region->threads, memory_order_acquire);
	const struct st_shm_wait *own = NULL;
	uint64_t now = strata_wait_ticks(), waited, took = 0;
	struct st_waits_entered in;
	int saved = errno;

	if (!now)
		return;
	if (waits_here()) {
		own = &((struct st_thread *)st_tls)->slot->wait;
		took = now - ((struct st_thread *)st_tls)->waits.region.begin;
	}
	waited = let_go(region, threads, own, now);
	if (st_waits_enter_to_write(&in)) {
		if (own)
			finish(in.thread, now);
		tell_region(in.thread, region, now, waited);
		st_waits_leave(&in);
	}
	if (took && took >= st_waits_settings.stack)
		st_sampler_wait(now, took, region->caller);
	errno = saved;
}

ST_EXPORT void strata_region_missed(void)
{
	struct st_waits_entered in;
	int saved = errno;

	if (!st_waits_settings.per_ms || !st_waits_enter(&in, false))
		return;
	atomic_fetch_add_explicit(&in.thread->ring->events_dropped, !st_waits_paused(in.thread),
				  memory_order_relaxed);
	st_waits_leave(&in);
	errno = saved;
}

ST_EXPORT void strata_region_wait(uint32_t kind, uint64_t object)
{
	struct st_waits_entered in;
	int saved = errno;

	if (!st_waits_settings.per_ms || !st_waits_enter(&in, false))
		return;
	open_wait(in.thread, kind, object);
	st_waits_leave(&in);
	errno = saved;
}

ST_EXPORT void strata_region_go_on(uint32_t kind, const void *caller)
{
	struct st_waits_entered in;
	uint64_t now, took;
	int saved = errno;

	if (!waits_here() || ((const struct st_thread *)st_tls)->waits.region.kind != kind)
		return;
	now = st_ticks();
	took = now - ((const struct st_thread *)st_tls)->waits.region.begin;
	if (took < st_waits_least(kind) ? st_waits_enter(&in, true)
					: st_waits_enter_to_write(&in)) {
		finish(in.thread, now);
		st_waits_leave(&in);
	}
	if (took >= st_waits_settings.stack && caller)
		st_sampler_wait(now, took, caller);
	errno = saved;
}

ST_EXPORT void strata_region_stay(struct st_region_place *place, const void *caller)
{
	struct st_region_wait *wait;

	if (!place->wait || !waits_here())
		return;
	*place = (struct st_region_place){0};
	wait = &((struct st_thread *)st_tls)->waits.region;
	wait->kind = ST_WAIT_OMP_BARRIER;
	wait->object = (uint64_t)(uintptr_t)caller;
	strata_region_go_on(ST_WAIT_OMP_BARRIER, caller);
}

ST_EXPORT void strata_region_told_by(const void *image)
{
	st_choose_no_sync(image);
}

ST_EXPORT void strata_region_taken(void)
{
	int saved = errno;

	if (st_waits_settings.per_ms)
		st_notice(ST_NOTICE_OMPT_TAKEN);
	errno = saved;
}
