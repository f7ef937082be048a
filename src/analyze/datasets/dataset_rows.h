/* SPDX-License-Identifier: Apache-2.0
 *
 * Datasets of everything except nested tasks: frames, regions, overlapped tasks, waits, markers, values of
 * counters and so on. Their rows may overlap and do not nest, so each row is its own track to the engine,
 * and the total time of a group is the sum of its rows.
 */
#ifndef ST_ANALYZE_DATASETS_DATASET_ROWS_H
#define ST_ANALYZE_DATASETS_DATASET_ROWS_H

#include "analyze/engine/dataset.h"
#include "format/wait_kind.h"
#include "store/events.h"

struct st_counters;
struct st_named;
struct st_wait_sites;

enum st_row_set {
	ST_ROWS_FRAMES,
	ST_ROWS_REGIONS,
	ST_ROWS_OVERLAPPED, /* and tasks with times of their own that do not fit their thread */
	ST_ROWS_MARKERS,    /* markers, user events and marks, with an end or without */
	ST_ROWS_SYNC, /* waits; uncounted beside them holds, acquisitions, releases, and sums of short waits */
	ST_ROWS_SAMPLES, /* values of counters, by counter and time */
	ST_ROWS_RELATIONS,
	ST_ROWS_METADATA,
	ST_ROWS_HISTOGRAMS,
	ST_ROWS_HEAP, /* ends of heap calls, by time */
	ST_ROWS_THREAD_TIME, /* of each thread its time in each class: as long as that, from its begin on */
	ST_ROWS_PATH, /* pieces of critical paths: open them with st_dataset_path_init (steps/critical_path.h) */
	ST_ROWS_KERNELS, /* what ran on devices; number: its slice, sample: the call's, or ST_NO_ROW */
	ST_ROWS_OPENMP, /* parallel regions of OpenMP, and the time of a process outside of them */
	ST_ROWS_GAPS, /* when no kernel ran on a device; number: slice that ended it, sample as above */
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
/* Waits (ST_ROWS_SYNC), with names that are open already; NULL: they are opened. */
enum st_status st_dataset_waits_open(struct st_dataset *out, const struct st_result *result,
				     const struct st_named *named, struct st_error *err);
/* Critical paths (ST_ROWS_PATH) of stretches of threads. */
struct st_path_range {
	uint32_t track;
	int64_t begin_ns, end_ns;
	struct st_text step;
};
enum st_status st_dataset_path_open(struct st_dataset *out, const struct st_result *result,
				    const struct st_path_range *ranges, uint32_t count,
				    struct st_error *err);
/* What threads did (ST_ROWS_THREAD_TIME) between two times. */
enum st_status st_dataset_thread_time_open(struct st_dataset *out, const struct st_result *result,
					   const int64_t *range_ns, struct st_error *err);
void st_dataset_rows_fini(struct st_dataset *dataset);

struct st_row_source st_dataset_rows_source(const struct st_dataset *dataset, uint32_t row);
/* Of waits: the sample with the stack of a row, or ST_NO_ROW; and where they were. */
uint32_t st_dataset_waits_sample(const struct st_dataset *dataset, uint32_t row);
const struct st_wait_sites *st_dataset_waits_sites(const struct st_dataset *dataset);
/* And what all threads did meanwhile; the row of a span, or ST_NO_ROW. */
struct st_thread_times;
const struct st_thread_times *st_dataset_waits_times(const struct st_dataset *dataset);
uint32_t st_dataset_waits_row(const struct st_dataset *dataset, uint32_t span);
/* Of ST_ROWS_SAMPLES, else NULL. */
const struct st_counters *st_dataset_rows_counters(const struct st_dataset *dataset);
/* What is counted of waits and of heap calls, beside their time. */
extern const struct st_measure st_sync_measures[], st_heap_measures[], st_kernel_measures[],
	st_openmp_measures[];
enum {
	ST_SYNC_MEASURES = 12,
	ST_HEAP_MEASURES = 6,
	ST_KERNEL_MEASURES = 7,
	ST_OPENMP_MEASURES = 4,
};
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
/* "Synchronization", "I/O" … */
const char *st_wait_class_word(enum st_wait_class class);
/* The detail of a wait in a function of the C library (format/wait_kind.h); 0: it is none. */
uint32_t st_library_wait(const struct st_span *span);
/* Of a row of ST_ROWS_KERNELS; false: it is not known. */
struct st_occupancy;
bool st_kernel_occupancy(const struct st_dataset *dataset, uint32_t row, struct st_occupancy *out);
/* A row of ST_ROWS_OPENMP. */
struct st_openmp_region {
	bool is_parallel;
	uint32_t threads;
	uint64_t wait_ns, imbalance_ns; /* of all threads for its end; of each on the average */
};
struct st_openmp_region st_openmp_region(const struct st_dataset *dataset, uint32_t row);
extern const char st_openmp_serial[]; /* the name of what is none */
/* The operator or range that a call was made in, or ST_NO_ROW. */
uint32_t st_launching_operator(const struct st_result *result, uint32_t call);
/* The name of a slice. */
struct st_text st_slice_name(const struct st_result *result, uint32_t slice);
/* Name, else type and address. */
struct st_text st_sync_object_text(const struct st_result *result, uint32_t object,
				   struct st_arena *arena);

#endif
