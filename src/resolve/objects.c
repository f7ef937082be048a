// SPDX-License-Identifier: Apache-2.0
//
// Variables and places in code by address (resolve/objects.h). Only code is known to be mapped; but a library's data lies behind its code,
// so the last one that begins below an address is the only one that can have it.
#include "resolve/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/search.h"
#include "base/vec.h"
#include "format/wait_kind.h"
#include "resolve/binary.h"
#include "resolve/demangle.h"
#include "resolve/elf_symbols.h"
#include "resolve/find_file.h"
#include "resolve/places.h"
#include "resolve/recording.h"
#include "resolve/search.h"
#include "resolve/short_name.h"
#include "store/events.h"
#include "store/result.h"

struct wanted {
	uint32_t object;
	uint32_t module; /* index into modules of the names */
	uint32_t map;
	uint32_t at, before; /* of code: sites of the address, and right before it */
	uint64_t address;    /* of data: in the file */
};

struct work {
	struct st_result *result;
	const struct st_sync_object *objects;
	uint32_t count;
	const struct st_code_map *maps;
	uint32_t *sorted; /* maps by process and start */
	uint32_t map_count;
	struct st_code_places *places;
	struct st_names *names;
	struct st_sites sites;
	struct st_search search;
	struct wanted *wanted;
	uint32_t wanted_count, wanted_capacity;
	bool is_of_makers; /* the code that made objects, not the code that they are */
};

static uint32_t kind_of(const struct st_sync_object *object)
{
	return object->attribute >> ST_SYNC_KIND_SHIFT;
}

static bool is_code(const struct st_sync_object *object)
{
	uint32_t kind = kind_of(object);

	return object->address && (kind == ST_WAIT_REGION || kind == ST_WAIT_OMP_BARRIER);
}

static bool is_data(const struct st_sync_object *object)
{
	uint32_t kind = kind_of(object);

	return object->address && st_wait_has_address(kind) && kind != ST_WAIT_GIL &&
	       !is_code(object);
}

static struct st_text last_part(struct st_text path)
{
	const char *slash = path.size_bytes ? memrchr(path.bytes, '/', path.size_bytes) : NULL;

	return slash ? (struct st_text){slash + 1,
					path.size_bytes - (size_t)(slash + 1 - path.bytes)}
		     : path;
}

static void give_name(struct work *work, const struct wanted *wanted, struct st_buf *text)
{
	struct st_text name = {(const char *)text->data, text->size_bytes};

	if (!text->failed && name.size_bytes && work->is_of_makers)
		st_result_place_sync_object(work->result, wanted->object, name);
	else if (!text->failed && name.size_bytes)
		st_result_name_sync_object(work->result, wanted->object, name);
	st_buf_fini(text);
}

static bool want(struct work *work, uint32_t object, uint32_t map)
{
	struct st_text path = st_result_text(work->result, work->maps[map].path);

	if (!path.size_bytes || path.bytes[0] != '/')
		return true;
	return ST_VEC_PUSH(
		work->wanted, work->wanted_count, work->wanted_capacity,
		((struct wanted){.object = object,
				 .map = map,
				 .module = st_names_module(
					 work->names, path,
					 st_result_text(work->result, work->maps[map].build_id))}));
}

