// SPDX-License-Identifier: Apache-2.0
//
// What a view draws as a curve: CPU time of threads by their samples, counters, and the memory that a framework holds.
// Over every 64 samples or values there is a sum, so that a window over all of them does not look at each.
#include "analyze/timeline/view_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "store/operators.h"
#include "store/samples.h"

enum { BLOCK = 64, NOT_RUNNING = ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE };

/* Series ------------------------------------------------------------------------------------------- */

static bool add_value(struct st_value_series *series, int64_t time_ns, double value)
{
	uint32_t at = series->count, capacity = series->capacity;

	if (!ST_VEC_ROOM(series->time_ns, at, capacity))
		return false;
	capacity = series->capacity;
	if (!ST_VEC_ROOM(series->value, at, capacity))
		return false;
	series->capacity = capacity;
	series->time_ns[at] = time_ns;
	series->value[at] = value;
	series->count++;
	return true;
}

static bool make_blocks(struct st_value_series *series)
{
	double integral = 0.0;

	series->blocks = malloc((series->count / BLOCK + 1) * sizeof(*series->blocks));
	if (!series->blocks)
		return false;
	for (uint32_t i = 0; i < series->count; i++) {
		struct st_value_block *block = &series->blocks[i / BLOCK];

		if (i)
			integral += series->value[i - 1] *
				    (double)(series->time_ns[i] - series->time_ns[i - 1]);
		if (i % BLOCK == 0)
			*block = (struct st_value_block){series->value[i], series->value[i],
							 integral};
		block->min = fmin(block->min, series->value[i]);
		block->max = fmax(block->max, series->value[i]);
	}
	return true;
}

/* Of the value over the time from the first one on. */
static double integral_to(const struct st_value_series *series, int64_t time_ns)
{
	uint32_t at = ST_SEARCH(i, 0, series->count, series->time_ns[i] <= time_ns);
	double sum;

	if (!at)
		return 0.0;
	at--;
	sum = series->blocks[at / BLOCK].integral;
	for (uint32_t i = at / BLOCK * BLOCK; i < at; i++)
		sum += series->value[i] * (double)(series->time_ns[i + 1] - series->time_ns[i]);
	return sum + series->value[at] * (double)(time_ns - series->time_ns[at]);
}

static void range_of(const struct st_value_series *series, uint32_t first, uint32_t end,
		     struct st_value_bucket *out)
{
	while (first < end) {
		if (first % BLOCK == 0 && end - first >= BLOCK) {
			out->min = fmin(out->min, series->blocks[first / BLOCK].min);
			out->max = fmax(out->max, series->blocks[first / BLOCK].max);
			first += BLOCK;
			continue;
		}
		out->min = fmin(out->min, series->value[first]);
		out->max = fmax(out->max, series->value[first]);
		first++;
	}
}

/* A value holds until the next one, the last one to the end of the view. */
static uint32_t series_buckets(const struct st_timeline_view *view,
			       const struct st_value_series *series,
			       const struct st_tile_window *window, struct st_value_bucket *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ST_TILE_BUCKETS && series->count; i++) {
		int64_t begin_ns = window->begin_ns + ((int64_t)i << window->level);
		int64_t end_ns = begin_ns + (INT64_C(1) << window->level);
		uint32_t first, end;
		struct st_value_bucket bucket = {.bucket = i, .min = INFINITY, .max = -INFINITY};

		if (begin_ns >= view->end_ns || end_ns <= series->time_ns[0])
			continue;
		if (begin_ns < series->time_ns[0])
			begin_ns = series->time_ns[0];
		if (end_ns > view->end_ns)
			end_ns = view->end_ns;
		first = ST_SEARCH(k, 0, series->count, series->time_ns[k] <= begin_ns);
		end = ST_SEARCH(k, first, series->count, series->time_ns[k] < end_ns);
		range_of(series, first ? first - 1 : 0, end, &bucket);
		bucket.mean =
			end_ns > begin_ns
				? (integral_to(series, end_ns) - integral_to(series, begin_ns)) /
					  (double)(end_ns - begin_ns)
				: bucket.min;
		/* Rounding must not take it out of its range. */
		bucket.mean = fmax(bucket.min, fmin(bucket.max, bucket.mean));
		out[count++] = bucket;
	}
	return count;
}

/* CPU time ----------------------------------------------------------------------------------------- */

/* Adds a sample to the buckets that it lies in: it stands for the time before it. */
static void spread_sample(const struct st_tile_window *window, int64_t end_ns, uint64_t weight_ns,
			  double *cpu_ns)
{
	int64_t span_ns = (int64_t)ST_TILE_BUCKETS << window->level;
	int64_t to_ns = end_ns - window->begin_ns;
	int64_t from_ns = weight_ns < INT64_MAX ? to_ns - (int64_t)weight_ns : 0;

	if (from_ns < 0)
		from_ns = 0;
	if (to_ns > span_ns)
		to_ns = span_ns;
	while (from_ns < to_ns) {
		int64_t bucket = from_ns >> window->level;
		int64_t stop_ns = (bucket + 1) << window->level;

		if (stop_ns > to_ns)
			stop_ns = to_ns;
		cpu_ns[bucket] += (double)(stop_ns - from_ns);
		from_ns = stop_ns;
	}
}

