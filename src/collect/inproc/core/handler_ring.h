/* SPDX-License-Identifier: Apache-2.0
 *
 * The second ring of a thread's slot, for what a signal handler writes: a handler interrupts the thread's own writing, so
 * the two are different producers. Used by one handler at a time.
 */
#ifndef ST_COLLECT_INPROC_CORE_HANDLER_RING_H
#define ST_COLLECT_INPROC_CORE_HANDLER_RING_H

#include "collect/inproc/core/state.h"

#pragma GCC visibility push(hidden)

struct st_handler_ring {
	struct st_hot hot; /* data NULL: in a forked child, or not in use */
	struct st_shm_ring *shared;
	uint32_t tid, generation;
	bool identified;
	uint64_t time; /* of what is being written */
};

enum {
	ST_HANDLER_END_BYTES = 64, /* kept free for the record of the thread's end */
	ST_HANDLER_BEFORE_WORDS =
		10, /* at most, before a record: time and thread, a loss, a time */
};

bool st_handler_has_room(const struct st_handler_ring *ring, uint64_t words, uint64_t kept_bytes);
/* Writes whose ring this is, once, before anything else of this thread. False: no room. */
bool st_handler_identify(struct st_handler_ring *ring);
/* Appends one extended record with the ring's time. The payload is made of pieces, each filled up with zeros to whole
 * words. False: no room; nothing was written, and nothing is counted. */
bool st_handler_put(struct st_handler_ring *ring, enum st_ring_ext subkind,
		    const struct st_part *parts, uint32_t part_count);

#pragma GCC visibility pop

#endif
