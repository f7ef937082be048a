// SPDX-License-Identifier: Apache-2.0
//
// Reports with a row per instance.
#include <string.h>

#include "analyze/tables/report_make.h"
#include "store/result.h"

bool st_question_groups_by(const struct st_question *question, const char *key)
{
	for (unsigned int i = 0; i < question->grouping_count; i++) {
		if (strcmp(st_grouping_info(question->groupings[i])->key, key) == 0)
			return true;
	}
	return false;
}

void st_report_from_instances(struct st_report *report, struct st_answer *answer,
			      const struct st_report_instances *instances)
{
	struct st_column columns[ST_REPORT_COLUMNS_MAX];
	unsigned int from[ST_REPORT_COLUMNS_MAX];
	struct st_report_layout layout = {
		.question = instances->question, .extra = columns, .titles = instances->titles};
	const struct st_answer *kept = st_report_answer(report);

	for (unsigned int i = 0; i < instances->column_count; i++) {
		if (st_question_groups_by(instances->question, instances->columns[i].key))
			continue; /* a column of the grouping says it already */
		from[layout.extra_count] = i;
		columns[layout.extra_count++] = instances->columns[i];
	}
	st_report_from_answer(report, answer, &layout);
	for (uint32_t i = 0; i < report->row_count && !st_report_arena(report)->failed; i++) {
		struct st_cell cells[ST_REPORT_COLUMNS_MAX] = {{.kind = ST_CELL_NONE}};

		if (kept->rows[i].slice == ST_NO_ROW)
			continue;
		instances->cells(instances->closure, cells, kept->rows[i].slice);
		for (uint32_t j = 0; j < layout.extra_count; j++)
			report->rows[i].cells[st_report_extra_index(&layout) + j] = cells[from[j]];
	}
}
