// SPDX-License-Identifier: Apache-2.0
//
// Reports as JSON, schema strata.report/1. The nesting of rows is written here rather than by the JSON
// writer, whose depth is bounded: tasks nest as deep as the program likes.
#include "export/export.h"

#include <stdlib.h>

#include "analyze/datasets/quality.h"
#include "analyze/tables/report.h"
#include "base/json_out.h"
#include "base/vec.h"
#include "export/report/cells.h"
#include "export/stream.h"
#include "store/result.h"

enum { LOSSES_BYTES = 8 << 10 };

void st_cell_write_json(struct st_json *json, const struct st_cell *cell)
{
	switch (cell->kind) {
	case ST_CELL_TEXT:
		st_json_bytes(json, cell->as.text.bytes, cell->as.text.size_bytes);
		break;
	case ST_CELL_U64:
		st_json_u64(json, cell->as.u64);
		break;
	case ST_CELL_I64:
		st_json_i64(json, cell->as.i64);
		break;
	case ST_CELL_DOUBLE:
		st_json_double(json, cell->as.number);
		break;
	case ST_CELL_BOOL:
		st_json_bool(json, cell->as.truth);
		break;
	default:
		st_json_null(json);
	}
}

/* The members of a row by key: cells that are there, and null where the user's own columns are empty. */
static void add_cells(struct st_json *json, const struct st_report *report,
		      const struct st_report_row *row)
{
	for (uint32_t i = 0; row->cells && i < report->column_count; i++) {
		if (row->cells[i].kind == ST_CELL_NONE && !report->as_asked)
			continue;
		st_json_key(json, report->columns[i].key);
		st_cell_write_json(json, &row->cells[i]);
	}
}

static void add_columns(struct st_json *json, const struct st_report *report)
{
	st_json_put_array(json, "group_by");
	for (unsigned int i = 0; i < report->group_by_count; i++)
		st_json_text(json, report->group_by[i]);
	st_json_array_end(json);
	st_json_put_array(json, "columns");
	for (uint32_t i = 0; i < report->column_count; i++) {
		st_json_object_begin(json);
		st_json_put_text(json, "key", report->columns[i].key);
		st_json_put_text(json, "title", report->columns[i].title);
		st_json_put_text(json, "unit", report->columns[i].unit);
		st_json_object_end(json);
	}
	st_json_array_end(json);
}

/* Opens the object of a row up to its list of children. */
static void open_row(struct st_buf *out, const struct st_report *report,
		     const struct st_report_row *row)
{
	struct st_json json;

	st_json_init(&json, out);
	st_json_object_begin(&json);
	add_cells(&json, report, row);
	st_json_key(&json, "children");
	st_buf_append_u8(out, '[');
}

struct frame {
	uint32_t next, end;
};

static enum st_status add_rows(struct st_stream *to, const struct st_report *report,
			       struct st_error *err)
{
	uint32_t depth = 0, capacity = 0;
	struct frame *stack = NULL;
	struct frame next = {report->root_first, report->root_first + report->root_count};
	enum st_status status = ST_OK;

	if (!ST_VEC_PUSH(stack, depth, capacity, next))
		return st_stream_no_memory(to, err);
	while (depth && !status) {
		struct frame *top = &stack[depth - 1];
		const struct st_report_row *row;

		if (top->next == top->end) {
			depth--;
			if (depth)
				st_buf_append(&to->out, "]}", 2);
			if (depth && stack[depth - 1].next < stack[depth - 1].end)
				st_buf_append_u8(&to->out, ',');
			continue;
		}
		row = &report->rows[top->next++];
		open_row(&to->out, report, row);
		next = (struct frame){row->first_child, row->first_child + row->child_count};
		status = ST_VEC_PUSH(stack, depth, capacity, next) ? st_stream_spill(to, err)
								   : st_stream_no_memory(to, err);
	}
	free(stack);
	return status;
}

/* The rows that path leads to: its first entry counts rows of the outermost level, the next their children. */
static enum st_status find_level(const struct st_report *report, const struct st_report_page *page,
				 struct frame *out, struct st_error *err)
{
	*out = (struct frame){report->root_first, report->root_first + report->root_count};
	for (uint32_t i = 0; i < page->path_count; i++) {
		const struct st_report_row *row;

		if (page->path[i] >= out->end - out->next)
			return st_error_set(err, ST_ENOTFOUND, 0,
					    "page: the path names row %u of level %u, which has %u",
					    page->path[i], i, out->end - out->next);
		row = &report->rows[out->next + page->path[i]];
		*out = (struct frame){row->first_child, row->first_child + row->child_count};
	}
	return ST_OK;
}

static struct frame cut(struct frame level, uint64_t offset, uint64_t limit)
{
	uint32_t count = level.end - level.next;

	level.next += offset < count ? (uint32_t)offset : count;
	if (limit < level.end - level.next)
		level.end = level.next + (uint32_t)limit;
	return level;
}

/* Rows of a page: like all rows, but that each says how many children it has, and lists the first of them only as deep
 * as was asked. */
