// SPDX-License-Identifier: Apache-2.0
//
// The writing half of a result folder (store/writer.h). Three rules shape it: a chunk is one write(),
// a chunk that could not be written whole is cut off again, and after the first failure nothing more
// is written but counted, so that what lies on disk is always a clean prefix of what was collected.
#include "store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "store/write/writer_state.h"

enum {
	/* Kept back for the last result.json and the closing chunks of a full disk … */
	RESERVE_BYTES = 256 << 10,
	RESERVE_MIN_BYTES = 16 << 10,
	/* … and, of it, for definitions that say how processes ended. */
	LAST_DEFINITIONS_BYTES = 64 << 10,
	LOG_MAX_BYTES = 1 << 20,
	DEFAULT_SEGMENT_BYTES = 256 << 20,
};

static const char reserve_name[] = ".reserve";
static const char json_name[] = "result.json";
static const char json_next_name[] = "result.json.next";
static const char definitions_name[] = "definitions.strata";

void st_writer_trace_name(char name[32], uint32_t segment)
{
	snprintf(name, 32, "trace.%03u.strata", segment);
}

void st_writer_failed(struct st_store_writer *writer, int code, const char *what)
{
	if (writer->failure.status)
		return;
	st_error_set(&writer->failure, ST_EIO, code, "%s/%s", writer->path, what);
}

/* All or nothing: what was written of a piece that did not fit is cut off again. */
static bool write_whole(struct st_chunk_file *file, const struct st_buf *piece)
{
	size_t done = 0;
	int code;

	while (done < piece->size_bytes) {
		ssize_t n = write(file->fd, piece->data + done, piece->size_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			code = n < 0 ? errno : ENOSPC;
			if (ftruncate(file->fd, (off_t)file->size_bytes) == 0)
				lseek(file->fd, (off_t)file->size_bytes, SEEK_SET);
			errno = code;
			return false;
		}
		done += (size_t)n;
	}
	file->size_bytes += piece->size_bytes;
	return true;
}

static bool append_chunk(struct st_store_writer *writer, struct st_chunk_file *file,
			 struct st_chunk_header *header, const void *payload, size_t payload_bytes)
{
	struct st_error err = {0};

	st_buf_clear(&writer->packed);
	header->sequence = file->sequence;
	if (st_packer_append(writer->packer, header, payload, payload_bytes, &writer->packed,
			     &err)) {
		if (!writer->failure.status)
			writer->failure = err;
		return false;
	}
	if (!write_whole(file, &writer->packed))
		return false;
	file->sequence++;
	return true;
}

static bool append_file_head(struct st_store_writer *writer, struct st_chunk_file *file,
			     enum st_file_kind kind, uint32_t segment)
{
	struct st_chunk_header header = {.type = ST_CHUNK_FILE, .record_count = 1};
	struct st_file_head head = writer->head;

	header.first_time = header.last_time = head.start_ticks;
	head.file_kind = (uint32_t)kind;
	head.flags = writer->ring_ticks ? ST_FILE_RING_BUFFER : 0;
	head.segment = segment;
	return append_chunk(writer, file, &header, &head, sizeof(head));
}

static bool append_end(struct st_store_writer *writer, struct st_chunk_file *file)
{
	struct st_chunk_header header = {.type = ST_CHUNK_END};

	return append_chunk(writer, file, &header, NULL, 0);
}

