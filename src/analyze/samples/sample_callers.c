// SPDX-License-Identifier: Apache-2.0
//
// Callers below groups (ST_BY_CALLSTACK). Seen from the inside out stacks share little: a tree of all callers has
// up to samples times depth groups, millions of them, of which nobody reads more than the heaviest. So the
// heaviest group is followed first, until ST_CALLERS_MAX groups exist; what would come behind those that are left is
// one group of others each.
#include "analyze/samples/sample_tree.h"

#include <stdlib.h>
#include <string.h>

struct waiting {
	uint64_t weight;
	uint32_t node;
};

struct callers {
	struct st_sample_tree *tree;
	const uint32_t *keys;
	uint32_t *frame;      /* by row: the next caller to show, 0: none */
	uint32_t *next;	      /* by row: the next of the same node, + 1 */
	uint32_t *first;      /* by node: its first row, + 1 */
	struct waiting *heap; /* nodes with rows that have more callers, the heaviest first */
	uint32_t heap_count;
	size_t capacity; /* of first and heap */
};

/* Callers: below a function its callers, else the function first. */
static uint32_t first_caller(const struct st_sample_tree *tree, const struct st_sample_row *row)
{
	const struct st_sample_set *set = tree->rows->set;
	uint32_t frame = row->frame;
	bool begins_inside = false;

	for (unsigned int i = 0; i < tree->levels; i++) {
		enum st_grouping grouping = tree->question->groupings[i];

		if (st_grouping_is_python(grouping))
			frame = row->python;
		begins_inside = begins_inside || grouping == ST_BY_FUNCTION ||
				grouping == ST_BY_FUNCTION_MANGLED ||
				grouping == ST_BY_PYTHON_FUNCTION;
	}
	return frame && begins_inside ? st_sample_caller(set, frame) : frame;
}

static bool make_room(struct callers *callers, size_t count)
{
	size_t capacity = count + count / 2;
	uint32_t *first;
	struct waiting *heap;

	if (callers->first && callers->heap && count <= callers->capacity)
		return true;
	first = realloc(callers->first, capacity * sizeof(*first));
	if (first)
		callers->first = first;
	heap = realloc(callers->heap, capacity * sizeof(*heap));
	if (heap)
		callers->heap = heap;
	if (!first || !heap)
		return false;
	memset(first + callers->capacity, 0, (capacity - callers->capacity) * sizeof(*first));
	callers->capacity = capacity;
	return true;
}

static void push(struct callers *callers, struct waiting waiting)
{
	struct waiting *heap = callers->heap;
	uint32_t at = callers->heap_count++;

	for (; at && heap[(at - 1) / 2].weight < waiting.weight; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = waiting;
}

static uint32_t pop(struct callers *callers)
{
	struct waiting *heap = callers->heap, last = heap[--callers->heap_count];
	uint32_t node = heap[0].node, at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < callers->heap_count && heap[child + 1].weight > heap[child].weight)
			child++;
		if (child >= callers->heap_count || heap[child].weight <= last.weight)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return node;
}

static void add_row(struct callers *callers, uint32_t node, uint32_t row)
{
	callers->next[row] = callers->first[node];
	callers->first[node] = row + 1;
}

/* A node waits once all its rows are known. */
static void wait_for(struct callers *callers, uint32_t node)
{
	struct waiting waiting = {.node = node};

	for (uint32_t row = callers->first[node]; row; row = callers->next[row - 1])
		waiting.weight += callers->tree->rows->rows[row - 1].weight;
	if (callers->first[node])
		push(callers, waiting);
}

/* One step out: the rows of a node go to the callers below it. */
static bool follow(struct callers *callers, uint32_t node)
{
	struct st_sample_tree *tree = callers->tree;
	uint32_t known = tree->count, next;

	for (uint32_t row = callers->first[node]; row; row = next) {
		uint32_t frame = callers->frame[row - 1];
		uint32_t child =
			st_sample_tree_find(tree, node, ST_BY_CALLSTACK, callers->keys[frame]);

		next = callers->next[row - 1];
		if (tree->failed || !make_room(callers, tree->count))
			return false;
		st_sample_tree_add_self(tree, child, &tree->rows->rows[row - 1]);
		callers->frame[row - 1] = frame = st_sample_caller(tree->rows->set, frame);
		if (frame)
			add_row(callers, child, row - 1);
	}
	callers->first[node] = 0;
	for (uint32_t child = known; child < tree->count; child++)
		wait_for(callers, child);
	return true;
}

/* These have no key: nobody looks for one from now on. */
static bool sum_others(struct callers *callers)
{
	struct st_sample_tree *tree = callers->tree;

	for (uint32_t i = 0; i < callers->heap_count; i++) {
		uint32_t node = callers->heap[i].node;
		uint32_t others = st_sample_tree_add(tree, node, ST_BY_CALLSTACK, 0);

		if (tree->failed)
			return false;
		tree->nodes[others].is_others = true;
		for (uint32_t row = callers->first[node]; row; row = callers->next[row - 1])
			st_sample_tree_add_self(tree, others, &tree->rows->rows[row - 1]);
	}
	tree->rows->set->callers_cut += callers->heap_count;
	return true;
}

static bool begin(struct callers *callers, const uint32_t *node_of)
{
	const struct st_sample_tree *tree = callers->tree;
	size_t rows = (size_t)tree->rows->count + 1;
	uint32_t count = tree->count;

	callers->frame = malloc(rows * sizeof(*callers->frame));
	callers->next = calloc(rows, sizeof(*callers->next));
	if (!callers->frame || !callers->next || !make_room(callers, count))
		return false;
	for (uint32_t i = 0; i < tree->rows->count; i++) {
		callers->frame[i] = first_caller(tree, &tree->rows->rows[i]);
		if (callers->frame[i])
			add_row(callers, node_of[i], i);
	}
	for (uint32_t i = 0; i < count; i++)
		wait_for(callers, i);
	return true;
}

void st_sample_tree_callers(struct st_sample_tree *tree, const uint32_t *node_of)
{
	struct callers callers = {.tree = tree,
				  .keys = tree->rows->set->keys[ST_BY_FUNCTION].of_frame};
	uint32_t end = tree->count + ST_CALLERS_MAX;
	bool done = begin(&callers, node_of);

	while (done && callers.heap_count && tree->count < end)
		done = follow(&callers, pop(&callers));
	if (!done || !sum_others(&callers))
		tree->failed = true;
	free(callers.frame);
	free(callers.next);
	free(callers.first);
	free(callers.heap);
}
