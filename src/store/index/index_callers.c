// SPDX-License-Identifier: Apache-2.0
//
// Who began a slice: each address of a process once, named by the file that was mapped there. A thread calls
// from few places, so the last address of each slot is remembered per track.
#include "store/index/index_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "format/slices.h"
#include "store/model/model.h"

enum { ANCESTORS_MAX = 64, NEIGHBOURS_MAX = 64 };

static bool begin_callers(struct st_index_builder *builder)
{
	struct st_event_tables *tables = &builder->tables;
	struct st_error why = {0};

	if (tables->no_callers)
		return false;
	if (!builder->index->columns.callers && st_index_add_callers(builder->index, &why)) {
		st_notes_add(&builder->meta->notes, "callers of tasks are not available: %s",
			     why.text);
		tables->no_callers = true;
		return false;
	}
	if (!tables->callers.count && st_key_table_add(&tables->callers, 0, 0, 0) == ST_ID_NONE)
		builder->no_memory = true;
	return !builder->no_memory;
}

static uint32_t add_caller(struct st_index_builder *builder, uint32_t process_id, uint64_t address,
			   int64_t ns)
{
	struct st_event_tables *tables = &builder->tables;
	uint32_t known = tables->callers.count;
	uint32_t caller = st_key_table_add(&tables->callers, process_id, address, 0);

	while (caller != ST_ID_NONE && caller >= tables->caller_capacity)
		if (!ST_VEC_ROOM(tables->caller_ns, tables->caller_capacity,
				 tables->caller_capacity))
			caller = ST_ID_NONE;
	if (caller == ST_ID_NONE) {
		builder->no_memory = true;
		return 0;
	}
	if (caller >= known || ns < tables->caller_ns[caller])
		tables->caller_ns[caller] = ns;
	return caller;
}

uint32_t st_index_caller_of(struct st_index_builder *builder, struct st_track_state *track,
			    const struct st_slice_record *record, int64_t ns)
{
	struct st_caller_slot *slot;

	if (!builder->index->columns.callers && !begin_callers(builder))
		return 0;
	if (!track->callers) {
		track->callers = calloc(ST_CALLER_SLOTS, sizeof(*track->callers));
		if (!track->callers) {
			builder->no_memory = true;
			return 0;
		}
	}
	slot = &track->callers[record->name % ST_CALLER_SLOTS];
	if (slot->address != record->caller) {
		slot->caller = add_caller(builder, track->process_id, record->caller, ns);
		slot->address = record->caller;
	}
	return slot->caller;
}

/* The map of a process that holds this address. Where several did in turn, the last one that was seen by
 * then; maps are looked at now and then, so one that was seen a little later will do too. */
static const struct st_map_definition *find_map(struct st_index_builder *builder,
						uint32_t process_id, uint64_t address, int64_t ns)
{
	const struct st_model *model = builder->request->model;
	const struct st_map_definition *best = NULL;
	uint32_t low, hint = 0;
	bool best_in_time = false;

	low = ST_SEARCH(i, 0, model->map_count,
			model->maps[i].process_id < process_id ||
				(model->maps[i].process_id == process_id &&
				 model->maps[i].start <= address));
	/* Maps of one time do not overlap: the nearest few below are all that can matter. */
	for (uint32_t i = low, looked = 0; i > 0 && looked < NEIGHBOURS_MAX; i--, looked++) {
		const struct st_map_definition *map = &model->maps[i - 1];
		bool in_time = st_clock_map_ns(&builder->meta->clock, &hint, map->ticks) <= ns;

		if (map->process_id != process_id)
			break;
		if (address >= map->end)
			continue;
		if (!best || (in_time && !best_in_time) ||
		    (in_time == best_in_time && (map->ticks > best->ticks) == in_time)) {
			best = map;
			best_in_time = in_time;
		}
	}
	return best;
}

/* A child of a fork has the maps of its ancestors, as far as nobody says otherwise. */
static const struct st_map_definition *find_inherited_map(struct st_index_builder *builder,
							  uint32_t process_id, uint64_t address,
							  int64_t ns)
{
	const struct st_model *model = builder->request->model;
	const struct st_map_definition *map = NULL;

	for (unsigned int i = 0; !map && process_id && i < ANCESTORS_MAX; i++) {
		uint32_t at = st_id_map_get(&model->process_index, process_id);

		map = find_map(builder, process_id, address, ns);
		process_id = at == ST_ID_NONE ? 0 : model->more[at].ancestor_id;
	}
	return map;
}

static st_string_id place_of(struct st_index_builder *builder, const struct st_map_definition *map,
			     uint64_t address)
{
	struct st_model *model = builder->request->model;
	struct st_text path = st_text_table_get(&model->texts, map->path);
	const char *slash = memrchr(path.bytes, '/', path.size_bytes);
	size_t skip = slash ? (size_t)(slash - path.bytes) + 1 : 0;
	st_string_id id = 0;
	struct st_buf text;

	st_buf_init(&text, path.size_bytes + 64);
	st_buf_append(&text, path.bytes + skip, path.size_bytes - skip);
	st_buf_printf(&text, "+0x%" PRIx64, address - map->start + map->file_offset);
	if (text.failed || !st_text_table_add(&model->texts, text.data, text.size_bytes, &id))
		builder->no_memory = true;
	st_buf_fini(&text);
	return id;
}

bool st_index_callers_finish(struct st_index_builder *builder)
{
	struct st_model *model = builder->request->model;
	struct st_event_tables *tables = &builder->tables;
	struct st_index_tables *out = &builder->meta->tables;

	if (!tables->callers.count)
		return true;
	out->callers = calloc(tables->callers.count, sizeof(*out->callers));
	if (!out->callers)
		return false;
	out->caller_count = tables->callers.count;
	for (uint32_t i = 1; i < out->caller_count && !builder->no_memory; i++) {
		const struct st_key *key = &tables->callers.keys[i];
		uint32_t process_id = (uint32_t)key->d[0];
		const struct st_map_definition *map =
			find_inherited_map(builder, process_id, key->d[1], tables->caller_ns[i]);

		out->callers[i].process = st_model_process(model, process_id);
		out->callers[i].address = key->d[1];
		if (map)
			out->callers[i].place = place_of(builder, map, key->d[1]);
	}
	return !builder->no_memory;
}
