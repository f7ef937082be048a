// SPDX-License-Identifier: Apache-2.0
//
// From counted groups to an ordered tree: durations sorted by group, percentiles, sums of the upper
// levels, the order of siblings, and the row "[Others]" for what the limit cuts off.
//
// Groups are laid out so that the durations of a group and of all groups below it lie together. Nodes
// come after their parents, so a walk from the last node to the first meets children before parents:
// a child's range is still its own when it is looked at, whatever its parent's selection does later.
#include "analyze/engine/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/percentile.h"

static void lay_out_ranges(struct st_tree *tree, size_t *cursor)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		struct st_spread *spread = &tree->spreads[i];

		spread->own_count = spread->count;
		spread->subtree_count += spread->own_count;
		if (i)
			tree->spreads[tree->nodes[i].parent].subtree_count += spread->subtree_count;
	}
	for (uint32_t i = 0; i < tree->count; i++) {
		struct st_spread *spread = &tree->spreads[i];

		if (i) {
			spread->range_begin = cursor[tree->nodes[i].parent];
			cursor[tree->nodes[i].parent] += spread->subtree_count;
		}
		cursor[i] = spread->range_begin + spread->own_count;
	}
}

static bool sort_durations(struct st_aggregate *aggregate)
{
	struct st_tree *tree = &aggregate->tree;
	size_t *cursor = calloc((size_t)tree->count + 1, sizeof(*cursor));
	uint64_t *durations;
	uint32_t row_count;

	if (!cursor)
		return false;
	lay_out_ranges(tree, cursor);
	durations = malloc((tree->spreads[0].subtree_count + 1) * sizeof(*durations));
	aggregate->durations = durations;
	row_count = durations ? aggregate->dataset->row_count : 0;
	for (uint32_t i = 0; i < tree->count; i++)
		cursor[i] = tree->spreads[i].range_begin;
	for (uint32_t row = 0; row < row_count; row++) {
		uint32_t node = aggregate->node_of[row];
		struct st_row_time time;

		if (node != ST_NO_NODE && st_row_is_counted(aggregate->dataset, row) &&
		    st_row_time(aggregate, row, &time))
			durations[cursor[node]++] = time.wall_ns;
	}
	free(cursor);
	return durations;
}

static void set_percentiles(struct st_spread *spread, uint64_t *durations, size_t count)
{
	struct st_percentiles found = st_percentiles_take(durations, count);

	spread->median_ns = found.median;
	spread->p95_ns = found.p95;
	spread->p99_ns = found.p99;
}

static size_t range_count(const struct st_tree *tree, uint32_t node)
{
	const struct st_spread *spread = &tree->spreads[node];

	return tree->nodes[node].is_stack ? spread->own_count : spread->subtree_count;
}

/* All but the total, which does not add up. */
static void add_spread(struct st_spread *into, const struct st_spread *from)
{
	into->count += from->count;
	into->copies += from->copies;
	into->squares += from->squares;
	into->sum_ns += from->sum_ns;
	into->self_ns += from->self_ns;
	into->more_count += from->more_count;
	into->more_sum_ns += from->more_sum_ns;
	into->more_self_ns += from->more_self_ns;
	if (from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
}

static void add_reads(struct st_aggregate *aggregate, struct st_reads *reads, uint32_t into,
		      uint32_t from)
{
	const uint64_t *sums = aggregate->tree.sums + (size_t)from * aggregate->tree.sum_count;

	for (unsigned int i = 0; i < reads->count; i++)
		reads->values[i] = sums[reads->sums[i]];
	st_reads_add(aggregate, reads, into);
}

/* Adds the figures of one node to those of another, but for those that do not add up. */
static void add_figures(struct st_aggregate *aggregate, uint32_t into, uint32_t from)
{
	struct st_tree *tree = &aggregate->tree;

	if (tree->has_spreads)
		add_spread(&tree->spreads[into], &tree->spreads[from]);
	add_reads(aggregate, &aggregate->own, into, from);
}

static enum st_metric sort_metric(const struct st_aggregate *aggregate, unsigned int index)
{
	if (aggregate->question->sort_count)
		return aggregate->question->sort[index];
	return aggregate->tree_kind == ST_TREE_CALLS ? aggregate->dataset->total
						     : aggregate->dataset->sorted_by;
}

/* What holds more comes first. Durations that are equal are left as they are. */
static int compare_equals(const struct st_aggregate *aggregate, uint32_t x, uint32_t y)
{
	const struct st_measure *first =
		st_dataset_measure(aggregate->dataset, sort_metric(aggregate, 0));
	int order;

	if (aggregate->dataset->begin_ns && (!first || first->derive))
		return 0;
	order = st_node_compare(aggregate, y, x, aggregate->dataset->total);
	return aggregate->dataset->begin_ns && aggregate->question->sort_ascending ? -order : order;
}

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct st_aggregate *aggregate = arg;
	const struct st_question *question = aggregate->question;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct st_node *left = &aggregate->tree.nodes[x], *right = &aggregate->tree.nodes[y];
	unsigned int count = question->sort_count ? question->sort_count : 1;
	int order;

	for (unsigned int i = 0; i < count && i < ST_QUESTION_SORT_MAX; i++) {
		order = st_node_compare(aggregate, x, y, sort_metric(aggregate, i));
		if (order)
			return question->sort_ascending ? order : -order;
	}
	order = compare_equals(aggregate, x, y);
	return order ? order : (left->key > right->key) - (left->key < right->key);
}

