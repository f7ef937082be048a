// SPDX-License-Identifier: Apache-2.0
//
// The order in which everything comes (export/trace/walk.h).
#include "export/trace/walk.h"

#include <stdlib.h>
#include <string.h>

struct run {
	struct st_trace_walk *walk;
	const struct st_trace_format *format;
	void *to;
};

static enum st_status write_slices(const struct run *run, uint32_t track, struct st_error *err)
{
	struct st_trace_walk *walk = run->walk;
	enum st_status status = ST_OK;

	st_thing_args_track(&walk->args, track);
	for (uint32_t row = walk->tracks[track].row_begin;
	     row < walk->tracks[track].row_end && !status; row++) {
		walk->stream.done++;
		if (walk->slices->flags[row] & ST_SLICE_TWIN)
			continue; /* the operator is there */
		status = run->format->slice(run->to, row, err);
		if (!status)
			status = st_stream_spill(&walk->stream, err);
	}
	if (!status && run->format->slices_end)
		status = run->format->slices_end(run->to, err);
	return status;
}

static enum st_status write_instants(const struct run *run, uint32_t first, uint32_t end,
				     struct st_error *err)
{
	struct st_trace_walk *walk = run->walk;
	enum st_status status = ST_OK;
	struct st_place place;

	for (uint32_t i = first; i < end && !status; i++, walk->stream.done++) {
		if (st_places_is_instant(&walk->places, i, &place))
			run->format->instant(run->to, i, place);
		status = st_stream_spill(&walk->stream, err);
	}
	return status;
}

static uint32_t first_event(const struct st_trace_walk *walk, uint32_t track)
{
	return walk->events->count ? walk->events->first_of_track[track] : 0;
}

static enum st_status write_names_first(const struct run *run, struct st_error *err)
{
	const struct st_trace_walk *walk = run->walk;
	enum st_status status = ST_OK;

	for (uint32_t i = 0; i < walk->process_count; i++)
		run->format->process(run->to, i);
	for (uint32_t i = 0; i < walk->track_count; i++)
		run->format->thread(run->to, i);
	for (uint32_t i = 0; i < walk->track_count && !status; i++)
		status = write_slices(run, i, err);
	return status ? status : write_instants(run, 0, walk->events->count, err);
}

/* Tracks in the order of their processes; a counting sort, which keeps their own order. */
static uint32_t *sort_tracks(const struct st_trace_walk *walk)
{
	uint32_t *first = calloc((size_t)walk->process_count + 1, sizeof(*first));
	uint32_t *sorted = calloc((size_t)walk->track_count + 1, sizeof(*sorted));

	for (uint32_t i = 0; first && i < walk->track_count; i++)
		first[walk->tracks[i].process + 1]++;
	for (uint32_t i = 0; first && i < walk->process_count; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; first && sorted && i < walk->track_count; i++)
		sorted[first[walk->tracks[i].process]++] = i;
	if (!first) {
		free(sorted);
		sorted = NULL;
	}
	free(first);
	return sorted;
}

/* A process stands right before its threads: a reader that goes by pid and tid alone then at least
 * gives them to the right one. */
static enum st_status write_by_process(const struct run *run, struct st_error *err)
{
	const struct st_trace_walk *walk = run->walk;
	uint32_t *sorted = sort_tracks(walk), next = 0;
	enum st_status status = ST_OK;

	if (!sorted)
		return st_stream_no_memory(&walk->stream, err);
	for (uint32_t i = 0; i < walk->process_count && !status; i++) {
		run->format->process(run->to, i);
		for (; next < walk->track_count && !status; next++) {
			uint32_t track = sorted[next];

			if (walk->tracks[track].process != i)
				break;
			run->format->thread(run->to, track);
			status = write_slices(run, track, err);
			if (!status)
				status = write_instants(run, first_event(walk, track),
							first_event(walk, track + 1), err);
			if (!status)
				status = st_stream_spill(&run->walk->stream, err);
		}
	}
	free(sorted);
	return status;
}

static enum st_status write_span(const struct run *run, uint32_t span, struct st_error *err)
{
	struct st_trace_walk *walk = run->walk;
	struct st_span_group *group;
	uint32_t lane;

	group = st_places_span(&walk->places, span, &lane);
	if (!group)
		return st_stream_no_memory(&walk->stream, err);
	run->format->span(run->to, span, group, lane);
	walk->stream.done++;
	return st_stream_spill(&walk->stream, err);
}

