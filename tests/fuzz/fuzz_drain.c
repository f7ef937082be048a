/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: the drain over shared memory full of whatever the fuzzer likes. The first two bytes
 * choose ring positions; then come definition words and slice words. What is handed on must decode.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/fake_segment.h"
#include "collect/launch/drain.h"
#include "format/chunk.h"
#include "format/definitions.h"
#include "format/ring_record.h"
#include "format/slices.h"

enum { RING_BYTES = 4096, SLOTS = 2, HEAD_BYTES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static void on_trace(void *arg, struct st_chunk_header *header, const struct st_buf *payload)
{
	struct st_slice_decoder decoder;
	struct st_slice_record record;
	struct st_error err = {0};
	uint64_t time = 0;

	(void)arg;
	if (st_slice_decoder_init(&decoder, header, payload->data, payload->size_bytes, &err))
		abort();
	while (st_slice_decoder_next(&decoder, &record, &err)) {
		if (record.time < time)
			abort();
		time = record.time;
	}
	if (err.status)
		abort();
}

static void on_definitions(void *arg, uint32_t process, uint64_t time, uint32_t record_count,
			   const struct st_buf *payload)
{
	struct st_cursor cursor = {.at = payload->data, .end = payload->data + payload->size_bytes};
	enum st_definition_type type;
	struct st_cursor body;
	uint32_t count = 0;

	(void)arg;
	(void)process;
	(void)time;
	while (st_definition_next(&cursor, &type, &body))
		count++;
	if (count != record_count)
		abort();
}

/* The segment stays mapped between runs; only what an input touches is cleared. */
static struct fake_segment segment;

static void fill(const uint8_t *data, size_t size_bytes)
{
	size_t half = size_bytes / 2;
	uint8_t *definitions = segment.map + ST_SHM_HEADER_BYTES;

	memset(segment.map + sizeof(struct st_shm_header), 0, SLOTS * sizeof(struct st_shm_slot));
	memcpy(definitions, data, half < 65536 ? half : 65536);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		size_t bytes = size_bytes - half < RING_BYTES ? size_bytes - half : RING_BYTES;

		memset(fake_segment_words(&segment, slot), 0, RING_BYTES);
		memcpy(fake_segment_words(&segment, slot), data + half, bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct st_drain_sink sink = {.trace = on_trace, .definitions = on_definitions};
	struct st_drain_shared shared;
	struct st_drain *drain;
	struct st_error err = {0};

	if (size_bytes < HEAD_BYTES)
		return 0;
	if (!segment.map && !fake_segment_create(&segment, SLOTS, RING_BYTES))
		abort();
	fill(data + HEAD_BYTES, size_bytes - HEAD_BYTES);
	st_drain_shared_init(&shared, &sink, ST_CLOCK_MONO_RAW, 1);
	if (st_drain_create(&drain, &shared, 1, &err) ||
	    st_drain_add_segment(drain, segment.fd, segment.size_bytes, &err))
		abort();
	atomic_store(&fake_segment_header(&segment)->definitions.head, data[0] * 64u + data[2] % 9);
	atomic_store(&fake_segment_slot(&segment, 0)->ring[0].head, data[1] * 24u);
	st_drain_cycle(drain, 1, NULL);
	/* A second round from where the first ended, and one that must be refused. */
	atomic_store(&fake_segment_slot(&segment, 0)->ring[0].head, data[1] * 24u + data[3] * 8u);
	atomic_store(&fake_segment_slot(&segment, 1)->ring[0].head, data[2] * 100u);
	st_drain_cycle(drain, 2, NULL);
	st_drain_rest(drain, 3);
	st_drain_destroy(drain);
	st_drain_shared_fini(&shared);
	return 0;
}
