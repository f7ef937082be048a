// SPDX-License-Identifier: Apache-2.0
//
// The part of the summary about devices: how busy each was, how well its clock fits ours, and the kernels and copies that
// took most time.
#include <string.h>

#include "analyze/findings/finding_rules.h"
#include "analyze/operators/device_use.h"
#include "analyze/summary/report_summary.h"
#include "store/result.h"

enum { ROWS_SHOWN = 5, DEVICES_SHOWN = 8 };

static const double ns_per_us = 1000;

/* "its clock at least 3.1 us too early (2 of 300)" */
static const char *wrong_clock(struct st_arena *arena, const struct st_device_use *use,
			       const char *how, double us, uint64_t count)
{
	return st_arena_printf(arena, ", its clock at least %.1f us too %s (%llu of %llu)", us, how,
			       (unsigned long long)count,
			       (unsigned long long)(use->kernels + use->copies));
}

/* "device times are right within -6.4 … +5.7 us", as far as it is known. */
static const char *clock_words(struct st_arena *arena, const struct st_device_use *use)
{
	bool knows_late = use->late_ns != INT64_MAX, knows_early = use->early_ns != INT64_MAX;
	double late = (double)use->late_ns / ns_per_us, early = (double)use->early_ns / ns_per_us;

	if (!knows_late)
		return "";
	if (use->late_ns < 0)
		return wrong_clock(arena, use, "early", -late, use->too_early);
	if (knows_early && use->early_ns < 0)
		return st_arena_printf(arena,
				       ", its clock at least %.1f us too late (after %llu waits)",
				       -early, (unsigned long long)use->too_late);
	if (knows_early)
		return st_arena_printf(arena, ", its clock fits within -%.1f … +%.1f us", early,
				       late);
	return st_arena_printf(arena, ", its clock at most %.1f us too late", late);
}

/* ", no kernel ran for 12.3 ms: host late 80 %, copies only 20 %" */
static const char *gap_words(struct st_arena *arena, const struct st_device_use *use)
{
	const char *words = "";
	uint64_t sum_ns = 0, left_ns;
	bool shown[ST_GAP_REASONS] = {false};

	for (unsigned int i = 0; i < ST_GAP_REASONS; i++)
		sum_ns += i == ST_GAP_SILENT ? 0 : use->gap_ns[i];
	if (!sum_ns)
		return "";
	words = st_arena_printf(
		arena, ", no kernel ran for %s:", st_finding_duration(arena, (double)sum_ns, 3));
	/* The largest first, down to a hundredth. */
	for (left_ns = sum_ns; left_ns && words;) {
		unsigned int best = ST_GAP_REASONS;

		for (unsigned int i = 0; i < ST_GAP_REASONS; i++)
			if (!shown[i] && i != ST_GAP_SILENT &&
			    (best == ST_GAP_REASONS || use->gap_ns[i] > use->gap_ns[best]))
				best = i;
		if (best == ST_GAP_REASONS || use->gap_ns[best] * 100 < sum_ns)
			break;
		shown[best] = true;
		words = st_arena_printf(arena, "%s%s %s %.0f %%", words,
					left_ns < sum_ns ? "," : "", st_gap_reason_words[best],
					100 * (double)use->gap_ns[best] / (double)sum_ns);
		left_ns -= use->gap_ns[best];
	}
	return words ? words : "";
}

static const char *memory_words(struct st_arena *arena, const struct st_device_use *use)
{
	return use->allocations ? st_arena_printf(arena, ", %.1f MiB allocated at most",
						  (double)use->memory_peak_bytes / (1 << 20))
				: "";
}

