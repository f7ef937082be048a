// SPDX-License-Identifier: Apache-2.0
//
// The tables of SQL as data, the small ones with their cells, and the page that lists them all.
#include "analyze/sql/sql_table.h"

#include <stdio.h>
#include <string.h>

#include "analyze/reports/quality.h"
#include "analyze/datasets/words.h"
#include "base/buf.h"
#include "store/events.h"
#include "store/samples.h"

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

void st_sql_result_text(sqlite3_context *out, struct st_text text)
{
	/* Texts of the result live longer than any statement. */
	sqlite3_result_text64(out, text.bytes ? text.bytes : "", text.size_bytes, SQLITE_STATIC,
			      SQLITE_UTF8);
}

void st_sql_result_id(sqlite3_context *out, const struct st_sql *sql, st_string_id id)
{
	st_sql_result_text(out, st_result_text(sql->result, id));
}

void st_sql_result_itt_id(sqlite3_context *out, const struct st_sql *sql, uint32_t id)
{
	uint32_t count;
	const struct st_itt_id *ids = st_result_ids(sql->result, &count);
	char text[80];

	if (!id || id >= count)
		return;
	snprintf(text, sizeof(text), "%llu:%llu:%llu", (unsigned long long)ids[id].d[0],
		 (unsigned long long)ids[id].d[1], (unsigned long long)ids[id].d[2]);
	sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

void st_sql_result_row(sqlite3_context *out, uint32_t row)
{
	if (row != ST_NO_ROW)
		sqlite3_result_int64(out, row);
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
	{"samples", "INTEGER", "samples of the thread"},
	{"creator", "INTEGER", "track of the thread that created it, or NULL"},
};

static uint32_t threads_count(const struct st_sql *sql)
{
	return sql->dataset.track_count;
}

static uint32_t samples_of(const struct st_sql *sql, uint32_t track)
{
	const uint32_t *first = st_result_samples(sql->result)->first_of_track;

	return first ? first[track + 1] - first[track] : 0;
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
		st_sql_result_id(out, sql, track->name);
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
	else if (column == 11)
		sqlite3_result_int64(out, samples_of(sql, row));
	else if (column == 12)
		st_sql_result_row(out, st_result_track_creator(sql->result, row));
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
		st_sql_result_id(out, sql, process->name);
	else if (column == 4 && process->parent != ST_NO_ROW)
		sqlite3_result_int64(out, process->parent);
	else if (column == 5)
		sqlite3_result_int64(out, process->incarnation);
	else if (column == 6)
		sqlite3_result_int(out, (process->flags & ST_PROCESS_DIRECT) != 0);
	else if (column == 7)
		st_sql_result_id(out, sql, process->command_line);
	else if (column == 8)
		st_sql_result_id(out, sql, process->executable);
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
		st_sql_result_id(out, sql, label->name);
	else if (column == 2)
		st_sql_result_id(out, sql, label->domain);
	else
		st_sql_result_id(out, sql, label->family);
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
		st_sql_result_id(out, sql, program->executable);
	else if (column == 2)
		st_sql_result_id(out, sql, program->command);
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

static const struct st_sql_table slices_table = {
	.name = "slices",
	.help = "one row per recorded task",
	.columns = st_sql_slices_columns,
	.column_count = ST_SQL_SLICES_COLUMNS,
	.has_row_number = true,
	.count = st_sql_slices_count,
	.cell = st_sql_slices_cell,
};

static const struct st_sql_table threads_table = {
	.name = "threads",
	.help = "one row per thread that recorded",
	.columns = threads_columns,
	.column_count = COUNT_OF(threads_columns),
	.has_row_number = true,
	.count = threads_count,
	.cell = threads_cell,
};

static const struct st_sql_table processes_table = {
	.name = "processes",
	.help = "one row per process that was entered",
	.columns = processes_columns,
	.column_count = COUNT_OF(processes_columns),
	.has_row_number = true,
	.count = processes_count,
	.cell = processes_cell,
};

static const struct st_sql_table labels_table = {
	.name = "labels",
	.help = "what tasks are called",
	.columns = labels_columns,
	.column_count = COUNT_OF(labels_columns),
	.has_row_number = true,
	.count = labels_count,
	.cell = labels_cell,
};

static const struct st_sql_table not_entered_table = {
	.name = "not_entered",
	.help = "programs that ran unrecorded",
	.columns = not_entered_columns,
	.column_count = COUNT_OF(not_entered_columns),
	.has_row_number = false,
	.count = not_entered_count,
	.cell = not_entered_cell,
};

static const struct st_sql_table pauses_table = {
	.name = "pauses",
	.help = "times without recording",
	.columns = pauses_columns,
	.column_count = COUNT_OF(pauses_columns),
	.has_row_number = false,
	.count = pauses_count,
	.cell = pauses_cell,
};

static const struct st_sql_table quality_table = {
	.name = "quality",
	.help = "what was lost, cut or guessed",
	.columns = quality_columns,
	.column_count = COUNT_OF(quality_columns),
	.has_row_number = false,
	.count = quality_count,
	.cell = quality_cell,
};

static const struct st_sql_table notes_table = {
	.name = "notes",
	.help = "what there is to say about damage",
	.columns = notes_columns,
	.column_count = COUNT_OF(notes_columns),
	.has_row_number = false,
	.count = notes_count,
	.cell = notes_cell,
};

static const struct st_sql_table info_table = {
	.name = "info",
	.help = "what is known of the run",
	.columns = info_columns,
	.column_count = COUNT_OF(info_columns),
	.has_row_number = false,
	.count = info_count,
	.cell = info_cell,
};

const struct st_sql_table *const st_sql_tables[ST_SQL_TABLES] = {
	&slices_table,
	&threads_table,
	&processes_table,
	&labels_table,
	&st_sql_samples_table,
	&st_sql_stack_nodes_table,
	&st_sql_stack_frames_table,
	&st_sql_functions_table,
	&st_sql_python_codes_table,
	&st_sql_samplers_table,
	&st_sql_operators_table,
	&st_sql_memory_table,
	&st_sql_operator_sources_table,
	&st_sql_steps_table,
	&st_sql_python_calls_table,
	&st_sql_frames_table,
	&st_sql_regions_table,
	&st_sql_overlapped_table,
	&st_sql_markers_table,
	&st_sql_counters_table,
	&st_sql_counter_values_table,
	&st_sql_sync_objects_table,
	&st_sql_waits_table,
	&st_sql_relations_table,
	&st_sql_metadata_table,
	&st_sql_histograms_table,
	&st_sql_heap_table,
	&st_sql_spans_table,
	&st_sql_events_table,
	&st_sql_objects_table,
	&st_sql_object_facts_table,
	&st_sql_callers_table,
	&st_sql_code_table,
	&st_sql_code_maps_table,
	&not_entered_table,
	&pauses_table,
	&quality_table,
	&notes_table,
	&info_table,
};

bool st_sql_schema(struct st_buf *out)
{
	for (int t = 0; t < ST_SQL_TABLES; t++) {
		const struct st_sql_table *table = st_sql_tables[t];

		st_buf_printf(out, "%s%s: %s\n", t ? "\n" : "", table->name, table->help);
		for (int i = 0; i < table->column_count; i++) {
			const struct st_sql_column *column = &table->columns[i];

			st_buf_printf(out, "  %-15s %-8s %s\n", column->name, column->type,
				      column->help);
		}
	}
	return !out->failed;
}
