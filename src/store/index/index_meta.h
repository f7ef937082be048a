/* SPDX-License-Identifier: Apache-2.0
 *
 * What the index holds besides columns. Arrays of plain items lie in sections, one behind the other as they are in
 * memory: a new one is a pointer and a count here and a row of the table in index_sections.c. The rest (numbers,
 * texts, pauses, notes) is packed into and out of one block of bytes by index_meta.c.
 */
#ifndef ST_STORE_INDEX_INDEX_META_H
#define ST_STORE_INDEX_INDEX_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/model/clock_map.h"
#include "store/devices.h"
#include "store/events.h"
#include "store/index/index_map.h"
#include "store/model/notes.h"
#include "store/model/pauses.h"
#include "store/off_cpu.h"
#include "store/operators.h"
#include "store/result.h"
#include "store/traced_calls.h"

struct st_buf;
struct st_model;

struct st_index_track { /* sorted by process id, then track id */
	uint32_t process_id, track_id;
	uint32_t row_begin, row_end;
	uint32_t event_begin, event_end;
	uint32_t sample_begin, sample_end;
	uint32_t creator; /* track of the thread that created its thread, or ST_NO_ROW */
	uint32_t reserved;
	int64_t first_ns, last_ns;
	uint64_t lost, unmatched_ends; /* as the marks in the trace tell */
};

struct st_index_label {
	st_string_id domain, name;
	uint16_t category; /* enum st_category */
	uint16_t from_itt; /* 0 or 1 */
};
_Static_assert(sizeof(struct st_index_track) == 72 && sizeof(struct st_index_label) == 12,
	       "tracks and labels lie in sections: no holes");

struct st_index_tables { /* of operators, events and calls */
	struct st_itt_id *ids;
	uint64_t *blob_ends; /* where each blob ends in blob_bytes */
	char *blob_bytes;    /* each terminated by NUL besides */
	struct st_span *spans;
	struct st_sync_object *sync_objects;
	struct st_object *objects;
	struct st_object_fact *facts;
	struct st_caller *callers;
	uint32_t *task_events; /* rows of events that tell of a slice, by slice */
	struct st_operator *operators;
	struct st_memory_moment *moments, *device_moments;
	struct st_traced_call *calls;
	struct st_slice_flow *flows;
	struct st_device_item *devices;
	struct st_off_row *off_cpu;
	struct st_device_about *abouts; /* of devices */
	uint32_t id_count, blob_count, span_count, sync_object_count, object_count, fact_count,
		caller_count, task_event_count, operator_count, moment_count, device_moment_count,
		call_count, flow_count, device_count, off_cpu_count, about_count;
	uint64_t blob_size_bytes;
};

struct st_index_meta {
	bool is_mapped; /* items of sections lie in the index: read-only, and not ours to free */
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
	uint64_t is_ring;	 /* the trace is what a ring buffer kept */
	struct st_index_tables tables;
};

void st_index_meta_fini(struct st_index_meta *meta);
/* False: no memory (out->failed). Takes the texts behind text_base from the model. */
bool st_index_meta_write(const struct st_index_meta *meta, const struct st_model *model,
			 struct st_buf *out);
/* False: these bytes are not what this model and these columns need; the index is to be built anew. Everything
 * that is used as a subscript is in range afterwards. */
bool st_index_meta_read(struct st_index_meta *meta, struct st_model *model,
			const struct st_index *index);

/* index_sections.c: the sections as they are to be written, and back. False: these cannot be the sections. */
void st_index_sections_write(const struct st_index_meta *meta,
			     struct st_index_block blocks[ST_SECTIONS_MAX]);
bool st_index_sections_read(struct st_index_meta *meta,
			    const struct st_index_block blocks[ST_SECTIONS_MAX]);
void st_index_sections_fini(struct st_index_meta *meta);
bool st_index_is_sound(const struct st_index *index, const struct st_index_meta *meta,
		       const struct st_model *model);

#endif
