// SPDX-License-Identifier: Apache-2.0
//
// JIT methods and modules in time (store/code.h). What is there at the moment lies sorted by address and never
// overlaps, because new code takes the place of old code. Inlined methods lie within their method and come
// and go with it; they may be told in any order, so they are looked at last.
#include "store/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "format/event_kind.h"
#include "store/model/clock_map.h"
#include "store/key_table.h"
#include "store/model/model.h"

enum jit_event {
	JIT_UNLOAD = 14,
	JIT_LOAD = 13,
	JIT_UPDATE = 15,
	JIT_INLINE_LOAD = 16,
	JIT_UPDATE_V2 = 17,
	JIT_LOAD_V2 = 21,
	JIT_LOAD_V3 = 22,
};

enum { UPDATE_DATA = 2, DEPTH_MAX = 64 };

struct live {
	struct st_code_table *table;
	const struct st_model *model;
	const struct st_clock_map *clock;
	uint32_t process; /* the one whose code is live */
	uint32_t *items;  /* by address */
	uint32_t count, capacity;
	struct st_id_map methods; /* (process, method) -> its last piece + 1; 0: none any more */
	struct st_id_map names;	  /* (process, method) -> the piece that named it */
};

static int64_t ns_of(const struct live *live, const struct st_code_event *event)
{
	uint32_t hint = 0;

	return st_clock_map_ns(live->clock, &hint, event->ticks);
}

/* First of the live pieces that ends behind the address. */
static uint32_t first_behind(const struct live *live, uint64_t address)
{
	return ST_SEARCH(i, 0, live->count,
			 live->table->items[live->items[i]].address +
					 live->table->items[live->items[i]].size_bytes <=
				 address);
}

static void remove_at(struct live *live, uint32_t at, uint32_t count, int64_t ns)
{
	for (uint32_t i = at; i < at + count; i++)
		live->table->items[live->items[i]].until_ns = ns;
	live->count -= count;
	if (live->count > at)
		memmove(&live->items[at], &live->items[at + count],
			(live->count - at) * sizeof(*live->items));
}

/* Ends whatever lies in a range; returns the place where new code of that range belongs. */
static uint32_t make_way(struct live *live, uint64_t address, uint64_t size_bytes, int64_t ns)
{
	uint32_t at = first_behind(live, address), end = at;

	while (end < live->count &&
	       live->table->items[live->items[end]].address < address + size_bytes)
		end++;
	if (end > at)
		remove_at(live, at, end - at, ns);
	return at;
}

static bool add_live(struct live *live, uint32_t item)
{
	const struct st_code *code = &live->table->items[item];
	uint32_t at = make_way(live, code->address, code->size_bytes, code->from_ns);

	if (!ST_VEC_ROOM(live->items, live->count, live->capacity))
		return false;
	if (live->count > at)
		memmove(&live->items[at + 1], &live->items[at],
			(live->count - at) * sizeof(*live->items));
	live->items[at] = item;
	live->count++;
	return true;
}

/* New code; a method that is told again without a name has the one it had. */
static uint32_t add_code(struct live *live, const struct st_code_event *event)
{
	struct st_code_table *table = live->table;
	uint64_t key = st_id_pair(live->process, (uint32_t)event->id[0]);
	uint32_t at = table->count, named;
	struct st_code *code;

	if (!ST_VEC_ROOM(table->items, at, table->capacity))
		return ST_NO_ROW;
	code = &table->items[at];
	*code = (struct st_code){
		.process = live->process,
		.kind = event->kind,
		.address = event->value,
		.size_bytes = event->extra,
		.from_ns = ns_of(live, event),
		.until_ns = live->model->processes[live->process].last_ns,
		.name = event->name,
		.class_name = event->class_name,
		.source = event->source,
		.module = event->module,
		.lines = live->model->lines ? live->model->lines + 2 * (size_t)event->first_line
					    : NULL,
		.line_count = event->line_count,
	};
	if (event->kind == ST_EVENT_JIT) {
		code->method = (uint32_t)event->id[0];
		if (event->detail == JIT_INLINE_LOAD)
			code->parent_method = (uint32_t)event->id[1];
		named = st_id_map_get(&live->names, key);
		if (named != ST_ID_NONE && !code->name) {
			code->name = table->items[named].name;
			code->class_name = table->items[named].class_name;
			code->source = table->items[named].source;
			code->module = table->items[named].module;
		} else if (named == ST_ID_NONE && !st_id_map_put(&live->names, key, at)) {
			return ST_NO_ROW;
		}
	}
	if (code->size_bytes > UINT64_MAX - code->address)
		code->size_bytes = UINT64_MAX - code->address;
	if (code->until_ns < code->from_ns)
		code->until_ns = code->from_ns;
	table->count++;
	return at;
}

/* Ends the pieces of a method, or of a module by its start. */
static void unload(struct live *live, uint32_t kind, uint64_t id, int64_t ns)
{
	for (uint32_t i = live->count; i > 0; i--) {
		const struct st_code *code = &live->table->items[live->items[i - 1]];

		if (code->kind == kind &&
		    (kind == ST_EVENT_JIT ? code->method == id : code->address == id))
			remove_at(live, i - 1, 1, ns);
	}
}

static void unload_module(struct live *live, st_string_id name, int64_t ns)
{
	for (uint32_t i = live->count; i > 0; i--) {
		const struct st_code *code = &live->table->items[live->items[i - 1]];

		if (code->kind == ST_EVENT_MODULE_LOAD_SECTIONS && code->name == name)
			remove_at(live, i - 1, 1, ns);
	}
}

