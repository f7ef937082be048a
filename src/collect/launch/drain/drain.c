// SPDX-License-Identifier: Apache-2.0
//
// The rounds of a drain: positions first, then definitions, then records up to those positions, so
// that a name is on disk before anything that uses it. A ring whose position is impossible is counted
// and taken up again at its head.
#include "collect/launch/drain/drain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collect/launch/drain/clock.h"
#include "collect/launch/drain/drain_state.h"
#include "format/chunk.h"
#include "format/wait_kind.h"

enum {
	DEFINITIONS_FLUSH_BYTES = 1 << 20,
	DEFINITIONS_MAX_BYTES = 3 << 20, /* a chunk's raw size stays under its limit */
	REST_ROUNDS_MAX = 64,
};

static const uint64_t chunk_age_max_ns = (uint64_t)ST_CHUNK_AGE_MAX_MS * 1000000u;

void st_drain_shared_init(struct st_drain_shared *shared, const struct st_drain_sink *sink,
			  enum st_clock clock, uint64_t start_ticks)
{
	memset(shared, 0, sizeof(*shared));
	shared->sink = *sink;
	shared->clock = clock;
	shared->start_ticks = start_ticks;
	st_buf_init(&shared->payload, ST_CHUNK_RAW_MAX);
}

void st_drain_shared_fini(struct st_drain_shared *shared)
{
	free(shared->words);
	free(shared->merged);
	st_buf_fini(&shared->payload);
	memset(shared, 0, sizeof(*shared));
}

enum st_status st_drain_create(struct st_drain **out, struct st_drain_shared *shared,
			       uint32_t process, struct st_error *err)
{
	struct st_drain *drain = calloc(1, sizeof(*drain));

	*out = NULL;
	if (!drain)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	drain->shared = shared;
	drain->process = process;
	st_buf_init(&drain->definitions.records, DEFINITIONS_MAX_BYTES);
	st_buf_init(&drain->passing.records, DEFINITIONS_MAX_BYTES);
	st_text_ids_init(&drain->texts);
	*out = drain;
	return ST_OK;
}

void st_drain_destroy(struct st_drain *drain)
{
	if (!drain)
		return;
	for (uint32_t i = 0; i < drain->segment_count; i++)
		st_shm_segment_unmap(&drain->segments[i]);
	free(drain->segments);
	st_buf_fini(&drain->definitions.records);
	st_buf_fini(&drain->passing.records);
	st_text_ids_fini(&drain->texts);
	st_stack_tree_fini(&drain->tree);
	free(drain->publisher.entries);
	st_creators_fini(&drain->creators);
	st_thread_names_fini(&drain->names);
	st_known_codes_fini(&drain->codes);
	free(drain->signatures.entries);
	st_device_tracks_fini(&drain->devices);
	st_off_tracks_fini(&drain->off_cpu);
	free(drain->jitdump);
	st_code_maps_fini(&drain->maps);
	free(drain->jit.codes);
	st_outside_slots_fini(&drain->outside);
	free(drain);
}

/* The copy buffer is as big as the biggest ring seen, the definitions ring included. */
static bool reserve_words(struct st_drain_shared *shared, size_t bytes)
{
	uint64_t *words;

	if (bytes < ST_SHM_DEFINITIONS_BYTES)
		bytes = ST_SHM_DEFINITIONS_BYTES;
	if (shared->words_bytes >= bytes)
		return true;
	words = realloc(shared->words, bytes);
	if (!words)
		return false;
	shared->words = words;
	shared->words_bytes = bytes;
	return true;
}

enum st_status st_drain_add_segment(struct st_drain *drain, int fd, uint64_t segment_bytes,
				    struct st_error *err)
{
	struct st_shm_segment segment, *segments;
	enum st_status status;

	if (drain->segment_count >= ST_SHM_SEGMENTS_MAX)
		return st_error_set(err, ST_ENOMEM, 0, "too many segments of one process");
	status = st_shm_segment_map(&segment, fd, segment_bytes, drain->shared->clock, err);
	if (status)
		return status;
	for (uint32_t i = 0; i < drain->segment_count; i++)
		if (drain->segments[i].index == segment.index)
			status = st_error_set(err, ST_ECORRUPT, 0, "the same segment twice");
	segments = realloc(drain->segments, (drain->segment_count + 1) * sizeof(*segments));
	if (segments)
		drain->segments = segments;
	if (!status &&
	    (!segments || !reserve_words(drain->shared, segment.ring_bytes > segment.handler_bytes
								? segment.ring_bytes
								: segment.handler_bytes)))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory");
	if (status) {
		st_shm_segment_unmap(&segment);
		return status;
	}
	drain->segments[drain->segment_count++] = segment;
	return ST_OK;
}

