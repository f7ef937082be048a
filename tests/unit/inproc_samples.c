/* SPDX-License-Identifier: Apache-2.0 */
#include "inproc_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct reader {
	struct samples *samples;
	uint64_t process_token, time;
	uint32_t tid;
	bool timed, identified;
	struct sample previous; /* its stacks are those of the latest sample in samples */
};

static uint64_t *restore(const uint64_t *fresh, uint32_t fresh_count, uint32_t kept,
			 const uint64_t *before, uint32_t before_count)
{
	uint64_t *frames = calloc((size_t)fresh_count + kept + 1, sizeof(*frames));

	assert_non_null(frames);
	assert_true(kept <= before_count);
	for (uint32_t i = 0; i < fresh_count; i++)
		frames[i] = fresh[i];
	for (uint32_t i = 0; i < kept; i++)
		frames[fresh_count + i] = before[before_count - kept + i];
	return frames;
}

static void take_sample(struct reader *reader, const uint64_t *at, uint32_t size)
{
	struct samples *samples = reader->samples;
	struct sample sample = {
		.process_token = reader->process_token, .tid = reader->tid, .time = reader->time};
	uint32_t native_new = (uint32_t)(at[1] >> 16) & 4095, kept = (uint32_t)(at[1] >> 28) & 4095;
	uint32_t python_new = (uint32_t)(at[1] >> 40) & 4095,
		 python_kept = (uint32_t)(at[1] >> 52) & 4095;

	assert_true(reader->identified);
	assert_int_equal(size, 3 + native_new + python_new);
	sample.flags = (uint32_t)at[1] & 0xffff;
	sample.weight_ns = (uint32_t)at[2];
	sample.handler_ticks = (uint32_t)(at[2] >> 32);
	sample.native_count = native_new + kept;
	sample.python_count = python_new + python_kept;
	assert_true(sample.native_count > 0);
	sample.native = restore(at + 3, native_new, kept, reader->previous.native,
				reader->previous.native_count);
	sample.python = restore(at + 3 + native_new, python_new, python_kept,
				reader->previous.python, reader->previous.python_count);
	if (samples->count == samples->capacity) {
		samples->capacity = samples->capacity ? samples->capacity * 2 : 1024;
		samples->at = realloc(samples->at, samples->capacity * sizeof(*samples->at));
		assert_non_null(samples->at);
	}
	samples->at[samples->count++] = sample;
	reader->previous = sample;
}

static void take_extended(struct reader *reader, const uint64_t *at, uint32_t size)
{
	uint32_t subkind = (uint32_t)(at[0] >> 4) & 255;

	switch (subkind) {
	case ST_EXT_TIME:
		assert_int_equal(at[0] >> 28, 0);
		reader->time = at[1];
		reader->timed = true;
		return;
	case ST_EXT_THREAD:
		assert_true(reader->timed);
		reader->tid = (uint32_t)at[1];
		reader->identified = true;
		reader->previous = (struct sample){0};
		reader->samples->threads++;
		return;
	case ST_EXT_THREAD_END:
		assert_true(reader->identified);
		reader->identified = false;
		reader->samples->ends++;
		return;
	case ST_EXT_LOST:
		reader->samples->lost += at[1];
		return;
	case ST_EXT_SAMPLE:
		take_sample(reader, at, size);
		return;
	default:
		assert_true(subkind == ST_EXT_PYTHON_CODE || subkind == ST_EXT_PYTHON_RUNTIME);
	}
}

static void read_ring(struct reader *reader, const struct words *words)
{
	for (size_t at = 0; at < words->count;) {
		uint32_t size = (uint32_t)(words->at[at] >> 12) & 0xffff;

		assert_int_equal(words->at[at] & 15, ST_WORD_EXTENDED);
		assert_true(size >= 1 && size <= words->count - at);
		reader->time += words->at[at] >> 28;
		take_extended(reader, words->at + at, size);
		at += size;
	}
}

void samples_decode(struct samples *samples, const struct server *server)
{
	*samples = (struct samples){0};
	for (uint32_t i = 0; i < server->segment_count; i++) {
		const struct segment *segment = server->segments[i];

		for (uint32_t k = 0; k < segment->header->slot_count; k++) {
			struct reader reader = {.samples = samples,
						.process_token = segment->hello.process_token};

			read_ring(&reader, &segment->handler[k]);
		}
	}
}

void samples_free(struct samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		free(samples->at[i].native);
		free(samples->at[i].python);
	}
	free(samples->at);
	*samples = (struct samples){0};
}

uint64_t samples_weight_ns(const struct samples *samples, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < samples->count; i++)
		if (!end || (samples->at[i].native[0] >= start && samples->at[i].native[0] < end))
			sum += samples->at[i].weight_ns;
	return sum;
}
