/* SPDX-License-Identifier: Apache-2.0
 *
 * What the wrappers share. A wrapper calls the function that it stands for exactly once, with the arguments as they came, and
 * gives back what that gives back, errno included. Before and after it tells the collector, which may say that it does not
 * want to know; nothing here locks, allocates or waits.
 */
#ifndef ST_COLLECT_WAITS_WAITS_H
#define ST_COLLECT_WAITS_WAITS_H

#include <features.h>
/* Else the headers' own bodies would have used functions before they are given other names below. */
#undef __USE_EXTERN_INLINES

#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "collect/inproc/waits/seam.h"

/* Goes by another name: what is exported leads here, or past us (waits_real.c). */
#define ST_WRAPPER __attribute__((visibility("hidden"), used))
/* Is exported itself. */
#define ST_DIRECT __attribute__((visibility("default")))
#define ST_LIKELY(x) __builtin_expect(!!(x), 1)
#define ST_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Every function that is looked up (waits_real.c): name, result, parameters. Those that libc has under a second name need
 * no looking up. */
#define ST_REAL_FUNCTIONS(F)                                                                       \
	F(pthread_mutex_timedlock, int, (pthread_mutex_t *, const struct timespec *))              \
	F(pthread_mutex_clocklock, int, (pthread_mutex_t *, clockid_t, const struct timespec *))   \
	F(pthread_cond_wait, int, (pthread_cond_t *, pthread_mutex_t *))                           \
	F(pthread_cond_timedwait, int,                                                             \
	  (pthread_cond_t *, pthread_mutex_t *, const struct timespec *))                          \
	F(pthread_cond_clockwait, int,                                                             \
	  (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))               \
	F(pthread_mutex_init, int, (pthread_mutex_t *, const pthread_mutexattr_t *))               \
	F(pthread_rwlock_init, int, (pthread_rwlock_t *, const pthread_rwlockattr_t *))            \
	F(pthread_barrier_init, int,                                                               \
	  (pthread_barrier_t *, const pthread_barrierattr_t *, unsigned int))                      \
	F(pthread_cond_init, int, (pthread_cond_t *, const pthread_condattr_t *))                  \
	F(sem_init, int, (sem_t *, int, unsigned int))                                             \
	F(pthread_spin_init, int, (pthread_spinlock_t *, int))                                     \
	F(pthread_mutex_destroy, int, (pthread_mutex_t *))                                         \
	F(pthread_rwlock_destroy, int, (pthread_rwlock_t *))                                       \
	F(pthread_barrier_destroy, int, (pthread_barrier_t *))                                     \
	F(pthread_cond_destroy, int, (pthread_cond_t *))                                           \
	F(sem_destroy, int, (sem_t *))                                                             \
	F(pthread_spin_destroy, int, (pthread_spinlock_t *))                                       \
	F(mtx_destroy, void, (mtx_t *))                                                            \
	F(cnd_destroy, void, (cnd_t *))                                                            \
	F(pthread_spin_lock, int, (pthread_spinlock_t *))                                          \
	F(pthread_once, int, (pthread_once_t *, void (*)(void)))                                   \
	F(call_once, void, (once_flag *, void (*)(void)))                                          \
	F(mtx_init, int, (mtx_t *, int))                                                           \
	F(mtx_lock, int, (mtx_t *))                                                                \
	F(mtx_timedlock, int, (mtx_t *, const struct timespec *))                                  \
	F(mtx_unlock, int, (mtx_t *))                                                              \
	F(cnd_init, int, (cnd_t *))                                                                \
	F(cnd_wait, int, (cnd_t *, mtx_t *))                                                       \
	F(cnd_timedwait, int, (cnd_t *, mtx_t *, const struct timespec *))                         \
	F(cnd_signal, int, (cnd_t *))                                                              \
	F(cnd_broadcast, int, (cnd_t *))                                                           \
	F(thrd_join, int, (thrd_t, int *))                                                         \
	F(thrd_sleep, int, (const struct timespec *, struct timespec *))                           \
	F(fgets, char *, (char *, int, FILE *))                                                    \
	F(__fgets_chk, char *, (char *, size_t, int, FILE *))                                      \
	F(fread, size_t, (void *, size_t, size_t, FILE *))                                         \
	F(__fread_chk, size_t, (void *, size_t, size_t, size_t, FILE *))                           \
	F(getline, ssize_t, (char **, size_t *, FILE *))                                           \
	F(getdelim, ssize_t, (char **, size_t *, int, FILE *))                                     \
	F(__getdelim, ssize_t, (char **, size_t *, int, FILE *))                                   \
	F(fgetc, int, (FILE *))                                                                    \
	F(getc, int, (FILE *))                                                                     \
	F(system, int, (const char *))                                                             \
	F(pclose, int, (FILE *))                                                                   \
	F(flock, int, (int, int))                                                                  \
	F(lockf, int, (int, int, off_t))                                                           \
	F(lockf64, int, (int, int, off64_t))                                                       \
	F(pause, int, (void))                                                                      \
	F(preadv, ssize_t, (int, const struct iovec *, int, off_t))                                \
	F(preadv64, ssize_t, (int, const struct iovec *, int, off64_t))                            \
	F(pwritev, ssize_t, (int, const struct iovec *, int, off_t))                               \
	F(pwritev64, ssize_t, (int, const struct iovec *, int, off64_t))                           \
	F(sendfile, ssize_t, (int, int, off_t *, size_t))                                          \
	F(sendfile64, ssize_t, (int, int, off64_t *, size_t))                                      \
	F(recvmmsg, int, (int, struct mmsghdr *, unsigned int, int, struct timespec *))            \
	F(sendmmsg, int, (int, struct mmsghdr *, unsigned int, int))                               \
	F(epoll_pwait2, int,                                                                       \
	  (int, struct epoll_event *, int, const struct timespec *, const sigset_t *))             \
	F(dlclose, int, (void *))                                                                  \
	F(syncfs, int, (int))                                                                      \
	F(pthread_cond_signal, int, (pthread_cond_t *))                                            \
	F(pthread_cond_broadcast, int, (pthread_cond_t *))                                         \
	F(pthread_rwlock_rdlock, int, (pthread_rwlock_t *))                                        \
	F(pthread_rwlock_wrlock, int, (pthread_rwlock_t *))                                        \
	F(pthread_rwlock_timedrdlock, int, (pthread_rwlock_t *, const struct timespec *))          \
	F(pthread_rwlock_timedwrlock, int, (pthread_rwlock_t *, const struct timespec *))          \
	F(pthread_rwlock_clockrdlock, int,                                                         \
	  (pthread_rwlock_t *, clockid_t, const struct timespec *))                                \
	F(pthread_rwlock_clockwrlock, int,                                                         \
	  (pthread_rwlock_t *, clockid_t, const struct timespec *))                                \
	F(pthread_rwlock_unlock, int, (pthread_rwlock_t *))                                        \
	F(pthread_barrier_wait, int, (pthread_barrier_t *))                                        \
	F(sem_wait, int, (sem_t *))                                                                \
	F(sem_timedwait, int, (sem_t *, const struct timespec *))                                  \
	F(sem_clockwait, int, (sem_t *, clockid_t, const struct timespec *))                       \
	F(sem_post, int, (sem_t *))                                                                \
	F(pthread_join, int, (pthread_t, void **))                                                 \
	F(pthread_timedjoin_np, int, (pthread_t, void **, const struct timespec *))                \
	F(pthread_clockjoin_np, int, (pthread_t, void **, clockid_t, const struct timespec *))     \
	F(sleep, unsigned int, (unsigned int))                                                     \
	F(usleep, int, (useconds_t))                                                               \
	F(nanosleep, int, (const struct timespec *, struct timespec *))                            \
	F(clock_nanosleep, int, (clockid_t, int, const struct timespec *, struct timespec *))      \
	F(poll, int, (struct pollfd *, nfds_t, int))                                               \
	F(__poll_chk, int, (struct pollfd *, nfds_t, int, size_t))                                 \
	F(ppoll, int, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))        \
	F(__ppoll_chk, int,                                                                        \
	  (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t))            \
	F(select, int, (int, fd_set *, fd_set *, fd_set *, struct timeval *))                      \
	F(pselect, int,                                                                            \
	  (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *))          \
	F(epoll_wait, int, (int, struct epoll_event *, int, int))                                  \
	F(epoll_pwait, int, (int, struct epoll_event *, int, int, const sigset_t *))               \
	F(read, ssize_t, (int, void *, size_t))                                                    \
	F(__read_chk, ssize_t, (int, void *, size_t, size_t))                                      \
	F(readv, ssize_t, (int, const struct iovec *, int))                                        \
	F(pread, ssize_t, (int, void *, size_t, off_t))                                            \
	F(pread64, ssize_t, (int, void *, size_t, off64_t))                                        \
	F(__pread_chk, ssize_t, (int, void *, size_t, off_t, size_t))                              \
	F(__pread64_chk, ssize_t, (int, void *, size_t, off64_t, size_t))                          \
	F(recv, ssize_t, (int, void *, size_t, int))                                               \
	F(__recv_chk, ssize_t, (int, void *, size_t, size_t, int))                                 \
	F(recvfrom, ssize_t, (int, void *, size_t, int, struct sockaddr *, socklen_t *))           \
	F(__recvfrom_chk, ssize_t,                                                                 \
	  (int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *))                      \
	F(recvmsg, ssize_t, (int, struct msghdr *, int))                                           \
	F(accept, int, (int, struct sockaddr *, socklen_t *))                                      \
	F(accept4, int, (int, struct sockaddr *, socklen_t *, int))                                \
	F(write, ssize_t, (int, const void *, size_t))                                             \
	F(writev, ssize_t, (int, const struct iovec *, int))                                       \
	F(pwrite, ssize_t, (int, const void *, size_t, off_t))                                     \
	F(pwrite64, ssize_t, (int, const void *, size_t, off64_t))                                 \
	F(send, ssize_t, (int, const void *, size_t, int))                                         \
	F(sendto, ssize_t, (int, const void *, size_t, int, const struct sockaddr *, socklen_t))   \
	F(sendmsg, ssize_t, (int, const struct msghdr *, int))                                     \
	F(connect, int, (int, const struct sockaddr *, socklen_t))                                 \
	F(fsync, int, (int))                                                                       \
	F(fdatasync, int, (int))                                                                   \
	F(msync, int, (void *, size_t, int))                                                       \
	F(wait, pid_t, (int *))                                                                    \
	F(waitpid, pid_t, (pid_t, int *, int))                                                     \
	F(waitid, int, (idtype_t, id_t, siginfo_t *, int))                                         \
	F(wait3, pid_t, (int *, int, struct rusage *))                                             \
	F(wait4, pid_t, (pid_t, int *, int, struct rusage *))

