/* SPDX-License-Identifier: Apache-2.0
 *
 * index.strata as bytes: columns of slices and rows of events that are mapped and used as they lie,
 * tables that follow from these (sections), and a block of everything else that was derived from the trace
 * ("meta", store/index/index_meta.h). The file is written under another name and renamed when complete; where
 * it cannot be written it is a memfd instead.
 *
 *   0     chunk header and file head (format/chunk.h), file_kind ST_FILE_INDEX
 *   128   struct st_index_head
 *   4096  begin_ns, end_ns, self_ns (8 bytes a row), label, track, parent (4), depth, flags (2); each
 *         column begins at a multiple of 64
 *   then  samples: time_ns, weight_ns (8 bytes a row), node, track, slice, inherited (4), flags (2)
 *   then  event rows; callers of slices (4 bytes a row) if any is known; the sections; each at a multiple
 *         of 64
 *   then  meta
 */
#ifndef ST_STORE_INDEX_INDEX_MAP_H
#define ST_STORE_INDEX_INDEX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/events.h"

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

enum { ST_INDEX_BUILDER = 20 }; /* +1 whenever the same trace would give another index */

/* Sections behind the columns: room in the head. What they are is in index_sections.c. */
enum { ST_SECTIONS_MAX = 32 };

struct st_index_shape {
	uint32_t row_count, event_count;
	uint32_t has_callers; /* the column of callers is there */
	uint32_t sample_count;
};

struct st_index_head {
	struct st_index_key key;
	struct st_index_shape shape;
	uint32_t meta_crc, reserved;
	uint64_t meta_offset, meta_bytes;
	uint64_t section_bytes[ST_SECTIONS_MAX];
	uint32_t columns_crc; /* from the first column to meta */
	uint32_t head_crc;    /* over this struct with head_crc 0 */
};
_Static_assert(sizeof(struct st_index_key) == 32, "index key is a file format");
_Static_assert(sizeof(struct st_index_head) == 336, "index head is a file format");

struct st_sample_columns {
	int64_t *time_ns; /* ticks while building, until the sample is joined with its slice */
	uint64_t *weight_ns;
	uint32_t *node, *track, *slice, *inherited;
	uint16_t *flags;
};

struct st_index_columns {
	int64_t *begin_ns, *end_ns;
	uint64_t *self_ns;
	uint32_t *label, *track, *parent;
	uint16_t *depth, *flags;
	struct st_event_row *events;
	uint32_t *callers; /* NULL: none is known */
	struct st_sample_columns samples;
};

struct st_index_block { /* a section */
	const void *data;
	uint64_t size_bytes;
};

struct st_index {
	uint8_t *map;
	size_t map_bytes;
	struct st_index_shape shape;
	struct st_index_columns columns;
	struct st_index_block sections[ST_SECTIONS_MAX]; /* after load */
	const uint8_t *meta;				 /* after load */
	size_t meta_bytes;
	int fd;	    /* while building; -1 */
	int dir_fd; /* borrowed; -1: memory only */
	char temporary_name[64];
	int leftover; /* slot of base/leftover.h */
};

struct st_index_key st_index_key_of(const struct st_source *source);

/* Maps index.strata if it fits the key and is undamaged; false otherwise, for whatever reason. */
bool st_index_load(struct st_index *index, int dir_fd, const struct st_index_key *key);
/* Room for these rows, zeroed. dir_fd -1, or a folder that cannot be written: in memory. */
enum st_status st_index_create(struct st_index *index, int dir_fd,
			       const struct st_index_shape *shape, struct st_error *err);
/* Only so many rows of events are needed, before anything lies behind them. */
bool st_index_cut_events(struct st_index *index, uint32_t event_count);
/* Adds the column of callers, zeroed; all columns may move. */
enum st_status st_index_add_callers(struct st_index *index, struct st_error *err);
/* Completes the file and gives it its name. What fails here costs only the file. */
void st_index_commit(struct st_index *index, const struct st_index_key *key,
		     const struct st_file_head *head, const struct st_index_block *sections,
		     const struct st_index_block *meta);
void st_index_close(struct st_index *index);

#endif
