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

/* The measures of a dataset that are read of rows and reach equally far. */
struct st_reads {
	const struct st_measure *measures[ST_MEASURES];
	uint8_t sums[ST_MEASURES]; /* where each is in the sums of a node */
	unsigned int count;
	uint64_t values[ST_MEASURES]; /* of the row at hand */
	bool found;		      /* one of them is not 0 */
};

struct st_aggregate {
	const struct st_dataset *dataset;
	const struct st_question *question;
	struct st_selection selection;
	struct st_tree tree;
	unsigned int level_count; /* groupings that make nodes before a tree and instances */
	enum st_grouping last;	  /* the grouping of the tree */
	enum st_tree_kind tree_kind;
	bool has_instances, has_percentiles;
	bool is_flat; /* one grouping, by frame: what reaches around comes from the forest of frames */
	struct st_reads own, around, outermost;
	uint8_t sum_of[ST_MEASURES]; /* by measure: its place in the sums of a node */
	uint32_t *first_level;	     /* by key of the first grouping: its node, or ST_NO_NODE */
	uint32_t *node_of;   /* by row: its innermost node, or ST_NO_NODE when it is not selected */
	int64_t *self_ns;    /* by row, only with a time range: self time inside it */
	uint64_t *durations; /* by position (st_spread.range_begin), or NULL */
	uint32_t *ordered; /* nodes, children of one parent together, in the order of the answer */
	uint64_t callers_cut; /* groups whose callers became others */
};

enum st_status st_aggregate_run(struct st_aggregate *out, const struct st_dataset *dataset,
				const struct st_question *question, struct st_error *err);
void st_aggregate_fini(struct st_aggregate *aggregate);

/* The order of siblings, what the limit cuts off, percentiles, and sums of the upper levels. */
enum st_status st_aggregate_order(struct st_aggregate *aggregate, struct st_error *err);

uint64_t st_node_value(const struct st_aggregate *aggregate, uint32_t node,
		       const struct st_measure *measure);
/* Which of two nodes has more of a metric, as qsort says it. */
int st_node_compare(const struct st_aggregate *aggregate, uint32_t a, uint32_t b,
		    enum st_metric metric);

/* The value of a row, as far as it lies in the time range. */
static inline uint64_t st_row_value(const struct st_aggregate *aggregate,
				    const struct st_measure *measure, uint32_t row)
{
	const struct st_selection *selection = &aggregate->selection;
	const int64_t range_ns[2] = {selection->begin_ns, selection->end_ns};

	return st_measure_read(measure, aggregate->dataset, row,
			       selection->has_time_range ? range_ns : NULL);
}
/* Reads the values of a row; and adds them to a node. */
void st_reads_take(const struct st_aggregate *aggregate, struct st_reads *reads, uint32_t row);
static inline void st_reads_add(struct st_aggregate *aggregate, const struct st_reads *reads,
				uint32_t node)
{
	uint64_t *sums = aggregate->tree.sums + (size_t)node * aggregate->tree.sum_count;

	for (unsigned int i = 0; i < reads->count; i++) {
		uint64_t value = reads->values[i], *sum = &sums[reads->sums[i]];

		if (reads->measures[i]->fold == ST_FOLD_SUM)
			*sum += value;
		else if (value > *sum)
			*sum = value;
	}
}
/* What reaches around, of rows that last; only_others: to nodes that stand for what was cut off. */
void st_count_reach(struct st_aggregate *aggregate, bool only_others);

/* The same for rows with chains of keys: the pass over all rows, and the second one for others. False: no memory. */
bool st_count_chains(struct st_aggregate *aggregate);
bool st_count_chains_of_others(struct st_aggregate *aggregate);
bool st_count_flat(struct st_aggregate *aggregate, bool only_others);
/* Adds the groups of callers, the heaviest first, below the nodes of the rows. The last to add keys. */
bool st_count_callers(struct st_aggregate *aggregate);

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
void st_spread_cover(const struct st_aggregate *aggregate, struct st_spread *spread, uint32_t track,
		     uint32_t row, const struct st_row_time *time);
/* Adds a row's time to the total of a node, unless it is counted already. Rows of a track come in
 * order of begin. */
static inline void st_node_cover(const struct st_aggregate *aggregate, uint32_t node,
				 uint32_t track, uint32_t row, const struct st_row_time *time)
{
	struct st_spread *spread = &aggregate->tree.spreads[node];

	/* Most rows lie inside others. */
	if (spread->covered_track != track || time->end_ns > spread->covered_ns)
		st_spread_cover(aggregate, spread, track, row, time);
}
void st_spread_add(const struct st_aggregate *aggregate, struct st_spread *spread, uint32_t row,
		   uint64_t wall_ns);
/* Counts a thread that has a row there. st_node_cover does so for rows that are counted. */
static inline void st_spread_meet(struct st_spread *spread, uint32_t track)
{
	spread->threads += spread->last_track != track;
	spread->last_track = track;
}

#endif
