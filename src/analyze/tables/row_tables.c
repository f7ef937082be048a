// SPDX-License-Identifier: Apache-2.0
//
// Tables over the sets of dataset_rows.h, and of counters. Reports show those columns of single rows that have a title.
#include "analyze/tables/report_make.h"
#include "analyze/tables/row_cells.h"
#include "analyze/tables/table.h"

#include <math.h>
#include <string.h>

#include "analyze/datasets/itt_values.h"
#include "analyze/datasets/wait_sites.h"
#include "analyze/datasets/words.h"
#include "analyze/steps/critical_path.h"
#include "base/buf.h"
#include "resolve/named.h"
#include "store/events.h"

const struct st_dataset *st_row_dataset(const struct st_table_at *at)
{
	return at->item;
}

struct st_row_source st_row_source(const struct st_table_at *at)
{
	return st_dataset_rows_source(st_row_dataset(at), at->row);
}

/* The span that a row is, or NULL. */
static const struct st_span *span_of(const struct st_table_at *at)
{
	uint32_t count, span = st_row_source(at).span;
	const struct st_span *spans = st_result_spans(at->tables->result, &count);

	return span < count ? &spans[span] : NULL;
}

/* The event that a row is or begins with, or NULL. */
static const struct st_event_row *event_of(const struct st_table_at *at)
{
	const struct st_events *events = st_result_events(at->tables->result);
	uint32_t event = st_row_source(at).event;

	return event < events->count ? &events->rows[event] : NULL;
}

struct st_cell st_row_name_cell(const struct st_table_at *at)
{
	const struct st_dataset *dataset = st_row_dataset(at);

	return st_cell_bytes(dataset->text(dataset, dataset->instance, at->row, at->arena));
}

struct st_cell st_row_wall_cell(const struct st_table_at *at)
{
	return st_cell_i64((int64_t)st_row_dataset(at)->self_ns[at->row]);
}

struct st_cell st_row_start_cell(const struct st_table_at *at)
{
	return st_cell_i64(st_row_dataset(at)->begin_ns[at->row]);
}

/* Text of a grouping (arg). */
struct st_cell st_row_key_cell(const struct st_table_at *at)
{
	const struct st_dataset *dataset = st_row_dataset(at);
	enum st_grouping grouping = (enum st_grouping)at->column->arg;

	return st_cell_bytes(dataset->text(
		dataset, grouping, st_key_of(&dataset->keys[grouping], at->row), at->arena));
}

static struct st_cell some_key_cell(const struct st_table_at *at)
{
	struct st_cell cell = st_row_key_cell(at);

	return cell.as.text.size_bytes ? cell : st_no_cell();
}

static struct st_cell span_id(const struct st_table_at *at)
{
	return st_itt_id_cell(at, span_of(at)->id);
}

static struct st_cell span_parent_id(const struct st_table_at *at)
{
	return st_itt_id_cell(at, span_of(at)->parent);
}

static struct st_cell event_id(const struct st_table_at *at)
{
	const struct st_event_row *event = event_of(at);

	return event ? st_itt_id_cell(at, event->id) : st_no_cell();
}

static struct st_cell event_other_id(const struct st_table_at *at)
{
	return st_itt_id_cell(at, event_of(at)->other);
}

/* The thread that ended it, when that is another one than began it. */
static struct st_cell end_thread_cell(const struct st_table_at *at)
{
	const struct st_span *span = span_of(at);

	if (span->end_track == ST_NO_ROW || span->end_track == span->begin_track)
		return st_no_cell();
	return st_cell_bytes(st_row_dataset(at)->text(st_row_dataset(at), ST_BY_THREAD,
						      span->end_track, at->arena));
}

static struct st_cell flags_cell(const struct st_table_at *at)
{
	return st_cell_text(st_words_span_flags(st_row_dataset(at)->flags[at->row]));
}

