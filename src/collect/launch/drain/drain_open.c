// SPDX-License-Identifier: Apache-2.0
//
// What a ring buffer requires in addition to the records: its old files are deleted, so that every new
// one must say by itself what was open when it was begun, and repeat the definitions that stood in the
// old ones. Ends find their begin as they do in the reader: the innermost of their domain, else the
// innermost.
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "collect/launch/drain/clock.h"
#include "collect/launch/drain/drain_state.h"
#include "format/chunk.h"

enum { OPEN_PER_CHUNK = 64 << 10 };

static void forget_text(struct st_open_slices *open, struct st_drain_slice *slice)
{
	if (slice->text)
		open->text_bytes -= slice->text_bytes;
	free(slice->text);
	slice->text = NULL;
}

void st_open_begin(struct st_drain *drain, struct st_slot_reader *slot,
		   const struct st_drain_slice *slice, const void *text)
{
	struct st_open_slices *open = &slot->open;
	struct st_drain_slice *entry;

	if (!drain->shared->ring_buffer)
		return;
	if (open->too_deep || open->depth >= ST_OPEN_DEPTH_MAX ||
	    !ST_VEC_ROOM(open->entries, open->depth, open->capacity)) {
		open->too_deep++;
		drain->counts.open_unknown++;
		return;
	}
	entry = &open->entries[open->depth++];
	*entry = *slice;
	if (!text || slice->text_bytes > ST_OPEN_TEXT_MAX ||
	    open->text_bytes + slice->text_bytes > ST_OPEN_TEXTS_MAX)
		return;
	entry->text = malloc(slice->text_bytes + 1);
	if (!entry->text)
		return;
	memcpy(entry->text, text, slice->text_bytes);
	open->text_bytes += slice->text_bytes;
}

void st_open_end(struct st_drain *drain, struct st_slot_reader *slot, uint32_t domain,
		 uint32_t left)
{
	struct st_open_slices *open = &slot->open;
	uint32_t at = open->depth;
	bool is_below = left > 0;

	if (!drain->shared->ring_buffer)
		return;
	if (open->too_deep) { /* they are the innermost, whatever their domain */
		open->too_deep--;
		return;
	}
	if (!open->depth)
		return;
	while (at > 0 && (open->entries[at - 1].domain != domain || left)) {
		left -= open->entries[at - 1].domain == domain;
		at--;
	}
	if (!at && is_below) /* its begin was not seen */
		return;
	at = at ? at - 1 : open->depth - 1;
	forget_text(open, &open->entries[at]);
	open->depth--;
	memmove(&open->entries[at], &open->entries[at + 1],
		(open->depth - at) * sizeof(*open->entries));
}

void st_open_clear(struct st_slot_reader *slot)
{
	while (slot->open.depth)
		forget_text(&slot->open, &slot->open.entries[--slot->open.depth]);
	slot->open.too_deep = 0;
}

void st_open_fini(struct st_slot_reader *slot)
{
	st_open_clear(slot);
	free(slot->open.entries);
	memset(&slot->open, 0, sizeof(slot->open));
}

/* The name under which an open slice is known in the new file. */
static uint32_t define_name(struct st_drain *drain, const struct st_drain_slice *slice)
{
	struct st_definition_batch *batch = &drain->passing;
	size_t record;

	if (slice->name < ST_TEXT_ID_FIRST)
		return slice->name;
	if (!slice->text)
		return slice->family;
	record = st_drain_define(drain, batch, ST_DEF_STRING);
	st_buf_append_u32(&batch->records, slice->name);
	st_definition_text(&batch->records, slice->text, slice->text_bytes);
	st_drain_defined(batch, record);
	return slice->name;
}

static void write_open(struct st_drain *drain, uint32_t *count)
{
	const struct st_drain_sink *sink = &drain->shared->sink;
	struct st_chunk_header header = {.type = ST_CHUNK_OPEN,
					 .process = drain->process,
					 .record_count = *count,
					 .first_time = drain->now,
					 .last_time = drain->now};

	st_drain_flush_definitions(drain);
	if (*count && !drain->shared->payload.failed)
		sink->trace(sink->arg, &header, &drain->shared->payload);
	st_buf_clear(&drain->shared->payload);
	*count = 0;
}

static void add_slot(struct st_drain *drain, struct st_slot_reader *slot, uint32_t *count)
{
	for (uint32_t i = 0; i < slot->open.depth; i++) {
		const struct st_drain_slice *slice = &slot->open.entries[i];
		struct st_open_record record = {.track = slot->track,
						.domain = slice->domain,
						.name = define_name(drain, slice),
						.signature = slice->signature,
						.begin = slice->begin};

		st_buf_append(&drain->shared->payload, &record, sizeof(record));
		if (++*count >= OPEN_PER_CHUNK)
			write_open(drain, count);
	}
}

/* A live thread is defined again; losses that were told in an old file are told again. */
static void renew_slot(struct st_drain *drain, struct st_slot_reader *slot)
{
	/* Its text was defined in the file before. */
	slot->text_id = 0;
	slot->dropped_written = slot->unmatched_written = 0;
	slot->events_dropped_written = slot->events_cut_written = 0;
	st_drain_define_thread(drain, slot->track, slot->tid, slot->first_time);
}

static bool lives(const struct st_slot_reader *slot)
{
	return slot->track && !slot->ended;
}

/* A thread that was sampled and has recorded nothing else. */
static void renew_sampled(struct st_drain *drain, const struct st_slot_reader *slot)
{
	const struct st_sample_reader *reader = slot->samples;

	if (reader && reader->track && !(lives(slot) && slot->track == reader->track))
		st_drain_define_thread(drain, reader->track, (uint32_t)reader->owner,
				       reader->first_time);
}

void st_drain_after_file(struct st_drain *drain)
{
	uint32_t count = 0;

	drain->now = st_launch_clock_now(drain->shared->clock);
	st_text_ids_forget(&drain->texts);
	st_drain_forget_nodes(drain);
	drain->file++;
	st_buf_clear(&drain->shared->payload);
	for (uint32_t i = 0; i < drain->segment_count; i++) {
		struct st_shm_segment *segment = &drain->segments[i];

		for (uint32_t j = 0; j < segment->slot_count; j++) {
			renew_sampled(drain, &segment->slots[j]);
			if (!lives(&segment->slots[j]))
				continue;
			renew_slot(drain, &segment->slots[j]);
			add_slot(drain, &segment->slots[j], &count);
		}
	}
	st_drain_renew_devices(drain);
	st_drain_renew_off_cpu(drain);
	for (uint32_t i = 0; i < drain->outside.count; i++)
		renew_sampled(drain, drain->outside.slots[i]);
	st_drain_renew_loss(drain);
	write_open(drain, &count);
}
