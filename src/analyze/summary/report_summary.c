// SPDX-License-Identifier: Apache-2.0
//
// Report "summary": what a person should see first. Holds more rows than fit on one screen; the text
// writer chooses.
#include "analyze/summary/report_summary.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/reports/report_python_calls.h"
#include "analyze/datasets/quality.h"
#include "analyze/findings/recording_cost.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/tables/report_make.h"
#include "analyze/steps/step_list.h"
#include "analyze/steps/steps.h"
#include "analyze/datasets/words.h"
#include "base/buf.h"
#include "base/quote.h"
#include "store/events.h"
#include "store/operators.h"
#include "store/result.h"
#include "store/samples.h"
#include "format/analysis.h"

enum {
	TASKS_SHOWN = 8,
	PLACES_SHOWN = 16,
	TYPES_UNFOLDED = 20,
};

static const struct st_column columns[ST_SUMMARY_COLUMNS] = {
	[ST_SUMMARY_SECTION] = {"section", "Section", "", true},
	[ST_SUMMARY_NAME] = {"name", "Name", "", true},
	[ST_SUMMARY_VALUE] = {"value", "Value", "", false},
	[ST_SUMMARY_COUNT] = {"count", "Task Count", "", false},
	[ST_SUMMARY_TOTAL] = {"wall_total_ns", "Task Time", "ns", false},
	[ST_SUMMARY_SELF] = {"wall_self_ns", "Task Time:Self", "ns", false},
	[ST_SUMMARY_MEDIAN] = {"wall_median_ns", "Median", "ns", false},
	[ST_SUMMARY_P95] = {"wall_p95_ns", "P95", "ns", false},
	[ST_SUMMARY_P99] = {"wall_p99_ns", "P99", "ns", false},
	[ST_SUMMARY_RATIO] = {"share_ratio", "Share", "ratio", false},
	[ST_SUMMARY_PID] = {"pid", "PID", "", false},
	[ST_SUMMARY_COPIES] = {"copies", "Threads", "", false},
	[ST_SUMMARY_CPU_SELF] = {"cpu_self_ns", "CPU Time", "ns", false},
	[ST_SUMMARY_CPU_TOTAL] = {"cpu_total_ns", "CPU Time:Total", "ns", false},
	[ST_SUMMARY_CPU_INHERITED] = {"cpu_inherited_ns", "CPU Time:Inherited", "ns", false},
	[ST_SUMMARY_SPIN] = {"spin_ns", "CPU Time:Spin Time", "ns", false},
};

static void add_run(struct st_report *report, const struct st_result *result)
{
	const struct st_result_info *info = st_result_info(result);

	st_report_fact_text(report, "run", "type", info->type);
	st_report_fact_text(report, "run", "command", info->command);
	st_report_fact_number(report, "run", "elapsed_ns",
			      info->elapsed_ns > 0 ? (uint64_t)info->elapsed_ns : 0);
	if (info->has_exit)
		st_report_fact_text(
			report, "run", "end",
			st_words_wait_status(info->wait_status, st_report_arena(report)));
	st_report_fact_text(report, "run", "state", info->state);
	st_report_fact_text(report, "run", "result", info->name);
	st_report_fact_number(report, "run", "size_bytes", info->size_bytes);
	st_report_fact_text(report, "run", "source", info->source);
}

/* What the sampler's handler took, all processes. */
static uint64_t handler_ns(const struct st_result *result)
{
	uint32_t count;
	const struct st_sampler *samplers = st_result_samplers(result, &count);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += samplers[i].handler_ns;
	return sum;
}

/* Neither a range of the program nor the call of a module. */
static bool is_operator(const struct st_result *result, const struct st_operator *operator)
{
	uint32_t count;
	const struct st_signature *signatures = st_result_signatures(result, &count);

	return operator->signature<count &&
		signatures[operator->signature].scope != ST_SCOPE_USER &&
			   signatures[operator->signature].scope != ST_SCOPE_MODULE;
}

