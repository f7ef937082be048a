// SPDX-License-Identifier: Apache-2.0
//
// Report "info" as text: a heading per section, a line per fact.
#include "export/report/text.h"

#include <string.h>

#include "base/buf.h"
#include "export/report/show.h"

enum {
	SECTION,
	NAME,
	VALUE,
	FIRST_EXTRA
}; /* columns, as analyze/reports/report_info.c lays them out */

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
static void add_extra(struct st_text_job *job, const struct st_report_row *row, uint32_t column)
{
	const struct st_column *info = &job->report->columns[column];
	bool is_id = strcmp(info->key, "pid") == 0 || strcmp(info->key, "tid") == 0;

	if (row->cells[column].kind == ST_CELL_NONE)
		return;
	st_buf_append_text(job->out, "  ");
	if (strcmp(info->key, "count") == 0)
		st_buf_append_text(job->out, "count ");
	else if (strcmp(info->key, "start_ns") == 0)
		st_buf_append_text(job->out, "from ");
	else if (strcmp(info->key, "end_ns") == 0)
		st_buf_append_text(job->out, "to ");
	else if (is_id)
		st_buf_printf(job->out, "%s ", info->key);
	if (is_id)
		st_buf_printf(job->out, "%llu", (unsigned long long)row->cells[column].as.u64);
	else
		st_show_cell(job->out, &row->cells[column], info->unit, 0);
}

enum st_status st_text_info(struct st_text_job *job, struct st_error *err)
{
	const struct st_report *report = job->report;
	const struct st_report_row *previous = NULL;

	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct st_report_row *row = &report->rows[i];
		enum st_status status;
		unsigned int width;

		if (!previous || !same_text(&previous->cells[SECTION], &row->cells[SECTION])) {
			if (previous)
				st_buf_append_u8(job->out, '\n');
			st_show_cell(job->out, &row->cells[SECTION], "", 0);
			st_buf_append_u8(job->out, '\n');
		}
		st_buf_append_text(job->out, "  ");
		width = st_show_cell(job->out, &row->cells[NAME], "", 60);
		if (row->cells[VALUE].kind != ST_CELL_NONE) {
			st_show_pad(job->out, width, width ? 20 : 0);
			if (width)
				st_buf_append_text(job->out, "  ");
			st_show_cell(job->out, &row->cells[VALUE], unit_of(row), 0);
		}
		for (uint32_t j = FIRST_EXTRA; j < report->column_count; j++)
			add_extra(job, row, j);
		st_buf_append_u8(job->out, '\n');
		status = st_text_spill(job, err);
		if (status)
			return status;
		previous = row;
	}
	return ST_OK;
}
