/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether PyTorch calls us. Only being called makes each operator slower, whatever we do then, so that it must not call
 * while nothing is recorded.
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_ENLIST_H
#define ST_COLLECT_INPROC_TORCH_TORCH_ENLIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/core/state.h"
#include "collect/inproc/torch/torch_turns.h"

#pragma GCC visibility push(hidden)

enum st_torch_calls {
	ST_TORCH_UNLISTED, /* it does not know us, or cannot be told to stop */
	ST_TORCH_CALLS,
	ST_TORCH_SILENT, /* it calls us for the ranges that the program names, no more */
};
extern _Atomic uint32_t st_torch_calls;

/* Registers with the framework, or takes that back: what has begun still ends with us, on whatever thread. One caller at a
 * time. */
void st_torch_enlist(void);
void st_torch_strike(void);
/* What the framework was told of st_torch_config.operators; 0: nothing. */
uint8_t st_torch_enlisted(void);

/* Whether it can be told to stop calling, once it knows us. */
bool st_torch_can_switch(void);
/* Has the framework call us while operators are recorded, and only then. Takes a lock of the framework's: not in a
 * handler. */
void st_torch_follow(void);
/* Of an operator that begins while nothing is recorded: true, and the next ones are not told. */
bool st_torch_called_in_vain(void);

static inline bool st_torch_paused(void)
{
	const struct st_shm_header *header = st_process ? st_header() : NULL;

	return header && atomic_load_explicit(&header->control, memory_order_relaxed);
}

static inline bool st_torch_may_record(void)
{
	return !atomic_load_explicit(&st_torch_turns.is_off, memory_order_relaxed) &&
	       !st_torch_paused();
}

/* The framework allocates or frees: somebody may have ended the pause. A load and a branch while nothing has changed. */
static inline void st_torch_come_by(void)
{
	if (ST_UNLIKELY(atomic_load_explicit(&st_torch_calls, memory_order_relaxed) ==
			ST_TORCH_SILENT) &&
	    st_torch_may_record())
		st_torch_follow();
	st_torch_turn_allocation();
}

#pragma GCC visibility pop

#endif
