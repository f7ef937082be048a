// SPDX-License-Identifier: Apache-2.0
//
// Report "steps": each step of the program with its parts. The totals are of the steps that are no warm-up.
#include "analyze/reports/report_kinds.h"

#include "analyze/datasets/dataset_parts.h"
#include "analyze/tables/report_make.h"
#include "analyze/steps/step_list.h"

enum {
	STEP,
	START,
	WALL,
	FIRST_PART,
	WARM_UP = FIRST_PART + ST_STEP_PART_KINDS,
	ROW,
	PROCESS,
	THREAD,
	COLUMNS
};

static const struct st_column columns[COLUMNS] = {
	[STEP] = {"step", "Step", "", true},
	[START] = {"start_ns", "Start", "ns", false},
	[WALL] = {"wall_total_ns", "Step Time", "ns", false},
	[FIRST_PART + ST_STEP_DATA] = {"data_wait_ns", "Data Wait", "ns", false},
	[FIRST_PART + ST_STEP_FORWARD] = {"forward_ns", "Forward", "ns", false},
	[FIRST_PART + ST_STEP_BACKWARD] = {"backward_ns", "Backward", "ns", false},
	[FIRST_PART + ST_STEP_OPTIMIZER] = {"optimizer_ns", "Optimizer", "ns", false},
	[FIRST_PART + ST_STEP_OTHER] = {"other_ns", "Python, Other", "ns", false},
	[WARM_UP] = {"warm_up", "Warm-Up", "", false},
	[ROW] = {"row", "Row", "", false},
	[PROCESS] = {"process", "Process", "", false},
	[THREAD] = {"thread", "Thread", "", false},
};

static void add_parts(struct st_cell *cells, const struct st_step_list *list,
		      const uint64_t part_ns[ST_STEP_PART_KINDS])
{
	for (unsigned int i = 0; i < ST_STEP_PART_KINDS && list->has_parts; i++)
		cells[FIRST_PART + i] = st_cell_u64(part_ns[i]);
}

static void add_step(struct st_report *out, const struct st_result *result,
		     const struct st_step_list *list, uint32_t index)
{
	struct st_arena *arena = st_report_arena(out);
	const struct st_one_step *step = &list->steps[index];
	struct st_cell *cells = st_report_add(out, 0);
	uint32_t count;

	cells[STEP] = st_cell_bytes(st_step_text(list, index, result, arena));
	cells[START] = st_cell_i64(step->begin_ns);
	cells[WALL] = st_cell_u64(step->wall_ns);
	add_parts(cells, list, step->part_ns);
	cells[WARM_UP] = st_cell_bool(step->is_warm_up);
	if (step->slice != ST_NO_ROW)
		cells[ROW] = st_cell_u64(step->slice);
	cells[PROCESS] = st_cell_bytes(st_place_process(
		result, st_result_tracks(result, &count)[step->track].process, arena));
	cells[THREAD] = st_cell_bytes(st_place_thread(result, step->track, arena));
}

static enum st_status fill(struct st_report *out, const struct st_result *result,
			   const struct st_report_options *options, const struct st_step_list *list,
			   struct st_error *err)
{
	uint64_t limit = options->question.limit;
	struct st_step_figures figures;
	enum st_status status = st_step_figures_make(list, &figures, err);

	if (status)
		return status;
	out->totals.cells = st_report_new_cells(out);
	if (!list->count)
		return ST_OK;
	out->subject = st_arena_printf(
		st_report_arena(out), "%u %s, %u of them warm-up and not in the totals; %s",
		list->count, list->count == 1 ? "step" : "steps", list->warm_up_count,
		st_step_source_text(list, st_report_arena(out)));
	for (uint32_t i = 0; i < list->count && (!limit || i < limit); i++)
		add_step(out, result, list, i);
	out->totals.cells[WALL] = st_cell_u64(figures.wall_ns);
	add_parts(out->totals.cells, list, figures.part_ns);
	return ST_OK;
}

enum st_status st_report_steps_build(const struct st_result *result,
				     const struct st_report_options *options, struct st_report *out,
				     struct st_error *err)
{
	struct st_dataset dataset;
	struct st_step_list list;
	enum st_status status = st_report_begin(out, "steps", result, err);

	if (status)
		return status;
	st_report_columns(out, columns, COLUMNS);
	out->empty = "No steps were found: no ranges of torch.profiler, no optimizer, no "
		     "DataLoader, and "
		     "nothing that operators repeat. Mark them with record_function(\"step\").";
	status = st_dataset_slices_init(&dataset, result, err);
	if (!status) {
		status = st_step_list_make(&list, &dataset, result, err);
		if (!status) {
			status = fill(out, result, options, &list, err);
			st_step_list_fini(&list);
		}
		st_dataset_slices_fini(&dataset);
	}
	if (!status)
		return st_report_end(out, err);
	st_report_fini(out);
	return status;
}
