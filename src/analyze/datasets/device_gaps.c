// SPDX-License-Identifier: Apache-2.0
//
// The gaps of devices. All that ran on a device is gone through by the time of its begin; what is left between kernels is
// time of copies, or nothing ran. Why nothing ran is told by what ended it: the call that launched that, and whether its
// thread had waited for the device before.
#include "analyze/datasets/device_gaps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/device_silence.h"
#include "base/arena.h"
#include "base/search.h"
#include "base/vec.h"
#include "format/event_kind.h"
#include "store/devices.h"
#include "store/result.h"

/* The clock of a device is fitted to ours: a wait may seem to return before the device is idle. */
enum { FIT_NS = 20000 };

const char *const st_gap_reason_words[ST_GAP_REASONS] = {
	[ST_GAP_COPY] = "copies only",
	[ST_GAP_WAIT] = "host in a wait",
	[ST_GAP_AFTER_WAIT] = "host late after a wait",
	[ST_GAP_HOST] = "host late",
	[ST_GAP_LAUNCHED] = "launched, not begun",
	[ST_GAP_UNKNOWN] = "not known: launches are not recorded",
	[ST_GAP_SILENT] = "not known: not recorded then",
};

struct activity {
	struct st_device_place place;
	uint32_t row;
	bool is_copy;
	int64_t begin_ns, end_ns;
};

struct wait {
	uint32_t track;
	int64_t begin_ns, end_ns;
};

struct sweep {
	const struct st_result *result;
	const struct st_slices *slices;
	const struct st_track *tracks;
	struct st_device_gaps *out;
	struct activity *activities;
	uint32_t activity_count;
	struct wait *waits; /* by track and time */
	uint32_t wait_count;
	int64_t now_ns, kernels_until_ns, any_until_ns;
	uint32_t last_copy;
	struct st_silences silences; /* of the process */
	uint32_t silence;	     /* the first that is not over */
	bool failed;
};

bool st_track_is_stream(const struct st_result *result, uint32_t track)
{
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(result, &count);

	return tracks[track].kind == ST_TRACK_DEVICE_STREAM ||
	       tracks[track].kind == ST_TRACK_DEVICE_QUEUE;
}

/* The name of a queue is told in that of its track: "device 0 queue 1, NAME". */
static struct st_text name_of(const struct st_result *result, const struct st_device_place *place,
			      struct st_text track)
{
	const struct st_device_about *about =
		place->maker ? NULL : st_result_device_about(result, place->process, place->device);
	const char *comma = memmem(track.bytes, track.size_bytes, ", ", 2);
	size_t before = comma ? (size_t)(comma - track.bytes) + 2 : track.size_bytes;

	if (about)
		return st_result_text(result, about->name);
	return place->maker ? (struct st_text){track.bytes + before, track.size_bytes - before}
			    : (struct st_text){"", 0};
}

/* An imported stream has its numbers in its name only. */
struct st_device_place st_track_device(const struct st_result *result, uint32_t track)
{
	uint32_t count;
	const struct st_track *about = &st_result_tracks(result, &count)[track];
	struct st_text name = st_result_text(result, about->name);
	const struct st_device_item *item = st_result_device_item_of(result, about->row_begin);
	struct st_device_place place = {.process = about->process};

	if (item)
		place.maker = item->flags & ST_DEVICE_MAKERS;
	if (item)
		place.device = item->device;
	else if (st_text_begins(name, "device "))
		place.device = (uint32_t)strtoul(name.bytes + 7, NULL, 10);
	place.name = name_of(result, &place, name);
	return place;
}

struct st_text st_device_text(const struct st_device_place *place, struct st_arena *arena)
{
	bool is_named = place->name.size_bytes;
	char *text = st_arena_printf(arena, "device %u%s%.*s%s", place->device,
				     is_named ? " (" : "", (int)place->name.size_bytes,
				     is_named ? place->name.bytes : "", is_named ? ")" : "");

	return (struct st_text){text ? text : "", text ? strlen(text) : 0};
}

uint32_t *st_launches_make(const struct st_result *result)
{
	uint32_t rows = st_result_slices(result)->count, count;
	const struct st_slice_flow *flows = st_result_flows(result, &count);
	uint32_t *launch_of = malloc(((size_t)rows + 1) * sizeof(*launch_of));

	for (uint32_t i = 0; launch_of && i < rows; i++)
		launch_of[i] = ST_NO_ROW;
	for (uint32_t i = 0; launch_of && i < count; i++)
		if (flows[i].kind == ST_FLOW_LAUNCH)
			launch_of[flows[i].to] = flows[i].from;
	return launch_of;
}

