// SPDX-License-Identifier: Apache-2.0
//
// Steps that only compute forward, one item each: what an operator costs besides its work is paid for every item, and all
// weights are read for it. That shows in no figure of a single operator, so it is said.
#include "analyze/summary/report_summary.h"

#include <stdlib.h>

#include "analyze/steps/step_list.h"
#include "store/operators.h"
#include "store/result.h"

enum { STEPS_MIN = 50, RANK_USUAL = 3, OPERATOR_NS_MAX = 100000 };

/* The sizes of the first tensor among the inputs; false: there is none of so many dimensions. */
static bool first_tensor(const struct st_signature *signature, uint32_t rank, struct st_input *out)
{
	struct st_input_reader reader;

	st_input_begin(&reader, signature);
	while (st_input_next(&reader, out))
		if (out->kind == ST_INPUT_TENSOR)
			return out->dimension_count >= rank;
	return false;
}

/* How often each signature is in the steps; malloc'd. */
static uint32_t *count_calls(const struct st_summary *summary, const struct st_step_list *list,
			     uint64_t *all)
{
	const struct st_slices *slices = st_result_slices(summary->result);
	uint32_t count, signatures;
	const struct st_operator *operators = st_result_operators(summary->result, &count);
	uint32_t *calls;

	st_result_signatures(summary->result, &signatures);
	calls = calloc((size_t)signatures + 1, sizeof(*calls));
	*all = 0;
	for (uint32_t i = 0, at = 0; calls && i < count; i++) {
		int64_t begin_ns = slices->begin_ns[operators[i].row];
		uint32_t track = slices->track[operators[i].row];

		/* Both are by track and time. */
		while (at < list->count &&
		       (list->steps[at].track < track ||
			(list->steps[at].track == track && list->steps[at].end_ns <= begin_ns)))
			at++;
		if (operators[i].signature >= signatures || at == list->count ||
		    list->steps[at].track != track || list->steps[at].begin_ns > begin_ns ||
		    list->steps[at].is_warm_up || !list->steps[at].is_whole)
			continue;
		calls[operators[i].signature]++;
		(*all)++;
	}
	return calls;
}

/* "[1, 16, 256]" */
static const char *shape_text(struct st_arena *arena, const struct st_input *input)
{
	const char *text = "[";

	for (uint32_t i = 0; i < input->dimension_count; i++)
		text = st_arena_printf(arena, "%s%s%lld", text, i ? ", " : "",
				       (long long)input->sizes[i]);
	return st_arena_printf(arena, "%s]", text);
}

/* The shape that is met most often, if most tensors begin with one item; NULL: they do not. */
static const char *single_shape(const struct st_summary *summary, const uint32_t *calls,
				uint32_t rank)
{
	uint32_t count, best = 0;
	const struct st_signature *signatures = st_result_signatures(summary->result, &count);
	uint64_t single = 0, all = 0;
	struct st_input input, shown = {.dimension_count = 0};

	for (uint32_t i = 0; i < count; i++) {
		if (!calls[i] || !first_tensor(&signatures[i], rank, &input))
			continue;
		all += calls[i];
		if (input.sizes[0] != 1)
			continue;
		single += calls[i];
		if (calls[i] > best) {
			best = calls[i];
			shown = input;
		}
	}
	return all && single * 2 > all ? shape_text(st_report_arena(summary->report), &shown)
				       : NULL;
}

static void tell(const struct st_summary *summary, const char *shape, double operators,
		 const struct st_step_figures *figures)
{
	struct st_arena *arena = st_report_arena(summary->report);
	struct st_cell *cells = st_report_fact(summary->report, "finding", "batch");

	cells[ST_SUMMARY_VALUE] = st_cell_text(st_arena_printf(
		arena,
		"each step is a batch of one (%s) in about %.0f operators of %.1f us: give the "
		"model "
		"several items at once (a batch of 16, say), and each shares what operators cost "
		"besides their work",
		shape, operators, (double)figures->took.median / operators / 1e3));
}

enum st_status st_summary_add_batch(const struct st_summary *summary,
				    const struct st_step_list *list)
{
	struct st_step_figures figures;
	const char *shape;
	uint32_t *calls;
	uint64_t all;
	enum st_status status;
	double operators;

	if (list->count < STEPS_MIN || !list->has_parts || !list->whole_count)
		return ST_OK;
	status = st_step_figures_make(list, &figures, summary->err);
	if (status || figures.part_ns[ST_STEP_BACKWARD] || figures.part_ns[ST_STEP_OPTIMIZER])
		return status;
	calls = count_calls(summary, list, &all);
	if (!calls)
		return st_error_set(summary->err, ST_ENOMEM, 0, "out of memory for the summary");
	shape = single_shape(summary, calls, RANK_USUAL);
	if (!shape)
		shape = single_shape(summary, calls, RANK_USUAL - 1);
	operators = (double)all / list->whole_count;
	if (shape && operators >= 1.0 && (double)figures.took.median / operators < OPERATOR_NS_MAX)
		tell(summary, shape, operators, &figures);
	free(calls);
	return ST_OK;
}
