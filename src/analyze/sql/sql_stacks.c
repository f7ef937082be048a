// SPDX-License-Identifier: Apache-2.0
//
// Tables of SQL about stacks: nodes as they were recorded, and frames and functions with their names. Naming
// takes time, so it waits until a statement asks for one of these.
#include <inttypes.h>
#include <stdio.h>

#include "analyze/sql/sql_table.h"
#include "resolve/named.h"
#include "store/samples.h"

#define COLUMNS(array) .columns = (array), .column_count = (int)(sizeof(array) / sizeof((array)[0]))

static void result_hex(sqlite3_context *out, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

static void result_some(sqlite3_context *out, struct st_text text)
{
	if (text.size_bytes)
		st_sql_result_text(out, text);
}

static int open_names(struct st_sql *sql)
{
	const struct st_named_options options = {.keep = true, .inlines = true};
	struct st_error err = {0};

	if (!sql->named)
		sql->named = sql->options.named;
	if (sql->named)
		return SQLITE_OK;
	if (st_named_open(&sql->own_named, sql->result, &options, &err))
		return SQLITE_NOMEM;
	sql->named = sql->own_named;
	return SQLITE_OK;
}

static const struct st_sql_column nodes_columns[] = {
	{"node", "INTEGER", "number of the row; 0 is the empty stack"},
	{"parent", "INTEGER", "node of the caller; 0: it is outermost"},
	{"process_id", "INTEGER", "its row of processes"},
	{"kind", "TEXT", "'native', 'python' or 'kernel'"},
	{"function", "INTEGER", "its innermost row of functions; 0: not known"},
	{"frame", "INTEGER", "its innermost row of stack_frames"},
	{"address", "TEXT", "return address or interrupted one, hexadecimal; NULL for Python"},
	{"code", "INTEGER", "of Python: row of python_codes"},
	{"position", "INTEGER", "of Python: place in the code"},
	{"line", "INTEGER", "of Python: line, or NULL"},
	{"recovered", "INTEGER", "1: found by scanning the stack"},
	{"eval", "INTEGER", "1: evaluation function whose Python frames follow"},
};

static uint32_t nodes_count(const struct st_sql *sql)
{
	return st_result_stack_nodes(sql->result)->count;
}

static const char *kind_word(uint8_t kind)
{
	kind &= ST_FRAME_KIND_MASK;
	if (kind == ST_FRAME_PYTHON)
		return "python";
	return kind == ST_FRAME_KERNEL ? "kernel" : "native";
}

/* Of nodes that names do not know, 0. */
static uint32_t frame_of(const struct st_sql *sql, uint32_t node)
{
	return node < sql->named->node_count ? sql->named->frame_of_node[node] : 0;
}

static void node_place(const struct st_stack_nodes *nodes, uint32_t row, int column,
		       sqlite3_context *out)
{
	bool is_python = (nodes->kind[row] & ST_FRAME_KIND_MASK) == ST_FRAME_PYTHON;

	if (column == 6 && !is_python)
		result_hex(out, nodes->value[row]);
	else if (column == 7 && is_python)
		sqlite3_result_int64(out, (uint32_t)nodes->value[row]);
	else if (column == 8 && is_python)
		sqlite3_result_int64(out, (int64_t)(nodes->value[row] >> 32));
	else if (column == 9 && nodes->line[row])
		sqlite3_result_int64(out, nodes->line[row]);
	else if (column == 10)
		sqlite3_result_int(out, (nodes->kind[row] & ST_FRAME_RECOVERED) != 0);
	else if (column == 11)
		sqlite3_result_int(out, (nodes->kind[row] & ST_FRAME_EVAL) != 0);
}

static void nodes_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	const struct st_stack_nodes *nodes = st_result_stack_nodes(sql->result);

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 4)
		sqlite3_result_int64(out, sql->named->frames[frame_of(sql, row)].function);
	else if (column == 5)
		sqlite3_result_int64(out, frame_of(sql, row));
	else if (!row) /* the empty stack has nothing more */
		return;
	else if (column == 1)
		sqlite3_result_int64(out, nodes->parent[row]);
	else if (column == 2)
		st_sql_result_row(out, nodes->process[row]);
	else if (column == 3)
		sqlite3_result_text(out, kind_word(nodes->kind[row]), -1, SQLITE_STATIC);
	else
		node_place(nodes, row, column, out);
}

const struct st_sql_table st_sql_stack_nodes_table = {
	.name = "stack_nodes",
	.help = "the stacks of all samples as a tree, as they were recorded",
	COLUMNS(nodes_columns),
	.has_row_number = true,
	.count = nodes_count,
	.cell = nodes_cell,
	.open = open_names,
};

