// SPDX-License-Identifier: Apache-2.0
//
// The part of the summary about operators of a framework: how they were recorded, and those that took most time.
#include "analyze/reports/report_operators.h"
#include "analyze/summary/report_summary.h"

enum { ROWS_SHOWN = 5 };

static void add_rows(struct st_report *report, const struct st_answer *answer)
{
	for (uint32_t i = 0; i < answer->root_count; i++) {
		const struct st_answer_row *row = &answer->rows[answer->root_first + i];
		uint64_t all_ns = st_answer_value(&answer->total, ST_WALL_SELF);
		struct st_cell *cells;

		if (row->is_others)
			continue;
		cells = st_report_fact(report, "operator", NULL);
		cells[ST_SUMMARY_NAME] = st_report_text(report, row->text);
		cells[ST_SUMMARY_COUNT] = st_cell_u64(st_answer_value(row, ST_COUNT));
		cells[ST_SUMMARY_TOTAL] = st_cell_u64(st_answer_value(row, ST_WALL_TOTAL));
		cells[ST_SUMMARY_SELF] = st_cell_u64(st_answer_value(row, ST_WALL_SELF));
		cells[ST_SUMMARY_RATIO] = st_cell_double(
			all_ns ? (double)st_answer_value(row, ST_WALL_SELF) / (double)all_ns : 0.0);
	}
}

static enum st_status fill(struct st_report *report, const struct st_result *result,
			   const struct st_dataset *dataset, const struct st_question *scope,
			   struct st_error *err)
{
	struct st_question question = *scope;
	struct st_cell *cells;
	struct st_answer answer;
	enum st_status status;
	uint32_t sources;

	st_result_operator_sources(result, &sources);
	/* Operators that a program or library marks itself are among its tasks. */
	if (!sources && (!dataset->row_count || st_dataset_operators(dataset)->is_itt ||
			 st_dataset_operators(dataset)->is_primitive))
		return ST_OK;
	question.groupings[0] = ST_BY_OPERATOR;
	question.grouping_count = 1;
	question.sort[0] = ST_WALL_SELF;
	question.sort_count = 1;
	if (!question.limit)
		question.limit = ROWS_SHOWN;
	status = st_dataset_ask(dataset, &question, &answer, err);
	if (status)
		return status;
	cells = st_report_fact(report, "operators", "source");
	cells[ST_SUMMARY_VALUE] =
		st_cell_text(st_operators_source(result, dataset, st_report_arena(report)));
	cells[ST_SUMMARY_COUNT] = st_cell_u64(st_answer_value(&answer.total, ST_COUNT));
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(st_answer_value(&answer.total, ST_WALL_TOTAL));
	cells[ST_SUMMARY_SELF] = st_cell_u64(st_answer_value(&answer.total, ST_WALL_SELF));
	add_rows(report, &answer);
	st_answer_fini(&answer);
	return ST_OK;
}

enum st_status st_summary_add_operators(struct st_report *report, const struct st_result *result,
					const struct st_question *scope, struct st_error *err)
{
	struct st_dataset dataset;
	enum st_status status;

	/* Filters of a summary are about tasks. */
	if (scope->filter_count)
		return ST_OK;
	status = st_dataset_operators_init(&dataset, result, false, err);
	if (!status)
		status = fill(report, result, &dataset, scope, err);
	st_dataset_operators_fini(&dataset);
	return status;
}