static enum st_status add_page_rows(struct st_stream *to, const struct st_report *report,
				    const struct st_report_page *page, struct frame level,
				    struct st_error *err)
{
	struct frame stack[ST_REPORT_PAGE_DEPTH] = {cut(level, page->offset, page->limit)};
	enum st_status status = ST_OK;
	uint32_t depth = 1;

	while (depth && !status) {
		struct frame *top = &stack[depth - 1];
		const struct st_report_row *row;
		struct st_json json;

		if (top->next == top->end) {
			depth--;
			if (depth)
				st_buf_append(&to->out, "]}", 2);
			if (depth && stack[depth - 1].next < stack[depth - 1].end)
				st_buf_append_u8(&to->out, ',');
			continue;
		}
		row = &report->rows[top->next++];
		st_json_init(&json, &to->out);
		st_json_object_begin(&json);
		add_cells(&json, report, row);
		st_json_put_u64(&json, "child_count", row->child_count);
		if (depth < page->depth) {
			st_json_key(&json, "children");
			st_buf_append_u8(&to->out, '[');
			stack[depth++] = cut((struct frame){row->first_child,
							    row->first_child + row->child_count},
					     0, page->limit);
		} else {
			st_json_object_end(&json);
			if (top->next < top->end)
				st_buf_append_u8(&to->out, ',');
		}
		status = st_stream_spill(to, err);
	}
	return status;
}

/* In words, for who shows them to a person. */
static void add_losses(struct st_json *json, const struct st_result *result)
{
	struct st_buf lines;

	st_buf_init(&lines, LOSSES_BYTES);
	st_json_put_array(json, "losses");
	if (st_quality_losses(result, &lines))
		for (size_t at = 0, end; at < lines.size_bytes; at = end + 1) {
			for (end = at; lines.data[end] != '\n';)
				end++;
			lines.data[end] = '\0';
			st_json_text(json, (const char *)lines.data + at);
		}
	st_json_array_end(json);
	json->out->failed = json->out->failed || lines.failed;
	st_buf_fini(&lines);
}

static void add_quality(struct st_json *json, const struct st_report *report,
			const struct st_result *result)
{
	const struct st_result_info *info = st_result_info(result);
	const struct st_quality *quality = st_result_quality(result);
	struct st_quality_item items[ST_QUALITY_ITEMS];

	st_quality_items(result, items);
	st_json_put_object(json, "quality");
	st_json_put_text(json, "state", info->state);
	st_json_put_u64(json, "lost", st_quality_lost(result));
	for (unsigned int i = 0; i < ST_QUALITY_ITEMS; i++) {
		st_json_put_u64(json, items[i].key, items[i].value);
	}
	add_losses(json, result);
	st_json_put_array(json, "notes");
	for (size_t i = 0; i < quality->note_count; i++)
		st_json_text(json, quality->notes[i]);
	for (uint32_t i = 0; i < report->note_count; i++)
		st_json_text(json, report->notes[i]);
	st_json_array_end(json);
	st_json_object_end(json);
}

/* page NULL: all rows. */
static enum st_status write_document(const struct st_report *report, const struct st_result *result,
				     const struct st_report_page *page, struct st_sink *sink,
				     struct st_error *err)
{
	struct frame level = {0};
	struct st_stream to;
	struct st_json json;
	enum st_status status = page ? find_level(report, page, &level, err) : ST_OK;

	if (status)
		return status;
	st_stream_init(&to, sink, "the report");
	st_json_init(&json, &to.out);
	st_json_object_begin(&json);
	st_json_put_text(&json, "schema", "strata.report/1");
	st_json_put_text(&json, "report", report->name);
	st_json_put_text(&json, "result", report->result ? report->result : "");
	st_json_put_text(&json, "source", report->source ? report->source : "");
	if (report->subject) {
		st_json_put_text(&json, "subject", report->subject);
	}
	if (!report->row_count && report->empty)
		st_json_put_text(&json, "empty", report->empty);
	add_columns(&json, report);
	st_json_put_array(&json, "rows");
	status = page ? add_page_rows(&to, report, page, level, err) : add_rows(&to, report, err);
	st_json_array_end(&json);
	if (page)
		st_json_put_u64(&json, "row_count", level.end - level.next);
	st_json_put_object(&json, "totals");
	add_cells(&json, report, &report->totals);
	st_json_object_end(&json);
	add_quality(&json, report, result);
	st_json_object_end(&json);
	st_buf_append_u8(&to.out, '\n');
	return st_stream_end(&to, status, err);
}

enum st_status st_report_write_json(const struct st_report *report, const struct st_result *result,
				    struct st_sink *sink, struct st_error *err)
{
	return write_document(report, result, NULL, sink, err);
}

enum st_status st_report_write_json_page(const struct st_report *report,
					 const struct st_result *result,
					 const struct st_report_page *page, struct st_sink *sink,
					 struct st_error *err)
{
	return write_document(report, result, page, sink, err);
}
