/* SPDX-License-Identifier: Apache-2.0
 *
 * Unwind tables in the target: what strata publishes (struct st_shm_unwind) as a sorted array that all threads
 * share. Whoever takes a sample brings it up to date, a little at a time; nobody waits.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_MODULES_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/rt/walk.h"

#pragma GCC visibility push(hidden)

struct st_modules_view {
	struct st_unwind_modules modules;
	uint32_t generation; /* never the same for two different sets */
	bool complete;	     /* every published table is mapped */
	uint32_t buffer;
};

/* Not in a handler. False: no memory, then there are no tables. */
bool st_modules_init(void);
/* In the handler. The array stays as it is until it is released. */
void st_modules_acquire(struct st_modules_view *view);
void st_modules_release(const struct st_modules_view *view);
/* Whether the address lies in a published mapping, with or without a table. If not, strata is told. */
bool st_modules_known(const struct st_modules_view *view, uint64_t address);

#pragma GCC visibility pop

#endif