static uint64_t count_operators(const struct st_result *result)
{
	uint32_t count;
	const struct st_operator *operators = st_result_operators(result, &count);
	uint64_t found = 0;

	for (uint32_t i = 0; i < count; i++)
		found += is_operator(result, &operators[i]);
	return found;
}

static void add_cost(struct st_report *report, const struct st_result *result)
{
	const struct st_result_info *info = st_result_info(result);
	uint64_t copies = st_result_quality(result)->copies;
	/* One event costs about what one half of a pair does. */
	uint64_t pairs = st_result_slices(result)->count + st_result_events(result)->count / 2 +
			 st_quality_lost(result) + st_operator_extra_pairs(result);
	uint64_t cost_ns = (pairs + ST_PAIRS_A_CALL * st_python_calls_count(result)) *
			   info->event_cost_ns_x1000 / 1000;
	uint64_t elapsed_ns = info->elapsed_ns > 0 ? (uint64_t)info->elapsed_ns : 0;
	uint64_t handled_ns = handler_ns(result);
	uint64_t operators = count_operators(result);

	st_report_fact_number(report, "cost", "tasks",
			      st_result_slices(result)->count - copies -
				      st_result_quality(result)->twins);
	if (operators)
		st_report_fact_number(report, "cost", "operators", operators);
	if (copies)
		st_report_fact_number(report, "cost", "copies", copies);
	/* The handler's time is CPU time, so it is set against that. */
	if ((info->event_cost_ns_x1000 || handled_ns) && elapsed_ns) {
		st_report_fact_number(report, "cost", "estimate_ns", cost_ns + handled_ns);
		st_report_fact(report, "cost", "estimate_ratio")[ST_SUMMARY_VALUE] = st_cell_double(
			st_share(cost_ns, elapsed_ns) +
			st_share(handled_ns, st_result_sample_quality(result)->cpu_ns));
	}
	st_report_fact_number(report, "cost", "strata_cpu_ns", info->strata_cpu_ns);
	st_report_fact_number(report, "cost", "strata_peak_rss_bytes", info->peak_rss_bytes);
	st_report_fact_number(report, "cost", "lost", st_quality_lost(result));
	/* What was in them is not known. */
	if (st_result_quality(result)->chunks_not_written)
		st_report_fact_number(report, "cost", "chunks_not_written",
				      st_result_quality(result)->chunks_not_written);
}

/* Of a family of tasks in a program without operators: its direct children. */
static void add_named_steps(struct st_report *report, const struct st_steps *steps)
{
	struct st_cell *cells;

	if (!steps->found)
		return;
	cells = st_report_fact(report, "step", "");
	cells[ST_SUMMARY_NAME] = st_cell_bytes(steps->family.text);
	cells[ST_SUMMARY_COUNT] = st_cell_u64(steps->family.count);
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(steps->family.total_ns);
	cells[ST_SUMMARY_SELF] = st_cell_u64(steps->self_ns);
	cells[ST_SUMMARY_MEDIAN] = st_cell_u64(steps->family.median_ns);
	cells[ST_SUMMARY_P95] = st_cell_u64(steps->family.p95_ns);
	cells[ST_SUMMARY_P99] = st_cell_u64(steps->family.p99_ns);
	for (unsigned int i = 0; i < steps->part_count; i++) {
		const struct st_step_part *part = &steps->parts[i];

		cells = st_report_fact(report, "step_part", "");
		cells[ST_SUMMARY_NAME] = st_cell_bytes(part->text);
		cells[ST_SUMMARY_COUNT] = st_cell_u64(part->count);
		cells[ST_SUMMARY_TOTAL] = st_cell_u64(part->total_ns);
		cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(part->total_ns, steps->sum_ns));
	}
	if (!steps->part_count)
		return;
	if (steps->other_count) {
		cells = st_report_fact(report, "step_part", "[Other tasks]");
		cells[ST_SUMMARY_COUNT] = st_cell_u64(steps->other_count);
		cells[ST_SUMMARY_TOTAL] = st_cell_u64(steps->other_ns);
		cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(steps->other_ns, steps->sum_ns));
	}
	cells = st_report_fact(report, "step_part", "[No task inside]");
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(steps->self_ns);
	cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(steps->self_ns, steps->sum_ns));
}

