/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples folded into rows: those of the same stack, task, thread and kind become one, so that counting
 * costs by what differs, not by how long was sampled.
 */
#ifndef ST_ANALYZE_SAMPLES_SAMPLE_ROWS_H
#define ST_ANALYZE_SAMPLES_SAMPLE_ROWS_H

#include "analyze/samples/sample_set.h"

enum { ST_SAMPLE_INHERITED = 1, ST_SAMPLE_OFF_CPU = 2 };

struct st_sample_row {
	uint32_t frame;	  /* innermost one shown, or 0 */
	uint32_t python;  /* innermost one of Python, shown or not, or 0 */
	uint32_t context; /* of tasks; 0: outside any */
	uint32_t track;	  /* of any of its samples, when no question is about threads */
	uint8_t flags;	  /* ST_SAMPLE_INHERITED … */
	uint8_t cpu_class;
	uint64_t weight, samples;
};

/* A context is what a question sees of a slice and those around it: one key for each grouping by task that it
 * uses. Slices that look the same share one. Context 0 is that of no slice. */
struct st_sample_contexts {
	enum st_grouping used[ST_GROUPINGS];
	unsigned int used_count;
	struct st_pair_map
		chain;	 /* (previous link, key + 1); the first link hangs on the context around */
	uint32_t *outer; /* by context: that of the slice around it */
	uint32_t *keys;	 /* by context and used grouping: key + 1, 0: none */
	uint32_t count, capacity;
	struct st_pair_map ids; /* (last link, 0) to context */
	uint32_t *of_slice;	/* context, or 0: not asked for yet */
	bool has_timed_steps;	/* asked for, and what is in no slice may be in one */
	bool failed;
};

struct st_sample_rows {
	struct st_sample_set *set;
	struct st_sample_row *rows;
	uint32_t count;
	struct st_sample_contexts contexts;
};

enum st_status st_sample_rows_make(struct st_sample_rows *out, struct st_sample_set *set,
				   const struct st_question *question, struct st_error *err);
void st_sample_rows_fini(struct st_sample_rows *rows);

/* Key (+ 1) of a context in a grouping that the question uses. */
static inline uint32_t st_context_key(const struct st_sample_contexts *contexts, uint32_t context,
				      enum st_grouping grouping)
{
	for (unsigned int i = 0; i < contexts->used_count; i++)
		if (contexts->used[i] == grouping)
			return contexts->keys[(uint64_t)context * contexts->used_count + i];
	return 0;
}

bool st_contexts_init(struct st_sample_contexts *contexts, struct st_sample_set *set,
		      const struct st_question *question);
void st_contexts_fini(struct st_sample_contexts *contexts);
uint32_t st_context_of(struct st_sample_contexts *contexts, const struct st_sample_set *set,
		       uint32_t slice);
/* Of a sample outside of any slice: the step that its process is in. */
uint32_t st_context_at(struct st_sample_contexts *contexts, const struct st_sample_set *set,
		       uint32_t track, int64_t time_ns);

/* Which of the rows a question is about. */
struct st_sample_filter {
	struct {
		enum st_grouping grouping;
		uint8_t *hits; /* by key: 1 wanted, 2 not wanted */
		bool has_wanted;
	} tests[ST_GROUPINGS];
	unsigned int count;
};
enum st_status st_sample_filter_init(struct st_sample_filter *out, struct st_sample_set *set,
				     const struct st_question *question, struct st_error *err);
void st_sample_filter_fini(struct st_sample_filter *filter);
bool st_sample_filter_has(const struct st_sample_filter *filter, const struct st_sample_rows *rows,
			  const struct st_sample_row *row);

#endif
