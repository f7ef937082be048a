// SPDX-License-Identifier: Apache-2.0
//
// Tables about code: what was loaded or compiled while the program ran, and who began tasks.
#include <inttypes.h>

#include "analyze/datasets/words.h"
#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "base/buf.h"
#include "store/events.h"

/* The first caller is nobody known. */
static struct st_cell caller_process(const struct st_table_at *at)
{
	return at->row ? st_read_reference(at) : st_no_cell();
}

static const struct st_table_column callers_columns[] = {
	{"caller", "row number; 0: unknown", ST_ROW_NUMBER},
	{"place", "file and offset, or NULL", ST_SOME_NAME(struct st_caller, place)},
	{"address", "hexadecimal", ST_HEX(struct st_caller, address)},
	{"process_id", "row in processes", ST_INTEGER, .cell = caller_process,
	 ST_MEMBER(struct st_caller, process)},
};

ST_ROWS_FROM(callers_rows, st_result_callers)

const struct st_table st_callers_table = {
	.name = "callers",
	.help = "places in the code that started tasks",
	ST_COLUMNS(callers_columns),
	.has_row_number = true,
	.rows = callers_rows,
	.item_bytes = sizeof(struct st_caller),
};

static struct st_cell code_kind(const struct st_table_at *at)
{
	return st_cell_text(st_words_event_kind((uint32_t)st_table_value(at)));
}

static struct st_cell code_method(const struct st_table_at *at)
{
	const struct st_code *code = at->item;

	return code->kind == ST_EVENT_JIT ? st_read_number(at) : st_no_cell();
}

static struct st_cell code_parent(const struct st_table_at *at)
{
	const struct st_code *code = at->item;

	return code->kind == ST_EVENT_JIT ? st_read_some(at) : st_no_cell();
}

static struct st_cell code_lines(const struct st_table_at *at)
{
	const struct st_code *code = at->item;
	struct st_buf text;

	if (!code->line_count)
		return st_no_cell();
	st_buf_init(&text, 16 << 20);
	for (uint32_t i = 0; i < code->line_count; i++)
		st_buf_printf(&text, "%s[%" PRIu32 ",%" PRIu32 "]", i ? "," : "[",
			      code->lines[2 * i], code->lines[2 * i + 1]);
	st_buf_append_u8(&text, ']');
	return st_buf_cell(at, &text);
}

static const struct st_table_column code_columns[] = {
	{"row", "row number", ST_ROW_NUMBER},
	{"kind", "'jit', 'module_load' or 'module_load_sections'", ST_TEXT, .cell = code_kind,
	 ST_MEMBER(struct st_code, kind)},
	{"name", "method, or path of the module", ST_SOME_NAME(struct st_code, name)},
	{"class_name", "class of a method, or NULL", ST_SOME_NAME(struct st_code, class_name)},
	{"source", "source file, or NULL", ST_SOME_NAME(struct st_code, source)},
	{"module", "module, or NULL", ST_SOME_NAME(struct st_code, module)},
	{"address", "address, hexadecimal", ST_HEX(struct st_code, address)},
	{"size_bytes", "size of the code", ST_NUMBER(struct st_code, size_bytes)},
	{"start_ns", "start time", ST_NUMBER(struct st_code, from_ns)},
	{"end_ns", "end time: unloaded, replaced, or the end of the process",
	 ST_NUMBER(struct st_code, until_ns)},
	{"method", "method ID", ST_INTEGER, .cell = code_method, ST_MEMBER(struct st_code, method)},
	{"parent_method", "for an inlined method: the enclosing one, or NULL", ST_INTEGER,
	 .cell = code_parent, ST_MEMBER(struct st_code, parent_method)},
	{"process_id", "row in processes", ST_REFERENCE(struct st_code, process)},
	{"lines", "pairs of end offset and line as a JSON array, or NULL", ST_TEXT,
	 .cell = code_lines},
};

ST_ROWS_FROM(code_rows, st_result_code)

const struct st_table st_code_table = {
	.name = "code",
	.help = "code that was compiled or loaded at run time, as reported by the program",
	ST_COLUMNS(code_columns),
	.has_row_number = true,
	.rows = code_rows,
	.item_bytes = sizeof(struct st_code),
};

static const struct st_table_column code_maps_columns[] = {
	{"path", "mapped file", ST_NAME(struct st_code_map, path)},
	{"address", "start address, hexadecimal", ST_HEX(struct st_code_map, start)},
	{"end_address", "end address", ST_HEX(struct st_code_map, end)},
	{"file_offset", "offset in the file", ST_NUMBER(struct st_code_map, file_offset)},
	{"start_ns", "start time", ST_NUMBER(struct st_code_map, from_ns)},
	{"process_id", "row in processes", ST_REFERENCE(struct st_code_map, process)},
};

ST_ROWS_FROM(code_maps_rows, st_result_code_maps)

const struct st_table st_code_maps_table = {
	.name = "code_maps",
	.help = "files with code mapped by processes",
	ST_COLUMNS(code_maps_columns),
	.rows = code_maps_rows,
	.item_bytes = sizeof(struct st_code_map),
};
