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
#include "base/map.h"

enum { ST_NO_NODE = UINT32_MAX };

__extension__ typedef unsigned __int128 st_u128;

struct st_node {
	uint32_t parent, key;
	uint32_t base; /* nearest ancestor (or itself) that is not of a tree of any depth */
	uint8_t grouping;
	bool is_stack;	/* its figures are of its own rows, not of those below it */
	bool is_others; /* stands for the siblings that the limit cut off */
	bool is_cut;
	uint32_t stamp; /* the last row that was counted here for what reaches around, + 1 */
	uint32_t
		others; /* node for the children that were cut off, or ST_NO_NODE; of a cut one: where it is counted */
	uint32_t first_child, child_count; /* into the ordered list of nodes */
	uint32_t hot_key, hot_child;	   /* the child looked up last, or 0 */
};

/* The durations of a group, where rows last. */
struct st_spread {
	st_u128 squares;	      /* sum of the squared durations: exact, whatever the order */
	int64_t covered_ns;	      /* time of that track up to here is counted already */
	uint32_t covered_track;	      /* the track that covered_ns speaks of */
	uint32_t threads, last_track; /* rows come track by track */
	uint64_t count, copies, total_ns, self_ns, sum_ns, min_ns, max_ns;
	uint64_t median_ns, p95_ns, p99_ns;
	/* Of rows that stand for others. */
	double more_count, more_total_ns, more_self_ns, more_sum_ns;
	size_t range_begin, own_count, subtree_count; /* where its rows lie in the sorted rows */
};

struct st_tree {
	struct st_node *nodes;
	struct st_spread *spreads; /* NULL: rows do not last */
	uint64_t *sums;		   /* sum_count of each node: what is read of rows */
	uint32_t count, node_capacity, spread_capacity, sum_capacity;
	uint32_t sum_count;
	struct st_map map;
	bool has_spreads;
	bool failed;
};

/* Makes node 0. */
bool st_tree_init(struct st_tree *tree, bool has_spreads, uint32_t sum_count);
void st_tree_fini(struct st_tree *tree);
/* Appends a node that cannot be found again; ST_NO_NODE and failed when memory is out. */
uint32_t st_tree_add(struct st_tree *tree, uint32_t parent, enum st_grouping grouping, uint32_t key,
		     bool is_stack);
uint32_t st_tree_find(struct st_tree *tree, uint32_t parent, enum st_grouping grouping,
		      uint32_t key, bool is_stack);

#endif
