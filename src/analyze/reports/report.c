// SPDX-License-Identifier: Apache-2.0
//
// What all reports need: building columns, rows and cells.
#include "analyze/tables/report.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/tables/report_make.h"
#include "store/result.h"

enum st_status st_report_begin(struct st_report *out, const char *name,
			       const struct st_result *result, struct st_error *err)
{
	const struct st_result_info *info = st_result_info(result);
	struct st_report_memory *memory = calloc(1, sizeof(*memory));

	memset(out, 0, sizeof(*out));
	if (!memory)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for report %s", name);
	st_arena_init(&memory->arena, SIZE_MAX / 2);
	out->memory = memory;
	out->name = name;
	out->result = info->name;
	out->source = info->source;
	return ST_OK;
}

enum st_status st_report_end(struct st_report *report, struct st_error *err)
{
	struct st_report_memory *memory = report->memory;

	if (!memory->failed && !memory->arena.failed)
		return ST_OK;
	st_report_fini(report);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
}

void st_report_fini(struct st_report *report)
{
	struct st_report_memory *memory = report ? report->memory : NULL;

	if (!memory)
		return;
	st_answer_fini(&memory->answer);
	st_arena_fini(&memory->arena);
	free(memory);
	free(report->rows);
	memset(report, 0, sizeof(*report));
}

struct st_arena *st_report_arena(struct st_report *report)
{
	return &((struct st_report_memory *)report->memory)->arena;
}

void st_report_columns(struct st_report *report, const struct st_column *columns, uint32_t count)
{
	struct st_column *copy = st_arena_calloc(st_report_arena(report), count + 1, sizeof(*copy));

	if (!copy)
		return;
	memcpy(copy, columns, count * sizeof(*copy));
	report->columns = copy;
	report->column_count = count;
}

struct st_cell *st_report_new_cells(struct st_report *report)
{
	struct st_report_memory *memory = report->memory;
	struct st_cell *cells = st_arena_calloc(st_report_arena(report),
						(size_t)report->column_count + 1, sizeof(*cells));

	/* Nobody reads the scratch cells: st_report_end refuses the report. */
	return cells ? cells : memory->scratch;
}

struct st_cell *st_report_add(struct st_report *report, uint32_t level)
{
	struct st_report_memory *memory = report->memory;
	struct st_report_row *row;

	if (report->row_count == memory->row_capacity) {
		uint32_t capacity = memory->row_capacity ? memory->row_capacity * 2 : 64;
		struct st_report_row *rows = NULL;

		if (capacity > memory->row_capacity)
			rows = realloc(report->rows, capacity * sizeof(*rows));
		if (!rows) {
			memory->failed = true;
			return st_report_new_cells(report);
		}
		report->rows = rows;
		memory->row_capacity = capacity;
	}
	row = &report->rows[report->row_count++];
	*row = (struct st_report_row){.cells = st_report_new_cells(report), .level = level};
	if (level == 0)
		report->root_count++;
	return row->cells;
}

struct st_cell *st_report_fact(struct st_report *report, const char *section, const char *name)
{
	struct st_cell *cells = st_report_add(report, 0);

	cells[0] = st_cell_text(section);
	cells[1] = st_cell_text(name);
	return cells;
}

void st_report_fact_text(struct st_report *report, const char *section, const char *name,
			 const char *text)
{
	if (text && *text)
		st_report_fact(report, section, name)[2] = st_cell_text(text);
}

void st_report_fact_number(struct st_report *report, const char *section, const char *name,
			   uint64_t value)
{
	st_report_fact(report, section, name)[2] = st_cell_u64(value);
}

struct st_cell st_report_text(struct st_report *report, struct st_text text)
{
	return st_cell_bytes(st_text_copy(st_report_arena(report), text));
}

struct st_cell st_report_buf(struct st_report *report, struct st_buf *buf)
{
	return st_cell_bytes(st_text_take(st_report_arena(report), buf));
}

double st_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0.0;
}

struct st_cell st_cell_text(const char *text)
{
	if (!text)
		return (struct st_cell){.kind = ST_CELL_NONE};
	return st_cell_bytes((struct st_text){text, strlen(text)});
}

struct st_cell st_cell_bytes(struct st_text text)
{
	return (struct st_cell){.kind = ST_CELL_TEXT, .as.text = text};
}

struct st_cell st_cell_u64(uint64_t value)
{
	return (struct st_cell){.kind = ST_CELL_U64, .as.u64 = value};
}

struct st_cell st_cell_i64(int64_t value)
{
	return (struct st_cell){.kind = ST_CELL_I64, .as.i64 = value};
}

struct st_cell st_cell_double(double value)
{
	return (struct st_cell){.kind = ST_CELL_DOUBLE, .as.number = value};
}

struct st_cell st_cell_bool(bool value)
{
	return (struct st_cell){.kind = ST_CELL_BOOL, .as.truth = value};
}

static uint32_t metric_count(const struct st_question *question)
{
	return st_set_count(question->metrics);
}

