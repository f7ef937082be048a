/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits in functions of the C library: what their objects are called, and who let a thread go on. Used by index_sync.c.
 */
#ifndef ST_STORE_INDEX_INDEX_WAITS_H
#define ST_STORE_INDEX_INDEX_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/wait_kind.h"
#include "store/events.h"

struct st_span_builder;
struct st_text_table;

struct st_wake {
	uint32_t object, track;
	int64_t ns;
};

struct st_wakes {
	struct st_wake *items;
	uint32_t count, capacity;
};

/* A reader/writer lock is one object, however it is waited for. */
uint32_t st_wait_object_kind(uint32_t kind);
/* Type, and a name where there is a better one than an address. False: no memory. */
bool st_wait_name_object(struct st_sync_object *object, uint32_t kind, struct st_text_table *texts);
bool st_wakes_add(struct st_wakes *wakes, uint32_t object, const struct st_event_row *row);
/* Gives each wait the thread that ended it: the last one to wake anybody at its object before it was over, or the thread that was
 * joined. Without one it is the thread's own. False: no memory. */
bool st_wakes_match(struct st_wakes *wakes, struct st_span_builder *spans,
		    const struct st_sync_object *objects);

#endif
