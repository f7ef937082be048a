// SPDX-License-Identifier: Apache-2.0
//
// Report "info" as text: a heading per section, a line per fact.
#include "export/report/text.h"

#include <string.h>

#include "base/buf.h"
#include "export/report/show.h"
#include "export/report/text_flow.h"

enum {
	SECTION,
	NAME,
	VALUE,
	FIRST_EXTRA
}; /* columns, as analyze/reports/report_info.c lays them out */

enum { NAME_WIDTH_MAX = 60, VALUE_INDENT = 24 };

static bool same_text(const struct st_cell *a, const struct st_cell *b)
{
	return a->as.text.size_bytes == b->as.text.size_bytes &&
	       memcmp(a->as.text.bytes, b->as.text.bytes, a->as.text.size_bytes) == 0;
}

/* The unit of a value in this report stands at the end of its name, or of its section's. */
static const char *unit_of(const struct st_report_row *row)
{
	static const char *const endings[] = {"ns", "bytes"};

	for (unsigned int column = SECTION; column <= NAME; column++) {
		struct st_text text = row->cells[column].as.text;

		for (unsigned int i = 0; i < 2; i++) {
			size_t length = strlen(endings[i]);

			if (text.size_bytes > length &&
			    text.bytes[text.size_bytes - length - 1] == '_' &&
			    memcmp(text.bytes + text.size_bytes - length, endings[i], length) == 0)
				return endings[i];
		}
	}
	return "";
}

/* The short name of an extra column in front of its value; texts need none. */
static void add_extra(struct st_flow *flow, const struct st_report_row *row,
		      const struct st_column *info, uint32_t column)
{
	bool is_id = strcmp(info->key, "pid") == 0 || strcmp(info->key, "tid") == 0;

	if (row->cells[column].kind == ST_CELL_NONE)
		return;
	if (strcmp(info->key, "count") == 0)
		st_buf_append_text(&flow->piece, "count ");
	else if (strcmp(info->key, "start_ns") == 0)
		st_buf_append_text(&flow->piece, "from ");
	else if (strcmp(info->key, "end_ns") == 0)
		st_buf_append_text(&flow->piece, "to ");
	else if (is_id)
		st_buf_printf(&flow->piece, "%s ", info->key);
	if (is_id)
		st_buf_printf(&flow->piece, "%llu", (unsigned long long)row->cells[column].as.u64);
	else
		st_show_cell(&flow->piece, &row->cells[column], info->unit, 0);
	st_flow_piece(flow, "  ");
}

/* What does not fit beside its name goes on below it. */
static void add_fact(struct st_text_job *job, const struct st_report_row *row)
{
	const struct st_cell *value = &row->cells[VALUE];
	struct st_flow flow;
	unsigned int width;

	st_buf_append_text(job->out, "  ");
	width = 2 + st_show_cell(job->out, &row->cells[NAME], "", NAME_WIDTH_MAX);
	st_flow_init(&flow, job->out, job->style->width, width > 2 ? VALUE_INDENT : 2);
	if (width > 2 && value->kind != ST_CELL_NONE) {
		st_show_pad(job->out, width, VALUE_INDENT);
		width = width < VALUE_INDENT ? VALUE_INDENT : width;
	}
	flow.at = width;
	if (width > VALUE_INDENT && value->kind != ST_CELL_NONE)
		st_flow_mark(&flow, " ");
	if (value->kind == ST_CELL_TEXT)
		st_flow_words(&flow, value->as.text, 0);
	else if (value->kind != ST_CELL_NONE)
		st_flow_cell(&flow, " ", "", value, unit_of(row));
	for (uint32_t i = FIRST_EXTRA; i < job->report->column_count; i++)
		add_extra(&flow, row, &job->report->columns[i], i);
	st_flow_end(&flow);
}

enum st_status st_text_info(struct st_text_job *job, struct st_error *err)
{
	const struct st_report *report = job->report;
	const struct st_report_row *previous = NULL;

	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct st_report_row *row = &report->rows[i];
		enum st_status status;

		if (!previous || !same_text(&previous->cells[SECTION], &row->cells[SECTION])) {
			if (previous)
				st_buf_append_u8(job->out, '\n');
			st_show_cell(job->out, &row->cells[SECTION], "", 0);
			st_buf_append_u8(job->out, '\n');
		}
		add_fact(job, row);
		status = st_text_spill(job, err);
		if (status)
			return status;
		previous = row;
	}
	return ST_OK;
}
