/* SPDX-License-Identifier: Apache-2.0
 *
 * Datasets of everything except nested tasks: frames, regions, overlapped tasks, waits, markers, values of
 * counters and so on. Their rows may overlap and do not nest, so each row is its own track to the engine,
 * and the total time of a group is the sum of its rows.
 */
#ifndef ST_ANALYZE_DATASETS_DATASET_ROWS_H
#define ST_ANALYZE_DATASETS_DATASET_ROWS_H

#include "analyze/engine/dataset.h"
#include "store/events.h"

struct st_counters;

enum st_row_set {
	ST_ROWS_FRAMES,
	ST_ROWS_REGIONS,
	ST_ROWS_OVERLAPPED, /* and tasks with times of their own that do not fit their thread */
	ST_ROWS_MARKERS,    /* markers, user events and marks, with an end or without */
	ST_ROWS_SYNC,	    /* waits; uncounted beside them holds, acquisitions and releases */
	ST_ROWS_SAMPLES,    /* values of counters, by counter and time */
	ST_ROWS_RELATIONS,
	ST_ROWS_METADATA,
	ST_ROWS_HISTOGRAMS,
	ST_ROWS_HEAP, /* ends of heap calls, by time */
	ST_ROW_SETS
};

/* A flag of these rows: in its group, but not counted by the engine. */
enum { ST_ROW_UNCOUNTED = 0x8000 };

/* Where a row comes from. */
struct st_row_source {
	uint32_t span;	/* index into spans, or ST_NO_ROW */
	uint32_t event; /* index into events, or ST_NO_ROW */
	/* Frames: number within the domain. Samples: index into counters. Waits, holds and their events: index
	 * into sync objects. */
	uint32_t number;
	uint32_t sample; /* index into the samples of that counter */
};

enum st_status st_dataset_rows_init(struct st_dataset *out, const struct st_result *result,
				    enum st_row_set set, struct st_error *err);
void st_dataset_rows_fini(struct st_dataset *dataset);

struct st_row_source st_dataset_rows_source(const struct st_dataset *dataset, uint32_t row);
/* Of ST_ROWS_SAMPLES, else NULL. */
const struct st_counters *st_dataset_rows_counters(const struct st_dataset *dataset);
/* What is counted of waits and of heap calls, beside their time. */
extern const struct st_measure st_sync_measures[], st_heap_measures[];
enum { ST_SYNC_MEASURES = 6, ST_HEAP_MEASURES = 6 };
/* Groupings of a set, whether the result has such rows or not. */
struct st_set st_dataset_rows_answers(enum st_row_set set);

/* What an id stands for: the name of a task, region, group …, or "id 1:2:3". NULL when memory is out. */
struct st_id_names;
struct st_id_names *st_id_names_make(const struct st_result *result);
void st_id_names_free(struct st_id_names *names);
struct st_text st_id_names_text(const struct st_id_names *names, uint32_t id,
				struct st_arena *arena);

/* What a piece of metadata is about. */
struct st_text st_metadata_owner(const struct st_result *result, const struct st_id_names *names,
				 const struct st_event_row *row, struct st_arena *arena);
/* The name of a slice. */
struct st_text st_slice_name(const struct st_result *result, uint32_t slice);
/* Name, else type and address. */
struct st_text st_sync_object_text(const struct st_result *result, uint32_t object,
				   struct st_arena *arena);

#endif
