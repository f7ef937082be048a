// SPDX-License-Identifier: Apache-2.0
//
// Reports "torch-averages" and "torch-events": what torch's profiler answers to key_averages() and events(), with its
// attributes as columns.
#include "analyze/torch/report_torch.h"

#include <stdlib.h>

#include "analyze/operators/operator_texts.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/tables/device_titles.h"
#include "analyze/tables/report_make.h"
#include "analyze/reports/report_operators.h"
#include "store/traced_calls.h"

/* Named as the attributes are, which say no unit: times are microseconds, memory is bytes. */
static const struct st_column columns[ST_TORCH_COLUMNS] = {
	[ST_TORCH_KEY] = {"key", "Name", "", true},
	[ST_TORCH_OVERLOAD] = {"overload_name", "Overload Name", "", true},
	[ST_TORCH_COUNT] = {"count", "# of Calls", "", false},
	[ST_TORCH_SELF_CPU] = {"self_cpu_time_total", "Self CPU", "", false},
	[ST_TORCH_CPU_TOTAL] = {"cpu_time_total", "CPU total", "", false},
	[ST_TORCH_CPU_TIME] = {"cpu_time", "CPU time avg", "", false},
	[ST_TORCH_SELF_DEVICE] = {"self_device_time_total", "Self CUDA", "", false},
	[ST_TORCH_DEVICE_TOTAL] = {"device_time_total", "CUDA total", "", false},
	[ST_TORCH_DEVICE_TIME] = {"device_time", "CUDA time avg", "", false},
	[ST_TORCH_ON_DEVICE] = {"is_on_device", "On Device", "", false},
	[ST_TORCH_MEMORY] = {"cpu_memory_usage", "CPU Mem", "", false},
	[ST_TORCH_SELF_MEMORY] = {"self_cpu_memory_usage", "Self CPU Mem", "", false},
	[ST_TORCH_DEVICE_MEMORY] = {"device_memory_usage", "CUDA Mem", "", false},
	[ST_TORCH_SELF_DEVICE_MEMORY] = {"self_device_memory_usage", "Self CUDA Mem", "", false},
	[ST_TORCH_SHAPES] = {"input_shapes", "Input Shapes", "", true},
	[ST_TORCH_STACK] = {"stack", "Source Location", "", true},
	[ST_TORCH_FLOPS] = {"flops", "Total FLOPs", "", false},
	[ST_TORCH_SCOPE] = {"scope", "Scope", "", false},
	[ST_TORCH_USER] = {"is_user_annotation", "User Annotation", "", false},
	[ST_TORCH_PYTHON] = {"is_python_function", "Python Function", "", false},
	[ST_TORCH_ID] = {"id", "Id", "", false},
	[ST_TORCH_PARENT] = {"cpu_parent", "CPU Parent", "", false},
	[ST_TORCH_START] = {"start_us", "Start", "us", false},
	[ST_TORCH_END] = {"end_us", "End", "us", false},
	[ST_TORCH_THREAD] = {"thread", "Thread", "", false},
	[ST_TORCH_PROCESS] = {"process", "Process", "", false},
	[ST_TORCH_FORWARD_THREAD] = {"fwd_thread", "Forward Thread", "", false},
	[ST_TORCH_SEQUENCE] = {"sequence_nr", "Sequence", "", false},
	[ST_TORCH_TRACE_NAME] = {"trace_name", "Trace Name", "", true},
	[ST_TORCH_STRUCTURED_SHAPES] = {"structured_input_shapes", "Structured Input Shapes", "",
					true},
	[ST_TORCH_DTYPES] = {"input_dtypes", "Input Types", "", true},
	[ST_TORCH_PYTHON_ID] = {"python_id", "Python Id", "", false},
	[ST_TORCH_PYTHON_PARENT] = {"python_parent_id", "Python Parent", "", false},
};

/* Texts of signatures, made once each. */
struct texts {
	struct st_text shapes, types;
};

