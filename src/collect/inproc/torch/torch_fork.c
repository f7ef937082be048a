/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets forked children have the lock of PyTorch's list of callbacks. In a program that nobody records, threads take it once,
 * with their first operator; each switch of ours has all of them take it once more, so that a fork in the middle is no longer
 * a matter of one in a million runs.
 *
 * Taking it before a fork and giving it back afterwards would be the usual way, but while we had it other threads could not go
 * on, and handlers of the program that run after ours may wait for these. So a child gets the lock as it is, and unlocks it if
 * a thread has it that is not there any more. The list under it is good: whoever only looks it up has changed nothing, and
 * switching a callback is the store of one byte. A change of its length, by us, and a fork wait for each other, for some
 * milliseconds at most.
 *
 * Which lock it is nobody tells. It is the one that the framework's library locks while it puts us on the list: for that long,
 * its pointer to pthread_mutex_lock leads here.
 */
#include "collect/inproc/torch/torch_fork.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/state.h"
#include "collect/inproc/torch/torch_got.h"

enum { WAIT_YIELDS = 64, WAIT_NAPS = 20, NAP_NS = 500000 };

typedef int (*lock_function)(pthread_mutex_t *);

static const char lock_name[] = "pthread_mutex_lock";

static lock_function real_lock;
static _Atomic uint32_t watched; /* the thread, 0: none */
static pthread_mutex_t *seen;
static uint32_t seen_count;
static _Atomic(pthread_mutex_t *) known;

/* Ordinary memory: a child begins anew. */
static _Atomic uint32_t forks;	  /* under way */
static _Atomic uint32_t changing; /* the list's length, by us */
static _Atomic uint32_t forking;  /* the thread that forked last */

static uint32_t own_tid(void)
{
	return (uint32_t)st_syscall(SYS_gettid, 0);
}

static int note_lock(pthread_mutex_t *mutex)
{
	if (atomic_load_explicit(&watched, memory_order_relaxed) == own_tid()) {
		seen_count += seen != mutex;
		seen = mutex;
	}
	return real_lock(mutex);
}

static uint32_t lead(void *from, void *to)
{
	return st_got_change(&(struct st_got_change){
		.prefix = "libtorch_cpu.so", .symbol = lock_name, .from = from, .to = to});
}

void st_torch_lock_watch(void)
{
	if (st_torch_lock_known() || st_passive())
		return;
	*(void **)&real_lock = dlsym(RTLD_DEFAULT, lock_name);
	if (!real_lock)
		return;
	seen = NULL;
	seen_count = 0;
	atomic_store_explicit(&watched, own_tid(), memory_order_relaxed);
	lead((void *)real_lock, (void *)note_lock);
}

void st_torch_lock_watched(void)
{
	if (!atomic_exchange_explicit(&watched, 0, memory_order_relaxed))
		return;
	lead((void *)note_lock, (void *)real_lock);
	if (seen_count == 1 && seen->__data.__kind == PTHREAD_MUTEX_TIMED_NP)
		atomic_store_explicit(&known, seen, memory_order_relaxed);
}

bool st_torch_lock_known(void)
{
	return atomic_load_explicit(&known, memory_order_relaxed) != NULL;
}

/* For a while: in a signal's handler it may be the waiting thread itself that has to go on first. */
static bool wait_more(uint32_t *waited)
{
	const struct {
		int64_t seconds, nanoseconds;
	} nap = {0, NAP_NS};

	if (*waited >= WAIT_YIELDS + WAIT_NAPS || st_passive())
		return false;
	if ((*waited)++ < WAIT_YIELDS)
		st_syscall(SYS_sched_yield, 0);
	else
		st_syscall(SYS_nanosleep, &nap, 0);
	return true;
}

void st_torch_change_begin(void)
{
	uint32_t waited = 0;

	for (;;) {
		/* Store and load in this order, as in st_torch_before_fork: one of the two sees the other. */
		atomic_store_explicit(&changing, 1, memory_order_seq_cst);
		if (!atomic_load_explicit(&forks, memory_order_seq_cst))
			return;
		atomic_store_explicit(&changing, 0, memory_order_seq_cst);
		if (!wait_more(&waited))
			break;
	}
	atomic_store_explicit(&changing, 1, memory_order_seq_cst);
}

void st_torch_change_end(void)
{
	atomic_store_explicit(&changing, 0, memory_order_release);
}

void st_torch_before_fork(void)
{
	uint32_t waited = 0;

	atomic_fetch_add_explicit(&forks, 1, memory_order_seq_cst);
	while (atomic_load_explicit(&changing, memory_order_seq_cst) && wait_more(&waited))
		;
	if (st_torch_lock_known() && !st_passive())
		atomic_store_explicit(&forking, own_tid(), memory_order_relaxed);
}

void st_torch_after_fork(void)
{
	atomic_fetch_sub_explicit(&forks, 1, memory_order_release);
}

/* Nobody else is there. A thread that forks in a handler, in the middle of all this, unlocks by itself when that returns. */
void st_torch_forked(void)
{
	pthread_mutex_t *mutex = atomic_load_explicit(&known, memory_order_relaxed);
	uint32_t self = atomic_load_explicit(&forking, memory_order_relaxed);

	atomic_store_explicit(&forks, 0, memory_order_relaxed);
	atomic_store_explicit(&changing, 0, memory_order_relaxed);
	if (mutex && mutex->__data.__lock && (uint32_t)mutex->__data.__owner != self)
		memset(mutex, 0, sizeof(pthread_mutex_t)); /* as PTHREAD_MUTEX_INITIALIZER has it */
}
