// SPDX-License-Identifier: Apache-2.0
//
// The piecewise linear clock of store/model/clock_map.h. Slopes are fixed-point numbers with so many bits
// that an hour of extrapolation is off by less than a nanosecond from rounding.
#include "store/model/clock_map.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rt/clock.h"
#include "store/model/notes.h"

typedef unsigned __int128 u128;

/* Two readings closer than this give a slope of mostly noise. */
static const int64_t knot_distance_min_ns = 1000000;
/* Clocks from 16 kHz to 1 THz: anything else is damage. */
static const uint64_t slope_min = 1ull << (ST_CLOCK_SLOPE_BITS - 10);
static const uint64_t slope_max = 1ull << (ST_CLOCK_SLOPE_BITS + 16);
/* A sane clock drifts by parts in a million; a thousandth is suspend, migration or a broken counter. */
static const uint64_t jump_ratio = 1000;

static int by_ticks(const void *a, const void *b)
{
	const struct st_clock_pair *x = a, *y = b;

	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

static uint64_t slope_of(uint64_t ticks, uint64_t ns)
{
	u128 slope = ticks ? ((u128)ns << ST_CLOCK_SLOPE_BITS) / ticks : 0;

	return slope < slope_min || slope > slope_max ? 0 : (uint64_t)slope;
}

static uint64_t first_slope(const struct st_file_head *head)
{
	uint64_t slope = 0;

	if (head->clock == ST_CLOCK_TSC)
		slope = slope_of(head->ticks_per_second, 1000000000u);
	return slope ? slope : 1ull << ST_CLOCK_SLOPE_BITS;
}

static void note_jump(const struct st_clock_map *map, uint64_t slope, uint64_t error_ticks,
		      struct st_notes *notes)
{
	const struct st_clock_knot *last = &map->knots[map->count - 1];
	const struct st_clock_knot *before = last - 1;
	uint64_t difference, allowed;

	if (map->count < 2)
		return;
	difference = slope > before->slope ? slope - before->slope : before->slope - slope;
	/* Readings that were bracketed badly may differ by as much as their brackets are wide. */
	allowed = before->slope / jump_ratio +
		  (uint64_t)((u128)error_ticks * before->slope / (last->ticks - before->ticks));
	if (difference > allowed)
		st_notes_add(notes,
			     "the clock rate changed by %.3g %% after %.3f s (suspend or "
			     "migration?): times after that are approximate",
			     100.0 * (double)difference / (double)before->slope,
			     (double)last->ns / 1e9);
}

static bool add_knot(struct st_clock_map *map, const struct st_clock_pair *pair, int64_t ns,
		     struct st_notes *notes)
{
	struct st_clock_knot *last = &map->knots[map->count - 1];
	uint64_t slope;

	if (ns <= last->ns)
		return false;
	slope = slope_of(pair->ticks - last->ticks, (uint64_t)(ns - last->ns));
	if (!slope)
		return false;
	note_jump(map, slope, pair->error_ticks * 2, notes);
	last->slope = slope;
	map->knots[map->count++] =
		(struct st_clock_knot){.ticks = pair->ticks, .ns = ns, .slope = slope};
	return true;
}

enum st_status st_clock_map_build(struct st_clock_map *map, const struct st_file_head *head,
				  struct st_clock_pair *pairs, uint32_t pair_count,
				  struct st_notes *notes)
{
	uint32_t refused = 0;

	memset(map, 0, sizeof(*map));
	map->knots = calloc((size_t)pair_count + 1, sizeof(*map->knots));
	if (!map->knots)
		return ST_ENOMEM;
	map->knots[0] =
		(struct st_clock_knot){.ticks = head->start_ticks, .slope = first_slope(head)};
	map->count = 1;
	if (head->clock != ST_CLOCK_TSC)
		return ST_OK;
	if (pair_count)
		qsort(pairs, pair_count, sizeof(*pairs), by_ticks);
	for (uint32_t i = 0; i < pair_count; i++) {
		int64_t ns = (int64_t)(pairs[i].mono_raw_ns - head->start_mono_raw_ns);
		const struct st_clock_knot *last = &map->knots[map->count - 1];

		/* Pairs taken at or just after the start say nothing about the slope. */
		if (pairs[i].ticks <= last->ticks ||
		    (ns >= 0 && llabs(ns - last->ns) < knot_distance_min_ns))
			continue;
		if (ns < 0 || !add_knot(map, &pairs[i], ns, notes))
			refused++;
	}
	if (refused)
		st_notes_add(notes,
			     "%" PRIu32 " of %" PRIu32
			     " clock readings contradict the others and are ignored",
			     refused, pair_count);
	return ST_OK;
}

void st_clock_map_fini(struct st_clock_map *map)
{
	if (!map)
		return;
	free(map->knots);
	memset(map, 0, sizeof(*map));
}

int64_t st_clock_map_ns(const struct st_clock_map *map, uint32_t *hint, uint64_t ticks)
{
	const struct st_clock_knot *knot;
	uint32_t at = *hint;
	u128 ns;

	if (at >= map->count || ticks < map->knots[at].ticks)
		at = 0;
	while (at + 1 < map->count && ticks >= map->knots[at + 1].ticks)
		at++;
	*hint = at;
	knot = &map->knots[at];
	if (ticks <= knot->ticks)
		return knot->ns;
	ns = ((u128)(ticks - knot->ticks) * knot->slope) >> ST_CLOCK_SLOPE_BITS;
	if (ns > (u128)(INT64_MAX - knot->ns))
		return INT64_MAX;
	return knot->ns + (int64_t)ns;
}
