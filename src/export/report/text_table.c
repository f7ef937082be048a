// SPDX-License-Identifier: Apache-2.0
//
// A table: text to the left, numbers to the right, two spaces between columns. The levels of a grouping
// share the first column, indented. Columns in which no row has anything are left out. When the line
// is too long for the terminal, the widest texts are cut and the last columns are left out by name.
#include "export/report/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "export/report/show.h"
#include "export/report/text_flow.h"

enum {
	COLUMNS_MAX = 48,
	TEXT_MAX = 100,
	TEXT_MIN = 12,
	TEXT_GOOD = 16,
	COLUMNS_MIN = 3,
	INDENT_MAX = 80,
	FIGURE_MAX_BYTES = 64
};

static const char left_out_words[] = "not shown; use -report-width 0 to show all";

struct table_column {
	uint32_t from, count; /* report columns: several for the levels of a grouping */
	const char *unit;
	bool is_text;
	bool is_signed; /* a change: with its sign also when it is positive */
	unsigned int width, max_width;
	char title[160];
};

struct table {
	struct st_text_job *job;
	struct table_column columns[COLUMNS_MAX];
	uint32_t column_count;
	uint32_t left_out; /* columns behind these that found no room */
	uint32_t *order;
	struct st_buf scratch; /* for cells that are only measured */
};

static const struct st_cell *cell_of(const struct st_report_row *row,
				     const struct table_column *column)
{
	for (uint32_t i = 0; i < column->count; i++) {
		if (row->cells[column->from + i].kind != ST_CELL_NONE)
			return &row->cells[column->from + i];
	}
	return &row->cells[column->from];
}

static unsigned int indent_of(const struct st_report_row *row, uint32_t column)
{
	unsigned int indent = column == 0 ? 2 * row->level : 0;

	return indent > INDENT_MAX ? INDENT_MAX : indent;
}

static void set_title(struct table_column *column, const struct st_report *report)
{
	size_t used = 0;

	for (uint32_t i = 0; i < column->count; i++) {
		const char *parts[] = {i ? " / " : "", report->columns[column->from + i].title};

		for (unsigned int j = 0; j < 2; j++) {
			size_t length = strlen(parts[j]);

			if (used + length >= sizeof(column->title))
				return;
			memcpy(column->title + used, parts[j], length + 1);
			used += length;
		}
	}
}

static bool is_depth_of_tree(const struct st_report *report, uint32_t column)
{
	return strcmp(report->columns[column].key, "depth") == 0 && st_report_is_tree(report);
}

/* Numbers that are looked up rather than compared: written as they are typed. */
static bool names_a_thing(const char *key)
{
	static const char *const keys[] = {"row", "parent",	"track", "tid",
					   "pid", "process_id", "label"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(key, keys[i]) == 0)
			return true;
	}
	return false;
}

static bool is_change(const char *key)
{
	return strncmp(key, "difference_", 11) == 0 || strncmp(key, "change_", 7) == 0;
}

/* Known by their ends: cut at the front. */
static bool is_path(const struct st_report *report, const struct table_column *column,
		    const struct st_report_row *row)
{
	static const char *const keys[] = {"source_file", "source_file_path", "source_line",
					   "python_line", "module_path"};

	for (uint32_t i = 0; i < column->count; i++) {
		const char *key = report->columns[column->from + i].key;

		if (row->cells[column->from + i].kind == ST_CELL_NONE)
			continue;
		for (size_t j = 0; j < sizeof(keys) / sizeof(keys[0]); j++)
			if (strcmp(key, keys[j]) == 0)
				return true;
		return false;
	}
	return false;
}

