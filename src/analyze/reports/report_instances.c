// SPDX-License-Identifier: Apache-2.0
//
// Reports with a row per instance.
#include <string.h>

#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "store/result.h"

bool st_question_groups_by(const struct st_question *question, const char *key)
{
	for (unsigned int i = 0; i < question->grouping_count; i++) {
		if (strcmp(st_grouping_info(question->groupings[i])->key, key) == 0)
			return true;
	}
	return false;
}

/* The columns of the table that are shown, in order; how many. */
static uint32_t choose(const struct st_report_instances *instances, int *out)
{
	const struct st_table *table = instances->table;
	uint32_t count = 0;

	for (int i = 0; instances->keys ? instances->keys[i] != NULL : i < table->column_count;
	     i++) {
		int column = instances->keys ? st_table_find(table, instances->keys[i]) : i;
		struct st_column heading = st_table_heading(&table->columns[column]);

		/* A column of the grouping says it already. */
		if (heading.title && !st_question_groups_by(instances->question, heading.key))
			out[count++] = column;
	}
	return count;
}

void st_report_from_instances(struct st_report *report, struct st_answer *answer,
			      const struct st_report_instances *instances)
{
	struct st_column columns[ST_REPORT_COLUMNS_MAX];
	int from[ST_REPORT_COLUMNS_MAX];
	struct st_report_layout layout = {.question = instances->question,
					  .extra = columns,
					  .extra_count = choose(instances, from),
					  .titles = instances->titles};
	struct st_arena *arena = st_report_arena(report);

	for (uint32_t i = 0; i < layout.extra_count; i++)
		columns[i] = st_table_heading(&instances->table->columns[from[i]]);
	st_report_from_answer(report, answer, &layout);
	for (uint32_t i = 0; i < report->row_count && !arena->failed; i++) {
		uint32_t row = st_report_answer(report)->rows[i].slice;

		for (uint32_t j = 0; j < layout.extra_count && row != ST_NO_ROW; j++)
			report->rows[i].cells[st_report_extra_index(&layout) + j] =
				st_table_cell(instances->table, instances->tables, instances->rows,
					      row, from[j], arena);
	}
}
