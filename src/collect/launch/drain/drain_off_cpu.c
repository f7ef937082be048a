// SPDX-License-Identifier: Apache-2.0
//
// When threads were on no CPU (format/off_cpu.h): told from outside, also of threads that record nothing themselves.
#include "collect/launch/drain/drain_state.h"

#include <stdlib.h>

#include "base/vec.h"
#include "format/chunk.h"
#include "format/off_cpu.h"
#include "format/wait_kind.h"

static const uint64_t age_max_ns = (uint64_t)ST_CHUNK_AGE_MAX_MS * 1000000u;

struct st_off_track {
	uint32_t tid, track; /* tid 0: its thread has ended, the place is free */
	bool is_own;	     /* of a thread that has recorded nothing else: defined here */
	uint64_t first_time;
	uint64_t oldest_ns; /* when the first record came into the encoder */
	struct st_sample_encoder encoder;
	struct st_slice_encoder events; /* waits that were seen */
};

void st_off_tracks_fini(struct st_off_tracks *tracks)
{
	for (uint32_t i = 0; i < tracks->count; i++) {
		st_sample_encoder_fini(&tracks->entries[i]->encoder);
		st_slice_encoder_fini(&tracks->entries[i]->events);
		free(tracks->entries[i]);
	}
	free(tracks->entries);
	st_id_map_fini(&tracks->entry_of);
}

/* Threads come and go: the place of one that has ended is taken by the next. */
static struct st_off_track *place_for(struct st_off_tracks *tracks, uint32_t tid)
{
	struct st_off_track *entry = NULL;
	uint32_t at = 0;

	while (tracks->free_count && at < tracks->count && tracks->entries[at]->tid)
		at++;
	if (!tracks->free_count || at == tracks->count) {
		at = tracks->count;
		entry = calloc(1, sizeof(*entry));
		if (!entry ||
		    !ST_VEC_PUSH(tracks->entries, tracks->count, tracks->capacity, entry)) {
			free(entry);
			return NULL;
		}
		st_sample_encoder_init(&entry->encoder);
		st_slice_encoder_init(&entry->events);
	} else {
		tracks->free_count--;
		entry = tracks->entries[at];
	}
	if (!st_id_map_put(&tracks->entry_of, tid, at)) {
		tracks->free_count++;
		return NULL;
	}
	entry->tid = tid;
	return entry;
}

static struct st_off_track *find(const struct st_drain *drain, uint32_t tid)
{
	const struct st_off_tracks *tracks = &drain->off_cpu;
	uint32_t at = st_id_map_get(&tracks->entry_of, tid);

	return at != ST_ID_NONE && tracks->entries[at]->tid == tid ? tracks->entries[at] : NULL;
}

uint32_t st_drain_off_track(const struct st_drain *drain, uint32_t tid)
{
	const struct st_off_track *entry = find(drain, tid);

	return entry ? entry->track : 0;
}

uint32_t st_drain_off_thread(struct st_drain *drain, uint32_t tid)
{
	struct st_off_track *entry = find(drain, tid);

	if (!entry)
		return 0;
	entry->is_own = false; /* its slot is defined again where that is needed */
	return entry->track;
}

void st_drain_renew_off_cpu(struct st_drain *drain)
{
	for (uint32_t i = 0; i < drain->off_cpu.count; i++) {
		const struct st_off_track *entry = drain->off_cpu.entries[i];

		if (entry->tid && entry->is_own)
			st_drain_define_thread(drain, entry->track, entry->tid, entry->first_time);
	}
}

/* Of a thread that was born then and has told something before the kernel's word of its birth was read; 0: it has not. Whoever
 * had its number before has told something before that. */
static uint32_t newborn_track(const struct st_drain *drain, const struct st_drain_off *off)
{
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t j = 0; j < drain->segments[i].slot_count; j++) {
			const struct st_slot_reader *slot = &drain->segments[i].slots[j];

			if (slot->track && slot->tid == off->tid && slot->first_time >= off->begin)
				return slot->track;
		}
	return 0;
}

/* A number may have been another thread's: a birth is the begin of a new one. Who reads the kernel's counts comes later. */
static struct st_off_track *track_of(struct st_drain *drain, const struct st_drain_off *off)
{
	struct st_off_track *entry = find(drain, off->tid);
	uint32_t known;

