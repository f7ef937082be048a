// SPDX-License-Identifier: Apache-2.0
//
// Report "timeline": for each thread, how busy it was with tasks in each bin of time, and with which, and how long it ran
// on a CPU, as far as samples know. Bins without either are left out. Threads over the limit are summed as one.
#include "analyze/reports/report_kinds.h"

#include <stdlib.h>

#include "analyze/operators/dataset_tasks.h"
#include "analyze/tables/report_make.h"
#include "analyze/reports/timeline.h"
#include "store/result.h"
#include "store/samples.h"

enum { BINS_DEFAULT = 60, BINS_MAX = 100000 };
#define OTHERS UINT32_MAX

static const struct st_column columns[] = {
	{"process", "Process", "", true},	 {"thread", "Thread", "", true},
	{"start_ns", "Start Time", "ns", false}, {"end_ns", "End Time", "ns", false},
	{"busy_ns", "Busy", "ns", false},	 {"task_type", "Task Type", "", true},
	{"count", "Task Count", "", false},	 {"cpu_ns", "CPU Time", "ns", false},
};
enum { START = 2, END, BUSY, TYPE, COUNT, CPU };

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

static bool is_empty_bin(const struct st_timeline_bin *bin)
{
	return !bin->busy_ns && !bin->count && !bin->cpu_ns;
}

static bool is_empty(const struct st_timeline_bin *bins, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_empty_bin(&bins[i]))
			return false;
	return true;
}

/* A sample of weight w says that its thread ran for w up to then. */
static void add_samples(const struct st_timeline *timeline, const struct st_samples *samples,
			uint32_t track, struct st_timeline_bin *bins)
{
	for (uint32_t i = samples->first_of_track[track]; i < samples->first_of_track[track + 1];
	     i++) {
		int64_t end_ns = samples->time_ns[i];
		int64_t begin_ns = end_ns - (int64_t)samples->weight_ns[i];

		if (samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE))
			continue;
		for (uint32_t bin = st_timeline_bin_at(timeline, begin_ns);
		     bin < timeline->bin_count; bin++) {
			int64_t from = st_timeline_bin_begin(timeline, bin);
			int64_t to = st_timeline_bin_begin(timeline, bin + 1);

			if (from >= end_ns)
				break;
			from = from > begin_ns ? from : begin_ns;
			to = to < end_ns ? to : end_ns;
			bins[bin].cpu_ns += to > from ? (uint64_t)(to - from) : 0;
		}
	}
}

/* track OTHERS: the sum of the threads over the limit. */
static void add_track(struct st_report *report, struct st_timeline *timeline, uint32_t track,
		      const struct st_timeline_bin *bins)
{
	const struct st_dataset *dataset = timeline->dataset;
	struct st_arena *arena = st_report_arena(report);
	struct st_cell process = st_cell_text("[Others]"), thread = process;

	if (track != OTHERS) {
		uint32_t count;
		const struct st_track *tracks = st_result_tracks(timeline->result, &count);

		process = st_cell_bytes(
			dataset->text(dataset, ST_BY_PROCESS, tracks[track].process, arena));
		thread = st_cell_bytes(dataset->text(dataset, ST_BY_THREAD, track, arena));
	}
	for (uint32_t i = 0; i < timeline->bin_count; i++) {
		struct st_cell *cells;

		if (is_empty_bin(&bins[i]))
			continue;
		cells = st_report_add(report, 0);
		cells[0] = process;
		cells[1] = thread;
		cells[START] = st_cell_i64(st_timeline_bin_begin(timeline, i));
		cells[END] = st_cell_i64(st_timeline_bin_begin(timeline, i + 1));
		cells[BUSY] = st_cell_u64(bins[i].busy_ns);
		if (bins[i].top_key != UINT32_MAX)
			cells[TYPE] = st_cell_bytes(
				dataset->text(dataset, ST_BY_TASK_TYPE, bins[i].top_key, arena));
		cells[COUNT] = st_cell_u64(bins[i].count);
		if (timeline->has_samples)
			cells[CPU] = st_cell_u64(bins[i].cpu_ns);
	}
}

static void add_bins(struct st_timeline_bin *to, const struct st_timeline_bin *bins, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		to[i].busy_ns += bins[i].busy_ns;
		to[i].count += bins[i].count;
		to[i].cpu_ns += bins[i].cpu_ns;
		to[i].top_key = UINT32_MAX;
	}
}

/* Filters by anything but process and thread are about tasks: a thread without one is not wanted then. */
static bool is_thread_wanted(const struct st_timeline *timeline, uint32_t track,
			     const struct st_timeline_bin *bins)
{
	return timeline->is_by_place ? st_selection_has_track(timeline->selection, track)
				     : !is_empty(bins, timeline->bin_count);
}

/* Fills the report; bins and others have room for all bins, others is zero. */
static void add_tracks(struct st_report *out, struct st_timeline *timeline, uint64_t limit,
		       struct st_timeline_bin *bins, struct st_timeline_bin *others)
{
	const struct st_dataset *dataset = timeline->dataset;
	const struct st_samples *samples = st_result_samples(timeline->result);
	uint64_t busy_ns = 0, count = 0, cpu_ns = 0, shown = 0;

	for (uint32_t track = 0; track < dataset->track_count; track++) {
		st_timeline_fill(timeline, track, bins);
		if (timeline->has_samples && is_thread_wanted(timeline, track, bins))
			add_samples(timeline, samples, track, bins);
		for (uint32_t i = 0; i < timeline->bin_count; i++) {
			busy_ns += bins[i].busy_ns;
			count += bins[i].count;
			cpu_ns += bins[i].cpu_ns;
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
	out->totals.cells[START] = st_cell_i64(timeline->begin_ns);
	out->totals.cells[END] = st_cell_i64(timeline->end_ns);
	out->totals.cells[BUSY] = st_cell_u64(busy_ns);
	out->totals.cells[COUNT] = st_cell_u64(count);
	if (timeline->has_samples)
		out->totals.cells[CPU] = st_cell_u64(cpu_ns);
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
	timeline.result = result;
	timeline.has_samples = st_result_samples(result)->count > 0;
	timeline.is_by_place = true;
	for (size_t i = 0; i < options->question.filter_count; i++)
		timeline.is_by_place = timeline.is_by_place &&
				       (options->question.filters[i].grouping == ST_BY_PROCESS ||
					options->question.filters[i].grouping == ST_BY_THREAD);
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
