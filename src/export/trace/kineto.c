// SPDX-License-Identifier: Apache-2.0
//
// The trace that torch's profiler writes (Kineto's form of the Trace Event Format), for tools that know that one:
// operators are "cpu_op", ranges of the program "user_annotation", calls of modules "python_function", a forward
// operator and its backward node are joined by a "fwdbwd" flow. Names of keys and their order within an event are
// Kineto's. Other tasks are no part of it: `export chrome` has everything.
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/filter.h"
#include "base/json_out.h"
#include "base/vec.h"
#include "export/trace/chrome_parts.h"
#include "export/exporters.h"
#include "export/trace/kineto_parts.h"

static const char wrapper[] = "autograd::engine::evaluate_function: ";

/* An operator as it is written. */
struct line {
	uint32_t slice, row; /* row ST_NO_ROW: a call of a module */
	uint32_t pid, tid;
	uint64_t python_id; /* of a module: its number, and of the one around it, or 0 */
	uint64_t python_parent;
};

static size_t put(char *to, const char *text)
{
	size_t length = strlen(text);

	memcpy(to, text, length);
	return length;
}

static size_t put_number(char *to, const char *key, uint64_t value)
{
	size_t n = put(to, key);

	return n + st_chrome_format_u64(to + n, value);
}

static uint32_t scope_of(const struct st_kineto *kineto, uint32_t row)
{
	uint32_t count, signature = kineto->rows->signature[row];
	const struct st_signature *signatures = st_result_signatures(kineto->result, &count);

	return signature < count ? signatures[signature].scope : (uint32_t)ST_SCOPE_FUNCTION;
}

/* Autograd's wrapper around a node has no sequence number; torch shows that of the node. */
static uint32_t node_of(const struct st_kineto *kineto, uint32_t row)
{
	const struct st_operator_rows *rows = kineto->rows;
	struct st_text name;

	if (st_operator_sequence(rows, row) >= 0 || row + 1 >= rows->count ||
	    rows->parent[row + 1] != row || scope_of(kineto, row + 1) != ST_SCOPE_BACKWARD)
		return row;
	name = rows->texts[ST_BY_OPERATOR].texts[rows->name_of[rows->label[row]]];
	if (name.size_bytes < sizeof(wrapper) - 1 ||
	    memcmp(name.bytes, wrapper, sizeof(wrapper) - 1) != 0)
		return row;
	return row + 1;
}

/* The thread that ran the forward operator; 0 for what is no backward node. */
static uint32_t forward_thread(const struct st_kineto *kineto, uint32_t row)
{
	uint32_t forward = kineto->forwards[row];

	if (scope_of(kineto, row) != ST_SCOPE_BACKWARD)
		return 0;
	return kineto->numbers[kineto->rows->track[forward == ST_NO_ROW ? row : forward]];
}

static void add_flow(struct st_kineto *kineto, const struct line *at)
{
	uint32_t flow = kineto->flows[at->row];
	bool is_end = scope_of(kineto, at->row) == ST_SCOPE_BACKWARD;
	char text[256];
	size_t n = 0;

	n += put(text + n, ",\n{\"ph\":\"");
	n += put(text + n, is_end ? "f" : "s");
	n += put_number(text + n, "\",\"id\":", flow);
	n += put_number(text + n, ",\"pid\":", at->pid);
	n += put_number(text + n, ",\"tid\":", at->tid);
	n += put(text + n, ",\"ts\":");
	n += st_chrome_format_us(text + n,
				 st_kineto_time(kineto, kineto->slices->begin_ns[at->slice]));
	n += put(text + n, ",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\"");
	n += put(text + n, is_end ? ",\"bp\":\"e\"}" : "}");
	st_buf_append(kineto->out, text, n);
}

static size_t put_operator_args(struct st_kineto *kineto, const struct line *at, char *to)
{
	uint32_t node = node_of(kineto, at->row);
	int64_t sequence = st_operator_sequence(kineto->rows, node);
	size_t n = put_number(to, "\"External id\":", kineto->externals[at->row]);

	n += put(to + n, ",\"Record function id\":0");
	if (sequence >= 0) {
		n += put_number(to + n, ",\"Sequence number\":", (uint64_t)sequence);
		n += put_number(to + n, ",\"Fwd thread id\":", forward_thread(kineto, node));
	}
	return n;
}

