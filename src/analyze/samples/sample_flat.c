// SPDX-License-Identifier: Apache-2.0
//
// Totals of one grouping by frame, as of functions or lines: the weight below each frame is summed from the
// innermost frames out, and a key gets that of its outermost frames. This costs by the number of different frames, not
// by samples times depth.
#include "analyze/samples/sample_tree.h"

#include <stdlib.h>

struct weights {
	uint64_t all, effective;
};

static void add_rows(const struct st_sample_tree *tree, struct weights *below,
		     struct weights *no_frame)
{
	for (uint32_t i = 0; i < tree->rows->count; i++) {
		const struct st_sample_row *row = &tree->rows->rows[i];
		uint64_t weight = tree->counts_samples ? row->samples : row->weight;
		struct weights *into = row->frame ? &below[row->frame] : no_frame;

		if (row->flags & ST_SAMPLE_OFF_CPU)
			continue;
		into->all += weight;
		into->effective += row->cpu_class == ST_CLASS_EFFECTIVE ? weight : 0;
	}
}

static void add_to(struct st_sample_node *node, const struct weights *weights)
{
	node->cpu[ST_CPU_TOTAL - ST_WALL_METRICS] += weights->all;
	node->total_effective += weights->effective;
}

/* The node that a frame counts for: its key's, or the others' one when that was cut off. 0: none. */
static uint32_t node_of(struct st_sample_tree *tree, uint32_t frame, bool only_others)
{
	enum st_grouping grouping = tree->question->groupings[0];
	uint32_t key = tree->rows->set->keys[grouping].of_frame[frame];
	uint32_t node = st_sample_tree_find(tree, 0, grouping, key);

	if (!only_others)
		return node;
	return tree->nodes[node].is_cut ? tree->nodes[node].others : 0;
}

/* The frames as a tree to go through from the outermost in. */
struct walk {
	struct weights *below;	/* by frame */
	uint32_t *nodes;	/* by frame: what it counts for, or 0 */
	uint32_t *inner, *next; /* first frame that it called; the next one of its caller */
	uint32_t *open;		/* by node: how many frames of it are open */
};

static void add_below(const struct st_sample_set *set, const struct walk *walk)
{
	/* Callers come before what they call. */
	for (uint32_t i = set->named->frame_count; i-- > 1;) {
		uint32_t caller = st_sample_caller(set, i);

		if (!walk->below[i].all)
			continue;
		walk->next[i] = walk->inner[caller];
		walk->inner[caller] = i;
		if (caller) {
			walk->below[caller].all += walk->below[i].all;
			walk->below[caller].effective += walk->below[i].effective;
		}
	}
}

static void leave(const struct walk *walk, uint32_t frame)
{
	if (walk->nodes[frame])
		walk->open[walk->nodes[frame]]--;
}

/* Only the outermost frame of a node in each stack counts: what is below it is in its weight. */
static void go_through(struct st_sample_tree *tree, const struct walk *walk)
{
	uint32_t frame = walk->inner[0];

	while (frame) {
		uint32_t node = walk->nodes[frame];

		if (node && !walk->open[node]++)
			add_to(&tree->nodes[node], &walk->below[frame]);
		if (walk->inner[frame]) {
			frame = walk->inner[frame];
			continue;
		}
		leave(walk, frame);
		while (frame && !walk->next[frame]) {
			frame = st_sample_caller(tree->rows->set, frame);
			if (frame)
				leave(walk, frame);
		}
		frame = frame ? walk->next[frame] : 0;
	}
}

void st_sample_flat_totals(struct st_sample_tree *tree, bool only_others)
{
	const struct st_sample_set *set = tree->rows->set;
	size_t count = (size_t)set->named->frame_count + 1;
	struct walk walk = {.below = calloc(count, sizeof(*walk.below))};
	uint32_t *memory = calloc(count * 3, sizeof(*memory)), node;
	struct weights no_frame = {0, 0};

	tree->failed = tree->failed || !walk.below || !memory;
	if (!tree->failed) {
		walk.nodes = memory;
		walk.inner = memory + count;
		walk.next = memory + 2 * count;
		add_rows(tree, walk.below, &no_frame);
		add_below(set, &walk);
	}
	for (uint32_t i = 1; i + 1 < count && !tree->failed; i++)
		if (walk.below[i].all)
			walk.nodes[i] = node_of(tree, i, only_others);
	node = no_frame.all && !tree->failed ? node_of(tree, 0, only_others) : 0;
	walk.open = calloc((size_t)tree->count + 1, sizeof(*walk.open));
	tree->failed = tree->failed || !walk.open;
	if (!tree->failed)
		go_through(tree, &walk);
	if (!tree->failed && node)
		add_to(&tree->nodes[node], &no_frame);
	free(walk.below);
	free(walk.open);
	free(memory);
}
