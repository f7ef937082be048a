// SPDX-License-Identifier: Apache-2.0
//
// Tables about what frameworks did: operators, the memory that they took, how they were recorded, steps, and calls of
// Python functions.
#include "analyze/operators/dataset_tasks.h"
#include "analyze/operators/operator_texts.h"
#include "analyze/operators/operator_work.h"
#include "analyze/steps/step_list.h"
#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "base/buf.h"
#include "base/search.h"
#include "store/operators.h"
#include "store/python_calls.h"

#include <stdlib.h>

/* NULL: a slice that only took memory. */
static const struct st_signature *signature_of(const struct st_table_at *at)
{
	const struct st_operator *item = at->item;
	uint32_t count;

	if (item->signature == ST_NO_ROW)
		return NULL;
	return &st_result_signatures(at->tables->result, &count)[item->signature];
}

static struct st_cell operator_name(const struct st_table_at *at)
{
	const struct st_operator *item = at->item;

	return st_cell_bytes(st_slice_name(at->tables->result, item->row));
}

static struct st_cell operator_scope(const struct st_table_at *at)
{
	const struct st_signature *signature = signature_of(at);

	return signature ? st_cell_text(st_operator_scope_text(signature->scope)) : st_no_cell();
}

/* Both texts are JSON. */
static struct st_cell operator_inputs(const struct st_table_at *at)
{
	const struct st_signature *signature = signature_of(at);
	struct st_buf text;

	if (!signature || !(signature->flags & ST_SIGNATURE_INPUTS))
		return st_no_cell();
	st_buf_init(&text, ST_INPUTS_TEXT_MAX);
	st_operator_inputs_text(&text, signature, (enum st_inputs_form)at->column->arg);
	return st_buf_cell(at, &text);
}

static struct st_cell operator_sequence(const struct st_table_at *at)
{
	const struct st_operator *item = at->item;

	return item->sequence == ST_NO_SEQUENCE ? st_no_cell() : st_cell_i64(item->sequence);
}

static struct st_cell operator_cut(const struct st_table_at *at)
{
	const struct st_signature *signature = signature_of(at);

	return signature ? st_cell_u64((signature->flags & ST_SIGNATURE_CUT) != 0) : st_no_cell();
}

/* Modules have no work of their own. */
static struct st_operator_work work_of(const struct st_table_at *at)
{
	const struct st_signature *signature = signature_of(at);

	if (!signature || signature->scope == ST_SCOPE_MODULE)
		return (struct st_operator_work){0};
	return st_operator_work(st_result_text(at->tables->result, signature->name), signature);
}

static struct st_cell operator_flops(const struct st_table_at *at)
{
	struct st_operator_work work = work_of(at);

	return work.has_flops ? st_cell_i64((int64_t)work.flops) : st_no_cell();
}

static struct st_cell operator_moved(const struct st_table_at *at)
{
	struct st_operator_work work = work_of(at);

	return work.has_bytes ? st_cell_i64((int64_t)work.bytes) : st_no_cell();
}

static struct st_cell operator_torch_flops(const struct st_table_at *at)
{
	const struct st_signature *signature = signature_of(at);
	uint64_t flops = 0;

	if (signature && signature->scope != ST_SCOPE_MODULE)
		flops = st_operator_flops_of_torch(
			st_result_text(at->tables->result, signature->name), signature);
	return flops ? st_cell_i64((int64_t)flops) : st_no_cell();
}

static const struct st_table_column operators_columns[] = {
	{"row", "row in slices", ST_NUMBER(struct st_operator, row)},
	{"name", "name of the operator, range or module", ST_TEXT, .cell = operator_name},
	{"scope", "'function', 'backward', 'user', 'module' …; NULL: it only allocated memory",
	 ST_TEXT, .cell = operator_scope},
	{"shapes", "shapes of its inputs: '[[8, 3, 32, 32], []]'; NULL: not recorded", ST_TEXT,
	 .cell = operator_inputs, .arg = ST_INPUTS_SHAPES},
	{"dtypes", "types of its inputs: '[\"float\", \"Scalar\"]'; NULL: not recorded", ST_TEXT,
	 .cell = operator_inputs, .arg = ST_INPUTS_TYPES_JSON},
	{"sequence", "autograd sequence number, the same in forward and backward, or NULL",
	 ST_INTEGER, .cell = operator_sequence},
	{"allocated", "bytes allocated by the framework in it, without operators inside it",
	 ST_NUMBER(struct st_operator, allocated)},
	{"freed", "bytes freed by the framework, likewise", ST_NUMBER(struct st_operator, freed)},
	{"inputs_cut", "1: its inputs were truncated", ST_INTEGER, .cell = operator_cut},
	{"signature", "same for the same name, scope and inputs in a process",
	 ST_REFERENCE(struct st_operator, signature)},
	{"stack", "row in stack_nodes: Python frames that called it; or NULL",
	 ST_SOME(struct st_operator, stack)},
	{"flops", "operations, including operators inside it; NULL: unknown", ST_INTEGER,
	 .cell = operator_flops},
	{"torch_flops", "as counted by torch.profiler; NULL: not counted", ST_INTEGER,
	 .cell = operator_torch_flops},
	{"moved_bytes", "estimate: inputs read and results written once; or NULL", ST_INTEGER,
	 .cell = operator_moved},
};

