// SPDX-License-Identifier: Apache-2.0
//
// Tables of SQL about code: what was loaded or compiled while the program ran, and who began tasks.
#include <inttypes.h>
#include <stdio.h>

#include "analyze/sql/sql_table.h"
#include "analyze/datasets/words.h"
#include "base/buf.h"
#include "store/events.h"

#define COLUMNS(array) .columns = (array), .column_count = (int)(sizeof(array) / sizeof((array)[0]))

static void result_hex(sqlite3_context *out, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

static void result_some(sqlite3_context *out, const struct st_sql *sql, st_string_id id)
{
	if (id)
		st_sql_result_id(out, sql, id);
}

static const struct st_sql_column callers_columns[] = {
	{"caller", "INTEGER", "number of the row; 0 is nobody known"},
	{"place", "TEXT", "file and offset, or NULL"},
	{"address", "TEXT", "hexadecimal"},
	{"process_id", "INTEGER", "its row of processes"},
};

static uint32_t callers_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_callers(sql->result, &count);
	return count;
}

static void callers_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_caller *caller = &st_result_callers(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1)
		result_some(out, sql, caller->place);
	else if (column == 2)
		result_hex(out, caller->address);
	else if (row)
		st_sql_result_row(out, caller->process);
}

const struct st_sql_table st_sql_callers_table = {
	.name = "callers",
	.help = "places in the code that began tasks",
	COLUMNS(callers_columns),
	.has_row_number = true,
	.count = callers_count,
	.cell = callers_cell,
};

static const struct st_sql_column code_columns[] = {
	{"row", "INTEGER", "number of the row"},
	{"kind", "TEXT", "'jit', 'module_load' or 'module_load_sections'"},
	{"name", "TEXT", "method, or path of the module"},
	{"class_name", "TEXT", "class of a method, or NULL"},
	{"source", "TEXT", "source file, or NULL"},
	{"module", "TEXT", "module, or NULL"},
	{"address", "TEXT", "where it lies, hexadecimal"},
	{"size_bytes", "INTEGER", "size of the code"},
	{"start_ns", "INTEGER", "from when"},
	{"end_ns", "INTEGER", "until when: unloaded, replaced, or the end of the process"},
	{"method", "INTEGER", "number of a method"},
	{"parent_method", "INTEGER", "of an inlined method: the one around it, or NULL"},
	{"process_id", "INTEGER", "its row of processes"},
	{"lines", "TEXT", "pairs of end offset and line, as a JSON array, or NULL"},
};

static uint32_t code_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_code(sql->result, &count);
	return count;
}

static void lines_cell(const struct st_code *code, sqlite3_context *out)
{
	struct st_buf text;

	if (!code->line_count)
		return;
	st_buf_init(&text, 16 << 20);
	for (uint32_t i = 0; i < code->line_count; i++)
		st_buf_printf(&text, "%s[%" PRIu32 ",%" PRIu32 "]", i ? "," : "[",
			      code->lines[2 * i], code->lines[2 * i + 1]);
	st_buf_append_u8(&text, ']');
	if (text.failed)
		sqlite3_result_error_nomem(out);
	else
		sqlite3_result_text64(out, (char *)text.data, text.size_bytes, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
	st_buf_fini(&text);
}

static void code_numbers(const struct st_code *code, int column, sqlite3_context *out)
{
	if (column == 6)
		result_hex(out, code->address);
	else if (column == 7)
		sqlite3_result_int64(out, (int64_t)code->size_bytes);
	else if (column == 8)
		sqlite3_result_int64(out, code->from_ns);
	else if (column == 9)
		sqlite3_result_int64(out, code->until_ns);
	else if (column == 10 && code->kind == ST_EVENT_JIT)
		sqlite3_result_int64(out, code->method);
	else if (column == 11 && code->kind == ST_EVENT_JIT && code->parent_method)
		sqlite3_result_int64(out, code->parent_method);
	else if (column == 12)
		st_sql_result_row(out, code->process);
}

static void code_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_code *code = &st_result_code(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1)
		sqlite3_result_text(out, st_words_event_kind(code->kind), -1, SQLITE_STATIC);
	else if (column == 2)
		result_some(out, sql, code->name);
	else if (column == 3)
		result_some(out, sql, code->class_name);
	else if (column == 4)
		result_some(out, sql, code->source);
	else if (column == 5)
		result_some(out, sql, code->module);
	else if (column == 13)
		lines_cell(code, out);
	else
		code_numbers(code, column, out);
}

const struct st_sql_table st_sql_code_table = {
	.name = "code",
	.help = "code that was compiled or loaded while the program ran, as it told",
	COLUMNS(code_columns),
	.has_row_number = true,
	.count = code_count,
	.cell = code_cell,
};

static const struct st_sql_column code_maps_columns[] = {
	{"path", "TEXT", "mapped file"},
	{"address", "TEXT", "from this address, hexadecimal"},
	{"end_address", "TEXT", "to this one"},
	{"file_offset", "INTEGER", "where in the file"},
	{"start_ns", "INTEGER", "from when"},
	{"process_id", "INTEGER", "its row of processes"},
};

static uint32_t code_maps_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_code_maps(sql->result, &count);
	return count;
}

static void code_maps_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_code_map *map = &st_result_code_maps(sql->result, &count)[row];

	if (column == 0)
		st_sql_result_id(out, sql, map->path);
	else if (column == 1)
		result_hex(out, map->start);
	else if (column == 2)
		result_hex(out, map->end);
	else if (column == 3)
		sqlite3_result_int64(out, (int64_t)map->file_offset);
	else if (column == 4)
		sqlite3_result_int64(out, map->from_ns);
	else
		st_sql_result_row(out, map->process);
}

const struct st_sql_table st_sql_code_maps_table = {
	.name = "code_maps",
	.help = "files with code that processes had mapped",
	COLUMNS(code_maps_columns),
	.count = code_maps_count,
	.cell = code_maps_cell,
};