/* Parts of a training step, which add up to it. */
static enum st_status add_listed_steps(struct st_report *report, const struct st_step_list *list,
				       struct st_error *err)
{
	struct st_arena *arena = st_report_arena(report);
	struct st_step_figures figures;
	struct st_cell *cells;
	enum st_status status = st_step_figures_make(list, &figures, err);

	if (status)
		return status;
	cells = st_report_fact(report, "step", "");
	cells[ST_SUMMARY_NAME] = st_report_text(report, list->what);
	cells[ST_SUMMARY_VALUE] = st_cell_text(st_step_source_text(list, arena));
	cells[ST_SUMMARY_COUNT] = st_cell_u64(figures.count);
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(figures.wall_ns);
	cells[ST_SUMMARY_MEDIAN] = st_cell_u64(figures.median_ns);
	cells[ST_SUMMARY_P95] = st_cell_u64(figures.p95_ns);
	cells[ST_SUMMARY_P99] = st_cell_u64(figures.p99_ns);
	st_report_fact(report, "step_warm_up", "left out")[ST_SUMMARY_COUNT] =
		st_cell_u64(list->warm_up_count);
	for (unsigned int i = 0; i < ST_STEP_PART_KINDS; i++) {
		cells = st_report_fact(report, "step_part", st_step_part_names[i]);
		cells[ST_SUMMARY_TOTAL] = st_cell_u64(figures.part_ns[i]);
		cells[ST_SUMMARY_RATIO] =
			st_cell_double(st_share(figures.part_ns[i], figures.wall_ns));
	}
	return ST_OK;
}

static enum st_status add_steps(struct st_report *report, const struct st_result *result,
				const struct st_dataset *dataset, struct st_error *err)
{
	struct st_step_list list = {0};
	struct st_steps named;
	enum st_status status = st_steps_find(&named, dataset, result, err);

	if (!status)
		status = st_step_list_make_of(&list, dataset, result, &named, err);
	if (status)
		return status;
	if (list.count && list.has_parts)
		status = add_listed_steps(report, &list, err);
	else
		add_named_steps(report, &named);
	st_step_list_fini(&list);
	return status;
}

static bool is_narrowed(const struct st_question *scope)
{
	return scope->filter_count || scope->has_time_range;
}

/* What the figures are of, when that is not the whole run. */
static void add_scope(struct st_report *report, const struct st_question *scope,
		      uint64_t elapsed_ns)
{
	struct st_arena *arena = st_report_arena(report);

	for (size_t i = 0; i < scope->filter_count; i++) {
		const struct st_filter *filter = &scope->filters[i];

		st_report_fact_text(report, "only", st_grouping_info(filter->grouping)->name,
				    st_arena_printf(arena, "%s%s%s",
						    st_grouping_info(filter->grouping)->name,
						    filter->negate ? "!=" : "=", filter->pattern));
	}
	if (scope->has_time_range) {
		int64_t end_ns = scope->time_end_ns;

		if (end_ns > (int64_t)elapsed_ns && scope->time_begin_ns < (int64_t)elapsed_ns)
			end_ns = (int64_t)elapsed_ns;
		st_report_fact_text(report, "only", "time",
				    st_arena_printf(arena, "from %.6f s to %.6f s",
						    (double)scope->time_begin_ns / 1e9,
						    (double)end_ns / 1e9));
	}
}

/* The part of the recorded time that the figures are of. */
static uint64_t scope_ns(const struct st_question *scope, uint64_t collected_ns)
{
	int64_t end_ns = (int64_t)collected_ns;

	if (!scope->has_time_range)
		return collected_ns;
	if (scope->time_end_ns < end_ns)
		end_ns = scope->time_end_ns;
	return end_ns > scope->time_begin_ns ? (uint64_t)(end_ns - scope->time_begin_ns) : 0;
}