/* Acquisitions and releases have none. */
static struct st_cell span_flags_cell(const struct st_table_at *at)
{
	return span_of(at) ? flags_cell(at) : st_no_cell();
}

static uint32_t slice_of(const struct st_table_at *at)
{
	const struct st_span *span = span_of(at);
	const struct st_event_row *event = event_of(at);

	if (span)
		return span->slice;
	return event ? event->slice : ST_NO_ROW;
}

static struct st_cell slice_cell(const struct st_table_at *at)
{
	return st_reference_cell(slice_of(at));
}

static struct st_cell task_cell(const struct st_table_at *at)
{
	uint32_t slice = slice_of(at);

	return slice == ST_NO_ROW ? st_no_cell()
				  : st_cell_bytes(st_slice_name(at->tables->result, slice));
}

/* Of a marker: as its event says, which a span keeps from its begin. */
static struct st_cell event_task_cell(const struct st_table_at *at)
{
	const struct st_event_row *event = event_of(at);

	return event && event->slice != ST_NO_ROW
		       ? st_cell_bytes(st_slice_name(at->tables->result, event->slice))
		       : st_no_cell();
}

struct st_cell st_row_track_cell(const struct st_table_at *at)
{
	uint32_t track = st_key_of(&st_row_dataset(at)->keys[ST_BY_THREAD], at->row);

	return st_reference_cell(track < at->tables->thread_count ? track : ST_NO_ROW);
}

struct st_cell st_row_process_id_cell(const struct st_table_at *at)
{
	uint32_t process = st_key_of(&st_row_dataset(at)->keys[ST_BY_PROCESS], at->row);

	return st_reference_cell(process < at->tables->process_count ? process : ST_NO_ROW);
}

struct st_cell st_row_number_cell(const struct st_table_at *at)
{
	return st_reference_cell(st_row_source(at).number);
}

static struct st_cell overlapped_kind(const struct st_table_at *at)
{
	return st_cell_text(span_of(at)->kind == ST_SPAN_OVERLAPPED ? "overlapped" : "timed");
}

static struct st_cell marker_text(const struct st_table_at *at)
{
	const struct st_event_row *event = event_of(at);

	return event && event->data ? st_cell_bytes(st_result_blob(at->tables->result, event->data))
				    : st_no_cell();
}

static struct st_cell wait_kind(const struct st_table_at *at)
{
	const struct st_span *span = span_of(at);

	if (span)
		return st_cell_text(span->kind == ST_SPAN_HOLD ? "hold" : "wait");
	if (event_of(at)->kind == ST_EVENT_HOLD_SUM)
		return st_cell_text("short hold");
	if (event_of(at)->kind == ST_EVENT_WAIT_SUM)
		return st_cell_text("short");
	return st_cell_text(event_of(at)->kind == ST_EVENT_SYNC_ACQUIRED ? "acquired"
									 : "releasing");
}

/* Of those in functions of the C library, which tell. */
static struct st_cell wait_outcome(const struct st_table_at *at)
{
	static const char *const words[ST_WAIT_OUTCOMES] = {[ST_WAIT_DONE] = "done",
							    [ST_WAIT_TIMED_OUT] = "timed out",
							    [ST_WAIT_INTERRUPTED] = "interrupted",
							    [ST_WAIT_CANCELLED] =
								    "thread cancelled",
							    [ST_WAIT_FAILED] = "failed",
							    [ST_WAIT_ABANDONED] = "abandoned",
							    [ST_WAIT_OPEN] = "still waiting",
							    [ST_WAIT_SEEN] = "seen from outside"};
	const struct st_span *span = span_of(at);
	uint32_t detail = span ? st_library_wait(span) : 0, outcome = detail >> ST_WAIT_SHIFT;

