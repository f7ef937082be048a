// SPDX-License-Identifier: Apache-2.0
//
// How a report of report_rows.h is made, whatever its rows are; and report "tasks", which needs nothing more.
#include "analyze/reports/report_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/samples/sample_waits.h"
#include "analyze/samples/wait_keys.h"
#include "analyze/steps/critical_path.h"
#include "analyze/tables/table.h"
#include "base/buf.h"
#include "store/events.h"

struct st_cell st_rows_text(struct st_rows_job *job, st_string_id text)
{
	if (!text)
		return (struct st_cell){.kind = ST_CELL_NONE};
	return st_cell_bytes(st_result_text(job->result, text));
}

/* "Marker" says more than "Instance": the heading tells what the texts are. The key stays the grouping's. */
static void name_instances(struct st_rows_job *job, const struct st_question *question)
{
	const struct st_grouping_info *info = st_grouping_info(job->dataset->named_by);

	if (job->dataset->instance != ST_BY_INSTANCE ||
	    st_question_groups_by(question, info->key) || !job->report->columns)
		return;
	job->report->columns[question->grouping_count - 1].title = info->title;
}

/* Of one instance the whole distribution is one number; groups around instances count them. */
static struct st_set metrics_of_instances(const struct st_rows_report *kind,
					  const struct st_question *question)
{
	struct st_set wanted = st_set_of(kind->instance_metrics);

	if (!kind->of_slices)
		return wanted;
	if (question->grouping_count > 1)
		wanted = st_set_join(wanted, ST_SET(ST_COUNT, ST_COPIES, ST_THREADS));
	return st_set_common(question->metrics, wanted);
}

static enum st_status build_instances(const struct st_rows_report *kind, struct st_rows_job *job,
				      struct st_question *question, struct st_error *err)
{
	struct st_tables tables;
	const char *titles[ST_METRICS];
	const int64_t range_ns[2] = {question->time_begin_ns, question->time_end_ns};
	struct st_report_instances instances = {
		.question = question,
		.table = kind->of_slices ? &st_slices_table : &st_row_tables[kind->set],
		.tables = &tables,
		.rows = job->dataset,
		.keys = kind->keys,
		.titles = titles,
	};
	struct st_answer answer;
	enum st_status status;

	if (!st_tables_init(&tables, job->result, job->arena))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	tables.range_ns = question->has_time_range ? range_ns : NULL;
	if (kind->of_slices)
		instances.rows = st_result_slices(job->result);
	memcpy(titles, kind->titles, sizeof(titles));
	if (kind->instance_time)
		titles[ST_WALL_TOTAL] = kind->instance_time;
	question->metrics = metrics_of_instances(kind, question);
	status = st_dataset_ask(job->dataset, question, &answer, err);
	if (status)
		return status;
	job->answer = st_report_answer(job->report);
	st_report_from_instances(job->report, &answer, &instances);
	name_instances(job, question);
	return ST_OK;
}

/* The second level of the default as a column of the first: nearly always one value, else all of them. */
static struct st_cell join_second(struct st_rows_job *job, const struct st_answer_row *row)
{
	const struct st_answer_row *children = &job->answer->rows[row->first_child];
	struct st_buf joined;

	if (row->is_others || !row->child_count)
		return (struct st_cell){.kind = ST_CELL_NONE};
	if (row->child_count == 1)
		return st_cell_bytes(children[0].text);
	st_buf_init(&joined, 1 << 20);
	for (uint32_t i = 0; i < row->child_count; i++) {
		st_buf_append_text(&joined, i ? ", " : "");
		if (children[i].is_others)
			st_buf_append_text(&joined, "…");
		else
			st_buf_append(&joined, children[i].text.bytes, children[i].text.size_bytes);
	}
	return st_report_buf(job->report, &joined);
}

