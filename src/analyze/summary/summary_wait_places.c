// SPDX-License-Identifier: Apache-2.0
//
// What is waited for most, and where: of the thread of the steps, per step, where a program has steps; else of all threads.
// Workers of pools without work are left out.
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/datasets/dataset_rows.h"
#include "analyze/samples/sample_waits.h"
#include "analyze/samples/wait_keys.h"
#include "analyze/summary/report_summary.h"

enum { WAITS_SHOWN = 5, FILTERS = 2 };

static struct st_text child_text(const struct st_answer *answer, const struct st_answer_row *row)
{
	/* Children are sorted like everything: the first one has most. */
	return row->child_count ? answer->rows[row->first_child].text : (struct st_text){"", 0};
}

static bool is_told(struct st_text text)
{
	return text.size_bytes && text.bytes[0] != '[';
}

/* "train.py:88", or the function; "" where the name says it already, or nobody knows. */
static struct st_text place_of(const struct st_answer *answer, const struct st_answer_row *row)
{
	struct st_text line = child_text(answer, row);
	const char *slash = line.size_bytes ? memrchr(line.bytes, '/', line.size_bytes) : NULL;

	if (memchr(row->text.bytes, '(', row->text.size_bytes))
		return (struct st_text){"", 0};
	if (is_told(line) && slash)
		return (struct st_text){slash + 1,
					line.size_bytes - (size_t)(slash + 1 - line.bytes)};
	if (is_told(line) || !row->child_count)
		return line;
	line = child_text(answer, &answer->rows[row->first_child]);
	return is_told(line) ? line : (struct st_text){"", 0};
}

static void add_rows(const struct st_summary *summary, const struct st_answer *answer)
{
	const struct st_summary_loop *loop = summary->loop;
	uint64_t steps = loop->step_count ? loop->step_count : 1;

	for (uint32_t i = 0; i < answer->root_count; i++) {
		const struct st_answer_row *row = &answer->rows[answer->root_first + i];
		struct st_text place = place_of(answer, row);
		uint64_t wait_ns = st_answer_value(row, ST_WAIT);
		struct st_cell *cells;

		/* A hundredth of all is nothing to look at. */
		if (row->is_others || 100 * wait_ns < st_answer_value(&answer->total, ST_WAIT))
			continue;
		cells = st_report_fact(summary->report, "waits_for", "");
		cells[ST_SUMMARY_NAME] = st_report_text(summary->report, row->text);
		if (place.size_bytes)
			cells[ST_SUMMARY_VALUE] = st_report_text(summary->report, place);
		cells[ST_SUMMARY_COUNT] = st_cell_u64(st_answer_value(row, ST_WAIT_COUNT));
		cells[ST_SUMMARY_TOTAL] = st_cell_u64(wait_ns / steps);
		if (loop->step_count)
			cells[ST_SUMMARY_RATIO] =
				st_cell_double(st_share(wait_ns, loop->step_wall_ns));
	}
}

enum st_status st_summary_add_wait_places(const struct st_summary *summary)
{
	const struct st_summary_loop *loop = summary->loop;
	struct st_filter filters[FILTERS] = {
		{ST_BY_WAIT_CLASS, true, st_wait_class_word(ST_WAITS_IDLE)}};
	struct st_question question = {
		.groupings = {ST_BY_SYNC_OBJECT, ST_BY_PYTHON_LINE, ST_BY_FUNCTION},
		.grouping_count = 3,
		.filters = filters,
		.filter_count = 1,
		.metrics = ST_SET(ST_WAIT, ST_WAIT_COUNT),
		.sort = {ST_WAIT},
		.sort_count = 1,
		.limit = WAITS_SHOWN};
	struct st_sample_set set;
	struct st_answer answer;
	enum st_status status;

	if (summary->scope->has_time_range || summary->scope->filter_count ||
	    !st_sample_has_waits(summary->result))
		return ST_OK;
	if (loop->step_count) {
		filters[1] = (struct st_filter){ST_BY_THREAD, false,
						st_place_thread(summary->result, loop->track,
								st_report_arena(summary->report))
							.bytes};
		question.filter_count = 2;
		question.has_time_range = true;
		question.time_begin_ns = loop->steady_ns;
		question.time_end_ns = loop->end_ns;
	}
	status = st_sample_set_open(&set, summary->result, &summary->options->view, summary->err);
	if (status)
		return status;
	st_wait_keys_offer(&set);
	status = st_dataset_prepare(&set.waits, &question, summary->err);
	if (!status)
		status = st_dataset_ask(&set.waits, &question, &answer, summary->err);
	if (!status) {
		add_rows(summary, &answer);
		st_answer_fini(&answer);
	}
	st_sample_set_close(&set);
	return status;
}