static int by_module(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static uint32_t next_module(const struct work *work, uint32_t first)
{
	uint32_t end = first;

	while (end < work->wanted_count && work->wanted[end].module == work->wanted[first].module)
		end++;
	return end;
}

/* Code ------------------------------------------------------------------------------------------------- */

/* Of an object that has no better text yet; 0: it has, or there is none. */
static uint64_t code_address(const struct work *work, const struct st_sync_object *object)
{
	if (work->is_of_makers)
		return object->made_at ? 0 : object->maker;
	return !object->name && is_code(object) ? object->address : 0;
}

static bool want_code(struct work *work)
{
	if (!work->places)
		work->places = st_code_places_create(work->result);
	for (uint32_t i = 0; i < work->count && work->places; i++) {
		const struct st_sync_object *object = &work->objects[i];
		uint64_t address = code_address(work, object);
		uint32_t map;

		if (!address)
			continue;
		map = st_code_places_map(work->places, object->process, address - 1,
					 object->first_ns);
		if (map != ST_PLACE_NONE && !want(work, i, map))
			return false;
	}
	return work->places;
}

static void find_sites(struct work *work)
{
	bool is_new;

	for (uint32_t i = 0; i < work->wanted_count; i++) {
		struct wanted *wanted = &work->wanted[i];
		const struct st_code_map *map = &work->maps[wanted->map];
		uint64_t offset = code_address(work, &work->objects[wanted->object]) - map->start +
				  map->file_offset;

		wanted->at = st_sites_get(&work->sites, wanted->module, offset, &is_new);
		wanted->before = st_sites_get(&work->sites, wanted->module, offset - 1, &is_new);
	}
}

static bool resolve_sites(struct work *work)
{
	const struct st_binary_work binary = {.names = work->names,
					      .sites = &work->sites,
					      .options = &work->search.options,
					      .not_after_s = st_recording_end_s(work->result)};
	uint32_t *list = calloc((size_t)work->sites.count + 1, sizeof(*list));
	bool done = list != NULL;

	for (uint32_t first = 0, end; list && first < work->wanted_count; first = end) {
		uint32_t count = 0;

		end = next_module(work, first);
		for (uint32_t i = 1; i < work->sites.count; i++)
			if (work->sites.items[i].module == work->wanted[first].module)
				list[count++] = i;
		st_binary_resolve(&binary, work->wanted[first].module, list, count);
	}
	free(list);
	return done;
}

/* Compilers make a function of a region: "solve._omp_fn.0", ".omp_outlined.". */
static void put_function(struct st_buf *out, struct st_text name)
{
	static const char *const marks[] = {"._omp_fn", " [clone", " (.omp_outlined",
					    ".omp_outlined"};
	size_t bytes = name.size_bytes;

	if (st_text_begins(name, ".omp_outlined")) {
		st_buf_append_text(out, "OpenMP region");
		return;
	}
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *mark = memmem(name.bytes, bytes, marks[i], strlen(marks[i]));

		if (mark && mark > name.bytes)
			bytes = (size_t)(mark - name.bytes);
	}
	st_short_name((struct st_text){name.bytes, bytes}, out);
}

static void name_code(struct work *work, const struct wanted *wanted, struct st_buf *text)
{
	const struct st_site *site = &work->sites.items[wanted->at];
	const struct st_named_function *function = &work->names->functions[site->function];
	struct st_text module = work->names->modules[wanted->module].name, source;

	/* Not the begin of a function: behind a call. */
	if (!function->start || function->start != site->address)
		site = &work->sites.items[wanted->before];
	function = &work->names->functions[site->function];
	if (site->inlined_count)
		function =
			&work->names->functions
				 [work->sites.inlined[site->inlined_first + site->inlined_count - 1]
					  .function];
	source = last_part(work->names->sources[site->source]);
	put_function(text, function->name);
	if (site->line && source.size_bytes)
		st_buf_printf(text, " (%.*s:%u)", (int)source.size_bytes, source.bytes, site->line);
	else
		st_buf_printf(text, " (%.*s)", (int)module.size_bytes, module.bytes);
}

/* "make_queue, queue.c:41": right behind the call. In names it stands in brackets. */
static void name_maker(struct work *work, const struct wanted *wanted, struct st_buf *text)
{
	const struct st_site *site = &work->sites.items[wanted->before];
	const struct st_named_function *function = &work->names->functions[site->function];
	struct st_text module = work->names->modules[wanted->module].name;
	struct st_text source = last_part(work->names->sources[site->source]);

	if (site->inlined_count)
		function =
			&work->names->functions
				 [work->sites.inlined[site->inlined_first + site->inlined_count - 1]
					  .function];
	st_short_name(function->name, text);
	if (site->line && source.size_bytes)
		st_buf_printf(text, ", %.*s:%u", (int)source.size_bytes, source.bytes, site->line);
	else
		st_buf_printf(text, ", %.*s", (int)module.size_bytes, module.bytes);
}

