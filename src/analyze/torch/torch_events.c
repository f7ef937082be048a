// SPDX-License-Identifier: Apache-2.0
//
// Events of torch's profiler out of recorded operators: which, and the memory of each.
#include "analyze/torch/torch_events.h"

#include <string.h>

#include "base/search.h"
#include "analyze/operators/operator_texts.h"
#include "analyze/operators/operator_work.h"

/* Calls are those of all threads that were there when the profile began, as torch has them. */
static bool is_thread_test(const struct st_torch_events *events, const struct st_key_column *keys)
{
	return keys->column == events->rows->track && !keys->map;
}

static bool call_is_selected(const struct st_torch_events *events, uint32_t row)
{
	const struct st_selection *selection = &events->selection;

	for (unsigned int i = 0; i < selection->test_count; i++)
		if (!is_thread_test(events, &selection->tests[i].keys) &&
		    !(selection->tests[i].hits[st_key_of(&selection->tests[i].keys, row)] &
		      ST_HIT_PASS))
			return false;
	return true;
}

static bool is_selected(const struct st_torch_events *events, uint32_t row)
{
	if (st_row_is_call(events->rows, row))
		return call_is_selected(events, row);
	return !(events->dataset.flags[row] & events->dataset.uncounted_flags) &&
	       st_selection_has(&events->selection, row);
}

/* A record of memory has no row: only what its thread decides can choose it. */
static bool moment_is_selected(const struct st_torch_events *events, uint32_t track)
{
	const struct st_selection *selection = &events->selection;

	for (unsigned int i = 0; i < selection->test_count; i++) {
		const struct st_key_column *keys = &selection->tests[i].keys;

		if (keys->column != events->rows->track ||
		    !(selection->tests[i].hits[keys->map ? keys->map[track] : track] & ST_HIT_PASS))
			return false;
	}
	return true;
}

void *st_torch_column(struct st_torch_events *events, uint32_t count, size_t size_bytes)
{
	return st_arena_calloc(events->dataset.arena, (size_t)count + 1, size_bytes);
}

/* What a slice that is no row took belongs to the row that it lies in. */
static bool add_memory(struct st_torch_events *events)
{
	const struct st_operator_rows *rows = events->rows;
	uint32_t count;
	const struct st_operator *items = st_result_operators(events->result, &count);

	events->memory = st_torch_column(events, rows->count, sizeof(*events->memory));
	events->self_memory = st_torch_column(events, rows->count, sizeof(*events->self_memory));
	events->device_memory =
		st_torch_column(events, rows->count, sizeof(*events->device_memory));
	events->self_device_memory =
		st_torch_column(events, rows->count, sizeof(*events->self_device_memory));
	if (events->dataset.arena->failed)
		return false;
	for (uint32_t i = 0; i < count && !rows->has_calls; i++) {
		uint32_t row = rows->row_of_slice[items[i].row];

		if (row != ST_NO_ROW)
			events->self_memory[row] +=
				(int64_t)items[i].allocated - (int64_t)items[i].freed;
	}
	return true;
}

/* Rows come after those around them. */
static void sum_memory(struct st_torch_events *events)
{
	const struct st_operator_rows *rows = events->rows;

	for (uint32_t row = rows->count; row-- > 0;) {
		uint32_t up = rows->parent[row];

		events->memory[row] += events->self_memory[row];
		events->device_memory[row] += events->self_device_memory[row];
		if (up == ST_NO_ROW)
			continue;
		events->memory[up] += events->memory[row];
		events->device_memory[up] += events->device_memory[row];
	}
}

/* The innermost row that was open on that thread then, or ST_NO_ROW. */
static uint32_t row_at(const struct st_torch_events *events, uint32_t track, int64_t ns)
{
	const struct st_operator_rows *rows = events->rows;
	const struct st_row_span *span = &events->dataset.tracks[track];
	uint32_t low = ST_SEARCH(i, span->begin, span->end, rows->begin_ns[i] <= ns), row;

	row = low > span->begin ? low - 1 : ST_NO_ROW;
	while (row != ST_NO_ROW && rows->end_ns[row] < ns)
		row = rows->parent[row];
	return row;
}

int64_t st_torch_device_bytes(const struct st_memory_moment *moment)
{
	enum { CUDA = 1, HIP = 6, XPU = 12, PRIVATE_USE = 20 };
	uint32_t type = moment->place & 0xff;

	if (type != CUDA && type != HIP && type != XPU && type != PRIVATE_USE)
		return 0;
	return (int64_t)moment->allocated - (int64_t)moment->freed;
}

int64_t st_torch_cpu_bytes(const struct st_memory_moment *moment)
{
	return moment->place ? 0 : (int64_t)moment->allocated - (int64_t)moment->freed;
}

/* With calls among the rows what lies in which is a question of time. */
static bool is_in_row(struct st_torch_events *events, const struct st_memory_moment *moment)
{
	const struct st_operator_rows *rows = events->rows;
	uint32_t row = ST_NO_ROW;

	if (rows->has_calls)
		row = row_at(events, moment->track, moment->time_ns);
	else if (moment->row != ST_NO_ROW)
		row = rows->row_of_slice[moment->row];
	if (row == ST_NO_ROW)
		return false;
	events->self_device_memory[row] += st_torch_device_bytes(moment);
	if (rows->has_calls) /* else they came with the operators */
		events->self_memory[row] += st_torch_cpu_bytes(moment);
	return true;
}