/* How many children of a node are shown. */
static uint32_t shown_children(const struct st_aggregate *aggregate, uint32_t index)
{
	const struct st_node *node = &aggregate->tree.nodes[index];
	const struct st_measure *measure =
		st_dataset_measure(aggregate->dataset, sort_metric(aggregate, 0));
	double percent = aggregate->dataset->threshold_percent;
	uint64_t limit = aggregate->question->limit, sum = 0, whole;
	uint32_t shown = node->child_count;

	if (limit && shown > limit)
		shown = (uint32_t)limit;
	if (percent <= 0 || aggregate->question->sort_ascending)
		return shown;
	whole = measure ? st_node_value(aggregate, index, measure) : 0;
	for (uint32_t i = 0; i < shown; i++) {
		if ((double)sum * 100.0 >= percent * (double)whole)
			return i;
		sum += measure ? st_node_value(aggregate, aggregate->ordered[node->first_child + i],
					       measure)
			       : 0;
	}
	return shown;
}

static bool gather_percentiles(struct st_aggregate *aggregate, uint32_t others,
			       const uint32_t *children, uint32_t count)
{
	const struct st_tree *tree = &aggregate->tree;
	uint64_t *gathered;
	size_t total = 0;

	for (uint32_t i = 0; i < count; i++)
		total += range_count(tree, children[i]);
	if (!total)
		return true;
	gathered = malloc(total * sizeof(*gathered));
	if (!gathered)
		return false;
	total = 0;
	for (uint32_t i = 0; i < count; i++) {
		memcpy(gathered + total,
		       aggregate->durations + tree->spreads[children[i]].range_begin,
		       range_count(tree, children[i]) * sizeof(*gathered));
		total += range_count(tree, children[i]);
	}
	set_percentiles(&tree->spreads[others], gathered, total);
	free(gathered);
	return true;
}

/* The children of a parent behind those that are shown become one node. */
static bool cut_children(struct st_aggregate *aggregate, uint32_t parent, uint32_t shown)
{
	struct st_tree *tree = &aggregate->tree;
	const uint32_t *children = aggregate->ordered + tree->nodes[parent].first_child;
	uint32_t count = tree->nodes[parent].child_count;
	bool is_stack = tree->nodes[children[0]].is_stack;
	uint32_t others = st_tree_add(tree, parent, tree->nodes[children[0]].grouping, 0, is_stack);

	if (others == ST_NO_NODE)
		return false;
	tree->nodes[others].is_others = true;
	tree->nodes[parent].others = others;
	tree->nodes[parent].child_count = shown;
	for (uint32_t i = shown; i < count; i++) {
		tree->nodes[children[i]].is_cut = true;
		add_figures(aggregate, others, children[i]);
		/* Siblings in a tree of calls never share a row. */
		if (is_stack)
			add_reads(aggregate, &aggregate->around, others, children[i]);
	}
	return !aggregate->durations ||
	       gather_percentiles(aggregate, others, children + shown, count - shown);
}