struct st_definition_batch *st_drain_passing(struct st_drain *drain)
{
	return drain->shared->ring_buffer ? &drain->passing : &drain->definitions;
}

size_t st_drain_define(struct st_drain *drain, struct st_definition_batch *batch,
		       enum st_definition_type type)
{
	if (batch->records.size_bytes > DEFINITIONS_FLUSH_BYTES)
		st_drain_flush_definitions(drain);
	if (!batch->count)
		batch->since_ns = drain->now_ns;
	return st_definition_begin(&batch->records, type);
}

void st_drain_defined(struct st_definition_batch *batch, size_t begin)
{
	st_definition_end(&batch->records, begin);
	batch->count++;
}

void st_drain_define_thread(struct st_drain *drain, uint32_t track, uint32_t tid,
			    uint64_t first_time)
{
	struct st_definition_batch *batch = st_drain_passing(drain);
	size_t record = st_drain_define(drain, batch, ST_DEF_THREAD);

	st_buf_append_u32(&batch->records, track);
	st_buf_append_u32(&batch->records, tid);
	st_buf_append_u64(&batch->records, first_time);
	st_drain_defined(batch, record);
	st_drain_define_creator(drain, tid);
	st_drain_tell_name(drain, tid);
}

uint32_t st_drain_tracks(const struct st_drain *drain)
{
	return drain->counts.tracks;
}

static void flush_batch(struct st_drain *drain, struct st_definition_batch *batch)
{
	const struct st_drain_sink *sink = &drain->shared->sink;
	struct st_chunk_header header = {.type = ST_CHUNK_DEFINITIONS,
					 .process = drain->process,
					 .record_count = batch->count,
					 .first_time = drain->now,
					 .last_time = drain->now};

	if (!batch->count)
		return;
	if (batch->records.failed)
		st_drain_refuse(drain, "definitions: no memory");
	else if (batch == &drain->passing)
		sink->trace(sink->arg, &header, &batch->records);
	else
		sink->definitions(sink->arg, drain->process, drain->now, batch->count,
				  &batch->records);
	st_buf_clear(&batch->records);
	batch->count = 0;
}

void st_drain_flush_definitions(struct st_drain *drain)
{
	st_drain_define_nodes(drain);
	flush_batch(drain, &drain->definitions);
	flush_batch(drain, &drain->passing);
}

static void flush_encoder(struct st_drain *drain, const struct st_slot_reader *slot,
			  struct st_slice_encoder *encoder, enum st_chunk_type type)
{
	const struct st_drain_sink *sink = &drain->shared->sink;
	struct st_chunk_header header = {
		.type = (uint16_t)type, .process = drain->process, .track = slot->track};
	struct st_buf *payload = &drain->shared->payload;

	if (!encoder->record_count)
		return;
	st_drain_flush_definitions(drain);
	st_buf_clear(payload);
	if (st_slice_encoder_finish(encoder, &header, payload))
		sink->trace(sink->arg, &header, payload);
	else
		st_drain_refuse(drain, "a chunk of slices: no memory");
	st_slice_encoder_clear(encoder);
}

void st_drain_flush_slot(struct st_drain *drain, struct st_slot_reader *slot)
{
	slot->oldest_ns = 0;
	flush_encoder(drain, slot, &slot->encoder, ST_CHUNK_SLICES);
	flush_encoder(drain, slot, &slot->calls, ST_CHUNK_CALLS);
	if (slot->ended) { /* the next owner may be long in coming: give the memory back */
		st_open_fini(slot);
		st_slice_encoder_fini(&slot->encoder);
		st_slice_encoder_init(&slot->encoder);
		st_slice_encoder_fini(&slot->calls);
		st_slice_encoder_init(&slot->calls);
	}
}

