// SPDX-License-Identifier: Apache-2.0
//
// Checks a descriptor that a target handed over and maps it. Without the seals a later truncate in the
// target would be a SIGBUS here, so an unsealed or wrongly sized one is refused before it is touched.
#include "collect/launch/drain/drain_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum { RING_BYTES_MIN = 4096, RING_BYTES_MAX = 4 << 20 };

static bool ring_size_ok(uint32_t bytes)
{
	return bytes >= RING_BYTES_MIN && bytes <= RING_BYTES_MAX && (bytes & (bytes - 1)) == 0;
}

static enum st_status check_descriptor(int fd, uint64_t segment_bytes, struct st_error *err)
{
	struct statfs fs;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
		return st_error_set(err, ST_ECORRUPT, 0, "the shared memory is not sealed");
	/* Huge pages may be missing when touched; only plain shared memory is taken. */
	if (fstatfs(fd, &fs) != 0 || fs.f_type != TMPFS_MAGIC || fstat(fd, &st) != 0 ||
	    !S_ISREG(st.st_mode))
		return st_error_set(err, ST_ECORRUPT, 0, "not a shared memory descriptor");
	if ((uint64_t)st.st_size != segment_bytes || segment_bytes < ST_SHM_RINGS_OFFSET)
		return st_error_set(err, ST_ECORRUPT, 0, "the shared memory has a wrong size");
	return ST_OK;
}

/* The header is copied once; the copy is what is tested and kept. */
static enum st_status check_header(struct st_shm_segment *segment, enum st_clock clock,
				   struct st_error *err)
{
	struct st_shm_header head;
	uint64_t rings = 0;

	memcpy(&head, segment->map, sizeof(head));
	if (head.magic != ST_SHM_MAGIC)
		return st_error_set(err, ST_ECORRUPT, 0, "the shared memory has no header");
	if (head.layout_hash != ST_SHM_LAYOUT_HASH)
		return st_error_set(err, ST_EVERSION, 0, "the collector is of another build");
	if (head.clock != (uint32_t)clock)
		return st_error_set(err, ST_EVERSION, 0, "the collector uses another clock");
	for (int i = 0; i < ST_RING_KINDS; i++) {
		if (!ring_size_ok(head.ring_bytes[i]))
			return st_error_set(err, ST_ECORRUPT, 0, "impossible ring size");
		rings += head.ring_bytes[i];
	}
	if (head.slot_count == 0 || head.slot_count > ST_SHM_SLOTS ||
	    head.segment_index >= ST_SHM_SEGMENTS_MAX || head.slot_bytes != rings ||
	    segment->size_bytes !=
		    ST_SHM_RINGS_OFFSET + (uint64_t)head.slot_count * head.slot_bytes)
		return st_error_set(err, ST_ECORRUPT, 0, "impossible slot layout");
	segment->index = head.segment_index;
	segment->slot_count = head.slot_count;
	segment->slot_bytes = head.slot_bytes;
	segment->ring_bytes = head.ring_bytes[ST_RING_SLICE];
	segment->handler_bytes = head.ring_bytes[ST_RING_HANDLER];
	return ST_OK;
}

enum st_status st_shm_segment_map(struct st_shm_segment *segment, int fd, uint64_t segment_bytes,
				  enum st_clock clock, struct st_error *err)
{
	enum st_status status;
	void *map;

	memset(segment, 0, sizeof(*segment));
	status = check_descriptor(fd, segment_bytes, err);
	if (status)
		return status;
	map = mmap(NULL, segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return st_error_set(err, ST_EIO, errno, "cannot map the shared memory");
	segment->map = map;
	segment->size_bytes = segment_bytes;
	status = check_header(segment, clock, err);
	if (!status) {
		segment->slots = calloc(segment->slot_count, sizeof(*segment->slots));
		if (!segment->slots)
			status = st_error_set(err, ST_ENOMEM, 0, "out of memory");
	}
	if (status) {
		st_shm_segment_unmap(segment);
		return status;
	}
	for (uint32_t i = 0; i < segment->slot_count; i++) {
		st_slice_encoder_init(&segment->slots[i].encoder);
		st_slice_encoder_init(&segment->slots[i].calls);
	}
	return ST_OK;
}

void st_shm_segment_unmap(struct st_shm_segment *segment)
{
	for (uint32_t i = 0; segment->slots && i < segment->slot_count; i++) {
		st_slice_encoder_fini(&segment->slots[i].encoder);
		st_slice_encoder_fini(&segment->slots[i].calls);
		free(segment->slots[i].stack.words);
		st_open_fini(&segment->slots[i]);
		st_sample_reader_destroy(segment->slots[i].samples);
	}
	free(segment->slots);
	if (segment->map)
		munmap(segment->map, segment->size_bytes);
	memset(segment, 0, sizeof(*segment));
}
