// SPDX-License-Identifier: Apache-2.0
//
// What was lost, as definitions: one record per process (track 0) and one per track, written whenever a
// figure has changed. The counters live in shared memory and run on over all owners of a slot. In a ring buffer
// these records go with the files and every file has them anew; only the last of a process stays.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collect/launch/drain/drain_state.h"

static uint64_t load(_Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void st_drain_refuse(struct st_drain *drain, const char *format, ...)
{
	struct st_drain_counts *counts = &drain->counts;
	va_list arguments;

	if (!counts->suspect++) {
		va_start(arguments, format);
		vsnprintf(counts->refused_first, sizeof(counts->refused_first), format, arguments);
		va_end(arguments);
	}
}

static void write_loss(struct st_drain *drain, struct st_definition_batch *batch, uint32_t track,
		       const struct st_drain_counts *loss)
{
	size_t record = st_drain_define(drain, batch, ST_DEF_LOSS);
	struct st_buf *out = &batch->records;

	st_buf_append_u32(out, track);
	st_buf_append_u64(out, loss->dropped);
	st_buf_append_u64(out, loss->unmatched_ends);
	st_buf_append_u64(out, loss->no_slot);
	st_buf_append_u64(out, loss->labels_cut);
	st_buf_append_u64(out, loss->labels_unknown);
	st_buf_append_u64(out, loss->suspect);
	st_buf_append_u64(out, loss->events_dropped);
	st_buf_append_u64(out, loss->events_cut);
	st_buf_append_u64(out, loss->samples_dropped);
	st_drain_defined(batch, record);
}

static void write_sampler_loss(struct st_drain *drain, struct st_definition_batch *batch,
			       const struct st_drain_counts *loss)
{
	size_t record = st_drain_define(drain, batch, ST_DEF_SAMPLER_LOSS);
	struct st_buf *out = &batch->records;

	st_buf_append_u64(out, loss->samples_dropped);
	st_buf_append_u64(out, loss->samples_not_taken);
	st_buf_append_u64(out, loss->handler_ticks);
	st_buf_append_u64(out, loss->nodes_refused);
	st_buf_append_u64(out, loss->before_tables);
	st_buf_append_u64(out, loss->build_ns);
	st_buf_append_u64(out, loss->tables_built);
	st_buf_append_u64(out, loss->tables_cached);
	st_drain_defined(batch, record);
}

/* Writes the track's record when a figure differs from the last one. */
static void write_track_loss(struct st_drain *drain, struct st_slot_reader *slot,
			     const struct st_drain_counts *loss)
{
	if (loss->dropped == slot->dropped_written &&
	    loss->unmatched_ends == slot->unmatched_written &&
	    loss->events_dropped == slot->events_dropped_written &&
	    loss->events_cut == slot->events_cut_written)
		return;
	slot->dropped_written = loss->dropped;
	slot->unmatched_written = loss->unmatched_ends;
	slot->events_dropped_written = loss->events_dropped;
	slot->events_cut_written = loss->events_cut;
	write_loss(drain, st_drain_passing(drain), slot->track, loss);
}

static void slot_loss(struct st_drain *drain, struct st_shm_segment *segment, uint32_t slot_index)
{
	struct st_shm_ring *ring = &st_shm_segment_slot(segment, slot_index)->ring[ST_RING_SLICE];
	struct st_slot_reader *slot = &segment->slots[slot_index];
	struct st_drain_counts loss = {0};

	loss.dropped = load(&ring->dropped) - slot->dropped_before;
	loss.unmatched_ends = load(&ring->unmatched_ends) - slot->unmatched_before;
	loss.events_dropped = load(&ring->events_dropped) - slot->events_dropped_before;
	loss.events_cut = load(&ring->events_cut) - slot->events_cut_before;
	/* Records still in the ring may belong to the next owner, and so may the counts. */
	if (!slot->track || slot->head != slot->tail || slot->head != load(&ring->head))
		return;
	write_track_loss(drain, slot, &loss);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void st_drain_settle_loss(struct st_drain *drain, struct st_shm_segment *segment,
			  uint32_t slot_index)
{
	struct st_shm_ring *ring = &st_shm_segment_slot(segment, slot_index)->ring[ST_RING_SLICE];
	struct st_slot_reader *slot = &segment->slots[slot_index];
	uint64_t dropped = load(&ring->events_dropped), cut = load(&ring->events_cut);
	struct st_drain_counts loss = {0};

	loss.dropped = larger(slot->dropped_told, slot->dropped_written);
	loss.unmatched_ends = larger(slot->unmatched_told, slot->unmatched_written);
	loss.events_dropped = dropped - slot->events_dropped_before;
	loss.events_cut = cut - slot->events_cut_before;
	if (loss.events_dropped != slot->events_dropped_written ||
	    loss.events_cut != slot->events_cut_written)
		write_track_loss(drain, slot, &loss);
	slot->events_dropped_before = dropped;
	slot->events_cut_before = cut;
	slot->events_dropped_written = slot->events_cut_written = 0;
}

static void sum_segment(struct st_drain_counts *counts, struct st_shm_segment *segment)
{
	struct st_shm_header *head = st_shm_segment_header(segment);

	counts->no_slot += load(&head->lost_no_slot);
	counts->labels_cut += load(&head->labels_cut);
	counts->labels_unknown += load(&head->labels_unknown);
	counts->notices |= atomic_load_explicit(&head->notices, memory_order_relaxed);
	counts->profiled += atomic_load_explicit(&head->profiled, memory_order_relaxed);
	counts->makers_forgotten += load(&head->makers_forgotten);
	for (uint32_t i = 0; i < segment->slot_count; i++) {
		struct st_shm_ring *ring = &st_shm_segment_slot(segment, i)->ring[ST_RING_SLICE];

		counts->dropped += load(&ring->dropped);
		counts->unmatched_ends += load(&ring->unmatched_ends);
		counts->events_dropped += load(&ring->events_dropped);
		counts->events_cut += load(&ring->events_cut);
		ring = &st_shm_segment_slot(segment, i)->ring[ST_RING_HANDLER];
		counts->samples_dropped += load(&ring->dropped);
	}
}

/* The counters run on over all results that the process is recorded in. */
static void take_away(struct st_drain_counts *counts, const struct st_drain_counts *before)
{
	counts->dropped -= before->dropped;
	counts->unmatched_ends -= before->unmatched_ends;
	counts->no_slot -= before->no_slot;
	counts->labels_cut -= before->labels_cut;
	counts->labels_unknown -= before->labels_unknown;
	counts->events_dropped -= before->events_dropped;
	counts->events_cut -= before->events_cut;
	counts->samples_dropped -= before->samples_dropped;
	counts->profiled -= before->profiled;
	counts->makers_forgotten -= before->makers_forgotten;
}

static bool same_loss(const struct st_drain_counts *a, const struct st_drain_counts *b)
{
	return a->dropped == b->dropped && a->unmatched_ends == b->unmatched_ends &&
	       a->no_slot == b->no_slot && a->labels_cut == b->labels_cut &&
	       a->labels_unknown == b->labels_unknown && a->suspect == b->suspect &&
	       a->events_dropped == b->events_dropped && a->events_cut == b->events_cut &&
	       a->samples_dropped == b->samples_dropped;
}

static bool same_sampler_loss(const struct st_drain_counts *a, const struct st_drain_counts *b)
{
	return a->samples_dropped == b->samples_dropped &&
	       a->samples_not_taken == b->samples_not_taken &&
	       a->handler_ticks == b->handler_ticks && a->nodes_refused == b->nodes_refused &&
	       a->before_tables == b->before_tables && a->build_ns == b->build_ns &&
	       a->tables_built == b->tables_built && a->tables_cached == b->tables_cached;
}

/* Those of the process that differ from what was told. */
static void write_changed(struct st_drain *drain, struct st_definition_batch *batch,
			  const struct st_drain_counts *told)
{
	const struct st_drain_counts *counts = &drain->counts;

	if (!same_sampler_loss(counts, told))
		write_sampler_loss(drain, batch, counts);
	if (!same_loss(counts, told))
		write_loss(drain, batch, 0, counts);
}

static void sum_loss(struct st_drain *drain)
{
	struct st_drain_counts *counts = &drain->counts;

	counts->dropped = counts->unmatched_ends = counts->no_slot = 0;
	counts->labels_cut = counts->labels_unknown = 0;
	counts->events_dropped = drain->code_dropped;
	counts->events_cut = 0;
	counts->samples_dropped = counts->profiled = counts->makers_forgotten = 0;
	counts->samples_not_taken = st_drain_not_taken(drain);
	counts->nodes_refused = drain->tree.refused;
	for (uint32_t i = 0; i < drain->segment_count; i++)
		sum_segment(counts, &drain->segments[i]);
}

static void renew_slot(struct st_drain *drain, struct st_shm_segment *segment, uint32_t slot_index)
{
	struct st_shm_ring *ring = &st_shm_segment_slot(segment, slot_index)->ring[ST_RING_SLICE];
	struct st_slot_reader *slot = &segment->slots[slot_index];

	if (!slot->track || slot->ended)
		return;
	slot->dropped_before = load(&ring->dropped);
	slot->unmatched_before = load(&ring->unmatched_ends);
	slot->events_dropped_before = load(&ring->events_dropped);
	slot->events_cut_before = load(&ring->events_cut);
	slot->dropped_told = slot->unmatched_told = 0;
	slot->dropped_written = slot->unmatched_written = 0;
	slot->events_dropped_written = slot->events_cut_written = 0;
	slot->text_id = 0;
	st_drain_define_thread(drain, slot->track, slot->tid, slot->first_time);
}

void st_drain_renew(struct st_drain *drain)
{
	struct st_drain_counts *counts = &drain->counts, fresh = {.tracks = counts->tracks};

	sum_loss(drain);
	drain->lost_before = *counts;
	fresh.operator_level = counts->operator_level;
	memcpy(fresh.framework, counts->framework, sizeof(fresh.framework));
	*counts = drain->written = fresh;
	st_text_ids_forget(&drain->texts);
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t j = 0; j < drain->segments[i].slot_count; j++)
			renew_slot(drain, &drain->segments[i], j);
	st_drain_renew_devices(drain);
	st_drain_renew_off_cpu(drain);
	st_drain_flush_definitions(drain);
}

void st_drain_write_loss(struct st_drain *drain)
{
	struct st_drain_counts *counts = &drain->counts;

	sum_loss(drain);
	take_away(counts, &drain->lost_before);
	for (uint32_t i = 0; i < drain->segment_count; i++)
		for (uint32_t j = 0; j < drain->segments[i].slot_count; j++)
			slot_loss(drain, &drain->segments[i], j);
	counts->callers_unknown = drain->maps.unknown + drain->maps.waiting;
	write_changed(drain, st_drain_passing(drain), &drain->written);
	drain->written = *counts;
}

void st_drain_renew_loss(struct st_drain *drain)
{
	memset(&drain->written, 0, sizeof(drain->written));
	st_drain_write_loss(drain);
}

void st_drain_last_loss(struct st_drain *drain)
{
	st_drain_write_loss(drain);
	/* Whatever becomes of the trace file. */
	if (drain->shared->ring_buffer)
		write_changed(drain, &drain->definitions, &(struct st_drain_counts){0});
}
