// SPDX-License-Identifier: Apache-2.0
//
// Nodes of an answer: creation, and look-up by parent and key.
#include "analyze/engine/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

bool st_tree_init(struct st_tree *tree, bool has_spreads, uint32_t sum_count)
{
	memset(tree, 0, sizeof(*tree));
	tree->has_spreads = has_spreads;
	tree->sum_count = sum_count;
	return st_tree_add(tree, ST_NO_NODE, ST_GROUPINGS, 0, false) != ST_NO_NODE;
}

void st_tree_fini(struct st_tree *tree)
{
	free(tree->nodes);
	free(tree->spreads);
	free(tree->sums);
	st_map_fini(&tree->map);
	memset(tree, 0, sizeof(*tree));
}

uint32_t st_tree_add(struct st_tree *tree, uint32_t parent, enum st_grouping grouping, uint32_t key,
		     bool is_stack)
{
	uint32_t at = tree->count;

	if (!ST_VEC_ROOM(tree->nodes, at, tree->node_capacity) ||
	    (tree->has_spreads && !ST_VEC_ROOM(tree->spreads, at, tree->spread_capacity)) ||
	    (tree->sum_count && !ST_VEC_ROOM(tree->sums, ((size_t)at + 1) * tree->sum_count - 1,
					     tree->sum_capacity))) {
		tree->failed = true;
		return ST_NO_NODE;
	}
	tree->nodes[at] = (struct st_node){
		.parent = parent,
		.key = key,
		.grouping = (uint8_t)grouping,
		.is_stack = is_stack,
		.base = is_stack ? tree->nodes[parent].base : at,
		.others = ST_NO_NODE,
	};
	/* Not all that there is room for: pages that no node comes to stay untouched. */
	if (tree->sum_count)
		memset(tree->sums + (size_t)at * tree->sum_count, 0,
		       tree->sum_count * sizeof(*tree->sums));
	if (tree->has_spreads)
		tree->spreads[at] = (struct st_spread){.covered_track = UINT32_MAX,
						       .last_track = UINT32_MAX,
						       .min_ns = UINT64_MAX};
	return tree->count++;
}

static bool is_same(const void *entries, uint32_t number, const void *key)
{
	const struct st_node *node = &((const struct st_node *)entries)[number];
	const uint32_t *pair = key;

	return node->parent == pair[0] && node->key == pair[1];
}

static uint32_t find_slow(struct st_tree *tree, uint32_t parent, enum st_grouping grouping,
			  uint32_t key, bool is_stack)
{
	const uint32_t pair[2] = {parent, key};
	uint32_t hash = st_hash_u64((uint64_t)parent << 32 | key);
	uint32_t node = st_map_find(&tree->map, hash, is_same, tree->nodes, pair);

	if (node != ST_ID_NONE)
		return node;
	node = st_tree_add(tree, parent, grouping, key, is_stack);
	if (node != ST_NO_NODE && !st_map_add(&tree->map, hash, node)) {
		tree->failed = true;
		return ST_NO_NODE;
	}
	return node;
}

uint32_t st_tree_find(struct st_tree *tree, uint32_t parent, enum st_grouping grouping,
		      uint32_t key, bool is_stack)
{
	const struct st_node *from = &tree->nodes[parent];
	uint32_t node;

	/* Rows of a thread come together, and a task type has one domain: the last answer is often the
	 * next one. */
	if (from->hot_child && from->hot_key == key)
		return from->hot_child;
	node = find_slow(tree, parent, grouping, key, is_stack);
	if (node != ST_NO_NODE) {
		tree->nodes[parent].hot_key = key;
		tree->nodes[parent].hot_child = node;
	}
	return node;
}
