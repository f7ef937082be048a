// SPDX-License-Identifier: Apache-2.0
//
// What lies beside tasks in the Trace Event Format: spans as async events ("b", "e") that share an id with
// others on their lane, instants ("i"), counters ("C"), flows ("s", "f"); and the arguments of them all.
#include "analyze/datasets/dataset_rows.h"
#include "export/trace/chrome_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/itt_values.h"

/* Arguments ---------------------------------------------------------------------------------------- */

static void add_key(struct st_chrome *chrome, const struct st_arg *arg)
{
	struct st_text name;

	if (chrome->level && chrome->lists[chrome->level - 1])
		return;
	name = st_arg_name(arg, chrome->walk.result, &chrome->walk.stream.scratch);
	st_json_key_bytes(&chrome->json, name.bytes, name.size_bytes);
}

/* A text that is no UTF-8, escaped. */
static void add_escaped(struct st_chrome *chrome, enum st_arg_word word, struct st_text text)
{
	struct st_buf *escaped = st_stream_scratch(&chrome->walk.stream);

	st_text_escape(escaped, text);
	st_json_put_bytes(&chrome->json, st_arg_words[word], escaped->data, escaped->size_bytes);
}

/* Text that cannot stand as it is comes as {"escaped": …}, so that nobody mistakes it for the original. */
static void add_any_text(struct st_chrome *chrome, struct st_text text)
{
	struct st_json *json = &chrome->json;

	if (st_utf8_is_valid(text.bytes, text.size_bytes)) {
		st_json_bytes(json, text.bytes, text.size_bytes);
		return;
	}
	st_json_object_begin(json);
	add_escaped(chrome, ST_ARG_ESCAPED, text);
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

static void add_values(struct st_json *json, const struct st_arg *arg)
{
	size_t count = st_arg_element_count(arg);

	if (count != 1)
		st_json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		struct st_element element = st_arg_element(arg, i);

		if (element.form == ST_ELEMENT_DOUBLE)
			add_double(json, element.number);
		else if (element.form == ST_ELEMENT_SIGNED)
			st_json_i64(json, (int64_t)element.integer);
		else
			st_json_u64(json, element.integer);
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
		text = st_result_text(chrome->walk.result, arg->text_id);
		st_json_bytes(&chrome->json, text.bytes, text.size_bytes);
		break;
	case ST_ARG_IS_VALUES:
		add_values(&chrome->json, arg);
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
	st_json_init(&chrome->json, chrome->out);
	chrome->json.has_items = 1; /* the object was begun by hand and has something in it */
	st_thing_args_slice(&chrome->walk.args, row);
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
		event->process < chrome->walk.process_count ? chrome->ids.pids[event->process] : 0;
	char time[32];

	st_buf_append(chrome->out, ",\n", 2);
	st_json_init(json, chrome->out);
	st_json_object_begin(json);
	st_json_put_text(json, "ph", phase);
	st_json_put_text(json, "cat", event->category);
	st_json_put_bytes(json, "name", event->name.bytes, event->name.size_bytes);
	st_json_put_u64(json, "pid", pid);
	st_json_put_u64(json, "tid",
			event->track < chrome->walk.track_count ? chrome->ids.tids[event->track]
								: pid);
	st_json_key(json, "ts");
	/* A number, as it stands. */
	json->after_key = false;
	st_buf_append(chrome->out, time, st_chrome_format_us(time, event->time_ns));
}

static void begin_args(struct st_chrome *chrome, struct st_text name)
{
	st_json_put_object(&chrome->json, "args");
	if (!st_utf8_is_valid(name.bytes, name.size_bytes))
		add_escaped(chrome, ST_ARG_NAME_BYTES, name);
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

	if (!chrome->walk.ties.flow_count)
		return;
	ties = st_ties_of(&chrome->walk.ties, thing, &count);
	event.category = "flow";
	for (size_t i = 0; i < count; i++) {
		const char *name = ties[i].is_launch ? "launch" : "parent";
		bool starts = ties[i].end == ST_TIE_SOURCE ||
			      (ties[i].end == ST_TIE_EITHER && ties[i].is_head);

		if (!ties[i].flow)
			continue;
		if (ties[i].event != ST_NO_ROW)
			name = st_relation_name(chrome->walk.events->rows[ties[i].event].detail);
		event.phase = starts ? 's' : 'f';
		event.name = (struct st_text){name, strlen(name)};
		add_flow(chrome, &event, ties[i].flow);
	}
}

void st_chrome_slice_flows(struct st_chrome *chrome, uint32_t row)
{
	uint32_t track = chrome->walk.slices->track[row];
	struct event event = {.process = chrome->walk.tracks[track].process,
			      .track = track,
			      .time_ns = chrome->walk.slices->begin_ns[row]};

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

/* From the thread that began it to the one that ended it; of a wait from the one that ended it to the one that goes on. */
static void add_crossing(struct st_chrome *chrome, uint32_t index, struct event event)
{
	const struct st_span *span = &chrome->walk.spans[index];
	uint64_t flow = st_trace_crossing(&chrome->walk, index);
	bool is_wait = span->kind == ST_SPAN_WAIT;

	event.category = "flow";
	event.phase = 's';
	if (is_wait) {
		event.track = span->end_track;
		event.time_ns = span->end_ns;
	}
	add_flow(chrome, &event, flow);
	event.phase = 'f';
	event.track = is_wait ? span->begin_track : span->end_track;
	event.time_ns = span->end_ns;
	add_flow(chrome, &event, flow);
}

/* A wait in a function of the C library lies in what its thread does: it is drawn there, in the innermost task, unless
 * that ends before it. */
static bool is_on_thread(const struct st_chrome *chrome, const struct st_span *span)
{
	const struct st_trace_walk *walk = &chrome->walk;

	return st_library_wait(span) && span->begin_track < walk->track_count &&
	       span->end_ns >= span->begin_ns &&
	       (span->slice == ST_NO_ROW ||
		(span->begin_ns >= walk->slices->begin_ns[span->slice] &&
		 span->end_ns <= walk->slices->end_ns[span->slice]));
}

static void add_wait(struct st_chrome *chrome, uint32_t index, struct event event)
{
	const struct st_span *span = &chrome->walk.spans[index];
	char time[32];

	event.phase = 'X';
	begin_event(chrome, &event);
	st_json_key(&chrome->json, "dur");
	chrome->json.after_key = false;
	st_buf_append(chrome->out, time, st_chrome_format_us(time, span->end_ns - span->begin_ns));
	begin_args(chrome, event.name);
	st_thing_args_span(&chrome->walk.args, index);
	end_args(chrome);
	if (st_trace_crosses(&chrome->walk, index))
		add_crossing(chrome, index, event);
}

void st_chrome_span(void *to, uint32_t index, struct st_span_group *group, uint32_t lane)
{
	struct st_chrome *chrome = to;
	const struct st_span *span = &chrome->walk.spans[index];
	struct event event = {.phase = 'b',
			      .category = st_span_kind_word(span->kind),
			      .name = st_places_span_title(&chrome->walk.places, index).text,
			      .process = span->process,
			      .track = span->begin_track,
			      .time_ns = span->begin_ns};

	if (is_on_thread(chrome, span)) {
		add_wait(chrome, index, event);
		return;
	}
	if (!group->lanes[lane].number)
		group->lanes[lane].number = ++chrome->last_lane;
	begin_event(chrome, &event);
	add_lane_id(chrome, group->lanes[lane].number);
	begin_args(chrome, event.name);
	st_thing_args_span(&chrome->walk.args, index);
	end_args(chrome);
	add_flows(chrome, st_thing_make(ST_THING_SPAN, index), event);
	if (st_trace_crosses(&chrome->walk, index))
		add_crossing(chrome, index, event);
	event.phase = 'e';
	event.time_ns = span->end_ns < span->begin_ns ? span->begin_ns : span->end_ns;
	begin_event(chrome, &event);
	add_lane_id(chrome, group->lanes[lane].number);
	st_json_object_end(&chrome->json);
}

/* Instants ----------------------------------------------------------------------------------------- */

void st_chrome_instant(void *to, uint32_t index, struct st_place place)
{
	struct st_chrome *chrome = to;
	static const char *const scopes[] = {
		[ST_PLACE_THREAD] = "t", [ST_PLACE_PROCESS] = "p", [ST_PLACE_GLOBAL] = "g"};
	const struct st_event_row *row = &chrome->walk.events->rows[index];
	struct event event = {.phase = 'i',
			      .category = "instant",
			      .name = st_places_event_title(&chrome->walk.places, index).text,
			      .track = row->track,
			      .time_ns = row->time_ns};

	event.process =
		row->track < chrome->walk.track_count ? chrome->walk.tracks[row->track].process : 0;
	begin_event(chrome, &event);
	st_json_put_text(&chrome->json, "s", scopes[place.owner]);
	begin_args(chrome, event.name);
	st_thing_args_event(&chrome->walk.args, index);
	end_args(chrome);
	add_flows(chrome, st_thing_make(ST_THING_EVENT, index), event);
}

/* Counters ----------------------------------------------------------------------------------------- */

void st_chrome_list_counters(struct st_chrome *chrome, struct st_json *json)
{
	st_json_put_array(json, "counters");
	for (uint32_t i = 0; i < chrome->walk.counters.count; i++) {
		const struct st_counter *counter = &chrome->walk.counters.counters[i];
		const struct {
			const char *key;
			st_string_id id;
		} texts[] = {{"name", counter->definition->name},
			     {"domain", counter->definition->domain},
			     {"unit", counter->unit}};

		st_json_object_begin(json);
		st_json_put_u64(json, "id", i);
		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
			struct st_text text = st_result_text(chrome->walk.result, texts[k].id);

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
bool st_chrome_find_namesakes(struct st_chrome *chrome)
{
	const struct st_counters *counters = &chrome->walk.counters;
	struct named_counter *names = calloc((size_t)counters->count + 1, sizeof(*names));
	bool *found = chrome->namesakes = calloc((size_t)counters->count + 1, sizeof(*found));

	for (uint32_t i = 0; names && i < counters->count; i++)
		names[i] = (struct named_counter){counters->counters[i].definition->process, i,
						  counters->counters[i].definition->name};
	if (names)
		qsort(names, counters->count, sizeof(*names), compare_names);
	for (uint32_t i = 1; names && found && i < counters->count; i++)
		found[names[i].index] = names[i].process == names[i - 1].process &&
					names[i].name == names[i - 1].name;
	free(names);
	return names && found;
}

void st_chrome_counter(void *to, uint32_t counter)
{
	((struct st_chrome *)to)->counter = counter;
}

void st_chrome_value(void *to, const struct st_counter *counter,
		     const struct st_counter_sample *sample)
{
	struct st_chrome *chrome = to;
	struct st_json *json = &chrome->json;
	struct event event = {
		.phase = 'C',
		.category = "counter",
		.name = st_result_text(chrome->walk.result, counter->definition->name),
		.process = counter->definition->process,
		.track = sample->track,
		.time_ns = sample->time_ns};
	char id[24];

	begin_event(chrome, &event);
	if (chrome->namesakes[chrome->counter]) {
		snprintf(id, sizeof(id), "0x%" PRIx32, chrome->counter);
		st_json_put_text(json, "id", id);
	}
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
