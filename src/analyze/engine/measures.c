// SPDX-License-Identifier: Apache-2.0
//
// The measures of rows that last, all derived from the durations of a group, and measures by their metric.
#include <math.h>

#include "analyze/engine/aggregate.h"

static uint64_t rounded(double value)
{
	return value > 0.0 ? (uint64_t)(value + 0.5) : 0;
}

uint64_t st_derive_count(const struct st_spread *spread)
{
	return spread->count + rounded(spread->more_count);
}

static uint64_t copies(const struct st_spread *spread)
{
	return spread->copies;
}

static uint64_t threads(const struct st_spread *spread)
{
	return spread->threads;
}

uint64_t st_derive_total(const struct st_spread *spread)
{
	return spread->total_ns + rounded(spread->more_total_ns);
}

uint64_t st_derive_self(const struct st_spread *spread)
{
	/* As it is where nothing stands for others: doubles have fewer digits. */
	if (spread->more_self_ns == 0.0)
		return spread->self_ns;
	return rounded((double)spread->self_ns + spread->more_self_ns);
}

static uint64_t shortest(const struct st_spread *spread)
{
	return spread->count ? spread->min_ns : 0;
}

uint64_t st_derive_average(const struct st_spread *spread)
{
	uint64_t count = st_derive_count(spread), sum_ns = spread->sum_ns;

	/* By the same weights as the count and the total that are shown beside it. */
	sum_ns += rounded(spread->more_sum_ns);
	return count ? (sum_ns + count / 2) / count : 0;
}

static uint64_t median(const struct st_spread *spread)
{
	return spread->median_ns;
}

static uint64_t p95(const struct st_spread *spread)
{
	return spread->p95_ns;
}

static uint64_t p99(const struct st_spread *spread)
{
	return spread->p99_ns;
}

static uint64_t longest(const struct st_spread *spread)
{
	return spread->max_ns;
}

static uint64_t stddev(const struct st_spread *spread)
{
	long double mean, variance;

	if (spread->count < 2)
		return 0;
	mean = (long double)spread->sum_ns / (long double)spread->count;
	variance = (long double)spread->squares / (long double)spread->count - mean * mean;
	return variance > 0 ? (uint64_t)(sqrtl(variance) + 0.5L) : 0;
}

const struct st_measure st_wall_measures[ST_WALL_MEASURES] = {
	{ST_COUNT, "count", "count", "Task Count", "", ST_FOLD_COUNT, .derive = st_derive_count},
	{ST_THREADS, "threads", "threads", "Threads", "", ST_FOLD_DERIVED, .derive = threads},
	{ST_WALL_TOTAL, "wall-total", "wall_total_ns", "Task Time", "ns", ST_FOLD_DERIVED,
	 .derive = st_derive_total},
	{ST_WALL_SELF, "wall-self", "wall_self_ns", "Task Time:Self", "ns", ST_FOLD_DERIVED,
	 .derive = st_derive_self},
	{ST_WALL_MIN, "wall-min", "wall_min_ns", "Minimum", "ns", ST_FOLD_DERIVED,
	 .derive = shortest},
	{ST_WALL_AVG, "wall-avg", "wall_avg_ns", "Average Task Time", "ns", ST_FOLD_DERIVED,
	 .derive = st_derive_average},
	{ST_WALL_MEDIAN, "wall-median", "wall_median_ns", "Median", "ns", ST_FOLD_DERIVED,
	 .derive = median},
	{ST_WALL_P95, "wall-p95", "wall_p95_ns", "P95", "ns", ST_FOLD_DERIVED, .derive = p95},
	{ST_WALL_P99, "wall-p99", "wall_p99_ns", "P99", "ns", ST_FOLD_DERIVED, .derive = p99},
	{ST_WALL_MAX, "wall-max", "wall_max_ns", "Maximum", "ns", ST_FOLD_DERIVED,
	 .derive = longest},
	{ST_WALL_STDDEV, "wall-stddev", "wall_stddev_ns", "Std Dev", "ns", ST_FOLD_DERIVED,
	 .derive = stddev},
	{ST_COPIES, "copies", "copies", "Worker Copies", "", ST_FOLD_COUNT, .derive = copies},
};

