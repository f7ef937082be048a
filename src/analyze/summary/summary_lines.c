// SPDX-License-Identifier: Apache-2.0
//
// Lines of the program's own Python code, for the summary. Most of the time of a training loop is in lines of
// libraries, which users cannot change: each sample counts for the innermost line that is not one of theirs,
// such as `loss.backward()`.
#include "analyze/summary/report_summary.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/samples/frame_class.h"
#include "analyze/samples/input_cpu.h"
#include "analyze/samples/sample_rows.h"
#include "resolve/search.h"

enum { LINES_SHOWN = 5 };

/* From here on one line is what the start-up is about. */
#define MOSTLY 0.3

struct line {
	uint64_t weight;
	uint32_t source, number;
	bool is_input; /* a call of map(): time in threads of tf.data */
};

struct lines {
	struct st_sample_set *set;
	struct st_sample_rows rows;
	struct st_pair_map keys; /* (source, line) */
	struct line *items;	 /* by key, one for each row at most, and one more */
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
static const char *text_of(struct st_arena *arena, const struct st_search *search,
			   const struct st_named *named, const char *path, uint32_t number)
{
	struct st_error ignored;
	struct st_source_text *source =
		st_source_text_open(&search->options, named, path, &ignored);
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
	const char *text = text_of(arena, search, lines->set->named, path.bytes, line->number);

	if (line->is_input)
		text = st_arena_printf(arena, "[tf.data map] %s", text ? text : "");
	cells[ST_SUMMARY_VALUE] = st_cell_text(text);
	cells[ST_SUMMARY_CPU_TOTAL] = st_cell_u64(line->weight);
	cells[ST_SUMMARY_RATIO] = st_cell_double((double)line->weight / (double)total);
}

static enum st_status make(struct lines *lines, struct st_question question, struct st_error *err)
{
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

/* What the function of map() does lies in threads of pools, whose stacks have no line: it is for the one that calls map(),
 * where that is only one. Input with a line of its own (a loop that fetches from the dataset itself) is counted there. Which
 * of it passes a filter is not known. */
static bool add_input(struct lines *lines, const struct st_question *question,
		      struct st_arena *arena)
{
	struct st_input_cpu input;
	struct line *item;

	if (question->filter_count)
		return true;
	if (!st_input_cpu_make(&input, lines->set,
			       question->has_time_range ? question->time_begin_ns : INT64_MIN,
			       question->has_time_range ? question->time_end_ns : INT64_MAX, arena))
		return false;
	if (!input.unlined_ns || input.line_count != 1)
		return true;
	item = &lines->items[st_pair_map_add(&lines->keys, input.lines[0].source,
					     input.lines[0].number)];
	item->weight += input.unlined_ns;
	item->source = input.lines[0].source;
	item->number = input.lines[0].number;
	item->is_input = true;
	return !lines->keys.failed;
}

/* "92.1 % of it is train.py:3, import torch" */
static void add_start_line(const struct st_summary *summary, const struct lines *lines,
			   const struct line *line, const struct st_search *search, uint64_t total)
{
	struct st_text path = lines->set->named->sources[line->source];
	struct st_arena *arena = st_report_arena(summary->report);
	const char *text = text_of(arena, search, lines->set->named, path.bytes, line->number);
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);
	const char *name = slash ? slash + 1 : path.bytes;
	size_t size = path.size_bytes - (size_t)(name - path.bytes);
	double share = (double)line->weight / (double)total;
	struct st_cell *cells;

	if (share < MOSTLY)
		return;
	cells = st_report_fact(summary->report, "start_up", "line");
	cells[ST_SUMMARY_VALUE] =
		st_cell_text(st_arena_printf(arena, "%.*s:%u%s%s", (int)size, name, line->number,
					     text ? " " : "", text ? text : ""));
	cells[ST_SUMMARY_RATIO] = st_cell_double(share);
}

/* Of a part of the run: at start-up just the line with most time. */
static enum st_status add_lines_of(const struct st_summary *summary, struct st_sample_set *set,
				   const struct st_search *search,
				   const struct st_question *question, bool is_start_up)
{
	struct lines lines = {.set = set};
	uint64_t total = 0;
	enum st_status status;

	st_pair_map_init(&lines.keys);
	status = make(&lines, *question, summary->err);
	for (uint32_t i = 0; !status && i < lines.rows.count; i++)
		total += lines.rows.rows[i].flags & ST_SAMPLE_OFF_CPU ? 0
								      : lines.rows.rows[i].weight;
	if (!status && !is_start_up &&
	    !add_input(&lines, question, st_report_arena(summary->report)))
		status = st_error_set(summary->err, ST_ENOMEM, 0, "out of memory for the lines");
	if (!status)
		qsort(lines.items, lines.keys.count, sizeof(*lines.items), by_weight);
	if (!status && total && is_start_up && lines.keys.count)
		add_start_line(summary, &lines, &lines.items[0], search, total);
	for (uint32_t i = 0;
	     !status && total && !is_start_up && i < lines.keys.count && i < LINES_SHOWN; i++)
		if (lines.items[i].weight > total / 100)
			add(summary, &lines, &lines.items[i], search, total);
	st_sample_rows_fini(&lines.rows);
	st_pair_map_fini(&lines.keys);
	free(lines.items);
	free(lines.is_library);
	return status;
}

enum st_status st_summary_add_own_lines(const struct st_summary *summary, struct st_sample_set *set)
{
	struct st_question question = st_summary_steady(summary);
	struct st_search search;
	enum st_status status;

	if (!st_search_init(&search, set->result, summary->options->view.naming)) {
		st_search_fini(&search);
		return st_error_set(summary->err, ST_ENOMEM, 0, "out of memory for the lines");
	}
	status = add_lines_of(summary, set, &search, &question, false);
	if (!status && summary->loop->is_steady) {
		question.time_begin_ns = 0;
		question.time_end_ns = summary->loop->begin_ns;
		status = add_lines_of(summary, set, &search, &question, true);
	}
	st_search_fini(&search);
	return status;
}
