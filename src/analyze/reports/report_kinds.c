// SPDX-License-Identifier: Apache-2.0
//
// The table of reports: each row says what its report is about, which options it supports, and how it is built and
// shown.
#include "analyze/reports/report_kinds.h"

#include <string.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/engine/names.h"
#include "analyze/operators/dataset_operators.h"
#include "analyze/reports/report_rows.h"
#include "analyze/samples/sample_set.h"
#include "analyze/samples/sample_waits.h"
#include "analyze/samples/wait_keys.h"
#include "analyze/tables/report_make.h"
#include "format/analysis.h"

enum {
	ACCEPTS_QUESTION =
		ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER | ST_ACCEPTS_SORT | ST_ACCEPTS_LIMIT,
	EVERYTHING = -1,
};

#define OF_ROWS                                                                                    \
	.accepts = ACCEPTS_QUESTION, .build = st_report_rows_build, .facts = ST_FACTS_ROWS,        \
	.filled_by = ST_RECORDS_TASKS

#define OF_WAITS                                                                                   \
	.accepts = ACCEPTS_QUESTION, .build = st_report_rows_build, .facts = ST_FACTS_ROWS,        \
	.filled_by = ST_RECORDS_TASKS | ST_RECORDS_WAITS

const struct st_report_kind st_report_kinds[] = {
	{"summary", "where the time went, on one screen",
	 .accepts = ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_VIEW,
	 .build = st_report_summary_build, .facts = ST_FACTS_SLICES, .layout = ST_LAYOUT_SUMMARY,
	 .filled_by = EVERYTHING, .is_comparable = true, .is_in_order = true},
	{"tasks", "tasks by type, domain, family or instance, with durations",
	 .accepts = ACCEPTS_QUESTION, .build = st_report_rows_build, .rows = &st_tasks_report,
	 .facts = ST_FACTS_SLICES, .filled_by = ST_RECORDS_TASKS, .is_comparable = true},
	{"top-down", "call tree, or tree of nested tasks, with total and self time",
	 .accepts = ACCEPTS_QUESTION | ST_ACCEPTS_VIEW, .build = st_report_top_down_build,
	 .facts = ST_FACTS_BOTH, .last = ST_LIST(ST_BY_FUNCTION_STACK),
	 .filled_by = ST_RECORDS_TASKS | ST_RECORDS_SAMPLES, .is_comparable = true},
	{"hotspots", "functions, lines or tasks by CPU time: effective, spin and overhead",
	 .accepts = ACCEPTS_QUESTION | ST_ACCEPTS_VIEW, .build = st_report_samples_build,
	 .facts = ST_FACTS_SAMPLES, .defaults = ST_LIST(ST_BY_FUNCTION),
	 .filled_by = ST_RECORDS_SAMPLES, .is_comparable = true},
	{"callstacks", "functions by CPU time, with their callers",
	 .accepts = ACCEPTS_QUESTION | ST_ACCEPTS_VIEW, .build = st_report_samples_build,
	 .facts = ST_FACTS_SAMPLES, .defaults = ST_LIST(ST_BY_FUNCTION),
	 .last = ST_LIST(ST_BY_CALLSTACK), .filled_by = ST_RECORDS_SAMPLES, .is_comparable = true},
	{"gprof-cc", "each function with its callers and callees",
	 .accepts = ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_VIEW,
	 .build = st_report_gprof_build, .facts = ST_FACTS_SAMPLES,
	 .filled_by = ST_RECORDS_SAMPLES},
	{"utilization", "how long how many CPUs did effective work at the same time",
	 .accepts = ST_ACCEPTS_VIEW, .build = st_report_utilization_build,
	 .facts = ST_FACTS_SAMPLES, .filled_by = ST_RECORDS_SAMPLES},
	{"source", "a source file with the CPU time of each line, Python or native",
	 .accepts = ST_ACCEPTS_FILTER | ST_ACCEPTS_VIEW | ST_ACCEPTS_OBJECT,
	 .build = st_report_source_build, .facts = ST_FACTS_SAMPLES, .is_about_file = true,
	 .filled_by = ST_RECORDS_SAMPLES},
	{"disassembly", "the instructions of a function with their CPU time",
	 .accepts = ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER | ST_ACCEPTS_VIEW | ST_ACCEPTS_OBJECT,
	 .build = st_report_disassembly_build, .facts = ST_FACTS_SAMPLES,
	 .groupings = ST_LIST(ST_BY_ADDRESS, ST_BY_BASIC_BLOCK, ST_BY_SOURCE_LINE),
	 .filled_by = ST_RECORDS_SAMPLES},
	{"operators", "PyTorch operators, with inputs, memory, FLOPs and bytes where recorded",
	 .accepts = ACCEPTS_QUESTION | ST_ACCEPTS_FOLDING, .build = st_report_operators_build,
	 .facts = ST_FACTS_OPERATORS, .defaults = ST_LIST(ST_BY_OPERATOR),
	 .filled_by = ST_RECORDS_OPERATORS, .is_comparable = true},
	{"torch-averages", "operators as in torch.profiler: key_averages().table()",
	 .accepts = ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_TORCH,
	 .build = st_report_torch_averages_build, .facts = ST_FACTS_OPERATORS,
	 .layout = ST_LAYOUT_TORCH, .filled_by = ST_RECORDS_OPERATORS},
	{"torch-events", "single operators as in torch.profiler: events()",
	 .accepts = ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_TORCH,
	 .build = st_report_torch_events_build, .facts = ST_FACTS_OPERATORS,
	 .layout = ST_LAYOUT_TORCH, .filled_by = ST_RECORDS_OPERATORS},
	{"steps", "training steps: data wait, forward, backward, optimizer, the rest",
	 .accepts = ST_ACCEPTS_LIMIT, .build = st_report_steps_build,
	 .filled_by = ST_RECORDS_TASKS | ST_RECORDS_OPERATORS, .is_comparable = true,
	 .is_in_order = true},
	{"findings", "what to change, why, how, and how much it saves",
	 .accepts = ST_ACCEPTS_LIMIT | ST_ACCEPTS_VIEW, .build = st_report_findings_build,
	 .layout = ST_LAYOUT_FINDINGS, .filled_by = EVERYTHING,
	 .empty = "No findings in the recorded data."},
	{"python-calls", "Python function calls with cProfile's columns, where counted",
	 .accepts = ST_ACCEPTS_SORT | ST_ACCEPTS_LIMIT, .build = st_report_python_calls_build,
	 .metrics = ST_LIST(ST_COUNT, ST_WALL_SELF, ST_WALL_TOTAL),
	 .metric_word = st_python_calls_metric,
	 .empty = "This result has no Python function calls; use -knob python-calls=true to count "
		  "them."},
	{"memory", "what held PyTorch's memory at its peak, and how it grows per step",
	 .accepts = ACCEPTS_QUESTION, .build = st_report_memory_build, .facts = ST_FACTS_MEMORY,
	 .filled_by = ST_RECORDS_MEMORY},
	{"memory-timeline", "PyTorch memory over time or per step",
	 .accepts = ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER | ST_ACCEPTS_BINS,
	 .build = st_report_memory_timeline_build, .groupings = ST_LIST(ST_BY_STEP),
	 .filled_by = ST_RECORDS_MEMORY},
	{"timeline", "each thread over time: how busy, in which task, or on a CPU",
	 .accepts = ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_BINS,
	 .build = st_report_timeline_build, .facts = ST_FACTS_SLICES, .layout = ST_LAYOUT_TIMELINE,
	 .filled_by = ST_RECORDS_TASKS | ST_RECORDS_SAMPLES},
	{"frames", "frames by domain: frame times and rate", OF_ROWS, .rows = &st_frames_report},
	{"regions", "regions by name, with their durations", OF_ROWS, .rows = &st_regions_report},
	{"overlapped", "overlapped tasks by type, with their durations", OF_ROWS,
	 .rows = &st_overlapped_report},
	{"markers", "markers, user events and marks in time order", OF_ROWS,
	 .rows = &st_markers_report},
	{"counters", "counters: first, last, minimum, maximum and average value", OF_ROWS,
	 .rows = &st_counters_report},
	{"sync", "waits on sync objects, and how long they were held", OF_ROWS,
	 .rows = &st_sync_report},
	{"waits", "what threads waited for, by kind: how often and how long", OF_WAITS,
	 .rows = &st_waits_report},
	{"thread-time", "what each thread did: running, waiting by class, preempted", OF_WAITS,
	 .rows = &st_thread_time_report},
	{"sync-objects", "locks, semaphores, descriptors … by how long threads waited for them",
	 OF_WAITS, .rows = &st_sync_objects_report},
	{"openmp", "parallel regions of OpenMP: elapsed and imbalance time, time outside regions",
	 OF_WAITS, .rows = &st_openmp_report},
	{"critical-path", "what a step is made of, through waits: who ran, or waited for no thread",
	 OF_WAITS, .rows = &st_critical_path_report},
	{"threading", "overview of threads and waits; grouped: functions, lines … by Wait Time",
	 .accepts = ACCEPTS_QUESTION | ST_ACCEPTS_VIEW, .build = st_report_threading_build,
	 .facts = ST_FACTS_SAMPLES, .defaults = ST_LIST(ST_BY_FUNCTION), .is_about_waits = true,
	 .filled_by = ST_RECORDS_WAITS, .is_comparable = true},
	{"kernels", "what ran on devices: kernels, copies and fills, by name, launch or operator",
	 OF_ROWS, .rows = &st_kernels_report},
	{"device-gaps", "when devices computed nothing, and why", OF_ROWS, .rows = &st_gaps_report},
	{"relations", "relations between tasks, as reported by the program", OF_ROWS,
	 .rows = &st_relations_report},
	{"metadata", "metadata that the program attached to its tasks", OF_ROWS,
	 .rows = &st_metadata_report},
	{"histograms", "histograms that the program submitted", OF_ROWS,
	 .rows = &st_histograms_report},
	{"heap", "allocations reported by allocators, by heap function", OF_ROWS,
	 .rows = &st_heap_report},
	{"info", "about the run: command, host, processes, losses, files",
	 .build = st_report_info_build, .layout = ST_LAYOUT_INFO, .filled_by = EVERYTHING},
	{"quality", "how good the data is: what was lost, cut or estimated, and how much of it",
	 .accepts = ST_ACCEPTS_VIEW, .build = st_report_quality_build, .filled_by = EVERYTHING},
	{"recorded", "which data the result has, which not, and the options that record it",
	 .build = st_report_recorded_build, .filled_by = EVERYTHING},
	{NULL},
};

