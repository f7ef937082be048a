/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands whose times are still to be read. Threads of the program leave an event of each in a ring without waiting; the
 * watcher's thread looks every few milliseconds which are complete, reads their times and lets them go.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "collect/devices/host_clock.h"
#include "collect/devices/watcher.h"
#include "collect/inproc/device/device.h"
#include "collect/opencl/opencl.h"

enum {
	RING_MAX = 16384, /* a power of two */
	RING_HURRY = RING_MAX / 4,
	AWAITED_MAX = 65536,
	DEVICES_MAX = 64,
};

static const uint64_t timer_round_ns = 1000000000;

/* As many producers as there are threads, one consumer: a cell may be filled when its turn is the ticket's, and emptied
 * when it is one more. */
static struct cell {
	_Atomic uint32_t turn;
	struct opencl_pending pending;
} ring[RING_MAX];
static _Atomic uint32_t ring_head;
static uint32_t ring_tail;

/* Of the watcher, in the order in which they came. */
static struct opencl_pending awaited[AWAITED_MAX];
static uint32_t awaited_count;
static struct st_host_clock host;
static struct device_clock {
	_Atomic(cl_any *) handle; /* NULL: its timer cannot be read */
	uint64_t read_ns;
	struct st_clock_offset offset;
} clocks[DEVICES_MAX];

void opencl_events_start(void)
{
	for (uint32_t i = 0; i < RING_MAX; i++)
		atomic_store_explicit(&ring[i].turn, i, memory_order_relaxed);
	atomic_store_explicit(&ring_head, 0, memory_order_relaxed);
	ring_tail = 0;
	memset(&host, 0, sizeof(host));
	st_host_clock_read(&host);
}

void opencl_events_forget(void)
{
	awaited_count = 0;
	memset(clocks, 0, sizeof(clocks));
}

void opencl_events_device(uint16_t number, cl_any *device)
{
	if (number < DEVICES_MAX && opencl_target[CL_TIMERS])
		atomic_store_explicit(&clocks[number].handle, device, memory_order_release);
}

static void release(cl_any *event)
{
	int32_t (*give_back)(cl_any *);

	*(void **)&give_back = opencl_target[CL_RELEASE_EVENT];
	give_back(event);
}

void opencl_events_add(const struct opencl_pending *pending)
{
	uint32_t ticket = atomic_load_explicit(&ring_head, memory_order_relaxed);
	struct cell *cell;

	for (;;) {
		int32_t ahead;

		cell = &ring[ticket & (RING_MAX - 1)];
		/* Pairs with the release store of the consumer. */
		ahead = (int32_t)(atomic_load_explicit(&cell->turn, memory_order_acquire) - ticket);
		if (ahead < 0) {
			release(pending->event);
			strata_device_lost(1);
			return;
		}
		if (ahead > 0)
			ticket = atomic_load_explicit(&ring_head, memory_order_relaxed);
		else if (atomic_compare_exchange_weak_explicit(&ring_head, &ticket, ticket + 1,
							       memory_order_relaxed,
							       memory_order_relaxed))
			break;
	}
	cell->pending = *pending;
	/* Pairs with the acquire load of the consumer. */
	atomic_store_explicit(&cell->turn, ticket + 1, memory_order_release);
	if (ticket % RING_HURRY == RING_HURRY - 1)
		st_watcher_hurry();
}

static void empty_ring(void)
{
	uint64_t lost = 0;

	for (;; ring_tail++) {
		struct cell *cell = &ring[ring_tail & (RING_MAX - 1)];

		/* Pairs with the release store of the producer. */
		if (atomic_load_explicit(&cell->turn, memory_order_acquire) != ring_tail + 1)
			break;
		if (awaited_count < AWAITED_MAX) {
			awaited[awaited_count++] = cell->pending;
		} else {
			release(cell->pending.event);
			lost++;
		}
		atomic_store_explicit(&cell->turn, ring_tail + RING_MAX, memory_order_release);
	}
	if (lost)
		strata_device_lost(lost);
}

enum state { WAITS, ENDED, FAILED };

static enum state state_of(cl_any *event)
{
	int32_t (*about)(cl_any *, uint32_t, size_t, void *, size_t *);
	int32_t status = CL_COMPLETE;

	*(void **)&about = opencl_target[CL_EVENT_INFO];
	if (about(event, CL_EVENT_STATUS, sizeof(status), &status, NULL) != CL_SUCCESS)
		return FAILED;
	if (status > CL_COMPLETE)
		return WAITS;
	return status < CL_COMPLETE ? FAILED : ENDED;
}

