// SPDX-License-Identifier: Apache-2.0
//
// Keys of frames: functions, modules, files, lines, addresses and classes, and how they are shown. Two
// functions of one name, module and source file are one key: results are compared by name, not by address.
#include "analyze/datasets/dataset_parts.h"
#include "analyze/samples/sample_set.h"
#include "analyze/samples/sample_waits.h"

#include <stdlib.h>
#include <string.h>

static const struct st_text unknown = {"[Unknown]", 9}, no_stack = {"[No stack]", 10},
			    no_python = {"[No Python frame]", 17}, no_class = {"[No class]", 10},
			    outside = {"[Outside any task]", 18},
			    no_operator = {"[no operator]", 13}, no_step = {"[no step]", 9},
			    no_wait = {"[not waiting]", 13}, no_module = {"[no module]", 11};

static struct st_text last_part(struct st_text path)
{
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);

	if (!slash)
		return path;
	slash++;
	return (struct st_text){slash, path.size_bytes - (size_t)(slash - path.bytes)};
}

/* "ns::Class" of "ns::Class<T>::f", "Class" of Python's "Class.f". */
static struct st_text class_of(const struct st_named_function *function)
{
	struct st_text name = function->name;
	bool python = function->kind == ST_FUNCTION_PYTHON;
	size_t depth = 0;

	for (size_t i = name.size_bytes; i-- > 1;) {
		char c = name.bytes[i];

		depth += c == '>' || c == ')';
		if ((c == '<' || c == '(') && depth)
			depth--;
		if (depth)
			continue;
		if (python && c == '.')
			return (struct st_text){name.bytes, i};
		if (!python && c == ':' && name.bytes[i - 1] == ':')
			return (struct st_text){name.bytes, i - 1};
	}
	return no_class;
}

static struct st_text function_text(const struct st_sample_set *set, enum st_grouping grouping,
				    uint32_t index)
{
	const struct st_named *named = set->named;
	const struct st_named_function *function = &named->functions[index];
	const struct st_named_module *module = &named->modules[function->module];
	struct st_text text;

	switch (grouping) {
	case ST_BY_FUNCTION_MANGLED:
		text = function->mangled.size_bytes ? function->mangled : function->name;
		break;
	case ST_BY_MODULE:
		text = module->name;
		break;
	case ST_BY_MODULE_PATH:
		text = module->path.size_bytes ? module->path : module->name;
		break;
	case ST_BY_CLASS:
		text = class_of(function);
		break;
	case ST_BY_SOURCE_FILE:
		text = last_part(named->sources[function->source]);
		break;
	case ST_BY_SOURCE_FILE_PATH:
		text = named->sources[function->source];
		break;
	default:
		text = function->name;
		break;
	}
	return text.size_bytes ? text : unknown;
}

/* What makes two functions one: name, module, file, and of Python functions the line. */
static struct st_text identity_of(struct st_sample_set *set, uint32_t index)
{
	const struct st_named_function *function = &set->named->functions[index];
	struct st_text name = function_text(set, ST_BY_FUNCTION, index);
	struct st_text module = set->named->modules[function->module].name;
	struct st_text source = set->named->sources[function->source];
	char *text = st_arena_printf(&set->arena, "%.*s\n%.*s\n%.*s\n%u", (int)name.size_bytes,
				     name.bytes, (int)module.size_bytes, module.bytes,
				     (int)source.size_bytes, source.bytes,
				     function->kind == ST_FUNCTION_PYTHON ? function->line : 0);

	return (struct st_text){text ? text : "", text ? strlen(text) : 0};
}

