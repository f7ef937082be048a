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
#include "analyze/datasets/operator_turns.h"
#include "analyze/findings/recording_cost.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/samples/sample_set.h"
#include "analyze/tables/report_make.h"
#include "analyze/steps/step_list.h"
#include "analyze/steps/steps.h"
#include "analyze/datasets/words.h"
#include "base/quote.h"
#include "store/events.h"
#include "store/devices.h"
#include "store/operators.h"
#include "store/result.h"
#include "store/samples.h"
#include "format/analysis.h"

enum {
	TASKS_SHOWN = 8,
	PLACES_SHOWN = 16,
	TYPES_UNFOLDED = 20,
	STEADY_SAMPLES = 20,
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
	[ST_SUMMARY_COPIES] = {"copies", "Worker Copies", "", false},
	[ST_SUMMARY_CPU_SELF] = {"cpu_self_ns", "CPU Time", "ns", false},
	[ST_SUMMARY_CPU_TOTAL] = {"cpu_total_ns", "CPU Time:Total", "ns", false},
	[ST_SUMMARY_CPU_INHERITED] = {"cpu_inherited_ns", "CPU Time:Inherited", "ns", false},
	[ST_SUMMARY_SPIN] = {"spin_ns", "CPU Time:Spin Time", "ns", false},
};

void st_summary_values(struct st_cell *cells, const struct st_answer_row *row,
		       enum st_summary_column first, enum st_summary_column last)
{
	static const enum st_metric metrics[] = {
		[ST_SUMMARY_COUNT] = ST_COUNT,	  [ST_SUMMARY_TOTAL] = ST_WALL_TOTAL,
		[ST_SUMMARY_SELF] = ST_WALL_SELF, [ST_SUMMARY_MEDIAN] = ST_WALL_MEDIAN,
		[ST_SUMMARY_P95] = ST_WALL_P95,	  [ST_SUMMARY_P99] = ST_WALL_P99,
	};

	for (unsigned int i = first; i <= last; i++)
		cells[i] = st_cell_u64(st_answer_value(row, metrics[i]));
}

struct st_question st_summary_question(const struct st_summary *summary, enum st_grouping grouping,
				       enum st_metric sort)
{
	struct st_question question = *summary->scope;

	question.groupings[0] = grouping;
	question.grouping_count = 1;
	question.sort[0] = sort;
	question.sort_count = 1;
	return question;
}

/* A row for each line of a text. */
static void add_lines(const struct st_summary *summary, const char *section, const char *name,
		      struct st_text text)
{
	const char *at = text.bytes, *end = at + text.size_bytes;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);

		st_report_fact(summary->report, section, name)[ST_SUMMARY_VALUE] =
			st_report_text(summary->report, (struct st_text){at, length});
		at += length + 1;
	}
}

static uint64_t elapsed_ns(const struct st_summary *summary)
{
	int64_t ns = st_result_info(summary->result)->elapsed_ns;

	return ns > 0 ? (uint64_t)ns : 0;
}

