/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that is not armed yet: a timer stands for its trigger until there is a first sample to take.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_BIRTH_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_BIRTH_H

#include <signal.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* False: this process has to be armed at once. */
bool st_birth_begin(void);
bool st_birth_waits(void);
/* Arms the process if it waits to be. Also in a handler. */
void st_birth_end(void);
/* The caller is a vforked child, in the memory of its parent. */
bool st_birth_is_borrowed(void);
/* The process is never to be armed. */
void st_birth_drop(void);

/* The program is about to change what a signal does, or was told what it does. */
void st_birth_asked(int signal);
void st_birth_hide(int signal, struct sigaction *shown);
/* Of the handler. True: the signal was not the timer's, and has been dealt with. */
bool st_birth_handles(int signal, const siginfo_t *info, void *context);

#pragma GCC visibility pop

#endif
