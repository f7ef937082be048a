/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a result folder: definitions.strata, trace.NNN.strata and result.json. Every chunk is one
 * write(), so a killed strata leaves whole chunks and at most one torn one. When a write fails the
 * writer keeps what is there, remembers why, drops everything later and counts it; the caller goes on.
 * One thread only.
 */
#ifndef ST_STORE_WRITER_H
#define ST_STORE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "format/chunk.h"

struct st_buf;
struct st_store_writer;

struct st_store_options {
	const char *path;	  /* folder to create; an existing one is ST_EEXIST */
	uint64_t limit_bytes;	  /* -data-limit; 0 = none */
	uint64_t segment_bytes;	  /* a new trace file after this many bytes; 0 = 256 MiB */
	uint64_t ring_ticks;	  /* -ring-buffer: only so much before the newest record; 0 = all */
	struct st_file_head head; /* result_id may be zero: one is made */
};

enum st_status st_store_writer_create(struct st_store_writer **out,
				      const struct st_store_options *options, struct st_error *err);
/* payload of one trace chunk; header carries type, process, track, counts and times. */
void st_store_writer_trace(struct st_store_writer *writer, struct st_chunk_header *header,
			   const struct st_buf *payload);
/* Definition records of one process; written at once, so that names are on disk before their use. */
void st_store_writer_definitions(struct st_store_writer *writer, uint32_t process, uint64_t time,
				 uint32_t record_count, const struct st_buf *payload);
void st_store_writer_calibration(struct st_store_writer *writer, uint64_t ticks,
				 uint64_t mono_raw_ns, uint64_t error_ticks);
/* Replaces result.json by rename; json is the whole text. Space for it is reserved while the disk has
 * some, so that even a full disk does not keep the last one from being written. */
void st_store_writer_result_json(struct st_store_writer *writer, const struct st_buf *json);
void st_store_writer_log(struct st_store_writer *writer, const char *line); /* log.txt */

/* Of a ring buffer: whether it is time for a new trace file. The caller hands on what it holds, calls
 * _rotate, and then writes what the new file needs to be understood by itself. */
bool st_store_writer_wants_file(const struct st_store_writer *writer, uint64_t now_ticks);
void st_store_writer_rotate(struct st_store_writer *writer, uint64_t now_ticks);
struct st_store_dropped {
	uint64_t files, records, bytes; /* deleted from a ring buffer */
};
struct st_store_dropped st_store_writer_dropped(const struct st_store_writer *writer);

/* Of what is kept. */
uint64_t st_store_writer_bytes(const struct st_store_writer *writer);
bool st_store_writer_over_limit(const struct st_store_writer *writer);
/* ST_OK, or what went wrong first (disk full, folder gone); asks the file system whether the folder is
 * still there. */
enum st_status st_store_writer_health(struct st_store_writer *writer, struct st_error *err);
uint64_t st_store_writer_lost_chunks(const struct st_store_writer *writer);

/* The 16 bytes that every file of this result carries. */
const uint8_t *st_store_writer_result_id(const struct st_store_writer *writer);

/* Writes ST_CHUNK_END everywhere; after it only result.json and log.txt are written. */
void st_store_writer_finish(struct st_store_writer *writer);
/* Finishes, closes. Accepts NULL. */
void st_store_writer_close(struct st_store_writer *writer);
/* Removes the folder and everything in it: for a program that never started. */
void st_store_writer_discard(struct st_store_writer *writer);

/* Result names. Expands "@@@" in pattern to the first free number from 000; ST_EEXIST when a name
 * without @@@ exists (the text names a free one). out is malloc'd. */
enum st_status st_result_name(const char *pattern, char **out, struct st_error *err);
/* The newest result folder in dir (by result.json's time), malloc'd. ST_ENOTFOUND with advice. */
enum st_status st_result_newest(const char *dir, char **out, struct st_error *err);

#endif
