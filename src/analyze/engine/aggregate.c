// SPDX-License-Identifier: Apache-2.0
//
// Counting: the pass over all rows.
//
// The total of a group is the time during which at least one of its rows is open, summed over tracks.
// For nested rows that is what the rule of question.h says (a row inside another row of its group adds
// nothing), and rows that overlap without nesting, ended out of order, are not counted twice either.
// Because the rows of a track come in order of begin, one time per group ("covered up to") is enough.
#include "analyze/engine/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "store/result.h"

static inline uint64_t part_ns(const struct st_dataset *dataset, uint32_t row, int64_t begin_ns,
			       int64_t end_ns)
{
	if (dataset->flags[row] & dataset->slow_flags)
		return dataset->part_ns(dataset, row, begin_ns, end_ns);
	return (uint64_t)(end_ns - begin_ns);
}

uint64_t st_row_self(const struct st_aggregate *aggregate, uint32_t row)
{
	if (!aggregate->self_ns)
		return aggregate->dataset->self_ns[row];
	return aggregate->self_ns[row] > 0 ? (uint64_t)aggregate->self_ns[row] : 0;
}

void st_spread_cover(const struct st_aggregate *aggregate, struct st_spread *spread, uint32_t track,
		     uint32_t row, const struct st_row_time *time)
{
	const struct st_dataset *dataset = aggregate->dataset;
	uint64_t wall_ns = time->wall_ns;

	st_spread_meet(spread, track);
	if (spread->covered_track == track && time->begin_ns < spread->covered_ns)
		wall_ns = part_ns(dataset, row, spread->covered_ns, time->end_ns);
	spread->covered_track = track;
	spread->covered_ns = time->end_ns;
	spread->total_ns += wall_ns;
	if (dataset->times)
		spread->more_total_ns += (double)wall_ns * (dataset->times_ns[row] - 1.0);
}

void st_spread_add(const struct st_aggregate *aggregate, struct st_spread *spread, uint32_t row,
		   uint64_t wall_ns)
{
	const struct st_dataset *dataset = aggregate->dataset;

	spread->count++;
	spread->sum_ns += wall_ns;
	spread->squares += (st_u128)wall_ns * wall_ns;
	spread->self_ns += st_row_self(aggregate, row);
	if (dataset->times) {
		spread->more_count += dataset->times[row] - 1.0;
		spread->more_sum_ns += (double)wall_ns * (dataset->times_ns[row] - 1.0);
		spread->more_self_ns += dataset->more_self_ns[row];
	}
	if (wall_ns < spread->min_ns)
		spread->min_ns = wall_ns;
	if (wall_ns > spread->max_ns)
		spread->max_ns = wall_ns;
}

void st_reads_take(const struct st_aggregate *aggregate, struct st_reads *reads, uint32_t row)
{
	reads->found = false;
	for (unsigned int i = 0; i < reads->count; i++) {
		const struct st_measure *measure = reads->measures[i];

		reads->values[i] = st_row_value(aggregate, measure, row);
		if (aggregate->dataset->times && measure->fold == ST_FOLD_SUM)
			reads->values[i] = (uint64_t)((double)reads->values[i] *
							      aggregate->dataset->times[row] +
						      0.5);
		reads->found = reads->found || reads->values[i];
	}
}

/* The node of a row in a task stack: below that of the nearest enclosing row that is selected too and
 * lies in the same outer group. */
static uint32_t stack_node(struct st_aggregate *aggregate, uint32_t row, uint32_t base)
{
	const struct st_dataset *dataset = aggregate->dataset;
	uint32_t up = dataset->parent[row], parent = base;

	for (; up != ST_NO_ROW; up = dataset->parent[up]) {
		uint32_t node = aggregate->node_of[up];

		if (node != ST_NO_NODE && aggregate->tree.nodes[node].base == base) {
			parent = node;
			break;
		}
	}
	return st_tree_find(&aggregate->tree, parent, aggregate->last,
			    st_key_of(&dataset->keys[aggregate->last], row), true);
}