static void add_run(const struct st_summary *summary)
{
	const struct st_result_info *info = st_result_info(summary->result);

	st_report_fact_text(summary->report, "run", "type", info->type);
	st_report_fact_text(summary->report, "run", "command", info->command);
	st_report_fact_number(summary->report, "run", "elapsed_ns", elapsed_ns(summary));
	if (info->has_exit)
		st_report_fact_text(
			summary->report, "run", "end",
			st_words_wait_status(info->wait_status, st_report_arena(summary->report)));
	st_report_fact_text(summary->report, "run", "state", info->state);
	st_report_fact_text(summary->report, "run", "result", info->name);
	st_report_fact_number(summary->report, "run", "size_bytes", info->size_bytes);
	st_report_fact_text(summary->report, "run", "source", info->source);
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

/* What creating and switching cost, of the CPU time that the program would have used without. */
static double kernel_ratio(const struct st_result_info *info)
{
	uint64_t cost_ns = info->creation_ns + info->switches_ns;

	return cost_ns < info->target_cpu_ns ? st_share(cost_ns, info->target_cpu_ns - cost_ns)
					     : 0.0;
}

static const char *why_not_measured(const struct st_operator_turns *turns, uint64_t operators)
{
	if (!operators)
		return "no PyTorch operators to compare by";
	if (!turns->is_partial)
		return "every operator was recorded; -knob measure-cost=true measures it";
	return "too few turns to compare";
}

/* What recording added, with how sure that is, or why it may be more. */
static enum st_status add_overhead(const struct st_summary *summary, uint64_t operators)
{
	const struct st_result *result = summary->result;
	const struct st_result_info *info = st_result_info(result);
	uint64_t handled_ns = handler_ns(result), cost_ns, all_ns = elapsed_ns(summary);
	/* One event costs about what one half of a pair does. */
	uint64_t pairs = st_result_slices(result)->count + st_result_events(result)->count / 2 +
			 st_quality_lost(result) + ST_PAIRS_A_CALL * st_python_calls_count(result);
	struct st_operator_turns turns;
	enum st_status status = st_operator_turns_make(&turns, result, summary->err);
	double measured_ns;
	uint32_t devices;

	if (status)
		return status;
	measured_ns =
		turns.operator_ns.value > 0.0 ? turns.operator_ns.value * (double)operators : 0.0;
	pairs += turns.is_measured ? 0 : st_operator_extra_pairs(result);
	pairs -= turns.is_measured ? operators : 0;
	st_result_device_items(result, &devices);
	/* Each record of a device is a slice, and paid for already. */
	pairs -= turns.is_measured && turns.has_devices ? devices : 0;
	cost_ns = pairs * info->event_cost_ns_x1000 / 1000 + (uint64_t)measured_ns;
	/* The handler's time is CPU time, so it is set against that; so is what creating and switching cost. */
	if ((info->event_cost_ns_x1000 || handled_ns) && all_ns) {
		uint64_t bare_ns = all_ns > cost_ns ? all_ns - cost_ns : all_ns;

		st_report_fact_number(summary->report, "cost", "estimate_ns",
				      cost_ns + handled_ns + info->creation_ns + info->switches_ns);
		if (info->creation_ns)
			st_report_fact_number(summary->report, "cost", "creation_ns",
					      info->creation_ns);
		if (info->switches_ns)
			st_report_fact_number(summary->report, "cost", "switches_ns",
					      info->switches_ns);
		st_report_fact(summary->report, "cost", "estimate_ratio")[ST_SUMMARY_VALUE] =
			st_cell_double(
				st_share(cost_ns, turns.is_measured ? bare_ns : all_ns) +
				st_share(handled_ns, st_result_sample_quality(result)->cpu_ns) +
				kernel_ratio(info));
		if (turns.is_measured)
			st_report_fact(summary->report, "cost",
				       "measured_error_ratio")[ST_SUMMARY_VALUE] =
				st_cell_double(turns.operator_ns.error * (double)operators /
					       (double)bare_ns);
		else
			st_report_fact_text(summary->report, "cost", "not_measured",
					    why_not_measured(&turns, operators));
		if (turns.is_measured && devices && !turns.has_devices)
			st_report_fact_text(summary->report, "cost", "not_in_it",
					    "without what recording devices costs");
	}
	if (turns.is_measured) {
		st_report_fact_number(summary->report, "cost", "measured_turns", turns.compared);
		st_report_fact_number(summary->report, "cost", "operator_ns",
				      (uint64_t)(measured_ns / (double)(operators | !operators)));
	}
	if (turns.is_partial)
		st_report_fact(summary->report, "cost",
			       "operators_recorded_ratio")[ST_SUMMARY_VALUE] =
			st_cell_double(turns.recorded_ratio);
	st_operator_turns_fini(&turns);
	return ST_OK;
}

static enum st_status add_cost(const struct st_summary *summary)
{
	const struct st_result *result = summary->result;
	const struct st_result_info *info = st_result_info(result);
	const struct st_quality *quality = st_result_quality(result);
	uint64_t operators = count_operators(result);
	struct st_buf shared;
	enum st_status status;

	st_report_fact_number(summary->report, "cost", "tasks",
			      st_result_slices(result)->count - quality->copies - quality->twins);
	if (operators)
		st_report_fact_number(summary->report, "cost", "operators", operators);
	if (quality->copies)
		st_report_fact_number(summary->report, "cost", "copies", quality->copies);
	status = add_overhead(summary, operators);
	st_report_fact_number(summary->report, "cost", "strata_cpu_ns", info->strata_cpu_ns);
	st_report_fact_number(summary->report, "cost", "strata_peak_rss_bytes",
			      info->peak_rss_bytes);
	st_report_fact_number(summary->report, "cost", "lost", st_quality_lost(result));
	st_buf_init(&shared, 256);
	if (st_quality_shared(result, ST_MACHINE_SHARED, &shared))
		st_report_fact(summary->report, "cost", "machine_shared")[ST_SUMMARY_VALUE] =
			st_report_buf(summary->report, &shared);
	else
		st_buf_fini(&shared);
	/* What was in them is not known. */
	if (quality->chunks_not_written)
		st_report_fact_number(summary->report, "cost", "chunks_not_written",
				      quality->chunks_not_written);
	return status;
}

static void set_spread(struct st_cell *cells, const struct st_percentiles *took)
{
	cells[ST_SUMMARY_MEDIAN] = st_cell_u64(took->median);
	cells[ST_SUMMARY_P95] = st_cell_u64(took->p95);
	cells[ST_SUMMARY_P99] = st_cell_u64(took->p99);
}

static struct st_cell *add_part(const struct st_summary *summary, const char *name, uint64_t ns,
				uint64_t steps_ns)
{
	struct st_cell *cells = st_report_fact(summary->report, "step_part", name);

	cells[ST_SUMMARY_TOTAL] = st_cell_u64(ns);
	cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(ns, steps_ns));
	return cells;
}