/* An option without an effect would pass for one that had it. */
static enum st_status check_accepted(const struct st_report_kind *kind,
				     const struct st_report_options *options, struct st_error *err)
{
	const struct st_question *question = &options->question;
	const struct {
		const char *option;
		unsigned int needs;
		bool given;
	} parts[] = {
		{"group-by", ST_ACCEPTS_GROUP_BY, question->grouping_count > 0},
		{"filter", ST_ACCEPTS_FILTER, question->filter_count > 0},
		{"time-filter", ST_ACCEPTS_FILTER, question->has_time_range},
		{question->sort_ascending ? "sort-asc" : "sort-desc", ST_ACCEPTS_SORT,
		 question->sort_count > 0},
		{"limit", ST_ACCEPTS_LIMIT, question->limit > 0},
		{"report-knob bin-count", ST_ACCEPTS_BINS, options->bin_count > 0},
		{"call-stack-mode", ST_ACCEPTS_VIEW,
		 options->view.call_stack_mode != ST_STACK_DEFAULT},
		{"inline-mode", ST_ACCEPTS_VIEW, options->view.no_inlines},
		{"python-frames", ST_ACCEPTS_VIEW, options->view.python_frames != ST_PYTHON_MIXED},
		{"show-as", ST_ACCEPTS_VIEW, options->view.show_as != ST_SHOW_VALUES},
		{"cumulative-threshold-percent", ST_ACCEPTS_VIEW,
		 options->view.threshold_percent > 0},
		{"source-object", ST_ACCEPTS_OBJECT,
		 options->object.function || options->object.source_file || options->object.module},
		{"report-knob torch-folding", ST_ACCEPTS_FOLDING, options->torch_folding},
		{"report-knob of torch's table", ST_ACCEPTS_TORCH, options->torch.given},
		{"report-knob cpu-classes", ST_ACCEPTS_VIEW, options->view.class_rules != NULL},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].given && !(kind->accepts & parts[i].needs))
			return st_error_set(err, ST_EUSAGE, 0, "report %s does not support -%s",
					    kind->name, parts[i].option);
	}
	return ST_OK;
}