struct place {
	int64_t begin_ns, end_ns;
	uint32_t event; /* row, or behind the rows a moment */
};

static int by_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

static struct place *places_of(const struct st_torch_events *events, uint32_t *count)
{
	const struct st_operator_rows *rows = events->rows;
	struct place *places =
		calloc((size_t)rows->count + events->moment_count + 1, sizeof(*places));

	*count = 0;
	for (uint32_t row = 0; places && row < rows->count; row++)
		if (st_row_is_counted(&events->dataset, row))
			places[(*count)++] =
				(struct place){rows->begin_ns[row], rows->end_ns[row], row};
	for (uint32_t i = 0; places && i < events->moment_count; i++) {
		int64_t ns = events->moments[i]->time_ns;

		places[(*count)++] = (struct place){ns, ns, rows->count + i};
	}
	if (places)
		qsort(places, *count, sizeof(*places), by_time);
	return places;
}

static double us(const struct st_torch_events *events, int64_t ns)
{
	return (double)(ns - events->begin_ns) / 1000;
}

static void place_cells(struct st_cell *cells, const struct st_torch_events *events, uint32_t track)
{
	uint32_t count;
	const struct st_track *on = &st_result_tracks(events->result, &count)[track];

	cells[ST_TORCH_THREAD] = st_cell_u64(on->tid);
	cells[ST_TORCH_PROCESS] =
		st_cell_u64(st_result_processes(events->result, &count)[on->process].pid);
}

static void signature_cells(struct st_cell *cells, const struct st_torch_events *events,
			    struct texts *texts, uint32_t signature)
{
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(events->result, &count);

	if (signature >= count || events->options->hides_shapes ||
	    !(signatures[signature].flags & ST_SIGNATURE_INPUTS))
		return;
	texts += signature;
	if (!texts->shapes.bytes) {
		texts->shapes = st_operator_inputs_copy(
			&signatures[signature], ST_INPUTS_SHAPES_JSON, events->dataset.arena);
		texts->types = st_operator_inputs_copy(
			&signatures[signature], ST_INPUTS_TORCH_TYPES, events->dataset.arena);
	}
	cells[ST_TORCH_STRUCTURED_SHAPES] = st_cell_bytes(texts->shapes);
	cells[ST_TORCH_DTYPES] = st_cell_bytes(texts->types);
}

void st_torch_row_cells(struct st_cell *cells, const struct st_torch_events *events, uint32_t row)
{
	const struct st_operator_rows *rows = events->rows;

	cells[ST_TORCH_KEY] = st_cell_bytes(st_row_name(rows, row));
	cells[ST_TORCH_SCOPE] = st_cell_u64(st_torch_event_scope(events, row));
	cells[ST_TORCH_USER] = st_cell_bool(st_torch_event_is_user(events, row));
	cells[ST_TORCH_PYTHON] = st_cell_bool(st_row_is_call(rows, row));
	cells[ST_TORCH_ON_DEVICE] = st_cell_bool(st_row_is_device(rows, row));
	cells[ST_TORCH_ID] = st_cell_u64(rows->slice[row]);
	if (rows->parent[row] != ST_NO_ROW)
		cells[ST_TORCH_PARENT] = st_cell_u64(rows->slice[rows->parent[row]]);
}

