/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that stand between the program and its signals share.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_SIGNAL_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

#include "base/rt/syscall.h"

#define ST_EXPORT __attribute__((visibility("default")))

#pragma GCC visibility push(hidden)

enum { ST_SIGNAL_SET_BYTES = 8 }; /* of the kernel's sets */

/* The signal that we share with the program; 0: none. */
int st_signal_shared(void);
/* Whether the program has said what is to be done at it (a handler, or ignoring it). */
bool st_signal_has_program(void);
/* The kernel's word, past the program's: sets what a signal does, says what it did. */
bool st_signal_action(int signal, const struct sigaction *action, struct sigaction *old);
/* Our handler; calls are interrupted by it, or not, as `wanted` has it. */
bool st_signal_install(int signal, const struct sigaction *wanted);
/* sampler_mask.c: the program believes that it has blocked the signal in this thread. */
bool st_signal_is_hidden(void);
/* A mask that came with the exec: what is blocked in it is hidden, too. */
void st_mask_adopt(int signal);
/* That is done in a handler, which has a mask of its own; NULL: not any more. */
void st_mask_interrupted(unsigned long *mask);
void st_mask_init(void);
/* sampler_altstack.c: a stack for the handler in this thread, unless it has one; and its end with the thread. */
void st_altstack_give(void);
void st_altstack_begin(void); /* of a new thread, which has none */
void st_altstack_end(void);
bool st_altstack_is_ours(const stack_t *stack);

static inline unsigned long st_signal_bit(int signal)
{
	return 1ul << (signal - 1);
}

static inline unsigned long *st_signal_words(const sigset_t *set)
{
	return (unsigned long *)(void *)set;
}

static inline unsigned long st_signal_block(unsigned long bits)
{
	unsigned long before = 0;

	st_syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bits, &before, ST_SIGNAL_SET_BYTES);
	return before;
}

static inline void st_signal_set_mask(unsigned long bits)
{
	st_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &bits, 0, ST_SIGNAL_SET_BYTES);
}

#pragma GCC visibility pop

#endif
