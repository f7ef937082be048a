// SPDX-License-Identifier: Apache-2.0
//
// Merging reports row by row.
#include "analyze/reports/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/engine/welch.h"
#include "analyze/tables/report_make.h"
#include "base/buf.h"
#include "store/result.h"

enum { SAME_MAX = 32 }; /* rows of one name that are matched */
enum { NONE = UINT32_MAX, RUNS_MAX = ST_SIDES * ST_RUNS_MAX };

/* A column of the comparison: of texts, the first that there is; of figures, one for each side, and the difference. */
struct shown_column {
	uint32_t from[RUNS_MAX]; /* columns of the reports */
	bool is_text;
	bool adds_up; /* a row that is not there counts as zero */
	bool is_main; /* what rows are sorted by: with the change in percent, and the interval */
};

struct compare {
	const struct st_comparison *of;
	uint32_t run_count;
	struct st_report *out;
	struct shown_column *columns;
	uint32_t column_count;
	uint32_t *rows; /* of out: run_count rows of the reports each, or NONE */
	size_t row_capacity;
	bool failed;
};

/* A row to be added. */
struct candidate {
	const uint32_t *of; /* run_count rows of the reports, or NONE */
	double change;	    /* how much its main figure changed, without sign */
	uint32_t place;	    /* in the order of the reports */
};

static uint32_t find_column(const struct st_report *report, const char *key)
{
	for (uint32_t i = 0; i < report->column_count; i++)
		if (strcmp(report->columns[i].key, key) == 0)
			return i;
	return NONE;
}

static double number_of(const struct st_cell *cell)
{
	switch (cell->kind) {
	case ST_CELL_U64:
		return (double)cell->as.u64;
	case ST_CELL_I64:
		return (double)cell->as.i64;
	case ST_CELL_DOUBLE:
		return cell->as.number;
	default:
		return 0.0;
	}
}

static bool is_number(const struct st_cell *cell)
{
	return cell->kind == ST_CELL_U64 || cell->kind == ST_CELL_I64 ||
	       cell->kind == ST_CELL_DOUBLE;
}

static bool is_all_zero(const struct st_report *report, uint32_t column)
{
	for (uint32_t i = 0; i < report->row_count; i++)
		if (number_of(&report->rows[i].cells[column]) != 0.0 ||
		    report->rows[i].cells[column].kind == ST_CELL_TEXT)
			return false;
	return true;
}

