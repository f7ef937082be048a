/* SPDX-License-Identifier: Apache-2.0
 *
 * The curve of a track in a window: CPU time, a counter, memory.
 */
#ifndef ST_ANALYZE_TIMELINE_VIEW_VALUES_H
#define ST_ANALYZE_TIMELINE_VIEW_VALUES_H

#include "analyze/timeline/view.h"

struct st_value_bucket {
	uint32_t bucket;
	double min, max, mean;
};

/* Fills the buckets that have a value and returns how many. Of CPU time those without have none: 0. */
uint32_t st_view_values(const struct st_timeline_view *view, uint32_t track,
			const struct st_tile_window *window,
			struct st_value_bucket out[ST_TILE_BUCKETS]);

#endif