	/* Earlier versions did not keep time-outs apart: 0 need not be "done". */
	if (!span && event_of(at)->kind == ST_EVENT_WAIT_SUM)
		detail = outcome = event_of(at)->detail >> ST_WAIT_OUTCOME_SHIFT;
	if (!detail || outcome >= ST_WAIT_OUTCOMES)
		return st_no_cell();
	return st_cell_text(words[outcome]);
}

static struct st_cell wait_sample(const struct st_table_at *at)
{
	return st_reference_cell(st_dataset_waits_sample(st_row_dataset(at), at->row));
}

static uint32_t wait_frame(const struct st_table_at *at)
{
	return st_wait_frame(st_dataset_waits_sites(st_row_dataset(at)),
			     st_dataset_waits_sample(st_row_dataset(at), at->row));
}

static struct st_cell wait_python_line(const struct st_table_at *at)
{
	const struct st_wait_sites *sites = st_dataset_waits_sites(st_row_dataset(at));
	uint32_t python = st_wait_python(sites, wait_frame(at));
	const struct st_named_frame *frame = python ? &sites->named->frames[python] : NULL;
	struct st_text file;

	if (!frame)
		return st_no_cell();
	file = sites->named->sources[frame->source];
	return st_cell_text(st_arena_printf(at->arena, "%.*s:%u", (int)file.size_bytes, file.bytes,
					    frame->line));
}

static struct st_cell wait_function(const struct st_table_at *at)
{
	const struct st_wait_sites *sites = st_dataset_waits_sites(st_row_dataset(at));
	uint32_t frame = wait_frame(at);
	struct st_text name;

	if (!frame)
		return st_no_cell();
	/* A report lasts longer than the names of functions. */
	name = sites->named->functions[sites->named->frames[frame].function].name;
	return st_cell_text(st_arena_printf(at->arena, "%.*s", (int)name.size_bytes, name.bytes));
}

static struct st_cell hold_line(const struct st_table_at *at)
{
	const struct st_event_row *event = event_of(at);

	return event && event->kind == ST_EVENT_HOLD && event->name
		       ? st_cell_bytes(st_result_text(at->tables->result, event->name))
		       : st_no_cell();
}

static struct st_cell wait_preempted(const struct st_table_at *at)
{
	const struct st_dataset *waits = st_row_dataset(at);
	const struct st_measure *measure = st_dataset_measure(waits, ST_PREEMPTED);

	return span_of(at)
		       ? st_cell_u64(st_measure_read(measure, waits, at->row, at->tables->range_ns))
		       : st_no_cell();
}

static struct st_cell waker_cell(const struct st_table_at *at)
{
	return span_of(at) ? end_thread_cell(at) : st_no_cell();
}

static const struct st_counter *counter_of(const struct st_table_at *at)
{
	return &st_dataset_rows_counters(st_row_dataset(at))->counters[st_row_source(at).number];
}

struct st_cell st_counter_value_cell(const struct st_counter *counter,
				     const struct st_counter_sample *sample)
{
	if (counter->form == ST_COUNTER_FLOAT)
		return st_cell_double(sample->number);
	if (counter->form == ST_COUNTER_UNSIGNED)
		return st_cell_u64((uint64_t)sample->integer);
	return st_cell_i64(sample->integer);
}

struct st_cell st_counter_sum_cell(const struct st_counter *counter, double sum)
{
	if (counter->form != ST_COUNTER_FLOAT && fabs(sum) < 9e15)
		return st_cell_i64((int64_t)sum);
	return st_cell_double(sum);
}

static struct st_cell value_cell(const struct st_table_at *at)
{
	const struct st_counter *counter = counter_of(at);

	return st_counter_value_cell(counter, &counter->samples[st_row_source(at).sample]);
}

static struct st_cell delta_cell(const struct st_table_at *at)
{
	const struct st_counter *counter = counter_of(at);

	return st_counter_sum_cell(counter, counter->samples[st_row_source(at).sample].delta);
}

static struct st_cell counter_name(const struct st_table_at *at)
{
	return st_some_text_cell(at, counter_of(at)->definition->name);
}

