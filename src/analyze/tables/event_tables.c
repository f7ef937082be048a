// SPDX-License-Identifier: Apache-2.0
//
// Tables of everything in a result other than slices, as recorded: events, spans, and the objects that they are
// about.
#include <string.h>

#include "analyze/datasets/itt_values.h"
#include "analyze/datasets/words.h"
#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "base/buf.h"
#include "base/search.h"
#include "store/events.h"

static struct st_cell event_kind(const struct st_table_at *at)
{
	return st_cell_text(st_words_event_kind((uint32_t)st_table_value(at)));
}

static struct st_cell event_object(const struct st_table_at *at)
{
	uint64_t object = st_table_value(at);
	uint32_t count;

	st_result_objects(at->tables->result, &count);
	return object < count ? st_cell_u64(object) : st_no_cell();
}

static struct st_cell event_data(const struct st_table_at *at)
{
	const struct st_event_row *row = at->item;
	struct st_text data = st_result_blob(at->tables->result, row->data);
	struct st_buf values;

	if (!row->data)
		return st_no_cell();
	if (row->kind != ST_EVENT_METADATA && row->kind != ST_EVENT_METADATA_SCOPED)
		return st_cell_bytes(data);
	st_buf_init(&values, 16 << 20);
	st_values_write(&values, row->detail & 0xffff, data);
	return st_buf_cell(at, &values);
}

#define EVENT(member) ST_MEMBER(struct st_event_row, member)

enum { EVENTS_TRACK = 3 };

static const struct st_table_column events_columns[] = {
	{"row", "event number", ST_ROW_NUMBER},
	{"start_ns", "time since the start of collection", ST_NUMBER(struct st_event_row, time_ns)},
	{"kind", "'marker', 'metadata', 'sync_prepare' …", ST_TEXT, .cell = event_kind,
	 EVENT(kind)},
	[EVENTS_TRACK] = {"track", "row in threads, or NULL",
			  ST_REFERENCE(struct st_event_row, track)},
	{"thread", "thread as shown in reports", ST_TEXT, .cell = st_read_track_thread,
	 EVENT(track)},
	{"process", "process as shown in reports", ST_TEXT, .cell = st_read_track_process,
	 EVENT(track)},
	{"slice", "row of the innermost enclosing slice, or NULL",
	 ST_REFERENCE(struct st_event_row, slice)},
	{"domain", "domain, if any", ST_SOME_NAME(struct st_event_row, domain)},
	{"name", "name, if any", ST_SOME_NAME(struct st_event_row, name)},
	{"object", "row in objects, or NULL", ST_INTEGER, .cell = event_object, EVENT(object)},
	{"itt_id", "id, 'd1:d2:d3', or NULL", ST_ITT_ID(struct st_event_row, id)},
	{"other_id", "ID of the parent or tail, or NULL", ST_ITT_ID(struct st_event_row, other)},
	{"value", "number, depending on kind: bits of a value, an address …",
	 ST_NUMBER(struct st_event_row, value)},
	{"extra", "additional number, depending on kind: a count, a size …",
	 ST_NUMBER(struct st_event_row, extra)},
	{"detail", "small number, depending on kind: a scope, a relation, a type …",
	 ST_NUMBER(struct st_event_row, detail)},
	{"data", "text or values, or NULL", ST_TEXT, .cell = event_data},
	{"time_given", "1: the program provided the time",
	 ST_FLAG(struct st_event_row, flags, ST_EVENT_TIME_GIVEN)},
	{"time_estimated", "1: converted from the program's own clock",
	 ST_FLAG(struct st_event_row, flags, ST_EVENT_TIME_ESTIMATED)},
	{"data_cut", "1: its data was truncated",
	 ST_FLAG(struct st_event_row, flags, ST_EVENT_DATA_CUT)},
};

static const void *events_rows(const struct st_tables *tables, uint32_t *count)
{
	const struct st_events *events = st_result_events(tables->result);

	*count = events->count;
	return events->rows;
}

static void events_narrow(const struct st_tables *tables, int column, char op,
			  const struct st_cell *value, uint32_t range[2])
{
	if (column == EVENTS_TRACK && op == '=')
		st_narrow_to_track(tables, st_result_events(tables->result)->first_of_track, value,
				   range);
}

const struct st_table st_events_table = {
	.name = "events",
	.help = "everything except tasks, one row per record, as reported by the program",
	ST_COLUMNS(events_columns),
	.has_row_number = true,
	.rows = events_rows,
	.item_bytes = sizeof(struct st_event_row),
	.narrows = 1u << EVENTS_TRACK,
	.narrow = events_narrow,
};

static struct st_cell span_kind(const struct st_table_at *at)
{
	return st_cell_text(st_words_span_kind((uint32_t)st_table_value(at)));
}

static struct st_cell span_object(const struct st_table_at *at)
{
	const struct st_span *span = at->item;
	bool is_sync = span->kind == ST_SPAN_WAIT || span->kind == ST_SPAN_HOLD;
	uint32_t count = 0;