/* Copies [tail, head) of a ring, which may wrap. */
static void copy_ring(uint64_t *words, const uint64_t *ring, uint32_t ring_bytes, uint64_t tail,
		      uint64_t head)
{
	size_t offset = (size_t)(tail & (ring_bytes - 1));
	size_t bytes = (size_t)(head - tail), first = ring_bytes - offset;

	if (first > bytes)
		first = bytes;
	memcpy(words, (const uint8_t *)ring + offset, first);
	memcpy((uint8_t *)words + first, ring, bytes - first);
}

/* Whether [tail, head) can be; if not it is counted and the ring is taken up again at head. */
static bool position_ok(struct st_drain *drain, uint64_t *tail, uint64_t head, uint32_t ring_bytes)
{
	if (head - *tail <= ring_bytes && head % 8 == 0)
		return true;
	st_drain_refuse(drain, "a ring of %" PRIu32 " bytes from %" PRIu64 " to %" PRIu64,
			ring_bytes, *tail, head);
	*tail = head & ~(uint64_t)7;
	return false;
}

static struct st_shm_segment *first_segment(const struct st_drain *drain)
{
	for (uint32_t i = 0; i < drain->segment_count; i++)
		if (drain->segments[i].index == 0)
			return &drain->segments[i];
	return NULL;
}

static uint64_t take_definitions(struct st_drain *drain)
{
	struct st_shm_segment *segment = first_segment(drain);
	struct st_shm_ring *shared_ring;
	uint64_t head, bytes;

	if (!segment)
		return 0;
	shared_ring = &st_shm_segment_header(segment)->definitions;
	head = atomic_load_explicit(&shared_ring->head, memory_order_acquire);
	if (!position_ok(drain, &drain->definitions_tail, head, ST_SHM_DEFINITIONS_BYTES)) {
		atomic_store_explicit(&shared_ring->tail, drain->definitions_tail,
				      memory_order_release);
		return 0;
	}
	bytes = head - drain->definitions_tail;
	if (!bytes)
		return 0;
	copy_ring(drain->shared->words, (const uint64_t *)(segment->map + ST_SHM_HEADER_BYTES),
		  ST_SHM_DEFINITIONS_BYTES, drain->definitions_tail, head);
	drain->definitions_tail = head;
	atomic_store_explicit(&shared_ring->tail, head, memory_order_release);
	st_drain_decode_definitions(drain, drain->shared->words, bytes / 8);
	return bytes;
}

static uint32_t slots_used(const struct st_shm_segment *segment)
{
	uint32_t used = atomic_load_explicit(&st_shm_segment_header(segment)->slots_used,
					     memory_order_acquire);

	return used < segment->slot_count ? used : segment->slot_count;
}

static void snapshot_heads(struct st_drain *drain)
{
	for (uint32_t i = 0; i < drain->segment_count; i++) {
		struct st_shm_segment *segment = &drain->segments[i];
		uint32_t used = slots_used(segment);

		for (uint32_t j = 0; j < used; j++) {
			struct st_shm_ring *rings = st_shm_segment_slot(segment, j)->ring;

			segment->slots[j].head = atomic_load_explicit(&rings[ST_RING_SLICE].head,
								      memory_order_acquire);
			segment->slots[j].sample_head = atomic_load_explicit(
				&rings[ST_RING_HANDLER].head, memory_order_acquire);
		}
	}
	drain->now = st_launch_clock_now(drain->shared->clock);
}

static void note_activity(struct st_drain_activity *activity, uint64_t bytes, uint32_t ring_bytes)
{
	uint32_t percent = (uint32_t)(bytes * 100 / ring_bytes);

	if (percent > activity->fill_percent)
		activity->fill_percent = percent;
	activity->bytes += bytes;
}

static void take_slot(struct st_drain *drain, struct st_shm_segment *segment, uint32_t slot_index,
		      struct st_drain_activity *activity)
{
	struct st_slot_reader *slot = &segment->slots[slot_index];
	struct st_shm_ring *shared_ring =
		&st_shm_segment_slot(segment, slot_index)->ring[ST_RING_SLICE];
	uint64_t head = slot->head, bytes;

	if (head == slot->tail)
		return;
	slot->ring = shared_ring;
	if (!position_ok(drain, &slot->tail, head, segment->ring_bytes)) {
		slot->time = drain->now;
		slot->text_id = 0;
		st_drain_forget_callers(slot);
		st_drain_forget_operator_stack(slot);
		atomic_store_explicit(&shared_ring->tail, slot->tail, memory_order_release);
		return;
	}
	bytes = head - slot->tail;
	copy_ring(drain->shared->words, st_shm_segment_ring(segment, slot_index),
		  segment->ring_bytes, slot->tail, head);
	slot->tail = head;
	/* At once: the producer gets its room back while we still decode. */
	atomic_store_explicit(&shared_ring->tail, head, memory_order_release);
	st_drain_decode(drain, segment, slot_index, drain->shared->words, bytes / 8);
	note_activity(activity, bytes, segment->ring_bytes);
}

