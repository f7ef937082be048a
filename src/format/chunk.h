/* SPDX-License-Identifier: Apache-2.0
 *
 * The frame round everything on disk. A file of a result is a sequence of chunks and nothing else; a
 * chunk is this header, then packed_bytes of payload (zstd level 1, or plain when flagged). The CRC32C
 * covers the header with its crc field zero, then the packed payload. Little-endian throughout.
 */
#ifndef ST_FORMAT_CHUNK_H
#define ST_FORMAT_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_buf;

#define ST_CHUNK_MAGIC 0x4b435453u /* "STCK" as bytes */

enum {
	ST_FORMAT_MAJOR = 1,
	/* 1: events, callers, open slices, objects; 2: samples; 3: operators; 4: calls; 5: ranges that cross;
	 * 6: kinds of tracks; 7: devices; 8: waits for devices, their overhead and memory; 9: time on no CPU;
	 * 10: what frameworks allocate on devices */
	ST_FORMAT_MINOR = 10,
	ST_CHUNK_RAW_MAX = 4 << 20, /* a reader refuses more: nothing we write comes near */
	ST_CHUNK_RECORDS_MAX = 16 << 10,
	ST_CHUNK_AGE_MAX_MS = 250,
};

enum st_chunk_type {
	ST_CHUNK_FILE = 1, /* first of every file: struct st_file_head as payload */
	ST_CHUNK_CALIBRATION =
		2, /* u64 ticks, u64 MONOTONIC_RAW ns, u64 half-width of the bracket in ticks */
	ST_CHUNK_DEFINITIONS = 3, /* format/definitions.h */
	ST_CHUNK_SLICES = 4,	  /* format/slices.h: one track, times ascending */
	ST_CHUNK_END = 5,	  /* last of every file that was closed in order; no payload */
	/* At the beginning of a trace file that is not the first: what was open then, outermost first, as
	 * struct st_open_record; counts only when the files before it are gone. */
	ST_CHUNK_OPEN = 6,
	ST_CHUNK_SAMPLES = 7, /* format/samples.h: one track, times ascending */
	ST_CHUNK_NAMES = 8,   /* a piece of names.strata (resolve/names_pack.h) */
	/* Calls of Python functions one by one: as ST_CHUNK_SLICES, without domains. A reader that does not know them
	 * loses nothing else. */
	ST_CHUNK_CALLS = 9,
	/* What devices did and the calls that drive them, of one track: format/device.h. As calls, nothing else needs them. */
	ST_CHUNK_DEVICE = 10,
	/* When a thread was on no CPU: format/off_cpu.h. As calls, nothing else needs them. */
	ST_CHUNK_OFF_CPU = 11,
};

enum { ST_CHUNK_PLAIN = 1 }; /* flags: payload is not compressed */

struct st_chunk_header {
	uint32_t magic;
	uint8_t major;
	uint8_t minor;
	uint16_t type;
	uint32_t process;      /* dense id of the process in this result, from 1; 0: none */
	uint32_t track;	       /* dense id of the track in that process, from 1; 0: none */
	uint32_t record_count; /* records inside */
	uint32_t begin_count;  /* of these, begins of slices */
	uint64_t first_time;   /* ticks */
	uint64_t last_time;
	uint32_t raw_bytes;
	uint32_t packed_bytes;
	uint32_t flags;
	uint32_t sequence;    /* of the chunk in its file, from 0: shows a hole */
	uint32_t event_count; /* ST_MARK_EVENTs among the records */
	uint32_t crc;
};
_Static_assert(sizeof(struct st_chunk_header) == 64, "chunk header is a file format");

/* Payload of ST_CHUNK_FILE. */
struct st_file_head {
	uint8_t result_id[16]; /* the same in every file of a result */
	uint32_t file_kind;    /* enum st_file_kind */
	uint32_t segment;      /* number of the trace file */
	uint32_t clock;	       /* enum st_clock */
	uint32_t flags;	       /* ST_FILE_RING_BUFFER */
	uint64_t start_ticks;  /* start of collection: time 0 of every report */
	uint64_t start_mono_raw_ns;
	uint64_t start_wall_ns;	   /* CLOCK_REALTIME at the same moment */
	uint64_t ticks_per_second; /* first estimate; calibration chunks are better */
};
_Static_assert(sizeof(struct st_file_head) == 64, "file head is a file format");

/* Only the last seconds are kept: trace files before this one may be gone, and definitions that only
 * records of this file need (threads, labels that travel in records) stand in it. */
enum { ST_FILE_RING_BUFFER = 1 };

struct st_open_record {
	uint32_t track, domain, name;
	uint32_t signature; /* of an operator; 0: it is none */
	uint64_t begin;	    /* ticks */
};
_Static_assert(sizeof(struct st_open_record) == 24, "open record is a file format");

enum st_file_kind {
	ST_FILE_TRACE = 1,
	ST_FILE_DEFINITIONS = 2,
	ST_FILE_INDEX = 3,
	ST_FILE_NAMES = 4
};

uint32_t st_crc32c(uint32_t crc, const void *data, size_t size_bytes);

/* Completes *header (magic, version, sizes, flags, crc) and appends header and packed payload to out.
 * Not thread-safe: uses the packer's context. */
struct st_packer;
enum st_status st_packer_create(struct st_packer **out, struct st_error *err);
void st_packer_destroy(struct st_packer *packer);
enum st_status st_packer_append(struct st_packer *packer, struct st_chunk_header *header,
				const void *payload, size_t payload_bytes, struct st_buf *out,
				struct st_error *err);

/* Reads the chunk at the beginning of data: checks magic, version, sizes and checksum, and copies the
 * header out. ST_ECORRUPT with a text, ST_EVERSION for a newer major version (naming both). A chunk
 * that is cut off by the end of data is ST_ENOTFOUND ("torn"). */
enum st_status st_chunk_check(const void *data, size_t size_bytes, struct st_chunk_header *header,
			      struct st_error *err);

/* Unpacks the payload of a checked chunk into raw (cleared first). */
struct st_unpacker;
enum st_status st_unpacker_create(struct st_unpacker **out, struct st_error *err);
void st_unpacker_destroy(struct st_unpacker *unpacker);
enum st_status st_unpacker_read(struct st_unpacker *unpacker, const struct st_chunk_header *header,
				const void *packed, struct st_buf *raw, struct st_error *err);

#endif
