// SPDX-License-Identifier: Apache-2.0
//
// One record after the other (collect/import/perf_file.h). Compressed ones are a single stream of zstd over
// the whole file, in which records may be cut anywhere, so it is unpacked as a whole first.
#include <inttypes.h>
#include <string.h>

#include <zstd.h>

#include "collect/import/perf_file.h"
#include "collect/import/perf_layout.h"

enum { UNPACK_STEP_BYTES = 1 << 16 };

struct walk {
	struct st_perf_file *file;
	st_perf_visit visit;
	void *arg;
	ZSTD_DStream *stream;
	uint64_t number;
};

static enum st_status unpack(struct walk *walk, const struct st_perf_record_view *record,
			     const uint8_t *packed, size_t packed_bytes, struct st_error *err)
{
	struct st_buf *out = &walk->file->unpacked;
	ZSTD_inBuffer in = {.src = packed, .size = packed_bytes};

	if (!walk->stream)
		walk->stream = ZSTD_createDStream();
	if (!walk->stream)
		return st_error_set(err, ST_ENOMEM, 0, "%s: out of memory", walk->file->path);
	for (;;) {
		ZSTD_outBuffer to;
		size_t left;

		if (!st_buf_reserve(out, UNPACK_STEP_BYTES))
			return st_error_set(
				err, ST_ENOMEM, 0,
				"%s: its compressed records require more than %zu bytes",
				walk->file->path, out->size_bytes);
		to = (ZSTD_outBuffer){.dst = out->data + out->size_bytes,
				      .size = UNPACK_STEP_BYTES};
		left = ZSTD_decompressStream(walk->stream, &to, &in);
		if (ZSTD_isError(left))
			return st_error_set(err, ST_ECORRUPT, 0,
					    "%s: cannot decompress record %" PRIu64
					    " at byte %" PRIu64 ": %s",
					    walk->file->path, record->number, record->offset,
					    ZSTD_getErrorName(left));
		out->size_bytes += to.pos;
		if (in.pos == in.size && to.pos < to.size)
			return ST_OK;
	}
}

static enum st_status unpack_record(struct walk *walk, const struct st_perf_record_view *record,
				    struct st_error *err)
{
	uint64_t packed_bytes = record->body_bytes;

	if (record->header.type == RECORD_COMPRESSED)
		return unpack(walk, record, record->body, record->body_bytes, err);
	if (record->body_bytes >= sizeof(packed_bytes))
		memcpy(&packed_bytes, record->body, sizeof(packed_bytes));
	if (record->body_bytes < sizeof(packed_bytes) ||
	    packed_bytes > record->body_bytes - sizeof(packed_bytes))
		return st_error_set(err, ST_ECORRUPT, 0,
				    "%s: record %" PRIu64 " at byte %" PRIu64 " is truncated",
				    walk->file->path, record->number, record->offset);
	return unpack(walk, record, record->body + sizeof(packed_bytes), (size_t)packed_bytes, err);
}

/* What lies behind a record without belonging to its size. */
static uint64_t bytes_behind(const struct st_perf_record_view *record)
{
	uint64_t wide = 0;
	uint32_t narrow = 0;

	if (record->header.type == RECORD_AUXTRACE && record->body_bytes >= sizeof(wide))
		memcpy(&wide, record->body, sizeof(wide));
	if (record->header.type == RECORD_TRACING_DATA && record->body_bytes >= sizeof(narrow))
		memcpy(&narrow, record->body, sizeof(narrow));
	return wide + ((uint64_t)narrow + 7) / 8 * 8;
}

static enum st_status take(struct walk *walk, const struct st_perf_record_view *record,
			   bool is_unpacked, struct st_error *err)
{
	uint32_t type = record->header.type;

	if (type != RECORD_COMPRESSED && type != RECORD_COMPRESSED2)
		return walk->visit(walk->arg, record, err);
	if (is_unpacked)
		return st_error_set(err, ST_ECORRUPT, 0,
				    "%s: record %" PRIu64 " is compressed twice", walk->file->path,
				    record->number);
	return unpack_record(walk, record, err);
}

/* The records of a stretch of bytes. A file that ends inside a record was cut off: what comes before counts. */
static enum st_status walk_bytes(struct walk *walk, const uint8_t *bytes, uint64_t size_bytes,
				 uint64_t base, struct st_error *err)
{
	bool is_unpacked = bytes == walk->file->unpacked.data;
	uint64_t at = 0;
	enum st_status status = ST_OK;

	while (size_bytes - at >= RECORD_HEADER_BYTES && !status) {
		struct st_perf_record_view record = {.number = walk->number, .offset = base + at};
		uint64_t behind;

		memcpy(&record.header, bytes + at, sizeof(record.header));
		if (record.header.size < RECORD_HEADER_BYTES)
			return st_error_set(err, ST_ECORRUPT, 0,
					    "%s: record %" PRIu64 " at %sbyte %" PRIu64
					    " has an invalid size of %u bytes",
					    walk->file->path, record.number,
					    is_unpacked ? "unpacked " : "", record.offset,
					    record.header.size);
		if (record.header.size > size_bytes - at)
			return ST_OK;
		record.body = bytes + at + RECORD_HEADER_BYTES;
		record.body_bytes = record.header.size - RECORD_HEADER_BYTES;
		status = take(walk, &record, is_unpacked, err);
		walk->number++;
		at += record.header.size;
		behind = bytes_behind(&record);
		if (behind > size_bytes - at)
			return status;
		at += behind;
	}
	return status;
}

enum st_status st_perf_file_walk(struct st_perf_file *file, st_perf_visit visit, void *arg,
				 struct st_error *err)
{
	struct walk walk = {.file = file, .visit = visit, .arg = arg};
	enum st_status status;

	_Static_assert(sizeof(struct st_perf_header) == RECORD_HEADER_BYTES, "as in the file");
	status = walk_bytes(&walk, file->bytes + file->data_offset, file->data_bytes,
			    file->data_offset, err);
	if (!status && file->unpacked.size_bytes)
		status = walk_bytes(&walk, file->unpacked.data, file->unpacked.size_bytes, 0, err);
	ZSTD_freeDStream(walk.stream);
	return status;
}
