// SPDX-License-Identifier: Apache-2.0
//
// Report "memory-timeline": what was held over time, in equal spans or, with -group-by step, from step to step.
#include "analyze/reports/report_memory.h"

#include <string.h>

#include "analyze/reports/report_kinds.h"
#include "analyze/tables/report_make.h"

enum { DEFAULT_BINS = 60 };
enum { STEP, START, END, HELD_BEGIN, PEAK, HELD_END, GROWTH, TAKEN, GIVEN, WARM_UP, COLUMNS };

static const struct st_column columns[COLUMNS] = {
	[STEP] = {"step", "Step", "", true},
	[START] = {"start_ns", "Start", "ns", false},
	[END] = {"end_ns", "End", "ns", false},
	[HELD_BEGIN] = {"held_begin_bytes", "Held:Begin", "bytes", false},
	[PEAK] = {"peak_bytes", "Held:Most", "bytes", false},
	[HELD_END] = {"held_end_bytes", "Held:End", "bytes", false},
	[GROWTH] = {"growth_bytes", "Growth", "bytes", false},
	[TAKEN] = {"allocated_bytes", "Allocated", "bytes", false},
	[GIVEN] = {"freed_bytes", "Freed", "bytes", false},
	[WARM_UP] = {"warm_up", "Warm-Up", "", false},
};

struct span {
	int64_t begin_ns, end_ns;
};

/* Changes at its beginning lie before it. */
static void add_span(struct st_cell *cells, const struct st_memory_view *view, struct span span)
{
	struct st_memory_change begin =
		st_memory_at(view->changes, view->change_count, span.begin_ns);
	struct st_memory_change end = st_memory_at(view->changes, view->change_count, span.end_ns);
	struct st_memory_peak peak =
		st_memory_peak(view->changes, view->change_count, span.begin_ns, span.end_ns);
	uint64_t taken = end.taken - begin.taken;

	cells[START] = st_cell_i64(span.begin_ns);
	cells[END] = st_cell_i64(span.end_ns);
	cells[HELD_BEGIN] = st_cell_u64(begin.held);
	cells[PEAK] = st_cell_u64(peak.bytes);
	cells[HELD_END] = st_cell_u64(end.held);
	cells[GROWTH] = st_cell_i64((int64_t)(end.held - begin.held));
	cells[TAKEN] = st_cell_u64(taken);
	cells[GIVEN] = st_cell_u64(taken - (end.held - begin.held));
}

static void add_steps(struct st_report *out, const struct st_memory_view *view,
		      const struct st_result *result)
{
	for (uint32_t i = 0; i < view->steps.count; i++) {
		const struct st_one_step *step = &view->steps.steps[i];
		struct st_cell *cells;

		if (step->begin_ns < view->begin_ns || step->end_ns > view->end_ns)
			continue;
		cells = st_report_add(out, 0);
		cells[STEP] =
			st_cell_bytes(st_step_text(&view->steps, i, result, st_report_arena(out)));
		add_span(cells, view, (struct span){step->begin_ns, step->end_ns});
		cells[WARM_UP] = st_cell_bool(step->is_warm_up);
	}
}

static void add_bins(struct st_report *out, const struct st_memory_view *view, uint32_t count)
{
	int64_t all_ns = view->end_ns - view->begin_ns;

	for (uint32_t i = 0; i < count && view->blocks.count; i++) {
		struct span span = {view->begin_ns + all_ns / count * i,
				    i + 1 == count ? view->end_ns
						   : view->begin_ns + all_ns / count * (i + 1)};

		struct st_cell cells[COLUMNS] = {{.kind = ST_CELL_NONE}};

		/* The columns of steps are not there. */
		add_span(cells, view, span);
		memcpy(st_report_add(out, 0), cells + START, (WARM_UP - START) * sizeof(*cells));
	}
}

static enum st_status check(const struct st_question *question, struct st_error *err)
{
	if (question->filter_count)
		return st_error_set(err, ST_EUSAGE, 0,
				    "report memory-timeline does not support -filter; use strata "
				    "query with the table memory");
	if (question->grouping_count > 1 ||
	    (question->grouping_count && question->groupings[0] != ST_BY_STEP))
		return st_grouping_refuse(question->groupings[question->grouping_count - 1],
					  ST_SET(ST_BY_STEP), err);
	return ST_OK;
}

enum st_status st_report_memory_timeline_build(const struct st_report_kind *kind,
					       const struct st_result *result,
					       const struct st_report_options *options,
					       struct st_report *out, struct st_error *err)
{
	bool by_step = options->question.grouping_count > 0;
	struct st_memory_view view;
	enum st_status status = check(&options->question, err);

	(void)kind;
	if (status)
		return status;
	st_report_columns(out, by_step ? columns : columns + 1, by_step ? COLUMNS : COLUMNS - 2);
	status = st_memory_view_make(&view, result, &options->question, err);
	if (status)
		return status;
	if (by_step)
		add_steps(out, &view, result);
	else
		add_bins(out, &view, options->bin_count ? options->bin_count : DEFAULT_BINS);
	out->totals.cells = st_report_new_cells(out);
	out->subject = st_memory_view_text(&view, result, st_report_arena(out));
	st_memory_view_notes(&view, out);
	out->empty = view.blocks.count ? "No steps were found." : st_memory_view_empty(&view);
	st_memory_view_fini(&view);
	return ST_OK;
}
