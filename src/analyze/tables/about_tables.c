// SPDX-License-Identifier: Apache-2.0
//
// Tables about the result itself: what was lost, what there is to say about damage, and what is known of the run.
#include <stdlib.h>

#include "analyze/datasets/quality.h"
#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"

static struct st_quality_item quality_item(const struct st_table_at *at)
{
	struct st_quality_item items[ST_QUALITY_ITEMS];

	st_quality_items(at->tables->result, items);
	return items[at->row];
}

static struct st_cell quality_key(const struct st_table_at *at)
{
	return st_cell_text(quality_item(at).key);
}

static struct st_cell quality_value(const struct st_table_at *at)
{
	return st_cell_i64((int64_t)quality_item(at).value);
}

static struct st_cell quality_words(const struct st_table_at *at)
{
	return st_cell_text(quality_item(at).words);
}

static const struct st_table_column quality_columns[] = {
	{"name", "'slices_dropped', 'unfinished' …: the keys of \"quality\" in JSON", ST_TEXT,
	 .cell = quality_key},
	{"value", "count", ST_INTEGER, .cell = quality_value},
	{"meaning", "description", ST_TEXT, .cell = quality_words},
};

static const void *quality_rows(const struct st_tables *tables, uint32_t *count)
{
	*count = ST_QUALITY_ITEMS;
	return tables;
}

const struct st_table st_quality_table = {
	.name = "quality",
	.help = "data that was lost, truncated or estimated",
	ST_COLUMNS(quality_columns),
	.rows = quality_rows,
};

static struct st_cell note_cell(const struct st_table_at *at)
{
	return st_cell_text(st_result_quality(at->tables->result)->notes[at->row]);
}

static const struct st_table_column notes_columns[] = {
	{"note", "one note about damage or loss", ST_TEXT, .cell = note_cell},
};

static const void *notes_rows(const struct st_tables *tables, uint32_t *count)
{
	*count = (uint32_t)st_result_quality(tables->result)->note_count;
	return tables;
}

const struct st_table st_notes_table = {
	.name = "notes",
	.help = "notes about damage and loss",
	ST_COLUMNS(notes_columns),
	.rows = notes_rows,
};

static bool is_fact(struct st_text section)
{
	return st_text_equals(section, "run") || st_text_equals(section, "host") ||
	       st_text_equals(section, "strata");
}

static bool info_open(struct st_tables *tables)
{
	const struct st_report_options options = {0};
	struct st_report *info = &tables->info;

	if (info->memory)
		return true;
	if (st_report_build(tables->result, "info", &options, info, NULL))
		return false;
	tables->facts = calloc((size_t)info->row_count + 1, sizeof(*tables->facts));
	for (uint32_t i = 0; tables->facts && i < info->row_count; i++)
		if (is_fact(info->rows[i].cells[0].as.text))
			tables->facts[tables->fact_count++] = &info->rows[i];
	return tables->facts;
}

/* The first columns of report info are section, name and value. */
static struct st_cell info_cell(const struct st_table_at *at)
{
	return at->tables->facts[at->row]->cells[at->column->arg];
}

static const struct st_table_column info_columns[] = {
	{"section", "'run', 'host' or 'strata'", ST_TEXT, .cell = info_cell, .arg = 0},
	{"key", "as in report info: 'command', 'elapsed_ns' …", ST_TEXT, .cell = info_cell,
	 .arg = 1},
	{"value", "text or number", ST_ANY, .cell = info_cell, .arg = 2},
};

static const void *info_rows(const struct st_tables *tables, uint32_t *count)
{
	*count = tables->fact_count;
	return tables;
}

const struct st_table st_info_table = {
	.name = "info",
	.help = "facts about the run",
	ST_COLUMNS(info_columns),
	.rows = info_rows,
	.open = info_open,
};