static enum st_category category_of(const struct sweep *sweep, uint32_t row)
{
	uint32_t count;

	return st_result_labels(sweep->result, &count)[sweep->slices->label[row]].category;
}

static void add_gap(struct sweep *sweep, const struct activity *where, int64_t until_ns,
		    enum st_gap_reason reason)
{
	const struct st_device_gap gap = {.place = where->place,
					  .reason = reason,
					  .next = reason == ST_GAP_COPY ? sweep->last_copy
									: where->row,
					  .begin_ns = sweep->now_ns,
					  .end_ns = until_ns};

	if (!ST_VEC_PUSH(sweep->out->gaps, sweep->out->count, sweep->out->capacity, gap))
		sweep->failed = true;
	sweep->now_ns = until_ns;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Why nothing ran where nobody looked is not known, nor whether. */
static void add(struct sweep *sweep, const struct activity *where, int64_t until_ns,
		enum st_gap_reason reason)
{
	const struct st_silences *silences = &sweep->silences;

	while (sweep->now_ns < until_ns && !sweep->failed) {
		const struct st_silence *silence = NULL;

		while (sweep->silence < silences->count &&
		       silences->rows[sweep->silence].end_ns <= sweep->now_ns)
			sweep->silence++;
		if (sweep->silence < silences->count)
			silence = &silences->rows[sweep->silence];
		if (silence && silence->begin_ns <= sweep->now_ns)
			add_gap(sweep, where, earlier(silence->end_ns, until_ns), ST_GAP_SILENT);
		else
			add_gap(sweep, where,
				silence ? earlier(silence->begin_ns, until_ns) : until_ns, reason);
	}
}

/* The wait of a thread in which the device ran out of work, or NULL. */
static const struct wait *wait_at(const struct sweep *sweep, uint32_t track, int64_t idle_ns)
{
	const struct wait *waits = sweep->waits;
	uint32_t at = ST_SEARCH(i, 0, sweep->wait_count,
				waits[i].track < track ||
					(waits[i].track == track && waits[i].begin_ns <= idle_ns));

	if (!at || waits[at - 1].track != track || waits[at - 1].end_ns < idle_ns - FIT_NS)
		return NULL;
	return &waits[at - 1];
}

/* Without the call any thread of the process may have been the one that launched. */
static const struct wait *wait_of_process(const struct sweep *sweep, uint32_t process,
					  int64_t idle_ns)
{
	for (uint32_t i = 0; i < sweep->wait_count; i++) {
		uint32_t track = sweep->waits[i].track;
		const struct wait *found;

		if (i && sweep->waits[i - 1].track == track)
			continue;
		found = sweep->tracks[track].process == process ? wait_at(sweep, track, idle_ns)
								: NULL;
		if (found)
			return found;
	}
	return NULL;
}

/* Nothing ran until this began. */
static void explain(struct sweep *sweep, const struct activity *next)
{
	uint32_t call = sweep->out->launch_of[next->row];
	int64_t idle_ns = sweep->now_ns, end_ns = next->begin_ns, call_ns = end_ns;
	const struct wait *wait;

	if (call == ST_NO_ROW) {
		wait = wait_of_process(sweep, next->place.process, idle_ns);
		if (wait)
			add(sweep, next, wait->end_ns < end_ns ? wait->end_ns : end_ns,
			    ST_GAP_WAIT);
		add(sweep, next, end_ns, ST_GAP_UNKNOWN);
		return;
	}
	if (sweep->slices->begin_ns[call] < call_ns)
		call_ns = sweep->slices->begin_ns[call];
	if (call_ns > idle_ns) {
		wait = wait_at(sweep, sweep->slices->track[call], idle_ns);
		if (wait)
			add(sweep, next, wait->end_ns < call_ns ? wait->end_ns : call_ns,
			    ST_GAP_WAIT);
		add(sweep, next, call_ns, wait ? ST_GAP_AFTER_WAIT : ST_GAP_HOST);
	}
	add(sweep, next, end_ns, ST_GAP_LAUNCHED);
}

/* Time goes on to then; what ends it: an activity, whose begin that is, or the last of the device. */
static void advance(struct sweep *sweep, const struct activity *next, int64_t until_ns)
{
	if (sweep->kernels_until_ns > sweep->now_ns)
		sweep->now_ns = earlier(sweep->kernels_until_ns, until_ns);
	add(sweep, next, earlier(sweep->any_until_ns, until_ns), ST_GAP_COPY);
	if (sweep->now_ns < until_ns)
		explain(sweep, next);
}

static void sweep_device(struct sweep *sweep, uint32_t from, uint32_t to)
{
	const struct activity *all = sweep->activities;

	sweep->now_ns = sweep->kernels_until_ns = sweep->any_until_ns = all[from].begin_ns;
	sweep->last_copy = ST_NO_ROW;
	sweep->silence = 0;
	if (!st_silences_make(&sweep->silences, sweep->result, all[from].place.process)) {
		sweep->failed = true;
		return;
	}
	for (uint32_t i = from; i < to; i++) {
		advance(sweep, &all[i], all[i].begin_ns);
		if (!all[i].is_copy && all[i].end_ns > sweep->kernels_until_ns)
			sweep->kernels_until_ns = all[i].end_ns;
		if (all[i].end_ns > sweep->any_until_ns)
			sweep->any_until_ns = all[i].end_ns;
		if (all[i].is_copy)
			sweep->last_copy = all[i].row;
	}
	advance(sweep, &all[to - 1], sweep->any_until_ns);
	st_silences_fini(&sweep->silences);
}

static int by_device_and_begin(const void *a, const void *b)
{
	const struct activity *x = a, *y = b;

	if (x->place.process != y->place.process)
		return x->place.process < y->place.process ? -1 : 1;
	if (x->place.maker != y->place.maker)
		return x->place.maker < y->place.maker ? -1 : 1;
	if (x->place.device != y->place.device)
		return x->place.device < y->place.device ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static void gather_stream(struct sweep *sweep, uint32_t track)
{
	const struct st_track *about = &sweep->tracks[track];
	struct st_device_place place = st_track_device(sweep->result, track);

	for (uint32_t row = about->row_begin; row < about->row_end; row++) {
		enum st_category category = category_of(sweep, row);

		if (st_category_is_device(category))
			sweep->activities[sweep->activity_count++] =
				(struct activity){.place = place,
						  .row = row,
						  .is_copy = category == ST_CATEGORY_COPY,
						  .begin_ns = sweep->slices->begin_ns[row],
						  .end_ns = sweep->slices->end_ns[row]};
	}
}

/* Slices of a thread are in order of time, and its waits are not in each other. */
static void gather_waits(struct sweep *sweep, uint32_t track)
{
	const struct st_track *about = &sweep->tracks[track];

	for (uint32_t row = about->row_begin; row < about->row_end; row++)
		if (category_of(sweep, row) == ST_CATEGORY_DEVICE_WAIT)
			sweep->waits[sweep->wait_count++] = (struct wait){
				track, sweep->slices->begin_ns[row], sweep->slices->end_ns[row]};
}

static void gather(struct sweep *sweep, uint32_t track_count)
{
	for (uint32_t i = 0; i < track_count; i++) {
		if (st_track_is_stream(sweep->result, i))
			gather_stream(sweep, i);
		else
			gather_waits(sweep, i);
	}
	if (sweep->activity_count)
		qsort(sweep->activities, sweep->activity_count, sizeof(*sweep->activities),
		      by_device_and_begin);
}

bool st_device_gaps_make(struct st_device_gaps *out, const struct st_result *result)
{
	struct sweep sweep = {.result = result, .slices = st_result_slices(result), .out = out};
	uint32_t track_count, first = 0, streams = 0, waits = 0;

	*out = (struct st_device_gaps){0};
	sweep.tracks = st_result_tracks(result, &track_count);
	for (uint32_t i = 0; i < track_count; i++)
		if (st_track_is_stream(result, i))
			streams += sweep.tracks[i].row_end - sweep.tracks[i].row_begin;
	if (!streams)
		return true;
	for (uint32_t row = 0; row < sweep.slices->count; row++)
		waits += category_of(&sweep, row) == ST_CATEGORY_DEVICE_WAIT;
	out->launch_of = st_launches_make(result);
	sweep.activities = malloc((size_t)streams * sizeof(*sweep.activities));
	sweep.waits = malloc(((size_t)waits + 1) * sizeof(*sweep.waits));
	sweep.failed = !out->launch_of || !sweep.activities || !sweep.waits;
	if (!sweep.failed)
		gather(&sweep, track_count);
	for (uint32_t i = 1; i <= sweep.activity_count && !sweep.failed; i++) {
		const struct activity *all = sweep.activities;

		if (i < sweep.activity_count &&
		    st_device_place_is(&all[i].place, &all[first].place))
			continue;
		sweep_device(&sweep, first, i);
		first = i;
	}
	free(sweep.activities);
	free(sweep.waits);
	return !sweep.failed;
}

void st_device_gaps_fini(struct st_device_gaps *gaps)
{
	free(gaps->gaps);
	free(gaps->launch_of);
}