/* Spans, which go from thread to thread, and the instants of no thread unless they have come with all others. */
static enum st_status write_spans(const struct run *run, struct st_error *err)
{
	const struct st_trace_walk *walk = run->walk;
	uint32_t family = run->format->names_first ? walk->events->count
						   : first_event(walk, walk->track_count);
	enum st_status status = ST_OK;

	if (run->format->spans_begin && (walk->span_count || family < walk->events->count))
		run->format->spans_begin(run->to);
	for (uint32_t i = 0; i < walk->span_count && !status; i++)
		status = write_span(run, i, err);
	return status ? status : write_instants(run, family, walk->events->count, err);
}

static enum st_status write_counters(const struct run *run, struct st_error *err)
{
	const struct st_counters *counters = &run->walk->counters;
	enum st_status status = ST_OK;

	if (counters->count && run->format->counters_begin)
		run->format->counters_begin(run->to);
	for (uint32_t i = 0; i < counters->count && !status; i++) {
		const struct st_counter *counter = &counters->counters[i];

		run->format->counter(run->to, i);
		for (uint32_t k = 0; k < counter->sample_count && !status; k++) {
			run->format->value(run->to, counter, &counter->samples[k]);
			status = st_stream_spill(&run->walk->stream, err);
		}
	}
	return status;
}

static enum st_status write_samples(const struct run *run, struct st_error *err)
{
	const struct st_stacks *stacks = &run->walk->stacks;
	enum st_status status = ST_OK;

	for (uint32_t first = 0, end; first < stacks->row_count && !status; first = end) {
		end = st_stacks_thread_end(stacks, first);
		status = run->format->samples(run->to, first, end, err);
	}
	return status;
}

enum st_status st_trace_run(struct st_trace_walk *walk, const struct st_trace_format *format,
			    void *to, struct st_error *err)
{
	const struct run run = {walk, format, to};
	enum st_status status = format->begin(to, err);

	if (!status)
		status = format->names_first ? write_names_first(&run, err)
					     : write_by_process(&run, err);
	if (!status)
		status = write_spans(&run, err);
	if (!status)
		status = write_counters(&run, err);
	if (!status)
		status = write_samples(&run, err);
	if (!status && format->end)
		format->end(to);
	return status;
}

enum st_status st_trace_init(struct st_trace_walk *walk, const struct st_result *result,
			     const struct st_export_options *options, struct st_sink *sink,
			     struct st_error *err)
{
	enum st_status status;

	memset(walk, 0, sizeof(*walk));
	walk->result = result;
	walk->processes = st_result_processes(result, &walk->process_count);
	walk->tracks = st_result_tracks(result, &walk->track_count);
	walk->labels = st_result_labels(result, &walk->label_count);
	walk->slices = st_result_slices(result);
	walk->events = st_result_events(result);
	walk->spans = st_result_spans(result, &walk->span_count);
	st_stream_init(&walk->stream, sink, "the export");
	status = st_stacks_init(&walk->stacks, result, options->question, &options->view, err);
	if (!status)
		status = st_ties_make(&walk->ties, result, err);
	if (status)
		return status;
	if (!st_thing_args_init(&walk->args, result, &walk->ties) ||
	    !st_places_init(&walk->places, &walk->args))
		return st_stream_no_memory(&walk->stream, err);
	walk->stream.total = (uint64_t)walk->slices->count + walk->events->count +
			     walk->span_count + walk->stacks.row_count;
	if (!walk->stream.total)
		st_sink_set_empty(sink, "the result has no tasks, no samples and no events");
	if (!walk->args.object_count)
		return ST_OK;
	status = st_counters_make(&walk->counters, result, err);
	walk->has_counters = !status;
	return status;
}

enum st_status st_trace_fini(struct st_trace_walk *walk, enum st_status status,
			     struct st_error *err)
{
	if (walk->has_counters)
		st_counters_fini(&walk->counters);
	st_stacks_fini(&walk->stacks);
	st_places_fini(&walk->places);
	st_thing_args_fini(&walk->args);
	st_ties_fini(&walk->ties);
	return st_stream_end(&walk->stream, status, err);
}

bool st_trace_crosses(const struct st_trace_walk *walk, uint32_t index)
{
	const struct st_span *span = &walk->spans[index];

	return span->begin_track != span->end_track && span->begin_track < walk->track_count &&
	       span->end_track < walk->track_count && !(span->flags & ST_SLICE_UNFINISHED);
}

uint64_t st_trace_crossing(const struct st_trace_walk *walk, uint32_t span)
{
	return 1 + (uint64_t)walk->ties.flow_count + span;
}
