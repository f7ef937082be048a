// SPDX-License-Identifier: Apache-2.0
//
// Nodes of an answer: creation, look-up by parent and key, and their figures.
#include "analyze/engine/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash_pair(uint32_t parent, uint32_t key)
{
	uint64_t hash = ((uint64_t)parent << 32 | key) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash >> 32);
}

bool st_tree_init(struct st_tree *tree)
{
	memset(tree, 0, sizeof(*tree));
	tree->mask = 1023;
	tree->slots = calloc((size_t)tree->mask + 1, sizeof(*tree->slots));
	if (!tree->slots)
		return false;
	if (st_tree_add(tree, ST_NO_NODE, ST_GROUPINGS, 0) == ST_NO_NODE) {
		st_tree_fini(tree);
		return false;
	}
	return true;
}

void st_tree_fini(struct st_tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree->slots);
	memset(tree, 0, sizeof(*tree));
}

uint32_t st_tree_add(struct st_tree *tree, uint32_t parent, enum st_grouping grouping, uint32_t key)
{
	struct st_node *node;

	if (tree->count == tree->capacity) {
		uint32_t capacity = tree->capacity ? tree->capacity * 2 : 256;
		struct st_node *nodes = NULL;

		if (capacity > tree->capacity)
			nodes = realloc(tree->nodes, capacity * sizeof(*nodes));
		if (!nodes) {
			tree->failed = true;
			return ST_NO_NODE;
		}
		tree->nodes = nodes;
		tree->capacity = capacity;
	}
	node = &tree->nodes[tree->count];
	memset(node, 0, sizeof(*node));
	node->parent = parent;
	node->key = key;
	node->grouping = (uint8_t)grouping;
	node->is_stack = grouping == ST_BY_TASK_STACK;
	node->base = node->is_stack ? tree->nodes[parent].base : tree->count;
	node->covered_track = UINT32_MAX;
	node->others = ST_NO_NODE;
	node->hot_child = ST_NO_NODE;
	node->min_ns = UINT64_MAX;
	return tree->count++;
}

static bool grow_slots(struct st_tree *tree)
{
	uint32_t mask = tree->mask * 2 + 1;
	uint32_t *slots = calloc((size_t)mask + 1, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t i = 1; i < tree->count; i++) {
		uint32_t at = hash_pair(tree->nodes[i].parent, tree->nodes[i].key) & mask;

		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = i + 1;
	}
	free(tree->slots);
	tree->slots = slots;
	tree->mask = mask;
	return true;
}

static uint32_t find_slow(struct st_tree *tree, uint32_t parent, enum st_grouping grouping,
			  uint32_t key)
{
	uint32_t at = hash_pair(parent, key) & tree->mask;
	uint32_t node;

	for (; tree->slots[at]; at = (at + 1) & tree->mask) {
		node = tree->slots[at] - 1;
		if (tree->nodes[node].parent == parent && tree->nodes[node].key == key)
			return node;
	}
	node = st_tree_add(tree, parent, grouping, key);
	if (node == ST_NO_NODE)
		return node;
	tree->slots[at] = node + 1;
	if (tree->count > tree->mask / 2 && !grow_slots(tree)) {
		tree->failed = true;
		return ST_NO_NODE;
	}
	return node;
}

uint32_t st_tree_find(struct st_tree *tree, uint32_t parent, enum st_grouping grouping,
		      uint32_t key)
{
	const struct st_node *from = &tree->nodes[parent];
	uint32_t node;

	/* Rows of a thread come together, and a task type has one domain: the last answer is often the
	 * next one. */
	if (from->hot_child != ST_NO_NODE && from->hot_key == key)
		return from->hot_child;
	node = find_slow(tree, parent, grouping, key);
	tree->nodes[parent].hot_key = key;
	tree->nodes[parent].hot_child = node;
	return node;
}

static uint64_t stddev_ns(const struct st_node *node)
{
	long double mean, variance;

	if (node->count < 2)
		return 0;
	mean = (long double)node->sum_ns / (long double)node->count;
	variance = (long double)node->squares / (long double)node->count - mean * mean;
	return variance > 0 ? (uint64_t)(sqrtl(variance) + 0.5L) : 0;
}

uint64_t st_node_value(const struct st_node *node, enum st_metric metric)
{
	switch (metric) {
	case ST_COUNT:
		return node->count;
	case ST_COPIES:
		return node->copies;
	case ST_WALL_TOTAL:
		return node->total_ns;
	case ST_WALL_SELF:
		return node->self_ns;
	case ST_WALL_MIN:
		return node->count ? node->min_ns : 0;
	case ST_WALL_AVG:
		return node->count ? (node->sum_ns + node->count / 2) / node->count : 0;
	case ST_WALL_MEDIAN:
		return node->median_ns;
	case ST_WALL_P95:
		return node->p95_ns;
	case ST_WALL_P99:
		return node->p99_ns;
	case ST_WALL_MAX:
		return node->max_ns;
	case ST_WALL_STDDEV:
		return stddev_ns(node);
	default:
		return 0;
	}
}
