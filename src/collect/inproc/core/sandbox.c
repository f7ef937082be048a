/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that lock themselves up. A seccomp filter may kill at a system call that is new to it, and
 * ours are new to every program; strict mode, and PR_SET_TSC, make reading the cycle counter fatal. So
 * prctl is interposed: from the moment a filter is announced the collector makes no system call in this
 * process (threads that have their ring go on), and a thread that loses the counter records nothing.
 * Most filters are announced by PR_SET_NO_NEW_PRIVS, also those installed by the system call seccomp. Of those that are not,
 * only analyses know that stand before libc's syscall, as that of waits.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "base/rt/syscall.h"
#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/intern.h"
#include "collect/inproc/core/state.h"
#include "collect/inproc/core/thread.h"

#define ST_EXPORT __attribute__((visibility("default")))

static int (*real_prctl)(int, ...);
static bool free_at_start;

/* Filters that were there before us are a container's; those let us in. */
void st_sandbox_init(void)
{
	*(void **)&real_prctl = dlsym(RTLD_NEXT, "prctl");
	free_at_start = st_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_DISABLED;
}

bool st_sandboxed(void)
{
	if (!st_passive() && free_at_start &&
	    st_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_DISABLED)
		atomic_store_explicit(&st_shared.passive, 1, memory_order_relaxed);
	return st_passive();
}

/* A program that has ITT in it says hello while it still may, so that this thread can be recorded. */
static void say_hello_now(void)
{
	struct st_thread *thread = st_bound && !st_passive() ? st_thread_enter(ST_LOSS_NONE) : NULL;

	if (!thread)
		return;
	if (st_process_lock()) {
		st_intern_prepare();
		st_process_unlock();
	}
	if (!atomic_load_explicit(thread->hot.control, memory_order_relaxed))
		st_thread_identify(thread);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

void st_sandbox_prepare(int option, unsigned long second)
{
	if (!st_config.active)
		return;
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
		say_hello_now();
	/* Handlers of signals read the counter, too. */
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS || option == PR_SET_TSC)
		ST_BACKENDS_CALL(lock_up);
	if (option == PR_SET_TSC || (option == PR_SET_SECCOMP && second == SECCOMP_MODE_STRICT))
		st_thread_ignore();
	/* New threads inherit all of it: passive, they never get as far as reading the counter. */
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS || option == PR_SET_TSC)
		atomic_store_explicit(&st_shared.passive, 1, memory_order_relaxed);
}

ST_EXPORT int prctl(int option, ...)
{
	unsigned long args[4];
	va_list list;
	long result;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		args[i] = va_arg(list, unsigned long);
	va_end(list);
	st_sandbox_prepare(option, args[0]);
	if (real_prctl)
		return real_prctl(option, args[0], args[1], args[2], args[3]);
	/* Called by a library that was initialised before us. */
	result = st_syscall(SYS_prctl, option, args[0], args[1], args[2], args[3]);
	if (!st_syscall_failed(result))
		return (int)result;
	errno = (int)-result;
	return -1;
}
