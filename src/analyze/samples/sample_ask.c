// SPDX-License-Identifier: Apache-2.0
//
// A question about samples: the order of the groups, what the limit cuts off, and the rows of the answer.
#include "analyze/samples/sample_tree.h"

#include <stdlib.h>
#include <string.h>

#include "store/result.h"

static enum st_metric sort_metric(const struct st_sample_tree *tree, unsigned int index)
{
	if (tree->question->sort_count)
		return tree->question->sort[index];
	return tree->stack == ST_BY_FUNCTION_STACK ? ST_CPU_TOTAL : ST_CPU_SELF;
}

static uint64_t value_of(const struct st_sample_node *node, enum st_metric metric)
{
	return metric < ST_WALL_METRICS ? 0 : node->cpu[metric - ST_WALL_METRICS];
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct st_sample_tree *tree = arg;
	const struct st_sample_node *x = &tree->nodes[*(const uint32_t *)a];
	const struct st_sample_node *y = &tree->nodes[*(const uint32_t *)b];
	unsigned int count = tree->question->sort_count ? tree->question->sort_count : 1;

	for (unsigned int i = 0; i < count; i++) {
		uint64_t left = value_of(x, sort_metric(tree, i));
		uint64_t right = value_of(y, sort_metric(tree, i));

		if (left != right)
			return (left < right) == tree->question->sort_ascending ? -1 : 1;
	}
	/* Equal ones: what holds more, then in order of appearance. */
	if (value_of(x, ST_CPU_TOTAL) != value_of(y, ST_CPU_TOTAL))
		return value_of(x, ST_CPU_TOTAL) > value_of(y, ST_CPU_TOTAL) ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static bool list_children(struct st_sample_tree *tree)
{
	uint32_t at = 0;

	tree->ordered = malloc(((size_t)tree->count + 1) * sizeof(*tree->ordered));
	if (!tree->ordered)
		return false;
	for (uint32_t i = 1; i < tree->count; i++)
		tree->nodes[tree->nodes[i].parent].child_count++;
	for (uint32_t i = 0; i < tree->count; i++) {
		tree->nodes[i].first_child = at;
		at += tree->nodes[i].child_count;
		tree->nodes[i].child_count = 0;
	}
	for (uint32_t i = 1; i < tree->count; i++) {
		struct st_sample_node *parent = &tree->nodes[tree->nodes[i].parent];

		tree->ordered[parent->first_child + parent->child_count++] = i;
	}
	return true;
}

/* How many children of a node are shown. */
static uint32_t shown_children(const struct st_sample_tree *tree, uint32_t index, double percent)
{
	const struct st_sample_node *node = &tree->nodes[index];
	enum st_metric metric = sort_metric(tree, 0);
	uint64_t limit = tree->question->limit, sum = 0;
	uint32_t shown = node->child_count;

	if (limit && shown > limit)
		shown = (uint32_t)limit;
	if (percent <= 0 || tree->question->sort_ascending)
		return shown;
	for (uint32_t i = 0; i < shown; i++) {
		if ((double)sum * 100.0 >= percent * (double)value_of(node, metric))
			return i;
		sum += value_of(&tree->nodes[tree->ordered[node->first_child + i]], metric);
	}
	return shown;
}

/* Children behind these become one node. Self figures add up; totals are counted anew, except those of a tree
 * of calls, whose siblings never share a sample. */
static bool cut_children(struct st_sample_tree *tree, uint32_t parent, uint32_t shown)
{
	uint32_t first = tree->nodes[parent].first_child, count = tree->nodes[parent].child_count;
	enum st_grouping grouping = (enum st_grouping)tree->nodes[tree->ordered[first]].grouping;
	uint32_t others = st_sample_tree_add(tree, parent, grouping, 0);

	if (tree->failed)
		return false;
	tree->nodes[others].is_others = true;
	tree->nodes[parent].others = others;
	tree->nodes[parent].child_count = shown;
	for (uint32_t i = shown; i < count; i++) {
		struct st_sample_node *child = &tree->nodes[tree->ordered[first + i]];

		child->is_cut = true;
		for (unsigned int j = 0; j < ST_CPU_METRICS; j++) {
			if (j + ST_WALL_METRICS != ST_CPU_TOTAL || grouping == ST_BY_FUNCTION_STACK)
				tree->nodes[others].cpu[j] += child->cpu[j];
		}
	}
	return true;
}

bool st_sample_tree_order(struct st_sample_tree *tree, double threshold_percent)
{
	uint32_t count = tree->count;

	if (!list_children(tree))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct st_sample_node *node = &tree->nodes[i];
		uint32_t shown;

		qsort_r(tree->ordered + node->first_child, node->child_count,
			sizeof(*tree->ordered), compare, tree);
		shown = shown_children(tree, i, threshold_percent);
		if (shown < node->child_count && !cut_children(tree, i, shown))
			return false;
	}
	/* What lies below a cut node is not shown, and not looked for either. */
	for (uint32_t i = 1; i < count; i++)
		if (tree->nodes[i].is_cut)
			tree->nodes[i].others = tree->nodes[tree->nodes[i].parent].others;
	if (tree->count > count)
		st_sample_tree_others(tree);
	return !tree->failed;
}

