// SPDX-License-Identifier: Apache-2.0
//
// A question from beginning to end: count, order, and lay the groups out as rows. Rows are laid out
// level by level, so that the children of a row lie together.
#include "analyze/engine/question.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/answer.h"
#include "analyze/engine/filter.h"
#include "base/vec.h"
#include "store/result.h"

static const struct st_text others_text = {"[Others]", 8};
static const struct st_text total_text = {"Total", 5};

/* A measure that single rows do not show takes no room in them. */
static bool set_slots(struct st_answer_maker *maker)
{
	const struct st_aggregate *aggregate = maker->aggregate;

	maker->slots = st_arena_alloc(maker->arena, ST_MEASURES);
	if (!maker->slots)
		return false;
	memset(maker->slots, ST_NO_SLOT, ST_MEASURES);
	for (uint32_t i = 0; i < aggregate->dataset->measure_count; i++) {
		const struct st_measure *measure = &aggregate->dataset->measures[i];

		if (measure->derive ||
		    (measure->fold == ST_FOLD_BOTH && !aggregate->has_instances) ||
		    (measure->read && (!aggregate->has_instances ||
				       st_set_has(aggregate->question->metrics, measure->metric))))
			maker->slots[measure->metric] = (uint8_t)maker->value_count++;
	}
	return true;
}

struct st_answer_row *st_answer_add(struct st_answer_maker *maker, uint32_t node)
{
	struct st_answer *answer = maker->answer;
	struct st_answer_row *row;

	if (!ST_VEC_ROOM(answer->rows, answer->row_count, maker->row_capacity) ||
	    !ST_VEC_ROOM(maker->node_of, answer->row_count, maker->node_capacity))
		return NULL;
	maker->node_of[answer->row_count] = node;
	row = &answer->rows[answer->row_count++];
	*row = (struct st_answer_row){.slice = ST_NO_ROW, .parent = ST_NO_ROW};
	return row;
}

uint64_t *st_answer_values(struct st_answer_maker *maker, struct st_answer_row *row)
{
	uint64_t *values = st_arena_calloc(maker->arena, maker->value_count + 1, sizeof(*values));

	row->values = values;
	row->slots = values ? maker->slots : NULL;
	return values;
}

void st_answer_fill(struct st_answer_maker *maker, struct st_answer_row *row, uint32_t index)
{
	const struct st_aggregate *aggregate = maker->aggregate;
	const struct st_dataset *dataset = aggregate->dataset;
	const struct st_node *node = &aggregate->tree.nodes[index];
	uint64_t *values = st_answer_values(maker, row);

	row->grouping = (enum st_grouping)node->grouping;
	row->is_others = node->is_others;
	for (uint32_t i = 0; values && i < dataset->measure_count; i++) {
		uint8_t slot = maker->slots[dataset->measures[i].metric];

		if (slot != ST_NO_SLOT)
			values[slot] = st_node_value(aggregate, index, &dataset->measures[i]);
	}
	if (node->parent == ST_NO_NODE) {
		row->text = total_text;
	} else if (node->is_others) {
		row->text = others_text;
	} else {
		row->text = dataset->text(dataset, row->grouping, node->key, maker->arena);
		if (!dataset->begin_ns)
			row->slice = node->key - dataset->keys[row->grouping].is_numbered;
	}
}

static bool add_children(struct st_answer_maker *maker, uint32_t node, uint32_t *first,
			 uint32_t *count)
{
	struct st_aggregate *aggregate = maker->aggregate;
	const struct st_node *parent = &aggregate->tree.nodes[node];
	struct st_answer_row *row;

	*first = maker->answer->row_count;
	*count = 0;
	if (aggregate->has_instances && !parent->child_count && !parent->is_others)
		return st_instances_add(maker, node, first, count);
	for (uint32_t i = 0; i < parent->child_count; i++) {
		uint32_t child = aggregate->ordered[parent->first_child + i];

		row = st_answer_add(maker, child);
		if (!row)
			return false;
		st_answer_fill(maker, row, child);
	}
	if (!parent->is_others && !parent->is_cut && parent->others != ST_NO_NODE) {
		row = st_answer_add(maker, parent->others);
		if (!row)
			return false;
		st_answer_fill(maker, row, parent->others);
	}
	*count = maker->answer->row_count - *first;
	return true;
}

static bool lay_out(struct st_answer_maker *maker)
{
	struct st_answer *answer = maker->answer;

	answer->total.slice = answer->total.parent = ST_NO_ROW;
	st_answer_fill(maker, &answer->total, 0);
	if (!add_children(maker, 0, &answer->root_first, &answer->root_count))
		return false;
	for (uint32_t i = 0; i < answer->row_count; i++) {
		uint32_t first = 0, count = 0;

		if (maker->node_of[i] == ST_NO_NODE)
			continue;
		if (!add_children(maker, maker->node_of[i], &first, &count))
			return false;
		answer->rows[i].first_child = first;
		answer->rows[i].child_count = count;
		for (uint32_t j = 0; j < count; j++)
			answer->rows[first + j].parent = i;
	}
	return !maker->arena->failed;
}

