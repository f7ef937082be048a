// SPDX-License-Identifier: Apache-2.0
//
// Report "top-down": the tree of nested tasks, from the outermost in.
#include "analyze/reports/report_kinds.h"
#include "analyze/operators/dataset_tasks.h"

#include "analyze/tables/report_make.h"
#include "store/samples.h"

enum st_status st_report_top_down_build(const struct st_report_kind *kind,
					const struct st_result *result,
					const struct st_report_options *options,
					struct st_report *out, struct st_error *err)
{
	static const struct st_column depth[] = {{"depth", "Depth", "", false}};
	struct st_question question = options->question;
	struct st_report_layout layout = {
		.question = &question, .extra = depth, .extra_count = 1, .front_count = 1};
	unsigned int last = question.grouping_count;
	struct st_answer answer;
	enum st_status status;

	/* Samples tell more than marks do; who groups by task-stack wants the marks. */
	if (st_result_samples(result)->count &&
	    (!last || question.groupings[last - 1] != ST_BY_TASK_STACK))
		return st_report_samples_build(kind, result, options, out, err);
	if (!last || question.groupings[last - 1] != ST_BY_TASK_STACK) {
		if (last == ST_QUESTION_DEPTH_MAX)
			return st_error_set(err, ST_EUSAGE, 0, "top-down: too many groupings");
		question.groupings[question.grouping_count++] = ST_BY_TASK_STACK;
	}
	if (st_set_is_empty(question.metrics))
		question.metrics = ST_SET(ST_COUNT, ST_WALL_TOTAL, ST_WALL_SELF);
	status = st_question_ask(result, &question, &answer, err);
	if (status)
		return status;
	st_report_from_answer(out, &answer, &layout);
	out->layout = ST_LAYOUT_TREE;
	for (uint32_t i = 0; i < out->row_count && !st_report_arena(out)->failed; i++)
		out->rows[i].cells[st_report_extra_index(&layout)] =
			st_cell_u64(out->rows[i].level);
	return ST_OK;
}