struct maker {
	struct st_sample_tree *tree;
	struct st_answer *answer;
	struct st_arena *arena;
	uint32_t *node_of; /* by row */
	uint32_t capacity;
	uint8_t *slots;
};

static struct st_answer_row *new_row(struct maker *maker, uint32_t node)
{
	struct st_answer *answer = maker->answer;

	if (!maker->node_of || answer->row_count == maker->capacity) {
		uint32_t capacity = maker->capacity ? maker->capacity * 2 : 64;
		struct st_answer_row *rows = realloc(answer->rows, capacity * sizeof(*rows));
		uint32_t *nodes;

		if (rows)
			answer->rows = rows;
		nodes = rows ? realloc(maker->node_of, capacity * sizeof(*nodes)) : NULL;
		if (!nodes)
			return NULL;
		maker->node_of = nodes;
		maker->capacity = capacity;
	}
	maker->node_of[answer->row_count] = node;
	memset(&answer->rows[answer->row_count], 0, sizeof(*answer->rows));
	return &answer->rows[answer->row_count++];
}

static void fill_row(struct maker *maker, struct st_answer_row *row, uint32_t index)
{
	static const struct st_text others = {"[Others]", 8}, total = {"Total", 5};
	const struct st_sample_node *node = &maker->tree->nodes[index];
	uint64_t *values = st_arena_calloc(maker->arena, ST_CPU_METRICS + 1, sizeof(*values));

	row->grouping = (enum st_grouping)node->grouping;
	row->is_others = node->is_others;
	row->slice = row->parent = ST_NO_ROW;
	if (values) {
		memcpy(values, node->cpu, sizeof(node->cpu));
		/* The part of the total that was effective, for whoever shows how well CPUs were used. */
		values[ST_CPU_METRICS] = node->total_effective;
	}
	row->values = values;
	row->slots = values ? maker->slots : NULL;
	if (!index) {
		row->text = total;
	} else if (node->is_others) {
		row->text = others;
	} else {
		row->text = st_sample_text(maker->tree->rows->set, row->grouping, node->key,
					   maker->arena);
		row->slice = node->key;
		if (row->grouping == ST_BY_TASK)
			row->slice = node->key ? node->key - 1 : ST_NO_ROW;
	}
}

static bool add_children(struct maker *maker, uint32_t node, uint32_t *first, uint32_t *count)
{
	const struct st_sample_node *parent = &maker->tree->nodes[node];
	struct st_answer_row *row;

	*first = maker->answer->row_count;
	for (uint32_t i = 0; i <= parent->child_count; i++) {
		bool is_last = i == parent->child_count;
		uint32_t child =
			is_last ? parent->others : maker->tree->ordered[parent->first_child + i];

		if (is_last && (!child || parent->is_others || parent->is_cut))
			break;
		row = new_row(maker, child);
		if (!row)
			return false;
		fill_row(maker, row, child);
	}
	*count = maker->answer->row_count - *first;
	return true;
}

