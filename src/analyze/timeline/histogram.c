// SPDX-License-Identifier: Apache-2.0
//
// Durations in bins of equal ratio (analyze/timeline/histogram.h): they spread over many orders of magnitude, and what a
// band of a picture holds should be as wide everywhere. What repeats a call, and twins, are not counted, as in reports.
#include "analyze/timeline/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/filter.h"
#include "analyze/operators/dataset_tasks.h"
#include "base/json_out.h"

struct durations {
	uint64_t *ns;
	uint32_t count;
	uint64_t sum_ns;
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_counted(const struct st_dataset *dataset, const struct st_question *question,
		       uint32_t row)
{
	if (dataset->flags[row] & (dataset->uncounted_flags | dataset->hidden_flags))
		return false;
	return !question->has_time_range || (dataset->begin_ns[row] >= question->time_begin_ns &&
					     dataset->begin_ns[row] < question->time_end_ns);
}

static bool gather(struct durations *out, const struct st_dataset *dataset,
		   const struct st_question *question, const struct st_selection *selection)
{
	out->ns = malloc(((size_t)dataset->row_count + 1) * sizeof(*out->ns));
	if (!out->ns)
		return false;
	for (uint32_t row = 0; row < dataset->row_count; row++) {
		if (!is_counted(dataset, question, row) || !st_selection_has(selection, row))
			continue;
		out->ns[out->count] = st_row_wall_ns(dataset, row);
		out->sum_ns += out->ns[out->count++];
	}
	if (out->count)
		qsort(out->ns, out->count, sizeof(*out->ns), by_value);
	return true;
}

/* The edge in front of a bin; the last one lies behind the longest. */
static uint64_t edge_of(const struct durations *durations, uint32_t bin, uint32_t bin_count)
{
	double least = (double)(durations->ns[0] ? durations->ns[0] : 1);
	double most = (double)durations->ns[durations->count - 1] + 1.0;

	if (!bin)
		return durations->ns[0];
	if (bin >= bin_count || most <= least)
		return (uint64_t)most;
	return (uint64_t)(least * pow(most / least, (double)bin / bin_count));
}

static void put_bins(const struct durations *durations, uint32_t bin_count, struct st_json *json)
{
	uint32_t at = 0;

	st_json_put_array(json, "edges_ns");
	for (uint32_t i = 0; durations->count && i <= bin_count; i++)
		st_json_u64(json, edge_of(durations, i, bin_count));
	st_json_array_end(json);
	st_json_put_array(json, "counts");
	for (uint32_t i = 0; durations->count && i < bin_count; i++) {
		uint64_t end = edge_of(durations, i + 1, bin_count);
		uint32_t first = at;

		while (at < durations->count && (durations->ns[at] < end || i + 1 == bin_count))
			at++;
		st_json_u64(json, at - first);
	}
	st_json_array_end(json);
}

static void put_all(const struct durations *durations, uint32_t bin_count, struct st_json *json)
{
	static const struct {
		const char *key;
		unsigned int percent;
	} middle[] = {{"min_ns", 0},  {"p5_ns", 5},   {"median_ns", 50},
		      {"p95_ns", 95}, {"p99_ns", 99}, {"max_ns", 100}};

	st_json_put_u64(json, "count", durations->count);
	st_json_put_u64(json, "sum_ns", durations->sum_ns);
	for (size_t i = 0; i < sizeof(middle) / sizeof(middle[0]) && durations->count; i++) {
		/* The nearest rank, as in reports. */
		uint64_t rank = ((uint64_t)durations->count * middle[i].percent + 99) / 100;

		st_json_put_u64(json, middle[i].key, durations->ns[rank ? rank - 1 : 0]);
	}
	put_bins(durations, bin_count, json);
}

enum st_status st_histogram_json(const struct st_result *result, const struct st_question *question,
				 uint32_t bin_count, struct st_json *json, struct st_error *err)
{
	struct durations durations = {0};
	struct st_selection selection = {0};
	struct st_dataset dataset;
	enum st_status status;

	if (!bin_count || bin_count > ST_HISTOGRAM_BINS_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "%u bins: expected 1 to %d", bin_count,
				    ST_HISTOGRAM_BINS_MAX);
	status = st_dataset_slices_init(&dataset, result, err);
	if (status)
		return status;
	status = st_dataset_prepare(&dataset, question, err);
	if (!status)
		status = st_selection_init(&selection, &dataset, question, err);
	if (!status && !gather(&durations, &dataset, question, &selection))
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the durations");
	if (!status)
		put_all(&durations, bin_count, json);
	free(durations.ns);
	st_selection_fini(&selection);
	st_dataset_slices_fini(&dataset);
	return status;
}
