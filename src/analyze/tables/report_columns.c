// SPDX-License-Identifier: Apache-2.0
//
// The columns of a report that a user wants to see.
#include <ctype.h>
#include <string.h>

#include "analyze/engine/names.h"
#include "analyze/tables/report.h"

static char fold(char c)
{
	return c == '_' || c == ' ' ? '-' : (char)tolower((unsigned char)c);
}

static bool holds(const char *text, const char *part, size_t size)
{
	size_t length = strlen(text);

	for (size_t i = 0; size && i + size <= length; i++) {
		size_t j = 0;

		while (j < size && fold(text[i + j]) == fold(part[j]))
			j++;
		if (j == size)
			return true;
	}
	return false;
}

/* A full name means that column alone ("Task Time" is also a part of "Task Time:Self"). */
static bool mark(const struct st_report *report, const char *word, size_t size, bool *wanted)
{
	bool exact = false, found = false;

	for (uint32_t i = 0; i < report->column_count; i++)
		exact = exact || st_name_equal(word, size, report->columns[i].key) ||
			st_name_equal(word, size, report->columns[i].title);
	for (uint32_t i = 0; i < report->column_count; i++) {
		const struct st_column *column = &report->columns[i];
		bool fits =
			exact ? st_name_equal(word, size, column->key) ||
					st_name_equal(word, size, column->title)
			      : holds(column->key, word, size) || holds(column->title, word, size);

		wanted[i] = wanted[i] || fits;
		found = found || fits;
	}
	return found;
}

static void keep(struct st_report *report, struct st_cell *cells, const bool *wanted)
{
	uint32_t to = 0;

	for (uint32_t i = 0; cells && i < report->column_count; i++) {
		if (wanted[i])
			cells[to++] = cells[i];
	}
}

bool st_report_is_tree(const struct st_report *report)
{
	static const char *const trees[] = {"task-stack", "callstack", "function-stack"};
	const char *last =
		report->group_by_count ? report->group_by[report->group_by_count - 1] : "";

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		if (strcmp(last, trees[i]) == 0)
			return true;
	return false;
}

enum { COLUMNS_MAX = 64 };

static enum st_status unknown(const struct st_report *report, const char *word, size_t size,
			      struct st_error *err)
{
	const char *keys[COLUMNS_MAX];

	for (uint32_t i = 0; i < report->column_count; i++)
		keys[i] = report->columns[i].key;
	return st_name_unknown(word, size, "column",
			       &(struct st_name_list){keys, report->column_count}, err);
}

enum st_status st_report_choose_columns(struct st_report *report, const char *list,
					struct st_error *err)
{
	bool wanted[COLUMNS_MAX] = {false};
	uint32_t keys = report->group_by_count ? report->group_by_count : 1, to = 0;

	if (report->column_count > COLUMNS_MAX)
		return st_error_set(err, ST_EUSAGE, 0, "this report has too many columns");
	while (list) {
		const char *comma = strchr(list, ',');
		size_t size = comma ? (size_t)(comma - list) : strlen(list);

		if (!mark(report, list, size, wanted))
			return unknown(report, list, size, err);
		list = comma ? comma + 1 : NULL;
	}
	for (uint32_t i = 0; i < keys && i < report->column_count; i++)
		wanted[i] = true;
	for (uint32_t i = 0; i < report->row_count; i++)
		keep(report, report->rows[i].cells, wanted);
	keep(report, report->totals.cells, wanted);
	for (uint32_t i = 0; i < report->column_count; i++) {
		if (wanted[i])
			report->columns[to++] = report->columns[i];
	}
	report->column_count = to;
	report->blocks = 0;
	report->as_table = true;
	return ST_OK;
}