/* Figures of the report's own: a row counts for its group and for those around it. */
static void add_figures(const struct st_rows_report *kind, struct st_rows_job *job,
			uint32_t first_column)
{
	struct st_report *out = job->report;
	size_t size = kind->figures_bytes;
	char *figures = calloc((size_t)out->row_count + 1, size + 1);

	if (!figures)
		job->arena->failed = true;
	for (uint32_t row = 0; kind->add && figures && row < job->dataset->row_count; row++) {
		uint32_t at = job->answer->row_of[row];

		/* The inner level of the default is shown as a column: its rows are not in the report. */
		for (; at != ST_NO_ROW; at = job->answer->rows[at].parent)
			if (at < out->row_count)
				kind->add(job, figures + at * size, row);
	}
	for (uint32_t i = 0; figures && i < out->row_count; i++)
		kind->cells(job, out->rows[i].cells + first_column, figures + i * size,
			    &job->answer->rows[i]);
	if (kind->has_totals)
		kind->cells(job, out->totals.cells + first_column, NULL, &job->answer->total);
	free(figures);
}

static enum st_status build_groups(const struct st_rows_report *kind, struct st_rows_job *job,
				   struct st_question *question, bool joins, struct st_error *err)
{
	struct st_question shown = *question;
	struct st_column columns[ST_REPORT_COLUMNS_MAX];
	struct st_report_layout layout = {.question = &shown,
					  .extra = columns,
					  .titles = kind->titles,
					  .first = kind->metrics};
	struct st_report *out = job->report;
	struct st_answer answer;
	enum st_status status;

	question->wants_row_of = kind->add;
	status = st_dataset_ask(job->dataset, question, &answer, err);
	if (status)
		return status;
	if (joins) {
		const struct st_grouping_info *second = st_grouping_info(question->groupings[1]);

		shown.grouping_count = 1;
		columns[layout.extra_count++] =
			(struct st_column){second->key, second->title, "", true};
		answer.row_count = answer.root_count; /* the second level is no row of its own */
		layout.front_count = 1;
	}
	for (uint32_t i = 0; i < kind->group_column_count; i++)
		columns[layout.extra_count++] = kind->group_columns[i];
	st_report_from_answer(out, &answer, &layout);
	job->answer = st_report_answer(out);
	for (uint32_t i = 0; joins && i < out->row_count && !job->arena->failed; i++) {
		out->rows[i].child_count = 0;
		out->rows[i].cells[1] = join_second(job, &job->answer->rows[i]);
	}
	if (kind->cells && out->totals.cells && !job->arena->failed)
		add_figures(kind, job, st_report_behind_index(&layout));
	return ST_OK;
}

static const char *empty_words(const struct st_report_kind *kind, const struct st_dataset *dataset,
			       struct st_arena *arena)
{
	/* Only waits are counted of a set that has holds and events beside them; all rows count here. */
	if (!dataset->row_count)
		return kind->rows->empty;
	return st_arena_printf(arena, "No %s match.",
			       kind->rows->rows_name ? kind->rows->rows_name : kind->name);
}

/* Sorting by a figure that the rows do not have would change nothing, or something nobody sees. */
static enum st_status check_sort(const struct st_question *question, struct st_set metrics,
				 struct st_error *err)
{
	for (unsigned int i = 0; i < question->sort_count; i++) {
		if (!st_set_has(metrics, question->sort[i]))
			return st_metric_refuse(question->sort[i], metrics, err);
	}
	return ST_OK;
}

static enum st_status build(const struct st_rows_report *kind, struct st_rows_job *job,
			    const struct st_question *asked, struct st_error *err)
{
	struct st_question question = *asked;
	bool by_default = !question.grouping_count;
	enum st_status status;
	unsigned int last;

	if (by_default) {
		memcpy(question.groupings, kind->defaults, sizeof(kind->defaults));
		question.grouping_count = kind->default_count;
	}
	if (st_set_is_empty(question.metrics))
		question.metrics = st_set_of(kind->metrics);
	/* A column of zeros would only take room. */
	if (!st_result_quality(job->result)->copies) {
		st_set_remove(&question.metrics, ST_COPIES);
		st_set_remove(&question.metrics, ST_THREADS);
	}
	last = question.grouping_count - 1;
	if (question.groupings[last] == job->dataset->instance) {
		status = kind->of_slices
				 ? ST_OK
				 : check_sort(&question, st_set_of(kind->instance_metrics), err);
		return status ? status : build_instances(kind, job, &question, err);
	}
	status = check_sort(&question, st_set_of(kind->metrics), err);
	if (status)
		return status;
	if (kind->sorted_by && !question.sort_count)
		question.sort[question.sort_count++] = kind->sorted_by;
	return build_groups(kind, job, &question, by_default && kind->joins_second, err);
}

