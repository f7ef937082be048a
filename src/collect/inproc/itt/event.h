/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes one ST_EXT_EVENT (format/event_kind.h) into the calling thread's ring. A record is filled with
 * the program's own objects; ids are found and names defined only when it is really going to be written.
 */
#ifndef ST_COLLECT_INPROC_ITT_EVENT_H
#define ST_COLLECT_INPROC_ITT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/inproc/core/itt_abi.h"
#include "collect/inproc/core/state.h"
#include "format/event_kind.h"

#pragma GCC visibility push(hidden)

struct st_itt_object;

struct st_record {
	uint32_t kind; /* enum st_event_kind */
	uint32_t mask; /* enum st_event_field: what of the following is meant */
	uint32_t detail;
	bool cut;	  /* the caller has left out a part of the data */
	uint32_t name_id; /* instead of name, when not 0 */
	const struct itt_domain *domain;
	struct itt_string_handle *name;
	struct st_itt_object *object, *clock;
	struct itt_id id, other;
	uint64_t value, extra, time;
	uint64_t ticks;		     /* when the record is written; 0: now */
	const struct st_part *parts; /* the data */
	uint32_t part_count;
};

/* The most data one event can carry; a multiple of 8. */
uint32_t st_event_data_max(void);

/* Anywhere; does everything. */
void st_event(const struct st_record *record);
/* Between st_thread_enter and st_thread_leave; the caller ends with st_thread_set_limit. False: it was
 * not written, because of a pause (not counted) or for want of room (counted). */
bool st_event_put(struct st_thread *thread, const struct st_record *record);

static inline bool st_id_given(struct itt_id id)
{
	return id.d1 | id.d2 | id.d3;
}

static inline void st_record_id(struct st_record *record, struct itt_id id)
{
	record->id = id;
	if (st_id_given(id))
		record->mask |= ST_FIELD_ID;
}

static inline void st_record_other(struct st_record *record, struct itt_id other)
{
	record->other = other;
	if (st_id_given(other))
		record->mask |= ST_FIELD_OTHER;
}

/* The time a program gives together with a clock domain; NULL is our own clock. */
void st_record_time(struct st_record *record, void *clock_domain, unsigned long long time);

/* Whether this thread came in by the very call that loaded us, or may have waited for it: bind.c. */
bool st_loaded_by_this_call(void);

#pragma GCC visibility pop

#endif
