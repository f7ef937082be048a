/* SPDX-License-Identifier: Apache-2.0
 *
 * New threads, which pthread_create tells of, the triggers of the lower rungs, and what must be put aside for an exec.
 */
#include "collect/inproc/sampler/sampler_trigger.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>

#include "base/rt/syscall.h"
#include "collect/inproc/sampler/sampler_birth.h"
#include "collect/inproc/sampler/sampler_signal.h"
#include "collect/inproc/sampler/sampler_state.h"

enum { STARTS_MAX = 256 };

/* What a new thread is to do, on its way there. */
struct start {
	_Atomic uint32_t used;
	void *(*function)(void *);
	void *arg;
};

static struct start starts[STARTS_MAX] ST_APART;
static int (*real_pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*real_setitimer)(__itimer_which_t, const struct itimerval *, struct itimerval *);

static void resolve(void)
{
	if (real_pthread_create)
		return;
	*(void **)&real_setitimer = dlsym(RTLD_NEXT, "setitimer");
	*(void **)&real_pthread_create = dlsym(RTLD_NEXT, "pthread_create");
}

void st_timer_init(void)
{
	resolve();
}

long st_timer_set_signal(long fd)
{
	const struct {
		int type, tid;
	} owner = {F_OWNER_TID, (int)st_syscall(SYS_gettid, 0)};
	long result = st_syscall(SYS_fcntl, fd, F_SETOWN_EX, &owner);

	if (!result)
		result = st_syscall(SYS_fcntl, fd, F_SETSIG, SIGPROF);
	return result ? result : st_syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC);
}

static long set_process_timer(uint64_t period_ns)
{
	struct itimerval value = {.it_interval = {(time_t)(period_ns / 1000000000),
						  (suseconds_t)(period_ns / 1000 % 1000000)}};

	value.it_value = value.it_interval;
	return st_syscall(SYS_setitimer, ITIMER_PROF, &value, 0);
}

static bool has_process_timer(void)
{
	return st_sampling && atomic_load_explicit(&st_sampling->armed, memory_order_relaxed) ==
				      ST_RUNG_PROCESS_TIMER;
}

static bool is_opener(void)
{
	return st_sampling->tid == (uint32_t)st_syscall(SYS_gettid, 0);
}

long st_timer_start_process(uint64_t period_ns)
{
	struct itimerval there = {0};

	/* A timer of the program's, which it may have from before an exec. */
	st_syscall(SYS_getitimer, ITIMER_PROF, &there);
	if (there.it_value.tv_sec || there.it_value.tv_usec)
		return -EBUSY;
	return set_process_timer(period_ns);
}

/* An interval timer would go on in the new program, which knows nothing of its signal. Of an event the kernel
 * removes no more than the event: a hit while exec is under way becomes a signal that the new program dies of.
 * We have no descriptor, but the thread that opened it can stop it; from another one the signal is ignored. */
bool st_sampler_before_exec(void)
{
	uint32_t rung = st_sampling
				? atomic_load_explicit(&st_sampling->armed, memory_order_relaxed)
				: ST_RUNG_NONE;

	if ((!rung && !(st_birth_waits() && st_signal_shared())) || st_passive() ||
	    st_sampling->pid != (uint32_t)st_syscall(SYS_getpid, 0))
		return false;
	if (rung == ST_RUNG_PROCESS_TIMER)
		set_process_timer(0);
	else if (rung <= ST_RUNG_SETSIG && is_opener())
		st_syscall(SYS_prctl, PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
	else if (rung <= ST_RUNG_SETSIG)
		st_sampler_ignore_signal();
	st_sampler_discard_pending();
	st_mask_show(true);
	return true;
}

void st_sampler_exec_failed(void)
{
	uint32_t rung = atomic_load_explicit(&st_sampling->armed, memory_order_relaxed);

	st_mask_show(false);
	if (rung == ST_RUNG_PROCESS_TIMER)
		set_process_timer(st_sampling->nominal_ns);
	else if (rung <= ST_RUNG_SETSIG && is_opener())
		st_syscall(SYS_prctl, PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0);
	else if (rung <= ST_RUNG_SETSIG)
		st_sampler_retake_signal();
}

/* The program wants the one timer there is: it gets it, and the samples end. */
ST_EXPORT int setitimer(__itimer_which_t which, const struct itimerval *value,
			struct itimerval *old)
{
	resolve();
	if (which == ITIMER_PROF && has_process_timer()) {
		if (!value) {
			if (old)
				memset(old, 0, sizeof(*old));
			return 0;
		}
		atomic_store_explicit(&st_sampling->armed, ST_RUNG_NONE, memory_order_relaxed);
		set_process_timer(0);
	}
	return real_setitimer(which, value, old);
}

static uint32_t armed_rung(void)
{
	return st_sampling ? atomic_load_explicit(&st_sampling->armed, memory_order_relaxed)
			   : ST_RUNG_NONE;
}

static void *begin_thread(void *opaque)
{
	struct start *start = opaque;
	void *(*function)(void *) = start->function;
	void *arg = start->arg;

	/* Pairs with the acquire of the next taker. */
	atomic_store_explicit(&start->used, 0, memory_order_release);
	st_altstack_begin();
	st_sampler_arm_thread();
	return function(arg);
}

static struct start *take_start(void)
{
	for (uint32_t i = 0; i < STARTS_MAX; i++)
		if (!atomic_load_explicit(&starts[i].used, memory_order_relaxed) &&
		    !atomic_exchange_explicit(&starts[i].used, 1, memory_order_acquire))
			return &starts[i];
	return NULL;
}

ST_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			     void *(*function)(void *), void *arg)
{
	struct start *start;
	int result;

	resolve();
	/* The new thread is to inherit the trigger. */
	st_birth_end();
	start = armed_rung() != ST_RUNG_NONE ? take_start() : NULL;
	if (!start)
		return real_pthread_create(thread, attr, function, arg);
	start->function = function;
	start->arg = arg;
	st_sampler_anchor();
	result = real_pthread_create(thread, attr, begin_thread, start);
	if (result)
		atomic_store_explicit(&start->used, 0, memory_order_release);
	return result;
}
