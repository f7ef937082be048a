// SPDX-License-Identifier: Apache-2.0
//
// What devices did and the calls that drive them (format/device.h): told by a thread that has nothing to do with them,
// later than they were. Each goes to the track of its stream, or of the thread that made the call.
#include "collect/launch/drain/drain_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "format/chunk.h"
#include "format/ring_record.h"

enum {
	DEVICE_TRACKS_MAX = 64 << 10,
	DEVICES_MAX = 256,
	DEVICE_NAME_BYTES = 64,
	MAKER_SHIFT = 16,
	/* The clocks of devices are fitted to ours, some microseconds off. */
	FIT_TICKS = 1 << 20,
	NAME_BYTES = 96,
};

static const uint64_t age_max_ns = (uint64_t)ST_CHUNK_AGE_MAX_MS * 1000000u;

/* A stream, a thread that makes calls, or what a device or the driver tell beside them. Waits, and what
 * devices are, have no track: they are no slices. */
struct st_device_track {
	struct st_device_key key;
	uint32_t track;
	bool is_own;	     /* of a thread that has recorded nothing else: made here */
	uint64_t first_time; /* of what is defined here */
	uint64_t oldest_ns;  /* when the first record came into the encoder */
	struct st_device_encoder encoder;
};

/* Told by the library of its maker; for the names of tracks. */
struct st_device_name {
	uint32_t id; /* device | maker << MAKER_SHIFT */
	char text[DEVICE_NAME_BYTES];
};

void st_device_tracks_fini(struct st_device_tracks *tracks)
{
	for (uint32_t i = 0; i < tracks->count; i++) {
		st_device_encoder_fini(&tracks->entries[i]->encoder);
		free(tracks->entries[i]);
	}
	free(tracks->entries);
	free(tracks->names);
}

bool st_drain_has_devices(const struct st_drain *drain)
{
	return drain->devices.count > 0;
}

bool st_drain_name_device(struct st_drain *drain, uint32_t id, const void *text, size_t size_bytes)
{
	struct st_device_tracks *tracks = &drain->devices;
	struct st_device_name name = {.id = id};
	const char *from = text;
	uint32_t at = 0;

	if (tracks->name_count >= DEVICES_MAX || !size_bytes)
		return false;
	for (size_t i = 0; i < size_bytes && at + 1 < sizeof(name.text); i++)
		name.text[at++] = (char)(from[i] >= ' ' && from[i] <= '~' ? from[i] : '?');
	return ST_VEC_PUSH(tracks->names, tracks->name_count, tracks->name_capacity, name);
}

static const char *name_of(const struct st_device_tracks *tracks, const struct st_device_key *key)
{
	/* The last one counts. */
	for (uint32_t i = tracks->name_count; i > 0; i--)
		if (tracks->names[i - 1].id == (key->device | key->maker << MAKER_SHIFT))
			return tracks->names[i - 1].text;
	return NULL;
}

static bool is_call(const struct st_device_key *key)
{
	return key->kind == ST_TRACK_THREAD;
}

/* A thread has one track, however often its slot changed hands; the present owner of a slot counts first. */
uint32_t st_drain_thread_track(const struct st_drain *drain, uint32_t tid)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < drain->segment_count; i++) {
		const struct st_shm_segment *segment = &drain->segments[i];

		for (uint32_t j = 0; j < segment->slot_count; j++) {
			const struct st_slot_reader *slot = &segment->slots[j];

			if (slot->track && slot->tid == tid)
				return slot->track;
			for (uint32_t k = 0; slot->track && k < ST_OWNERS_KEPT; k++)
				if (slot->owners[k].key && (uint32_t)slot->owners[k].key == tid)
					found = slot->owners[k].track;
		}
	}
	return found ? found : st_drain_off_track(drain, tid);
}

static bool is_no_slice(const struct st_device_key *key)
{
	return key->kind == ST_TRACK_KINDS;
}

