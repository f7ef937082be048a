// SPDX-License-Identifier: Apache-2.0
//
// From stack nodes to named frames (resolve/resolved.h): every node finds its site (module and place), the
// sites of each module are resolved together.
#include "resolve/resolved.h"

#include <stdlib.h>
#include <string.h>

#include "resolve/binary.h"
#include "resolve/dynamic.h"
#include "resolve/jit_sites.h"
#include "resolve/kernel.h"
#include "resolve/places.h"
#include "resolve/recording.h"
#include "store/events.h"
#include "store/samples.h"

struct build {
	const struct st_result *result;
	const struct st_named_options *options;
	const struct st_stack_nodes *nodes;
	struct st_names *names;
	struct st_code_places *places;
	struct st_sites *sites;
	struct st_jit_work jit;
	struct st_dynamic *dynamic;
	int64_t *time_ns;	/* of each node: the first sample through it */
	int64_t *last_ns;	/* and the last one */
	uint32_t *site_of_node; /* of Python nodes: function */
	uint32_t *module_of_map;
	struct st_id_map python; /* (file, name and line) -> function */
	uint32_t process_count;
	uint32_t unknown;  /* function */
	uint32_t kernel;   /* module */
	bool is_here;	   /* recorded on this machine since it was started */
	uint32_t replaced; /* nodes whose code was another one later */
};

static void say(const struct build *build, double fraction, const char *what)
{
	if (build->options && build->options->progress)
		build->options->progress(build->options->progress_arg, fraction, what);
}

/* When a node was there: from the first to the last sample through it. Parents lie before their children. */
static bool find_times(struct build *build)
{
	const struct st_samples *samples = st_result_samples(build->result);
	uint32_t count = build->nodes->count;
	int64_t *first = malloc(((size_t)count + 1) * sizeof(*first));
	int64_t *last = malloc(((size_t)count + 1) * sizeof(*last));

	build->time_ns = first;
	build->last_ns = last;
	if (!first || !last)
		return false;
	for (uint32_t i = 0; i <= count; i++) {
		first[i] = INT64_MAX;
		last[i] = INT64_MIN;
	}
	for (uint32_t i = 0; samples && i < samples->count; i++) {
		uint32_t node = samples->node[i];

		if (node >= count)
			continue;
		first[node] = samples->time_ns[i] < first[node] ? samples->time_ns[i] : first[node];
		last[node] = samples->time_ns[i] > last[node] ? samples->time_ns[i] : last[node];
	}
	for (uint32_t i = count; i > 1; i--) {
		uint32_t parent = build->nodes->parent[i - 1];

		if (parent >= i - 1)
			continue;
		first[parent] = first[i - 1] < first[parent] ? first[i - 1] : first[parent];
		last[parent] = last[i - 1] > last[parent] ? last[i - 1] : last[parent];
	}
	return true;
}

static struct st_text text_of(const struct build *build, st_string_id id)
{
	return st_result_text(build->result, id);
}

static uint32_t module_of_map(struct build *build, uint32_t map)
{
	uint32_t count;
	const struct st_code_map *its = &st_result_code_maps(build->result, &count)[map];

	if (!build->module_of_map[map])
		build->module_of_map[map] = st_names_module(build->names, text_of(build, its->path),
							    text_of(build, its->build_id));
	return build->module_of_map[map];
}

static struct st_text path_of_map(const struct build *build, uint32_t map)
{
	uint32_t count;

	return text_of(build, st_result_code_maps(build->result, &count)[map].path);
}

