// SPDX-License-Identifier: Apache-2.0
//
// The table of slices: recorded tasks, each a row. Reports of single tasks and exports of rows show columns of it.
#include <string.h>

#include "analyze/datasets/dataset_slices.h"
#include "analyze/datasets/words.h"
#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "store/events.h"

static const struct st_slices *slices_of(const struct st_table_at *at)
{
	return at->item;
}

static struct st_cell wall_cell(const struct st_table_at *at)
{
	return st_cell_u64(st_result_wall_ns(at->tables->result, at->row));
}

static const struct st_label *label_of(const struct st_table_at *at, uint32_t slice)
{
	uint32_t count;

	return &st_result_labels(at->tables->result, &count)[slices_of(at)->label[slice]];
}

/* The member of a label is an offset into it. */
static struct st_cell label_cell(const struct st_table_at *at)
{
	st_string_id text;

	memcpy(&text, (const char *)label_of(at, at->row) + at->column->offset, sizeof(text));
	return st_cell_bytes(st_result_text(at->tables->result, text));
}

static struct st_cell shown_domain_cell(const struct st_table_at *at)
{
	return st_cell_bytes(
		st_label_text(at->tables->result, label_of(at, at->row), ST_BY_TASK_DOMAIN));
}

static struct st_cell parent_task_cell(const struct st_table_at *at)
{
	uint32_t parent = slices_of(at)->parent[at->row];

	if (parent == ST_NO_ROW)
		return st_no_cell();
	return st_cell_bytes(st_result_text(at->tables->result, label_of(at, parent)->name));
}

static struct st_cell flags_cell(const struct st_table_at *at)
{
	return st_cell_text(st_words_slice_flags(slices_of(at)->flags[at->row]));
}

/* What an event of the slice's own tells about it; NULL: nothing. */
static const struct st_event_row *told(const struct st_table_at *at, uint32_t kind)
{
	const struct st_events *events = st_result_events(at->tables->result);
	uint32_t event = st_result_slice_event(at->tables->result, at->row, kind);

	return event < events->count ? &events->rows[event] : NULL;
}

static struct st_cell id_cell(const struct st_table_at *at)
{
	const struct st_event_row *event = told(at, ST_EVENT_TASK_ID);

	return event ? st_itt_id_cell(at, event->id) : st_no_cell();
}

static struct st_cell parent_id_cell(const struct st_table_at *at)
{
	const struct st_event_row *event = told(at, ST_EVENT_TASK_ID);

	return event ? st_itt_id_cell(at, event->other) : st_no_cell();
}

static struct st_cell python_line_cell(const struct st_table_at *at)
{
	const struct st_event_row *event = told(at, ST_EVENT_TASK_LINE);

	return event ? st_cell_bytes(st_result_text(at->tables->result, event->name))
		     : st_no_cell();
}

static struct st_cell caller_cell(const struct st_table_at *at)
{
	const uint32_t *of_slice = st_result_slice_callers(at->tables->result);
	uint32_t count;
	const struct st_caller *callers = st_result_callers(at->tables->result, &count);
	uint32_t caller = of_slice ? of_slice[at->row] : 0;

	if (!caller || caller >= count)
		return st_no_cell();
	return callers[caller].place ? st_some_text_cell(at, callers[caller].place)
				     : st_hex_cell(at, callers[caller].address);
}

#define SLICES(member) ST_ARRAY(struct st_slices, member)
#define LABEL(member) ST_TEXT, .cell = label_cell, .offset = offsetof(struct st_label, member)

