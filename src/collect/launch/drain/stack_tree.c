// SPDX-License-Identifier: Apache-2.0
//
// The stack tree (stack_tree.h): nodes in an array, found through a hash of parent and frame. Inside,
// nodes are known by their place in the array, outside by their id.
#include "collect/launch/drain/stack_tree.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024, SPARE_TIMES = 8 };

void st_stack_tree_fini(struct st_stack_tree *tree)
{
	free(tree->nodes);
	free(tree->index);
	memset(tree, 0, sizeof(*tree));
}

static uint32_t limit_of(const struct st_stack_tree *tree)
{
	return tree->limit ? tree->limit : (uint32_t)ST_STACK_NODES_MAX;
}

void st_stack_tree_forget(struct st_stack_tree *tree)
{
	struct st_stack_tree next = {
		.base = tree->base + tree->count, .limit = tree->limit, .refused = tree->refused};

	if (UINT32_MAX - next.base <= limit_of(tree))
		next.base = 0;
	/* A steady program needs the same room again; what one burst needed is given back. */
	if (tree->capacity > FIRST_CAPACITY && tree->capacity / SPARE_TIMES > tree->count) {
		st_stack_tree_fini(tree);
		*tree = next;
		return;
	}
	if (tree->index_capacity)
		memset(tree->index, 0, tree->index_capacity * sizeof(*tree->index));
	tree->base = next.base;
	tree->count = 0;
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
	for (uint32_t i = 1; i <= tree->count; i++) {
		const struct st_stack_node *node = &tree->nodes[i];

		index[place_of(tree, node->parent, node->kind, node->value)] = i;
	}
	return true;
}

/* Room for one more node, at most half of the index in use. */
static bool make_room(struct st_stack_tree *tree)
{
	if (tree->count >= limit_of(tree))
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
			return tree->base + tree->index[at];
	}
	if (!make_room(tree)) {
		tree->refused++;
		return 0;
	}
	tree->nodes[++tree->count] =
		(struct st_stack_node){.parent = parent, .kind = kind, .value = value};
	tree->index[place_of(tree, parent, kind, value)] = tree->count;
	return tree->base + tree->count;
}
