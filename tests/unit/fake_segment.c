/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes and fills segments for tests (fake_segment.h).
 */
#include "fake_segment.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rt/clock.h"
#include "format/ring_record.h"

enum { SIDE_RING_BYTES = 4096 };

bool fake_segment_create(struct fake_segment *segment, uint32_t slot_count, uint32_t ring_bytes)
{
	uint32_t slot_bytes = ring_bytes + 2 * SIDE_RING_BYTES;
	struct st_shm_header *header;

	memset(segment, 0, sizeof(*segment));
	segment->slot_count = slot_count;
	segment->ring_bytes = ring_bytes;
	segment->size_bytes = ST_SHM_RINGS_OFFSET + (uint64_t)slot_count * slot_bytes;
	segment->fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (segment->fd < 0 || ftruncate(segment->fd, (off_t)segment->size_bytes) != 0 ||
	    fcntl(segment->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return false;
	segment->map =
		mmap(NULL, segment->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
	if (segment->map == MAP_FAILED)
		return false;
	header = fake_segment_header(segment);
	header->magic = ST_SHM_MAGIC;
	header->layout_hash = ST_SHM_LAYOUT_HASH;
	header->slot_count = slot_count;
	header->slot_bytes = slot_bytes;
	header->ring_bytes[ST_RING_SLICE] = ring_bytes;
	header->ring_bytes[ST_RING_HANDLER] = SIDE_RING_BYTES;
	header->ring_bytes[ST_RING_FLOOD] = SIDE_RING_BYTES;
	header->clock = ST_CLOCK_MONO_RAW;
	atomic_store(&header->slots_used, slot_count);
	return true;
}

void fake_segment_destroy(struct fake_segment *segment)
{
	munmap(segment->map, segment->size_bytes);
	close(segment->fd);
}

struct st_shm_header *fake_segment_header(const struct fake_segment *segment)
{
	return (struct st_shm_header *)segment->map;
}

struct st_shm_slot *fake_segment_slot(const struct fake_segment *segment, uint32_t slot)
{
	return (struct st_shm_slot *)(segment->map + sizeof(struct st_shm_header)) + slot;
}

uint64_t *fake_segment_words(const struct fake_segment *segment, uint32_t slot)
{
	return (uint64_t *)(segment->map + ST_SHM_RINGS_OFFSET +
			    (size_t)slot * (segment->ring_bytes + 2 * SIDE_RING_BYTES));
}

static void push(struct st_shm_ring *ring, uint64_t *data, uint32_t ring_bytes,
		 const uint64_t *words, size_t count)
{
	uint64_t head = atomic_load(&ring->head);

	for (size_t i = 0; i < count; i++, head += 8)
		data[(head / 8) & (ring_bytes / 8 - 1)] = words[i];
	atomic_store_explicit(&ring->head, head, memory_order_release);
}

void fake_segment_push(const struct fake_segment *segment, uint32_t slot, const uint64_t *words,
		       size_t count)
{
	push(&fake_segment_slot(segment, slot)->ring[ST_RING_SLICE],
	     fake_segment_words(segment, slot), segment->ring_bytes, words, count);
}

void fake_segment_push_handler(const struct fake_segment *segment, uint32_t slot,
			       const uint64_t *words, size_t count)
{
	push(&fake_segment_slot(segment, slot)->ring[ST_RING_HANDLER],
	     fake_segment_words(segment, slot) + segment->ring_bytes / 8, SIDE_RING_BYTES, words,
	     count);
}

void fake_segment_define(const struct fake_segment *segment, unsigned int kind, uint32_t id,
			 const void *text, size_t size_bytes)
{
	uint64_t words[512] = {0};
	uint32_t count = 2 + (uint32_t)((size_bytes + 7) / 8);

	words[0] = st_word_definition((enum st_ring_definition)kind, count, id);
	words[1] = size_bytes;
	memcpy(words + 2, text, size_bytes);
	push(&fake_segment_header(segment)->definitions,
	     (uint64_t *)(segment->map + ST_SHM_HEADER_BYTES), ST_SHM_DEFINITIONS_BYTES, words,
	     count);
}

void fake_segment_own(const struct fake_segment *segment, uint32_t slot, uint32_t tid,
		      uint64_t time)
{
	uint64_t words[4] = {st_word_ext(ST_EXT_TIME, 2, 0), time, st_word_ext(ST_EXT_THREAD, 2, 0),
			     tid};

	atomic_store(&fake_segment_slot(segment, slot)->state, ST_SLOT_OWNED);
	atomic_store(&fake_segment_slot(segment, slot)->tid, tid);
	fake_segment_push(segment, slot, words, 4);
}
