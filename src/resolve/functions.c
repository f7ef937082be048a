// SPDX-License-Identifier: Apache-2.0
//
// Names of labels that only their address or their compiler tells.
//
// __itt_task_begin_fn: the collector names the task by the address as text and says the address in an
// event. Here the address becomes a place in a file, by what was mapped in that process, and the place a
// symbol. Done on opening rather than stored: the debug file may be installed after the run.
#include "resolve/functions.h"

#include <stdlib.h>
#include <string.h>

#include "resolve/demangle.h"
#include "resolve/objects.h"
#include "resolve/symbols.h"
#include "store/events.h"
#include "store/result.h"

struct work {
	struct st_result *result;
	struct st_symbols *symbols; /* NULL until needed */
	uint8_t *tried;		    /* by label */
};

/* The newest mapping of the process that holds the address; a forked child's are its parent's. */
static const struct st_code_map *map_of(const struct st_result *result, uint32_t process,
					uint64_t address)
{
	uint32_t count, process_count;
	const struct st_code_map *maps = st_result_code_maps(result, &count);
	const struct st_process *processes = st_result_processes(result, &process_count);

	for (uint32_t hops = 0; process < process_count && hops < process_count; hops++) {
		for (uint32_t i = count; i > 0; i--)
			if (maps[i - 1].process == process && address >= maps[i - 1].start &&
			    address < maps[i - 1].end)
				return &maps[i - 1];
		if (!(processes[process].flags & ST_PROCESS_FORKED))
			break;
		process = processes[process].parent;
	}
	return NULL;
}

static bool name_of(struct work *work, uint32_t process, uint64_t address, const char **out)
{
	const struct st_code_map *map = map_of(work->result, process, address);
	struct st_symbol symbol;
	struct st_text path;

	if (!map)
		return false;
	if (!work->symbols)
		work->symbols = st_symbols_create();
	path = st_result_text(work->result, map->path);
	if (!work->symbols || memchr(path.bytes, '\0', path.size_bytes) ||
	    !st_symbols_find(work->symbols, path.bytes, address - map->start + map->file_offset,
			     &symbol))
		return false;
	*out = symbol.name;
	return true;
}

static void name_label(struct work *work, const struct st_event_row *row)
{
	const struct st_slices *slices = st_result_slices(work->result);
	uint32_t label, track_count;
	const struct st_track *tracks = st_result_tracks(work->result, &track_count);
	const char *name;

	if (row->slice >= slices->count || row->track >= track_count)
		return;
	label = slices->label[row->slice];
	if (work->tried[label])
		return;
	work->tried[label] = 1;
	if (name_of(work, tracks[row->track].process, row->value, &name))
		st_result_name_label(work->result, label, name);
}

/* SYCL calls a kernel by the type of the function object that it is: "_ZTS…" */
static const char *without_type_word(const char *name)
{
	static const char word[] = "typeinfo name for ";

	return strncmp(name, word, sizeof(word) - 1) == 0 ? name + sizeof(word) - 1 : name;
}

/* Kernels are recorded under the names that their compiler gave them. */
static void name_kernels(struct st_result *result)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);
	struct st_names *names = NULL;

	for (uint32_t i = 0; i < count; i++) {
		struct st_text name = st_result_text(result, labels[i].name);
		struct st_demangled demangled;

		if ((labels[i].category != ST_CATEGORY_KERNEL &&
		     labels[i].category != ST_CATEGORY_COMMUNICATION) ||
		    !st_text_begins(name, "_Z") || memchr(name.bytes, '\0', name.size_bytes))
			continue;
		if (!names)
			names = st_names_create(0);
		if (!names)
			return;
		demangled = st_demangle(names, name.bytes);
		if (!names->failed)
			st_result_name_label(result, i, without_type_word(demangled.full.bytes));
	}
	st_names_destroy(names);
}

void st_resolve_functions(struct st_result *result)
{
	const struct st_events *events = st_result_events(result);
	struct work work = {.result = result};
	uint32_t label_count;

	name_kernels(result);
	st_result_labels(result, &label_count);
	for (uint32_t i = 0; i < events->count; i++) {
		if (events->rows[i].kind != ST_EVENT_TASK_FN)
			continue;
		if (!work.tried)
			work.tried = calloc((size_t)label_count + 1, 1);
		if (!work.tried)
			break; /* addresses are names, too */
		name_label(&work, &events->rows[i]);
	}
	free(work.tried);
	st_symbols_destroy(work.symbols);
	st_resolve_objects(result);
}
