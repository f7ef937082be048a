// SPDX-License-Identifier: Apache-2.0
//
// Every task as a row of a table, for programs that read tables: CSV, and a JSON array of objects. The
// columns are those of "report tasks -group-by task", the rows come thread by thread. The report holds
// all its rows to sort them; here one row is held at a time.
#include "export/exporters.h"

#include "analyze/tables/table.h"
#include "base/json_out.h"
#include "export/report/cells.h"
#include "export/stream.h"

static const char *const keys[] = {
	"task_type", "wall_ns",	    "self_ns",	   "row",     "start_ns", "depth",
	"parent",    "parent_task", "task_domain", "process", "thread",	  "flags",
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]), PROGRESS_ROWS = 4096 };

struct rows {
	struct st_stream stream;
	int columns[KEYS];
	struct st_column headings[KEYS];
	void (*add_row)(struct rows *rows, const struct st_cell *cells, bool is_first);
	const char *tail;
};

static void add_csv(struct rows *rows, const struct st_cell *cells, bool is_first)
{
	struct st_buf *out = &rows->stream.out;

	(void)is_first;
	for (unsigned int i = 0; i < KEYS; i++) {
		if (i)
			st_buf_append_u8(out, ',');
		st_cell_write_csv(out, ',', &cells[i]);
	}
	st_buf_append(out, "\r\n", 2);
}

static void add_json(struct rows *rows, const struct st_cell *cells, bool is_first)
{
	struct st_json json;

	st_buf_append_text(&rows->stream.out, is_first ? "\n" : ",\n");
	st_json_init(&json, &rows->stream.out);
	st_json_object_begin(&json);
	for (unsigned int i = 0; i < KEYS; i++) {
		if (cells[i].kind == ST_CELL_NONE)
			continue;
		st_json_key(&json, rows->headings[i].key);
		st_cell_write_json(&json, &cells[i]);
	}
	st_json_object_end(&json);
}

static enum st_status write_rows(struct rows *rows, const struct st_result *result,
				 struct st_arena *arena, struct st_error *err)
{
	struct st_tables tables;
	uint32_t count;
	const void *from;
	enum st_status status = ST_OK;

	if (!st_tables_init(&tables, result, arena))
		return st_stream_no_memory(&rows->stream, err);
	from = st_table_rows(&st_slices_table, &tables, &count);
	for (uint32_t row = 0; row < count && !status; row++) {
		struct st_cell cells[KEYS];

		for (unsigned int i = 0; i < KEYS; i++)
			cells[i] = st_table_cell(&st_slices_table, &tables, from, row,
						 rows->columns[i], arena);
		rows->add_row(rows, cells, row == 0);
		status = st_stream_spill(&rows->stream, err);
		if (row % PROGRESS_ROWS == 0)
			st_sink_progress(rows->stream.sink, row, count);
	}
	st_buf_append_text(&rows->stream.out, rows->tail);
	return status;
}

static void begin(struct rows *rows, struct st_sink *sink)
{
	st_stream_init(&rows->stream, sink, "the export");
	for (unsigned int i = 0; i < KEYS; i++) {
		rows->columns[i] = st_table_find(&st_slices_table, keys[i]);
		rows->headings[i] = st_table_heading(&st_slices_table.columns[rows->columns[i]]);
	}
}

static enum st_status finish(struct rows *rows, const struct st_result *result,
			     struct st_error *err)
{
	struct st_arena arena;
	enum st_status status;

	st_arena_init(&arena, SIZE_MAX / 4);
	status = write_rows(rows, result, &arena, err);
	st_arena_fini(&arena);
	if (!st_result_slices(result)->count)
		st_sink_set_empty(rows->stream.sink,
				  "the result has no tasks and no operators; samples are in "
				  "the formats flamegraph, folded, speedscope and pprof");
	return st_stream_end(&rows->stream, status, err);
}

enum st_status st_export_csv(const struct st_result *result,
			     const struct st_export_options *options, struct st_sink *sink,
			     struct st_error *err)
{
	struct rows rows = {.add_row = add_csv, .tail = ""};

	(void)options; /* samples are not in it */
	begin(&rows, sink);
	for (unsigned int i = 0; i < KEYS; i++)
		st_buf_printf(&rows.stream.out, "%s%s", i ? "," : "", rows.headings[i].key);
	st_buf_append(&rows.stream.out, "\r\n", 2);
	return finish(&rows, result, err);
}

enum st_status st_export_json(const struct st_result *result,
			      const struct st_export_options *options, struct st_sink *sink,
			      struct st_error *err)
{
	struct rows rows = {.add_row = add_json, .tail = "\n]\n"};

	(void)options; /* samples are not in it */
	begin(&rows, sink);
	st_buf_append_text(&rows.stream.out, "[");
	return finish(&rows, result, err);
}
