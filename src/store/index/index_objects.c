// SPDX-License-Identifier: Apache-2.0
//
// The objects that events refer to: those defined, in the order of their definitions; then what turns up in
// the trace: objects that a process inherited (its own from then on), counters that are named by domain and
// string only, and placeholders for undefined ones.
#include "store/index/index_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "format/event.h"
#include "store/model/model.h"

enum { PARENT_DEPTH_MAX = 4, TYPE_U64 = 1, COUNTER_HAS_DOMAIN = 1 };

static uint32_t add_object(struct st_index_builder *builder, const struct st_object *object,
			   uint32_t source)
{
	struct st_event_tables *tables = &builder->tables;

	if (tables->object_count >= ST_NO_ROW - 1 ||
	    !ST_VEC_ROOM(tables->objects, tables->object_count, tables->object_capacity) ||
	    !ST_VEC_ROOM(tables->object_sources, tables->object_count, tables->source_capacity)) {
		builder->no_memory = true;
		return ST_NO_ROW;
	}
	tables->objects[tables->object_count] = *object;
	tables->object_sources[tables->object_count] = source;
	return tables->object_count++;
}

/* Whatever cannot be known before all objects are there is left open: the parent. */
static struct st_object from_definition(struct st_index_builder *builder, uint32_t process_id,
					const struct st_object_definition *definition)
{
	struct st_object object;

	memset(&object, 0, sizeof(object));
	object.process = st_model_process(builder->request->model, process_id);
	object.kind = definition->head.kind;
	object.type = definition->head.type;
	object.type_y = definition->head.type_y;
	object.flags = definition->head.flags;
	object.name = definition->name;
	object.domain = definition->second;
	object.parent = ST_NO_ROW;
	memcpy(object.number, definition->head.number, sizeof(object.number));
	return object;
}

/* The object of that id, or ST_NO_ROW when nobody defines it. */
static uint32_t find_object(struct st_index_builder *builder, uint32_t process_id, uint32_t id,
			    unsigned int depth)
{
	const struct st_model *model = builder->request->model;
	struct st_event_tables *tables = &builder->tables;
	uint64_t key = st_id_pair(process_id, id);
	uint32_t at = st_id_map_get(&tables->object_of, key), source;
	struct st_object object;

	if (at != ST_ID_NONE)
		return at;
	source = st_model_object(model, process_id, id);
	if (source == ST_ID_NONE)
		return ST_NO_ROW;
	at = source;
	if (model->objects[source].process_id != process_id) {
		object = from_definition(builder, process_id, &model->objects[source]);
		if (model->objects[source].head.parent && depth < PARENT_DEPTH_MAX)
			object.parent = find_object(builder, process_id,
						    model->objects[source].head.parent, depth + 1);
		at = add_object(builder, &object, source);
	}
	if (at != ST_NO_ROW && !st_id_map_put(&tables->object_of, key, at))
		builder->no_memory = true;
	return at;
}

bool st_index_objects_begin(struct st_index_builder *builder)
{
	const struct st_model *model = builder->request->model;

	if (builder->tables.object_count)
		return true;
	for (uint32_t i = 0; i < model->object_count && !builder->no_memory; i++) {
		struct st_object object =
			from_definition(builder, model->objects[i].process_id, &model->objects[i]);

		add_object(builder, &object, i);
	}
	for (uint32_t i = 0; i < model->object_count && !builder->no_memory; i++) {
		const struct st_object_definition *definition = &model->objects[i];
		uint32_t parent = ST_NO_ROW;

		if (definition->head.parent)
			parent = find_object(builder, definition->process_id,
					     definition->head.parent, 0);
		if (!builder->no_memory)
			builder->tables.objects[i].parent = parent;
	}
	return !builder->no_memory;
}

static uint32_t named_counter(struct st_index_builder *builder, uint32_t process_id,
			      st_string_id domain, st_string_id name)
{
	struct st_event_tables *tables = &builder->tables;
	uint32_t known = tables->counters.count;
	uint32_t number = st_key_table_add(&tables->counters, process_id, domain, name);
	struct st_object object;

	if (number == ST_ID_NONE ||
	    !ST_VEC_ROOM(tables->counter_objects, number, tables->counter_capacity)) {
		builder->no_memory = true;
		return ST_NO_ROW;
	}
	if (number < known)
		return tables->counter_objects[number];
	memset(&object, 0, sizeof(object));
	object.process = st_model_process(builder->request->model, process_id);
	object.kind = ST_OBJECT_COUNTER;
	object.type = TYPE_U64;
	object.flags = COUNTER_HAS_DOMAIN;
	object.name = name;
	object.domain = domain;
	object.parent = ST_NO_ROW;
	tables->counter_objects[number] = add_object(builder, &object, ST_NO_ROW);
	return tables->counter_objects[number];
}

