// SPDX-License-Identifier: Apache-2.0
//
// Creates, completes, checks and maps index.strata (store/index/index_map.h). Space is allocated before it
// is mapped, because writing into a mapping of a full disk is a signal, not an error.
#include "store/index/index_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/leftover.h"
#include "format/chunk.h"
#include "store/model/source.h"

enum {
	HEAD_OFFSET = sizeof(struct st_chunk_header) + sizeof(struct st_file_head),
	COLUMNS_OFFSET = 4096,
	COLUMN_ALIGN = 64,
	TAIL_BYTES = 4096,
	META_MAX_BYTES = INT32_MAX,
};

static const char index_name[] = "index.strata";

static size_t aligned(size_t bytes)
{
	return (bytes + COLUMN_ALIGN - 1) & ~(size_t)(COLUMN_ALIGN - 1);
}

/* Hands out places one behind the other; without a map only the offset moves. */
struct place {
	uint8_t *map;
	size_t at;
};

static void *next_column(struct place *place, size_t count, size_t item_bytes)
{
	void *column = place->map ? place->map + place->at : NULL;

	place->at += aligned(count * item_bytes);
	return column;
}

/* Points the columns into the map, unless there is none; returns the offset behind the last one. */
static size_t place_columns(struct st_index_columns *columns, uint8_t *map,
			    const struct st_index_shape *shape)
{
	struct place place = {.map = map, .at = COLUMNS_OFFSET};
	size_t rows = shape->row_count, samples = shape->sample_count;
	struct st_index_columns out;

	out.begin_ns = next_column(&place, rows, sizeof(*out.begin_ns));
	out.end_ns = next_column(&place, rows, sizeof(*out.end_ns));
	out.self_ns = next_column(&place, rows, sizeof(*out.self_ns));
	out.label = next_column(&place, rows, sizeof(*out.label));
	out.track = next_column(&place, rows, sizeof(*out.track));
	out.parent = next_column(&place, rows, sizeof(*out.parent));
	out.depth = next_column(&place, rows, sizeof(*out.depth));
	out.flags = next_column(&place, rows, sizeof(*out.flags));
	out.samples.time_ns = next_column(&place, samples, sizeof(*out.samples.time_ns));
	out.samples.weight_ns = next_column(&place, samples, sizeof(*out.samples.weight_ns));
	out.samples.node = next_column(&place, samples, sizeof(*out.samples.node));
	out.samples.track = next_column(&place, samples, sizeof(*out.samples.track));
	out.samples.slice = next_column(&place, samples, sizeof(*out.samples.slice));
	out.samples.inherited = next_column(&place, samples, sizeof(*out.samples.inherited));
	out.samples.flags = next_column(&place, samples, sizeof(*out.samples.flags));
	out.events = next_column(&place, shape->event_count, sizeof(*out.events));
	out.callers = NULL;
	if (shape->has_callers)
		out.callers = next_column(&place, rows, sizeof(*out.callers));
	if (columns)
		*columns = out;
	return place.at;
}

static uint32_t tail_crc(const struct st_source_file *file)
{
	size_t bytes = file->size_bytes < TAIL_BYTES ? file->size_bytes : TAIL_BYTES;

	return bytes ? st_crc32c(0, file->data + file->size_bytes - bytes, bytes) : 0;
}

struct st_index_key st_index_key_of(const struct st_source *source)
{
	struct st_index_key key = {.builder = ST_INDEX_BUILDER};

	key.definitions_bytes = source->definitions.size_bytes;
	key.definitions_last_crc = tail_crc(&source->definitions);
	key.segment_count = source->segment_count;
	for (uint32_t i = 0; i < source->segment_count; i++) {
		key.trace_bytes += source->segments[i].size_bytes;
		key.trace_last_crc ^= tail_crc(&source->segments[i]) + i;
	}
	return key;
}

static uint32_t head_crc(struct st_index_head head)
{
	head.head_crc = 0;
	return st_crc32c(0, &head, sizeof(head));
}

/* Points the sections into the map; *end is behind the last one. False: they are not all there. */
static bool place_sections(struct st_index *index, const struct st_index_head *head, size_t *end)
{
	size_t at = place_columns(NULL, NULL, &head->shape);

	for (unsigned int i = 0; i < ST_SECTIONS_MAX; i++) {
		uint64_t bytes = head->section_bytes[i];

		if (at > index->map_bytes || bytes > index->map_bytes - at)
			return false;
		index->sections[i] =
			(struct st_index_block){.data = index->map + at, .size_bytes = bytes};
		at += aligned((size_t)bytes);
	}
	*end = at;
	return at <= index->map_bytes;
}

