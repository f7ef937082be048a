// SPDX-License-Identifier: Apache-2.0
//
// What lies beside the tasks of the threads in Perfetto's format: instants on the track of the thread, the
// process or the whole; spans on tracks of their own, one group of tracks per kind and domain; counters.
#include "export/trace/perfetto_packet.h"

#include <stdio.h>
#include <string.h>

#include "analyze/datasets/counters.h"
#include "base/json_out.h"
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

static void check_name(struct st_pf *pf, struct st_text name)
{
	if (!st_utf8_is_valid(name.bytes, name.size_bytes))
		st_pf_name_bytes(pf, name);
}

enum st_status st_pf_write_instants(struct st_pf *pf, uint32_t first, uint32_t end,
				    struct st_error *err)
{
	const struct st_event_row *rows = pf->args.events->rows;
	enum st_status status = ST_OK;
	struct st_place place;

	for (uint32_t i = first; i < end && !status; i++, pf->done++) {
		struct st_pf_event event = {.type = ST_PF_INSTANT, .time_ns = rows[i].time_ns};

		if (!st_places_is_instant(&pf->places, i, &place))
			continue;
		event.track = uuid_of(pf, place);
		event.title = st_places_event_title(&pf->places, i);
		event.category = rows[i].domain;
		st_pf_event_begin(pf, &event);
		check_name(pf, event.title.text);
		st_thing_args_event(&pf->args, i);
		st_pf_flows(pf, st_thing_make(ST_THING_EVENT, i));
		st_pf_event_end(pf);
		status = st_pf_spill(pf, ST_PF_SPILL_BYTES, err);
	}
	return status;
}

/* Spans -------------------------------------------------------------------------------------------- */

static uint64_t lane_uuid(struct st_pf *pf, struct st_span_group *group, uint32_t lane)
{
	if (!group->number)
		group->number =
			st_pf_track(pf, uuid_of(pf, group->place), st_span_kind_name(group->kind),
				    st_result_text(pf->result, group->domain));
	/* Lanes of one name are drawn as one track with as many rows as it takes. */
	if (!group->lanes[lane].number)
		group->lanes[lane].number =
			st_pf_track(pf, group->number, st_span_kind_name(group->kind), nothing);
	return group->lanes[lane].number;
}

static bool crosses_threads(const struct st_pf *pf, const struct st_span *span)
{
	return span->begin_track != span->end_track && span->begin_track < pf->track_count &&
	       span->end_track < pf->track_count && !(span->flags & ST_SLICE_UNFINISHED);
}

/* An end of a span on the thread that called it, with the flow that leads from one to the other. */
static void add_edge(struct st_pf *pf, uint32_t index, bool is_end)
{
	const struct st_span *span = &pf->args.spans[index];
	const char *edge = is_end ? "end" : "begin";
	struct st_pf_event event = {.type = ST_PF_INSTANT,
				    .time_ns = is_end ? span->end_ns : span->begin_ns,
				    .title = st_places_span_title(&pf->places, index),
				    .category = span->domain};

	event.track = st_pf_thread_uuid(pf, is_end ? span->end_track : span->begin_track);
	st_pf_event_begin(pf, &event);
	check_name(pf, event.title.text);
	st_pf_arg(pf, &(struct st_arg){.form = ST_ARG_IS_TEXT,
				       .word = ST_ARG_EDGE,
				       .text = {edge, strlen(edge)}});
	st_pb_fixed64(&pf->out, is_end ? ST_PF_EVENT_TERMINATING_FLOW_IDS : ST_PF_EVENT_FLOW_IDS,
		      1 + (uint64_t)pf->ties.flow_count + index);
	st_pf_event_end(pf);
}

static enum st_status add_span(struct st_pf *pf, uint32_t index, struct st_error *err)
{
	const struct st_span *span = &pf->args.spans[index];
	bool crosses = crosses_threads(pf, span);
	struct st_pf_event event = {.type = ST_PF_SLICE_BEGIN,
				    .time_ns = span->begin_ns,
				    .title = st_places_span_title(&pf->places, index),
				    .category = span->domain};
	struct st_span_group *group;
	uint32_t lane;

	group = st_places_span(&pf->places, index, &lane);
	if (!group)
		return st_pf_out_of_memory(err);
	event.track = lane_uuid(pf, group, lane);
	if (crosses)
		add_edge(pf, index, false);
	st_pf_event_begin(pf, &event);
	check_name(pf, event.title.text);
	st_thing_args_span(&pf->args, index);
	st_pf_flows(pf, st_thing_make(ST_THING_SPAN, index));
	if (crosses)
		st_pb_fixed64(&pf->out, ST_PF_EVENT_FLOW_IDS,
			      1 + (uint64_t)pf->ties.flow_count + index);
	st_pf_event_end(pf);
	event.type = ST_PF_SLICE_END;
	event.time_ns = span->end_ns < span->begin_ns ? span->begin_ns : span->end_ns;
	st_pf_event_begin(pf, &event);
	st_pf_event_end(pf);
	if (crosses)
		add_edge(pf, index, true);
	pf->done++;
	return st_pf_spill(pf, ST_PF_SPILL_BYTES, err);
}

