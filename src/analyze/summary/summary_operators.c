// SPDX-License-Identifier: Apache-2.0
//
// The part of the summary about operators of a framework: how they were recorded, those that took most time, the memory
// of the framework's allocator with the operators that held most of it, and what is worth changing first.
#include <stdlib.h>
#include <string.h>

#include "analyze/findings/findings.h"
#include "analyze/samples/sample_waits.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/reports/report_operators.h"
#include "analyze/summary/report_summary.h"

enum { ROWS_SHOWN = 5, HOLDERS_SHOWN = 3, FIXES_SHOWN = 3 };

static void add_rows(const struct st_summary *summary, const struct st_answer *answer)
{
	for (uint32_t i = 0; i < answer->root_count; i++) {
		const struct st_answer_row *row = &answer->rows[answer->root_first + i];
		struct st_cell *cells;

		if (row->is_others)
			continue;
		cells = st_report_fact(summary->report, "operator", "");
		cells[ST_SUMMARY_NAME] = st_report_text(summary->report, row->text);
		st_summary_values(cells, row, ST_SUMMARY_COUNT, ST_SUMMARY_SELF);
		cells[ST_SUMMARY_RATIO] =
			st_cell_double(st_share(st_answer_value(row, ST_WALL_SELF),
						st_answer_value(&answer->total, ST_WALL_SELF)));
	}
}

static enum st_status fill(const struct st_summary *summary, const struct st_dataset *dataset)
{
	struct st_question question = st_summary_question(summary, ST_BY_OPERATOR, ST_WALL_SELF);
	struct st_cell *cells;
	struct st_answer answer;
	enum st_status status;
	uint32_t sources;

	st_result_operator_sources(summary->result, &sources);
	/* Operators that a program or library marks itself are among its tasks. */
	if (!sources && (!dataset->row_count || st_dataset_operators(dataset)->is_itt ||
			 st_dataset_operators(dataset)->is_primitive))
		return ST_OK;
	if (!question.limit)
		question.limit = ROWS_SHOWN;
	status = st_dataset_ask(dataset, &question, &answer, summary->err);
	if (status)
		return status;
	cells = st_report_fact(summary->report, "operators", "source");
	cells[ST_SUMMARY_VALUE] = st_cell_text(
		st_operators_source(summary->result, dataset, st_report_arena(summary->report)));
	st_summary_values(cells, &answer.total, ST_SUMMARY_COUNT, ST_SUMMARY_SELF);
	add_rows(summary, &answer);
	st_answer_fini(&answer);
	return ST_OK;
}

/* Ranges that the program names, steps of a profiler among them, are tasks: they are no operators, whatever they hold.
 * Malloc'd; NULL: out of memory. */
static uint16_t *flags_without_ranges(const struct st_dataset *dataset)
{
	const struct st_operator_rows *rows = st_dataset_operators(dataset);
	uint16_t *flags = malloc(((size_t)rows->count + 1) * sizeof(*flags));

	for (uint32_t row = 0; flags && row < rows->count; row++)
		flags[row] = (uint16_t)(rows->flags[row] & ~ST_SLICE_TWIN) |
			     (rows->is_range[rows->label[row]] ? ST_SLICE_TWIN : 0);
	return flags;
}

enum st_status st_summary_add_operators(const struct st_summary *summary)
{
	struct st_dataset dataset, operators;
	enum st_status status =
		st_dataset_operators_init(&dataset, summary->result, false, summary->err);
	uint16_t *flags = NULL;

	if (!status) {
		flags = flags_without_ranges(&dataset);
		operators = dataset;
		operators.flags = flags;
		operators.hidden_flags = ST_SLICE_TWIN;
		status = flags ? fill(summary, &operators)
			       : st_error_set(summary->err, ST_ENOMEM, 0,
					      "out of memory for the summary");
	}
	free(flags);
	st_dataset_operators_fini(&dataset);
	return status;
}

static int column_of(const struct st_report *report, const char *key)
{
	for (uint32_t i = 0; i < report->column_count; i++) {
		if (strcmp(report->columns[i].key, key) == 0)
			return (int)i;
	}
	return -1;
}

static void add_holders(const struct st_summary *summary, const struct st_report *memory)
{
	int bytes = column_of(memory, "held_bytes"), share = column_of(memory, "held_ratio");

	for (uint32_t i = 0;
	     bytes >= 0 && share >= 0 && i < memory->root_count && i < HOLDERS_SHOWN; i++) {
		const struct st_report_row *row = &memory->rows[memory->root_first + i];
		struct st_cell *cells = st_report_fact(summary->report, "memory_holder", "");

		cells[ST_SUMMARY_NAME] = st_report_text(summary->report, row->cells[0].as.text);
		cells[ST_SUMMARY_VALUE] = row->cells[bytes];
		cells[ST_SUMMARY_RATIO] = row->cells[share];
	}
}

enum st_status st_summary_add_memory(const struct st_summary *summary)
{
	struct st_report_options options = {.question = *summary->scope};
	struct st_report memory;
	enum st_status status;
	uint32_t count;

	st_result_memory(summary->result, &count);
	if (!count)
		return ST_OK;
	options.question.groupings[0] = ST_BY_OPERATOR;
	options.question.grouping_count = 1;
	options.question.limit = HOLDERS_SHOWN;
	status = st_report_build(summary->result, "memory", &options, &memory, summary->err);
	if (status)
		return status;
	if (memory.subject) {
		struct st_text text = {memory.subject, strlen(memory.subject)};

		st_report_fact(summary->report, "memory", "allocator")[ST_SUMMARY_VALUE] =
			st_report_text(summary->report, text);
		add_holders(summary, &memory);
	}
	st_report_fini(&memory);
	return ST_OK;
}

/* What to do, then why: "use fewer threads (…): 78 % of …". Behind a colon a remedy explains itself; the report has all. */
static const char *advice_of(const struct st_summary *summary, const struct st_finding *finding)
{
	const char *end = strstr(finding->remedy, ": ");
	size_t size = end ? (size_t)(end - finding->remedy) : strlen(finding->remedy);

	return st_arena_printf(st_report_arena(summary->report), "%.*s: %s", (int)size,
			       finding->remedy, finding->what);
}

/* Rules look at operators, at waits, and at samples of whole steps. Without any there is nothing to look at. */
enum st_status st_summary_add_fixes(const struct st_summary *summary)
{
	struct st_findings findings;
	enum st_status status;
	uint32_t sources;
	bool has_sampled_steps = summary->loop->end_ns && st_result_samples(summary->result)->count;

	st_result_operator_sources(summary->result, &sources);
	if (!sources && !has_sampled_steps && !st_sample_has_waits(summary->result))
		return ST_OK;
	status = st_findings_make(&findings, summary->result, summary->options,
				  st_report_arena(summary->report), summary->err);
	if (status)
		return status;
	for (uint32_t i = 0; i < findings.count && i < FIXES_SHOWN; i++) {
		const struct st_finding *finding = &findings.items[i];
		struct st_cell *cells = st_report_fact(summary->report, "fix", finding->rule);

		cells[ST_SUMMARY_VALUE] = st_cell_text(advice_of(summary, finding));
		cells[ST_SUMMARY_COUNT] = st_cell_u64(findings.step_count);
		cells[ST_SUMMARY_TOTAL] = st_cell_u64(finding->saving_high_ns);
		cells[ST_SUMMARY_SELF] = st_cell_u64(finding->saving_low_ns);
	}
	return ST_OK;
}
