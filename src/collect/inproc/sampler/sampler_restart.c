/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait with a signal mask of their own: sigsuspend, ppoll, pselect, epoll_pwait. When a signal of the program's ends
 * one while the trigger's is under way, the kernel delivers the trigger's first, and behind it the thread has its old mask again:
 * the call would return as interrupted, though the program's signal is still waiting and its handler has not run. Here the
 * call is made again, which delivers that signal at once.
 *
 * The same registers may also mean that the program's handler has run, and that the trigger came in the instant after it. The
 * call is therefore made again only when a signal waits that ends it: one that the call's mask lets in, that the
 * thread's own does not, and that the program handles.
 */
#include "collect/inproc/sampler/sampler_state.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "collect/inproc/sampler/sampler.h"
#include "collect/inproc/sampler/sampler_signal.h"

#if defined(__x86_64__)

enum {
	CALL_BYTES = 2, /* syscall */
	MOVE_BYTES = 5, /* mov $number,%eax, which libc has in front of it */
	LOAD_BYTES =
		4, /* mov offset(%rsp),%edi, which it has in between where threads can be cancelled */
	MOVE_TO_EAX = 0xb8,
};

static bool moves_number(const uint8_t *code, uint32_t *number)
{
	if (*code != MOVE_TO_EAX)
		return false;
	memcpy(number, code + 1, sizeof(*number));
	return true;
}

/* The call that ends at pc; its number is not among the registers any more. Any code may have the same value in its register
 * by chance, and what lies in front of it need not be readable. */
static bool call_before(uint64_t pc, uint32_t *number)
{
	static const uint8_t call[CALL_BYTES] = {0x0f, 0x05}, load[] = {0x8b, 0x7c, 0x24};
	uint8_t code[MOVE_BYTES + LOAD_BYTES + CALL_BYTES];
	const uint8_t *at = code + MOVE_BYTES + LOAD_BYTES;

	if (!st_sampler_read(pc - sizeof(code), code, sizeof(code)) ||
	    memcmp(at, call, CALL_BYTES) != 0)
		return false;
	return moves_number(at - MOVE_BYTES, number) ||
	       (!memcmp(at - LOAD_BYTES, load, sizeof(load)) && moves_number(code, number));
}

/* Its mask; false: it has none. The kernel has read from there, but the program may have jumped here. */
static bool mask_of(uint32_t number, const greg_t *registers, uint64_t *mask)
{
	uint64_t at = 0;

	switch (number) {
	case SYS_rt_sigsuspend:
		at = (uint64_t)registers[REG_RDI];
		break;
	case SYS_ppoll:
		at = (uint64_t)registers[REG_R10];
		break;
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		at = (uint64_t)registers[REG_R8];
		break;
	case SYS_pselect6:
		/* In front of its size. */
		if (!registers[REG_R9] ||
		    !st_sampler_read((uint64_t)registers[REG_R9], &at, sizeof(at)))
			return false;
		break;
	default:
		return false;
	}
	return at && st_sampler_read(at, mask, sizeof(*mask));
}

static bool is_handled(int signal)
{
	struct {
		uintptr_t handler;
		uint64_t flags, restorer, mask;
	} action = {0};

	return !st_syscall(SYS_rt_sigaction, signal, 0, &action, ST_SIGNAL_SET_BYTES) &&
	       action.handler != (uintptr_t)SIG_DFL && action.handler != (uintptr_t)SIG_IGN;
}

void st_sampler_restart(int trigger, void *context)
{
	ucontext_t *at = context;
	greg_t *registers = at->uc_mcontext.gregs;
	uint64_t waiting = 0, mask;
	uint32_t number;

	if (registers[REG_RAX] != -EINTR || st_passive() ||
	    !call_before((uint64_t)registers[REG_RIP], &number))
		return;
	if (!mask_of(number, registers, &mask) ||
	    st_syscall(SYS_rt_sigpending, &waiting, ST_SIGNAL_SET_BYTES))
		return;
	waiting &= ~mask & *st_signal_words(&at->uc_sigmask) & ~st_signal_bit(trigger);
	for (; waiting; waiting &= waiting - 1) {
		if (!is_handled(__builtin_ctzll(waiting) + 1))
			continue;
		registers[REG_RAX] = number;
		registers[REG_RIP] -= CALL_BYTES;
		return;
	}
}

#else

void st_sampler_restart(int trigger, void *context)
{
	(void)trigger;
	(void)context;
}

#endif
