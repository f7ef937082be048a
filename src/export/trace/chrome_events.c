// SPDX-License-Identifier: Apache-2.0
//
// What lies beside tasks in the Trace Event Format: spans as async events ("b", "e") that share an id with
// others on their lane, instants ("i"), counters ("C"), flows ("s", "f"); and the arguments of them all.
#include "export/trace/chrome_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/itt_values.h"

/* Arguments ---------------------------------------------------------------------------------------- */

static struct st_text word_text(enum st_arg_word word)
{
	return (struct st_text){st_arg_words[word], strlen(st_arg_words[word])};
}

static void add_key(struct st_chrome *chrome, const struct st_arg *arg)
{
	struct st_text text =
		arg->word ? word_text(arg->word) : st_result_text(chrome->result, arg->key);
	bool is_plain = st_utf8_is_valid(text.bytes, text.size_bytes);

	if (chrome->level && chrome->lists[chrome->level - 1])
		return;
	if (arg->repeat || !is_plain) {
		chrome->scratch.size_bytes = 0;
		if (is_plain)
			st_buf_append(&chrome->scratch, text.bytes, text.size_bytes);
		else /* two keys must not become one */
			st_text_escape(&chrome->scratch, text);
		if (arg->repeat)
			st_buf_printf(&chrome->scratch, " #%" PRIu32, arg->repeat);
		text = (struct st_text){(const char *)chrome->scratch.data,
					chrome->scratch.size_bytes};
	}
	st_json_key_bytes(&chrome->json, text.bytes, text.size_bytes);
}

/* Text that cannot stand as it is comes as {"escaped": …}, so that nobody mistakes it for the original. */
static void add_any_text(struct st_chrome *chrome, struct st_text text)
{
	struct st_json *json = &chrome->json;

	if (st_utf8_is_valid(text.bytes, text.size_bytes)) {
		st_json_bytes(json, text.bytes, text.size_bytes);
		return;
	}
	chrome->scratch.size_bytes = 0;
	st_text_escape(&chrome->scratch, text);
	st_json_object_begin(json);
	st_json_put_bytes(json, st_arg_words[ST_ARG_ESCAPED], chrome->scratch.data,
			  chrome->scratch.size_bytes);
	st_json_object_end(json);
}

/* JSON has no numbers for these. */
static void add_double(struct st_json *json, double value)
{
	if (isnan(value))
		st_json_text(json, "NaN");
	else if (isinf(value))
		st_json_text(json, value < 0 ? "-Infinity" : "Infinity");
	else
		st_json_double(json, value);
}

static void add_element(struct st_json *json, uint32_t type, uint64_t bits)
{
	if (type == ST_VALUE_FLOAT || type == ST_VALUE_DOUBLE)
		add_double(json, st_value_number(type, bits));
	else if (type == ST_VALUE_S64 || type == ST_VALUE_S32 || type == ST_VALUE_S16)
		st_json_i64(json, (int64_t)st_value_integer(type, bits));
	else
		st_json_u64(json, st_value_integer(type, bits));
}

static void add_values(struct st_json *json, uint32_t type, struct st_text data)
{
	size_t width = st_value_bytes(type) ? st_value_bytes(type) : 1;
	size_t count = data.size_bytes / width;

	if (count != 1)
		st_json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		uint64_t bits = 0;

		memcpy(&bits, data.bytes + i * width, width);
		add_element(json, type, bits);
	}
	if (count != 1)
		st_json_array_end(json);
}

static void add_value(struct st_chrome *chrome, const struct st_arg *arg)
{
	struct st_text text;

	switch (arg->form) {
	case ST_ARG_IS_U64:
		st_json_u64(&chrome->json, arg->number);
		break;
	case ST_ARG_IS_TEXT_ID:
		text = st_result_text(chrome->result, arg->text_id);
		st_json_bytes(&chrome->json, text.bytes, text.size_bytes);
		break;
	case ST_ARG_IS_VALUES:
		add_values(&chrome->json, arg->type, arg->text);
		break;
	default:
		add_any_text(chrome, arg->text);
		break;
	}
}

