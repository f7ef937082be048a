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
#include "base/vec.h"
#include "export/trace/perfetto_packet.h"
#include "export/protobuf.h"

static void add_text(struct st_pf *pf, uint32_t field, st_string_id id, const char *otherwise)
{
	struct st_text text = st_result_text(pf->walk.result, id);

	if (!text.size_bytes)
		text = (struct st_text){otherwise, strlen(otherwise)};
	if (text.size_bytes)
		st_pb_text(pf->out, field, text.bytes, text.size_bytes);
}

static void write_process(void *to, uint32_t index)
{
	struct st_pf *pf = to;
	const struct st_process *process = &pf->walk.processes[index];
	struct st_buf *out = pf->out;
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
static void write_thread(void *to, uint32_t index)
{
	struct st_pf *pf = to;
	const struct st_track *track = &pf->walk.tracks[index];
	const struct st_process *process = &pf->walk.processes[track->process];
	struct st_buf *out = pf->out;
	size_t message, inner;

	st_pf_sequence_begin(pf, 2 + index);
	message = st_pb_begin(out, ST_PF_PACKET_TRACK_DESCRIPTOR);
	st_pb_u64(out, ST_PF_TRACK_UUID, st_pf_thread_uuid(pf, index));
	st_pb_u64(out, ST_PF_TRACK_PARENT_UUID, st_pf_process_uuid(track->process));
	if (track->kind == ST_TRACK_THREAD) {
		inner = st_pb_begin(out, ST_PF_TRACK_THREAD);
		st_pb_u64(out, ST_PF_THREAD_PID, process->pid);
		st_pb_u64(out, ST_PF_THREAD_TID, track->tid);
		add_text(pf, ST_PF_THREAD_NAME, track->name, st_track_word(track, process));
		st_pb_end(out, inner);
	} else {
		/* A stream is no thread: its number may be a thread's, or another device's stream's. */
		add_text(pf, ST_PF_TRACK_NAME, track->name, st_track_word(track, process));
	}
	st_pb_end(out, message);
	st_pf_packet_end(pf);
	st_lanes_clear(&pf->lanes);
	pf->lane_count = 0;
	pf->track = index;
}

/* A track for a lane of the thread, unless it has one. */
static bool add_lane(struct st_pf *pf, uint32_t lane)
{
	uint64_t thread = st_pf_thread_uuid(pf, pf->track);

	if (lane < pf->lane_count)
		return true;
	if (!ST_VEC_ROOM(pf->lane_uuids, lane, pf->lane_capacity))
		return false;
	pf->lane_count = lane + 1;
	pf->lane_uuids[lane] =
		lane ? st_pf_track(pf, thread, "overlapping tasks", (struct st_text){"", 0})
		     : thread;
	return true;
}

static void add_u64(struct st_pf *pf, enum st_arg_word word, uint64_t value)
{
	st_pf_arg(pf, &(struct st_arg){.form = ST_ARG_IS_U64, .word = word, .number = value});
}

static void add_notes(struct st_pf *pf, uint32_t row, bool is_apart)
{
	const struct st_slices *slices = pf->walk.slices;
	const struct st_label *label = &pf->walk.labels[slices->label[row]];

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
		add_u64(pf, ST_ARG_RECORDED_NS, st_result_wall_ns(pf->walk.result, row));
	if (pf->label_is_bad[slices->label[row]])
		st_pf_check_name(pf, st_result_text(pf->walk.result, label->name));
}

static void add_begin(struct st_pf *pf, const struct st_lane_slice *slice, uint32_t lane)
{
	const struct st_label *label = &pf->walk.labels[pf->walk.slices->label[slice->row]];
	/* The first on a lane beside the thread's own is drawn apart from its parent. */
	bool is_apart = lane && pf->lanes.lanes[lane].is_outermost;

	st_pf_event_begin(pf, &(struct st_pf_event){.type = ST_PF_SLICE_BEGIN,
						    .time_ns = slice->begin_ns,
						    .track = pf->lane_uuids[lane],
						    .title.id = label->name,
						    .category = label->domain});
	add_notes(pf, slice->row, is_apart);
	st_thing_args_slice(&pf->walk.args, slice->row);
	st_pf_flows(pf, st_thing_make(ST_THING_SLICE, slice->row));
	st_pf_event_end(pf);
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
		status = st_stream_spill(&pf->walk.stream, err);
	}
	return status;
}

