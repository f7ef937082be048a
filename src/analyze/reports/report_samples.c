// SPDX-License-Identifier: Apache-2.0
//
// Reports "hotspots", "callstacks" and "top-down" of samples: where the CPU time went.
#include "analyze/reports/report_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/tables/report_make.h"
#include "analyze/reports/report_samples.h"
#include "analyze/reports/sample_tasks.h"
#include "analyze/samples/sample_waits.h"
#include "analyze/steps/step_list.h"
#include "store/result.h"

enum { EXTRA_MAX = 16 };

/* What a report shows beside groupings and metrics. */
enum extra {
	EXTRA_DEPTH,
	EXTRA_MODULE,
	EXTRA_FULL,
	EXTRA_SOURCE,
	EXTRA_ADDRESS,
	EXTRA_TASK_ROW,
	EXTRA_TASK_START,
	EXTRA_TASK_TIME,
	EXTRA_TASK_COUNT,
	EXTRA_UTILIZATION,
};

static const struct st_column extra_columns[] = {
	[EXTRA_DEPTH] = {"depth", "Depth", "", false},
	[EXTRA_MODULE] = {"module", "Module", "", true},
	[EXTRA_FULL] = {"function_full", "Function (Full)", "", true},
	[EXTRA_SOURCE] = {"source_file", "Source File", "", true},
	[EXTRA_ADDRESS] = {"start_address", "Start Address", "", true},
	[EXTRA_TASK_ROW] = {"row", "Row", "", false},
	[EXTRA_TASK_START] = {"start_ns", "Start Time", "ns", false},
	[EXTRA_TASK_TIME] = {"wall_total_ns", "Task Time", "ns", false},
	[EXTRA_TASK_COUNT] = {"count", "Task Count", "", false},
	[EXTRA_UTILIZATION] = {"cpu_utilization_ratio", "CPU Utilization", "ratio", false},
};

struct job {
	struct st_sample_set set;
	struct st_question question;
	struct st_report *report;
	struct st_column columns[EXTRA_MAX];
	enum extra extras[EXTRA_MAX];
	struct st_report_layout layout;
	const struct st_answer *answer;
	struct st_task_figures *figures;
};

static bool groups_by(const struct st_question *question, enum st_grouping grouping)
{
	for (unsigned int i = 0; i < question->grouping_count; i++)
		if (question->groupings[i] == grouping)
			return true;
	return false;
}

static void add_extra(struct job *job, enum extra extra)
{
	const char *key = extra_columns[extra].key;

	for (unsigned int i = 0; i < job->question.grouping_count; i++)
		if (strcmp(st_grouping_info(job->question.groupings[i])->key, key) == 0)
			return; /* a column of the grouping says it already */
	job->extras[job->layout.extra_count] = extra;
	job->columns[job->layout.extra_count++] = extra_columns[extra];
}

static void choose_extras(struct job *job)
{
	const struct st_question *question = &job->question;
	bool functions = groups_by(question, ST_BY_FUNCTION) ||
			 groups_by(question, ST_BY_FUNCTION_MANGLED) ||
			 groups_by(question, ST_BY_PYTHON_FUNCTION) ||
			 groups_by(question, ST_BY_CALLSTACK) ||
			 groups_by(question, ST_BY_FUNCTION_STACK);
	bool tasks = false;

	if (groups_by(question, ST_BY_CALLSTACK) || groups_by(question, ST_BY_FUNCTION_STACK)) {
		add_extra(job, EXTRA_DEPTH);
		job->layout.front_count = 1;
	}
	for (unsigned int i = 0; i < question->grouping_count; i++)
		tasks = tasks || st_grouping_has_task_figures(question->groupings[i]);
	if (groups_by(question, ST_BY_TASK)) {
		add_extra(job, EXTRA_TASK_ROW);
		add_extra(job, EXTRA_TASK_START);
	}
	if (tasks) {
		add_extra(job, EXTRA_TASK_TIME);
		add_extra(job, EXTRA_TASK_COUNT);
		add_extra(job, EXTRA_UTILIZATION);
	}
	if (functions) {
		add_extra(job, EXTRA_MODULE);
		add_extra(job, EXTRA_FULL);
		add_extra(job, EXTRA_SOURCE);
		add_extra(job, EXTRA_ADDRESS);
	}
}

static struct st_cell copied(struct job *job, struct st_text text)
{
	char *bytes;