static void take_samples(struct st_drain *drain, struct st_shm_segment *segment,
			 uint32_t slot_index, struct st_drain_activity *activity)
{
	struct st_slot_reader *slot = &segment->slots[slot_index];
	struct st_shm_ring *shared_ring =
		&st_shm_segment_slot(segment, slot_index)->ring[ST_RING_HANDLER];
	uint64_t head = slot->sample_head, bytes;

	if (head == slot->sample_tail)
		return;
	if (!position_ok(drain, &slot->sample_tail, head, segment->handler_bytes)) {
		st_drain_forget_stack(drain, slot);
		atomic_store_explicit(&shared_ring->tail, slot->sample_tail, memory_order_release);
		return;
	}
	bytes = head - slot->sample_tail;
	copy_ring(drain->shared->words, st_shm_segment_handler_ring(segment, slot_index),
		  segment->handler_bytes, slot->sample_tail, head);
	slot->sample_tail = head;
	atomic_store_explicit(&shared_ring->tail, head, memory_order_release);
	st_drain_decode_samples(drain, slot, drain->shared->words, bytes / 8);
	note_activity(activity, bytes, segment->handler_bytes);
}

static bool is_old(const struct st_drain *drain, const struct st_definition_batch *batch)
{
	return batch->count && drain->now_ns - batch->since_ns >= chunk_age_max_ns;
}

static void flush_old(struct st_drain *drain, bool all)
{
	for (uint32_t i = 0; i < drain->segment_count; i++) {
		struct st_shm_segment *segment = &drain->segments[i];

		for (uint32_t j = 0; j < segment->slot_count; j++) {
			struct st_slot_reader *slot = &segment->slots[j];

			if (slot->oldest_ns &&
			    (all || drain->now_ns - slot->oldest_ns >= chunk_age_max_ns))
				st_drain_flush_slot(drain, slot);
			if (slot->samples && slot->samples->oldest_ns &&
			    (all || drain->now_ns - slot->samples->oldest_ns >= chunk_age_max_ns))
				st_drain_flush_samples(drain, slot);
		}
	}
	st_drain_flush_devices(drain, all);
	st_drain_flush_off_cpu(drain, all);
	if (all || is_old(drain, &drain->definitions) || is_old(drain, &drain->passing))
		st_drain_flush_definitions(drain);
}

void st_drain_cycle(struct st_drain *drain, uint64_t now_ns, struct st_drain_activity *activity)
{
	struct st_drain_activity ignored = {0};

	if (!activity)
		activity = &ignored;
	drain->now_ns = now_ns;
	snapshot_heads(drain);
	activity->bytes += take_definitions(drain);
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t j = 0; j < drain->segments[i].slot_count; j++)
			take_slot(drain, &drain->segments[i], j, activity);
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t j = 0; j < drain->segments[i].slot_count; j++)
			take_samples(drain, &drain->segments[i], j, activity);
	st_drain_look_at_wanted(drain);
	flush_old(drain, false);
}

void st_drain_before_file(struct st_drain *drain)
{
	flush_old(drain, true);
	st_drain_flush_outside(drain);
}

void st_drain_definitions(struct st_drain *drain)
{
	drain->now = st_launch_clock_now(drain->shared->clock);
	take_definitions(drain);
	st_drain_flush_definitions(drain);
}

/* A worker of OpenMP whose region is over. */
static bool is_idle(struct st_shm_wait *wait)
{
	uint64_t begin = atomic_load_explicit(&wait->begin, memory_order_relaxed);

	return begin && atomic_load_explicit(&wait->kind, memory_order_relaxed) == ST_WAIT_REGION &&
	       atomic_load_explicit(&wait->region_begin, memory_order_relaxed) != begin;
}