static size_t put_module_args(const struct line *at, uint32_t label, char *to)
{
	size_t n = put(to, "\"Python parent id\":");

	if (at->python_parent)
		n += st_chrome_format_u64(to + n, at->python_parent);
	else
		n += put(to + n, "null");
	n += put_number(to + n, ",\"Python id\":", at->python_id);
	return n + put_number(to + n, ",\"Python module id\":", label);
}

static void add_line(struct st_kineto *kineto, const struct line *at)
{
	const struct st_slices *slices = kineto->slices;
	uint32_t slice = at->slice, label = slices->label[slice];
	uint32_t track = slices->track[slice];
	int64_t begin = slices->begin_ns[slice], end = st_kineto_slice_end(kineto, slice);
	size_t head = label ? kineto->head_ends[label - 1] : 0;
	char text[512];
	size_t n = 0;

	st_buf_append(kineto->out, ",\n", 2);
	st_buf_append(kineto->out, kineto->heads.data + head, kineto->head_ends[label] - head);
	n += put_number(text + n, ",\"pid\":", at->pid);
	n += put_number(text + n, ",\"tid\":", at->tid);
	n += put(text + n, ",\"ts\":");
	n += st_chrome_format_us(text + n, st_kineto_time(kineto, begin));
	n += put(text + n, ",\"dur\":");
	n += st_chrome_format_us(text + n, end - begin);
	n += put(text + n, ",\"args\":{");
	if (at->row == ST_NO_ROW)
		n += put_module_args(at, label, text + n);
	else
		n += put_operator_args(kineto, at, text + n);
	if (slices->flags[slice] & ST_SLICE_CLIPPED || end != slices->end_ns[slice])
		n += put_number(text + n,
				",\"recorded_ns\":", st_result_wall_ns(kineto->result, slice));
	if (at->tid != kineto->tracks[track].tid)
		n += put_number(text + n, ",\"tid\":", kineto->tracks[track].tid);
	st_buf_append(kineto->out, text, n);
	if (at->row != ST_NO_ROW && kineto->rows->signature[at->row] < kineto->signature_count) {
		uint32_t signature = kineto->rows->signature[at->row];
		size_t from = signature ? kineto->input_ends[signature - 1] : 0;

		st_buf_append(kineto->out, kineto->inputs.data + from,
			      kineto->input_ends[signature] - from);
	}
	n = put_number(text, ",\"Ev Idx\":", kineto->index++);
	n += put(text + n, "}}");
	st_buf_append(kineto->out, text, n);
	if (at->row != ST_NO_ROW && kineto->flows[at->row])
		add_flow(kineto, at);
}

enum st_python_slice st_kineto_kind(const void *of, uint32_t slice)
{
	const struct st_kineto *kineto = of;
	uint32_t row = kineto->rows->row_of_slice[slice];
	uint8_t label = kineto->rows->kind_of[kineto->slices->label[slice]];

	if (!st_kineto_has_slice(kineto, slice))
		return ST_PYTHON_NOTHING;
	if (row != ST_NO_ROW && kineto->rows->slice[row] == slice)
		return ST_PYTHON_OPERATOR;
	/* Calls of Python functions have those of modules among them. */
	return kineto->parts & ST_PART_MODULES && label == ST_LABEL_MODULE && !kineto->call_count
		       ? ST_PYTHON_MODULE
		       : ST_PYTHON_NOTHING;
}

/* Slices of a thread must nest for readers: what ends behind the one around it is drawn as a thread beside. */
static enum st_status choose_lane(struct st_kineto *kineto, struct line *line, uint32_t up,
				  struct st_error *err)
{
	const struct st_slices *slices = kineto->slices;
	const struct st_lane_slice slice = {slices->begin_ns[line->slice],
					    st_kineto_slice_end(kineto, line->slice), line->slice,
					    up};
	struct st_lane_end ended;
	uint32_t lane;

