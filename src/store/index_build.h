/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the index of a result from its trace files, in two passes: the first looks at chunk headers
 * and calibration and finds out how many rows each track has, the second decodes every chunk once, in
 * file order, straight into the mapped columns. Memory beyond the columns: one chunk, a few words per
 * chunk and track, the stacks of open slices, and the labels.
 */
#ifndef ST_STORE_INDEX_BUILD_H
#define ST_STORE_INDEX_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/id_map.h"
#include "store/index_map.h"
#include "store/index_meta.h"
#include "store/segment.h"

struct st_model;
struct st_source;
struct st_unpacker;
struct st_slice_record;
struct st_result_options;

struct st_index_request {
	const struct st_source *source;
	struct st_model *model;
	enum st_writing writing; /* while it is being written no index file is left */
	uint32_t rows_max;	 /* 0: as many as there can be */
	const struct st_result_options *options; /* for progress; may be NULL */
};

enum st_status st_index_build(struct st_index *index, struct st_index_meta *meta,
			      const struct st_index_request *request, struct st_error *err);

/* What follows is shared by the files index_*.c only. */

struct st_chunk_ref {
	size_t offset;
	uint32_t segment;
	uint32_t track;	 /* index into builder->tracks */
	uint32_t begins; /* rows it will make */
};

struct st_open_slice {
	uint32_t row, domain;
};

struct st_track_state {
	uint32_t process_id, track_id;
	uint64_t rows;
	uint64_t first_ticks;
	uint32_t final; /* index into meta->tracks */
	uint32_t next_row;
	uint32_t clock_hint;
	bool has_first, has_end;
	int64_t end_ns, last_ns;
	struct st_open_slice *stack;
	uint32_t depth, stack_capacity;
	uint64_t lost, unmatched_ends;
};

struct st_label_slot {
	uint32_t process_id, domain, name;
	uint32_t label; /* + 1; 0: free */
};

struct st_index_builder {
	const struct st_index_request *request;
	struct st_index *index;
	struct st_index_meta *meta;
	struct st_unpacker *unpacker;
	struct st_buf raw;
	struct st_chunk_ref *refs;
	uint32_t ref_count, ref_capacity;
	struct st_track_state *tracks;
	uint32_t track_count, track_capacity;
	struct st_id_map track_index; /* (process id, track id) */
	struct st_clock_pair *pairs;
	uint32_t pair_count, pair_capacity;
	uint64_t row_count, last_ticks, first_ticks;
	bool too_many_rows;
	struct st_label_slot *label_slots;
	size_t label_slot_count, label_used;
	struct st_id_map labels;			   /* (domain text, name text) -> label */
	struct st_id_map missing_strings, missing_domains; /* (process id, id) */
	bool decoded_before; /* the second try after a chunk held less than it said */
	bool no_memory;
};

/* index_scan.c */
enum st_status st_index_scan(struct st_index_builder *builder, struct st_error *err);
/* index_labels.c; ST_ID_NONE: no memory */
uint32_t st_index_label_of(struct st_index_builder *builder, uint32_t process_id, uint32_t domain,
			   uint32_t name);
/* index_decode.c; *short_chunks: some chunk held fewer begins than its header said */
enum st_status st_index_decode(struct st_index_builder *builder, bool *short_chunks,
			       struct st_error *err);
/* index_finish.c: pauses, self times and the counts of flags */
void st_index_finish(struct st_index_builder *builder);

#endif
