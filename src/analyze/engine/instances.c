// SPDX-License-Identifier: Apache-2.0
//
// One answer row per task: sorted by time of begin or by what the question asks for. With a limit only
// the first ones are kept while passing over the rows, so that "the ten longest of ten million" needs
// memory for ten.
#include "analyze/engine/answer.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/percentile.h"

bool st_instances_prepare(struct st_answer_maker *maker)
{
	const struct st_aggregate *aggregate = maker->aggregate;
	uint32_t node_count = aggregate->tree.count, row_count = aggregate->dataset->row_count;
	uint32_t *first, at = 0;

	if (!aggregate->has_instances)
		return true;
	/* Counted apart from the nodes' own ranges, which leave out rows that are not counted. */
	first = maker->instance_first = calloc((size_t)node_count + 2, sizeof(*first));
	maker->instances = malloc(((size_t)row_count + 1) * sizeof(*maker->instances));
	if (!first || !maker->instances)
		return false;
	for (uint32_t row = 0; row < row_count; row++) {
		if (aggregate->node_of[row] != ST_NO_NODE)
			first[aggregate->node_of[row] + 1]++;
	}
	for (uint32_t i = 0; i <= node_count; i++) {
		at += first[i];
		first[i] = at;
	}
	/* While rows are put in their places, first[node] is the next free one; afterwards it has become the
	 * first of the next node. */
	for (uint32_t row = 0; row < row_count; row++) {
		if (aggregate->node_of[row] != ST_NO_NODE)
			maker->instances[first[aggregate->node_of[row]]++] = row;
	}
	memmove(first + 1, first, (size_t)node_count * sizeof(*first));
	first[0] = 0;
	return true;
}

/* Of one task every figure of the distribution is its own duration. */
static uint64_t instance_value(const struct st_aggregate *aggregate, uint32_t row,
			       enum st_metric metric)
{
	const struct st_measure *measure;
	struct st_row_time time = {0};

	if (metric >= ST_WALL_METRICS) {
		measure = st_dataset_measure(aggregate->dataset, metric);
		return measure && measure->read ? st_row_value(aggregate, measure, row) : 0;
	}
	if (metric == ST_COUNT || metric == ST_COPIES)
		return st_row_is_counted(aggregate->dataset, row) == (metric == ST_COUNT);
	if (metric == ST_WALL_STDDEV)
		return 0;
	if (metric == ST_THREADS)
		return 1;
	if (metric == ST_WALL_SELF)
		return st_row_self(aggregate, row);
	st_row_time(aggregate, row, &time);
	return time.wall_ns;
}

static int compare_instances(const void *a, const void *b, void *arg)
{
	const struct st_aggregate *aggregate = arg;
	const struct st_question *question = aggregate->question;
	const int64_t *begin_ns = aggregate->dataset->begin_ns;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	for (unsigned int i = 0; i < question->sort_count && i < ST_QUESTION_SORT_MAX; i++) {
		uint64_t left = instance_value(aggregate, x, question->sort[i]);
		uint64_t right = instance_value(aggregate, y, question->sort[i]);

		if (left != right)
			return (left < right) == question->sort_ascending ? -1 : 1;
	}
	if (begin_ns[x] != begin_ns[y])
		return begin_ns[x] < begin_ns[y] ? -1 : 1;
	return (x > y) - (x < y);
}

