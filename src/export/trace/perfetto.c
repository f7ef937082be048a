// SPDX-License-Identifier: Apache-2.0
//
// Perfetto's own trace format: a stream of protobuf packets, each small, none referring forward. Every
// thread is a packet sequence of its own, with its track and with the names it uses, each sent once
// (interned) with the first event that needs it. A task is a begin and an end event. Times are
// nanoseconds since the start of collection on the clock that readers assume when none is named
// (boot time), so that no clock snapshot is needed.
//
// Tracks are known by a number of ours, so that a pid or a tid that was given out twice is two tracks.
// Here: processes, threads and their tasks. The rest is perfetto_events.c.
#include "export/exporters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/words.h"
#include "base/json_out.h"
#include "export/trace/perfetto_packet.h"
#include "export/protobuf.h"

static void add_text(struct st_pf *pf, uint32_t field, st_string_id id, const char *otherwise)
{
	struct st_text text = st_result_text(pf->result, id);

	if (!text.size_bytes)
		text = (struct st_text){otherwise, strlen(otherwise)};
	if (text.size_bytes)
		st_pb_text(&pf->out, field, text.bytes, text.size_bytes);
}

static void add_process(struct st_pf *pf, uint32_t index)
{
	const struct st_process *process = &pf->processes[index];
	struct st_buf *out = &pf->out;
	size_t track, inner;

	pf->sequence = 1;
	st_pf_packet_begin(pf, index == 0 ? ST_PF_STATE_CLEARED : 0);
	if (index == 0)
		st_pb_u64(out, ST_PF_PACKET_FIRST_ON_SEQUENCE, 1);
	track = st_pb_begin(out, ST_PF_PACKET_TRACK_DESCRIPTOR);
	st_pb_u64(out, ST_PF_TRACK_UUID, st_pf_process_uuid(index));
	inner = st_pb_begin(out, ST_PF_TRACK_PROCESS);
	st_pb_u64(out, ST_PF_PROCESS_PID, process->pid);
	add_text(pf, ST_PF_PROCESS_COMMAND_LINE, process->command_line, "");
	add_text(pf, ST_PF_PROCESS_NAME, process->name, "process");
	if (process->incarnation) { /* the pid alone does not say which program it was then */
		char label[32];
		int length = snprintf(label, sizeof(label), "exec %u", process->incarnation);

		st_pb_text(out, ST_PF_PROCESS_LABELS, label, (size_t)length);
	}
	st_pb_end(out, inner);
	st_pb_end(out, track);
	st_pf_packet_end(pf);
}

/* The first packet of a thread: forget what this sequence said before, and who it is. */
static void add_thread(struct st_pf *pf, uint32_t index)
{
	const struct st_track *track = &pf->tracks[index];
	const struct st_process *process = &pf->processes[track->process];
	struct st_buf *out = &pf->out;
	size_t message, inner;

	st_pf_sequence_begin(pf, 2 + index);
	message = st_pb_begin(out, ST_PF_PACKET_TRACK_DESCRIPTOR);
	st_pb_u64(out, ST_PF_TRACK_UUID, st_pf_thread_uuid(pf, index));
	st_pb_u64(out, ST_PF_TRACK_PARENT_UUID, st_pf_process_uuid(track->process));
	inner = st_pb_begin(out, ST_PF_TRACK_THREAD);
	st_pb_u64(out, ST_PF_THREAD_PID, process->pid);
	st_pb_u64(out, ST_PF_THREAD_TID, track->tid);
	add_text(pf, ST_PF_THREAD_NAME, track->name,
		 process->pid == track->tid ? "main" : "thread");
	st_pb_end(out, inner);
	st_pb_end(out, message);
	st_pf_packet_end(pf);
}

/* A track for a lane of the thread, unless it has one. */
static bool add_lane(struct st_pf *pf, uint32_t index, uint32_t lane)
{
	if (lane < pf->lane_count)
		return true;
	if (lane >= pf->lane_capacity) {
		uint32_t capacity = 2 * lane + 8;
		uint64_t *uuids = realloc(pf->lane_uuids, capacity * sizeof(*uuids));

		if (!uuids)
			return false;
		pf->lane_uuids = uuids;
		pf->lane_capacity = capacity;
	}
	pf->lane_count = lane + 1;
	pf->lane_uuids[lane] = lane ? st_pf_track(pf, st_pf_thread_uuid(pf, index),
						  "overlapping tasks", (struct st_text){"", 0})
				    : st_pf_thread_uuid(pf, index);
	return true;
}

static void add_u64(struct st_pf *pf, enum st_arg_word word, uint64_t value)
{
	st_pf_arg(pf, &(struct st_arg){.form = ST_ARG_IS_U64, .word = word, .number = value});
}

