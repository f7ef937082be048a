// SPDX-License-Identifier: Apache-2.0
//
// Report "operators": a row per operator, or any other grouping of operators, with its times and, where they were
// recorded, memory and work.
#include "analyze/reports/report_operators.h"

#include <string.h>

#include "analyze/operators/dataset_operators.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/tables/device_titles.h"
#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "store/result.h"

/* "aten::native_batch_norm_backward" is told from its neighbours by its end. */
enum { NAME_WIDTH = 32 };

struct job {
	const struct st_result *result;
	const struct st_dataset *dataset;
	const struct st_operator_rows *rows;
	struct st_report *report;
	const struct st_answer *answer;
	double device_part; /* of all that ran on devices: what rows launched */
	bool has_memory;
};

static struct st_cell average_cell(const struct st_answer_row *row,
				   const struct st_measure *measure)
{
	uint64_t part = st_answer_value(row, measure->part);
	uint64_t whole = st_answer_value(row, measure->whole);

	return st_cell_u64(whole ? (part + whole / 2) / whole : 0);
}

/* Memory that was not recorded is not shown as none. */
static struct st_cell measure_cell(const struct job *job, const struct st_measure *measure,
				   const struct st_answer_row *row)
{
	bool is_memory = measure->read && strcmp(measure->unit, "bytes") == 0 && !measure->known_by;
	double ratio;

	if ((is_memory && !job->has_memory) ||
	    (measure->known_by && !st_answer_value(row, measure->known_by)))
		return (struct st_cell){.kind = ST_CELL_NONE};
	if (measure->fold == ST_FOLD_AVERAGE)
		return average_cell(row, measure);
	if (measure->derive || measure->read)
		return st_cell_u64(st_answer_value(row, measure->metric));
	if (!st_answer_quotient(measure, row, &job->answer->total, &ratio) && !measure->of_total)
		return (struct st_cell){.kind = ST_CELL_NONE};
	if (measure->metric == ST_DEVICE_SHARE)
		ratio *= job->device_part;
	return st_cell_double(ratio);
}

/* Shares are of all that ran on devices, as torch's are, unless only some rows were asked for. */
static double device_part(const struct job *job, const struct st_question *question)
{
	uint64_t in_rows_ns = st_answer_value(&job->answer->total, ST_DEVICE_SELF);

	if (question->filter_count || question->has_time_range || !in_rows_ns)
		return 1;
	return (double)in_rows_ns / (double)(in_rows_ns + job->rows->device_outside_ns);
}

/* Whether the first thing to sort by is one that single rows do not have. */
static bool is_ranked(const struct st_question *question)
{
	return question->sort_count && question->sort[0] >= ST_FIGURES;
}

/* Columns that only programs with a device have. */
static bool is_of_device(const struct st_measure *measure)
{
	return measure->metric == ST_DEVICE_SHARE ||
	       (measure->metric >= ST_DEVICE_SELF && measure->metric <= ST_DEVICE_AVG);
}

static enum st_status build_groups(struct job *job, struct st_question *question,
				   struct st_error *err)
{
	struct st_question shown = *question;
	struct st_column columns[ST_OPERATOR_MEASURES];
	const struct st_measure *measures[ST_OPERATOR_MEASURES];
	struct st_report_layout layout = {.question = &shown, .extra = columns};
	uint32_t first, totals;
	struct st_answer answer;
	enum st_status status;

	for (uint32_t i = 0; i < ST_OPERATOR_MEASURES && st_operator_measures[i].key; i++) {
		const struct st_measure *measure = &st_operator_measures[i];

		if (is_of_device(measure) && !job->rows->device_ns)
			continue;
		measures[layout.extra_count] = measure;
		columns[layout.extra_count++] =
			(struct st_column){measure->key, measure->title, measure->unit, false};
	}
	status = st_dataset_ask(job->dataset, question, &answer, err);
	if (status)
		return status;
	shown.metrics = (struct st_set){{0}}; /* all measures are, in torch's order */
	st_report_from_answer(job->report, &answer, &layout);
	job->answer = st_report_answer(job->report);
	job->device_part = device_part(job, question);
	st_device_titles(job->report, job->result);
	first = st_report_behind_index(&layout);
	totals = job->report->row_count;
	/* When there is no memory st_report_end says it. */
	for (uint32_t i = 0;
	     i <= totals && !st_report_arena(job->report)->failed && job->report->rows; i++) {
		struct st_cell *cells =
			i < totals ? job->report->rows[i].cells : job->report->totals.cells;

		for (uint32_t j = 0; j < layout.extra_count; j++)
			cells[first + j] = measure_cell(job, measures[j],
							i < totals ? &job->answer->rows[i]
								   : &job->answer->total);
	}
	return ST_OK;
}

