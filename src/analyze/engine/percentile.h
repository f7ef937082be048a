/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact percentiles by nearest rank: the smallest value such that at least p percent of all values are
 * not above it.
 */
#ifndef ST_ANALYZE_ENGINE_PERCENTILE_H
#define ST_ANALYZE_ENGINE_PERCENTILE_H

#include <stddef.h>
#include <stdint.h>

struct st_percentiles {
	uint64_t median, p95, p99;
};

/* Reorders values. count may be 0: all figures are 0 then. */
struct st_percentiles st_percentiles_take(uint64_t *values, size_t count);

#endif
