// SPDX-License-Identifier: Apache-2.0
//
// Selection of three ranks in one array: each later rank searches only above the one before it.
#include "analyze/engine/percentile.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t middle(uint64_t a, uint64_t b, uint64_t c)
{
	if (a > b) {
		uint64_t t = a;

		a = b;
		b = t;
	}
	if (c <= a)
		return a;
	return c < b ? c : b;
}

static uint64_t pick_pivot(const uint64_t *v, size_t low, size_t high)
{
	size_t n = high - low + 1, step = n / 8, mid = low + n / 2;

	if (n < 64)
		return middle(v[low], v[mid], v[high]);
	return middle(middle(v[low], v[low + step], v[low + 2 * step]),
		      middle(v[mid - step], v[mid], v[mid + step]),
		      middle(v[high - 2 * step], v[high - step], v[high]));
}

/* Puts the value of rank k (from 0) of v[low … high] at v[k], smaller ones before, larger ones behind.
 * Hoare's partition: runs of equal values, common in durations, are split in the middle. */
static void select_rank(uint64_t *v, ptrdiff_t low, ptrdiff_t high, ptrdiff_t k)
{
	unsigned int rounds = 0;

	while (low < high) {
		uint64_t pivot = pick_pivot(v, (size_t)low, (size_t)high);
		ptrdiff_t i = low, j = high;

		if (++rounds > 128) { /* a pattern that defeats the pivots: give up on speed */
			qsort(v + low, (size_t)(high - low + 1), sizeof(*v), compare);
			return;
		}
		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j) {
				uint64_t held = v[i];

				v[i++] = v[j];
				v[j--] = held;
			}
		}
		/* v[low … j] <= pivot <= v[i … high], and what lies between them is the pivot. */
		if (k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			return;
	}
}

/* Rank from 0 of percentile p: ceil(count × p / 100) - 1, in whole numbers. */
static ptrdiff_t rank_of(size_t count, unsigned int p)
{
	size_t whole = count / 100 * p, rest = count % 100 * p;

	return (ptrdiff_t)(whole + (rest + 99) / 100) - 1;
}

struct st_percentiles st_percentiles_take(uint64_t *values, size_t count)
{
	struct st_percentiles out = {0};
	ptrdiff_t median, p95, p99, last = (ptrdiff_t)count - 1;

	if (!count)
		return out;
	median = rank_of(count, 50);
	p95 = rank_of(count, 95);
	p99 = rank_of(count, 99);
	select_rank(values, 0, last, median);
	out.median = values[median];
	select_rank(values, median, last, p95);
	out.p95 = values[p95];
	select_rank(values, p95, last, p99);
	out.p99 = values[p99];
	return out;
}
