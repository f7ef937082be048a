// SPDX-License-Identifier: Apache-2.0
//
// Merging two reports row by row.
#include "analyze/reports/compare.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/tables/report_make.h"
#include "base/buf.h"
#include "store/result.h"

enum { NONE = UINT32_MAX, SIDES = 2 };

/* A column of the comparison: of texts, one of either side; of figures, three. */
struct pair_column {
	uint32_t from[SIDES]; /* columns of the two reports, or NONE */
	bool is_text;
};

struct pair_row {
	uint32_t of[SIDES]; /* rows of the two reports, or NONE */
};

struct compare {
	const struct st_report *reports[SIDES];
	struct st_report *out;
	struct pair_column *columns;
	uint32_t column_count;
	struct pair_row *rows; /* of out */
	uint32_t capacity;
	uint64_t limit; /* rows of each level; 0: all */
	bool failed;
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

static const char *joined(struct compare *c, const char *a, const char *between, const char *b)
{
	const char *text = st_arena_printf(st_report_arena(c->out), "%s%s%s", a, between, b);

	return text ? text : "";
}

static void add_columns(struct compare *c)
{
	const struct st_report *first = c->reports[0], *second = c->reports[1];
	struct st_column *columns = calloc((size_t)first->column_count * 3 + 1, sizeof(*columns));
	uint32_t at = 0;

	c->columns = calloc((size_t)first->column_count + 1, sizeof(*c->columns));
	if (!columns || !c->columns) {
		free(columns);
		c->failed = true;
		return;
	}
	for (uint32_t i = 0; i < first->column_count; i++) {
		const struct st_column *column = &first->columns[i];
		uint32_t other = find_column(second, column->key);
		bool is_text = column->is_key || strcmp(column->key, "depth") == 0;

		if (other == NONE || is_of_one_run(column->key) ||
		    (!is_text && is_all_zero(first, i) && is_all_zero(second, other)))
			continue;
		c->columns[c->column_count++] = (struct pair_column){{i, other}, is_text};
		if (is_text) {
			columns[at++] = *column;
			continue;
		}
		columns[at++] = (struct st_column){joined(c, "first_", "", column->key),
						   joined(c, column->title, ":", first->result),
						   column->unit, false};
		columns[at++] = (struct st_column){joined(c, "second_", "", column->key),
						   joined(c, column->title, ":", second->result),
						   column->unit, false};
		columns[at++] = (struct st_column){joined(c, "difference_", "", column->key),
						   joined(c, column->title, ":", "Difference"),
						   column->unit, false};
	}
	st_report_columns(c->out, columns, at);
	free(columns);
}

static struct st_cell difference(const struct st_cell *a, const struct st_cell *b)
{
	if (!is_number(a) && !is_number(b))
		return (struct st_cell){.kind = ST_CELL_NONE};
	if (a->kind == ST_CELL_DOUBLE || b->kind == ST_CELL_DOUBLE)
		return st_cell_double(number_of(a) - number_of(b));
	return st_cell_i64(
		(int64_t)((is_number(a) ? a->as.u64 : 0) - (is_number(b) ? b->as.u64 : 0)));
}

static void fill_cells(struct compare *c, struct st_cell *cells, const struct st_cell *a,
		       const struct st_cell *b)
{
	static const struct st_cell none = {.kind = ST_CELL_NONE};
	uint32_t at = 0;

	for (uint32_t i = 0; i < c->column_count; i++) {
		const struct st_cell *x = a ? &a[c->columns[i].from[0]] : &none;
		const struct st_cell *y = b ? &b[c->columns[i].from[1]] : &none;

		if (c->columns[i].is_text) {
			cells[at++] = x->kind == ST_CELL_NONE ? *y : *x;
			continue;
		}
		cells[at++] = *x;
		cells[at++] = *y;
		cells[at++] = difference(x, y);
	}
}

/* What makes two rows the same: their keys, and the module of a function. */
static struct st_text identity(struct compare *c, const struct st_report *report, uint32_t row)
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
			st_buf_append(&text, cell->as.text.bytes, cell->as.text.size_bytes);
			st_buf_append_u8(&text, '\0');
		}
	}
	copy = st_arena_copy(st_report_arena(c->out), text.data, text.size_bytes);
	size = text.size_bytes;
	c->failed = c->failed || text.failed || !copy;
	st_buf_fini(&text);
	return (struct st_text){copy ? copy : "", copy ? size : 0};
}

