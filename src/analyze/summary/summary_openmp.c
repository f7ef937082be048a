// SPDX-License-Identifier: Apache-2.0
//
// Parallel regions of OpenMP: how long, how evenly their work is spread, and how long the processes that have them are outside of any.
#include <string.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/summary/report_summary.h"

static bool is_serial(const struct st_answer_row *row)
{
	return row->text.size_bytes == strlen(st_openmp_serial) &&
	       !memcmp(row->text.bytes, st_openmp_serial, row->text.size_bytes);
}

static struct st_cell *add_fact(const struct st_summary *summary, const char *name, uint64_t count,
				uint64_t total_ns)
{
	struct st_cell *cells = st_report_fact(summary->report, "openmp", name);

	cells[ST_SUMMARY_COUNT] = st_cell_u64(count);
	cells[ST_SUMMARY_TOTAL] = st_cell_u64(total_ns);
	return cells;
}

static void add_answer(const struct st_summary *summary, const struct st_answer *answer)
{
	const struct st_answer_row *worst = NULL;
	uint64_t count = 0, total_ns = 0, imbalance_ns = 0, serial_ns = 0;
	struct st_cell *cells;

	for (uint32_t i = 0; i < answer->root_count; i++) {
		const struct st_answer_row *row = &answer->rows[answer->root_first + i];
		uint64_t ns = st_answer_value(row, ST_WALL_TOTAL);

		if (is_serial(row)) {
			serial_ns += ns;
			continue;
		}
		count += st_answer_value(row, ST_COUNT);
		total_ns += ns;
		imbalance_ns += st_answer_value(row, ST_IMBALANCE);
		if (!worst ||
		    st_answer_value(row, ST_IMBALANCE) > st_answer_value(worst, ST_IMBALANCE))
			worst = row;
	}
	if (!worst)
		return;
	add_fact(summary, "regions", count, total_ns);
	cells = add_fact(summary, "imbalance", 0, imbalance_ns);
	cells[ST_SUMMARY_RATIO] = st_cell_double(st_share(imbalance_ns, total_ns));
	add_fact(summary, "serial", 0, serial_ns);
	cells = add_fact(summary, "worst", st_answer_value(worst, ST_COUNT),
			 st_answer_value(worst, ST_IMBALANCE));
	cells[ST_SUMMARY_VALUE] = st_report_text(summary->report, worst->text);
}

enum st_status st_summary_add_openmp(const struct st_summary *summary)
{
	struct st_question question = st_summary_question(summary, ST_BY_REGION, ST_WALL_TOTAL);
	struct st_dataset dataset;
	struct st_answer answer;
	enum st_status status;

	if (summary->scope->filter_count)
		return ST_OK;
	status = st_dataset_rows_init(&dataset, summary->result, ST_ROWS_OPENMP, summary->err);
	if (status)
		return status;
	question.metrics = ST_SET(ST_COUNT, ST_WALL_TOTAL, ST_IMBALANCE);
	question.limit = 0;
	status = dataset.row_count ? st_dataset_ask(&dataset, &question, &answer, summary->err)
				   : ST_OK;
	if (!status && dataset.row_count) {
		add_answer(summary, &answer);
		st_answer_fini(&answer);
	}
	st_dataset_rows_fini(&dataset);
	return status;
}