/* The total of an others node is the time during which any of its rows is open: a second pass over the
 * rows, because that cannot be summed from the groups. */
static void cover_others(struct st_aggregate *aggregate)
{
	struct st_tree *tree = &aggregate->tree;
	const struct st_dataset *dataset = aggregate->dataset;

	for (uint32_t track = 0; track < dataset->track_count; track++) {
		for (uint32_t row = dataset->tracks[track].begin; row < dataset->tracks[track].end;
		     row++) {
			uint32_t node = aggregate->node_of[row];
			struct st_row_time time;

			if (node == ST_NO_NODE || !tree->nodes[node].is_cut)
				continue;
			if (!st_row_is_counted(dataset, row))
				st_spread_meet(&tree->spreads[tree->nodes[node].others], track);
			else if (st_row_time(aggregate, row, &time))
				st_node_cover(aggregate, tree->nodes[node].others, track, row,
					      &time);
		}
	}
	st_count_reach(aggregate, true);
}

static bool count_others(struct st_aggregate *aggregate, uint32_t node_count)
{
	struct st_node *nodes = aggregate->tree.nodes;

	/* node->others of a node that is hidden now tells where its rows are counted instead. */
	for (uint32_t i = 1; i < node_count; i++) {
		if (nodes[i].is_cut || nodes[nodes[i].parent].is_cut) {
			nodes[i].others = nodes[nodes[i].parent].others;
			nodes[i].is_cut = true;
		}
	}
	if (!aggregate->dataset->begin_ns)
		return st_count_chains_of_others(aggregate);
	cover_others(aggregate);
	return true;
}

static bool list_children(struct st_aggregate *aggregate)
{
	struct st_tree *tree = &aggregate->tree;
	uint32_t at = 0;

	aggregate->ordered = malloc(((size_t)tree->count + 1) * sizeof(*aggregate->ordered));
	if (!aggregate->ordered)
		return false;
	for (uint32_t i = 1; i < tree->count; i++)
		tree->nodes[tree->nodes[i].parent].child_count++;
	for (uint32_t i = 0; i < tree->count; i++) {
		tree->nodes[i].first_child = at;
		at += tree->nodes[i].child_count;
		tree->nodes[i].child_count = 0;
	}
	for (uint32_t i = 1; i < tree->count; i++) {
		struct st_node *parent = &tree->nodes[tree->nodes[i].parent];

		aggregate->ordered[parent->first_child + parent->child_count++] = i;
	}
	return true;
}

/* Its figures go to the node above; those of a tree of any depth to what it hangs below, which callers have got
 * already. */
static void add_up(struct st_aggregate *aggregate, uint32_t index)
{
	const struct st_node *node = &aggregate->tree.nodes[index];

	if (aggregate->durations)
		set_percentiles(&aggregate->tree.spreads[index],
				aggregate->durations + aggregate->tree.spreads[index].range_begin,
				range_count(&aggregate->tree, index));
	if (!index || (node->is_stack && aggregate->tree_kind == ST_TREE_CALLERS))
		return;
	add_figures(aggregate, node->is_stack ? node->base : node->parent, index);
}

static bool finish_node(struct st_aggregate *aggregate, uint32_t index)
{
	const struct st_node *node = &aggregate->tree.nodes[index];
	uint32_t shown;

	qsort_r(aggregate->ordered + node->first_child, node->child_count,
		sizeof(*aggregate->ordered), compare_nodes, aggregate);
	shown = shown_children(aggregate, index);
	if (shown < node->child_count && !cut_children(aggregate, index, shown))
		return false;
	add_up(aggregate, index);
	return true;
}

enum st_status st_aggregate_order(struct st_aggregate *aggregate, struct st_error *err)
{
	uint32_t node_count = aggregate->tree.count;
	bool done = list_children(aggregate);

	if (done && aggregate->has_percentiles)
		done = sort_durations(aggregate);
	for (uint32_t i = node_count; done && i-- > 0;)
		done = finish_node(aggregate, i);
	if (done && aggregate->tree.count > node_count)
		done = count_others(aggregate, node_count);
	if (!done)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while sorting %u groups",
				    node_count);
	return ST_OK;
}
