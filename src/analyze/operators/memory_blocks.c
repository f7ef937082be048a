// SPDX-License-Identifier: Apache-2.0
//
// Joins what was given out with what was taken back, in order of time.
#include "analyze/operators/memory_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "store/operators.h"

/* The newest block at each place: a process and an address. */
struct open {
	struct st_pair_map places;
	uint32_t *blocks; /* by place, + 1; 0: none is out */
	uint32_t capacity;
};

/* False: no memory. */
static bool apply(struct st_memory_blocks *blocks, struct open *open,
		  const struct st_memory_moment *moment, uint32_t process)
{
	uint32_t place = st_pair_map_add(&open->places, moment->address, process), *block;

	if (open->places.failed || !ST_VEC_ROOM_ZERO(open->blocks, place, open->capacity))
		return false;
	block = &open->blocks[place];
	if (*block)
		blocks->items[*block - 1].end_ns = moment->time_ns;
	if (!moment->allocated) {
		if (!*block) {
			blocks->unknown_bytes += moment->freed;
			blocks->unknown_count++;
		}
		*block = 0;
		return true;
	}
	/* The same place again: that it was taken back has been lost. */
	blocks->again_count += *block != 0;
	blocks->items[blocks->count++] = (struct st_memory_block){.begin_ns = moment->time_ns,
								  .end_ns = INT64_MAX,
								  .bytes = moment->allocated,
								  .slice = moment->row,
								  .track = moment->track,
								  .process = process};
	*block = blocks->count;
	return true;
}

bool st_memory_blocks_make(struct st_memory_blocks *out, const struct st_result *result)
{
	uint32_t count, track_count;
	const struct st_memory_moment *moments = st_result_memory(result, &count);
	const struct st_track *tracks = st_result_tracks(result, &track_count);
	struct open open = {0};
	bool done;

	memset(out, 0, sizeof(*out));
	out->items = calloc((size_t)count + 1, sizeof(*out->items));
	done = out->items;
	for (uint32_t i = 0; done && i < count; i++)
		if (moments[i].address)
			done = apply(out, &open, &moments[i], tracks[moments[i].track].process);
	st_pair_map_fini(&open.places);
	free(open.blocks);
	if (!done)
		st_memory_blocks_fini(out);
	return done;
}

void st_memory_blocks_fini(struct st_memory_blocks *blocks)
{
	if (!blocks)
		return;
	free(blocks->items);
	memset(blocks, 0, sizeof(*blocks));
}

static int by_time(const void *a, const void *b)
{
	const struct st_memory_change *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

struct st_memory_change *st_memory_changes(const struct st_memory_blocks *blocks, uint32_t *count)
{
	struct st_memory_change *changes =
		malloc((2 * (size_t)blocks->count + 1) * sizeof(*changes));
	uint64_t held = 0, taken = 0;

	*count = 0;
	if (!changes)
		return NULL;
	for (uint32_t i = 0; i < blocks->count; i++) {
		const struct st_memory_block *block = &blocks->items[i];

		changes[(*count)++] = (struct st_memory_change){.time_ns = block->begin_ns,
								.bytes = (int64_t)block->bytes};
		if (block->end_ns != INT64_MAX)
			changes[(*count)++] = (struct st_memory_change){
				.time_ns = block->end_ns, .bytes = -(int64_t)block->bytes};
	}
	qsort(changes, *count, sizeof(*changes), by_time);
	for (uint32_t i = 0; i < *count; i++) {
		held += (uint64_t)changes[i].bytes;
		taken += changes[i].bytes > 0 ? (uint64_t)changes[i].bytes : 0;
		changes[i].held = held;
		changes[i].taken = taken;
	}
	return changes;
}

/* The first change behind a moment. */
static uint32_t behind(const struct st_memory_change *changes, uint32_t count, int64_t time_ns)
{
	return ST_SEARCH(i, 0, count, changes[i].time_ns <= time_ns);
}

struct st_memory_change st_memory_at(const struct st_memory_change *changes, uint32_t count,
				     int64_t time_ns)
{
	uint32_t at = behind(changes, count, time_ns);

	return at ? changes[at - 1] : (struct st_memory_change){.time_ns = time_ns};
}

uint64_t st_memory_held(const struct st_memory_change *changes, uint32_t count, int64_t time_ns)
{
	return st_memory_at(changes, count, time_ns).held;
}

struct st_memory_peak st_memory_peak(const struct st_memory_change *changes, uint32_t count,
				     int64_t begin_ns, int64_t end_ns)
{
	struct st_memory_peak peak = {begin_ns, st_memory_held(changes, count, begin_ns)};

	for (uint32_t i = behind(changes, count, begin_ns);
	     i < count && changes[i].time_ns <= end_ns; i++) {
		/* Behind the last change of a moment: in between nobody saw it. */
		bool is_last = i + 1 == count || changes[i + 1].time_ns > changes[i].time_ns;

		if (is_last && changes[i].held > peak.bytes)
			peak = (struct st_memory_peak){changes[i].time_ns, changes[i].held};
	}
	return peak;
}
