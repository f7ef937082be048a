// SPDX-License-Identifier: Apache-2.0
//
// All about one thing that was clicked: what it is, what is around and inside of it, what was told of it, and what it
// is tied to.
#include "analyze/timeline/details.h"

#include <string.h>

#include "analyze/datasets/words.h"
#include "analyze/operators/operator_texts.h"
#include "analyze/torch/frame_names.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "base/search.h"
#include "store/operators.h"
#include "store/samples.h"

enum { FLOWS_MAX = 200, FRAMES_MAX = 256, SEQUENCE_MAX = 32, DEPTH_MAX = 65536, LEVELS = 8 };

static void put_text(struct st_json *json, const char *key, struct st_text text)
{
	st_json_put_bytes(json, key, text.bytes, text.size_bytes);
}

uint32_t st_view_lane_of(struct st_timeline_view *view, enum st_item_kind kind, uint32_t row)
{
	uint32_t track = st_view_track_of(view, kind, row);
	const struct st_lane_index *lanes;

	if (track == ST_NO_ROW || st_view_lanes(view, track, NULL, &lanes, NULL))
		return ST_LANE_NONE;
	for (uint32_t i = 0; i < lanes->lane_count; i++) {
		const struct st_indexed_lane *lane = &lanes->lanes[i];
		const uint32_t *rows = lanes->rows + lane->first;
		int64_t begin_ns = lanes->items.begin_ns[row];
		uint32_t at =
			ST_SEARCH(k, 0, lane->count, lanes->items.begin_ns[rows[k]] < begin_ns);

		/* Several may begin at once, if they last no time. */
		for (; at < lane->count && lanes->items.begin_ns[rows[at]] == begin_ns; at++)
			if (rows[at] == row)
				return i;
	}
	return ST_LANE_NONE;
}

void st_view_put_item(struct st_timeline_view *view, enum st_item_kind kind, uint32_t row,
		      struct st_json *json)
{
	struct st_item_columns items = st_view_columns(view, kind);
	uint32_t track = st_view_track_of(view, kind, row);
	struct st_view_label label = {.name = {"", 0}, .domain = {"", 0}};

	st_view_label(view, items.label[row], &label);
	st_json_put_u64(json, "row", st_view_item_number(view, kind, row));
	st_json_put_text(json, "kind", st_item_words[kind]);
	st_json_put_u64(json, "label", items.label[row]);
	put_text(json, "name", label.name);
	st_json_key(json, "track");
	if (track == ST_NO_ROW)
		st_json_null(json);
	else
		st_json_u64(json, track);
	st_json_put_i64(json, "begin_ns", items.begin_ns[row]);
	st_json_put_i64(json, "end_ns", items.end_ns[row]);
}

static void put_other(struct st_timeline_view *view, const char *key, enum st_item_kind kind,
		      uint32_t row, struct st_json *json)
{
	st_json_key(json, key);
	if (row == ST_NO_ROW) {
		st_json_null(json);
		return;
	}
	st_json_object_begin(json);
	st_view_put_item(view, kind, row, json);
	st_json_object_end(json);
}

/* Arguments ---------------------------------------------------------------------------------------- */

struct arg_writer {
	const struct st_result *result;
	struct st_json *json;
	struct st_buf scratch;
	bool lists[LEVELS];
	unsigned int level;
};

static void put_element(struct st_json *json, struct st_element element)
{
	if (element.form == ST_ELEMENT_DOUBLE)
		st_json_double(json, element.number);
	else if (element.form == ST_ELEMENT_SIGNED)
		st_json_i64(json, (int64_t)element.integer);
	else
		st_json_u64(json, element.integer);
}

static void put_value(struct arg_writer *writer, const struct st_arg *arg)
{
	struct st_json *json = writer->json;
	size_t count;

	switch (arg->form) {
	case ST_ARG_IS_U64:
		st_json_u64(json, arg->number);
		break;
	case ST_ARG_IS_TEXT_ID:
		st_json_bytes(json, st_result_text(writer->result, arg->text_id).bytes,
			      st_result_text(writer->result, arg->text_id).size_bytes);
		break;
	case ST_ARG_IS_VALUES:
		count = st_arg_element_count(arg);
		if (count == 1) {
			put_element(json, st_arg_element(arg, 0));
			break;
		}
		st_json_array_begin(json);
		for (size_t i = 0; i < count; i++)
			put_element(json, st_arg_element(arg, i));
		st_json_array_end(json);
		break;
	default:
		st_json_bytes(json, arg->text.bytes, arg->text.size_bytes);
	}
}