void st_chrome_arg(void *to, const struct st_arg *arg)
{
	struct st_chrome *chrome = to;
	struct st_json *json = &chrome->json;

	if (arg->form == ST_ARG_IS_END) {
		if (chrome->lists[--chrome->level])
			st_json_array_end(json);
		else
			st_json_object_end(json);
		return;
	}
	add_key(chrome, arg);
	if (arg->form != ST_ARG_IS_GROUP && arg->form != ST_ARG_IS_LIST) {
		add_value(chrome, arg);
		return;
	}
	chrome->lists[chrome->level++] = arg->form == ST_ARG_IS_LIST;
	if (arg->form == ST_ARG_IS_LIST)
		st_json_array_begin(json);
	else
		st_json_object_begin(json);
}

void st_chrome_slice_args(struct st_chrome *chrome, uint32_t row)
{
	st_json_init(&chrome->json, &chrome->out);
	chrome->json.has_items = 1; /* the object was begun by hand and has something in it */
	st_thing_args_slice(&chrome->args, row);
}

/* Events ------------------------------------------------------------------------------------------- */

struct event {
	char phase;
	const char *category;
	struct st_text name;
	uint32_t process, track; /* track ST_NO_ROW: none */
	int64_t time_ns;
};

/* All that events have in common; the object stays open for more. */
static void begin_event(struct st_chrome *chrome, const struct event *event)
{
	struct st_json *json = &chrome->json;
	char phase[2] = {event->phase, '\0'};
	uint32_t pid =
		event->process < chrome->process_count ? chrome->ids.pids[event->process] : 0;
	char time[32];

	st_buf_append(&chrome->out, ",\n", 2);
	st_json_init(json, &chrome->out);
	st_json_object_begin(json);
	st_json_put_text(json, "ph", phase);
	st_json_put_text(json, "cat", event->category);
	st_json_put_bytes(json, "name", event->name.bytes, event->name.size_bytes);
	st_json_put_u64(json, "pid", pid);
	st_json_put_u64(json, "tid",
			event->track < chrome->track_count ? chrome->ids.tids[event->track] : pid);
	st_json_key(json, "ts");
	/* A number, as it stands. */
	json->after_key = false;
	st_buf_append(&chrome->out, time, st_chrome_format_us(time, event->time_ns));
}

static void begin_args(struct st_chrome *chrome, struct st_text name)
{
	st_json_put_object(&chrome->json, "args");
	if (st_utf8_is_valid(name.bytes, name.size_bytes))
		return;
	chrome->scratch.size_bytes = 0;
	st_text_escape(&chrome->scratch, name);
	st_json_put_bytes(&chrome->json, st_arg_words[ST_ARG_NAME_BYTES], chrome->scratch.data,
			  chrome->scratch.size_bytes);
}

static void end_args(struct st_chrome *chrome)
{
	st_json_object_end(&chrome->json);
	st_json_object_end(&chrome->json);
}

/* Flows -------------------------------------------------------------------------------------------- */

static void add_flow(struct st_chrome *chrome, const struct event *event, uint64_t flow)
{
	struct st_json *json = &chrome->json;

	begin_event(chrome, event);
	st_json_put_u64(json, "id", flow);
	if (event->phase == 'f') {
		st_json_put_text(json, "bp", "e");
	}
	st_json_object_end(json);
}

/* The ends of flows at a thing; `event` says where and when it begins. */
static void add_flows(struct st_chrome *chrome, st_thing thing, struct event event)
{
	const struct st_tie *ties;
	size_t count;

	if (!chrome->ties.flow_count)
		return;
	ties = st_ties_of(&chrome->ties, thing, &count);
	event.category = "flow";
	for (size_t i = 0; i < count; i++) {
		const char *name = "parent";
		bool starts = ties[i].end == ST_TIE_SOURCE ||
			      (ties[i].end == ST_TIE_EITHER && ties[i].is_head);

		if (!ties[i].flow)
			continue;
		if (ties[i].event != ST_NO_ROW)
			name = st_relation_name(chrome->args.events->rows[ties[i].event].detail);
		event.phase = starts ? 's' : 'f';
		event.name = (struct st_text){name, strlen(name)};
		add_flow(chrome, &event, ties[i].flow);
	}
}

