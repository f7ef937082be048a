// SPDX-License-Identifier: Apache-2.0
//
// Report "utilization": for how long 0, 1, 2 … CPUs did effective work at the same time.
#include "analyze/reports/report_kinds.h"

#include "analyze/tables/report_make.h"
#include "analyze/samples/utilization.h"
#include "store/result.h"

enum column { CPUS, ELAPSED, SHARE, EFFECTIVE, LEVEL, COLUMNS };

static const struct st_column columns[COLUMNS] = {
	[CPUS] = {"cpus", "Simultaneous CPUs", "", true},
	[ELAPSED] = {"elapsed_ns", "Elapsed Time", "ns", false},
	[SHARE] = {"share_ratio", "Share", "ratio", false},
	[EFFECTIVE] = {"effective_ns", "CPU Time:Effective Time", "ns", false},
	[LEVEL] = {"level", "Utilization Level", "", true},
};

static void fill(struct st_report *out, const struct st_utilization *use)
{
	struct st_arena *arena = st_report_arena(out);

	for (uint32_t i = 0; i <= use->cpu_count; i++) {
		struct st_cell *cells = st_report_add(out, 0);

		cells[CPUS] = st_cell_text(st_arena_printf(arena, "%u", i));
		cells[ELAPSED] = st_cell_u64(use->by_cpus[i]);
		cells[SHARE] = st_cell_double(use->recorded_ns ? (double)use->by_cpus[i] /
									 (double)use->recorded_ns
							       : 0.0);
		cells[EFFECTIVE] = st_cell_u64(i * use->by_cpus[i]);
		cells[LEVEL] =
			st_cell_text(st_utilization_names[st_utilization_level(i, use->cpu_count)]);
	}
	if (use->watched_ns)
		out->subject = st_arena_printf(
			arena,
			"more threads of the program than CPUs (%u) were ready to run for %.1f %% "
			"of the time; threads that were ready waited %.2f s in all for a CPU: "
			"%.2f s behind the program's own threads while these were more than the "
			"CPUs, %.2f s behind other programs, or behind each other for moments",
			use->cpu_count,
			100.0 * (double)use->oversubscribed_ns / (double)use->watched_ns,
			(double)use->delay_ns / 1e9, (double)use->own_delay_ns / 1e9,
			(double)(use->delay_ns - use->own_delay_ns) / 1e9);
	out->totals.cells = st_report_new_cells(out);
	out->totals.cells[ELAPSED] = st_cell_u64(use->recorded_ns);
	out->totals.cells[EFFECTIVE] = st_cell_u64(use->effective_ns);
}

enum st_status st_report_utilization_build(const struct st_report_kind *kind,
					   const struct st_result *result,
					   const struct st_report_options *options,
					   struct st_report *out, struct st_error *err)
{
	struct st_utilization use;
	struct st_sample_set set;
	enum st_status status;

	(void)kind;
	st_report_columns(out, columns, COLUMNS);
	status = st_sample_set_open(&set, result, &options->view, err);
	if (!status) {
		status = st_utilization_make(&use, &set, &options->question, err);
		if (!status && set.samples->count)
			fill(out, &use);
		if (!status)
			st_utilization_fini(&use);
		st_sample_set_close(&set);
	}
	return status;
}
