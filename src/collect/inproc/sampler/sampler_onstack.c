/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of the program's that are to run on an alternate stack (SA_ONSTACK). Many ask for that and have none in most of
 * their threads, or in any; such a handler runs on the thread's own stack, with as much room as there is. It has to with ours in
 * place, too, which is small and not the program's. Which of the two it is depends on the thread, while the handler is the
 * process's: so ours stands before it, and where the kernel has begun it on our stack, the signal's frame is moved
 * to where it would be without us, and the handler begins there. It returns by that frame: nothing of ours is left below or
 * above it. No system call is made. A signal that comes while the frame is being moved, some 100 ns, finds our stack in use, and its
 * handler begins there.
 */
#include "collect/inproc/sampler/sampler_onstack.h"

#include <stdatomic.h>
#include <stddef.h>

#include "collect/inproc/sampler/sampler_birth.h"
#include "collect/inproc/sampler/sampler_registers.h"
#include "collect/inproc/sampler/sampler_signal.h"
#include "collect/inproc/sampler/sampler_state.h"

enum { SIGNALS = 65 };

/* The program's; of signals whose handler is ours for the kernel. */
static _Atomic(st_handler) kept[SIGNALS];
/* Stacks of ours are in use; and handlers that were set before. */
static _Atomic bool used;
static _Atomic uint64_t early;

static bool is_on(const stack_t *stack, uint64_t address)
{
	uint64_t low = (uint64_t)(uintptr_t)stack->ss_sp;

	return address >= low && address - low < stack->ss_size;
}

static bool interrupts_its_stack(const ucontext_t *context)
{
	return is_on(&context->uc_stack, st_registers_of(context).sp);
}

#if defined(__x86_64__)

enum { WORD = 8, RED_ZONE = 128, ALIGNMENT = 64 };

#define AT(name) [name] "i"(offsetof(ucontext_t, uc_mcontext.gregs[REG_##name]))

/* As the kernel begins a handler: its registers are those of what was interrupted, but for the arguments. */
static __attribute__((noreturn, noinline)) void
begin_at(uint64_t sp, st_handler handler, int signal, siginfo_t *info, ucontext_t *context)
{
	__asm__ volatile("movq %[sp], %%rsp\n\t"
			 "movq %c[RBX](%%rdx), %%rbx\n\t"
			 "movq %c[RBP](%%rdx), %%rbp\n\t"
			 "movq %c[R12](%%rdx), %%r12\n\t"
			 "movq %c[R13](%%rdx), %%r13\n\t"
			 "movq %c[R14](%%rdx), %%r14\n\t"
			 "movq %c[R15](%%rdx), %%r15\n\t"
			 "xorl %%eax, %%eax\n\t"
			 "jmpq *%[handler]"
			 :
			 : [sp] "r"(sp), [handler] "c"(handler), "D"(signal), "S"(info),
			   "d"(context), AT(RBX), AT(RBP), AT(R12), AT(R13), AT(R14), AT(R15)
			 : "memory");
	__builtin_unreachable();
}

/* The frame is all that is on the stack: the way back, the context, what is known of the signal, and the registers of floating
 * point. From its top on downwards: where there is no room for it, the page below the stack is met first, as the kernel would. */
static uint64_t move(const ucontext_t *context)
{
	uint64_t from = (uint64_t)(uintptr_t)context - WORD;
	uint64_t top = (uint64_t)(uintptr_t)context->uc_stack.ss_sp + context->uc_stack.ss_size;
	uint64_t sp = st_registers_of(context).sp - RED_ZONE, by;
	ucontext_t *moved;

	top &= ~(uint64_t)(WORD - 1);
	by = (sp - top) & ~(uint64_t)(ALIGNMENT - 1);
	for (uint64_t at = top - WORD; at >= from; at -= WORD)
		*(volatile uint64_t *)(at + by) = *(const uint64_t *)at;
	moved = (ucontext_t *)(from + WORD + by);
	if (moved->uc_mcontext.fpregs)
		moved->uc_mcontext.fpregs =
			(fpregset_t)((uint64_t)(uintptr_t)moved->uc_mcontext.fpregs + by);
	return by;
}

void st_onstack_leave(int signal, siginfo_t *info, ucontext_t *context, st_handler then)
{
	uint64_t by;

	if (!is_on(&context->uc_stack, (uint64_t)(uintptr_t)context) ||
	    interrupts_its_stack(context))
		return;
	by = move(context);
	begin_at((uint64_t)(uintptr_t)context - WORD + by, then, signal,
		 (siginfo_t *)((uint64_t)(uintptr_t)info + by),
		 (ucontext_t *)((uint64_t)(uintptr_t)context + by));
}

#else

/* The frames of other processors are not known: the handler begins where it is. */
void st_onstack_leave(int signal, siginfo_t *info, ucontext_t *context, st_handler then)
{
	(void)signal;
	(void)info;
	(void)context;
	(void)then;
}

#endif

/* A fault while the frame is moved: there is no room for it. The kernel ends a thread that has none, and does so when it
 * comes again and is blocked. */
static bool has_no_room(int signal, const ucontext_t *context)
{
	return (signal == SIGSEGV || signal == SIGBUS) && interrupts_its_stack(context);
}

static void begin(int signal, siginfo_t *info, void *opaque)
{
	st_handler handler = atomic_load_explicit(&kept[signal], memory_order_acquire);
	ucontext_t *context = opaque;

	if (st_altstack_is_ours(&context->uc_stack)) {
		st_onstack_leave(signal, info, context, handler);
		if (has_no_room(signal, context)) {
			*st_signal_words(&context->uc_sigmask) |= st_signal_bit(signal);
			return;
		}
	}
	handler(signal, info, opaque);
}

st_handler st_onstack_kept(int signal)
{
	return signal > 0 && signal < SIGNALS
		       ? atomic_load_explicit(&kept[signal], memory_order_relaxed)
		       : NULL;
}

void st_onstack_show(struct sigaction *found, st_handler kept_before)
{
	if (found->sa_sigaction == begin)
		found->sa_sigaction = kept_before;
}

/* A vforked child has handlers of its own, and our memory is its parent's: it sets them as they are. */
static void stand_before(int signal, struct sigaction *action)
{
	if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN ||
	    action->sa_sigaction == begin || (!st_passive() && st_birth_is_borrowed()))
		return;
	/* Before the kernel knows of it. Pairs with the acquire in begin(). */
	atomic_store_explicit(&kept[signal], action->sa_sigaction, memory_order_release);
	action->sa_sigaction = begin;
}

void st_onstack_keep(int signal, struct sigaction *action)
{
	if (atomic_load_explicit(&used, memory_order_acquire))
		stand_before(signal, action);
	else
		atomic_fetch_or_explicit(&early, st_signal_bit(signal), memory_order_relaxed);
}

void st_onstack_begin(void)
{
	uint64_t left;

	if (atomic_load_explicit(&used, memory_order_relaxed) ||
	    atomic_exchange_explicit(&used, true, memory_order_acq_rel))
		return;
	left = atomic_exchange_explicit(&early, 0, memory_order_relaxed);
	for (; left; left &= left - 1) {
		int signal = __builtin_ctzl(left) + 1;
		struct sigaction action;

		if (!st_signal_action(signal, NULL, &action) || !(action.sa_flags & SA_ONSTACK))
			continue;
		stand_before(signal, &action);
		st_signal_action(signal, &action, NULL);
	}
}