static void choose_columns(struct table *table)
{
	const struct st_report *report = table->job->report;
	uint32_t levels = report->group_by_count ? report->group_by_count : 1;

	for (uint32_t i = 0; i < report->column_count && table->column_count < COLUMNS_MAX;) {
		struct table_column *column = &table->columns[table->column_count];

		/* The indent of a tree says it already. */
		if (is_depth_of_tree(report, i)) {
			i++;
			continue;
		}
		table->column_count++;
		column->from = i;
		column->count = i == 0 ? levels : 1;
		column->unit = report->columns[i].unit;
		if ((report->as_asked && names_a_thing(report->columns[i].key)) ||
		    strcmp(report->columns[i].key, "line") == 0)
			column->unit = "id";
		column->is_text = report->columns[i].is_key;
		column->is_signed = is_change(report->columns[i].key);
		column->max_width = TEXT_MAX;
		set_title(column, report);
		i += column->count;
	}
}

static bool is_hidden_zero(const struct st_report *report, const struct st_cell *cell)
{
	return report->hides_zeros && cell->kind == ST_CELL_U64 && !cell->as.u64;
}

/* A row of a comparison that has nothing but a name: it may take the whole line. */
static bool is_heading(const struct st_report *report, const struct st_report_row *row)
{
	for (uint32_t i = report->group_by_count; i < report->column_count; i++)
		if (row->cells[i].kind != ST_CELL_NONE)
			return false;
	return report->kept_columns > 0;
}

static bool shows_plus(const struct table_column *column, const struct st_cell *cell)
{
	return column->is_signed && ((cell->kind == ST_CELL_I64 && cell->as.i64 > 0) ||
				     (cell->kind == ST_CELL_DOUBLE && cell->as.number > 0.0));
}

/* Makes a column as wide as a row needs it; what that is. */
static unsigned int widen(struct table *table, uint32_t index, const struct st_report_row *row)
{
	struct table_column *column = &table->columns[index];
	const struct st_cell *cell = cell_of(row, column);
	unsigned int width;

	st_buf_clear(&table->scratch);
	width = st_show_cell(&table->scratch, cell, column->unit, column->max_width) +
		(shows_plus(column, cell) ? 1 : 0) + indent_of(row, index);
	table->job->out->failed |= table->scratch.failed;
	if (width > column->width)
		column->width = width;
	return width;
}

/* Widths from all rows and their total; columns in which no row has anything go. */
static void measure(struct table *table)
{
	const struct st_report *report = table->job->report;
	uint32_t kept = 0;

	st_buf_init(&table->scratch, 1 << 20);
	for (uint32_t i = 0; i < table->column_count; i++) {
		struct table_column *column = &table->columns[i];
		bool used = i == 0 || report->as_asked || report->as_table;

		column->width = (unsigned int)strlen(column->title);
		if (i == 0 && column->is_text && column->width < TEXT_MIN)
			column->width = TEXT_MIN;
		for (uint32_t row = 0; row < report->row_count; row++) {
			const struct st_report_row *its = &report->rows[row];

			if (is_heading(report, its))
				continue;
			if (widen(table, i, its) && !is_hidden_zero(report, cell_of(its, column)))
				used = true;
		}
		if (i && report->totals.cells)
			widen(table, i, &report->totals);
		if (column->width > column->max_width)
			column->width = column->max_width;
		if (used)
			table->columns[kept++] = *column;
	}
	table->column_count = kept;
	st_buf_fini(&table->scratch);
}

static unsigned int line_width(const struct table *table)
{
	unsigned int width = 0;

	for (uint32_t i = 0; i < table->column_count; i++)
		width += table->columns[i].width + (i ? 2 : 0);
	return width;
}

/* The line when texts are cut as far as they can still be told apart. */
static unsigned int least_width(const struct table *table)
{
	unsigned int width = line_width(table);

	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct table_column *column = &table->columns[i];
		unsigned int good = i ? 0 : table->job->report->name_width;

		if (!good)
			good = TEXT_GOOD;
		if (column->is_text && column->width > good)
			width -= column->width - good;
	}
	return width;
}

