// SPDX-License-Identifier: Apache-2.0
//
// Sweeps the rows of a track once, from left to right, with the stack of open tasks: at any time the
// innermost one owns it. Bins are met in order, so the sums per type are kept for one bin only.
#include "analyze/reports/timeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct sweep {
	struct st_timeline *timeline;
	struct st_timeline_bin *bins;
	uint32_t bin; /* being filled */
	int64_t bin_end_ns;
	uint32_t touched_count;
	int64_t at_ns; /* swept up to here */
	uint32_t depth;
};

bool st_timeline_init(struct st_timeline *out, const struct st_dataset *dataset,
		      const struct st_selection *selection)
{
	size_t types = (size_t)dataset->keys[ST_BY_TASK_TYPE].key_count + 1;

	memset(out, 0, sizeof(*out));
	out->dataset = dataset;
	out->selection = selection;
	out->self_ns = calloc(types, sizeof(*out->self_ns));
	out->touched = calloc(types, sizeof(*out->touched));
	out->open = calloc(ST_TIMELINE_DEPTH_MAX, sizeof(*out->open));
	if (out->self_ns && out->touched && out->open)
		return true;
	st_timeline_fini(out);
	return false;
}

void st_timeline_fini(struct st_timeline *timeline)
{
	if (!timeline)
		return;
	free(timeline->self_ns);
	free(timeline->touched);
	free(timeline->open);
	memset(timeline, 0, sizeof(*timeline));
}

int64_t st_timeline_bin_begin(const struct st_timeline *timeline, uint32_t bin)
{
	__int128 span = timeline->end_ns - timeline->begin_ns;

	assert(timeline->bin_count > 0);
	return timeline->begin_ns + (int64_t)(span * bin / timeline->bin_count);
}

uint32_t st_timeline_bin_at(const struct st_timeline *timeline, int64_t time_ns)
{
	__int128 span = timeline->end_ns - timeline->begin_ns;
	uint32_t bin;

	if (time_ns <= timeline->begin_ns)
		return 0;
	if (time_ns >= timeline->end_ns)
		return timeline->bin_count - 1;
	bin = (uint32_t)((__int128)(time_ns - timeline->begin_ns) * timeline->bin_count / span);
	/* Beginnings are rounded down: the next one may be at this very time. */
	return bin + 1 < timeline->bin_count && st_timeline_bin_begin(timeline, bin + 1) <= time_ns
		       ? bin + 1
		       : bin;
}

/* Closes the bin: its top type is known now. */
static void close_bin(struct sweep *sweep)
{
	struct st_timeline *timeline = sweep->timeline;
	struct st_timeline_bin *bin = &sweep->bins[sweep->bin];

	for (uint32_t i = 0; i < sweep->touched_count; i++) {
		uint32_t key = timeline->touched[i];

		if (bin->top_key == UINT32_MAX || timeline->self_ns[key] > bin->top_ns) {
			bin->top_key = key;
			bin->top_ns = timeline->self_ns[key];
		}
		timeline->self_ns[key] = 0;
	}
	sweep->touched_count = 0;
}

static void next_bin(struct sweep *sweep)
{
	close_bin(sweep);
	sweep->bin++;
	sweep->bin_end_ns = st_timeline_bin_begin(sweep->timeline, sweep->bin + 1);
}

/* The time from at_ns to end_ns belongs to the innermost open row, or to nobody. */
static void sweep_to(struct sweep *sweep, int64_t end_ns)
{
	struct st_timeline *timeline = sweep->timeline;
	const struct st_dataset *dataset = timeline->dataset;
	uint32_t key = UINT32_MAX, row = 0;
	bool slow = false;

	if (sweep->depth) {
		row = timeline->open[sweep->depth - 1];
		key = st_key_of(&dataset->keys[ST_BY_TASK_TYPE], row);
		slow = dataset->flags[row] & dataset->slow_flags;
	}
	while (sweep->at_ns < end_ns) {
		int64_t to_ns = end_ns < sweep->bin_end_ns ? end_ns : sweep->bin_end_ns;
		uint64_t part_ns = (uint64_t)(to_ns - sweep->at_ns);

		if (slow) /* not counted while paused */
			part_ns = dataset->part_ns(dataset, row, sweep->at_ns, to_ns);
		if (key != UINT32_MAX && part_ns) {
			if (!timeline->self_ns[key])
				timeline->touched[sweep->touched_count++] = key;
			timeline->self_ns[key] += part_ns;
			sweep->bins[sweep->bin].busy_ns += part_ns;
		}
		sweep->at_ns = to_ns;
		if (to_ns == sweep->bin_end_ns && sweep->bin + 1 < timeline->bin_count)
			next_bin(sweep);
		else if (to_ns < end_ns)
			return; /* behind the last bin */
	}
}

static int64_t clamp(const struct st_timeline *timeline, int64_t time_ns)
{
	if (time_ns < timeline->begin_ns)
		return timeline->begin_ns;
	return time_ns > timeline->end_ns ? timeline->end_ns : time_ns;
}

/* Closes the rows that end before time_ns. One that ended out of order leaves when it is on top. */
static void close_rows(struct sweep *sweep, int64_t time_ns)
{
	struct st_timeline *timeline = sweep->timeline;
	const int64_t *end_ns = timeline->dataset->end_ns;

	while (sweep->depth && end_ns[timeline->open[sweep->depth - 1]] <= time_ns) {
		sweep_to(sweep, clamp(timeline, end_ns[timeline->open[sweep->depth - 1]]));
		sweep->depth--;
	}
	sweep_to(sweep, clamp(timeline, time_ns));
}

void st_timeline_fill(struct st_timeline *timeline, uint32_t track, struct st_timeline_bin *bins)
{
	const struct st_dataset *dataset = timeline->dataset;
	struct sweep sweep = {.timeline = timeline, .bins = bins, .at_ns = timeline->begin_ns};

	for (uint32_t i = 0; i < timeline->bin_count; i++)
		bins[i] = (struct st_timeline_bin){.top_key = UINT32_MAX};
	sweep.bin_end_ns = st_timeline_bin_begin(timeline, 1);
	for (uint32_t row = dataset->tracks[track].begin; row < dataset->tracks[track].end; row++) {
		int64_t begin_ns = dataset->begin_ns[row], end_ns = dataset->end_ns[row];

		if (begin_ns >= timeline->end_ns)
			break;
		if (end_ns < timeline->begin_ns || !st_selection_has(timeline->selection, row))
			continue;
		close_rows(&sweep, begin_ns);
		if (begin_ns >= timeline->begin_ns && st_row_is_counted(dataset, row))
			bins[sweep.bin].count++;
		if (sweep.depth < ST_TIMELINE_DEPTH_MAX)
			timeline->open[sweep.depth++] = row;
	}
	close_rows(&sweep, INT64_MAX);
	close_bin(&sweep);
}