static struct st_cell counter_unit(const struct st_table_at *at)
{
	return st_some_text_cell(at, counter_of(at)->unit);
}

static bool is_array(const struct st_event_row *event)
{
	return event->kind == ST_EVENT_METADATA || event->kind == ST_EVENT_METADATA_SCOPED;
}

static struct st_cell values_cell(const struct st_table_at *at, uint32_t type, struct st_text data)
{
	struct st_buf values;

	st_buf_init(&values, 16 << 20);
	st_values_write(&values, type, data);
	return st_buf_cell(at, &values);
}

static struct st_cell metadata_value(const struct st_table_at *at)
{
	const struct st_event_row *event = event_of(at);
	struct st_text data = st_result_blob(at->tables->result, event->data);

	if (event->kind == ST_EVENT_METADATA_FORMATTED && (event->detail & 1))
		return st_no_cell();
	return is_array(event) ? values_cell(at, event->detail & 0xffff, data)
			       : st_cell_bytes(data);
}

static struct st_cell metadata_type(const struct st_table_at *at)
{
	const struct st_event_row *event = event_of(at);

	if (event->kind == ST_EVENT_METADATA_FORMATTED)
		return st_cell_text("formatted");
	return st_cell_text(is_array(event) ? st_value_type_name(event->detail & 0xffff) : "text");
}

static struct st_cell metadata_count(const struct st_table_at *at)
{
	return is_array(event_of(at)) ? st_cell_u64(event_of(at)->extra) : st_no_cell();
}

static struct st_cell metadata_key(const struct st_table_at *at)
{
	return st_some_text_cell(at, event_of(at)->name);
}

bool st_histogram_axes(const struct st_result *result, const struct st_event_row *event,
		       struct st_histogram_axes *out)
{
	struct st_text data = st_result_blob(result, event->data);
	size_t x_bytes = event->value < data.size_bytes ? (size_t)event->value : data.size_bytes;
	uint32_t count;
	const struct st_object *objects = st_result_objects(result, &count);

	if (event->object >= count)
		return false;
	*out = (struct st_histogram_axes){&objects[event->object],
					  {data.bytes, x_bytes},
					  {data.bytes + x_bytes, data.size_bytes - x_bytes}};
	return true;
}

/* arg: 0 of the x axis, 1 of the y axis */
static struct st_cell axis_cell(const struct st_table_at *at)
{
	struct st_histogram_axes axes;

	if (!st_histogram_axes(at->tables->result, event_of(at), &axes))
		return st_no_cell();
	if (at->column->arg)
		return axes.y.size_bytes ? values_cell(at, axes.histogram->type_y, axes.y)
					 : st_no_cell();
	return axes.x.size_bytes ? values_cell(at, axes.histogram->type, axes.x) : st_no_cell();
}

static struct st_cell heap_kind(const struct st_table_at *at)
{
	uint16_t kind = event_of(at)->kind;

	if (kind == ST_EVENT_HEAP_FREE_END)
		return st_cell_text("free");
	return st_cell_text(kind == ST_EVENT_HEAP_ALLOCATE_END ? "allocate" : "reallocate");
}

static struct st_cell heap_address(const struct st_table_at *at)
{
	return st_hex_cell(at, event_of(at)->value);
}

static struct st_cell heap_size(const struct st_table_at *at)
{
	const struct st_event_row *event = event_of(at);

	return event->kind == ST_EVENT_HEAP_FREE_END ? st_no_cell() : st_cell_u64(event->extra);
}

#define SOME_KEY(name, words, heading, grouping)                                                   \
	{                                                                                          \
		name, words, ST_TEXT, .cell = some_key_cell, .arg = (grouping), .title = (heading) \
	}
#define TEXT(name, words, heading, function)                                                       \
	{                                                                                          \
		name, words, ST_TEXT, .cell = (function), .title = (heading)                       \
	}