static const struct st_table_column columns[] = {
	[ST_SLICES_ROW] = {"row", "number of the slice, as in reports and exports", ST_ROW_NUMBER,
			   .title = "Row"},
	[ST_SLICES_START_NS] = {"start_ns", "start, since the start of collection", ST_INTEGER,
				.cell = st_read_number, SLICES(begin_ns), .title = "Start Time",
				.unit = "ns"},
	[ST_SLICES_END_NS] = {"end_ns", "end, since the start of collection", ST_INTEGER,
			      .cell = st_read_number, SLICES(end_ns)},
	{"wall_ns", "duration, without paused time if clipped", ST_INTEGER, .cell = wall_cell,
	 .as = "wall_total_ns"},
	{"self_ns", "wall_ns minus that of the slices directly inside", ST_INTEGER,
	 .cell = st_read_number, SLICES(self_ns), .as = "wall_self_ns"},
	{"depth", "nesting depth; 0 is outermost", ST_INTEGER, .cell = st_read_number,
	 SLICES(depth), .title = "Depth"},
	{"parent", "row of the enclosing slice, or NULL", ST_INTEGER, .cell = st_read_reference,
	 SLICES(parent), .title = "Parent Row"},
	[ST_SLICES_TRACK] = {"track", "row in threads", ST_INTEGER, .cell = st_read_number,
			     SLICES(track)},
	[ST_SLICES_TID] = {"tid", "thread ID (tid)", ST_INTEGER, .cell = st_read_track_tid,
			   SLICES(track)},
	[ST_SLICES_THREAD] = {"thread", "thread as shown in reports: 'main (4711)'", ST_TEXT,
			      .cell = st_read_track_thread, SLICES(track), .title = "Thread"},
	[ST_SLICES_PID] = {"pid", "process ID (pid)", ST_INTEGER, .cell = st_read_track_pid,
			   SLICES(track)},
	[ST_SLICES_PROCESS_ID] = {"process_id", "row in processes", ST_INTEGER,
				  .cell = st_read_track_process_id, SLICES(track)},
	[ST_SLICES_PROCESS] = {"process", "process as shown in reports: 'train.py (4711)'", ST_TEXT,
			       .cell = st_read_track_process, SLICES(track), .title = "Process"},
	[ST_SLICES_LABEL] = {"label", "row in labels", ST_INTEGER, .cell = st_read_number,
			     SLICES(label)},
	[ST_SLICES_TASK_TYPE] = {"task_type", "name of the task", LABEL(name), .as = "task"},
	[ST_SLICES_TASK_DOMAIN] = {"task_domain", "domain of the task", LABEL(domain)},
	[ST_SLICES_TASK_FAMILY] = {"task_family", "name with numbers replaced by '*': 'step_*'",
				   LABEL(family)},
	{"unfinished", "1: never ended; closed at the end of its thread", ST_INTEGER,
	 .cell = st_read_flag, SLICES(flags), .arg = ST_SLICE_UNFINISHED},
	{"clipped", "1: clipped by a pause or by the start or end of the collection", ST_INTEGER,
	 .cell = st_read_flag, SLICES(flags), .arg = ST_SLICE_CLIPPED},
	{"mismatched", "1: ended out of order", ST_INTEGER, .cell = st_read_flag, SLICES(flags),
	 .arg = ST_SLICE_MISMATCHED},
	{"copy",
	 "1: not a call of its own: its caller's task repeated by a worker thread, or a twin",
	 ST_INTEGER, .cell = st_read_flag, SLICES(flags), .arg = ST_SLICE_COPY | ST_SLICE_TWIN},
	{"itt_id", "ID given by the program, 'd1:d2:d3', or NULL", ST_TEXT, .cell = id_cell},
	{"parent_id", "ID of the parent given by the program, or NULL", ST_TEXT,
	 .cell = parent_id_cell},
	{"caller", "where it was started: 'libtorch_cpu.so+0x1234', or NULL", ST_TEXT,
	 .cell = caller_cell},
	{"python_line", "'file:line' that started it, or NULL", ST_TEXT, .cell = python_line_cell},
	{"twin", "1: an ITT task that repeats an operator", ST_INTEGER, .cell = st_read_flag,
	 SLICES(flags), .arg = ST_SLICE_TWIN},
	/* Of reports and exports only. */
	{"parent_task", NULL, ST_TEXT, .cell = parent_task_cell, .title = "Parent Task"},
	{"shown_domain", NULL, ST_TEXT, .cell = shown_domain_cell, .title = "Task Domain",
	 .as = "task_domain"},
	{"flags", NULL, ST_TEXT, .cell = flags_cell, .title = "Flags"},
};

static const void *rows(const struct st_tables *tables, uint32_t *count)
{
	const struct st_slices *slices = st_result_slices(tables->result);

	*count = slices->count;
	return slices;
}

const struct st_table st_slices_table = {
	.name = "slices",
	.help = "one row per recorded task",
	ST_COLUMNS(columns),
	.has_row_number = true,
	.rows = rows,
};