	while (st_lanes_end(&kineto->lanes, &slice, &ended))
		;
	lane = st_lanes_begin(&kineto->lanes, &slice);
	if (lane == 0)
		return ST_OK;
	if (lane == ST_NO_LANE ||
	    (lane > kineto->lane_count && !ST_VEC_PUSH(kineto->lane_tids, kineto->lane_count,
						       kineto->lane_capacity, kineto->ids.next++)))
		return st_stream_no_memory(&kineto->stream, err);
	line->tid = kineto->lane_tids[lane - 1];
	return ST_OK;
}

static void name_module(const struct st_kineto *kineto, struct line *line)
{
	line->python_id = kineto->python.ids[line->slice];
	line->python_parent = kineto->python.parents[line->slice];
}

/* Names are torch's: "torch/nn/modules/linear.py(130): forward", with the line of the definition; of what was running
 * when the window began, with the line it was at. */
static enum st_status write_functions(struct st_kineto *kineto, uint32_t track,
				      struct st_error *err)
{
	enum st_status status = ST_OK;

	for (uint32_t i = 0; i < kineto->python.count && !status; i++) {
		const struct st_function_span *function = &kineto->python.functions[i];
		struct st_kineto_call call = {.begin_ns = function->begin_ns,
					      .end_ns = function->end_ns,
					      .id = function->id,
					      .parent = function->parent};
		struct st_json json;

		st_frame_text(&kineto->python.names, function->node, function->is_running,
			      st_stream_scratch(&kineto->stream));
		call.name = st_stream_text(&kineto->stream);
		st_kineto_call_begin(kineto, &json, track, &call);
		st_kineto_call_end(kineto, &json);
		status = st_stream_spill(&kineto->stream, err);
	}
	return status;
}

/* Functions out of stacks, unless their calls were recorded. */
static bool find_functions(struct st_kineto *kineto, uint32_t track)
{
	bool is_wanted = kineto->parts & (ST_PART_STACKS | ST_PART_MODULES) && !kineto->call_count;

	return !is_wanted || st_python_functions_track(&kineto->python, track);
}

/* drawn: by slice, the innermost one around it or itself that is written. */
static enum st_status write_track(struct st_kineto *kineto, uint32_t track, uint32_t *drawn,
				  struct st_error *err)
{
	const struct st_slices *slices = kineto->slices;
	const struct st_track *about = &kineto->tracks[track];
	enum st_status status = ST_OK;

	if (!find_functions(kineto, track) || !st_kineto_calls_track(kineto, track))
		return st_stream_no_memory(&kineto->stream, err);
	/* In front: where times are equal, readers take what comes first for what is around. */
	status = kineto->call_count ? st_kineto_write_calls(kineto, track, err)
				    : write_functions(kineto, track, err);
	st_lanes_clear(&kineto->lanes);
	kineto->lane_count = 0;
	for (uint32_t slice = about->row_begin; slice < about->row_end && !status; slice++) {
		uint32_t up = slices->parent[slice];
		struct line line = {.slice = slice,
				    .row = ST_NO_ROW,
				    .pid = kineto->ids.pids[about->process],
				    .tid = kineto->ids.tids[track]};
		enum st_python_slice kind = st_kineto_kind(kineto, slice);

		drawn[slice] = up == ST_NO_ROW ? ST_NO_ROW : drawn[up];
		kineto->stream.done++;
		if (kind == ST_PYTHON_NOTHING && st_kineto_is_call(kineto, slice)) {
			st_kineto_write_call(kineto, slice, (uint32_t[]){line.pid, line.tid});
			status = st_stream_spill(&kineto->stream, err);
		}
		if (kind == ST_PYTHON_NOTHING)
			continue;
		if (kind == ST_PYTHON_OPERATOR)
			line.row = kineto->rows->row_of_slice[slice];
		else
			name_module(kineto, &line);
		status = choose_lane(kineto, &line, drawn[slice], err);
		if (status)
			return status;
		drawn[slice] = slice;
		add_line(kineto, &line);
		status = st_stream_spill(&kineto->stream, err);
	}
	return status;
}

static enum st_status write_calls(struct st_kineto *kineto, uint32_t track, struct st_error *err)
{
	if (!st_kineto_calls_track(kineto, track))
		return st_stream_no_memory(&kineto->stream, err);
	return st_kineto_write_calls(kineto, track, err);
}

static enum st_status write_trace(struct st_kineto *kineto, struct st_error *err)
{
	uint32_t *drawn = calloc((size_t)kineto->slices->count + 1, sizeof(*drawn));
	enum st_status status = ST_OK;