/* What it says without rows, unless it knows better. */
static const char *empty_words(const struct st_report_kind *kind, const struct st_result *result)
{
	return kind->filled_by == ST_RECORDS_SAMPLES ? st_sample_absence(result) : kind->empty;
}

/* Times are easily given in another unit, or of another run. */
static void tell_range(const struct st_report_options *options, const struct st_result *result,
		       struct st_report *out)
{
	int64_t elapsed_ns = st_result_info(result)->elapsed_ns;
	const char *words;

	if (out->row_count || !options->question.has_time_range || elapsed_ns <= 0 ||
	    options->question.time_begin_ns < elapsed_ns)
		return;
	words = st_arena_printf(
		st_report_arena(out),
		"%s%sThe time filter begins after the end of the run, which took %.2f s.",
		out->empty ? out->empty : "", out->empty ? " " : "", (double)elapsed_ns / 1e9);
	out->empty = words ? words : out->empty;
}

static enum st_status build(const struct st_report_kind *kind, const struct st_result *result,
			    const struct st_report_options *options, struct st_report *out,
			    struct st_error *err)
{
	enum st_status status = check_accepted(kind, options, err);

	if (!status)
		status = st_report_begin(out, kind->name, result, err);
	if (status)
		return status;
	out->layout = kind->layout;
	out->empty = empty_words(kind, result);
	status = kind->build(kind, result, options, out, err);
	if (!status) {
		tell_range(options, result, out);
		return st_report_end(out, err);
	}
	st_report_fini(out);
	return status;
}