	if (is_sync)
		st_result_sync_objects(at->tables->result, &count);
	else if (span->kind == ST_SPAN_USER_EVENT || span->kind == ST_SPAN_MARK)
		st_result_objects(at->tables->result, &count);
	return span->object < count ? st_cell_u64(span->object) : st_no_cell();
}

enum { SPANS_KIND = 1, SPANS_START = 2 };

static const struct st_table_column spans_columns[] = {
	{"row", "span number", ST_ROW_NUMBER},
	[SPANS_KIND] = {"kind",
			"'overlapped', 'region', 'frame', 'timed', 'event', 'mark', 'wait' or "
			"'hold'",
			ST_TEXT, .cell = span_kind, ST_MEMBER(struct st_span, kind)},
	[SPANS_START] = {"start_ns", "start, since the start of collection",
			 ST_NUMBER(struct st_span, begin_ns)},
	{"end_ns", "end", ST_NUMBER(struct st_span, end_ns)},
	{"track", "thread that started it, or NULL", ST_REFERENCE(struct st_span, begin_track)},
	{"end_track", "thread that ended it, or NULL", ST_REFERENCE(struct st_span, end_track)},
	{"process_id", "row in processes", ST_REFERENCE(struct st_span, process)},
	{"process", "process as shown in reports", ST_PROCESS_TEXT(struct st_span, process)},
	{"slice", "row of the innermost slice enclosing its start, or NULL",
	 ST_REFERENCE(struct st_span, slice)},
	{"domain", "domain, if any", ST_SOME_NAME(struct st_span, domain)},
	{"name", "name, if any", ST_SOME_NAME(struct st_span, name)},
	{"object", "row in objects; for waits and holds: in sync_objects", ST_INTEGER,
	 .cell = span_object},
	{"itt_id", "id, 'd1:d2:d3', or NULL", ST_ITT_ID(struct st_span, id)},
	{"parent_id", "parent's id, or NULL", ST_ITT_ID(struct st_span, parent)},
	{"event", "row in events that started it", ST_REFERENCE(struct st_span, event)},
	{"lane", "overlapping spans are in different lanes", ST_NUMBER(struct st_span, lane)},
	{"unfinished", "1: never ended", ST_FLAG(struct st_span, flags, ST_SLICE_UNFINISHED)},
	{"clipped", "1: clipped by a pause or by the start or end of the collection",
	 ST_FLAG(struct st_span, flags, ST_SLICE_CLIPPED)},
	{"cancelled", "1: a wait that was canceled",
	 ST_FLAG(struct st_span, flags, ST_SPAN_CANCELLED)},
	{"estimated", "1: a time comes from the program's own clock",
	 ST_FLAG(struct st_span, flags, ST_SPAN_ESTIMATED)},
};

ST_ROWS_FROM(spans_rows, st_result_spans)

/* First of the range whose kind (or, of one kind, begin) is not below the limit. */
static uint32_t search_spans(const struct st_span *spans, const uint32_t range[2], bool by_kind,
			     int64_t limit)
{
	return ST_SEARCH(i, range[0], range[1],
			 (by_kind ? (int64_t)spans[i].kind : spans[i].begin_ns) < limit);
}

static void narrow_kind(const struct st_span *spans, struct st_text text, uint32_t range[2])
{
	for (uint32_t kind = 1; kind < ST_SPAN_KINDS; kind++) {
		if (!st_text_equals(text, st_words_span_kind(kind)))
			continue;
		range[0] = search_spans(spans, range, true, kind);
		range[1] = search_spans(spans, range, true, (int64_t)kind + 1);
		return;
	}
	range[1] = range[0];
}

/* Sorted by kind, then by begin. */
static void spans_narrow(const struct st_tables *tables, int column, char op,
			 const struct st_cell *value, uint32_t range[2])
{
	uint32_t count;
	const struct st_span *spans = st_result_spans(tables->result, &count);
	int64_t number = value->as.i64;

	if (column == SPANS_KIND) {
		if (op == '=' && value->kind == ST_CELL_TEXT)
			narrow_kind(spans, value->as.text, range);
		return;
	}
	if (value->kind != ST_CELL_I64 || range[0] >= range[1] ||
	    spans[range[0]].kind != spans[range[1] - 1].kind)
		return;
	if (op != '<')
		range[0] = search_spans(spans, range, false, number);
	if (op != '>' && number < INT64_MAX)
		range[1] = search_spans(spans, range, false, number + 1);
}

const struct st_table st_spans_table = {
	.name = "spans",
	.help = "everything with a start and an end that does not nest",
	ST_COLUMNS(spans_columns),
	.has_row_number = true,
	.rows = spans_rows,
	.item_bytes = sizeof(struct st_span),
	.narrows = 1u << SPANS_KIND | 1u << SPANS_START,
	.narrow = spans_narrow,
};

