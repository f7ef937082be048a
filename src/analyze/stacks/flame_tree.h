/* SPDX-License-Identifier: Apache-2.0
 *
 * Aggregated stacks: a tree of callers, or of callees if it is reversed (the callers of the functions in which
 * the time was spent). Node 0 is everything. Numbers are CPU time and samples; children's never exceed their
 * parent's.
 */
#ifndef ST_ANALYZE_STACKS_FLAME_TREE_H
#define ST_ANALYZE_STACKS_FLAME_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/stacks/stacks.h"
#include "store/key_table.h"

enum st_flame_kind {
	ST_FLAME_PYTHON,
	ST_FLAME_NATIVE,
	ST_FLAME_INLINED,
	ST_FLAME_JIT,
	ST_FLAME_KERNEL,
	ST_FLAME_UNKNOWN,   /* code in no known module */
	ST_FLAME_RECOVERED, /* found by a scan: likely, not certain */
	ST_FLAME_GROUP,	    /* a process, a thread */
	ST_FLAME_NO_STACK,  /* no frame is known, or none is left by the modes */
	ST_FLAME_ALL,
	ST_FLAME_KINDS
};

struct st_flame_node {
	uint32_t parent;
	enum st_flame_kind kind;
	struct st_stack_label label; /* of functions */
	uint32_t level, key;	     /* of groups */
	uint64_t self_ns, total_ns;
	uint32_t self_samples, total_samples;
	uint32_t first_child, child_count; /* into children */
};

struct st_flame_tree {
	struct st_stacks *stacks;
	struct st_flame_node *nodes;
	uint32_t count, capacity;
	uint32_t *children;		  /* largest first */
	uint64_t kind_ns[ST_FLAME_KINDS]; /* self time by kind */
	struct st_key_table places;	  /* node - 1 by parent, label, kind */
	struct st_key_table seen;	  /* node of a frame below a node of the groups; in memo */
	uint32_t *memo;
	uint32_t memo_capacity;
};

enum st_status st_flame_tree_make(struct st_flame_tree *tree, struct st_stacks *stacks,
				  bool reverse, struct st_error *err);
void st_flame_tree_fini(struct st_flame_tree *tree);
void st_flame_node_text(const struct st_flame_tree *tree, uint32_t node, struct st_buf *out);

#endif