static enum st_status fill(const struct st_report_kind *kind, struct st_rows_job *job,
			   struct st_dataset *dataset, const struct st_report_options *options,
			   struct st_error *err)
{
	enum st_status status = st_dataset_prepare(dataset, &options->question, err);

	job->dataset = dataset;
	if (!status)
		status = build(kind->rows, job, &options->question, err);
	if (!status) {
		job->report->empty = empty_words(kind, dataset, job->arena);
		st_dataset_hand_over(dataset, job->arena);
	}
	job->dataset = NULL; /* the caller's, and soon gone */
	return status;
}

/* Waits that were recorded have stacks. */
static enum st_status fill_waits(const struct st_report_kind *kind, struct st_rows_job *job,
				 const struct st_report_options *options, struct st_error *err)
{
	struct st_sample_set set;
	enum st_status status = st_sample_set_open(&set, job->result, &options->view, err);

	if (status)
		return status;
	st_wait_keys_offer(&set);
	status = fill(kind, job, &set.waits, options, err);
	st_sample_set_close(&set);
	return status;
}

/* Where rows of sums lie in time means nothing: a part of the time has others. */
static enum st_status open_dataset(struct st_dataset *out, const struct st_rows_report *rows,
				   const struct st_result *result,
				   const struct st_question *question, struct st_error *err)
{
	const int64_t range_ns[2] = {question->time_begin_ns, question->time_end_ns};

	if (rows->of_slices)
		return st_dataset_slices_init(out, result, err);
	if (rows->set == ST_ROWS_PATH)
		return st_dataset_path_init(out, result, err);
	if (rows->set == ST_ROWS_THREAD_TIME && question->has_time_range)
		return st_dataset_thread_time_open(out, result, range_ns, err);
	return st_dataset_rows_init(out, result, rows->set, err);
}

enum st_status st_report_rows_build(const struct st_report_kind *kind,
				    const struct st_result *result,
				    const struct st_report_options *options, struct st_report *out,
				    struct st_error *err)
{
	struct st_dataset dataset;
	struct st_rows_job job = {.result = result, .report = out, .arena = st_report_arena(out)};
	enum st_status status;

	if (!kind->rows->of_slices && kind->rows->set == ST_ROWS_SYNC &&
	    st_sample_has_waits(result))
		return fill_waits(kind, &job, options, err);
	status = open_dataset(&dataset, kind->rows, result, &options->question, err);
	if (status)
		return status;
	if (!kind->rows->of_slices && kind->rows->set == ST_ROWS_SYNC && !dataset.row_count)
		dataset.answers = st_set_join(dataset.answers, st_wait_keys(result));
	status = fill(kind, &job, &dataset, options, err);
	if (kind->rows->of_slices)
		st_dataset_slices_fini(&dataset);
	else
		st_dataset_rows_fini(&dataset);
	return status;
}

static const char *const task_keys[] = {
	"row",		"start_ns", "depth",  "parent", "parent_task",
	"shown_domain", "process",  "thread", "flags",	NULL};

const struct st_rows_report st_tasks_report = {
	.of_slices = true,
	.defaults = {ST_BY_TASK_TYPE, ST_BY_TASK_DOMAIN},
	.default_count = 2,
	.joins_second = true,
	.metrics = ST_LIST(ST_COUNT, ST_THREADS, ST_WALL_TOTAL, ST_WALL_SELF, ST_WALL_MIN,
			   ST_WALL_AVG, ST_WALL_MEDIAN, ST_WALL_P95, ST_WALL_P99, ST_WALL_MAX,
			   ST_WALL_STDDEV, ST_COPIES),
	.instance_metrics = ST_LIST(ST_WALL_TOTAL, ST_WALL_SELF),
	.keys = task_keys,
};