void st_chrome_slice_flows(struct st_chrome *chrome, uint32_t row)
{
	uint32_t track = chrome->args.slices->track[row];
	struct event event = {.process = chrome->tracks[track].process,
			      .track = track,
			      .time_ns = chrome->args.slices->begin_ns[row]};

	add_flows(chrome, st_thing_make(ST_THING_SLICE, row), event);
}

/* Spans -------------------------------------------------------------------------------------------- */

static void add_lane_id(struct st_chrome *chrome, uint64_t lane)
{
	struct st_json *json = &chrome->json;
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, lane);
	st_json_put_object(json, "id2");
	st_json_put_text(json, "local", text);
	st_json_object_end(json);
}

/* From the thread that began it to the one that ended it. */
static void add_crossing(struct st_chrome *chrome, uint32_t index, struct event event)
{
	const struct st_span *span = &chrome->args.spans[index];
	uint64_t flow = 1 + (uint64_t)chrome->ties.flow_count + index;

	if (span->begin_track == span->end_track || span->begin_track >= chrome->track_count ||
	    span->end_track >= chrome->track_count || span->flags & ST_SLICE_UNFINISHED)
		return;
	event.category = "flow";
	event.phase = 's';
	add_flow(chrome, &event, flow);
	event.phase = 'f';
	event.track = span->end_track;
	event.time_ns = span->end_ns;
	add_flow(chrome, &event, flow);
}

static enum st_status add_span(struct st_chrome *chrome, uint32_t index, struct st_error *err)
{
	const struct st_span *span = &chrome->args.spans[index];
	struct event event = {.phase = 'b',
			      .category = st_span_kind_word(span->kind),
			      .name = st_places_span_title(&chrome->places, index).text,
			      .process = span->process,
			      .track = span->begin_track,
			      .time_ns = span->begin_ns};
	struct st_span_group *group;
	uint64_t lane_id;
	uint32_t lane;

	group = st_places_span(&chrome->places, index, &lane);
	if (!group)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	if (!group->lanes[lane].number)
		group->lanes[lane].number = ++chrome->last_lane;
	lane_id = group->lanes[lane].number;
	begin_event(chrome, &event);
	add_lane_id(chrome, lane_id);
	begin_args(chrome, event.name);
	st_thing_args_span(&chrome->args, index);
	end_args(chrome);
	add_flows(chrome, st_thing_make(ST_THING_SPAN, index), event);
	add_crossing(chrome, index, event);
	event.phase = 'e';
	event.time_ns = span->end_ns < span->begin_ns ? span->begin_ns : span->end_ns;
	begin_event(chrome, &event);
	add_lane_id(chrome, lane_id);
	st_json_object_end(&chrome->json);
	chrome->done++;
	return st_chrome_spill(chrome, ST_CHROME_SPILL_BYTES, err);
}

/* Instants ----------------------------------------------------------------------------------------- */

static void add_instant(struct st_chrome *chrome, uint32_t index, struct st_place place)
{
	static const char *const scopes[] = {
		[ST_PLACE_THREAD] = "t", [ST_PLACE_PROCESS] = "p", [ST_PLACE_GLOBAL] = "g"};
	const struct st_event_row *row = &chrome->args.events->rows[index];
	struct event event = {.phase = 'i',
			      .category = "instant",
			      .name = st_places_event_title(&chrome->places, index).text,
			      .track = row->track,
			      .time_ns = row->time_ns};

	event.process = row->track < chrome->track_count ? chrome->tracks[row->track].process : 0;
	begin_event(chrome, &event);
	st_json_put_text(&chrome->json, "s", scopes[place.owner]);
	begin_args(chrome, event.name);
	st_thing_args_event(&chrome->args, index);
	end_args(chrome);
	add_flows(chrome, st_thing_make(ST_THING_EVENT, index), event);
}

/* Counters ----------------------------------------------------------------------------------------- */

enum st_status st_chrome_make_counters(struct st_chrome *chrome, struct st_error *err)
{
	enum st_status status;

	if (!chrome->places.object_count)
		return ST_OK;
	status = st_counters_make(&chrome->counters, chrome->result, err);
	chrome->has_counters = !status;
	return status;
}