static void add_thread(const struct st_timeline_view *view, uint32_t thread,
		       const struct st_tile_window *window, double *cpu_ns)
{
	const struct st_samples *samples = st_result_samples(view->result);
	uint32_t begin = samples->first_of_track[thread], end = samples->first_of_track[thread + 1];
	const uint64_t *blocks = view->sample_blocks[thread];
	int64_t left_ns = window->begin_ns;
	int64_t right_ns = left_ns + ((int64_t)ST_TILE_BUCKETS << window->level);
	int64_t longest_ns = (int64_t)view->longest_weight[thread];
	uint32_t at = ST_SEARCH(i, begin, end, samples->time_ns[i] <= left_ns);

	while (at < end && samples->time_ns[at] - longest_ns < right_ns) {
		uint32_t last = at + BLOCK - 1;

		if (blocks && (at - begin) % BLOCK == 0 && last < end) {
			int64_t from_ns = samples->time_ns[at] - longest_ns - left_ns;
			int64_t to_ns = samples->time_ns[last] - left_ns;

			/* All of the block is in one bucket. */
			if (from_ns >= 0 && to_ns <= right_ns - left_ns && to_ns > from_ns &&
			    from_ns >> window->level == (to_ns - 1) >> window->level) {
				uint32_t block = (at - begin) / BLOCK;

				cpu_ns[from_ns >> window->level] += (double)blocks[block];
				at = last + 1;
				continue;
			}
		}
		if (!(samples->flags[at] & NOT_RUNNING))
			spread_sample(window, samples->time_ns[at], samples->weight_ns[at], cpu_ns);
		at++;
	}
}

static uint32_t cpu_buckets(const struct st_timeline_view *view, const struct st_view_track *track,
			    const struct st_tile_window *window, struct st_value_bucket *out)
{
	double cpu_ns[ST_TILE_BUCKETS] = {0};
	double bucket_ns = ldexp(1.0, (int)window->level);
	uint32_t count = 0;

	if (track->values == ST_VALUES_THREAD_CPU)
		add_thread(view, track->thread, window, cpu_ns);
	for (uint32_t i = 0; track->values == ST_VALUES_PROCESS_CPU && i < view->thread_count; i++)
		if (view->threads[i].process == track->process)
			add_thread(view, i, window, cpu_ns);
	for (uint32_t i = 0; i < ST_TILE_BUCKETS; i++) {
		double share = cpu_ns[i] / bucket_ns;

		/* Weights are rounded to periods: a thread is on one CPU at most. */
		if (track->values == ST_VALUES_THREAD_CPU && share > 1.0)
			share = 1.0;
		if (share > 0.0)
			out[count++] = (struct st_value_bucket){i, share, share, share};
	}
	return count;
}

uint32_t st_view_values(const struct st_timeline_view *view, uint32_t track,
			const struct st_tile_window *window,
			struct st_value_bucket out[ST_TILE_BUCKETS])
{
	const struct st_view_track *at = &view->tracks[track];

	switch (at->values) {
	case ST_VALUES_NONE:
		return 0;
	case ST_VALUES_COUNTER:
	case ST_VALUES_MEMORY:
		return series_buckets(view, &view->series[at->counter], window, out);
	default:
		return cpu_buckets(view, at, window, out);
	}
}

/* Made once ---------------------------------------------------------------------------------------- */

static bool sum_samples(struct st_timeline_view *view)
{
	const struct st_samples *samples = st_result_samples(view->result);

	view->sample_blocks = calloc((size_t)view->thread_count + 1, sizeof(*view->sample_blocks));
	view->longest_weight = st_arena_calloc(&view->arena, (size_t)view->thread_count + 1,
					       sizeof(*view->longest_weight));
	if (!view->sample_blocks || !view->longest_weight)
		return false;
	for (uint32_t i = 0; samples->count && i < view->thread_count; i++) {
		uint32_t first = samples->first_of_track[i];
		uint32_t count = samples->first_of_track[i + 1] - first;

		if (!count)
			continue;
		view->sample_blocks[i] = calloc(count / BLOCK + 1, sizeof(uint64_t));
		if (!view->sample_blocks[i])
			return false;
		for (uint32_t at = first; at < first + count; at++) {
			if (samples->flags[at] & NOT_RUNNING)
				continue;
			view->sample_blocks[i][(at - first) / BLOCK] += samples->weight_ns[at];
			if (samples->weight_ns[at] > view->longest_weight[i] &&
			    samples->weight_ns[at] < INT64_MAX / 2)
				view->longest_weight[i] = samples->weight_ns[at];
		}
	}
	return true;
}

static bool take_memory(struct st_timeline_view *view)
{
	uint32_t count;
	const struct st_memory_moment *moments = st_result_memory(view->result, &count);
	double *held = calloc((size_t)view->process_count + 1, sizeof(*held));
	bool done = held != NULL;

	for (uint32_t i = 0; done && i < count; i++) {
		uint32_t process = moments[i].track < view->thread_count
					   ? view->threads[moments[i].track].process
					   : view->process_count;

		if (process >= view->process_count)
			continue;
		held[process] += (double)moments[i].allocated - (double)moments[i].freed;
		done = add_value(&view->series[view->counters.count + process], moments[i].time_ns,
				 held[process]);
	}
	free(held);
	return done;
}

bool st_view_find_values(struct st_timeline_view *view)
{
	bool done = true;

	view->series = calloc((size_t)view->counters.count + view->process_count + 1,
			      sizeof(*view->series));
	if (!view->series)
		return false;
	view->series_count = view->counters.count + view->process_count;
	for (uint32_t i = 0; i < view->counters.count; i++) {
		const struct st_counter *counter = &view->counters.counters[i];

		for (uint32_t j = 0; done && j < counter->sample_count; j++)
			done = add_value(&view->series[i], counter->samples[j].time_ns,
					 counter->samples[j].number);
	}
	done = done && take_memory(view);
	for (uint32_t i = 0; done && i < view->series_count; i++)
		done = make_blocks(&view->series[i]);
	return done && sum_samples(view);
}
