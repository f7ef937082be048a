// SPDX-License-Identifier: Apache-2.0
//
// Report "tasks": a row per group with the distribution of its durations, or a row per instance with
// where and when it ran.
#include "analyze/reports/report_kinds.h"

#include <string.h>

#include "analyze/tables/report_make.h"
#include "analyze/tables/table.h"
#include "store/result.h"

/* A column of zeros would only take room. */
static struct st_set metrics_of(const struct st_result *result)
{
	struct st_set all = st_set_range(0, ST_WALL_METRICS);

	if (!st_result_quality(result)->copies)
		st_set_remove(&all, ST_COPIES);
	return all;
}

/* The domains of a type: nearly always one, else all of them with commas between. */
static struct st_text join_domains(const struct st_answer *answer, const struct st_answer_row *row,
				   struct st_arena *arena)
{
	static const char cut[] = "…";
	const struct st_answer_row *children = &answer->rows[row->first_child];
	size_t size_bytes = 0, used = 0;
	char *joined;

	if (row->child_count == 1)
		return children[0].text;
	/* The limit is about rows; what it cut off of the domains needs no name. */
	for (uint32_t i = 0; i < row->child_count; i++)
		size_bytes += children[i].text.size_bytes + 2 + sizeof(cut);
	joined = st_arena_alloc(arena, size_bytes + 1);
	for (uint32_t i = 0; joined && i < row->child_count; i++) {
		if (i) {
			memcpy(joined + used, ", ", 2);
			used += 2;
		}
		struct st_text text = children[i].text;

		if (children[i].is_others)
			text = (struct st_text){cut, sizeof(cut) - 1};
		memcpy(joined + used, text.bytes, text.size_bytes);
		used += text.size_bytes;
	}
	return (struct st_text){joined ? joined : "", used};
}

/* Without a grouping: a row per type, with its domain beside it. Both are asked for, and the inner
 * level becomes a column, because a name nearly always belongs to one domain. */
static enum st_status build_types(const struct st_dataset *dataset, struct st_question *question,
				  struct st_report *out, struct st_error *err)
{
	static const struct st_column domain[] = {{"task_domain", "Task Domain", "", true}};
	struct st_question shown = *question;
	struct st_report_layout layout = {&shown, domain, 1, 1, NULL};
	struct st_answer answer;
	enum st_status status;

	question->groupings[0] = ST_BY_TASK_TYPE;
	question->groupings[1] = ST_BY_TASK_DOMAIN;
	question->grouping_count = 2;
	status = st_dataset_ask(dataset, question, &answer, err);
	if (status)
		return status;
	shown = *question;
	shown.grouping_count = 1;
	answer.row_count = answer.root_count; /* the second level is not shown as rows */
	st_report_from_answer(out, &answer, &layout);
	for (uint32_t i = 0; i < out->row_count && !st_report_arena(out)->failed; i++) {
		const struct st_answer *kept = st_report_answer(out);
		const struct st_answer_row *row = &kept->rows[i];
		struct st_report_row *to = &out->rows[i];

		to->child_count = 0;
		if (!row->is_others)
			to->cells[1] = st_cell_bytes(join_domains(kept, row, st_report_arena(out)));
	}
	return ST_OK;
}

static enum st_status build_instances(const struct st_result *result,
				      const struct st_dataset *dataset,
				      struct st_question *question, struct st_report *out,
				      struct st_error *err)
{
	static const char *const keys[] = {
		"row",		"start_ns", "depth",  "parent", "parent_task",
		"shown_domain", "process",  "thread", "flags",	NULL};
	struct st_tables tables;
	const struct st_report_instances instances = {
		.question = question,
		.table = &st_slices_table,
		.tables = &tables,
		.rows = st_result_slices(result),
		.keys = keys,
	};
	struct st_answer answer;
	enum st_status status;

	if (!st_tables_init(&tables, result, st_report_arena(out)))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the report");
	/* Of one instance the whole distribution is one number. */
	if (question->grouping_count == 1)
		question->metrics =
			st_set_common(question->metrics, ST_SET(ST_WALL_TOTAL, ST_WALL_SELF));
	else
		question->metrics =
			st_set_common(question->metrics,
				      ST_SET(ST_COUNT, ST_COPIES, ST_WALL_TOTAL, ST_WALL_SELF));
	status = st_dataset_ask(dataset, question, &answer, err);
	if (status)
		return status;
	st_report_from_instances(out, &answer, &instances);
	return ST_OK;
}

static enum st_status build_groups(const struct st_dataset *dataset, struct st_question *question,
				   struct st_report *out, struct st_error *err)
{
	struct st_report_layout layout = {.question = question};
	struct st_answer answer;
	enum st_status status = st_dataset_ask(dataset, question, &answer, err);

	if (!status)
		st_report_from_answer(out, &answer, &layout);
	return status;
}

enum st_status st_report_tasks_build(const struct st_report_kind *kind,
				     const struct st_result *result,
				     const struct st_report_options *options, struct st_report *out,
				     struct st_error *err)
{
	struct st_question question = options->question;
	struct st_dataset dataset;
	enum st_status status;

	(void)kind;
	if (st_set_is_empty(question.metrics))
		question.metrics = metrics_of(result);
	status = st_dataset_slices_init(&dataset, result, err);
	if (status)
		return status;
	status = st_dataset_prepare(&dataset, &question, err);
	if (status)
		; /* said already */
	else if (question.grouping_count == 0)
		status = build_types(&dataset, &question, out, err);
	else if (question.groupings[question.grouping_count - 1] == ST_BY_TASK)
		status = build_instances(result, &dataset, &question, out, err);
	else
		status = build_groups(&dataset, &question, out, err);
	if (!status)
		st_dataset_hand_over(&dataset, st_report_arena(out));
	st_dataset_slices_fini(&dataset);
	return status;
}