/* Data ------------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b, void *arg)
{
	const struct st_code_map *maps = arg;
	const struct st_code_map *x = &maps[*(const uint32_t *)a], *y = &maps[*(const uint32_t *)b];

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* The last code of the process that begins below the address; a forked child has its parent's as well. */
static uint32_t map_below(const struct work *work, uint32_t process, uint64_t address)
{
	const struct st_code_map *maps = work->maps;
	uint32_t count, found = ST_PLACE_NONE;
	const struct st_process *processes = st_result_processes(work->result, &count);

	for (uint32_t hops = 0; process < count && hops < count; hops++) {
		uint32_t at = ST_SEARCH(i, 0, work->map_count,
					maps[work->sorted[i]].process < process ||
						(maps[work->sorted[i]].process == process &&
						 maps[work->sorted[i]].start <= address));

		if (at && maps[work->sorted[at - 1]].process == process &&
		    (found == ST_PLACE_NONE ||
		     maps[work->sorted[at - 1]].start > maps[found].start))
			found = work->sorted[at - 1];
		if (!(processes[process].flags & ST_PROCESS_FORKED))
			break;
		process = processes[process].parent;
	}
	return found;
}

static bool want_data(struct work *work)
{
	work->sorted = calloc((size_t)work->map_count + 1, sizeof(*work->sorted));
	if (!work->sorted)
		return false;
	for (uint32_t i = 0; i < work->map_count; i++)
		work->sorted[i] = i;
	qsort_r(work->sorted, work->map_count, sizeof(*work->sorted), by_start,
		(void *)(uintptr_t)work->maps);
	for (uint32_t i = 0; i < work->count; i++) {
		uint32_t map;

		if (work->objects[i].name || !is_data(&work->objects[i]))
			continue;
		map = map_below(work, work->objects[i].process, work->objects[i].address);
		if (map != ST_PLACE_NONE && !want(work, i, map))
			return false;
	}
	return true;
}

static bool is_in_file(const struct st_elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->segment_count; i++)
		if (!file->segments[i].executable && address >= file->segments[i].address &&
		    address - file->segments[i].address < file->segments[i].memory_bytes)
			return true;
	return false;
}

/* Compilers make a variable of a critical section: ".gomp_critical_user_NAME", clang with ".var" behind it. */
static bool put_critical(struct st_buf *text, struct st_text name)
{
	static const char mark[] = ".gomp_critical_user_";
	size_t skip = sizeof(mark) - 1;
	const char *begin = name.bytes + skip, *end;

	if (!st_text_begins(name, mark))
		return false;
	end = memmem(begin, name.size_bytes - skip, ".var", 4);
	if (!end)
		end = name.bytes + name.size_bytes;
	if (end > begin)
		st_buf_printf(text, "critical section %.*s", (int)(end - begin), begin);
	else
		st_buf_append_text(text, "unnamed critical section");
	return true;
}

static void name_variable(struct work *work, const struct wanted *wanted,
			  const struct st_bounds *bounds)
{
	struct st_text module = work->names->modules[wanted->module].name;
	struct st_text name = st_demangle(work->names, bounds->name).name;
	struct st_buf text;

	st_buf_init(&text, 64 << 10);
	if (put_critical(&text, name)) {
		give_name(work, wanted, &text);
		return;
	}
	st_buf_printf(&text, "%.*s", (int)name.size_bytes, name.bytes);
	if (bounds->address > bounds->start)
		st_buf_printf(&text, "+%llu",
			      (unsigned long long)(bounds->address - bounds->start));
	st_buf_printf(&text, " (%.*s)", (int)module.size_bytes, module.bytes);
	give_name(work, wanted, &text);
}

/* What lies in its data, in the order of addresses; the rest goes behind. */
static uint32_t place_data(struct work *work, const struct st_elf_file *file, uint32_t first,
			   uint32_t end)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < end; i++) {
		struct wanted *wanted = &work->wanted[i];
		const struct st_code_map *map = &work->maps[wanted->map];
		uint64_t code;

		wanted->address = UINT64_MAX;
		if (!st_elf_address(file, map->file_offset, &code))
			continue;
		code += work->objects[wanted->object].address - map->start;
		if (!is_in_file(file, code))
			continue;
		wanted->address = code;
		count++;
	}
	qsort(work->wanted + first, end - first, sizeof(*work->wanted), by_module);
	return count;
}

