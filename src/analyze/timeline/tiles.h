/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles of a timeline as bytes: what one window of one track shows, in columns that a page reads in place. The layout is
 * in docs/http-api.md.
 */
#ifndef ST_ANALYZE_TIMELINE_TILES_H
#define ST_ANALYZE_TIMELINE_TILES_H

#include "analyze/timeline/view.h"

struct st_buf;

enum {
	ST_TILES_MAX = 4096,	     /* in one request */
	ST_TILES_LANES_MAX = 1024,   /* in one request, of each track */
	ST_TILES_LANES_USUAL = 256,  /* where none are asked for */
	ST_TILES_BYTES = 2 << 20,    /* an answer ends before a tile that would make it longer */
	ST_TILES_MAGIC = 0x31545453, /* "STT1" */
};

struct st_tile_place {
	uint32_t track;
	int64_t index;
};

struct st_tiles_ask {
	uint32_t level;
	const struct st_tile_place *places;
	uint32_t count;
	uint32_t lane_first, lane_end;	     /* 0, 0: ST_TILES_LANES_USUAL of them */
	const struct st_view_filter *filter; /* or NULL */
};

/* Appends the tiles to out, as many as fit and at least the first. ST_EUSAGE: a track, level or index that there is not,
 * or too much at once. */
enum st_status st_view_tiles(struct st_timeline_view *view, const struct st_tiles_ask *ask,
			     struct st_buf *out, struct st_error *err);

#endif