/* Of a worker that is idle: the wait for the end of the last region, of which it has not told. */
static void take_last_region(struct st_slot_reader *slot, struct st_shm_wait *wait)
{
	uint64_t end = atomic_load_explicit(&wait->begin, memory_order_relaxed);
	uint64_t begin = atomic_load_explicit(&wait->region_begin, memory_order_relaxed);
	struct st_event event = {.kind = ST_EVENT_WAIT,
				 .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_TIME,
				 .detail = ST_WAIT_REGION,
				 .time = end};

	if (!is_idle(wait) || begin > end)
		return;
	if (slot->time < end)
		slot->time = end;
	event.value = atomic_load_explicit(&wait->object, memory_order_relaxed);
	event.extra = end - begin;
	st_slice_encoder_event(&slot->encoder, slot->time, &event);
}

/* As the thread would have told it: in as many sums as the number takes. */
static void put_sums(struct st_slot_reader *slot, struct st_event *sum, uint32_t wait_kind,
		     uint32_t count)
{
	for (; count; count -= st_wait_sum_part(count)) {
		sum->detail = st_wait_sum_detail(wait_kind, ST_WAIT_DONE, count);
		st_slice_encoder_event(&slot->encoder, slot->time, sum);
		sum->extra = 0;
	}
}

static void take_holds(struct st_drain *drain, struct st_slot_reader *slot,
		       struct st_shm_wait *wait)
{
	uint32_t count = atomic_load_explicit(&wait->hold_count, memory_order_relaxed);
	struct st_event sum = {.kind = ST_EVENT_HOLD_SUM, .mask = ST_FIELD_EXTRA};

	if (!count)
		return;
	if (slot->time < drain->now)
		slot->time = drain->now;
	sum.extra = atomic_load_explicit(&wait->hold_ticks, memory_order_relaxed);
	put_sums(slot, &sum, ST_WAIT_GIL, count);
	if (!slot->oldest_ns)
		slot->oldest_ns = drain->now_ns ? drain->now_ns : 1;
}

/* What a thread still waits in, and the short waits that it has not told, when nothing more is to come of it. */
static void take_open_wait(struct st_drain *drain, struct st_shm_segment *segment,
			   uint32_t slot_index)
{
	struct st_shm_wait *wait = &st_shm_segment_slot(segment, slot_index)->wait;
	struct st_slot_reader *slot = &segment->slots[slot_index];
	uint64_t begin = atomic_load_explicit(&wait->begin, memory_order_acquire);
	struct st_event open = {.kind = ST_EVENT_WAIT, .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA};
	struct st_event sum = {.kind = ST_EVENT_WAIT_SUM, .mask = ST_FIELD_EXTRA};
	uint32_t count = atomic_load_explicit(&wait->short_count, memory_order_relaxed);

	if (!slot->track || slot->ended)
		return;
	take_last_region(slot, wait);
	take_holds(drain, slot, wait);
	if (!begin && !count)
		return;
	if (slot->time < drain->now)
		slot->time = drain->now;
	open.detail =
		(atomic_load_explicit(&wait->kind, memory_order_relaxed) & ST_WAIT_KIND_MASK) |
		ST_WAIT_OPEN << ST_WAIT_SHIFT;
	open.value = atomic_load_explicit(&wait->object, memory_order_relaxed);
	if (is_idle(wait)) {
		open.detail = ST_WAIT_IDLE | ST_WAIT_OPEN << ST_WAIT_SHIFT;
		open.value = 0;
	}
	open.extra = slot->time - begin;
	sum.extra = atomic_load_explicit(&wait->short_ticks, memory_order_relaxed);
	put_sums(slot, &sum, 0, count);
	if (begin && begin < slot->time && begin >= drain->shared->start_ticks)
		st_slice_encoder_event(&slot->encoder, slot->time, &open);
	if (!slot->oldest_ns)
		slot->oldest_ns = drain->now_ns ? drain->now_ns : 1;
}

void st_drain_rest(struct st_drain *drain, uint64_t now_ns)
{
	/* Bounded: a hostile process could go on writing for ever. */
	for (int i = 0; i < REST_ROUNDS_MAX; i++) {
		struct st_drain_activity activity = {0};

		st_drain_cycle(drain, now_ns, &activity);
		if (!activity.bytes)
			break;
	}
	flush_old(drain, true);
	st_drain_flush_outside(drain);
	st_drain_last_loss(drain);
	st_drain_flush_definitions(drain);
}