uint32_t st_report_extra_index(const struct st_report_layout *layout)
{
	uint32_t keys = layout->question->grouping_count;

	return layout->front_count ? keys : keys + metric_count(layout->question);
}

uint32_t st_report_behind_index(const struct st_report_layout *layout)
{
	return layout->question->grouping_count + layout->front_count +
	       metric_count(layout->question);
}

/* The metrics that are shown, in order; how many. */
static unsigned int order_metrics(const struct st_report_layout *layout,
				  enum st_metric out[ST_METRICS])
{
	struct st_set left = layout->question->metrics;
	unsigned int count = 0;

	for (const uint8_t *at = layout->first; at && *at != ST_LIST_END; at++) {
		if (!st_set_has(left, *at))
			continue;
		out[count++] = (enum st_metric) * at;
		st_set_remove(&left, *at);
	}
	for (unsigned int i = 0; i < ST_METRICS; i++)
		if (st_set_has(left, i))
			out[count++] = (enum st_metric)i;
	return count;
}

static void answer_columns(struct st_report *report, const struct st_report_layout *layout)
{
	enum st_metric metrics[ST_METRICS];
	unsigned int metric_count = order_metrics(layout, metrics);
	struct st_column columns[ST_REPORT_COLUMNS_MAX];
	const struct st_question *question = layout->question;
	uint32_t count = 0;

	for (unsigned int i = 0; i < question->grouping_count; i++) {
		const struct st_grouping_info *info = st_grouping_info(question->groupings[i]);

		columns[count++] = (struct st_column){info->key, info->title, "", true};
		report->group_by[report->group_by_count++] = info->name;
	}
	for (uint32_t i = 0; i < layout->front_count; i++)
		columns[count++] = layout->extra[i];
	for (unsigned int i = 0; i < metric_count; i++) {
		const struct st_measure *info = st_metric_info(metrics[i]);
		const char *title = layout->titles ? layout->titles[metrics[i]] : NULL;

		columns[count++] = (struct st_column){info->key, title ? title : info->title,
						      info->unit, false};
	}
	for (uint32_t i = layout->front_count; i < layout->extra_count; i++)
		columns[count++] = layout->extra[i];
	st_report_columns(report, columns, count);
}

static struct st_cell metric_cell(const struct st_answer_row *row, enum st_metric metric)
{
	const struct st_measure *measure = st_metric_info(metric);
	uint64_t part = st_answer_value(row, measure->part),
		 whole = st_answer_value(row, measure->whole);

	if (measure->known_by && !st_answer_value(row, measure->known_by))
		return (struct st_cell){.kind = ST_CELL_NONE};
	if (measure->fold == ST_FOLD_DIFFERENCE)
		return st_cell_i64((int64_t)(part - whole));
	if (measure->fold == ST_FOLD_AVERAGE)
		return st_cell_u64(whole ? (part + whole / 2) / whole : 0);
	return st_cell_u64(st_answer_value(row, metric));
}

static void metric_cells(struct st_cell *cells, const struct st_answer_row *row,
			 const struct st_report_layout *layout)
{
	uint32_t at = layout->question->grouping_count + layout->front_count;
	enum st_metric metrics[ST_METRICS];
	unsigned int count = order_metrics(layout, metrics);

	for (unsigned int i = 0; i < count; i++)
		cells[at++] = metric_cell(row, metrics[i]);
}

const struct st_answer *st_report_answer(const struct st_report *report)
{
	return &((const struct st_report_memory *)report->memory)->answer;
}

void st_report_from_answer(struct st_report *report, struct st_answer *answer,
			   const struct st_report_layout *layout)
{
	struct st_report_memory *memory = report->memory;
	uint32_t deepest = layout->question->grouping_count;

	memory->answer = *answer;
	memset(answer, 0, sizeof(*answer));
	answer = &memory->answer;
	answer_columns(report, layout);
	report->rows = calloc((size_t)answer->row_count + 1, sizeof(*report->rows));
	if (!report->rows) {
		memory->failed = true;
		return;
	}
	memory->row_capacity = answer->row_count + 1;
	report->row_count = answer->row_count;
	report->root_first = answer->root_first;
	report->root_count = answer->root_count;
	for (uint32_t i = 0; i < answer->row_count && !memory->arena.failed; i++) {
		const struct st_answer_row *from = &answer->rows[i];
		struct st_report_row *to = &report->rows[i];
		uint32_t key = to->level < deepest ? to->level : deepest - 1;

		to->first_child = from->first_child;
		to->child_count = from->child_count;
		to->cells = st_report_new_cells(report);
		to->cells[key] = st_cell_bytes(from->text);
		metric_cells(to->cells, from, layout);
		/* Rows come level by level: children are met later, unless the report keeps only
		 * the upper levels. */
		for (uint32_t j = 0; j < from->child_count && from->first_child < answer->row_count;
		     j++)
			report->rows[from->first_child + j].level = to->level + 1;
	}
	report->totals.cells = st_report_new_cells(report);
	metric_cells(report->totals.cells, &answer->total, layout);
}