static uint8_t kind_for(uint32_t event_kind)
{
	switch (event_kind) {
	case ST_EVENT_HISTOGRAM:
		return ST_OBJECT_HISTOGRAM;
	case ST_EVENT_USER_START:
	case ST_EVENT_USER_END:
		return ST_OBJECT_USER_EVENT;
	case ST_EVENT_MARK:
	case ST_EVENT_MARK_OFF:
		return ST_OBJECT_MARK_TYPE;
	case ST_EVENT_FRAME_BEGIN:
	case ST_EVENT_FRAME_END:
		return ST_OBJECT_FRAME;
	case ST_EVENT_SET_TRACK:
		return ST_OBJECT_TRACK;
	case ST_EVENT_COUNTER_ADD:
	case ST_EVENT_COUNTER_SET:
	case ST_EVENT_COUNTER_DESTROY:
		return ST_OBJECT_COUNTER;
	default:
		return ST_OBJECT_HEAP_FUNCTION;
	}
}

static uint32_t stand_in(struct st_index_builder *builder, uint32_t process_id,
			 const struct st_event *event)
{
	struct st_object object;
	char name[64];
	uint32_t at;

	memset(&object, 0, sizeof(object));
	snprintf(name, sizeof(name), "[object %" PRIu32 " not recorded]", event->object);
	object.process = st_model_process(builder->request->model, process_id);
	object.kind = kind_for(event->kind);
	object.type = object.type_y = TYPE_U64;
	object.name = st_model_add_text(builder->request->model, name);
	object.parent = ST_NO_ROW;
	builder->meta->missing_names++;
	at = add_object(builder, &object, ST_NO_ROW);
	if (at != ST_NO_ROW &&
	    !st_id_map_put(&builder->tables.object_of, st_id_pair(process_id, event->object), at))
		builder->no_memory = true;
	return at;
}

uint32_t st_index_object_of(struct st_index_builder *builder, uint32_t process_id,
			    const struct st_event *event, st_string_id domain, st_string_id name)
{
	uint32_t at;

	if (event->kind == ST_EVENT_COUNTER_ADD && !(event->mask & ST_FIELD_OBJECT))
		return named_counter(builder, process_id, domain, name);
	if (!event->object)
		return ST_NO_ROW;
	at = find_object(builder, process_id, event->object, 0);
	return at == ST_NO_ROW && !builder->no_memory ? stand_in(builder, process_id, event) : at;
}

/* A clock domain that was reset has several definitions: the newest that was asked for before. */
const struct st_object_head *st_index_clock_of(struct st_index_builder *builder,
					       uint32_t process_id, uint32_t id, uint64_t ticks)
{
	const struct st_model *model = builder->request->model;
	uint32_t at = st_model_object(model, process_id, id);

	if (at == ST_ID_NONE || model->objects[at].head.kind != ST_OBJECT_CLOCK)
		return NULL;
	while (model->objects[at].older != ST_NO_ROW && model->objects[at].head.number[2] > ticks &&
	       model->objects[model->objects[at].older].head.kind == ST_OBJECT_CLOCK)
		at = model->objects[at].older;
	return &model->objects[at].head;
}

static int by_object(const void *a, const void *b)
{
	const struct st_object_fact *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

static bool add_fact(struct st_index_tables *out, uint32_t *capacity,
		     const struct st_object_fact *fact)
{
	return out->fact_count < ST_NO_ROW - 1 &&
	       ST_VEC_PUSH(out->facts, out->fact_count, *capacity, *fact);
}

/* What is known of an object is known of its heirs. */
static bool inherit_facts(struct st_index_builder *builder, uint32_t *capacity)
{
	struct st_index_tables *out = &builder->meta->tables;
	uint32_t own = out->fact_count;

	for (uint32_t i = builder->request->model->object_count; i < out->object_count; i++) {
		uint32_t source = builder->tables.object_sources[i], low;

		if (source == ST_NO_ROW)
			continue;
		low = ST_SEARCH(at, 0, own, out->facts[at].object < source);
		for (; low < own && out->facts[low].object == source; low++) {
			struct st_object_fact fact = out->facts[low];

			fact.object = i;
			if (!add_fact(out, capacity, &fact))
				return false;
		}
	}
	return true;
}

bool st_index_objects_finish(struct st_index_builder *builder)
{
	const struct st_model *model = builder->request->model;
	struct st_index_tables *out = &builder->meta->tables;
	uint32_t capacity = 0;

	for (uint32_t i = 0; i < model->fact_count && !builder->no_memory; i++) {
		const struct st_fact_definition *from = &model->facts[i];
		struct st_object_fact fact;

		memset(&fact, 0, sizeof(fact));
		fact.object = find_object(builder, from->process_id, from->object_id, 0);
		fact.type = from->type;
		fact.number = from->number;
		fact.text = from->text;
		if (fact.object != ST_NO_ROW && !add_fact(out, &capacity, &fact))
			return false;
	}
	if (builder->no_memory)
		return false;
	out->objects = builder->tables.objects;
	out->object_count = builder->tables.object_count;
	builder->tables.objects = NULL;
	if (out->fact_count)
		qsort(out->facts, out->fact_count, sizeof(*out->facts), by_object);
	if (!inherit_facts(builder, &capacity))
		return false;
	if (out->fact_count)
		qsort(out->facts, out->fact_count, sizeof(*out->facts), by_object);
	return true;
}