/* Functions that are only called. */
#define ST_TRY_FUNCTIONS(F)                                                                        \
	F(pthread_spin_trylock, int, (pthread_spinlock_t *))                                       \
	F(mtx_trylock, int, (mtx_t *))                                                             \
	F(pthread_rwlock_tryrdlock, int, (pthread_rwlock_t *))                                     \
	F(pthread_rwlock_trywrlock, int, (pthread_rwlock_t *))                                     \
	F(sem_trywait, int, (sem_t *))

#pragma GCC visibility push(hidden)

/* NOLINTNEXTLINE(bugprone-macro-parentheses): parts of a declaration. */
#define RENAME(name, result, parameters) result name parameters __asm__("st_wrap_" #name);
ST_REAL_FUNCTIONS(RENAME)
#undef RENAME

struct st_real_functions {
	long (*syscall)(long, ...); /* first: waits_syscall.S knows nothing of structures */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): parts of a declaration. */
#define DECLARE(name, result, parameters) result(*name) parameters;
	ST_REAL_FUNCTIONS(DECLARE)
	ST_TRY_FUNCTIONS(DECLARE)
#undef DECLARE
};
_Static_assert(offsetof(struct st_real_functions, syscall) == 0, "waits_syscall.S");
extern struct st_real_functions st_real;
/* Before our constructor has run, of whatever called then. */
void st_real_find(void);

