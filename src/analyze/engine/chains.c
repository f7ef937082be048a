// SPDX-License-Identifier: Apache-2.0
//
// Counting rows with chains of keys, as those of samples. A row's own values go to the group of its innermost function,
// Python line and task. What reaches around goes to every group that any function of the stack, inside any task around
// the row, leads to; a stamp keeps recursion from being counted twice.
#include "analyze/engine/aggregate.h"

#include <stdlib.h>

#include "base/vec.h"

enum { AROUND_AT_ONCE = 32 };

static uint32_t next_of(const struct st_axis *axis, uint32_t element)
{
	return element && axis->next ? axis->next[element] : 0;
}

static void add_around(struct st_aggregate *aggregate, uint32_t node, uint32_t stamp)
{
	struct st_node *nodes = aggregate->tree.nodes;

	if (nodes[node].stamp == stamp || !aggregate->around.found)
		return;
	nodes[node].stamp = stamp;
	st_reads_add(aggregate, &aggregate->around, node);
}

/* Where a row is inside one thing around it, at one frame of its stack. */
struct place {
	uint32_t row, around, frame;
	bool only_others; /* nodes exist already, and what was cut off is counted where it is shown */
};

static uint32_t key_at(const struct st_aggregate *aggregate, const struct place *place,
		       enum st_grouping grouping)
{
	const struct st_dataset *dataset = aggregate->dataset;
	const struct st_key_column *keys = &dataset->keys[grouping];

	if (keys->axis == ST_AXIS_AROUND)
		return st_key_of(keys, place->around);
	if (keys->axis == ST_AXIS_FRAMES &&
	    place->frame != st_axis_first(&dataset->axes[ST_AXIS_FRAMES], place->row))
		return st_key_of(keys, place->frame);
	return st_own_key(dataset, grouping, place->row);
}

/* The nodes of a place from one level to another; returns the last. */
static uint32_t add_along(struct st_aggregate *aggregate, const struct place *place, uint32_t node,
			  unsigned int from, unsigned int to)
{
	struct st_tree *tree = &aggregate->tree;

	for (unsigned int i = from; i < to && !tree->failed; i++) {
		enum st_grouping grouping = aggregate->question->groupings[i];

		node = st_tree_find(tree, node, grouping, key_at(aggregate, place, grouping),
				    false);
		if (tree->failed)
			break;
		if (!place->only_others)
			add_around(aggregate, node, place->row + 1);
		else if (tree->nodes[node].is_cut)
			add_around(aggregate, tree->nodes[node].others, place->row + 1);
	}
	return node;
}

/* Levels before the first that is about frames: the same for all frames of a stack. */
static unsigned int levels_outside(const struct st_aggregate *aggregate)
{
	unsigned int level = 0;

	while (level < aggregate->level_count &&
	       aggregate->dataset->keys[aggregate->question->groupings[level]].axis !=
		       ST_AXIS_FRAMES)
		level++;
	return level;
}

/* Some of what is around a row, each with the node that its groups of frames hang below. */
struct around {
	uint32_t elements[AROUND_AT_ONCE], nodes[AROUND_AT_ONCE];
	unsigned int count;
};

/* A frame is looked at once for all that is around: stacks lie scattered in memory, groups do not. */
static void add_frames(struct st_aggregate *aggregate, struct place *place, unsigned int outside,
		       const struct around *around)
{
	const struct st_axis *frames = &aggregate->dataset->axes[ST_AXIS_FRAMES];

	place->frame = st_axis_first(frames, place->row);
	do {
		for (unsigned int i = 0; i < around->count && !aggregate->tree.failed; i++) {
			place->around = around->elements[i];
			add_along(aggregate, place, around->nodes[i], outside,
				  aggregate->level_count);
		}
		place->frame = next_of(frames, place->frame);
	} while (place->frame && !aggregate->tree.failed);
}

