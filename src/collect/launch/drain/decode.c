// SPDX-License-Identifier: Apache-2.0
//
// Turns ring words into slice records and definitions. Input is a private copy, so nothing changes
// under our hands; but it may be garbage, so every field is tested before it is used. At the first
// impossible word the rest of the copy is left out: where the next record begins is then unknown.
#include "collect/launch/drain/drain_state.h"

#include <inttypes.h>
#include <string.h>

#include "format/chunk.h"
#include "format/event_kind.h"
#include "format/ring_record.h"

static const uint32_t name_id_max = ST_TEXT_ID_FIRST - 1;
/* An object has two texts. */
static const uint64_t definition_max_bytes = 2 * ST_SHM_TEXT_MAX + sizeof(struct st_object_head);

uint64_t st_drain_bounded_time(struct st_drain *drain, uint64_t previous, uint64_t time)
{
	if (time > drain->now + ST_TIME_SLACK_TICKS) {
		st_drain_refuse(drain, "a time %" PRIu64 " ticks ahead of now", time - drain->now);
		time = drain->now;
	}
	return time < previous ? previous : time;
}

uint32_t st_drain_track_of(struct st_drain *drain, struct st_slot_reader *slot, uint64_t owner,
			   uint64_t first_time)
{
	struct st_owner *known = &slot->owners[(owner >> 32) % ST_OWNERS_KEPT];

	if (owner && known->key == owner)
		return known->track;
	/* In a ring buffer they pass: only their numbers may run out. */
	if (drain->counts.tracks >= (drain->shared->ring_buffer ? UINT32_MAX : ST_TRACKS_MAX)) {
		st_drain_refuse(drain, "too many threads");
		return 0;
	}
	*known = (struct st_owner){.key = owner,
				   .track = st_drain_device_thread(drain, (uint32_t)owner)};
	if (!known->track)
		known->track = st_drain_off_thread(drain, (uint32_t)owner);
	if (known->track)
		return known->track;
	known->track = ++drain->counts.tracks;
	st_drain_define_thread(drain, known->track, (uint32_t)owner, first_time);
	return known->track;
}

static void begin_track(struct st_drain *drain, struct st_shm_segment *segment, uint32_t slot_index,
			uint64_t owner)
{
	struct st_slot_reader *slot = &segment->slots[slot_index];
	uint32_t track;

	if (slot->track) {
		st_drain_flush_slot(drain, slot);
		st_drain_settle_loss(drain, segment, slot_index);
	}
	track = st_drain_track_of(drain, slot, owner, slot->time);
	if (!track)
		return;
	slot->track = track;
	slot->tid = (uint32_t)owner;
	slot->first_time = slot->time;
	slot->ended = false;
	st_open_clear(slot);
	slot->text_id = 0;
	slot->gone_ticks = 0;
	st_drain_forget_callers(slot);
	st_drain_forget_operator_stack(slot);
	slot->dropped_before += slot->dropped_told;
	slot->unmatched_before += slot->unmatched_told;
	slot->dropped_told = slot->unmatched_told = 0;
	slot->dropped_written = slot->unmatched_written = 0;
}

static void mark(struct st_slot_reader *slot, enum st_slice_mark kind, uint64_t value)
{
	st_slice_encoder_mark(&slot->encoder, slot->time, kind, value);
}

static void take_text(struct st_drain *drain, struct st_slot_reader *slot, const uint64_t *payload,
		      uint32_t payload_words)
{
	uint64_t size = payload_words ? payload[0] : UINT64_MAX;
	struct st_definition_batch *batch = st_drain_passing(drain);
	bool fresh;
	size_t record;

	slot->text_id = 0;
	if (size > ST_SHM_TEXT_MAX || size > (uint64_t)(payload_words - 1) * 8) {
		st_drain_refuse(drain, "a text of %" PRIu64 " bytes in %" PRIu32 " words", size,
				payload_words);
		return;
	}
	slot->text_id = st_text_ids_get(&drain->texts, payload + 1, size, &fresh);
	slot->text = payload + 1;
	slot->text_bytes = (uint32_t)size;
	if (!fresh)
		return;
	record = st_drain_define(drain, batch, ST_DEF_STRING);
	st_buf_append_u32(&batch->records, slot->text_id);
	st_definition_text(&batch->records, payload + 1, size);
	st_drain_defined(batch, record);
}

