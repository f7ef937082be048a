/* SPDX-License-Identifier: Apache-2.0
 *
 * The stacks of one process as a tree: a node is a frame and its caller. Every stack that was ever seen is
 * a node, and two samples with the same stack have the same one. Nodes are numbered from 1 as they come. A tree
 * that is forgotten, with a file of a ring buffer, goes on with the next number.
 */
#ifndef ST_COLLECT_LAUNCH_DRAIN_STACK_TREE_H
#define ST_COLLECT_LAUNCH_DRAIN_STACK_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "format/samples.h"

enum { ST_STACK_NODES_MAX = 4 << 20 }; /* of one process: 130 MB of ours */

struct st_stack_tree {
	struct st_stack_node *nodes; /* by id less base; [0] is the empty stack */
	uint32_t base;		     /* ids that were given away before it was last forgotten */
	uint32_t count;		     /* base + count is the largest id */
	uint32_t capacity;
	struct st_map index;
	uint32_t limit;	  /* nodes at a time; 0: ST_STACK_NODES_MAX */
	uint64_t refused; /* nodes there was no room for */
};

void st_stack_tree_fini(struct st_stack_tree *tree);
/* Nodes given so far are no longer this tree's. When the ids that are left may not be enough for another tree
 * they begin again at 1: their first users are gone since some 4,000 million nodes. */
void st_stack_tree_forget(struct st_stack_tree *tree);
/* Only for an id of this tree. */
static inline const struct st_stack_node *st_stack_tree_node(const struct st_stack_tree *tree,
							     uint32_t id)
{
	return &tree->nodes[id - tree->base];
}
/* The id of a frame below parent, which must be an id of this tree or 0; 0 when it is new and the tree is
 * full, or memory is. */
uint32_t st_stack_tree_get(struct st_stack_tree *tree, uint32_t parent, uint8_t kind,
			   uint64_t value);

#endif
