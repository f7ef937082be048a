/* SPDX-License-Identifier: Apache-2.0
 *
 * Which part of an interrupted thread's stack may be read, and where. In the handler.
 */
#ifndef ST_COLLECT_INPROC_SAMPLER_SAMPLER_STACK_H
#define ST_COLLECT_INPROC_SAMPLER_SAMPLER_STACK_H

#include "collect/inproc/sampler/sampler_state.h"

#pragma GCC visibility push(hidden)

/* Not in a handler. */
void st_stack_init(char *const *argv);

struct st_stack {
	uint64_t low, high; /* addresses */
	const uint8_t *bytes;
	bool copied; /* a copy in the scratch memory: what lies beyond it is not known */
};

/* The stack from sp on. False: none of it can be read. */
bool st_stack_of(struct st_inproc_sampler *sampler, uint64_t sp, struct st_stack *out);

#pragma GCC visibility pop

#endif
