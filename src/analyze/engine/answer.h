/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of an answer while they are being laid out.
 */
#ifndef ST_ANALYZE_ENGINE_ANSWER_H
#define ST_ANALYZE_ENGINE_ANSWER_H

#include "analyze/engine/aggregate.h"

struct st_answer_maker {
	struct st_aggregate *aggregate;
	struct st_answer *answer;
	struct st_arena *arena;
	uint32_t *node_of; /* node of each answer row, or ST_NO_NODE */
	uint32_t row_capacity, node_capacity;
	uint8_t *slots; /* by metric: where its value is, or ST_NO_SLOT */
	uint32_t value_count;
	uint32_t *instances;	  /* rows of the dataset, those of a node together */
	uint32_t *instance_first; /* by node: where its rows begin; one more than there are nodes */
};

/* A new row at the end, or NULL when memory is out. Moves earlier rows. */
struct st_answer_row *st_answer_add(struct st_answer_maker *maker, uint32_t node);
void st_answer_fill(struct st_answer_maker *maker, struct st_answer_row *row, uint32_t node);
/* Gives a row its values, all 0; NULL when memory is out. */
uint64_t *st_answer_values(struct st_answer_maker *maker, struct st_answer_row *row);

/* Instances (ST_BY_TASK): one answer row per row of a node, in order, within the limit. */
bool st_instances_prepare(struct st_answer_maker *maker);
bool st_instances_add(struct st_answer_maker *maker, uint32_t node, uint32_t *first,
		      uint32_t *count);

#endif