void st_chrome_list_counters(struct st_chrome *chrome, struct st_json *json)
{
	st_json_put_array(json, "counters");
	for (uint32_t i = 0; i < chrome->counters.count; i++) {
		const struct st_counter *counter = &chrome->counters.counters[i];
		const struct {
			const char *key;
			st_string_id id;
		} texts[] = {{"name", counter->definition->name},
			     {"domain", counter->definition->domain},
			     {"unit", counter->unit}};

		st_json_object_begin(json);
		st_json_put_u64(json, "id", i);
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
			struct st_text text = st_result_text(chrome->result, texts[k].id);

			st_json_put_bytes(json, texts[k].key, text.bytes, text.size_bytes);
		}
		st_json_put_text(json, "type", st_value_type_name(counter->definition->type));
		st_json_put_u64(json, "pid", chrome->ids.pids[counter->definition->process]);
		st_json_object_end(json);
	}
	st_json_array_end(json);
}

struct named_counter {
	uint32_t process, index;
	st_string_id name;
};

static int compare_names(const void *a, const void *b)
{
	const struct named_counter *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Readers know a counter by process and name: the second and later of a name need more. */
static bool *find_namesakes(const struct st_counters *counters)
{
	struct named_counter *names = calloc((size_t)counters->count + 1, sizeof(*names));
	bool *found = calloc((size_t)counters->count + 1, sizeof(*found));

	for (uint32_t i = 0; names && i < counters->count; i++)
		names[i] = (struct named_counter){counters->counters[i].definition->process, i,
						  counters->counters[i].definition->name};
	if (names)
		qsort(names, counters->count, sizeof(*names), compare_names);
	for (uint32_t i = 1; names && found && i < counters->count; i++)
		found[names[i].index] = names[i].process == names[i - 1].process &&
					names[i].name == names[i - 1].name;
	if (!names) {
		free(found);
		found = NULL;
	}
	free(names);
	return found;
}

static void add_sample(struct st_chrome *chrome, const struct st_counter *counter,
		       const struct st_counter_sample *sample)
{
	struct st_json *json = &chrome->json;

	st_json_put_object(json, "args");
	st_json_key(json, "value");
	if (counter->form == ST_COUNTER_FLOAT)
		st_json_double(json, sample->number);
	else if (counter->form == ST_COUNTER_UNSIGNED)
		st_json_u64(json, (uint64_t)sample->integer);
	else
		st_json_i64(json, sample->integer);
	end_args(chrome);
}

static enum st_status add_counter(struct st_chrome *chrome, uint32_t index, bool has_id,
				  struct st_error *err)
{
	const struct st_counter *counter = &chrome->counters.counters[index];
	struct event event = {.phase = 'C',
			      .category = "counter",
			      .name = st_result_text(chrome->result, counter->definition->name),
			      .process = counter->definition->process};
	enum st_status status = ST_OK;
	char id[24];

	snprintf(id, sizeof(id), "0x%" PRIx32, index);
	for (uint32_t i = 0; i < counter->sample_count && !status; i++) {
		event.track = counter->samples[i].track;
		event.time_ns = counter->samples[i].time_ns;
		begin_event(chrome, &event);
		if (has_id) {
			st_json_put_text(&chrome->json, "id", id);
		}
		add_sample(chrome, counter, &counter->samples[i]);
		status = st_chrome_spill(chrome, ST_CHROME_SPILL_BYTES, err);
	}
	return status;
}

static enum st_status write_counters(struct st_chrome *chrome, struct st_error *err)
{
	bool *namesakes = find_namesakes(&chrome->counters);
	enum st_status status = ST_OK;

	if (!namesakes)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	for (uint32_t i = 0; i < chrome->counters.count && !status; i++)
		status = add_counter(chrome, i, namesakes[i], err);
	free(namesakes);
	return status;
}

enum st_status st_chrome_write_events(struct st_chrome *chrome, struct st_error *err)
{
	enum st_status status = ST_OK;
	struct st_place place;

	for (uint32_t i = 0; i < chrome->args.events->count && !status; i++, chrome->done++) {
		if (st_places_is_instant(&chrome->places, i, &place))
			add_instant(chrome, i, place);
		status = st_chrome_spill(chrome, ST_CHROME_SPILL_BYTES, err);
	}
	for (uint32_t i = 0; i < chrome->args.span_count && !status; i++)
		status = add_span(chrome, i, err);
	if (!status && chrome->counters.count)
		status = write_counters(chrome, err);
	return status;
}