static int compare_rows(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Moves heap[at] down; the heap has its last in order (the first to be thrown out) on top. */
static void sift_down(uint32_t *heap, size_t count, size_t at, struct st_aggregate *aggregate)
{
	for (;;) {
		size_t child = 2 * at + 1;
		uint32_t held = heap[at];

		if (child >= count)
			return;
		if (child + 1 < count &&
		    compare_instances(&heap[child + 1], &heap[child], aggregate) > 0)
			child++;
		if (compare_instances(&heap[child], &heap[at], aggregate) <= 0)
			return;
		heap[at] = heap[child];
		heap[child] = held;
		at = child;
	}
}

/* Reorders rows so that the first `limit` in order stand in front, in no order. */
static void keep_first(uint32_t *rows, size_t count, size_t limit, struct st_aggregate *aggregate)
{
	for (size_t i = limit / 2; i-- > 0;)
		sift_down(rows, limit, i, aggregate);
	for (size_t i = limit; i < count; i++) {
		uint32_t held = rows[i];

		if (compare_instances(&rows[i], &rows[0], aggregate) >= 0)
			continue;
		rows[i] = rows[0];
		rows[0] = held;
		sift_down(rows, limit, 0, aggregate);
	}
}

static bool add_others(struct st_answer_maker *maker, uint32_t parent, uint32_t *rows, size_t count)
{
	struct st_aggregate *aggregate = maker->aggregate;
	enum st_grouping instance = aggregate->dataset->instance;
	uint32_t others = st_tree_add(&aggregate->tree, parent, instance, 0, false);
	uint64_t *durations = malloc(count * sizeof(*durations));
	struct st_answer_row *row = NULL;
	struct st_percentiles found;
	size_t counted = 0;

	if (others == ST_NO_NODE || !durations)
		goto out;
	aggregate->tree.nodes[others].is_others = true;
	qsort(rows, count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < count; i++) {
		struct st_row_time time = {0};

		if (!st_row_is_counted(aggregate->dataset, rows[i])) {
			aggregate->tree.spreads[others].copies++;
			st_spread_meet(&aggregate->tree.spreads[others],
				       aggregate->dataset->track[rows[i]]);
			continue;
		}
		st_row_time(aggregate, rows[i], &time);
		durations[counted++] = time.wall_ns;
		st_spread_add(aggregate, &aggregate->tree.spreads[others], rows[i], time.wall_ns);
		st_node_cover(aggregate, others, aggregate->dataset->track[rows[i]], rows[i],
			      &time);
	}
	found = st_percentiles_take(durations, counted);
	aggregate->tree.spreads[others].median_ns = found.median;
	aggregate->tree.spreads[others].p95_ns = found.p95;
	aggregate->tree.spreads[others].p99_ns = found.p99;
	row = st_answer_add(maker, ST_NO_NODE);
	if (row)
		st_answer_fill(maker, row, others);
out:
	free(durations);
	return row;
}

bool st_instances_add(struct st_answer_maker *maker, uint32_t node, uint32_t *first,
		      uint32_t *count)
{
	struct st_aggregate *aggregate = maker->aggregate;
	const struct st_dataset *dataset = aggregate->dataset;
	uint32_t *rows = maker->instances + maker->instance_first[node];
	size_t total = maker->instance_first[node + 1] - maker->instance_first[node], kept = total;

	if (aggregate->question->limit && total > aggregate->question->limit) {
		kept = (size_t)aggregate->question->limit;
		keep_first(rows, total, kept, aggregate);
	}
	qsort_r(rows, kept, sizeof(*rows), compare_instances, aggregate);
	*first = maker->answer->row_count;
	for (size_t i = 0; i < kept; i++) {
		struct st_answer_row *row = st_answer_add(maker, ST_NO_NODE);
		uint64_t *values;

		if (!row)
			return false;
		row->grouping = dataset->instance;
		row->slice = rows[i];
		row->text = dataset->text(dataset, dataset->instance, rows[i], maker->arena);
		values = st_answer_values(maker, row);
		for (unsigned int j = 0; values && j < ST_MEASURES; j++)
			if (maker->slots[j] != ST_NO_SLOT)
				values[maker->slots[j]] =
					instance_value(aggregate, rows[i], (enum st_metric)j);
	}
	if (kept < total && !add_others(maker, node, rows + kept, total - kept))
		return false;
	*count = maker->answer->row_count - *first;
	return true;
}
