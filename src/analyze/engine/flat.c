// SPDX-License-Identifier: Apache-2.0
//
// What reaches around in one grouping by frame, as of functions or lines: the weight below each frame is summed from
// the innermost frames out, and a key gets that of its outermost frames. This costs by the number of different frames,
// not by rows times depth.
#include "analyze/engine/aggregate.h"

#include <stdlib.h>

enum { WEIGHTS = 3 }; /* measures that reach around, at most */

struct weights {
	uint64_t values[WEIGHTS];
};

/* The frames as a tree to go through from the outermost in. */
struct walk {
	struct weights *below;	/* by frame; 0: of rows without frames */
	uint32_t *nodes;	/* by frame: what it counts for, or 0 */
	uint32_t *inner, *next; /* first frame that it called; the next one of its caller */
	uint32_t *open;		/* by node: how many frames of it are open */
};

static bool is_none(const struct weights *weights)
{
	return !weights->values[0] && !weights->values[1] && !weights->values[2];
}

static void add_rows(struct st_aggregate *aggregate, struct weights *below)
{
	const struct st_axis *axis = &aggregate->dataset->axes[ST_AXIS_FRAMES];

	for (uint32_t row = 0; row < aggregate->dataset->row_count; row++) {
		struct weights *into = &below[st_axis_first(axis, row)];

		if (!st_selection_has(&aggregate->selection, row))
			continue;
		st_reads_take(aggregate, &aggregate->around, row);
		for (unsigned int i = 0; i < aggregate->around.count; i++)
			into->values[i] += aggregate->around.values[i];
	}
}

static void add_to(struct st_aggregate *aggregate, uint32_t node, const struct weights *weights)
{
	for (unsigned int i = 0; i < aggregate->around.count; i++)
		aggregate->around.values[i] = weights->values[i];
	st_reads_add(aggregate, &aggregate->around, node);
}

/* The node that a frame counts for: its key's, or the others' one when that was cut off. 0: none. */
static uint32_t node_of(struct st_aggregate *aggregate, uint32_t frame, bool only_others)
{
	enum st_grouping grouping = aggregate->question->groupings[0];
	uint32_t key = st_key_of(&aggregate->dataset->keys[grouping], frame);
	uint32_t node = st_tree_find(&aggregate->tree, 0, grouping, key, false);

	if (aggregate->tree.failed)
		return 0;
	if (!only_others)
		return node;
	return aggregate->tree.nodes[node].is_cut ? aggregate->tree.nodes[node].others : 0;
}

static void add_below(const struct st_axis *axis, const struct walk *walk)
{
	/* Callers come before what they call. */
	for (uint32_t i = axis->count; i-- > 1;) {
		uint32_t caller = axis->next[i];

		if (is_none(&walk->below[i]))
			continue;
		walk->next[i] = walk->inner[caller];
		walk->inner[caller] = i;
		for (unsigned int j = 0; caller && j < WEIGHTS; j++)
			walk->below[caller].values[j] += walk->below[i].values[j];
	}
}

static void leave(const struct walk *walk, uint32_t frame)
{
	if (walk->nodes[frame])
		walk->open[walk->nodes[frame]]--;
}

/* Only the outermost frame of a node in each stack counts: what is below it is in its weight. */
static void go_through(struct st_aggregate *aggregate, const struct walk *walk)
{
	const struct st_axis *axis = &aggregate->dataset->axes[ST_AXIS_FRAMES];
	uint32_t frame = walk->inner[0];

	while (frame) {
		uint32_t node = walk->nodes[frame];

		if (node && !walk->open[node]++)
			add_to(aggregate, node, &walk->below[frame]);
		if (walk->inner[frame]) {
			frame = walk->inner[frame];
			continue;
		}
		leave(walk, frame);
		while (frame && !walk->next[frame]) {
			frame = axis->next[frame];
			if (frame)
				leave(walk, frame);
		}
		frame = frame ? walk->next[frame] : 0;
	}
}

bool st_count_flat(struct st_aggregate *aggregate, bool only_others)
{
	const struct st_axis *axis = &aggregate->dataset->axes[ST_AXIS_FRAMES];
	size_t count = (size_t)axis->count + 1;
	struct walk walk = {.below = calloc(count, sizeof(*walk.below))};
	uint32_t *memory = calloc(count * 3, sizeof(*memory));
	bool done = walk.below && memory;

	if (done) {
		walk.nodes = memory;
		walk.inner = memory + count;
		walk.next = memory + 2 * count;
		add_rows(aggregate, walk.below);
		add_below(axis, &walk);
	}
	for (uint32_t i = 0; done && i < axis->count; i++) {
		if (!is_none(&walk.below[i]))
			walk.nodes[i] = node_of(aggregate, i, only_others);
		done = !aggregate->tree.failed;
	}
	walk.open = done ? calloc((size_t)aggregate->tree.count + 1, sizeof(*walk.open)) : NULL;
	done = done && walk.open;
	if (done)
		go_through(aggregate, &walk);
	if (done && walk.nodes[0])
		add_to(aggregate, walk.nodes[0], &walk.below[0]);
	free(walk.below);
	free(walk.open);
	free(memory);
	return done;
}
