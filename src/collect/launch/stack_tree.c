// SPDX-License-Identifier: Apache-2.0
//
// The stack tree (stack_tree.h): nodes in an array, found through a hash of parent and frame.
#include "collect/launch/stack_tree.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

void st_stack_tree_fini(struct st_stack_tree *tree)
{
	free(tree->nodes);
	free(tree->index);
	memset(tree, 0, sizeof(*tree));
}

static uint64_t hash_of(uint32_t parent, uint8_t kind, uint64_t value)
{
	uint64_t h = value ^ ((uint64_t)parent << 32 | kind);

	/* Two rounds of a mixer: addresses differ in few bits. */
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	return h ^ h >> 31;
}

static bool is_same(const struct st_stack_node *node, uint32_t parent, uint8_t kind, uint64_t value)
{
	return node->value == value && node->parent == parent && node->kind == kind;
}

/* Where the frame stands in the index, or the free place for it. */
static uint32_t place_of(const struct st_stack_tree *tree, uint32_t parent, uint8_t kind,
			 uint64_t value)
{
	uint32_t mask = tree->index_capacity - 1;
	uint32_t at = (uint32_t)hash_of(parent, kind, value) & mask;

	while (tree->index[at] && !is_same(&tree->nodes[tree->index[at]], parent, kind, value))
		at = (at + 1) & mask;
	return at;
}

static bool grow_index(struct st_stack_tree *tree)
{
	uint32_t capacity =
		tree->index_capacity ? tree->index_capacity * 2 : (uint32_t)FIRST_CAPACITY * 2;
	uint32_t *index = calloc(capacity, sizeof(*index));

	if (!index)
		return false;
	free(tree->index);
	tree->index = index;
	tree->index_capacity = capacity;
	for (uint32_t id = 1; id <= tree->count; id++) {
		const struct st_stack_node *node = &tree->nodes[id];

		index[place_of(tree, node->parent, node->kind, node->value)] = id;
	}
	return true;
}

/* Room for one more node, at most half of the index in use. */
static bool make_room(struct st_stack_tree *tree)
{
	uint32_t limit = tree->limit ? tree->limit : ST_STACK_NODES_MAX;

	if (tree->count >= limit)
		return false;
	if (tree->count + 1 >= tree->capacity) {
		uint32_t capacity = tree->capacity ? tree->capacity * 2 : (uint32_t)FIRST_CAPACITY;
		struct st_stack_node *nodes =
			realloc(tree->nodes, (size_t)capacity * sizeof(*nodes));

		if (!nodes)
			return false;
		if (!tree->nodes)
			memset(nodes, 0, sizeof(*nodes));
		tree->nodes = nodes;
		tree->capacity = capacity;
	}
	return (tree->count + 1) * 2 <= tree->index_capacity || grow_index(tree);
}

uint32_t st_stack_tree_get(struct st_stack_tree *tree, uint32_t parent, uint8_t kind,
			   uint64_t value)
{
	uint32_t at;

	if (tree->index_capacity) {
		at = place_of(tree, parent, kind, value);
		if (tree->index[at])
			return tree->index[at];
	}
	if (!make_room(tree)) {
		tree->refused++;
		return 0;
	}
	tree->nodes[++tree->count] =
		(struct st_stack_node){.parent = parent, .kind = kind, .value = value};
	tree->index[place_of(tree, parent, kind, value)] = tree->count;
	return tree->count;
}
