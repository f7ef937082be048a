/* SPDX-License-Identifier: Apache-2.0
 *
 * The groups of samples of one question, while they are counted and put in order.
 */
#ifndef ST_ANALYZE_SAMPLES_SAMPLE_TREE_H
#define ST_ANALYZE_SAMPLES_SAMPLE_TREE_H

#include "analyze/samples/sample_rows.h"

enum { ST_CALLERS_MAX = 100000 }; /* groups of callers in one answer, besides those of others */

struct st_sample_node {
	uint32_t parent, key;
	uint8_t grouping;
	bool is_others, is_cut;
	uint32_t stamp; /* the last row that is in its total, + 1 */
	uint32_t
		others; /* node of the children that were cut off, or 0; of a cut node: where it is counted */
	uint32_t first_child, child_count; /* into ordered */
	uint64_t cpu[ST_CPU_METRICS];
	uint64_t total_effective;
};

/* What was found lately: most rows lead to the same few groups. */
struct st_sample_found {
	uint32_t parent, key, node;
};
enum { ST_SAMPLE_FOUND = 4096 };

struct st_sample_tree {
	const struct st_sample_rows *rows;
	const struct st_question *question;
	struct st_pair_map map; /* (parent, key) to node; node 0 is the total */
	struct st_sample_found found[ST_SAMPLE_FOUND];
	struct st_sample_node *nodes;
	uint32_t count, capacity;
	uint32_t *ordered;
	uint32_t *path; /* scratch: frames of a stack */
	uint32_t path_capacity;
	uint32_t *node_of;	/* by row: the group that its callers hang below */
	unsigned int levels;	/* groupings before a stack */
	enum st_grouping stack; /* ST_BY_CALLSTACK, ST_BY_FUNCTION_STACK or ST_GROUPINGS */
	bool is_flat;		/* one grouping, by frame: totals come from the forest of frames */
	bool counts_samples;	/* instead of time */
	bool failed;
};

bool st_sample_tree_count(struct st_sample_tree *tree);
/* Order of siblings, and what limit and threshold cut off. */
bool st_sample_tree_order(struct st_sample_tree *tree, double threshold_percent);
void st_sample_tree_fini(struct st_sample_tree *tree);
/* Adds a node; only for those who are not found by key. 0: no memory. */
uint32_t st_sample_tree_add(struct st_sample_tree *tree, uint32_t parent, enum st_grouping grouping,
			    uint32_t key);
/* Totals of a flat tree; only_others: those of what was cut off. */
void st_sample_flat_totals(struct st_sample_tree *tree, bool only_others);
/* The node of a key below another; 0 when memory is out. */
uint32_t st_sample_tree_find(struct st_sample_tree *tree, uint32_t parent,
			     enum st_grouping grouping, uint32_t key);
/* Adds the self figures of a row. */
void st_sample_tree_add_self(struct st_sample_tree *tree, uint32_t node,
			     const struct st_sample_row *row);
/* Adds the groups of callers, the heaviest first; node_of: by row, what they hang below. The last to add keys. */
void st_sample_tree_callers(struct st_sample_tree *tree, const uint32_t *node_of);
/* Adds the totals once more, only those of nodes that stand for others. */
void st_sample_tree_others(struct st_sample_tree *tree);

#endif