/* Where something is in one run says nothing about the other. */
static bool is_of_one_run(const char *key)
{
	static const char *const keys[] = {"row", "start_ns", "parent", "start_address", "pid"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

/* Whether figures of rows may be summed: shares, totals and what describes a spread may not. */
static bool adds_up(const struct st_column *column)
{
	static const char *const parts[] = {"total",  "ratio",	"min",	  "max",
					    "avg",    "median", "p95",	  "p99",
					    "stddev", "copies", "threads"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(column->key, parts[i]))
			return false;
	return !column->is_key && strcmp(column->key, "depth") != 0;
}

static const char *joined(struct compare *c, const char *a, const char *between, const char *b)
{
	const char *text = st_arena_printf(st_report_arena(c->out), "%s%s%s", a, between, b);

	return text ? text : "";
}

/* Fills where the column is in each report. False: one has none, or in all of them it is zero. */
static bool is_in_all(const struct compare *c, uint32_t index, struct shown_column *column)
{
	const struct st_report *reports = c->of->reports;
	bool is_zero = !column->is_text;

	for (uint32_t run = 0; run < c->run_count; run++) {
		uint32_t at = find_column(&reports[run], reports[0].columns[index].key);

		if (at == NONE)
			return false;
		column->from[run] = at;
		is_zero = is_zero && is_all_zero(&reports[run], at);
	}
	return !is_zero;
}

/* Those that all reports have; the first time among them is the main one and comes first. */
static void choose_columns(struct compare *c)
{
	const struct st_report *first = &c->of->reports[0];
	uint32_t main_at = NONE, texts = 0;

	c->columns = calloc((size_t)first->column_count + 1, sizeof(*c->columns));
	c->failed = c->failed || !c->columns;
	for (uint32_t i = 0; i < first->column_count && !c->failed; i++) {
		const struct st_column *column = &first->columns[i];
		struct shown_column *shown = &c->columns[c->column_count];

		shown->is_text = column->is_key || strcmp(column->key, "depth") == 0;
		shown->adds_up = adds_up(column);
		if (is_of_one_run(column->key) || !is_in_all(c, i, shown))
			continue;
		if (shown->is_text && main_at == NONE)
			texts++;
		else if (main_at == NONE && strcmp(column->unit, "ns") == 0)
			main_at = c->column_count;
		c->column_count++;
	}
	if (main_at != NONE) {
		struct shown_column held = c->columns[main_at];

		held.is_main = true;
		memmove(&c->columns[texts + 1], &c->columns[texts],
			(main_at - texts) * sizeof(held));
		c->columns[texts] = held;
	}
}

static bool has_interval(const struct compare *c)
{
	return c->of->counts[0] > 1 && c->of->counts[1] > 1;
}

/* What rows are sorted by is the difference, so it does not need to say of what. */
static const char *title_of(struct compare *c, const struct shown_column *column,
			    const struct st_column *from, const char *part, size_t index)
{
	return column->is_main && index >= ST_SIDES && !c->of->is_first_minus_second
		       ? part
		       : joined(c, from->title, ":", part);
}

static void add_columns(struct compare *c, const struct st_side_names *names)
{
	const struct st_report *first = &c->of->reports[0];
	struct st_column *columns = calloc((size_t)c->column_count * 5 + 1, sizeof(*columns));
	uint32_t at = 0;

	c->failed = c->failed || !columns;
	for (uint32_t i = 0; i < c->column_count && !c->failed; i++) {
		const struct st_column *from = &first->columns[c->columns[i].from[0]];
		const struct {
			const char *key, *title, *unit;
			bool is_shown;
		} parts[] = {
			{"first_", names->names[0], from->unit, true},
			{"second_", names->names[1], from->unit, true},
			{"difference_", "Difference", from->unit, true},
			{"change_", "Change", "ratio",
			 c->columns[i].is_main && !c->of->is_first_minus_second},
			{"interval_", "+/- 95 %", from->unit,
			 c->columns[i].is_main && has_interval(c)},
		};

		if (c->columns[i].is_text) {
			columns[at++] = *from;
			continue;
		}
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			if (parts[k].is_shown)
				columns[at++] = (struct st_column){
					joined(c, parts[k].key, "", from->key),
					title_of(c, &c->columns[i], from, parts[k].title, k),
					parts[k].unit, false};
		if (c->columns[i].is_main)
			c->out->kept_columns = at;
	}
	if (!c->failed)
		st_report_columns(c->out, columns, at);
	free(columns);
}

/* Cells of a row in the columns of a report, for each run; NULL: it has none. */
struct row_cells {
	const struct st_cell *of[RUNS_MAX];
};

/* What a side has in a column: of several runs their mean. */
static struct st_cell side_cell(const struct compare *c, const struct row_cells *cells, int side,
				const struct shown_column *column)
{
	uint32_t first = side ? c->of->counts[0] : 0, end = first + c->of->counts[side], seen = 0;
	struct st_cell out = {.kind = ST_CELL_NONE};
	double sum = 0.0;

	for (uint32_t run = first; run < end; run++) {
		const struct st_cell *cell =
			cells->of[run] ? &cells->of[run][column->from[run]] : NULL;

		if (!cell || cell->kind == ST_CELL_NONE)
			continue;
		if (out.kind == ST_CELL_NONE)
			out = *cell;
		sum += number_of(cell);
		seen++;
	}
	if (seen && is_number(&out) && end - first > 1) {
		sum /= column->adds_up ? end - first : seen;
		if (out.kind == ST_CELL_U64)
			out = st_cell_u64((uint64_t)(sum + 0.5));
		else if (out.kind == ST_CELL_I64)
			out = st_cell_i64((int64_t)(sum < 0 ? sum - 0.5 : sum + 0.5));
		else
			out = st_cell_double(sum);
	}
	return out;
}

static struct st_cell difference(const struct compare *c, const struct st_cell *a,
				 const struct st_cell *b)
{
	if (c->of->is_first_minus_second) {
		const struct st_cell *held = a;

		a = b;
		b = held;
	}
	if (!is_number(a) && !is_number(b))
		return (struct st_cell){.kind = ST_CELL_NONE};
	if (a->kind == ST_CELL_DOUBLE || b->kind == ST_CELL_DOUBLE)
		return st_cell_double(number_of(b) - number_of(a));
	return st_cell_i64(
		(int64_t)((is_number(b) ? b->as.u64 : 0) - (is_number(a) ? a->as.u64 : 0)));
}

static struct st_cell interval(const struct compare *c, const struct row_cells *cells,
			       const struct shown_column *column)
{
	double values[RUNS_MAX];
	struct st_difference between;

	for (uint32_t run = 0; run < c->run_count; run++)
		values[run] = cells->of[run] ? number_of(&cells->of[run][column->from[run]]) : 0.0;
	between = st_welch(st_mean_of(values, c->of->counts[0]),
			   st_mean_of(values + c->of->counts[0], c->of->counts[1]));
	return st_cell_u64((uint64_t)(between.half_width + 0.5));
}

static void fill_cells(struct compare *c, struct st_cell *out, const struct row_cells *cells)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < c->column_count; i++) {
		const struct shown_column *column = &c->columns[i];
		struct st_cell a = side_cell(c, cells, 0, column),
			       b = side_cell(c, cells, 1, column);

		if (column->is_text) {
			out[at++] = a.kind == ST_CELL_NONE ? b : a;
			continue;
		}
		out[at++] = a;
		out[at++] = b;
		out[at++] = difference(c, &a, &b);
		if (column->is_main && !c->of->is_first_minus_second)
			out[at++] = number_of(&a) != 0.0
					    ? st_cell_double(number_of(&b) / number_of(&a) - 1.0)
					    : (struct st_cell){.kind = ST_CELL_NONE};
		if (column->is_main && has_interval(c))
			out[at++] = interval(c, cells, column);
	}
}

