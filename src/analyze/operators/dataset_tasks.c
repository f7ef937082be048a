// SPDX-License-Identifier: Apache-2.0
//
// Slices with their steps and modules.
#include "analyze/operators/dataset_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/operators/dataset_operators.h"

static bool prepare(struct st_dataset *dataset, const struct st_result *result,
		    enum st_grouping grouping, struct st_key_texts *texts, struct st_arena *arena,
		    void **kept)
{
	struct st_step_keys *steps;

	if (grouping == ST_BY_NN_MODULE)
		return st_slices_add_modules(dataset, result, texts, arena);
	steps = *kept ? *kept : calloc(1, sizeof(*steps));
	*kept = steps;
	if (!steps)
		return false;
	st_step_list_fini(&steps->list);
	return st_dataset_add_steps(dataset, result, texts, arena, steps);
}

static void fini(void *kept)
{
	struct st_step_keys *steps = kept;

	if (steps)
		st_step_list_fini(&steps->list);
	free(steps);
}

enum st_status st_dataset_slices_init(struct st_dataset *out, const struct st_result *result,
				      struct st_error *err)
{
	static const struct st_slices_more more = {prepare, fini};

	return st_dataset_slices_open(out, result, &more, err);
}

const struct st_step_keys *st_dataset_slices_steps(const struct st_dataset *dataset)
{
	return st_dataset_slices_kept(dataset);
}

enum st_status st_question_ask(const struct st_result *result, const struct st_question *question,
			       struct st_answer *out, struct st_error *err)
{
	struct st_dataset dataset;
	enum st_status status;

	memset(out, 0, sizeof(*out));
	status = st_dataset_slices_init(&dataset, result, err);
	if (status)
		return status;
	status = st_dataset_prepare(&dataset, question, err);
	if (!status)
		status = st_dataset_ask(&dataset, question, out, err);
	if (!status)
		st_dataset_hand_over(&dataset, out->memory);
	st_dataset_slices_fini(&dataset);
	return status;
}
