// SPDX-License-Identifier: Apache-2.0
//
// Looks for steps among the families of tasks. A family is taken when its name says so ("iteration_*",
// "train step", "epoch"), the finer unit before the coarser one, or else when it is a numbered family
// that covers half of the time and holds other tasks. It is a guess, so the summary names the family.
#include "analyze/steps/steps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "format/operator.h"
#include "store/result.h"

/* The finer the unit, the earlier: a training run has epochs of steps. */
static const char *const step_words[] = {"iter", "step", "batch", "epoch"};
enum {
	STEP_WORDS = sizeof(step_words) / sizeof(step_words[0]),
	RANK_NUMBERED = 1 + 2 * STEP_WORDS
};

/* What torch.profiler calls the steps it is told of. */
static const char profiler_family[] = "ProfilerStep#*";

static const char *const no_steps[] = {"aten::", "Optimizer.step#", "Optimizer.zero_grad#",
				       "enumerate(DataLoader)#"};

static bool holds_word(struct st_text text, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= text.size_bytes; i++) {
		size_t j = 0;

		while (j < length && tolower((unsigned char)text.bytes[i + j]) == word[j])
			j++;
		/* At the beginning of a word only: "aten::_reiterate" is no iteration. */
		if (j == length && (i == 0 || !isalpha((unsigned char)text.bytes[i - 1])))
			return true;
	}
	return false;
}

static bool is_operator(const struct st_label *label)
{
	return label->category == ST_CATEGORY_OPERATOR && !label->from_itt;
}

/* Whether a family may be steps, by its labels. "layers.*.conv" and "AddmmBackward*" are numbered, and no steps;
 * "LABEL2: masking" has a number that never changes: nothing is counted by it. */
static bool labels_fit(const struct st_dataset *dataset, const struct st_result *result,
		       uint32_t family, bool must_count)
{
	uint32_t count, first = UINT32_MAX;
	const struct st_label *labels = st_result_labels(result, &count);
	bool is_counted = false;

	for (uint32_t i = 0; i < count; i++) {
		if (dataset->keys[ST_BY_TASK_FAMILY].map[i] != family)
			continue;
		if (is_operator(&labels[i]) || labels[i].category == ST_CATEGORY_MODULE ||
		    st_text_equals(st_result_text(result, labels[i].domain), ST_TF_FUNCTION_DOMAIN))
			return false;
		first = first == UINT32_MAX ? i : first;
		is_counted = is_counted || labels[i].name != labels[first].name;
	}
	return is_counted || !must_count;
}

/* Ranges that hooks begin in an operator are numbered by layer, and are parts of a step: by the first of them. */
static bool lies_in_operator(const struct st_dataset *dataset, const struct st_result *result,
			     uint32_t family)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t count, row = 0;
	const struct st_label *labels = st_result_labels(result, &count);

	while (row < dataset->row_count &&
	       st_key_of(&dataset->keys[ST_BY_TASK_FAMILY], row) != family)
		row++;
	for (row = row < dataset->row_count ? dataset->parent[row] : ST_NO_ROW; row != ST_NO_ROW;
	     row = dataset->parent[row])
		if (is_operator(&labels[slices->label[row]]))
			return true;
	return false;
}

/* Small is better; UINT32_MAX is no candidate. */
static unsigned int rank_of(const struct st_answer_row *row, uint64_t total_ns)
{
	bool numbered = memchr(row->text.bytes, '*', row->text.size_bytes);
	uint64_t wall_ns = st_answer_value(row, ST_WALL_TOTAL);

	if (st_answer_value(row, ST_COUNT) < 2)
		return UINT32_MAX;
	if (st_text_equals(row->text, profiler_family))
		return 0;
	if (wall_ns < total_ns / 10)
		return UINT32_MAX;
	/* Operators have such words in their names too, and so has the optimizer's part of a step; they are not
	 * what a step is. */
	for (size_t i = 0; i < sizeof(no_steps) / sizeof(no_steps[0]); i++) {
		size_t length = strlen(no_steps[i]);

		if (row->text.size_bytes > length &&
		    memcmp(row->text.bytes, no_steps[i], length) == 0)
			return UINT32_MAX;
	}
	for (unsigned int i = 0; i < STEP_WORDS; i++) {
		if (holds_word(row->text, step_words[i]))
			return 1 + 2 * i + !numbered;
	}
	return numbered && wall_ns > total_ns / 2 && st_answer_value(row, ST_WALL_SELF) < wall_ns
		       ? RANK_NUMBERED
		       : UINT32_MAX;
}

