/* SPDX-License-Identifier: Apache-2.0
 *
 * The signal that the trigger sends, shared with the program. The kernel has our handler; what the program sets is
 * kept here, read back as it was set, and obeyed for the signals that are not the trigger's. The default action
 * is carried out by giving the signal back to the kernel.
 */
#include "collect/inproc/sampler/sampler_signal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "collect/inproc/sampler/sampler_birth.h"
#include "collect/inproc/sampler/sampler_onstack.h"
#include "collect/inproc/sampler/sampler_state.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

enum {
	HANDLER_STACK_BYTES = 12 << 10, /* of ours, besides the kernel's frame */
	FRAME_BYTES = 4 << 10,		/* when the kernel does not say */
	SIGNALS = 65,
};

typedef void (*handler_type)(int);

static struct {
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	handler_type (*signal)(int, handler_type);
	handler_type (*sysv_signal)(int, handler_type);
	handler_type (*sigset)(int, handler_type);
	int (*siginterrupt)(int, int);
	int (*sigaltstack)(const stack_t *, stack_t *);
} real;

static _Atomic int shared;
/* Two, so that a handler always finds a whole one. */
static struct sigaction program[2];
static _Atomic uint32_t program_now;
/* Alternate stacks of the program are too small for a further frame. */
static _Atomic bool alternate_small;
/* Signals whose handlers run on an alternate stack: ours is kept out of them, unless the program did so. */
static _Atomic bool kept_out[SIGNALS];

/* Libraries that are initialised before us call these before the constructor has run. */
static void resolve(void)
{
	if (real.sigaction)
		return;
	*(void **)&real.signal = dlsym(RTLD_NEXT, "signal");
	*(void **)&real.sysv_signal = dlsym(RTLD_NEXT, "__sysv_signal");
	*(void **)&real.sigset = dlsym(RTLD_NEXT, "sigset");
	*(void **)&real.siginterrupt = dlsym(RTLD_NEXT, "siginterrupt");
	*(void **)&real.sigaltstack = dlsym(RTLD_NEXT, "sigaltstack");
	*(void **)&real.sigaction = dlsym(RTLD_NEXT, "sigaction");
}

void st_sampler_signal_init(void)
{
	resolve();
	st_mask_init();
}

int st_signal_shared(void)
{
	return atomic_load_explicit(&shared, memory_order_relaxed);
}

static const struct sigaction *program_action(void)
{
	return &program[atomic_load_explicit(&program_now, memory_order_acquire)];
}

bool st_signal_has_program(void)
{
	return program_action()->sa_handler != SIG_DFL;
}

/* Calls are interrupted, or not, as the program wants it for its own signals. */
static int install(int signal, const struct sigaction *wanted)
{
	struct sigaction ours = {.sa_sigaction = st_sampler_handler, .sa_flags = SA_SIGINFO};

	memset(&ours.sa_mask, 0xff, sizeof(ours.sa_mask));
	if (wanted->sa_handler == SIG_DFL || wanted->sa_handler == SIG_IGN)
		ours.sa_flags |= SA_RESTART;
	else
		ours.sa_flags |= wanted->sa_flags & SA_RESTART;
	if (!atomic_load_explicit(&alternate_small, memory_order_relaxed))
		ours.sa_flags |= SA_ONSTACK;
	return real.sigaction(signal, &ours, NULL);
}

bool st_signal_install(int signal, const struct sigaction *wanted)
{
	return !install(signal, wanted);
}

bool st_signal_action(int signal, const struct sigaction *action, struct sigaction *old)
{
	return real.sigaction && !real.sigaction(signal, action, old);
}

/* The new one in place, the old one copied out, with all signals blocked: a handler may do the same. */
static int exchange(int signal, const struct sigaction *action, struct sigaction *old)
{
	unsigned long mask = st_signal_block(~0ul);
	uint32_t now;
	int result = 0;

	while (atomic_exchange_explicit(&st_sampling->signal_lock, 1, memory_order_acquire))
		st_syscall(SYS_sched_yield, 0);
	now = atomic_load_explicit(&program_now, memory_order_relaxed);
	if (action) {
		struct sigaction copy = *action;

		if (old)
			*old = program[now];
		program[!now] = copy;
		atomic_store_explicit(&program_now, !now, memory_order_release);
		result = install(signal, &copy);
	} else if (old) {
		*old = program[now];
	}
	atomic_store_explicit(&st_sampling->signal_lock, 0, memory_order_release);
	st_signal_set_mask(mask);
	return result;
}

bool st_sampler_take_signal(int signal)
{
	struct sigaction before;

	st_altstack_give();
	if (st_signal_shared())
		return st_signal_shared() == signal;
	if (!real.sigaction || real.sigaction(signal, NULL, &before))
		return false;
	if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		return false;
	program[0] = before;
	atomic_store_explicit(&program_now, 0, memory_order_release);
	if (install(signal, &before))
		return false;
	atomic_store_explicit(&shared, signal, memory_order_release);
	if (before.sa_handler == SIG_DFL)
		st_mask_adopt(signal);
	return true;
}

