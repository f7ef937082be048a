/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree of groups of an answer while it is being counted. Node 0 is the total; a node is found by
 * its parent and its key, and is always created after its parent.
 */
#ifndef ST_ANALYZE_ENGINE_TREE_H
#define ST_ANALYZE_ENGINE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/engine/question.h"

enum { ST_NO_NODE = UINT32_MAX };

__extension__ typedef unsigned __int128 st_u128;

struct st_node {
	uint32_t parent, key;
	uint32_t base; /* nearest ancestor (or itself) that is not a task stack node */
	uint8_t grouping;
	bool is_stack;	/* its figures are of its own rows, not of those below it */
	bool is_others; /* stands for the siblings that the limit cut off */
	bool is_cut;
	uint32_t covered_track; /* the track that covered_ns speaks of */
	uint32_t others;	/* node for the children that were cut off, or ST_NO_NODE */
	uint32_t first_child, child_count; /* into the ordered list of nodes */
	uint32_t hot_key, hot_child;	   /* the child looked up last, or ST_NO_NODE */
	int64_t covered_ns;		   /* time of that track up to here is counted already */
	uint64_t count, copies, total_ns, self_ns, sum_ns, min_ns, max_ns;
	st_u128 squares; /* sum of the squared durations: exact, whatever the order */
	uint64_t median_ns, p95_ns, p99_ns;
	size_t range_begin, own_count, subtree_count; /* where its rows lie in the sorted rows */
};

struct st_tree {
	struct st_node *nodes;
	uint32_t count, capacity;
	uint32_t *slots; /* node + 1, by hash of parent and key */
	uint32_t mask;
	bool failed;
};

bool st_tree_init(struct st_tree *tree); /* makes node 0 */
void st_tree_fini(struct st_tree *tree);
/* Appends a node that cannot be found again; ST_NO_NODE and failed when memory is out. */
uint32_t st_tree_add(struct st_tree *tree, uint32_t parent, enum st_grouping grouping,
		     uint32_t key);
uint32_t st_tree_find(struct st_tree *tree, uint32_t parent, enum st_grouping grouping,
		      uint32_t key);

uint64_t st_node_value(const struct st_node *node, enum st_metric metric);

#endif
