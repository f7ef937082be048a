// SPDX-License-Identifier: Apache-2.0
//
// Tables of SQL that show what a result holds besides slices, as it is: events, spans, objects, code.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/datasets/itt_values.h"
#include "analyze/sql/sql_table.h"
#include "analyze/datasets/words.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "store/events.h"

#define COLUMNS(array) .columns = (array), .column_count = (int)(sizeof(array) / sizeof((array)[0]))

static void result_word(sqlite3_context *out, const char *word)
{
	sqlite3_result_text(out, word, -1, SQLITE_STATIC);
}

static void result_hex(sqlite3_context *out, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	sqlite3_result_text(out, text, -1, SQLITE_TRANSIENT);
}

static void result_process(sqlite3_context *out, const struct st_sql *sql, uint32_t process)
{
	uint32_t count;

	st_result_processes(sql->result, &count);
	if (process < count)
		st_sql_result_text(out, sql->processes[process]);
}

static const struct st_sql_column events_columns[] = {
	{"row", "INTEGER", "number of the event"},
	{"start_ns", "INTEGER", "when, since the start of collection"},
	{"kind", "TEXT", "'marker', 'metadata', 'sync_prepare' …"},
	{"track", "INTEGER", "its row of threads, or NULL"},
	{"thread", "TEXT", "thread as reports show it"},
	{"process", "TEXT", "process as reports show it"},
	{"slice", "INTEGER", "row of the innermost slice around it, or NULL"},
	{"domain", "TEXT", "domain, where it has one"},
	{"name", "TEXT", "name, where it has one"},
	{"object", "INTEGER", "its row of objects, or NULL"},
	{"itt_id", "TEXT", "id, 'd1:d2:d3', or NULL"},
	{"other_id", "TEXT", "parent's or tail's id, or NULL"},
	{"value", "INTEGER", "number by kind: bits of a value, an address …"},
	{"extra", "INTEGER", "further number by kind: a count, a size …"},
	{"detail", "INTEGER", "small number by kind: a scope, a relation, a type …"},
	{"data", "TEXT", "text or values, or NULL"},
	{"time_given", "INTEGER", "1: the time is the program's own"},
	{"time_estimated", "INTEGER", "1: converted from a clock of the program's"},
	{"data_cut", "INTEGER", "1: its data was longer than what is kept"},
};
enum { EVENTS_TRACK = 3 };

static uint32_t events_count(const struct st_sql *sql)
{
	return st_result_events(sql->result)->count;
}

static void data_cell(const struct st_sql *sql, const struct st_event_row *row,
		      sqlite3_context *out)
{
	struct st_text data = st_result_blob(sql->result, row->data);
	struct st_buf values;

	if (!row->data)
		return;
	if (row->kind != ST_EVENT_METADATA && row->kind != ST_EVENT_METADATA_SCOPED) {
		st_sql_result_text(out, data);
		return;
	}
	st_buf_init(&values, 16 << 20);
	st_values_write(&values, row->detail & 0xffff, data);
	if (values.failed)
		sqlite3_result_error_nomem(out);
	else
		sqlite3_result_text64(out, values.size_bytes ? (char *)values.data : "",
				      values.size_bytes, SQLITE_TRANSIENT, SQLITE_UTF8);
	st_buf_fini(&values);
}

static void events_names(const struct st_sql *sql, const struct st_event_row *row, int column,
			 sqlite3_context *out)
{
	uint32_t object_count;

	st_result_objects(sql->result, &object_count);
	if (column == 7 && row->domain)
		st_sql_result_id(out, sql, row->domain);
	else if (column == 8 && row->name)
		st_sql_result_id(out, sql, row->name);
	else if (column == 9 && row->object < object_count)
		sqlite3_result_int64(out, row->object);
	else if (column == 10)
		st_sql_result_itt_id(out, sql, row->id);
	else if (column == 11)
		st_sql_result_itt_id(out, sql, row->other);
}

static void events_cell(const struct st_sql *sql, uint32_t index, int column, sqlite3_context *out)
{
	const struct st_event_row *row = &st_result_events(sql->result)->rows[index];

	if (column == 0)
		sqlite3_result_int64(out, index);
	else if (column == 1)
		sqlite3_result_int64(out, row->time_ns);
	else if (column == 2)
		result_word(out, st_words_event_kind(row->kind));
	else if (column == EVENTS_TRACK)
		st_sql_result_row(out, row->track);
	else if (column == 4 || column == 5)
		st_sql_place_cell(sql, row->track, column == 4 ? ST_SQL_THREAD : ST_SQL_PROCESS,
				  out);
	else if (column == 6)
		st_sql_result_row(out, row->slice);
	else if (column <= 11)
		events_names(sql, row, column, out);
	else if (column == 12)
		sqlite3_result_int64(out, (int64_t)row->value);
	else if (column == 13)
		sqlite3_result_int64(out, (int64_t)row->extra);
	else if (column == 14)
		sqlite3_result_int64(out, row->detail);
	else if (column == 15)
		data_cell(sql, row, out);
	else
		sqlite3_result_int(out, (row->flags >> (column - 16)) & 1);
}

