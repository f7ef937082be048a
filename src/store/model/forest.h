/* SPDX-License-Identifier: Apache-2.0
 *
 * What the definitions say of sampling: stack nodes, Python codes, samplers and who created which thread. The
 * nodes of all processes become one forest (struct st_stack_nodes) when every definition is there. Nodes lost
 * to damage leave holes: what hangs below one is broken, begins in the middle, and is told so.
 */
#ifndef ST_STORE_MODEL_FOREST_H
#define ST_STORE_MODEL_FOREST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "format/samples.h"
#include "store/samples.h"

struct st_model;

struct st_node_run { /* nodes of a process with ids that follow each other */
	uint32_t process_id, first_id, count;
	uint32_t at; /* of the first: in raw while loading, in the forest then */
};

struct st_code_definition { /* ST_DEF_PYTHON_CODE */
	uint32_t process_id, first_line, flags;
	st_string_id file, name, line_table;
};

struct st_creator_definition { /* ST_DEF_THREAD_CREATOR */
	uint32_t process_id, tid, creator_tid;
	uint64_t ticks;
};

struct st_sampler_definition { /* ST_DEF_SAMPLER and ST_DEF_SAMPLER_LOSS */
	uint32_t process_id;
	struct st_sampler sampler;
	uint64_t handler_ticks;
};

struct st_forest {
	struct st_stack_node *raw;
	uint32_t raw_count, raw_capacity;
	struct st_node_run *runs; /* in the order of loading; by process and id once finished */
	uint32_t run_count, run_capacity;
	struct st_code_definition *codes;
	uint32_t code_count, code_capacity;
	struct st_id_map code_index; /* (process id, code id) -> code */
	struct st_id_map runtimes;   /* process id -> PY_VERSION_HEX */
	struct st_creator_definition *creators;
	uint32_t creator_count, creator_capacity;
	struct st_sampler_definition *samplers;
	uint32_t sampler_count, sampler_capacity;
	struct st_id_map sampler_index; /* process id -> sampler */
	/* After st_forest_finish. */
	uint32_t *parent, *process, *line;
	uint64_t *value;
	uint8_t *kind;
	bool *broken; /* by node; NULL: none is */
	struct st_python_code *python_codes;
	uint32_t node_count;
	uint64_t broken_nodes, repeated_nodes, unknown_codes, refused_nodes;
};

/* When all definitions are there: the forest, and lines of Python frames. False: no memory. */
bool st_forest_finish(struct st_model *model);
void st_forest_fini(struct st_forest *forest);
/* Number of a node in the forest; 0: the empty stack, or (and then *broken) one that is not there. */
uint32_t st_forest_node(const struct st_forest *forest, uint32_t process_id, uint32_t id,
			bool *broken);

#endif
