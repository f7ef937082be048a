// SPDX-License-Identifier: Apache-2.0
//
// Perfetto's own trace format: a stream of protobuf packets, each small, none referring forward. Every
// thread is a packet sequence of its own, with its track and with the names it uses, each sent once
// (interned) before the first event that needs it. A task is a begin and an end event. Times are
// nanoseconds since the start of collection on the clock that readers assume when none is named
// (boot time), so that no clock snapshot is needed.
//
// Tracks are known by a number of ours, so that a pid or a tid that was given out twice is two tracks.
#include "export/exporters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/words.h"
#include "base/buf.h"
#include "export/lanes.h"
#include "export/protobuf.h"
#include "store/result.h"

/* Field numbers of the public schema (perfetto_trace.proto), by message. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_FIRST_ON_SEQUENCE = 87,
};
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 }; /* sequence flags */
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT_UUID = 5 };
enum { PROCESS_PID = 1, PROCESS_COMMAND_LINE = 2, PROCESS_NAME = 6, PROCESS_LABELS = 8 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum {
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
};
enum { SLICE_BEGIN = 1, SLICE_END = 2 }; /* event types */
enum {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_TEXT = 6,
	ANNOTATION_TEXT_IID = 17
};
enum {
	INTERNED_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_ANNOTATION_TEXTS = 29,
};
enum { INTERNED_IID = 1, INTERNED_TEXT = 2 };

/* What is told of a task beside its name, category, times and place; numbers are interning ids. */
enum { NOTE_DOMAIN = 1, NOTE_ROW, NOTE_PARENT, NOTE_FLAGS, NOTE_RECORDED_NS };
static const char *const note_names[] = {[NOTE_DOMAIN] = "domain",
					 [NOTE_ROW] = "row",
					 [NOTE_PARENT] = "parent",
					 [NOTE_FLAGS] = "flags",
					 [NOTE_RECORDED_NS] = "recorded_ns"};

enum { SPILL_BYTES = 256 << 10 };

struct perfetto {
	const struct st_result *result;
	const struct st_process *processes;
	const struct st_track *tracks;
	const struct st_label *labels;
	const struct st_slices *slices;
	uint32_t process_count, track_count;
	uint32_t *by_process; /* tracks, those of a process together */
	uint32_t *names_sent; /* by text: the sequence that has it as the name of an event */
	uint32_t *domains_sent;
	uint64_t *lane_uuids; /* of the thread at hand */
	uint32_t lane_count, lane_capacity;
	uint64_t next_uuid;
	uint64_t shift_ns; /* added to every time, when one lies before the start */
	uint32_t sequence;
	struct st_lanes lanes;
	struct st_buf out;
	struct st_sink *sink;
};

static uint64_t process_uuid(uint32_t process)
{
	return 1 + (uint64_t)process;
}

static uint64_t thread_uuid(const struct perfetto *perfetto, uint32_t track)
{
	return 1 + (uint64_t)perfetto->process_count + track;
}

static enum st_status out_of_memory(struct st_error *err)
{
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
}

static enum st_status spill(struct perfetto *perfetto, size_t above, struct st_error *err)
{
	enum st_status status = ST_OK;