static bool check_map(struct st_index *index, const struct st_index_key *key)
{
	struct st_index_head head;
	struct st_chunk_header chunk;
	size_t end;

	if (index->map_bytes < COLUMNS_OFFSET ||
	    st_chunk_check(index->map, HEAD_OFFSET, &chunk, NULL) || chunk.type != ST_CHUNK_FILE)
		return false;
	memcpy(&head, index->map + HEAD_OFFSET, sizeof(head));
	if (head.head_crc != head_crc(head) || memcmp(&head.key, key, sizeof(*key)) != 0)
		return false;
	if (!place_sections(index, &head, &end))
		return false;
	if (head.meta_offset != end || head.meta_bytes != index->map_bytes - end)
		return false;
	index->shape = head.shape;
	place_columns(&index->columns, index->map, &head.shape);
	index->meta = index->map + end;
	index->meta_bytes = (size_t)head.meta_bytes;
	return st_crc32c(0, index->meta, index->meta_bytes) == head.meta_crc &&
	       st_crc32c(0, index->map + COLUMNS_OFFSET, end - COLUMNS_OFFSET) == head.columns_crc;
}

bool st_index_load(struct st_index *index, int dir_fd, const struct st_index_key *key)
{
	struct stat about;
	void *map = MAP_FAILED;
	int fd = -1;

	memset(index, 0, sizeof(*index));
	index->fd = index->dir_fd = -1;
	if (dir_fd >= 0)
		fd = openat(dir_fd, index_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size >= COLUMNS_OFFSET)
		map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	index->map = map;
	index->map_bytes = (size_t)about.st_size;
	if (check_map(index, key))
		return true;
	st_index_close(index);
	return false;
}

static void drop_file(struct st_index *index)
{
	if (index->fd >= 0)
		close(index->fd);
	index->fd = -1;
	if (index->temporary_name[0])
		unlinkat(index->dir_fd, index->temporary_name, 0);
	if (index->temporary_name[0])
		st_leftover_forget(index->leftover);
	index->temporary_name[0] = '\0';
}

/* A file of that size with all its blocks there, or nothing. */
static void create_file(struct st_index *index, size_t bytes)
{
	snprintf(index->temporary_name, sizeof(index->temporary_name), ".%s.%ld", index_name,
		 (long)getpid());
	index->leftover = st_leftover_add(index->dir_fd, index->temporary_name);
	index->fd = openat(index->dir_fd, index->temporary_name,
			   O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (index->fd < 0) {
		st_leftover_forget(index->leftover);
		index->temporary_name[0] = '\0';
		return;
	}
	if (fallocate(index->fd, 0, 0, (off_t)bytes) != 0)
		drop_file(index);
}

enum st_status st_index_create(struct st_index *index, int dir_fd,
			       const struct st_index_shape *shape, struct st_error *err)
{
	size_t bytes = place_columns(NULL, NULL, shape);
	void *map;

	memset(index, 0, sizeof(*index));
	index->fd = -1;
	index->dir_fd = dir_fd;
	index->shape = *shape;
	if (dir_fd >= 0)
		create_file(index, bytes);
	if (index->fd < 0) {
		index->fd = memfd_create(index_name, MFD_CLOEXEC);
		if (index->fd < 0 || ftruncate(index->fd, (off_t)bytes) != 0) {
			st_error_set(err, ST_EIO, errno, "cannot allocate space for the index");
			goto fail;
		}
	}
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, index->fd, 0);
	if (map == MAP_FAILED) {
		st_error_set(err, ST_ENOMEM, errno, "cannot map an index of %zu bytes", bytes);
		goto fail;
	}
	index->map = map;
	index->map_bytes = bytes;
	place_columns(&index->columns, index->map, shape);
	return ST_OK;
fail:
	drop_file(index);
	return err ? err->status : ST_EIO;
}

bool st_index_cut_events(struct st_index *index, uint32_t event_count)
{
	struct st_index_shape shape = index->shape;
	size_t bytes;

	shape.event_count = event_count;
	bytes = place_columns(NULL, NULL, &shape);
	if (ftruncate(index->fd, (off_t)bytes) ||
	    mremap(index->map, index->map_bytes, bytes, 0) == MAP_FAILED)
		return false;
	index->map_bytes = bytes;
	index->shape = shape;
	return true;
}

enum st_status st_index_add_callers(struct st_index *index, struct st_error *err)
{
	struct st_index_shape shape = index->shape;
	size_t bytes;
	void *map;
	int failed;