/* A loaded library; what it lacks is NULL. */
enum { ST_SLOT_TABLES = 2 };
struct st_image {
	uintptr_t base, low, high;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hashes;
	/* The loader sets the pointers when it loads the library; lazily, when each function is called for the first time. */
	struct {
		const ElfW(Rela) * first;
		size_t count;
	} slots[ST_SLOT_TABLES];
};

/* The libraries that define a function, ours left out, in the order in which they were loaded; and that of the caller. */
enum { ST_COPIES_MAX = 16 };
struct st_copies {
	struct st_copy {
		uintptr_t low, high;
		void *function;
		bool is_whole; /* it defines `beside`, too */
	} copy[ST_COPIES_MAX];
	uint32_t count; /* may be more than have a place */
	struct st_image caller;
};
void st_find_copies(struct st_copies *copies, const char *name, const char *beside,
		    const void *caller);
const struct st_copy *st_copy_at(const struct st_copies *copies, uintptr_t address);
/* The one whose functions of such names the caller's library calls already; NULL: none. Lazy: some of them will be looked for when
 * they are called. */
const struct st_copy *st_copy_bound(const struct st_copies *copies, bool (*is_wanted)(const char *),
				    bool *is_lazy);

/* A region while it lasts. NULL: it is not recorded. */
struct st_region_store {
	struct st_region region;
	struct st_region_body {
		void (*body)(void *);
		void *data;
		struct st_region *region; /* NULL: not recorded */
	} program;			  /* GNU's: what the threads shall do */
	struct st_region_place threads[ST_REGION_THREADS];
};
struct st_region_store *st_region_take(uint64_t object, const void *caller);
void st_region_give_back(const struct st_region_store *store);

