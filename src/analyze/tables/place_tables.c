// SPDX-License-Identifier: Apache-2.0
//
// Tables of who ran and when: threads, processes, programs that were not entered, pauses; and what tasks are called.
#include "analyze/datasets/words.h"
#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "store/samples.h"

static struct st_cell thread_samples(const struct st_table_at *at)
{
	const uint32_t *first = st_result_samples(at->tables->result)->first_of_track;

	return st_cell_u64(first ? first[at->row + 1] - first[at->row] : 0);
}

static struct st_cell thread_count(const struct st_table_at *at)
{
	const struct st_track *track = at->item;

	return st_cell_u64(track->row_end - track->row_begin);
}

static struct st_cell thread_creator(const struct st_table_at *at)
{
	return st_reference_cell(st_result_track_creator(at->tables->result, at->row));
}

static const struct st_table_column threads_columns[] = {
	{"track", "row number; slices.track", ST_ROW_NUMBER},
	{"tid", "thread ID (tid)", ST_NUMBER(struct st_track, tid)},
	{"thread", "as shown in reports: 'main (4711)'", ST_TEXT, .cell = st_read_track_thread},
	{"name", "name given by the program, or NULL", ST_SOME_NAME(struct st_track, name)},
	{"pid", "process ID (pid)", ST_INTEGER, .cell = st_read_track_pid},
	{"process_id", "row in processes", ST_INTEGER, .cell = st_read_track_process_id},
	{"process", "as shown in reports", ST_PROCESS_TEXT(struct st_track, process)},
	{"start_ns", "first seen, since the start of collection",
	 ST_NUMBER(struct st_track, first_ns)},
	{"end_ns", "last seen", ST_NUMBER(struct st_track, last_ns)},
	{"count", "slices of the thread", ST_INTEGER, .cell = thread_count},
	{"slices_dropped", "slices lost because its buffer was full",
	 ST_NUMBER(struct st_track, loss.slices_dropped)},
	{"samples", "samples of the thread", ST_INTEGER, .cell = thread_samples},
	{"creator", "track of the thread that created it, or NULL", ST_INTEGER,
	 .cell = thread_creator},
};

ST_ROWS_FROM(threads_rows, st_result_tracks)

const struct st_table st_threads_table = {
	.name = "threads",
	.help = "one row per recorded thread",
	ST_COLUMNS(threads_columns),
	.has_row_number = true,
	.rows = threads_rows,
	.item_bytes = sizeof(struct st_track),
};

static struct st_cell process_end(const struct st_table_at *at)
{
	return st_cell_text(st_words_process_end(at->item, at->arena));
}

static const struct st_table_column processes_columns[] = {
	{"process_id", "row number; slices.process_id", ST_ROW_NUMBER},
	{"pid", "process ID (pid)", ST_NUMBER(struct st_process, pid)},
	{"process", "as shown in reports: 'train.py (4711)'", ST_TEXT, .cell = st_read_process},
	{"name", "program, or script run by an interpreter", ST_NAME(struct st_process, name)},
	{"parent", "process_id of the parent, or NULL", ST_REFERENCE(struct st_process, parent)},
	{"incarnation", "0, incremented at each exec", ST_NUMBER(struct st_process, incarnation)},
	{"direct", "1: started by strata itself",
	 ST_FLAG(struct st_process, flags, ST_PROCESS_DIRECT)},
	{"command_line", "arguments, quoted where needed",
	 ST_NAME(struct st_process, command_line)},
	{"executable", "path of the program", ST_NAME(struct st_process, executable)},
	{"how_ended", "'exit 0', 'SIGSEGV' …", ST_TEXT, .cell = process_end},
	{"start_ns", "first seen, since the start of collection",
	 ST_NUMBER(struct st_process, first_ns)},
	{"end_ns", "last seen", ST_NUMBER(struct st_process, last_ns)},
};

ST_ROWS_FROM(processes_rows, st_result_processes)

const struct st_table st_processes_table = {
	.name = "processes",
	.help = "one row per recorded process",
	ST_COLUMNS(processes_columns),
	.has_row_number = true,
	.rows = processes_rows,
	.item_bytes = sizeof(struct st_process),
};

static const struct st_table_column labels_columns[] = {
	{"label", "row number; slices.label. Two processes can have a label each for the same text",
	 ST_ROW_NUMBER},
	{"task_type", "name of the task", ST_NAME(struct st_label, name)},
	{"task_domain", "domain of the task", ST_NAME(struct st_label, domain)},
	{"task_family", "name with numbers replaced by '*'", ST_NAME(struct st_label, family)},
};

ST_ROWS_FROM(labels_rows, st_result_labels)

const struct st_table st_labels_table = {
	.name = "labels",
	.help = "names of tasks",
	ST_COLUMNS(labels_columns),
	.has_row_number = true,
	.rows = labels_rows,
	.item_bytes = sizeof(struct st_label),
};

static struct st_cell not_entered_reason(const struct st_table_at *at)
{
	const struct st_not_entered_program *program = at->item;

	return st_cell_text(st_words_not_entered(program->reason));
}

static const struct st_table_column not_entered_columns[] = {
	{"pid", "pid of the first one", ST_NUMBER(struct st_not_entered_program, pid)},
	{"executable", "path of the program", ST_NAME(struct st_not_entered_program, executable)},
	{"command", "its arguments", ST_NAME(struct st_not_entered_program, command)},
	{"reason", "why it was not recorded", ST_TEXT, .cell = not_entered_reason},
	{"start_ns", "when the first one was seen",
	 ST_NUMBER(struct st_not_entered_program, time_ns)},
	{"count", "how many times, for the same program and reason",
	 ST_NUMBER(struct st_not_entered_program, count)},
	{"cpu_ns", "their CPU time, as far as it was seen while they ran",
	 ST_NUMBER(struct st_not_entered_program, cpu_ns)},
};

ST_ROWS_FROM(not_entered_rows, st_result_not_entered)

const struct st_table st_not_entered_table = {
	.name = "not_entered",
	.help = "programs that were not recorded",
	ST_COLUMNS(not_entered_columns),
	.rows = not_entered_rows,
	.item_bytes = sizeof(struct st_not_entered_program),
};

static const struct st_table_column pauses_columns[] = {
	{"process_id", "row in processes; NULL: all of them",
	 ST_REFERENCE(struct st_pause_window, process)},
	{"start_ns", "start of the pause", ST_NUMBER(struct st_pause_window, begin_ns)},
	{"end_ns", "end of the pause", ST_NUMBER(struct st_pause_window, end_ns)},
};

ST_ROWS_FROM(pauses_rows, st_result_pauses)

const struct st_table st_pauses_table = {
	.name = "pauses",
	.help = "pauses of the recording",
	ST_COLUMNS(pauses_columns),
	.rows = pauses_rows,
	.item_bytes = sizeof(struct st_pause_window),
};
