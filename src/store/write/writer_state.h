/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a writer, shared by writer.c and writer_ring.c. Nobody else includes this.
 */
#ifndef ST_STORE_WRITE_WRITER_STATE_H
#define ST_STORE_WRITE_WRITER_STATE_H

#include "base/buf.h"
#include "store/writer.h"

struct st_chunk_file {
	int fd; /* -1: not open */
	uint32_t sequence;
	uint64_t size_bytes;
};

/* A closed file of a ring buffer. */
struct st_kept_file {
	uint32_t segment;
	uint64_t last_time, size_bytes, records;
};

struct st_store_writer {
	char *path;
	int dir_fd;
	struct st_packer *packer;
	struct st_buf packed;
	struct st_file_head head;
	struct st_chunk_file trace, definitions;
	uint32_t segment; /* number of the open trace file */
	uint64_t segment_bytes, limit_bytes;
	uint64_t closed_bytes; /* of trace files already closed */
	/* Ring buffer: closed files, oldest first, and what is in the open one. */
	uint64_t ring_ticks, rotate_ticks;
	struct st_kept_file *kept;
	uint32_t kept_count, kept_capacity;
	uint64_t file_began, newest_time;
	struct st_kept_file open_file;
	struct st_store_dropped dropped;
	uint64_t json_bytes, log_bytes;
	uint64_t lost_chunks;
	uint64_t last_definitions_bytes; /* written after the failure */
	bool has_reserve, finished;
	struct st_error failure; /* the first one */
};

/* writer.c */
void st_writer_trace_name(char name[32], uint32_t segment);
void st_writer_failed(struct st_store_writer *writer, int code, const char *what);
void st_writer_next_segment(struct st_store_writer *writer);

/* writer_ring.c */
void st_writer_set_ring(struct st_store_writer *writer, const struct st_store_options *options);
void st_writer_note_chunk(struct st_store_writer *writer, const struct st_chunk_header *header);

#endif
