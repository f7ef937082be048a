// SPDX-License-Identifier: Apache-2.0
//
// Which thread created which. The kernel reports all of them; only threads that record something get a
// definition, so they are remembered here until then.
#include <stdlib.h>

#include "base/vec.h"
#include "collect/launch/drain/drain_state.h"

enum { CREATORS_MAX = 64 << 10, REAP_FROM = 256 };

void st_creators_fini(struct st_creators *creators)
{
	free(creators->entries);
	st_id_map_fini(&creators->entry_of);
}

/* NULL: no memory. */
static struct st_creator *entry_for(struct st_creators *creators, uint32_t tid)
{
	uint32_t at = st_id_map_get(&creators->entry_of, tid);

	if (at != ST_ID_NONE)
		return &creators->entries[at];
	/* Threads beyond that have come and gone: begin anew. */
	if (creators->count >= CREATORS_MAX) {
		st_id_map_clear(&creators->entry_of);
		creators->count = 0;
	}
	if (!ST_VEC_ROOM(creators->entries, creators->count, creators->capacity) ||
	    !st_id_map_put(&creators->entry_of, tid, creators->count))
		return NULL;
	return &creators->entries[creators->count++];
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
	struct st_creator *entry = tid ? entry_for(&drain->creators, tid) : NULL;

	if (!entry)
		return;
	*entry = (struct st_creator){.tid = tid, .creator = creator, .time = ticks};
	if (records(drain, tid))
		st_drain_define_creator(drain, tid);
}

void st_drain_define_creator(struct st_drain *drain, uint32_t tid)
{
	struct st_definition_batch *batch = st_drain_passing(drain);
	uint32_t at = st_id_map_get(&drain->creators.entry_of, tid);
	const struct st_creator *entry;
	size_t record;

	if (at == ST_ID_NONE)
		return;
	entry = &drain->creators.entries[at];
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
	uint32_t count = creators->count;

	if (count < REAP_FROM || (!creators->gone && count < creators->lived * 2))
		return;
	st_id_map_clear(&creators->entry_of);
	creators->count = creators->gone = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct st_creator *entry = &creators->entries[i];

		if (is_over(drain, entry, pid))
			continue;
		creators->gone += entry->gone;
		(void)st_id_map_put(&creators->entry_of, entry->tid, creators->count);
		creators->entries[creators->count++] = *entry;
	}
	creators->lived = creators->count;
}
