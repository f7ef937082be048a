// SPDX-License-Identifier: Apache-2.0
//
// Report "tasks": a row per group with the distribution of its durations, or a row per instance with
// where and when it ran.
#include "analyze/reports/report_kinds.h"

#include <string.h>

#include "analyze/tables/report_make.h"
#include "analyze/datasets/words.h"
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

static const struct st_column instance_columns[] = {
	{"row", "Row", "", false},
	{"start_ns", "Start Time", "ns", false},
	{"depth", "Depth", "", false},
	{"parent", "Parent Row", "", false},
	{"parent_task", "Parent Task", "", true},
	{"task_domain", "Task Domain", "", true},
	{"process", "Process", "", true},
	{"thread", "Thread", "", true},
	{"flags", "Flags", "", true},
};

/* Where instances ran. */
struct places {
	const struct st_dataset *dataset;
	const struct st_slices *slices;
	struct st_arena *arena;
	struct st_text *processes, *threads; /* made once each */
};

static struct st_text place_text(struct places *places, enum st_grouping grouping, uint32_t row)
{
	uint32_t key = st_key_of(&places->dataset->keys[grouping], row);
	struct st_text *texts = grouping == ST_BY_PROCESS ? places->processes : places->threads;

	if (!texts)
		return (struct st_text){"", 0};
	if (!texts[key].bytes)
		texts[key] = places->dataset->text(places->dataset, grouping, key, places->arena);
	return texts[key];
}

static void instance_cells(void *closure, struct st_cell *cells, uint32_t row)
{
	struct places *places = closure;
	const struct st_dataset *dataset = places->dataset;
	const struct st_slices *slices = places->slices;
	uint32_t parent = slices->parent[row];

	cells[0] = st_cell_u64(row);
	cells[1] = st_cell_i64(slices->begin_ns[row]);
	cells[2] = st_cell_u64(slices->depth[row]);
	if (parent != ST_NO_ROW) {
		cells[3] = st_cell_u64(parent);
		cells[4] = st_cell_bytes(dataset->text(dataset, ST_BY_TASK, parent, places->arena));
	}
	cells[5] = st_cell_bytes(dataset->text(dataset, ST_BY_TASK_DOMAIN,
					       st_key_of(&dataset->keys[ST_BY_TASK_DOMAIN], row),
					       places->arena));
	cells[6] = st_cell_bytes(place_text(places, ST_BY_PROCESS, row));
	cells[7] = st_cell_bytes(place_text(places, ST_BY_THREAD, row));
	cells[8] = st_cell_text(st_words_slice_flags(slices->flags[row]));
}

static enum st_status build_instances(const struct st_result *result,
				      const struct st_dataset *dataset,
				      struct st_question *question, struct st_report *out,
				      struct st_error *err)
{
	struct st_arena *arena = st_report_arena(out);
	struct places places = {
		.dataset = dataset, .slices = st_result_slices(result), .arena = arena};
	const struct st_report_instances instances = {
		.question = question,
		.columns = instance_columns,
		.column_count = sizeof(instance_columns) / sizeof(instance_columns[0]),
		.cells = instance_cells,
		.closure = &places,
	};
	struct st_answer answer;
	enum st_status status;

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
	places.processes =
		st_arena_calloc(arena, (size_t)dataset->keys[ST_BY_PROCESS].key_count + 1,
				sizeof(*places.processes));
	places.threads = st_arena_calloc(arena, (size_t)dataset->keys[ST_BY_THREAD].key_count + 1,
					 sizeof(*places.threads));
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

enum st_status st_report_tasks_build(const struct st_result *result,
				     const struct st_report_options *options, struct st_report *out,
				     struct st_error *err)
{
	struct st_question question = options->question;
	struct st_dataset dataset;
	enum st_status status = st_report_begin(out, "tasks", result, err);

	if (status)
		return status;
	if (st_set_is_empty(question.metrics))
		question.metrics = metrics_of(result);
	status = st_dataset_slices_init(&dataset, result, err);
	if (status)
		goto fail;
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
	if (!status)
		return st_report_end(out, err);
fail:
	st_report_fini(out);
	return status;
}
