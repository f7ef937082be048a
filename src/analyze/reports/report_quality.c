// SPDX-License-Identifier: Apache-2.0
//
// Report "quality": how good the data is, in full. The summary and the other reports only say that it is good, or what
// is not.
#include "analyze/reports/report_kinds.h"

#include <string.h>

#include "analyze/datasets/quality.h"
#include "analyze/reports/report_samples.h"
#include "analyze/tables/report_make.h"
#include "base/buf.h"
#include "store/result.h"
#include "store/samples.h"

enum column { FACT, COUNT, SHARE, VERDICT, COLUMNS };

static const struct st_column columns[COLUMNS] = {
	[FACT] = {"fact", "Data Quality", "", true},
	[COUNT] = {"count", "Count", "", false},
	[SHARE] = {"share_ratio", "Share", "ratio", false},
	[VERDICT] = {"verdict", "Verdict", "", true},
};

static struct st_cell *add(struct st_report *report, const char *fact, const char *verdict)
{
	struct st_cell *cells = st_report_add(report, 0);

	cells[FACT] = st_cell_text(fact);
	cells[VERDICT] = st_cell_text(verdict);
	return cells;
}

/* What the rows below are to be held against. */
static void add_sizes(struct st_report *report, const struct st_result *result)
{
	const struct st_sample_quality *samples = st_result_sample_quality(result);
	uint64_t lost = st_quality_lost(result);
	struct st_machine_shares machine;
	struct st_cpu_seen cpu;

	if (st_quality_machine(result, &machine))
		add(report, "CPUs that other programs had",
		    machine.others + machine.stolen < ST_MACHINE_SHARED ? "good"
									: "shared")[SHARE] =
			st_cell_double(machine.others + machine.stolen);
	add(report, "records lost", lost ? "flaw" : "good")[COUNT] = st_cell_u64(lost);
	if (!samples->samples)
		return;
	if (st_quality_cpu_seen(result, &cpu))
		add(report, "CPU time that samples stand for",
		    cpu.unseen_ns ? "flaw" : "good")[SHARE] =
			st_cell_double(cpu.seen_ns + cpu.handler_ns < cpu.used_ns
					       ? st_share(cpu.seen_ns + cpu.handler_ns, cpu.used_ns)
					       : 1.0);
	add(report, "samples", "")[COUNT] = st_cell_u64(samples->samples);
	add(report, "stacks complete", "")[SHARE] =
		st_cell_double(1.0 - st_share(samples->truncated, samples->samples));
}

static void add_items(struct st_report *report, const struct st_result *result)
{
	struct st_quality_item items[ST_QUALITY_ITEMS];

	st_quality_items(result, items);
	for (unsigned int i = 0; i < ST_QUALITY_ITEMS; i++) {
		struct st_cell *cells;

		if (!items[i].value)
			continue;
		cells = add(report, items[i].words,
			    st_quality_is_flaw(&items[i]) ? "flaw"
			    : items[i].of		  ? "good"
							  : "");
		cells[COUNT] = st_cell_u64(items[i].value);
		if (items[i].of)
			cells[SHARE] = st_cell_double(st_share(items[i].value, items[i].of));
	}
}

/* Sentences about the run as a whole, which stand behind the figures among the flaws. */
static void add_sentences(struct st_report *report, const struct st_result *result)
{
	struct st_buf lines;

	st_buf_init(&lines, 1 << 20);
	if (!st_quality_sentences(result, &lines))
		st_report_arena(report)->failed = true;
	for (size_t at = 0, end; at < lines.size_bytes; at = end + 1) {
		for (end = at; lines.data[end] != '\n';)
			end++;
		add(report, "", "flaw")[FACT] = st_report_text(
			report, (struct st_text){(const char *)lines.data + at, end - at});
	}
	st_buf_fini(&lines);
}

enum st_status st_report_quality_build(const struct st_report_kind *kind,
				       const struct st_result *result,
				       const struct st_report_options *options,
				       struct st_report *out, struct st_error *err)
{
	struct st_sample_set set;
	enum st_status status = ST_OK;

	(void)kind;
	st_report_columns(out, columns, COLUMNS);
	add_sizes(out, result);
	add_items(out, result);
	add_sentences(out, result);
	if (!st_result_samples(result)->count)
		return ST_OK;
	status = st_sample_set_open(&set, result, &options->view, err);
	if (!status) {
		st_report_add_notes(out, &set);
		st_sample_set_close(&set);
	}
	return status;
}
