// SPDX-License-Identifier: Apache-2.0
//
// Joins what was given out with what was taken back, in order of time.
#include "analyze/operators/memory_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "store/operators.h"

enum { FIRST_SLOTS = 1024 };

/* Open blocks by process and address: open addressing, never more than half full. A slot that has been used stays so. */
struct slot {
	uint64_t address;
	uint32_t process;
	uint32_t block; /* + 1; 0: free, unless it was used */
	bool is_used;
};

struct open {
	struct slot *slots;
	uint32_t mask, used;
};

static struct slot *find(const struct open *open, uint32_t process, uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)process << 48) * 0x9e3779b97f4a7c15ull;
	uint32_t at = (uint32_t)(hash >> 32) & open->mask;

	while (open->slots[at].is_used &&
	       (open->slots[at].address != address || open->slots[at].process != process))
		at = (at + 1) & open->mask;
	return &open->slots[at];
}

static bool make_room(struct open *open)
{
	struct open larger = {.mask = open->slots ? open->mask * 2 + 1 : FIRST_SLOTS - 1};

	if (open->slots && open->used <= open->mask / 2)
		return true;
	larger.slots = calloc((size_t)larger.mask + 1, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (uint32_t i = 0; open->slots && i <= open->mask; i++) {
		if (!open->slots[i].block)
			continue;
		*find(&larger, open->slots[i].process, open->slots[i].address) = open->slots[i];
		larger.used++;
	}
	free(open->slots);
	*open = larger;
	return true;
}

static bool give_out(struct st_memory_blocks *blocks, struct open *open,
		     const struct st_memory_moment *moment, uint32_t process)
{
	struct slot *slot;

	if (!make_room(open))
		return false;
	slot = find(open, process, moment->address);
	/* The same place again: that it was taken back has been lost. */
	if (slot->block) {
		blocks->items[slot->block - 1].end_ns = moment->time_ns;
		blocks->again_count++;
	}
	open->used += !slot->is_used;
	blocks->items[blocks->count++] = (struct st_memory_block){.begin_ns = moment->time_ns,
								  .end_ns = INT64_MAX,
								  .bytes = moment->allocated,
								  .slice = moment->row,
								  .track = moment->track,
								  .process = process};
	*slot = (struct slot){moment->address, process, blocks->count, true};
	return true;
}

static void take_back(struct st_memory_blocks *blocks, struct open *open,
		      const struct st_memory_moment *moment, uint32_t process)
{
	struct slot *slot = open->slots ? find(open, process, moment->address) : NULL;

	if (!slot || !slot->block) {
		blocks->unknown_bytes += moment->freed;
		blocks->unknown_count++;
		return;
	}
	blocks->items[slot->block - 1].end_ns = moment->time_ns;
	slot->block = 0;
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
	for (uint32_t i = 0; done && i < count; i++) {
		uint32_t process = tracks[moments[i].track].process;

		if (!moments[i].address)
			continue;
		if (moments[i].allocated)
			done = give_out(out, &open, &moments[i], process);
		else
			take_back(out, &open, &moments[i], process);
	}
	free(open.slots);
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
