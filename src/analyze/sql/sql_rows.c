// SPDX-License-Identifier: Apache-2.0
//
// Tables of SQL over the sets of dataset_rows.h. Their columns are those that the reports show of single
// rows, filled by the same functions, so that SQL and reports cannot differ.
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/report_rows.h"
#include "analyze/sql/sql_table.h"

/* Columns in front of those of the report, and behind them. */
enum { COLUMN_ROW, COLUMN_NAME, COLUMN_WALL, FRONT_COLUMNS };
enum { BACK_TRACK, BACK_PROCESS, BACK_SLICE, BACK_REFERENCE };

struct st_sql_rows {
	struct {
		struct st_dataset dataset;
		bool is_open;
	} sets[ST_ROW_SETS];
	struct st_id_names *names;
	/* The row that was shown last: SQLite asks for one column after the other. */
	const struct st_rows_report *report;
	uint32_t row;
	struct st_arena arena;
	struct st_cell cells[ST_REPORT_COLUMNS_MAX];
};

static int open_set(struct st_sql *sql, const struct st_rows_report *report)
{
	struct st_sql_rows *rows = sql->rows;

	if (!rows) {
		rows = sql->rows = calloc(1, sizeof(*rows));
		if (!rows)
			return SQLITE_NOMEM;
		st_arena_init(&rows->arena, SIZE_MAX / 2);
	}
	if (!rows->names)
		rows->names = st_id_names_make(sql->result);
	if (!rows->names)
		return SQLITE_NOMEM;
	if (rows->sets[report->set].is_open)
		return SQLITE_OK;
	if (st_dataset_rows_init(&rows->sets[report->set].dataset, sql->result, report->set, NULL))
		return SQLITE_NOMEM;
	rows->sets[report->set].is_open = true;
	return SQLITE_OK;
}

void st_sql_rows_close(struct st_sql *sql)
{
	struct st_sql_rows *rows = sql->rows;

	if (!rows)
		return;
	for (unsigned int i = 0; i < ST_ROW_SETS; i++)
		if (rows->sets[i].is_open)
			st_dataset_rows_fini(&rows->sets[i].dataset);
	st_id_names_free(rows->names);
	st_arena_fini(&rows->arena);
	free(rows);
	sql->rows = NULL;
}

static uint32_t count_of(const struct st_sql *sql, const struct st_rows_report *report)
{
	return sql->rows->sets[report->set].dataset.row_count;
}

static void show_row(struct st_sql_rows *rows, const struct st_sql *sql,
		     const struct st_rows_report *report, uint32_t row)
{
	struct st_rows_job job = {.result = sql->result,
				  .dataset = &rows->sets[report->set].dataset,
				  .arena = &rows->arena,
				  .names = rows->names};

	if (rows->report == report && rows->row == row)
		return;
	st_arena_fini(&rows->arena);
	st_arena_init(&rows->arena, SIZE_MAX / 2);
	memset(rows->cells, 0, sizeof(rows->cells));
	report->instance_cells(&job, rows->cells, row);
	rows->report = report;
	rows->row = row;
}