static void row_cells(struct st_cell *cells, const struct st_torch_events *events, uint32_t row)
{
	const struct st_operator_rows *rows = events->rows;
	double total_us = (double)st_row_wall_ns(&events->dataset, row) / 1000;
	uint32_t count, label = rows->label[row];
	const struct st_label *labels = st_result_labels(events->result, &count);
	struct st_text shown = st_row_name(rows, row);
	struct st_text real =
		label < count ? st_result_text(events->result, labels[label].name) : shown;

	st_torch_row_cells(cells, events, row);
	if (real.size_bytes != shown.size_bytes)
		cells[ST_TORCH_TRACE_NAME] = st_cell_bytes(real);
	cells[ST_TORCH_SELF_CPU] = st_cell_double((double)(int64_t)rows->self_ns[row] / 1000);
	cells[ST_TORCH_CPU_TOTAL] = cells[ST_TORCH_CPU_TIME] = st_cell_double(total_us);
	if (st_row_is_device(rows, row))
		cells[ST_TORCH_SELF_CPU] = cells[ST_TORCH_CPU_TOTAL] = cells[ST_TORCH_CPU_TIME] =
			st_cell_double(0);
	cells[ST_TORCH_SELF_DEVICE] =
		st_cell_double(rows->device_ns ? (double)rows->device_ns[row] / 1000 : 0);
	cells[ST_TORCH_DEVICE_TOTAL] = cells[ST_TORCH_DEVICE_TIME] =
		st_cell_double(rows->device_ns ? (double)rows->device_all_ns[row] / 1000 : 0);
	cells[ST_TORCH_MEMORY] = st_cell_i64(events->memory ? events->memory[row] : 0);
	cells[ST_TORCH_SELF_MEMORY] = st_cell_i64(events->memory ? events->self_memory[row] : 0);
	cells[ST_TORCH_DEVICE_MEMORY] =
		st_cell_i64(events->memory ? events->device_memory[row] : 0);
	cells[ST_TORCH_SELF_DEVICE_MEMORY] =
		st_cell_i64(events->memory ? events->self_device_memory[row] : 0);
	cells[ST_TORCH_SHAPES] =
		st_cell_bytes(events->shapes.texts[events->shapes_of[rows->signature[row]]]);
	cells[ST_TORCH_FLOPS] =
		st_cell_u64(events->flops ? events->flops[rows->signature[row]] : 0);
	cells[ST_TORCH_START] = st_cell_double(us(events, rows->begin_ns[row]));
	cells[ST_TORCH_END] = st_cell_double(us(events, rows->end_ns[row]));
	place_cells(cells, events, rows->track[row]);
	cells[ST_TORCH_SEQUENCE] = st_cell_i64(rows->sequence[row]);
	cells[ST_TORCH_FORWARD_THREAD] = st_cell_u64(events->forward_tid[row]);
	if (st_row_is_call(rows, row)) {
		uint32_t call = rows->call[row];
		uint32_t parent = st_result_traced_calls(events->result, &count)[call].parent;

		cells[ST_TORCH_PYTHON_ID] = st_cell_u64((uint64_t)call + 1);
		if (parent != ST_NO_ROW)
			cells[ST_TORCH_PYTHON_PARENT] = st_cell_u64((uint64_t)parent + 1);
	}
}

/* Behind slices and calls of Python functions. */
static uint64_t moment_id(const struct st_torch_events *events,
			  const struct st_memory_moment *moment)
{
	uint32_t calls, count, device_count;
	const struct st_memory_moment *moments = st_result_memory(events->result, &count);
	const struct st_memory_moment *of_devices =
		st_result_device_memory(events->result, &device_count);
	uint64_t first = st_result_slices(events->result)->count;

	st_result_traced_calls(events->result, &calls);
	first += calls;
	return moment->place ? first + count + (uint64_t)(moment - of_devices)
			     : first + (uint64_t)(moment - moments);
}