/* A part of a part ("CPU Time:Spin Time:Other") goes before what it is a part of, and before all else. */
static void put_detail_last(struct table *table)
{
	for (uint32_t i = table->column_count; i-- > COLUMNS_MIN - 1;) {
		struct table_column held = table->columns[i];
		const char *colon = strchr(held.title, ':');

		if (held.is_text || !colon || !strchr(colon + 1, ':') ||
		    held.from < table->job->report->kept_columns)
			continue;
		memmove(&table->columns[i], &table->columns[i + 1],
			(table->column_count - 1 - i) * sizeof(held));
		table->columns[table->column_count - 1] = held;
		return;
	}
}

static bool is_last_kept(const struct table *table)
{
	const struct table_column *last = &table->columns[table->column_count - 1];

	return last->from < table->job->report->kept_columns;
}

static void fit(struct table *table)
{
	unsigned int limit = table->job->style->width;

	while (limit && table->column_count > COLUMNS_MIN && least_width(table) > limit) {
		put_detail_last(table);
		if (is_last_kept(table))
			break;
		table->column_count--;
		table->left_out++;
	}

	while (limit && line_width(table) > limit) {
		struct table_column *widest = NULL;

		for (uint32_t i = 0; i < table->column_count; i++) {
			struct table_column *column = &table->columns[i];

			if (column->is_text && column->width > TEXT_MIN &&
			    (!widest || column->width > widest->width))
				widest = column;
		}
		if (!widest)
			return;
		widest->width--;
	}
}

static void add_cell(struct table *table, uint32_t index, const struct st_report_row *row)
{
	const struct table_column *column = &table->columns[index];
	struct st_buf *out = table->job->out;
	const struct st_cell *cell = cell_of(row, column);
	unsigned int indent = indent_of(row, index), width;

	if (cell->kind == ST_CELL_TEXT || cell->kind == ST_CELL_NONE) {
		bool last = index + 1 == table->column_count;

		if (indent + 4 > column->width)
			indent = column->width > 4 ? column->width - 4 : 0;
		st_show_pad(out, 0, indent);
		width = indent;
		if (cell->kind == ST_CELL_TEXT && is_path(table->job->report, column, row))
			width += st_show_path(out, cell->as.text, column->width - indent);
		else if (index == 0 && !table->job->report->as_asked)
			width += st_show_name(out, cell, column->width - indent);
		else
			width += st_show_cell(out, cell, "", column->width - indent);
		if (!last)
			st_show_pad(out, width, column->width);
		return;
	}
	if (shows_plus(column, cell)) {
		struct st_buf scratch;

		st_buf_init(&scratch, FIGURE_MAX_BYTES);
		st_buf_append_u8(&scratch, '+');
		st_show_pad(out, 1 + st_show_cell(&scratch, cell, column->unit, 0), column->width);
		st_show_move(out, &scratch);
		return;
	}
	st_show_right(out, cell, column->unit, column->width);
}

static void add_line(struct table *table, const struct st_report_row *row)
{
	if (is_heading(table->job->report, row)) {
		st_show_cell(table->job->out, cell_of(row, &table->columns[0]), "",
			     table->job->style->width);
		st_show_end_line(table->job->out);
		return;
	}
	for (uint32_t i = 0; i < table->column_count; i++) {
		if (i)
			st_buf_append_text(table->job->out, "  ");
		add_cell(table, i, row);
	}
	st_show_end_line(table->job->out);
}

static void add_head(struct table *table)
{
	struct st_buf *out = table->job->out;
	bool colour = table->job->style->colour;

	if (colour)
		st_buf_append_text(out, "\033[1m");
	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct table_column *column = &table->columns[i];
		unsigned int width = (unsigned int)strlen(column->title);
		struct st_text title = {column->title, width};

		if (i)
			st_buf_append_text(out, "  ");
		if (!column->is_text)
			st_show_pad(out, width, column->width);
		width = st_show_text(out, title, column->width);
		if (column->is_text && i + 1 < table->column_count)
			st_show_pad(out, width, column->width);
	}
	st_buf_append_text(out, colour ? "\033[0m\n" : "\n");
	for (uint32_t i = 0; i < table->column_count; i++) {
		if (i)
			st_buf_append_text(out, "  ");
		for (unsigned int j = 0; j < table->columns[i].width; j++)
			st_buf_append_u8(out, '-');
	}
	st_buf_append_u8(out, '\n');
}