static const struct st_sql_column frames_columns[] = {
	{"frame", "INTEGER", "number of the row; 0 is the empty stack"},
	{"parent", "INTEGER", "frame of the caller; 0: it is outermost"},
	{"function", "INTEGER", "its row of functions"},
	{"node", "INTEGER", "its row of stack_nodes; inlined functions share one"},
	{"source", "TEXT", "source file, or NULL"},
	{"line", "INTEGER", "line, or NULL"},
	{"address", "TEXT", "in the module, hexadecimal"},
	{"inlined", "INTEGER", "1: inlined into its parent"},
	{"recovered", "INTEGER", "1: its place was found by scanning the stack"},
	{"eval", "INTEGER", "1: evaluation function whose Python frames follow"},
};

static uint32_t frames_count(const struct st_sql *sql)
{
	return sql->named ? sql->named->frame_count : 0;
}

static void frames_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	const struct st_named_frame *frame = &sql->named->frames[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1)
		sqlite3_result_int64(out, frame->parent);
	else if (column == 2)
		sqlite3_result_int64(out, frame->function);
	else if (column == 3)
		sqlite3_result_int64(out, frame->node);
	else if (column == 4)
		result_some(out, sql->named->sources[frame->source]);
	else if (column == 5 && frame->line)
		sqlite3_result_int64(out, frame->line);
	else if (column == 6)
		result_hex(out, frame->address);
	else if (column == 7)
		sqlite3_result_int(out, (frame->flags & ST_NAMED_INLINED) != 0);
	else if (column == 8)
		sqlite3_result_int(out, (frame->flags & ST_NAMED_RECOVERED) != 0);
	else if (column == 9)
		sqlite3_result_int(out, (frame->flags & ST_NAMED_EVAL) != 0);
}

const struct st_sql_table st_sql_stack_frames_table = {
	.name = "stack_frames",
	.help = "the same tree with a row for each function, inlined ones too",
	COLUMNS(frames_columns),
	.has_row_number = true,
	.count = frames_count,
	.cell = frames_cell,
	.open = open_names,
};

static const struct st_sql_column functions_columns[] = {
	{"function", "INTEGER", "number of the row; 0 is none"},
	{"name", "TEXT", "without parameters; of Python the qualified name"},
	{"full_name", "TEXT", "with parameters"},
	{"mangled", "TEXT", "as the linker knows it, or NULL"},
	{"kind", "TEXT", "'native', 'python', 'jit', 'kernel' or 'unknown'"},
	{"module", "TEXT", "last part of the module's path; of Python: of the file's"},
	{"module_path", "TEXT", "the whole path"},
	{"source", "TEXT", "source file, or NULL"},
	{"line", "INTEGER", "where it is declared, or NULL"},
	{"address", "TEXT", "start in the module, hexadecimal, or NULL"},
	{"size_bytes", "INTEGER", "size of its code, or NULL"},
	{"has_symbol", "INTEGER", "0: named by its address"},
	{"system", "INTEGER", "1: of the machine rather than of the user"},
};

static uint32_t functions_count(const struct st_sql *sql)
{
	return sql->named ? sql->named->function_count : 0;
}

static const char *function_word(uint8_t kind)
{
	switch ((enum st_function_kind)kind) {
	case ST_FUNCTION_NATIVE:
		return "native";
	case ST_FUNCTION_PYTHON:
		return "python";
	case ST_FUNCTION_JIT:
		return "jit";
	case ST_FUNCTION_KERNEL:
		return "kernel";
	case ST_FUNCTION_UNKNOWN:
		break;
	}
	return "unknown";
}

static void function_numbers(const struct st_named_function *function, int column,
			     sqlite3_context *out)
{
	if (column == 8 && function->line)
		sqlite3_result_int64(out, function->line);
	else if (column == 9 && function->end)
		result_hex(out, function->start);
	else if (column == 10 && function->end > function->start)
		sqlite3_result_int64(out, (int64_t)(function->end - function->start));
	else if (column == 11)
		sqlite3_result_int(out, !(function->flags & ST_FUNCTION_NO_SYMBOL));
	else if (column == 12)
		sqlite3_result_int(out, (function->flags & ST_FUNCTION_SYSTEM) != 0);
}

static void functions_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	const struct st_named_function *function = &sql->named->functions[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (!row) /* none */
		return;
	else if (column == 1)
		st_sql_result_text(out, function->name);
	else if (column == 2)
		st_sql_result_text(out, function->full);
	else if (column == 3)
		result_some(out, function->mangled);
	else if (column == 4)
		sqlite3_result_text(out, function_word(function->kind), -1, SQLITE_STATIC);
	else if (column == 5)
		result_some(out, sql->named->modules[function->module].name);
	else if (column == 6)
		result_some(out, sql->named->modules[function->module].path);
	else if (column == 7)
		result_some(out, sql->named->sources[function->source]);
	else
		function_numbers(function, column, out);
}

const struct st_sql_table st_sql_functions_table = {
	.name = "functions",
	.help = "functions in the stacks of samples, with their names",
	COLUMNS(functions_columns),
	.has_row_number = true,
	.count = functions_count,
	.cell = functions_cell,
	.open = open_names,
};