/* The name of a process or thread without its number, which is another one in each run. */
static size_t without_number(struct st_text text)
{
	size_t end = text.size_bytes;

	if (!end || text.bytes[end - 1] != ')')
		return end;
	for (end--; end && text.bytes[end - 1] >= '0' && text.bytes[end - 1] <= '9';)
		end--;
	return end > 2 && text.bytes[end - 1] == '(' && text.bytes[end - 2] == ' ' &&
			       end + 1 < text.size_bytes
		       ? end - 2
		       : text.size_bytes;
}

/* What makes two rows the same: their keys, and the module of a function; of several such rows, which one it is. */
static struct st_text identity(struct compare *c, const struct st_report *report, uint32_t row,
			       uint32_t nth)
{
	uint32_t keys = report->group_by_count ? report->group_by_count : 2;
	uint32_t module = find_column(report, "module");
	struct st_buf text;
	char *copy;
	size_t size;

	st_buf_init(&text, 1 << 20);
	for (uint32_t i = 0; i < report->column_count; i++) {
		const struct st_cell *cell = &report->rows[row].cells[i];

		if ((i < keys || i == module) && cell->kind == ST_CELL_TEXT) {
			st_buf_append(&text, cell->as.text.bytes, without_number(cell->as.text));
			st_buf_append_u8(&text, '\0');
		}
	}
	if (nth)
		st_buf_append_u32(&text, nth);
	copy = st_arena_copy(st_report_arena(c->out), text.data, text.size_bytes);
	size = text.size_bytes;
	c->failed = c->failed || text.failed || !copy;
	st_buf_fini(&text);
	return (struct st_text){copy ? copy : "", copy ? size : 0};
}

static void add_row(struct compare *c, const uint32_t *of, const struct row_cells *cells,
		    uint32_t level)
{
	struct st_cell *out = st_report_add(c->out, level);
	size_t runs = c->run_count, end = (size_t)c->out->row_count * runs;

	if (end > c->row_capacity) {
		size_t capacity = end * 2 + 256;
		uint32_t *rows = realloc(c->rows, capacity * sizeof(*rows));

		if (!rows) {
			c->failed = true;
			return;
		}
		c->rows = rows;
		c->row_capacity = capacity;
	}
	for (uint32_t run = 0; run < runs; run++)
		c->rows[end - runs + run] = of ? of[run] : NONE;
	fill_cells(c, out, cells);
}

