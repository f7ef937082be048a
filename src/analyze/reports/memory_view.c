// SPDX-License-Identifier: Apache-2.0
//
// The figures that all reports about memory begin with.
#include "analyze/reports/report_memory.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/datasets/dataset_parts.h"
#include "analyze/tables/report_make.h"
#include "store/operators.h"

enum { NOTES_MAX = 4 };

static const char *bytes_text(int64_t bytes, const char *plus, struct st_arena *arena)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
	double shown = bytes < 0 ? -(double)bytes : (double)bytes;
	unsigned int unit = 0;
	const char *text;

	for (; shown >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		shown /= 1000;
	text = st_arena_printf(arena, "%s%.*f %s", bytes < 0 ? "-" : plus, unit ? 2 : 0, shown,
			       units[unit]);
	return text ? text : "";
}

/* Held at the end of a step, from the first to the last that is no warm-up. Steps of several threads overlap: those of the
 * first thread that has any are taken. */
static void find_growth(struct st_memory_view *view)
{
	const struct st_one_step *first = NULL, *last = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < view->steps.count; i++) {
		const struct st_one_step *step = &view->steps.steps[i];

		if (step->is_warm_up || step->begin_ns < view->begin_ns ||
		    step->end_ns > view->end_ns || (first && step->track != first->track))
			continue;
		if (!first)
			first = step;
		last = step;
		count++;
	}
	if (count < 2)
		return;
	view->has_growth = true;
	view->growth_steps = count;
	view->growth_bytes =
		((int64_t)st_memory_held(view->changes, view->change_count, last->end_ns) -
		 (int64_t)st_memory_held(view->changes, view->change_count, first->end_ns)) /
		(int64_t)(count - 1);
}

static enum st_status find_steps(struct st_memory_view *view, const struct st_result *result,
				 struct st_error *err)
{
	struct st_dataset dataset;
	enum st_status status = st_dataset_slices_init(&dataset, result, err);

	if (status)
		return status;
	status = st_step_list_make(&view->steps, &dataset, result, err);
	st_dataset_slices_fini(&dataset);
	return status;
}

static void find_peak(struct st_memory_view *view)
{
	view->peak =
		st_memory_peak(view->changes, view->change_count, view->begin_ns, view->end_ns);
	view->end_bytes = st_memory_held(view->changes, view->change_count, view->end_ns);
	for (uint32_t i = 0; i < view->blocks.count; i++)
		view->peak_held_count +=
			st_memory_block_is_held(&view->blocks.items[i], view->peak.time_ns);
}

static bool has_pauses(const struct st_result *result)
{
	struct st_pause_list list;
	struct st_arena arena;
	bool found;

	st_arena_init(&arena, SIZE_MAX / 2);
	found = st_pause_list_make(&list, result, &arena) && list.count;
	st_arena_fini(&arena);
	return found;
}

enum st_status st_memory_view_make(struct st_memory_view *out, const struct st_result *result,
				   const struct st_question *question, struct st_error *err)
{
	uint32_t count;
	const struct st_memory_moment *moments = st_result_memory(result, &count);
	enum st_status status;

	memset(out, 0, sizeof(*out));
	out->end_ns = count ? moments[count - 1].time_ns : 0;
	if (st_result_info(result)->collected_ns > out->end_ns)
		out->end_ns = st_result_info(result)->collected_ns;
	if (question->has_time_range) {
		out->begin_ns = question->time_begin_ns;
		out->end_ns = question->time_end_ns;
	}
	for (uint32_t i = 0; i < count; i++)
		out->sum_count += !moments[i].address;
	if (!st_memory_blocks_make(&out->blocks, result))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the blocks");
	out->changes = st_memory_changes(&out->blocks, &out->change_count);
	status = out->changes ? find_steps(out, result, err)
			      : st_error_set(err, ST_ENOMEM, 0, "out of memory for the blocks");
	if (status) {
		st_memory_view_fini(out);
		return status;
	}
	find_peak(out);
	find_growth(out);
	out->has_pauses = has_pauses(result);
	return ST_OK;
}

void st_memory_view_fini(struct st_memory_view *view)
{
	if (!view)
		return;
	st_memory_blocks_fini(&view->blocks);
	st_step_list_fini(&view->steps);
	free(view->changes);
	memset(view, 0, sizeof(*view));
}

/* The step of the first thread that has one then. */
static uint32_t step_at(const struct st_memory_view *view, int64_t time_ns)
{
	for (uint32_t i = 0; i < view->steps.count; i++) {
		if (view->steps.steps[i].begin_ns <= time_ns &&
		    time_ns < view->steps.steps[i].end_ns)
			return i;
	}
	return ST_NO_ROW;
}

const char *st_memory_view_text(const struct st_memory_view *view, const struct st_result *result,
				struct st_arena *arena)
{
	uint32_t step = step_at(view, view->peak.time_ns);
	const char *where = "", *growth = "", *text;

	if (!view->blocks.count)
		return NULL;
	if (step != ST_NO_ROW) {
		struct st_text name = st_step_text(&view->steps, step, result, arena);

		where = st_arena_printf(arena, " (%.*s)",
					name.size_bytes < 80 ? (int)name.size_bytes : 80,
					name.bytes);
	}
	if (view->has_growth)
		growth = st_arena_printf(arena, "; %s per step (%u steps)",
					 bytes_text(view->growth_bytes, "+", arena),
					 view->growth_steps);
	text = st_arena_printf(
		arena, "peak %s at %.3f s%s, in %u block%s; %s at the end%s",
		bytes_text((int64_t)view->peak.bytes, "", arena), (double)view->peak.time_ns / 1e9,
		where ? where : "", view->peak_held_count, view->peak_held_count == 1 ? "" : "s",
		bytes_text((int64_t)view->end_bytes, "", arena), growth ? growth : "");
	return text;
}

void st_memory_view_notes(const struct st_memory_view *view, struct st_report *report)
{
	struct st_arena *arena = st_report_arena(report);
	const char **notes = st_arena_calloc(arena, NOTES_MAX, sizeof(*notes));
	uint32_t count = 0;

	if (!notes)
		return;
	if (view->blocks.unknown_count)
		notes[count++] = st_arena_printf(
			arena, "%u freed blocks (%s) have no recorded allocation; not counted",
			view->blocks.unknown_count,
			bytes_text((int64_t)view->blocks.unknown_bytes, "", arena));
	if (view->blocks.again_count)
		notes[count++] =
			st_arena_printf(arena,
					"%u blocks count as freed when their address was reused: "
					"the time they were freed was not recorded",
					view->blocks.again_count);
	if (view->has_pauses)
		notes[count++] = "memory freed during pauses counts as held";
	if (view->sum_count)
		notes[count++] = st_arena_printf(
			arena, "%u totals without addresses are not counted", view->sum_count);
	report->notes = notes;
	report->note_count = count;
	for (uint32_t i = 0; i < count; i++) {
		if (!notes[i])
			report->note_count = 0;
	}
}

const char *st_memory_view_empty(const struct st_memory_view *view)
{
	return view->blocks.count ? "No memory was held at that time."
				  : "This result has no framework memory; use -collect operators "
				    "to record PyTorch's CPU allocator.";
}
