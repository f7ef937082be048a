/* SPDX-License-Identifier: Apache-2.0
 *
 * index.strata as bytes: eight columns of slices that are mapped and used as they lie, and a block of
 * everything else that was derived from the trace ("meta", store/index_meta.h). The file is written
 * under another name and renamed when complete; where it cannot be written it is a memfd instead.
 *
 *   0     chunk header and file head (format/chunk.h), file_kind ST_FILE_INDEX
 *   128   struct st_index_head
 *   4096  begin_ns, end_ns, self_ns (8 bytes a row), label, track, parent (4), depth, flags (2); each
 *         column begins at a multiple of 64
 *   then  meta
 */
#ifndef ST_STORE_INDEX_MAP_H
#define ST_STORE_INDEX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct st_file_head;
struct st_source;

/* What the index was built from. Any difference, and it is built anew. */
struct st_index_key {
	uint64_t trace_bytes, definitions_bytes;
	uint32_t trace_last_crc;       /* over the last bytes of the last trace file */
	uint32_t definitions_last_crc; /* the same of definitions.strata */
	uint32_t segment_count;
	uint32_t builder; /* ST_INDEX_BUILDER of the strata that built it */
};

enum { ST_INDEX_BUILDER = 1 }; /* +1 whenever the same trace would give another index */

struct st_index_head {
	struct st_index_key key;
	uint32_t row_count;
	uint32_t meta_crc;
	uint64_t meta_offset, meta_bytes;
	uint32_t columns_crc;
	uint32_t head_crc; /* over this struct with head_crc 0 */
};
_Static_assert(sizeof(struct st_index_key) == 32, "index key is a file format");
_Static_assert(sizeof(struct st_index_head) == 64, "index head is a file format");

struct st_index_columns {
	int64_t *begin_ns, *end_ns;
	uint64_t *self_ns;
	uint32_t *label, *track, *parent;
	uint16_t *depth, *flags;
};

struct st_index {
	uint8_t *map;
	size_t map_bytes;
	uint32_t row_count;
	struct st_index_columns columns;
	const uint8_t *meta; /* after load */
	size_t meta_bytes;
	int fd;	    /* while building; -1 */
	int dir_fd; /* borrowed; -1: memory only */
	char temporary_name[64];
};

struct st_index_key st_index_key_of(const struct st_source *source);

/* Maps index.strata if it fits the key and is undamaged; false otherwise, for whatever reason. */
bool st_index_load(struct st_index *index, int dir_fd, const struct st_index_key *key);
/* Room for row_count rows, zeroed. dir_fd -1, or a folder that cannot be written: in memory. */
enum st_status st_index_create(struct st_index *index, int dir_fd, uint32_t row_count,
			       struct st_error *err);
/* Completes the file and gives it its name. What fails here costs only the file. */
void st_index_commit(struct st_index *index, const struct st_index_key *key,
		     const struct st_file_head *head, const void *meta, size_t meta_bytes);
void st_index_close(struct st_index *index);

#endif
