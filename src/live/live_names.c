// SPDX-License-Identifier: Apache-2.0
//
// Uses what names the stacks of results (resolve/binary.h), module by module. Opening the symbols of a large library takes a
// good part of a second: an address inside a function that is known already is named without it.
#include "live/live_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "collect/host/outside_maps.h"
#include "collect/launch/drain/drain.h"
#include "format/sample_record.h"
#include "resolve/binary.h"
#include "resolve/kernel.h"
#include "store/python_lines.h"

struct map {
	uint64_t start, end, file_offset;
	uint32_t module;
	uint64_t shift; /* from a place in the file to the address that functions have */
	bool has_shift;
};

struct code {
	struct st_text name, file;
	uint32_t first_line, flags, key;
	uint8_t *table;
	uint32_t table_bytes;
};

struct st_live_names {
	pid_t pid;
	bool lines;
	struct st_names *names;
	struct st_sites sites;
	uint32_t kernel;  /* module */
	struct map *maps; /* by start, disjoint */
	uint32_t map_count, map_capacity;
	struct code *codes; /* by id - 1 */
	uint32_t code_count, code_capacity;
	uint32_t python_version, python_module;
	struct st_id_map functions; /* (name, file) of a Python function -> key */
};

enum { PYTHON_KEYS = 1u << 30 }; /* keys of Python functions are above those of native ones */

struct st_live_names *st_live_names_create(pid_t pid, bool lines)
{
	static const struct st_text kernel = {"[kernel]", 8}, none = {"", 0};
	struct st_live_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->pid = pid;
	names->lines = lines;
	names->names = st_names_create(0);
	if (!names->names || !st_sites_init(&names->sites)) {
		st_live_names_destroy(names);
		return NULL;
	}
	names->kernel = st_names_module(names->names, kernel, none);
	return names;
}

void st_live_names_destroy(struct st_live_names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; i < names->code_count; i++)
		free(names->codes[i].table);
	free(names->codes);
	free(names->maps);
	st_id_map_fini(&names->functions);
	st_sites_fini(&names->sites);
	st_names_destroy(names->names);
	free(names);
}

/* As we can open it: a program in a container has other files than ours. */
static void own_path(pid_t pid, const char *path, char *out, size_t out_bytes)
{
	struct stat here, there;

	st_outside_path(pid, path, out, out_bytes);
	if (stat(path, &here) == 0 && stat(out, &there) == 0 && here.st_ino == there.st_ino &&
	    here.st_dev == there.st_dev)
		snprintf(out, out_bytes, "%s", path);
}

void st_live_names_map(struct st_live_names *names, const struct st_outside_map *map)
{
	uint32_t at = ST_SEARCH(i, 0, names->map_count, names->maps[i].end <= map->start);
	struct map added = {.start = map->start, .end = map->end, .file_offset = map->file_offset};
	char path[ST_OUTSIDE_PATH_BYTES];
	uint32_t over = 0;

	while (at + over < names->map_count && names->maps[at + over].start < map->end)
		over++;
	if (!over && !ST_VEC_ROOM(names->maps, names->map_count, names->map_capacity))
		return;
	snprintf(path, sizeof(path), "%s", map->path);
	if (path[0] == '/')
		own_path(names->pid, map->path, path, sizeof(path));
	added.module =
		st_names_module(names->names, (struct st_text){path, (uint32_t)strlen(path)},
				(struct st_text){(const char *)map->build_id, map->build_id_bytes});
	memmove(&names->maps[at + 1], &names->maps[at + over],
		(names->map_count - at - over) * sizeof(added));
	names->maps[at] = added;
	names->map_count = names->map_count + 1 - over;
}

static struct map *map_at(const struct st_live_names *names, uint64_t address)
{
	uint32_t at = ST_SEARCH(i, 0, names->map_count, names->maps[i].end <= address);

	return at < names->map_count && names->maps[at].start <= address ? &names->maps[at] : NULL;
}

void st_live_names_python(struct st_live_names *names, uint32_t version, uint64_t address)
{
	const struct map *map = map_at(names, address);

	names->python_version = version;
	names->python_module = map ? map->module : 0;
}

static uint32_t key_of(struct st_live_names *names, const struct st_outside_code *code)
{
	uint64_t hash = st_hash_bytes(code->name, code->name_bytes) * 31 +
			st_hash_bytes(code->file, code->file_bytes);
	uint32_t known = st_id_map_get(&names->functions, hash);

	if (known != ST_ID_NONE)
		return known;
	(void)st_id_map_put(&names->functions, hash, PYTHON_KEYS + code->id);
	return PYTHON_KEYS + code->id;
}

void st_live_names_code(struct st_live_names *names, const struct st_outside_code *code)
{
	struct code *added;

	if (code->id != names->code_count + 1 ||
	    !ST_VEC_ROOM(names->codes, names->code_count, names->code_capacity))
		return;
	added = &names->codes[names->code_count++];
	*added = (struct code){.name = st_names_keep(names->names, code->name, code->name_bytes),
			       .file = st_names_keep(names->names, code->file, code->file_bytes),
			       .first_line = code->first_line,
			       .flags = code->flags,
			       .key = key_of(names, code),
			       .table = malloc((size_t)code->table_bytes + 1)};
	if (added->table) {
		memcpy(added->table, code->table, code->table_bytes);
		added->table_bytes = code->table_bytes;
	}
}