#define BEGIN_AND_END_THREAD                                                                       \
	KEY("thread", "thread that started it", "Thread", ST_BY_THREAD),                           \
		TEXT("end_thread", "thread that ended it, if different", "Ended By",               \
		     end_thread_cell)
#define PLACES                                                                                     \
	{"track", "row in threads, or NULL", ST_INTEGER, .cell = st_row_track_cell},               \
		{"process_id", "row in processes, or NULL", ST_INTEGER,                            \
		 .cell = st_row_process_id_cell},                                                  \
	{                                                                                          \
		"slice", "row of the innermost enclosing slice, or NULL", ST_INTEGER,              \
			.cell = slice_cell                                                         \
	}

static const struct st_table_column frames_columns[] = {
	ROW_AND_NAME("frame", "number within its domain"),
	START("Start Time"),
	KEY("frame_domain", "domain of the frame", "Frame Domain", ST_BY_FRAME_DOMAIN),
	TEXT("id", "id, or NULL", "Id", span_id),
	PROCESS,
	BEGIN_AND_END_THREAD,
	TEXT("flags", "'unfinished', 'clipped', 'estimated' …", "Flags", flags_cell),
	PLACES,
};

static const struct st_table_column regions_columns[] = {
	ROW_AND_NAME("region", "name of the region"),
	START("Start Time"),
	SOME_KEY("domain", "domain of the region", "Domain", ST_BY_DOMAIN),
	TEXT("id", "its ID", "Id", span_id),
	TEXT("parent_id", "ID of its parent, or NULL", "Parent Id", span_parent_id),
	PROCESS,
	BEGIN_AND_END_THREAD,
	TEXT("flags", "'unfinished', 'clipped' …", "Flags", flags_cell),
	PLACES,
};

static const struct st_table_column overlapped_columns[] = {
	ROW_AND_NAME("task_type", "name of the task"),
	START("Start Time"),
	SOME_KEY("task_domain", "domain of the task", "Task Domain", ST_BY_TASK_DOMAIN),
	TEXT("kind", "'overlapped' or 'timed'", "Kind", overlapped_kind),
	TEXT("id", "its ID", "Id", span_id),
	TEXT("parent_id", "ID of its parent, or NULL", "Parent Id", span_parent_id),
	PROCESS,
	BEGIN_AND_END_THREAD,
	TEXT("flags", "'unfinished', 'clipped', 'estimated' …", "Flags", flags_cell),
	PLACES,
};

static const struct st_table_column markers_columns[] = {
	ROW_AND_NAME("marker", "name"),
	START("Time"),
	SOME_KEY("domain", "domain, or NULL", "Domain", ST_BY_DOMAIN),
	KEY("scope", "'global', 'process', 'thread', 'task' …", "Scope", ST_BY_SCOPE),
	KEY("kind", "'marker', 'event' or 'mark'", "Kind", ST_BY_CATEGORY),
	TEXT("text", "text of a mark, or NULL", "Text", marker_text),
	TEXT("id", "id, or NULL", "Id", event_id),
	TEXT("task", "innermost enclosing task, or NULL", "In Task", event_task_cell),
	PROCESS,
	THREAD,
	TEXT("flags", "'unfinished', 'clipped' …", "Flags", flags_cell),
	PLACES,
};

static const struct st_table_column counter_values_columns[] = {
	ROW_AND_NAME("name", "name of the counter"),
	START("Time"),
	{"value", "the value from then on; increments are added up", ST_ANY, .cell = value_cell,
	 .title = "Value"},
	{"delta", "change from the previous value", ST_ANY, .cell = delta_cell, .title = "Delta"},
	TEXT("counter", "name of the counter", "Counter", counter_name),
	SOME_KEY("domain", "domain, or NULL", "Domain", ST_BY_DOMAIN),
	TEXT("unit", "unit, or NULL", "Unit", counter_unit),
	PROCESS,
	THREAD,
	PLACES,
	{"counter_row", "row in counters", ST_INTEGER, .cell = st_row_number_cell},
};

