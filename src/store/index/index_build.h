/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the index of a result from its trace files, in two passes: the first looks at chunk headers
 * and calibration and finds out how many rows each track has, the second decodes every chunk once, in
 * file order, straight into the mapped columns. Memory beyond the columns: one chunk, a few words per
 * chunk and track, the stacks of open slices, and the labels.
 */
#ifndef ST_STORE_INDEX_INDEX_BUILD_H
#define ST_STORE_INDEX_INDEX_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "store/index/index_map.h"
#include "store/index/index_meta.h"
#include "store/key_table.h"
#include "store/model/segment.h"
#include "store/text_table.h"

struct st_chunk_header;
struct st_device_slice;
struct st_device_wait_record;
struct st_off_record;
struct st_event;
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
	uint32_t events; /* the same of events */
};

struct st_sample_ref { /* a chunk of samples */
	size_t offset;
	uint32_t segment;
	uint32_t track; /* index into builder->tracks */
	uint32_t count; /* rows it will make */
};

struct st_open_ref {	/* a slice that began in a file that is gone (ST_CHUNK_OPEN) */
	uint32_t track; /* index into builder->tracks */
	uint32_t domain, name, signature;
};

/* An event that may begin or end a span, whoever calls: these are paired in the order of the calls. */
struct st_wide_event {
	int64_t ns; /* of the call, whatever time the program gave */
	uint32_t row, process_id;
};

/* A thread lets others go on: only needed until it is known whom, so it has no row. */
struct st_wake_event {
	int64_t ns;
	uint64_t object;
	uint32_t kind;	/* enum st_wait_kind */
	uint32_t track; /* final */
};

/* A wait in the C library, which becomes a span and has no row either. */
struct st_wait_event {
	int64_t begin_ns;
	uint64_t ns, object;
	uint32_t track; /* final */
	uint32_t slice; /* or ST_NO_ROW */
	uint32_t detail;
};

struct st_caller_slot {
	uint64_t address;
	uint32_t caller; /* index; 0: nothing here yet */
};

struct st_open_slice {
	uint32_t row, domain;
	uint32_t line; /* object id of the ITT track it was begun on; 0: the thread's own */
	uint32_t item; /* of builder->operators, or ST_NO_ROW */
	uint64_t
		call_end; /* of a call that was told whole: ticks at which it leaves; 0: it is none */
};

struct st_track_state {
	uint32_t process_id, track_id;
	uint64_t rows, events;
	uint64_t first_ticks;
	uint32_t final; /* index into meta->tracks */
	uint32_t next_row, next_event;
	uint32_t clock_hint;
	bool has_first, has_end;
	int64_t end_ns, last_ns;
	struct st_open_slice *stack;
	uint32_t depth, stack_capacity;
	uint64_t left_open; /* innermost slices of its domain that the next end leaves open */
	uint32_t
		line; /* ITT track that the thread's tasks go to now: each has a nesting of its own */
	uint64_t lost, unmatched_ends;
	uint64_t samples;
	uint32_t next_sample;	      /* row for the next one to be decoded */
	uint32_t join_at, sample_end; /* rows that are not yet joined with their slices */
	uint32_t sample_hint;
	int64_t sample_ns;		/* of the last one joined */
	uint32_t device_at, device_end; /* of builder->devices: not yet rows */
	uint32_t device_hint;
	uint32_t open_calls; /* on the stack */
	struct st_caller_slot
		*callers; /* ST_CALLER_SLOTS of them, or NULL: the last one of each slot */
};

struct st_label_use { /* ids of a process, and the label that they mean */
	uint32_t process_id, domain, name;
	uint32_t label;
};

/* What the events of all tracks share; empty while there are none. */
struct st_event_tables {
	struct st_key_table ids;
	struct st_text_table blobs;
	struct st_object *objects;
	uint32_t object_count, object_capacity;
	uint32_t *object_sources; /* definition that an object comes from, or ST_NO_ROW */
	uint32_t source_capacity;
	struct st_id_map object_of;   /* (process id, object id) -> index */
	struct st_key_table counters; /* (process id, domain, name) of counters without an object */
	uint32_t *counter_objects;
	uint32_t counter_capacity;
	struct st_wide_event *wide;
	uint32_t wide_count, wide_capacity;
	struct st_wake_event *wakes;
	uint32_t wake_count, wake_capacity;
	struct st_wait_event *waits;
	uint32_t wait_count, wait_capacity;
	uint32_t sync_count;	     /* rows that tell of sync objects */
	struct st_key_table callers; /* (process id, address); the first stands for none */
	int64_t *caller_ns;	     /* when each was first seen */
	uint32_t caller_capacity;
	bool no_callers; /* there was no room for their column */
};

