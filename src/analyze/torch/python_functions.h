/* SPDX-License-Identifier: Apache-2.0
 *
 * Python functions over time, where their calls are not recorded: made out of the stacks of operators. Thread by thread.
 */
#ifndef ST_ANALYZE_TORCH_PYTHON_FUNCTIONS_H
#define ST_ANALYZE_TORCH_PYTHON_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/torch/frame_names.h"

struct st_operator_rows;

struct st_function_span {
	int64_t begin_ns, end_ns;
	uint32_t node;	     /* of the stacks */
	uint32_t id, parent; /* numbers from 1, shared with calls of modules; parent 0: none */
	bool is_running;     /* since before the first operator */
};

/* What a slice is for this. */
enum st_python_slice { ST_PYTHON_NOTHING, ST_PYTHON_OPERATOR, ST_PYTHON_MODULE };
typedef enum st_python_slice (*st_python_slice_fn)(const void *arg, uint32_t slice);

struct st_python_state;
struct st_python_functions {
	const struct st_operator_rows *rows;
	const struct st_slices *slices;
	const struct st_track *tracks;
	struct st_frame_names names;
	bool has_stacks; /* wanted; else only calls of modules are numbered */
	st_python_slice_fn kind;
	const void *kind_arg;
	/* Of the thread at hand. */
	struct st_function_span *functions;
	uint32_t count, capacity;
	uint32_t *ids, *parents; /* of calls of modules, by slice */
	struct st_python_state *state;
};

/* has_stacks and kind are the caller's to set. False: no memory; fini is due also then. */
bool st_python_functions_init(struct st_python_functions *functions, const struct st_result *result,
			      const struct st_operator_rows *rows);
void st_python_functions_fini(struct st_python_functions *functions);
/* False: no memory. */
bool st_python_functions_track(struct st_python_functions *functions, uint32_t track);

#endif
