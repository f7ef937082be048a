/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges that end on another thread than they began on: those of futures, and of programs that hand one on. Only their
 * own thread may write into its ring, so the other one leaves a note, which is looked for at the next begin, when the
 * thread ends and when a profile does. Where no record of that thread lies between the two, the slice still gets the
 * time at which it ended; one that is not the innermost ends when what began in it has.
 */
#include "collect/inproc/core/thread.h"
#include "collect/inproc/torch/torch.h"

static bool has_key(const struct st_thread *thread, uintptr_t key)
{
	uint32_t count = __atomic_load_n(&thread->hot.key_count, __ATOMIC_RELAXED);

	for (uint32_t at = count < ST_KEYS_MAX ? count : ST_KEYS_MAX; at > 0; at--)
		if (__atomic_load_n(&thread->key[at], __ATOMIC_RELAXED) == key)
			return true;
	return false;
}

/* Under the lock: one writer. */
static void leave_note(struct st_thread *thread, uintptr_t key, uint64_t time)
{
	for (uint32_t i = 0; i < ST_ENDED_MAX; i++) {
		struct st_ended *note = &thread->ended[i];

		/* Pairs with the release store in drop_note: its reader has done with the time. */
		if (atomic_load_explicit(&note->key, memory_order_acquire))
			continue;
		note->time = time;
		/* Pairs with the acquire load in st_operator_take_ended. */
		atomic_store_explicit(&note->key, key, memory_order_release);
		atomic_fetch_add_explicit(&thread->hot.ended_count, 1, memory_order_release);
		return;
	}
	/* Its slice stays open: that it ended is lost. */
	atomic_fetch_add_explicit(&thread->ring->dropped, 1, memory_order_relaxed);
}

static bool note_in(const struct st_segment *segment, uintptr_t key, uint64_t time)
{
	uint32_t used = atomic_load_explicit(&segment->header->slots_used, memory_order_relaxed);

	for (uint32_t i = 0; i < used && i < segment->slot_count; i++) {
		struct st_thread *thread =
			(struct st_thread *)(segment->threads + (size_t)i * ST_THREAD_STRIDE);

		if (atomic_load_explicit(&segment->slots[i].state, memory_order_acquire) !=
			    ST_SLOT_OWNED ||
		    !has_key(thread, key))
			continue;
		leave_note(thread, key, time);
		return true;
	}
	return false;
}

void st_operator_ended_elsewhere(uintptr_t key, uint64_t time)
{
	struct st_hot *saved;
	uint32_t count;

	if (!st_busy_enter(&saved))
		return;
	if (st_process_lock()) {
		count = atomic_load_explicit(&st_process->segment_count, memory_order_acquire);
		for (uint32_t i = 0; i < count; i++)
			if (note_in(&st_process->segment[i], key, time))
				break;
		st_process_unlock();
	}
	st_busy_leave(saved);
}

void st_operator_come_by(void)
{
	struct st_hot *hot = st_tls;
	struct st_thread *thread;

	/* A thread that has recorded nothing has nothing open. */
	if (!hot || hot == &st_hot_ignored || !hot->data)
		return;
	thread = st_thread_enter(ST_LOSS_NONE);
	if (!thread)
		return;
	st_operator_close_ended(thread);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

/* On the thread that ends the process: what it left to others has no begin behind it. */
__attribute__((destructor)) static void end_process(void)
{
	st_operator_come_by();
}

static void drop_note(struct st_thread *thread, struct st_ended *note)
{
	/* Pairs with the acquire load in leave_note. */
	atomic_store_explicit(&note->key, 0, memory_order_release);
	atomic_fetch_sub_explicit(&thread->hot.ended_count, 1, memory_order_relaxed);
}

bool st_operator_take_ended(struct st_thread *thread, uintptr_t key, uint64_t *time)
{
	for (uint32_t i = 0; i < ST_ENDED_MAX; i++) {
		struct st_ended *note = &thread->ended[i];

		/* Pairs with the release store in leave_note. */
		if (atomic_load_explicit(&note->key, memory_order_acquire) != key)
			continue;
		*time = note->time;
		drop_note(thread, note);
		return true;
	}
	return false;
}

void st_operator_forget_ended(struct st_thread *thread)
{
	for (uint32_t i = 0; i < ST_ENDED_MAX; i++) {
		struct st_ended *note = &thread->ended[i];
		uintptr_t key = atomic_load_explicit(&note->key, memory_order_acquire);

		if (key && !has_key(thread, key))
			drop_note(thread, note);
	}
}
