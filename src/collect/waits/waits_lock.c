/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutexes, reader/writer locks, barriers, semaphores and joins. A lock is tried first: who gets it at once has not waited, and
 * no clock was read. Whoever releases one tells so, before he does it, where the object says that somebody waits: these few
 * members of glibc's objects have been the same since 2.25.
 */
#include "collect/waits/waits.h"

enum { LOCKED_AND_AWAITED = 2, RWLOCK_AWAITED = 2, SEMAPHORE_WAITERS = 32, ROBUST = 16 };

/* Not a robust one: where it cannot be recovered, glibc's trylock says so and keeps it locked, which its lock does not. */
static inline int try_mutex(pthread_mutex_t *mutex)
{
	if (ST_UNLIKELY(__atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED) & ROBUST))
		return EBUSY;
	return st_mutex.trylock(mutex);
}

static inline bool is_awaited(const pthread_mutex_t *mutex)
{
	int lock = __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED);

	/* Of robust ones and of those that inherit priorities the topmost bit: they hold their owner's id. */
	return lock == LOCKED_AND_AWAITED || lock < 0;
}

ST_SLOW int await_mutex(pthread_mutex_t *mutex, const void *caller)
{
	return ST_WAITED_FROM(caller, ST_WAIT_MUTEX, mutex, st_outcome_of_number,
			      st_mutex.lock(mutex));
}

ST_DIRECT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int result = try_mutex(mutex);

	if (ST_LIKELY(result != EBUSY))
		return result;
	return await_mutex(mutex, __builtin_return_address(0));
}

ST_WRAPPER int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	int result = try_mutex(mutex);

	if (ST_LIKELY(result != EBUSY))
		return result;
	return ST_WAITED(ST_WAIT_MUTEX, mutex, st_outcome_of_number,
			 ST_REAL(pthread_mutex_timedlock)(mutex, until));
}

ST_WRAPPER int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				       const struct timespec *until)
{
	/* Which clocks there are is libc's business, also where nobody would have to wait. */
	int result = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC ? try_mutex(mutex) : EBUSY;

	if (ST_LIKELY(result != EBUSY))
		return result;
	return ST_WAITED(ST_WAIT_MUTEX, mutex, st_outcome_of_number,
			 ST_REAL(pthread_mutex_clocklock)(mutex, clock, until));
}

ST_SLOW int wake_and_unlock(pthread_mutex_t *mutex)
{
	strata_wait_wake(ST_WAIT_MUTEX, (uint64_t)(uintptr_t)mutex, 0);
	return st_mutex.unlock(mutex);
}

ST_DIRECT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (ST_UNLIKELY(is_awaited(mutex)))
		return wake_and_unlock(mutex);
	return st_mutex.unlock(mutex);
}

ST_WRAPPER int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
	int result = ST_REAL(pthread_mutex_init)(mutex, attributes);

	if (!result)
		ST_MADE(ST_WAIT_MUTEX, mutex);
	return result;
}

ST_WRAPPER int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	return ST_DESTROYED(ST_WAIT_MUTEX, mutex, ST_REAL(pthread_mutex_destroy)(mutex));
}

/* --- spin locks --- */

ST_WRAPPER int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
	int result = ST_REAL(pthread_spin_init)(lock, shared);

	if (!result)
		ST_MADE(ST_WAIT_SPIN_LOCK, lock);
	return result;
}

ST_WRAPPER int pthread_spin_destroy(pthread_spinlock_t *lock)
{
	return ST_DESTROYED(ST_WAIT_SPIN_LOCK, lock, ST_REAL(pthread_spin_destroy)(lock));
}

ST_SLOW int await_spin_lock(pthread_spinlock_t *lock, const void *caller)
{
	return ST_WAITED_FROM(caller, ST_WAIT_SPIN_LOCK, lock, st_outcome_of_number,
			      ST_REAL(pthread_spin_lock)(lock));
}

ST_WRAPPER int pthread_spin_lock(pthread_spinlock_t *lock)
{
	int result = ST_REAL(pthread_spin_trylock)(lock);

	if (ST_LIKELY(result != EBUSY))
		return result;
	return await_spin_lock(lock, __builtin_return_address(0));
}

/* --- what is done once --- */

enum { ONCE_STARTED = 1, ONCE_DONE = 2 };

/* Who does it himself does not wait, and what he waits for meanwhile is what he waits for. */
static bool is_being_done(const int *state)
{
	int now = __atomic_load_n(state, __ATOMIC_RELAXED);

	return !(now & ONCE_DONE) && now & ONCE_STARTED;
}