static void add_some_moments(struct st_torch_events *events,
			     const struct st_operator_choice *choice,
			     const struct st_memory_moment *moments, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (moments[i].time_ns < choice->begin_ns || moments[i].time_ns > choice->end_ns ||
		    is_in_row(events, &moments[i]) || !moment_is_selected(events, moments[i].track))
			continue;
		events->moments[events->moment_count++] = &moments[i];
	}
}

static bool add_moments(struct st_torch_events *events, const struct st_operator_choice *choice)
{
	uint32_t count, device_count;
	const struct st_memory_moment *moments = st_result_memory(events->result, &count);
	const struct st_memory_moment *of_devices =
		st_result_device_memory(events->result, &device_count);

	events->moments = st_torch_column(events, count + device_count, sizeof(*events->moments));
	if (!events->moments)
		return false;
	add_some_moments(events, choice, moments, count);
	add_some_moments(events, choice, of_devices, device_count);
	return true;
}

/* The last place is that of rows without a signature. */
static bool add_signatures(struct st_torch_events *events)
{
	static const struct st_text none = {"[]", 2};
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(events->result, &count);
	struct st_arena *arena = events->dataset.arena;

	events->shapes_of = st_torch_column(events, count, sizeof(*events->shapes_of));
	if (events->options->with_flops)
		events->flops = st_torch_column(events, count, sizeof(*events->flops));
	if (arena->failed)
		return false;
	st_key_texts_init(&events->shapes);
	events->shapes_of[count] = st_key_texts_add(&events->shapes, none);
	for (uint32_t i = 0; i < count; i++) {
		struct st_text text = none;

		if (signatures[i].scope == ST_SCOPE_MODULE)
			continue;
		if (events->flops)
			events->flops[i] = st_operator_flops_of_torch(
				st_result_text(events->result, signatures[i].name), &signatures[i]);
		if (!events->options->hides_shapes)
			text = st_operator_inputs_copy(&signatures[i], ST_INPUTS_TORCH_SHAPES,
						       arena);
		events->shapes_of[i] = st_key_texts_add(&events->shapes, text);
	}
	return !events->shapes.failed && !arena->failed;
}

/* Rows that are not chosen are marked as such, once. Their time is that of the calls they lie in. */
static void mark_selected(struct st_torch_events *events)
{
	const struct st_operator_rows *rows = events->rows;

	for (uint32_t row = 0; row < rows->count; row++) {
		uint32_t up = rows->parent[row];

		if (is_selected(events, row))
			continue;
		if (rows->has_calls && up != ST_NO_ROW && st_row_is_counted(&events->dataset, up))
			rows->own.self_ns[up] += st_row_wall_ns(&events->dataset, row);
		rows->own.flags[row] |= events->dataset.uncounted_flags;
	}
}

enum st_status st_torch_events_init(struct st_torch_events *out, const struct st_result *result,
				    const struct st_question *question,
				    const struct st_torch_options *options, struct st_error *err)
{
	struct st_operator_choice choice = {.as_torch = true,
					    .has_window = true,
					    .begin_ns = INT64_MIN,
					    .end_ns = INT64_MAX,
					    .with_calls = options->with_stack};
	enum st_status status;

	memset(out, 0, sizeof(*out));
	out->result = result;
	out->options = options;
	if (question->has_time_range) {
		choice.begin_ns = out->begin_ns = question->time_begin_ns;
		choice.end_ns = question->time_end_ns;
	}
	status = st_dataset_operators_choose(&out->dataset, result, &choice, err);
	if (status)
		return status;
	out->rows = st_dataset_operators(&out->dataset);
	status = st_dataset_prepare(&out->dataset, question, err);
	if (!status)
		status = st_selection_init(&out->selection, &out->dataset, question, err);
	if (!status) {
		mark_selected(out);
		if (!add_signatures(out) || !st_operators_add_devices(out->dataset.private_data) ||
		    (options->profile_memory && (!add_memory(out) || !add_moments(out, &choice))))
			status = st_error_set(err, ST_ENOMEM, 0, "out of memory for operators");
		else if (options->profile_memory)
			sum_memory(out);
	}
	if (status)
		st_torch_events_fini(out);
	return status;
}

void st_torch_events_fini(struct st_torch_events *events)
{
	st_key_texts_fini(&events->stacks);
	st_key_texts_fini(&events->shapes);
	st_selection_fini(&events->selection);
	st_dataset_operators_fini(&events->dataset);
	memset(events, 0, sizeof(*events));
}

uint32_t st_torch_event_scope(const struct st_torch_events *events, uint32_t row)
{
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(events->result, &count);
	uint32_t signature = events->rows->signature[row];

	if (signature < count)
		return signatures[signature].scope;
	return st_torch_event_is_user(events, row) ? (uint32_t)ST_SCOPE_USER
						   : (uint32_t)ST_SCOPE_FUNCTION;
}

bool st_torch_event_is_user(const struct st_torch_events *events, uint32_t row)
{
	return events->rows->is_range[events->rows->label[row]];
}
