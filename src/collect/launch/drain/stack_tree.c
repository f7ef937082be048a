// SPDX-License-Identifier: Apache-2.0
//
// The stack tree (stack_tree.h): nodes in an array, found through a hash of parent and frame. Inside,
// nodes are known by their place in the array, outside by their id.
#include "collect/launch/drain/stack_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { KEPT_CAPACITY = 1024, SPARE_TIMES = 8 };

void st_stack_tree_fini(struct st_stack_tree *tree)
{
	free(tree->nodes);
	st_map_fini(&tree->index);
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
	if (tree->capacity > KEPT_CAPACITY && tree->capacity / SPARE_TIMES > tree->count) {
		st_stack_tree_fini(tree);
		*tree = next;
		return;
	}
	st_map_clear(&tree->index);
	tree->base = next.base;
	tree->count = 0;
}

static uint32_t hash_of(const struct st_stack_node *node)
{
	uint64_t h = node->value ^ ((uint64_t)node->parent << 32 | node->kind);

	/* Two rounds of a mixer: addresses differ in few bits. */
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ull;
	h = (h ^ h >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(h ^ h >> 31);
}

static bool is_same(const void *nodes, uint32_t number, const void *key)
{
	const struct st_stack_node *node = (const struct st_stack_node *)nodes + number;
	const struct st_stack_node *wanted = key;

	return node->value == wanted->value && node->parent == wanted->parent &&
	       node->kind == wanted->kind;
}

uint32_t st_stack_tree_get(struct st_stack_tree *tree, uint32_t parent, uint8_t kind,
			   uint64_t value)
{
	struct st_stack_node node = {.parent = parent, .kind = kind, .value = value};
	uint32_t hash = hash_of(&node);
	uint32_t at = st_map_find(&tree->index, hash, is_same, tree->nodes, &node);

	if (at == ST_ID_NONE) {
		at = tree->count + 1;
		if (at > limit_of(tree) || !ST_VEC_ROOM(tree->nodes, at, tree->capacity) ||
		    !st_map_add(&tree->index, hash, at)) {
			tree->refused++;
			return 0;
		}
		tree->nodes[0] = (struct st_stack_node){0};
		tree->nodes[at] = node;
		tree->count = at;
	}
	return tree->base + at;
}