/* Keys of groupings that depend on the function alone, spread over frames. */
static bool keys_of_functions(struct st_sample_set *set, enum st_grouping grouping)
{
	struct st_frame_keys *keys = &set->keys[grouping];
	const struct st_named *named = set->named;
	bool by_identity = grouping == ST_BY_FUNCTION || grouping == ST_BY_PYTHON_FUNCTION;
	uint32_t *of_function = calloc((size_t)named->function_count + 1, sizeof(*of_function));
	struct st_key_texts texts;

	st_key_texts_init(&texts);
	keys->texts = st_arena_calloc(&set->arena, (size_t)named->function_count + 2,
				      sizeof(*keys->texts));
	keys->function = st_arena_calloc(&set->arena, (size_t)named->function_count + 2,
					 sizeof(*keys->function));
	for (uint32_t i = 0; i < named->function_count && of_function && keys->function; i++) {
		struct st_text shown = i ? function_text(set, grouping, i) : no_stack;
		uint32_t known = texts.count;
		uint32_t key =
			st_key_texts_add(&texts, by_identity && i ? identity_of(set, i) : shown);

		of_function[i] = key;
		if (texts.count > known) {
			keys->texts[key] = shown;
			keys->function[key] = i;
		}
	}
	keys->count = texts.count;
	for (uint32_t i = 0; i < named->frame_count && of_function; i++) {
		uint32_t frame = grouping == ST_BY_PYTHON_FUNCTION ? set->python_of[i] : i;

		keys->of_frame[i] = of_function[named->frames[frame].function];
	}
	if (grouping == ST_BY_PYTHON_FUNCTION && keys->texts)
		keys->texts[0] = no_python;
	free(of_function);
	st_key_texts_fini(&texts);
	return !texts.failed && of_function && keys->function && !set->arena.failed;
}

static uint32_t source_of(const struct st_sample_set *set, uint32_t frame)
{
	const struct st_named_frame *f = &set->named->frames[frame];

	return f->source ? f->source : set->named->functions[f->function].source;
}

static struct st_text pair_text(struct st_sample_set *set, enum st_grouping grouping,
				const struct st_pair *pair)
{
	const struct st_named *named = set->named;
	struct st_text path;
	char *text;

	if (grouping == ST_BY_ADDRESS) {
		path = named->modules[pair->a].name;
		text = st_arena_printf(&set->arena, "%.*s!0x%llx", (int)path.size_bytes, path.bytes,
				       (unsigned long long)pair->b);
		return (struct st_text){text ? text : "", text ? strlen(text) : 0};
	}
	path = named->sources[pair->a];
	if (!pair->a)
		return unknown;
	if (grouping == ST_BY_SOURCE_FILE || grouping == ST_BY_SOURCE_LINE)
		path = last_part(path);
	if (grouping == ST_BY_SOURCE_FILE || grouping == ST_BY_SOURCE_FILE_PATH)
		return path;
	text = st_arena_printf(&set->arena, "%.*s:%llu", (int)path.size_bytes, path.bytes,
			       (unsigned long long)pair->b);
	return (struct st_text){text ? text : "", text ? strlen(text) : 0};
}

static struct st_pair pair_of(const struct st_sample_set *set, enum st_grouping grouping,
			      uint32_t frame)
{
	const struct st_named_frame *f = &set->named->frames[frame];

	if (grouping == ST_BY_ADDRESS)
		return (struct st_pair){set->named->functions[f->function].module, f->address};
	if (grouping == ST_BY_SOURCE_FILE || grouping == ST_BY_SOURCE_FILE_PATH)
		return (struct st_pair){source_of(set, frame), 0};
	return (struct st_pair){source_of(set, frame), source_of(set, frame) ? f->line : 0};
}

/* Keys of groupings that depend on where in its function a frame is. */
static bool keys_of_places(struct st_sample_set *set, enum st_grouping grouping)
{
	struct st_frame_keys *keys = &set->keys[grouping];
	const struct st_named *named = set->named;
	uint32_t *functions = calloc((size_t)named->frame_count + 1, sizeof(*functions));
	struct st_pair_map map;
	bool done;

	st_pair_map_init(&map);
	for (uint32_t i = 0; i < named->frame_count && functions; i++) {
		uint32_t frame = st_grouping_is_python(grouping) ? set->python_of[i] : i;
		struct st_pair pair = pair_of(set, grouping, frame);
		uint32_t known = map.count, key = st_pair_map_add(&map, pair.a, pair.b);

		keys->of_frame[i] = key;
		if (map.count > known)
			functions[key] = named->frames[frame].function;
	}
	keys->count = map.count;
	keys->texts = st_arena_calloc(&set->arena, (size_t)map.count + 1, sizeof(*keys->texts));
	keys->function =
		st_arena_calloc(&set->arena, (size_t)map.count + 1, sizeof(*keys->function));
	for (uint32_t i = 0; i < map.count && keys->function && functions; i++) {
		keys->texts[i] = pair_text(set, grouping, &map.pairs[i]);
		keys->function[i] = functions[i];
	}
	/* Frame 0 came first. */
	if (map.count && keys->texts && grouping == ST_BY_PYTHON_LINE)
		keys->texts[0] = no_python;
	done = !map.failed && functions && keys->function && !set->arena.failed;
	st_pair_map_fini(&map);
	free(functions);
	return done;
}

