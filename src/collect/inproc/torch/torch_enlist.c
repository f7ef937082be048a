/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers two C functions for every scope with PyTorch, and switches them off and on again by its own means: while
 * all of them are off, an operator takes the same way as in a program that nobody records. Each of its threads compares a
 * number with every operator and looks up who is to be called when it has changed, so that a switch counts from the next
 * operator on.
 *
 * Off: the program itself pauses, or an operator begins and finds that strata does. On: the program itself resumes, or its
 * allocator comes by (torch_memory.c), which nearly every operator does. Ranges that the program names are few, and those
 * that are open when a pause ends are to be known: they are told all the time.
 */
#include "collect/inproc/torch/torch_enlist.h"

#include <stdlib.h>

#include "collect/inproc/core/thread.h"
#include "collect/inproc/torch/torch.h"
#include "collect/inproc/torch/torch_callbacks.h"
#include "collect/inproc/torch/torch_fork.h"
#include "collect/inproc/torch/torch_library.h"
#include "collect/inproc/torch/torch_record.h"

enum { LOCK_TRIES = 1 << 20 };

_Atomic uint32_t st_torch_calls;

static uint64_t handles[ST_TORCH_CALLBACKS];
static uint8_t enlisted; /* st_torch_config.operators as it was then */
static _Atomic bool ended;

/* In memory that a fork wipes: a child never waits for a thread of its parent. */
static bool take_lock(uint32_t tries)
{
	while (atomic_exchange_explicit(&st_operator_front->enlist_lock, 1, memory_order_acquire))
		if (!--tries)
			return false;
	return true;
}

static void release_lock(void)
{
	atomic_store_explicit(&st_operator_front->enlist_lock, 0, memory_order_release);
}

/* A switch that might leave a forked child behind a closed door is none. */
bool st_torch_can_switch(void)
{
	return st_torch_functions.disable && st_torch_functions.enable && st_torch_lock_known();
}

uint8_t st_torch_enlisted(void)
{
	return enlisted;
}

/* The process exits. The framework's list of those to call is a static object, which is destroyed next: threads and
 * handlers that still run must not have it changed. */
static void end(void)
{
	bool locked = take_lock(LOCK_TRIES);

	atomic_store_explicit(&ended, true, memory_order_relaxed);
	atomic_store_explicit(&st_torch_calls, ST_TORCH_UNLISTED, memory_order_relaxed);
	atomic_store_explicit(&st_torch_turns.until, UINT64_MAX, memory_order_relaxed);
	if (locked)
		release_lock();
}

/* What was registered last runs first: the list was made when we were put on it. */
static void end_before_framework(void)
{
	static bool done;

	if (!done)
		done = atexit(end) == 0;
}

void st_torch_enlist(void)
{
	bool locked;

	if (atomic_load_explicit(&ended, memory_order_relaxed))
		return;
	locked = take_lock(LOCK_TRIES);
	st_torch_change_begin();
	st_torch_lock_watch();
	for (size_t i = 0; i < ST_TORCH_CALLBACKS; i++) {
		struct st_torch_callback callback = {
			.begin = st_torch_scopes[i].begin,
			.end = st_torch_scopes[i].end,
			.probability = 1.0,
			.needs_inputs = st_torch_config.operators == 2 &&
					st_torch_level() <= ST_OPERATORS_ASKED};

		callback.scopes[st_torch_scopes[i].scope] = true;
		handles[i] = st_torch_functions.add_global(callback);
	}
	st_torch_lock_watched();
	st_torch_change_end();
	end_before_framework();
	enlisted = st_torch_config.operators;
	atomic_store_explicit(&st_torch_calls,
			      st_torch_can_switch() ? ST_TORCH_CALLS : ST_TORCH_UNLISTED,
			      memory_order_release);
	if (locked)
		release_lock();
	st_torch_follow();
}

void st_torch_strike(void)
{
	bool locked;

	if (!enlisted || !st_torch_functions.remove ||
	    atomic_load_explicit(&ended, memory_order_relaxed))
		return;
	locked = take_lock(LOCK_TRIES);
	atomic_store_explicit(&st_torch_calls, ST_TORCH_UNLISTED, memory_order_relaxed);
	enlisted = 0;
	st_torch_change_begin();
	for (size_t i = 0; i < ST_TORCH_CALLBACKS; i++)
		st_torch_functions.remove(handles[i]);
	st_torch_change_end();
	if (locked)
		release_lock();
}

/* A process without a segment does not know whether it is paused: strata tells it there. */
static bool say_hello(void)
{
	struct st_thread *thread;

	if (st_header())
		return true;
	if (atomic_load_explicit(&st_process->state, memory_order_relaxed) == ST_PROCESS_OFF)
		return false;
	thread = st_thread_enter(ST_LOSS_NONE);
	if (!thread)
		return false;
	st_thread_set_limit(thread);
	st_thread_leave(thread);
	return st_header() != NULL;
}

/* A fork may come between the two: a child that is called too often notices it at the next operator, one that is called
 * too seldom at the next allocation. */
static void tell(bool on)
{
	if (!on)
		atomic_store_explicit(&st_torch_calls, ST_TORCH_SILENT, memory_order_relaxed);
	for (size_t i = 0; i < ST_TORCH_CALLBACKS; i++)
		if (st_torch_scopes[i].scope != ST_SCOPE_USER)
			(on ? st_torch_functions.enable : st_torch_functions.disable)(handles[i]);
	if (on)
		atomic_store_explicit(&st_torch_calls, ST_TORCH_CALLS, memory_order_relaxed);
}

static void follow(bool again)
{
	bool on;

	if (!st_process || !say_hello())
		return;
	do {
		/* Whoever is at it looks once more when it is done. */
		if (!take_lock(1))
			return;
		on = st_torch_may_record();
		if (atomic_load_explicit(&st_torch_calls, memory_order_relaxed) !=
			    ST_TORCH_UNLISTED &&
		    (again || (atomic_load_explicit(&st_torch_calls, memory_order_relaxed) ==
			       ST_TORCH_CALLS) != on))
			tell(on);
		again = false;
		release_lock();
	} while (on != st_torch_may_record());
}

void st_torch_follow(void)
{
	if (atomic_load_explicit(&st_torch_calls, memory_order_relaxed) != ST_TORCH_UNLISTED)
		follow(false);
}

bool st_torch_called_in_vain(void)
{
	if (st_torch_may_record() ||
	    atomic_load_explicit(&st_torch_calls, memory_order_relaxed) == ST_TORCH_UNLISTED)
		return false;
	follow(true);
	return true;
}