/* Of a family of tasks in a program without operators: its direct children. */
static void add_named_steps(const struct st_summary *summary, const struct st_steps *steps)
{
	struct st_cell *cells;

	if (!steps->found)
		return;
	cells = st_report_fact(summary->report, "step", "");
	cells[ST_SUMMARY_NAME] = st_cell_bytes(steps->family.text);
	cells[ST_SUMMARY_COUNT] = st_cell_u64(steps->family.count);
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(steps->family.total_ns);
	cells[ST_SUMMARY_SELF] = st_cell_u64(steps->self_ns);
	set_spread(cells, &steps->family.took);
	for (unsigned int i = 0; i < steps->part_count; i++) {
		cells = add_part(summary, "", steps->parts[i].total_ns, steps->sum_ns);
		cells[ST_SUMMARY_NAME] = st_cell_bytes(steps->parts[i].text);
		cells[ST_SUMMARY_COUNT] = st_cell_u64(steps->parts[i].count);
	}
	if (!steps->part_count)
		return;
	if (steps->other_count)
		add_part(summary, "[Other tasks]", steps->other_ns,
			 steps->sum_ns)[ST_SUMMARY_COUNT] = st_cell_u64(steps->other_count);
	add_part(summary, "[No task inside]", steps->self_ns, steps->sum_ns);
}

/* Parts of a training step, which add up to it. */
static enum st_status add_listed_steps(const struct st_summary *summary,
				       const struct st_step_list *list)
{
	struct st_step_figures figures;
	struct st_cell *cells;
	enum st_status status = st_step_figures_make(list, &figures, summary->err);
	uint64_t warm_up_ns = 0;

	if (status)
		return status;
	cells = st_report_fact(summary->report, "step", "");
	cells[ST_SUMMARY_NAME] = st_report_text(summary->report, list->what);
	cells[ST_SUMMARY_VALUE] =
		st_cell_text(st_step_source_text(list, st_report_arena(summary->report)));
	cells[ST_SUMMARY_COUNT] = st_cell_u64(figures.count);
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(figures.wall_ns);
	set_spread(cells, &figures.took);
	for (uint32_t i = 0; i < list->count; i++)
		warm_up_ns += list->steps[i].is_warm_up ? list->steps[i].wall_ns : 0;
	cells = st_report_fact(summary->report, "step_warm_up", "left out");
	cells[ST_SUMMARY_COUNT] = st_cell_u64(list->warm_up_count);
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(warm_up_ns);
	for (unsigned int i = 0; i < ST_STEP_PART_KINDS && list->has_parts; i++)
		if (i != ST_STEP_DEVICE || figures.part_ns[i])
			add_part(summary, st_step_part_names[i], figures.part_ns[i],
				 figures.wall_ns);
	return ST_OK;
}

static uint32_t samples_in(const struct st_result *result, int64_t begin_ns, int64_t end_ns)
{
	const struct st_samples *samples = st_result_samples(result);
	uint32_t count = 0;

	for (uint32_t i = 0; i < samples->count; i++)
		count += samples->time_ns[i] >= begin_ns && samples->time_ns[i] < end_ns &&
			 !(samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE));
	return count;
}

