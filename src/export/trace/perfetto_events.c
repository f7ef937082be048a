// SPDX-License-Identifier: Apache-2.0
//
// What lies beside the tasks of the threads in Perfetto's format: instants on the track of the thread, the
// process or the whole; spans on tracks of their own, one group of tracks per kind and domain; counters.
#include "export/trace/perfetto_packet.h"

#include <stdio.h>
#include <string.h>

#include "export/protobuf.h"

enum { CONTEXT_TID = 9, CONTEXT_ON_THREAD = 14 };

static const struct st_text nothing = {"", 0};

static uint64_t uuid_of(struct st_pf *pf, struct st_place place)
{
	if (place.owner == ST_PLACE_THREAD)
		return st_pf_thread_uuid(pf, place.index);
	if (place.owner == ST_PLACE_PROCESS)
		return st_pf_process_uuid(place.index);
	if (!pf->global_uuid)
		pf->global_uuid = st_pf_track(pf, 0, "global", nothing);
	return pf->global_uuid;
}

void st_pf_instant(void *to, uint32_t index, struct st_place place)
{
	struct st_pf *pf = to;
	const struct st_event_row *row = &pf->walk.events->rows[index];
	struct st_pf_event event = {.type = ST_PF_INSTANT,
				    .time_ns = row->time_ns,
				    .track = uuid_of(pf, place),
				    .title = st_places_event_title(&pf->walk.places, index),
				    .category = row->domain};

	st_pf_event_begin(pf, &event);
	st_pf_check_name(pf, event.title.text);
	st_thing_args_event(&pf->walk.args, index);
	st_pf_flows(pf, st_thing_make(ST_THING_EVENT, index));
	st_pf_event_end(pf);
}

/* Spans -------------------------------------------------------------------------------------------- */

static uint64_t lane_uuid(struct st_pf *pf, struct st_span_group *group, uint32_t lane)
{
	if (!group->number)
		group->number =
			st_pf_track(pf, uuid_of(pf, group->place), st_span_kind_name(group->kind),
				    st_result_text(pf->walk.result, group->domain));
	/* Lanes of one name are drawn as one track with as many rows as it takes. */
	if (!group->lanes[lane].number)
		group->lanes[lane].number =
			st_pf_track(pf, group->number, st_span_kind_name(group->kind), nothing);
	return group->lanes[lane].number;
}

/* An end of a span on the thread that called it, with the flow that leads from one to the other; of a wait from the one that
 * ended it to the one that goes on. */
static void add_edge(struct st_pf *pf, uint32_t index, bool is_end)
{
	const struct st_span *span = &pf->walk.spans[index];
	const char *edge = is_end ? "end" : "begin";
	bool is_wait = span->kind == ST_SPAN_WAIT;
	struct st_pf_event event = {.type = ST_PF_INSTANT,
				    .time_ns = is_end || is_wait ? span->end_ns : span->begin_ns,
				    .title = st_places_span_title(&pf->walk.places, index),
				    .category = span->domain};

	event.track =
		st_pf_thread_uuid(pf, is_end != is_wait ? span->end_track : span->begin_track);
	st_pf_event_begin(pf, &event);
	st_pf_check_name(pf, event.title.text);
	st_pf_arg(pf, &(struct st_arg){.form = ST_ARG_IS_TEXT,
				       .word = ST_ARG_EDGE,
				       .text = {edge, strlen(edge)}});
	st_pb_fixed64(pf->out, is_end ? ST_PF_EVENT_TERMINATING_FLOW_IDS : ST_PF_EVENT_FLOW_IDS,
		      st_trace_crossing(&pf->walk, index));
	st_pf_event_end(pf);
}

void st_pf_spans_begin(void *to)
{
	struct st_pf *pf = to;

	st_pf_sequence_begin(pf, 2 + pf->walk.track_count);
	st_pf_packet_end(pf);
}

void st_pf_span(void *to, uint32_t index, struct st_span_group *group, uint32_t lane)
{
	struct st_pf *pf = to;
	const struct st_span *span = &pf->walk.spans[index];
	bool crosses = st_trace_crosses(&pf->walk, index);
	struct st_pf_event event = {.type = ST_PF_SLICE_BEGIN,
				    .time_ns = span->begin_ns,
				    .track = lane_uuid(pf, group, lane),
				    .title = st_places_span_title(&pf->walk.places, index),
				    .category = span->domain};

	if (crosses)
		add_edge(pf, index, false);
	st_pf_event_begin(pf, &event);
	st_pf_check_name(pf, event.title.text);
	st_thing_args_span(&pf->walk.args, index);
	st_pf_flows(pf, st_thing_make(ST_THING_SPAN, index));
	if (crosses)
		st_pb_fixed64(pf->out, ST_PF_EVENT_FLOW_IDS, st_trace_crossing(&pf->walk, index));
	st_pf_event_end(pf);
	event.type = ST_PF_SLICE_END;
	event.time_ns = span->end_ns < span->begin_ns ? span->begin_ns : span->end_ns;
	st_pf_event_begin(pf, &event);
	st_pf_event_end(pf);
	if (crosses)
		add_edge(pf, index, true);
}

