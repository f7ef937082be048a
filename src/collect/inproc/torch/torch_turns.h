/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns in which operators are recorded, and others in which they are not: so that a program pays for few of them
 * ("bursts"), or so that what it pays can be measured ("gaps").
 */
#ifndef ST_COLLECT_INPROC_TORCH_TORCH_TURNS_H
#define ST_COLLECT_INPROC_TORCH_TORCH_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/core/state.h"

#pragma GCC visibility push(hidden)

enum st_torch_turns_kind {
	ST_TURNS_NONE,	 /* every operator */
	ST_TURNS_BURSTS, /* every operator while that costs little, then short turns of them */
	ST_TURNS_GAPS,	 /* every operator but for short turns */
};

struct st_torch_turns {
	uint32_t kind;
	uint64_t ticks_per_ms;
	_Atomic bool is_off;	   /* operators are not recorded in this turn */
	_Atomic uint64_t until;	   /* ticks */
	_Atomic uint64_t progress; /* how often the framework has allocated and freed */
	_Atomic uint64_t steps;	   /* how often an optimizer has stepped */
	_Atomic uint64_t operators;
};
extern struct st_torch_turns st_torch_turns;

enum { ST_TURN_ALLOCATIONS = 16, ST_TURN_OPERATORS = 64 }; /* that a thread counts by itself */

/* "1,3000": the kind, and ticks of the clock in a millisecond. */
void st_torch_turns_configure(const char *text);
/* The framework is entered: the first turn begins. */
void st_torch_turns_begin(void);
/* The program pauses itself, and goes on: that time is nobody's turn. */
void st_torch_turns_pause(void);
void st_torch_turns_resume(void);
/* As many more. */
void st_torch_turn_allocated(uint32_t count);
void st_torch_turn_operated(uint32_t count);
/* A range of the program's begins. */
void st_torch_turn_range(const char *name);
/* A module is called, in no other. */
void st_torch_turn_module(const void *module);

/* The calling thread's, or NULL: it has none yet. */
static inline struct st_thread *st_torch_turn_thread(void)
{
	struct st_hot *hot = st_tls;

	return hot && hot->data ? (struct st_thread *)hot : NULL;
}

static inline void st_torch_turn_allocation(void)
{
	struct st_thread *thread;

	if (ST_LIKELY(!st_torch_turns.kind))
		return;
	thread = st_torch_turn_thread();
	if (!thread) {
		st_torch_turn_allocated(1);
	} else if (++thread->allocations >= ST_TURN_ALLOCATIONS) {
		thread->allocations = 0;
		st_torch_turn_allocated(ST_TURN_ALLOCATIONS);
	}
}

static inline void st_torch_turn_operator(void)
{
	struct st_thread *thread;

	if (ST_LIKELY(!st_torch_turns.kind))
		return;
	thread = st_torch_turn_thread();
	if (thread && ++thread->operators >= ST_TURN_OPERATORS) {
		thread->operators = 0;
		st_torch_turn_operated(ST_TURN_OPERATORS);
	}
}

#pragma GCC visibility pop

#endif
