/* SPDX-License-Identifier: Apache-2.0
 *
 * A segment of shared memory as a collector would make it, for tests of the drain: words are pushed
 * into its rings by hand, well-formed or not.
 */
#ifndef ST_TESTS_FAKE_SEGMENT_H
#define ST_TESTS_FAKE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/shm.h"

struct fake_segment {
	int fd;
	uint8_t *map;
	uint64_t size_bytes;
	uint32_t slot_count, ring_bytes;
};

/* Sealed and with a good header; false when the system refuses. */
bool fake_segment_create(struct fake_segment *segment, uint32_t slot_count, uint32_t ring_bytes);
void fake_segment_destroy(struct fake_segment *segment);
struct st_shm_header *fake_segment_header(const struct fake_segment *segment);
struct st_shm_slot *fake_segment_slot(const struct fake_segment *segment, uint32_t slot);
uint64_t *fake_segment_words(const struct fake_segment *segment, uint32_t slot);
/* Appends to the slice ring of a slot and publishes. */
void fake_segment_push(const struct fake_segment *segment, uint32_t slot, const uint64_t *words,
		       size_t count);
/* The same to its handler ring, which has 4096 bytes. */
void fake_segment_push_handler(const struct fake_segment *segment, uint32_t slot,
			       const uint64_t *words, size_t count);
/* Appends one definition and publishes. */
void fake_segment_define(const struct fake_segment *segment, unsigned int kind, uint32_t id,
			 const void *text, size_t size_bytes);
/* The first records of an owner: time and thread. */
void fake_segment_own(const struct fake_segment *segment, uint32_t slot, uint32_t tid,
		      uint64_t time);

#endif
