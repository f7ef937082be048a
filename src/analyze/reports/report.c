// SPDX-License-Identifier: Apache-2.0
//
// The table of reports, and what they all need: building columns, rows and cells.
#include "analyze/tables/report.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_operators.h"
#include "analyze/engine/names.h"
#include "analyze/reports/report_python_calls.h"
#include "analyze/reports/report_kinds.h"
#include "analyze/tables/report_make.h"
#include "analyze/reports/report_rows.h"
#include "analyze/samples/sample_set.h"
#include "store/result.h"

enum {
	ACCEPTS_QUESTION =
		ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER | ST_ACCEPTS_SORT | ST_ACCEPTS_LIMIT,
};

const struct st_report_kind st_report_kinds[] = {
	{"summary", "where the time went, on one screen",
	 ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_VIEW, st_report_summary_build, NULL},
	{"tasks", "tasks by type, domain, family or instance, with their durations",
	 ACCEPTS_QUESTION, st_report_tasks_build, NULL},
	{"top-down", "tree of calls, or of nested tasks, with total and self time",
	 ACCEPTS_QUESTION | ST_ACCEPTS_VIEW, st_report_top_down_build, NULL},
	{"hotspots", "functions, lines or tasks that took the CPU time, and what it was good for",
	 ACCEPTS_QUESTION | ST_ACCEPTS_VIEW, st_report_hotspots_build, NULL},
	{"callstacks", "functions that took the CPU time, with their callers",
	 ACCEPTS_QUESTION | ST_ACCEPTS_VIEW, st_report_callstacks_build, NULL},
	{"gprof-cc", "each function with its callers and what it calls",
	 ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_VIEW, st_report_gprof_build, NULL},
	{"utilization", "for how long how many CPUs did effective work at the same time",
	 ST_ACCEPTS_VIEW, st_report_utilization_build, NULL},
	{"source", "a source file with the CPU time of each line, Python or native",
	 ST_ACCEPTS_FILTER | ST_ACCEPTS_VIEW | ST_ACCEPTS_OBJECT, st_report_source_build, NULL},
	{"disassembly", "the instructions of a function with their CPU time",
	 ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER | ST_ACCEPTS_VIEW | ST_ACCEPTS_OBJECT,
	 st_report_disassembly_build, NULL},
	{"operators",
	 "operators of PyTorch, with inputs, memory, FLOPs and bytes where they were recorded",
	 ACCEPTS_QUESTION | ST_ACCEPTS_FOLDING, st_report_operators_build, NULL},
	{"torch-averages", "operators as torch's profiler tabulates them: key_averages().table()",
	 ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_TORCH, st_report_torch_averages_build,
	 NULL},
	{"torch-events", "single operators as torch's profiler lists them: events()",
	 ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_TORCH, st_report_torch_events_build,
	 NULL},
	{"steps", "steps of a training loop: data wait, forward, backward, optimizer, the rest",
	 ST_ACCEPTS_LIMIT, st_report_steps_build, NULL},
	{"findings", "what is worth changing, why, how, and what it would save",
	 ST_ACCEPTS_LIMIT | ST_ACCEPTS_VIEW, st_report_findings_build, NULL},
	{"python-calls",
	 "calls of Python functions with cProfile's figures, where they were counted",
	 ST_ACCEPTS_SORT | ST_ACCEPTS_LIMIT, st_report_python_calls_build, NULL},
	{"memory", "who held the memory of PyTorch at its peak, and how it grows from step to step",
	 ACCEPTS_QUESTION, st_report_memory_build, NULL},
	{"memory-timeline", "memory of PyTorch over time, or from step to step",
	 ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER | ST_ACCEPTS_BINS, st_report_memory_timeline_build,
	 NULL},
	{"timeline", "each thread over time: how busy, and with which task",
	 ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER | ST_ACCEPTS_LIMIT | ST_ACCEPTS_BINS,
	 st_report_timeline_build, NULL},
	{"frames", "frames by domain: frame times and rate", ACCEPTS_QUESTION, NULL,
	 &st_frames_report},
	{"regions", "regions by name, with their durations", ACCEPTS_QUESTION, NULL,
	 &st_regions_report},
	{"overlapped", "overlapped tasks by type, with their durations", ACCEPTS_QUESTION, NULL,
	 &st_overlapped_report},
	{"markers", "markers, user events and marks in order of time", ACCEPTS_QUESTION, NULL,
	 &st_markers_report},
	{"counters", "counters: first, last, least, largest and average value", ACCEPTS_QUESTION,
	 NULL, &st_counters_report},
	{"sync", "waits for sync objects, and how long they were held", ACCEPTS_QUESTION, NULL,
	 &st_sync_report},
	{"relations", "relations that the program told between its tasks", ACCEPTS_QUESTION, NULL,
	 &st_relations_report},
	{"metadata", "what the program attached to its tasks", ACCEPTS_QUESTION, NULL,
	 &st_metadata_report},
	{"histograms", "histograms that the program submitted", ACCEPTS_QUESTION, NULL,
	 &st_histograms_report},
	{"heap", "allocations told by allocators, by heap function", ACCEPTS_QUESTION, NULL,
	 &st_heap_report},
	{"info", "what is known of the run: command, host, processes, losses, files", 0,
	 st_report_info_build, NULL},
	{NULL, NULL, 0, NULL, NULL},
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

enum st_status st_report_build(const struct st_result *result, const char *name,
			       const struct st_report_options *options, struct st_report *out,
			       struct st_error *err)
{
	const char *names[64];
	size_t count = 0;

	memset(out, 0, sizeof(*out));
	for (const struct st_report_kind *kind = st_report_kinds; kind->name; kind++) {
		names[count++] = kind->name;
		if (st_name_equal(name, strlen(name), kind->name)) {
			enum st_status status = check_accepted(kind, options, err);

			if (status)
				return status;
			return kind->rows
				       ? st_rows_report_build(kind->rows, result, options, out, err)
				       : kind->build(result, options, out, err);
		}
	}
	return st_name_unknown(name, strlen(name), "report", &(struct st_name_list){names, count},
			       err);
}

static enum st_status operator_groupings(const struct st_result *result, struct st_set *out,
					 struct st_error *err)
{
	struct st_dataset dataset;
	enum st_status status;

	*out = st_dataset_operators_answers();
	if (!result)
		return ST_OK;
	status = st_dataset_operators_init(&dataset, result, false, err);
	if (!status)
		*out = dataset.answers;
	st_dataset_operators_fini(&dataset);
	return status;
}

enum st_status st_report_groupings(const struct st_report_kind *kind,
				   const struct st_result *result, struct st_set *out,
				   struct st_error *err)
{
	struct st_dataset dataset;
	enum st_status status;

	*out = (struct st_set){{0}};
	if (kind->rows) {
		*out = st_dataset_rows_answers(kind->rows->set);
		return ST_OK;
	}
	if (!(kind->accepts & (ST_ACCEPTS_GROUP_BY | ST_ACCEPTS_FILTER)))
		return ST_OK;
	if (kind->build == st_report_operators_build || kind->build == st_report_memory_build ||
	    kind->accepts & ST_ACCEPTS_TORCH)
		return operator_groupings(result, out, err);
	if (kind->build == st_report_memory_timeline_build) {
		*out = ST_SET(ST_BY_STEP);
		return ST_OK;
	}
	if (kind->build == st_report_disassembly_build) {
		*out = ST_SET(ST_BY_ADDRESS, ST_BY_BASIC_BLOCK, ST_BY_SOURCE_LINE);
		return ST_OK;
	}
	if (kind->accepts & ST_ACCEPTS_VIEW)
		*out = st_sample_answers_of(result);
	if (!st_set_is_empty(*out) && kind->build != st_report_top_down_build &&
	    kind->build != st_report_summary_build)
		return ST_OK;
	*out = st_set_join(*out, st_set_range(0, ST_BY_PYTHON_LINE + 1));
	if (!result)
		return ST_OK;
	status = st_dataset_slices_init(&dataset, result, err);
	if (status)
		return status;
	*out = dataset.answers;
	if (kind->accepts & ST_ACCEPTS_VIEW)
		*out = st_set_join(*out, st_sample_answers_of(result));
	if (st_dataset_prepare(
		    &dataset,
		    &(struct st_question){.groupings = {ST_BY_PYTHON_LINE}, .grouping_count = 1},
		    NULL))
		st_set_remove(out, ST_BY_PYTHON_LINE);
	st_dataset_slices_fini(&dataset);
	return ST_OK;
}

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

static void answer_columns(struct st_report *report, const struct st_report_layout *layout)
{
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
	for (unsigned int i = 0; i < ST_METRICS; i++) {
		const struct st_measure *info = st_metric_info((enum st_metric)i);

		const char *title = layout->titles ? layout->titles[i] : NULL;

		if (st_set_has(question->metrics, i))
			columns[count++] = (struct st_column){
				info->key, title ? title : info->title, info->unit, false};
	}
	for (uint32_t i = layout->front_count; i < layout->extra_count; i++)
		columns[count++] = layout->extra[i];
	st_report_columns(report, columns, count);
}

static void metric_cells(struct st_cell *cells, const struct st_answer_row *row,
			 const struct st_report_layout *layout)
{
	uint32_t at = layout->question->grouping_count + layout->front_count;

	for (unsigned int i = 0; i < ST_METRICS; i++) {
		if (st_set_has(layout->question->metrics, i))
			cells[at++] = st_cell_u64(st_answer_value(row, (enum st_metric)i));
	}
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