/* Memory that no file stands behind, though it may have a name: code made at run time. */
static bool is_dynamic(struct st_text path)
{
	static const char *const begins[] = {"//anon",	    "/memfd:", "/dev/zero", "/SYSV",
					     "anon_inode:", "[anon",   "[heap]",    "[stack"};

	if (!path.size_bytes)
		return true;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(path.bytes, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* Code made at run time of which nobody told. */
static uint32_t site_of_dynamic(struct build *build, uint64_t address)
{
	static const struct st_text name = {"[Dynamic code]", 14}, none = {"", 0};
	uint32_t module = st_names_module(build->names, name, none), site;
	bool is_new;

	site = st_sites_get(build->sites, module, address, &is_new);
	if (is_new) {
		uint32_t function = st_jit_function(&build->jit, none, name, 0);

		build->sites->items[site].function = function;
		build->names->functions[function].flags |= ST_FUNCTION_NO_SYMBOL;
	}
	return site;
}

static uint32_t site_of_file(struct build *build, uint32_t map, uint64_t address)
{
	uint32_t count;
	const struct st_code_map *its = &st_result_code_maps(build->result, &count)[map];
	bool is_new;

	return st_sites_get(build->sites, module_of_map(build, map),
			    address - its->start + its->file_offset, &is_new);
}

static bool is_same_text(struct st_text a, struct st_text b)
{
	return a.size_bytes == b.size_bytes && memcmp(a.bytes, b.bytes, a.size_bytes) == 0;
}

/* A node stands for one place in code. Where other code lay at its address by the time of its last sample (a
 * method made anew under the same name is no other code), the name of the first is kept and that is said. */
static void check_replaced(struct build *build, uint32_t node, uint32_t code, uint32_t map)
{
	const struct st_stack_nodes *nodes = build->nodes;
	uint64_t address =
		nodes->value[node] - ((nodes->kind[node] & ST_FRAME_KIND_MASK) == ST_FRAME_CALL);
	uint32_t count, later;
	const struct st_code *codes = st_result_code(build->result, &count);

	if (build->last_ns[node] <= build->time_ns[node])
		return;
	later = st_code_places_code(build->places, nodes->process[node], address,
				    build->last_ns[node]);
	if (code != ST_PLACE_NONE || later != ST_PLACE_NONE) {
		build->replaced += code == ST_PLACE_NONE || later == ST_PLACE_NONE ||
				   !is_same_text(text_of(build, codes[code].name),
						 text_of(build, codes[later].name));
		return;
	}
	later = st_code_places_map(build->places, nodes->process[node], address,
				   build->last_ns[node]);
	if (map != later && map != ST_PLACE_NONE && later != ST_PLACE_NONE)
		build->replaced += module_of_map(build, map) != module_of_map(build, later);
}

static uint32_t find_site(struct build *build, uint32_t node)
{
	const struct st_stack_nodes *nodes = build->nodes;
	uint32_t kind = nodes->kind[node] & ST_FRAME_KIND_MASK, process = nodes->process[node];
	uint64_t address = nodes->value[node] - (kind == ST_FRAME_CALL);
	int64_t time_ns = build->time_ns[node];
	uint32_t found, site;
	bool is_new;

	if (kind == ST_FRAME_KERNEL)
		return st_sites_get(build->sites, build->kernel, address, &is_new);
	found = st_code_places_code(build->places, process, address, time_ns);
	if (found != ST_PLACE_NONE) {
		check_replaced(build, node, found, ST_PLACE_NONE);
		return st_jit_site(&build->jit, build->places, found, address);
	}
	found = st_code_places_map(build->places, process, address, time_ns);
	check_replaced(build, node, ST_PLACE_NONE, found);
	if (found != ST_PLACE_NONE && !is_dynamic(path_of_map(build, found)))
		return site_of_file(build, found, address);
	site = process < build->process_count
		       ? st_dynamic_site(build->dynamic, &build->jit, process, address)
		       : 0;
	if (!site && found != ST_PLACE_NONE)
		return site_of_dynamic(build, address);
	return site;
}

/* Python functions are the same in every process. */
static uint32_t python_function(struct build *build, uint32_t code)
{
	struct st_names *names = build->names;
	uint32_t count, found;
	const struct st_python_code *codes = st_result_python_codes(build->result, &count);
	struct st_named_function function = {.kind = ST_FUNCTION_PYTHON};
	struct st_text file, name, none = {"", 0};
	uint64_t key;

	if (code >= count)
		return build->unknown;
	key = (uint64_t)codes[code].file << 40 ^ (uint64_t)codes[code].name << 20 ^
	      codes[code].first_line;
	found = st_id_map_get(&build->python, key);
	file = text_of(build, codes[code].file);
	name = text_of(build, codes[code].name);
	if (found != ST_ID_NONE) {
		const struct st_named_function *old = &names->functions[found];

		/* Keys may meet: then the later one stands for itself. */
		if (old->line == codes[code].first_line &&
		    old->name.size_bytes == name.size_bytes &&
		    memcmp(old->name.bytes, name.bytes, name.size_bytes) == 0 &&
		    old->source == st_names_source(names, file.bytes, file.size_bytes))
			return found;
	}
	function.name = st_names_keep(names, name.bytes, name.size_bytes);
	function.full = function.mangled = function.name;
	function.module = st_names_module(names, file, none);
	function.source = st_names_source(names, file.bytes, file.size_bytes);
	function.line = codes[code].first_line;
	if (found != ST_ID_NONE)
		return st_names_function(names, &function);
	found = st_names_function(names, &function);
	if (!st_id_map_put(&build->python, key, found))
		names->failed = true;
	return found;
}

static bool find_sites(struct build *build)
{
	uint32_t count = build->nodes->count, codes;
	uint32_t *of_code;

	st_result_python_codes(build->result, &codes);
	of_code = calloc((size_t)codes + 1, sizeof(*of_code));
	build->site_of_node = calloc((size_t)count + 1, sizeof(*build->site_of_node));
	if (!of_code || !build->site_of_node) {
		free(of_code);
		return false;
	}
	for (uint32_t i = 1; i < count; i++) {
		uint32_t kind = build->nodes->kind[i] & ST_FRAME_KIND_MASK;
		uint32_t code = (uint32_t)build->nodes->value[i];

		if (kind != ST_FRAME_PYTHON) {
			build->site_of_node[i] = find_site(build, i);
			continue;
		}
		if (code < codes && !of_code[code])
			of_code[code] = python_function(build, code);
		build->site_of_node[i] = code < codes ? of_code[code] : build->unknown;
	}
	free(of_code);
	return true;
}

static int by_module(const void *a, const void *b, void *arg)
{
	const struct st_sites *sites = arg;
	uint32_t x = sites->items[*(const uint32_t *)a].module;
	uint32_t y = sites->items[*(const uint32_t *)b].module;

	return x < y ? -1 : x > y;
}

/* Sites that have no function yet, module by module. */
static bool resolve_sites(struct build *build)
{
	struct st_binary_work work = {.names = build->names,
				      .sites = build->sites,
				      .options = build->options,
				      .not_after_s = st_recording_end_s(build->result),
				      .is_here = build->is_here};
	uint32_t *list = calloc((size_t)build->sites->count + 1, sizeof(*list));
	uint32_t count = 0, first = 0;

	if (!list)
		return false;
	for (uint32_t i = 1; i < build->sites->count; i++)
		if (!build->sites->items[i].function)
			list[count++] = i;
	qsort_r(list, count, sizeof(*list), by_module, build->sites);
	for (uint32_t i = 1; i <= count; i++) {
		uint32_t module = build->sites->items[list[first]].module;

		if (i < count && build->sites->items[list[i]].module == module)
			continue;
		say(build, 0.2 + 0.6 * first / count, build->names->modules[module].name.bytes);
		if (module == build->kernel)
			st_kernel_resolve(build->names, build->sites, list + first, i - first,
					  build->is_here);
		else
			st_binary_resolve(&work, module, list + first, i - first);
		first = i;
	}
	free(list);
	return true;
}

static bool prepare(struct build *build)
{
	static const struct st_text path = {"[Unknown]", 9}, kernel = {"[kernel]", 8},
				    none = {"", 0};
	struct st_named_function unknown = {.kind = ST_FUNCTION_UNKNOWN, .mangled = none};
	uint32_t maps;

	st_result_code_maps(build->result, &maps);
	build->names = st_names_create(build->nodes->count);
	build->places = st_code_places_create(build->result);
	build->dynamic = st_dynamic_create(build->result);
	st_result_processes(build->result, &build->process_count);
	build->module_of_map = calloc((size_t)maps + 1, sizeof(*build->module_of_map));
	if (!build->names || !build->places || !build->dynamic || !build->module_of_map ||
	    !st_sites_init(build->sites))
		return false;
	build->jit.result = build->result;
	build->jit.names = build->names;
	build->jit.sites = build->sites;
	unknown.name = unknown.full = st_names_keep(build->names, "[Outside any known module]", 26);
	build->kernel = st_names_module(build->names, kernel, none);
	build->is_here = st_recording_is_here(build->result);
	unknown.module = st_names_module(build->names, path, none);
	build->unknown = st_names_function(build->names, &unknown);
	return true;
}

bool st_resolved_build(struct st_resolved *out, const struct st_result *result,
		       const struct st_named_options *options)
{
	struct build build = {.result = result,
			      .options = options,
			      .nodes = st_result_stack_nodes(result),
			      .sites = &out->sites};
	bool ok;

	memset(out, 0, sizeof(*out));
	say(&build, 0, "stacks");
	ok = prepare(&build) && find_times(&build) && find_sites(&build) && resolve_sites(&build) &&
	     !build.names->failed;
	if (ok && build.replaced)
		st_names_note(build.names,
			      "%u addresses in stacks held different code later (unloaded or "
			      "recompiled); all their samples have the first name",
			      build.replaced);
	out->names = build.names;
	out->site_of_node = build.site_of_node;
	out->unknown = build.unknown;
	st_code_places_destroy(build.places);
	st_dynamic_destroy(build.dynamic);
	st_id_map_fini(&build.python);
	st_id_map_fini(&build.jit.functions);
	free(build.time_ns);
	free(build.last_ns);
	free(build.module_of_map);
	return ok;
}

void st_resolved_fini(struct st_resolved *resolved)
{
	st_names_destroy(resolved->names);
	st_sites_fini(&resolved->sites);
	free(resolved->site_of_node);
	memset(resolved, 0, sizeof(*resolved));
}
