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

#include "analyze/engine/percentile.h"

static void lay_out_ranges(struct st_tree *tree, size_t *cursor)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		struct st_node *node = &tree->nodes[i];

		node->own_count = node->count;
		node->subtree_count += node->own_count;
		if (i)
			tree->nodes[node->parent].subtree_count += node->subtree_count;
	}
	for (uint32_t i = 0; i < tree->count; i++) {
		struct st_node *node = &tree->nodes[i];

		if (i) {
			node->range_begin = cursor[node->parent];
			cursor[node->parent] += node->subtree_count;
		}
		cursor[i] = node->range_begin + node->own_count;
	}
}

static bool sort_durations(struct st_aggregate *aggregate, size_t *cursor)
{
	struct st_tree *tree = &aggregate->tree;

	aggregate->durations =
		malloc((tree->nodes[0].subtree_count + 1) * sizeof(*aggregate->durations));
	if (!aggregate->durations)
		return false;
	for (uint32_t i = 0; i < tree->count; i++)
		cursor[i] = tree->nodes[i].range_begin;
	for (uint32_t row = 0; row < aggregate->dataset->row_count; row++) {
		uint32_t node = aggregate->node_of[row];
		struct st_row_time time;

		if (node != ST_NO_NODE && st_row_is_counted(aggregate->dataset, row) &&
		    st_row_time(aggregate, row, &time))
			aggregate->durations[cursor[node]++] = time.wall_ns;
	}
	return true;
}

static void set_percentiles(struct st_node *node, uint64_t *durations, size_t count)
{
	struct st_percentiles found = st_percentiles_take(durations, count);

	node->median_ns = found.median;
	node->p95_ns = found.p95;
	node->p99_ns = found.p99;
}

static size_t range_count(const struct st_node *node)
{
	return node->is_stack ? node->own_count : node->subtree_count;
}

/* Adds the figures of node to those of into, all but the total, which does not add up. */
static void add_figures(struct st_node *into, const struct st_node *node)
{
	into->count += node->count;
	into->copies += node->copies;
	into->squares += node->squares;
	into->sum_ns += node->sum_ns;
	into->self_ns += node->self_ns;
	if (node->min_ns < into->min_ns)
		into->min_ns = node->min_ns;
	if (node->max_ns > into->max_ns)
		into->max_ns = node->max_ns;
}

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct st_aggregate *aggregate = arg;
	const struct st_question *question = aggregate->question;
	const struct st_node *x = &aggregate->tree.nodes[*(const uint32_t *)a];
	const struct st_node *y = &aggregate->tree.nodes[*(const uint32_t *)b];
	unsigned int count = question->sort_count ? question->sort_count : 1;

	if (question->ranks) {
		double left = question->ranks[*(const uint32_t *)a];
		double right = question->ranks[*(const uint32_t *)b];

		if (left < right || left > right)
			return (left < right) == question->sort_ascending ? -1 : 1;
	}
	for (unsigned int i = 0; i < count && i < ST_QUESTION_SORT_MAX; i++) {
		enum st_metric metric = question->sort_count ? question->sort[i] : ST_WALL_TOTAL;
		uint64_t left = st_node_value(x, metric), right = st_node_value(y, metric);

		if (left != right)
			return (left < right) == question->sort_ascending ? -1 : 1;
	}
	return (x->key > y->key) - (x->key < y->key);
}

/* The children of a parent behind the limit become one node. */
static bool cut_children(struct st_aggregate *aggregate, uint32_t parent)
{
	struct st_tree *tree = &aggregate->tree;
	uint32_t limit = (uint32_t)aggregate->question->limit;
	uint32_t first = tree->nodes[parent].first_child, count = tree->nodes[parent].child_count;
	uint32_t others =
		st_tree_add(tree, parent, tree->nodes[aggregate->ordered[first]].grouping, 0);
	uint64_t *gathered = NULL;
	size_t total = 0;

	if (others == ST_NO_NODE)
		return false;
	tree->nodes[others].is_others = true;
	tree->nodes[parent].others = others;
	tree->nodes[parent].child_count = limit;
	for (uint32_t i = limit; i < count; i++) {
		struct st_node *child = &tree->nodes[aggregate->ordered[first + i]];

		child->is_cut = true;
		add_figures(&tree->nodes[others], child);
		total += range_count(child);
	}
	if (!aggregate->durations || !total)
		return true;
	gathered = malloc(total * sizeof(*gathered));
	if (!gathered)
		return false;
	total = 0;
	for (uint32_t i = limit; i < count; i++) {
		const struct st_node *child = &tree->nodes[aggregate->ordered[first + i]];

		for (size_t j = 0; j < range_count(child); j++)
			gathered[total++] = aggregate->durations[child->range_begin + j];
	}
	set_percentiles(&tree->nodes[others], gathered, total);
	free(gathered);
	return true;
}

/* The total of an others node is the time during which any of its rows is open: a second pass over the
 * rows, because that cannot be summed from the groups. */
static void cover_others(struct st_aggregate *aggregate, uint32_t node_count)
{
	struct st_tree *tree = &aggregate->tree;
	const struct st_dataset *dataset = aggregate->dataset;

	/* node->others of a node that is hidden now tells where its rows are counted instead. */
	for (uint32_t i = 1; i < node_count; i++) {
		struct st_node *node = &tree->nodes[i];
		const struct st_node *parent = &tree->nodes[node->parent];

		if (node->is_cut || parent->is_cut) {
			node->others = parent->others;
			node->is_cut = true;
		}
	}
	for (uint32_t track = 0; track < dataset->track_count; track++) {
		for (uint32_t row = dataset->tracks[track].begin; row < dataset->tracks[track].end;
		     row++) {
			uint32_t node = aggregate->node_of[row];
			struct st_row_time time;

			if (node == ST_NO_NODE || !tree->nodes[node].is_cut ||
			    !st_row_is_counted(dataset, row))
				continue;
			if (st_row_time(aggregate, row, &time))
				st_node_cover(aggregate, tree->nodes[node].others, track, row,
					      &time);
		}
	}
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

static bool finish_node(struct st_aggregate *aggregate, uint32_t index)
{
	struct st_node *node = &aggregate->tree.nodes[index];
	uint64_t limit = aggregate->question->limit;

	qsort_r(aggregate->ordered + node->first_child, node->child_count,
		sizeof(*aggregate->ordered), compare_nodes, aggregate);
	if (limit && node->child_count > limit && !cut_children(aggregate, index))
		return false;
	node = &aggregate->tree.nodes[index];
	if (aggregate->durations)
		set_percentiles(node, aggregate->durations + node->range_begin, range_count(node));
	if (index)
		add_figures(&aggregate->tree.nodes[node->is_stack ? node->base : node->parent],
			    node);
	return true;
}

enum st_status st_aggregate_order(struct st_aggregate *aggregate, struct st_error *err)
{
	uint32_t node_count = aggregate->tree.count;
	size_t *cursor = calloc((size_t)node_count + 1, sizeof(*cursor));
	bool done = cursor && list_children(aggregate);

	if (done)
		lay_out_ranges(&aggregate->tree, cursor);
	if (done && aggregate->has_percentiles)
		done = sort_durations(aggregate, cursor);
	for (uint32_t i = node_count; done && i-- > 0;)
		done = finish_node(aggregate, i);
	free(cursor);
	if (!done)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while sorting %u groups",
				    node_count);
	if (aggregate->tree.count > node_count)
		cover_others(aggregate, node_count);
	return ST_OK;
}