	shape.has_callers = 1;
	bytes = place_columns(NULL, NULL, &shape);
	failed = index->temporary_name[0] ? fallocate(index->fd, 0, 0, (off_t)bytes)
					  : ftruncate(index->fd, (off_t)bytes);
	if (failed)
		return st_error_set(err, ST_EIO, errno, "cannot allocate space for the index");
	map = mremap(index->map, index->map_bytes, bytes, MREMAP_MAYMOVE);
	if (map == MAP_FAILED)
		return st_error_set(err, ST_ENOMEM, errno, "cannot map an index of %zu bytes",
				    bytes);
	index->map = map;
	index->map_bytes = bytes;
	index->shape = shape;
	place_columns(&index->columns, index->map, &shape);
	return ST_OK;
}

static bool write_at(int fd, const void *data, size_t size_bytes, off_t offset)
{
	const uint8_t *at = data;

	while (size_bytes) {
		ssize_t n = pwrite(fd, at, size_bytes, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size_bytes -= (size_t)n;
		offset += n;
	}
	return true;
}

static bool write_heads(struct st_index *index, const struct st_file_head *file_head,
			const struct st_index_head *index_head)
{
	struct st_chunk_header chunk = {.type = ST_CHUNK_FILE, .record_count = 1};
	struct st_file_head head = *file_head;
	struct st_packer *packer = NULL;
	struct st_buf out;
	bool ok = false;

	head.file_kind = ST_FILE_INDEX;
	head.segment = 0;
	st_buf_init(&out, COLUMNS_OFFSET);
	/* A head that packs would not end where the index head begins; it never does by its size. */
	if (st_packer_create(&packer, NULL) == ST_OK &&
	    st_packer_append(packer, &chunk, &head, sizeof(head), &out, NULL) == ST_OK &&
	    out.size_bytes <= HEAD_OFFSET) {
		memcpy(index->map, out.data, out.size_bytes);
		memcpy(index->map + HEAD_OFFSET, index_head, sizeof(*index_head));
		ok = true;
	}
	st_packer_destroy(packer);
	st_buf_fini(&out);
	return ok;
}

/* Sections behind the columns, then meta; fills in what the head says of them. */
static bool write_behind(struct st_index *index, struct st_index_head *head,
			 const struct st_index_block *sections, const struct st_index_block *meta)
{
	static const uint8_t zeros[COLUMN_ALIGN];
	size_t at = index->map_bytes;
	uint32_t crc = st_crc32c(0, index->map + COLUMNS_OFFSET, at - COLUMNS_OFFSET);

	for (unsigned int i = 0; i < ST_SECTIONS_MAX; i++) {
		size_t bytes = (size_t)sections[i].size_bytes, padding = aligned(bytes) - bytes;

		head->section_bytes[i] = bytes;
		if (!bytes)
			continue;
		if (!write_at(index->fd, sections[i].data, bytes, (off_t)at) ||
		    !write_at(index->fd, zeros, padding, (off_t)(at + bytes)))
			return false;
		crc = st_crc32c(crc, sections[i].data, bytes);
		crc = st_crc32c(crc, zeros, padding);
		at += bytes + padding;
	}
	head->meta_offset = at;
	head->meta_bytes = meta->size_bytes;
	head->meta_crc = st_crc32c(0, meta->data, (size_t)meta->size_bytes);
	head->columns_crc = crc;
	return write_at(index->fd, meta->data, (size_t)meta->size_bytes, (off_t)at);
}

void st_index_commit(struct st_index *index, const struct st_index_key *key,
		     const struct st_file_head *head, const struct st_index_block *sections,
		     const struct st_index_block *meta)
{
	struct st_index_head index_head = {.key = *key, .shape = index->shape};

	if (index->temporary_name[0] && meta->size_bytes && meta->size_bytes <= META_MAX_BYTES &&
	    write_behind(index, &index_head, sections, meta)) {
		index_head.head_crc = head_crc(index_head);
		if (write_heads(index, head, &index_head) &&
		    renameat(index->dir_fd, index->temporary_name, index->dir_fd, index_name) ==
			    0) {
			st_leftover_forget(index->leftover);
			index->temporary_name[0] = '\0';
		}
	}
	drop_file(index);
	mprotect(index->map, index->map_bytes, PROT_READ);
}

void st_index_close(struct st_index *index)
{
	if (!index)
		return;
	drop_file(index);
	if (index->map)
		munmap(index->map, index->map_bytes);
	memset(index, 0, sizeof(*index));
	index->fd = index->dir_fd = -1;
}
