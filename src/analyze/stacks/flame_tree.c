// SPDX-License-Identifier: Apache-2.0
//
// Adds stacks up. Samples share most of their stacks, and stacks most of their callers: the node of a frame is
// remembered, so a sample costs one look-up, not one per frame.
#include "analyze/stacks/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

static enum st_flame_kind kind_of(const struct st_named *named, const struct st_named_frame *frame)
{
	if (frame->flags & ST_NAMED_RECOVERED)
		return ST_FLAME_RECOVERED;
	switch (named->functions[frame->function].kind) {
	case ST_FUNCTION_PYTHON:
		return ST_FLAME_PYTHON;
	case ST_FUNCTION_JIT:
		return ST_FLAME_JIT;
	case ST_FUNCTION_KERNEL:
		return ST_FLAME_KERNEL;
	case ST_FUNCTION_NATIVE:
		return frame->flags & ST_NAMED_INLINED ? ST_FLAME_INLINED : ST_FLAME_NATIVE;
	default:
		return ST_FLAME_UNKNOWN;
	}
}

static bool add_node(struct st_flame_tree *tree, const struct st_flame_node *node)
{
	return ST_VEC_PUSH(tree->nodes, tree->count, tree->capacity, *node);
}

/* The child of a node that looks like this; ST_NO_ROW: no memory. */
static uint32_t child_of(struct st_flame_tree *tree, const struct st_flame_node *like)
{
	bool is_function = like->kind < ST_FLAME_GROUP;
	uint64_t who = is_function ? like->label.function : like->key;
	uint64_t where =
		is_function ? (uint64_t)like->label.source << 32 | like->label.line : like->level;
	uint32_t known = tree->places.count;
	uint32_t place = st_key_table_add(
		&tree->places, (uint64_t)like->parent << 8 | (uint64_t)like->kind, who, where);

	if (place == ST_ID_NONE || (place == known && !add_node(tree, like)))
		return ST_NO_ROW;
	return place + 1;
}

static uint32_t child_frame(struct st_flame_tree *tree, uint32_t parent, uint32_t frame)
{
	const struct st_named *named = tree->stacks->named;
	struct st_flame_node like = {.parent = parent,
				     .kind = kind_of(named, &named->frames[frame]),
				     .label = st_stacks_label_of(tree->stacks, frame)};

	return child_of(tree, &like);
}

static bool remember(struct st_flame_tree *tree, uint32_t place, uint32_t node)
{
	if (place == ST_ID_NONE || !ST_VEC_ROOM(tree->memo, place, tree->memo_capacity))
		return false;
	tree->memo[place] = node;
	return true;
}

/* The node of a frame below a root, made with its callers if need be. Callers have smaller numbers than what they
 * call, so the ones not yet known are gone through twice: inwards to find a known one, and back. */
static uint32_t node_of_frame(struct st_flame_tree *tree, uint32_t root, uint32_t frame,
			      struct st_buf *path)
{
	uint32_t place, node = root, at = frame;

	path->size_bytes = 0;
	for (; at; at = st_stacks_caller(tree->stacks, at)) {
		place = st_key_table_find(&tree->seen, root, at, 0);
		if (place != ST_ID_NONE && tree->memo) {
			node = tree->memo[place];
			break;
		}
		st_buf_append_u32(path, at);
	}
	if (path->failed)
		return ST_NO_ROW;
	for (size_t left = path->size_bytes; left && node != ST_NO_ROW; left -= sizeof(at)) {
		memcpy(&at, path->data + left - sizeof(at), sizeof(at));
		node = child_frame(tree, node, at);
		place = st_key_table_add(&tree->seen, root, at, 0);
		if (node == ST_NO_ROW || !remember(tree, place, node))
			return ST_NO_ROW;
	}
	return node;
}

static uint32_t root_of(struct st_flame_tree *tree, uint32_t row)
{
	uint32_t node = 0;

	for (unsigned int i = 0; i < tree->stacks->group_count && node != ST_NO_ROW; i++) {
		struct st_flame_node like = {.parent = node,
					     .kind = ST_FLAME_GROUP,
					     .level = i,
					     .key = st_stacks_group_key(tree->stacks, i, row)};

		node = child_of(tree, &like);
	}
	return node;
}

static bool add_samples(struct st_flame_tree *tree, struct st_buf *path)
{
	const struct st_stacks *stacks = tree->stacks;

	for (uint32_t i = 0; i < stacks->row_count; i++) {
		uint32_t row = stacks->rows[i], leaf = st_stacks_leaf(stacks, row);
		uint32_t node = root_of(tree, row);

		if (node != ST_NO_ROW && leaf)
			node = node_of_frame(tree, node, leaf, path);
		else if (node != ST_NO_ROW)
			node = child_of(tree, &(struct st_flame_node){.parent = node,
								      .kind = ST_FLAME_NO_STACK});
		if (node == ST_NO_ROW)
			return false;
		tree->nodes[node].self_ns += stacks->samples->weight_ns[row];
		tree->nodes[node].self_samples++;
	}
	return true;
}