static void add_number(struct st_cell *sum, const struct st_cell *cell)
{
	if (cell->kind != ST_CELL_U64)
		return;
	*sum = st_cell_u64((sum->kind == ST_CELL_U64 ? sum->as.u64 : 0) + cell->as.u64);
}

/* The rows behind the limit, as one. */
static void sum_others(struct compare *c, const struct candidate *cut, uint32_t count,
		       uint32_t level)
{
	static const struct st_cell others = {.kind = ST_CELL_TEXT, .as.text = {"[Others]", 8}};
	struct row_cells cells = {{NULL}};

	for (uint32_t run = 0; run < c->run_count && !c->failed; run++) {
		const struct st_report *report = &c->of->reports[run];
		struct st_cell *sums = st_arena_calloc(
			st_report_arena(c->out), (size_t)report->column_count + 1, sizeof(*sums));

		c->failed = !sums;
		for (uint32_t i = 0; i < count && sums; i++)
			for (uint32_t k = 0; k < report->column_count; k++)
				if (cut[i].of[run] != NONE && adds_up(&report->columns[k]))
					add_number(&sums[k],
						   &report->rows[cut[i].of[run]].cells[k]);
		if (sums && report->column_count)
			sums[level < report->group_by_count ? level : 0] = others;
		cells.of[run] = sums;
	}
	if (!c->failed)
		add_row(c, NULL, &cells, level);
}

static int by_change(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->change != y->change)
		return x->change > y->change ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static struct row_cells cells_of(const struct compare *c, const uint32_t *of)
{
	struct row_cells cells = {{NULL}};

	for (uint32_t run = 0; run < c->run_count; run++)
		if (of[run] != NONE)
			cells.of[run] = c->of->reports[run].rows[of[run]].cells;
	return cells;
}

static void measure_changes(const struct compare *c, struct candidate *list, uint32_t count)
{
	const struct shown_column *column = NULL;

	for (uint32_t i = 0; i < c->column_count; i++)
		if (c->columns[i].is_main)
			column = &c->columns[i];
	for (uint32_t i = 0; i < count && column; i++) {
		struct row_cells cells = cells_of(c, list[i].of);
		struct st_cell a = side_cell(c, &cells, 0, column);
		struct st_cell b = side_cell(c, &cells, 1, column);

		list[i].change = fabs(number_of(&b) - number_of(&a));
	}
	qsort(list, count, sizeof(*list), by_change);
}

/* Adds rows up to the limit, and behind them the others. */
static void add_candidates(struct compare *c, struct candidate *list, uint32_t count,
			   uint32_t level)
{
	uint64_t limit = c->of->limit;
	uint32_t shown = limit && count > limit ? (uint32_t)limit : count;

	if (!c->of->keeps_order)
		measure_changes(c, list, count);
	for (uint32_t i = 0; i < shown && !c->failed; i++) {
		struct row_cells cells = cells_of(c, list[i].of);

		add_row(c, list[i].of, &cells, level);
	}
	if (shown < count && !c->failed)
		sum_others(c, list + shown, count - shown, level);
}

struct range {
	uint32_t first, count;
};

static struct range children_of(const struct st_report *report, uint32_t row, bool roots)
{
	if (roots)
		return (struct range){report->root_first, report->root_count};
	if (row == NONE)
		return (struct range){0, 0};
	return (struct range){report->rows[row].first_child, report->rows[row].child_count};
}

/* The rows of each run with the same identity: of several, the first with the first, the second with the second. */
struct matches {
	struct st_key_texts texts;
	uint32_t *of; /* by key: run_count rows */
	size_t capacity;
};