static uint32_t family_key(const struct st_dataset *dataset, struct st_text text)
{
	for (uint32_t key = 0; key < dataset->keys[ST_BY_TASK_FAMILY].key_count; key++) {
		struct st_text known = dataset->text(dataset, ST_BY_TASK_FAMILY, key, NULL);

		if (known.size_bytes == text.size_bytes &&
		    memcmp(known.bytes, text.bytes, text.size_bytes) == 0)
			return key;
	}
	return UINT32_MAX;
}

static void keep_largest(struct st_steps *steps, const struct st_dataset *dataset,
			 const struct st_step_part *sums)
{
	uint32_t types = dataset->keys[ST_BY_TASK_TYPE].key_count;

	for (uint32_t key = 0; key < types; key++) {
		unsigned int at = steps->part_count;

		if (!sums[key].count)
			continue;
		steps->other_ns += sums[key].total_ns;
		steps->other_count += sums[key].count;
		while (at > 0 && steps->parts[at - 1].total_ns < sums[key].total_ns)
			at--;
		if (at >= ST_STEP_PARTS_MAX)
			continue;
		if (steps->part_count < ST_STEP_PARTS_MAX)
			steps->part_count++;
		memmove(&steps->parts[at + 1], &steps->parts[at],
			(steps->part_count - at - 1) * sizeof(steps->parts[0]));
		steps->parts[at] = sums[key];
		steps->parts[at].text = dataset->text(dataset, ST_BY_TASK_TYPE, key, NULL);
	}
	for (unsigned int i = 0; i < steps->part_count; i++) {
		steps->other_ns -= steps->parts[i].total_ns;
		steps->other_count -= steps->parts[i].count;
	}
}

/* Sums the direct children of all steps by type. */
static bool add_parts(struct st_steps *steps, const struct st_dataset *dataset)
{
	const struct st_key_column *families = &dataset->keys[ST_BY_TASK_FAMILY];
	const struct st_key_column *types = &dataset->keys[ST_BY_TASK_TYPE];
	uint32_t family = steps->family_key;
	struct st_step_part *sums = calloc((size_t)types->key_count + 1, sizeof(*sums));
	uint64_t *durations = calloc(steps->family.count + 1, sizeof(*durations));
	size_t count = 0;

	if (!sums || !durations) {
		free(sums);
		free(durations);
		return false;
	}
	for (uint32_t row = 0; row < dataset->row_count; row++) {
		uint32_t parent = dataset->parent[row];
		uint64_t wall_ns;
		bool is_step = st_key_of(families, row) == family;
		bool in_step = parent != ST_NO_ROW && st_key_of(families, parent) == family;

		if ((!is_step && !in_step) || dataset->flags[row] & dataset->hidden_flags)
			continue;
		wall_ns = st_row_wall_ns(dataset, row);
		if (is_step) {
			durations[count++] = wall_ns;
			steps->self_ns += dataset->self_ns[row];
			steps->sum_ns += in_step ? 0 : wall_ns;
		} else {
			sums[st_key_of(types, row)].total_ns += wall_ns;
			sums[st_key_of(types, row)].count++;
		}
	}
	keep_largest(steps, dataset, sums);
	/* Only of the family that was chosen: selecting ranks in all of them would double the time. */
	steps->family.took = st_percentiles_take(durations, count);
	free(durations);
	free(sums);
	return true;
}

