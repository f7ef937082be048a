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

void st_node_cover(const struct st_aggregate *aggregate, uint32_t index, uint32_t track,
		   uint32_t row, const struct st_row_time *time)
{
	struct st_node *node = &aggregate->tree.nodes[index];

	if (node->covered_track != track || time->begin_ns >= node->covered_ns) {
		node->covered_track = track;
		node->covered_ns = time->end_ns;
		node->total_ns += time->wall_ns;
	} else if (time->end_ns > node->covered_ns) {
		node->total_ns += part_ns(aggregate->dataset, row, node->covered_ns, time->end_ns);
		node->covered_ns = time->end_ns;
	}
}

void st_node_add(struct st_node *node, uint64_t wall_ns, uint64_t self_ns)
{
	node->count++;
	node->sum_ns += wall_ns;
	node->squares += (st_u128)wall_ns * wall_ns;
	node->self_ns += self_ns;
	if (wall_ns < node->min_ns)
		node->min_ns = wall_ns;
	if (wall_ns > node->max_ns)
		node->max_ns = wall_ns;
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
	return st_tree_find(&aggregate->tree, parent, ST_BY_TASK_STACK,
			    st_key_of(&dataset->keys[ST_BY_TASK_STACK], row));
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
			node = st_tree_find(&aggregate->tree, 0, grouping, key);
		aggregate->first_level[key] = node;
		i = 1;
	}
	for (; i < aggregate->level_count && node != ST_NO_NODE; i++) {
		enum st_grouping grouping = question->groupings[i];

		node = st_tree_find(&aggregate->tree, node, grouping,
				    st_key_of(&aggregate->dataset->keys[grouping], row));
	}
	if (aggregate->has_stack && node != ST_NO_NODE &&
	    st_row_is_counted(aggregate->dataset, row))
		node = stack_node(aggregate, row, node);
	return node;
}

static bool count_row(struct st_aggregate *aggregate, uint32_t track, uint32_t row)
{
	struct st_row_time time;
	uint32_t node;

	aggregate->node_of[row] = ST_NO_NODE;
	if (aggregate->dataset->flags[row] & aggregate->dataset->hidden_flags)
		return true;
	if (!st_selection_has(&aggregate->selection, row) || !st_row_time(aggregate, row, &time))
		return true;
	node = row_node(aggregate, row);
	if (node == ST_NO_NODE)
		return false;
	if (!st_row_is_counted(aggregate->dataset, row)) {
		/* What is no call of its own has no place of its own in a stack either. */
		if (!aggregate->has_stack)
			aggregate->node_of[row] = node;
		aggregate->tree.nodes[node].copies++;
		if (!aggregate->dataset->uncounted_take_time)
			return true;
	} else {
		aggregate->node_of[row] = node;
		st_node_add(&aggregate->tree.nodes[node], time.wall_ns,
			    st_row_self(aggregate, row));
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

		if ((grouping == dataset->instance || grouping == ST_BY_TASK_STACK) && !last)
			return st_error_set(err, ST_EUSAGE, 0, "%s can only be the last grouping",
					    st_grouping_info(grouping)->name);
		for (unsigned int j = 0; j < i; j++) {
			if (question->groupings[j] == grouping)
				return st_error_set(err, ST_EUSAGE, 0, "grouping %s is given twice",
						    st_grouping_info(grouping)->name);
		}
		if (!(st_set_has(dataset->answers, grouping)) ||
		    (!dataset->keys[grouping].key_count && dataset->row_count))
			return st_error_set(err, ST_EUSAGE, 0, "this data has no grouping %s",
					    st_grouping_info(grouping)->name);
	}
	if (question->has_time_range && question->time_end_ns <= question->time_begin_ns)
		return st_error_set(err, ST_EUSAGE, 0, "the time range ends before it begins");
	return ST_OK;
}

enum st_status st_aggregate_run(struct st_aggregate *out, const struct st_dataset *dataset,
				const struct st_question *question, struct st_error *err)
{
	const struct st_set percentiles = ST_SET(ST_WALL_MEDIAN, ST_WALL_P95, ST_WALL_P99);
	enum st_status status = check_question(dataset, question, err);
	struct st_set wanted = question->metrics;

	memset(out, 0, sizeof(*out));
	if (status)
		return status;
	out->dataset = dataset;
	out->question = question;
	out->level_count = question->grouping_count;
	if (out->level_count) {
		enum st_grouping last = question->groupings[out->level_count - 1];

		out->has_stack = last == ST_BY_TASK_STACK;
		out->has_instances = last == dataset->instance;
		out->level_count -= out->has_stack || out->has_instances;
	}
	for (unsigned int i = 0; i < question->sort_count && i < ST_QUESTION_SORT_MAX; i++)
		st_set_add(&wanted, question->sort[i]);
	out->has_percentiles = !st_set_is_empty(st_set_common(wanted, percentiles));
	status = st_selection_init(&out->selection, dataset, question, err);
	if (status)
		return status;
	out->node_of = malloc(((size_t)dataset->row_count + 1) * sizeof(*out->node_of));
	if (!out->node_of || !st_tree_init(&out->tree) || !prepare_first_level(out) ||
	    (question->has_time_range && !clip_self(out)) || !count_rows(out)) {
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