	if (!drawn)
		return st_stream_no_memory(&kineto->stream, err);
	st_kineto_begin(kineto);
	for (uint32_t i = 0; i < kineto->track_count && !status; i++) {
		if (kineto->wanted[i] && st_kineto_is_stream(kineto, i))
			status = st_kineto_write_stream(kineto, i, err);
		else if (kineto->wanted[i])
			status = write_track(kineto, i, drawn, err);
		else if (st_kineto_has_calls(kineto, i))
			status = write_calls(kineto, i, err);
	}
	free(drawn);
	if (!status)
		status = st_kineto_write_memory(kineto, err);
	if (status)
		return status;
	st_kineto_end(kineto);
	return ST_OK;
}

/* Which threads the filters let through. */
static enum st_status choose_tracks(struct st_kineto *kineto, struct st_error *err)
{
	struct st_selection selection = {0};
	enum st_status status =
		st_selection_tracks(&selection, &kineto->dataset, kineto->options->question, err);

	for (uint32_t track = 0; track < kineto->track_count; track++)
		kineto->wanted[track] = st_selection_has_track(&selection, track);
	st_selection_fini(&selection);
	return status;
}

/* Threads that have operators, by process, in the order of their first one. */
static void number_threads(struct st_kineto *kineto)
{
	const struct st_dataset *dataset = &kineto->dataset;

	for (uint32_t i = 0; i < kineto->track_count; i++) {
		int64_t first =
			dataset->row_count ? dataset->begin_ns[dataset->tracks[i].begin] : 0;

		if (dataset->tracks[i].begin == dataset->tracks[i].end)
			continue;
		kineto->numbers[i] = 1;
		for (uint32_t j = 0; j < kineto->track_count; j++) {
			const struct st_row_span *span = &dataset->tracks[j];

			if (kineto->tracks[j].process == kineto->tracks[i].process &&
			    span->begin != span->end && dataset->begin_ns[span->begin] < first)
				kineto->numbers[i]++;
		}
	}
}

static bool is_written(const struct st_kineto *kineto, uint32_t row)
{
	return kineto->wanted[kineto->rows->track[row]] &&
	       st_kineto_has_slice(kineto, kineto->rows->slice[row]);
}

/* In the order in which they are written; what they launched names them wherever it stands. */
static void number_operators(struct st_kineto *kineto)
{
	for (uint32_t row = 0; row < kineto->rows->count; row++)
		if (is_written(kineto, row))
			kineto->externals[row] = ++kineto->external;
}

/* A forward operator is the source of one flow: that of the first node that it has. */
static void number_flows(struct st_kineto *kineto)
{
	uint32_t last = 0;

	for (uint32_t row = 0; row < kineto->rows->count; row++) {
		uint32_t forward = kineto->forwards[row];

		if (forward == ST_NO_ROW || kineto->flows[forward] || !is_written(kineto, row) ||
		    !is_written(kineto, forward) ||
		    kineto->rows->begin_ns[forward] > kineto->rows->begin_ns[row])
			continue;
		kineto->flows[forward] = kineto->flows[row] = ++last;
	}
}

static void choose_parts(struct st_kineto *kineto)
{
	const struct st_question *question = kineto->options->question;
	uint32_t moments, on_devices, calls;

	kineto->parts = kineto->options->parts;
	if (!kineto->parts)
		kineto->parts = ST_PART_SHAPES | ST_PART_MEMORY | ST_PART_STACKS | ST_PART_MODULES;
	st_result_traced_calls(kineto->result, &calls);
	if (!kineto->rows->has_stacks && !calls)
		kineto->parts &= ~(unsigned int)ST_PART_STACKS;
	if (!kineto->rows->has_inputs)
		kineto->parts &= ~(unsigned int)ST_PART_SHAPES;
	if (!kineto->rows->has_modules)
		kineto->parts &= ~(unsigned int)ST_PART_MODULES;
	st_result_memory(kineto->result, &moments);
	st_result_device_memory(kineto->result, &on_devices);
	if (!moments && !on_devices)
		kineto->parts &= ~(unsigned int)ST_PART_MEMORY;
	kineto->begin_ns = 0;
	kineto->end_ns = st_result_info(kineto->result)->collected_ns;
	for (uint32_t i = 0; i < kineto->track_count; i++) {
		if (kineto->tracks[i].first_ns < kineto->begin_ns)
			kineto->begin_ns = kineto->tracks[i].first_ns;
		if (kineto->tracks[i].last_ns > kineto->end_ns)
			kineto->end_ns = kineto->tracks[i].last_ns;
	}
	kineto->has_window = question->has_time_range;
	if (!kineto->has_window)
		return;
	if (kineto->begin_ns < question->time_begin_ns)
		kineto->begin_ns = question->time_begin_ns;
	if (kineto->end_ns > question->time_end_ns)
		kineto->end_ns = question->time_end_ns;
	if (kineto->end_ns < kineto->begin_ns)
		kineto->end_ns = kineto->begin_ns;
}

