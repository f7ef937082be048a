/* SPDX-License-Identifier: Apache-2.0
 *
 * The call graph of samples: functions with their self and total time, and the time of each call between two of
 * them.
 */
#ifndef ST_ANALYZE_SAMPLES_CALL_GRAPH_H
#define ST_ANALYZE_SAMPLES_CALL_GRAPH_H

#include "analyze/samples/sample_rows.h"

struct st_call_function {
	uint32_t key; /* of ST_BY_FUNCTION */
	uint64_t self_ns, total_ns;
	uint64_t root_ns; /* part of the total in stacks that begin with it */
	uint64_t root_self_ns;
	uint32_t cycle; /* functions that call one another share a number, from 1; 0: in none */
	uint32_t stamp;
};

struct st_call {
	uint32_t caller, callee; /* indexes into functions */
	uint64_t self_ns;	 /* in the callee itself */
	uint64_t total_ns;	 /* in it and what it called */
	uint32_t stamp;
};

struct st_call_graph {
	struct st_call_function *functions; /* by key */
	uint32_t function_count;
	struct st_call *calls;
	uint32_t call_count, call_capacity;
	uint64_t total_ns;
};

enum st_status st_call_graph_make(struct st_call_graph *out, struct st_sample_set *set,
				  const struct st_question *question, struct st_error *err);
void st_call_graph_fini(struct st_call_graph *graph);

#endif
