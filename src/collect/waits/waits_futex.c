/* SPDX-License-Identifier: Apache-2.0
 *
 * futex through libc's syscall(), as C++ atomics, Rust, thread pools and others use it. It has the arguments of syscall(): the
 * seventh lies on the stack in both.
 */
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "collect/waits/waits.h"

/* Of waits_syscall.S. */
__attribute__((visibility("hidden"))) long st_syscall_early(long number, long a, long b, long c,
							    long d, long e, long f);

__attribute__((visibility("hidden"))) long st_wait_locks_up(long number, long a, long b, long c,
							    long d, long e, long f);

long st_wait_locks_up(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_prctl)
		strata_wait_locked_up((int)a, (unsigned long)b);
	else if (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)
		strata_wait_locked_up(PR_SET_SECCOMP, a == SECCOMP_SET_MODE_STRICT
							      ? SECCOMP_MODE_STRICT
							      : SECCOMP_MODE_FILTER);
	return ST_REAL(syscall)(number, a, b, c, d, e, f);
}

long st_syscall_early(long number, long a, long b, long c, long d, long e, long f)
{
	st_real_find();
	return st_real.syscall(number, a, b, c, d, e, f);
}

long st_wait_futex(long number, uint32_t *word, long operation, long value, long timeout,
		   long other, long more)
{
	uint64_t object = (uint64_t)(uintptr_t)word, before;
	long result;

	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_REQUEUE_PI:
		return ST_WAITED(
			ST_WAIT_FUTEX, object, st_outcome_of_errno,
			ST_REAL(syscall)(number, word, operation, value, timeout, other, more));
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_UNLOCK_PI:
		before = strata_wait_ticks();
		result = ST_REAL(syscall)(number, word, operation, value, timeout, other, more);
		/* Nobody was there, as nearly always: nobody cares. */
		if (result > 0 && before)
			strata_wait_wake(ST_WAIT_FUTEX, object, before);
		return result;
	default:
		return ST_REAL(syscall)(number, word, operation, value, timeout, other, more);
	}
}
