/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of dataset_rows.c while they are being gathered, and the table of sets.
 */
#ifndef ST_ANALYZE_DATASETS_ROW_SETS_H
#define ST_ANALYZE_DATASETS_ROW_SETS_H

#include "analyze/datasets/counters.h"
#include "analyze/datasets/dataset_parts.h"
#include "analyze/datasets/dataset_rows.h"

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

/* Follows the blocks of the heap calls, whose rows are in order of time. False when memory is out. */
bool st_heap_calls_make(struct st_rows *rows);

#endif
