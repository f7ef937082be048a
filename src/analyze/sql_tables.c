// SPDX-License-Identifier: Apache-2.0
//
// The tables of SQL as data, the small ones with their cells, and the page that lists them all.
#include "analyze/sql_table.h"

#include <string.h>

#include "analyze/quality.h"
#include "analyze/words.h"
#include "base/buf.h"

#define COLUMNS_OF(array) (array), (int)(sizeof(array) / sizeof((array)[0]))

void st_sql_result_text(sqlite3_context *out, struct st_text text)
{
	/* Texts of the result live longer than any statement. */
	sqlite3_result_text64(out, text.bytes ? text.bytes : "", text.size_bytes, SQLITE_STATIC,
			      SQLITE_UTF8);
}

static void result_id(sqlite3_context *out, const struct st_sql *sql, st_string_id id)
{
	st_sql_result_text(out, st_result_text(sql->result, id));
}

static const struct st_sql_column threads_columns[] = {
	{"track", "INTEGER", "number of the row; slices.track"},
	{"tid", "INTEGER", "thread number of the system"},
	{"thread", "TEXT", "as reports show it: 'main (4711)'"},
	{"name", "TEXT", "given by the program, or NULL"},
	{"pid", "INTEGER", "process number of the system"},
	{"process_id", "INTEGER", "its row of processes"},
	{"process", "TEXT", "as reports show it"},
	{"start_ns", "INTEGER", "first seen, since the start of collection"},
	{"end_ns", "INTEGER", "last seen"},
	{"count", "INTEGER", "slices of the thread"},
	{"slices_dropped", "INTEGER", "slices lost because its ring was full"},
};

static uint32_t threads_count(const struct st_sql *sql)
{
	return sql->dataset.track_count;
}

static void threads_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t track_count, process_count;
	const struct st_track *track = &st_result_tracks(sql->result, &track_count)[row];
	const struct st_process *processes = st_result_processes(sql->result, &process_count);
	bool has_process = track->process < process_count;

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1)
		sqlite3_result_int64(out, track->tid);
	else if (column == 2)
		st_sql_result_text(out, sql->threads[row]);
	else if (column == 3 && track->name)
		result_id(out, sql, track->name);
	else if (column == 4 && has_process)
		sqlite3_result_int64(out, processes[track->process].pid);
	else if (column == 5 && has_process)
		sqlite3_result_int64(out, track->process);
	else if (column == 6 && has_process)
		st_sql_result_text(out, sql->processes[track->process]);
	else if (column == 7)
		sqlite3_result_int64(out, track->first_ns);
	else if (column == 8)
		sqlite3_result_int64(out, track->last_ns);
	else if (column == 9)
		sqlite3_result_int64(out, track->row_end - track->row_begin);
	else if (column == 10)
		sqlite3_result_int64(out, (int64_t)track->loss.slices_dropped);
}

static const struct st_sql_column processes_columns[] = {
	{"process_id", "INTEGER", "number of the row; slices.process_id"},
	{"pid", "INTEGER", "process number of the system"},
	{"process", "TEXT", "as reports show it: 'train.py (4711)'"},
	{"name", "TEXT", "program, or script after an interpreter"},
	{"parent", "INTEGER", "process_id of the parent, or NULL"},
	{"incarnation", "INTEGER", "0, one more at each exec"},
	{"direct", "INTEGER", "1: started by strata itself"},
	{"command_line", "TEXT", "arguments, quoted where needed"},
	{"executable", "TEXT", "path of the program"},
	{"how_ended", "TEXT", "'exit 0', 'SIGSEGV' …"},
	{"start_ns", "INTEGER", "first seen, since the start of collection"},
	{"end_ns", "INTEGER", "last seen"},
};

static uint32_t processes_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_processes(sql->result, &count);
	return count;
}

static void process_end(const struct st_process *process, sqlite3_context *out)
{
	struct st_arena arena;
	const char *words;

	st_arena_init(&arena, 1 << 16);
	words = st_words_process_end(process, &arena);
	if (words)
		sqlite3_result_text(out, words, -1, SQLITE_TRANSIENT);
	st_arena_fini(&arena);
}

static void processes_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_process *process = &st_result_processes(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1)
		sqlite3_result_int64(out, process->pid);
	else if (column == 2)
		st_sql_result_text(out, sql->processes[row]);
	else if (column == 3)
		result_id(out, sql, process->name);
	else if (column == 4 && process->parent != ST_NO_ROW)
		sqlite3_result_int64(out, process->parent);
	else if (column == 5)
		sqlite3_result_int64(out, process->incarnation);
	else if (column == 6)
		sqlite3_result_int(out, (process->flags & ST_PROCESS_DIRECT) != 0);
	else if (column == 7)
		result_id(out, sql, process->command_line);
	else if (column == 8)
		result_id(out, sql, process->executable);
	else if (column == 9)
		process_end(process, out);
	else if (column == 10)
		sqlite3_result_int64(out, process->first_ns);
	else if (column == 11)
		sqlite3_result_int64(out, process->last_ns);
}

static const struct st_sql_column labels_columns[] = {
	{"label", "INTEGER",
	 "number of the row; slices.label. Two processes may have one each for a "
	 "text"},
	{"task_type", "TEXT", "name of the task"},
	{"task_domain", "TEXT", "domain of the task"},
	{"task_family", "TEXT", "name with its numbers folded"},
};

static uint32_t labels_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_labels(sql->result, &count);
	return count;
}

static void labels_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_label *label = &st_result_labels(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1)
		result_id(out, sql, label->name);
	else if (column == 2)
		result_id(out, sql, label->domain);
	else
		result_id(out, sql, label->family);
}

