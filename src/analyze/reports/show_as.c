// SPDX-License-Identifier: Apache-2.0
//
// -show-as: the figures of a report over samples as shares or as numbers of samples.
#include "analyze/reports/report_samples.h"

#include <string.h>

static bool is_cpu_time(const struct st_column *column)
{
	for (unsigned int i = ST_WALL_METRICS; i < ST_FIGURES; i++)
		if (strcmp(column->key, st_metric_info((enum st_metric)i)->key) == 0)
			return strcmp(column->unit, "ns") == 0;
	return false;
}

static void rename_column(struct st_report *report, struct st_column *column, const char *suffix)
{
	int length = (int)strlen(column->key) - 3; /* "_ns" */
	char *key =
		st_arena_printf(st_report_arena(report), "%.*s_%s", length, column->key, suffix);

	column->key = key ? key : column->key;
}

static void show_share(struct st_cell *cell, uint64_t whole)
{
	if (cell->kind == ST_CELL_U64)
		*cell = st_cell_double(whole ? (double)cell->as.u64 / (double)whole : 0.0);
}

void st_report_show_as(struct st_report *report, enum st_show_as show_as, uint64_t whole)
{
	if (show_as == ST_SHOW_VALUES)
		return;
	for (uint32_t i = 0; i < report->column_count && !whole; i++)
		if (strcmp(report->columns[i].key, "cpu_self_ns") == 0)
			whole = report->totals.cells[i].as.u64;
	for (uint32_t i = 0; i < report->column_count; i++) {
		struct st_column *column = &report->columns[i];

		if (!is_cpu_time(column))
			continue;
		rename_column(report, column, show_as == ST_SHOW_PERCENT ? "ratio" : "samples");
		column->unit = show_as == ST_SHOW_PERCENT ? "ratio" : "";
		if (show_as != ST_SHOW_PERCENT)
			continue;
		for (uint32_t row = 0; row < report->row_count; row++)
			show_share(&report->rows[row].cells[i], whole);
		show_share(&report->totals.cells[i], whole);
	}
}
