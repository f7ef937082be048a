// SPDX-License-Identifier: Apache-2.0
//
// Unwinds copied stacks (collect/import/perf_stack.h). A table is only used when the file is the one that was
// recorded: with another build id nothing is better than something wrong.
#include "collect/import/perf_stack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "unwind/cache.h"
#include "unwind/elf_view.h"
#include "unwind/rt/walk.h"

enum { REGISTER_BX = 1, REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_IP = 8 };

struct loaded { /* a mapping of a file, and its table if there is one */
	uint64_t bias;
	const struct st_unwind_table *table;
	char *path;
	int fd; /* for the code; -1: not open */
};

struct st_perf_unwinder {
	struct st_unwind_folder *folder;
	struct loaded *loaded;
	uint32_t loaded_count, loaded_capacity;
	struct st_key_table index; /* (path and build id, start, offset) -> loaded */
	struct st_unwind_module *modules;
	uint32_t module_count, module_capacity;
	struct st_unwind_cache *cache;
	uint32_t generation; /* of modules */
	/* What modules was made for. */
	uint32_t process, map_generation;
	bool is_made;
	struct st_import_process *of;
};

enum st_status st_perf_unwinder_create(struct st_perf_unwinder **out, const char *cache,
				       struct st_error *err)
{
	struct st_perf_unwinder *unwinder = calloc(1, sizeof(*unwinder));
	enum st_status status;

	*out = NULL;
	if (unwinder)
		unwinder->cache = calloc(1, st_unwind_cache_bytes());
	if (!unwinder || !unwinder->cache) {
		free(unwinder);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for the unwinder");
	}
	status = st_unwind_cache_open(&unwinder->folder, cache, err);
	if (status) {
		st_perf_unwinder_destroy(unwinder);
		return status;
	}
	*out = unwinder;
	return ST_OK;
}

void st_perf_unwinder_destroy(struct st_perf_unwinder *unwinder)
{
	if (!unwinder)
		return;
	for (uint32_t i = 0; i < unwinder->loaded_count; i++) {
		if (unwinder->loaded[i].table)
			st_unwind_unmap(unwinder->loaded[i].table);
		if (unwinder->loaded[i].fd >= 0)
			close(unwinder->loaded[i].fd);
		free(unwinder->loaded[i].path);
	}
	if (unwinder->folder)
		st_unwind_cache_close(unwinder->folder);
	st_key_table_fini(&unwinder->index);
	free(unwinder->loaded);
	free(unwinder->modules);
	free(unwinder->cache);
	free(unwinder);
}

static bool is_recorded_file(const char *path, struct st_text build_id)
{
	struct st_elf_view view;
	bool same;

	if (!build_id.size_bytes)
		return true;
	if (st_elf_view_open(&view, path, NULL))
		return false;
	same = view.build_id_bytes == build_id.size_bytes &&
	       memcmp(view.build_id, build_id.bytes, build_id.size_bytes) == 0;
	st_elf_view_close(&view);
	return same;
}

static void load(struct st_perf_unwinder *unwinder, struct st_import_out *out,
		 const struct st_import_map *map, struct loaded *loaded)
{
	struct st_text path = st_text_table_get(&out->texts, map->path);
	struct st_text build_id = st_text_table_get(&out->texts, map->build_id);
	const struct st_unwind_want want = {.path = path.bytes,
					    .build_id = (const uint8_t *)build_id.bytes,
					    .build_id_bytes = build_id.size_bytes,
					    .start = map->start,
					    .file_offset = map->offset};
	struct st_unwind_found *found;

	*loaded = (struct loaded){.fd = -1};
	if (path.bytes[0] != '/' || !is_recorded_file(path.bytes, build_id))
		return;
	loaded->path = strdup(path.bytes);
	found = malloc(sizeof(*found));
	if (!loaded->path || !found)
		out->no_memory = true;
	else if (st_unwind_cache_get(unwinder->folder, &want, found, NULL) == ST_OK) {
		loaded->table = st_unwind_map(found->path);
		loaded->bias = found->bias;
	}
	free(found);
}

