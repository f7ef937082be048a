/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: the drain over shared memory full of whatever the fuzzer likes. The first four bytes choose
 * ring positions and whether there is a ring buffer; then come definition words and slice words; the last
 * bytes say what is scribbled over the memory between two rounds. What is handed on must decode, and every
 * id and length in it must be one that the reader may rely on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/fake_segment.h"
#include "collect/launch/drain/drain.h"
#include "format/chunk.h"
#include "format/definitions.h"
#include "format/event.h"
#include "format/ring_record.h"
#include "format/signature.h"
#include "format/slices.h"

enum { RING_BYTES = 4096, SLOTS = 2, HEAD_BYTES = 4, SCRIBBLES = 8, SCRIBBLE_BYTES = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static bool ring_buffer;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_event(const void *body, size_t size_bytes, bool is_code)
{
	struct st_event event;
	struct st_error err = {0};

	require(st_event_decode(&event, body, size_bytes, &err) == ST_OK);
	require(event.kind > 0 && event.kind < ST_EVENT_KINDS);
	require(event.domain <= ST_SHM_DOMAINS_MAX && event.name < 1u << 20);
	require(event.object <= ST_SHM_OBJECTS_MAX + 1 && event.clock <= ST_SHM_OBJECTS_MAX + 1);
	require(event.data_bytes <= ST_EVENT_DATA_MAX);
	require(is_code == (event.kind >= ST_EVENT_MODULE_LOAD && event.kind <= ST_EVENT_JIT));
}

static void check_slices(const struct st_chunk_header *header, const struct st_buf *payload)
{
	struct st_slice_decoder decoder;
	struct st_slice_record record;
	struct st_error err = {0};
	uint64_t time = 0;
	uint32_t events = 0;

	require(st_slice_decoder_init(&decoder, header, payload->data, payload->size_bytes, &err) ==
		ST_OK);
	while (st_slice_decoder_next(&decoder, &record, &err)) {
		require(record.time >= time);
		time = record.time;
		if (record.signature)
			require(record.signature <= ST_SHM_SIGNATURES_MAX && !record.caller &&
				record.sequence >= -1);
		if (record.mark == ST_MARK_EVENT) {
			check_event(record.body, record.value, false);
			events++;
		}
	}
	require(!err.status && events == header->event_count);
}

static void check_definition(enum st_definition_type type, struct st_cursor body)
{
	struct st_object_head head;
	uint32_t id;

	if (type == ST_DEF_CODE_EVENT) {
		st_cursor_u64(&body);
		st_cursor_u32(&body);
		id = st_cursor_u32(&body);
		require(!body.failed && id == (size_t)(body.end - body.at));
		check_event(body.at, id, true);
	} else if (type == ST_DEF_SIGNATURE) {
		struct st_signature_head signature;

		id = st_cursor_u32(&body);
		st_cursor_u32(&body);
		require(id > 0 && id <= ST_SHM_SIGNATURES_MAX && !body.failed);
		require(st_signature_read(&signature, body.at, (size_t)(body.end - body.at)));
	} else if (type == ST_DEF_OBJECT) {
		id = st_cursor_u32(&body);
		st_cursor_u32(&body);
		require(id > 0 && id <= ST_SHM_OBJECTS_MAX + 1);
		require(!body.failed && (size_t)(body.end - body.at) >= sizeof(head));
		memcpy(&head, body.at, sizeof(head));
		require(head.kind > 0 && head.kind < ST_OBJECT_KINDS);
		require((uint64_t)head.name_bytes + head.second_bytes + sizeof(head) <=
			(size_t)(body.end - body.at));
	}
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
	while (st_definition_next(&cursor, &type, &body)) {
		check_definition(type, body);
		count++;
	}
	require(count == record_count);
}

static void on_trace(void *arg, struct st_chunk_header *header, const struct st_buf *payload)
{
	if (header->type == ST_CHUNK_SLICES || header->type == ST_CHUNK_CALLS) {
		check_slices(header, payload);
		return;
	}
	require(ring_buffer);
	if (header->type == ST_CHUNK_DEFINITIONS)
		on_definitions(arg, 0, 0, header->record_count, payload);
	else
		require(header->type == ST_CHUNK_OPEN &&
			payload->size_bytes ==
				header->record_count * sizeof(struct st_open_record));
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

/* Words anywhere behind the header's fixed part: positions, counters, slots, rings. */
static void scribble(const uint8_t *data, size_t size_bytes)
{
	uint64_t *words = (uint64_t *)segment.map;
	const size_t first = sizeof(struct st_shm_header) / 8;
	const size_t slots = SLOTS * sizeof(struct st_shm_slot) / 8;
	const size_t rings = ST_SHM_RINGS_OFFSET / 8;

	for (int i = 0; i < SCRIBBLES && size_bytes >= SCRIBBLE_BYTES; i++) {
		uint16_t where;
		uint32_t value;

		memcpy(&where, data, sizeof(where));
		memcpy(&value, data + sizeof(where), sizeof(value));
		if (where & 1)
			words[first + (where >> 1) % slots] = value;
		else
			words[rings + (where >> 1) % (RING_BYTES / 8)] ^= (uint64_t)value << 4;
		data += SCRIBBLE_BYTES;
		size_bytes -= SCRIBBLE_BYTES;
	}
}

static void new_file(struct st_drain *drain)
{
	if (!ring_buffer)
		return;
	st_drain_before_file(drain);
	st_drain_after_file(drain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct st_drain_sink sink = {.trace = on_trace, .definitions = on_definitions};
	struct st_drain_shared shared;
	struct st_drain *drain;
	struct st_error err = {0};

	if (size_bytes < HEAD_BYTES)
		return 0;
	require(segment.map || fake_segment_create(&segment, SLOTS, RING_BYTES));
	fill(data + HEAD_BYTES, size_bytes - HEAD_BYTES);
	st_drain_shared_init(&shared, &sink, ST_CLOCK_MONO_RAW, 1);
	ring_buffer = shared.ring_buffer = data[2] & 0x80;
	require(!st_drain_create(&drain, &shared, 1, &err) &&
		!st_drain_add_segment(drain, segment.fd, segment.size_bytes, &err));
	atomic_store(&fake_segment_header(&segment)->definitions.head, data[0] * 64u + data[2] % 9);
	atomic_store(&fake_segment_slot(&segment, 0)->ring[0].head, data[1] * 24u);
	st_drain_cycle(drain, 1, NULL);
	new_file(drain);
	/* A second round from where the first ended, and one that must be refused. */
	atomic_store(&fake_segment_slot(&segment, 0)->ring[0].head, data[1] * 24u + data[3] * 8u);
	atomic_store(&fake_segment_slot(&segment, 1)->ring[0].head, data[2] * 100u);
	st_drain_cycle(drain, 2, NULL);
	scribble(data + HEAD_BYTES, size_bytes - HEAD_BYTES);
	st_drain_cycle(drain, 3, NULL);
	st_drain_write_loss(drain);
	new_file(drain);
	st_drain_rest(drain, 4);
	st_drain_destroy(drain);
	st_drain_shared_fini(&shared);
	return 0;
}