void st_sampler_ignore_signal(void)
{
	int signal = st_signal_shared();
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (signal)
		real.sigaction(signal, &ignore, NULL);
}

/* Not ours any more: as if we had never been here. */
void st_sampler_drop_signal(void)
{
	/* A program with a handler of its own may return from handlers; the trigger's signals end in ours. */
	if (!st_signal_has_program())
		st_sampler_ignore_signal();
}

/* The program goes on after all. */
void st_sampler_retake_signal(void)
{
	if (st_signal_shared())
		install(st_signal_shared(), program_action());
}

/* Gives a signal back to the kernel, which finds it pending when our handler returns. */
static void send_again(int signal, siginfo_t *info)
{
	if (info->si_code == SI_USER || info->si_code == SI_QUEUE)
		st_syscall(SYS_rt_sigqueueinfo, st_sampling->pid, signal, info);
	else
		st_syscall(SYS_rt_tgsigqueueinfo, st_sampling->pid, st_syscall(SYS_gettid, 0),
			   signal, info);
}

/* A trigger's signal that waits because the program has blocked it would survive an exec, and end the next
 * program. One of the thread and one of the process can wait; what is not the trigger's goes on waiting. */
void st_sampler_discard_pending(void)
{
	const struct timespec at_once = {0};
	int signal = st_signal_shared(), kept = 0;
	unsigned long set;
	siginfo_t info[2];

	if (!signal)
		return;
	set = st_signal_bit(signal);
	while (kept < 2 && st_syscall(SYS_rt_sigtimedwait, &set, &info[kept], &at_once,
				      ST_SIGNAL_SET_BYTES) == signal)
		kept += !st_sampler_is_trigger(signal, &info[kept]);
	for (int i = 0; i < kept; i++)
		send_again(signal, &info[i]);
}

static void die_by(int signal, siginfo_t *info)
{
	struct sigaction fatal = {.sa_handler = SIG_DFL};

	real.sigaction(signal, &fatal, NULL);
	send_again(signal, info);
}

static void call(const struct sigaction *action, int signal, siginfo_t *info, ucontext_t *context)
{
	unsigned long mask =
		*st_signal_words(&context->uc_sigmask) | *st_signal_words(&action->sa_mask);

	if (!(action->sa_flags & SA_NODEFER))
		mask |= st_signal_bit(signal);
	st_signal_set_mask(mask);
	if (action->sa_flags & SA_SIGINFO)
		action->sa_sigaction(signal, info, context);
	else
		action->sa_handler(signal);
}

static void deliver(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	struct sigaction action = *program_action();
	const struct sigaction fatal = {.sa_handler = SIG_DFL};

	if (st_signal_is_hidden() && info->si_code <= 0) {
		/* Pending, as the program expects it of a signal that it blocks. */
		*st_signal_words(&interrupted->uc_sigmask) |= st_signal_bit(signal);
		send_again(signal, info);
		return;
	}
	/* What the processor raises cannot be ignored. */
	if (action.sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
		die_by(signal, info);
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND)
		exchange(signal, &fatal, NULL);
	call(&action, signal, info, interrupted);
}

void st_sampler_pass_on(int signal, siginfo_t *info, void *context)
{
	const struct sigaction *action = program_action();
	ucontext_t *interrupted = context;

	/* A handler is on an alternate stack only if it has asked for that and there is one of the program's. */
	if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN &&
	    (!(action->sa_flags & SA_ONSTACK) || st_altstack_is_ours(&interrupted->uc_stack)))
		st_onstack_leave(signal, info, interrupted, deliver);
	deliver(signal, info, context);
}

/* Handlers on an alternate stack have no room for a frame of ours on top of theirs. */
static bool keep_out(int ours, struct sigaction *action)
{
	if (!ours || *st_signal_words(&action->sa_mask) & st_signal_bit(ours))
		return false;
	*st_signal_words(&action->sa_mask) |= st_signal_bit(ours);
	return true;
}

static int set_other(int signal, const struct sigaction *action, struct sigaction *old)
{
	int ours = st_signal_shared(), result;
	st_handler handler = st_onstack_kept(signal);
	struct sigaction copy;
	bool before, now = false;

	if (signal < 1 || signal >= SIGNALS)
		return real.sigaction(signal, action, old);
	before = atomic_load_explicit(&kept_out[signal], memory_order_relaxed);
	if (action && action->sa_flags & SA_ONSTACK) {
		copy = *action;
		action = &copy;
		now = keep_out(ours, &copy);
		st_onstack_keep(signal, &copy);
	}
	result = real.sigaction(signal, action, old);
	if (result)
		return result;
	if (old) {
		st_birth_hide(signal, old);
		st_onstack_show(old, handler);
		if (before)
			*st_signal_words(&old->sa_mask) &= ~st_signal_bit(ours);
	}
	if (action)
		atomic_store_explicit(&kept_out[signal], now, memory_order_relaxed);
	return 0;
}

