// SPDX-License-Identifier: Apache-2.0
//
// Counts and times of tasks, asked of the slices with the same groupings and joined to the answer about
// samples by the texts of the keys.
#include "analyze/reports/sample_tasks.h"

#include <stdlib.h>

#include "analyze/operators/dataset_operators.h"
#include "analyze/datasets/dataset_parts.h"
#include "store/result.h"

bool st_grouping_has_task_figures(enum st_grouping grouping)
{
	return st_grouping_is_task(grouping) && grouping != ST_BY_NN_MODULE;
}

static bool is_of_slices(enum st_grouping grouping)
{
	return st_grouping_has_task_figures(grouping) || grouping == ST_BY_PROCESS ||
	       grouping == ST_BY_THREAD;
}

/* The leading groupings that slices have too. Instances are looked up singly. */
static unsigned int common_levels(const struct st_question *question)
{
	unsigned int levels = 0;
	bool has_task = false;

	while (levels < question->grouping_count && is_of_slices(question->groupings[levels]) &&
	       question->groupings[levels] != ST_BY_TASK) {
		has_task = has_task || st_grouping_is_task(question->groupings[levels]);
		levels++;
	}
	return has_task ? levels : 0;
}

static void join(const struct st_answer *samples, const struct st_answer *slices,
		 const uint32_t pair[2], struct st_task_figures *figures, uint32_t *matched)
{
	/* pair: a row of the samples and its match among the slices; ST_NO_ROW: the roots. */
	bool roots = pair[0] == ST_NO_ROW;
	uint32_t first = roots ? samples->root_first : samples->rows[pair[0]].first_child;
	uint32_t count = roots ? samples->root_count : samples->rows[pair[0]].child_count;
	uint32_t other = roots ? slices->root_first : slices->rows[pair[1]].first_child;
	uint32_t other_count = roots ? slices->root_count : slices->rows[pair[1]].child_count;
	struct st_key_texts texts;

	st_key_texts_init(&texts);
	for (uint32_t i = 0; i < other_count; i++)
		st_key_texts_add(&texts, slices->rows[other + i].text);
	for (uint32_t i = 0; i < count && !texts.failed; i++) {
		uint32_t row = first + i;
		uint32_t key = st_key_texts_add(&texts, samples->rows[row].text);

		if (key >= other_count || samples->rows[row].is_others)
			continue;
		matched[row] = other + key;
		/* What lies in no step lies mostly in no task either: their time says nothing of it. */
		if (samples->rows[row].grouping == ST_BY_STEP &&
		    st_text_equals(samples->rows[row].text, "[no step]"))
			continue;
		figures[row].known = true;
		figures[row].count = st_answer_value(&slices->rows[other + key], ST_COUNT);
		figures[row].wall_ns = st_answer_value(&slices->rows[other + key], ST_WALL_TOTAL);
		figures[row].start_ns = -1;
	}
	st_key_texts_fini(&texts);
}

/* What both sides can answer, from the first grouping on. */
static bool ask_operators(const struct st_sample_set *set, struct st_question *asked,
			  struct st_answer *out)
{
	struct st_dataset operators;
	unsigned int levels = 0;
	bool done = !st_dataset_operators_init(&operators, set->result, false, NULL);

	while (levels < asked->grouping_count && done &&
	       st_set_has(operators.answers, asked->groupings[levels]))
		levels++;
	asked->grouping_count = levels;
	done = done && !st_dataset_prepare(&operators, asked, NULL) &&
	       !st_dataset_ask(&operators, asked, out, NULL);
	if (done)
		st_dataset_hand_over(&operators, out->memory);
	st_dataset_operators_fini(&operators);
	return done;
}

static bool join_groups(const struct st_sample_set *set, const struct st_question *question,
			const struct st_answer *answer, struct st_task_figures *figures)
{
	struct st_question asked = {.metrics = ST_SET(ST_COUNT, ST_WALL_TOTAL),
				    .has_time_range = question->has_time_range,
				    .time_begin_ns = question->time_begin_ns,
				    .time_end_ns = question->time_end_ns};
	unsigned int levels = common_levels(question);
	bool of_operators = false;
	uint32_t *matched;
	struct st_answer slices;

	/* Of some of the samples nobody knows how many tasks they are of. */
	if (!levels || question->filter_count)
		return true;
	for (unsigned int i = 0; i < levels; i++)
		asked.groupings[i] = question->groupings[i];
	asked.grouping_count = levels;
	/* Slices inside of an operator have its key, and are no operators. */
	for (unsigned int i = 0; i < levels; i++)
		of_operators = of_operators || question->groupings[i] == ST_BY_OPERATOR;
	matched = malloc(((size_t)answer->row_count + 1) * sizeof(*matched));
	if (!matched || (of_operators ? !ask_operators(set, &asked, &slices)
				      : st_dataset_ask(&set->slices, &asked, &slices, NULL))) {
		free(matched);
		return false;
	}
	for (uint32_t i = 0; i < answer->row_count; i++)
		matched[i] = ST_NO_ROW;
	join(answer, &slices, (uint32_t[]){ST_NO_ROW, ST_NO_ROW}, figures, matched);
	for (uint32_t i = 0; i < answer->row_count; i++)
		if (matched[i] != ST_NO_ROW && slices.rows[matched[i]].child_count)
			join(answer, &slices, (uint32_t[]){i, matched[i]}, figures, matched);
	free(matched);
	st_answer_fini(&slices);
	return true;
}

struct st_task_figures *st_task_figures_make(const struct st_sample_set *set,
					     const struct st_question *question,
					     const struct st_answer *answer)
{
	const struct st_slices *slices = st_result_slices(set->result);
	struct st_task_figures *figures = calloc((size_t)answer->row_count + 1, sizeof(*figures));

	if (!figures || !join_groups(set, question, answer, figures)) {
		free(figures);
		return NULL;
	}
	for (uint32_t i = 0; i < answer->row_count; i++) {
		const struct st_answer_row *row = &answer->rows[i];

		if (row->grouping != ST_BY_TASK || row->slice == ST_NO_ROW || row->is_others)
			continue;
		figures[i] = (struct st_task_figures){true, 1,
						      st_result_wall_ns(set->result, row->slice),
						      slices->begin_ns[row->slice]};
	}
	return figures;
}
