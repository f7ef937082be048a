/* SPDX-License-Identifier: Apache-2.0
 *
 * The samples of an open result and the stacks they point into. Everything is borrowed until
 * st_result_close; times are ns since the start of collection.
 */
#ifndef ST_STORE_SAMPLES_H
#define ST_STORE_SAMPLES_H

#include <stdint.h>

#include "format/samples.h"
#include "format/shm.h"
#include "store/result.h"

/* Columns of all samples, mapped from the index. Samples of one track lie together, by time. */
struct st_samples {
	uint32_t count;
	const int64_t *time_ns;
	const uint64_t *weight_ns;
	const uint32_t *node;  /* leaf, index into nodes; 0: no stack */
	const uint32_t *track; /* index */
	const uint32_t *slice; /* innermost slice that its thread had open then, or ST_NO_ROW */
	/* Of a worker of a parallel region: innermost slice that the thread which created it had open then, or
	 * ST_NO_ROW. Only asked for when slice is ST_NO_ROW or lies outside the region. */
	const uint32_t *inherited;
	const uint16_t *flags;		/* enum st_sample_flag */
	const uint32_t *first_of_track; /* [track count + 1] */
};

/* All stacks of the result as one forest; nodes of one process lie together, parents before children. */
struct st_stack_nodes {
	uint32_t count;
	const uint32_t *parent;	 /* index; 0: outermost */
	const uint32_t *process; /* index */
	const uint64_t *value;	 /* address; Python: index into codes | position << 32 */
	const uint32_t *line;	 /* Python: decoded line, 0: not known */
	const uint8_t *kind;	 /* enum st_frame_kind | ST_FRAME_* */
};

struct st_python_code {
	uint32_t process; /* index */
	uint32_t first_line;
	st_string_id file, name;
};

struct st_sampler {	  /* how a process was sampled */
	uint32_t process; /* index */
	enum st_sampler_rung rung;
	enum st_sampler_trigger trigger;
	uint32_t flags; /* ST_ARM_* */
	uint64_t period_ns;
	st_string_id why; /* no better rung */
	uint64_t dropped, not_taken, handler_ns, nodes_refused, before_tables, build_ns;
	uint64_t tables_built, tables_cached;
};

struct st_sample_quality { /* of running samples, all processes */
	uint64_t samples, cpu_ns;
	uint64_t truncated, recovered, no_table, python_cut, python_top_unknown, mismatched;
	uint64_t depth_cut, nominal, approximate, python_late;
	uint64_t dropped, not_taken;
	uint64_t
		stacks_missing; /* not, or not all, in the definitions: damage; flagged truncated too */
};

/* What the threads of all processes wanted of the CPUs in a while of the run. Absent where the kernel does not tell. */
struct st_cpu_demand {
	int64_t begin_ns, end_ns;
	uint64_t cpu_ns;   /* for which they ran */
	uint64_t delay_ns; /* for which they were ready and waited for a CPU */
	uint32_t threads;
};

const struct st_cpu_demand *st_result_cpu_demand(const struct st_result *result, uint32_t *count);
const struct st_samples *st_result_samples(const struct st_result *result);
const struct st_stack_nodes *st_result_stack_nodes(const struct st_result *result);
const struct st_python_code *st_result_python_codes(const struct st_result *result,
						    uint32_t *count);
const struct st_sampler *st_result_samplers(const struct st_result *result, uint32_t *count);
const struct st_sample_quality *st_result_sample_quality(const struct st_result *result);
/* Index of the track that created a track's thread, or ST_NO_ROW. */
uint32_t st_result_track_creator(const struct st_result *result, uint32_t track);

#endif