ST_ROWS_FROM(operators_rows, st_result_operators)

/* The first one at or behind that row of slices. */
static uint32_t first_at(const struct st_operator *items, uint32_t count, int64_t row)
{
	return ST_SEARCH(i, 0, count, items[i].row < row);
}

static void operators_narrow(const struct st_tables *tables, int column, char op,
			     const struct st_cell *value, uint32_t range[2])
{
	uint32_t count, first, end;
	const struct st_operator *items = st_result_operators(tables->result, &count);
	int64_t row = value->as.i64;

	if (column != 0 || value->kind != ST_CELL_I64)
		return;
	first = op == '<' ? 0 : first_at(items, count, row);
	end = op == '>' || row == INT64_MAX ? count : first_at(items, count, row + 1);
	if (first > range[0])
		range[0] = first;
	if (end < range[1])
		range[1] = end;
	if (range[1] < range[0])
		range[1] = range[0];
}

const struct st_table st_operators_table = {
	.name = "operators",
	.help = "framework operators, and other slices in which they allocated memory",
	ST_COLUMNS(operators_columns),
	.rows = operators_rows,
	.item_bytes = sizeof(struct st_operator),
	.narrows = 1u << 0,
	.narrow = operators_narrow,
};

#define MOMENT(member) ST_MEMBER(struct st_memory_moment, member)

static const struct st_table_column memory_columns[] = {
	{"time_ns", "time of the record since the start of collection; rows are in time order",
	 ST_INTEGER, .cell = st_read_number, MOMENT(time_ns)},
	{"allocated", "bytes allocated since the previous record", ST_INTEGER,
	 .cell = st_read_number, MOMENT(allocated)},
	{"freed", "bytes freed since then", ST_INTEGER, .cell = st_read_number, MOMENT(freed)},
	{"peak", "peak above the start of that time; 0: the peak is at its start or end",
	 ST_INTEGER, .cell = st_read_number, MOMENT(peak)},
	{"slice", "innermost open slice of the thread, or NULL", ST_INTEGER,
	 .cell = st_read_reference, MOMENT(row)},
	{"track", "row in threads", ST_INTEGER, .cell = st_read_number, MOMENT(track)},
	{"tid", "thread ID (tid)", ST_INTEGER, .cell = st_read_track_tid, MOMENT(track)},
	{"process_id", "row in processes", ST_INTEGER, .cell = st_read_track_process_id,
	 MOMENT(track)},
	{"address", "address of the block; NULL: several blocks", ST_INTEGER, .cell = st_read_some,
	 MOMENT(address)},
};

ST_ROWS_FROM(memory_rows, st_result_memory)

const struct st_table st_memory_table = {
	.name = "memory",
	.help = "memory that frameworks allocated and freed",
	ST_COLUMNS(memory_columns),
	.rows = memory_rows,
	.item_bytes = sizeof(struct st_memory_moment),
};

static struct st_cell place_type(const struct st_table_at *at)
{
	static const char *const words[] = {
		[1] = "CUDA", [6] = "HIP",   [12] = "XPU",	  [13] = "MPS",
		[18] = "HPU", [19] = "MTIA", [20] = "PrivateUse1"};
	const struct st_memory_moment *moment = at->item;
	uint32_t type = moment->place & 0xff;

	if (type < sizeof(words) / sizeof(words[0]) && words[type])
		return st_cell_text(words[type]);
	return st_cell_text("other");
}

static struct st_cell place_index(const struct st_table_at *at)
{
	const struct st_memory_moment *moment = at->item;

	return st_cell_u64(moment->place >> 8);
}