/* What only looks like steps may be any part of the program, and a few samples tell nothing of a loop. */
static void set_loop(struct st_summary_loop *loop, const struct st_step_list *list,
		     const struct st_result *result)
{
	bool any = false;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct st_one_step *step = &list->steps[i];

		if (!i || step->begin_ns < loop->begin_ns)
			loop->begin_ns = step->begin_ns;
		if (!i || step->end_ns > loop->end_ns)
			loop->end_ns = step->end_ns;
		if (step->is_warm_up)
			continue;
		if (!any || step->begin_ns < loop->steady_ns)
			loop->steady_ns = step->begin_ns;
		if (!any)
			loop->track = step->track;
		loop->step_count += step->track == loop->track;
		loop->step_wall_ns += step->track == loop->track ? step->wall_ns : 0;
		any = true;
	}
	loop->is_steady = any && list->source != ST_STEPS_PATTERN &&
			  samples_in(result, loop->steady_ns, loop->end_ns) >= STEADY_SAMPLES;
}

struct st_question st_summary_steady(const struct st_summary *summary)
{
	struct st_question question = *summary->scope;

	if (summary->loop->is_steady) {
		question.has_time_range = true;
		question.time_begin_ns = summary->loop->steady_ns;
		question.time_end_ns = summary->loop->end_ns;
	}
	return question;
}

static enum st_status add_steps(const struct st_summary *summary, const struct st_dataset *dataset)
{
	struct st_step_list *list = summary->steps;
	struct st_steps named;
	enum st_status status = st_steps_find(&named, dataset, summary->result, summary->err);

	if (!status)
		status = st_step_list_make_of(list, dataset, summary->result, &named, summary->err);
	if (status)
		return status;
	if (list->count && (list->has_parts || st_step_list_is_timed(list)))
		status = add_listed_steps(summary, list);
	else
		add_named_steps(summary, &named);
	if (status)
		return status;
	st_summary_add_start_up(summary, list);
	set_loop(summary->loop, list, summary->result);
	return st_summary_add_batch(summary, list);
}

static bool is_narrowed(const struct st_question *scope)
{
	return scope->filter_count || scope->has_time_range;
}

/* What the figures are of, when that is not the whole run. */
static void add_scope(const struct st_summary *summary)
{
	const struct st_question *scope = summary->scope;
	struct st_arena *arena = st_report_arena(summary->report);
	int64_t end_ns = scope->time_end_ns, all_ns = (int64_t)elapsed_ns(summary);

	for (size_t i = 0; i < scope->filter_count; i++) {
		const struct st_filter *filter = &scope->filters[i];
		const char *name = st_grouping_info(filter->grouping)->name;

		st_report_fact_text(summary->report, "only", name,
				    st_arena_printf(arena, "%s%s%s", name,
						    filter->negate ? "!=" : "=", filter->pattern));
	}
	if (!scope->has_time_range)
		return;
	if (end_ns > all_ns && scope->time_begin_ns < all_ns)
		end_ns = all_ns;
	st_report_fact_text(summary->report, "only", "time",
			    st_arena_printf(arena, "from %.6f s to %.6f s",
					    (double)scope->time_begin_ns / 1e9,
					    (double)end_ns / 1e9));
}

/* The part of the recorded time that the figures are of. */
static uint64_t scope_ns(const struct st_summary *summary)
{
	const struct st_question *scope = summary->scope;
	const struct st_result_info *info = st_result_info(summary->result);
	/* Nothing is known of the time after a stop, nor of what a ring buffer dropped. */
	bool stopped = info->collected_ns > 0 && info->collected_ns < info->elapsed_ns;
	uint64_t all_ns = stopped ? (uint64_t)info->collected_ns : elapsed_ns(summary);
	uint64_t dropped_ns = (uint64_t)info->kept_from_ns;
	int64_t end_ns = (int64_t)all_ns;

	if (!scope->has_time_range)
		return dropped_ns < all_ns ? all_ns - dropped_ns : all_ns;
	if (scope->time_end_ns < end_ns)
		end_ns = scope->time_end_ns;
	return end_ns > scope->time_begin_ns ? (uint64_t)(end_ns - scope->time_begin_ns) : 0;
}

/* Types by self time, with their domains: two groupings, the inner one shown as a value.
 * A loop that numbers its tasks would fill the list with one name: then families are shown. */