static enum st_status write_slice(void *to, uint32_t row, struct st_error *err)
{
	struct st_pf *pf = to;
	const struct st_slices *slices = pf->walk.slices;
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
	if (lane == ST_NO_LANE || !add_lane(pf, lane))
		return st_stream_no_memory(&pf->walk.stream, err);
	add_begin(pf, &slice, lane);
	return ST_OK;
}

static enum st_status write_slices_end(void *to, struct st_error *err)
{
	return add_ends(to, NULL, err);
}

static void take_first(struct st_pf *pf, int64_t time_ns)
{
	if (time_ns < 0 && 0 - (uint64_t)time_ns > pf->shift_ns)
		pf->shift_ns = 0 - (uint64_t)time_ns;
}

/* Times have no sign: if something lies before the start, all are counted from there. */
static void find_shift(struct st_pf *pf)
{
	const struct st_events *events = pf->walk.events;

	for (uint32_t i = 0; i < pf->walk.track_count; i++) {
		const struct st_track *track = &pf->walk.tracks[i];

		if (track->row_begin < track->row_end)
			take_first(pf, pf->walk.slices->begin_ns[track->row_begin]);
	}
	for (uint32_t i = 0; i < events->count; i++)
		take_first(pf, events->rows[i].time_ns);
	for (uint32_t i = 0; i < pf->walk.span_count; i++)
		take_first(pf, pf->walk.spans[i].begin_ns);
	for (uint32_t i = 0; i < pf->walk.stacks.row_count; i++)
		take_first(pf, pf->walk.stacks.samples->time_ns[pf->walk.stacks.rows[i]]);
}

static bool find_bad_labels(struct st_pf *pf)
{
	pf->label_is_bad = calloc((size_t)pf->walk.label_count + 1, 1);
	if (!pf->label_is_bad)
		return false;
	for (uint32_t i = 0; i < pf->walk.label_count; i++) {
		struct st_text name = st_result_text(pf->walk.result, pf->walk.labels[i].name);

		pf->label_is_bad[i] = !st_utf8_is_valid(name.bytes, name.size_bytes);
	}
	return true;
}

static enum st_status write_begin(void *to, struct st_error *err)
{
	struct st_pf *pf = to;
	size_t texts;

	pf->text_count = st_result_text_count(pf->walk.result);
	texts = (size_t)pf->text_count + 1;
	pf->names_sent = calloc(texts, sizeof(*pf->names_sent));
	pf->categories_sent = calloc(texts, sizeof(*pf->categories_sent));
	pf->keys_sent = calloc(texts, sizeof(*pf->keys_sent));
	pf->texts_sent = calloc(texts, sizeof(*pf->texts_sent));
	if (!pf->names_sent || !pf->categories_sent || !pf->keys_sent || !pf->texts_sent ||
	    !find_bad_labels(pf))
		return st_stream_no_memory(&pf->walk.stream, err);
	pf->next_uuid = st_pf_thread_uuid(pf, pf->walk.track_count);
	find_shift(pf);
	return ST_OK;
}

enum st_status st_export_perfetto(const struct st_result *result,
				  const struct st_export_options *options, struct st_sink *sink,
				  struct st_error *err)
{
	static const struct st_trace_format format = {.begin = write_begin,
						      .process = write_process,
						      .thread = write_thread,
						      .slice = write_slice,
						      .slices_end = write_slices_end,
						      .instant = st_pf_instant,
						      .spans_begin = st_pf_spans_begin,
						      .span = st_pf_span,
						      .counters_begin = st_pf_counters_begin,
						      .counter = st_pf_counter,
						      .value = st_pf_value,
						      .samples = st_pf_samples};
	struct st_pf pf = {.out = &pf.walk.stream.out};
	enum st_status status = st_trace_init(&pf.walk, result, options, sink, err);

	st_buf_init(&pf.interned, SIZE_MAX / 4);
	pf.walk.args.write = st_pf_arg;
	pf.walk.args.to = &pf;
	if (!status)
		status = st_trace_run(&pf.walk, &format, &pf, err);
	st_pf_samples_destroy(&pf);
	st_lanes_fini(&pf.lanes);
	st_buf_fini(&pf.interned);
	free(pf.label_is_bad);
	free(pf.names_sent);
	free(pf.categories_sent);
	free(pf.keys_sent);
	free(pf.texts_sent);
	free(pf.blobs_sent);
	free(pf.lane_uuids);
	return st_trace_fini(&pf.walk, status, err);
}