static void add_notes(struct st_pf *pf, uint32_t row, bool is_apart)
{
	const struct st_slices *slices = pf->slices;
	const struct st_label *label = &pf->labels[slices->label[row]];

	st_pf_arg(pf, &(struct st_arg){.form = ST_ARG_IS_TEXT_ID,
				       .word = ST_ARG_DOMAIN,
				       .text_id = label->domain});
	add_u64(pf, ST_ARG_ROW, row);
	/* Where the drawing shows the task it lies in, nothing needs to say so. */
	if (is_apart && slices->parent[row] != ST_NO_ROW)
		add_u64(pf, ST_ARG_PARENT, slices->parent[row]);
	if (slices->flags[row]) {
		const char *flags = st_words_slice_flags(slices->flags[row]);

		st_pf_arg(pf, &(struct st_arg){.form = ST_ARG_IS_TEXT,
					       .word = ST_ARG_FLAGS,
					       .text = {flags, strlen(flags)}});
	}
	if (slices->flags[row] & ST_SLICE_CLIPPED)
		add_u64(pf, ST_ARG_RECORDED_NS, st_result_wall_ns(pf->result, row));
	if (pf->label_is_bad[slices->label[row]])
		st_pf_name_bytes(pf, st_result_text(pf->result, label->name));
}

static void add_begin(struct st_pf *pf, const struct st_lane_slice *slice, uint32_t lane)
{
	const struct st_label *label = &pf->labels[pf->slices->label[slice->row]];
	/* The first on a lane beside the thread's own is drawn apart from its parent. */
	bool is_apart = lane && pf->lanes.lanes[lane].is_outermost;

	st_pf_event_begin(pf, &(struct st_pf_event){.type = ST_PF_SLICE_BEGIN,
						    .time_ns = slice->begin_ns,
						    .track = pf->lane_uuids[lane],
						    .title.id = label->name,
						    .category = label->domain});
	add_notes(pf, slice->row, is_apart);
	st_thing_args_slice(&pf->args, slice->row);
	st_pf_flows(pf, st_thing_make(ST_THING_SLICE, slice->row));
	st_pf_event_end(pf);
	pf->done++;
}

static enum st_status add_ends(struct st_pf *pf, const struct st_lane_slice *before,
			       struct st_error *err)
{
	enum st_status status = ST_OK;
	struct st_lane_end end;

	while (!status && st_lanes_end(&pf->lanes, before, &end)) {
		st_pf_event_begin(pf, &(struct st_pf_event){.type = ST_PF_SLICE_END,
							    .time_ns = end.end_ns,
							    .track = pf->lane_uuids[end.lane]});
		st_pf_event_end(pf);
		status = st_pf_spill(pf, ST_PF_SPILL_BYTES, err);
	}
	return status;
}

static enum st_status add_slice(struct st_pf *pf, uint32_t index, uint32_t row,
				struct st_error *err)
{
	const struct st_slices *slices = pf->slices;
	struct st_lane_slice slice = {.begin_ns = slices->begin_ns[row],
				      .end_ns = slices->end_ns[row],
				      .row = row,
				      .parent = slices->parent[row]};
	enum st_status status;
	uint32_t lane;

	if (slice.end_ns < slice.begin_ns) /* only in a damaged index */
		slice.end_ns = slice.begin_ns;
	status = add_ends(pf, &slice, err);
	if (status)
		return status;
	lane = st_lanes_begin(&pf->lanes, &slice);
	if (lane == ST_NO_LANE || !add_lane(pf, index, lane))
		return st_pf_out_of_memory(err);
	add_begin(pf, &slice, lane);
	return st_pf_spill(pf, ST_PF_SPILL_BYTES, err);
}

static enum st_status write_thread(struct st_pf *pf, uint32_t index, struct st_error *err)
{
	const struct st_track *track = &pf->tracks[index];
	const struct st_events *events = pf->args.events;
	enum st_status status = ST_OK;

	add_thread(pf, index);
	st_lanes_clear(&pf->lanes);
	pf->lane_count = 0;
	st_thing_args_track(&pf->args, index);
	for (uint32_t row = track->row_begin; row < track->row_end && !status; row++)
		if (!(pf->slices->flags[row] & ST_SLICE_TWIN)) /* the operator is there */
			status = add_slice(pf, index, row, err);
	if (!status)
		status = add_ends(pf, NULL, err);
	if (!status && events->count)
		status = st_pf_write_instants(pf, events->first_of_track[index],
					      events->first_of_track[index + 1], err);
	return status ? status : st_pf_spill(pf, ST_PF_SPILL_BYTES, err);
}

/* A process stands right before its threads: a reader that goes by pid and tid alone then at least
 * gives them to the right one. */
static enum st_status write_trace(struct st_pf *pf, struct st_error *err)
{
	enum st_status status = ST_OK;
	uint32_t next = 0;

	for (uint32_t i = 0; i < pf->process_count && !status; i++) {
		add_process(pf, i);
		for (; next < pf->track_count && !status; next++) {
			uint32_t track = pf->by_process[next];

			if (pf->tracks[track].process != i)
				break;
			status = write_thread(pf, track, err);
		}
	}
	if (!status)
		status = st_pf_write_spans(pf, err);
	if (!status)
		status = st_pf_write_counters(pf, err);
	if (!status)
		status = st_pf_write_samples(pf, &pf->stacks, err);
	return status ? status : st_pf_spill(pf, 0, err);
}

