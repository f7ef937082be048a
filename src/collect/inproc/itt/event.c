/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer of events. No lock and no wait: an event that finds no room is dropped and counted, and the
 * kinds that come in floods give way while the ring is still half empty, so that tasks keep their place.
 */
#include "collect/inproc/itt/event.h"

#include "collect/inproc/core/label.h"
#include "collect/inproc/core/object.h"
#include "collect/inproc/core/thread.h"
#include "collect/inproc/core/words.h"

/* Sync, heap, suppression, stitching, waits. */
static bool is_flood(uint32_t kind)
{
	return (kind >= ST_EVENT_CALLER_CREATE && kind <= ST_EVENT_SUPPRESS_CLEAR) ||
	       (kind >= ST_EVENT_WAIT && kind <= ST_EVENT_PARALLEL);
}

/* Ends, so that a span which began before a pause is closed; and what is still true after a pause. */
static bool outlasts_pause(uint32_t kind)
{
	switch (kind) {
	case ST_EVENT_TIMED_END:
	case ST_EVENT_OVERLAPPED_END:
	case ST_EVENT_REGION_END:
	case ST_EVENT_FRAME_END:
	case ST_EVENT_USER_END:
	case ST_EVENT_MARK_OFF:
	case ST_EVENT_SCOPE_PAUSE:
	case ST_EVENT_SCOPE_RESUME:
	case ST_EVENT_THREAD_IGNORE:
	case ST_EVENT_SET_TRACK:
	case ST_EVENT_SYNC_CREATE:
	case ST_EVENT_SYNC_RENAME:
	case ST_EVENT_MODULE_LOAD:
	case ST_EVENT_MODULE_UNLOAD:
	case ST_EVENT_MODULE_LOAD_SECTIONS:
	case ST_EVENT_MODULE_UNLOAD_SECTIONS:
	case ST_EVENT_JIT:
	case ST_EVENT_WAIT:
	case ST_EVENT_WAIT_SUM:
	case ST_EVENT_HOLD_SUM:
	case ST_EVENT_WAIT_OBJECT:
		return true;
	default:
		return false;
	}
}

/* Whether the event is about the thread's current task; told by the absence of an id. */
static bool is_of_current(const struct st_record *record)
{
	return !(record->mask & ST_FIELD_ID) &&
	       (record->kind == ST_EVENT_METADATA || record->kind == ST_EVENT_METADATA_TEXT ||
		record->kind == ST_EVENT_METADATA_FORMATTED || record->kind == ST_EVENT_RELATION);
}

uint32_t st_event_data_max(void)
{
	uint32_t quarter = st_config.ring_bytes / 4;

	return quarter < ST_EVENT_DATA_MAX ? quarter : ST_EVENT_DATA_MAX;
}

/* The ids of everything the record names. */
struct ids {
	uint32_t domain, name, object, clock;
};

static bool find_ids(const struct st_record *record, struct ids *ids)
{
	if (record->mask & ST_FIELD_NAMES) {
		ids->domain = st_domain_of(record->domain);
		ids->name = record->name_id ? record->name_id : st_name_of(record->name);
	}
	if (record->mask & ST_FIELD_OBJECT) {
		ids->object = st_object_id(record->object);
		if (!ids->object)
			return false;
	}
	if (record->mask & ST_FIELD_CLOCK) {
		ids->clock = st_object_id(record->clock);
		if (!ids->clock)
			return false;
	}
	return true;
}

/* Two head words and the fields, without the bytes of the data. */
static uint32_t words_of(uint32_t mask)
{
	uint32_t words = 2;

	for (uint32_t bit = ST_FIELD_NAMES; bit < ST_FIELDS_ALL; bit <<= 1)
		if (mask & bit)
			words += bit == ST_FIELD_ID || bit == ST_FIELD_OTHER ? 3 : 1;
	return words;
}

static void put_id(struct st_hot *hot, struct itt_id id)
{
	st_words_put(hot, id.d1);
	st_words_put(hot, id.d2);
	st_words_put(hot, id.d3);
}