enum st_status st_report_build(const struct st_result *result, const char *name,
			       const struct st_report_options *options, struct st_report *out,
			       struct st_error *err)
{
	const char *names[64];
	size_t count = 0;

	memset(out, 0, sizeof(*out));
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++) {
		names[count++] = kind->name;
		if (st_name_equal(name, strlen(name), kind->name))
			return build(kind, result, options, out, err);
	}
	return st_name_unknown(name, strlen(name), "report", &(struct st_name_list){names, count},
			       err);
}

enum st_status st_report_default(const struct st_report_kind *kind, struct st_question *question,
				 struct st_error *err)
{
	unsigned int *count = &question->grouping_count;

	for (const uint8_t *at = kind->defaults; at && !*count && *at != ST_LIST_END; at++)
		question->groupings[(*count)++] = (enum st_grouping) * at;
	if (!kind->last || (*count && question->groupings[*count - 1] == *kind->last))
		return ST_OK;
	if (*count == ST_QUESTION_DEPTH_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "too many groupings");
	question->groupings[(*count)++] = (enum st_grouping) * kind->last;
	return ST_OK;
}

static struct st_set offered_by(const struct st_dataset *dataset, enum st_asked asked)
{
	return asked == ST_ASKED_FILTERS ? st_set_join(dataset->answers, dataset->filters)
					 : dataset->answers;
}