static const struct st_table_column device_memory_columns[] = {
	{"time_ns", "time since the start of collection; rows are in time order", ST_INTEGER,
	 .cell = st_read_number, MOMENT(time_ns)},
	{"allocated", "bytes allocated", ST_INTEGER, .cell = st_read_number, MOMENT(allocated)},
	{"freed", "bytes freed", ST_INTEGER, .cell = st_read_number, MOMENT(freed)},
	{"device_type", "'CUDA', 'XPU' …, as the framework calls it", ST_TEXT, .cell = place_type},
	{"device", "number of the device", ST_INTEGER, .cell = place_index},
	{"slice", "innermost open slice of the thread, or NULL", ST_INTEGER,
	 .cell = st_read_reference, MOMENT(row)},
	{"track", "row in threads", ST_INTEGER, .cell = st_read_number, MOMENT(track)},
	{"tid", "thread ID (tid)", ST_INTEGER, .cell = st_read_track_tid, MOMENT(track)},
	{"process_id", "row in processes", ST_INTEGER, .cell = st_read_track_process_id,
	 MOMENT(track)},
	{"address", "address of the block", ST_INTEGER, .cell = st_read_some, MOMENT(address)},
};

ST_ROWS_FROM(device_memory_rows, st_result_device_memory)

const struct st_table st_device_memory_table = {
	.name = "device_memory",
	.help = "memory of devices that frameworks allocated and freed",
	ST_COLUMNS(device_memory_columns),
	.rows = device_memory_rows,
	.item_bytes = sizeof(struct st_memory_moment),
};

static struct st_cell source_level(const struct st_table_at *at)
{
	static const char *const words[] = {
		[ST_OPERATORS_NONE] = "none",	[ST_OPERATORS_IN_PLACE] = "in place",
		[ST_OPERATORS_ASKED] = "asked", [ST_OPERATORS_NAMES] = "names",
		[ST_OPERATORS_ITT] = "itt",
	};

	return st_word_cell(at, words, sizeof(words) / sizeof(words[0]));
}

static const struct st_table_column sources_columns[] = {
	{"process_id", "row in processes", ST_REFERENCE(struct st_operator_source, process)},
	{"framework", "its version", ST_NAME(struct st_operator_source, framework)},
	{"level", "'in place', 'asked', 'names', 'itt' or 'none'", ST_TEXT, .cell = source_level,
	 ST_MEMBER(struct st_operator_source, level)},
	{"untested", "1: its self-check passed, but the version is untested",
	 ST_FLAG(struct st_operator_source, flags, ST_OPERATORS_UNTESTED)},
	{"why", "why no better level; NULL: it is the best",
	 ST_SOME_NAME(struct st_operator_source, why)},
};

ST_ROWS_FROM(sources_rows, st_result_operator_sources)

const struct st_table st_operator_sources_table = {
	.name = "operator_sources",
	.help = "how operators were recorded in each process",
	ST_COLUMNS(sources_columns),
	.rows = sources_rows,
	.item_bytes = sizeof(struct st_operator_source),
};

static struct st_cell step_text(const struct st_table_at *at)
{
	return st_cell_bytes(
		st_step_text(at->tables->steps, at->row, at->tables->result, at->arena));
}

static struct st_cell step_part(const struct st_table_at *at)
{
	const struct st_one_step *step = at->item;

	return at->tables->steps->has_parts && step->is_whole ? st_read_number(at) : st_no_cell();
}

static struct st_cell step_warm_up(const struct st_table_at *at)
{
	const struct st_one_step *step = at->item;

	return st_cell_bool(step->is_warm_up);
}

#define STEP(member) ST_MEMBER(struct st_one_step, member)
#define STEP_PART(part) ST_INTEGER, .cell = step_part, STEP(part_ns[part])