	if (perfetto->out.failed)
		return out_of_memory(err);
	if (perfetto->out.size_bytes > above) {
		status = st_sink_write(perfetto->sink, perfetto->out.data, perfetto->out.size_bytes,
				       err);
		st_buf_clear(&perfetto->out);
	}
	return status;
}

static size_t begin_packet(struct perfetto *perfetto, uint32_t flags)
{
	size_t packet = st_pb_begin(&perfetto->out, TRACE_PACKET);

	st_pb_u64(&perfetto->out, PACKET_SEQUENCE_ID, perfetto->sequence);
	st_pb_u64(&perfetto->out, PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}

static void add_text(struct perfetto *perfetto, uint32_t field, st_string_id id,
		     const char *otherwise)
{
	struct st_text text = st_result_text(perfetto->result, id);

	if (!text.size_bytes)
		text = (struct st_text){otherwise, strlen(otherwise)};
	if (text.size_bytes)
		st_pb_text(&perfetto->out, field, text.bytes, text.size_bytes);
}

static void add_process(struct perfetto *perfetto, uint32_t index)
{
	const struct st_process *process = &perfetto->processes[index];
	struct st_buf *out = &perfetto->out;
	size_t packet, track, inner;

	perfetto->sequence = 1;
	packet = begin_packet(perfetto, index == 0 ? STATE_CLEARED : 0);
	if (index == 0)
		st_pb_u64(out, PACKET_FIRST_ON_SEQUENCE, 1);
	track = st_pb_begin(out, PACKET_TRACK_DESCRIPTOR);
	st_pb_u64(out, TRACK_UUID, process_uuid(index));
	inner = st_pb_begin(out, TRACK_PROCESS);
	st_pb_u64(out, PROCESS_PID, process->pid);
	add_text(perfetto, PROCESS_COMMAND_LINE, process->command_line, "");
	add_text(perfetto, PROCESS_NAME, process->name, "process");
	if (process->incarnation) { /* the pid alone does not say which program it was then */
		char label[32];
		int length = snprintf(label, sizeof(label), "exec %u", process->incarnation);

		st_pb_text(out, PROCESS_LABELS, label, (size_t)length);
	}
	st_pb_end(out, inner);
	st_pb_end(out, track);
	st_pb_end(out, packet);
}

static void add_interned(struct st_buf *out, uint32_t field, uint64_t iid, struct st_text text)
{
	size_t entry = st_pb_begin(out, field);

	st_pb_u64(out, INTERNED_IID, iid);
	st_pb_text(out, INTERNED_TEXT, text.bytes, text.size_bytes);
	st_pb_end(out, entry);
}

/* The first packet of a thread: forget what this sequence said before, and who it is. */
static void add_thread(struct perfetto *perfetto, uint32_t index)
{
	const struct st_track *track = &perfetto->tracks[index];
	const struct st_process *process = &perfetto->processes[track->process];
	struct st_buf *out = &perfetto->out;
	size_t packet, message, inner;

	perfetto->sequence = 2 + index;
	packet = begin_packet(perfetto, STATE_CLEARED);
	st_pb_u64(out, PACKET_FIRST_ON_SEQUENCE, 1);
	message = st_pb_begin(out, PACKET_INTERNED_DATA);
	for (uint32_t note = NOTE_DOMAIN; note <= NOTE_RECORDED_NS; note++) {
		struct st_text name = {note_names[note], strlen(note_names[note])};

		add_interned(out, INTERNED_ANNOTATION_NAMES, note, name);
	}
	st_pb_end(out, message);
	message = st_pb_begin(out, PACKET_TRACK_DESCRIPTOR);
	st_pb_u64(out, TRACK_UUID, thread_uuid(perfetto, index));
	st_pb_u64(out, TRACK_PARENT_UUID, process_uuid(track->process));
	inner = st_pb_begin(out, TRACK_THREAD);
	st_pb_u64(out, THREAD_PID, process->pid);
	st_pb_u64(out, THREAD_TID, track->tid);
	add_text(perfetto, THREAD_NAME, track->name,
		 process->pid == track->tid ? "main" : "thread");
	st_pb_end(out, inner);
	st_pb_end(out, message);
	st_pb_end(out, packet);
}

/* A track for a lane of the thread, unless it has one. */
static bool add_lane(struct perfetto *perfetto, uint32_t index, uint32_t lane)
{
	static const char name[] = "overlapping tasks";
	struct st_buf *out = &perfetto->out;
	size_t packet, message;

	if (lane < perfetto->lane_count)
		return true;
	if (lane >= perfetto->lane_capacity) {
		uint32_t capacity = 2 * lane + 8;
		uint64_t *uuids = realloc(perfetto->lane_uuids, capacity * sizeof(*uuids));

		if (!uuids)
			return false;
		perfetto->lane_uuids = uuids;
		perfetto->lane_capacity = capacity;
	}
	perfetto->lane_count = lane + 1;
	perfetto->lane_uuids[lane] = lane ? perfetto->next_uuid++ : thread_uuid(perfetto, index);
	if (!lane)
		return true;
	packet = begin_packet(perfetto, NEEDS_STATE);
	message = st_pb_begin(out, PACKET_TRACK_DESCRIPTOR);
	st_pb_u64(out, TRACK_UUID, perfetto->lane_uuids[lane]);
	st_pb_u64(out, TRACK_PARENT_UUID, thread_uuid(perfetto, index));
	st_pb_text(out, TRACK_NAME, name, sizeof(name) - 1);
	st_pb_end(out, message);
	st_pb_end(out, packet);
	return true;
}

/* The texts of a label that this sequence has not had. Ids are those of the texts, from 1. */
static void intern_label(struct perfetto *perfetto, const struct st_label *label)
{
	bool new_name = perfetto->names_sent[label->name] != perfetto->sequence;
	bool new_domain = perfetto->domains_sent[label->domain] != perfetto->sequence;
	struct st_text domain = st_result_text(perfetto->result, label->domain);
	struct st_buf *out = &perfetto->out;
	size_t message;

	if (!new_name && !new_domain)
		return;
	message = st_pb_begin(out, PACKET_INTERNED_DATA);
	if (new_domain) {
		add_interned(out, INTERNED_CATEGORIES, 1 + (uint64_t)label->domain, domain);
		add_interned(out, INTERNED_ANNOTATION_TEXTS, 1 + (uint64_t)label->domain, domain);
	}
	if (new_name)
		add_interned(out, INTERNED_EVENT_NAMES, 1 + (uint64_t)label->name,
			     st_result_text(perfetto->result, label->name));
	st_pb_end(out, message);
	perfetto->names_sent[label->name] = perfetto->sequence;
	perfetto->domains_sent[label->domain] = perfetto->sequence;
}

static void add_note(struct st_buf *out, uint32_t note, uint32_t field, uint64_t value)
{
	size_t message = st_pb_begin(out, EVENT_ANNOTATIONS);

	st_pb_u64(out, ANNOTATION_NAME_IID, note);
	st_pb_u64(out, field, value);
	st_pb_end(out, message);
}

static void add_notes(struct perfetto *perfetto, uint32_t row, bool is_apart)
{
	const struct st_slices *slices = perfetto->slices;
	const struct st_label *label = &perfetto->labels[slices->label[row]];
	struct st_buf *out = &perfetto->out;

	add_note(out, NOTE_DOMAIN, ANNOTATION_TEXT_IID, 1 + (uint64_t)label->domain);
	add_note(out, NOTE_ROW, ANNOTATION_UINT, row);
	/* Where the drawing shows the task it lies in, nothing needs to say so. */
	if (is_apart && slices->parent[row] != ST_NO_ROW)
		add_note(out, NOTE_PARENT, ANNOTATION_UINT, slices->parent[row]);
	if (slices->flags[row]) {
		const char *flags = st_words_slice_flags(slices->flags[row]);
		size_t message = st_pb_begin(out, EVENT_ANNOTATIONS);

		st_pb_u64(out, ANNOTATION_NAME_IID, NOTE_FLAGS);
		st_pb_text(out, ANNOTATION_TEXT, flags, strlen(flags));
		st_pb_end(out, message);
	}
	if (slices->flags[row] & ST_SLICE_CLIPPED)
		add_note(out, NOTE_RECORDED_NS, ANNOTATION_UINT,
			 st_result_wall_ns(perfetto->result, row));
}

static uint64_t to_timestamp(const struct perfetto *perfetto, int64_t ns)
{
	return (uint64_t)ns + perfetto->shift_ns;
}

static void add_begin(struct perfetto *perfetto, const struct st_lane_slice *slice, uint32_t lane)
{
	const struct st_label *label = &perfetto->labels[perfetto->slices->label[slice->row]];
	size_t packet = begin_packet(perfetto, NEEDS_STATE), event;
	struct st_buf *out = &perfetto->out;
	/* The first on a lane beside the thread's own is drawn apart from its parent. */
	bool is_apart = lane && perfetto->lanes.lanes[lane].is_outermost;

	st_pb_u64(out, PACKET_TIMESTAMP, to_timestamp(perfetto, slice->begin_ns));
	intern_label(perfetto, label);
	event = st_pb_begin(out, PACKET_TRACK_EVENT);
	st_pb_u64(out, EVENT_TYPE, SLICE_BEGIN);
	st_pb_u64(out, EVENT_TRACK_UUID, perfetto->lane_uuids[lane]);
	st_pb_u64(out, EVENT_CATEGORY_IIDS, 1 + (uint64_t)label->domain);
	st_pb_u64(out, EVENT_NAME_IID, 1 + (uint64_t)label->name);
	add_notes(perfetto, slice->row, is_apart);
	st_pb_end(out, event);
	st_pb_end(out, packet);
}

static enum st_status add_ends(struct perfetto *perfetto, const struct st_lane_slice *before,
			       struct st_error *err)
{
	struct st_buf *out = &perfetto->out;
	enum st_status status = ST_OK;
	struct st_lane_end end;

	while (!status && st_lanes_end(&perfetto->lanes, before, &end)) {
		size_t packet = begin_packet(perfetto, NEEDS_STATE), event;

		st_pb_u64(out, PACKET_TIMESTAMP, to_timestamp(perfetto, end.end_ns));
		event = st_pb_begin(out, PACKET_TRACK_EVENT);
		st_pb_u64(out, EVENT_TYPE, SLICE_END);
		st_pb_u64(out, EVENT_TRACK_UUID, perfetto->lane_uuids[end.lane]);
		st_pb_end(out, event);
		st_pb_end(out, packet);
		status = spill(perfetto, SPILL_BYTES, err);
	}
	return status;
}

static enum st_status add_slice(struct perfetto *perfetto, uint32_t index, uint32_t row,
				struct st_error *err)
{
	const struct st_slices *slices = perfetto->slices;
	struct st_lane_slice slice = {.begin_ns = slices->begin_ns[row],
				      .end_ns = slices->end_ns[row],
				      .row = row,
				      .parent = slices->parent[row]};
	enum st_status status;
	uint32_t lane;

	if (slice.end_ns < slice.begin_ns) /* only in a damaged index */
		slice.end_ns = slice.begin_ns;
	status = add_ends(perfetto, &slice, err);
	if (status)
		return status;
	lane = st_lanes_begin(&perfetto->lanes, &slice);
	if (lane == ST_NO_LANE || !add_lane(perfetto, index, lane))
		return out_of_memory(err);
	add_begin(perfetto, &slice, lane);
	return spill(perfetto, SPILL_BYTES, err);
}

static enum st_status write_thread(struct perfetto *perfetto, uint32_t index, struct st_error *err)
{
	const struct st_track *track = &perfetto->tracks[index];
	enum st_status status = ST_OK;

	add_thread(perfetto, index);
	st_lanes_clear(&perfetto->lanes);
	perfetto->lane_count = 0;
	for (uint32_t row = track->row_begin; row < track->row_end && !status; row++)
		status = add_slice(perfetto, index, row, err);
	if (!status)
		status = add_ends(perfetto, NULL, err);
	return status ? status : spill(perfetto, SPILL_BYTES, err);
}

/* A process stands right before its threads: a reader that goes by pid and tid alone then at least
 * gives them to the right one. */
static enum st_status write_trace(struct perfetto *perfetto, struct st_error *err)
{
	enum st_status status = ST_OK;
	uint32_t next = 0;

	for (uint32_t i = 0; i < perfetto->process_count && !status; i++) {
		add_process(perfetto, i);
		for (; next < perfetto->track_count && !status; next++) {
			uint32_t track = perfetto->by_process[next];

			if (perfetto->tracks[track].process != i)
				break;
			status = write_thread(perfetto, track, err);
		}
	}
	return status ? status : spill(perfetto, 0, err);
}

/* Tracks in the order of their processes; a counting sort, which keeps their own order. */
static bool sort_tracks(struct perfetto *perfetto)
{
	uint32_t *first = calloc((size_t)perfetto->process_count + 1, sizeof(*first));

	perfetto->by_process =
		calloc((size_t)perfetto->track_count + 1, sizeof(*perfetto->by_process));
	if (!first || !perfetto->by_process) {
		free(first);
		return false;
	}
	for (uint32_t i = 0; i < perfetto->track_count; i++)
		first[perfetto->tracks[i].process + 1]++;
	for (uint32_t i = 0; i < perfetto->process_count; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < perfetto->track_count; i++)
		perfetto->by_process[first[perfetto->tracks[i].process]++] = i;
	free(first);
	return true;
}

static bool prepare(struct perfetto *perfetto)
{
	size_t text_count = st_result_text_count(perfetto->result);

	perfetto->names_sent = calloc(text_count + 1, sizeof(*perfetto->names_sent));
	perfetto->domains_sent = calloc(text_count + 1, sizeof(*perfetto->domains_sent));
	if (!perfetto->names_sent || !perfetto->domains_sent || !sort_tracks(perfetto))
		return false;
	perfetto->next_uuid = thread_uuid(perfetto, perfetto->track_count);
	for (uint32_t i = 0; i < perfetto->track_count; i++) {
		const struct st_track *track = &perfetto->tracks[i];
		int64_t begin_ns = track->row_begin < track->row_end
					   ? perfetto->slices->begin_ns[track->row_begin]
					   : 0;

		if (begin_ns < 0 && 0 - (uint64_t)begin_ns > perfetto->shift_ns)
			perfetto->shift_ns = 0 - (uint64_t)begin_ns;
	}
	return true;
}

enum st_status st_export_perfetto(const struct st_result *result, struct st_sink *sink,
				  struct st_error *err)
{
	struct perfetto perfetto = {.result = result, .sink = sink};
	uint32_t label_count;
	enum st_status status;

	perfetto.processes = st_result_processes(result, &perfetto.process_count);
	perfetto.tracks = st_result_tracks(result, &perfetto.track_count);
	perfetto.labels = st_result_labels(result, &label_count);
	perfetto.slices = st_result_slices(result);
	st_buf_init(&perfetto.out, SIZE_MAX / 4);
	st_lanes_init(&perfetto.lanes);
	status = prepare(&perfetto) ? write_trace(&perfetto, err) : out_of_memory(err);
	st_lanes_fini(&perfetto.lanes);
	st_buf_fini(&perfetto.out);
	free(perfetto.by_process);
	free(perfetto.names_sent);
	free(perfetto.domains_sent);
	free(perfetto.lane_uuids);
	return status;
}