static uint32_t row_node(struct st_aggregate *aggregate, uint32_t row)
{
	const struct st_question *question = aggregate->question;
	uint32_t node = 0;
	unsigned int i = 0;

	if (aggregate->first_level) {
		enum st_grouping grouping = question->groupings[0];
		uint32_t key = st_key_of(&aggregate->dataset->keys[grouping], row);

		node = aggregate->first_level[key];
		if (node == ST_NO_NODE)
			node = st_tree_find(&aggregate->tree, 0, grouping, key, false);
		aggregate->first_level[key] = node;
		i = 1;
	}
	for (; i < aggregate->level_count && node != ST_NO_NODE; i++) {
		enum st_grouping grouping = question->groupings[i];

		node = st_tree_find(&aggregate->tree, node, grouping,
				    st_key_of(&aggregate->dataset->keys[grouping], row), false);
	}
	if (aggregate->tree_kind && node != ST_NO_NODE &&
	    st_row_is_counted(aggregate->dataset, row))
		node = stack_node(aggregate, row, node);
	return node;
}

static bool count_row(struct st_aggregate *aggregate, uint32_t track, uint32_t row)
{
	const struct st_dataset *dataset = aggregate->dataset;
	struct st_row_time time;
	uint32_t node;

	aggregate->node_of[row] = ST_NO_NODE;
	if (dataset->flags[row] & (dataset->hidden_flags | dataset->unlisted_flags))
		return true;
	if (!st_selection_has(&aggregate->selection, row) || !st_row_time(aggregate, row, &time))
		return true;
	node = row_node(aggregate, row);
	if (node == ST_NO_NODE)
		return false;
	/* What is no call of its own has no place of its own in a stack either. */
	if (!aggregate->tree_kind || st_row_is_counted(aggregate->dataset, row)) {
		aggregate->node_of[row] = node;
		if (aggregate->own.count) {
			st_reads_take(aggregate, &aggregate->own, row);
			st_reads_add(aggregate, &aggregate->own, node);
		}
	}
	if (!st_row_is_counted(aggregate->dataset, row)) {
		aggregate->tree.spreads[node].copies++;
		for (uint32_t at = node; at != ST_NO_NODE; at = aggregate->tree.nodes[at].parent)
			st_spread_meet(&aggregate->tree.spreads[at], track);
		if (!aggregate->dataset->uncounted_take_time)
			return true;
	} else {
		st_spread_add(aggregate, &aggregate->tree.spreads[node], row, time.wall_ns);
	}
	if (aggregate->tree.nodes[node].is_stack) {
		st_node_cover(aggregate, node, track, row, &time);
		node = aggregate->tree.nodes[node].base;
	}
	for (; node != ST_NO_NODE; node = aggregate->tree.nodes[node].parent)
		st_node_cover(aggregate, node, track, row, &time);
	return true;
}

static bool count_rows(struct st_aggregate *aggregate)
{
	const struct st_dataset *dataset = aggregate->dataset;

	for (uint32_t track = 0; track < dataset->track_count; track++) {
		for (uint32_t row = dataset->tracks[track].begin; row < dataset->tracks[track].end;
		     row++) {
			if (!count_row(aggregate, track, row))
				return false;
		}
	}
	return true;
}

/* The node that what reaches around is added to, of a row: its own one, or the one that stands for it now. */
static uint32_t reached(const struct st_aggregate *aggregate, uint32_t row, bool only_others)
{
	uint32_t node = aggregate->node_of[row];

	if (node == ST_NO_NODE || !only_others)
		return node;
	return aggregate->tree.nodes[node].is_cut ? aggregate->tree.nodes[node].others : ST_NO_NODE;
}

static uint32_t outwards(const struct st_aggregate *aggregate, uint32_t node, bool only_others)
{
	return only_others ? ST_NO_NODE : aggregate->tree.nodes[node].parent;
}

/* Once for each group of a row around it, its own included. */
static void reach_around(struct st_aggregate *aggregate, uint32_t row, bool only_others)
{
	const struct st_dataset *dataset = aggregate->dataset;
	struct st_node *nodes = aggregate->tree.nodes;

	for (uint32_t up = row; up != ST_NO_ROW; up = dataset->parent[up]) {
		if (dataset->flags[up] & dataset->loose_flags &&
		    dataset->end_ns[up] < dataset->end_ns[row])
			continue;
		for (uint32_t at = reached(aggregate, up, only_others);
		     at != ST_NO_NODE && nodes[at].stamp != row + 1;
		     at = outwards(aggregate, at, only_others)) {
			nodes[at].stamp = row + 1;
			st_reads_add(aggregate, &aggregate->around, at);
		}
	}
}

