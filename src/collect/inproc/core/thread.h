/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread's place in the rings, and everything that is written into them off the fast path.
 * All functions run between st_thread_enter and st_thread_leave unless they say otherwise.
 */
#ifndef ST_COLLECT_INPROC_CORE_THREAD_H
#define ST_COLLECT_INPROC_CORE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/inproc/core/state.h"

#pragma GCC visibility push(hidden)

enum st_loss { ST_LOSS_NONE = 0, ST_LOSS_SLICE = 1, ST_LOSS_EVENT = 2 };

/* Marks the thread busy and gives its state, claiming a slot (and saying hello) if it has none yet.
 * NULL: nothing can be recorded now; `losing` says what is lost by that and must be counted. */
struct st_thread *st_thread_enter(enum st_loss losing);
void st_thread_leave(struct st_thread *thread);

/* Busy marks for work that needs no slot. False: this is a handler that interrupted such work. */
bool st_busy_enter(struct st_hot **saved);
void st_busy_leave(struct st_hot *saved);

/* Writes one extended record when `room_bytes` (see st_ring_room) allow it; time 0 = now. The payload
 * is `count` words. */
bool st_ring_put(struct st_thread *thread, enum st_ring_ext subkind, uint64_t time,
		 const uint64_t *payload, uint32_t count);
bool st_ring_put_text(struct st_thread *thread, const char *text, uint32_t length);
/* A begin or end as one word where it fits, else extended. The caller has made sure of the room. */
void st_ring_put_begin(struct st_thread *thread, uint64_t time, uint32_t domain, uint32_t name,
		       uint64_t flags);
/* Says who calls the next begin, when the ring's table says otherwise; needs 32 bytes of room at most. */
void st_ring_put_caller(struct st_thread *thread, uint32_t name, uint64_t caller);
void st_ring_put_end(struct st_thread *thread, uint64_t time, uint32_t domain);
/* The same, of the one below so many open slices of the domain. */
void st_ring_put_end_below(struct st_thread *thread, uint64_t time, uint32_t domain, uint32_t left);
/* Bytes free for anything but ends of open slices and the slack. */
int64_t st_ring_room(const struct st_thread *thread);

/* Sets hot.limit from the drainer's tail, or so that the next begin comes to the slow path. */
void st_thread_set_limit(struct st_thread *thread);
/* Writes whose ring this is, once, before anything else of this thread. False: no room. */
bool st_thread_identify(struct st_thread *thread);
/* Puts in what has to stand before the next record: identity, losses, slices begun while paused.
 * False: no room, nothing may be written. */
bool st_thread_tell(struct st_thread *thread);
/* The same before a begin, for which the stack of open slices must have room, too. */
bool st_thread_catch_up(struct st_thread *thread);

/* The stack of open slices. */
/* Whether slices are open, and the begins of all of them are in the ring. */
bool st_open_all_written(const struct st_thread *thread);
void st_open_skip(struct st_thread *thread, bool lost);
void st_open_pause(struct st_thread *thread, uint32_t domain, uint32_t name, uint64_t caller);
/* A task with times of its own (ST_EVENT_TIMED_BEGIN): its end is an event, too. False: no place. */
bool st_open_timed(struct st_thread *thread);
/* Whether the current task of the thread is one that was not recorded. */
bool st_open_top_skipped(const struct st_thread *thread);
/* Whether the innermost open slice is a written one (then hot.run > 0); pops others. */
enum st_open_end {
	ST_END_WRITE,
	ST_END_NOTHING,
	ST_END_UNMATCHED,
	ST_END_TIMED
} st_open_end(struct st_thread *thread, bool recording);

/* With a control word of 0: strata may have ended the pause that the process was started in; children forked
 * from now on must not start in it. */
static inline void st_note_running(void)
{
	if (ST_UNLIKELY(atomic_load_explicit(&st_shared.self_paused, memory_order_relaxed) ==
			ST_SELF_PAUSED_AT_START))
		atomic_store_explicit(&st_shared.self_paused, ST_SELF_RUNNING,
				      memory_order_relaxed);
}

/* Outside enter / leave: */
void st_notice(uint32_t notice); /* tells strata, once */
void st_thread_ignore(void);
void st_thread_destructor(void *unused);
void *st_map_wiped(size_t size_bytes);

#pragma GCC visibility pop

#endif