static bool open_chunk_file(struct st_store_writer *writer, struct st_chunk_file *file,
			    const char *name, enum st_file_kind kind)
{
	uint32_t segment = kind == ST_FILE_TRACE ? writer->segment : 0;

	memset(file, 0, sizeof(*file));
	file->fd = openat(writer->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (file->fd < 0 || !append_file_head(writer, file, kind, segment)) {
		st_writer_failed(writer, errno, name);
		return false;
	}
	return true;
}

static void close_chunk_file(struct st_chunk_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

/* Holds real blocks: a sparse file would keep nothing back. Not having it is no failure. */
static void make_reserve(struct st_store_writer *writer)
{
	int fd = openat(writer->dir_fd, reserve_name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return;
	/* A small disk gives a small one: never more than half of what is free. */
	for (off_t size = RESERVE_BYTES; !writer->has_reserve && size >= RESERVE_MIN_BYTES;
	     size /= 2)
		writer->has_reserve =
			fallocate(fd, 0, 0, 2 * size) == 0 && ftruncate(fd, size) == 0;
	close(fd);
	if (!writer->has_reserve)
		unlinkat(writer->dir_fd, reserve_name, 0);
}

static void release_reserve(struct st_store_writer *writer)
{
	if (writer->has_reserve)
		unlinkat(writer->dir_fd, reserve_name, 0);
	writer->has_reserve = false;
}

static bool all_zero(const uint8_t *bytes, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i++)
		if (bytes[i])
			return false;
	return true;
}

static enum st_status make_folder(struct st_store_writer *writer, struct st_error *err)
{
	if (mkdir(writer->path, 0777) != 0) {
		if (errno == EEXIST)
			return st_error_set(err, ST_EEXIST, 0, "%s already exists", writer->path);
		return st_error_set(err, ST_EIO, errno, "cannot create the result folder %s",
				    writer->path);
	}
	writer->dir_fd = open(writer->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (writer->dir_fd < 0) {
		st_error_set(err, ST_EIO, errno, "cannot open the result folder %s", writer->path);
		rmdir(writer->path);
		return ST_EIO;
	}
	return ST_OK;
}

enum st_status st_store_writer_create(struct st_store_writer **out,
				      const struct st_store_options *options, struct st_error *err)
{
	struct st_store_writer *writer = calloc(1, sizeof(*writer));
	enum st_status status;
	char name[32];

	*out = NULL;
	if (!writer)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory");
	writer->dir_fd = writer->trace.fd = writer->definitions.fd = -1;
	st_buf_init(&writer->packed, (size_t)2 * ST_CHUNK_RAW_MAX);
	writer->head = options->head;
	writer->limit_bytes = options->limit_bytes;
	writer->segment_bytes =
		options->segment_bytes ? options->segment_bytes : DEFAULT_SEGMENT_BYTES;
	st_writer_set_ring(writer, options);
	if (all_zero(writer->head.result_id, sizeof(writer->head.result_id)) &&
	    getrandom(writer->head.result_id, sizeof(writer->head.result_id), 0) < 0)
		memcpy(writer->head.result_id, &writer->head.start_wall_ns, 8);
	status = ST_ENOMEM;
	writer->path = strdup(options->path);
	if (!writer->path || st_packer_create(&writer->packer, err)) {
		st_error_set(err, status, 0, "out of memory");
		goto fail;
	}
	status = make_folder(writer, err);
	if (status)
		goto fail;
	st_writer_trace_name(name, 0);
	if (!open_chunk_file(writer, &writer->definitions, definitions_name, ST_FILE_DEFINITIONS) ||
	    !open_chunk_file(writer, &writer->trace, name, ST_FILE_TRACE)) {
		*err = writer->failure;
		st_store_writer_discard(writer);
		return err->status;
	}
	make_reserve(writer);
	*out = writer;
	return ST_OK;
fail:
	st_store_writer_close(writer);
	return status;
}

void st_writer_next_segment(struct st_store_writer *writer)
{
	char name[32];

	if (!append_end(writer, &writer->trace)) {
		st_writer_failed(writer, errno, "trace");
		return;
	}
	writer->closed_bytes += writer->trace.size_bytes;
	close_chunk_file(&writer->trace);
	writer->segment++;
	st_writer_trace_name(name, writer->segment);
	open_chunk_file(writer, &writer->trace, name, ST_FILE_TRACE);
}

void st_store_writer_trace(struct st_store_writer *writer, struct st_chunk_header *header,
			   const struct st_buf *payload)
{
	char name[32];

	if (!writer->failure.status && !writer->ring_ticks &&
	    writer->trace.size_bytes >= writer->segment_bytes)
		st_writer_next_segment(writer);
	if (writer->failure.status || writer->finished) {
		writer->lost_chunks++;
		return;
	}
	if (!append_chunk(writer, &writer->trace, header, payload->data, payload->size_bytes)) {
		st_writer_trace_name(name, writer->segment);
		st_writer_failed(writer, errno, name);
		writer->lost_chunks++;
		return;
	}
	st_writer_note_chunk(writer, header);
}

/* After a failure a few small definitions still go out of the reserve: how processes ended and what
 * was lost is worth more than the space. */
static bool may_define(struct st_store_writer *writer, size_t size_bytes)
{
	if (writer->finished)
		return false;
	if (!writer->failure.status)
		return true;
	writer->last_definitions_bytes += size_bytes + sizeof(struct st_chunk_header);
	if (writer->last_definitions_bytes > LAST_DEFINITIONS_BYTES)
		return false;
	release_reserve(writer);
	return true;
}

void st_store_writer_definitions(struct st_store_writer *writer, uint32_t process, uint64_t time,
				 uint32_t record_count, const struct st_buf *payload)
{
	struct st_chunk_header header = {.type = ST_CHUNK_DEFINITIONS,
					 .process = process,
					 .record_count = record_count,
					 .first_time = time,
					 .last_time = time};

	if (may_define(writer, payload->size_bytes) &&
	    append_chunk(writer, &writer->definitions, &header, payload->data, payload->size_bytes))
		return;
	st_writer_failed(writer, errno, definitions_name);
	writer->lost_chunks++;
}

void st_store_writer_calibration(struct st_store_writer *writer, uint64_t ticks,
				 uint64_t mono_raw_ns, uint64_t error_ticks)
{
	struct st_chunk_header header = {.type = ST_CHUNK_CALIBRATION,
					 .record_count = 1,
					 .first_time = ticks,
					 .last_time = ticks};
	uint64_t fields[3] = {ticks, mono_raw_ns, error_ticks};
	struct st_buf payload = {.data = (uint8_t *)fields, .size_bytes = sizeof(fields)};

	st_store_writer_trace(writer, &header, &payload);
}

static bool write_json(struct st_store_writer *writer, const struct st_buf *json)
{
	struct st_chunk_file file = {0};
	int code = 0;

	file.fd = openat(writer->dir_fd, json_next_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			 0666);
	if (file.fd < 0)
		return false;
	if (!write_whole(&file, json))
		code = errno;
	if (close(file.fd) != 0 && !code)
		code = errno;
	if (!code && renameat(writer->dir_fd, json_next_name, writer->dir_fd, json_name) == 0)
		return true;
	code = code ? code : errno;
	unlinkat(writer->dir_fd, json_next_name, 0);
	errno = code;
	return false;
}

/* Where there is no room for a second file: in place, once it is sure that there is room for all of it. */
static bool overwrite_json(struct st_store_writer *writer, const struct st_buf *json)
{
	off_t size_bytes = (off_t)json->size_bytes;
	int fd = openat(writer->dir_fd, json_name, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size_bytes) == 0 &&
	       pwrite(fd, json->data, json->size_bytes, 0) == size_bytes &&
	       ftruncate(fd, size_bytes) == 0;
	close(fd);
	return done;
}

void st_store_writer_result_json(struct st_store_writer *writer, const struct st_buf *json)
{
	if (!write_json(writer, json)) {
		st_writer_failed(writer, errno, json_name);
		release_reserve(writer);
		if (!write_json(writer, json) && !overwrite_json(writer, json))
			return;
	}
	writer->json_bytes = json->size_bytes;
}

void st_store_writer_log(struct st_store_writer *writer, const char *line)
{
	struct st_buf text;
	int fd;

	if (writer->failure.status || writer->log_bytes > LOG_MAX_BYTES)
		return;
	fd = openat(writer->dir_fd, "log.txt", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	st_buf_init(&text, LOG_MAX_BYTES);
	st_buf_append_text(&text, line);
	st_buf_append_u8(&text, '\n');
	if (!text.failed && write(fd, text.data, text.size_bytes) > 0)
		writer->log_bytes += text.size_bytes;
	st_buf_fini(&text);
	close(fd);
}

uint64_t st_store_writer_bytes(const struct st_store_writer *writer)
{
	return writer->closed_bytes + writer->trace.size_bytes + writer->definitions.size_bytes +
	       writer->json_bytes + writer->log_bytes;
}

bool st_store_writer_over_limit(const struct st_store_writer *writer)
{
	return writer->limit_bytes && st_store_writer_bytes(writer) >= writer->limit_bytes;
}

enum st_status st_store_writer_health(struct st_store_writer *writer, struct st_error *err)
{
	struct stat folder = {0}, definitions = {0};

	if (!writer->failure.status && !writer->finished) {
		/* Unlinked files go on taking writes: only the link count tells that they are gone. */
		if (fstat(writer->dir_fd, &folder) == 0 &&
		    fstat(writer->definitions.fd, &definitions) == 0 &&
		    (folder.st_nlink == 0 || definitions.st_nlink == 0))
			st_error_set(&writer->failure, ST_EIO, 0,
				     "%s: the result folder was deleted during the collection",
				     writer->path);
	}
	if (writer->failure.status && err)
		*err = writer->failure;
	return writer->failure.status;
}

uint64_t st_store_writer_lost_chunks(const struct st_store_writer *writer)
{
	return writer->lost_chunks;
}

const uint8_t *st_store_writer_result_id(const struct st_store_writer *writer)
{
	return writer->head.result_id;
}

void st_store_writer_finish(struct st_store_writer *writer)
{
	if (writer->finished)
		return;
	writer->finished = true;
	/* The reserve is for these and for the last result.json. */
	release_reserve(writer);
	if (writer->trace.fd >= 0 && !append_end(writer, &writer->trace))
		st_writer_failed(writer, errno, "trace");
	if (writer->definitions.fd >= 0 && !append_end(writer, &writer->definitions))
		st_writer_failed(writer, errno, definitions_name);
	close_chunk_file(&writer->trace);
	close_chunk_file(&writer->definitions);
}

static void destroy(struct st_store_writer *writer)
{
	close_chunk_file(&writer->trace);
	close_chunk_file(&writer->definitions);
	if (writer->dir_fd >= 0)
		close(writer->dir_fd);
	st_packer_destroy(writer->packer);
	st_buf_fini(&writer->packed);
	free(writer->kept);
	free(writer->path);
	free(writer);
}

void st_store_writer_close(struct st_store_writer *writer)
{
	if (!writer)
		return;
	if (writer->dir_fd >= 0)
		st_store_writer_finish(writer);
	destroy(writer);
}

void st_store_writer_discard(struct st_store_writer *writer)
{
	char name[32];

	if (!writer)
		return;
	if (writer->dir_fd >= 0) {
		for (uint32_t i = 0; i <= writer->segment; i++) {
			st_writer_trace_name(name, i);
			unlinkat(writer->dir_fd, name, 0);
		}
		unlinkat(writer->dir_fd, definitions_name, 0);
		unlinkat(writer->dir_fd, json_name, 0);
		unlinkat(writer->dir_fd, json_next_name, 0);
		unlinkat(writer->dir_fd, reserve_name, 0);
		unlinkat(writer->dir_fd, "log.txt", 0);
		rmdir(writer->path);
	}
	destroy(writer);
}