/* What comes whole and late (index_devices.c); sorted by track and time. */
struct st_device_tables {
	struct st_device_slice *slices;
	uint32_t count, capacity;
	struct st_device_wait_record *waits; /* by process and correlation in the end */
	uint32_t wait_count, wait_capacity, about_capacity;
};

/* When threads were on no CPU (index_off_cpu.c), as it came. */
struct st_off_tables {
	struct st_off_record *records;
	uint32_t count, capacity;
};

struct st_operator_tables {
	struct st_operator *items;
	uint32_t count, capacity;
	struct st_memory_moment *moments;
	uint32_t moment_count, moment_capacity;
	struct st_memory_moment *device_moments;
	uint32_t device_moment_count, device_moment_capacity;
	uint32_t last_mark; /* of the last moment */
	uint64_t missing;   /* operators whose signature nobody defines */
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
	struct st_label_use *label_uses;
	uint32_t use_count, use_capacity;
	struct st_map label_map;			   /* to label_uses */
	struct st_id_map labels;			   /* (domain text, name text) -> label */
	struct st_id_map missing_strings, missing_domains; /* (process id, id) */
	struct st_chunk_ref *call_refs;			   /* of ST_CHUNK_CALLS */
	uint32_t call_ref_count, call_ref_capacity;
	uint64_t call_count;
	struct st_sample_ref *sample_refs;
	uint32_t sample_ref_count, sample_ref_capacity;
	uint64_t sample_count;
	struct st_open_ref *opens;
	uint32_t open_count, open_capacity;
	bool has_window;	/* files before the first one are gone: what is known begins here */
	uint32_t first_segment; /* that has anything in it */
	uint64_t window_ticks, event_count;
	struct st_event_tables tables;
	struct st_operator_tables operators;
	struct st_device_tables devices;
	struct st_off_tables off_cpu;
	bool decoded_before; /* the second try after a chunk held less than it said */
	bool no_memory;
};

/* index_scan.c */
enum st_status st_index_scan(struct st_index_builder *builder, struct st_error *err);
/* The track of these ids, made if need be; ST_ID_NONE: no memory. */
uint32_t st_index_find_track(struct st_index_builder *builder, uint32_t process_id,
			     uint32_t track_id);
/* index_labels.c; ST_ID_NONE: no memory */
uint32_t st_index_label_of(struct st_index_builder *builder, uint32_t process_id, uint32_t domain,
			   uint32_t name);
/* The texts behind the ids of a process; 0: none. What nobody defines is named so and counted. */
struct st_index_label st_index_texts_of(struct st_index_builder *builder, uint32_t process_id,
					uint32_t domain, uint32_t name);
/* index_decode.c: the innermost open slice of the thread's present ITT track, or ST_NO_ROW. */
uint32_t st_index_innermost(const struct st_track_state *track);
struct st_open_slice *st_index_innermost_open(const struct st_track_state *track); /* or NULL */
/* *short_chunks: some chunk held fewer begins than its header said */
enum st_status st_index_decode(struct st_index_builder *builder, bool *short_chunks,
			       struct st_error *err);
/* A chunk of the second pass that did not hold what it said. */
void st_index_note_damage(struct st_index_builder *builder, uint32_t segment, size_t offset,
			  const struct st_error *why);
/* Unpacks the chunk that the first pass found there into builder->raw. */
bool st_index_unpack(struct st_index_builder *builder, uint32_t segment, size_t offset,
		     struct st_chunk_header *header, struct st_error *why);
/* index_samples.c: a chunk of samples found by the scan; false: its counts cannot be true. */
bool st_index_add_samples(struct st_index_builder *builder, const struct st_chunk_header *header,
			  uint32_t segment, size_t offset);