static bool add_if_real(struct live *live, const struct st_code_event *event)
{
	uint32_t at;

	if (!event->value || !event->extra)
		return true;
	at = add_code(live, event);
	if (at == ST_NO_ROW)
		return false;
	if (event->kind == ST_EVENT_JIT && event->detail == JIT_INLINE_LOAD)
		return true;
	return add_live(live, at) &&
	       (event->kind != ST_EVENT_JIT ||
		st_id_map_put(&live->methods, st_id_pair(live->process, (uint32_t)event->id[0]),
			      at));
}

static bool take_jit(struct live *live, const struct st_code_event *event)
{
	switch (event->detail) {
	case JIT_UNLOAD:
		unload(live, ST_EVENT_JIT, (uint32_t)event->id[0], ns_of(live, event));
		return true;
	case JIT_UPDATE:
		unload(live, ST_EVENT_JIT, (uint32_t)event->id[0], ns_of(live, event));
		return add_if_real(live, event);
	case JIT_UPDATE_V2:
		if (event->id[2] == UPDATE_DATA)
			make_way(live, event->value, event->extra, ns_of(live, event));
		return true;
	case JIT_LOAD:
	case JIT_INLINE_LOAD:
	case JIT_LOAD_V2:
	case JIT_LOAD_V3:
		return add_if_real(live, event);
	default:
		return true;
	}
}

static bool take(struct live *live, const struct st_code_event *event)
{
	struct st_code_event module = *event;

	switch (event->kind) {
	case ST_EVENT_JIT:
		return take_jit(live, event);
	case ST_EVENT_MODULE_LOAD:
		module.extra = event->extra > event->value ? event->extra - event->value : 0;
		return add_if_real(live, &module);
	case ST_EVENT_MODULE_UNLOAD:
		unload(live, ST_EVENT_MODULE_LOAD, event->value, ns_of(live, event));
		return true;
	case ST_EVENT_MODULE_LOAD_SECTIONS:
		/* One whose place nobody told is still worth its name. */
		return event->value ? add_if_real(live, event) : add_code(live, event) != ST_NO_ROW;
	case ST_EVENT_MODULE_UNLOAD_SECTIONS:
		unload_module(live, event->name, ns_of(live, event));
		return true;
	default:
		return true;
	}
}

/* An inlined method is there as long as the method that it is part of. */
static void end_inlined(struct live *live)
{
	for (uint32_t i = 0; i < live->table->count; i++) {
		struct st_code *code = &live->table->items[i];
		uint32_t parent = i;

		if (code->kind != ST_EVENT_JIT || !code->parent_method)
			continue;
		for (unsigned int depth = 0; depth < DEPTH_MAX; depth++) {
			uint32_t method = live->table->items[parent].parent_method;
			uint64_t key = st_id_pair(code->process, method);
			uint32_t found = st_id_map_get(&live->methods, key);

			if (found == ST_ID_NONE)
				found = st_id_map_get(&live->names, key);
			if (!method || found == ST_ID_NONE || found == parent)
				break;
			parent = found;
		}
		if (parent == i)
			continue;
		code->until_ns = live->table->items[parent].until_ns;
		if (code->until_ns < code->from_ns)
			code->until_ns = code->from_ns;
	}
}

static int by_process(const void *a, const void *b)
{
	const struct st_code_event *const *x = a, *const *y = b;

	if ((*x)->process_id != (*y)->process_id)
		return (*x)->process_id < (*y)->process_id ? -1 : 1;
	return (*x > *y) - (*x < *y); /* as they were told */
}

static bool build_code(struct st_code_table *table, const struct st_model *model,
		       const struct st_clock_map *clock)
{
	struct live live = {.table = table, .model = model, .clock = clock};
	const struct st_code_event **events;
	uint32_t process_id = 0;
	bool ok = true;

	events = calloc((size_t)model->code_event_count + 1, sizeof(struct st_code_event *));
	if (!events)
		return false;
	for (uint32_t i = 0; i < model->code_event_count; i++)
		events[i] = &model->code_events[i];
	qsort(events, model->code_event_count, sizeof(struct st_code_event *), by_process);
	for (uint32_t i = 0; i < model->code_event_count && ok; i++) {
		if (!i || events[i]->process_id != process_id) {
			process_id = events[i]->process_id;
			live.process = st_id_map_get(&model->process_index, process_id);
			live.count = 0;
		}
		ok = take(&live, events[i]);
	}
	if (ok)
		end_inlined(&live);
	free(events);
	free(live.items);
	st_id_map_fini(&live.methods);
	st_id_map_fini(&live.names);
	return ok;
}

static bool build_maps(struct st_code_table *table, const struct st_model *model,
		       const struct st_clock_map *clock)
{
	uint32_t hint = 0;

	table->maps = calloc((size_t)model->map_count + 1, sizeof(*table->maps));
	if (!table->maps)
		return false;
	table->map_count = model->map_count;
	for (uint32_t i = 0; i < model->map_count; i++) {
		const struct st_map_definition *map = &model->maps[i];

		table->maps[i] = (struct st_code_map){
			.process = st_id_map_get(&model->process_index, map->process_id),
			.start = map->start,
			.end = map->end,
			.file_offset = map->file_offset,
			.from_ns = st_clock_map_ns(clock, &hint, map->ticks),
			.path = map->path,
			.build_id = map->build_id,
		};
	}
	return true;
}

bool st_code_table_build(struct st_code_table *table, const struct st_model *model,
			 const struct st_clock_map *clock)
{
	memset(table, 0, sizeof(*table));
	return (!model->code_event_count || build_code(table, model, clock)) &&
	       build_maps(table, model, clock);
}

void st_code_table_fini(struct st_code_table *table)
{
	if (!table)
		return;
	free(table->items);
	free(table->maps);
	memset(table, 0, sizeof(*table));
}