static bool is_named_alike(const struct st_device_tracks *tracks, const struct st_device_key *key)
{
	for (uint32_t i = 0; i < tracks->count; i++) {
		const struct st_device_key *other = &tracks->entries[i]->key;

		if (other->kind == key->kind && other->maker == key->maker &&
		    other->device == key->device && other->where == key->where &&
		    other->context != key->context)
			return true;
	}
	return false;
}

/* "device 0 stream 7", and for others than CUDA "device 0 queue 1, NAME". */
static size_t track_name(const struct st_device_tracks *tracks, const struct st_device_key *key,
			 char *out, size_t out_bytes)
{
	const char *whose = name_of(tracks, key);
	const char *word = key->kind == ST_TRACK_DEVICE_QUEUE ? "queue" : "stream";
	char context[32] = "";
	int length;

	if (key->kind == ST_TRACK_OTHER && key->where == ST_DEVICE_MEMORY)
		return (size_t)snprintf(out, out_bytes, "device %u memory", key->device);
	if (key->kind == ST_TRACK_OTHER)
		return (size_t)snprintf(out, out_bytes, "device overhead");
	if (is_named_alike(tracks, key))
		snprintf(context, sizeof(context), " of context %u", key->context);
	length = snprintf(out, out_bytes, "device %u %s %u%s%s%s", key->device, word, key->where,
			  context, whose ? ", " : "", whose ? whose : "");
	return length < (int)out_bytes ? (size_t)length : out_bytes - 1;
}

static void define(struct st_drain *drain, const struct st_device_track *entry)
{
	const struct st_device_key *key = &entry->key;
	struct st_definition_batch *batch = st_drain_passing(drain);
	char name[NAME_BYTES + DEVICE_NAME_BYTES];
	size_t record, length;

	if (is_call(key)) {
		if (entry->is_own)
			st_drain_define_thread(drain, entry->track, key->where, entry->first_time);
		return;
	}
	if (is_no_slice(key))
		return;
	length = track_name(&drain->devices, key, name, sizeof(name));
	record = st_drain_define(drain, batch, ST_DEF_THREAD);
	st_buf_append_u32(&batch->records, entry->track);
	st_buf_append_u32(&batch->records, key->where);
	st_buf_append_u64(&batch->records, entry->first_time);
	st_buf_append_u32(&batch->records, key->kind);
	st_definition_text(&batch->records, name, length);
	st_drain_defined(batch, record);
}

static struct st_device_track *find(const struct st_device_tracks *tracks,
				    const struct st_device_key *key)
{
	for (uint32_t i = 0; i < tracks->count; i++) {
		struct st_device_track *entry = tracks->entries[i];

		if (entry->key.kind == key->kind && entry->key.maker == key->maker &&
		    entry->key.device == key->device && entry->key.where == key->where &&
		    entry->key.context == key->context)
			return entry;
	}
	return NULL;
}

static struct st_device_track *make(struct st_drain *drain, const struct st_device_key *key,
				    uint64_t first_time)
{
	struct st_device_tracks *tracks = &drain->devices;
	struct st_device_track *entry;
	uint32_t known = is_call(key) ? st_drain_thread_track(drain, key->where) : 0;

	if (tracks->count >= DEVICE_TRACKS_MAX ||
	    (!known && !is_no_slice(key) && drain->counts.tracks >= ST_TRACKS_MAX)) {
		st_drain_refuse(drain, "too many streams");
		return NULL;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry || !ST_VEC_PUSH(tracks->entries, tracks->count, tracks->capacity, entry)) {
		free(entry);
		st_drain_refuse(drain, "a stream: no memory");
		return NULL;
	}
	entry->key = *key;
	if (!is_no_slice(key))
		entry->track = known ? known : ++drain->counts.tracks;
	entry->is_own = !known;
	entry->first_time = first_time;
	st_device_encoder_init(&entry->encoder);
	define(drain, entry);
	return entry;
}

uint32_t st_drain_device_thread(struct st_drain *drain, uint32_t tid)
{
	struct st_device_key key = {.kind = ST_TRACK_THREAD, .where = tid};
	struct st_device_track *entry = find(&drain->devices, &key);

	if (!entry || !entry->is_own)
		return 0;
	entry->is_own = false; /* its slot is defined again where that is needed */
	return entry->track;
}