/* Rows of a track lie together. */
static void events_narrow(const struct st_sql *sql, int column, char op, sqlite3_value *value,
			  uint32_t range[2])
{
	const struct st_events *events = st_result_events(sql->result);
	uint32_t count, first, end;
	int64_t track = sqlite3_value_int64(value);

	st_result_tracks(sql->result, &count);
	if (column != EVENTS_TRACK || op != '=' || sqlite3_value_type(value) != SQLITE_INTEGER ||
	    !events->first_of_track)
		return;
	if (track < 0 || track >= count) {
		range[1] = range[0];
		return;
	}
	first = events->first_of_track[track];
	end = events->first_of_track[track + 1];
	range[0] = first > range[0] ? first : range[0];
	range[1] = end < range[1] ? end : range[1];
	if (range[1] < range[0])
		range[1] = range[0];
}

const struct st_sql_table st_sql_events_table = {
	.name = "events",
	.help = "everything but tasks, one row per record, as the program told it",
	COLUMNS(events_columns),
	.has_row_number = true,
	.count = events_count,
	.cell = events_cell,
	.narrows = 1u << EVENTS_TRACK,
	.narrow = events_narrow,
};

static const struct st_sql_column spans_columns[] = {
	{"row", "INTEGER", "number of the span"},
	{"kind", "TEXT",
	 "'overlapped', 'region', 'frame', 'timed', 'event', 'mark', 'wait' or 'hold'"},
	{"start_ns", "INTEGER", "begin, since the start of collection"},
	{"end_ns", "INTEGER", "end"},
	{"track", "INTEGER", "thread that began it, or NULL"},
	{"end_track", "INTEGER", "thread that ended it, or NULL"},
	{"process_id", "INTEGER", "its row of processes"},
	{"process", "TEXT", "process as reports show it"},
	{"slice", "INTEGER", "row of the innermost slice around its begin, or NULL"},
	{"domain", "TEXT", "domain, where it has one"},
	{"name", "TEXT", "name, where it has one"},
	{"object", "INTEGER", "row of objects; of waits and holds: of sync_objects"},
	{"itt_id", "TEXT", "id, 'd1:d2:d3', or NULL"},
	{"parent_id", "TEXT", "parent's id, or NULL"},
	{"event", "INTEGER", "row of events that began it"},
	{"lane", "INTEGER", "spans that overlap lie in different lanes"},
	{"unfinished", "INTEGER", "1: never ended"},
	{"clipped", "INTEGER", "1: straddles a pause or the collection's edge"},
	{"cancelled", "INTEGER", "1: a wait that was given up"},
	{"estimated", "INTEGER", "1: a time comes from a clock of the program's"},
};
enum { SPANS_KIND = 1, SPANS_START = 2 };

static uint32_t spans_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_spans(sql->result, &count);
	return count;
}

static void spans_names(const struct st_sql *sql, const struct st_span *span, int column,
			sqlite3_context *out)
{
	uint32_t count;
	bool is_sync = span->kind == ST_SPAN_WAIT || span->kind == ST_SPAN_HOLD;

	if (is_sync)
		st_result_sync_objects(sql->result, &count);
	else
		st_result_objects(sql->result, &count);
	if (column == 9 && span->domain)
		st_sql_result_id(out, sql, span->domain);
	else if (column == 10 && span->name)
		st_sql_result_id(out, sql, span->name);
	else if (column == 11 && span->object < count &&
		 (is_sync || span->kind == ST_SPAN_USER_EVENT || span->kind == ST_SPAN_MARK))
		sqlite3_result_int64(out, span->object);
	else if (column == 12)
		st_sql_result_itt_id(out, sql, span->id);
	else if (column == 13)
		st_sql_result_itt_id(out, sql, span->parent);
}

static void spans_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	static const unsigned int flags[] = {ST_SLICE_UNFINISHED, ST_SLICE_CLIPPED,
					     ST_SPAN_CANCELLED, ST_SPAN_ESTIMATED};
	uint32_t count;
	const struct st_span *span = &st_result_spans(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == SPANS_KIND)
		result_word(out, st_words_span_kind(span->kind));
	else if (column == SPANS_START)
		sqlite3_result_int64(out, span->begin_ns);
	else if (column == 3)
		sqlite3_result_int64(out, span->end_ns);
	else if (column == 4)
		st_sql_result_row(out, span->begin_track);
	else if (column == 5)
		st_sql_result_row(out, span->end_track);
	else if (column == 6)
		st_sql_result_row(out, span->process);
	else if (column == 7)
		result_process(out, sql, span->process);
	else if (column == 8)
		st_sql_result_row(out, span->slice);
	else if (column <= 13)
		spans_names(sql, span, column, out);
	else if (column == 14)
		st_sql_result_row(out, span->event);
	else if (column == 15)
		sqlite3_result_int(out, span->lane);
	else
		sqlite3_result_int(out, (span->flags & flags[column - 16]) != 0);
}

