/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots: how a thread gets one, marks itself busy in slow paths, and gives it back. A leaving thread's
 * slot is adopted in place by the next new thread, without waiting for the drainer.
 */
#include "collect/inproc/core/thread.h"

#include <pthread.h>
#include <string.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/backend.h"

enum { NO_SLOT_RETRY = 256 };

/* In one instruction, so that a handler sees either the thread's state or the busy mark. */
bool st_busy_enter(struct st_hot **saved)
{
	*saved = __atomic_exchange_n(&st_tls, &st_hot_busy, __ATOMIC_RELAXED);
	atomic_signal_fence(memory_order_seq_cst);
	return *saved != &st_hot_busy;
}

void st_busy_leave(struct st_hot *saved)
{
	atomic_signal_fence(memory_order_seq_cst);
	__atomic_store_n(&st_tls, saved, __ATOMIC_RELAXED);
}

static void count_lost(void)
{
	struct st_shm_header *header = st_header();

	atomic_fetch_add_explicit(header ? &header->lost_no_slot : &st_process->lost_early, 1,
				  memory_order_relaxed);
}

/* The first record attempt of the process says hello; failing means off until the process ends. */
static bool process_on(void)
{
	uint32_t state = atomic_load_explicit(&st_process->state, memory_order_acquire);

	if (state != ST_PROCESS_SILENT)
		return state == ST_PROCESS_ON;
	if (!st_process_lock())
		return false;
	state = atomic_load_explicit(&st_process->state, memory_order_relaxed);
	if (state == ST_PROCESS_SILENT) {
		bool detached = atomic_load_explicit(&st_shared.detached, memory_order_relaxed) ||
				(st_config.only_pid &&
				 (long)st_config.only_pid != st_syscall(SYS_getpid, 0));

		state = !detached && st_segment_create(0) ? ST_PROCESS_ON : ST_PROCESS_OFF;
		if (state == ST_PROCESS_ON)
			ST_BACKENDS_CALL(hello);
		/* Pairs with the acquire load above. */
		atomic_store_explicit(&st_process->state, state, memory_order_release);
	}
	st_process_unlock();
	return state == ST_PROCESS_ON;
}

static bool take(struct st_shm_slot *slot, uint32_t from)
{
	/* Acquire pairs with the release of the previous owner's DONE: its head is final. */
	return atomic_load_explicit(&slot->state, memory_order_relaxed) == from &&
	       atomic_compare_exchange_strong_explicit(&slot->state, &from, ST_SLOT_OWNED,
						       memory_order_acquire, memory_order_relaxed);
}

static void raise_used(struct st_shm_header *header, uint32_t used)
{
	uint32_t seen = atomic_load_explicit(&header->slots_used, memory_order_relaxed);

	/* Release pairs with the drainer's acquire: the slot's state is OWNED by then. */
	while (seen < used &&
	       !atomic_compare_exchange_weak_explicit(&header->slots_used, &seen, used,
						      memory_order_release, memory_order_relaxed))
		;
}

static bool take_in(struct st_segment *segment, uint32_t *index)
{
	uint32_t used = atomic_load_explicit(&segment->header->slots_used, memory_order_relaxed);

	for (uint32_t i = 0; i < used && i < segment->slot_count; i++) {
		if (take(&segment->slots[i], ST_SLOT_DONE)) {
			*index = i;
			return true;
		}
	}
	for (uint32_t i = 0; i < segment->slot_count; i++) {
		if (take(&segment->slots[i], ST_SLOT_FREE)) {
			raise_used(segment->header, i + 1);
			*index = i;
			return true;
		}
	}
	return false;
}

static struct st_segment *take_any(uint32_t *index, uint32_t *count)
{
	*count = atomic_load_explicit(&st_process->segment_count, memory_order_acquire);
	for (uint32_t i = 0; i < *count; i++)
		if (take_in(&st_process->segment[i], index))
			return &st_process->segment[i];
	return NULL;
}

static struct st_segment *take_slot(uint32_t *index)
{
	struct st_segment *segment;
	uint32_t count;

	/* Scanning thousands of owned slots at every record would be dear. */
	if (atomic_load_explicit(&st_process->no_slot, memory_order_relaxed) &&
	    atomic_fetch_add_explicit(&st_process->no_slot, 1, memory_order_relaxed) %
		    NO_SLOT_RETRY)
		return NULL;
	segment = take_any(index, &count);
	while (!segment && count < ST_SHM_SEGMENTS_MAX) {
		bool made = true;

		if (!st_process_lock())
			break;
		if (atomic_load_explicit(&st_process->segment_count, memory_order_relaxed) == count)
			made = st_segment_create(count);
		st_process_unlock();
		if (!made)
			break;
		segment = take_any(index, &count);
	}
	atomic_store_explicit(&st_process->no_slot, segment ? 0 : 1, memory_order_relaxed);
	return segment;
}

