/* SPDX-License-Identifier: Apache-2.0
 *
 * Signal masks, and waiting for signals. Threads that block everything, as workers of many libraries do, are to
 * be sampled like others: blocking our signal is not passed on to the kernel, only remembered, unless the
 * program handles that signal itself. If one comes that is not the trigger's, it is really blocked and left
 * pending. Those who wait for signals never see the trigger's.
 */
#include "collect/inproc/sampler/sampler_signal.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#include "collect/inproc/sampler/sampler_birth.h"
#include "collect/inproc/sampler/sampler_state.h"

static struct {
	int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
	int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
	int (*sigwait)(const sigset_t *, int *);
	int (*signalfd)(int, const sigset_t *, int);
} real;

static __thread bool hidden __attribute__((tls_model("initial-exec")));
/* Of a process that is armed in a handler, which happens once: the mask of what it interrupted, where it will be read from
 * when it returns. */
static unsigned long *interrupted;

static void resolve(void)
{
	if (real.pthread_sigmask)
		return;
	*(void **)&real.sigtimedwait = dlsym(RTLD_NEXT, "sigtimedwait");
	*(void **)&real.sigwait = dlsym(RTLD_NEXT, "sigwait");
	*(void **)&real.signalfd = dlsym(RTLD_NEXT, "signalfd");
	*(void **)&real.pthread_sigmask = dlsym(RTLD_NEXT, "pthread_sigmask");
}

void st_mask_init(void)
{
	resolve();
}

bool st_signal_is_hidden(void)
{
	return hidden;
}

void st_mask_interrupted(unsigned long *mask)
{
	interrupted = mask;
}

void st_mask_adopt(int signal)
{
	unsigned long bit = st_signal_bit(signal);

	if (!((interrupted ? *interrupted : st_signal_block(0)) & bit))
		return;
	hidden = true;
	if (interrupted)
		*interrupted &= ~bit;
	else
		st_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, 0, ST_SIGNAL_SET_BYTES);
}

void st_mask_show(bool shown)
{
	unsigned long bit = st_signal_bit(st_signal_shared());

	if (hidden)
		st_syscall(SYS_rt_sigprocmask, shown ? SIG_BLOCK : SIG_UNBLOCK, &bit, 0,
			   ST_SIGNAL_SET_BYTES);
}

static bool has(const sigset_t *set, int signal)
{
	return set && (*st_signal_words(set) & st_signal_bit(signal));
}

ST_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	int ours, result;
	bool before;
	sigset_t without;

	resolve();
	if (how != SIG_UNBLOCK && has(set, SIGPROF))
		st_birth_end();
	ours = st_signal_shared();
	before = hidden;
	if (!ours || (!set && !before))
		return real.pthread_sigmask(how, set, old);
	if (how != SIG_UNBLOCK && has(set, ours) && !st_signal_has_program()) {
		memcpy(&without, set, sizeof(without));
		*st_signal_words(&without) &= ~st_signal_bit(ours);
		set = &without;
		hidden = true;
		atomic_signal_fence(memory_order_seq_cst);
		result = real.pthread_sigmask(how, set, old);
		if (result)
			hidden = before;
	} else {
		/* First: one that waits comes before the call is back, and is to be delivered then. */
		if (set && (how == SIG_SETMASK || (how == SIG_UNBLOCK && has(set, ours))))
			hidden = false;
		atomic_signal_fence(memory_order_seq_cst);
		result = real.pthread_sigmask(how, set, old);
		if (result)
			hidden = before;
		else if (set && has(set, ours))
			hidden = false;
	}
	if (!result && old && before)
		*st_signal_words(old) |= st_signal_bit(ours);
	return result;
}

ST_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int result = pthread_sigmask(how, set, old);

	if (!result)
		return 0;
	errno = result;
	return -1;
}

/* Whoever waits for it has blocked it, and now needs that. */
static void block_really(int ours)
{
	if (!hidden)
		return;
	st_signal_block(st_signal_bit(ours));
	hidden = false;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

ST_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	int ours = st_signal_shared(), result;
	struct timespec left;
	siginfo_t own;
	int64_t until;

	resolve();
	if (!ours || !has(set, ours))
		return real.sigtimedwait(set, info, timeout);
	block_really(ours);
	until = timeout ? now_ns() + (int64_t)timeout->tv_sec * 1000000000 + timeout->tv_nsec : 0;
	for (;;) {
		result = real.sigtimedwait(set, &own, timeout);
		if (result != ours || !st_sampler_is_trigger(ours, &own))
			break;
		if (timeout) {
			int64_t rest = until - now_ns();

			if (rest < 0)
				rest = 0;
			left = (struct timespec){rest / 1000000000, rest % 1000000000};
			timeout = &left;
		}
	}
	if (result > 0 && info)
		*info = own;
	return result;
}

ST_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return sigtimedwait(set, info, NULL);
}

ST_EXPORT int sigwait(const sigset_t *set, int *signal)
{
	int ours = st_signal_shared(), result, saved = errno;
	siginfo_t info;

	resolve();
	if (!ours || !has(set, ours))
		return real.sigwait(set, signal);
	do
		result = sigtimedwait(set, &info, NULL);
	while (result < 0 && errno == EINTR);
	if (result < 0) {
		result = errno;
		errno = saved;
		return result;
	}
	*signal = result;
	return 0;
}

/* A descriptor cannot tell the trigger's signals from others. A set that names ours among others is meant for
 * those; one that asks for it alone gets it. */
ST_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
	int ours = st_signal_shared();
	sigset_t without;

	resolve();
	if (!ours || !has(set, ours) || *st_signal_words(set) == st_signal_bit(ours))
		return real.signalfd(fd, set, flags);
	memcpy(&without, set, sizeof(without));
	*st_signal_words(&without) &= ~st_signal_bit(ours);
	return real.signalfd(fd, &without, flags);
}