static bool read_time(cl_any *event, uint32_t what, uint64_t *ns)
{
	int32_t (*about)(cl_any *, uint32_t, size_t, void *, size_t *);

	*ns = 0;
	*(void **)&about = opencl_target[CL_EVENT_PROFILING];
	return about(event, what, sizeof(*ns), ns, NULL) == CL_SUCCESS;
}

static struct device_clock *clock_of(const struct opencl_pending *pending)
{
	return &clocks[pending->record.device < DEVICES_MAX ? pending->record.device
							    : DEVICES_MAX - 1];
}

/* What was queued was queued in the call. */
static void learn(const struct opencl_pending *pending)
{
	uint64_t queued;

	if (read_time(pending->event, CL_PROFILING_QUEUED, &queued) && queued)
		st_clock_offset_add(&clock_of(pending)->offset, (int64_t)queued,
				    st_host_clock_ns(&host, pending->call_begin),
				    st_host_clock_ns(&host, pending->call_end));
}

/* Where the driver can tell its clock and the host's together. */
static void read_timers(void)
{
	int32_t (*timers)(cl_any *, uint64_t *, uint64_t *);

	*(void **)&timers = opencl_target[CL_TIMERS];
	for (unsigned int i = 0; i < DEVICES_MAX; i++) {
		cl_any *device = atomic_load_explicit(&clocks[i].handle, memory_order_acquire);
		uint64_t there = 0, theirs = 0, before;

		if (!device || host.ns - clocks[i].read_ns < timer_round_ns)
			continue;
		clocks[i].read_ns = host.ns;
		before = strata_device_ticks();
		if (timers(device, &there, &theirs) != CL_SUCCESS || !there)
			atomic_store_explicit(&clocks[i].handle, NULL, memory_order_relaxed);
		else
			st_clock_offset_add(&clocks[i].offset, (int64_t)there,
					    st_host_clock_ns(&host, before),
					    st_host_clock_ns(&host, strata_device_ticks()));
	}
}

/* False: its times cannot be read. */
static bool tell(struct opencl_pending *pending, const int64_t ahead[DEVICES_MAX])
{
	int64_t offset = ahead[clock_of(pending) - clocks];
	uint64_t begin, end;

	if (!read_time(pending->event, CL_PROFILING_START, &begin) ||
	    !read_time(pending->event, CL_PROFILING_END, &end) || end < begin || !begin)
		return false;
	pending->record.begin = st_host_clock_ticks(&host, (int64_t)begin - offset);
	pending->record.end = st_host_clock_ticks(&host, (int64_t)end - offset);
	st_watcher_put(&pending->record, false);
	return true;
}

static void fix_clocks(const enum state *states, int64_t ahead[DEVICES_MAX])
{
	/* A few stamps of each device are enough. */
	enum { LEARNED_MAX = 32 };
	unsigned int learned[DEVICES_MAX] = {0};

	st_host_clock_read(&host);
	read_timers();
	for (uint32_t i = 0; i < awaited_count; i++)
		if (states[i] == ENDED && learned[clock_of(&awaited[i]) - clocks]++ < LEARNED_MAX)
			learn(&awaited[i]);
	for (unsigned int i = 0; i < DEVICES_MAX; i++)
		ahead[i] = clocks[i].offset.known ? st_clock_offset_ns(&clocks[i].offset) : 0;
}

bool opencl_events_round(void)
{
	static enum state states[AWAITED_MAX];
	int64_t ahead[DEVICES_MAX];
	uint32_t left = 0;
	uint64_t lost = 0;

	empty_ring();
	if (!awaited_count)
		return false;
	for (uint32_t i = 0; i < awaited_count; i++)
		states[i] = state_of(awaited[i].event);
	fix_clocks(states, ahead);
	for (uint32_t i = 0; i < awaited_count; i++) {
		if (states[i] == WAITS) {
			awaited[left++] = awaited[i];
			continue;
		}
		/* What failed did not run. */
		if (states[i] == ENDED && !tell(&awaited[i], ahead))
			lost++;
		release(awaited[i].event);
	}
	awaited_count = left;
	if (lost)
		strata_device_lost(lost);
	return left > 0;
}

/* What still runs has no begin yet: it is told where it was asked for, without an end. */
void opencl_events_finish(void)
{
	opencl_events_round();
	for (uint32_t i = 0; i < awaited_count; i++) {
		awaited[i].record.begin = awaited[i].record.end = awaited[i].call_end;
		awaited[i].record.flags |= ST_DEVICE_UNFINISHED;
		st_watcher_put(&awaited[i].record, false);
		release(awaited[i].event);
	}
	awaited_count = 0;
}
