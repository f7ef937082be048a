// SPDX-License-Identifier: Apache-2.0
//
// Counting rows of samples into groups. Self figures go along the path of the innermost function, Python line and
// task. Totals go to every group that any function of the stack, inside any task around the sample, leads
// to; a stamp keeps recursion from being counted twice.
#include "analyze/samples/sample_tree.h"

#include <stdlib.h>
#include <string.h>

#include "store/result.h"

enum { CONTEXTS_AT_ONCE = 32 };

uint32_t st_sample_tree_add(struct st_sample_tree *tree, uint32_t parent, enum st_grouping grouping,
			    uint32_t key)
{
	if (tree->count == tree->capacity) {
		uint32_t capacity = tree->capacity ? tree->capacity * 2 : 256;
		struct st_sample_node *nodes = realloc(tree->nodes, capacity * sizeof(*nodes));

		if (!nodes) {
			tree->failed = true;
			return 0;
		}
		tree->nodes = nodes;
		tree->capacity = capacity;
	}
	tree->nodes[tree->count] = (struct st_sample_node){
		.parent = parent, .key = key, .grouping = (uint8_t)grouping};
	return tree->count++;
}

uint32_t st_sample_tree_find(struct st_sample_tree *tree, uint32_t parent,
			     enum st_grouping grouping, uint32_t key)
{
	struct st_sample_found *found =
		&tree->found[(parent * 0x9e3779b1u ^ key) % ST_SAMPLE_FOUND];
	uint32_t node;

	if (found->node && found->parent == parent && found->key == key)
		return found->node;
	/* Node 0 has no pair of its own. */
	node = st_pair_map_add(&tree->map, parent, key) + 1;
	if (tree->map.failed)
		tree->failed = true;
	if (!tree->failed && node >= tree->count)
		node = st_sample_tree_add(tree, parent, grouping, key);
	if (tree->failed)
		return 0;
	*found = (struct st_sample_found){parent, key, node};
	return node;
}

static uint32_t key_of(const struct st_sample_tree *tree, const struct st_sample_row *row,
		       enum st_grouping grouping, uint32_t context, uint32_t frame)
{
	const struct st_sample_set *set = tree->rows->set;
	uint32_t count;

	switch (grouping) {
	case ST_BY_PROCESS:
		return st_result_tracks(set->result, &count)[row->track].process;
	case ST_BY_THREAD:
		return row->track;
	case ST_BY_CPU_CLASS:
		return row->cpu_class;
	default:
		break;
	}
	if (st_grouping_is_task(grouping))
		return st_context_key(&tree->rows->contexts, context, grouping);
	if (frame == row->frame && st_grouping_is_python(grouping))
		frame = row->python;
	return set->keys[grouping].of_frame[frame];
}

void st_sample_tree_add_self(struct st_sample_tree *tree, uint32_t index,
			     const struct st_sample_row *row)
{
	struct st_sample_node *node = &tree->nodes[index];
	uint64_t weight = tree->counts_samples ? row->samples : row->weight;
	enum st_cpu_class cpu_class = (enum st_cpu_class)row->cpu_class;
	enum st_metric metric = st_cpu_class_metric(cpu_class);

	if (row->flags & ST_SAMPLE_OFF_CPU) {
		node->cpu[ST_WAIT - ST_WALL_METRICS] += weight;
		return;
	}
	node->cpu[ST_CPU_SELF - ST_WALL_METRICS] += weight;
	node->cpu[metric - ST_WALL_METRICS] += weight;
	if (metric != st_cpu_class_kind(cpu_class))
		node->cpu[st_cpu_class_kind(cpu_class) - ST_WALL_METRICS] += weight;
	if (row->flags & ST_SAMPLE_INHERITED)
		node->cpu[ST_CPU_INHERITED - ST_WALL_METRICS] += weight;
	node->cpu[ST_SAMPLES - ST_WALL_METRICS] += row->samples;
}