void st_drain_end_waits(struct st_drain *drain)
{
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t j = 0; j < slots_used(&drain->segments[i]); j++)
			take_open_wait(drain, &drain->segments[i], j);
	flush_old(drain, true);
}

static bool records(const struct st_slot_reader *slot, uint32_t tid)
{
	return slot->track && slot->tid == tid;
}

static bool is_sampled(const struct st_slot_reader *slot, uint32_t tid)
{
	return slot->samples && slot->samples->track && (uint32_t)slot->samples->owner == tid;
}

static void end_owner(struct st_drain *drain, struct st_slot_reader *slot, uint32_t tid)
{
	if (is_sampled(slot, tid))
		st_drain_end_samples(drain, slot);
	if (!records(slot, tid))
		return;
	if (slot->time < slot->gone_ticks)
		slot->time = slot->gone_ticks;
	st_slice_encoder_mark(&slot->encoder, slot->time, ST_MARK_TRACK_END, 0);
	slot->ended = true;
	st_drain_flush_slot(drain, slot);
}

/* Two looks with the same result, a second apart: a thread that has just adopted the slot may not
 * have written its own tid yet. */
static void reap_slot(struct st_drain *drain, struct st_shm_segment *segment, uint32_t slot_index,
		      int pid)
{
	struct st_shm_slot *shared_slot = st_shm_segment_slot(segment, slot_index);
	struct st_slot_reader *slot = &segment->slots[slot_index];
	uint32_t state = ST_SLOT_OWNED, generation, tid;

	generation = atomic_load_explicit(&shared_slot->generation, memory_order_acquire);
	tid = atomic_load_explicit(&shared_slot->tid, memory_order_acquire);
	if (atomic_load_explicit(&shared_slot->state, memory_order_acquire) != ST_SLOT_OWNED ||
	    tid == 0 || tid > INT32_MAX || !(records(slot, tid) || is_sampled(slot, tid)) ||
	    slot->head != slot->tail || slot->sample_head != slot->sample_tail ||
	    !st_drain_thread_gone(pid, tid)) {
		slot->gone_ticks = 0;
		return;
	}
	if (!slot->gone_ticks || slot->silent_generation != generation ||
	    slot->silent_head != slot->head + slot->sample_head) {
		slot->gone_ticks = st_launch_clock_now(drain->shared->clock);
		slot->silent_generation = generation;
		slot->silent_head = slot->head + slot->sample_head;
		return;
	}
	if (atomic_compare_exchange_strong(&shared_slot->state, &state, ST_SLOT_DONE))
		end_owner(drain, slot, tid);
	slot->gone_ticks = 0;
}

void st_drain_reap_threads(struct st_drain *drain, int pid)
{
	for (uint32_t i = 0; i < drain->segment_count; i++) {
		uint32_t used = slots_used(&drain->segments[i]);

		for (uint32_t j = 0; j < used; j++)
			reap_slot(drain, &drain->segments[i], j, pid);
	}
	st_drain_reap_known(drain, pid);
}

void st_drain_control(struct st_drain *drain, uint32_t set, uint32_t clear)
{
	for (uint32_t i = 0; i < drain->segment_count; i++) {
		struct st_shm_header *head = st_shm_segment_header(&drain->segments[i]);

		/* Pairs with strata_device_put: what comes late is judged by it. */
		if (set & ST_CONTROL_STOPPED &
		    ~atomic_load_explicit(&head->control, memory_order_relaxed))
			atomic_store_explicit(&head->stopped,
					      st_launch_clock_now(drain->shared->clock),
					      memory_order_relaxed);
		if (set)
			atomic_fetch_or_explicit(&head->control, set, memory_order_release);
		if (clear & atomic_load_explicit(&head->control, memory_order_relaxed)) {
			/* Pairs with publish_paused: whoever sees the pause over knows since when. */
			atomic_store_explicit(&head->resumed,
					      st_launch_clock_now(drain->shared->clock),
					      memory_order_relaxed);
			atomic_fetch_and_explicit(&head->control, ~clear, memory_order_release);
		}
	}
}

uint32_t st_drain_control_word(const struct st_drain *drain)
{
	const struct st_shm_segment *segment = first_segment(drain);

	return segment ? atomic_load_explicit(&st_shm_segment_header(segment)->control,
					      memory_order_acquire)
		       : 0;
}

const struct st_drain_counts *st_drain_counts(const struct st_drain *drain)
{
	return &drain->counts;
}