/* Every place where time went becomes the beginning of a path to the callers, below its groups. */
static bool add_reversed(struct st_flame_tree *tree, const struct st_flame_tree *from,
			 uint32_t *roots)
{
	roots[0] = 0;
	for (uint32_t i = 0; i < from->count; i++) {
		struct st_flame_node like = from->nodes[i];
		uint32_t node = roots[like.parent];

		roots[i] = node;
		like = (struct st_flame_node){
			.parent = node, .kind = like.kind, .level = like.level, .key = like.key};
		if (like.kind == ST_FLAME_GROUP)
			node = roots[i] = child_of(tree, &like);
		for (uint32_t at = i;
		     from->nodes[i].self_samples && node != ST_NO_ROW &&
		     from->nodes[at].kind < ST_FLAME_ALL && from->nodes[at].kind != ST_FLAME_GROUP;
		     at = from->nodes[at].parent) {
			like.parent = node;
			like.kind = from->nodes[at].kind;
			like.label = from->nodes[at].label;
			node = child_of(tree, &like);
		}
		if (node == ST_NO_ROW)
			return false;
		tree->nodes[node].self_ns += from->nodes[i].self_ns;
		tree->nodes[node].self_samples += from->nodes[i].self_samples;
	}
	return true;
}

static void sum_up(struct st_flame_tree *tree)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		struct st_flame_node *node = &tree->nodes[i];

		node->total_ns += node->self_ns;
		node->total_samples += node->self_samples;
		if (!i)
			break;
		tree->nodes[node->parent].total_ns += node->total_ns;
		tree->nodes[node->parent].total_samples += node->total_samples;
		tree->nodes[node->parent].child_count++;
	}
}

static int compare_children(const void *a, const void *b, void *nodes)
{
	uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	const struct st_flame_node *x = (struct st_flame_node *)nodes + m;
	const struct st_flame_node *y = (struct st_flame_node *)nodes + n;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return m < n ? -1 : m > n;
}

static bool sort_children(struct st_flame_tree *tree)
{
	uint32_t next = 0;

	tree->children = malloc(((size_t)tree->count + 1) * sizeof(*tree->children));
	if (!tree->children)
		return false;
	for (uint32_t i = 0; i < tree->count; i++) {
		tree->nodes[i].first_child = next;
		next += tree->nodes[i].child_count;
		tree->nodes[i].child_count = 0;
	}
	for (uint32_t i = 1; i < tree->count; i++) {
		struct st_flame_node *parent = &tree->nodes[tree->nodes[i].parent];

		tree->children[parent->first_child + parent->child_count++] = i;
	}
	for (uint32_t i = 0; i < tree->count; i++)
		qsort_r(tree->children + tree->nodes[i].first_child, tree->nodes[i].child_count,
			sizeof(*tree->children), compare_children, tree->nodes);
	return true;
}

static void add_kinds(struct st_flame_tree *tree, const struct st_flame_tree *from)
{
	for (uint32_t i = 0; i < from->count; i++)
		tree->kind_ns[from->nodes[i].kind] += from->nodes[i].self_ns;
}

static bool make_forward(struct st_flame_tree *tree)
{
	struct st_buf path;
	bool done;

	st_buf_init(&path, SIZE_MAX / 4);
	done = add_node(tree, &(struct st_flame_node){.kind = ST_FLAME_ALL}) &&
	       add_samples(tree, &path);
	st_buf_fini(&path);
	return done;
}

static bool make_reversed(struct st_flame_tree *tree)
{
	struct st_flame_tree forward = {.stacks = tree->stacks};
	uint32_t *roots = NULL;
	bool done = make_forward(&forward) &&
		    add_node(tree, &(struct st_flame_node){.kind = ST_FLAME_ALL});

	if (done)
		roots = malloc(forward.count * sizeof(*roots));
	done = roots && add_reversed(tree, &forward, roots);
	add_kinds(tree, &forward);
	free(roots);
	st_flame_tree_fini(&forward);
	return done;
}

enum st_status st_flame_tree_make(struct st_flame_tree *tree, struct st_stacks *stacks,
				  bool reverse, struct st_error *err)
{
	memset(tree, 0, sizeof(*tree));
	tree->stacks = stacks;
	if (!(reverse ? make_reversed(tree) : make_forward(tree)))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	if (!reverse)
		add_kinds(tree, tree);
	sum_up(tree);
	return sort_children(tree)
		       ? ST_OK
		       : st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
}

void st_flame_tree_fini(struct st_flame_tree *tree)
{
	st_key_table_fini(&tree->places);
	st_key_table_fini(&tree->seen);
	free(tree->nodes);
	free(tree->children);
	free(tree->memo);
}

void st_flame_node_text(const struct st_flame_tree *tree, uint32_t node, struct st_buf *out)
{
	const struct st_flame_node *at = &tree->nodes[node];

	switch (at->kind) {
	case ST_FLAME_ALL:
		st_buf_append_text(out, "all");
		break;
	case ST_FLAME_NO_STACK:
		st_buf_append_text(out, "[no frame shown]");
		break;
	case ST_FLAME_GROUP:
		st_stacks_group_text(tree->stacks, at->level, at->key, out);
		break;
	default:
		st_stacks_label_text(tree->stacks, at->label, out);
	}
}