static struct st_thread *claim(void)
{
	struct st_thread *thread;
	struct st_segment *segment;
	struct st_shm_slot *slot;
	uint32_t index;

	/* A new owner asks for its thread id. */
	if (st_passive() || !process_on())
		return NULL;
	segment = take_slot(&index);
	if (!segment)
		return NULL;
	slot = &segment->slots[index];
	thread = (struct st_thread *)(segment->threads + (size_t)index * ST_THREAD_STRIDE);
	memset(thread, 0, offsetof(struct st_thread, open));
	thread->slot = slot;
	thread->ring = &slot->ring[ST_RING_SLICE];
	thread->ring_bytes = st_config.ring_bytes;
	if (segment->samplers)
		thread->sampler =
			(struct st_inproc_sampler *)(segment->samplers +
						     (size_t)index * st_handler_memory_bytes);
	thread->tid = (uint32_t)st_syscall(SYS_gettid, 0);
	thread->generation =
		atomic_fetch_add_explicit(&slot->generation, 1, memory_order_relaxed) + 1;
	atomic_store_explicit(&slot->tid, thread->tid, memory_order_relaxed);
	thread->hot.data = (uint64_t *)(segment->rings + (size_t)index * segment->slot_bytes);
	thread->hot.head_shared = &thread->ring->head;
	thread->hot.head = atomic_load_explicit(&thread->ring->head, memory_order_relaxed);
	thread->hot.control = &st_header()->control;
	thread->hot.byte_mask = st_config.ring_bytes - 1;
	thread->hot.limit = 1;
	if (st_config.key_valid)
		pthread_setspecific(st_config.key, thread);
	return thread;
}

struct st_thread *st_thread_enter(enum st_loss losing)
{
	struct st_hot *saved;
	struct st_thread *thread;

	if (!st_config.active ||
	    atomic_load_explicit(&st_process->state, memory_order_relaxed) == ST_PROCESS_OFF)
		return NULL;
	if (!st_busy_enter(&saved)) {
		if (losing)
			count_lost();
		return NULL;
	}
	if (saved == &st_hot_ignored) {
		st_busy_leave(saved);
		return NULL;
	}
	if (saved && saved->data && st_header() && saved->control == &st_header()->control) {
		thread = (struct st_thread *)saved;
		if (thread->hot.limit)
			return thread;
		/* A handler that interrupted the fast path of its own thread. */
		if (losing)
			atomic_fetch_add_explicit(losing == ST_LOSS_SLICE
							  ? &thread->ring->dropped
							  : &thread->ring->events_dropped,
						  1, memory_order_relaxed);
		st_busy_leave(saved);
		return NULL;
	}
	thread = claim();
	if (!thread) {
		if (losing && atomic_load_explicit(&st_process->state, memory_order_relaxed) !=
				      ST_PROCESS_OFF)
			count_lost();
		st_busy_leave(NULL);
	}
	return thread;
}

void st_thread_leave(struct st_thread *thread)
{
	st_busy_leave(&thread->hot);
}

void st_notice(uint32_t notice)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_NONE);

	if (!thread)
		return;
	atomic_fetch_or_explicit(&st_header()->notices, notice, memory_order_relaxed);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

/* Gives the slot back; the next new thread goes on at the same head. */
static void retire(struct st_thread *thread)
{
	ST_BACKENDS_CALL(thread_retire, thread);
	if (thread->lost && thread->identified &&
	    st_ring_put(thread, ST_EXT_LOST, 0, &thread->lost, 1))
		thread->lost = 0;
	if (thread->identified)
		st_ring_put(thread, ST_EXT_THREAD_END, 0, NULL, 0);
	thread->hot.data = NULL;
	/* Pairs with the acquire of the adopter and of the drainer. */
	atomic_store_explicit(&thread->slot->state, ST_SLOT_DONE, memory_order_release);
}

void st_thread_destructor(void *unused)
{
	struct st_hot *saved;

	(void)unused;
	ST_BACKENDS_CALL(thread_end);
	if (!st_busy_enter(&saved))
		return;
	if (saved && saved != &st_hot_ignored && saved->data) {
		retire((struct st_thread *)saved);
		saved = NULL;
	}
	st_busy_leave(saved);
}

void st_thread_ignore(void)
{
	struct st_hot *saved;

	if (!st_busy_enter(&saved))
		return;
	if (saved && saved != &st_hot_ignored && saved->data)
		retire((struct st_thread *)saved);
	st_busy_leave(&st_hot_ignored);
}
