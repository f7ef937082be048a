// SPDX-License-Identifier: Apache-2.0
//
// How busy devices were: the union of what ran on their streams. And what two rules say of the error of their times,
// which the maker's library has fitted to ours: nothing begins before it is launched, and whoever waits for it returns
// after it has ended.
#include "analyze/operators/device_use.h"

#include <stdlib.h>

#include "analyze/operators/dataset_operators.h"
#include "base/search.h"
#include "format/event_kind.h"
#include "store/devices.h"

struct span {
	uint32_t use;
	int64_t begin_ns, end_ns;
};

/* A launch and where what it launched ended; ends are the latest of all of the stream up to there. */
struct launch {
	uint32_t track;
	int64_t call_ns, end_ns;
};

struct work {
	const struct st_result *result;
	const struct st_slices *slices;
	const struct st_track *tracks;
	uint32_t track_count;
	struct st_device_use *uses;
	uint32_t use_count;
	uint32_t *use_of_track; /* ST_NO_ROW: no stream */
	struct span *spans;
	uint32_t span_count;
	struct launch *launches;
	uint32_t launch_count;
};

static uint32_t use_of(struct work *work, const struct st_device_place *place)
{
	uint32_t at = 0;

	while (at < work->use_count && !st_device_place_is(&work->uses[at].place, place))
		at++;
	if (at == work->use_count)
		work->uses[work->use_count++] = (struct st_device_use){.place = *place,
								       .begin_ns = INT64_MAX,
								       .end_ns = INT64_MIN,
								       .late_ns = INT64_MAX,
								       .early_ns = INT64_MAX};
	return at;
}

static enum st_category category_of(const struct work *work, uint32_t row)
{
	uint32_t count;

	return st_result_labels(work->result, &count)[work->slices->label[row]].category;
}

static void add_slice(struct work *work, struct st_device_use *use, uint32_t row)
{
	int64_t begin_ns = work->slices->begin_ns[row], end_ns = work->slices->end_ns[row];
	bool is_copy = category_of(work, row) == ST_CATEGORY_COPY;
	uint64_t ns = st_result_wall_ns(work->result, row);

	*(is_copy ? &use->copies : &use->kernels) += 1;
	*(is_copy ? &use->copy_ns : &use->kernel_ns) += ns;
	use->unlinked++;
	use->begin_ns = begin_ns < use->begin_ns ? begin_ns : use->begin_ns;
	use->end_ns = end_ns > use->end_ns ? end_ns : use->end_ns;
	work->spans[work->span_count++] =
		(struct span){(uint32_t)(use - work->uses), begin_ns, end_ns};
}

static void add_streams(struct work *work)
{
	for (uint32_t i = 0; i < work->track_count; i++) {
		const struct st_track *track = &work->tracks[i];
		struct st_device_place place;

		work->use_of_track[i] = ST_NO_ROW;
		if (!st_track_is_stream(work->result, i) || track->row_begin == track->row_end)
			continue;
		place = st_track_device(work->result, i);
		work->use_of_track[i] = use_of(work, &place);
		work->uses[work->use_of_track[i]].streams++;
		for (uint32_t row = track->row_begin; row < track->row_end; row++)
			if (st_slice_is_device_time(work->result, row))
				add_slice(work, &work->uses[work->use_of_track[i]], row);
	}
}

static int by_use_and_begin(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->use != y->use)
		return x->use < y->use ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void add_busy(struct work *work)
{
	int64_t until_ns = INT64_MIN;

	if (work->span_count)
		qsort(work->spans, work->span_count, sizeof(*work->spans), by_use_and_begin);
	for (uint32_t i = 0; i < work->span_count; i++) {
		const struct span *span = &work->spans[i];
		int64_t from;

		if (!i || span->use != work->spans[i - 1].use)
			until_ns = INT64_MIN;
		from = span->begin_ns > until_ns ? span->begin_ns : until_ns;
		if (span->end_ns <= from)
			continue;
		work->uses[span->use].busy_ns += (uint64_t)(span->end_ns - from);
		until_ns = span->end_ns;
	}
}

static int by_call(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->call_ns > y->call_ns) - (x->call_ns < y->call_ns);
}

static void add_launches(struct work *work)
{
	uint32_t count;
	const struct st_slice_flow *flows = st_result_flows(work->result, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t track = work->slices->track[flows[i].to];
		uint32_t use = work->use_of_track[track];
		int64_t call_ns = work->slices->begin_ns[flows[i].from];
		int64_t after_ns = work->slices->begin_ns[flows[i].to] - call_ns;

		if (flows[i].kind != ST_FLOW_LAUNCH || use == ST_NO_ROW ||
		    !st_slice_is_device_time(work->result, flows[i].to))
			continue;
		work->uses[use].unlinked--;
		work->uses[use].too_early += after_ns < 0;
		if (after_ns < work->uses[use].late_ns)
			work->uses[use].late_ns = after_ns;
		if (!(work->slices->flags[flows[i].to] & ST_SLICE_UNFINISHED))
			work->launches[work->launch_count++] =
				(struct launch){track, call_ns, work->slices->end_ns[flows[i].to]};
	}
	if (work->launch_count)
		qsort(work->launches, work->launch_count, sizeof(*work->launches), by_call);
	for (uint32_t i = 1; i < work->launch_count; i++)
		if (work->launches[i].track == work->launches[i - 1].track &&
		    work->launches[i].end_ns < work->launches[i - 1].end_ns)
			work->launches[i].end_ns = work->launches[i - 1].end_ns;
}

/* Whether a call waits for all that a stream has. It says so itself where CUPTI has told; else by its name, and only of
 * a process with one device: of that, or of its only stream. */
