// SPDX-License-Identifier: Apache-2.0
//
// What is waited for most, and where: of the thread of the steps, per step, where a program has steps; else of all threads.
// Workers of pools without work are left out.
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/samples/sample_waits.h"
#include "analyze/samples/wait_keys.h"
#include "analyze/steps/step_list.h"
#include "analyze/summary/report_summary.h"

enum { WAITS_SHOWN = 5 };

/* Flags of rows, of no span and of no row of waits. */
enum { IN_STEPS = 1 << 13, OUTSIDE = 1 << 14 };

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

/* The waits of the thread of the steps, as long as they are time of a step: what lies between two of them is none. */
struct step_waits {
	struct st_dataset dataset; /* the first: it is what the engine hands back */
	const struct st_dataset *waits;
	const struct st_step_list *steps;
	uint32_t range[2];
	uint16_t *flags;
};

static uint64_t part_in_steps(const struct st_dataset *dataset, uint32_t row, int64_t begin_ns,
			      int64_t end_ns)
{
	const struct step_waits *its = (const struct step_waits *)dataset;
	const struct st_dataset *waits = its->waits;
	const int64_t whole_ns[2] = {begin_ns, end_ns};
	uint32_t at = its->range[0];
	int64_t piece_ns[2];
	uint64_t sum_ns = 0;

	while (st_step_piece(its->steps, its->range, whole_ns, &at, piece_ns))
		sum_ns += waits->flags[row] & waits->slow_flags
				  ? waits->part_ns(waits, row, piece_ns[0], piece_ns[1])
				  : (uint64_t)(piece_ns[1] - piece_ns[0]);
	return sum_ns;
}

/* Sums of short waits have a moment instead of a time. */
static bool is_in_steps(const struct step_waits *its, uint32_t row)
{
	int64_t begin_ns = its->waits->begin_ns[row], end_ns = its->waits->end_ns[row];

	return part_in_steps(&its->dataset, row, begin_ns, end_ns + (end_ns == begin_ns)) > 0;
}

static bool step_waits_make(struct step_waits *out, const struct st_summary *summary,
			    const struct st_dataset *waits)
{
	uint32_t track = summary->loop->track;

	*out = (struct step_waits){.dataset = *waits, .waits = waits, .steps = summary->steps};
	out->flags = malloc(((size_t)waits->row_count + 1) * sizeof(*out->flags));
	if (!out->flags)
		return false;
	st_step_range(out->steps, summary->result, track, out->range);
	for (uint32_t i = 0; i < waits->row_count; i++) {
		bool counts =
			st_key_of(&waits->keys[ST_BY_THREAD], i) == track && is_in_steps(out, i);

		out->flags[i] = (uint16_t)(waits->flags[i] | (counts ? IN_STEPS : OUTSIDE));
	}
	out->dataset.flags = out->flags;
	out->dataset.slow_flags |= IN_STEPS;
	out->dataset.hidden_flags |= OUTSIDE;
	out->dataset.part_ns = part_in_steps;
	return true;
}

static enum st_status ask(const struct st_summary *summary, const struct st_dataset *waits,
			  const struct st_question *question)
{
	struct step_waits of_steps = {.dataset = *waits};
	struct st_answer answer;
	enum st_status status;

	if (summary->loop->step_count && !step_waits_make(&of_steps, summary, waits))
		return st_error_set(summary->err, ST_ENOMEM, 0, "out of memory for the summary");
	status = st_dataset_ask(&of_steps.dataset, question, &answer, summary->err);
	if (!status) {
		add_rows(summary, &answer);
		st_answer_fini(&answer);
	}
	free(of_steps.flags);
	return status;
}

enum st_status st_summary_add_wait_places(const struct st_summary *summary)
{
	struct st_filter not_idle = {ST_BY_WAIT_CLASS, true, st_wait_class_word(ST_WAITS_IDLE)};
	struct st_question question = {
		.groupings = {ST_BY_SYNC_OBJECT, ST_BY_PYTHON_LINE, ST_BY_FUNCTION},
		.grouping_count = 3,
		.filters = &not_idle,
		.filter_count = 1,
		.metrics = ST_SET(ST_WAIT, ST_WAIT_COUNT),
		.sort = {ST_WAIT},
		.sort_count = 1,
		.limit = WAITS_SHOWN};
	struct st_sample_set set;
	enum st_status status;

	if (summary->scope->has_time_range || summary->scope->filter_count ||
	    !st_sample_has_waits(summary->result))
		return ST_OK;
	status = st_sample_set_open(&set, summary->result, &summary->options->view, summary->err);
	if (status)
		return status;
	st_wait_keys_offer(&set);
	status = st_dataset_prepare(&set.waits, &question, summary->err);
	if (!status)
		status = ask(summary, &set.waits, &question);
	st_sample_set_close(&set);
	return status;
}