static void result_cell(sqlite3_context *out, const struct st_cell *cell)
{
	switch (cell->kind) {
	case ST_CELL_TEXT:
		sqlite3_result_text64(out, cell->as.text.size_bytes ? cell->as.text.bytes : "",
				      cell->as.text.size_bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
		break;
	case ST_CELL_U64:
		/* SQLite's numbers have a sign; what is beyond them becomes floating point. */
		if (cell->as.u64 > INT64_MAX)
			sqlite3_result_double(out, (double)cell->as.u64);
		else
			sqlite3_result_int64(out, (int64_t)cell->as.u64);
		break;
	case ST_CELL_I64:
		sqlite3_result_int64(out, cell->as.i64);
		break;
	case ST_CELL_DOUBLE:
		sqlite3_result_double(out, cell->as.number);
		break;
	default:
		break;
	}
}

static uint32_t slice_of(const struct st_sql *sql, struct st_row_source source)
{
	uint32_t count;
	const struct st_span *spans = st_result_spans(sql->result, &count);
	const struct st_events *events = st_result_events(sql->result);

	if (source.span != ST_NO_ROW)
		return spans[source.span].slice;
	return source.event < events->count ? events->rows[source.event].slice : ST_NO_ROW;
}

static void back_cell(const struct st_sql *sql, const struct st_dataset *dataset, uint32_t row,
		      int column, sqlite3_context *out)
{
	uint32_t process_count, track, process;
	struct st_row_source source = st_dataset_rows_source(dataset, row);

	st_result_processes(sql->result, &process_count);
	track = st_key_of(&dataset->keys[ST_BY_THREAD], row);
	process = st_key_of(&dataset->keys[ST_BY_PROCESS], row);
	if (column == BACK_TRACK && track < sql->dataset.track_count)
		sqlite3_result_int64(out, track);
	else if (column == BACK_PROCESS && process < process_count)
		sqlite3_result_int64(out, process);
	else if (column == BACK_SLICE)
		st_sql_result_row(out, slice_of(sql, source));
	else if (column == BACK_REFERENCE)
		st_sql_result_row(out, source.number);
}

static void cell_of(const struct st_sql *sql, const struct st_rows_report *report, uint32_t row,
		    int column, sqlite3_context *out)
{
	struct st_sql_rows *rows = sql->rows;
	const struct st_dataset *dataset = &rows->sets[report->set].dataset;
	int behind = column - FRONT_COLUMNS - (int)report->instance_column_count;

	show_row(rows, sql, report, row);
	if (column == COLUMN_ROW) {
		sqlite3_result_int64(out, row);
	} else if (column == COLUMN_NAME) {
		struct st_cell name =
			st_cell_bytes(dataset->text(dataset, dataset->instance, row, &rows->arena));

		result_cell(out, &name);
	} else if (column == COLUMN_WALL) {
		sqlite3_result_int64(out, (int64_t)dataset->self_ns[row]);
	} else if (behind < 0) {
		result_cell(out, &rows->cells[column - FRONT_COLUMNS]);
	} else {
		back_cell(sql, dataset, row, behind, out);
	}
}

/* SQLite's tables know their row and column; which report they show is in their functions. */
#define ROWS_TABLE(table, report_of, words)                                                        \
	static int table##_open(struct st_sql *sql)                                                \
	{                                                                                          \
		return open_set(sql, &(report_of));                                                \
	}                                                                                          \
	static uint32_t table##_count(const struct st_sql *sql)                                    \
	{                                                                                          \
		return count_of(sql, &(report_of));                                                \
	}                                                                                          \
	static void table##_cell(const struct st_sql *sql, uint32_t row, int column,               \
				 sqlite3_context *out)                                             \
	{                                                                                          \
		cell_of(sql, &(report_of), row, column, out);                                      \
	}                                                                                          \
	const struct st_sql_table st_sql_##table##_table = {                                       \
		.name = #table,                                                                    \
		.help = (words),                                                                   \
		.columns = table##_columns,                                                        \
		.column_count = (int)(sizeof(table##_columns) / sizeof(table##_columns[0])),       \
		.has_row_number = true,                                                            \
		.count = table##_count,                                                            \
		.cell = table##_cell,                                                              \
		.open = table##_open,                                                              \
	}

#define ROW_AND_NAME(name, words)                                                                  \
	{"row", "INTEGER", "number of the row"}, {(name), "TEXT", (words)},                        \
		{"wall_ns", "INTEGER", "duration, less paused time when clipped"},                 \
	{                                                                                          \
		"start_ns", "INTEGER", "when, since the start of collection"                       \
	}

#define PLACES                                                                                     \
	{"track", "INTEGER", "its row of threads, or NULL"},                                       \
		{"process_id", "INTEGER", "its row of processes, or NULL"},                        \
	{                                                                                          \
		"slice", "INTEGER", "row of the innermost slice around it, or NULL"                \
	}

static const struct st_sql_column frames_columns[] = {
	ROW_AND_NAME("frame", "number within its domain"),
	{"frame_domain", "TEXT", "domain of the frame"},
	{"id", "TEXT", "id, or NULL"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread that began it"},
	{"end_thread", "TEXT", "thread that ended it, when another one"},
	{"flags", "TEXT", "'unfinished', 'clipped', 'estimated' …"},
	PLACES,
};
ROWS_TABLE(frames, st_frames_report, "one row per frame");

static const struct st_sql_column regions_columns[] = {
	ROW_AND_NAME("region", "name of the region"),
	{"domain", "TEXT", "domain of the region"},
	{"id", "TEXT", "its id"},
	{"parent_id", "TEXT", "id of its parent, or NULL"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread that began it"},
	{"end_thread", "TEXT", "thread that ended it, when another one"},
	{"flags", "TEXT", "'unfinished', 'clipped' …"},
	PLACES,
};
ROWS_TABLE(regions, st_regions_report, "one row per region");

static const struct st_sql_column overlapped_columns[] = {
	ROW_AND_NAME("task_type", "name of the task"),
	{"task_domain", "TEXT", "domain of the task"},
	{"kind", "TEXT", "'overlapped' or 'timed'"},
	{"id", "TEXT", "its id"},
	{"parent_id", "TEXT", "id of its parent, or NULL"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread that began it"},
	{"end_thread", "TEXT", "thread that ended it, when another one"},
	{"flags", "TEXT", "'unfinished', 'clipped', 'estimated' …"},
	PLACES,
};
ROWS_TABLE(overlapped, st_overlapped_report,
	   "one row per overlapped task, or task with times of its own");

static const struct st_sql_column markers_columns[] = {
	ROW_AND_NAME("marker", "name"),
	{"domain", "TEXT", "domain, or NULL"},
	{"scope", "TEXT", "'global', 'process', 'thread', 'task' …"},
	{"kind", "TEXT", "'marker', 'event' or 'mark'"},
	{"text", "TEXT", "text of a mark, or NULL"},
	{"id", "TEXT", "id, or NULL"},
	{"task", "TEXT", "innermost task around it, or NULL"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread as reports show it"},
	{"flags", "TEXT", "'unfinished', 'clipped' …"},
	PLACES,
};
ROWS_TABLE(markers, st_markers_report, "markers, user events and marks");

static const struct st_sql_column counter_values_columns[] = {
	ROW_AND_NAME("name", "name of the counter"),
	{"value", "", "the value from then on; additions are summed up"},
	{"delta", "", "change against the value before"},
	{"counter", "TEXT", "name of the counter"},
	{"domain", "TEXT", "domain, or NULL"},
	{"unit", "TEXT", "unit, or NULL"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread as reports show it"},
	PLACES,
	{"counter_row", "INTEGER", "its row of counters"},
};
ROWS_TABLE(counter_values, st_counters_report, "values of counters over time");

static const struct st_sql_column waits_columns[] = {
	ROW_AND_NAME("sync_object", "the object as report sync shows it"),
	{"sync_type", "TEXT", "type of the object"},
	{"kind", "TEXT", "'wait', 'hold', 'acquired' or 'releasing'"},
	{"task", "TEXT", "innermost task around it, or NULL"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread as reports show it"},
	{"flags", "TEXT", "'cancelled', 'unfinished' …"},
	PLACES,
	{"object", "INTEGER", "its row of sync_objects, or NULL"},
};
ROWS_TABLE(waits, st_sync_report, "waits for sync objects, holds, acquisitions and releases");

static const struct st_sql_column relations_columns[] = {
	ROW_AND_NAME("head", "name of the head"),
	{"relation", "TEXT", "'dependent_on', 'parent_of' …"},
	{"tail", "TEXT", "name of the tail"},
	{"head_id", "TEXT", "id of the head, or NULL: the current task"},
	{"tail_id", "TEXT", "id of the tail"},
	{"domain", "TEXT", "domain"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread as reports show it"},
	PLACES,
};
ROWS_TABLE(relations, st_relations_report, "relations that the program told");

static const struct st_sql_column metadata_columns[] = {
	ROW_AND_NAME("task_type", "what it is attached to"),
	{"key", "TEXT", "key, or format"},
	{"value", "TEXT", "text, number, or JSON array of numbers"},
	{"type", "TEXT", "'u64' …, 'text' or 'formatted'"},
	{"count", "INTEGER", "elements, as given"},
	{"domain", "TEXT", "domain"},
	{"id", "TEXT", "id it was given for, or NULL"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread as reports show it"},
	PLACES,
};
ROWS_TABLE(metadata, st_metadata_report, "what the program attached to tasks");

static const struct st_sql_column histograms_columns[] = {
	ROW_AND_NAME("histogram", "name of the histogram"),
	{"x", "TEXT", "values of the x axis as a JSON array, or NULL"},
	{"y", "TEXT", "values of the y axis as a JSON array"},
	{"domain", "TEXT", "domain"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread as reports show it"},
	PLACES,
};
ROWS_TABLE(histograms, st_histograms_report, "submissions of histograms");

static const struct st_sql_column heap_columns[] = {
	ROW_AND_NAME("heap_function", "name of the allocator"),
	{"kind", "TEXT", "'allocate', 'reallocate' or 'free'"},
	{"address", "TEXT", "hexadecimal"},
	{"size_bytes", "INTEGER", "bytes asked for, or NULL"},
	{"domain", "TEXT", "domain"},
	{"process", "TEXT", "process as reports show it"},
	{"thread", "TEXT", "thread as reports show it"},
	PLACES,
};
ROWS_TABLE(heap, st_heap_report, "ends of heap calls, by time");