static void write_arg(void *to, const struct st_arg *arg)
{
	struct arg_writer *writer = to;
	struct st_json *json = writer->json;
	struct st_text name;

	if (arg->form == ST_ARG_IS_END) {
		if (writer->lists[--writer->level])
			st_json_array_end(json);
		else
			st_json_object_end(json);
		return;
	}
	if (!writer->level || !writer->lists[writer->level - 1]) {
		name = st_arg_name(arg, writer->result, &writer->scratch);
		st_json_key_bytes(json, name.bytes, name.size_bytes);
	}
	if (arg->form != ST_ARG_IS_GROUP && arg->form != ST_ARG_IS_LIST) {
		put_value(writer, arg);
		return;
	}
	writer->lists[writer->level++] = arg->form == ST_ARG_IS_LIST;
	if (arg->form == ST_ARG_IS_LIST)
		st_json_array_begin(json);
	else
		st_json_object_begin(json);
}

/* What the program told: metadata, ids, callers, relations. */
static void put_args(struct st_timeline_view *view, enum st_item_kind kind, uint32_t number,
		     struct st_json *json)
{
	struct arg_writer writer = {.result = view->result, .json = json};

	st_buf_init(&writer.scratch, 1 << 20);
	view->args.write = write_arg;
	view->args.to = &writer;
	st_json_put_object(json, "args");
	if (kind == ST_ITEM_SLICE) {
		st_thing_args_track(&view->args, view->slices->track[number]);
		st_thing_args_slice(&view->args, number);
	} else if (kind == ST_ITEM_SPAN) {
		st_thing_args_span(&view->args, number);
	} else {
		st_thing_args_event(&view->args, number);
	}
	st_json_object_end(json);
	st_buf_fini(&writer.scratch);
}

/* Operators ---------------------------------------------------------------------------------------- */

static void put_stack(struct st_timeline_view *view, uint32_t node, struct st_json *json)
{
	struct st_frame_names frames;
	struct st_buf text;

	if (!node)
		return;
	st_frame_names_init(&frames, view->result);
	st_buf_init(&text, 1 << 16);
	st_json_put_array(json, "python_stack");
	for (unsigned int i = 0; node && node < frames.nodes->count && i < FRAMES_MAX; i++) {
		st_buf_clear(&text);
		st_frame_text(&frames, node, true, &text);
		st_json_bytes(json, text.data, text.size_bytes);
		node = frames.nodes->parent[node];
	}
	st_json_array_end(json);
	st_buf_fini(&text);
}

/* Operators of one number belong together: forward, its part of the backward pass, and what wraps them. */
static void put_sequence(struct st_timeline_view *view, const struct st_operator *one,
			 struct st_json *json)
{
	uint32_t count, found = 0;
	const struct st_operator *all = st_result_operators(view->result, &count);
	uint32_t process = view->threads[view->slices->track[one->row]].process;

	if (one->sequence == ST_NO_SEQUENCE)
		return;
	st_json_put_i64(json, "sequence", one->sequence);
	st_json_put_array(json, "same_sequence");
	for (uint32_t i = 0; i < count && found < SEQUENCE_MAX; i++) {
		if (all[i].sequence != one->sequence || all[i].row == one->row ||
		    all[i].row >= view->slices->count ||
		    view->threads[view->slices->track[all[i].row]].process != process)
			continue;
		st_json_object_begin(json);
		st_view_put_item(view, ST_ITEM_SLICE, all[i].row, json);
		st_json_object_end(json);
		found++;
	}
	st_json_array_end(json);
}

static void put_operator(struct st_timeline_view *view, uint32_t row, struct st_json *json)
{
	const struct st_operator *found = st_result_operator_of(view->result, row);
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(view->result, &count);
	struct st_arena arena;

	if (!found)
		return;
	st_arena_init(&arena, 1 << 20);
	st_json_put_object(json, "operator");
	if (found->signature < count) {
		const struct st_signature *signature = &signatures[found->signature];

		put_text(json, "input_shapes",
			 st_operator_inputs_shown(signature, ST_INPUTS_SHAPES, &arena));
		put_text(json, "input_types",
			 st_operator_inputs_shown(signature, ST_INPUTS_TYPES, &arena));
		st_json_put_text(json, "scope", st_operator_scope_text(signature->scope));
	}
	st_json_put_u64(json, "self_allocated_bytes", found->allocated);
	st_json_put_u64(json, "self_freed_bytes", found->freed);
	put_sequence(view, found, json);
	put_stack(view, found->stack, json);
	st_json_object_end(json);
	st_arena_fini(&arena);
}

