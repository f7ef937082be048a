/* SPDX-License-Identifier: Apache-2.0
 *
 * Handlers of the program's run on the stack on which they would run without our alternate ones.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_ONSTACK_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_ONSTACK_H

#include <signal.h>
#include <ucontext.h>

#pragma GCC visibility push(hidden)

typedef void (*st_handler)(int signal, siginfo_t *info, void *context);

/* The first stack of ours is about to be used. */
void st_onstack_begin(void);
/* An action with SA_ONSTACK that the program sets: as the kernel is to have it. */
void st_onstack_keep(int signal, struct sigaction *action);
/* The program's own handler of the signal, as last kept; and an action that the kernel has told, as the program has set it
 * while that one was kept. */
st_handler st_onstack_kept(int signal);
void st_onstack_show(struct sigaction *found, st_handler kept_before);
/* In a handler that the kernel has begun on an alternate stack: goes on with `then` on the stack that was interrupted, and does
 * not come back. Comes back at once where that is the very same stack. */
void st_onstack_leave(int signal, siginfo_t *info, ucontext_t *context, st_handler then);

#pragma GCC visibility pop

#endif
