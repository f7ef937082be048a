/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks the chunks of one file in order and gets over damage: what does not check is skipped up to the
 * next chunk that does, and said in a note with file and offset.
 */
#ifndef ST_STORE_MODEL_SEGMENT_H
#define ST_STORE_MODEL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "format/chunk.h"

struct st_notes;

enum st_writing {
	ST_WRITING_TORN = 0, /* the writer ended early: a file may end anywhere */
	ST_WRITING_NOW,	     /* still being written: a torn end is no damage */
	ST_WRITING_CLOSED,   /* closed in order: a file ends with its closing chunk */
};

struct st_chunk_walk {
	const char *name; /* for notes */
	const uint8_t *data;
	size_t size_bytes, at;
	enum st_writing writing;
	bool at_end; /* the closing chunk was seen, or what is missing was said */
	struct st_notes *notes;
	uint32_t sequence; /* of the next chunk */
	uint64_t search_left_bytes;
	uint64_t damaged_chunks, damaged_bytes;
};

struct st_chunk_view {
	struct st_chunk_header header;
	const uint8_t *packed;
	size_t offset;
};

void st_chunk_walk_init(struct st_chunk_walk *walk, const char *name, const uint8_t *data,
			size_t size_bytes, struct st_notes *notes);
/* ST_OK and the next good chunk; ST_ENOTFOUND at the end; ST_EVERSION when the file begins with a newer
 * major version (err names the file and both versions). */
enum st_status st_chunk_walk_next(struct st_chunk_walk *walk, struct st_chunk_view *out,
				  struct st_error *err);
/* Counts a chunk whose checksum held but whose content did not. */
void st_walk_reject(struct st_chunk_walk *walk, const struct st_chunk_view *view,
		    const struct st_error *why);

#endif