static void take_begin(struct st_drain *drain, struct st_slot_reader *slot, const uint64_t *payload)
{
	uint32_t domain = (uint32_t)payload[0], name = (uint32_t)(payload[0] >> 32);
	struct st_drain_slice open = {.domain = domain, .family = name, .begin = slot->time};
	uint64_t flags = payload[1];
	const void *text = NULL;

	if (domain > ST_SHM_DOMAINS_MAX || name > name_id_max ||
	    (flags & ~(uint64_t)(ST_BEGIN_TEXT | ST_BEGIN_CLIPPED))) {
		st_drain_refuse(drain, "a task of domain %" PRIu32 ", name %" PRIu32, domain, name);
		return;
	}
	if ((flags & ST_BEGIN_TEXT) && slot->text_id) {
		name = slot->text_id;
		text = slot->text;
		open.text_bytes = slot->text_bytes;
	}
	open.name = name;
	slot->text_id = 0;
	slot->text = NULL;
	st_open_begin(drain, slot, &open, text);
	st_drain_take_begin_caller(slot, open.family, name);
	st_slice_encoder_begin(&slot->encoder, slot->time, domain, name,
			       (uint32_t)flags & ST_BEGIN_CLIPPED);
	drain->counts.begins++;
}

static void take_end(struct st_drain *drain, struct st_slot_reader *slot, uint64_t payload,
		     bool matched)
{
	uint32_t domain = (uint32_t)payload, left = (uint32_t)(payload >> 32);

	if (domain > ST_SHM_DOMAINS_MAX) {
		st_drain_refuse(drain, "an end in domain %" PRIu32, domain);
	} else if (matched) {
		if (left)
			mark(slot, ST_MARK_LEAVES_OPEN, left);
		st_slice_encoder_end(&slot->encoder, slot->time, domain);
		st_open_end(drain, slot, domain, left);
	} else {
		mark(slot, ST_MARK_UNMATCHED_END, domain);
	}
}

/* Payload words each extended record must at least have. */
static uint32_t payload_needed(unsigned int subkind)
{
	switch (subkind) {
	case ST_EXT_TIME:
	case ST_EXT_THREAD:
	case ST_EXT_END:
	case ST_EXT_UNMATCHED_END:
	case ST_EXT_TEXT:
	case ST_EXT_LOST:
	case ST_EXT_EVENT:
	case ST_EXT_CALLER:
	case ST_EXT_OPERATOR:
	case ST_EXT_STACK:
		return 1;
	case ST_EXT_BEGIN:
	case ST_EXT_PYTHON_CALLS:
	case ST_EXT_MEMORY:
		return 2;
	case ST_EXT_PYTHON_RUNTIME:
		return 5;
	case ST_EXT_DEVICE:
		return ST_DEVICE_WORDS_SHORT;
	default:
		return 0;
	}
}

/* A record that becomes a mark of its track; false when it is none of these. */
static bool take_mark(struct st_drain *drain, struct st_slot_reader *slot, unsigned int subkind)
{
	switch (subkind) {
	case ST_EXT_THREAD_END:
		mark(slot, ST_MARK_TRACK_END, 1);
		slot->ended = true;
		return true;
	case ST_EXT_PAUSE:
		mark(slot, ST_MARK_PAUSE, 0);
		return true;
	case ST_EXT_RESUME:
		mark(slot, ST_MARK_RESUME, 0);
		if (!drain->counts.resumes++)
			drain->counts.first_resume_time = slot->time;
		return true;
	case ST_EXT_DETACH:
		mark(slot, ST_MARK_DETACH, 0);
		return true;
	case ST_EXT_CALLS_STOP:
		st_slice_encoder_mark(&slot->calls, slot->time, ST_MARK_CALLS_STOP, 0);
		return true;
	default:
		return false;
	}
}

