/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples and their stacks for exports: the samples that match the filters, the frames that the modes keep,
 * and the name of each frame. All formats of samples read this, so that they agree with each other.
 */
#ifndef ST_ANALYZE_STACKS_STACKS_H
#define ST_ANALYZE_STACKS_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/samples/sample_rows.h"

struct st_buf;

struct st_stacks {
	const struct st_result *result;
	struct st_sample_set set; /* open when there are samples */
	struct st_sample_rows
		how; /* what the question sees of the tasks of a sample; without rows */
	const struct st_named *named;
	const struct st_samples *samples;
	const struct st_process *processes;
	const struct st_track *tracks;
	uint32_t process_count, track_count;
	uint32_t *rows; /* the samples that are wanted, in their order */
	uint32_t row_count;
	bool is_of_waits; /* time in waits rather than on a CPU: a filter is about them */
	uint64_t total_ns;
	uint64_t truncated, recovered; /* of the samples that are wanted */
	/* Levels above the stacks. */
	enum st_grouping groups[ST_QUESTION_DEPTH_MAX];
	unsigned int group_count;
};

/* question and view may be NULL. A result without samples just has none. Fini is due also after a failure. */
enum st_status st_stacks_init(struct st_stacks *stacks, const struct st_result *result,
			      const struct st_question *question, const struct st_sample_view *view,
			      struct st_error *err);
/* The same for who is about nothing else: no samples, or none that is wanted, is ST_EUSAGE. */
enum st_status st_stacks_need(struct st_stacks *stacks, const struct st_result *result,
			      const struct st_question *question, const struct st_sample_view *view,
			      struct st_error *err);
void st_stacks_fini(struct st_stacks *stacks);

/* The end of the wanted samples that are of the same thread as number `first`: they lie thread by thread. */
uint32_t st_stacks_thread_end(const struct st_stacks *stacks, uint32_t first);

/* The innermost frame shown of a sample, and the one that called it; 0 when there is none. */
static inline uint32_t st_stacks_leaf(const struct st_stacks *stacks, uint32_t row)
{
	return st_sample_leaf(&stacks->set, stacks->samples->node[row]);
}

static inline uint32_t st_stacks_caller(const struct st_stacks *stacks, uint32_t frame)
{
	return st_sample_tree_caller(&stacks->set, frame);
}

/* A function as it is drawn: Python functions apart by line. */
struct st_stack_label {
	uint32_t function;     /* index into functions */
	uint32_t source, line; /* of a Python frame: where it was; else 0 */
};
struct st_stack_label st_stacks_label_of(const struct st_stacks *stacks, uint32_t frame);
/* "conv2d", "train (train.py:88)", "func@0x1de20 [libgomp.so.1]"; any bytes. */
void st_stacks_label_text(const struct st_stacks *stacks, struct st_stack_label label,
			  struct st_buf *out);

/* What can be a level above the stacks. */
struct st_set st_stacks_groupings(void);
/* The key of a sample in a level above the stacks, and what it is called. */
uint32_t st_stacks_group_key(struct st_stacks *stacks, unsigned int level, uint32_t row);
void st_stacks_group_text(const struct st_stacks *stacks, unsigned int level, uint32_t key,
			  struct st_buf *out);
void st_stacks_thread_text(const struct st_stacks *stacks, uint32_t track, struct st_buf *out);
void st_stacks_process_text(const struct st_stacks *stacks, uint32_t process, struct st_buf *out);

/* The task that a sample lies in (a label), its own or the one it inherits; ST_NO_ROW: none. */
uint32_t st_stacks_task(const struct st_stacks *stacks, uint32_t row, bool *is_inherited);

#endif