/* Types by self time, with their domains: two groupings, the inner one shown as a value. */
/* A loop that numbers its tasks would fill the list with one name: then families are shown. */
static enum st_grouping task_grouping(const struct st_dataset *dataset)
{
	uint32_t types = dataset->keys[ST_BY_TASK_TYPE].key_count;
	uint32_t families = dataset->keys[ST_BY_TASK_FAMILY].key_count;

	return types > TYPES_UNFOLDED && families <= types / 2 ? ST_BY_TASK_FAMILY
							       : ST_BY_TASK_TYPE;
}

/* Operators have a section of their own, where no filter leaves it out: their rows are hidden. Malloc'd; NULL: out of
 * memory. */
static uint16_t *flags_besides(const struct st_result *result, const struct st_dataset *dataset)
{
	uint16_t *flags = malloc(((size_t)dataset->row_count + 1) * sizeof(*flags));
	uint32_t count;
	const struct st_operator *operators = st_result_operators(result, &count);

	if (!flags)
		return NULL;
	memcpy(flags, dataset->flags, dataset->row_count * sizeof(*flags));
	for (uint32_t i = 0; i < count; i++)
		if (is_operator(result, &operators[i]) && operators[i].row < dataset->row_count)
			flags[operators[i].row] |= dataset->hidden_flags;
	return flags;
}

static void add_task(struct st_report *report, const struct st_answer *answer,
		     const struct st_answer_row *row, enum st_metric by)
{
	struct st_cell *cells = st_report_fact(report, "task", "");

	cells[ST_SUMMARY_NAME] = st_report_text(report, row->text);
	if (row->child_count == 1)
		cells[ST_SUMMARY_VALUE] =
			st_report_text(report, answer->rows[row->first_child].text);
	cells[ST_SUMMARY_COUNT] = st_cell_u64(st_answer_value(row, ST_COUNT));
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(st_answer_value(row, ST_WALL_TOTAL));
	cells[ST_SUMMARY_SELF] = st_cell_u64(st_answer_value(row, ST_WALL_SELF));
	cells[ST_SUMMARY_MEDIAN] = st_cell_u64(st_answer_value(row, ST_WALL_MEDIAN));
	cells[ST_SUMMARY_P95] = st_cell_u64(st_answer_value(row, ST_WALL_P95));
	cells[ST_SUMMARY_P99] = st_cell_u64(st_answer_value(row, ST_WALL_P99));
	cells[ST_SUMMARY_RATIO] = st_cell_double(
		st_share(st_answer_value(row, by), st_answer_value(&answer->total, by)));
}

static enum st_status add_listed_tasks(struct st_report *report, const struct st_dataset *dataset,
				       const struct st_question *scope, bool besides,
				       struct st_error *err)
{
	struct st_question question = *scope;
	struct st_answer answer;
	enum st_status status;
	/* What holds operators has little time of its own. */
	enum st_metric by = besides ? ST_WALL_TOTAL : ST_WALL_SELF;

	question.groupings[0] = task_grouping(dataset);
	question.groupings[1] = ST_BY_TASK_DOMAIN;
	question.grouping_count = 2;
	question.metrics = ST_SET(ST_WALL_SELF, ST_WALL_MEDIAN);
	question.sort[0] = by;
	question.sort_count = 1;
	if (!question.limit)
		question.limit = TASKS_SHOWN;
	status = st_dataset_ask(dataset, &question, &answer, err);
	if (status)
		return status;
	if (!answer.root_count && is_narrowed(scope) && dataset->row_count && !besides)
		st_report_fact_text(report, "empty", "", "No tasks match.");
	for (uint32_t i = 0; i < answer.root_count; i++)
		add_task(report, &answer, &answer.rows[answer.root_first + i], by);
	report->totals.cells[ST_SUMMARY_COUNT] =
		st_cell_u64(st_answer_value(&answer.total, ST_COUNT));
	report->totals.cells[ST_SUMMARY_TOTAL] =
		st_cell_u64(st_answer_value(&answer.total, ST_WALL_TOTAL));
	report->totals.cells[ST_SUMMARY_SELF] =
		st_cell_u64(st_answer_value(&answer.total, ST_WALL_SELF));
	st_answer_fini(&answer);
	return ST_OK;
}

