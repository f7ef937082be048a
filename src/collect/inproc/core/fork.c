/* SPDX-License-Identifier: Apache-2.0
 *
 * Forks by libc's fork, which programs with threads use: back-ends are told before and after it, on the thread that forks. Those
 * by _Fork, vfork, posix_spawn or the system call come without a word; what has to hold in their children is in memory that a
 * fork wipes.
 */
#include <pthread.h>

#include "collect/inproc/core/backend.h"
#include "collect/inproc/core/state.h"

static void before(void)
{
	ST_BACKENDS_CALL(before_fork);
}

static void after(void)
{
	ST_BACKENDS_CALL(after_fork);
}

static void in_child(void)
{
	ST_BACKENDS_CALL(forked);
}

void st_fork_init(void)
{
	static bool done; /* a process may join more than one strata */

	if (!done)
		done = !pthread_atfork(before, after, in_child);
}
