// SPDX-License-Identifier: Apache-2.0
//
// Tables about sampling: samples, how they were taken, Python codes, and stacks: nodes as they were recorded, frames
// and functions with their names. Resolving names takes time, so it is done when one of these is first used.
#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "resolve/named.h"
#include "store/samples.h"

static struct st_cell sample_state(const struct st_table_at *at)
{
	uint64_t flags = st_table_value(at);

	if (flags & ST_SAMPLE_WAITING)
		return st_cell_text("waiting");
	return st_cell_text(flags & ST_SAMPLE_RUNNABLE ? "runnable" : "running");
}

#define SAMPLES(member) ST_ARRAY(struct st_samples, member)
#define SAMPLE_FLAG(bit) ST_INTEGER, .cell = st_read_flag, SAMPLES(flags), .arg = bit

enum { SAMPLES_TRACK = 7 };

static const struct st_table_column samples_columns[] = {
	{"sample", "row number; the samples of a thread are together, in time order",
	 ST_ROW_NUMBER},
	{"time_ns", "time since the start of collection", ST_INTEGER, .cell = st_read_number,
	 SAMPLES(time_ns)},
	{"weight_ns", "CPU time that it represents; wall time unless running", ST_INTEGER,
	 .cell = st_read_number, SAMPLES(weight_ns)},
	{"state", "'running', 'waiting' or 'runnable'", ST_TEXT, .cell = sample_state,
	 SAMPLES(flags)},
	{"node", "its stack: innermost row in stack_nodes; 0: no stack", ST_INTEGER,
	 .cell = st_read_number, SAMPLES(node)},
	{"slice", "innermost open slice of its thread, or NULL", ST_INTEGER,
	 .cell = st_read_reference, SAMPLES(slice)},
	{"inherited",
	 "if there is none: innermost slice of the thread that created its thread, or NULL",
	 ST_INTEGER, .cell = st_read_reference, SAMPLES(inherited)},
	[SAMPLES_TRACK] = {"track", "row in threads", ST_INTEGER, .cell = st_read_number,
			   SAMPLES(track)},
	{"tid", "thread ID (tid)", ST_INTEGER, .cell = st_read_track_tid, SAMPLES(track)},
	{"thread", "as shown in reports", ST_TEXT, .cell = st_read_track_thread, SAMPLES(track)},
	{"pid", "process ID (pid)", ST_INTEGER, .cell = st_read_track_pid, SAMPLES(track)},
	{"process_id", "row in processes", ST_INTEGER, .cell = st_read_track_process_id,
	 SAMPLES(track)},
	{"process", "as shown in reports", ST_TEXT, .cell = st_read_track_process, SAMPLES(track)},
	{"flags", "all flags as bits", ST_INTEGER, .cell = st_read_number, SAMPLES(flags)},
	{"truncated", "1: the stack does not reach the thread's entry",
	 SAMPLE_FLAG(ST_SAMPLE_TRUNCATED)},
	{"recovered", "1: a caller was found by scanning the stack",
	 SAMPLE_FLAG(ST_SAMPLE_RECOVERED)},
	{"no_table", "1: truncated because an unwind table was missing",
	 SAMPLE_FLAG(ST_SAMPLE_NO_TABLE)},
	{"python_cut", "1: Python frames are missing", SAMPLE_FLAG(ST_SAMPLE_PYTHON_CUT)},
	{"mismatched", "1: native and Python frames do not match", SAMPLE_FLAG(ST_SAMPLE_MISMATCH)},
	{"depth_cut", "1: deeper than the limit", SAMPLE_FLAG(ST_SAMPLE_DEPTH_CUT)},
	{"nominal", "1: weighted by the period, not by measured time",
	 SAMPLE_FLAG(ST_SAMPLE_WEIGHT_NOMINAL)},
	{"approximate", "1: Python frames were read from outside, slightly later",
	 SAMPLE_FLAG(ST_SAMPLE_APPROXIMATE)},
	{"python_late",
	 "1: Python frames are left out, the thread went on before they could be read from outside",
	 SAMPLE_FLAG(ST_SAMPLE_PYTHON_LATE)},
	{"in_kernel", "1: the innermost frames are in the kernel", SAMPLE_FLAG(ST_SAMPLE_KERNEL)},
	{"holds_gil", "1: held the Python GIL", SAMPLE_FLAG(ST_SAMPLE_HOLDS_GIL)},
};

static const void *samples_rows(const struct st_tables *tables, uint32_t *count)
{
	const struct st_samples *samples = st_result_samples(tables->result);

	*count = samples->count;
	return samples;
}

static void samples_narrow(const struct st_tables *tables, int column, char op,
			   const struct st_cell *value, uint32_t range[2])
{
	if (column == SAMPLES_TRACK && op == '=')
		st_narrow_to_track(tables, st_result_samples(tables->result)->first_of_track, value,
				   range);
}

