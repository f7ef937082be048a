// SPDX-License-Identifier: Apache-2.0
//
// What the definitions say of operators: signatures, and how each process records them.
#include "store/model/model.h"

#include "base/vec.h"
#include "format/signature.h"

enum { LIST_MAX = 1 << 22 };

bool st_model_load_signature(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_signature_definition signature = {.process_id = process_id};
	uint32_t id = st_cursor_u32(body);
	size_t size_bytes;

	st_cursor_u32(body);
	size_bytes = (size_t)(body->end - body->at);
	if (body->failed || !st_signature_read(&signature.head, body->at, size_bytes)) {
		body->failed = true;
		return true;
	}
	if (model->signature_count >= LIST_MAX)
		return true;
	if (st_model_process(model, process_id) == ST_ID_NONE ||
	    !st_text_table_add(&model->texts, body->at, size_bytes, &signature.bytes) ||
	    !ST_VEC_ROOM(model->signatures, model->signature_count, model->signature_capacity) ||
	    !st_id_map_put(&model->signature_index, st_id_pair(process_id, id),
			   model->signature_count))
		return false;
	model->signatures[model->signature_count++] = signature;
	return true;
}

bool st_model_load_operator_source(struct st_model *model, uint32_t process_id,
				   struct st_cursor *body)
{
	struct st_operator_source source = {.level = st_cursor_u32(body),
					    .flags = st_cursor_u32(body)};
	struct st_text framework = st_cursor_text(body), why = st_cursor_text(body);
	uint32_t at = st_id_map_get(&model->operator_source_index, process_id);

	if (body->failed)
		return true;
	source.process = st_model_process(model, process_id);
	if (source.process == ST_ID_NONE ||
	    !st_text_table_add(&model->texts, framework.bytes, framework.size_bytes,
			       &source.framework) ||
	    !st_text_table_add(&model->texts, why.bytes, why.size_bytes, &source.why))
		return false;
	if (at == ST_ID_NONE) {
		at = model->operator_source_count;
		if (!ST_VEC_ROOM(model->operator_sources, at, model->operator_source_capacity) ||
		    !st_id_map_put(&model->operator_source_index, process_id, at))
			return false;
		model->operator_source_count++;
	}
	model->operator_sources[at] = source;
	return true;
}
