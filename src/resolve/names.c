// SPDX-License-Identifier: Apache-2.0
//
// The growing tables of resolve/names.h.
#include "resolve/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { NOTES_MAX = 64, NOTE_BYTES = 1024 };

struct st_names *st_names_create(uint32_t node_count)
{
	struct st_names *names = calloc(1, sizeof(*names));
	const struct st_text none = {"", 0};
	const struct st_named_function function = {.name = none, .full = none, .mangled = none};

	if (!names)
		return NULL;
	names->node_count = node_count;
	names->frame_of_node = calloc((size_t)node_count + 1, sizeof(*names->frame_of_node));
	if (!names->frame_of_node || !st_text_table_init(&names->texts)) {
		st_names_destroy(names);
		return NULL;
	}
	st_names_module(names, none, none);
	st_names_function(names, &function);
	st_names_source(names, "", 0);
	st_names_frame(names, &(struct st_named_frame){0});
	if (names->failed) {
		st_names_destroy(names);
		return NULL;
	}
	return names;
}

void st_names_destroy(struct st_names *names)
{
	if (!names)
		return;
	st_text_table_fini(&names->texts);
	st_id_map_fini(&names->source_of_text);
	st_id_map_fini(&names->module_of_path);
	free(names->modules);
	free(names->functions);
	free(names->sources);
	free(names->frames);
	free(names->frame_of_node);
	free(names->notes);
	free(names);
}

struct st_text st_names_keep(struct st_names *names, const void *bytes, size_t size_bytes)
{
	st_string_id id;

	if (!st_text_table_add(&names->texts, bytes, size_bytes, &id))
		names->failed = true;
	return st_text_table_get(&names->texts, id);
}

uint32_t st_names_source(struct st_names *names, const char *path, size_t size_bytes)
{
	st_string_id id;
	uint32_t found;

	if (!st_text_table_add(&names->texts, path, size_bytes, &id)) {
		names->failed = true;
		return 0;
	}
	found = st_id_map_get(&names->source_of_text, id);
	if (found != ST_ID_NONE)
		return found;
	if (!ST_VEC_ROOM(names->sources, names->source_count, names->source_capacity) ||
	    !st_id_map_put(&names->source_of_text, id, names->source_count)) {
		names->failed = true;
		return 0;
	}
	names->sources[names->source_count] = st_text_table_get(&names->texts, id);
	return names->source_count++;
}

static struct st_text last_part(struct st_text path)
{
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);

	if (!slash || path.size_bytes == 1 || slash + 1 == path.bytes + path.size_bytes)
		return path;
	return (struct st_text){slash + 1, (size_t)(path.bytes + path.size_bytes - slash - 1)};
}

uint32_t st_names_module(struct st_names *names, struct st_text path, struct st_text build_id)
{
	struct st_named_module module;
	st_string_id path_id, id;
	uint32_t found;

	if (!st_text_table_add(&names->texts, path.bytes, path.size_bytes, &path_id) ||
	    !st_text_table_add(&names->texts, build_id.bytes, build_id.size_bytes, &id)) {
		names->failed = true;
		return 0;
	}
	found = st_id_map_get(&names->module_of_path, st_id_pair(path_id, id));
	if (found != ST_ID_NONE)
		return found;
	module.path = st_text_table_get(&names->texts, path_id);
	module.build_id = st_text_table_get(&names->texts, id);
	module.name = last_part(module.path);
	module.name = st_names_keep(names, module.name.bytes, module.name.size_bytes);
	if (!ST_VEC_ROOM(names->modules, names->module_count, names->module_capacity) ||
	    !st_id_map_put(&names->module_of_path, st_id_pair(path_id, id), names->module_count)) {
		names->failed = true;
		return 0;
	}
	names->modules[names->module_count] = module;
	return names->module_count++;
}

uint32_t st_names_function(struct st_names *names, const struct st_named_function *function)
{
	if (!ST_VEC_ROOM(names->functions, names->function_count, names->function_capacity)) {
		names->failed = true;
		return 0;
	}
	names->functions[names->function_count] = *function;
	return names->function_count++;
}

uint32_t st_names_frame(struct st_names *names, const struct st_named_frame *frame)
{
	if (!ST_VEC_ROOM(names->frames, names->frame_count, names->frame_capacity)) {
		names->failed = true;
		return 0;
	}
	names->frames[names->frame_count] = *frame;
	return names->frame_count++;
}

void st_names_note(struct st_names *names, const char *format, ...)
{
	char text[NOTE_BYTES];
	va_list args;

	if (names->note_count >= NOTES_MAX)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!ST_VEC_PUSH(names->notes, names->note_count, names->note_capacity,
			 st_names_keep(names, text, strlen(text)).bytes))
		names->failed = true;
}

void st_names_finish(struct st_names *names)
{
	struct st_named *named = &names->named;

	named->modules = names->modules;
	named->functions = names->functions;
	named->sources = names->sources;
	named->frames = names->frames;
	named->frame_of_node = names->frame_of_node;
	named->module_count = names->module_count;
	named->function_count = names->function_count;
	named->source_count = names->source_count;
	named->frame_count = names->frame_count;
	named->node_count = names->node_count;
	named->notes = names->notes;
	named->note_count = names->note_count;
	named->unknown_frames = named->no_symbol_frames = 0;
	for (uint32_t i = 1; i < names->frame_count; i++) {
		const struct st_named_function *function =
			&names->functions[names->frames[i].function];

		named->unknown_frames += function->kind == ST_FUNCTION_UNKNOWN;
		named->no_symbol_frames += (function->flags & ST_FUNCTION_NO_SYMBOL) != 0;
	}
}