	if (!text.size_bytes)
		return (struct st_cell){.kind = ST_CELL_NONE};
	bytes = st_arena_copy(st_report_arena(job->report), text.bytes, text.size_bytes);
	return st_cell_bytes((struct st_text){bytes ? bytes : "", bytes ? text.size_bytes : 0});
}

static const struct st_named_function *function_of(const struct job *job,
						   const struct st_answer_row *row)
{
	enum st_grouping grouping = row->grouping;

	if (grouping == ST_BY_CALLSTACK || grouping == ST_BY_FUNCTION_STACK)
		grouping = ST_BY_FUNCTION;
	if (row->is_others || row->slice == ST_NO_ROW ||
	    (grouping != ST_BY_FUNCTION && grouping != ST_BY_FUNCTION_MANGLED &&
	     grouping != ST_BY_PYTHON_FUNCTION))
		return NULL;
	return &job->set.named->functions[job->set.keys[grouping].function[row->slice]];
}

static struct st_cell function_cell(struct job *job, const struct st_answer_row *row,
				    enum extra extra)
{
	const struct st_named_function *function = function_of(job, row);

	if (!function)
		return (struct st_cell){.kind = ST_CELL_NONE};
	switch (extra) {
	case EXTRA_MODULE:
		return copied(job, job->set.named->modules[function->module].name);
	case EXTRA_FULL:
		return copied(job, function->full);
	case EXTRA_SOURCE:
		return copied(job, job->set.named->sources[function->source]);
	default:
		if (!function->start)
			return (struct st_cell){.kind = ST_CELL_NONE};
		return st_cell_text(st_arena_printf(st_report_arena(job->report), "0x%llx",
						    (unsigned long long)function->start));
	}
}

static uint32_t cpu_count(const struct st_result *result)
{
	uint32_t count = st_result_info(result)->cpu_count;

	return count ? count : 1;
}

static struct st_cell task_cell(struct job *job, uint32_t index, enum extra extra)
{
	const struct st_answer_row *row = &job->answer->rows[index];
	const struct st_task_figures *figures = &job->figures[index];
	double wall = (double)figures->wall_ns * cpu_count(job->set.result);

	if (!figures->known)
		return (struct st_cell){.kind = ST_CELL_NONE};
	switch (extra) {
	case EXTRA_TASK_ROW:
		return figures->start_ns >= 0 ? st_cell_u64(row->slice)
					      : (struct st_cell){.kind = ST_CELL_NONE};
	case EXTRA_TASK_START:
		return figures->start_ns >= 0 ? st_cell_i64(figures->start_ns)
					      : (struct st_cell){.kind = ST_CELL_NONE};
	case EXTRA_TASK_TIME:
		return st_cell_u64(figures->wall_ns);
	case EXTRA_TASK_COUNT:
		return st_cell_u64(figures->count);
	default:
		if (wall <= 0 || job->set.view.show_as == ST_SHOW_SAMPLES)
			return (struct st_cell){.kind = ST_CELL_NONE};
		return st_cell_double((double)st_answer_value(row, ST_CPU_TOTAL_EFFECTIVE) / wall);
	}
}

static void fill_extras(struct job *job)
{
	struct st_report *report = job->report;

	for (uint32_t i = 0; i < report->row_count && !st_report_arena(report)->failed; i++) {
		const struct st_answer_row *row = &job->answer->rows[i];
		uint32_t front = job->question.grouping_count;
		uint32_t behind = st_report_behind_index(&job->layout) - job->layout.front_count;

		for (uint32_t j = 0; j < job->layout.extra_count; j++) {
			uint32_t at = (j < job->layout.front_count ? front : behind) + j;
			enum extra extra = job->extras[j];

			if (extra == EXTRA_DEPTH)
				report->rows[i].cells[at] = st_cell_u64(report->rows[i].level);
			else if (extra >= EXTRA_TASK_ROW)
				report->rows[i].cells[at] = task_cell(job, i, extra);
			else
				report->rows[i].cells[at] = function_cell(job, row, extra);
		}
	}
}

/* The column of a metric, or the number of columns. */
static uint32_t column_of(const struct st_report *report, enum st_metric metric)
{
	uint32_t at = 0;

	while (at < report->column_count &&
	       strcmp(report->columns[at].key, st_metric_info(metric)->key) != 0)
		at++;
	return at;
}

/* Totals of callers would count what was counted below: their figure is the self time that came through them. */
static void clear_callers(struct job *job)
{
	uint32_t at = column_of(job->report, ST_CPU_TOTAL);

	if (at == job->report->column_count || st_report_arena(job->report)->failed)
		return;
	for (uint32_t i = 0; i < job->report->row_count; i++)
		if (job->answer->rows[i].grouping == ST_BY_CALLSTACK)
			job->report->rows[i].cells[at] = (struct st_cell){.kind = ST_CELL_NONE};
}

