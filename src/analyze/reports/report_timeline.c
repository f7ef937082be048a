// SPDX-License-Identifier: Apache-2.0
//
// Report "timeline": for each thread, how busy it was with tasks in each bin of time, and with which.
// Bins without any task are left out. Threads over the limit are summed as one.
#include "analyze/reports/report_kinds.h"

#include <stdlib.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/tables/report_make.h"
#include "analyze/reports/timeline.h"
#include "store/result.h"

enum { BINS_DEFAULT = 60, BINS_MAX = 100000 };
#define OTHERS UINT32_MAX

static const struct st_column columns[] = {
	{"process", "Process", "", true},	 {"thread", "Thread", "", true},
	{"start_ns", "Start Time", "ns", false}, {"end_ns", "End Time", "ns", false},
	{"busy_ns", "Busy", "ns", false},	 {"task_type", "Task Type", "", true},
	{"count", "Task Count", "", false},
};

static enum st_status check_options(const struct st_report_options *options, struct st_error *err)
{
	const struct st_question *question = &options->question;

	for (unsigned int i = 0; i < question->grouping_count; i++) {
		if (question->groupings[i] != ST_BY_THREAD &&
		    question->groupings[i] != ST_BY_PROCESS)
			return st_error_set(
				err, ST_EUSAGE, 0,
				"timeline: rows are threads; -group-by %s is not supported",
				st_grouping_info(question->groupings[i])->name);
	}
	if (options->bin_count > BINS_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "timeline: more than %d bins", BINS_MAX);
	return ST_OK;
}

static void set_range(struct st_timeline *timeline, const struct st_result *result,
		      const struct st_question *question)
{
	const struct st_result_info *info = st_result_info(result);
	const struct st_dataset *dataset = timeline->dataset;

	timeline->begin_ns = info->kept_from_ns;
	timeline->end_ns = info->collected_ns > 0 ? info->collected_ns : info->elapsed_ns;
	for (uint32_t row = 0; row < dataset->row_count; row++) {
		if (dataset->end_ns[row] > timeline->end_ns)
			timeline->end_ns = dataset->end_ns[row];
	}
	if (question->has_time_range) {
		int64_t end_ns = question->time_end_ns;

		timeline->begin_ns = question->time_begin_ns;
		if (end_ns < timeline->end_ns)
			timeline->end_ns = end_ns;
	}
	if (timeline->end_ns <= timeline->begin_ns)
		timeline->end_ns = timeline->begin_ns + 1;
}

static bool is_empty(const struct st_timeline_bin *bins, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (bins[i].busy_ns || bins[i].count)
			return false;
	}
	return true;
}

/* track OTHERS: the sum of the threads over the limit. */
static void add_track(struct st_report *report, struct st_timeline *timeline, uint32_t track,
		      const struct st_timeline_bin *bins)
{
	const struct st_dataset *dataset = timeline->dataset;
	struct st_arena *arena = st_report_arena(report);
	struct st_cell process = st_cell_text("[Others]"), thread = process;

	if (track != OTHERS) {
		uint32_t row = dataset->tracks[track].begin;

		process = st_cell_bytes(dataset->text(dataset, ST_BY_PROCESS,
						      st_key_of(&dataset->keys[ST_BY_PROCESS], row),
						      arena));
		thread = st_cell_bytes(dataset->text(dataset, ST_BY_THREAD, track, arena));
	}
	for (uint32_t i = 0; i < timeline->bin_count; i++) {
		struct st_cell *cells;

		if (!bins[i].busy_ns && !bins[i].count)
			continue;
		cells = st_report_add(report, 0);
		cells[0] = process;
		cells[1] = thread;
		cells[2] = st_cell_i64(st_timeline_bin_begin(timeline, i));
		cells[3] = st_cell_i64(st_timeline_bin_begin(timeline, i + 1));
		cells[4] = st_cell_u64(bins[i].busy_ns);
		if (bins[i].top_key != UINT32_MAX)
			cells[5] = st_cell_bytes(
				dataset->text(dataset, ST_BY_TASK_TYPE, bins[i].top_key, arena));
		cells[6] = st_cell_u64(bins[i].count);
	}
}

static void add_bins(struct st_timeline_bin *to, const struct st_timeline_bin *bins, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		to[i].busy_ns += bins[i].busy_ns;
		to[i].count += bins[i].count;
		to[i].top_key = UINT32_MAX;
	}
}

/* Fills the report; bins and others have room for all bins, others is zero. */
static void add_tracks(struct st_report *out, struct st_timeline *timeline, uint64_t limit,
		       struct st_timeline_bin *bins, struct st_timeline_bin *others)
{
	const struct st_dataset *dataset = timeline->dataset;
	uint64_t busy_ns = 0, count = 0, shown = 0;

	for (uint32_t track = 0; track < dataset->track_count; track++) {
		if (dataset->tracks[track].begin == dataset->tracks[track].end)
			continue;
		st_timeline_fill(timeline, track, bins);
		for (uint32_t i = 0; i < timeline->bin_count; i++) {
			busy_ns += bins[i].busy_ns;
			count += bins[i].count;
		}
		if (is_empty(bins, timeline->bin_count))
			continue;
		if (limit && shown == limit) {
			add_bins(others, bins, timeline->bin_count);
		} else {
			add_track(out, timeline, track, bins);
			shown++;
		}
	}
	if (!is_empty(others, timeline->bin_count))
		add_track(out, timeline, OTHERS, others);
	out->totals.cells = st_report_new_cells(out);
	out->totals.cells[2] = st_cell_i64(timeline->begin_ns);
	out->totals.cells[3] = st_cell_i64(timeline->end_ns);
	out->totals.cells[4] = st_cell_u64(busy_ns);
	out->totals.cells[6] = st_cell_u64(count);
}

static enum st_status fill(const struct st_result *result, const struct st_report_options *options,
			   const struct st_dataset *dataset, struct st_report *out,
			   struct st_error *err)
{
	struct st_selection selection;
	struct st_timeline timeline;
	struct st_timeline_bin *bins;
	enum st_status status = st_selection_init(&selection, dataset, &options->question, err);

	if (status)
		return status;
	if (!st_timeline_init(&timeline, dataset, &selection)) {
		st_selection_fini(&selection);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the timeline");
	}
	timeline.bin_count = options->bin_count ? options->bin_count : BINS_DEFAULT;
	set_range(&timeline, result, &options->question);
	bins = calloc(timeline.bin_count, 2 * sizeof(*bins));
	if (bins)
		add_tracks(out, &timeline, options->question.limit, bins,
			   bins + timeline.bin_count);
	else
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the timeline");
	free(bins);
	st_timeline_fini(&timeline);
	st_selection_fini(&selection);
	return status;
}

enum st_status st_report_timeline_build(const struct st_report_kind *kind,
					const struct st_result *result,
					const struct st_report_options *options,
					struct st_report *out, struct st_error *err)
{
	struct st_dataset dataset;
	enum st_status status = check_options(options, err);

	(void)kind;
	if (status)
		return status;
	out->group_by[out->group_by_count++] = "process";
	out->group_by[out->group_by_count++] = "thread";
	st_report_columns(out, columns, sizeof(columns) / sizeof(columns[0]));
	status = st_dataset_slices_init(&dataset, result, err);
	if (!status) {
		status = st_dataset_prepare(&dataset, &options->question, err);
		if (!status)
			status = fill(result, options, &dataset, out, err);
		st_dataset_slices_fini(&dataset);
	}
	return status;
}
