/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time in which TensorFlow prepares its input: what tf.data runs, as the functions of map().
 */
#ifndef ST_ANALYZE_SAMPLES_INPUT_CPU_H
#define ST_ANALYZE_SAMPLES_INPUT_CPU_H

#include "analyze/samples/sample_set.h"

struct st_arena;

enum { ST_INPUT_LINES_MAX = 3 };

/* A line of the program's own code that calls map(). */
struct st_input_line {
	uint32_t source, number; /* a source of the set's names */
	uint64_t ns;		 /* which the call took, most of it to read the function */
};

struct st_input_cpu {
	uint64_t ns;
	uint64_t unlined_ns; /* of it, in stacks without a line of the program's own Python code */
	const char *
		kernels; /* "AdjustSaturation and Cast": those with most of it, in the arena; "": not known */
	/* Which of several calls the time is for, nobody knows. A call that took no time has no sample. */
	struct st_input_line lines[ST_INPUT_LINES_MAX];
	uint32_t line_count;
	bool has_more_lines;
};

/* Of the samples from a moment to another; lines are those of the whole run. False when memory is out. */
bool st_input_cpu_make(struct st_input_cpu *out, const struct st_sample_set *set, int64_t begin_ns,
		       int64_t end_ns, struct st_arena *arena);

#endif