static const struct st_table_column steps_columns[] = {
	{"step", "as named in reports: 'ProfilerStep#7', 'step 7'", ST_TEXT, .cell = step_text,
	 .title = "Step"},
	{"number", "number within its thread", ST_NUMBER(struct st_one_step, number)},
	{"start_ns", "start, since the start of collection", ST_INTEGER, .cell = st_read_number,
	 STEP(begin_ns), .title = "Start", .unit = "ns"},
	{"end_ns", "end", ST_NUMBER(struct st_one_step, end_ns)},
	{"wall_ns", "duration without paused time; the sum of its parts", ST_INTEGER,
	 .cell = st_read_number, STEP(wall_ns), .title = "Step Time", .unit = "ns",
	 .as = "wall_total_ns"},
	{"data_wait_ns", "waiting for or preparing a batch; NULL: no operators are known",
	 STEP_PART(ST_STEP_DATA), .title = "Data Wait", .unit = "ns"},
	{"forward_ns", "modules, and operators before the backward pass",
	 STEP_PART(ST_STEP_FORWARD), .title = "Forward", .unit = "ns"},
	{"backward_ns", "nodes of the autograd engine", STEP_PART(ST_STEP_BACKWARD),
	 .title = "Backward", .unit = "ns"},
	{"optimizer_ns", "optimizer steps and zeroing of gradients", STEP_PART(ST_STEP_OPTIMIZER),
	 .title = "Optimizer", .unit = "ns"},
	{"device_wait_ns", "calls that return when a device is done, wherever they are made",
	 STEP_PART(ST_STEP_DEVICE), .title = "Device Wait", .unit = "ns"},
	{"other_ns", "the rest: Python, operators after the backward pass",
	 STEP_PART(ST_STEP_OTHER), .title = "Python, Other", .unit = "ns"},
	{"warm_up", "1: slow step at the beginning; not counted in step statistics", ST_INTEGER,
	 .cell = step_warm_up, .title = "Warm-Up"},
	{"row", "its slice, or NULL", ST_INTEGER, .cell = st_read_reference, STEP(slice),
	 .title = "Row"},
	{"track", "row in threads", ST_NUMBER(struct st_one_step, track)},
	{"process_id", "row in processes", ST_INTEGER, .cell = st_read_track_process_id,
	 STEP(track)},
	/* Of the report only. */
	{"process", NULL, ST_ANY, .cell = st_read_track_process, STEP(track), .title = "Process"},
	{"thread", NULL, ST_ANY, .cell = st_read_track_thread, STEP(track), .title = "Thread"},
};

static bool steps_open(struct st_tables *tables)
{
	struct st_step_list list;
	struct st_dataset slices;
	bool is_made;

	if (tables->steps)
		return true;
	if (st_dataset_slices_init(&slices, tables->result, NULL))
		return false;
	is_made = !st_step_list_make(&list, &slices, tables->result, NULL);
	st_dataset_slices_fini(&slices);
	tables->steps = is_made ? malloc(sizeof(list)) : NULL;
	if (tables->steps)
		*tables->steps = list;
	else if (is_made)
		st_step_list_fini(&list);
	return tables->steps;
}

static const void *steps_rows(const struct st_tables *tables, uint32_t *count)
{
	*count = tables->steps->count;
	return tables->steps->steps;
}

const struct st_table st_steps_table = {
	.name = "steps",
	.help = "training steps and their parts, as in report steps",
	ST_COLUMNS(steps_columns),
	.rows = steps_rows,
	.item_bytes = sizeof(struct st_one_step),
	.open = steps_open,
};

static const struct st_python_function *python_function(const struct st_table_at *at)
{
	const struct st_python_calls *calls = at->item;
	uint32_t count;

	return &st_result_python_functions(at->tables->result, &count)[calls->function];
}

static struct st_cell python_process_id(const struct st_table_at *at)
{
	return st_cell_u64(python_function(at)->process);
}

static struct st_cell python_pid(const struct st_table_at *at)
{
	uint32_t count;

	return st_cell_u64(
		st_result_processes(at->tables->result, &count)[python_function(at)->process].pid);
}

static struct st_cell python_file(const struct st_table_at *at)
{
	return st_cell_bytes(st_result_text(at->tables->result, python_function(at)->file));
}

static struct st_cell python_line(const struct st_table_at *at)
{
	return st_cell_u64(python_function(at)->line);
}

static struct st_cell python_name(const struct st_table_at *at)
{
	return st_cell_bytes(st_result_text(at->tables->result, python_function(at)->name));
}

static const struct st_table_column python_calls_columns[] = {
	{"process_id", "row in processes", ST_INTEGER, .cell = python_process_id},
	{"pid", "process", ST_INTEGER, .cell = python_pid},
	{"tid", "thread", ST_NUMBER(struct st_python_calls, tid)},
	{"file", "file of the function; '~': built-in", ST_TEXT, .cell = python_file},
	{"line", "first line of the function; 0: built-in", ST_INTEGER, .cell = python_line},
	{"name", "name of the function; '': all functions beyond the limit", ST_TEXT,
	 .cell = python_name},
	{"calls", "number of calls", ST_NUMBER(struct st_python_calls, calls)},
	{"primitive_calls", "calls that are not recursive",
	 ST_NUMBER(struct st_python_calls, primitive)},
	{"tottime_ns", "time in the function itself", ST_NUMBER(struct st_python_calls, own_ns)},
	{"cumtime_ns", "time in the function and its callees",
	 ST_NUMBER(struct st_python_calls, total_ns)},
};

ST_ROWS_FROM(python_calls_rows, st_result_python_calls)

const struct st_table st_python_calls_table = {
	.name = "python_calls",
	.help = "Python function calls by thread (-knob python-calls=true)",
	ST_COLUMNS(python_calls_columns),
	.rows = python_calls_rows,
	.item_bytes = sizeof(struct st_python_calls),
};