static void flush(struct st_drain *drain, struct st_device_track *entry)
{
	const struct st_drain_sink *sink = &drain->shared->sink;
	struct st_chunk_header header = {
		.type = ST_CHUNK_DEVICE, .process = drain->process, .track = entry->track};
	struct st_buf *payload = &drain->shared->payload;

	entry->oldest_ns = 0;
	if (!entry->encoder.record_count)
		return;
	st_drain_flush_definitions(drain);
	st_buf_clear(payload);
	if (!st_device_encoder_finish(&entry->encoder, &header, payload))
		st_drain_refuse(drain, "a chunk of device records: no memory");
	else
		sink->trace(sink->arg, &header, payload);
	st_device_encoder_clear(&entry->encoder);
}

void st_drain_flush_devices(struct st_drain *drain, bool all)
{
	for (uint32_t i = 0; i < drain->devices.count; i++) {
		struct st_device_track *entry = drain->devices.entries[i];

		if (entry->oldest_ns && (all || drain->now_ns - entry->oldest_ns >= age_max_ns))
			flush(drain, entry);
	}
}

void st_drain_renew_devices(struct st_drain *drain)
{
	for (uint32_t i = 0; i < drain->devices.count; i++)
		define(drain, drain->devices.entries[i]);
}

static bool is_possible(const struct st_drain *drain, const struct st_device_record *record)
{
	return record->kind && record->kind < ST_DEVICE_KINDS &&
	       !(record->flags & ~ST_DEVICE_FLAGS_ALL) && record->domain <= ST_SHM_DOMAINS_MAX &&
	       record->name < ST_TEXT_ID_FIRST && record->end >= record->begin &&
	       record->end <= drain->now + FIT_TICKS;
}

static struct st_device_key key_of(const struct st_device_record *record)
{
	uint32_t maker = record->flags & ST_DEVICE_MAKERS;

	switch (record->kind) {
	case ST_DEVICE_CALL:
		return (struct st_device_key){.kind = ST_TRACK_THREAD, .where = record->where};
	case ST_DEVICE_WAIT:
	case ST_DEVICE_ABOUT:
		return (struct st_device_key){.kind = ST_TRACK_KINDS};
	case ST_DEVICE_OVERHEAD:
		return (struct st_device_key){.kind = ST_TRACK_OTHER, .where = ST_DEVICE_OVERHEAD};
	case ST_DEVICE_MEMORY:
		return (struct st_device_key){.kind = ST_TRACK_OTHER,
					      .device = record->device,
					      .where = ST_DEVICE_MEMORY};
	default:
		return (struct st_device_key){.kind = maker ? ST_TRACK_DEVICE_QUEUE
							    : ST_TRACK_DEVICE_STREAM,
					      .maker = maker,
					      .device = record->device,
					      .context = record->context,
					      .where = record->where};
	}
}

bool st_drain_take_device(struct st_drain *drain, const uint64_t *payload, uint32_t payload_words)
{
	struct st_device_record record;
	struct st_device_key key;
	struct st_device_track *entry;

	if (payload_words != ST_DEVICE_WORDS && payload_words != ST_DEVICE_WORDS_SHORT)
		return false;
	st_device_from_words(&record, payload, payload_words);
	if (!is_possible(drain, &record)) {
		st_drain_refuse(drain, "a device record of kind %u from %" PRIu64 " to %" PRIu64,
				record.kind, record.begin, record.end);
		return true;
	}
	if (record.end < drain->shared->start_ticks)
		return true; /* before the collection */
	if (record.begin < drain->shared->start_ticks)
		record.begin = drain->shared->start_ticks;
	key = key_of(&record);
	entry = find(&drain->devices, &key);
	if (!entry)
		entry = make(drain, &key, record.begin);
	if (!entry)
		return true;
	st_device_encoder_add(&entry->encoder, &record);
	drain->counts.begins += !is_no_slice(&key);
	if (st_device_encoder_is_full(&entry->encoder))
		flush(drain, entry);
	else if (!entry->oldest_ns)
		entry->oldest_ns = drain->now_ns;
	return true;
}