/* The rows of the table are those of the dataset, which know the operators around them. */
static const struct job *job_of(const struct st_table_at *at)
{
	return at->item;
}

/* Text of a grouping (arg), where these operators have it. */
static struct st_cell key_cell(const struct st_table_at *at)
{
	const struct st_dataset *dataset = job_of(at)->dataset;
	enum st_grouping grouping = (enum st_grouping)at->column->arg;

	if (!dataset->keys[grouping].key_count)
		return st_no_cell();
	return st_cell_bytes(dataset->text(
		dataset, grouping, st_key_of(&dataset->keys[grouping], at->row), at->arena));
}

static struct st_cell row_cell(const struct st_table_at *at)
{
	return st_cell_u64(job_of(at)->rows->slice[at->row]);
}

static struct st_cell start_cell(const struct st_table_at *at)
{
	return st_cell_i64(job_of(at)->rows->begin_ns[at->row]);
}

static struct st_cell parent_cell(const struct st_table_at *at)
{
	const struct st_operator_rows *rows = job_of(at)->rows;
	uint32_t parent = rows->parent[at->row];

	return parent == ST_NO_ROW ? st_no_cell() : st_cell_u64(rows->slice[parent]);
}

static struct st_cell sequence_cell(const struct st_table_at *at)
{
	int64_t sequence = st_operator_sequence(job_of(at)->rows, at->row);

	return sequence < 0 ? st_no_cell() : st_cell_i64(sequence);
}

static struct st_cell memory_cell(const struct st_table_at *at)
{
	const struct job *job = job_of(at);
	const struct st_operator *known =
		st_result_operator_of(job->result, job->rows->slice[at->row]);
	uint64_t allocated = known ? known->allocated : 0, freed = known ? known->freed : 0;

	return job->has_memory ? st_cell_u64(at->column->arg ? freed : allocated) : st_no_cell();
}

static const struct st_table_column instance_columns[] = {
	{"row", NULL, ST_INTEGER, .cell = row_cell, .title = "Row"},
	{"start_ns", NULL, ST_INTEGER, .cell = start_cell, .title = "Start Time", .unit = "ns"},
	{"parent", NULL, ST_INTEGER, .cell = parent_cell, .title = "Parent Row"},
	{"operator_scope", NULL, ST_TEXT, .cell = key_cell, .arg = ST_BY_OPERATOR_SCOPE,
	 .title = "Operator Scope"},
	{"sequence", NULL, ST_INTEGER, .cell = sequence_cell, .title = "Sequence"},
	{"input_shapes", NULL, ST_TEXT, .cell = key_cell, .arg = ST_BY_INPUT_SHAPES,
	 .title = "Input Shapes"},
	{"input_types", NULL, ST_TEXT, .cell = key_cell, .arg = ST_BY_INPUT_TYPES,
	 .title = "Input Types"},
	{"self_allocated_bytes", NULL, ST_INTEGER, .cell = memory_cell, .arg = 0,
	 .title = "Allocated:Self", .unit = "bytes"},
	{"self_freed_bytes", NULL, ST_INTEGER, .cell = memory_cell, .arg = 1, .title = "Freed:Self",
	 .unit = "bytes"},
	{"process", NULL, ST_TEXT, .cell = key_cell, .arg = ST_BY_PROCESS, .title = "Process"},
	{"thread", NULL, ST_TEXT, .cell = key_cell, .arg = ST_BY_THREAD, .title = "Thread"},
};
static const struct st_table instance_table = {.name = "operators", ST_COLUMNS(instance_columns)};

/* One row each: "-group-by instance". */
static enum st_status build_instances(struct job *job, struct st_question *question,
				      struct st_error *err)
{
	static const char *const titles[ST_METRICS] = {
		[ST_WALL_TOTAL] = "Total Time", [ST_WALL_SELF] = "Self Time"};
	const struct st_report_instances instances = {
		.question = question,
		.table = &instance_table,
		.rows = job,
		.titles = titles,
	};
	struct st_answer answer;
	enum st_status status;