static enum st_grouping task_grouping(const struct st_dataset *dataset)
{
	uint32_t types = dataset->keys[ST_BY_TASK_TYPE].key_count;
	uint32_t families = dataset->keys[ST_BY_TASK_FAMILY].key_count;

	return types > TYPES_UNFOLDED && families <= types / 2 ? ST_BY_TASK_FAMILY
							       : ST_BY_TASK_TYPE;
}

enum { BESIDES = 1 << 15 }; /* of no flag of slices */

/* Operators have a section of their own, where no filter leaves it out: their rows are not listed. Malloc'd; NULL: out
 * of memory. */
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
			flags[operators[i].row] |= BESIDES;
	return flags;
}

static void add_task(const struct st_summary *summary, const struct st_answer *answer,
		     const struct st_answer_row *row, enum st_metric by)
{
	struct st_cell *cells = st_report_fact(summary->report, "task", "");

	cells[ST_SUMMARY_NAME] = st_report_text(summary->report, row->text);
	if (row->child_count == 1)
		cells[ST_SUMMARY_VALUE] =
			st_report_text(summary->report, answer->rows[row->first_child].text);
	st_summary_values(cells, row, ST_SUMMARY_COUNT, ST_SUMMARY_P99);
	cells[ST_SUMMARY_RATIO] = st_cell_double(
		st_share(st_answer_value(row, by), st_answer_value(&answer->total, by)));
}

static enum st_status add_listed_tasks(const struct st_summary *summary,
				       const struct st_dataset *dataset, bool besides)
{
	/* What holds operators has little time of its own. */
	enum st_metric by = besides ? ST_WALL_TOTAL : ST_WALL_SELF;
	struct st_question question = st_summary_question(summary, task_grouping(dataset), by);
	struct st_answer answer;
	enum st_status status;

	question.groupings[1] = ST_BY_TASK_DOMAIN;
	question.grouping_count = 2;
	question.metrics = ST_SET(ST_WALL_SELF, ST_WALL_MEDIAN);
	if (!question.limit)
		question.limit = TASKS_SHOWN;
	status = st_dataset_ask(dataset, &question, &answer, summary->err);
	if (status)
		return status;
	if (!answer.root_count && is_narrowed(summary->scope) && dataset->row_count && !besides)
		st_report_fact_text(summary->report, "empty", "", "No tasks match.");
	for (uint32_t i = 0; i < answer.root_count; i++)
		add_task(summary, &answer, &answer.rows[answer.root_first + i], by);
	st_summary_values(summary->report->totals.cells, &answer.total, ST_SUMMARY_COUNT,
			  ST_SUMMARY_SELF);
	st_answer_fini(&answer);
	return ST_OK;
}

static enum st_status add_tasks(const struct st_summary *summary, const struct st_dataset *dataset)
{
	struct st_dataset besides = *dataset;
	enum st_status status;
	uint16_t *flags;

	if (summary->scope->filter_count || !count_operators(summary->result))
		return add_listed_tasks(summary, dataset, false);
	flags = flags_besides(summary->result, dataset);
	if (!flags)
		return st_error_set(summary->err, ST_ENOMEM, 0, "out of memory for the summary");
	besides.flags = flags;
	besides.unlisted_flags = BESIDES;
	status = add_listed_tasks(summary, &besides, true);
	free(flags);
	return status;
}

static void add_place(const struct st_summary *summary, const char *section,
		      const struct st_answer_row *row, uint64_t all_ns)
{
	struct st_cell *cells = st_report_fact(summary->report, section, "");

	cells[ST_SUMMARY_NAME] = st_report_text(summary->report, row->text);
	st_summary_values(cells, row, ST_SUMMARY_COUNT, ST_SUMMARY_TOTAL);
	if (st_answer_value(row, ST_COPIES))
		cells[ST_SUMMARY_COPIES] = st_cell_u64(st_answer_value(row, ST_COPIES));
	if (!row->is_others && all_ns && row->grouping == ST_BY_THREAD)
		cells[ST_SUMMARY_RATIO] =
			st_cell_double(st_share(st_answer_value(row, ST_WALL_TOTAL), all_ns));
}

/* Processes, then threads, by busy time. */
static enum st_status add_places(const struct st_summary *summary, const struct st_dataset *dataset)
{
	/* A worker that repeats its caller's task is busy all the same. */
	struct st_dataset everything = *dataset;
	struct st_question question = *summary->scope;
	uint64_t all_ns = scope_ns(summary);
	struct st_answer answer;
	enum st_status status;