	if (entry)
		return entry;
	known = !(off->flags & ST_OFF_BORN) || off->flags & ST_OFF_RAN
			? st_drain_thread_track(drain, off->tid)
			: newborn_track(drain, off);
	if (!known && drain->counts.tracks >= ST_TRACKS_MAX)
		return NULL;
	entry = place_for(&drain->off_cpu, off->tid);
	if (!entry)
		return NULL;
	entry->is_own = !known;
	entry->track = known ? known : ++drain->counts.tracks;
	entry->first_time = off->begin;
	if (entry->is_own)
		st_drain_define_thread(drain, entry->track, off->tid, off->begin);
	return entry;
}

static void flush_events(struct st_drain *drain, struct st_off_track *entry)
{
	const struct st_drain_sink *sink = &drain->shared->sink;
	struct st_chunk_header header = {
		.type = ST_CHUNK_SLICES, .process = drain->process, .track = entry->track};
	struct st_buf *payload = &drain->shared->payload;

	if (!entry->events.record_count)
		return;
	st_buf_clear(payload);
	if (st_slice_encoder_finish(&entry->events, &header, payload))
		sink->trace(sink->arg, &header, payload);
	else
		st_drain_refuse(drain, "a chunk of waits: no memory");
	st_slice_encoder_clear(&entry->events);
}

static void flush(struct st_drain *drain, struct st_off_track *entry)
{
	const struct st_drain_sink *sink = &drain->shared->sink;
	struct st_chunk_header header = {
		.type = ST_CHUNK_OFF_CPU, .process = drain->process, .track = entry->track};
	struct st_buf *payload = &drain->shared->payload;

	entry->oldest_ns = 0;
	st_drain_flush_definitions(drain);
	flush_events(drain, entry);
	if (!entry->encoder.record_count)
		return;
	st_buf_clear(payload);
	if (st_sample_encoder_finish(&entry->encoder, &header, payload))
		sink->trace(sink->arg, &header, payload);
	else
		st_drain_refuse(drain, "a chunk of context switches: no memory");
	st_sample_encoder_clear(&entry->encoder);
}

void st_drain_flush_off_cpu(struct st_drain *drain, bool all)
{
	for (uint32_t i = 0; i < drain->off_cpu.count; i++) {
		struct st_off_track *entry = drain->off_cpu.entries[i];

		if (entry->oldest_ns && (all || drain->now_ns - entry->oldest_ns >= age_max_ns))
			flush(drain, entry);
	}
}

void st_drain_take_off(struct st_drain *drain, const struct st_drain_off *off)
{
	struct st_sample_record record = {.time = off->begin,
					  .weight_ns = off->off_ns,
					  .node = off->count,
					  .flags = off->flags};
	struct st_off_track *entry = track_of(drain, off);

	if (!entry) {
		st_drain_refuse(drain, "context switches of a thread: no room");
		return;
	}
	if (record.time < drain->shared->start_ticks)
		record.time = drain->shared->start_ticks;
	st_sample_encoder_add(&entry->encoder, &record);
	if (!entry->oldest_ns)
		entry->oldest_ns = drain->now_ns ? drain->now_ns : 1;
	if (st_sample_encoder_is_full(&entry->encoder) || off->flags & ST_OFF_ENDED)
		flush(drain, entry);
	if (off->flags & ST_OFF_ENDED) {
		st_drain_end_outside(drain, off->tid);
		entry->tid = 0;
		drain->off_cpu.free_count++;
	}
}

void st_drain_take_seen(struct st_drain *drain, const struct st_drain_seen *seen)
{
	struct st_event event = {.kind = ST_EVENT_WAIT,
				 .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA,
				 .detail = seen->kind | ST_WAIT_SEEN << ST_WAIT_SHIFT,
				 .value = seen->object,
				 .extra = seen->end - seen->begin};
	struct st_off_track *entry = find(drain, seen->tid);

	if (!entry || seen->end <= seen->begin)
		return;
	drain->counts.events++;
	st_slice_encoder_event(&entry->events, seen->end, &event);
	if (!entry->oldest_ns)
		entry->oldest_ns = drain->now_ns ? drain->now_ns : 1;
	if (st_slice_encoder_is_full(&entry->events))
		flush(drain, entry);
}

uint64_t st_drain_open_wait(const struct st_drain *drain, uint32_t tid)
{
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t j = 0; j < drain->segments[i].slot_count; j++) {
			/* What it has told may not have been read yet. */
			struct st_shm_slot *slot = st_shm_segment_slot(&drain->segments[i], j);

			if (atomic_load_explicit(&slot->tid, memory_order_acquire) == tid)
				return atomic_load_explicit(&slot->wait.begin,
							    memory_order_acquire);
		}
	return 0;
}