static enum st_status add_tasks(struct st_report *report, const struct st_result *result,
				const struct st_dataset *dataset, const struct st_question *scope,
				struct st_error *err)
{
	struct st_dataset besides = *dataset;
	enum st_status status;
	uint16_t *flags;

	if (scope->filter_count || !count_operators(result))
		return add_listed_tasks(report, dataset, scope, false, err);
	flags = flags_besides(result, dataset);
	if (!flags)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the summary");
	besides.flags = flags;
	status = add_listed_tasks(report, &besides, scope, true, err);
	free(flags);
	return status;
}

static void add_place(struct st_report *report, const char *section,
		      const struct st_answer_row *row, uint64_t elapsed_ns)
{
	struct st_cell *cells = st_report_fact(report, section, "");

	cells[ST_SUMMARY_NAME] = st_report_text(report, row->text);
	cells[ST_SUMMARY_COUNT] = st_cell_u64(st_answer_value(row, ST_COUNT));
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(st_answer_value(row, ST_WALL_TOTAL));
	if (st_answer_value(row, ST_COPIES))
		cells[ST_SUMMARY_COPIES] = st_cell_u64(st_answer_value(row, ST_COPIES));
	if (!row->is_others && elapsed_ns && row->grouping == ST_BY_THREAD)
		cells[ST_SUMMARY_RATIO] =
			st_cell_double(st_share(st_answer_value(row, ST_WALL_TOTAL), elapsed_ns));
}

/* Processes, then threads, by busy time. */
static enum st_status add_places(struct st_report *report, const struct st_dataset *dataset,
				 const struct st_question *scope, uint64_t elapsed_ns,
				 struct st_error *err)
{
	/* A worker that repeats its caller's task is busy all the same. */
	struct st_dataset everything = *dataset;
	struct st_question question = *scope;
	struct st_answer answer;
	enum st_status status;

	everything.uncounted_take_time = true;
	question.groupings[0] = ST_BY_PROCESS;
	question.groupings[1] = ST_BY_THREAD;
	question.grouping_count = 2;
	question.metrics = ST_SET(ST_WALL_TOTAL, ST_COPIES);
	question.limit = PLACES_SHOWN;
	status = st_dataset_ask(&everything, &question, &answer, err);
	if (status)
		return status;
	for (uint32_t i = 0; i < answer.root_count; i++)
		add_place(report, "process", &answer.rows[answer.root_first + i], elapsed_ns);
	for (uint32_t i = 0; i < answer.row_count; i++) {
		if (answer.rows[i].grouping == ST_BY_THREAD)
			add_place(report, "thread", &answer.rows[i], elapsed_ns);
	}
	st_answer_fini(&answer);
	return ST_OK;
}

static void add_programs(struct st_report *report, const struct st_result *result)
{
	uint32_t count;
	const struct st_not_entered_program *programs = st_result_not_entered(result, &count);
	const struct st_process *processes;

	for (uint32_t i = 0; i < count; i++) {
		struct st_cell *cells = st_report_fact(report, "not_entered", "");

		cells[ST_SUMMARY_NAME] =
			st_cell_bytes(st_result_text(result, programs[i].executable));
		cells[ST_SUMMARY_VALUE] = st_cell_text(st_words_not_entered(programs[i].reason));
		cells[ST_SUMMARY_COUNT] = st_cell_u64(programs[i].count);
		cells[ST_SUMMARY_PID] = st_cell_u64(programs[i].pid);
	}
	processes = st_result_processes(result, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct st_cell *cells;

		if (processes[i].end != ST_END_LEFT_RUNNING)
			continue;
		cells = st_report_fact(report, "left_running", "");
		cells[ST_SUMMARY_NAME] =
			st_cell_bytes(st_result_text(result, processes[i].command_line));
		cells[ST_SUMMARY_PID] = st_cell_u64(processes[i].pid);
	}
}

