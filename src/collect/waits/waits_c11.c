/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of C11. In glibc their objects are those of pthreads, and the functions call the others inside, where nobody stands
 * between: so they have wrappers of their own.
 */
#include "collect/waits/waits.h"

enum { LOCKED_AND_AWAITED = 2, WAITERS_SHIFT = 3 };

static inline enum st_wait_outcome outcome_of(int result)
{
	return result == thrd_success	 ? ST_WAIT_DONE
	       : result == thrd_timedout ? ST_WAIT_TIMED_OUT
					 : ST_WAIT_FAILED;
}

static void release(const mtx_t *mutex)
{
	int lock = __atomic_load_n(&((const pthread_mutex_t *)(const void *)mutex)->__data.__lock,
				   __ATOMIC_RELAXED);

	if (ST_UNLIKELY(lock == LOCKED_AND_AWAITED))
		strata_wait_wake(ST_WAIT_MUTEX, (uint64_t)(uintptr_t)mutex, 0);
}

static void wake(const cnd_t *condition)
{
	const pthread_cond_t *same = (const pthread_cond_t *)(const void *)condition;

	if (ST_UNLIKELY(__atomic_load_n(&same->__data.__wrefs, __ATOMIC_RELAXED) >> WAITERS_SHIFT))
		strata_wait_wake(ST_WAIT_CONDITION, (uint64_t)(uintptr_t)condition, 0);
}

ST_WRAPPER int mtx_init(mtx_t *mutex, int type)
{
	int result = ST_REAL(mtx_init)(mutex, type);

	if (result == thrd_success)
		ST_MADE(ST_WAIT_MUTEX, mutex);
	return result;
}

ST_WRAPPER void mtx_destroy(mtx_t *mutex)
{
	ST_REAL(mtx_destroy)(mutex);
	strata_wait_gone(ST_WAIT_MUTEX, (uint64_t)(uintptr_t)mutex);
}

ST_WRAPPER int mtx_lock(mtx_t *mutex)
{
	int result = ST_REAL(mtx_trylock)(mutex);

	if (ST_LIKELY(result != thrd_busy))
		return result;
	return ST_WAITED(ST_WAIT_MUTEX, mutex, outcome_of, ST_REAL(mtx_lock)(mutex));
}

ST_WRAPPER int mtx_timedlock(mtx_t *mutex, const struct timespec *until)
{
	return ST_WAITED(ST_WAIT_MUTEX, mutex, outcome_of, ST_REAL(mtx_timedlock)(mutex, until));
}

ST_WRAPPER int mtx_unlock(mtx_t *mutex)
{
	release(mutex);
	return ST_REAL(mtx_unlock)(mutex);
}

ST_WRAPPER int cnd_init(cnd_t *condition)
{
	int result = ST_REAL(cnd_init)(condition);

	if (result == thrd_success)
		ST_MADE(ST_WAIT_CONDITION, condition);
	return result;
}

ST_WRAPPER void cnd_destroy(cnd_t *condition)
{
	ST_REAL(cnd_destroy)(condition);
	strata_wait_gone(ST_WAIT_CONDITION, (uint64_t)(uintptr_t)condition);
}

ST_WRAPPER int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
	release(mutex);
	return ST_WAITED(ST_WAIT_CONDITION, condition, outcome_of,
			 ST_REAL(cnd_wait)(condition, mutex));
}

ST_WRAPPER int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until)
{
	release(mutex);
	return ST_WAITED(ST_WAIT_CONDITION, condition, outcome_of,
			 ST_REAL(cnd_timedwait)(condition, mutex, until));
}

ST_WRAPPER int cnd_signal(cnd_t *condition)
{
	wake(condition);
	return ST_REAL(cnd_signal)(condition);
}

ST_WRAPPER int cnd_broadcast(cnd_t *condition)
{
	wake(condition);
	return ST_REAL(cnd_broadcast)(condition);
}

ST_WRAPPER int thrd_join(thrd_t thread, int *result)
{
	return ST_WAITED(ST_WAIT_JOIN, st_wait_tid_of(thread), outcome_of,
			 ST_REAL(thrd_join)(thread, result));
}

static inline enum st_wait_outcome outcome_of_sleep(int result)
{
	return result == -1 ? ST_WAIT_INTERRUPTED : result ? ST_WAIT_FAILED : ST_WAIT_DONE;
}

ST_WRAPPER int thrd_sleep(const struct timespec *wanted, struct timespec *left)
{
	return ST_WAITED(ST_WAIT_SLEEP, 0, outcome_of_sleep, ST_REAL(thrd_sleep)(wanted, left));
}
