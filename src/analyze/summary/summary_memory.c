// SPDX-License-Identifier: Apache-2.0
//
// The part of the summary about the memory of a framework's allocator: the peak, and the operators that held most of it.
#include <string.h>

#include "analyze/reports/report_kinds.h"
#include "analyze/summary/report_summary.h"
#include "store/operators.h"
#include "store/result.h"

enum { HOLDERS_SHOWN = 3 };

static int column_of(const struct st_report *report, const char *key)
{
	for (uint32_t i = 0; i < report->column_count; i++) {
		if (strcmp(report->columns[i].key, key) == 0)
			return (int)i;
	}
	return -1;
}

static void add_holders(struct st_report *report, const struct st_report *memory)
{
	int bytes = column_of(memory, "held_bytes"), share = column_of(memory, "held_ratio");

	for (uint32_t i = 0;
	     bytes >= 0 && share >= 0 && i < memory->root_count && i < HOLDERS_SHOWN; i++) {
		const struct st_report_row *row = &memory->rows[memory->root_first + i];
		struct st_cell *cells;

		cells = st_report_fact(report, "memory_holder", NULL);
		cells[ST_SUMMARY_NAME] = st_report_text(report, row->cells[0].as.text);
		cells[ST_SUMMARY_VALUE] = row->cells[bytes];
		cells[ST_SUMMARY_RATIO] = row->cells[share];
	}
}

enum st_status st_summary_add_memory(struct st_report *report, const struct st_result *result,
				     const struct st_question *scope, struct st_error *err)
{
	struct st_report_options options = {.question = *scope};
	struct st_report memory;
	enum st_status status;
	uint32_t count;

	st_result_memory(result, &count);
	/* Filters of a summary are about tasks. */
	if (!count || scope->filter_count)
		return ST_OK;
	options.question.groupings[0] = ST_BY_OPERATOR;
	options.question.grouping_count = 1;
	options.question.limit = HOLDERS_SHOWN;
	status = st_report_build(result, "memory", &options, &memory, err);
	if (status)
		return status;
	if (memory.subject) {
		struct st_text text = {memory.subject, (uint32_t)strlen(memory.subject)};

		st_report_fact(report, "memory", "allocator")[ST_SUMMARY_VALUE] =
			st_report_text(report, text);
		add_holders(report, &memory);
	}
	st_report_fini(&memory);
	return ST_OK;
}