ST_WRAPPER int pthread_once(pthread_once_t *once, void (*body)(void))
{
	if (ST_UNLIKELY(is_being_done(once)))
		return ST_WAITED(ST_WAIT_ONCE, once, st_outcome_of_number,
				 ST_REAL(pthread_once)(once, body));
	return ST_REAL(pthread_once)(once, body);
}

ST_WRAPPER void call_once(once_flag *once, void (*body)(void))
{
	struct st_open_wait wait = {.object = (uint64_t)(uintptr_t)once,
				    .caller = __builtin_return_address(0),
				    .kind = ST_WAIT_ONCE};
	bool waits = is_being_done(&once->__data);

	if (waits)
		strata_wait_begin(&wait);
	ST_REAL(call_once)(once, body);
	if (waits)
		strata_wait_end(&wait, ST_WAIT_DONE);
}

/* --- reader/writer locks --- */

ST_WRAPPER int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
	int result = ST_REAL(pthread_rwlock_init)(lock, attributes);

	if (!result)
		ST_MADE(ST_WAIT_WRITE_LOCK, lock);
	return result;
}

ST_WRAPPER int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
	return ST_DESTROYED(ST_WAIT_WRITE_LOCK, lock, ST_REAL(pthread_rwlock_destroy)(lock));
}

ST_SLOW int await_read_lock(pthread_rwlock_t *lock, const void *caller)
{
	return ST_WAITED_FROM(caller, ST_WAIT_READ_LOCK, lock, st_outcome_of_number,
			      ST_REAL(pthread_rwlock_rdlock)(lock));
}

ST_WRAPPER int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	int result = ST_REAL(pthread_rwlock_tryrdlock)(lock);

	if (ST_LIKELY(result != EBUSY && result != EAGAIN))
		return result;
	return await_read_lock(lock, __builtin_return_address(0));
}

ST_WRAPPER int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	int result = ST_REAL(pthread_rwlock_trywrlock)(lock);

	if (ST_LIKELY(result != EBUSY))
		return result;
	return ST_WAITED(ST_WAIT_WRITE_LOCK, lock, st_outcome_of_number,
			 ST_REAL(pthread_rwlock_wrlock)(lock));
}

/* Their clocks and times are checked by libc before anything else: no trying. */
ST_WRAPPER int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	return ST_WAITED(ST_WAIT_READ_LOCK, lock, st_outcome_of_number,
			 ST_REAL(pthread_rwlock_timedrdlock)(lock, until));
}

ST_WRAPPER int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	return ST_WAITED(ST_WAIT_WRITE_LOCK, lock, st_outcome_of_number,
			 ST_REAL(pthread_rwlock_timedwrlock)(lock, until));
}

ST_WRAPPER int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
					  const struct timespec *until)
{
	return ST_WAITED(ST_WAIT_READ_LOCK, lock, st_outcome_of_number,
			 ST_REAL(pthread_rwlock_clockrdlock)(lock, clock, until));
}

ST_WRAPPER int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
					  const struct timespec *until)
{
	return ST_WAITED(ST_WAIT_WRITE_LOCK, lock, st_outcome_of_number,
			 ST_REAL(pthread_rwlock_clockwrlock)(lock, clock, until));
}

ST_WRAPPER int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	unsigned int waiting = __atomic_load_n(&lock->__data.__wrphase_futex, __ATOMIC_RELAXED) |
			       __atomic_load_n(&lock->__data.__writers_futex, __ATOMIC_RELAXED);

	if (ST_UNLIKELY(waiting & RWLOCK_AWAITED))
		strata_wait_wake(ST_WAIT_WRITE_LOCK, (uint64_t)(uintptr_t)lock, 0);
	return ST_REAL(pthread_rwlock_unlock)(lock);
}

/* --- barriers: who comes last lets the others go, and was there when he did --- */

ST_WRAPPER int pthread_barrier_init(pthread_barrier_t *barrier,
				    const pthread_barrierattr_t *attributes, unsigned int count)
{
	int result = ST_REAL(pthread_barrier_init)(barrier, attributes, count);

	if (!result)
		ST_MADE(ST_WAIT_BARRIER, barrier);
	return result;
}

ST_WRAPPER int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	return ST_DESTROYED(ST_WAIT_BARRIER, barrier, ST_REAL(pthread_barrier_destroy)(barrier));
}

