/* SPDX-License-Identifier: Apache-2.0
 *
 * Condition variables (version GLIBC_2.3.2, see waits.map). Whoever waits for one releases its mutex, for which others may
 * wait, and has it again when the call returns: both are part of the one wait.
 */
#include "collect/waits/waits.h"

enum { WAITERS_SHIFT = 3 };

/* The call, as a wait that has the mutex, too: by both the collector knows Python's interpreter lock. */
#define WAITED(condition, mutex, call)                                                             \
	({                                                                                         \
		struct st_open_wait wait = {.object = (uint64_t)(uintptr_t)(condition),            \
					    .beside = (uint64_t)(uintptr_t)(mutex),                \
					    .caller = __builtin_return_address(0),                 \
					    .kind = ST_WAIT_CONDITION};                            \
		int given_back;                                                                    \
                                                                                                   \
		strata_wait_begin(&wait);                                                          \
		given_back = (call);                                                               \
		strata_wait_end(&wait, st_outcome_of_number(given_back));                          \
		given_back;                                                                        \
	})

static void release(const pthread_mutex_t *mutex)
{
	int lock = __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED);

	if (ST_UNLIKELY(lock == 2 || lock < 0))
		strata_wait_wake(ST_WAIT_MUTEX, (uint64_t)(uintptr_t)mutex, 0);
}

ST_WRAPPER int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	release(mutex);
	return WAITED(condition, mutex, ST_REAL(pthread_cond_wait)(condition, mutex));
}

ST_WRAPPER int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				      const struct timespec *until)
{
	release(mutex);
	return WAITED(condition, mutex, ST_REAL(pthread_cond_timedwait)(condition, mutex, until));
}

ST_WRAPPER int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
				      clockid_t clock, const struct timespec *until)
{
	release(mutex);
	return WAITED(condition, mutex,
		      ST_REAL(pthread_cond_clockwait)(condition, mutex, clock, until));
}

static inline bool is_awaited(const pthread_cond_t *condition)
{
	return __atomic_load_n(&condition->__data.__wrefs, __ATOMIC_RELAXED) >> WAITERS_SHIFT;
}

static void wake(const pthread_cond_t *condition)
{
	if (ST_UNLIKELY(is_awaited(condition)))
		strata_wait_wake(ST_WAIT_CONDITION, (uint64_t)(uintptr_t)condition, 0);
}

/* Python's interpreter lock is only ever signalled, whether somebody waits or not. */
ST_WRAPPER int pthread_cond_signal(pthread_cond_t *condition)
{
	uint64_t gil = __atomic_load_n(&strata_wait_gil, __ATOMIC_RELAXED);

	if (ST_UNLIKELY(gil && ((uint64_t)(uintptr_t)condition - gil < ST_GIL_BYTES ||
				gil == ST_GIL_NOT_YET)))
		strata_wait_gil_signal((uint64_t)(uintptr_t)condition, is_awaited(condition),
				       __builtin_return_address(0));
	else
		wake(condition);
	return ST_REAL(pthread_cond_signal)(condition);
}

ST_WRAPPER int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
	int result = ST_REAL(pthread_cond_init)(condition, attributes);

	if (!result)
		ST_MADE(ST_WAIT_CONDITION, condition);
	return result;
}

ST_WRAPPER int pthread_cond_destroy(pthread_cond_t *condition)
{
	return ST_DESTROYED(ST_WAIT_CONDITION, condition, ST_REAL(pthread_cond_destroy)(condition));
}

ST_WRAPPER int pthread_cond_broadcast(pthread_cond_t *condition)
{
	wake(condition);
	return ST_REAL(pthread_cond_broadcast)(condition);
}
