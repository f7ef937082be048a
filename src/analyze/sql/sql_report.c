// SPDX-License-Identifier: Apache-2.0
//
// The rows of a statement as a report. Texts are copied, because SQLite keeps a row only until the
// next; what is kept counts against the same cap as SQLite's own memory.
#include "analyze/sql/sql_parts.h"

#include <stdio.h>
#include <string.h>

#include "analyze/tables/report_make.h"

enum { TITLE_MAX_BYTES = 60 };

static enum st_status over_cap(const struct st_sql *sql, struct st_error *err)
{
	return st_sql_error(sql, "", SQLITE_NOMEM, err);
}

static bool ends_with(const char *name, const char *unit)
{
	size_t size = strlen(name), tail = strlen(unit);

	return size > tail + 1 && name[size - tail - 1] == '_' &&
	       strcmp(name + size - tail, unit) == 0;
}

static const char *unit_of(const char *name)
{
	static const char *const units[] = {"ns", "bytes", "ratio"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (ends_with(name, units[i]))
			return units[i];
	return "";
}

/* Rows of JSON have a member "children" of their own. */
static bool is_taken(const struct st_report *report, uint32_t count, const char *key)
{
	if (strcmp(key, "children") == 0)
		return true;
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(report->columns[i].key, key) == 0)
			return true;
	return false;
}

/* Two columns of one name would be one key twice: the second gets a number in front of its unit. */
static const char *make_key(struct st_report *report, uint32_t count, const char *name)
{
	struct st_arena *arena = st_report_arena(report);
	const char *unit = unit_of(name);
	size_t stem = strlen(name) - (*unit ? strlen(unit) + 1 : 0);
	const char *key = st_arena_copy(arena, name, strlen(name));

	for (unsigned int i = 2; key && is_taken(report, count, key); i++)
		key = st_arena_printf(arena, "%.*s_%u%s%s", (int)stem, name, i, *unit ? "_" : "",
				      unit);
	return key;
}

/* A column's heading: on one line, and not longer than a table can show. */
static const char *make_title(struct st_report *report, const char *key)
{
	size_t size = strlen(key);
	char *title;

	if (size > TITLE_MAX_BYTES) {
		size = TITLE_MAX_BYTES;
		while (size && ((unsigned char)key[size] & 0xc0) == 0x80)
			size--;
	}
	title = st_arena_copy(st_report_arena(report), size ? key : "?", size ? size : 1);
	for (char *at = title; at && *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = ' ';
	return title;
}

static bool make_columns(struct st_report *report, sqlite3_stmt *statement)
{
	uint32_t count = (uint32_t)sqlite3_column_count(statement);

	report->columns = st_arena_calloc(st_report_arena(report), (size_t)count + 1,
					  sizeof(struct st_column));
	if (!report->columns)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = sqlite3_column_name(statement, (int)i);
		struct st_column *column = &report->columns[i];

		column->key = name ? make_key(report, i, name) : NULL;
		column->title = column->key ? make_title(report, column->key) : NULL;
		if (!column->title)
			return false;
		column->unit = unit_of(column->key);
	}
	report->column_count = count;
	return true;
}

static bool copy_text(struct st_report *report, struct st_cell *cell, const void *bytes,
		      size_t size)
{
	char *copy = st_arena_copy(st_report_arena(report), bytes ? bytes : "", size);

	*cell = st_cell_bytes((struct st_text){copy, size});
	return copy != NULL;
}

static bool copy_blob(struct st_report *report, struct st_cell *cell, const uint8_t *bytes,
		      size_t size)
{
	char *hex = st_arena_alloc(st_report_arena(report), 2 * size + 1);

	if (!hex)
		return false;
	for (size_t i = 0; i < size; i++) {
		hex[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	hex[2 * size] = '\0';
	*cell = st_cell_bytes((struct st_text){hex, 2 * size});
	return true;
}

static bool copy_cell(struct st_report *report, struct st_cell *cell, sqlite3_stmt *statement,
		      int column)
{
	const void *bytes;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		*cell = st_cell_i64(sqlite3_column_int64(statement, column));
		return true;
	case SQLITE_FLOAT:
		*cell = st_cell_double(sqlite3_column_double(statement, column));
		return true;
	case SQLITE_TEXT:
		bytes = sqlite3_column_text(statement, column);
		return bytes && copy_text(report, cell, bytes,
					  (size_t)sqlite3_column_bytes(statement, column));
	case SQLITE_BLOB:
		bytes = sqlite3_column_blob(statement, column);
		return copy_blob(report, cell, bytes,
				 (size_t)sqlite3_column_bytes(statement, column));
	default:
		return true;
	}
}

static bool add_row(struct st_report *report, sqlite3_stmt *statement)
{
	const struct st_report_memory *memory = report->memory;
	struct st_cell *cells = st_report_add(report, 0);

	if (memory->failed || memory->arena.failed)
		return false;
	for (uint32_t i = 0; i < report->column_count; i++) {
		if (!copy_cell(report, &cells[i], statement, (int)i))
			return false;
		/* Columns of text are set to the left. */
		if (cells[i].kind == ST_CELL_TEXT)
			report->columns[i].is_key = true;
	}
	return true;
}

/* What the answer and SQLite hold together, with room for the rows to double. */
static bool is_over(const struct st_sql *sql, const struct st_report *report)
{
	const struct st_report_memory *memory = report->memory;
	uint64_t used = memory->arena.used_bytes +
			(uint64_t)memory->row_capacity * sizeof(*report->rows) +
			(uint64_t)sqlite3_memory_used();

	return used > sql->options.memory_bytes;
}

enum st_status st_sql_collect(struct st_sql *sql, sqlite3_stmt *statement, struct st_report *out,
			      struct st_error *err)
{
	enum st_status status = st_report_begin(out, "query", sql->result, err);
	int code = SQLITE_ROW;

	if (status)
		return status;
	out->as_asked = true;
	((struct st_report_memory *)out->memory)->arena.max_bytes = sql->options.memory_bytes;
	if (!make_columns(out, statement))
		status = over_cap(sql, err);
	while (status == ST_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
		if (!add_row(out, statement) || is_over(sql, out))
			status = over_cap(sql, err);
	if (status == ST_OK && code != SQLITE_DONE)
		status = ST_EIO; /* the caller finds the words */
	if (status)
		st_report_fini(out);
	return status;
}