/* From rows of the dataset to rows of the answer, through the nodes. A node that the limit cut off is part
 * of the others' row; st_aggregate_order has left its number in `others`. */
static bool map_rows(struct st_answer_maker *maker)
{
	const struct st_aggregate *aggregate = maker->aggregate;
	const struct st_tree *tree = &aggregate->tree;
	uint32_t row_count = aggregate->dataset->row_count;
	uint32_t *row_of, *answer_row;

	if (!aggregate->question->wants_row_of)
		return true;
	row_of = maker->answer->row_of = malloc(((size_t)row_count + 1) * sizeof(*row_of));
	answer_row = malloc(((size_t)tree->count + 1) * sizeof(*answer_row));
	if (!row_of || !answer_row) {
		free(answer_row);
		return false;
	}
	memset(answer_row, 0xff, ((size_t)tree->count + 1) * sizeof(*answer_row));
	for (uint32_t i = 0; i < maker->answer->row_count; i++) {
		if (maker->node_of[i] != ST_NO_NODE)
			answer_row[maker->node_of[i]] = i;
	}
	for (uint32_t row = 0; row < row_count; row++) {
		uint32_t node = aggregate->node_of[row];

		if (node != ST_NO_NODE && tree->nodes[node].is_cut)
			node = tree->nodes[node].others;
		row_of[row] = node == ST_NO_NODE ? ST_NO_ROW : answer_row[node];
	}
	free(answer_row);
	return true;
}

static enum st_status prepare(struct st_dataset *dataset, enum st_grouping grouping,
			      struct st_set offered, struct st_error *err)
{
	if (!st_set_has(offered, grouping))
		return st_grouping_refuse(grouping, dataset->answers, err);
	if (!dataset->keys[grouping].key_count && dataset->prepare &&
	    !dataset->prepare(dataset, grouping))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for grouping %s",
				    st_grouping_info(grouping)->name);
	/* Key 0 is "[unknown]". */
	if (grouping == ST_BY_PYTHON_LINE && dataset->row_count &&
	    dataset->keys[grouping].key_count <= 1)
		return st_grouping_refuse(grouping, dataset->answers, err);
	return ST_OK;
}

enum st_status st_dataset_prepare(struct st_dataset *dataset, const struct st_question *question,
				  struct st_error *err)
{
	struct st_set filters = st_set_join(dataset->answers, dataset->filters);
	struct st_set groups = {{0}}, filtered = {{0}};
	enum st_status status = ST_OK;

	for (unsigned int i = 0; i < question->grouping_count && i < ST_QUESTION_DEPTH_MAX; i++)
		st_set_add(&groups, question->groupings[i]);
	for (size_t i = 0; i < question->filter_count; i++)
		st_set_add(&filtered, st_filter_tests(dataset, &question->filters[i]));
	for (unsigned int i = 0; i < ST_GROUPINGS && !status; i++) {
		if (st_set_has(groups, i))
			status = prepare(dataset, (enum st_grouping)i, dataset->answers, err);
		else if (st_set_has(filtered, i))
			status = prepare(dataset, (enum st_grouping)i, filters, err);
	}
	return status;
}

enum st_status st_dataset_ask(const struct st_dataset *dataset, const struct st_question *question,
			      struct st_answer *out, struct st_error *err)
{
	struct st_aggregate aggregate;
	struct st_answer_maker maker = {.aggregate = &aggregate, .answer = out};
	enum st_status status;

	memset(out, 0, sizeof(*out));
	status = st_aggregate_run(&aggregate, dataset, question, err);
	if (status)
		return status;
	status = st_aggregate_order(&aggregate, err);
	/* Instances need memory of their own: the durations have done their work. */
	free(aggregate.durations);
	aggregate.durations = NULL;
	out->callers_cut = aggregate.callers_cut;
	out->memory = maker.arena = calloc(1, sizeof(*maker.arena));
	if (!status && maker.arena) {
		st_arena_init(maker.arena, SIZE_MAX / 2);
		if (!set_slots(&maker) || !st_instances_prepare(&maker) || !lay_out(&maker) ||
		    !map_rows(&maker))
			status = ST_ENOMEM;
	} else if (!status) {
		status = ST_ENOMEM;
	}
	if (status == ST_ENOMEM)
		st_error_set(err, ST_ENOMEM, 0, "out of memory for an answer of %u rows",
			     out->row_count);
	free(maker.node_of);
	free(maker.instances);
	free(maker.instance_first);
	st_aggregate_fini(&aggregate);
	if (status)
		st_answer_fini(out);
	return status;
}

void st_dataset_hand_over(struct st_dataset *dataset, struct st_arena *to)
{
	st_arena_take(to, dataset->arena);
}

void st_answer_fini(struct st_answer *answer)
{
	if (!answer)
		return;
	if (answer->memory)
		st_arena_fini(answer->memory);
	free(answer->memory);
	free(answer->rows);
	free(answer->row_of);
	memset(answer, 0, sizeof(*answer));
}
