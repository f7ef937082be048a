/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of dataset_rows.c while they are being gathered, and the table of sets.
 */
#ifndef ST_ANALYZE_DATASETS_ROW_SETS_H
#define ST_ANALYZE_DATASETS_ROW_SETS_H

#include "analyze/datasets/counters.h"
#include "analyze/datasets/dataset_parts.h"
#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/thread_time.h"
#include "analyze/datasets/wait_sites.h"

/* What a heap call took and gave back. */
struct st_heap_call {
	uint64_t alloc_bytes, free_bytes;
};

struct st_rows {
	const struct st_result *result;
	struct st_arena arena;
	struct st_set answers; /* groupings with a column */
	uint32_t count, capacity;
	uint32_t process_count, track_count;
	struct st_row_source *source;
	int64_t *begin_ns, *end_ns;
	uint16_t *flags;
	uint32_t *columns[ST_GROUPINGS];
	struct st_key_texts texts[ST_GROUPINGS];
	struct st_pause_list pauses;
	struct st_counters counters;
	struct st_heap_call *heap_calls; /* by row, of ST_ROWS_HEAP */
	/* Of ST_ROWS_SYNC. */
	const struct st_named *named; /* given, or NULL */
	struct st_wait_sites sites;
	/* Of ST_ROWS_PATH, while it is filled. */
	const struct st_path_range *ranges;
	uint32_t range_count;
	const int64_t
		*within_ns; /* of ST_ROWS_THREAD_TIME, while it is filled: of this part, or NULL */
	uint32_t *samples;  /* by row: that with the stack of the wait, or ST_NO_ROW */
	uint32_t sample_capacity;
	uint32_t span_rows; /* of ST_ROWS_SYNC: the first rows are spans, in their order */
	struct st_thread_times times;
	void *more; /* what further columns are made from (analyze/samples/wait_keys.c), or NULL */
	bool failed;
};

struct st_new_row {
	struct st_row_source source;
	int64_t begin_ns, end_ns;
	uint32_t process, track; /* index, or ST_NO_ROW */
	uint16_t flags;
};

/* Appends a row, whose keys are then set one by one. A failure is kept in rows->failed. */
void st_rows_add(struct st_rows *rows, const struct st_new_row *row);
void st_rows_key(struct st_rows *rows, enum st_grouping grouping, struct st_text text);

struct st_row_set_info {
	const char *noun;	/* "frames" */
	const uint8_t *answers; /* list, beside process, thread and the instance */
	enum st_grouping instance, named_by;
	bool (*fill)(struct st_rows *rows); /* false when memory is out */
	const struct st_measure *measures;  /* beside those of rows that last */
	uint32_t measure_count;
};
extern const struct st_row_set_info st_row_sets[ST_ROW_SETS];

/* Rows out of spans and of events, as they are. */
void st_rows_add_span(struct st_rows *rows, uint32_t index, uint32_t number);
void st_rows_add_event(struct st_rows *rows, uint32_t index, uint32_t number, uint16_t flags);
uint32_t st_rows_process_of(const struct st_rows *rows, uint32_t track);
/* row_waits.c, row_devices.c */
bool st_rows_fill_waits(struct st_rows *rows);
/* row_thread_time.c */
bool st_rows_fill_thread_time(struct st_rows *rows);
bool st_rows_fill_kernels(struct st_rows *rows);
bool st_rows_fill_gaps(struct st_rows *rows);
/* row_openmp.c */
bool st_rows_fill_openmp(struct st_rows *rows);

/* row_path.c */
bool st_rows_fill_path(struct st_rows *rows);

/* Follows the blocks of the heap calls, whose rows are in order of time. False when memory is out. */
bool st_heap_calls_make(struct st_rows *rows);

#endif