/* A function that is known already and has the site in it. */
static bool find_known(struct st_live_names *names, const struct map *map, struct st_site *site)
{
	uint64_t address = site->offset + map->shift;

	for (uint32_t i = 1; map->has_shift && i < names->names->function_count; i++) {
		const struct st_named_function *function = &names->names->functions[i];

		if (function->module == map->module && function->start <= address &&
		    address < function->end) {
			site->function = i;
			site->address = address;
			return true;
		}
	}
	return false;
}

static uint32_t site_of(struct st_live_names *names, const struct st_merged_frame *frame)
{
	uint32_t kind = frame->kind & ST_FRAME_KIND_MASK, site;
	uint64_t address = frame->value - (kind == ST_FRAME_CALL);
	struct map *map;
	bool is_new;

	if (kind == ST_FRAME_PYTHON)
		return 0;
	if (kind == ST_FRAME_KERNEL)
		return st_sites_get(&names->sites, names->kernel, address, &is_new);
	map = map_at(names, address);
	if (!map)
		return 0;
	site = st_sites_get(&names->sites, map->module, address - map->start + map->file_offset,
			    &is_new);
	if (is_new && !names->lines)
		find_known(names, map, &names->sites.items[site]);
	return site;
}

void st_live_names_want(struct st_live_names *names, const struct st_merged_frame *frames,
			uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		(void)site_of(names, &frames[i]);
}

static int by_module(const void *a, const void *b, void *arg)
{
	const struct st_sites *sites = arg;
	uint32_t x = sites->items[*(const uint32_t *)a].module;
	uint32_t y = sites->items[*(const uint32_t *)b].module;

	return x < y ? -1 : x > y;
}

static void learn_shifts(struct st_live_names *names)
{
	for (uint32_t i = 1; i < names->sites.count; i++) {
		const struct st_site *site = &names->sites.items[i];

		for (uint32_t k = 0; site->function && k < names->map_count; k++) {
			struct map *map = &names->maps[k];

			if (!map->has_shift && map->module == site->module &&
			    site->offset >= map->file_offset &&
			    site->offset - map->file_offset < map->end - map->start) {
				map->shift = site->address - site->offset;
				map->has_shift = true;
			}
		}
	}
}

void st_live_names_find(struct st_live_names *names)
{
	struct st_named_options options = {.inlines = false};
	struct st_binary_work work = {.names = names->names,
				      .sites = &names->sites,
				      .options = &options,
				      .is_here = true};
	uint32_t *list = calloc((size_t)names->sites.count + 1, sizeof(*list)), count = 0,
		 first = 0;

	if (!list)
		return;
	for (uint32_t i = 1; i < names->sites.count; i++)
		if (!names->sites.items[i].function)
			list[count++] = i;
	qsort_r(list, count, sizeof(*list), by_module, &names->sites);
	for (uint32_t i = 1; i <= count; i++) {
		uint32_t module = names->sites.items[list[first]].module;

		if (i < count && names->sites.items[list[i]].module == module)
			continue;
		if (module == names->kernel)
			st_kernel_resolve(names->names, &names->sites, list + first, i - first,
					  true);
		else
			st_binary_resolve(&work, module, list + first, i - first);
		first = i;
	}
	free(list);
	if (count)
		learn_shifts(names);
}

static void python_frame(const struct st_live_names *names, uint64_t value,
			 struct st_live_frame *out)
{
	uint32_t id = (uint32_t)value;
	const struct code *code;
	struct st_python_line_table table;

	out->python = true;
	if (!id || id > names->code_count) {
		out->function = (struct st_text){"[unknown Python function]", 25};
		return;
	}
	code = &names->codes[id - 1];
	table = (struct st_python_line_table){.version = names->python_version,
					      .flags = code->flags,
					      .first_line = code->first_line,
					      .bytes = code->table,
					      .size_bytes = code->table_bytes};
	out->function = code->name;
	out->source = code->file;
	out->key = code->key;
	out->line = st_python_line_of(&table, (uint32_t)(value >> 32) & 0xffffff);
}

void st_live_names_frame(struct st_live_names *names, const struct st_merged_frame *frame,
			 struct st_live_frame *out)
{
	uint32_t kind = frame->kind & ST_FRAME_KIND_MASK, at;
	const struct st_site *site;

	*out = (struct st_live_frame){.kernel = kind == ST_FRAME_KERNEL};
	if (kind == ST_FRAME_PYTHON) {
		python_frame(names, frame->value, out);
		return;
	}
	at = site_of(names, frame);
	site = &names->sites.items[at];
	if (!at || !site->function) {
		out->function = (struct st_text){"[code without a file]", 21};
		return;
	}
	out->function = names->names->functions[site->function].name;
	out->key = site->function;
	out->module = names->names->modules[site->module].name;
	out->path = names->names->modules[site->module].path;
	out->interpreter = site->module == names->python_module && names->python_module;
	if (names->lines) {
		out->source = names->names->sources[site->source];
		out->line = site->line;
	}
}

const char *st_live_names_pool(struct st_live_names *names, const struct st_merged_frame *frames,
			       uint32_t count)
{
	const char *name = NULL;
	bool further = true;

	for (uint32_t i = 0; further && i < count; i++) {
		char path[ST_OUTSIDE_PATH_BYTES];
		struct st_live_frame frame;

		st_live_names_frame(names, &frames[i], &frame);
		if (frame.python || !frame.path.size_bytes)
			return NULL;
		snprintf(path, sizeof(path), "%.*s", (int)frame.path.size_bytes, frame.path.bytes);
		name = st_thread_pool(path, &further);
	}
	return name;
}
