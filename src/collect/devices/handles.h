/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers by handles of a maker's objects (queues, kernels, lists): read without a lock in every call. An object that
 * is destroyed stays until another of the same address takes its place.
 */
#ifndef ST_COLLECT_DEVICES_HANDLES_H
#define ST_COLLECT_DEVICES_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { ST_HANDLES_MAX = 8192 }; /* a power of two */

struct st_handle {
	_Atomic(void *) handle;
	_Atomic uint32_t value;
};

struct st_handles {
	struct st_handle entries[ST_HANDLES_MAX];
};

/* 0: it is not there. */
uint32_t st_handles_get(const struct st_handles *handles, const void *handle);
/* False: there is no room near its place. */
bool st_handles_set(struct st_handles *handles, void *handle, uint32_t value);
/* By one who is alone with it. */
void st_handles_clear(struct st_handles *handles);

#pragma GCC visibility pop

#endif