static void match_row(struct compare *c, struct matches *m, uint32_t run, uint32_t row)
{
	uint32_t known = m->texts.count, key = 0;
	bool is_taken = true;

	for (uint32_t nth = 0; is_taken && nth < SAME_MAX && !c->failed; nth++) {
		key = st_key_texts_add(&m->texts, identity(c, &c->of->reports[run], row, nth));
		is_taken = key < known && m->of[(size_t)key * c->run_count + run] != NONE;
	}
	if (is_taken)
		key = st_key_texts_append(&m->texts, identity(c, &c->of->reports[run], row, 0));
	if ((size_t)m->texts.count * c->run_count > m->capacity) {
		size_t capacity = (size_t)m->texts.count * c->run_count * 2 + 256;
		uint32_t *of = realloc(m->of, capacity * sizeof(*of));

		if (!of) {
			c->failed = true;
			return;
		}
		m->of = of;
		m->capacity = capacity;
	}
	for (size_t i = (size_t)known * c->run_count; i < (size_t)m->texts.count * c->run_count;
	     i++)
		m->of[i] = NONE;
	c->failed = c->failed || m->texts.failed;
	if (!c->failed)
		m->of[(size_t)key * c->run_count + run] = row;
}

/* Rows below a row of out, or the outermost ones. */
static void add_children(struct compare *c, const uint32_t *above, uint32_t level)
{
	struct matches m = {.of = NULL};
	struct candidate *list = NULL;

	st_key_texts_init(&m.texts);
	for (uint32_t run = 0; run < c->run_count && !c->failed; run++) {
		struct range range =
			children_of(&c->of->reports[run], above ? above[run] : NONE, !above);

		for (uint32_t i = 0; i < range.count && !c->failed; i++)
			match_row(c, &m, run, range.first + i);
	}
	if (!c->failed)
		list = calloc((size_t)m.texts.count + 1, sizeof(*list));
	c->failed = c->failed || !list;
	for (uint32_t i = 0; i < m.texts.count && !c->failed; i++)
		list[i] = (struct candidate){m.of + (size_t)i * c->run_count, 0.0, i};
	if (!c->failed)
		add_candidates(c, list, m.texts.count, level);
	st_key_texts_fini(&m.texts);
	free(m.of);
	free(list);
}

static void add_rows(struct compare *c)
{
	uint32_t above[RUNS_MAX];

	add_children(c, NULL, 0);
	for (uint32_t i = 0; c->rows && i < c->out->row_count && !c->failed; i++) {
		uint32_t first = c->out->row_count;

		memcpy(above, c->rows + (size_t)i * c->run_count, c->run_count * sizeof(*above));
		add_children(c, above, c->out->rows[i].level + 1);
		c->out->rows[i].first_child = first;
		c->out->rows[i].child_count = c->out->row_count - first;
	}
}

static void add_totals(struct compare *c)
{
	struct row_cells cells = {{NULL}};

	for (uint32_t run = 0; run < c->run_count; run++)
		cells.of[run] = c->of->reports[run].totals.cells;
	c->out->totals.cells = st_report_new_cells(c->out);
	fill_cells(c, c->out->totals.cells, &cells);
}

static void explain(struct compare *c, const struct st_side_names *names)
{
	static const char *const first_minus_second[] = {
		"Difference is the first minus the second: positive means that the second is "
		"faster."};
	static const char *const second_minus_first[] = {
		"Difference is the second minus the first: + means that the second takes longer."};

	c->out->subject = names->explained;
	c->out->notes = c->of->is_first_minus_second ? first_minus_second : second_minus_first;
	c->out->note_count = 1;
}

enum st_status st_report_compare(const struct st_comparison *of, struct st_report *out,
				 struct st_error *err)
{
	const struct st_report *first = &of->reports[0];
	struct compare c = {.of = of, .run_count = of->counts[0] + of->counts[1], .out = out};
	enum st_status status = st_report_begin(out, first->name, of->result, err);
	struct st_side_names names;

	if (status)
		return status;
	names = st_side_names_make(of->paths, of->counts, st_report_arena(out));
	out->group_by_count = first->group_by_count;
	memcpy(out->group_by, first->group_by, sizeof(out->group_by));
	out->as_table = true;
	out->empty = first->empty;
	out->result = names.joined;
	explain(&c, &names);
	choose_columns(&c);
	add_columns(&c, &names);
	if (!c.failed)
		add_rows(&c);
	if (!c.failed)
		add_totals(&c);
	free(c.columns);
	free(c.rows);
	if (!c.failed)
		return st_report_end(out, err);
	st_report_fini(out);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the comparison");
}
