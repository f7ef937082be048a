// SPDX-License-Identifier: Apache-2.0
//
// Key columns of waits, made when a question asks for them: each wait is looked at as the sample that it is.
#include "analyze/samples/wait_keys.h"

#include <stdlib.h>

#include "analyze/datasets/row_sets.h"
#include "analyze/samples/sample_rows.h"
#include "analyze/samples/sample_waits.h"
#include "base/vec.h"
#include "store/result.h"

struct st_set st_wait_keys(const struct st_result *result)
{
	struct st_set set = st_sample_answers_of(result);
	uint32_t objects = 0;

	if (result)
		st_result_sync_objects(result, &objects);
	if (objects && !st_sample_has_waits(result))
		return st_set_of(NULL);
	/* A wait is one row: it has no tree below it. */
	st_set_remove(&set, ST_BY_CALLSTACK);
	st_set_remove(&set, ST_BY_FUNCTION_STACK);
	st_set_remove(&set, ST_BY_CPU_CLASS);
	st_set_remove(&set, ST_BY_TASK);
	st_set_remove(&set, ST_BY_CATEGORY);
	return set;
}

/* Keys of samples as keys of texts. */
struct known {
	uint32_t *keys; /* + 1 */
	uint32_t capacity;
};

static bool add_key(struct st_rows *rows, struct known *known, struct st_sample_set *set,
		    enum st_grouping grouping, uint32_t row)
{
	uint32_t key = st_own_key(&set->dataset, grouping, 0);
	struct st_key_texts *texts = &rows->texts[grouping];

	if (!ST_VEC_ROOM_ZERO(known->keys, key, known->capacity))
		return false;
	if (!known->keys[key])
		known->keys[key] =
			st_key_texts_add(texts, st_sample_text(set, grouping, key, &rows->arena)) +
			1;
	rows->columns[grouping][row] = known->keys[key] - 1;
	return !texts->failed && !rows->arena.failed;
}

static bool fill(struct st_rows *rows, struct st_sample_set *set, enum st_grouping grouping)
{
	const struct st_question question = {.groupings = {grouping}, .grouping_count = 1};
	struct st_sample_rows one;
	struct known known = {0};
	bool done = !st_sample_rows_begin(&one, set, &question, NULL);

	if (!done)
		return false;
	/* The first key is that of rows that are no waits: holds, acquisitions. */
	st_key_texts_add(&rows->texts[grouping], (struct st_text){"", 0});
	for (uint32_t i = 0; done && i < rows->count; i++) {
		struct st_sample_wait wait;

		if (st_sample_wait_at(set, &question, i, &wait))
			done = st_sample_rows_look_at_wait(&one, &wait) &&
			       add_key(rows, &known, set, grouping, i);
	}
	free(known.keys);
	st_sample_rows_fini(&one);
	return done;
}

static bool prepare(struct st_dataset *dataset, enum st_grouping grouping)
{
	struct st_rows *rows = dataset->private_data;

	if (dataset->keys[grouping].key_count || !rows->count)
		return true;
	free(rows->columns[grouping]);
	rows->columns[grouping] = calloc((size_t)rows->count + 1, sizeof(uint32_t));
	if (!rows->columns[grouping] || !fill(rows, rows->more, grouping))
		return false;
	dataset->keys[grouping] =
		st_keys(rows->columns[grouping], NULL, rows->texts[grouping].count);
	return true;
}

void st_wait_keys_offer(struct st_sample_set *set)
{
	struct st_rows *rows = set->waits.private_data;

	if (!rows)
		return;
	rows->more = set;
	/* As samples have it: on a worker that of the thread which created it. */
	set->waits.keys[ST_BY_TASK_TYPE].key_count = 0;
	set->waits.prepare = prepare;
	set->waits.answers = st_set_join(set->waits.answers, st_wait_keys(set->result));
}