static const struct st_sql_column not_entered_columns[] = {
	{"pid", "INTEGER", "of the first one"},
	{"executable", "TEXT", "path of the program"},
	{"command", "TEXT", "its arguments"},
	{"reason", "TEXT", "why it ran unrecorded"},
	{"start_ns", "INTEGER", "when the first one was seen"},
	{"count", "INTEGER", "how often, the same program for the same reason"},
};

static uint32_t not_entered_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_not_entered(sql->result, &count);
	return count;
}

static void not_entered_cell(const struct st_sql *sql, uint32_t row, int column,
			     sqlite3_context *out)
{
	uint32_t count;
	const struct st_not_entered_program *program =
		&st_result_not_entered(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, program->pid);
	else if (column == 1)
		result_id(out, sql, program->executable);
	else if (column == 2)
		result_id(out, sql, program->command);
	else if (column == 3)
		sqlite3_result_text(out, st_words_not_entered(program->reason), -1, SQLITE_STATIC);
	else if (column == 4)
		sqlite3_result_int64(out, program->time_ns);
	else
		sqlite3_result_int64(out, program->count);
}

static const struct st_sql_column pauses_columns[] = {
	{"process_id", "INTEGER", "its row of processes; NULL: all of them"},
	{"start_ns", "INTEGER", "nothing was recorded from here"},
	{"end_ns", "INTEGER", "to here"},
};

static uint32_t pauses_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_pauses(sql->result, &count);
	return count;
}

static void pauses_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_pause_window *pause = &st_result_pauses(sql->result, &count)[row];

	if (column == 0 && pause->process != ST_NO_ROW)
		sqlite3_result_int64(out, pause->process);
	else if (column == 1)
		sqlite3_result_int64(out, pause->begin_ns);
	else if (column == 2)
		sqlite3_result_int64(out, pause->end_ns);
}

static const struct st_sql_column quality_columns[] = {
	{"name", "TEXT", "'slices_dropped', 'unfinished' …: the keys of \"quality\" in JSON"},
	{"value", "INTEGER", "how many"},
	{"meaning", "TEXT", "in words"},
};

static uint32_t quality_count(const struct st_sql *sql)
{
	(void)sql;
	return ST_QUALITY_ITEMS;
}

static void quality_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	struct st_quality_item items[ST_QUALITY_ITEMS];

	st_quality_items(sql->result, items);
	if (column == 0)
		sqlite3_result_text(out, items[row].key, -1, SQLITE_STATIC);
	else if (column == 1)
		sqlite3_result_int64(out, (int64_t)items[row].value);
	else
		sqlite3_result_text(out, items[row].words, -1, SQLITE_STATIC);
}

static const struct st_sql_column notes_columns[] = {
	{"note", "TEXT", "a sentence about damage or loss"},
};

static uint32_t notes_count(const struct st_sql *sql)
{
	return (uint32_t)st_result_quality(sql->result)->note_count;
}

static void notes_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	(void)column;
	sqlite3_result_text(out, st_result_quality(sql->result)->notes[row], -1, SQLITE_STATIC);
}

static const struct st_sql_column info_columns[] = {
	{"section", "TEXT", "'run', 'host' or 'strata'"},
	{"key", "TEXT", "as in report info: 'command', 'elapsed_ns' …"},
	{"value", "", "a text or a number"},
};

static uint32_t info_count(const struct st_sql *sql)
{
	return sql->info_count;
}

/* The first columns of report info are section, name and value. */
static void info_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	const struct st_cell *cell = &sql->info.rows[sql->info_rows[row]].cells[column];

	if (cell->kind == ST_CELL_TEXT)
		st_sql_result_text(out, cell->as.text);
	else if (cell->kind == ST_CELL_U64)
		sqlite3_result_int64(out, (int64_t)cell->as.u64);
}

const struct st_sql_table st_sql_tables[] = {
	{"slices", "one row per recorded task", st_sql_slices_columns, ST_SQL_SLICES_COLUMNS, true,
	 st_sql_slices_count, st_sql_slices_cell},
	{"threads", "one row per thread that recorded", COLUMNS_OF(threads_columns), true,
	 threads_count, threads_cell},
	{"processes", "one row per process that was entered", COLUMNS_OF(processes_columns), true,
	 processes_count, processes_cell},
	{"labels", "what tasks are called", COLUMNS_OF(labels_columns), true, labels_count,
	 labels_cell},
	{"not_entered", "programs that ran unrecorded", COLUMNS_OF(not_entered_columns), false,
	 not_entered_count, not_entered_cell},
	{"pauses", "times without recording", COLUMNS_OF(pauses_columns), false, pauses_count,
	 pauses_cell},
	{"quality", "what was lost, cut or guessed", COLUMNS_OF(quality_columns), false,
	 quality_count, quality_cell},
	{"notes", "what there is to say about damage", COLUMNS_OF(notes_columns), false,
	 notes_count, notes_cell},
	{"info", "what is known of the run", COLUMNS_OF(info_columns), false, info_count,
	 info_cell},
	{NULL, NULL, NULL, 0, false, NULL, NULL},
};
_Static_assert(sizeof(st_sql_tables) / sizeof(st_sql_tables[0]) == ST_SQL_TABLES + 1,
	       "ST_SQL_TABLES counts the tables");

bool st_sql_schema(struct st_buf *out)
{
	for (const struct st_sql_table *table = st_sql_tables; table->name; table++) {
		st_buf_printf(out, "%s%s: %s\n", table == st_sql_tables ? "" : "\n", table->name,
			      table->help);
		for (int i = 0; i < table->column_count; i++) {
			const struct st_sql_column *column = &table->columns[i];

			st_buf_printf(out, "  %-15s %-8s %s\n", column->name, column->type,
				      column->help);
		}
	}
	return !out->failed;
}