const struct st_measure *st_dataset_measure(const struct st_dataset *dataset, enum st_metric metric)
{
	for (uint32_t i = 0; i < dataset->measure_count; i++)
		if (dataset->measures[i].metric == metric)
			return &dataset->measures[i];
	return NULL;
}

uint64_t st_measure_read(const struct st_measure *measure, const struct st_dataset *dataset,
			 uint32_t row, const int64_t *range_ns)
{
	uint64_t value = measure->read(dataset, row, measure->arg), whole_ns, part_ns;
	int64_t begin_ns, end_ns;

	if (!range_ns || !measure->is_time || !dataset->begin_ns)
		return value;
	begin_ns = dataset->begin_ns[row] > range_ns[0] ? dataset->begin_ns[row] : range_ns[0];
	end_ns = dataset->end_ns[row] < range_ns[1] ? dataset->end_ns[row] : range_ns[1];
	if (begin_ns == dataset->begin_ns[row] && end_ns == dataset->end_ns[row])
		return value;
	if (end_ns <= begin_ns)
		return 0;
	if (measure->read_part)
		return measure->read_part(dataset, row, begin_ns, end_ns);
	whole_ns = st_row_wall_ns(dataset, row);
	part_ns = dataset->flags[row] & dataset->slow_flags
			  ? dataset->part_ns(dataset, row, begin_ns, end_ns)
			  : (uint64_t)(end_ns - begin_ns);
	return whole_ns ? rounded((double)value * (double)part_ns / (double)whole_ns) : 0;
}

static bool quotient(uint64_t part, uint64_t whole, double *out)
{
	*out = whole ? (double)part / (double)whole : 0.0;
	return whole;
}

/* What a measure of two others is compared by. */
static double of_two(const struct st_measure *measure, uint64_t part, uint64_t whole)
{
	double value;

	if (measure->fold == ST_FOLD_DIFFERENCE)
		return (double)(int64_t)(part - whole);
	quotient(part, whole, &value);
	return value;
}

bool st_answer_quotient(const struct st_measure *measure, const struct st_answer_row *row,
			const struct st_answer_row *total, double *out)
{
	return quotient(st_answer_value(row, measure->part),
			st_answer_value(measure->of_total ? total : row, measure->whole), out);
}

/* Derived of the durations, or where it is summed up. */
static uint64_t own_value(const struct st_aggregate *aggregate, uint32_t node,
			  const struct st_measure *measure)
{
	uint32_t at = (uint32_t)(measure - aggregate->dataset->measures);

	if (measure->derive)
		return measure->derive(&aggregate->tree.spreads[node]);
	if (!measure->read)
		return 0;
	return aggregate->tree
		.sums[(size_t)node * aggregate->tree.sum_count + aggregate->sum_of[at]];
}

static uint64_t value_of(const struct st_aggregate *aggregate, uint32_t node, enum st_metric metric)
{
	const struct st_measure *measure = st_dataset_measure(aggregate->dataset, metric);

	return measure ? st_node_value(aggregate, node, measure) : 0;
}

uint64_t st_node_value(const struct st_aggregate *aggregate, uint32_t node,
		       const struct st_measure *measure)
{
	if (measure->fold == ST_FOLD_BOTH)
		return value_of(aggregate, node, measure->part) +
		       value_of(aggregate, node, measure->whole);
	return own_value(aggregate, node, measure);
}

int st_node_compare(const struct st_aggregate *aggregate, uint32_t a, uint32_t b,
		    enum st_metric metric)
{
	const struct st_measure *measure = st_dataset_measure(aggregate->dataset, metric);
	uint64_t left, right;
	double x, y;

	if (!measure)
		return 0;
	if (measure->of_total)
		return st_node_compare(aggregate, a, b, measure->part);
	if (measure->derive || measure->read || measure->fold == ST_FOLD_BOTH) {
		left = st_node_value(aggregate, a, measure);
		right = st_node_value(aggregate, b, measure);
		return (left > right) - (left < right);
	}
	x = of_two(measure, value_of(aggregate, a, measure->part),
		   value_of(aggregate, a, measure->whole));
	y = of_two(measure, value_of(aggregate, b, measure->part),
		   value_of(aggregate, b, measure->whole));
	return (x > y) - (x < y);
}
