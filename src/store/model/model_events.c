// SPDX-License-Identifier: Apache-2.0
//
// The definitions that come with events (store/model/model.h): objects and what is told about them, code that was
// loaded, files mapped for execution, marks of the family. Bodies are read with the bounded cursor.
#include "store/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/event.h"
#include "store/key_table.h"

enum { LIST_MAX = 1 << 20, LINES_MAX = 1 << 26 };

static struct st_text take_bytes(struct st_cursor *cursor, uint64_t size_bytes)
{
	struct st_text text = {"", 0};

	if (cursor->failed || size_bytes > (uint64_t)(cursor->end - cursor->at)) {
		cursor->failed = true;
		return text;
	}
	text.bytes = (const char *)cursor->at;
	text.size_bytes = (size_t)size_bytes;
	cursor->at += size_bytes;
	return text;
}

/* Up to the NUL that must be there. */
static struct st_text take_string(struct st_cursor *cursor)
{
	const uint8_t *end = cursor->failed || cursor->at == cursor->end
				     ? NULL
				     : memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at));
	struct st_text text = {"", 0};

	if (!end) {
		cursor->failed = true;
		return text;
	}
	text = take_bytes(cursor, (uint64_t)(end - cursor->at));
	cursor->at++;
	return text;
}

bool st_model_load_object(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_object_definition object = {.process_id = process_id};
	struct st_text head, name, second;
	uint64_t key;

	object.id = st_cursor_u32(body);
	st_cursor_u32(body);
	head = take_bytes(body, sizeof(object.head));
	if (body->failed)
		return true;
	memcpy(&object.head, head.bytes, sizeof(object.head));
	name = take_bytes(body, object.head.name_bytes);
	second = take_bytes(body, object.head.second_bytes);
	if (body->failed || model->object_count >= LIST_MAX)
		return true;
	key = st_id_pair(process_id, object.id);
	object.older = st_id_map_get(&model->object_index, key);
	if (st_model_process(model, process_id) == ST_ID_NONE ||
	    !st_model_keep_text(model, name, &object.name) ||
	    !st_model_keep_text(model, second, &object.second) ||
	    !ST_VEC_ROOM(model->objects, model->object_count, model->object_capacity) ||
	    !st_id_map_put(&model->object_index, key, model->object_count))
		return false;
	model->objects[model->object_count++] = object;
	return true;
}

bool st_model_load_fact(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_fact_definition fact = {.process_id = process_id};
	uint32_t text_bytes;
	struct st_text text;

	fact.object_id = st_cursor_u32(body);
	st_cursor_u32(body);
	fact.type = st_cursor_u32(body);
	text_bytes = st_cursor_u32(body);
	fact.number = st_cursor_u64(body);
	text = take_bytes(body, text_bytes);
	if (body->failed || model->fact_count >= LIST_MAX)
		return true;
	if (!st_model_keep_text(model, text, &fact.text) ||
	    !ST_VEC_ROOM(model->facts, model->fact_count, model->fact_capacity))
		return false;
	model->facts[model->fact_count++] = fact;
	return true;
}

static bool add_code(struct st_model *model, const struct st_code_event *code)
{
	if (model->code_event_count >= LIST_MAX)
		return true;
	return ST_VEC_PUSH(model->code_events, model->code_event_count, model->code_event_capacity,
			   *code);
}

static bool load_lines(struct st_model *model, struct st_cursor *data, struct st_code_event *code)
{
	uint32_t count = data->at < data->end ? st_cursor_u32(data) : 0;

	if (data->failed || count > (size_t)(data->end - data->at) / 8)
		data->failed = true;
	if (data->failed || model->line_count / 2 + count > LINES_MAX)
		return true;
	code->first_line = model->line_count / 2;
	for (uint32_t i = 0; i < 2 * count; i++) {
		if (!ST_VEC_PUSH(model->lines, model->line_count, model->line_capacity,
				 st_cursor_u32(data)))
			return false;
	}
	code->line_count = count;
	return true;
}

static bool load_jit(struct st_model *model, struct st_cursor *data, struct st_code_event *code)
{
	st_string_id *texts[] = {&code->name, &code->class_name, &code->source, &code->module};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && data->at < data->end; i++)
		if (!st_model_keep_text(model, st_cursor_text(data), texts[i]))
			return false;
	return load_lines(model, data, code) && add_code(model, code);
}

/* Name, NUL, then the sections: each becomes an event of its own. */
static bool load_sections(struct st_model *model, struct st_cursor *data,
			  struct st_code_event *code)
{
	uint64_t count = code->extra;