static struct loaded *loaded_of(struct st_perf_unwinder *unwinder, struct st_import_out *out,
				struct st_import_map *map)
{
	uint32_t at;

	if (map->module)
		return &unwinder->loaded[map->module - 1];
	at = st_key_table_add(&unwinder->index, st_id_pair(map->path, map->build_id), map->start,
			      map->offset);
	if (at == ST_ID_NONE || !ST_VEC_ROOM(unwinder->loaded, at, unwinder->loaded_capacity)) {
		out->no_memory = true;
		return NULL;
	}
	if (at >= unwinder->loaded_count) {
		load(unwinder, out, map, &unwinder->loaded[at]);
		unwinder->loaded_count = at + 1;
	}
	map->module = at + 1;
	return &unwinder->loaded[at];
}

static void make_modules(struct st_perf_unwinder *unwinder, struct st_import_out *out,
			 uint32_t process_index)
{
	struct st_import_process *process = &out->processes[process_index];

	unwinder->of = process;
	if (unwinder->is_made && unwinder->process == process_index &&
	    unwinder->map_generation == process->map_generation)
		return;
	unwinder->module_count = 0;
	for (uint32_t i = 0; i < process->map_count; i++) {
		struct st_import_map *map = &process->maps[i];
		struct loaded *loaded = loaded_of(unwinder, out, map);

		/* What is no file has no rules: stacks are recovered through it. */
		if (!loaded || !loaded->path)
			continue;
		if (!ST_VEC_PUSH(unwinder->modules, unwinder->module_count,
				 unwinder->module_capacity,
				 (struct st_unwind_module){.start = map->start,
							   .end = map->end,
							   .bias = loaded->bias,
							   .table = loaded->table})) {
			out->no_memory = true;
			return;
		}
	}
	unwinder->is_made = true;
	unwinder->process = process_index;
	unwinder->map_generation = process->map_generation;
	unwinder->generation++;
}

static bool read_code(void *arg, uint64_t address, void *out, size_t size_bytes)
{
	struct st_perf_unwinder *unwinder = arg;
	const struct st_import_map *map = st_import_map_at(unwinder->of, address);
	struct loaded *loaded;

	if (!map || !map->module || map->end - address < size_bytes)
		return false;
	loaded = &unwinder->loaded[map->module - 1];
	if (!loaded->path)
		return false;
	if (loaded->fd < 0)
		loaded->fd = open(loaded->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return loaded->fd >= 0 &&
	       pread(loaded->fd, out, size_bytes, (off_t)(address - map->start + map->offset)) ==
		       (ssize_t)size_bytes;
}

void st_perf_unwind(struct st_perf_unwinder *unwinder, struct st_import_out *out, uint32_t process,
		    const struct st_perf_sample *fields, struct st_perf_walked *walked)
{
	struct st_walk walk = {.cache = unwinder->cache,
			       .pc = st_perf_sample_register(fields, REGISTER_IP),
			       .sp = st_perf_sample_register(fields, REGISTER_SP),
			       .fp = st_perf_sample_register(fields, REGISTER_BP),
			       .bx = st_perf_sample_register(fields, REGISTER_BX),
			       .stack = fields->stack,
			       .read_code = read_code,
			       .arg = unwinder,
			       .frames = walked->frames,
			       .frames_max = ST_PERF_FRAMES_MAX,
			       .recover = true};

	walked->frame_count = 0;
	walked->flags = ST_SAMPLE_TRUNCATED;
	walk.stack_low = walk.sp;
	walk.stack_high = walk.sp + fields->stack_bytes;
	if (!walk.pc || !fields->stack || walk.stack_high < walk.stack_low)
		return;
	make_modules(unwinder, out, process);
	walk.modules = (struct st_unwind_modules){.modules = unwinder->modules,
						  .count = unwinder->module_count};
	walk.generation = unwinder->generation;
	st_walk_run(&walk);
	walked->frame_count = walk.frame_count;
	walked->flags = walk.flags;
}