/* Around a slice ----------------------------------------------------------------------------------- */

/* Calls of modules around it, the outermost first. */
static void put_modules(struct st_timeline_view *view, uint32_t row, struct st_json *json)
{
	uint32_t rows[64], count = 0;

	for (uint32_t at = row, i = 0; at != ST_NO_ROW && i < DEPTH_MAX; i++) {
		if (view->labels[view->slices->label[at]].category == ST_CATEGORY_MODULE &&
		    count < sizeof(rows) / sizeof(rows[0]))
			rows[count++] = at;
		at = view->slices->parent[at];
	}
	if (!count)
		return;
	st_json_put_array(json, "modules");
	while (count) {
		uint32_t label = view->slices->label[rows[--count]];
		struct st_text name = st_result_text(view->result, view->labels[label].name);

		st_json_bytes(json, name.bytes, name.size_bytes);
	}
	st_json_array_end(json);
}

/* All that began in it follow it, with what is inside of them. */
static uint32_t children_of(const struct st_timeline_view *view, uint32_t row)
{
	const struct st_slices *slices = view->slices;
	uint32_t end = view->threads[slices->track[row]].row_end, count = 0;

	for (uint32_t i = row + 1; i < end && slices->begin_ns[i] <= slices->end_ns[row]; i++)
		count += slices->parent[i] == row && !(slices->flags[i] & ST_SLICE_TWIN);
	return count;
}

static void put_flows(struct st_timeline_view *view, uint32_t row, struct st_json *json)
{
	static const char *const kinds[] = {"flow", "launch", "enqueue", "backward"};
	uint32_t count, found = 0;
	const struct st_slice_flow *flows = st_result_flows(view->result, &count);

	st_json_put_array(json, "flows");
	for (uint32_t i = 0; i < count && found < FLOWS_MAX; i++) {
		bool is_from = flows[i].from == row;
		uint32_t other = is_from ? flows[i].to : flows[i].from;

		if ((!is_from && flows[i].to != row) || other >= view->slices->count)
			continue;
		st_json_object_begin(json);
		st_view_put_item(view, ST_ITEM_SLICE, other, json);
		st_json_put_text(json, "direction", is_from ? "out" : "in");
		st_json_put_text(
			json, "flow",
			kinds[flows[i].kind < sizeof(kinds) / sizeof(kinds[0]) ? flows[i].kind
									       : 0]);
		st_json_object_end(json);
		found++;
	}
	st_json_array_end(json);
}