static struct st_cell object_kind(const struct st_table_at *at)
{
	return st_cell_text(st_words_object_kind((uint32_t)st_table_value(at)));
}

static struct st_cell object_type(const struct st_table_at *at)
{
	const struct st_object *object = at->item;

	return object->type ? st_cell_text(st_value_type_name(object->type)) : st_no_cell();
}

static struct st_cell object_type_y(const struct st_table_at *at)
{
	const struct st_object *object = at->item;

	return object->kind == ST_OBJECT_HISTOGRAM
		       ? st_cell_text(st_value_type_name(object->type_y))
		       : st_no_cell();
}

static const struct st_table_column objects_columns[] = {
	{"object", "row number; events.object", ST_ROW_NUMBER},
	{"kind", "'counter', 'histogram', 'heap_function' …", ST_TEXT, .cell = object_kind,
	 ST_MEMBER(struct st_object, kind)},
	{"type", "type of its values; for a histogram, of its x axis", ST_TEXT,
	 .cell = object_type},
	{"type_y", "for a histogram: type of its y axis", ST_TEXT, .cell = object_type_y},
	{"name", "name", ST_NAME(struct st_object, name)},
	{"domain", "domain, or NULL", ST_SOME_NAME(struct st_object, domain)},
	{"process_id", "row in processes", ST_REFERENCE(struct st_object, process)},
	{"parent", "for a track: object of its group", ST_REFERENCE(struct st_object, parent)},
	{"number_1", "for a PT region: its number; for a clock: its frequency",
	 ST_NUMBER(struct st_object, number[0])},
	{"number_2", "for a clock: its base", ST_NUMBER(struct st_object, number[1])},
	{"number_3", "for a clock: collector ticks at that time",
	 ST_NUMBER(struct st_object, number[2])},
};

ST_ROWS_FROM(objects_rows, st_result_objects)

const struct st_table st_objects_table = {
	.name = "objects",
	.help = "named objects that the program created",
	ST_COLUMNS(objects_columns),
	.has_row_number = true,
	.rows = objects_rows,
	.item_bytes = sizeof(struct st_object),
};

static struct st_cell fact_name(const struct st_table_at *at)
{
	return st_cell_text(st_context_name((uint32_t)st_table_value(at)));
}

static struct st_cell fact_value(const struct st_table_at *at)
{
	const struct st_object_fact *fact = at->item;

	if (fact->type >= 9)
		return st_cell_i64((int64_t)fact->number);
	return st_cell_bytes(st_result_text(at->tables->result, fact->text));
}

static const struct st_table_column object_facts_columns[] = {
	{"object", "row in objects: a counter", ST_NUMBER(struct st_object_fact, object)},
	{"fact", "'units', 'device', 'max_value' …", ST_TEXT, .cell = fact_name,
	 ST_MEMBER(struct st_object_fact, type)},
	{"value", "text or number", ST_ANY, .cell = fact_value},
};

ST_ROWS_FROM(object_facts_rows, st_result_object_facts)

const struct st_table st_object_facts_table = {
	.name = "object_facts",
	.help = "properties of counters, as reported by the program",
	ST_COLUMNS(object_facts_columns),
	.rows = object_facts_rows,
	.item_bytes = sizeof(struct st_object_fact),
};

static struct st_cell sync_attribute(const struct st_table_at *at)
{
	uint64_t attribute = st_table_value(at) & ST_SYNC_ATTRIBUTE_MASK;

	if (attribute != 1 && attribute != 2)
		return st_no_cell();
	return st_cell_text(attribute == 1 ? "barrier" : "mutex");
}

static const struct st_table_column sync_objects_columns[] = {
	{"object", "row number; waits.object", ST_ROW_NUMBER},
	{"name", "name, or NULL", ST_SOME_NAME(struct st_sync_object, name)},
	{"type", "type, or NULL", ST_SOME_NAME(struct st_sync_object, type)},
	{"attribute", "'barrier', 'mutex' or NULL", ST_TEXT, .cell = sync_attribute,
	 ST_MEMBER(struct st_sync_object, attribute)},
	{"address", "address, hexadecimal", ST_HEX(struct st_sync_object, address)},
	{"process_id", "row in processes", ST_REFERENCE(struct st_sync_object, process)},
	{"start_ns", "first seen", ST_NUMBER(struct st_sync_object, first_ns)},
	{"created_at", "Python line, or function and source line, that made it, or NULL",
	 ST_SOME_NAME(struct st_sync_object, made_at)},
};

ST_ROWS_FROM(sync_objects_rows, st_result_sync_objects)

const struct st_table st_sync_objects_table = {
	.name = "sync_objects",
	.help = "locks, barriers and so on that were waited for, or reported by the program",
	ST_COLUMNS(sync_objects_columns),
	.has_row_number = true,
	.rows = sync_objects_rows,
	.item_bytes = sizeof(struct st_sync_object),
};