static void add_row(struct compare *c, struct pair_row pair, uint32_t level)
{
	struct st_cell *cells = st_report_add(c->out, level);
	const struct st_report *const *reports = c->reports;

	if (!c->rows || c->out->row_count > c->capacity) {
		uint32_t capacity = c->capacity ? c->capacity * 2 : 256;
		struct pair_row *rows = realloc(c->rows, capacity * sizeof(*rows));

		if (!rows) {
			c->failed = true;
			return;
		}
		c->rows = rows;
		c->capacity = capacity;
	}
	c->rows[c->out->row_count - 1] = pair;
	fill_cells(c, cells, pair.of[0] == NONE ? NULL : reports[0]->rows[pair.of[0]].cells,
		   pair.of[1] == NONE ? NULL : reports[1]->rows[pair.of[1]].cells);
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

static void add_number(struct st_cell *sum, const struct st_cell *cell)
{
	if (cell->kind != ST_CELL_U64)
		return;
	*sum = st_cell_u64((sum->kind == ST_CELL_U64 ? sum->as.u64 : 0) + cell->as.u64);
}

/* The rows behind the limit, as one. */
static void sum_others(struct compare *c, const struct pair_row *cut, uint32_t cut_count,
		       uint32_t level)
{
	static const struct st_cell others = {.kind = ST_CELL_TEXT, .as.text = {"[Others]", 8}};
	struct st_cell *sums[SIDES] = {NULL, NULL};

	for (int side = 0; side < SIDES; side++) {
		const struct st_report *report = c->reports[side];

		sums[side] = calloc((size_t)report->column_count + 1, sizeof(*sums[side]));
		c->failed = c->failed || !sums[side];
		for (uint32_t i = 0; i < cut_count && !c->failed; i++)
			for (uint32_t k = 0; k < report->column_count; k++)
				if (cut[i].of[side] != NONE && adds_up(&report->columns[k]))
					add_number(&sums[side][k],
						   &report->rows[cut[i].of[side]].cells[k]);
		if (!c->failed && report->column_count)
			sums[side][level < report->group_by_count ? level : 0] = others;
	}
	if (!c->failed)
		add_row(c, (struct pair_row){{NONE, NONE}}, level);
	if (!c->failed)
		fill_cells(c, c->out->rows[c->out->row_count - 1].cells, sums[0], sums[1]);
	free(sums[0]);
	free(sums[1]);
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

/* Adds rows up to the limit, and behind them the others. */
static void add_pairs(struct compare *c, const struct pair_row *pairs, uint32_t count,
		      uint32_t level)
{
	uint32_t shown = c->limit && count > c->limit ? (uint32_t)c->limit : count;

	for (uint32_t i = 0; i < shown && !c->failed; i++)
		add_row(c, pairs[i], level);
	if (shown < count && !c->failed)
		sum_others(c, pairs + shown, count - shown, level);
}

/* Rows below a pair: those of the first in its order, then those that only the second has. */
static void add_children(struct compare *c, const struct pair_row *above, uint32_t level)
{
	struct range a = children_of(c->reports[0], above ? above->of[0] : NONE, !above);
	struct range b = children_of(c->reports[1], above ? above->of[1] : NONE, !above);
	uint32_t *match = calloc((size_t)a.count + 1, sizeof(*match));
	struct pair_row *pairs = calloc((size_t)a.count + b.count + 1, sizeof(*pairs));
	uint32_t count = 0;
	bool *taken = calloc((size_t)b.count + 1, sizeof(*taken));
	uint32_t *row_of = calloc((size_t)a.count + 1, sizeof(*row_of));
	struct st_key_texts texts;

	st_key_texts_init(&texts);
	c->failed = c->failed || !match || !taken || !row_of || !pairs;
	/* Of rows with the same identity the first is matched, the others stand alone. */
	for (uint32_t i = 0; i < a.count && !c->failed; i++) {
		uint32_t known = texts.count;
		uint32_t key = st_key_texts_add(&texts, identity(c, c->reports[0], a.first + i));

		match[i] = NONE;
		if (texts.count > known)
			row_of[key] = i;
	}
	for (uint32_t i = 0, known = texts.count; i < b.count && !c->failed; i++) {
		uint32_t key = st_key_texts_add(&texts, identity(c, c->reports[1], b.first + i));

		if (key < known && match[row_of[key]] == NONE) {
			match[row_of[key]] = b.first + i;
			taken[i] = true;
		}
	}
	for (uint32_t i = 0; i < a.count && !c->failed; i++)
		pairs[count++] = (struct pair_row){{a.first + i, match[i]}};
	for (uint32_t i = 0; i < b.count && !c->failed; i++)
		if (!taken[i])
			pairs[count++] = (struct pair_row){{NONE, b.first + i}};
	add_pairs(c, pairs, count, level);
	c->failed = c->failed || texts.failed;
	st_key_texts_fini(&texts);
	free(match);
	free(taken);
	free(row_of);
	free(pairs);
}

static void add_rows(struct compare *c)
{
	add_children(c, NULL, 0);
	for (uint32_t i = 0; c->rows && i < c->out->row_count && !c->failed; i++) {
		struct pair_row pair = c->rows[i];
		uint32_t first = c->out->row_count;

		add_children(c, &pair, c->out->rows[i].level + 1);
		c->out->rows[i].first_child = first;
		c->out->rows[i].child_count = c->out->row_count - first;
	}
}

enum st_status st_report_compare(const struct st_comparison *of, struct st_report *out,
				 struct st_error *err)
{
	const struct st_report *first = of->first, *second = of->second;
	struct compare c = {.reports = {first, second}, .out = out, .limit = of->limit};
	enum st_status status = st_report_begin(out, first->name, of->result, err);

	if (status)
		return status;
	out->group_by_count = first->group_by_count;
	memcpy(out->group_by, first->group_by, sizeof(out->group_by));
	out->as_table = true;
	out->empty = first->empty;
	out->result = joined(&c, first->result, "-", second->result);
	add_columns(&c);
	if (!c.failed)
		add_rows(&c);
	if (!c.failed) {
		out->totals.cells = st_report_new_cells(out);
		fill_cells(&c, out->totals.cells, first->totals.cells, second->totals.cells);
	}
	free(c.columns);
	free(c.rows);
	if (!c.failed)
		return st_report_end(out, err);
	st_report_fini(out);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the comparison");
}