const struct st_table st_samples_table = {
	.name = "samples",
	.help = "one row per sample: where the thread was",
	ST_COLUMNS(samples_columns),
	.has_row_number = true,
	.rows = samples_rows,
	.narrows = 1u << SAMPLES_TRACK,
	.narrow = samples_narrow,
};

static struct st_cell rung_cell(const struct st_table_at *at)
{
	static const char *const words[] = {
		[ST_RUNG_NONE] = "none",
		[ST_RUNG_SIGTRAP] = "perf event, SIGTRAP",
		[ST_RUNG_SIGTRAP_USER] = "perf event, SIGTRAP, user only",
		[ST_RUNG_SETSIG] = "perf event, signal per thread",
		[ST_RUNG_THREAD_TIMER] = "timer per thread",
		[ST_RUNG_PROCESS_TIMER] = "timer of the process",
		[ST_RUNG_OUTSIDE] = "from outside",
		[ST_RUNG_IMPORTED] = "imported",
	};

	return st_word_cell(at, words, sizeof(words) / sizeof(words[0]));
}

static struct st_cell trigger_cell(const struct st_table_at *at)
{
	static const char *const words[] = {
		[ST_TRIGGER_CPU_CLOCK] = "cpu-clock",
		[ST_TRIGGER_CYCLES] = "cycles",
		[ST_TRIGGER_CPU_TIME] = "timer",
	};

	return st_word_cell(at, words, sizeof(words) / sizeof(words[0]));
}

static const struct st_table_column samplers_columns[] = {
	{"process_id", "row in processes", ST_REFERENCE(struct st_sampler, process)},
	{"rung", "how its threads were interrupted", ST_TEXT, .cell = rung_cell,
	 ST_MEMBER(struct st_sampler, rung)},
	{"trigger", "sampling event: 'cpu-clock', 'cycles' or 'timer'", ST_TEXT,
	 .cell = trigger_cell, ST_MEMBER(struct st_sampler, trigger)},
	{"period_ns", "CPU time between samples", ST_NUMBER(struct st_sampler, period_ns)},
	{"why", "why no better way; NULL: it is the best", ST_SOME_NAME(struct st_sampler, why)},
	{"dropped", "samples lost because a buffer was full",
	 ST_NUMBER(struct st_sampler, dropped)},
	{"not_taken", "samples that could not be taken", ST_NUMBER(struct st_sampler, not_taken)},
	{"handler_ns", "time spent taking samples", ST_NUMBER(struct st_sampler, handler_ns)},
	{"nodes_refused", "stack nodes beyond the limit",
	 ST_NUMBER(struct st_sampler, nodes_refused)},
	{"before_tables", "samples taken before the first unwind table was ready",
	 ST_NUMBER(struct st_sampler, before_tables)},
	{"build_ns", "time spent building unwind tables", ST_NUMBER(struct st_sampler, build_ns)},
	{"tables_built", "unwind tables built in this run",
	 ST_NUMBER(struct st_sampler, tables_built)},
	{"tables_cached", "unwind tables found in the cache",
	 ST_NUMBER(struct st_sampler, tables_cached)},
};

ST_ROWS_FROM(samplers_rows, st_result_samplers)

const struct st_table st_samplers_table = {
	.name = "samplers",
	.help = "how each process was sampled, with overhead and losses",
	ST_COLUMNS(samplers_columns),
	.rows = samplers_rows,
	.item_bytes = sizeof(struct st_sampler),
};

static const struct st_table_column python_codes_columns[] = {
	{"code", "row number; stack_nodes.code", ST_ROW_NUMBER},
	{"name", "qualified name of the Python function", ST_NAME(struct st_python_code, name)},
	{"file", "source file, or NULL", ST_SOME_NAME(struct st_python_code, file)},
	{"first_line", "first line", ST_NUMBER(struct st_python_code, first_line)},
	{"process_id", "row in processes", ST_REFERENCE(struct st_python_code, process)},
};

ST_ROWS_FROM(python_codes_rows, st_result_python_codes)

const struct st_table st_python_codes_table = {
	.name = "python_codes",
	.help = "Python functions in the samples",
	ST_COLUMNS(python_codes_columns),
	.has_row_number = true,
	.rows = python_codes_rows,
	.item_bytes = sizeof(struct st_python_code),
};

static bool open_names(struct st_tables *tables)
{
	const struct st_named_options options = {.keep = true, .inlines = true};
	struct st_error err = {0};

	if (tables->named)
		return true;
	if (st_named_open(&tables->own_named, tables->result, &options, &err))
		return false;
	tables->named = tables->own_named;
	return true;
}

