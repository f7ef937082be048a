// SPDX-License-Identifier: Apache-2.0
//
// Reports "markers", "metadata" and "relations": what programs tell about a moment or about a task.
#include "analyze/reports/report_rows.h"

#include <string.h>

#include "analyze/datasets/itt_values.h"
#include "base/buf.h"

static const struct st_event_row *event_of(struct st_rows_job *job, uint32_t row)
{
	return &st_result_events(job->result)
			->rows[st_dataset_rows_source(job->dataset, row).event];
}

static struct st_cell task_cell(struct st_rows_job *job, uint32_t slice)
{
	if (slice == ST_NO_ROW)
		return (struct st_cell){.kind = ST_CELL_NONE};
	return st_cell_bytes(st_slice_name(job->result, slice));
}

static const struct st_column marker_columns[] = {
	{"start_ns", "Time", "ns", false}, {"domain", "Domain", "", true},
	{"scope", "Scope", "", true},	   {"kind", "Kind", "", true},
	{"text", "Text", "", true},	   {"id", "Id", "", true},
	{"task", "In Task", "", true},	   {"process", "Process", "", true},
	{"thread", "Thread", "", true},	   {"flags", "Flags", "", true},
};

static void marker_instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	struct st_row_source source = st_dataset_rows_source(job->dataset, row);
	const struct st_events *events = st_result_events(job->result);
	const struct st_event_row *event =
		source.event < events->count ? &events->rows[source.event] : NULL;

	cells[0] = st_cell_i64(job->dataset->begin_ns[row]);
	cells[1] = st_rows_place(job, ST_BY_DOMAIN, row);
	if (!cells[1].as.text.size_bytes)
		cells[1].kind = ST_CELL_NONE;
	cells[2] = st_rows_place(job, ST_BY_SCOPE, row);
	cells[3] = st_rows_place(job, ST_BY_CATEGORY, row);
	if (event && event->data)
		cells[4] = st_cell_bytes(st_result_blob(job->result, event->data));
	if (event) {
		cells[5] = st_rows_id(job, event->id);
		cells[6] = task_cell(job, event->slice);
	}
	cells[7] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[8] = st_rows_place(job, ST_BY_THREAD, row);
	cells[9] = st_cell_text(st_span_flags(job->dataset->flags[row]));
}

const struct st_rows_report st_markers_report = {
	.name = "markers",
	.set = ST_ROWS_MARKERS,
	.defaults = {ST_BY_INSTANCE},
	.default_count = 1,
	.metrics = ST_LIST(ST_COUNT, ST_WALL_TOTAL, ST_WALL_AVG, ST_WALL_MAX),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL),
	.titles = {[ST_COUNT] = "Count",
		   [ST_WALL_TOTAL] = "Duration",
		   [ST_WALL_AVG] = "Average Duration"},
	.instance_columns = marker_columns,
	.instance_column_count = sizeof(marker_columns) / sizeof(marker_columns[0]),
	.instance_cells = marker_instance,
	.empty = "This result holds no markers; programs make them with __itt_marker, "
		 "__itt_event_start or __itt_mark, and you with strata -command mark.",
};

static const struct st_column metadata_columns[] = {
	{"start_ns", "Time", "ns", false},
	{"key", "Key", "", true},
	{"value", "Value", "", true},
	{"type", "Type", "", true},
	{"count", "Elements", "", false},
	{"domain", "Domain", "", true},
	{"id", "Id", "", true},
	{"process", "Process", "", true},
	{"thread", "Thread", "", true},
};

static struct st_cell value_cell(struct st_rows_job *job, const struct st_event_row *event)
{
	struct st_text data = st_result_blob(job->result, event->data);
	struct st_buf values;
	struct st_cell cell;

	if (event->kind == ST_EVENT_METADATA_FORMATTED && (event->detail & 1))
		return (struct st_cell){.kind = ST_CELL_NONE};
	if (event->kind != ST_EVENT_METADATA && event->kind != ST_EVENT_METADATA_SCOPED)
		return st_cell_bytes(data);
	st_buf_init(&values, 16 << 20);
	st_values_write(&values, event->detail & 0xffff, data);
	cell = st_rows_buf(job, &values);
	st_buf_fini(&values);
	return cell;
}

static const char *metadata_type(const struct st_event_row *event)
{
	if (event->kind == ST_EVENT_METADATA_FORMATTED)
		return "formatted";
	if (event->kind == ST_EVENT_METADATA || event->kind == ST_EVENT_METADATA_SCOPED)
		return st_value_type_name(event->detail & 0xffff);
	return "text";
}

static void metadata_instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	const struct st_event_row *event = event_of(job, row);

	cells[0] = st_cell_i64(event->time_ns);
	cells[1] = st_rows_text(job, event->name);
	cells[2] = value_cell(job, event);
	cells[3] = st_cell_text(metadata_type(event));
	if (event->kind == ST_EVENT_METADATA || event->kind == ST_EVENT_METADATA_SCOPED)
		cells[4] = st_cell_u64(event->extra);
	cells[5] = st_rows_text(job, event->domain);
	cells[6] = st_rows_id(job, event->id);
	cells[7] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[8] = st_rows_place(job, ST_BY_THREAD, row);
}

const struct st_rows_report st_metadata_report = {
	.name = "metadata",
	.set = ST_ROWS_METADATA,
	.defaults = {ST_BY_INSTANCE},
	.default_count = 1,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Count"},
	.instance_columns = metadata_columns,
	.instance_column_count = sizeof(metadata_columns) / sizeof(metadata_columns[0]),
	.instance_cells = metadata_instance,
	.empty = "This result holds no metadata; programs attach it with __itt_metadata_add and "
		 "__itt_metadata_str_add.",
};

static const struct st_column relation_columns[] = {
	{"start_ns", "Time", "ns", false}, {"relation", "Relation", "", true},
	{"tail", "Tail", "", true},	   {"head_id", "Head Id", "", true},
	{"tail_id", "Tail Id", "", true},  {"domain", "Domain", "", true},
	{"process", "Process", "", true},  {"thread", "Thread", "", true},
};

static void relation_instance(struct st_rows_job *job, struct st_cell *cells, uint32_t row)
{
	const struct st_event_row *event = event_of(job, row);

	cells[0] = st_cell_i64(event->time_ns);
	cells[1] = st_rows_place(job, ST_BY_RELATION, row);
	cells[2] = st_rows_place(job, ST_BY_TAIL, row);
	cells[3] = st_rows_id(job, event->id);
	cells[4] = st_rows_id(job, event->other);
	cells[5] = st_rows_text(job, event->domain);
	cells[6] = st_rows_place(job, ST_BY_PROCESS, row);
	cells[7] = st_rows_place(job, ST_BY_THREAD, row);
}

const struct st_rows_report st_relations_report = {
	.name = "relations",
	.set = ST_ROWS_RELATIONS,
	.defaults = {ST_BY_HEAD, ST_BY_RELATION, ST_BY_TAIL},
	.default_count = 3,
	.metrics = ST_LIST(ST_COUNT),
	.titles = {[ST_COUNT] = "Count"},
	.instance_columns = relation_columns,
	.instance_column_count = sizeof(relation_columns) / sizeof(relation_columns[0]),
	.instance_cells = relation_instance,
	.empty = "This result holds no relations; programs tell them with __itt_relation_add and "
		 "__itt_relation_add_to_current.",
};