static enum st_status operator_groupings(const struct st_result *result, enum st_asked asked,
					 struct st_set *out, struct st_error *err)
{
	struct st_dataset dataset;
	enum st_status status;

	*out = st_dataset_operators_answers();
	if (asked == ST_ASKED_FILTERS)
		*out = st_set_join(*out, st_dataset_operators_filters());
	if (!result)
		return ST_OK;
	status = st_dataset_operators_init(&dataset, result, false, err);
	if (!status)
		*out = offered_by(&dataset, asked);
	st_dataset_operators_fini(&dataset);
	return status;
}

/* Those of slices beside what is in out; a line of Python only where tasks have one. */
static enum st_status slice_groupings(const struct st_result *result, enum st_asked asked,
				      struct st_set *out, struct st_error *err)
{
	const struct st_question lines = {.groupings = {ST_BY_PYTHON_LINE}, .grouping_count = 1};
	bool has_lines = st_set_has(*out, ST_BY_PYTHON_LINE);
	struct st_dataset dataset;
	enum st_status status;

	if (!result) {
		*out = st_set_join(*out, st_set_range(0, ST_BY_PYTHON_LINE + 1));
		if (asked == ST_ASKED_GROUPS)
			return ST_OK;
		*out = st_set_join(*out, ST_SET(ST_BY_OPERATOR, ST_BY_NN_MODULE));
		if (!has_lines)
			st_set_remove(out, ST_BY_PYTHON_LINE);
		return ST_OK;
	}
	status = st_dataset_slices_init(&dataset, result, err);
	if (status)
		return status;
	*out = st_set_join(*out, offered_by(&dataset, asked));
	if (st_dataset_prepare(&dataset, &lines, NULL) && !has_lines)
		st_set_remove(out, ST_BY_PYTHON_LINE);
	st_dataset_slices_fini(&dataset);
	return ST_OK;
}

static enum st_status answered(const struct st_report_kind *kind, const struct st_result *result,
			       enum st_asked asked, struct st_set *out, struct st_error *err)
{
	/* What a report lays out in a way of its own is filtered by what it is about all the same. */
	const uint8_t *own = asked == ST_ASKED_GROUPS ? kind->groupings : NULL;

	*out = st_set_of(own);
	if (own || !(kind->accepts & (ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER)))
		return ST_OK;
	switch (kind->facts) {
	case ST_FACTS_NONE:
		break;
	case ST_FACTS_ROWS:
		*out = st_dataset_rows_answers(kind->rows->set);
		if (kind->rows->set == ST_ROWS_SYNC)
			*out = st_set_join(*out, st_wait_keys(result));
		break;
	case ST_FACTS_OPERATORS:
	case ST_FACTS_MEMORY:
		return operator_groupings(result, asked, out, err);
	case ST_FACTS_SAMPLES:
	case ST_FACTS_BOTH:
		*out = st_sample_answers_of(result);
		if (kind->facts == ST_FACTS_SAMPLES && !st_set_is_empty(*out))
			break;
		if (result && !st_result_samples(result)->count)
			*out = st_set_of(NULL);
		/* fall through */
	case ST_FACTS_SLICES:
		return slice_groupings(result, asked, out, err);
	}
	return ST_OK;
}

/* A tree of groups has no group of its own that a row could be in. */
enum st_status st_report_groupings(const struct st_report_kind *kind,
				   const struct st_result *result, enum st_asked asked,
				   struct st_set *out, struct st_error *err)
{
	enum st_status status = answered(kind, result, asked, out, err);

	if (asked == ST_ASKED_FILTERS) {
		st_set_remove(out, ST_BY_TASK_STACK);
		st_set_remove(out, ST_BY_CALLSTACK);
		st_set_remove(out, ST_BY_FUNCTION_STACK);
	}
	return status;
}