static const struct st_table_column waits_columns[] = {
	ROW_AND_NAME("sync_object", "the object as shown in report sync"),
	START("Start Time"),
	KEY("sync_type", "type of the object", "Sync Object Type", ST_BY_SYNC_TYPE),
	TEXT("kind", "'wait', 'hold', 'acquired', 'releasing', 'short' or 'short hold' (several)",
	     "Kind", wait_kind),
	SOME_KEY("wait_class", "'Synchronization', 'I/O', 'Sleep' …", "Class", ST_BY_WAIT_CLASS),
	TEXT("outcome", "'done', 'timed out', 'interrupted' …; NULL: short and done, or not known",
	     "Outcome", wait_outcome),
	TEXT("line", "Python line at which a hold of the GIL ended, or NULL", "Line", hold_line),
	TEXT("waker", "thread that ended the wait, or NULL", "Waker", waker_cell),
	{"preempted_ns", "of it ready to run, or spinning, without a CPU, or NULL", ST_INTEGER,
	 .cell = wait_preempted, .title = "Preemption Wait Time", .unit = "ns"},
	TEXT("task", "innermost enclosing task, or NULL", "In Task", task_cell),
	TEXT("python_line",
	     "line of Python that waited, outside threading.py and the like, or NULL",
	     "Python Line", wait_python_line),
	TEXT("function", "innermost function of its stack, or NULL", "Function", wait_function),
	PROCESS,
	THREAD,
	TEXT("flags", "'cancelled', 'unfinished' …", "Flags", span_flags_cell),
	PLACES,
	{"sample", "row in samples that has its stack, or NULL", ST_INTEGER, .cell = wait_sample},
	{"object", "its row of sync_objects, or NULL", ST_INTEGER, .cell = st_row_number_cell},
};

static const struct st_table_column relations_columns[] = {
	ROW_AND_NAME("head", "name of the head"),
	START("Time"),
	KEY("relation", "'dependent_on', 'parent_of' …", "Relation", ST_BY_RELATION),
	KEY("tail", "name of the tail", "Tail", ST_BY_TAIL),
	TEXT("head_id", "ID of the head; NULL: the current task", "Head Id", event_id),
	TEXT("tail_id", "ID of the tail", "Tail Id", event_other_id),
	SOME_KEY("domain", "domain", "Domain", ST_BY_DOMAIN),
	PROCESS,
	THREAD,
	PLACES,
};

static const struct st_table_column metadata_columns[] = {
	ROW_AND_NAME("task_type", "what it is attached to"),
	START("Time"),
	TEXT("key", "key, or format", "Key", metadata_key),
	TEXT("value", "text, number, or JSON array of numbers", "Value", metadata_value),
	TEXT("type", "'u64' …, 'text' or 'formatted'", "Type", metadata_type),
	{"count", "number of elements, as given", ST_INTEGER, .cell = metadata_count,
	 .title = "Elements"},
	SOME_KEY("domain", "domain", "Domain", ST_BY_DOMAIN),
	TEXT("id", "ID it was given for, or NULL", "Id", event_id),
	PROCESS,
	THREAD,
	PLACES,
};

static const struct st_table_column histograms_columns[] = {
	ROW_AND_NAME("histogram", "name of the histogram"),
	START("Time"),
	{"x", "values of the x axis as a JSON array, or NULL", ST_TEXT, .cell = axis_cell, .arg = 0,
	 .title = "X"},
	{"y", "values of the y axis as a JSON array", ST_TEXT, .cell = axis_cell, .arg = 1,
	 .title = "Y"},
	KEY("domain", "domain", "Domain", ST_BY_DOMAIN),
	PROCESS,
	THREAD,
	PLACES,
};