static void add_quality(struct st_report *report, const struct st_result *result)
{
	struct st_buf lines;
	char *at, *end;

	st_buf_init(&lines, 1 << 20);
	if (!st_quality_lines(result, &lines))
		((struct st_report_memory *)report->memory)->failed = true;
	at = (char *)lines.data;
	end = at + lines.size_bytes;
	while (at < end) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);

		st_report_fact(report, "quality", "")[ST_SUMMARY_VALUE] =
			st_report_text(report, (struct st_text){at, length});
		at += length + 1;
	}
	st_buf_fini(&lines);
}

/* Why there is nothing, as far as it is known; what to do about it. */
static void add_empty(struct st_report *report, const struct st_result *result)
{
	static const char *const unmarked[] = {
		"No tasks were recorded. Tasks are parts of a program marked with the ITT API.",
		"PyTorch operators are tasks too, unless -knob collect-operators=false excludes "
		"them,",
		"and so are ranges marked with torch.profiler.itt.range_push(\"name\") / "
		"range_pop().",
		"Start the program with strata: torch must not be imported before strata is "
		"loaded.",
	};
	const struct st_quality *quality = st_result_quality(result);
	const char *options = st_result_info(result)->options;
	uint32_t pauses, samplers, sources;

	st_result_operator_sources(result, &sources);
	st_result_pauses(result, &pauses);
	st_result_samplers(result, &samplers);
	if (quality->damaged_chunks || quality->damaged_bytes || quality->missing_segments ||
	    quality->chunks_not_written || st_quality_lost(result)) {
		st_report_fact_text(report, "empty", "", "No tasks could be read; see the notes.");
	} else if (st_quality_cannot_record(result)) {
		st_report_fact_text(
			report, "empty", "",
			"Nothing could be recorded: see the program that was not recorded, above.");
	} else if (st_result_events(result)->count) {
		st_report_fact_text(
			report, "empty", "",
			"No nested tasks were recorded. Other data has its own reports: strata "
			"report ?");
	} else if (!pauses && (samplers || st_analysis_is_for(st_result_info(result)->type,
							      ST_RECORDS_SAMPLES))) {
		st_report_fact_text(
			report, "empty", "",
			"No samples were taken: the program used less CPU time than one sampling "
			"interval (or see the notes).");
		st_report_fact_text(report, "empty", "",
				    "Use -knob sampling-interval=1 to sample every ms.");
	} else if (pauses) {
		st_report_fact_text(
			report, "empty", "",
			"No tasks were recorded: recording was paused by -start-paused or by the "
			"program.");
		st_report_fact_text(
			report, "empty", "",
			"Recording starts with __itt_resume in the program, strata -command "
			"resume, or -resume-after.");
	} else if (options && (strstr(options, "itt-domains=") || strstr(options, "itt-groups="))) {
		st_report_fact_text(
			report, "empty", "",
			"No tasks were recorded: the program marks none, or -knob itt-domains and "
			"itt-groups exclude them.");
	} else if (st_analysis_is_for(st_result_info(result)->type, ST_RECORDS_OPERATORS) &&
		   sources) {
		st_report_fact_text(report, "empty", "",
				    "No operators were recorded: PyTorch was loaded but ran none.");
	} else if (st_analysis_is_for(st_result_info(result)->type, ST_RECORDS_OPERATORS)) {
		st_report_fact_text(report, "empty", "",
				    "No operators were recorded: no process loaded PyTorch.");
		st_report_fact_text(
			report, "empty", "",
			"For other programs, use -collect hotspots to see lines, functions and "
			"primitives.");
	} else {
		for (size_t i = 0; i < sizeof(unmarked) / sizeof(unmarked[0]); i++)
			st_report_fact_text(report, "empty", "", unmarked[i]);
	}
}

