/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits in functions of the C library: the collector's side of the seam (seam.h). Switched on by `waits=` of STRATA_CONFIG, which
 * only analyses set that load the library of waits. What the files of this folder share.
 */
#ifndef ST_COLLECT_INPROC_WAITS_WAITS_H
#define ST_COLLECT_INPROC_WAITS_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/inproc/core/backend.h"
#include "format/event_kind.h"
#include "format/wait_kind.h"

struct st_open_wait;
struct st_thread;
struct st_wait_sum;

#pragma GCC visibility push(hidden)

extern const struct st_inproc_backend st_backend_waits;

/* Ticks. */
struct st_waits_settings {
	uint64_t per_ms;      /* 0: waits are not recorded */
	uint64_t stack;	      /* waits as long as that have one */
	uint64_t least, io;   /* shorter ones are only added up; of descriptors */
	uint64_t long_enough; /* always told one by one: waits, and holds of Python's lock */
	uint64_t sum;	      /* sums are told as often as that */
	uint32_t
		window; /* a shift: windows of that time, or up to twice, the same for all threads */
};
extern struct st_waits_settings st_waits_settings;

/* The calling thread's state, as long as nobody else on the thread may touch it. */
struct st_waits_entered {
	struct st_thread *thread;
	uint64_t limit; /* 0: by the slow path */
};

/* For who writes nothing into the ring; `in_wait`: whether the thread is expected to be in a wait. */
bool st_waits_enter(struct st_waits_entered *in, bool in_wait);
bool st_waits_enter_to_write(struct st_waits_entered *in);
void st_waits_leave(const struct st_waits_entered *in);

/* In between: */
bool st_waits_paused(const struct st_thread *thread);
/* A thread without storage of its own, as that between vfork and exec, writes nothing into another's ring. */
bool st_waits_stranger(const struct st_thread *thread);
/* Waits give way while tasks still have room. */
bool st_waits_room(const struct st_thread *thread, uint64_t records);
bool st_waits_put(struct st_thread *thread, enum st_event_kind kind, uint32_t detail,
		  uint64_t object, uint64_t extra, uint64_t ticks);
/* What was added up, in as many records as its number takes; and what of it has found no room is left in it. */
void st_waits_put_sum(struct st_thread *thread, enum st_event_kind kind, struct st_wait_sum *sum);
uint64_t st_waits_sum_records(const struct st_wait_sum *sum);
/* The wait, over at `end`, as a record; without room added up, false. */
bool st_waits_record(struct st_thread *thread, const struct st_open_wait *wait,
		     enum st_wait_outcome outcome, uint64_t end);
void st_waits_add_up(struct st_thread *thread, const struct st_open_wait *wait,
		     enum st_wait_outcome outcome, uint64_t end);
/* Ticks under which a wait is only added up. */
uint64_t st_waits_least(uint32_t kind);

#pragma GCC visibility pop

#endif