static void put_fields(struct st_hot *hot, const struct st_record *record, const struct ids *ids)
{
	uint32_t mask = record->mask;

	st_words_put(hot, st_word_event(record->kind, mask, record->detail));
	if (mask & ST_FIELD_NAMES)
		st_words_put(hot, ids->domain | (uint64_t)ids->name << 32);
	if (mask & ST_FIELD_ID)
		put_id(hot, record->id);
	if (mask & ST_FIELD_OTHER)
		put_id(hot, record->other);
	if (mask & ST_FIELD_VALUE)
		st_words_put(hot, record->value);
	if (mask & ST_FIELD_EXTRA)
		st_words_put(hot, record->extra);
	if (mask & ST_FIELD_OBJECT)
		st_words_put(hot, ids->object);
	if (mask & ST_FIELD_TIME)
		st_words_put(hot, record->time);
	if (mask & ST_FIELD_CLOCK)
		st_words_put(hot, ids->clock);
}

static uint32_t data_bytes(const struct st_record *record, bool *cut)
{
	uint64_t sum = 0;

	*cut = record->cut;
	if (!(record->mask & ST_FIELD_DATA))
		return 0;
	for (uint32_t i = 0; i < record->part_count; i++)
		sum += record->parts[i].size_bytes;
	if (sum <= st_event_data_max())
		return (uint32_t)sum;
	*cut = true;
	return st_event_data_max();
}

static bool has_room(const struct st_thread *thread, uint32_t kind, uint64_t size_bytes)
{
	uint64_t tail;

	if (st_ring_room(thread) < (int64_t)size_bytes)
		return false;
	if (!is_flood(kind))
		return true;
	tail = atomic_load_explicit(&thread->ring->tail, memory_order_relaxed);
	return thread->hot.head + size_bytes - tail <= thread->ring_bytes / 2;
}

static bool write_event(struct st_thread *thread, const struct st_record *record)
{
	struct st_part_reader reader = {.part = record->parts,
					.end = record->parts + record->part_count};
	struct st_hot *hot = &thread->hot;
	struct ids ids = {0};
	bool cut;
	uint32_t data = data_bytes(record, &cut), words = words_of(record->mask) + (data + 7) / 8;
	uint64_t dt;

	/* 16 bytes for an absolute time in front of it. */
	if (!has_room(thread, record->kind, 16 + (uint64_t)words * 8) || !find_ids(record, &ids))
		return false;
	dt = st_words_time(hot, record->ticks);
	st_words_put(hot, st_word_ext(ST_EXT_EVENT, words, dt));
	put_fields(hot, record, &ids);
	if (record->mask & ST_FIELD_DATA)
		st_words_put(hot, data);
	for (uint32_t done = 0; done < data; done += 8) {
		uint64_t word = st_part_word(&reader);

		if (data - done < 8) /* cut, or the last one: nothing behind the end */
			word &= (1ull << (data - done) * 8) - 1;
		st_words_put(hot, word);
	}
	st_words_publish(hot);
	if (cut)
		atomic_fetch_add_explicit(&thread->ring->events_cut, 1, memory_order_relaxed);
	return true;
}

bool st_event_put(struct st_thread *thread, const struct st_record *record)
{
	uint32_t control = atomic_load_explicit(thread->hot.control, memory_order_relaxed);
	bool ready;

	if (control & (ST_CONTROL_STOPPED | ST_CONTROL_DETACHED))
		return false;
	if (control && !outlasts_pause(record->kind))
		return false;
	if (!control)
		st_note_running();
	/* What was begun in the pause is not to be seen before it is over. */
	ready = control ? st_thread_identify(thread) : st_thread_tell(thread);
	if (ready && !(is_of_current(record) && st_open_top_skipped(thread)) &&
	    write_event(thread, record))
		return true;
	atomic_fetch_add_explicit(&thread->ring->events_dropped, 1, memory_order_relaxed);
	return false;
}

void st_event(const struct st_record *record)
{
	struct st_thread *thread = st_thread_enter(ST_LOSS_EVENT);

	if (!thread)
		return;
	st_event_put(thread, record);
	st_thread_set_limit(thread);
	st_thread_leave(thread);
}

void st_record_time(struct st_record *record, void *clock_domain, unsigned long long time)
{
	if (clock_domain) {
		record->clock = st_object_own(clock_domain);
		if (!record->clock)
			return; /* not one of ours: its ticks mean nothing to us */
		record->mask |= ST_FIELD_CLOCK;
	}
	record->time = time;
	record->mask |= ST_FIELD_TIME;
}
