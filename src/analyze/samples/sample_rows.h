/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples folded into rows: those of the same stack, task, thread and kind become one, so that the cost
 * of counting depends on what differs, not on the number of samples.
 */
#ifndef ST_ANALYZE_SAMPLES_SAMPLE_ROWS_H
#define ST_ANALYZE_SAMPLES_SAMPLE_ROWS_H

#include "analyze/samples/sample_set.h"
#include "analyze/samples/sample_waits.h"

enum { ST_SAMPLE_INHERITED = 1, ST_SAMPLE_OFF_CPU = 2 };

struct st_sample_row {
	uint32_t frame;	  /* innermost one shown, or 0 */
	uint32_t python;  /* innermost one of Python, shown or not, or 0 */
	uint32_t context; /* of tasks; 0: outside any */
	uint32_t track;	  /* of any of its samples, when no question is about threads */
	uint32_t cpu_class;
	uint32_t wait; /* context of a wait; 0: none, or no question is about it */
	uint8_t flags; /* ST_SAMPLE_INHERITED … */
	uint64_t weight, samples;
	uint64_t waits;
};

/* A context is what a question sees of a slice and those around it: one key for each grouping by task that it
 * uses. Slices that look the same share one. Context 0 is that of no slice. */
struct st_sample_contexts {
	enum st_grouping used[ST_GROUPINGS];
	unsigned int used_count;
	struct st_pair_map
		chain; /* (previous link, key + 1); the first link hangs on the context around */
	uint32_t *
		outer; /* by context: the nearest one around it in which one of the keys is not 0 */
	uint32_t *keys[ST_GROUPINGS]; /* by used grouping and context: key + 1, 0: none */
	uint32_t outer_capacity, key_capacity[ST_GROUPINGS];
	struct st_pair_map ids; /* (last link, 0) to context */
	uint32_t *of_slice;	/* context, or 0: not asked for yet */
	bool has_timed_steps;	/* asked for, and what is in no slice may be in one */
	bool failed;
};

struct st_sample_rows {
	struct st_sample_set *set;
	struct st_sample_row *rows;
	uint32_t count, capacity;
	struct st_sample_contexts contexts;
	struct st_wait_contexts waits;
	bool by_track, by_python;
};

/* Makes the keys that the question is about, and the rows; they are what the set's dataset has from then on. Filters
 * are not looked at. */
enum st_status st_sample_rows_fold(struct st_sample_rows *out, struct st_sample_set *set,
				   const struct st_question *question, struct st_error *err);
/* The same, and only the rows that pass the filters. */
enum st_status st_sample_rows_make(struct st_sample_rows *out, struct st_sample_set *set,
				   const struct st_question *question, struct st_error *err);
/* The same with one row, which is then any sample that is looked at. */
enum st_status st_sample_rows_begin(struct st_sample_rows *out, struct st_sample_set *set,
				    const struct st_question *question, struct st_error *err);
bool st_sample_rows_look(struct st_sample_rows *rows, uint32_t sample);
/* The same with a row of the waits. */
bool st_sample_rows_look_at_wait(struct st_sample_rows *rows, const struct st_sample_wait *wait);
void st_sample_rows_fini(struct st_sample_rows *rows);

bool st_contexts_init(struct st_sample_contexts *contexts, struct st_sample_set *set,
		      const struct st_question *question);
void st_contexts_fini(struct st_sample_contexts *contexts);
uint32_t st_context_of(struct st_sample_contexts *contexts, const struct st_sample_set *set,
		       uint32_t slice);
/* The innermost slice that a track had open at a time, or ST_NO_ROW. */
uint32_t st_context_slice(const struct st_sample_set *set, uint32_t track, int64_t time_ns);
/* Of a sample in operators that were not recorded, but are known by a frame; `around`: of the slices around them. */
uint32_t st_context_called(struct st_sample_contexts *contexts, const struct st_sample_set *set,
			   uint32_t frame, uint32_t around);
/* Of a sample outside of any slice: the step that its process is in. */
uint32_t st_context_at(struct st_sample_contexts *contexts, const struct st_sample_set *set,
		       uint32_t track, int64_t time_ns);

#endif
