/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack for the handler in every thread. Code made at run time may point rsp at data for a while (kernels of
 * oneDNN's matrix product do, at memory of malloc): a signal that is delivered on the thread's own stack
 * would then be written over that data. So the first thread and all that are created later get an alternate
 * stack, unless they have one of their own. The program sees none of it.
 */
#include "collect/inproc/sampler/sampler_signal.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "collect/inproc/sampler/sampler_onstack.h"
#include "collect/inproc/sampler/sampler_state.h"

enum { STACKS_MAX = 512, STACK_BYTES = 64 << 10 };

/* The first one is there already, for the many processes that have but one thread. */
static uint8_t first[STACK_BYTES] __attribute__((aligned(64))) ST_APART;
/* Address space only: pages come when they are used. Fewer where the address space is limited. */
static uint8_t *_Atomic pool;
static _Atomic uint32_t pool_count;
static _Atomic uint32_t owners[1 + STACKS_MAX]; /* tid; 0: free */
static _Atomic uint32_t next;			/* where a free one is looked for first */

static uint8_t *more_stacks(void)
{
	uint8_t *at = atomic_load_explicit(&pool, memory_order_acquire), *none = NULL;
	uint32_t count = 0;
	size_t share;

	if (at)
		return at;
	/* Whoever comes first says how many, for all: the limit may change meanwhile. */
	share = st_address_share() / STACK_BYTES;
	atomic_compare_exchange_strong(&pool_count, &count,
				       share < STACKS_MAX ? (uint32_t)share : STACKS_MAX);
	count = atomic_load_explicit(&pool_count, memory_order_relaxed);
	at = count ? st_map_lazily((size_t)count * STACK_BYTES,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1)
		   : NULL;
	if (!at || atomic_compare_exchange_strong(&pool, &none, at))
		return at;
	st_syscall(SYS_munmap, at, (long)count * STACK_BYTES);
	return none;
}

bool st_altstack_is_ours(const stack_t *stack)
{
	uint8_t *at = atomic_load_explicit(&pool, memory_order_acquire);
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_relaxed);
	uint8_t *sp = stack->ss_sp;

	if (stack->ss_flags & SS_DISABLE)
		return false;
	return sp == first || (at && sp >= at && sp < at + (size_t)count * STACK_BYTES);
}

static uint8_t *stack_at(int number)
{
	return number ? more_stacks() + (size_t)(number - 1) * STACK_BYTES : first;
}

static int number_of(const uint8_t *sp)
{
	return sp == first ? 0 : 1 + (int)((sp - more_stacks()) / STACK_BYTES);
}

static int stack_count(void)
{
	if (!atomic_load_explicit(&pool, memory_order_acquire))
		return 1;
	return 1 + (int)atomic_load_explicit(&pool_count, memory_order_relaxed);
}

/* Number of the stack that the thread has had before. */
static int own(uint32_t tid)
{
	for (int i = 0, count = stack_count(); i < count; i++)
		if (atomic_load_explicit(&owners[i], memory_order_relaxed) == tid)
			return i;
	return -1;
}

/* In a circle: where threads come and go, the next one is free. */
static int take(uint32_t tid)
{
	uint32_t count = (uint32_t)stack_count();
	uint32_t from = atomic_load_explicit(&next, memory_order_relaxed);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (from + i) % count, nobody = 0;

		if (atomic_load_explicit(&owners[at], memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(&owners[at], &nobody, tid))
			continue;
		atomic_store_explicit(&next, at + 1, memory_order_relaxed);
		return (int)at;
	}
	return -1;
}

/* Threads that ended without a word. */
static void reclaim(void)
{
	for (int i = 0, count = stack_count(); i < count; i++) {
		uint32_t owner = atomic_load_explicit(&owners[i], memory_order_relaxed);

		if (owner && st_syscall(SYS_tgkill, st_sampling->pid, owner, 0) == -ESRCH)
			atomic_compare_exchange_strong(&owners[i], &owner, 0);
	}
}

static void set(uint32_t tid, int number)
{
	stack_t stack;

	if (number < 0)
		number = take(tid);
	if (number < 0 && !atomic_load_explicit(&pool, memory_order_acquire) && more_stacks())
		number = take(tid);
	if (number < 0) {
		reclaim();
		number = take(tid);
	}
	if (number < 0)
		return;
	st_onstack_begin();
	stack = (stack_t){.ss_sp = stack_at(number), .ss_size = STACK_BYTES};
	if (st_syscall(SYS_sigaltstack, &stack, 0))
		atomic_store_explicit(&owners[number], 0, memory_order_relaxed);
}

void st_altstack_begin(void)
{
	set((uint32_t)st_syscall(SYS_gettid, 0), -1);
}

void st_altstack_give(void)
{
	uint32_t tid = (uint32_t)st_syscall(SYS_gettid, 0);
	stack_t now = {0};

	if (st_syscall(SYS_sigaltstack, 0, &now))
		return;
	/* A forked child goes on with the stack of a thread that is not there: it must not be given away. */
	if (st_altstack_is_ours(&now))
		atomic_store_explicit(&owners[number_of(now.ss_sp)], tid, memory_order_relaxed);
	if (now.ss_flags & SS_DISABLE)
		set(tid, own(tid));
}

void st_altstack_end(void)
{
	const stack_t none = {.ss_flags = SS_DISABLE};
	uint32_t tid = (uint32_t)st_syscall(SYS_gettid, 0);
	stack_t now = {0};

	if (st_syscall(SYS_sigaltstack, 0, &now))
		return;
	if (st_altstack_is_ours(&now) && st_syscall(SYS_sigaltstack, &none, 0))
		return;
	for (int i = 0, count = stack_count(); i < count; i++)
		if (atomic_load_explicit(&owners[i], memory_order_relaxed) == tid)
			atomic_store_explicit(&owners[i], 0, memory_order_release);
}