	question->metrics = ST_SET(ST_WALL_TOTAL, ST_WALL_SELF);
	status = st_dataset_ask(job->dataset, question, &answer, err);
	if (status)
		return status;
	st_report_from_instances(job->report, &answer, &instances);
	if (job->report->columns)
		job->report->columns[question->grouping_count - 1].title = "Operator";
	return ST_OK;
}

/* Of a program with very many different inputs, or whose operators outlived a pause. What is known by its ITT task, and
 * primitives that stand in for operators, never have more than a name. */
static uint32_t count_unknown(const struct st_operator_rows *rows)
{
	uint32_t count = 0;

	for (uint32_t row = 0; row < rows->count; row++)
		count += rows->kind_of[rows->label[row]] == ST_LABEL_OPERATOR &&
			 rows->signature[row] == rows->signature_count;
	return count;
}

static void add_notes(struct job *job)
{
	struct st_arena *arena = st_report_arena(job->report);
	const char **notes = st_arena_calloc(arena, 3, sizeof(*notes));
	uint32_t unknown = count_unknown(job->rows), count = 0;

	if (!notes)
		return;
	if (job->rows->outside_bytes)
		notes[count++] = st_arena_printf(
			arena,
			"%llu bytes were allocated outside operators; not counted in any row",
			(unsigned long long)job->rows->outside_bytes);
	if (job->rows->device_outside_ns)
		notes[count++] = st_arena_printf(arena,
						 "%.3f ms of device time were launched outside "
						 "operators: in no row, but the percentages "
						 "count it",
						 (double)job->rows->device_outside_ns / 1e6);
	if (unknown)
		notes[count++] =
			st_arena_printf(arena,
					"%u operators are known by name only: started in a pause, "
					"or beyond the limit of 32,768 different ones per process",
					unknown);
	job->report->notes = notes;
	job->report->note_count = arena->failed ? 0 : count;
}

static enum st_status build(struct job *job, const struct st_question *asked, struct st_error *err)
{
	struct st_question question = *asked;
	bool single;

	if (!question.grouping_count) {
		question.groupings[0] = ST_BY_OPERATOR;
		question.grouping_count = 1;
	}
	single = question.groupings[question.grouping_count - 1] == ST_BY_INSTANCE;
	if (single && is_ranked(&question))
		return st_metric_refuse(question.sort[0], ST_SET(ST_WALL_TOTAL, ST_WALL_SELF), err);
	if (!question.sort_count && !single) {
		question.sort[0] = ST_WALL_SELF;
		question.sort_count = 1;
	}
	return single ? build_instances(job, &question, err) : build_groups(job, &question, err);
}

/* Single rows show what inputs and scopes there are. */
static enum st_status prepare(struct st_dataset *dataset, const struct st_question *asked,
			      struct st_error *err)
{
	enum st_status status = st_dataset_prepare(dataset, asked, err);
	struct st_question more = {
		.groupings = {ST_BY_OPERATOR_SCOPE, ST_BY_INPUT_SHAPES, ST_BY_INPUT_TYPES},
		.grouping_count = 1};
	unsigned int count = asked->grouping_count;

	if (status || !count || asked->groupings[count - 1] != ST_BY_INSTANCE)
		return status;
	if (st_set_has(dataset->answers, ST_BY_INPUT_SHAPES))
		more.grouping_count = 3;
	return st_dataset_prepare(dataset, &more, err);
}

enum st_status st_report_operators_build(const struct st_report_kind *kind,
					 const struct st_result *result,
					 const struct st_report_options *options,
					 struct st_report *out, struct st_error *err)
{
	struct st_dataset dataset;
	struct job job = {.result = result, .dataset = &dataset, .report = out};
	uint32_t moments;
	enum st_status status =
		st_dataset_operators_init(&dataset, result, options->torch_folding, err);

	(void)kind;
	if (!status) {
		job.rows = st_dataset_operators(&dataset);
		st_result_memory(result, &moments);
		job.has_memory = moments;
		status = prepare(&dataset, &options->question, err);
		if (!status && !st_operators_add_measures(&dataset))
			status = st_error_set(err, ST_ENOMEM, 0, "out of memory for operators");
		if (!status)
			status = build(&job, &options->question, err);
		if (!status) {
			add_notes(&job);
			out->name_width = NAME_WIDTH;
			out->subject = st_operators_source(result, &dataset, st_report_arena(out));
			out->empty = dataset.row_count ? "No operators match."
						       : st_operators_empty(result);
			st_dataset_hand_over(&dataset, st_report_arena(out));
		}
		st_dataset_operators_fini(&dataset);
	}
	return status;
}
