// SPDX-License-Identifier: Apache-2.0
//
// What tables share: reading columns out of records, and what is made for several of them.
#include "analyze/tables/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/datasets/itt_values.h"
#include "analyze/steps/step_list.h"
#include "analyze/tables/report_make.h"
#include "base/buf.h"
#include "resolve/named.h"
#include "store/events.h"

const struct st_table *const st_all_tables[ST_TABLES] = {
	&st_slices_table,
	&st_threads_table,
	&st_processes_table,
	&st_labels_table,
	&st_samples_table,
	&st_stack_nodes_table,
	&st_stack_frames_table,
	&st_functions_table,
	&st_python_codes_table,
	&st_samplers_table,
	&st_operators_table,
	&st_memory_table,
	&st_device_memory_table,
	&st_operator_sources_table,
	&st_steps_table,
	&st_python_calls_table,
	&st_row_tables[ST_ROWS_FRAMES],
	&st_row_tables[ST_ROWS_REGIONS],
	&st_row_tables[ST_ROWS_OVERLAPPED],
	&st_row_tables[ST_ROWS_MARKERS],
	&st_counters_table,
	&st_row_tables[ST_ROWS_SAMPLES],
	&st_sync_objects_table,
	&st_row_tables[ST_ROWS_SYNC],
	&st_row_tables[ST_ROWS_RELATIONS],
	&st_row_tables[ST_ROWS_METADATA],
	&st_row_tables[ST_ROWS_HISTOGRAMS],
	&st_row_tables[ST_ROWS_HEAP],
	&st_row_tables[ST_ROWS_THREAD_TIME],
	&st_row_tables[ST_ROWS_PATH],
	&st_row_tables[ST_ROWS_OPENMP],
	&st_row_tables[ST_ROWS_KERNELS],
	&st_row_tables[ST_ROWS_GAPS],
	&st_spans_table,
	&st_events_table,
	&st_objects_table,
	&st_object_facts_table,
	&st_callers_table,
	&st_code_table,
	&st_code_maps_table,
	&st_not_entered_table,
	&st_pauses_table,
	&st_quality_table,
	&st_notes_table,
	&st_info_table,
};

bool st_tables_init(struct st_tables *tables, const struct st_result *result,
		    struct st_arena *arena)
{
	struct st_text *threads, *processes;

	*tables = (struct st_tables){.result = result, .arena = arena};
	st_result_tracks(result, &tables->thread_count);
	st_result_processes(result, &tables->process_count);
	threads = st_arena_calloc(arena, (size_t)tables->thread_count + 1, sizeof(*threads));
	processes = st_arena_calloc(arena, (size_t)tables->process_count + 1, sizeof(*processes));
	if (!threads || !processes)
		return false;
	for (uint32_t i = 0; i < tables->thread_count; i++)
		threads[i] = st_place_thread(result, i, arena);
	for (uint32_t i = 0; i < tables->process_count; i++)
		processes[i] = st_place_process(result, i, arena);
	tables->threads = threads;
	tables->processes = processes;
	return !arena->failed;
}

void st_tables_fini(struct st_tables *tables)
{
	for (unsigned int i = 0; i < ST_ROW_SETS; i++)
		if (tables->sets[i].is_open)
			st_dataset_rows_fini(&tables->sets[i].dataset);
	st_counters_fini(&tables->counters);
	if (tables->steps)
		st_step_list_fini(tables->steps);
	free(tables->steps);
	st_named_close(tables->own_named);
	st_report_fini(&tables->info);
	free(tables->facts);
	memset(tables, 0, sizeof(*tables));
}

bool st_table_open(const struct st_table *table, struct st_tables *tables)
{
	if (table->rows || table->open)
		return !table->open || table->open(tables);
	if (!tables->sets[table->set].is_open)
		tables->sets[table->set].is_open = !st_dataset_rows_init(
			&tables->sets[table->set].dataset, tables->result, table->set, NULL);
	return tables->sets[table->set].is_open;
}

const void *st_table_rows(const struct st_table *table, const struct st_tables *tables,
			  uint32_t *count)
{
	if (table->rows)
		return table->rows(tables, count);
	*count = tables->sets[table->set].dataset.row_count;
	return &tables->sets[table->set].dataset;
}

struct st_cell st_table_cell(const struct st_table *table, const struct st_tables *tables,
			     const void *rows, uint32_t row, int column, struct st_arena *arena)
{
	const struct st_table_at at = {
		.tables = tables,
		.column = &table->columns[column],
		.item = (const char *)rows + row * table->item_bytes,
		.row = row,
		.arena = arena,
	};

	if (table->first_is_none && !row && !at.column->of_none)
		return st_no_cell();
	return at.column->cell(&at);
}

int st_table_find(const struct st_table *table, const char *key)
{
	for (int i = 0; i < table->column_count; i++)
		if (strcmp(table->columns[i].key, key) == 0)
			return i;
	return -1;
}

struct st_column st_table_heading(const struct st_table_column *column)
{
	return (struct st_column){column->as ? column->as : column->key, column->title,
				  column->unit ? column->unit : "", column->type == ST_TEXT};
}

struct st_cell st_no_cell(void)
{
	return (struct st_cell){.kind = ST_CELL_NONE};
}