static void add_device(const struct st_summary *summary, const struct st_device_use *use,
		       bool several_processes)
{
	struct st_arena *arena = st_report_arena(summary->report);
	struct st_cell *cells = st_report_fact(summary->report, "device", "");
	uint64_t span_ns = (uint64_t)(use->end_ns - use->begin_ns) - use->gap_ns[ST_GAP_SILENT];
	uint32_t count;
	const struct st_process *processes = st_result_processes(summary->result, &count);
	const char *text, *whose = "", *silent = "";

	if (several_processes)
		whose = st_arena_printf(arena, " of process %u", processes[use->place.process].pid);
	cells[ST_SUMMARY_NAME] = st_cell_text(
		st_arena_printf(arena, "%s%s", st_device_text(&use->place, arena).bytes, whose));
	if (use->gap_ns[ST_GAP_SILENT])
		silent = st_arena_printf(
			arena, ", not recorded for %s",
			st_finding_duration(arena, (double)use->gap_ns[ST_GAP_SILENT], 3));
	text = st_arena_printf(
		arena, "%llu %s %s, %llu %s %s%s%s%s%s%s", (unsigned long long)use->kernels,
		use->kernels == 1 ? "kernel" : "kernels",
		st_finding_duration(arena, (double)use->kernel_ns, 3),
		(unsigned long long)use->copies,
		use->copies == 1 ? "copy or fill" : "copies and fills",
		st_finding_duration(arena, (double)use->copy_ns, 3), gap_words(arena, use), silent,
		memory_words(arena, use), clock_words(arena, use),
		/* Where none has, launches were not recorded, as in hotspots. */
		use->unlinked && use->unlinked < use->kernels + use->copies
			? st_arena_printf(arena, ", %llu without the call that launched them",
					  (unsigned long long)use->unlinked)
			: "");
	if (!text)
		return;
	cells[ST_SUMMARY_VALUE] = st_cell_text(text);
	cells[ST_SUMMARY_COUNT] = st_cell_u64(use->kernels + use->copies);
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(span_ns);
	cells[ST_SUMMARY_SELF] = st_cell_u64(use->busy_ns);
	cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(use->busy_ns, span_ns));
}

struct kernel {
	uint32_t label;
	uint64_t count, ns;
};

static void add_kernels(const struct st_summary *summary)
{
	const struct st_slices *slices = st_result_slices(summary->result);
	uint32_t count;
	const struct st_label *labels = st_result_labels(summary->result, &count);
	struct st_arena *arena = st_report_arena(summary->report);
	struct kernel *kernels = st_arena_calloc(arena, (size_t)count + 1, sizeof(*kernels));
	uint64_t total_ns = 0;

	if (!kernels)
		return;
	for (uint32_t row = 0; row < slices->count; row++) {
		struct kernel *kernel = &kernels[slices->label[row]];

		if (!st_category_is_device(labels[slices->label[row]].category))
			continue;
		kernel->count++;
		kernel->ns += st_result_wall_ns(summary->result, row);
		total_ns += st_result_wall_ns(summary->result, row);
	}
	for (unsigned int shown = 0; shown < ROWS_SHOWN; shown++) {
		uint32_t best = 0;
		struct st_cell *cells;

		for (uint32_t i = 0; i < count; i++)
			best = kernels[i].ns > kernels[best].ns ? i : best;
		if (!kernels[best].count)
			return;
		cells = st_report_fact(summary->report, "kernel", "");
		cells[ST_SUMMARY_NAME] = st_report_text(
			summary->report, st_result_text(summary->result, labels[best].name));
		cells[ST_SUMMARY_COUNT] = st_cell_u64(kernels[best].count);
		cells[ST_SUMMARY_TOTAL] = cells[ST_SUMMARY_SELF] = st_cell_u64(kernels[best].ns);
		cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(kernels[best].ns, total_ns));
		kernels[best] = (struct kernel){0};
	}
}

void st_summary_add_devices(const struct st_summary *summary)
{
	uint32_t count;
	struct st_device_use *uses =
		st_device_uses(summary->result, st_report_arena(summary->report), &count);
	bool several = false;

	for (uint32_t i = 1; i < count; i++)
		several = several || uses[i].place.process != uses[0].place.process;
	for (uint32_t i = 0; i < count && i < DEVICES_SHOWN; i++)
		add_device(summary, &uses[i], several);
	if (count)
		add_kernels(summary);
}