static void add_advice(struct st_report *report, const struct st_result *result)
{
	static const struct advice {
		const char *before, *after;
	} of_tasks[] = {{"strata report top-down -r ", ""},
			{"strata report timeline -r ", ""},
			{"strata export chrome -r ", " -o trace.json"}},
	  of_samples[] = {{"strata report hotspots -r ", ""},
			  {"strata report callstacks -r ", ""},
			  {"strata export flamegraph -r ", " -o flame.html"}},
	  of_operators[] = {{"strata report operators -r ", ""},
			    {"strata report top-down -r ", ""},
			    {"strata export chrome -r ", " -o trace.json"}};
	bool has_samples = st_result_samples(result)->count;
	const struct advice *commands = has_samples ? of_samples : of_tasks;
	struct st_buf command;
	uint32_t operators;

	st_result_operators(result, &operators);
	if (operators && !has_samples)
		commands = of_operators;

	if (!st_result_slices(result)->count && !has_samples) {
		add_empty(report, result);
		return;
	}
	for (size_t i = 0; i < 3; i++) {
		st_buf_init(&command, 1 << 16);
		st_buf_append_text(&command, commands[i].before);
		st_quote_word(&command, st_result_info(result)->path);
		st_buf_append_text(&command, commands[i].after);
		if (command.failed)
			((struct st_report_memory *)report->memory)->failed = true;
		st_report_fact(report, "next", "")[ST_SUMMARY_VALUE] = st_report_text(
			report, (struct st_text){(char *)command.data, command.size_bytes});
		st_buf_fini(&command);
	}
}

static enum st_status fill(const struct st_result *result, const struct st_report_options *options,
			   const struct st_dataset *dataset, struct st_report *out,
			   struct st_error *err)
{
	const struct st_question *scope = &options->question;
	const struct st_result_info *info = st_result_info(result);
	uint64_t elapsed_ns = info->elapsed_ns > 0 ? (uint64_t)info->elapsed_ns : 0;
	/* Nothing is known of the time after a stop, nor of what a ring buffer dropped. */
	bool stopped = info->collected_ns > 0 && info->collected_ns < info->elapsed_ns;
	uint64_t collected_ns = stopped ? (uint64_t)info->collected_ns : elapsed_ns;
	uint64_t dropped_ns = (uint64_t)info->kept_from_ns;
	enum st_status status = ST_OK;

	if (dropped_ns < collected_ns && !scope->has_time_range)
		collected_ns -= dropped_ns;
	add_run(out, result);
	add_cost(out, result);
	add_scope(out, scope, elapsed_ns);
	/* Steps that are cut in pieces tell nothing about steps. */
	if (!is_narrowed(scope))
		status = add_steps(out, result, dataset, err);
	if (!status)
		status = add_tasks(out, result, dataset, scope, err);
	if (!status)
		status = add_places(out, dataset, scope, scope_ns(scope, collected_ns), err);
	if (!status)
		status = st_summary_add_operators(out, result, scope, err);
	if (!status)
		status = st_summary_add_memory(out, result, scope, err);
	if (!status)
		status = st_summary_add_rows(out, result, scope, err);
	if (!status && st_result_samples(result)->count)
		status = st_summary_add_samples(out, result, options, err);
	if (!status)
		status = st_summary_add_fixes(out, result, options, err);
	add_programs(out, result);
	add_quality(out, result);
	add_advice(out, result);
	return status;
}

enum st_status st_report_summary_build(const struct st_report_kind *kind,
				       const struct st_result *result,
				       const struct st_report_options *options,
				       struct st_report *out, struct st_error *err)
{
	struct st_dataset dataset;
	enum st_status status;

	(void)kind;
	st_report_columns(out, columns, ST_SUMMARY_COLUMNS);
	out->totals.cells = st_report_new_cells(out);
	status = st_dataset_slices_init(&dataset, result, err);
	if (!status) {
		status = st_dataset_prepare(&dataset, &options->question, err);
		if (!status)
			status = fill(result, options, &dataset, out, err);
		st_dataset_slices_fini(&dataset);
	}
	return status;
}