	everything.uncounted_take_time = true;
	question.groupings[0] = ST_BY_PROCESS;
	question.groupings[1] = ST_BY_THREAD;
	question.grouping_count = 2;
	question.metrics = ST_SET(ST_WALL_TOTAL, ST_COPIES);
	question.limit = PLACES_SHOWN;
	status = st_dataset_ask(&everything, &question, &answer, summary->err);
	if (status)
		return status;
	for (uint32_t i = 0; i < answer.root_count; i++)
		add_place(summary, "process", &answer.rows[answer.root_first + i], all_ns);
	for (uint32_t i = 0; i < answer.row_count; i++) {
		if (answer.rows[i].grouping == ST_BY_THREAD)
			add_place(summary, "thread", &answer.rows[i], all_ns);
	}
	st_answer_fini(&answer);
	return ST_OK;
}

static void add_programs(const struct st_summary *summary)
{
	const struct st_result *result = summary->result;
	uint32_t count;
	const struct st_not_entered_program *programs = st_result_not_entered(result, &count);
	const struct st_process *processes;
	struct st_cell *cells;

	for (uint32_t i = 0; i < count; i++) {
		cells = st_report_fact(summary->report, "not_entered", "");
		cells[ST_SUMMARY_NAME] =
			st_cell_bytes(st_result_text(result, programs[i].executable));
		cells[ST_SUMMARY_VALUE] = st_cell_text(st_words_not_entered(programs[i].reason));
		cells[ST_SUMMARY_COUNT] = st_cell_u64(programs[i].count);
		cells[ST_SUMMARY_PID] = st_cell_u64(programs[i].pid);
	}
	processes = st_result_processes(result, &count);
	for (uint32_t i = 0; i < count; i++) {
		if (processes[i].end != ST_END_LEFT_RUNNING)
			continue;
		cells = st_report_fact(summary->report, "left_running", "");
		cells[ST_SUMMARY_NAME] =
			st_cell_bytes(st_result_text(result, processes[i].command_line));
		cells[ST_SUMMARY_PID] = st_cell_u64(processes[i].pid);
	}
}

static void add_quality(const struct st_summary *summary)
{
	static bool (*const parts[])(const struct st_result *result,
				     struct st_buf *out) = {st_quality_flaws, st_quality_trifles};
	static const char *const names[] = {ST_SUMMARY_FLAW, ""};

	for (size_t i = 0; i < 2; i++) {
		struct st_buf lines;

		st_buf_init(&lines, 1 << 20);
		if (!parts[i](summary->result, &lines))
			st_report_arena(summary->report)->failed = true;
		add_lines(summary, "quality", names[i],
			  (struct st_text){(char *)lines.data, lines.size_bytes});
		st_buf_fini(&lines);
	}
}

/* Why there is nothing, as far as it is known; what to do about it. */
static const char *why_empty(const struct st_result *result)
{
	const struct st_quality *quality = st_result_quality(result);
	const struct st_result_info *info = st_result_info(result);
	uint32_t pauses, samplers, sources;

	st_result_operator_sources(result, &sources);
	st_result_pauses(result, &pauses);
	st_result_samplers(result, &samplers);
	if (quality->damaged_chunks || quality->damaged_bytes || quality->missing_segments ||
	    quality->chunks_not_written || st_quality_lost(result))
		return "No tasks could be read; see the notes.";
	if (st_quality_cannot_record(result))
		return "Nothing could be recorded: see the program that was not recorded, above.";
	if (st_result_events(result)->count)
		return "No nested tasks were recorded. Other data has its own reports: strata "
		       "report ?";
	if (pauses)
		return "No tasks were recorded: recording was paused by -start-paused or by the "
		       "program.\n"
		       "Recording starts with __itt_resume in the program, strata -command "
		       "resume, or -resume-after.";
	if (samplers || st_analysis_is_for(info->type, ST_RECORDS_SAMPLES))
		return st_sample_absence(result);
	if (info->options &&
	    (strstr(info->options, "itt-domains=") || strstr(info->options, "itt-groups=")))
		return "No tasks were recorded: the program marks none, or -knob itt-domains and "
		       "itt-groups exclude them.";
	if (!st_analysis_is_for(info->type, ST_RECORDS_OPERATORS))
		return "No tasks were recorded. Tasks are parts of a program marked with the ITT "
		       "API.\n"
		       "PyTorch operators are tasks too, unless -knob collect-operators=false "
		       "excludes them,\n"
		       "and so are ranges marked with torch.profiler.itt.range_push(\"name\") / "
		       "range_pop().\n"
		       "Start the program with strata: torch must not be imported before strata is "
		       "loaded.";
	if (sources)
		return "No operators were recorded: PyTorch was loaded but ran none.";
	return "No operators were recorded: no process loaded PyTorch.\n"
	       "For other programs, use -collect hotspots to see lines, functions and "
	       "primitives.";
}