enum st_status st_steps_find(struct st_steps *out, const struct st_dataset *dataset,
			     const struct st_result *result, struct st_error *err)
{
	struct st_question question = {.groupings = {ST_BY_TASK_FAMILY}, .grouping_count = 1};
	unsigned int best = UINT32_MAX;
	struct st_answer answer;
	enum st_status status;

	memset(out, 0, sizeof(*out));
	status = st_dataset_ask(dataset, &question, &answer, err);
	if (status)
		return status;
	/* Rows come by total time: among equals the largest wins. */
	for (uint32_t i = 0; i < answer.root_count; i++) {
		unsigned int rank =
			rank_of(&answer.rows[i], st_answer_value(&answer.total, ST_WALL_TOTAL));
		uint32_t key;

		if (rank >= best)
			continue;
		key = family_key(dataset, answer.rows[i].text);
		if (!labels_fit(dataset, result, key, rank == RANK_NUMBERED) ||
		    (rank == RANK_NUMBERED && lies_in_operator(dataset, result, key)))
			continue;
		best = rank;
		out->family = (struct st_step_family){
			.text = answer.rows[i].text,
			.count = st_answer_value(&answer.rows[i], ST_COUNT),
			.total_ns = st_answer_value(&answer.rows[i], ST_WALL_TOTAL),
		};
		out->family_key = key;
		out->is_profiler = rank == 0;
		out->is_counted = rank == RANK_NUMBERED;
		out->found = true;
	}
	st_answer_fini(&answer);
	if (out->found && !add_parts(out, dataset))
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while looking for steps");
	return ST_OK;
}

/* A step's own key, from its slice inwards; as long as it lasts, where what began in it goes on. A step inside a step
 * is not in the list, and part of the outer one. */
static void key_slices(const struct st_dataset *dataset, const struct st_step_list *list,
		       const uint32_t *keys, uint32_t *column)
{
	uint32_t next = 0;

	/* Rows come after the rows around them. */
	for (uint32_t row = 0; row < dataset->row_count; row++) {
		uint32_t parent = dataset->parent[row];

		while (next < list->count && list->steps[next].slice <= row)
			next++;
		if (!next)
			continue;
		if (list->steps[next - 1].slice == row ||
		    (parent != ST_NO_ROW && column[parent] &&
		     dataset->begin_ns[row] <= list->steps[next - 1].end_ns))
			column[row] = keys[next - 1];
	}
}

/* By when they begin. */
static void key_times(const struct st_dataset *dataset, const struct st_step_list *list,
		      const struct st_result *result, const uint32_t *keys, uint32_t *column)
{
	for (uint32_t track = 0; track < dataset->track_count; track++) {
		struct st_row_span rows = dataset->tracks[track];
		uint32_t range[2];

		st_step_range(list, result, track, range);
		for (uint32_t row = rows.begin; row < rows.end && range[0] < range[1]; row++) {
			int64_t begin_ns = dataset->begin_ns[row];

			while (range[0] < range[1] && list->steps[range[0]].end_ns <= begin_ns)
				range[0]++;
			if (range[0] < range[1] && list->steps[range[0]].begin_ns <= begin_ns)
				column[row] = keys[range[0]];
		}
	}
}

bool st_dataset_add_steps(struct st_dataset *dataset, const struct st_result *result,
			  struct st_key_texts *texts, struct st_arena *arena,
			  struct st_step_keys *out)
{
	static const struct st_text outside = {"[no step]", 9};
	uint32_t *column = st_arena_calloc(arena, (size_t)dataset->row_count + 1, sizeof(*column));

	memset(out, 0, sizeof(*out));
	if (!column || st_step_list_make(&out->list, dataset, result, NULL))
		return false;
	out->keys = st_arena_calloc(arena, (size_t)out->list.count + 1, sizeof(*out->keys));
	if (!out->keys)
		return false;
	st_key_texts_add(texts, outside);
	for (uint32_t i = 0; i < out->list.count; i++)
		out->keys[i] = st_key_texts_add(texts, st_step_text(&out->list, i, result, arena));
	if (st_step_list_is_timed(&out->list))
		key_times(dataset, &out->list, result, out->keys, column);
	else
		key_slices(dataset, &out->list, out->keys, column);
	dataset->keys[ST_BY_STEP] = st_keys(column, NULL, texts->count);
	return !texts->failed && !arena->failed;
}