static void move_cell(struct st_cell *cells, uint32_t from, uint32_t to)
{
	struct st_cell held = cells[from];

	memmove(cells + to + 1, cells + to, (from - to) * sizeof(*cells));
	cells[to] = held;
}

/* In a tree of calls the total comes first. */
static void put_total_first(struct job *job)
{
	struct st_report *report = job->report;
	uint32_t to = job->question.grouping_count + job->layout.front_count;
	uint32_t from = column_of(report, ST_CPU_TOTAL);
	struct st_column held;

	if (from >= report->column_count || st_report_arena(report)->failed)
		return;
	held = report->columns[from];
	memmove(report->columns + to + 1, report->columns + to, (from - to) * sizeof(held));
	report->columns[to] = held;
	for (uint32_t i = 0; i < report->row_count; i++)
		move_cell(report->rows[i].cells, from, to);
	move_cell(report->totals.cells, from, to);
}

struct st_set st_sample_metrics(const struct st_result *result)
{
	struct st_set all = st_set_range(ST_WALL_METRICS, ST_FIGURES);
	const struct st_samples *samples = st_result_samples(result);
	bool waits = st_sample_has_waits(result), inherits = false;
	bool ready = st_sample_has_preempted(result);

	for (uint32_t i = 0; i < samples->count && !(waits && inherits && ready); i++) {
		waits = waits || samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE);
		ready = ready || samples->flags[i] & ST_SAMPLE_RUNNABLE;
		inherits = inherits ||
			   (samples->slice[i] == ST_NO_ROW && samples->inherited[i] != ST_NO_ROW);
	}
	/* Columns of zeros would only take room. */
	if (!waits)
		st_set_remove(&all, ST_WAIT);
	if (!inherits)
		st_set_remove(&all, ST_CPU_INHERITED);
	if (!ready)
		st_set_remove(&all, ST_PREEMPTED);
	if (!st_sample_has_waits(result))
		for (enum st_metric i = ST_WAIT_ALL; i <= ST_IDLE_WAIT; i++)
			st_set_remove(&all, i);
	return all;
}

static enum st_status check_sort(struct st_question *question, struct st_error *err)
{
	struct st_set offered = st_set_range(ST_WALL_METRICS, ST_FIGURES);

	for (unsigned int i = 0; i < question->sort_count; i++) {
		if (question->sort_is_plain[i])
			question->sort[i] =
				question->sort[i] == ST_WALL_TOTAL ? ST_CPU_TOTAL : ST_CPU_SELF;
		if (!st_set_has(offered, question->sort[i]))
			return st_metric_refuse(question->sort[i], offered, err);
	}
	return ST_OK;
}

/* What comes first where waits are what it is about. */
static const uint8_t wait_metrics[] = {ST_WAIT,	     ST_WAIT_COUNT, ST_SYNC_WAIT,
				       ST_IDLE_WAIT, ST_PREEMPTED,  ST_LIST_END};

/* Titles of a tree of calls, where self and total stand side by side. */
static const char *const tree_titles[ST_METRICS] = {[ST_CPU_SELF] = "CPU Time:Self"};

/* From the first step that is no warm-up to the end of the last; of a program without, all of it. */
static void range_of_steps(const struct st_step_list *list, int64_t *begin_ns, int64_t *end_ns)
{
	bool any = false;

	*begin_ns = INT64_MIN;
	*end_ns = INT64_MAX;
	for (uint32_t i = 0; i < list->count && list->source != ST_STEPS_PATTERN; i++) {
		const struct st_one_step *step = &list->steps[i];

		if (step->is_warm_up)
			continue;
		*begin_ns = !any || step->begin_ns < *begin_ns ? step->begin_ns : *begin_ns;
		*end_ns = !any || step->end_ns > *end_ns ? step->end_ns : *end_ns;
		any = true;
	}
}