/* One extended record; false when it cannot be one. */
static bool take_extended(struct st_drain *drain, struct st_shm_segment *segment,
			  uint32_t slot_index, const uint64_t *words, uint32_t word_count)
{
	struct st_slot_reader *slot = &segment->slots[slot_index];
	unsigned int subkind = (unsigned int)(words[0] >> 4) & 0xff;
	const uint64_t *payload = words + 1;

	if (word_count - 1 < payload_needed(subkind))
		return false;
	switch (subkind) {
	case ST_EXT_TIME:
		slot->time = st_drain_bounded_time(drain, slot->time, payload[0]);
		return true;
	case ST_EXT_THREAD:
		begin_track(drain, segment, slot_index, payload[0]);
		return true;
	case ST_EXT_BEGIN:
		take_begin(drain, slot, payload);
		return true;
	case ST_EXT_END:
	case ST_EXT_UNMATCHED_END:
		slot->unmatched_told += subkind == ST_EXT_UNMATCHED_END;
		take_end(drain, slot, payload[0], subkind == ST_EXT_END);
		return true;
	case ST_EXT_TEXT:
		take_text(drain, slot, payload, word_count - 1);
		return true;
	case ST_EXT_LOST:
		slot->dropped_told += payload[0];
		mark(slot, ST_MARK_LOST, payload[0]);
		return true;
	case ST_EXT_EVENT:
		st_drain_take_event(drain, slot, payload, word_count - 1);
		return true;
	case ST_EXT_CALLER:
		slot->next_caller = payload[0];
		slot->has_caller = true;
		st_code_maps_want(&drain->maps, payload[0]);
		return true;
	case ST_EXT_OPERATOR:
		st_drain_take_operator(drain, slot, payload, word_count - 1);
		return true;
	case ST_EXT_MEMORY:
		st_drain_take_memory(drain, slot, payload, word_count - 1);
		return true;
	case ST_EXT_STACK:
		st_drain_take_stack(drain, slot, payload, word_count - 1);
		return true;
	case ST_EXT_PYTHON_CODE:
		return st_drain_take_code(drain, payload, word_count - 1);
	case ST_EXT_PYTHON_RUNTIME:
		st_drain_take_runtime(drain, payload);
		return true;
	case ST_EXT_DEVICE:
		return st_drain_take_device(drain, payload, word_count - 1);
	case ST_EXT_PYTHON_CALLS:
		st_drain_take_python_calls(drain, slot, payload, word_count - 1);
		return true;
	default:
		return take_mark(drain, slot, subkind);
	}
}

/* Words of the record at words[0], or 0 when it does not fit what was copied. */
static uint32_t record_words(const uint64_t *words, size_t left)
{
	uint32_t count;

	if ((words[0] & 15) != ST_WORD_EXTENDED)
		return 1;
	count = (uint32_t)(words[0] >> 12) & 0xffff;
	return count && count <= left ? count : 0;
}

static bool take_record(struct st_drain *drain, struct st_shm_segment *segment, uint32_t slot_index,
			const uint64_t *words, uint32_t word_count)
{
	struct st_slot_reader *slot = &segment->slots[slot_index];
	uint64_t word = words[0];
	uint32_t domain = (uint32_t)(word >> 4) & 0x7f, name = (uint32_t)(word >> 11) & 0x1ffff;
	unsigned int kind = (unsigned int)word & 15;

	slot->time = st_drain_bounded_time(drain, slot->time, slot->time + (word >> 28));
	if (kind == ST_WORD_EXTENDED)
		return take_extended(drain, segment, slot_index, words, word_count);
	if (kind == ST_WORD_CALL || kind == ST_WORD_RETURN) {
		if (kind == ST_WORD_CALL)
			st_slice_encoder_begin(&slot->calls, slot->time, 0, name, 0);
		else
			st_slice_encoder_end(&slot->calls, slot->time, 0);
		return true;
	}
	if (kind == ST_WORD_OPERATOR) {
		st_drain_take_operator(drain, slot, &(const uint64_t){name}, 1);
		return true;
	}
	if ((kind != ST_WORD_BEGIN && kind != ST_WORD_END) || domain > ST_WORD_DOMAIN_MAX)
		return false;
	if (kind == ST_WORD_END) {
		st_slice_encoder_end(&slot->encoder, slot->time, domain);
		st_open_end(drain, slot, domain, 0);
		return true;
	}
	if (drain->shared->ring_buffer)
		st_open_begin(drain, slot,
			      &(struct st_drain_slice){.domain = domain,
						       .name = name,
						       .family = name,
						       .begin = slot->time},
			      NULL);
	st_drain_take_begin_caller(slot, name, name);
	st_slice_encoder_begin(&slot->encoder, slot->time, domain, name, 0);
	drain->counts.begins++;
	return true;
}

static bool names_its_thread(uint64_t word)
{
	unsigned int subkind = (unsigned int)(word >> 4) & 0xff;

	return (word & 15) == ST_WORD_EXTENDED &&
	       (subkind == ST_EXT_TIME || subkind == ST_EXT_THREAD);
}

void st_drain_decode(struct st_drain *drain, struct st_shm_segment *segment, uint32_t slot_index,
		     const uint64_t *words, size_t word_count)
{
	struct st_slot_reader *slot = &segment->slots[slot_index];
	size_t at = 0;

	if (slot->time < drain->shared->start_ticks)
		slot->time = drain->shared->start_ticks;
	while (at < word_count) {
		uint32_t count = record_words(words + at, word_count - at);

		/* A record of nobody: hostile, or the identity was lost in a resynchronisation. */
		if (!slot->track && !names_its_thread(words[at]))
			begin_track(drain, segment, slot_index, 0);
		if (!count || !take_record(drain, segment, slot_index, words + at, count)) {
			st_drain_refuse(drain, "a record that begins with %#" PRIx64, words[at]);
			slot->time = drain->now;
			slot->text_id = 0;
			st_drain_forget_callers(slot);
			st_drain_forget_operator_stack(slot);
			break;
		}
		drain->counts.records++;
		if (st_slice_encoder_is_full(&slot->encoder) ||
		    st_slice_encoder_is_full(&slot->calls))
			st_drain_flush_slot(drain, slot);
		else if (!slot->oldest_ns &&
			 (slot->encoder.record_count || slot->calls.record_count))
			slot->oldest_ns = drain->now_ns;
		at += count;
	}
	slot->text = NULL; /* it lies in words, which are another slot's now */
	if (slot->ended)
		st_drain_flush_slot(drain, slot);
}

