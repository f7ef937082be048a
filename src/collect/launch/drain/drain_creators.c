// SPDX-License-Identifier: Apache-2.0
//
// Which thread created which. The kernel tells all of them; only threads that record something are worth a
// definition, so they are remembered here until then.
#include <stdlib.h>

#include "collect/launch/drain/drain_state.h"

enum { FIRST_CAPACITY = 64, CREATORS_MAX = 64 << 10, REAP_FROM = 256 };

static struct st_creator *place_of(const struct st_creators *creators, uint32_t tid)
{
	uint32_t mask = creators->capacity - 1, at = (tid * 2654435761u) & mask;

	while (creators->entries[at].tid && creators->entries[at].tid != tid)
		at = (at + 1) & mask;
	return &creators->entries[at];
}

static bool make_room(struct st_creators *creators)
{
	struct st_creators grown = {.capacity = creators->capacity ? creators->capacity * 2
								   : (uint32_t)FIRST_CAPACITY};

	if (creators->count * 2 < creators->capacity)
		return true;
	/* Threads beyond that have come and gone: begin anew. */
	if (creators->count >= CREATORS_MAX)
		grown.capacity = FIRST_CAPACITY;
	grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
	if (!grown.entries)
		return false;
	for (uint32_t i = 0; grown.capacity > creators->capacity && i < creators->capacity; i++)
		if (creators->entries[i].tid) {
			*place_of(&grown, creators->entries[i].tid) = creators->entries[i];
			grown.count++;
		}
	free(creators->entries);
	*creators = grown;
	return true;
}

static bool records(const struct st_drain *drain, uint32_t tid)
{
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t j = 0; j < drain->segments[i].slot_count; j++) {
			const struct st_slot_reader *slot = &drain->segments[i].slots[j];

			if ((slot->track && !slot->ended && slot->tid == tid) ||
			    (slot->samples && slot->samples->track &&
			     (uint32_t)slot->samples->owner == tid))
				return true;
		}
	return false;
}

void st_drain_thread_created(struct st_drain *drain, uint32_t tid, uint32_t creator, uint64_t ticks)
{
	struct st_creators *creators = &drain->creators;
	struct st_creator *entry;

	if (!tid || !make_room(creators))
		return;
	entry = place_of(creators, tid);
	creators->count += entry->tid == 0;
	*entry = (struct st_creator){.tid = tid, .creator = creator, .time = ticks};
	if (records(drain, tid))
		st_drain_define_creator(drain, tid);
}

void st_drain_define_creator(struct st_drain *drain, uint32_t tid)
{
	struct st_definition_batch *batch = st_drain_passing(drain);
	const struct st_creator *entry;
	size_t record;

	if (!drain->creators.capacity || !tid)
		return;
	entry = place_of(&drain->creators, tid);
	if (!entry->tid)
		return;
	record = st_drain_define(drain, batch, ST_DEF_THREAD_CREATOR);
	st_buf_append_u32(&batch->records, tid);
	st_buf_append_u32(&batch->records, entry->creator);
	st_buf_append_u64(&batch->records, entry->time);
	st_drain_defined(batch, record);
}

/* Those that were found gone before and still are go, unless something of them is still being read. */
static bool is_over(const struct st_drain *drain, struct st_creator *entry, int pid)
{
	bool was_gone = entry->gone;

	entry->gone = st_drain_thread_gone(pid, entry->tid);
	return was_gone && entry->gone && !records(drain, entry->tid);
}

void st_drain_reap_creators(struct st_drain *drain, int pid)
{
	struct st_creators *creators = &drain->creators;
	struct st_creators next = {.capacity = FIRST_CAPACITY};

	if (creators->count < REAP_FROM ||
	    (!creators->gone && creators->count < creators->lived * 2))
		return;
	while (next.capacity < creators->count * 4)
		next.capacity *= 2;
	next.entries = calloc(next.capacity, sizeof(*next.entries));
	if (!next.entries)
		return;
	for (uint32_t i = 0; i < creators->capacity; i++) {
		struct st_creator *entry = &creators->entries[i];

		if (!entry->tid || is_over(drain, entry, pid))
			continue;
		*place_of(&next, entry->tid) = *entry;
		next.count++;
		next.gone += entry->gone;
	}
	next.lived = next.count;
	free(creators->entries);
	*creators = next;
}