/* Of a thread that has not been joined; 0: not known. */
uint64_t st_wait_tid_of(pthread_t thread);
long st_wait_futex(long number, uint32_t *word, long operation, long value, long timeout,
		   long other, long more);

#pragma GCC visibility pop

/* Those of mutexes: libc's own, bound by the loader under second names, so that nothing has to be looked up; or those of a
 * library of the program's that stands before libc, as a sanitizer does. */
struct st_mutex_functions {
	int (*lock)(pthread_mutex_t *);
	int (*trylock)(pthread_mutex_t *);
	int (*unlock)(pthread_mutex_t *);
};
__attribute__((visibility("hidden"))) extern struct st_mutex_functions st_mutex;

#define ST_REAL(name) (ST_LIKELY(st_real.name) ? st_real.name : (st_real_find(), st_real.name))

/* The outcome of functions that return an error number, and of those that return -1 and set errno. */
static inline enum st_wait_outcome st_outcome_of_number(int result)
{
	return result == 0	     ? ST_WAIT_DONE
	       : result == ETIMEDOUT ? ST_WAIT_TIMED_OUT
	       : result == EINTR     ? ST_WAIT_INTERRUPTED
				     : ST_WAIT_FAILED;
}

static inline enum st_wait_outcome st_outcome_of_errno(long result)
{
	return result >= 0 ? ST_WAIT_DONE : st_outcome_of_number(errno);
}

/* In a wrapper: the call, as a wait. */
#define ST_WAITED(what, which, outcome_of, call)                                                   \
	ST_WAITED_FROM(__builtin_return_address(0), what, which, outcome_of, call)
/* The same in a function of its own, whose frame those need not have who do not wait. */
#define ST_WAITED_FROM(where, what, which, outcome_of, call)                                       \
	({                                                                                         \
		struct st_open_wait wait = {                                                       \
			.object = (uint64_t)(which), .caller = (where), .kind = (what)};           \
		__typeof__(call) given_back;                                                       \
                                                                                                   \
		strata_wait_begin(&wait);                                                          \
		given_back = (call);                                                               \
		strata_wait_end(&wait, outcome_of(given_back));                                    \
		given_back;                                                                        \
	})
/* In a wrapper of what makes objects. */
#define ST_MADE(what, object)                                                                      \
	strata_wait_made((what), (uint64_t)(uintptr_t)(object), __builtin_return_address(0))
/* The same of what destroys them, whose result is given back. */
#define ST_DESTROYED(what, object, call)                                                           \
	({                                                                                         \
		int given_back = (call);                                                           \
                                                                                                   \
		if (!given_back)                                                                   \
			strata_wait_gone((what), (uint64_t)(uintptr_t)(object));                   \
		given_back;                                                                        \
	})
#define ST_SLOW static __attribute__((noinline, cold))

#endif