static void add_advice(const struct st_summary *summary)
{
	enum { TASKS, OPERATORS, SAMPLES, WAITS };
	static const char *const next[][3] = {
		{"report top-down", "report timeline", "export chrome"},
		{"report operators", "report top-down", "export chrome"},
		{"report hotspots", "report callstacks", "export flamegraph"},
		{"report threading", "report sync-objects", "export chrome"},
	};
	static const char *const files[] = {" -o trace.json", " -o trace.json", " -o flame.html",
					    " -o trace.json"};
	const struct st_result *result = summary->result;
	bool has_samples = st_result_samples(result)->count;
	struct st_buf command;
	uint32_t operators;
	unsigned int of;

	if (!st_result_slices(result)->count && !has_samples) {
		const char *why = why_empty(result);

		add_lines(summary, "empty", "", (struct st_text){why, strlen(why)});
		return;
	}
	st_result_operators(result, &operators);
	of = has_samples ? SAMPLES : operators ? OPERATORS : TASKS;
	if (st_analysis_is_for(st_result_info(result)->type, ST_RECORDS_WAITS))
		of = WAITS;
	for (size_t i = 0; i < 3; i++) {
		st_buf_init(&command, 1 << 16);
		st_buf_printf(&command, "strata %s -r ", next[of][i]);
		st_quote_word(&command, st_result_info(result)->path);
		st_buf_append_text(&command, i == 2 ? files[of] : "");
		st_report_fact(summary->report, "next", "")[ST_SUMMARY_VALUE] =
			st_report_buf(summary->report, &command);
	}
}

/* Steps that are cut in pieces tell nothing about steps. */
static enum st_status fill(const struct st_summary *summary, const struct st_dataset *dataset)
{
	enum st_status status;

	add_run(summary);
	status = add_cost(summary);
	add_scope(summary);
	if (!status && !is_narrowed(summary->scope))
		status = add_steps(summary, dataset);
	if (!status)
		status = add_tasks(summary, dataset);
	if (!status)
		status = add_places(summary, dataset);
	/* Filters of a summary are about tasks. */
	if (!status && !summary->scope->filter_count)
		status = st_summary_add_operators(summary);
	if (!status && !is_narrowed(summary->scope))
		st_summary_add_devices(summary);
	if (!status && !summary->scope->filter_count)
		status = st_summary_add_memory(summary);
	if (!status && !summary->scope->filter_count)
		status = st_summary_add_rows(summary);
	if (!status)
		status = st_summary_add_thread_time(summary);
	if (!status)
		status = st_summary_add_wait_places(summary);
	if (!status)
		status = st_summary_add_openmp(summary);
	if (!status && st_result_samples(summary->result)->count)
		status = st_summary_add_samples(summary);
	if (!status && !is_narrowed(summary->scope))
		status = st_summary_add_fixes(summary);
	add_programs(summary);
	add_quality(summary);
	add_advice(summary);
	return status;
}

enum st_status st_report_summary_build(const struct st_report_kind *kind,
				       const struct st_result *result,
				       const struct st_report_options *options,
				       struct st_report *out, struct st_error *err)
{
	struct st_summary_loop loop = {0};
	struct st_step_list steps = {0};
	struct st_summary summary = {out, result, options, &options->question, err, &loop, &steps};
	struct st_dataset dataset;
	enum st_status status;

	(void)kind;
	st_report_columns(out, columns, ST_SUMMARY_COLUMNS);
	out->totals.cells = st_report_new_cells(out);
	status = st_dataset_slices_init(&dataset, result, err);
	if (!status) {
		status = st_dataset_prepare(&dataset, &options->question, err);
		if (!status)
			status = fill(&summary, &dataset);
		st_step_list_fini(&steps);
		st_dataset_slices_fini(&dataset);
	}
	return status;
}