static bool lay_out(struct maker *maker)
{
	struct st_answer *answer = maker->answer;

	fill_row(maker, &answer->total, 0);
	if (!add_children(maker, 0, &answer->root_first, &answer->root_count))
		return false;
	for (uint32_t i = 0; maker->node_of && i < answer->row_count; i++) {
		uint32_t first = 0, count = 0;

		if (!add_children(maker, maker->node_of[i], &first, &count))
			return false;
		answer->rows[i].first_child = first;
		answer->rows[i].child_count = count;
		for (uint32_t j = 0; j < count; j++)
			answer->rows[first + j].parent = i;
	}
	return !maker->arena->failed;
}

static enum st_status check(const struct st_sample_set *set, const struct st_question *question,
			    struct st_error *err)
{
	struct st_set seen = {{0}}, offered = st_sample_answers();
	enum st_status status;

	if (question->grouping_count > ST_QUESTION_DEPTH_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "more than %d groupings",
				    ST_QUESTION_DEPTH_MAX);
	for (unsigned int i = 0; i < question->grouping_count; i++) {
		enum st_grouping grouping = question->groupings[i];
		bool is_stack = grouping == ST_BY_CALLSTACK || grouping == ST_BY_FUNCTION_STACK;

		status = st_sample_offers(set->result, grouping, offered, err);
		if (status)
			return status;
		if (is_stack && i + 1 < question->grouping_count)
			return st_error_set(err, ST_EUSAGE, 0, "%s can only be the last grouping",
					    st_grouping_info(grouping)->name);
		if (st_set_has(seen, grouping))
			return st_error_set(err, ST_EUSAGE, 0, "grouping %s is given twice",
					    st_grouping_info(grouping)->name);
		st_set_add(&seen, grouping);
	}
	for (size_t i = 0; i < question->filter_count; i++) {
		status = st_sample_offers(set->result, question->filters[i].grouping, offered, err);
		if (status)
			return status;
	}
	if (question->has_time_range && question->time_end_ns <= question->time_begin_ns)
		return st_error_set(err, ST_EUSAGE, 0, "the time range ends before it begins");
	return ST_OK;
}

static void set_levels(struct st_sample_tree *tree)
{
	const struct st_question *question = tree->question;
	enum st_grouping last;

	tree->stack = ST_GROUPINGS;
	tree->levels = question->grouping_count;
	if (!tree->levels)
		return;
	last = question->groupings[tree->levels - 1];
	if (last == ST_BY_CALLSTACK || last == ST_BY_FUNCTION_STACK) {
		tree->stack = last;
		tree->levels--;
	}
}

enum st_status st_sample_ask(struct st_sample_set *set, const struct st_question *question,
			     struct st_answer *out, struct st_error *err)
{
	struct st_sample_rows rows;
	struct st_sample_tree tree = {.rows = &rows, .question = question};
	struct maker maker = {.tree = &tree, .answer = out};
	enum st_status status = check(set, question, err);

	memset(out, 0, sizeof(*out));
	if (!status)
		status = st_sample_rows_make(&rows, set, question, err);
	if (status)
		return status;
	set_levels(&tree);
	tree.counts_samples = set->view.show_as == ST_SHOW_SAMPLES;
	out->memory = maker.arena = calloc(1, sizeof(*maker.arena));
	if (maker.arena) {
		st_arena_init(maker.arena, SIZE_MAX / 2);
		maker.slots = st_arena_alloc(maker.arena, ST_MEASURES);
	}
	if (maker.slots) {
		memset(maker.slots, ST_NO_SLOT, ST_MEASURES);
		for (unsigned int i = 0; i < ST_CPU_METRICS; i++)
			maker.slots[ST_WALL_METRICS + i] = (uint8_t)i;
		maker.slots[ST_CPU_TOTAL_EFFECTIVE] = ST_CPU_METRICS;
	}
	if (!maker.arena || !st_sample_tree_count(&tree) ||
	    !st_sample_tree_order(&tree, set->view.threshold_percent) || !lay_out(&maker))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for an answer of %u groups",
				      tree.count);
	free(maker.node_of);
	st_sample_tree_fini(&tree);
	st_sample_rows_fini(&rows);
	if (status)
		st_answer_fini(out);
	return status;
}