/* First of the range whose kind (or, of one kind, begin) is not below the limit. */
static uint32_t search_spans(const struct st_span *spans, const uint32_t range[2], bool by_kind,
			     int64_t limit)
{
	uint32_t low = range[0], high = range[1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((by_kind ? (int64_t)spans[middle].kind : spans[middle].begin_ns) < limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void narrow_kind(const struct st_span *spans, const char *text, uint32_t range[2])
{
	for (uint32_t kind = 1; kind < ST_SPAN_KINDS; kind++) {
		if (strcmp(text, st_words_span_kind(kind)) != 0)
			continue;
		range[0] = search_spans(spans, range, true, kind);
		range[1] = search_spans(spans, range, true, (int64_t)kind + 1);
		return;
	}
	range[1] = range[0];
}

/* Sorted by kind, then by begin. */
static void spans_narrow(const struct st_sql *sql, int column, char op, sqlite3_value *value,
			 uint32_t range[2])
{
	uint32_t count;
	const struct st_span *spans = st_result_spans(sql->result, &count);
	int64_t number = sqlite3_value_int64(value);

	if (column == SPANS_KIND) {
		const char *text = (const char *)sqlite3_value_text(value);

		if (op == '=' && text && sqlite3_value_type(value) == SQLITE_TEXT)
			narrow_kind(spans, text, range);
		return;
	}
	if (sqlite3_value_type(value) != SQLITE_INTEGER || range[0] >= range[1] ||
	    spans[range[0]].kind != spans[range[1] - 1].kind)
		return;
	if (op != '<')
		range[0] = search_spans(spans, range, false, number);
	if (op != '>' && number < INT64_MAX)
		range[1] = search_spans(spans, range, false, number + 1);
}

const struct st_sql_table st_sql_spans_table = {
	.name = "spans",
	.help = "everything with a begin and an end that does not nest",
	COLUMNS(spans_columns),
	.has_row_number = true,
	.count = spans_count,
	.cell = spans_cell,
	.narrows = 1u << SPANS_KIND | 1u << SPANS_START,
	.narrow = spans_narrow,
};

static const struct st_sql_column objects_columns[] = {
	{"object", "INTEGER", "number of the row; events.object"},
	{"kind", "TEXT", "'counter', 'histogram', 'heap_function' …"},
	{"type", "TEXT", "type of its values, of a histogram of its x axis"},
	{"type_y", "TEXT", "of a histogram: type of its y axis"},
	{"name", "TEXT", "name"},
	{"domain", "TEXT", "domain, or NULL"},
	{"process_id", "INTEGER", "its row of processes"},
	{"parent", "INTEGER", "of a track: object of its group"},
	{"number_1", "INTEGER", "of a pt region: its number; of a clock: frequency"},
	{"number_2", "INTEGER", "of a clock: base"},
	{"number_3", "INTEGER", "of a clock: our ticks then"},
};

static uint32_t objects_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_objects(sql->result, &count);
	return count;
}

static void objects_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	uint32_t count;
	const struct st_object *object = &st_result_objects(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1)
		result_word(out, st_words_object_kind(object->kind));
	else if (column == 2 && object->type)
		result_word(out, st_value_type_name(object->type));
	else if (column == 3 && object->kind == ST_OBJECT_HISTOGRAM)
		result_word(out, st_value_type_name(object->type_y));
	else if (column == 4)
		st_sql_result_id(out, sql, object->name);
	else if (column == 5 && object->domain)
		st_sql_result_id(out, sql, object->domain);
	else if (column == 6)
		st_sql_result_row(out, object->process);
	else if (column == 7)
		st_sql_result_row(out, object->parent);
	else if (column >= 8)
		sqlite3_result_int64(out, (int64_t)object->number[column - 8]);
}

const struct st_sql_table st_sql_objects_table = {
	.name = "objects",
	.help = "things with a name that the program created",
	COLUMNS(objects_columns),
	.has_row_number = true,
	.count = objects_count,
	.cell = objects_cell,
};

static const struct st_sql_column object_facts_columns[] = {
	{"object", "INTEGER", "row of objects: a counter"},
	{"fact", "TEXT", "'units', 'device', 'max_value' …"},
	{"value", "", "a text or a number"},
};

static uint32_t object_facts_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_object_facts(sql->result, &count);
	return count;
}

