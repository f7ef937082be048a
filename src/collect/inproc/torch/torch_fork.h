/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock of PyTorch's list of callbacks. Every thread takes it with its first operator after the list has changed. A child
 * that is forked meanwhile would find it locked by a thread that it does not have, and wait for ever.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_FORK_H
#define ST_COLLECT_INPROC_TORCH_TORCH_FORK_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Around calls of the framework that take the lock: finds out which one it is. One caller at a time. */
void st_torch_lock_watch(void);
void st_torch_lock_watched(void);
/* Whether that was found out: only then a child can be helped. */
bool st_torch_lock_known(void);

/* Around changes of the list's length. Waits a while for forks under way, as these wait for us. */
void st_torch_change_begin(void);
void st_torch_change_end(void);

/* Slots of the back-end. */
void st_torch_before_fork(void);
void st_torch_after_fork(void);
void st_torch_forked(void);

#pragma GCC visibility pop

#endif