/* The type a definition is stored as; 0: it cannot be. */
static enum st_definition_type stored_type(struct st_drain *drain, unsigned int kind, uint32_t id,
					   const void *text, size_t size_bytes)
{
	switch (kind) {
	case ST_DEFINE_STRING:
		return id <= name_id_max ? ST_DEF_STRING : 0;
	case ST_DEFINE_DOMAIN:
		return id <= ST_SHM_DOMAINS_MAX ? ST_DEF_DOMAIN : 0;
	case ST_DEFINE_THREAD_NAME:
		return ST_DEF_THREAD_NAME;
	case ST_DEFINE_OBJECT:
		return st_drain_object_ok(id, text, size_bytes) ? ST_DEF_OBJECT : 0;
	case ST_DEFINE_OBJECT_METADATA:
		return st_drain_object_metadata_ok(id, text, size_bytes) ? ST_DEF_OBJECT_METADATA
									 : 0;
	case ST_DEFINE_SIGNATURE:
		return st_drain_signature_ok(drain, id, text, size_bytes) ? ST_DEF_SIGNATURE : 0;
	case ST_DEFINE_OPERATOR_SOURCE:
		return ST_DEF_OPERATOR_SOURCE;
	case ST_DEFINE_PYTHON_FUNCTION:
		return ST_DEF_PYTHON_FUNCTION;
	default:
		return 0;
	}
}

static void define(struct st_drain *drain, unsigned int kind, uint32_t id, const uint64_t *text)
{
	struct st_definition_batch *batch = &drain->definitions;
	size_t size_bytes = (size_t)text[0], record;
	enum st_definition_type type = 0;

	if (kind == ST_DEFINE_THREAD_NAME) {
		batch = st_drain_passing(drain);
		st_drain_keep_name(drain, id, text + 1, size_bytes);
	}
	if (kind == ST_DEFINE_DEVICE) {
		if (!st_drain_name_device(drain, id, text + 1, size_bytes))
			st_drain_refuse(drain, "a device's name, id %" PRIu32, id);
		return;
	}
	if (batch == &drain->passing || drain->definitions_seen < ST_DEFINITIONS_MAX)
		type = stored_type(drain, kind, id, text + 1, size_bytes);
	if (!type) {
		st_drain_refuse(drain, "a definition of kind %u, id %" PRIu32, kind, id);
		return;
	}
	drain->definitions_seen += batch == &drain->definitions;
	if (type == ST_DEF_OPERATOR_SOURCE) {
		if (!st_drain_define_operator_source(drain, id, text + 1, size_bytes))
			st_drain_refuse(drain, "a source of operators, id %" PRIu32, id);
		return;
	}
	if (type == ST_DEF_PYTHON_FUNCTION) {
		if (!st_drain_define_python_function(drain, id, text + 1, size_bytes))
			st_drain_refuse(drain, "a function of Python, id %" PRIu32, id);
		return;
	}
	record = st_drain_define(drain, batch, type);
	st_buf_append_u32(&batch->records, id);
	if (type == ST_DEF_OBJECT || type == ST_DEF_OBJECT_METADATA || type == ST_DEF_SIGNATURE) {
		st_buf_append_u32(&batch->records, 0);
		st_buf_append(&batch->records, text + 1, size_bytes);
	} else {
		st_definition_text(&batch->records, text + 1, size_bytes);
	}
	st_drain_defined(batch, record);
}

void st_drain_decode_definitions(struct st_drain *drain, const uint64_t *words, size_t word_count)
{
	size_t at = 0;

	while (at < word_count) {
		unsigned int kind = (unsigned int)words[at] & 0xff;
		uint32_t count = (uint32_t)(words[at] >> 8) & 0xffffff;

		if (count < 2 || count > word_count - at || words[at + 1] > definition_max_bytes ||
		    words[at + 1] > (uint64_t)(count - 2) * 8) {
			st_drain_refuse(drain, "a definition that begins with %#" PRIx64,
					words[at]);
			return;
		}
		define(drain, kind, (uint32_t)(words[at] >> 32), words + at + 1);
		at += count;
	}
}