static void name_data(struct work *work, uint32_t first, uint32_t end)
{
	const struct st_named_module *module = &work->names->modules[work->wanted[first].module];
	const struct st_wanted file_wanted = {.path = module->path,
					      .build_id = module->build_id,
					      .not_after_s = st_recording_end_s(work->result)};
	struct st_elf_file file, debug = {0};
	struct st_bounds *bounds;
	GElf_Shdr header;
	uint32_t count;

	if (st_find_binary(&file, &file_wanted, &work->search.options) != ST_FOUND)
		return;
	count = place_data(work, &file, first, end);
	bounds = calloc((size_t)count + 1, sizeof(*bounds));
	for (uint32_t i = 0; bounds && i < count; i++)
		bounds[i].address = work->wanted[first + i].address;
	if (bounds && count) {
		if (!st_elf_section_of_type(&file, SHT_SYMTAB, &header) &&
		    st_find_debug(&debug, &file, &work->search.options))
			st_elf_find_variables(&debug, bounds, count);
		st_elf_find_variables(&file, bounds, count);
		for (uint32_t i = 0; i < count; i++)
			if (bounds[i].kind == ST_BOUNDS_SYMBOL)
				name_variable(work, &work->wanted[first + i], &bounds[i]);
	}
	free(bounds);
	st_elf_close(&debug);
	st_elf_close(&file);
}

/* libgomp has one lock for all of them. */
static void name_critical(struct work *work)
{
	static const struct st_text name = {"unnamed critical section", 24};

	for (uint32_t i = 0; i < work->count; i++)
		if (!work->objects[i].name && !work->objects[i].address &&
		    kind_of(&work->objects[i]) == ST_WAIT_OMP_LOCK)
			st_result_name_sync_object(work->result, i, name);
}

static void name_all_data(struct work *work)
{
	work->wanted_count = 0;
	if (!want_data(work) || !work->wanted_count)
		return;
	qsort(work->wanted, work->wanted_count, sizeof(*work->wanted), by_module);
	for (uint32_t first = 0, end; first < work->wanted_count; first = end) {
		end = next_module(work, first);
		name_data(work, first, end);
	}
}

static void name_all_code(struct work *work)
{
	work->wanted_count = 0;
	if (!want_code(work) || !work->wanted_count)
		return;
	qsort(work->wanted, work->wanted_count, sizeof(*work->wanted), by_module);
	find_sites(work);
	if (!resolve_sites(work) || work->names->failed)
		return;
	for (uint32_t i = 0; i < work->wanted_count; i++) {
		struct st_buf text;

		st_buf_init(&text, 64 << 10);
		if (work->is_of_makers)
			name_maker(work, &work->wanted[i], &text);
		else
			name_code(work, &work->wanted[i], &text);
		give_name(work, &work->wanted[i], &text);
	}
}

static void name_all_makers(struct work *work)
{
	work->objects = st_result_sync_objects(work->result, &work->count);
	st_sites_fini(&work->sites);
	if (!st_sites_init(&work->sites))
		return;
	work->is_of_makers = true;
	name_all_code(work);
}

void st_resolve_objects(struct st_result *result)
{
	struct work work = {.result = result};
	bool is_any = false;

	work.objects = st_result_sync_objects(result, &work.count);
	work.maps = st_result_code_maps(result, &work.map_count);
	name_critical(&work);
	for (uint32_t i = 0; i < work.count && !is_any; i++)
		is_any = (!work.objects[i].name &&
			  (is_code(&work.objects[i]) || is_data(&work.objects[i]))) ||
			 (work.objects[i].maker && !work.objects[i].made_at);
	if (!is_any)
		return;
	work.names = st_names_create(0);
	if (work.names && st_sites_init(&work.sites) &&
	    st_search_init(&work.search, result, NULL)) {
		name_all_code(&work);
		work.objects = st_result_sync_objects(result, &work.count);
		name_all_data(&work);
		name_all_makers(&work);
	}
	st_search_fini(&work.search);
	st_code_places_destroy(work.places);
	st_sites_fini(&work.sites);
	st_names_destroy(work.names);
	free(work.sorted);
	free(work.wanted);
}
