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

#include "export/trace/lanes.h"
#include "export/trace/walk.h"

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

struct st_pf {
	struct st_trace_walk walk;
	struct st_buf *out;	/* the walk's */
	struct st_buf interned; /* what the packet at hand is the first to need */
	/* By text: the sequence that has it, as the name of an event, as a category, as the name of an
	 * annotation, as its value. */
	uint32_t *names_sent, *categories_sent, *keys_sent, *texts_sent;
	uint32_t *blobs_sent; /* the same by blob, as far as there were any */
	uint32_t blob_capacity, text_count;
	uint32_t sequence;
	uint64_t next_uuid, global_uuid, counter_uuid;
	uint64_t shift_ns;    /* added to every time, when one lies before the start */
	size_t packet, event; /* open messages */
	struct {	      /* annotations that are open: a group, a list, or a group in a list */
		size_t begin;
		bool is_list;
	} open[8];
	uint32_t open_count;
	uint8_t *label_is_bad; /* by label: the name is no UTF-8 */
	/* Of the thread at hand (perfetto.c). */
	uint32_t track;
	uint64_t *lane_uuids;
	uint32_t lane_count, lane_capacity;
	struct st_lanes lanes;
	struct st_pf_samples *samples; /* perfetto_samples.c's; NULL before the first one */
};

static inline uint64_t st_pf_process_uuid(uint32_t process)
{
	return 1 + (uint64_t)process;
}

static inline uint64_t st_pf_thread_uuid(const struct st_pf *pf, uint32_t track)
{
	return 1 + (uint64_t)pf->walk.process_count + track;
}

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
void st_pf_arg(void *pf, const struct st_arg *arg); /* an annotation: st_arg_write */
/* Of a name that is no UTF-8: its bytes, escaped. */
void st_pf_check_name(struct st_pf *pf, struct st_text name);
void st_pf_flows(struct st_pf *pf, st_thing thing);

/* What the walk calls; to is a struct st_pf (perfetto_events.c, perfetto_samples.c). */
void st_pf_instant(void *to, uint32_t event, struct st_place place);
void st_pf_spans_begin(void *to);
void st_pf_span(void *to, uint32_t span, struct st_span_group *group, uint32_t lane);
void st_pf_counters_begin(void *to);
void st_pf_counter(void *to, uint32_t counter);
void st_pf_value(void *to, const struct st_counter *counter,
		 const struct st_counter_sample *sample);
enum st_status st_pf_samples(void *to, uint32_t first, uint32_t end, struct st_error *err);
void st_pf_samples_destroy(struct st_pf *pf);

#endif
