/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack for the handler in every thread. Code made at run time may point rsp at data for a while (kernels of
 * oneDNN's matrix product do, at memory of malloc): a signal that is delivered on the thread's own stack
 * would then be written over that data. So the first thread and all that are created later get an alternate
 * stack, unless they have one of their own. The program sees none of it.
 */
#include "collect/inproc/sampler_signal.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "collect/inproc/sampler_state.h"

enum { STACKS_MAX = 512, STACK_BYTES = 64 << 10 };

/* Address space only: pages come when they are used. */
static uint8_t *_Atomic pool;
static _Atomic uint32_t owners[STACKS_MAX]; /* tid; 0: free */

static uint8_t *stacks(void)
{
	uint8_t *at = atomic_load_explicit(&pool, memory_order_acquire), *none = NULL;
	long made;

	if (at)
		return at;
	made = st_syscall(SYS_mmap, 0, (long)STACKS_MAX * STACK_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made < 0 && made > -4096)
		return NULL;
	at = (uint8_t *)made;
	if (atomic_compare_exchange_strong(&pool, &none, at))
		return at;
	st_syscall(SYS_munmap, at, (long)STACKS_MAX * STACK_BYTES);
	return none;
}

bool st_altstack_is_ours(const stack_t *stack)
{
	uint8_t *at = atomic_load_explicit(&pool, memory_order_acquire);
	uint8_t *sp = stack->ss_sp;

	return at && !(stack->ss_flags & SS_DISABLE) && sp >= at &&
	       sp < at + (size_t)STACKS_MAX * STACK_BYTES;
}

/* Number of a stack for the thread: its own of before, else one that is free. */
static int take(uint32_t tid)
{
	for (int i = 0; i < STACKS_MAX; i++)
		if (atomic_load_explicit(&owners[i], memory_order_relaxed) == tid)
			return i;
	for (int i = 0; i < STACKS_MAX; i++) {
		uint32_t nobody = 0;

		if (atomic_compare_exchange_strong(&owners[i], &nobody, tid))
			return i;
	}
	return -1;
}

/* Threads that ended without a word. */
static void reclaim(void)
{
	for (int i = 0; i < STACKS_MAX; i++) {
		uint32_t owner = atomic_load_explicit(&owners[i], memory_order_relaxed);

		if (owner && st_syscall(SYS_tgkill, st_sampling->pid, owner, 0) == -ESRCH)
			atomic_compare_exchange_strong(&owners[i], &owner, 0);
	}
}

void st_altstack_give(void)
{
	uint32_t tid = (uint32_t)st_syscall(SYS_gettid, 0);
	stack_t now = {0};
	int number;

	if (st_syscall(SYS_sigaltstack, 0, &now) || !(now.ss_flags & SS_DISABLE) || !stacks())
		return;
	number = take(tid);
	if (number < 0) {
		reclaim();
		number = take(tid);
	}
	if (number < 0)
		return;
	now = (stack_t){.ss_sp = stacks() + (size_t)number * STACK_BYTES, .ss_size = STACK_BYTES};
	if (st_syscall(SYS_sigaltstack, &now, 0))
		atomic_store_explicit(&owners[number], 0, memory_order_relaxed);
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
	for (int i = 0; i < STACKS_MAX; i++)
		if (atomic_load_explicit(&owners[i], memory_order_relaxed) == tid)
			atomic_store_explicit(&owners[i], 0, memory_order_release);
}