static const struct st_table_column heap_columns[] = {
	ROW_AND_NAME("heap_function", "name of the allocator"),
	START("Time"),
	TEXT("kind", "'allocate', 'reallocate' or 'free'", "Kind", heap_kind),
	TEXT("address", "hexadecimal", "Address", heap_address),
	{"size_bytes", "requested bytes, or NULL", ST_INTEGER, .cell = heap_size, .title = "Size",
	 .unit = "bytes"},
	KEY("domain", "domain", "Domain", ST_BY_DOMAIN),
	PROCESS,
	THREAD,
	PLACES,
};

static const struct st_table_column thread_time_columns[] = {
	ROW_AND_NAME("wait_class", "'Running', 'Synchronization', 'Preempted' …"),
	START("Start Time"),
	PROCESS,
	THREAD,
	PLACES,
};

static const struct st_table_column path_columns[] = {
	ROW_AND_NAME("wait_class", "'Running', or the class of the wait"),
	START("Start Time"),
	KEY("step", "step that it is of", "Step", ST_BY_STEP),
	KEY("sync_object", "what is waited for", "Sync Object", ST_BY_SYNC_OBJECT),
	KEY("python_line", "line of Python", "Python Line", ST_BY_PYTHON_LINE),
	KEY("function", "innermost function of the stack", "Function", ST_BY_FUNCTION),
	PROCESS,
	KEY("thread", "thread that runs, or waits", "Thread", ST_BY_THREAD),
	PLACES,
};

/* Steps have to be found first. */
static bool path_open(struct st_tables *tables)
{
	if (!tables->sets[ST_ROWS_PATH].is_open)
		tables->sets[ST_ROWS_PATH].is_open = !st_dataset_path_init(
			&tables->sets[ST_ROWS_PATH].dataset, tables->result, NULL);
	return tables->sets[ST_ROWS_PATH].is_open;
}

const struct st_table st_row_tables[ST_ROW_SETS] = {
	[ST_ROWS_FRAMES] = {"frames", "one row per frame", ST_COLUMNS(frames_columns),
			    .has_row_number = true, .set = ST_ROWS_FRAMES},
	[ST_ROWS_REGIONS] = {"regions", "one row per region", ST_COLUMNS(regions_columns),
			     .has_row_number = true, .set = ST_ROWS_REGIONS},
	[ST_ROWS_OVERLAPPED] = {"overlapped",
				"one row per overlapped task, or task with its own times",
				ST_COLUMNS(overlapped_columns), .has_row_number = true,
				.set = ST_ROWS_OVERLAPPED},
	[ST_ROWS_MARKERS] = {"markers", "markers, user events and marks",
			     ST_COLUMNS(markers_columns), .has_row_number = true,
			     .set = ST_ROWS_MARKERS},
	[ST_ROWS_SYNC] = {"waits", "waits on sync objects, holds, acquisitions and releases",
			  ST_COLUMNS(waits_columns), .has_row_number = true, .set = ST_ROWS_SYNC},
	[ST_ROWS_SAMPLES] = {"counter_values", "values of counters over time",
			     ST_COLUMNS(counter_values_columns), .has_row_number = true,
			     .set = ST_ROWS_SAMPLES},
	[ST_ROWS_RELATIONS] = {"relations", "relations reported by the program",
			       ST_COLUMNS(relations_columns), .has_row_number = true,
			       .set = ST_ROWS_RELATIONS},
	[ST_ROWS_METADATA] = {"metadata", "metadata that the program attached to tasks",
			      ST_COLUMNS(metadata_columns), .has_row_number = true,
			      .set = ST_ROWS_METADATA},
	[ST_ROWS_HISTOGRAMS] = {"histograms", "submitted histograms",
				ST_COLUMNS(histograms_columns), .has_row_number = true,
				.set = ST_ROWS_HISTOGRAMS},
	[ST_ROWS_PATH] = {"critical_path",
			  "steps as pieces in which one thread runs, or waits for no thread",
			  ST_COLUMNS(path_columns), .has_row_number = true, .set = ST_ROWS_PATH,
			  .open = path_open},
	[ST_ROWS_THREAD_TIME] = {"thread_time", "what each thread did, in sums over its life",
				 ST_COLUMNS(thread_time_columns), .has_row_number = true,
				 .set = ST_ROWS_THREAD_TIME},
	[ST_ROWS_HEAP] = {"heap", "ends of heap calls, in time order", ST_COLUMNS(heap_columns),
			  .has_row_number = true, .set = ST_ROWS_HEAP},
	[ST_ROWS_KERNELS] = {"kernels", "what ran on devices: kernels, copies and fills",
			     .columns = st_kernels_columns, .column_count = ST_KERNELS_COLUMNS,
			     .has_row_number = true, .set = ST_ROWS_KERNELS},
	[ST_ROWS_OPENMP] = {"openmp", "parallel regions of OpenMP, and time outside of them",
			    .columns = st_openmp_columns, .column_count = ST_OPENMP_COLUMNS,
			    .has_row_number = true, .set = ST_ROWS_OPENMP},
	[ST_ROWS_GAPS] = {"device_gaps", "when no kernel ran on a device, and why",
			  .columns = st_gaps_columns, .column_count = ST_GAPS_COLUMNS,
			  .has_row_number = true, .set = ST_ROWS_GAPS},
};