/* All samples into their columns, by time; *short_chunks as below. Before slices are decoded. */
void st_index_decode_samples(struct st_index_builder *builder, bool *short_chunks);
/* The samples of a track before that tick belong to what is open on it now. */
void st_index_join_samples(struct st_index_builder *builder, struct st_track_state *track,
			   uint64_t before_ticks);
/* index_calls.c: a chunk of calls found by the scan; false: its counts cannot be true. */
bool st_index_add_calls(struct st_index_builder *builder, const struct st_chunk_header *header,
			uint32_t segment, size_t offset);
/* All of them into their table, when the slices are decoded. */
bool st_index_calls(struct st_index_builder *builder);
/* index_devices.c: a chunk of what comes late, in builder->raw; false: it is not what it says, and why. */
bool st_index_add_devices(struct st_index_builder *builder, const struct st_chunk_header *header,
			  struct st_error *why);
void st_index_sort_devices(struct st_index_builder *builder);
/* Before a second try: their rows count again. */
void st_index_rewind_devices(struct st_index_builder *builder);
/* What ran on devices, into its rows; and calls of a thread that begin before that tick, among its own slices. */
void st_index_take_streams(struct st_index_builder *builder);
void st_index_take_calls_before(struct st_index_builder *builder, struct st_track_state *track,
				uint64_t ticks);
bool st_index_devices_finish(struct st_index_builder *builder);
/* index_off_cpu.c: the same of the time on no CPU. */
bool st_index_add_off_cpu(struct st_index_builder *builder, const struct st_chunk_header *header,
			  struct st_error *why);
bool st_index_off_cpu_finish(struct st_index_builder *builder);
/* index_operators.c: a begin that has a signature; its item, or ST_NO_ROW. */
uint32_t st_index_take_operator(struct st_index_builder *builder,
				const struct st_track_state *track,
				const struct st_slice_record *record, uint32_t row);
/* A mark that tells of memory, and one that tells of a device's. */
void st_index_take_memory(struct st_index_builder *builder, struct st_track_state *track,
			  const struct st_slice_record *record, int64_t ns);
void st_index_take_device_memory(struct st_index_builder *builder,
				 const struct st_track_state *track,
				 const struct st_slice_record *record, int64_t ns);
bool st_index_operators_finish(struct st_index_builder *builder);
/* index_twins.c: flags ITT tasks that repeat an operator, and puts what lies in them into the operator. Before
 * st_index_finish. */
bool st_index_twins(struct st_index_builder *builder);
/* index_inherit.c: who created whom, and what samples without a slice inherit from there. */
bool st_index_inherit(struct st_index_builder *builder);
/* index_finish.c: pauses, self times and the counts of flags */
void st_index_finish(struct st_index_builder *builder);
/* index_events.c: one event of a track into its row. What needs memory sets builder->no_memory. */
void st_index_take_event(struct st_index_builder *builder, struct st_track_state *track,
			 const struct st_event *event, uint64_t ticks, int64_t ns);
/* Everything that follows from the events, when all rows are there and finished. */
void st_index_finish_events(struct st_index_builder *builder);
void st_event_tables_fini(struct st_event_tables *tables);
/* index_objects.c: the object that an id of a process means at that time, made up if nobody defines it. */
uint32_t st_index_object_of(struct st_index_builder *builder, uint32_t process_id,
			    const struct st_event *event, st_string_id domain, st_string_id name);
const struct st_object_head *st_index_clock_of(struct st_index_builder *builder,
					       uint32_t process_id, uint32_t id, uint64_t ticks);
bool st_index_objects_begin(struct st_index_builder *builder);
bool st_index_objects_finish(struct st_index_builder *builder);
/* index_callers.c */
uint32_t st_index_caller_of(struct st_index_builder *builder, struct st_track_state *track,
			    const struct st_slice_record *record, int64_t ns);
bool st_index_callers_finish(struct st_index_builder *builder);
/* index_spans.c, index_sync.c, index_lanes.c */
bool st_index_spans_finish(struct st_index_builder *builder);
/* index_flows.c: events that name flows, into their table */
bool st_index_flows_finish(struct st_index_builder *builder);
/* index_copies.c: flags the slices of worker threads that repeat their caller's */
bool st_index_copies_finish(struct st_index_builder *builder);

#endif
