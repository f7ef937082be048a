/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of Perfetto's trace format: sequences, tracks, events with interned names and annotations. What
 * goes into a trace is perfetto.c's and perfetto_events.c's business.
 */
#ifndef ST_EXPORT_TRACE_PERFETTO_PACKET_H
#define ST_EXPORT_TRACE_PERFETTO_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "export/export.h"
#include "export/trace/lanes.h"
#include "export/trace/places.h"
#include "export/trace/thing_args.h"
#include "export/stacks/stacks.h"
#include "store/events.h"

/* Field numbers of the public schema (perfetto_trace.proto), by message. */
enum { ST_PF_TRACE_PACKET = 1 };
enum {
	ST_PF_PACKET_TIMESTAMP = 8,
	ST_PF_PACKET_SEQUENCE_ID = 10,
	ST_PF_PACKET_TRACK_EVENT = 11,
	ST_PF_PACKET_INTERNED_DATA = 12,
	ST_PF_PACKET_SEQUENCE_FLAGS = 13,
	ST_PF_PACKET_TRACK_DESCRIPTOR = 60,
	ST_PF_PACKET_FIRST_ON_SEQUENCE = 87,
};
enum { ST_PF_STATE_CLEARED = 1, ST_PF_NEEDS_STATE = 2 }; /* sequence flags */
enum {
	ST_PF_TRACK_UUID = 1,
	ST_PF_TRACK_NAME = 2,
	ST_PF_TRACK_PROCESS = 3,
	ST_PF_TRACK_THREAD = 4,
	ST_PF_TRACK_PARENT_UUID = 5,
	ST_PF_TRACK_COUNTER = 8,
	ST_PF_TRACK_DESCRIPTION = 14,
};
enum {
	ST_PF_PROCESS_PID = 1,
	ST_PF_PROCESS_COMMAND_LINE = 2,
	ST_PF_PROCESS_NAME = 6,
	ST_PF_PROCESS_LABELS = 8
};
enum { ST_PF_THREAD_PID = 1, ST_PF_THREAD_TID = 2, ST_PF_THREAD_NAME = 5 };
enum { ST_PF_COUNTER_CATEGORIES = 2, ST_PF_COUNTER_UNIT_NAME = 6 };
enum {
	ST_PF_EVENT_CATEGORY_IIDS = 3,
	ST_PF_EVENT_ANNOTATIONS = 4,
	ST_PF_EVENT_TYPE = 9,
	ST_PF_EVENT_NAME_IID = 10,
	ST_PF_EVENT_TRACK_UUID = 11,
	ST_PF_EVENT_NAME = 23,
	ST_PF_EVENT_COUNTER_VALUE = 30,
	ST_PF_EVENT_DOUBLE_COUNTER_VALUE = 44,
	ST_PF_EVENT_FLOW_IDS = 47,
	ST_PF_EVENT_TERMINATING_FLOW_IDS = 48,
};
enum st_pf_type {
	ST_PF_SLICE_BEGIN = 1,
	ST_PF_SLICE_END = 2,
	ST_PF_INSTANT = 3,
	ST_PF_COUNTER = 4
};

enum { ST_PF_SPILL_BYTES = 256 << 10 };

struct st_pf {
	const struct st_result *result;
	const struct st_process *processes;
	const struct st_track *tracks;
	const struct st_label *labels;
	const struct st_slices *slices;
	uint32_t process_count, track_count, label_count;
	struct st_sink *sink;
	struct st_buf out;
	struct st_buf interned; /* what the packet at hand is the first to need */
	struct st_buf scratch;
	/* By text: the sequence that has it, as the name of an event, as a category, as the name of an
	 * annotation, as its value. */
	uint32_t *names_sent, *categories_sent, *keys_sent, *texts_sent;
	uint32_t *blobs_sent; /* the same by blob, as far as there were any */
	uint32_t blob_capacity, text_count;
	uint32_t sequence;
	uint64_t next_uuid, global_uuid;
	uint64_t shift_ns;    /* added to every time, when one lies before the start */
	uint64_t done, total; /* for the progress: slices, spans and events */
	struct st_stacks stacks;
	struct st_ties ties;
	struct st_thing_args args;
	struct st_places places;
	size_t packet, event; /* open messages */
	struct {	      /* annotations that are open: a group, a list, or a group in a list */
		size_t begin;
		bool is_list;
	} open[8];
	uint32_t open_count;
	/* Of the thread at hand (perfetto.c). */
	uint32_t *by_process;  /* tracks, those of a process together */
	uint8_t *label_is_bad; /* by label: the name is no UTF-8 */
	uint64_t *lane_uuids;
	uint32_t lane_count, lane_capacity;
	struct st_lanes lanes;
};

static inline uint64_t st_pf_process_uuid(uint32_t process)
{
	return 1 + (uint64_t)process;
}

static inline uint64_t st_pf_thread_uuid(const struct st_pf *pf, uint32_t track)
{
	return 1 + (uint64_t)pf->process_count + track;
}

enum st_status st_pf_out_of_memory(struct st_error *err);
/* Writes out what lies in the buffer when it is more than that. */
enum st_status st_pf_spill(struct st_pf *pf, size_t above, struct st_error *err);

/* The first packet of a sequence: forgets the names, and says the names of our annotations. It stays open
 * for a descriptor until st_pf_packet_end. */
void st_pf_sequence_begin(struct st_pf *pf, uint32_t sequence);
void st_pf_packet_begin(struct st_pf *pf, uint32_t flags);
void st_pf_packet_end(struct st_pf *pf);
/* A track with a name and a parent (0: none) of its own packet; returns its uuid. */
uint64_t st_pf_track(struct st_pf *pf, uint64_t parent, const char *name, struct st_text more);

struct st_pf_event {
	enum st_pf_type type;
	int64_t time_ns;
	uint64_t track;
	struct st_title title; /* of a begin or an instant */
	st_string_id category; /* the same; 0 is the empty one */
};
/* Opens an event; annotations and flows come between the two. */
void st_pf_event_begin(struct st_pf *pf, const struct st_pf_event *event);
void st_pf_event_end(struct st_pf *pf);
void st_pf_arg(void *pf, const struct st_arg *arg);	      /* an annotation: st_arg_write */
void st_pf_name_bytes(struct st_pf *pf, struct st_text name); /* of a name that is no UTF-8 */
void st_pf_flows(struct st_pf *pf, st_thing thing);

/* Spans, instants and counters, after the threads (perfetto_events.c). */
enum st_status st_pf_write_instants(struct st_pf *pf, uint32_t first, uint32_t end,
				    struct st_error *err);
enum st_status st_pf_write_spans(struct st_pf *pf, struct st_error *err);
enum st_status st_pf_write_counters(struct st_pf *pf, struct st_error *err);
/* The samples, last (perfetto_samples.c). */
enum st_status st_pf_write_samples(struct st_pf *pf, const struct st_stacks *stacks,
				   struct st_error *err);

#endif
