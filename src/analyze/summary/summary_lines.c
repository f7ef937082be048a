// SPDX-License-Identifier: Apache-2.0
//
// Lines of the program's own Python code, for the summary. Most of the time of a training loop is in lines of
// libraries, which users cannot change: each sample counts for the innermost line that is not one of theirs,
// such as `loss.backward()`.
#include "analyze/summary/report_summary.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/frame_class.h"
#include "analyze/samples/sample_rows.h"
#include "resolve/search.h"

enum { LINES_SHOWN = 5 };

struct line {
	uint64_t weight;
	uint32_t source, number;
};

struct lines {
	struct st_sample_set *set;
	struct st_sample_rows rows;
	struct st_pair_map keys; /* (source, line) */
	struct line *items;	 /* by key, one for each row at most */
	uint8_t *is_library;	 /* by source */
};

static uint32_t own_frame(const struct lines *lines, uint32_t frame)
{
	const struct st_named *named = lines->set->named;

	frame = lines->set->python_of[frame];
	while (frame && lines->is_library[named->frames[frame].source])
		frame = lines->set->python_of[named->frames[frame].parent];
	return frame;
}

static void count(struct lines *lines)
{
	const struct st_named *named = lines->set->named;

	for (uint32_t i = 0; i < named->source_count; i++)
		lines->is_library[i] = st_path_is_library(named->sources[i]);
	for (uint32_t i = 0; i < lines->rows.count; i++) {
		const struct st_sample_row *row = &lines->rows.rows[i];
		uint32_t frame = row->flags & ST_SAMPLE_OFF_CPU ? 0 : own_frame(lines, row->frame);
		const struct st_named_frame *its = &named->frames[frame];
		struct line *item;

		if (!frame || !its->line)
			continue;
		item = &lines->items[st_pair_map_add(&lines->keys, its->source, its->line)];
		item->weight += row->weight;
		item->source = its->source;
		item->number = its->line;
	}
}

static int by_weight(const void *a, const void *b)
{
	const struct line *one = a, *other = b;

	if (one->weight != other->weight)
		return one->weight < other->weight ? 1 : -1;
	if (one->source != other->source)
		return one->source < other->source ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

/* The text of the line without what stands around it; NULL: not to be had. */
static const char *text_of(struct st_arena *arena, const struct st_search *search, const char *path,
			   uint32_t number)
{
	struct st_error ignored;
	struct st_source_text *source = st_source_text_open(&search->options, path, &ignored);
	struct st_text text = {"", 0};
	const char *copy = NULL;

	if (source)
		text = st_source_text_line(source, number);
	while (text.size_bytes && (*text.bytes == ' ' || *text.bytes == '\t')) {
		text.bytes++;
		text.size_bytes--;
	}
	if (text.size_bytes)
		copy = st_arena_copy(arena, text.bytes, text.size_bytes);
	st_source_text_close(source);
	return copy;
}

static void add(const struct st_summary *summary, const struct lines *lines,
		const struct line *line, const struct st_search *search, uint64_t total)
{
	struct st_text path = lines->set->named->sources[line->source];
	struct st_arena *arena = st_report_arena(summary->report);
	const char *name =
		st_arena_printf(arena, "%.*s:%u", (int)path.size_bytes, path.bytes, line->number);
	struct st_cell *cells = st_report_fact(summary->report, "own_line", name);

	cells[ST_SUMMARY_VALUE] = st_cell_text(text_of(arena, search, path.bytes, line->number));
	cells[ST_SUMMARY_CPU_TOTAL] = st_cell_u64(line->weight);
	cells[ST_SUMMARY_RATIO] = st_cell_double((double)line->weight / (double)total);
}

static enum st_status make(struct lines *lines, const struct st_question *scope,
			   struct st_error *err)
{
	struct st_question question = *scope;
	enum st_status status;

	question.grouping_count = 0;
	status = st_sample_rows_make(&lines->rows, lines->set, &question, err);
	if (status)
		return status;
	lines->items = calloc((size_t)lines->rows.count + 1, sizeof(*lines->items));
	lines->is_library = calloc((size_t)lines->set->named->source_count + 1, 1);
	if (lines->items && lines->is_library)
		count(lines);
	if (!lines->items || !lines->is_library || lines->keys.failed)
		status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the lines");
	return status;
}

enum st_status st_summary_add_own_lines(const struct st_summary *summary, struct st_sample_set *set)
{
	struct lines lines = {.set = set};
	struct st_search search;
	uint64_t total = 0;
	enum st_status status;

	if (!st_search_init(&search, set->result, summary->options->view.naming)) {
		st_search_fini(&search);
		return st_error_set(summary->err, ST_ENOMEM, 0, "out of memory for the lines");
	}
	st_pair_map_init(&lines.keys);
	status = make(&lines, summary->scope, summary->err);
	for (uint32_t i = 0; !status && i < lines.rows.count; i++)
		total += lines.rows.rows[i].flags & ST_SAMPLE_OFF_CPU ? 0
								      : lines.rows.rows[i].weight;
	if (!status)
		qsort(lines.items, lines.keys.count, sizeof(*lines.items), by_weight);
	for (uint32_t i = 0; !status && i < lines.keys.count && i < LINES_SHOWN; i++)
		if (lines.items[i].weight > total / 100)
			add(summary, &lines, &lines.items[i], &search, total);
	st_sample_rows_fini(&lines.rows);
	st_pair_map_fini(&lines.keys);
	free(lines.items);
	free(lines.is_library);
	st_search_fini(&search);
	return status;
}