ST_WRAPPER int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct st_open_wait wait = {.object = (uint64_t)(uintptr_t)barrier,
				    .caller = __builtin_return_address(0),
				    .kind = ST_WAIT_BARRIER};
	uint64_t came = strata_wait_ticks();
	int result;

	strata_wait_begin(&wait);
	result = ST_REAL(pthread_barrier_wait)(barrier);
	if (result == PTHREAD_BARRIER_SERIAL_THREAD && came)
		strata_wait_wake(ST_WAIT_BARRIER, (uint64_t)(uintptr_t)barrier, came);
	strata_wait_end(&wait, ST_WAIT_DONE);
	return result;
}

/* --- semaphores --- */

ST_WRAPPER int sem_init(sem_t *semaphore, int shared, unsigned int value)
{
	int result = ST_REAL(sem_init)(semaphore, shared, value);

	if (!result)
		ST_MADE(ST_WAIT_SEMAPHORE, semaphore);
	return result;
}

ST_WRAPPER int sem_destroy(sem_t *semaphore)
{
	return ST_DESTROYED(ST_WAIT_SEMAPHORE, semaphore, ST_REAL(sem_destroy)(semaphore));
}

static bool take_semaphore(sem_t *semaphore)
{
	int saved = errno;

	/* To wait is a cancellation point even where nobody has to. */
	pthread_testcancel();
	if (ST_LIKELY(!ST_REAL(sem_trywait)(semaphore)))
		return true;
	errno = saved;
	return false;
}

ST_SLOW int await_semaphore(sem_t *semaphore, const void *caller)
{
	return ST_WAITED_FROM(caller, ST_WAIT_SEMAPHORE, semaphore, st_outcome_of_errno,
			      ST_REAL(sem_wait)(semaphore));
}

ST_WRAPPER int sem_wait(sem_t *semaphore)
{
	if (take_semaphore(semaphore))
		return 0;
	return await_semaphore(semaphore, __builtin_return_address(0));
}

static bool is_time(const struct timespec *until)
{
	return until->tv_nsec >= 0 && until->tv_nsec < 1000000000;
}

ST_WRAPPER int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
	if (is_time(until) && take_semaphore(semaphore))
		return 0;
	return ST_WAITED(ST_WAIT_SEMAPHORE, semaphore, st_outcome_of_errno,
			 ST_REAL(sem_timedwait)(semaphore, until));
}

ST_WRAPPER int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
	if ((clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && is_time(until) &&
	    take_semaphore(semaphore))
		return 0;
	return ST_WAITED(ST_WAIT_SEMAPHORE, semaphore, st_outcome_of_errno,
			 ST_REAL(sem_clockwait)(semaphore, clock, until));
}

ST_WRAPPER int sem_post(sem_t *semaphore)
{
	/* Its value, and above it how many wait. */
	uint64_t data =
		__atomic_load_n((const uint64_t *)(const void *)semaphore, __ATOMIC_RELAXED);

	if (ST_UNLIKELY(data >> SEMAPHORE_WAITERS))
		strata_wait_wake(ST_WAIT_SEMAPHORE, (uint64_t)(uintptr_t)semaphore, 0);
	return ST_REAL(sem_post)(semaphore);
}

/* --- joins --- */

/* Where glibc keeps the thread's id, found in the calling thread's own descriptor; 0: not found. */
static size_t tid_offset;

__attribute__((constructor(102))) static void find_tid(void)
{
	enum { DESCRIPTOR_BYTES = 1024 };
	const char *self = (const char *)pthread_self();
	pid_t tid = getpid(); /* of the first thread, which runs this */

	for (size_t at = 512; at + 8 <= DESCRIPTOR_BYTES && !tid_offset; at += 8)
		if (*(const pid_t *)(const void *)(self + at) == tid)
			tid_offset = at;
}

/* Not after it is joined. */
uint64_t st_wait_tid_of(pthread_t thread)
{
	return tid_offset ? (uint64_t) * (const volatile pid_t *)((const char *)thread + tid_offset)
			  : 0;
}

ST_WRAPPER int pthread_join(pthread_t thread, void **result)
{
	return ST_WAITED(ST_WAIT_JOIN, st_wait_tid_of(thread), st_outcome_of_number,
			 ST_REAL(pthread_join)(thread, result));
}

ST_WRAPPER int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
	return ST_WAITED(ST_WAIT_JOIN, st_wait_tid_of(thread), st_outcome_of_number,
			 ST_REAL(pthread_timedjoin_np)(thread, result, until));
}

ST_WRAPPER int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
				    const struct timespec *until)
{
	return ST_WAITED(ST_WAIT_JOIN, st_wait_tid_of(thread), st_outcome_of_number,
			 ST_REAL(pthread_clockjoin_np)(thread, result, clock, until));
}