/* On a CPU while it was open, by the samples of its own thread. */
static void put_cpu(struct st_timeline_view *view, uint32_t row, struct st_json *json)
{
	const struct st_samples *samples = st_result_samples(view->result);
	uint32_t track = view->slices->track[row], count = 0;
	uint64_t cpu_ns = 0;
	uint32_t at, end;

	if (!samples->count || samples->first_of_track[track] == samples->first_of_track[track + 1])
		return;
	end = samples->first_of_track[track + 1];
	at = ST_SEARCH(i, samples->first_of_track[track], end,
		       samples->time_ns[i] < view->slices->begin_ns[row]);
	for (; at < end && samples->time_ns[at] < view->slices->end_ns[row]; at++) {
		if (samples->flags[at] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
			continue;
		cpu_ns += samples->weight_ns[at];
		count++;
	}
	st_json_put_u64(json, "samples", count);
	st_json_put_u64(json, "cpu_ns", cpu_ns);
}

static uint32_t step_of(const struct st_timeline_view *view, uint32_t track, int64_t time_ns)
{
	const struct st_step_list *list = &view->steps;
	uint32_t at;

	if (!list->count)
		return ST_NO_ROW;
	if (st_step_list_is_timed(list))
		return st_step_at(list, view->result, track, time_ns);
	at = ST_SEARCH(i, 0, list->count,
		       list->steps[i].track < track || (list->steps[i].track == track &&
							list->steps[i].begin_ns <= time_ns));
	if (!at || list->steps[at - 1].track != track || list->steps[at - 1].end_ns < time_ns)
		return ST_NO_ROW;
	return at - 1;
}

static void put_slice(struct st_timeline_view *view, uint32_t row, struct st_json *json)
{
	const struct st_slices *slices = view->slices;
	uint32_t line = st_result_slice_event(view->result, row, ST_EVENT_TASK_LINE);

	st_json_put_u64(json, "wall_ns", st_result_wall_ns(view->result, row));
	st_json_put_u64(json, "self_ns", slices->self_ns[row]);
	st_json_put_text(json, "flags", st_words_slice_flags(slices->flags[row]));
	st_json_put_u64(json, "depth", slices->depth[row]);
	put_other(view, "parent", ST_ITEM_SLICE, slices->parent[row], json);
	st_json_put_u64(json, "child_count", children_of(view, row));
	put_other(view, "step", ST_ITEM_STEP,
		  step_of(view, slices->track[row], slices->begin_ns[row]), json);
	if (line != ST_NO_ROW)
		put_text(json, "python_line",
			 st_result_text(view->result,
					st_result_events(view->result)->rows[line].name));
	put_modules(view, row, json);
	put_operator(view, row, json);
	put_cpu(view, row, json);
	put_flows(view, row, json);
}

static void put_step(struct st_timeline_view *view, uint32_t row, struct st_json *json)
{
	const struct st_one_step *step = &view->steps.steps[row];

	st_json_put_u64(json, "wall_ns", step->wall_ns);
	st_json_put_bool(json, "warm_up", step->is_warm_up);
	if (step->slice != ST_NO_ROW)
		put_other(view, "slice", ST_ITEM_SLICE, step->slice, json);
	if (!view->steps.has_parts || !step->is_whole)
		return;
	st_json_put_object(json, "parts");
	for (unsigned int i = 0; i < ST_STEP_PART_KINDS; i++)
		st_json_put_u64(json, st_step_part_names[i], step->part_ns[i]);
	st_json_object_end(json);
}

/* The next item of the same name on the same track, in order. */
static uint32_t same_name(const struct st_timeline_view *view, enum st_item_kind kind, uint32_t row,
			  int step)
{
	struct st_item_columns items = st_view_columns(view, kind);
	uint32_t index = st_view_track_of(view, kind, row), at = 0;
	const struct st_view_track *track;
	const uint32_t *order = view->items[kind].order;

	if (index == ST_NO_ROW)
		return ST_NO_ROW;
	track = &view->tracks[index];
	if (!order)
		at = row - track->first;
	while (order && at < track->count && order[track->first + at] != row)
		at++;
	for (;;) {
		uint32_t other;

		if ((step < 0 && !at) || (step > 0 && at + 1 >= track->count))
			return ST_NO_ROW;
		at = step < 0 ? at - 1 : at + 1;
		other = order ? order[track->first + at] : track->first + at;
		if (items.label[other] == items.label[row] &&
		    !(kind == ST_ITEM_SLICE && items.flags[other] & ST_SLICE_TWIN))
			return other;
	}
}

enum st_status st_view_event_json(struct st_timeline_view *view, enum st_item_kind kind,
				  uint32_t number, struct st_json *json, struct st_error *err)
{
	uint32_t row = kind < ST_ITEM_KINDS ? st_view_item_row(view, kind, number) : ST_NO_ROW;
	struct st_view_label label;
	uint32_t lane;

	if (row == ST_NO_ROW)
		return st_error_set(err, ST_EUSAGE, 0, "there is no %s %u in this result",
				    kind < ST_ITEM_KINDS ? st_item_words[kind] : "thing", number);
	st_view_put_item(view, kind, row, json);
	if (st_view_label(view, st_view_columns(view, kind).label[row], &label)) {
		put_text(json, "domain", label.domain);
		st_json_put_u64(json, "category", label.category);
		st_json_put_text(json, "category_name", st_view_category(label.category).name);
	}
	lane = st_view_lane_of(view, kind, row);
	st_json_key(json, "lane");
	if (lane == ST_LANE_NONE)
		st_json_null(json);
	else
		st_json_u64(json, lane);
	if (kind == ST_ITEM_SLICE)
		put_slice(view, row, json);
	else if (kind == ST_ITEM_STEP)
		put_step(view, row, json);
	else if (kind == ST_ITEM_CALL)
		put_other(view, "parent", kind, view->items[kind].parent[row], json);
	put_other(view, "previous", kind, same_name(view, kind, row, -1), json);
	put_other(view, "next", kind, same_name(view, kind, row, 1), json);
	if (kind == ST_ITEM_SLICE || kind == ST_ITEM_SPAN || kind == ST_ITEM_MARKER)
		put_args(view, kind, number, json);
	return ST_OK;
}
