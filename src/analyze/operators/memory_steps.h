/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a framework as a line over time. A record of the result is the sum of what a thread allocated and freed
 * since its previous record; here it becomes steps up and down that go through its peak and not above it: up to the
 * peak, down, and up again by what is left.
 */
#ifndef ST_ANALYZE_OPERATORS_MEMORY_STEPS_H
#define ST_ANALYZE_OPERATORS_MEMORY_STEPS_H

#include <stdint.h>

#include "store/operators.h"

enum { ST_MEMORY_STEPS_MAX = 3 };

/* Bytes of each step; none is 0. Returns how many there are. */
static inline unsigned int st_memory_steps(const struct st_memory_moment *moment,
					   int64_t steps[ST_MEMORY_STEPS_MAX])
{
	uint64_t first = moment->allocated;
	unsigned int count = 0;

	if (moment->freed && first > moment->peak)
		first = moment->peak;
	if (first)
		steps[count++] = (int64_t)first;
	if (moment->freed)
		steps[count++] = (int64_t)(0 - moment->freed);
	if (moment->allocated > first)
		steps[count++] = (int64_t)(moment->allocated - first);
	return count;
}

/* Sums of what a damaged result says may be any numbers. */
static inline int64_t st_memory_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

#endif
