/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a program with PyTorch: keeps the lock of PyTorch's list of callbacks locked for as long as a test wants, so
 * that a fork on another thread happens while it is. The test has it learn which lock that is, by a function that takes it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/rt/syscall.h"

#define EXPORT __attribute__((visibility("default")))

enum { FREE, KEPT };

typedef int (*mutex_function)(pthread_mutex_t *);

static _Atomic(pthread_mutex_t *) known;
static _Atomic uint32_t state; /* of the one unlock that waits */
static _Atomic long slow_ns;
static __thread bool learns, waits;

int callback_lock_learn(void (*takes_it)(uint64_t));
void callback_lock_slow(long ns);
void callback_lock_keep(void);
void callback_lock_await(void);
void callback_lock_release(void);

static int pass_on(_Atomic(mutex_function) *real, const char *name, pthread_mutex_t *mutex)
{
	mutex_function function = atomic_load(real);

	if (!function) {
		*(void **)&function = dlsym(RTLD_NEXT, name);
		atomic_store(real, function);
	}
	return function(mutex);
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static _Atomic(mutex_function) real;

	if (learns) {
		learns = false;
		atomic_store(&known, mutex);
	}
	return pass_on(&real, "pthread_mutex_lock", mutex);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static _Atomic(mutex_function) real;

	if (mutex == atomic_load(&known)) {
		const struct timespec nap = {.tv_nsec = atomic_load(&slow_ns)};

		if (nap.tv_nsec)
			nanosleep(&nap, NULL);
		if (waits) {
			waits = false;
			atomic_store(&state, KEPT);
			st_syscall(SYS_futex, &state, 1 /* wake */, INT32_MAX);
			while (atomic_load(&state) == KEPT)
				st_syscall(SYS_futex, &state, 0 /* wait */, KEPT, 0);
		}
	}
	return pass_on(&real, "pthread_mutex_unlock", mutex);
}

/* The first lock that the function takes is the one. */
EXPORT int callback_lock_learn(void (*takes_it)(uint64_t))
{
	learns = true;
	takes_it(UINT64_MAX);
	learns = false;
	return atomic_load(&known) != NULL;
}

/* Whoever has the lock keeps it this long. */
EXPORT void callback_lock_slow(long ns)
{
	atomic_store(&slow_ns, ns);
}

/* This thread keeps the lock when it has it next, until it is released. */
EXPORT void callback_lock_keep(void)
{
	waits = true;
}

EXPORT void callback_lock_await(void)
{
	while (atomic_load(&state) != KEPT)
		st_syscall(SYS_futex, &state, 0 /* wait */, FREE, 0);
}

EXPORT void callback_lock_release(void)
{
	atomic_store(&state, FREE);
	st_syscall(SYS_futex, &state, 1 /* wake */, INT32_MAX);
}
