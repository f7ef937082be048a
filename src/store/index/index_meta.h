/* SPDX-License-Identifier: Apache-2.0
 *
 * What the index holds besides columns: tracks, labels, clock, pauses and what was found damaged. In
 * memory here; packed into and out of bytes by st_index_meta_write and _read.
 */
#ifndef ST_STORE_INDEX_INDEX_META_H
#define ST_STORE_INDEX_INDEX_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/model/clock_map.h"
#include "store/index/index_tables.h"
#include "store/model/notes.h"
#include "store/model/pauses.h"
#include "store/result.h"

struct st_buf;
struct st_model;

struct st_index_track { /* sorted by process id, then track id */
	uint32_t process_id, track_id;
	uint32_t row_begin, row_end;
	uint32_t event_begin, event_end;
	uint32_t sample_begin, sample_end;
	uint32_t creator; /* track of the thread that created its thread, or ST_NO_ROW */
	int64_t first_ns, last_ns;
	uint64_t lost, unmatched_ends; /* as the marks in the trace tell */
};

struct st_index_label {
	st_string_id domain, name;
	enum st_category category;
	bool from_itt;
};

struct st_index_meta {
	struct st_index_track *tracks;
	uint32_t track_count;
	struct st_index_label *labels;
	uint32_t label_count, label_capacity;
	uint32_t text_base; /* texts from here on are not in the definitions */
	struct st_clock_map clock;
	struct st_pauses pauses;
	struct st_notes notes;
	int64_t last_ns; /* the latest time known */
	uint64_t damaged_chunks, damaged_bytes, missing_names;
	uint64_t unfinished, clipped, mismatched, copies, spans_unfinished;
	uint64_t twins;
	uint64_t stacks_missing; /* samples whose stack is not, or not all, in the definitions */
	bool is_ring;		 /* the trace is what a ring buffer kept */
	struct st_index_tables tables; /* in sections of their own */
};

void st_index_meta_fini(struct st_index_meta *meta);
/* False: no memory (out->failed). Takes the texts behind text_base from the model. */
bool st_index_meta_write(const struct st_index_meta *meta, const struct st_model *model,
			 struct st_buf *out);
/* False: these bytes are not what this model and these columns need; the index is to be built anew. */
bool st_index_meta_read(struct st_index_meta *meta, struct st_model *model,
			const struct st_index *index);

#endif
