// SPDX-License-Identifier: Apache-2.0
//
// The accessors of store/operators.h over an open result.
#include "store/operators.h"

#include <stdlib.h>

#include "base/search.h"
#include "format/signature.h"
#include "store/read/result_state.h"

bool st_operators_make(struct st_result *result)
{
	const struct st_model *model = &result->model;

	result->signatures =
		calloc((size_t)model->signature_count + 1, sizeof(*result->signatures));
	if (!result->signatures)
		return false;
	for (uint32_t i = 0; i < model->signature_count; i++) {
		const struct st_signature_definition *from = &model->signatures[i];
		struct st_text bytes = st_text_table_get(&model->texts, from->bytes);
		struct st_signature *to = &result->signatures[i];

		to->process = st_id_map_get(&model->process_index, from->process_id);
		st_model_domain(model, from->process_id, from->head.domain, &to->domain);
		st_model_string(model, from->process_id, from->head.name, &to->name);
		to->scope = from->head.scope;
		to->flags = from->head.flags;
		to->input_count = from->head.inputs;
		to->inputs = (const uint8_t *)bytes.bytes + ST_SIGNATURE_HEAD_BYTES;
		to->inputs_bytes = (uint32_t)(bytes.size_bytes - ST_SIGNATURE_HEAD_BYTES);
	}
	return true;
}

const struct st_operator *st_result_operators(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.operator_count;
	return result->meta.tables.operators;
}

const struct st_operator *st_result_operator_of(const struct st_result *result, uint32_t row)
{
	const struct st_operator *items = result->meta.tables.operators;
	uint32_t low = ST_SEARCH(i, 0, result->meta.tables.operator_count, items[i].row < row);

	return low < result->meta.tables.operator_count && items[low].row == row ? &items[low]
										 : NULL;
}

const struct st_signature *st_result_signatures(const struct st_result *result, uint32_t *count)
{
	*count = result->model.signature_count;
	return result->signatures;
}

const struct st_memory_moment *st_result_memory(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.moment_count;
	return result->meta.tables.moments;
}

const struct st_memory_moment *st_result_device_memory(const struct st_result *result,
						       uint32_t *count)
{
	*count = result->meta.tables.device_moment_count;
	return result->meta.tables.device_moments;
}

const struct st_operator_source *st_result_operator_sources(const struct st_result *result,
							    uint32_t *count)
{
	*count = result->model.operator_source_count;
	return result->model.operator_sources;
}