struct st_cell st_reference_cell(uint32_t row)
{
	return row == ST_NO_ROW ? st_no_cell() : st_cell_u64(row);
}

struct st_cell st_some_text_cell(const struct st_table_at *at, st_string_id id)
{
	return id ? st_cell_bytes(st_result_text(at->tables->result, id)) : st_no_cell();
}

struct st_cell st_itt_id_cell(const struct st_table_at *at, uint32_t id)
{
	uint32_t count;
	const struct st_itt_id *ids = st_result_ids(at->tables->result, &count);

	return id && id < count ? st_cell_bytes(st_itt_id_text(&ids[id], at->arena)) : st_no_cell();
}

struct st_cell st_hex_cell(const struct st_table_at *at, uint64_t address)
{
	return st_cell_text(st_arena_printf(at->arena, "0x%" PRIx64, address));
}

struct st_cell st_word_cell(const struct st_table_at *at, const char *const *words, size_t count)
{
	uint64_t number = st_table_value(at);

	return st_cell_text(number < count && words[number] ? words[number] : "unknown");
}

struct st_cell st_buf_cell(const struct st_table_at *at, struct st_buf *buf)
{
	char *copy = st_arena_copy(at->arena, buf->data, buf->size_bytes);
	struct st_text text = {copy ? copy : "", copy ? buf->size_bytes : 0};

	if (buf->failed)
		at->arena->failed = true;
	st_buf_fini(buf);
	return st_cell_bytes(text);
}

struct st_cell st_read_row(const struct st_table_at *at)
{
	return st_cell_u64(at->row);
}

/* Numbers of 64 bits are shown with a sign, as SQL has them. */
struct st_cell st_read_number(const struct st_table_at *at)
{
	return (struct st_cell){.kind = ST_CELL_I64, .as.i64 = (int64_t)st_table_value(at)};
}

struct st_cell st_read_some(const struct st_table_at *at)
{
	return st_table_value(at) ? st_read_number(at) : st_no_cell();
}

struct st_cell st_read_reference(const struct st_table_at *at)
{
	return st_reference_cell((uint32_t)st_table_value(at));
}

struct st_cell st_read_flag(const struct st_table_at *at)
{
	return st_cell_u64((st_table_value(at) & at->column->arg) != 0);
}

struct st_cell st_read_text(const struct st_table_at *at)
{
	return st_cell_bytes(st_result_text(at->tables->result, (st_string_id)st_table_value(at)));
}

struct st_cell st_read_some_text(const struct st_table_at *at)
{
	return st_some_text_cell(at, (st_string_id)st_table_value(at));
}

struct st_cell st_read_hex(const struct st_table_at *at)
{
	return st_hex_cell(at, st_table_value(at));
}

struct st_cell st_read_itt_id(const struct st_table_at *at)
{
	return st_itt_id_cell(at, (uint32_t)st_table_value(at));
}

static struct st_cell process_text(const struct st_tables *tables, uint32_t process)
{
	return process < tables->process_count ? st_cell_bytes(tables->processes[process])
					       : st_no_cell();
}

struct st_cell st_read_process(const struct st_table_at *at)
{
	return process_text(at->tables, (uint32_t)st_table_value(at));
}

static const struct st_track *track_of(const struct st_table_at *at)
{
	uint64_t track = st_table_value(at);
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(at->tables->result, &count);

	return track < count ? &tracks[track] : NULL;
}

/* The process of the track, or ST_NO_ROW. */
static uint32_t process_of(const struct st_table_at *at)
{
	const struct st_track *track = track_of(at);

	return track && track->process < at->tables->process_count ? track->process : ST_NO_ROW;
}

struct st_cell st_read_track_tid(const struct st_table_at *at)
{
	const struct st_track *track = track_of(at);

	return track ? st_cell_u64(track->tid) : st_no_cell();
}

struct st_cell st_read_track_thread(const struct st_table_at *at)
{
	return track_of(at) ? st_cell_bytes(at->tables->threads[st_table_value(at)]) : st_no_cell();
}

struct st_cell st_read_track_pid(const struct st_table_at *at)
{
	uint32_t process = process_of(at), count;

	return process == ST_NO_ROW
		       ? st_no_cell()
		       : st_cell_u64(st_result_processes(at->tables->result, &count)[process].pid);
}

struct st_cell st_read_track_process_id(const struct st_table_at *at)
{
	return st_reference_cell(process_of(at));
}

struct st_cell st_read_track_process(const struct st_table_at *at)
{
	return process_text(at->tables, process_of(at));
}

void st_narrow_to_track(const struct st_tables *tables, const uint32_t *first_of_track,
			const struct st_cell *track, uint32_t range[2])
{
	uint32_t first, end;

	if (track->kind != ST_CELL_I64 || !first_of_track)
		return;
	if (track->as.i64 < 0 || track->as.i64 >= tables->thread_count) {
		range[1] = range[0];
		return;
	}
	first = first_of_track[track->as.i64];
	end = first_of_track[track->as.i64 + 1];
	range[0] = first > range[0] ? first : range[0];
	range[1] = end < range[1] ? end : range[1];
	if (range[1] < range[0])
		range[1] = range[0];
}