/* What libc's own functions for handlers give back: its word is the kernel's. */
static handler_type shown(handler_type found, st_handler kept_before)
{
	struct sigaction action = {.sa_handler = found};

	st_onstack_show(&action, kept_before);
	return action.sa_handler;
}

ST_EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	resolve();
	/* A handler on an alternate stack is kept apart from ours, which has to be there for that. */
	if (action && action->sa_flags & SA_ONSTACK)
		st_birth_end();
	else if (action)
		st_birth_asked(signal);
	if (signal && signal == st_signal_shared())
		return exchange(signal, action, old);
	return set_other(signal, action, old);
}

extern __typeof(sigaction) st_own_sigaction
	__attribute__((alias("sigaction"), visibility("hidden"), leaf, nothrow));

/* Preloaded; another library may stand in front of us and call us. */
bool st_sampler_stands_between(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return dlsym(RTLD_DEFAULT, "sigaction") == (void *)st_own_sigaction ||
	       (preload && strstr(preload, "libstrata_collector.so"));
}

static handler_type set_handler(int signal, handler_type handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (!(flags & SA_NODEFER))
		*st_signal_words(&action.sa_mask) = st_signal_bit(signal);
	return exchange(signal, &action, &old) ? SIG_ERR : old.sa_handler;
}

ST_EXPORT handler_type signal(int number, handler_type handler)
{
	st_handler kept;

	resolve();
	st_birth_asked(number);
	if (number && number == st_signal_shared())
		return set_handler(number, handler, SA_RESTART);
	kept = st_onstack_kept(number);
	return shown(real.signal(number, handler), kept);
}

handler_type bsd_signal(int number, handler_type handler); /* not in every header */
ST_EXPORT handler_type bsd_signal(int number, handler_type handler)
{
	return signal(number, handler);
}

ST_EXPORT handler_type ssignal(int number, handler_type handler)
{
	return signal(number, handler);
}

ST_EXPORT handler_type __sysv_signal(int number, handler_type handler)
{
	st_handler kept;

	resolve();
	st_birth_asked(number);
	if (number && number == st_signal_shared())
		return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER);
	kept = st_onstack_kept(number);
	return shown(real.sysv_signal(number, handler), kept);
}

ST_EXPORT handler_type sysv_signal(int number, handler_type handler)
{
	return __sysv_signal(number, handler);
}

ST_EXPORT handler_type sigset(int number, handler_type handler)
{
	struct sigaction old;
	st_handler kept;
	sigset_t set, before;

	resolve();
	st_birth_asked(number);
	kept = st_onstack_kept(number);
	if (!number || number != st_signal_shared())
		return shown(real.sigset(number, handler), kept);
	memset(&set, 0, sizeof(set));
	*st_signal_words(&set) = st_signal_bit(number);
	exchange(number, NULL, &old);
	if (handler != SIG_HOLD && set_handler(number, handler, 0) == SIG_ERR)
		return SIG_ERR;
	sigprocmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &set, &before);
	return *st_signal_words(&before) & st_signal_bit(number) ? SIG_HOLD : old.sa_handler;
}

ST_EXPORT int sigignore(int number)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	return sigaction(number, &ignore, NULL);
}

ST_EXPORT int siginterrupt(int number, int interrupt)
{
	struct sigaction action;

	resolve();
	st_birth_asked(number);
	if (!number || number != st_signal_shared())
		return real.siginterrupt(number, interrupt);
	exchange(number, NULL, &action);
	action.sa_flags = interrupt ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
	return exchange(number, &action, NULL);
}

static bool too_small(const stack_t *stack)
{
	unsigned long frame = getauxval(AT_MINSIGSTKSZ);

	if (frame < FRAME_BYTES)
		frame = FRAME_BYTES;
	return !(stack->ss_flags & SS_DISABLE) && stack->ss_size < frame + HANDLER_STACK_BYTES;
}

/* The program sees its own stack or none. When it takes its own away, ours is there again. */
ST_EXPORT int sigaltstack(const stack_t *stack, stack_t *old)
{
	int ours, result;
	stack_t before;

	resolve();
	if (stack)
		st_birth_end();
	ours = st_signal_shared();
	/* Before it can be used. Other threads may rely on theirs: they have to do with their own stacks. */
	if (ours && stack && too_small(stack) &&
	    !atomic_exchange_explicit(&alternate_small, true, memory_order_relaxed))
		exchange(ours, program_action(), NULL);
	result = real.sigaltstack(stack, &before);
	if (result)
		return result;
	if (st_altstack_is_ours(&before))
		before = (stack_t){.ss_flags = SS_DISABLE};
	if (old)
		*old = before;
	if (ours && stack && stack->ss_flags & SS_DISABLE)
		st_altstack_give();
	return 0;
}