/* Tracks in the order of their processes; a counting sort, which keeps their own order. */
static bool sort_tracks(struct st_pf *pf)
{
	uint32_t *first = calloc((size_t)pf->process_count + 1, sizeof(*first));

	pf->by_process = calloc((size_t)pf->track_count + 1, sizeof(*pf->by_process));
	if (!first || !pf->by_process) {
		free(first);
		return false;
	}
	for (uint32_t i = 0; i < pf->track_count; i++)
		first[pf->tracks[i].process + 1]++;
	for (uint32_t i = 0; i < pf->process_count; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < pf->track_count; i++)
		pf->by_process[first[pf->tracks[i].process]++] = i;
	free(first);
	return true;
}

static void take_first(struct st_pf *pf, int64_t time_ns)
{
	if (time_ns < 0 && 0 - (uint64_t)time_ns > pf->shift_ns)
		pf->shift_ns = 0 - (uint64_t)time_ns;
}

/* Times have no sign: if something lies before the start, all are counted from there. */
static void find_shift(struct st_pf *pf)
{
	const struct st_events *events = pf->args.events;

	for (uint32_t i = 0; i < pf->track_count; i++) {
		const struct st_track *track = &pf->tracks[i];

		if (track->row_begin < track->row_end)
			take_first(pf, pf->slices->begin_ns[track->row_begin]);
	}
	for (uint32_t i = 0; i < events->count; i++)
		take_first(pf, events->rows[i].time_ns);
	for (uint32_t i = 0; i < pf->args.span_count; i++)
		take_first(pf, pf->args.spans[i].begin_ns);
	for (uint32_t i = 0; i < pf->stacks.row_count; i++)
		take_first(pf, pf->stacks.samples->time_ns[pf->stacks.rows[i]]);
}

static bool find_bad_labels(struct st_pf *pf)
{
	pf->label_is_bad = calloc((size_t)pf->label_count + 1, 1);
	if (!pf->label_is_bad)
		return false;
	for (uint32_t i = 0; i < pf->label_count; i++) {
		struct st_text name = st_result_text(pf->result, pf->labels[i].name);

		pf->label_is_bad[i] = !st_utf8_is_valid(name.bytes, name.size_bytes);
	}
	return true;
}

static enum st_status prepare(struct st_pf *pf, struct st_error *err)
{
	size_t texts = (size_t)st_result_text_count(pf->result) + 1;
	enum st_status status = st_ties_make(&pf->ties, pf->result, err);

	if (status)
		return status;
	pf->text_count = st_result_text_count(pf->result);
	pf->names_sent = calloc(texts, sizeof(*pf->names_sent));
	pf->categories_sent = calloc(texts, sizeof(*pf->categories_sent));
	pf->keys_sent = calloc(texts, sizeof(*pf->keys_sent));
	pf->texts_sent = calloc(texts, sizeof(*pf->texts_sent));
	if (!pf->names_sent || !pf->categories_sent || !pf->keys_sent || !pf->texts_sent ||
	    !find_bad_labels(pf) || !sort_tracks(pf) ||
	    !st_thing_args_init(&pf->args, pf->result, &pf->ties) ||
	    !st_places_init(&pf->places, pf->result, &pf->ties))
		return st_pf_out_of_memory(err);
	pf->args.write = st_pf_arg;
	pf->args.to = pf;
	pf->next_uuid = st_pf_thread_uuid(pf, pf->track_count);
	pf->total = (uint64_t)pf->slices->count + pf->args.span_count + pf->args.events->count +
		    pf->stacks.row_count;
	find_shift(pf);
	return ST_OK;
}

static void release(struct st_pf *pf)
{
	st_stacks_fini(&pf->stacks);
	st_places_fini(&pf->places);
	st_thing_args_fini(&pf->args);
	st_ties_fini(&pf->ties);
	st_lanes_fini(&pf->lanes);
	st_buf_fini(&pf->out);
	st_buf_fini(&pf->interned);
	st_buf_fini(&pf->scratch);
	free(pf->by_process);
	free(pf->label_is_bad);
	free(pf->names_sent);
	free(pf->categories_sent);
	free(pf->keys_sent);
	free(pf->texts_sent);
	free(pf->blobs_sent);
	free(pf->lane_uuids);
}

enum st_status st_export_perfetto(const struct st_result *result,
				  const struct st_export_options *options, struct st_sink *sink,
				  struct st_error *err)
{
	struct st_pf pf = {.result = result, .sink = sink};
	enum st_status status;

	pf.processes = st_result_processes(result, &pf.process_count);
	pf.tracks = st_result_tracks(result, &pf.track_count);
	pf.labels = st_result_labels(result, &pf.label_count);
	pf.slices = st_result_slices(result);
	st_buf_init(&pf.out, SIZE_MAX / 4);
	st_buf_init(&pf.interned, SIZE_MAX / 4);
	st_buf_init(&pf.scratch, SIZE_MAX / 4);
	st_lanes_init(&pf.lanes);
	status = st_stacks_init(&pf.stacks, result, options, err);
	if (!status)
		status = prepare(&pf, err);
	if (!status)
		status = write_trace(&pf, err);
	release(&pf);
	return status;
}