/* Groups in which a row around this one has been counted are stamped, and passed over. */
static void reach_outermost(struct st_aggregate *aggregate, const struct st_measure *known,
			    uint32_t row, bool only_others)
{
	const struct st_dataset *dataset = aggregate->dataset;
	struct st_node *nodes = aggregate->tree.nodes;
	uint32_t stamp = dataset->row_count + row + 1; /* none that reach_around has left */

	if (!st_row_is_counted(dataset, row) || !known->read(dataset, row, known->arg))
		return;
	for (uint32_t up = dataset->parent[row]; up != ST_NO_ROW; up = dataset->parent[up]) {
		if (!known->read(dataset, up, known->arg))
			continue;
		for (uint32_t at = reached(aggregate, up, only_others);
		     at != ST_NO_NODE && nodes[at].stamp != stamp;
		     at = outwards(aggregate, at, only_others))
			nodes[at].stamp = stamp;
	}
	st_reads_take(aggregate, &aggregate->outermost, row);
	for (uint32_t at = reached(aggregate, row, only_others);
	     at != ST_NO_NODE && nodes[at].stamp != stamp;
	     at = outwards(aggregate, at, only_others))
		st_reads_add(aggregate, &aggregate->outermost, at);
}

void st_count_reach(struct st_aggregate *aggregate, bool only_others)
{
	const struct st_dataset *dataset = aggregate->dataset;
	const struct st_measure *known = st_dataset_measure(dataset, dataset->outermost);

	for (uint32_t row = 0; aggregate->around.count && row < dataset->row_count; row++) {
		st_reads_take(aggregate, &aggregate->around, row);
		if (aggregate->around.found)
			reach_around(aggregate, row, only_others);
	}
	for (uint32_t row = 0; aggregate->outermost.count && row < dataset->row_count; row++)
		reach_outermost(aggregate, known, row, only_others);
}

/* Self time inside the time range: the row's part of it less its children's parts of that. */
static bool clip_self(struct st_aggregate *aggregate)
{
	const struct st_dataset *dataset = aggregate->dataset;

	aggregate->self_ns = calloc((size_t)dataset->row_count + 1, sizeof(*aggregate->self_ns));
	if (!aggregate->self_ns)
		return false;
	for (uint32_t row = 0; row < dataset->row_count; row++) {
		uint32_t parent = dataset->parent[row];
		struct st_row_time time;

		if (!st_row_time(aggregate, row, &time))
			continue;
		aggregate->self_ns[row] += (int64_t)time.wall_ns;
		if (parent == ST_NO_ROW || dataset->flags[row] & dataset->hidden_flags)
			continue;
		/* One that ends behind its parent takes from it only what lies inside. */
		if (time.end_ns > dataset->end_ns[parent] &&
		    time.begin_ns < dataset->end_ns[parent])
			time.wall_ns =
				part_ns(dataset, row, time.begin_ns, dataset->end_ns[parent]);
		else if (time.begin_ns >= dataset->end_ns[parent])
			time.wall_ns = 0;
		aggregate->self_ns[parent] -= (int64_t)time.wall_ns;
	}
	return true;
}

static bool prepare_first_level(struct st_aggregate *aggregate)
{
	uint32_t keys;

	if (!aggregate->level_count)
		return true;
	keys = aggregate->dataset->keys[aggregate->question->groupings[0]].key_count;
	aggregate->first_level = malloc(((size_t)keys + 1) * sizeof(*aggregate->first_level));
	if (aggregate->first_level)
		memset(aggregate->first_level, 0xff, ((size_t)keys + 1) * sizeof(uint32_t));
	return aggregate->first_level;
}