static bool waits_for(const struct work *work, uint32_t row, uint32_t track)
{
	const struct st_device_item *item = st_result_device_item_of(work->result, row);
	const struct st_device_item *stream =
		st_result_device_item_of(work->result, work->tracks[track].row_begin);
	const struct st_device_use *use = &work->uses[work->use_of_track[track]];
	uint32_t count, devices = 0;
	const struct st_label *labels = st_result_labels(work->result, &count);
	struct st_text name = st_result_text(work->result, labels[work->slices->label[row]].name);

	if (item && stream && item->waits_for)
		return item->context == stream->context &&
		       (item->waits_for == ST_WAIT_CONTEXT ||
			(item->waits_for == ST_WAIT_STREAM && item->stream == stream->stream));
	for (uint32_t i = 0; i < work->use_count; i++)
		devices += work->uses[i].place.process == use->place.process;
	if (devices != 1)
		return false;
	return st_text_equals(name, "cudaDeviceSynchronize") ||
	       st_text_equals(name, "cuCtxSynchronize") ||
	       (use->streams == 1 &&
		(st_text_equals(name, "cudaStreamSynchronize") ||
		 st_text_equals(name, "cuStreamSynchronize") || st_text_equals(name, "clFinish") ||
		 st_text_equals(name, "zeCommandQueueSynchronize")));
}

static void look_at_wait(struct work *work, uint32_t row, uint32_t track)
{
	struct st_device_use *use = &work->uses[work->use_of_track[track]];
	const struct launch *launches = work->launches;
	int64_t begin_ns = work->slices->begin_ns[row], before_ns;
	uint32_t at = ST_SEARCH(i, 0, work->launch_count,
				launches[i].track < track || (launches[i].track == track &&
							      launches[i].call_ns < begin_ns));

	if (!at || launches[at - 1].track != track)
		return;
	before_ns = work->slices->end_ns[row] - launches[at - 1].end_ns;
	use->too_late += before_ns < 0;
	if (before_ns < use->early_ns)
		use->early_ns = before_ns;
}

static void add_wait(struct work *work, uint32_t row, uint32_t process)
{
	for (uint32_t track = 0; track < work->track_count; track++)
		if (work->use_of_track[track] != ST_NO_ROW &&
		    work->tracks[track].process == process && waits_for(work, row, track))
			look_at_wait(work, row, track);
}

static void add_waits(struct work *work)
{
	for (uint32_t row = 0; row < work->slices->count; row++) {
		uint32_t process = work->tracks[work->slices->track[row]].process;

		if (category_of(work, row) != ST_CATEGORY_DEVICE_WAIT)
			continue;
		for (uint32_t i = 0; i < work->use_count; i++)
			if (work->uses[i].place.process == process)
				work->uses[i].waited_ns += st_result_wall_ns(work->result, row);
		add_wait(work, row, process);
	}
}

/* What was allocated at most, of what was seen being allocated. */
static void add_memory(struct work *work)
{
	uint32_t count;
	const struct st_device_item *items = st_result_device_items(work->result, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t process = work->tracks[work->slices->track[items[i].row]].process;
		struct st_device_use *use = NULL;

		for (uint32_t j = 0; items[i].kind == ST_DEVICE_MEMORY && j < work->use_count; j++)
			if (work->uses[j].place.process == process &&
			    work->uses[j].place.device == items[i].device &&
			    work->uses[j].place.maker == (items[i].flags & ST_DEVICE_MAKERS))
				use = &work->uses[j];
		if (!use || items[i].graph == ST_MEMORY_POOL)
			continue;
		if (items[i].graph == ST_MEMORY_ALLOCATED) {
			use->allocations++;
			use->memory_bytes += items[i].value;
		} else {
			use->memory_bytes -= items[i].value < use->memory_bytes ? items[i].value
										: use->memory_bytes;
		}
		if (use->memory_bytes > use->memory_peak_bytes)
			use->memory_peak_bytes = use->memory_bytes;
	}
}

static void add_gaps(struct work *work)
{
	struct st_device_gaps gaps;
	bool done = st_device_gaps_make(&gaps, work->result);

	for (uint32_t i = 0; done && i < gaps.count; i++) {
		const struct st_device_gap *gap = &gaps.gaps[i];
		uint32_t use = use_of(work, &gap->place);

		work->uses[use].gap_ns[gap->reason] += (uint64_t)(gap->end_ns - gap->begin_ns);
	}
	st_device_gaps_fini(&gaps);
}

struct st_device_use *st_device_uses(const struct st_result *result, struct st_arena *arena,
				     uint32_t *count)
{
	struct work work = {.result = result, .slices = st_result_slices(result)};
	uint32_t streams = 0, rows = 0, flows;

	*count = 0;
	work.tracks = st_result_tracks(result, &work.track_count);
	for (uint32_t i = 0; i < work.track_count; i++)
		if (st_track_is_stream(result, i)) {
			streams++;
			rows += work.tracks[i].row_end - work.tracks[i].row_begin;
		}
	if (!rows)
		return NULL;
	st_result_flows(result, &flows);
	work.uses = st_arena_calloc(arena, (size_t)streams + 1, sizeof(*work.uses));
	work.use_of_track =
		st_arena_calloc(arena, (size_t)work.track_count + 1, sizeof(*work.use_of_track));
	work.spans = malloc(((size_t)rows + 1) * sizeof(*work.spans));
	work.launches = malloc(((size_t)flows + 1) * sizeof(*work.launches));
	if (work.uses && work.use_of_track && work.spans && work.launches) {
		add_streams(&work);
		add_busy(&work);
		add_launches(&work);
		add_waits(&work);
		add_memory(&work);
		add_gaps(&work);
		*count = work.use_count;
	}
	free(work.spans);
	free(work.launches);
	return *count ? work.uses : NULL;
}
