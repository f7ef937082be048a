// SPDX-License-Identifier: Apache-2.0
//
// Samples of a program that is watched from outside, taken the same way as those of a handler ring: as its
// words. So stacks are merged, interned and written in one place only.
#include <stdlib.h>
#include <string.h>

#include "collect/launch/drain/clock.h"
#include "collect/launch/drain/drain_state.h"
#include "format/chunk.h"
#include "format/ring_record.h"

enum { SAMPLE_WORDS = 2, TIME_WORDS = 2, THREAD_WORDS = 2, RUNTIME_WORDS = 6 };

void st_outside_slots_fini(struct st_outside_slots *slots)
{
	for (uint32_t i = 0; i < slots->count; i++) {
		st_sample_reader_destroy(slots->slots[i]->samples);
		free(slots->slots[i]);
	}
	free(slots->slots);
	free(slots->words);
}

/* The place of a thread; NULL: no memory. */
static struct st_slot_reader *slot_of(struct st_outside_slots *slots, uint32_t tid, bool *fresh)
{
	struct st_slot_reader **more;

	*fresh = false;
	for (uint32_t i = 0; i < slots->count; i++)
		if (slots->slots[i]->tid == tid)
			return slots->slots[i];
	more = realloc(slots->slots, (slots->count + 1) * sizeof(*more));
	if (!more)
		return NULL;
	slots->slots = more;
	more[slots->count] = calloc(1, sizeof(**more));
	if (!more[slots->count])
		return NULL;
	*fresh = true;
	more[slots->count]->tid = tid;
	return more[slots->count++];
}

static uint64_t *put(uint64_t *at, enum st_ring_ext subkind, const uint64_t *payload,
		     uint32_t words)
{
	*at++ = st_word_ext(subkind, words + 1, 0);
	if (words)
		memcpy(at, payload, words * sizeof(*at));
	return at + words;
}

static uint64_t *put_sample(uint64_t *at, const struct st_drain_outside *sample)
{
	struct st_sample_counts counts = {.native_new = sample->native_count,
					  .python_new = sample->python_count};
	uint32_t words = SAMPLE_WORDS + sample->native_count + sample->python_count;

	*at++ = st_word_ext(ST_EXT_SAMPLE, words + 1, 0);
	*at++ = st_word_sample(sample->flags, &counts);
	*at++ = sample->weight_ns < UINT32_MAX || sample->flags & ST_SAMPLE_WAITING
			? sample->weight_ns
			: UINT32_MAX;
	if (sample->native_count)
		memcpy(at, sample->native, sample->native_count * sizeof(*at));
	at += sample->native_count;
	if (sample->python_count)
		memcpy(at, sample->python, sample->python_count * sizeof(*at));
	return at + sample->python_count;
}

void st_drain_take_outside(struct st_drain *drain, const struct st_drain_outside *sample)
{
	struct st_outside_slots *slots = &drain->outside;
	const uint64_t runtime[] = {sample->python_version, sample->eval[0], sample->eval[1],
				    sample->eval[2], sample->eval[3]};
	struct st_slot_reader *slot;
	uint64_t *at;
	bool fresh;

	slot = slot_of(slots, sample->tid, &fresh);
	if (!slots->words)
		slots->words = malloc((TIME_WORDS + THREAD_WORDS + RUNTIME_WORDS + SAMPLE_WORDS +
				       1 + 2 * (size_t)ST_SAMPLE_FRAMES_MAX) *
				      sizeof(*slots->words));
	if (!slot || !slots->words || sample->native_count > ST_SAMPLE_FRAMES_MAX ||
	    sample->python_count > ST_SAMPLE_FRAMES_MAX) {
		drain->counts.samples_not_taken++;
		return;
	}
	drain->now = st_launch_clock_now(drain->shared->clock);
	drain->now_ns = st_clock_mono_raw_ns();
	at = put(slots->words, ST_EXT_TIME, &sample->ticks, 1);
	if (fresh)
		at = put(at, ST_EXT_THREAD, &(uint64_t){sample->tid}, 1);
	if (sample->python_count && !(drain->segment_count && drain->python_runtime))
		at = put(at, ST_EXT_PYTHON_RUNTIME, runtime, RUNTIME_WORDS - 1);
	at = put_sample(at, sample);
	st_drain_decode_samples(drain, slot, slots->words, (size_t)(at - slots->words));
	if (slot->samples && slot->samples->oldest_ns &&
	    drain->now_ns - slot->samples->oldest_ns > (uint64_t)ST_CHUNK_AGE_MAX_MS * 1000000u)
		st_drain_flush_samples(drain, slot);
}

void st_drain_end_outside(struct st_drain *drain, uint32_t tid)
{
	struct st_outside_slots *slots = &drain->outside;

	for (uint32_t i = 0; i < slots->count; i++) {
		if (slots->slots[i]->tid != tid)
			continue;
		st_drain_end_samples(drain, slots->slots[i]);
		memset(slots->slots[i], 0, sizeof(*slots->slots[i]));
	}
}

void st_drain_flush_outside(struct st_drain *drain)
{
	for (uint32_t i = 0; i < drain->outside.count; i++)
		st_drain_flush_samples(drain, drain->outside.slots[i]);
	st_drain_flush_definitions(drain);
}
