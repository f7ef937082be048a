/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the rows of a dataset: which group each row belongs to, and the sums of each group.
 * Then, when percentiles are asked for, the durations sorted by group.
 */
#ifndef ST_ANALYZE_ENGINE_AGGREGATE_H
#define ST_ANALYZE_ENGINE_AGGREGATE_H

#include "analyze/engine/dataset.h"
#include "analyze/engine/filter.h"
#include "analyze/engine/tree.h"

struct st_aggregate {
	const struct st_dataset *dataset;
	const struct st_question *question;
	struct st_selection selection;
	struct st_tree tree;
	unsigned int level_count; /* groupings that make nodes before stack and instances */
	bool has_stack, has_instances, has_percentiles;
	uint32_t *first_level; /* by key of the first grouping: its node, or ST_NO_NODE */
	uint32_t *node_of;   /* by row: its innermost node, or ST_NO_NODE when it is not selected */
	int64_t *self_ns;    /* by row, only with a time range: self time inside it */
	uint64_t *durations; /* by position (st_node.range_begin), or NULL */
	uint32_t *ordered; /* nodes, children of one parent together, in the order of the answer */
};

enum st_status st_aggregate_run(struct st_aggregate *out, const struct st_dataset *dataset,
				const struct st_question *question, struct st_error *err);
void st_aggregate_fini(struct st_aggregate *aggregate);

/* The order of siblings, what the limit cuts off, percentiles, and sums of the upper levels. */
enum st_status st_aggregate_order(struct st_aggregate *aggregate, struct st_error *err);

/* The part of a row inside the time range; false when it has none. */
struct st_row_time {
	int64_t begin_ns, end_ns;
	uint64_t wall_ns;
};
static inline bool st_row_time(const struct st_aggregate *aggregate, uint32_t row,
			       struct st_row_time *out)
{
	const struct st_dataset *dataset = aggregate->dataset;

	out->begin_ns = dataset->begin_ns[row];
	out->end_ns = dataset->end_ns[row];
	if (!st_selection_clip(&aggregate->selection, &out->begin_ns, &out->end_ns))
		return false;
	if (dataset->flags[row] & dataset->slow_flags)
		out->wall_ns = dataset->part_ns(dataset, row, out->begin_ns, out->end_ns);
	else
		out->wall_ns = (uint64_t)(out->end_ns - out->begin_ns);
	return true;
}

uint64_t st_row_self(const struct st_aggregate *aggregate, uint32_t row);
/* Adds a row's time to the total of a node, unless it is counted already. Rows of a track come in
 * order of begin. */
void st_node_cover(const struct st_aggregate *aggregate, uint32_t node, uint32_t track,
		   uint32_t row, const struct st_row_time *time);
void st_node_add(struct st_node *node, uint64_t wall_ns, uint64_t self_ns);

#endif