static bool has_figures(const struct st_report *report, const struct st_report_row *row)
{
	for (uint32_t i = 0; i < report->column_count; i++) {
		if (row->cells[i].kind != ST_CELL_NONE)
			return true;
	}
	return false;
}

static void add_total(struct table *table)
{
	const struct st_report *report = table->job->report;
	struct st_cell held;

	if (!report->totals.cells || !report->column_count || !report->columns[0].is_key ||
	    !has_figures(report, &report->totals))
		return;
	/* The total has no key of its own: the word stands there while the line is written. */
	held = report->totals.cells[0];
	report->totals.cells[0] = (struct st_cell){.kind = ST_CELL_TEXT, .as.text = {"Total", 5}};
	add_line(table, &report->totals);
	report->totals.cells[0] = held;
}

static bool begins_block(const struct st_report *report, uint32_t row, uint32_t before)
{
	uint32_t column = report->blocks;

	return column && column < report->column_count &&
	       report->rows[row].cells[column].as.u64 != report->rows[before].cells[column].as.u64;
}

static void add_left_out(struct table *table)
{
	struct st_buf *out = table->job->out;
	struct st_flow flow;

	if (!table->left_out)
		return;
	st_buf_append_text(out, "\nnote  ");
	st_flow_init(&flow, out, table->job->style->width, 6);
	for (uint32_t i = 0; i < table->left_out; i++) {
		const char *title = table->columns[table->column_count + i].title;

		st_buf_append_text(&flow.piece, title);
		st_buf_append_text(&flow.piece, i + 1 < table->left_out ? "," : ":");
		st_flow_piece(&flow, " ");
	}
	st_flow_text(&flow, left_out_words);
	st_flow_end(&flow);
}

/* A path is known by its end. A sentence that is too long for a line takes several. */
static void add_subject(struct st_text_job *job, struct st_text subject)
{
	unsigned int width = job->style->width;
	struct st_flow flow;

	if (subject.size_bytes && subject.bytes[0] == '/' && width) {
		st_show_path(job->out, subject, width);
		st_show_end_line(job->out);
		return;
	}
	/* Bytes are at least as many as columns. */
	if (!width || subject.size_bytes <= width) {
		st_show_text(job->out, subject, 0);
		st_show_end_line(job->out);
		return;
	}
	st_flow_init(&flow, job->out, width, 0);
	st_flow_words(&flow, subject, 0);
	st_flow_end(&flow);
}

enum st_status st_text_table(struct st_text_job *job, struct st_error *err)
{
	struct table table = {.job = job};
	enum st_status status = ST_OK;

	if (job->report->subject)
		add_subject(job,
			    (struct st_text){job->report->subject, strlen(job->report->subject)});
	if (!job->report->row_count) {
		const char *words = job->report->as_asked ? "No rows." : "No tasks match.";

		st_flow_lines(job->out, job->style->width,
			      job->report->empty ? job->report->empty : words);
		return ST_OK;
	}
	table.order = st_report_preorder(job->report);
	if (!table.order)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report's text");
	choose_columns(&table);
	measure(&table);
	fit(&table);
	add_head(&table);
	for (uint32_t i = 0; i < job->report->row_count && !status; i++) {
		if (i && begins_block(job->report, table.order[i], table.order[i - 1]))
			st_buf_append_u8(job->out, '\n');
		add_line(&table, &job->report->rows[table.order[i]]);
		status = st_text_spill(job, err);
	}
	add_total(&table);
	add_left_out(&table);
	free(table.order);
	return status;
}
