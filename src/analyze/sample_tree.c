// SPDX-License-Identifier: Apache-2.0
//
// Counting rows of samples into groups. Self figures go along the path of the innermost function, Python line and
// task. Totals go to every group that any function of the stack, inside any task around the sample, leads
// to; a stamp keeps recursion from being counted twice.
#include "analyze/sample_tree.h"

#include <stdlib.h>
#include <string.h>

#include "store/result.h"

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
	/* Node 0 has no pair of its own. */
	uint32_t node = st_pair_map_add(&tree->map, parent, key) + 1;

	if (tree->map.failed)
		tree->failed = true;
	if (tree->failed || node < tree->count)
		return tree->failed ? 0 : node;
	return st_sample_tree_add(tree, parent, grouping, key);
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
	return set->keys[grouping].of_frame[frame];
}

static void add_self(struct st_sample_tree *tree, uint32_t index, const struct st_sample_row *row)
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

/* The nodes of one function inside one task; only_others: those exist already, and what was cut off is
 * counted where it is shown. */
static void add_totals_along(struct st_sample_tree *tree, uint32_t stamp, uint32_t context,
			     uint32_t frame, bool only_others)
{
	const struct st_sample_row *row = &tree->rows->rows[stamp - 1];
	uint32_t node = 0;

	for (unsigned int i = 0; i < tree->levels && !tree->failed; i++) {
		enum st_grouping grouping = tree->question->groupings[i];

		node = st_sample_tree_find(tree, node, grouping,
					   key_of(tree, row, grouping, context, frame));
		if (!only_others)
			add_total(tree, node, stamp);
		else if (tree->nodes[node].is_cut)
			add_total(tree, tree->nodes[node].others, stamp);
	}
}

static void add_totals(struct st_sample_tree *tree, uint32_t stamp, bool by_frame, bool only_others)
{
	const struct st_sample_row *row = &tree->rows->rows[stamp - 1];
	const struct st_sample_contexts *contexts = &tree->rows->contexts;
	uint32_t context = row->context;

	do {
		uint32_t frame = row->frame;

		do {
			add_totals_along(tree, stamp, context, frame, only_others);
			frame = frame ? st_sample_caller(tree->rows->set, frame) : 0;
		} while (frame && by_frame && !tree->failed);
		context = context ? contexts->outer[context] : 0;
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

/* Callers: below a function its callers, else the function first. */
static void count_callers(struct st_sample_tree *tree, const struct st_sample_row *row,
			  uint32_t node)
{
	const struct st_sample_set *set = tree->rows->set;
	const uint32_t *keys = set->keys[ST_BY_FUNCTION].of_frame;
	uint32_t frame = row->frame;
	bool begins_inside = false;

	for (unsigned int i = 0; i < tree->levels; i++) {
		enum st_grouping grouping = tree->question->groupings[i];

		if (st_grouping_is_python(grouping))
			frame = set->python_of[row->frame];
		begins_inside = begins_inside || grouping == ST_BY_FUNCTION ||
				grouping == ST_BY_FUNCTION_MANGLED ||
				grouping == ST_BY_PYTHON_FUNCTION;
	}
	if (frame && begins_inside)
		frame = st_sample_caller(set, frame);
	for (; frame && !tree->failed; frame = st_sample_caller(set, frame)) {
		node = st_sample_tree_find(tree, node, ST_BY_CALLSTACK, keys[frame]);
		add_self(tree, node, row);
	}
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
	add_self(tree, node, row);
}

static void count_row(struct st_sample_tree *tree, uint32_t stamp, bool by_frame)
{
	const struct st_sample_row *row = &tree->rows->rows[stamp - 1];
	uint32_t node = 0;

	add_self(tree, 0, row);
	add_total(tree, 0, stamp);
	for (unsigned int i = 0; i < tree->levels && !tree->failed; i++) {
		enum st_grouping grouping = tree->question->groupings[i];

		node = st_sample_tree_find(tree, node, grouping,
					   key_of(tree, row, grouping, row->context, row->frame));
		add_self(tree, node, row);
	}
	if (!tree->is_flat)
		add_totals(tree, stamp, by_frame, false);
	if (tree->stack == ST_BY_CALLSTACK)
		count_callers(tree, row, node);
	else if (tree->stack == ST_BY_FUNCTION_STACK)
		count_calls(tree, stamp, node);
}

static bool is_by_frame(const struct st_sample_tree *tree)
{
	for (unsigned int i = 0; i < tree->levels; i++)
		if (st_grouping_is_frame(tree->question->groupings[i]))
			return true;
	return false;
}

bool st_sample_tree_count(struct st_sample_tree *tree)
{
	bool by_frame = is_by_frame(tree);

	tree->is_flat = by_frame && tree->levels == 1;
	st_pair_map_init(&tree->map);
	st_sample_tree_add(tree, 0, ST_GROUPINGS, 0);
	for (uint32_t i = 0; i < tree->rows->count && !tree->failed; i++)
		count_row(tree, i + 1, by_frame);
	if (tree->is_flat && !tree->failed)
		st_sample_flat_totals(tree, false);
	return !tree->failed;
}

void st_sample_tree_others(struct st_sample_tree *tree)
{
	bool by_frame = is_by_frame(tree);

	if (tree->is_flat) {
		st_sample_flat_totals(tree, true);
		return;
	}
	for (uint32_t i = 0; i < tree->rows->count && !tree->failed; i++)
		add_totals(tree, i + 1, by_frame, true);
}

void st_sample_tree_fini(struct st_sample_tree *tree)
{
	st_pair_map_fini(&tree->map);
	free(tree->nodes);
	free(tree->ordered);
	free(tree->path);
	memset(tree, 0, sizeof(*tree));
}
