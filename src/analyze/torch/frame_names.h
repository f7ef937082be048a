/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of the Python stacks that operators have, called as torch's profiler calls them:
 * "torch/nn/modules/linear.py(130): forward".
 */
#ifndef ST_ANALYZE_TORCH_FRAME_NAMES_H
#define ST_ANALYZE_TORCH_FRAME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/samples.h"

struct st_buf;

struct st_frame_names {
	const struct st_result *result;
	const struct st_stack_nodes *nodes;
	const struct st_python_code *codes;
	uint32_t code_count;
};

void st_frame_names_init(struct st_frame_names *frames, const struct st_result *result);

static inline uint32_t st_frame_code(const struct st_frame_names *frames, uint32_t node)
{
	return (uint32_t)frames->nodes->value[node];
}

/* The qualified name ends so. */
bool st_frame_is(const struct st_frame_names *frames, uint32_t node, const char *name);
/* The line is that of the definition; is_running: where it is. Of a file's own code it is always that. */
void st_frame_text(const struct st_frame_names *frames, uint32_t node, bool is_running,
		   struct st_buf *out);

#endif
