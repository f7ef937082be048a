// SPDX-License-Identifier: Apache-2.0
//
// names.strata: what was resolved, kept in the result folder (docs/format/trace.md). Written under another
// name and renamed when complete. Everything read is checked: a file that does not match is rebuilt.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/leftover.h"
#include "format/chunk.h"
#include "resolve/names_key.h"
#include "resolve/names_pack.h"
#include "resolve/resolved.h"
#include "store/result.h"

enum { PIECE_BYTES = 1 << 20 };

static const char file_name[] = "names.strata";

static bool is_same(const struct st_names_key *kept, const struct st_names_key *wanted)
{
	struct st_names_key key = *kept;

	if (!wanted->search_crc)
		key.search_crc = 0;
	return memcmp(&key, wanted, sizeof(key)) == 0;
}

/* All chunks of the names after the file head, joined. */
static bool unpack(const uint8_t *data, size_t size_bytes, struct st_buf *out)
{
	struct st_unpacker *unpacker = NULL;
	struct st_chunk_header header = {0};
	struct st_buf raw;
	size_t at = 0;
	bool ok = st_unpacker_create(&unpacker, NULL) == ST_OK;

	st_buf_init(&raw, ST_CHUNK_RAW_MAX);
	while (ok && at < size_bytes && header.type != ST_CHUNK_END) {
		ok = st_chunk_check(data + at, size_bytes - at, &header, NULL) == ST_OK &&
		     st_unpacker_read(unpacker, &header, data + at + sizeof(header), &raw, NULL) ==
			     ST_OK;
		if (ok && header.type == ST_CHUNK_NAMES)
			ok = st_buf_append(out, raw.data, raw.size_bytes);
		at += sizeof(header) + header.packed_bytes;
	}
	st_buf_fini(&raw);
	st_unpacker_destroy(unpacker);
	return ok && header.type == ST_CHUNK_END;
}

static bool read_file(const char *folder, struct st_buf *out)
{
	char path[PATH_MAX];
	struct stat status;
	void *data = MAP_FAILED;
	bool ok = false;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", folder, file_name) >= PATH_MAX)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
		data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data != MAP_FAILED) {
		ok = unpack(data, (size_t)status.st_size, out);
		munmap(data, (size_t)status.st_size);
	}
	return ok;
}

bool st_resolved_load(struct st_resolved *out, const struct st_result *result,
		      const struct st_named_options *options)
{
	const char *folder = st_result_info(result)->path;
	struct st_names_key key, kept;
	struct st_buf bytes;
	bool ok = false;

	memset(out, 0, sizeof(*out));
	st_buf_init(&bytes, SIZE_MAX / 2);
	if (folder && read_file(folder, &bytes) && bytes.size_bytes >= sizeof(kept)) {
		key = st_names_key_of(result, options);
		memcpy(&kept, bytes.data, sizeof(kept));
		ok = is_same(&kept, &key) &&
		     st_names_unpack(out, &bytes, sizeof(kept), key.node_count);
	}
	st_buf_fini(&bytes);
	return ok;
}

static bool append(struct st_packer *packer, struct st_chunk_header *header, const void *data,
		   size_t size_bytes, struct st_buf *out)
{
	header->record_count = 1;
	if (st_packer_append(packer, header, data, size_bytes, out, NULL) != ST_OK)
		return false;
	header->sequence++;
	return true;
}

static bool pack_file(const struct st_buf *raw, struct st_buf *out)
{
	struct st_file_head head = {.file_kind = ST_FILE_NAMES};
	struct st_chunk_header header = {.type = ST_CHUNK_FILE};
	struct st_packer *packer = NULL;
	bool ok = st_packer_create(&packer, NULL) == ST_OK &&
		  append(packer, &header, &head, sizeof(head), out);

	for (size_t at = 0; ok && at < raw->size_bytes; at += PIECE_BYTES) {
		size_t left = raw->size_bytes - at;

		header = (struct st_chunk_header){.type = ST_CHUNK_NAMES,
						  .sequence = header.sequence};
		ok = append(packer, &header, raw->data + at,
			    left < PIECE_BYTES ? left : PIECE_BYTES, out);
	}
	header = (struct st_chunk_header){.type = ST_CHUNK_END, .sequence = header.sequence};
	ok = ok && append(packer, &header, NULL, 0, out);
	st_packer_destroy(packer);
	return ok;
}

static bool write_all(int fd, const struct st_buf *bytes)
{
	size_t done = 0;

	while (done < bytes->size_bytes) {
		ssize_t wrote = write(fd, bytes->data + done, bytes->size_bytes - done);

		if (wrote <= 0)
			return false;
		done += (size_t)wrote;
	}
	return true;
}

static void write_file(const char *folder, const struct st_buf *bytes)
{
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, leftover;
	char temporary[64];
	bool ok;

	if (dir < 0)
		return;
	snprintf(temporary, sizeof(temporary), ".%s.%ld", file_name, (long)getpid());
	leftover = st_leftover_add(dir, temporary);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0) {
		ok = write_all(fd, bytes);
		ok = close(fd) == 0 && ok;
		if (!ok || renameat(dir, temporary, dir, file_name) != 0)
			unlinkat(dir, temporary, 0);
	}
	st_leftover_forget(leftover);
	close(dir);
}

void st_resolved_save(const struct st_resolved *resolved, const struct st_result *result,
		      const struct st_named_options *options)
{
	const char *folder = st_result_info(result)->path;
	struct st_names_key key = st_names_key_of(result, options);
	struct st_buf raw, packed;

	if (!folder)
		return;
	st_buf_init(&raw, SIZE_MAX / 2);
	st_buf_init(&packed, SIZE_MAX / 2);
	st_buf_append(&raw, &key, sizeof(key));
	if (st_names_pack(resolved, key.node_count, &raw) && pack_file(&raw, &packed))
		write_file(folder, &packed);
	st_buf_fini(&raw);
	st_buf_fini(&packed);
}
