// SPDX-License-Identifier: Apache-2.0
//
// Report "utilization": for how long 0, 1, 2 … CPUs did effective work at the same time.
#include "analyze/reports/report_kinds.h"

#include "analyze/tables/report_make.h"
#include "analyze/samples/utilization.h"
#include "store/result.h"

static const struct st_column columns[] = {
	{"cpus", "Simultaneous CPUs", "", true},
	{"elapsed_ns", "Elapsed Time", "ns", false},
	{"share_ratio", "Share", "ratio", false},
	{"level", "Utilization Level", "", true},
};

static void fill(struct st_report *out, const struct st_utilization *use)
{
	struct st_arena *arena = st_report_arena(out);

	for (uint32_t i = 0; i <= use->cpu_count; i++) {
		struct st_cell *cells = st_report_add(out, 0);

		cells[0] = st_cell_text(st_arena_printf(arena, "%u", i));
		cells[1] = st_cell_u64(use->by_cpus[i]);
		cells[2] = st_cell_double(use->recorded_ns ? (double)use->by_cpus[i] /
								     (double)use->recorded_ns
							   : 0.0);
		cells[3] =
			st_cell_text(st_utilization_names[st_utilization_level(i, use->cpu_count)]);
	}
	out->totals.cells = st_report_new_cells(out);
	out->totals.cells[1] = st_cell_u64(use->recorded_ns);
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
	st_report_columns(out, columns, sizeof(columns) / sizeof(columns[0]));
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