enum st_status st_pf_write_spans(struct st_pf *pf, struct st_error *err)
{
	const struct st_events *events = pf->args.events;
	enum st_status status = ST_OK;
	uint32_t family = events->count ? events->first_of_track[pf->track_count] : 0;

	if (!pf->args.span_count && family == events->count)
		return ST_OK;
	st_pf_sequence_begin(pf, 2 + pf->track_count);
	st_pf_packet_end(pf);
	for (uint32_t i = 0; i < pf->args.span_count && !status; i++)
		status = add_span(pf, i, err);
	return status ? status : st_pf_write_instants(pf, family, events->count, err);
}

/* Counters ----------------------------------------------------------------------------------------- */

static uint32_t thread_by_tid(const struct st_pf *pf, uint32_t process, uint64_t tid)
{
	for (uint32_t i = 0; i < pf->track_count; i++) {
		if (pf->tracks[i].process == process && pf->tracks[i].tid == tid)
			return i;
	}
	return ST_NO_ROW;
}

/* A counter belongs to its process, or to the thread that it was said to belong to. */
static struct st_place place_of(const struct st_pf *pf, const struct st_counter *counter)
{
	struct st_place place = {ST_PLACE_PROCESS, counter->definition->process};
	uint32_t count, thread = ST_NO_ROW;
	const struct st_object_fact *facts = st_result_object_facts(pf->result, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (facts[i].object != counter->object)
			continue;
		if (facts[i].type == CONTEXT_TID)
			thread = thread_by_tid(pf, place.index, facts[i].number);
		else if (facts[i].type == CONTEXT_ON_THREAD && facts[i].number &&
			 thread == ST_NO_ROW && counter->sample_count)
			thread = counter->samples[0].track;
	}
	if (thread < pf->track_count)
		place = (struct st_place){ST_PLACE_THREAD, thread};
	return place;
}

static uint64_t add_counter_track(struct st_pf *pf, const struct st_counter *counter)
{
	struct st_text name = st_result_text(pf->result, counter->definition->name);
	struct st_text domain = st_result_text(pf->result, counter->definition->domain);
	struct st_text unit = st_result_text(pf->result, counter->unit);
	struct st_buf *out = &pf->out;
	uint64_t uuid = pf->next_uuid++;
	size_t message, inner;

	if (!name.size_bytes)
		name = (struct st_text){"counter", strlen("counter")};
	st_pf_packet_begin(pf, ST_PF_NEEDS_STATE);
	message = st_pb_begin(out, ST_PF_PACKET_TRACK_DESCRIPTOR);
	st_pb_u64(out, ST_PF_TRACK_UUID, uuid);
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
	return uuid;
}

static enum st_status add_counter(struct st_pf *pf, const struct st_counter *counter,
				  struct st_error *err)
{
	struct st_pf_event event = {.type = ST_PF_COUNTER};
	enum st_status status = ST_OK;

	event.track = add_counter_track(pf, counter);
	for (uint32_t i = 0; i < counter->sample_count && !status; i++) {
		const struct st_counter_sample *sample = &counter->samples[i];
		/* The field for whole numbers has a sign; what does not fit is still told to the digit. */
		bool is_huge = counter->form == ST_COUNTER_UNSIGNED && sample->integer < 0;

		event.time_ns = sample->time_ns;
		st_pf_event_begin(pf, &event);
		if (counter->form == ST_COUNTER_FLOAT || is_huge)
			st_pb_double(&pf->out, ST_PF_EVENT_DOUBLE_COUNTER_VALUE, sample->number);
		else
			st_pb_i64(&pf->out, ST_PF_EVENT_COUNTER_VALUE, sample->integer);
		if (is_huge)
			st_pf_arg(pf, &(struct st_arg){.form = ST_ARG_IS_U64,
						       .word = ST_ARG_VALUE,
						       .number = (uint64_t)sample->integer});
		st_pf_event_end(pf);
		status = st_pf_spill(pf, ST_PF_SPILL_BYTES, err);
	}
	return status;
}

enum st_status st_pf_write_counters(struct st_pf *pf, struct st_error *err)
{
	struct st_counters counters;
	enum st_status status;

	if (!pf->places.object_count)
		return ST_OK;
	status = st_counters_make(&counters, pf->result, err);
	if (status)
		return status;
	if (counters.count) {
		st_pf_sequence_begin(pf, 3 + pf->track_count);
		st_pf_packet_end(pf);
	}
	for (uint32_t i = 0; i < counters.count && !status; i++)
		status = add_counter(pf, &counters.counters[i], err);
	st_counters_fini(&counters);
	return status;
}