static void add_total(struct st_sample_tree *tree, uint32_t index, uint32_t stamp)
{
	const struct st_sample_row *row = &tree->rows->rows[stamp - 1];
	uint64_t weight = tree->counts_samples ? row->samples : row->weight;
	struct st_sample_node *node = &tree->nodes[index];

	if (node->stamp == stamp || row->flags & ST_SAMPLE_OFF_CPU)
		return;
	node->stamp = stamp;
	node->cpu[ST_CPU_TOTAL - ST_WALL_METRICS] += weight;
	if (row->cpu_class == ST_CLASS_EFFECTIVE)
		node->total_effective += weight;
}

/* Where a row is inside one task, at one frame of its stack. */
struct place {
	uint32_t stamp, context, frame;
	bool only_others; /* nodes exist already, and what was cut off is counted where it is shown */
};

/* The nodes of a place from one level to another; returns the last. */
static uint32_t add_totals_along(struct st_sample_tree *tree, const struct place *place,
				 uint32_t node, unsigned int from, unsigned int to)
{
	const struct st_sample_row *row = &tree->rows->rows[place->stamp - 1];

	for (unsigned int i = from; i < to && !tree->failed; i++) {
		enum st_grouping grouping = tree->question->groupings[i];

		node = st_sample_tree_find(
			tree, node, grouping,
			key_of(tree, row, grouping, place->context, place->frame));
		if (!place->only_others)
			add_total(tree, node, place->stamp);
		else if (tree->nodes[node].is_cut)
			add_total(tree, tree->nodes[node].others, place->stamp);
	}
	return node;
}

/* Levels before the first that is about frames: the same for all frames of a stack. */
static unsigned int levels_outside(const struct st_sample_tree *tree)
{
	unsigned int level = 0;

	while (level < tree->levels && !st_grouping_is_frame(tree->question->groupings[level]))
		level++;
	return level;
}

/* Some of the tasks around a row, each with the node that its groups of frames hang below. */
struct around {
	uint32_t contexts[CONTEXTS_AT_ONCE], nodes[CONTEXTS_AT_ONCE];
	unsigned int count;
};

/* A frame is looked at once for all tasks: stacks lie scattered in memory, groups do not. */
static void add_frames(struct st_sample_tree *tree, struct place *place, unsigned int outside,
		       const struct around *around)
{
	uint32_t frame = tree->rows->rows[place->stamp - 1].frame;

	do {
		place->frame = frame;
		for (unsigned int i = 0; i < around->count && !tree->failed; i++) {
			place->context = around->contexts[i];
			add_totals_along(tree, place, around->nodes[i], outside, tree->levels);
		}
		frame = frame ? st_sample_caller(tree->rows->set, frame) : 0;
	} while (frame && !tree->failed);
}

/* A task around the row's own that is in no operator or step: not everything in it is outside of them. */
static bool is_nothing(const struct st_sample_contexts *contexts, uint32_t context)
{
	for (unsigned int i = 0; i < contexts->used_count; i++)
		if (contexts->keys[(uint64_t)context * contexts->used_count + i])
			return false;
	return contexts->used_count > 0;
}

static void add_totals(struct st_sample_tree *tree, uint32_t stamp, bool only_others)
{
	const struct st_sample_contexts *contexts = &tree->rows->contexts;
	struct place place = {.stamp = stamp, .only_others = only_others};
	uint32_t context = tree->rows->rows[stamp - 1].context;
	unsigned int outside = levels_outside(tree);

	do {
		struct around around = {.count = 0};

		do {
			place.context = around.contexts[around.count] = context;
			around.nodes[around.count++] =
				add_totals_along(tree, &place, 0, 0, outside);
			do {
				context = context ? contexts->outer[context] : 0;
			} while (context && is_nothing(contexts, context));
		} while (context && around.count < CONTEXTS_AT_ONCE);
		if (outside < tree->levels)
			add_frames(tree, &place, outside, &around);
	} while (context && !tree->failed);
}