bool st_frame_keys_make(struct st_sample_set *set, enum st_grouping grouping)
{
	struct st_frame_keys *keys = &set->keys[grouping];

	if (keys->of_frame)
		return true;
	keys->of_frame = st_arena_calloc(&set->arena, (size_t)set->named->frame_count + 1,
					 sizeof(*keys->of_frame));
	if (!keys->of_frame)
		return false;
	switch (grouping) {
	case ST_BY_SOURCE_FILE:
	case ST_BY_SOURCE_FILE_PATH:
	case ST_BY_SOURCE_LINE:
	case ST_BY_ADDRESS:
	case ST_BY_PYTHON_LINE:
		return keys_of_places(set, grouping);
	default:
		return keys_of_functions(set, grouping);
	}
}

struct st_text st_sample_text(const struct st_sample_set *set, enum st_grouping grouping,
			      uint32_t key, struct st_arena *arena)
{
	const char *title;

	if (grouping == ST_BY_CALLSTACK || grouping == ST_BY_FUNCTION_STACK)
		grouping = ST_BY_FUNCTION;
	if (grouping == ST_BY_CPU_CLASS) {
		title = st_cpu_class_title((enum st_cpu_class)key);
		return (struct st_text){title, strlen(title)};
	}
	if (grouping == ST_BY_PROCESS)
		return st_place_process(set->result, key, arena);
	if (grouping == ST_BY_THREAD)
		return st_place_thread(set->result, key, arena);
	if (st_set_has(st_wait_groupings(), grouping))
		return key ? st_text_copy(arena,
					  set->waits.text(&set->waits, grouping, key - 1, arena))
			   : no_wait;
	if (!key && grouping == ST_BY_OPERATOR)
		return no_operator;
	if (!key && grouping == ST_BY_STEP)
		return no_step;
	if (!key && grouping == ST_BY_NN_MODULE)
		return no_module;
	if (st_grouping_is_task(grouping))
		return key ? st_text_copy(arena,
					  set->slices.text(&set->slices, grouping, key - 1, arena))
			   : outside;
	return st_text_copy(arena, set->keys[grouping].texts[key]);
}

static struct st_text path_alias(struct st_text path, unsigned int index)
{
	return index ? last_part(path) : path;
}

/* Of frames: other names of a function; a path, and its last part. */
static struct st_text frame_alias(const struct st_sample_set *set, enum st_grouping grouping,
				  uint32_t key, unsigned int index)
{
	const struct st_frame_keys *keys = &set->keys[grouping];
	const struct st_named_function *function = &set->named->functions[keys->function[key]];
	const struct st_text names[] = {function->name, function->full, function->mangled};

	switch (grouping) {
	case ST_BY_FUNCTION:
	case ST_BY_FUNCTION_MANGLED:
		return names[index];
	case ST_BY_MODULE:
	case ST_BY_MODULE_PATH:
		return path_alias(set->named->modules[function->module].path, index);
	case ST_BY_SOURCE_FILE:
	case ST_BY_SOURCE_FILE_PATH:
		return path_alias(set->named->sources[function->source], index);
	default:
		return (struct st_text){"", 0};
	}
}

bool st_sample_alias(const struct st_dataset *dataset, enum st_grouping grouping, uint32_t key,
		     unsigned int index, struct st_text *out, struct st_arena *arena)
{
	const struct st_sample_set *set = dataset->private_data;
	bool is_function = grouping == ST_BY_FUNCTION || grouping == ST_BY_FUNCTION_MANGLED;

	if (!st_grouping_is_frame(grouping))
		return st_place_alias(set->result, grouping, key, index, out, arena);
	if (index >= (is_function ? 3u : 2u))
		return false;
	*out = frame_alias(set, grouping, key, index);
	return true;
}
