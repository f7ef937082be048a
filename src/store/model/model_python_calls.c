// SPDX-License-Identifier: Apache-2.0
//
// What the definitions say of calls of Python functions: differences, which are added up here.
#include "store/model/model.h"

#include "base/vec.h"
#include "format/varint.h"
#include "store/python_calls.h"

enum { LIST_MAX = 1 << 22, NUMBERS = 5 };

/* The function of an id, made when there is none; ST_ID_NONE: no memory. Calls may be told before the name is. */
static uint32_t function_of(struct st_model *model, uint32_t process_id, uint32_t id)
{
	uint64_t key = st_id_pair(process_id, id);
	uint32_t at = st_id_map_get(&model->python_function_index, key);
	struct st_python_function function = {.process = st_model_process(model, process_id)};

	if (at != ST_ID_NONE)
		return at;
	at = model->python_function_count;
	if (function.process == ST_ID_NONE || at >= LIST_MAX ||
	    !st_text_table_add(&model->texts, "", 0, &function.file) ||
	    !ST_VEC_ROOM(model->python_functions, at, model->python_function_capacity) ||
	    !st_id_map_put(&model->python_function_index, key, at))
		return ST_ID_NONE;
	function.name = function.file;
	model->python_functions[model->python_function_count++] = function;
	return at;
}

bool st_model_load_python_function(struct st_model *model, uint32_t process_id,
				   struct st_cursor *body)
{
	uint32_t id = st_cursor_u32(body), line = st_cursor_u32(body), at;
	struct st_text file = st_cursor_text(body), name = st_cursor_text(body);

	if (body->failed)
		return true;
	at = function_of(model, process_id, id);
	if (at == ST_ID_NONE)
		return false;
	model->python_functions[at].line = line;
	return st_text_table_add(&model->texts, file.bytes, file.size_bytes,
				 &model->python_functions[at].file) &&
	       st_text_table_add(&model->texts, name.bytes, name.size_bytes,
				 &model->python_functions[at].name);
}

/* The row of a function on a thread, made when there is none; NULL: no memory. */
static struct st_python_calls *row_of(struct st_model *model, uint32_t process_id, uint32_t tid,
				      uint32_t id)
{
	struct st_python_calls row = {.function = function_of(model, process_id, id), .tid = tid};
	uint64_t key = st_id_pair(row.function, tid);
	uint32_t at = st_id_map_get(&model->python_calls_index, key);

	if (row.function == ST_ID_NONE)
		return NULL;
	if (at != ST_ID_NONE)
		return &model->python_calls[at];
	at = model->python_calls_count;
	if (at >= LIST_MAX || !ST_VEC_ROOM(model->python_calls, at, model->python_calls_capacity) ||
	    !st_id_map_put(&model->python_calls_index, key, at))
		return NULL;
	model->python_calls[model->python_calls_count++] = row;
	return &model->python_calls[at];
}

bool st_model_load_python_calls(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	uint32_t tid = st_cursor_u32(body), count = st_cursor_u32(body);
	uint64_t numbers[NUMBERS];

	st_cursor_u64(body); /* the time at which it was told */
	model->python_calls_lost += st_cursor_u64(body);
	for (uint32_t i = 0; i < count && !body->failed; i++) {
		struct st_python_calls *row;

		for (uint32_t j = 0; j < NUMBERS && !body->failed; j++)
			body->failed = !st_varint_get(&body->at, body->end, &numbers[j]);
		if (body->failed || numbers[0] > UINT32_MAX) {
			body->failed = true;
			break;
		}
		row = row_of(model, process_id, tid, (uint32_t)numbers[0]);
		if (!row)
			return false;
		row->calls += numbers[1];
		row->primitive += numbers[2];
		row->own_ns += numbers[3]; /* ticks, until st_python_calls_make */
		row->total_ns += numbers[4];
	}
	return true;
}
