/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits among the samples of a result in which they were recorded. Only sample_*.c use this, and who asks which groupings
 * there are.
 */
#ifndef ST_ANALYZE_SAMPLES_SAMPLE_WAITS_H
#define ST_ANALYZE_SAMPLES_SAMPLE_WAITS_H

#include "analyze/samples/sample_set.h"

/* Groupings that only waits have. */
enum { ST_WAIT_GROUPINGS = 4 };
struct st_set st_wait_groupings(void);
/* Whether waits were recorded. */
bool st_sample_has_waits(const struct st_result *result);

/* Flags of a row that is a wait, behind those of sample_rows.h. */
enum {
	ST_SAMPLE_FOR_THREAD = 4,
	ST_SAMPLE_IDLE = 8,
	ST_SAMPLE_READY = 16,
	/* No wait: the thread could have gone on. By the kernel's records, which know no stacks. */
	ST_SAMPLE_PREEMPTED = 32,
};

enum st_status st_sample_waits_open(struct st_sample_set *set, struct st_error *err);

/* What a question sees of what a wait is for; 0: of no wait. */
struct st_wait_contexts {
	enum st_grouping used[ST_WAIT_GROUPINGS];
	unsigned int used_count;
	struct st_pair_map chain;
	uint32_t *keys[ST_WAIT_GROUPINGS]; /* by used grouping and context: key + 1, 0: none */
	uint32_t capacity[ST_WAIT_GROUPINGS];
	bool failed;
};
bool st_wait_contexts_init(struct st_wait_contexts *contexts, const struct st_sample_set *set,
			   const struct st_question *question);
void st_wait_contexts_fini(struct st_wait_contexts *contexts);
/* Of a row of the waits. */
uint32_t st_wait_context(struct st_wait_contexts *contexts, const struct st_sample_set *set,
			 uint32_t row);

struct st_sample_wait {
	uint32_t sample; /* with its stack, or ST_NO_ROW */
	uint32_t track, slice;
	uint32_t row;	 /* of the waits, or ST_NO_ROW */
	int64_t time_ns; /* of its begin */
	uint64_t weight_ns, count;
	uint8_t flags;
};
/* Whether the kernel told that threads of the result were preempted. */
bool st_sample_has_preempted(const struct st_result *result);
/* A time without a CPU, as much of it as lies in the time that the question is about; false: nothing. Its sample has the stack of
 * the wait that it is part of; else it is the nearest one of the thread, as a guess. */
struct st_preempted;
bool st_sample_preempted_at(const struct st_sample_set *set, const struct st_question *question,
			    const struct st_preempted *piece, struct st_sample_wait *out);
/* A row of the waits, as much of it as lies in the time that the question is about; false: nothing. */
bool st_sample_wait_at(const struct st_sample_set *set, const struct st_question *question,
		       uint32_t row, struct st_sample_wait *out);
/* The Python frame that waits in a frame: not one of threading.py. */
uint32_t st_sample_wait_python(const struct st_sample_set *set, uint32_t frame);

#endif