static void moment_cells(struct st_cell *cells, const struct st_torch_events *events, uint32_t at)
{
	const struct st_memory_moment *moment = events->moments[at];

	cells[ST_TORCH_KEY] = st_cell_text("[memory]");
	for (unsigned int i = ST_TORCH_SELF_CPU; i <= ST_TORCH_DEVICE_TIME; i++)
		cells[i] = st_cell_double(0);
	cells[ST_TORCH_MEMORY] = cells[ST_TORCH_SELF_MEMORY] =
		st_cell_i64(st_torch_cpu_bytes(moment));
	cells[ST_TORCH_DEVICE_MEMORY] = cells[ST_TORCH_SELF_DEVICE_MEMORY] =
		st_cell_i64(st_torch_device_bytes(moment));
	cells[ST_TORCH_SHAPES] = st_cell_text("[]");
	cells[ST_TORCH_SCOPE] = st_cell_u64(ST_SCOPE_FUNCTION);
	cells[ST_TORCH_USER] = cells[ST_TORCH_PYTHON] = cells[ST_TORCH_ON_DEVICE] =
		st_cell_bool(false);
	cells[ST_TORCH_FLOPS] = st_cell_u64(0);
	cells[ST_TORCH_ID] = st_cell_u64(moment_id(events, moment));
	cells[ST_TORCH_START] = cells[ST_TORCH_END] = st_cell_double(us(events, moment->time_ns));
	place_cells(cells, events, moment->track);
	cells[ST_TORCH_FORWARD_THREAD] = cells[ST_TORCH_THREAD];
	cells[ST_TORCH_SEQUENCE] = st_cell_i64(ST_NO_SEQUENCE);
}

bool st_torch_add_events(struct st_report *report, struct st_torch_events *events)
{
	const struct st_operator_rows *rows = events->rows;
	struct st_arena *arena = events->dataset.arena;
	uint32_t count, signature_count;
	struct texts *texts;
	struct place *places = places_of(events, &count);
	bool done;

	st_result_signatures(events->result, &signature_count);
	texts = st_torch_column(events, signature_count, sizeof(*texts));
	done = places && st_torch_events_link(events) &&
	       st_torch_events_stacks(events, events->options->with_stack ? UINT32_MAX : 0) &&
	       !arena->failed;
	for (uint32_t i = 0; done && i < count; i++) {
		struct st_cell *cells = st_report_add(report, 0);

		cells[ST_TORCH_OVERLOAD] = cells[ST_TORCH_STACK] = st_cell_text("");
		cells[ST_TORCH_COUNT] = st_cell_u64(1);
		if (places[i].event < rows->count) {
			row_cells(cells, events, places[i].event);
			cells[ST_TORCH_STACK] = st_cell_bytes(
				events->stacks.texts[events->stack_of[places[i].event]]);
			signature_cells(cells, events, texts, rows->signature[places[i].event]);
		} else {
			moment_cells(cells, events, places[i].event - rows->count);
		}
	}
	free(places);
	return done && !arena->failed;
}

static bool has_operators(const struct st_result *result)
{
	uint32_t count, calls;

	st_result_operators(result, &count);
	st_result_traced_calls(result, &calls);
	return count || calls;
}

static enum st_status build(const struct st_result *result, const struct st_report_options *options,
			    bool (*add)(struct st_report *, struct st_torch_events *),
			    struct st_report *out, struct st_error *err)
{
	struct st_torch_events events;
	enum st_status status =
		st_torch_events_init(&events, result, &options->question, &options->torch, err);

	if (!status) {
		if (!add(out, &events))
			status = st_error_set(err, ST_ENOMEM, 0, "out of memory for operators");
		else
			status = st_torch_lay_out(out, options, err);
		out->empty =
			has_operators(result) ? "No operators match." : st_operators_empty(result);
		st_dataset_hand_over(&events.dataset, st_report_arena(out));
		st_torch_events_fini(&events);
	}
	return status;
}

enum st_status st_report_torch_averages_build(const struct st_report_kind *kind,
					      const struct st_result *result,
					      const struct st_report_options *options,
					      struct st_report *out, struct st_error *err)
{
	(void)kind;
	st_report_columns(out, columns, ST_TORCH_AVERAGE_COLUMNS);
	st_device_titles(out, result);
	return build(result, options, st_torch_add_averages, out, err);
}

enum st_status st_report_torch_events_build(const struct st_report_kind *kind,
					    const struct st_result *result,
					    const struct st_report_options *options,
					    struct st_report *out, struct st_error *err)
{
	(void)kind;
	st_report_columns(out, columns, ST_TORCH_COLUMNS);
	st_device_titles(out, result);
	return build(result, options, st_torch_add_events, out, err);
}