/* What the program said when it created the counter. */
static struct st_cell definition_text(const struct st_table_at *at)
{
	const struct st_counter *counter = at->item;
	st_string_id text;

	memcpy(&text, (const char *)counter->definition + at->column->offset, sizeof(text));
	return st_some_text_cell(at, text);
}

static struct st_cell definition_type(const struct st_table_at *at)
{
	const struct st_counter *counter = at->item;

	return st_cell_text(st_value_type_name(counter->definition->type));
}

static struct st_cell definition_process_id(const struct st_table_at *at)
{
	const struct st_counter *counter = at->item;

	return st_reference_cell(counter->definition->process);
}

static struct st_cell definition_process(const struct st_table_at *at)
{
	const struct st_counter *counter = at->item;
	uint32_t process = counter->definition->process;

	return process < at->tables->process_count ? st_cell_bytes(at->tables->processes[process])
						   : st_no_cell();
}

static const struct st_table_column counters_columns[] = {
	{"counter", "row number; counter_values.counter", ST_ROW_NUMBER},
	{"name", "name", ST_TEXT, .cell = definition_text,
	 .offset = offsetof(struct st_object, name)},
	{"domain", "domain, or NULL", ST_TEXT, .cell = definition_text,
	 .offset = offsetof(struct st_object, domain)},
	{"type", "'u64', 'double' …", ST_TEXT, .cell = definition_type},
	{"unit", "unit, or NULL", ST_SOME_NAME(struct st_counter, unit)},
	{"device", "device, or NULL", ST_SOME_NAME(struct st_counter, device)},
	{"process_id", "row in processes", ST_INTEGER, .cell = definition_process_id},
	{"process", "process as shown in reports", ST_TEXT, .cell = definition_process},
	{"object", "row in objects", ST_NUMBER(struct st_counter, object)},
	{"count", "number of its values", ST_NUMBER(struct st_counter, sample_count)},
};

static bool counters_open(struct st_tables *tables)
{
	return tables->counters.memory ||
	       !st_counters_make(&tables->counters, tables->result, NULL);
}

static const void *counters_rows(const struct st_tables *tables, uint32_t *count)
{
	*count = tables->counters.count;
	return tables->counters.counters;
}

const struct st_table st_counters_table = {
	.name = "counters",
	.help = "counters that the program created, used or not",
	ST_COLUMNS(counters_columns),
	.has_row_number = true,
	.rows = counters_rows,
	.item_bytes = sizeof(struct st_counter),
	.open = counters_open,
};
