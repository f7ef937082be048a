// SPDX-License-Identifier: Apache-2.0
//
// The nn.Module that a slice belongs to, for the samples in it: a call of a module itself, an operator where
// operator_modules.c has it, backward nodes among them, and what else lies in one of them.
#include <stdlib.h>

#include "analyze/operators/dataset_operators.h"

bool st_result_has_modules(const struct st_result *result)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);

	for (uint32_t i = 0; i < count; i++)
		if (labels[i].category == ST_CATEGORY_MODULE)
			return true;
	return false;
}

/* By label: the key of a module, else 0. Malloc'd. */
static uint32_t *keys_of_labels(const struct st_operator_rows *rows, struct st_key_texts *keys)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(rows->result, &count);
	uint32_t *map = calloc((size_t)count + 1, sizeof(*map));

	for (uint32_t i = 0; map && i < count; i++)
		if (rows->kind_of[i] == ST_LABEL_MODULE)
			map[i] = st_key_texts_add(keys,
						  st_result_text(rows->result, labels[i].name));
	return map;
}

/* By the operators' key of a module: the same module's key here. Malloc'd. */
static uint32_t *keys_of_operators(const struct st_operator_rows *rows, struct st_key_texts *keys)
{
	const struct st_key_texts *theirs = &rows->texts[ST_BY_NN_MODULE];
	uint32_t *map = calloc((size_t)theirs->count + 1, sizeof(*map));

	for (uint32_t i = 1; map && i < theirs->count; i++)
		map[i] = st_key_texts_add(keys, theirs->texts[i]);
	return map;
}

static void set_keys(uint32_t *column, const struct st_dataset *operators, const uint32_t *of_label,
		     const uint32_t *of_operator)
{
	const struct st_operator_rows *rows = st_dataset_operators(operators);
	const struct st_slices *slices = st_result_slices(rows->result);

	/* Slices come after the slices around them. */
	for (uint32_t i = 0; i < slices->count; i++) {
		uint32_t row = rows->row_of_slice[i], up = slices->parent[i];

		if (of_label[slices->label[i]])
			column[i] = of_label[slices->label[i]];
		else if (row != ST_NO_ROW && rows->slice[row] == i)
			column[i] = of_operator[st_key_of(&operators->keys[ST_BY_NN_MODULE], row)];
		else
			column[i] = up == ST_NO_ROW ? 0 : column[up];
	}
}

bool st_slices_add_modules(struct st_dataset *dataset, const struct st_result *result,
			   struct st_key_texts *keys, struct st_arena *arena)
{
	static const struct st_text none = {"[no module]", 11};
	uint32_t *column = st_arena_calloc(arena, (size_t)dataset->row_count + 1, sizeof(*column));
	uint32_t *of_label, *of_operator;
	struct st_dataset operators;
	bool done;

	if (!column || st_dataset_operators_init(&operators, result, false, NULL))
		return false;
	done = operators.prepare(&operators, ST_BY_NN_MODULE);
	st_key_texts_add(keys, none);
	of_label = keys_of_labels(st_dataset_operators(&operators), keys);
	of_operator = keys_of_operators(st_dataset_operators(&operators), keys);
	done = done && of_label && of_operator && !keys->failed;
	if (done)
		set_keys(column, &operators, of_label, of_operator);
	dataset->keys[ST_BY_NN_MODULE] = st_keys(column, NULL, keys->count);
	free(of_label);
	free(of_operator);
	st_dataset_operators_fini(&operators);
	return done;
}