/* Of nodes that names do not know, 0. */
static uint32_t frame_of(const struct st_table_at *at)
{
	const struct st_named *named = at->tables->named;

	return at->row < named->node_count ? named->frame_of_node[at->row] : 0;
}

static struct st_cell node_function(const struct st_table_at *at)
{
	return st_cell_u64(at->tables->named->frames[frame_of(at)].function);
}

static struct st_cell node_frame(const struct st_table_at *at)
{
	return st_cell_u64(frame_of(at));
}

static uint8_t node_kind(const struct st_table_at *at)
{
	return ((const struct st_stack_nodes *)at->item)->kind[at->row] & ST_FRAME_KIND_MASK;
}

static struct st_cell node_kind_cell(const struct st_table_at *at)
{
	if (node_kind(at) == ST_FRAME_PYTHON)
		return st_cell_text("python");
	return st_cell_text(node_kind(at) == ST_FRAME_KERNEL ? "kernel" : "native");
}

static struct st_cell node_address(const struct st_table_at *at)
{
	return node_kind(at) != ST_FRAME_PYTHON ? st_read_hex(at) : st_no_cell();
}

/* A half of the value of Python: the code, and behind it (arg: bits) the position. */
static struct st_cell node_half(const struct st_table_at *at)
{
	if (node_kind(at) != ST_FRAME_PYTHON)
		return st_no_cell();
	return st_cell_u64((uint32_t)(st_table_value(at) >> at->column->arg));
}

#define NODES(member) ST_ARRAY(struct st_stack_nodes, member)

static const struct st_table_column nodes_columns[] = {
	{"node", "row number; 0 is the empty stack", ST_ROW_NUMBER},
	{"parent", "node of the caller; 0: outermost", ST_INTEGER, .cell = st_read_number,
	 NODES(parent)},
	{"process_id", "row in processes", ST_INTEGER, .cell = st_read_reference, NODES(process)},
	{"kind", "'native', 'python' or 'kernel'", ST_TEXT, .cell = node_kind_cell},
	{"function", "its innermost row in functions; 0: unknown", ST_INTEGER,
	 .cell = node_function, .of_none = true},
	{"frame", "its innermost row in stack_frames", ST_INTEGER, .cell = node_frame,
	 .of_none = true},
	{"address", "return address or interrupted address, hexadecimal; NULL for Python", ST_TEXT,
	 .cell = node_address, NODES(value)},
	{"code", "for Python: row in python_codes", ST_INTEGER, .cell = node_half, NODES(value),
	 .arg = 0},
	{"position", "for Python: offset in the code", ST_INTEGER, .cell = node_half, NODES(value),
	 .arg = 32},
	{"line", "of Python: line, or NULL", ST_INTEGER, .cell = st_read_some, NODES(line)},
	{"recovered", "1: found by scanning the stack", ST_INTEGER, .cell = st_read_flag,
	 NODES(kind), .arg = ST_FRAME_RECOVERED},
	{"eval", "1: interpreter function whose Python frames follow", ST_INTEGER,
	 .cell = st_read_flag, NODES(kind), .arg = ST_FRAME_EVAL},
};

static const void *nodes_rows(const struct st_tables *tables, uint32_t *count)
{
	const struct st_stack_nodes *nodes = st_result_stack_nodes(tables->result);

	*count = nodes->count;
	return nodes;
}

const struct st_table st_stack_nodes_table = {
	.name = "stack_nodes",
	.help = "the stacks of all samples as a tree, as recorded",
	ST_COLUMNS(nodes_columns),
	.has_row_number = true,
	.first_is_none = true,
	.rows = nodes_rows,
	.open = open_names,
};

static struct st_cell some_bytes(struct st_text text)
{
	return text.size_bytes ? st_cell_bytes(text) : st_no_cell();
}

static struct st_cell source_cell(const struct st_table_at *at)
{
	return some_bytes(at->tables->named->sources[st_table_value(at)]);
}

static const struct st_table_column frames_columns[] = {
	{"frame", "row number; 0 is the empty stack", ST_ROW_NUMBER},
	{"parent", "frame of the caller; 0: outermost", ST_NUMBER(struct st_named_frame, parent)},
	{"function", "row in functions", ST_NUMBER(struct st_named_frame, function)},
	{"node", "row in stack_nodes; inlined functions share one",
	 ST_NUMBER(struct st_named_frame, node)},
	{"source", "source file, or NULL", ST_TEXT, .cell = source_cell,
	 ST_MEMBER(struct st_named_frame, source)},
	{"line", "line, or NULL", ST_SOME(struct st_named_frame, line)},
	{"address", "offset in the module, hexadecimal", ST_HEX(struct st_named_frame, address)},
	{"inlined", "1: inlined into its parent",
	 ST_FLAG(struct st_named_frame, flags, ST_NAMED_INLINED)},
	{"recovered", "1: its address was found by scanning the stack",
	 ST_FLAG(struct st_named_frame, flags, ST_NAMED_RECOVERED)},
	{"eval", "1: interpreter function whose Python frames follow",
	 ST_FLAG(struct st_named_frame, flags, ST_NAMED_EVAL)},
};