static void add_totals(struct st_aggregate *aggregate, uint32_t row, bool only_others)
{
	const struct st_axis *axis = &aggregate->dataset->axes[ST_AXIS_AROUND];
	struct place place = {.row = row,
			      .frame =
				      st_axis_first(&aggregate->dataset->axes[ST_AXIS_FRAMES], row),
			      .only_others = only_others};
	uint32_t element = st_axis_first(axis, row), leaf = place.frame;
	unsigned int outside = levels_outside(aggregate);

	do {
		struct around around = {.count = 0};

		place.frame = leaf;
		do {
			place.around = around.elements[around.count] = element;
			around.nodes[around.count++] = add_along(aggregate, &place, 0, 0, outside);
			element = next_of(axis, element);
		} while (element && around.count < AROUND_AT_ONCE);
		if (outside < aggregate->level_count)
			add_frames(aggregate, &place, outside, &around);
	} while (element && !aggregate->tree.failed);
}

/* A tree of calls: the frames from the outermost in. */
struct path {
	uint32_t *frames;
	uint32_t capacity;
};

static void count_calls(struct st_aggregate *aggregate, struct path *path, uint32_t row,
			uint32_t node)
{
	const struct st_axis *axis = &aggregate->dataset->axes[ST_AXIS_CALLS];
	const struct st_key_column *keys = &aggregate->dataset->keys[aggregate->last];
	struct st_tree *tree = &aggregate->tree;
	uint32_t frame = st_axis_first(axis, row), count = 0;

	do {
		if (!ST_VEC_PUSH(path->frames, count, path->capacity, frame))
			tree->failed = true;
		frame = next_of(axis, frame);
	} while (frame && !tree->failed);
	while (count-- > 0 && !tree->failed) {
		node = st_tree_find(tree, node, aggregate->last,
				    st_key_of(keys, path->frames[count]), true);
		if (!tree->failed)
			add_around(aggregate, node, row + 1);
	}
	if (!tree->failed)
		st_reads_add(aggregate, &aggregate->own, node);
}

static void count_row(struct st_aggregate *aggregate, struct path *path, uint32_t row)
{
	struct st_tree *tree = &aggregate->tree;
	uint32_t node = 0;

	st_reads_take(aggregate, &aggregate->own, row);
	st_reads_take(aggregate, &aggregate->around, row);
	add_around(aggregate, 0, row + 1);
	for (unsigned int i = 0; i < aggregate->level_count && !tree->failed; i++) {
		enum st_grouping grouping = aggregate->question->groupings[i];

		node = st_tree_find(tree, node, grouping,
				    st_own_key(aggregate->dataset, grouping, row), false);
	}
	if (tree->failed)
		return;
	if (aggregate->tree_kind != ST_TREE_CALLS)
		st_reads_add(aggregate, &aggregate->own, node);
	if (aggregate->tree_kind == ST_TREE_CALLERS)
		aggregate->node_of[row] = node;
	if (!aggregate->is_flat)
		add_totals(aggregate, row, false);
	if (aggregate->tree_kind == ST_TREE_CALLS)
		count_calls(aggregate, path, row, node);
}

bool st_count_chains(struct st_aggregate *aggregate)
{
	struct st_tree *tree = &aggregate->tree;
	struct path path = {NULL, 0};

	for (uint32_t row = 0; row < aggregate->dataset->row_count && !tree->failed; row++) {
		if (st_selection_has(&aggregate->selection, row))
			count_row(aggregate, &path, row);
		else if (aggregate->tree_kind == ST_TREE_CALLERS)
			aggregate->node_of[row] = ST_NO_NODE;
	}
	free(path.frames);
	if (tree->failed || (aggregate->is_flat && !st_count_flat(aggregate, false)))
		return false;
	return aggregate->tree_kind != ST_TREE_CALLERS || st_count_callers(aggregate);
}

bool st_count_chains_of_others(struct st_aggregate *aggregate)
{
	if (aggregate->is_flat)
		return st_count_flat(aggregate, true);
	for (uint32_t row = 0; row < aggregate->dataset->row_count && !aggregate->tree.failed;
	     row++) {
		if (!st_selection_has(&aggregate->selection, row))
			continue;
		st_reads_take(aggregate, &aggregate->around, row);
		add_totals(aggregate, row, true);
	}
	return !aggregate->tree.failed;
}