	if (!st_model_keep_text(model, take_string(data), &code->name))
		return false;
	code->extra = code->value;
	code->value = 0;
	if (!count && !data->failed)
		return add_code(model, code);
	for (uint64_t i = 0; i < count && !data->failed; i++) {
		struct st_text name = take_string(data);

		st_cursor_u64(data); /* type */
		st_cursor_u64(data); /* flags */
		code->value = st_cursor_u64(data);
		code->extra = st_cursor_u64(data);
		st_cursor_u64(data); /* file offset */
		if (data->failed)
			break;
		if (!st_model_keep_text(model, name, &code->class_name) || !add_code(model, code))
			return false;
	}
	return true;
}

bool st_model_load_code(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_code_event code = {.process_id = process_id, .ticks = st_cursor_u64(body)};
	uint32_t body_bytes;
	struct st_cursor data;
	struct st_event event;
	struct st_text text;
	bool ok;

	st_cursor_u32(body); /* tid */
	body_bytes = st_cursor_u32(body);
	text = take_bytes(body, body_bytes);
	if (body->failed || st_event_decode(&event, text.bytes, text.size_bytes, NULL)) {
		body->failed = true;
		return true;
	}
	if (st_model_process(model, process_id) == ST_ID_NONE)
		return false;
	st_model_saw_time(model, code.ticks);
	code.kind = event.kind;
	code.detail = event.detail;
	code.value = event.value;
	code.extra = event.extra;
	memcpy(code.id, event.id, sizeof(code.id));
	data = (struct st_cursor){.at = event.data, .end = (const uint8_t *)event.data};
	if (event.data_bytes)
		data.end += event.data_bytes;
	if (event.kind == ST_EVENT_JIT) {
		ok = load_jit(model, &data, &code);
	} else if (event.kind == ST_EVENT_MODULE_LOAD_SECTIONS) {
		ok = load_sections(model, &data, &code);
	} else {
		text = (struct st_text){(const char *)event.data, event.data_bytes};
		ok = st_model_keep_text(model, text, &code.name) && add_code(model, &code);
	}
	body->failed |= data.failed;
	return ok;
}

bool st_model_load_map(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_map_definition map = {.process_id = process_id};
	struct st_text path, build_id;

	map.start = st_cursor_u64(body);
	map.end = st_cursor_u64(body);
	map.file_offset = st_cursor_u64(body);
	map.ticks = st_cursor_u64(body);
	path = st_cursor_text(body);
	build_id = st_cursor_text(body);
	if (body->failed || map.end <= map.start || model->map_count >= LIST_MAX)
		return true;
	if (st_model_process(model, process_id) == ST_ID_NONE ||
	    !st_model_keep_text(model, path, &map.path) ||
	    !st_model_keep_text(model, build_id, &map.build_id) ||
	    !ST_VEC_ROOM(model->maps, model->map_count, model->map_capacity))
		return false;
	model->maps[model->map_count++] = map;
	return true;
}

bool st_model_load_mark(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_family_mark mark = {.ticks = st_cursor_u64(body)};
	struct st_text text = st_cursor_text(body);

	(void)process_id;
	if (body->failed || model->mark_count >= LIST_MAX)
		return true;
	st_model_saw_time(model, mark.ticks);
	if (!st_model_keep_text(model, text, &mark.text) ||
	    !ST_VEC_ROOM(model->marks, model->mark_count, model->mark_capacity))
		return false;
	model->marks[model->mark_count++] = mark;
	return true;
}

bool st_model_load_demand(struct st_model *model, uint32_t process_id, struct st_cursor *body)
{
	struct st_demand_definition demand = {.begin_ticks = st_cursor_u64(body),
					      .end_ticks = st_cursor_u64(body),
					      .cpu_ns = st_cursor_u64(body),
					      .delay_ns = st_cursor_u64(body),
					      .threads = st_cursor_u32(body)};

	(void)process_id;
	if (body->failed || demand.end_ticks <= demand.begin_ticks ||
	    model->demand_count >= LIST_MAX)
		return true;
	st_model_saw_time(model, demand.end_ticks);
	return ST_VEC_PUSH(model->demands, model->demand_count, model->demand_capacity, demand);
}

static int by_start(const void *a, const void *b)
{
	const struct st_map_definition *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

void st_model_sort_maps(struct st_model *model)
{
	if (model->map_count)
		qsort(model->maps, model->map_count, sizeof(*model->maps), by_start);
}