static enum st_status prepare(struct st_kineto *kineto, struct st_error *err)
{
	enum st_status status =
		st_dataset_operators_init(&kineto->dataset, kineto->result, false, err);

	if (status)
		return status;
	kineto->rows = st_dataset_operators(&kineto->dataset);
	choose_parts(kineto);
	kineto->wanted = calloc((size_t)kineto->track_count + 1, sizeof(*kineto->wanted));
	kineto->numbers = calloc((size_t)kineto->track_count + 1, sizeof(*kineto->numbers));
	kineto->flows = calloc((size_t)kineto->rows->count + 1, sizeof(*kineto->flows));
	kineto->externals = calloc((size_t)kineto->rows->count + 1, sizeof(*kineto->externals));
	kineto->forwards = st_operators_forwards(&kineto->dataset, kineto->rows);
	if (!kineto->wanted || !kineto->numbers || !kineto->flows || !kineto->forwards ||
	    !kineto->externals || !st_thread_ids_init(&kineto->ids, kineto->result) ||
	    !st_kineto_make_heads(kineto) || !st_kineto_make_inputs(kineto) ||
	    !st_python_functions_init(&kineto->python, kineto->result, kineto->rows) ||
	    !st_kineto_calls_create(kineto) || !st_kineto_devices_create(kineto))
		return st_stream_no_memory(&kineto->stream, err);
	kineto->python.has_stacks = kineto->parts & ST_PART_STACKS;
	kineto->python.kind = st_kineto_kind;
	kineto->python.kind_arg = kineto;
	status = choose_tracks(kineto, err);
	if (!status) {
		number_threads(kineto);
		number_operators(kineto);
		number_flows(kineto);
	}
	return status;
}

enum st_status st_export_kineto(const struct st_result *result,
				const struct st_export_options *options, struct st_sink *sink,
				struct st_error *err)
{
	struct st_kineto kineto = {.result = result, .options = options, .out = &kineto.stream.out};
	enum st_status status;

	kineto.slices = st_result_slices(result);
	kineto.processes = st_result_processes(result, &kineto.process_count);
	kineto.tracks = st_result_tracks(result, &kineto.track_count);
	st_stream_init(&kineto.stream, sink, "the export");
	kineto.stream.total = kineto.slices->count;
	st_buf_init(&kineto.heads, SIZE_MAX / 4);
	st_buf_init(&kineto.inputs, SIZE_MAX / 4);
	status = prepare(&kineto, err);
	if (!status)
		status = write_trace(&kineto, err);
	if (!status && !kineto.rows->count)
		st_sink_set_empty(sink, "the result has no operators of PyTorch; record them with "
					"strata -collect operators");
	st_lanes_fini(&kineto.lanes);
	st_python_functions_fini(&kineto.python);
	st_kineto_calls_destroy(&kineto);
	st_kineto_devices_destroy(&kineto);
	st_dataset_operators_fini(&kineto.dataset);
	st_thread_ids_fini(&kineto.ids);
	st_buf_fini(&kineto.heads);
	st_buf_fini(&kineto.inputs);
	free(kineto.head_ends);
	free(kineto.input_ends);
	free(kineto.wanted);
	free(kineto.numbers);
	free(kineto.flows);
	free(kineto.forwards);
	free(kineto.externals);
	free(kineto.lane_tids);
	return st_stream_end(&kineto.stream, status, err);
}
