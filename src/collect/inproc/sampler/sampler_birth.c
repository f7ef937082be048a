/* SPDX-License-Identifier: Apache-2.0
 *
 * A process begins with nothing but a timer of its CPU time. Opening a trigger and telling strata takes a fifth of what a
 * command such as true takes, and most processes of a build or of a script end before a sample would come. So the
 * process is armed when the timer expires, which is the moment of its first sample (sampler_phase.c says how moments
 * are chosen), or earlier: when it records something, creates a thread, or deals with signals in a way that has
 * to be seen.
 *
 * The timer sends SIGPROF, which debuggers pass on unseen: whether there is one is asked when the process is armed, because
 * the answer costs as much as all of this. SIGPROF is the program's again as soon as it is armed. Until then nobody
 * but this file changes what SIGPROF does: whoever wants to has the process armed first.
 *
 * The timer counts the CPU time of the first thread: one of the process's would send its signal to a thread that sleeps.
 * pthread_create has the process armed before there is another one. Those that libc makes for itself block all
 * signals, with or without us; one made by a bare system call gets its event when the first thread has its first sample.
 */
#include "collect/inproc/sampler/sampler_birth.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "base/rt/syscall.h"
#include "collect/inproc/sampler/sampler_signal.h"
#include "collect/inproc/sampler/sampler_state.h"
#include "collect/inproc/sampler/sampler_trigger.h"

/* What SIGPROF does is ours to give back. Ordinary memory: so it is in a forked child. */
static _Atomic bool taken;

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == st_sampler_handler;
}

/* A vforked child has the memory of its parent, but neither its signals nor its timer. */
bool st_birth_is_borrowed(void)
{
	return st_sampling && st_sampling->pid &&
	       st_sampling->pid != (uint32_t)st_syscall(SYS_getpid, 0);
}

static bool take_signal(void)
{
	struct sigaction before;

	if (st_signal_block(0) & st_signal_bit(SIGPROF) ||
	    !st_signal_action(SIGPROF, NULL, &before))
		return false;
	if (is_ours(&before))
		return atomic_load_explicit(&taken, memory_order_relaxed);
	if (before.sa_flags & SA_SIGINFO || before.sa_handler != SIG_DFL)
		return false;
	st_altstack_give();
	atomic_store_explicit(&taken, true, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	if (st_signal_install(SIGPROF, &before))
		return true;
	atomic_store_explicit(&taken, false, memory_order_relaxed);
	return false;
}

static const struct sigaction usual = {.sa_handler = SIG_DFL};

static void give_signal_back(void)
{
	if (atomic_exchange_explicit(&taken, false, memory_order_relaxed))
		st_signal_action(SIGPROF, &usual, NULL);
}

/* Nobody waits any more: the timer is gone, none of its signals is on its way, and SIGPROF is the program's. False: nobody
 * has waited. What was left of the timer is told. */
static bool end_wait(uint64_t *left_ns)
{
	const struct timespec at_once = {0};
	int signal = st_sampling->birth_signal;
	unsigned long set = st_signal_bit(signal), mask = st_signal_block(set);
	bool waited = atomic_exchange_explicit(&st_sampling->birth, false, memory_order_relaxed);
	struct itimerspec left = {.it_value = {0}};
	siginfo_t info;

	if (waited) {
		st_syscall(SYS_timer_gettime, st_sampling->birth_timer, &left);
		st_syscall(SYS_timer_delete, st_sampling->birth_timer);
		if (st_syscall(SYS_rt_sigtimedwait, &set, &info, &at_once, ST_SIGNAL_SET_BYTES) ==
			    signal &&
		    !st_sampler_is_trigger(signal, &info))
			st_syscall(SYS_rt_tgsigqueueinfo, st_sampling->pid,
				   st_syscall(SYS_gettid, 0), signal, &info);
		give_signal_back();
	}
	st_signal_set_mask(mask);
	*left_ns = (uint64_t)left.it_value.tv_sec * 1000000000u + (uint64_t)left.it_value.tv_nsec;
	return waited;
}

bool st_birth_begin(void)
{
	/* A forked child goes on with the signal of its parent, which no debugger has watched. */
	int signal = st_signal_shared();

	if (!st_sampler_settings.defer || st_sampler_settings.cycles ||
	    st_sampler_settings.rung > ST_RUNG_SIGTRAP_USER || signal == SIGPROF ||
	    !st_phase_can_wait() || (!signal && !take_signal()))
		return false;
	st_sampling->birth_signal = signal ? signal : SIGPROF;
	if (st_phase_wait(st_sampling->birth_signal, &st_sampling->birth_timer)) {
		give_signal_back();
		return false;
	}
	atomic_store_explicit(&st_sampling->birth, true, memory_order_relaxed);
	return true;
}

bool st_birth_waits(void)
{
	return st_sampling && atomic_load_explicit(&st_sampling->birth, memory_order_relaxed);
}

void st_birth_end(void)
{
	uint64_t left_ns;

	if (!st_birth_waits() || st_sandboxed() || st_birth_is_borrowed() || !end_wait(&left_ns))
		return;
	st_sampler_arm_now(left_ns ? left_ns : 1);
}

void st_birth_drop(void)
{
	uint64_t left_ns;

	if (st_birth_waits() && !st_birth_is_borrowed())
		end_wait(&left_ns);
}

void st_birth_asked(int signal)
{
	if (signal != SIGPROF && signal != SIGTRAP)
		return;
	if (st_birth_waits())
		st_birth_end();
	else if (atomic_load_explicit(&taken, memory_order_relaxed) && !st_birth_is_borrowed())
		give_signal_back(); /* forked behind our back: there is no timer */
}

void st_birth_hide(int signal, struct sigaction *shown)
{
	if (signal == SIGPROF && atomic_load_explicit(&taken, memory_order_relaxed) &&
	    is_ours(shown)) {
		memset(shown, 0, sizeof(*shown));
		shown->sa_handler = SIG_DFL;
	}
}

static void end_in_handler(void *context)
{
	ucontext_t *at = context;

	st_mask_interrupted(st_signal_words(&at->uc_sigmask));
	st_birth_end();
	st_mask_interrupted(NULL);
}

bool st_birth_handles(int signal, const siginfo_t *info, void *context)
{
	if (st_birth_waits() && signal == st_sampling->birth_signal &&
	    st_sampler_is_trigger(signal, info)) {
		end_in_handler(context);
		return st_passive();
	}
	if (signal != SIGPROF || !atomic_load_explicit(&taken, memory_order_relaxed))
		return false;
	if (st_sampler_is_trigger(signal, info))
		return true; /* too late */
	/* Another's: it does what it would do without us, as soon as the handler returns. */
	if (st_birth_waits())
		end_in_handler(context);
	if (st_birth_is_borrowed())
		st_signal_action(SIGPROF, &usual, NULL);
	else
		give_signal_back();
	st_syscall(SYS_rt_tgsigqueueinfo, st_syscall(SYS_getpid, 0), st_syscall(SYS_gettid, 0),
		   signal, info);
	return true;
}
