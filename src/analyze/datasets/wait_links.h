/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits as links between threads. What a thread waits for is what the thread did meanwhile that let it go on: time spent
 * waiting is charged to that one, and where that one waited itself, to who let it go on. So a stretch of a thread becomes
 * pieces in which some thread runs, or waits for what no thread brings: a disk, a timer, or somebody who is not known, or is
 * not there yet. The pieces lie one behind the other and add up to the stretch.
 */
#ifndef ST_ANALYZE_DATASETS_WAIT_LINKS_H
#define ST_ANALYZE_DATASETS_WAIT_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/engine/dataset.h"

struct st_wait_links {
	const struct st_dataset *waits;
	const struct st_result *result;
	uint32_t *rows;		  /* of the waits, by thread and begin */
	uint32_t *first_of_track; /* [track count + 1] */
	uint32_t track_count;
};

/* waits: ST_ROWS_SYNC, open as long as this is. False: no memory. */
bool st_wait_links_init(struct st_wait_links *out, const struct st_dataset *waits,
			const struct st_result *result);
void st_wait_links_fini(struct st_wait_links *links);

struct st_wait_piece {
	uint32_t track;	    /* who ran, or waited */
	uint32_t wait;	    /* row of the waits; ST_NO_ROW: it did not wait */
	uint32_t first;	    /* the wait of the first thread that led here, or ST_NO_ROW */
	unsigned int depth; /* how many threads on */
	int64_t begin_ns, end_ns;
};
typedef bool st_wait_take(void *arg, const struct st_wait_piece *piece);

/* Hands over the pieces of a stretch of a thread; false: `take` said so. */
bool st_wait_follow(const struct st_wait_links *links, uint32_t track, const int64_t range_ns[2],
		    st_wait_take *take, void *arg);

#endif
