// SPDX-License-Identifier: Apache-2.0
//
// Reports as CSV after RFC 4180: the keys as header, no units, full precision. Of a tree of groupings
// only the innermost rows are written, with the keys of all levels in front of them; of a task stack
// every row, with its depth. Bytes that are not UTF-8 become U+FFFD; nothing else is changed or cut.
// What was lost is not part of the table: callers get it from st_quality_flaws.
#include "export/export.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/tables/report.h"
#include "base/json_out.h"
#include "export/report/cells.h"
#include "export/report/text.h"
#include "export/stream.h"

struct csv {
	const struct st_report *report;
	struct st_stream stream;
	struct st_buf *out; /* the stream's */
	char delimiter;
	const struct st_report_row *path[ST_QUESTION_DEPTH_MAX]; /* the row of each level above */
};

static void add_text(struct st_buf *out, char delimiter, struct st_text text)
{
	bool quoted = memchr(text.bytes, delimiter, text.size_bytes) ||
		      memchr(text.bytes, '"', text.size_bytes) ||
		      memchr(text.bytes, '\n', text.size_bytes) ||
		      memchr(text.bytes, '\r', text.size_bytes) ||
		      (text.size_bytes &&
		       (text.bytes[0] == ' ' || text.bytes[text.size_bytes - 1] == ' '));
	const char *at = text.bytes, *end = text.bytes + text.size_bytes;

	if (quoted)
		st_buf_append_u8(out, '"');
	while (at < end) {
		const char *quote = memchr(at, '"', (size_t)(end - at));
		const char *stop = quote ? quote : end;

		st_utf8_append_clean(out, at, (size_t)(stop - at));
		if (quote)
			st_buf_append(out, "\"\"", 2);
		at = quote ? quote + 1 : end;
	}
	if (quoted)
		st_buf_append_u8(out, '"');
}

void st_cell_write_csv(struct st_buf *out, char delimiter, const struct st_cell *cell)
{
	switch (cell->kind) {
	case ST_CELL_TEXT:
		add_text(out, delimiter, cell->as.text);
		break;
	case ST_CELL_U64:
		st_buf_printf(out, "%llu", (unsigned long long)cell->as.u64);
		break;
	case ST_CELL_I64:
		st_buf_printf(out, "%lld", (long long)cell->as.i64);
		break;
	case ST_CELL_DOUBLE:
		if (cell->as.number - cell->as.number == 0.0) /* neither NaN nor infinite */
			st_buf_printf(out, "%.15g", cell->as.number);
		break;
	case ST_CELL_BOOL:
		st_buf_append_text(out, cell->as.truth ? "true" : "false");
		break;
	default:
		break;
	}
}

/* Innermost rows only; in a task stack every row of the stack is one, and its outer groups are not. */
static bool is_written(const struct st_report *report, const struct st_report_row *row)
{
	if (st_report_is_tree(report))
		return row->level + 1 >= report->group_by_count;
	return row->child_count == 0;
}

static void add_row(struct csv *csv, const struct st_report_row *row)
{
	const struct st_report *report = csv->report;

	for (uint32_t i = 0; i < report->column_count; i++) {
		const struct st_cell *cell = &row->cells[i];

		if (i)
			st_buf_append_u8(csv->out, (uint8_t)csv->delimiter);
		if (cell->kind == ST_CELL_NONE && i < report->group_by_count && i < row->level &&
		    csv->path[i])
			cell = &csv->path[i]->cells[i];
		st_cell_write_csv(csv->out, csv->delimiter, cell);
	}
	st_buf_append(csv->out, "\r\n", 2);
}

enum st_status st_report_write_csv(const struct st_report *report, const struct st_result *result,
				   char delimiter, struct st_sink *sink, struct st_error *err)
{
	struct csv csv = {.report = report, .out = &csv.stream.out, .delimiter = delimiter};
	uint32_t *order = st_report_preorder(report);
	enum st_status status = ST_OK;

	(void)result;
	st_stream_init(&csv.stream, sink, "the report");
	if (!order)
		status = st_stream_no_memory(&csv.stream, err);
	for (uint32_t i = 0; i < report->column_count; i++) {
		if (i)
			st_buf_append_u8(csv.out, (uint8_t)delimiter);
		add_text(csv.out, delimiter,
			 (struct st_text){report->columns[i].key, strlen(report->columns[i].key)});
	}
	st_buf_append(csv.out, "\r\n", 2);
	for (uint32_t i = 0; order && i < report->row_count && !status; i++) {
		const struct st_report_row *row = &report->rows[order[i]];

		if (row->level < ST_QUESTION_DEPTH_MAX)
			csv.path[row->level] = row;
		if (is_written(report, row))
			add_row(&csv, row);
		status = st_stream_spill(&csv.stream, err);
	}
	free(order);
	return st_stream_end(&csv.stream, status, err);
}
