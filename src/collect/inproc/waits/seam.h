/* SPDX-License-Identifier: Apache-2.0
 *
 * What the library of waits (collect/waits) asks of the collector, which owns the rings, the clock and the threads' places.
 * The collector exports these, as its own business: both are of one build. Safe in signal handlers, in forked and vforked
 * children and before any constructor has run; errno stays what it is.
 */
#ifndef ST_COLLECT_INPROC_WAITS_SEAM_H
#define ST_COLLECT_INPROC_WAITS_SEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "format/wait_kind.h"

/* On the stack of whoever waits: its place tells whether the wait has been left behind. */
struct st_open_wait {
	uint64_t begin; /* ticks; 0: not open */
	uint64_t object;
	uint64_t beside;    /* of a condition variable: its mutex */
	const void *caller; /* return address of the function that waits */
	uint32_t kind;	    /* enum st_wait_kind */
};

/* A region of OpenMP, in the hands of whoever began it. Its threads note here where they wait, as far as there are places. They may be
 * gone, or have other work, before it is looked at: only what is in the slots counts. */
struct st_shm_wait;
enum { ST_REGION_THREADS = 256 };
struct st_region_place {
	struct st_shm_wait *wait;
	uint64_t begin;
};
struct st_region {
	uint64_t object; /* its function, or who calls it */
	const void *caller;
	struct st_region_place *places; /* ST_REGION_THREADS; of as many as there are threads */
	uint64_t begin;			/* strata_wait_ticks() */
	_Atomic uint32_t threads;
};

/* Where Python's interpreter lock is; 0: nowhere; ST_GIL_NOT_YET: look again. Its condition variables lie in the 256 bytes from
 * there on. */
extern uint64_t strata_wait_gil;
enum { ST_GIL_NOT_YET = 1, ST_GIL_BYTES = 256 };

/* The wait whose object, caller and kind are set is about to begin. False: it is not recorded, nor is its end to be told. */
bool strata_wait_begin(struct st_open_wait *wait);
void strata_wait_end(struct st_open_wait *wait, enum st_wait_outcome outcome);
/* The calling thread lets others go on that wait for the object; 0: now, before it does so. */
void strata_wait_wake(uint32_t kind, uint64_t object, uint64_t ticks);
uint64_t strata_wait_ticks(void);
/* A condition variable that may be the interpreter lock's is about to be signalled. */
void strata_wait_gil_signal(uint64_t condition, bool is_awaited, const void *caller);
/* Something that can be waited for has been made at an address. */
void strata_wait_made(uint32_t kind, uint64_t object, const void *caller);
/* It has been destroyed: what is waited for at the address from now on is something else. */
void strata_wait_gone(uint32_t kind, uint64_t object);
/* As a call of prctl with these is about to do, by whatever way: see core/sandbox.c. */
void strata_wait_locked_up(int option, unsigned long second);
/* The thread has work to do: it is not idle any more. Then: its part of the region is done, so that it waits, which is noted in its
 * place; it is not yet, that was a barrier within the region; and of the thread that began it: all of them are. */
void strata_region_work(void);
void strata_region_leave(const struct st_region *region, struct st_region_place *place);
void strata_region_stay(struct st_region_place *place, const void *caller);
void strata_region_end(struct st_region *region);
/* One has begun that is not recorded, for want of a place. */
void strata_region_missed(void);
/* For who is told of the begin and of the end of a wait in calls of their own: it has no frame. One within another is part of that
 * one. */
void strata_region_wait(uint32_t kind, uint64_t object);
void strata_region_go_on(uint32_t kind, const void *caller);
/* The OpenMP whose image begins there tells us; ITT need not. */
void strata_region_told_by(const void *image);
/* Another tool listens to OpenMP. */
void strata_region_taken(void);

#endif