static const void *frames_rows(const struct st_tables *tables, uint32_t *count)
{
	*count = tables->named->frame_count;
	return tables->named->frames;
}

const struct st_table st_stack_frames_table = {
	.name = "stack_frames",
	.help = "the same tree with one row per function, including inlined ones",
	ST_COLUMNS(frames_columns),
	.has_row_number = true,
	.rows = frames_rows,
	.item_bytes = sizeof(struct st_named_frame),
	.open = open_names,
};

static const struct st_named_function *function_of(const struct st_table_at *at)
{
	return at->item;
}

static struct st_cell function_name(const struct st_table_at *at)
{
	return st_cell_bytes(function_of(at)->name);
}

static struct st_cell function_full(const struct st_table_at *at)
{
	return st_cell_bytes(function_of(at)->full);
}

static struct st_cell function_mangled(const struct st_table_at *at)
{
	return some_bytes(function_of(at)->mangled);
}

static struct st_cell function_kind(const struct st_table_at *at)
{
	static const char *const words[] = {
		[ST_FUNCTION_NATIVE] = "native",
		[ST_FUNCTION_PYTHON] = "python",
		[ST_FUNCTION_JIT] = "jit",
		[ST_FUNCTION_KERNEL] = "kernel",
	};

	return st_word_cell(at, words, sizeof(words) / sizeof(words[0]));
}

static struct st_cell function_module(const struct st_table_at *at)
{
	return some_bytes(at->tables->named->modules[st_table_value(at)].name);
}

static struct st_cell function_module_path(const struct st_table_at *at)
{
	return some_bytes(at->tables->named->modules[st_table_value(at)].path);
}

static struct st_cell function_address(const struct st_table_at *at)
{
	const struct st_named_function *function = function_of(at);

	return function->end ? st_hex_cell(at, function->start) : st_no_cell();
}

static struct st_cell function_size(const struct st_table_at *at)
{
	const struct st_named_function *function = function_of(at);

	return function->end > function->start
		       ? st_cell_i64((int64_t)(function->end - function->start))
		       : st_no_cell();
}

static struct st_cell function_has_symbol(const struct st_table_at *at)
{
	return st_cell_u64(!(function_of(at)->flags & ST_FUNCTION_NO_SYMBOL));
}

#define FUNCTION(member) ST_MEMBER(struct st_named_function, member)

static const struct st_table_column functions_columns[] = {
	{"function", "row number; 0: none", ST_ROW_NUMBER},
	{"name", "name without parameters; for Python, the qualified name", ST_TEXT,
	 .cell = function_name},
	{"full_name", "name with parameters", ST_TEXT, .cell = function_full},
	{"mangled", "mangled (linker) name, or NULL", ST_TEXT, .cell = function_mangled},
	{"kind", "'native', 'python', 'jit', 'kernel' or 'unknown'", ST_TEXT, .cell = function_kind,
	 FUNCTION(kind)},
	{"module", "file name of the module; for Python, of the source file", ST_TEXT,
	 .cell = function_module, FUNCTION(module)},
	{"module_path", "full path", ST_TEXT, .cell = function_module_path, FUNCTION(module)},
	{"source", "source file, or NULL", ST_TEXT, .cell = source_cell, FUNCTION(source)},
	{"line", "line of its declaration, or NULL", ST_INTEGER, .cell = st_read_some,
	 FUNCTION(line)},
	{"address", "start in the module, hexadecimal, or NULL", ST_TEXT, .cell = function_address},
	{"size_bytes", "size of its code, or NULL", ST_INTEGER, .cell = function_size},
	{"has_symbol", "0: named by its address", ST_INTEGER, .cell = function_has_symbol},
	{"system", "1: system function, not user code", ST_INTEGER, .cell = st_read_flag,
	 FUNCTION(flags), .arg = ST_FUNCTION_SYSTEM},
};

static const void *functions_rows(const struct st_tables *tables, uint32_t *count)
{
	*count = tables->named->function_count;
	return tables->named->functions;
}

const struct st_table st_functions_table = {
	.name = "functions",
	.help = "functions in the stacks of samples, with their names",
	ST_COLUMNS(functions_columns),
	.has_row_number = true,
	.first_is_none = true,
	.rows = functions_rows,
	.item_bytes = sizeof(struct st_named_function),
	.open = open_names,
};
