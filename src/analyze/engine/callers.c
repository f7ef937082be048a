// SPDX-License-Identifier: Apache-2.0
//
// Callers below groups (ST_TREE_CALLERS). Seen from the inside out stacks share little: a tree of all callers has up
// to samples times depth groups, millions of them, and only the heaviest are of interest. So the heaviest group is
// followed first, until ST_CALLERS_MAX groups exist; what would come behind those that are left is one group of
// others each.
#include "analyze/engine/aggregate.h"

#include <stdlib.h>
#include <string.h>

struct waiting {
	uint64_t weight;
	uint32_t node;
};

struct callers {
	struct st_aggregate *aggregate;
	uint32_t *frame;      /* by row: the next caller to show, 0: none */
	uint32_t *next;	      /* by row: the next of the same node, + 1 */
	uint32_t *first;      /* by node: its first row, + 1 */
	struct waiting *heap; /* nodes with rows that have more callers, the heaviest first */
	uint32_t heap_count;
	size_t capacity; /* of first and heap */
};

/* Callers: below a function its callers, else the function first. */
static uint32_t first_caller(const struct st_aggregate *aggregate, uint32_t row)
{
	const struct st_dataset *dataset = aggregate->dataset;
	const struct st_axis *frames = &dataset->axes[ST_AXIS_CALLS];
	uint32_t frame = st_axis_first(frames, row);
	bool begins_inside = false;

	for (unsigned int i = 0; i < aggregate->level_count; i++) {
		const struct st_key_column *keys =
			&dataset->keys[aggregate->question->groupings[i]];

		if (keys->inner == ST_AXIS_PYTHON)
			frame = st_axis_first(&dataset->axes[ST_AXIS_PYTHON], row);
		begins_inside = begins_inside || keys->is_function;
	}
	return frame && begins_inside ? frames->next[frame] : frame;
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
		waiting.weight +=
			callers->aggregate->dataset->weight(callers->aggregate->dataset, row - 1);
	if (callers->first[node])
		push(callers, waiting);
}

static void add_own(struct callers *callers, uint32_t node, uint32_t row)
{
	st_reads_take(callers->aggregate, &callers->aggregate->own, row);
	st_reads_add(callers->aggregate, &callers->aggregate->own, node);
}

/* One step out: the rows of a node go to the callers below it. */
static bool follow(struct callers *callers, uint32_t node)
{
	struct st_aggregate *aggregate = callers->aggregate;
	const struct st_key_column *keys = &aggregate->dataset->keys[aggregate->last];
	struct st_tree *tree = &aggregate->tree;
	uint32_t known = tree->count, next;

	for (uint32_t row = callers->first[node]; row; row = next) {
		uint32_t frame = callers->frame[row - 1];
		uint32_t child =
			st_tree_find(tree, node, aggregate->last, st_key_of(keys, frame), true);

		next = callers->next[row - 1];
		if (tree->failed || !make_room(callers, tree->count))
			return false;
		add_own(callers, child, row - 1);
		callers->frame[row - 1] = frame =
			aggregate->dataset->axes[ST_AXIS_CALLS].next[frame];
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
	struct st_aggregate *aggregate = callers->aggregate;

	for (uint32_t i = 0; i < callers->heap_count; i++) {
		uint32_t node = callers->heap[i].node;
		uint32_t others = st_tree_add(&aggregate->tree, node, aggregate->last, 0, true);

		if (others == ST_NO_NODE)
			return false;
		aggregate->tree.nodes[others].is_others = true;
		for (uint32_t row = callers->first[node]; row; row = callers->next[row - 1])
			add_own(callers, others, row - 1);
	}
	aggregate->callers_cut = callers->heap_count;
	return true;
}

static bool begin(struct callers *callers)
{
	const struct st_aggregate *aggregate = callers->aggregate;
	uint32_t rows = aggregate->dataset->row_count, count = aggregate->tree.count;

	callers->frame = calloc((size_t)rows + 1, sizeof(*callers->frame));
	callers->next = calloc((size_t)rows + 1, sizeof(*callers->next));
	if (!callers->frame || !callers->next || !make_room(callers, count))
		return false;
	for (uint32_t i = 0; i < rows; i++) {
		if (aggregate->node_of[i] == ST_NO_NODE)
			continue;
		callers->frame[i] = first_caller(aggregate, i);
		if (callers->frame[i])
			add_row(callers, aggregate->node_of[i], i);
	}
	for (uint32_t i = 0; i < count; i++)
		wait_for(callers, i);
	return true;
}

bool st_count_callers(struct st_aggregate *aggregate)
{
	struct callers callers = {.aggregate = aggregate};
	uint32_t end = aggregate->tree.count + ST_CALLERS_MAX;
	bool done = begin(&callers);

	while (done && callers.heap_count && aggregate->tree.count < end)
		done = follow(&callers, pop(&callers));
	done = done && sum_others(&callers);
	free(callers.frame);
	free(callers.next);
	free(callers.first);
	free(callers.heap);
	return done;
}
