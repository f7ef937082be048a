// SPDX-License-Identifier: Apache-2.0
//
// Table python_calls of SQL: what calls of each Python function came to on each thread.
#include "analyze/sql/sql_table.h"
#include "store/python_calls.h"

enum column { PROCESS_ID, PID, TID, FILE_NAME, LINE, NAME, CALLS, PRIMITIVE, OWN, TOTAL };

static const struct st_sql_column columns[] = {
	{"process_id", "INTEGER", "its row of processes"},
	{"pid", "INTEGER", "of the process"},
	{"tid", "INTEGER", "of the thread"},
	{"file", "TEXT", "of the function; '~': it is built in"},
	{"line", "INTEGER", "its first one; 0: it is built in"},
	{"name", "TEXT", "of the function; '': of those beyond the most that are told apart"},
	{"calls", "INTEGER", "how often it was called"},
	{"primitive_calls", "INTEGER", "not from inside another call of it"},
	{"tottime_ns", "INTEGER", "time in the function itself"},
	{"cumtime_ns", "INTEGER", "time in it and in what it called"},
};

static uint32_t row_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_python_calls(sql->result, &count);
	return count;
}

static void cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_python_calls *calls = &st_result_python_calls(sql->result, &count)[row];
	const struct st_python_function *function =
		&st_result_python_functions(sql->result, &count)[calls->function];
	const struct st_process *process =
		&st_result_processes(sql->result, &count)[function->process];

	switch ((enum column)column) {
	case PROCESS_ID:
		sqlite3_result_int64(out, function->process);
		break;
	case PID:
		sqlite3_result_int64(out, process->pid);
		break;
	case TID:
		sqlite3_result_int64(out, calls->tid);
		break;
	case FILE_NAME:
		st_sql_result_id(out, sql, function->file);
		break;
	case LINE:
		sqlite3_result_int64(out, function->line);
		break;
	case NAME:
		st_sql_result_id(out, sql, function->name);
		break;
	case CALLS:
		sqlite3_result_int64(out, (int64_t)calls->calls);
		break;
	case PRIMITIVE:
		sqlite3_result_int64(out, (int64_t)calls->primitive);
		break;
	case OWN:
		sqlite3_result_int64(out, (int64_t)calls->own_ns);
		break;
	case TOTAL:
		sqlite3_result_int64(out, (int64_t)calls->total_ns);
		break;
	}
}

const struct st_sql_table st_sql_python_calls_table = {
	.name = "python_calls",
	.help = "calls of Python functions, by thread (-knob python-calls=true)",
	.columns = columns,
	.column_count = (int)(sizeof(columns) / sizeof(columns[0])),
	.count = row_count,
	.cell = cell,
};