static enum st_status check_question(const struct st_dataset *dataset,
				     const struct st_question *question, struct st_error *err)
{
	if (question->grouping_count > ST_QUESTION_DEPTH_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "more than %d groupings",
				    ST_QUESTION_DEPTH_MAX);
	for (unsigned int i = 0; i < question->grouping_count; i++) {
		enum st_grouping grouping = question->groupings[i];
		bool last = i + 1 == question->grouping_count;

		if ((grouping == dataset->instance || dataset->keys[grouping].tree) && !last)
			return st_error_set(err, ST_EUSAGE, 0, "%s can only be the last grouping",
					    st_grouping_info(grouping)->name);
		for (unsigned int j = 0; j < i; j++) {
			if (question->groupings[j] == grouping)
				return st_error_set(err, ST_EUSAGE, 0, "grouping %s given twice",
						    st_grouping_info(grouping)->name);
		}
		if (!st_set_has(dataset->answers, grouping) ||
		    (!dataset->keys[grouping].key_count && dataset->row_count))
			return st_error_set(err, ST_EUSAGE, 0, "this report has no grouping %s",
					    st_grouping_info(grouping)->name);
	}
	if (question->has_time_range && question->time_end_ns <= question->time_begin_ns)
		return st_error_set(err, ST_EUSAGE, 0, "the time range ends before it begins");
	return ST_OK;
}

static void set_levels(struct st_aggregate *out)
{
	const struct st_dataset *dataset = out->dataset;

	out->level_count = out->question->grouping_count;
	out->last = ST_GROUPINGS;
	if (!out->level_count)
		return;
	out->last = out->question->groupings[out->level_count - 1];
	out->tree_kind = dataset->keys[out->last].tree;
	out->has_instances = out->last == dataset->instance;
	out->level_count -= out->tree_kind || out->has_instances;
	out->is_flat = out->level_count == 1 &&
		       dataset->keys[out->question->groupings[0]].axis == ST_AXIS_FRAMES;
}

/* Returns how many sums a node has. */
static uint32_t set_reads(struct st_aggregate *out)
{
	const struct st_dataset *dataset = out->dataset;
	uint32_t count = st_set_is_empty(dataset->absent) ? 0 : 1; /* the first one stays 0 */

	for (uint32_t i = 0; i < dataset->measure_count; i++) {
		const struct st_measure *measure = &dataset->measures[i];
		struct st_reads *reads = measure->reach == ST_REACH_OWN	     ? &out->own
					 : measure->reach == ST_REACH_AROUND ? &out->around
									     : &out->outermost;

		if (!measure->read || st_set_has(dataset->absent, measure->metric))
			continue;
		reads->measures[reads->count] = measure;
		out->sum_of[i] = reads->sums[reads->count++] = (uint8_t)count++;
	}
	return count;
}

static bool count(struct st_aggregate *out)
{
	if (!out->dataset->begin_ns)
		return st_count_chains(out);
	if (!prepare_first_level(out) || (out->question->has_time_range && !clip_self(out)) ||
	    !count_rows(out))
		return false;
	st_count_reach(out, false);
	return true;
}

enum st_status st_aggregate_run(struct st_aggregate *out, const struct st_dataset *dataset,
				const struct st_question *question, struct st_error *err)
{
	enum st_status status = check_question(dataset, question, err);
	struct st_set wanted = question->metrics;
	bool lasts = dataset->begin_ns;

	memset(out, 0, sizeof(*out));
	if (status)
		return status;
	out->dataset = dataset;
	out->question = question;
	set_levels(out);
	for (unsigned int i = 0; i < question->sort_count && i < ST_QUESTION_SORT_MAX; i++)
		st_set_add(&wanted, question->sort[i]);
	out->has_percentiles =
		lasts && !st_set_is_empty(st_set_common(
				 wanted, ST_SET(ST_WALL_MEDIAN, ST_WALL_P95, ST_WALL_P99)));
	status = st_selection_init(&out->selection, dataset, question, err);
	if (status)
		return status;
	if (lasts || out->tree_kind == ST_TREE_CALLERS)
		out->node_of = malloc(((size_t)dataset->row_count + 1) * sizeof(*out->node_of));
	else
		out->node_of = malloc(sizeof(*out->node_of));
	if (!out->node_of || !st_tree_init(&out->tree, lasts, set_reads(out)) || !count(out)) {
		st_aggregate_fini(out);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while counting %u rows",
				    dataset->row_count);
	}
	return ST_OK;
}

void st_aggregate_fini(struct st_aggregate *aggregate)
{
	if (!aggregate)
		return;
	st_selection_fini(&aggregate->selection);
	st_tree_fini(&aggregate->tree);
	free(aggregate->first_level);
	free(aggregate->node_of);
	free(aggregate->self_ns);
	free(aggregate->durations);
	free(aggregate->ordered);
	memset(aggregate, 0, sizeof(*aggregate));
}