static void object_facts_cell(const struct st_sql *sql, uint32_t row, int column,
			      sqlite3_context *out)
{
	uint32_t count;
	const struct st_object_fact *fact = &st_result_object_facts(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, fact->object);
	else if (column == 1)
		result_word(out, st_context_name(fact->type));
	else if (fact->type >= 9)
		sqlite3_result_int64(out, (int64_t)fact->number);
	else
		st_sql_result_id(out, sql, fact->text);
}

const struct st_sql_table st_sql_object_facts_table = {
	.name = "object_facts",
	.help = "what the program told about its counters",
	COLUMNS(object_facts_columns),
	.count = object_facts_count,
	.cell = object_facts_cell,
};

static const struct st_sql_column sync_objects_columns[] = {
	{"object", "INTEGER", "number of the row; waits.object"},
	{"name", "TEXT", "name, or NULL"},
	{"type", "TEXT", "type, or NULL"},
	{"attribute", "TEXT", "'barrier', 'mutex' or NULL"},
	{"address", "TEXT", "where it lies, hexadecimal"},
	{"process_id", "INTEGER", "its row of processes"},
	{"start_ns", "INTEGER", "first seen"},
};

static uint32_t sync_objects_count(const struct st_sql *sql)
{
	uint32_t count;

	st_result_sync_objects(sql->result, &count);
	return count;
}

static void sync_objects_cell(const struct st_sql *sql, uint32_t row, int column,
			      sqlite3_context *out)
{
	uint32_t count;
	const struct st_sync_object *object = &st_result_sync_objects(sql->result, &count)[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1 && object->name)
		st_sql_result_id(out, sql, object->name);
	else if (column == 2 && object->type)
		st_sql_result_id(out, sql, object->type);
	else if (column == 3 && (object->attribute == 1 || object->attribute == 2))
		result_word(out, object->attribute == 1 ? "barrier" : "mutex");
	else if (column == 4)
		result_hex(out, object->address);
	else if (column == 5)
		st_sql_result_row(out, object->process);
	else if (column == 6)
		sqlite3_result_int64(out, object->first_ns);
}

const struct st_sql_table st_sql_sync_objects_table = {
	.name = "sync_objects",
	.help = "locks, barriers and the like that were waited for or created",
	COLUMNS(sync_objects_columns),
	.has_row_number = true,
	.count = sync_objects_count,
	.cell = sync_objects_cell,
};

static const struct st_sql_column counters_columns[] = {
	{"counter", "INTEGER", "number of the row; counter_values.counter"},
	{"name", "TEXT", "name"},
	{"domain", "TEXT", "domain, or NULL"},
	{"type", "TEXT", "'u64', 'double' …"},
	{"unit", "TEXT", "unit, or NULL"},
	{"device", "TEXT", "device, or NULL"},
	{"process_id", "INTEGER", "its row of processes"},
	{"process", "TEXT", "process as reports show it"},
	{"object", "INTEGER", "its row of objects"},
	{"count", "INTEGER", "values of it"},
};

static int counters_open(struct st_sql *sql)
{
	if (!sql->counters.memory && st_counters_make(&sql->counters, sql->result, NULL))
		return SQLITE_NOMEM;
	return SQLITE_OK;
}

static uint32_t counters_count(const struct st_sql *sql)
{
	return sql->counters.count;
}

static void counters_cell(const struct st_sql *sql, uint32_t row, int column, sqlite3_context *out)
{
	const struct st_counter *counter = &sql->counters.counters[row];

	if (column == 0)
		sqlite3_result_int64(out, row);
	else if (column == 1)
		st_sql_result_id(out, sql, counter->definition->name);
	else if (column == 2 && counter->definition->domain)
		st_sql_result_id(out, sql, counter->definition->domain);
	else if (column == 3)
		result_word(out, st_value_type_name(counter->definition->type));
	else if (column == 4 && counter->unit)
		st_sql_result_id(out, sql, counter->unit);
	else if (column == 5 && counter->device)
		st_sql_result_id(out, sql, counter->device);
	else if (column == 6)
		st_sql_result_row(out, counter->definition->process);
	else if (column == 7)
		result_process(out, sql, counter->definition->process);
	else if (column == 8)
		sqlite3_result_int64(out, counter->object);
	else if (column == 9)
		sqlite3_result_int64(out, counter->sample_count);
}

const struct st_sql_table st_sql_counters_table = {
	.name = "counters",
	.help = "counters that the program created, used or not",
	COLUMNS(counters_columns),
	.has_row_number = true,
	.count = counters_count,
	.cell = counters_cell,
	.open = counters_open,
};
