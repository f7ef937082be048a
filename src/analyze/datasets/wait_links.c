// SPDX-License-Identifier: Apache-2.0
//
// From waits to wakers.
#include "analyze/datasets/wait_links.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_rows.h"
#include "base/search.h"
#include "store/result.h"

enum { DEPTH_MAX = 16 }; /* two threads may let one another go on for ever */

static int by_begin(const void *a, const void *b, void *arg)
{
	const struct st_dataset *waits = arg;
	int64_t x = waits->begin_ns[*(const uint32_t *)a],
		y = waits->begin_ns[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

static bool is_wait(const struct st_dataset *waits, uint32_t row)
{
	return st_row_is_counted(waits, row) &&
	       st_dataset_rows_source(waits, row).span != ST_NO_ROW;
}

static uint32_t track_of(const struct st_dataset *waits, uint32_t row)
{
	return st_key_of(&waits->keys[ST_BY_THREAD], row);
}

bool st_wait_links_init(struct st_wait_links *out, const struct st_dataset *waits,
			const struct st_result *result)
{
	uint32_t *next;

	*out = (struct st_wait_links){.waits = waits, .result = result};
	st_result_tracks(result, &out->track_count);
	out->rows = calloc((size_t)waits->row_count + 1, sizeof(*out->rows));
	out->first_of_track = calloc((size_t)out->track_count + 2, sizeof(*out->first_of_track));
	next = calloc((size_t)out->track_count + 2, sizeof(*next));
	if (out->rows && out->first_of_track && next) {
		for (uint32_t i = 0; i < waits->row_count; i++)
			if (is_wait(waits, i) && track_of(waits, i) < out->track_count)
				out->first_of_track[track_of(waits, i) + 1]++;
		for (uint32_t i = 0; i < out->track_count; i++)
			out->first_of_track[i + 1] += out->first_of_track[i];
		memcpy(next, out->first_of_track, (out->track_count + 1) * sizeof(*next));
		for (uint32_t i = 0; i < waits->row_count; i++)
			if (is_wait(waits, i) && track_of(waits, i) < out->track_count)
				out->rows[next[track_of(waits, i)]++] = i;
		for (uint32_t i = 0; i < out->track_count; i++)
			qsort_r(out->rows + out->first_of_track[i],
				out->first_of_track[i + 1] - out->first_of_track[i],
				sizeof(*out->rows), by_begin, (void *)(uintptr_t)waits);
	}
	free(next);
	if (out->rows && out->first_of_track && next)
		return true;
	st_wait_links_fini(out);
	return false;
}

void st_wait_links_fini(struct st_wait_links *links)
{
	free(links->rows);
	free(links->first_of_track);
	memset(links, 0, sizeof(*links));
}

/* What is being followed. */
struct way {
	const struct st_wait_links *links;
	st_wait_take *take;
	void *arg;
	uint32_t first;
};

/* The thread that ended a wait, or ST_NO_ROW. */
static uint32_t waker_of(const struct st_wait_links *links, uint32_t row)
{
	uint32_t count;
	const struct st_span *spans = st_result_spans(links->result, &count);
	const struct st_span *span = &spans[st_dataset_rows_source(links->waits, row).span];

	return span->end_track < links->track_count && span->end_track != span->begin_track
		       ? span->end_track
		       : ST_NO_ROW;
}

static bool take(const struct way *way, struct st_wait_piece piece)
{
	piece.first = way->first;
	return piece.end_ns <= piece.begin_ns || way->take(way->arg, &piece);
}

/* As far as anything is known of a thread. The first record of one that waits at once is of the end of that wait. */
static void clip_to_life(const struct st_wait_links *links, uint32_t track, int64_t range_ns[2])
{
	uint32_t count, first = links->first_of_track[track];
	const struct st_track *info = &st_result_tracks(links->result, &count)[track];
	int64_t born_ns = info->first_ns;

	if (first < links->first_of_track[track + 1] &&
	    links->waits->begin_ns[links->rows[first]] < born_ns)
		born_ns = links->waits->begin_ns[links->rows[first]];
	if (range_ns[0] < born_ns)
		range_ns[0] = born_ns < range_ns[1] ? born_ns : range_ns[1];
	if (range_ns[1] > info->last_ns)
		range_ns[1] = info->last_ns > range_ns[0] ? info->last_ns : range_ns[0];
}

static bool follow(struct way *way, uint32_t track, const int64_t range_ns[2], unsigned int depth);

/* A wait is what the thread did that ended it; while that one did not live, it is a wait. */
// NOLINTNEXTLINE(misc-no-recursion)
static bool follow_wait(struct way *way, const struct st_wait_piece *piece)
{
	uint32_t waker = waker_of(way->links, piece->wait);
	int64_t life_ns[2] = {piece->begin_ns, piece->end_ns};
	struct st_wait_piece before = *piece, behind = *piece;

	if (waker == ST_NO_ROW || piece->depth >= DEPTH_MAX)
		return take(way, *piece);
	clip_to_life(way->links, waker, life_ns);
	before.end_ns = life_ns[0];
	behind.begin_ns = life_ns[1];
	return take(way, before) && follow(way, waker, life_ns, piece->depth + 1) &&
	       take(way, behind);
}

/* A thread that waits is what it waits for: this calls itself at most DEPTH_MAX times, once for each thread on the way. */
// NOLINTNEXTLINE(misc-no-recursion)
static bool follow(struct way *way, uint32_t track, const int64_t range_ns[2], unsigned int depth)
{
	const struct st_wait_links *links = way->links;
	const struct st_dataset *waits = links->waits;
	uint32_t begin = links->first_of_track[track], end = links->first_of_track[track + 1];
	uint32_t at = ST_SEARCH(i, begin, end, waits->end_ns[links->rows[i]] <= range_ns[0]);
	int64_t now_ns = range_ns[0];

	for (; at < end && waits->begin_ns[links->rows[at]] < range_ns[1]; at++) {
		uint32_t row = links->rows[at];
		int64_t part_ns[2] = {waits->begin_ns[row], waits->end_ns[row]};
		struct st_wait_piece piece = {.track = track, .wait = ST_NO_ROW, .depth = depth};

		part_ns[0] = part_ns[0] > now_ns ? part_ns[0] : now_ns;
		part_ns[1] = part_ns[1] < range_ns[1] ? part_ns[1] : range_ns[1];
		if (part_ns[1] <= part_ns[0])
			continue;
		piece.begin_ns = now_ns;
		piece.end_ns = part_ns[0];
		if (!depth)
			way->first = ST_NO_ROW;
		if (!take(way, piece))
			return false;
		if (!depth)
			way->first = row;
		piece.wait = row;
		piece.begin_ns = part_ns[0];
		piece.end_ns = now_ns = part_ns[1];
		if (!follow_wait(way, &piece))
			return false;
	}
	if (!depth)
		way->first = ST_NO_ROW;
	return take(way, (struct st_wait_piece){.track = track,
						.wait = ST_NO_ROW,
						.depth = depth,
						.begin_ns = now_ns,
						.end_ns = range_ns[1]});
}

bool st_wait_follow(const struct st_wait_links *links, uint32_t track, const int64_t range_ns[2],
		    st_wait_take *taker, void *arg)
{
	struct way way = {.links = links, .take = taker, .arg = arg, .first = ST_NO_ROW};

	return track >= links->track_count || follow(&way, track, range_ns, 0);
}
