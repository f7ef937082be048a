// SPDX-License-Identifier: Apache-2.0
//
// Every task as a row of a table, for programs that read tables: CSV, and a JSON array of objects. The
// columns are those of "report tasks -group-by task", the rows come thread by thread. The report holds
// all its rows to sort them; here one row is held at a time.
#include "export/exporters.h"

#include <string.h>

#include "analyze/engine/dataset.h"
#include "analyze/tables/report.h"
#include "analyze/datasets/words.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "export/report/cells.h"
#include "store/result.h"

static const char *const keys[] = {
	"task",	  "wall_total_ns", "wall_self_ns", "row",     "start_ns", "depth",
	"parent", "parent_task",   "task_domain",  "process", "thread",	  "flags",
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]), SPILL_BYTES = 256 << 10, PROGRESS_ROWS = 4096 };

struct rows {
	const struct st_result *result;
	const struct st_slices *slices;
	const struct st_label *labels;
	struct st_dataset dataset; /* knows the texts of places */
	struct st_arena arena;	   /* the two texts of the thread at hand */
	uint32_t track;
	struct st_text process, thread;
	struct st_buf out;
	void (*add_row)(struct st_buf *out, const struct st_cell *cells, bool is_first);
};

static struct st_cell number_cell(uint64_t value)
{
	return (struct st_cell){.kind = ST_CELL_U64, .as.u64 = value};
}

static struct st_cell text_cell(struct st_text text)
{
	return (struct st_cell){.kind = ST_CELL_TEXT, .as.text = text};
}

static void add_csv(struct st_buf *out, const struct st_cell *cells, bool is_first)
{
	(void)is_first;
	for (unsigned int i = 0; i < KEYS; i++) {
		if (i)
			st_buf_append_u8(out, ',');
		st_cell_write_csv(out, ',', &cells[i]);
	}
	st_buf_append(out, "\r\n", 2);
}

static void add_json(struct st_buf *out, const struct st_cell *cells, bool is_first)
{
	struct st_json json;

	st_buf_append_text(out, is_first ? "\n" : ",\n");
	st_json_init(&json, out);
	st_json_object_begin(&json);
	for (unsigned int i = 0; i < KEYS; i++) {
		if (cells[i].kind == ST_CELL_NONE)
			continue;
		st_json_key(&json, keys[i]);
		st_cell_write_json(&json, &cells[i]);
	}
	st_json_object_end(&json);
}

static bool enter_track(struct rows *rows, uint32_t row)
{
	struct st_dataset *dataset = &rows->dataset;

	rows->track = rows->slices->track[row];
	st_arena_fini(&rows->arena);
	st_arena_init(&rows->arena, SIZE_MAX / 4);
	rows->process = dataset->text(dataset, ST_BY_PROCESS,
				      st_key_of(&dataset->keys[ST_BY_PROCESS], row), &rows->arena);
	rows->thread = dataset->text(dataset, ST_BY_THREAD, rows->track, &rows->arena);
	return !rows->arena.failed;
}

static struct st_text task_name(const struct rows *rows, uint32_t row)
{
	return st_result_text(rows->result, rows->labels[rows->slices->label[row]].name);
}

static void add_row(struct rows *rows, uint32_t row)
{
	const struct st_slices *slices = rows->slices;
	const char *flags = st_words_slice_flags(slices->flags[row]);
	uint32_t parent = slices->parent[row];
	bool has_parent = parent != ST_NO_ROW;
	const struct st_cell none = {.kind = ST_CELL_NONE};
	const struct st_cell cells[KEYS] = {
		text_cell(task_name(rows, row)),
		number_cell(st_result_wall_ns(rows->result, row)),
		number_cell(slices->self_ns[row]),
		number_cell(row),
		{.kind = ST_CELL_I64, .as.i64 = slices->begin_ns[row]},
		number_cell(slices->depth[row]),
		has_parent ? number_cell(parent) : none,
		has_parent ? text_cell(task_name(rows, parent)) : none,
		text_cell(st_result_text(rows->result, rows->labels[slices->label[row]].domain)),
		text_cell(rows->process),
		text_cell(rows->thread),
		text_cell((struct st_text){flags, strlen(flags)}),
	};

	rows->add_row(&rows->out, cells, row == 0);
}

static enum st_status spill(struct rows *rows, struct st_sink *sink, size_t above,
			    struct st_error *err)
{
	enum st_status status = ST_OK;

	if (rows->out.failed)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	if (rows->out.size_bytes > above) {
		status = st_sink_write(sink, rows->out.data, rows->out.size_bytes, err);
		st_buf_clear(&rows->out);
	}
	return status;
}

static enum st_status write_rows(struct rows *rows, const char *head, const char *tail,
				 struct st_sink *sink, struct st_error *err)
{
	enum st_status status = ST_OK;

	rows->track = UINT32_MAX;
	st_buf_append_text(&rows->out, head);
	for (uint32_t row = 0; row < rows->slices->count && !status; row++) {
		if (rows->slices->track[row] != rows->track && !enter_track(rows, row))
			return st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
		add_row(rows, row);
		status = spill(rows, sink, SPILL_BYTES, err);
		if (row % PROGRESS_ROWS == 0)
			st_sink_progress(sink, row, rows->slices->count);
	}
	st_buf_append_text(&rows->out, tail);
	return status ? status : spill(rows, sink, 0, err);
}

static enum st_status export_rows(struct rows *rows, const char *head, const char *tail,
				  struct st_sink *sink, struct st_error *err)
{
	uint32_t label_count;
	enum st_status status = st_dataset_slices_init(&rows->dataset, rows->result, err);

	if (status)
		return status;
	rows->slices = st_result_slices(rows->result);
	rows->labels = st_result_labels(rows->result, &label_count);
	st_buf_init(&rows->out, SIZE_MAX / 4);
	st_arena_init(&rows->arena, SIZE_MAX / 4);
	status = write_rows(rows, head, tail, sink, err);
	st_arena_fini(&rows->arena);
	st_buf_fini(&rows->out);
	st_dataset_slices_fini(&rows->dataset);
	return status;
}

enum st_status st_export_csv(const struct st_result *result,
			     const struct st_export_options *options, struct st_sink *sink,
			     struct st_error *err)
{
	struct rows rows = {.result = result, .add_row = add_csv};
	struct st_buf head;
	enum st_status status;

	(void)options; /* samples are not in it */
	st_buf_init(&head, 4096);
	for (unsigned int i = 0; i < KEYS; i++) {
		st_buf_append_text(&head, i ? "," : "");
		st_buf_append_text(&head, keys[i]);
	}
	st_buf_append(&head, "\r\n", 3); /* with the terminator */
	if (head.failed)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the export");
	else
		status = export_rows(&rows, (const char *)head.data, "", sink, err);
	st_buf_fini(&head);
	return status;
}

enum st_status st_export_json(const struct st_result *result,
			      const struct st_export_options *options, struct st_sink *sink,
			      struct st_error *err)
{
	struct rows rows = {.result = result, .add_row = add_json};

	(void)options; /* samples are not in it */
	return export_rows(&rows, "[", "\n]\n", sink, err);
}
