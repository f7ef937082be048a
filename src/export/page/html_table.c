// SPDX-License-Identifier: Apache-2.0
//
// A report as a table of HTML. Values are shown as in the text of a report; each cell also has the value itself, which
// the script sorts by.
#include <string.h>

#include "analyze/tables/report.h"
#include "base/buf.h"
#include "base/json_out.h"
#include "export/markup.h"
#include "export/page/html_parts.h"
#include "export/report/cells.h"
#include "export/report/show.h"

void st_html_text(struct st_buf *out, struct st_text text)
{
	st_markup_escape(out, text.bytes, text.size_bytes);
}

static bool is_number(const struct st_cell *cell)
{
	return cell->kind == ST_CELL_U64 || cell->kind == ST_CELL_I64 ||
	       cell->kind == ST_CELL_DOUBLE;
}

/* A column in which no row has anything to say is not shown. */
static bool is_shown(const struct st_report *report, uint32_t column)
{
	for (uint32_t i = 0; i < report->root_count; i++) {
		const struct st_cell *cell = &report->rows[report->root_first + i].cells[column];

		if (cell->kind == ST_CELL_TEXT ? cell->as.text.size_bytes > 0
		    : cell->kind == ST_CELL_DOUBLE
			    ? cell->as.number != 0.0
			    : cell->kind != ST_CELL_NONE && cell->as.u64 != 0)
			return true;
	}
	return false;
}

static void put_cell(struct st_buf *out, const struct st_cell *cell, const char *unit)
{
	struct st_buf text;

	st_buf_init(&text, 1 << 20);
	st_buf_append_text(out, is_number(cell) ? "<td class=\"n\" data-v=\"" : "<td data-v=\"");
	st_cell_write_csv(&text, ',', cell);
	st_markup_escape(out, text.data, text.size_bytes);
	st_buf_append_text(out, "\">");
	out->failed |= text.failed;
	st_buf_clear(&text);
	if (cell->kind == ST_CELL_TEXT)
		st_html_text(out, cell->as.text);
	else if (cell->kind != ST_CELL_NONE)
		st_show_cell(&text, cell, unit, 0);
	st_markup_escape(out, text.data, text.size_bytes);
	st_buf_append_text(out, "</td>");
	out->failed |= text.failed;
	st_buf_fini(&text);
}

void st_html_table(struct st_buf *out, const struct st_report *report, uint32_t most)
{
	uint32_t count = report->root_count < most ? report->root_count : most;

	st_buf_append_text(out, "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
	for (uint32_t i = 0; i < report->column_count; i++) {
		if (!is_shown(report, i))
			continue;
		st_buf_append_text(out, "<th scope=\"col\"><button type=\"button\">");
		st_markup_escape(out, report->columns[i].title, strlen(report->columns[i].title));
		st_buf_append_text(out, "</button></th>");
	}
	st_buf_append_text(out, "</tr></thead><tbody>\n");
	for (uint32_t row = 0; row < count; row++) {
		st_buf_append_text(out, "<tr>");
		for (uint32_t i = 0; i < report->column_count; i++)
			if (is_shown(report, i))
				put_cell(out, &report->rows[report->root_first + row].cells[i],
					 report->columns[i].unit);
		st_buf_append_text(out, "</tr>\n");
	}
	st_buf_append_text(out, "</tbody></table></div>\n");
	if (count < report->root_count)
		st_buf_printf(out,
			      "<p class=\"left\">The first %u of %u rows; the others are "
			      "left out of this file.</p>\n",
			      count, report->root_count);
}