static uint64_t cpu_outside(const struct st_samples *samples, int64_t begin_ns, int64_t end_ns,
			    uint64_t *all_ns)
{
	uint64_t outside_ns = 0;

	*all_ns = 0;
	for (uint32_t i = 0; i < samples->count; i++) {
		if (samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
			continue;
		*all_ns += samples->weight_ns[i];
		if (samples->time_ns[i] <= begin_ns || samples->time_ns[i] > end_ns)
			outside_ns += samples->weight_ns[i];
	}
	return outside_ns;
}

/* In a tree of the whole run what it does once, as importing, may stand before what every step does. */
static enum st_status tell_start_up(struct job *job, struct st_error *err)
{
	struct st_step_list list;
	uint64_t outside_ns, all_ns;
	int64_t begin_ns, end_ns;
	enum st_status status;

	if (job->report->is_about_waits || job->question.filter_count ||
	    job->question.has_time_range || !job->set.slices.row_count)
		return ST_OK;
	status = st_step_list_make(&list, &job->set.slices, job->set.result, err);
	if (status)
		return status;
	range_of_steps(&list, &begin_ns, &end_ns);
	outside_ns = cpu_outside(job->set.samples, begin_ns, end_ns, &all_ns);
	if (outside_ns > all_ns / 10)
		job->report->subject = st_arena_printf(
			st_report_arena(job->report),
			"%.0f %% of it is before the steps, in warm-up or after the last step; the "
			"steps alone: -time-filter %.3f:%.3f",
			100.0 * (double)outside_ns / (double)all_ns, (double)begin_ns / 1e9,
			(double)end_ns / 1e9);
	st_step_list_fini(&list);
	return ST_OK;
}

static enum st_status build(struct job *job, struct st_error *err)
{
	struct st_answer answer;
	enum st_status status = st_sample_ask(&job->set, &job->question, &answer, err);

	if (status)
		return status;
	choose_extras(job);
	job->layout.question = &job->question;
	job->layout.extra = job->columns;
	job->report->hides_zeros = true;
	if (groups_by(&job->question, ST_BY_FUNCTION_STACK))
		job->layout.titles = tree_titles;
	job->figures = st_task_figures_make(&job->set, &job->question, &answer);
	if (!job->figures) {
		st_answer_fini(&answer);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	}
	st_report_from_answer(job->report, &answer, &job->layout);
	job->answer = st_report_answer(job->report);
	fill_extras(job);
	clear_callers(job);
	if (groups_by(&job->question, ST_BY_FUNCTION_STACK))
		put_total_first(job);
	if (groups_by(&job->question, ST_BY_FUNCTION_STACK) ||
	    groups_by(&job->question, ST_BY_CALLSTACK)) {
		job->report->layout = ST_LAYOUT_TREE;
		job->report->folds_glue = job->set.view.folds_glue;
		return tell_start_up(job, err);
	}
	return ST_OK;
}

/* Where only Python is shown its frames must be there to be counted, also when stacks are to hide them. */
static struct st_sample_view view_of(const struct st_sample_view *view,
				     const struct st_question *question)
{
	struct st_sample_view chosen = *view;
	bool python = false, native = false;

	for (unsigned int i = 0; i < question->grouping_count; i++) {
		enum st_grouping grouping = question->groupings[i];
		bool is_python = st_grouping_is_python(grouping);

		python = python || is_python;
		native = native || grouping == ST_BY_CALLSTACK ||
			 grouping == ST_BY_FUNCTION_STACK ||
			 (st_grouping_is_frame(grouping) && !is_python);
	}
	if (python && !native && chosen.python_frames == ST_PYTHON_NONE)
		chosen.python_frames = ST_PYTHON_MIXED;
	return chosen;
}

enum st_status st_report_samples_build(const struct st_report_kind *kind,
				       const struct st_result *result,
				       const struct st_report_options *options,
				       struct st_report *out, struct st_error *err)
{
	struct job job = {.question = options->question, .report = out};
	struct st_sample_view view;
	enum st_status status = st_report_default(kind, &job.question, err);

	if (!status)
		status = check_sort(&job.question, err);
	if (status)
		return status;
	if (st_set_is_empty(job.question.metrics))
		job.question.metrics = st_sample_metrics(result);
	if (kind->is_about_waits && !job.question.sort_count)
		job.question.sort[job.question.sort_count++] = ST_WAIT;
	if (kind->is_about_waits) {
		job.layout.first = wait_metrics;
		out->is_about_waits = true;
	}
	view = view_of(&options->view, &job.question);
	status = st_sample_set_open(&job.set, result, &view, err);
	if (!status) {
		status = build(&job, err);
		free(job.figures);
		st_report_add_notes(out, &job.set);
		st_sample_set_close(&job.set);
	}
	out->empty = st_sample_absence(result);
	if (!status)
		st_report_show_as(out, options->view.show_as, 0);
	return status;
}