/* The frames of a stack, innermost first. */
static uint32_t list_frames(struct st_sample_tree *tree, uint32_t frame)
{
	uint32_t count = 0;

	for (; frame; frame = st_sample_caller(tree->rows->set, frame)) {
		if (count == tree->path_capacity) {
			uint32_t capacity = count ? count * 2 : 256;
			uint32_t *path = realloc(tree->path, capacity * sizeof(*path));

			if (!path) {
				tree->failed = true;
				return 0;
			}
			tree->path = path;
			tree->path_capacity = capacity;
		}
		tree->path[count++] = frame;
	}
	return count;
}

static void count_calls(struct st_sample_tree *tree, uint32_t stamp, uint32_t node)
{
	const struct st_sample_row *row = &tree->rows->rows[stamp - 1];
	const uint32_t *keys = tree->rows->set->keys[ST_BY_FUNCTION].of_frame;
	uint32_t count = list_frames(tree, row->frame);

	if (!count && !tree->failed) {
		node = st_sample_tree_find(tree, node, ST_BY_FUNCTION_STACK, keys[0]);
		add_total(tree, node, stamp);
	}
	while (count-- > 0 && !tree->failed) {
		node = st_sample_tree_find(tree, node, ST_BY_FUNCTION_STACK,
					   keys[tree->path[count]]);
		add_total(tree, node, stamp);
	}
	st_sample_tree_add_self(tree, node, row);
}

static void count_row(struct st_sample_tree *tree, uint32_t stamp)
{
	const struct st_sample_row *row = &tree->rows->rows[stamp - 1];
	uint32_t node = 0;

	st_sample_tree_add_self(tree, 0, row);
	add_total(tree, 0, stamp);
	for (unsigned int i = 0; i < tree->levels && !tree->failed; i++) {
		enum st_grouping grouping = tree->question->groupings[i];

		node = st_sample_tree_find(tree, node, grouping,
					   key_of(tree, row, grouping, row->context, row->frame));
		st_sample_tree_add_self(tree, node, row);
	}
	if (!tree->is_flat)
		add_totals(tree, stamp, false);
	if (tree->stack == ST_BY_CALLSTACK)
		tree->node_of[stamp - 1] = node;
	else if (tree->stack == ST_BY_FUNCTION_STACK)
		count_calls(tree, stamp, node);
}

bool st_sample_tree_count(struct st_sample_tree *tree)
{
	tree->is_flat = tree->levels == 1 && !levels_outside(tree);
	st_pair_map_init(&tree->map);
	st_sample_tree_add(tree, 0, ST_GROUPINGS, 0);
	if (tree->stack == ST_BY_CALLSTACK) {
		tree->node_of = malloc(((size_t)tree->rows->count + 1) * sizeof(*tree->node_of));
		tree->failed = tree->failed || !tree->node_of;
	}
	for (uint32_t i = 0; i < tree->rows->count && !tree->failed; i++)
		count_row(tree, i + 1);
	if (tree->is_flat && !tree->failed)
		st_sample_flat_totals(tree, false);
	if (tree->stack == ST_BY_CALLSTACK && !tree->failed)
		st_sample_tree_callers(tree, tree->node_of);
	return !tree->failed;
}

void st_sample_tree_others(struct st_sample_tree *tree)
{
	if (tree->is_flat) {
		st_sample_flat_totals(tree, true);
		return;
	}
	for (uint32_t i = 0; i < tree->rows->count && !tree->failed; i++)
		add_totals(tree, i + 1, true);
}

void st_sample_tree_fini(struct st_sample_tree *tree)
{
	st_pair_map_fini(&tree->map);
	free(tree->nodes);
	free(tree->ordered);
	free(tree->path);
	free(tree->node_of);
	memset(tree, 0, sizeof(*tree));
}