/* Counters ----------------------------------------------------------------------------------------- */

static uint32_t thread_by_tid(const struct st_pf *pf, uint32_t process, uint64_t tid)
{
	for (uint32_t i = 0; i < pf->walk.track_count; i++) {
		if (pf->walk.tracks[i].process == process && pf->walk.tracks[i].tid == tid)
			return i;
	}
	return ST_NO_ROW;
}

/* A counter belongs to its process, or to the thread that it was said to belong to. */
static struct st_place place_of(const struct st_pf *pf, const struct st_counter *counter)
{
	struct st_place place = {ST_PLACE_PROCESS, counter->definition->process};
	uint32_t count, thread = ST_NO_ROW;
	const struct st_object_fact *facts = st_result_object_facts(pf->walk.result, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (facts[i].object != counter->object)
			continue;
		if (facts[i].type == CONTEXT_TID)
			thread = thread_by_tid(pf, place.index, facts[i].number);
		else if (facts[i].type == CONTEXT_ON_THREAD && facts[i].number &&
			 thread == ST_NO_ROW && counter->sample_count)
			thread = counter->samples[0].track;
	}
	if (thread < pf->walk.track_count)
		place = (struct st_place){ST_PLACE_THREAD, thread};
	return place;
}

void st_pf_counter(void *to, uint32_t index)
{
	struct st_pf *pf = to;
	const struct st_counter *counter = &pf->walk.counters.counters[index];
	struct st_text name = st_result_text(pf->walk.result, counter->definition->name);
	struct st_text domain = st_result_text(pf->walk.result, counter->definition->domain);
	struct st_text unit = st_result_text(pf->walk.result, counter->unit);
	struct st_buf *out = pf->out;
	size_t message, inner;

	pf->counter_uuid = pf->next_uuid++;
	if (!name.size_bytes)
		name = (struct st_text){"counter", strlen("counter")};
	st_pf_packet_begin(pf, ST_PF_NEEDS_STATE);
	message = st_pb_begin(out, ST_PF_PACKET_TRACK_DESCRIPTOR);
	st_pb_u64(out, ST_PF_TRACK_UUID, pf->counter_uuid);
	st_pb_u64(out, ST_PF_TRACK_PARENT_UUID, uuid_of(pf, place_of(pf, counter)));
	st_pb_text(out, ST_PF_TRACK_NAME, name.bytes, name.size_bytes);
	inner = st_pb_begin(out, ST_PF_TRACK_COUNTER);
	if (domain.size_bytes)
		st_pb_text(out, ST_PF_COUNTER_CATEGORIES, domain.bytes, domain.size_bytes);
	if (unit.size_bytes)
		st_pb_text(out, ST_PF_COUNTER_UNIT_NAME, unit.bytes, unit.size_bytes);
	st_pb_end(out, inner);
	if (domain.size_bytes)
		st_pb_text(out, ST_PF_TRACK_DESCRIPTION, domain.bytes, domain.size_bytes);
	st_pb_end(out, message);
	st_pf_packet_end(pf);
}

void st_pf_value(void *to, const struct st_counter *counter, const struct st_counter_sample *sample)
{
	struct st_pf *pf = to;
	/* The field for whole numbers has a sign; what does not fit is still told to the digit. */
	bool is_huge = counter->form == ST_COUNTER_UNSIGNED && sample->integer < 0;

	st_pf_event_begin(pf, &(struct st_pf_event){.type = ST_PF_COUNTER,
						    .track = pf->counter_uuid,
						    .time_ns = sample->time_ns});
	if (counter->form == ST_COUNTER_FLOAT || is_huge)
		st_pb_double(pf->out, ST_PF_EVENT_DOUBLE_COUNTER_VALUE, sample->number);
	else
		st_pb_i64(pf->out, ST_PF_EVENT_COUNTER_VALUE, sample->integer);
	if (is_huge)
		st_pf_arg(pf, &(struct st_arg){.form = ST_ARG_IS_U64,
					       .word = ST_ARG_VALUE,
					       .number = (uint64_t)sample->integer});
	st_pf_event_end(pf);
}

void st_pf_counters_begin(void *to)
{
	struct st_pf *pf = to;

	st_pf_sequence_begin(pf, 3 + pf->walk.track_count);
	st_pf_packet_end(pf);
}
