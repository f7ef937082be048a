// SPDX-License-Identifier: Apache-2.0
//
// The tables of store/model/model.h: growth, look-up and inheritance. Filling them is model_load.c.
#include "store/model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum {
	PROCESSES_MAX = 1 << 22,
	TRACKS_MAX = 1 << 24,
	/* Longer chains of forks than this do not happen; a circle of inheritance must end somewhere. */
	INHERIT_DEPTH_MAX = 4096,
};

bool st_model_init(struct st_model *model)
{
	memset(model, 0, sizeof(*model));
	return st_text_table_init(&model->texts) && st_text_table_init(&model->info_texts);
}

void st_model_fini(struct st_model *model)
{
	if (!model)
		return;
	st_text_table_fini(&model->texts);
	st_text_table_fini(&model->info_texts);
	st_notes_fini(&model->notes);
	st_id_map_fini(&model->process_index);
	st_id_map_fini(&model->strings);
	st_id_map_fini(&model->domains);
	st_id_map_fini(&model->track_index);
	st_id_map_fini(&model->thread_names);
	st_id_map_fini(&model->not_entered_index);
	free(model->processes);
	free(model->more);
	free(model->tracks);
	free(model->not_entered);
	free(model->not_entered_ticks);
	free(model->controls);
	st_id_map_fini(&model->object_index);
	free(model->objects);
	free(model->facts);
	free(model->code_events);
	free(model->lines);
	free(model->maps);
	free(model->marks);
	free(model->demands);
	st_id_map_fini(&model->signature_index);
	free(model->signatures);
	st_id_map_fini(&model->operator_source_index);
	free(model->operator_sources);
	st_id_map_fini(&model->python_function_index);
	free(model->python_functions);
	st_id_map_fini(&model->python_calls_index);
	free(model->python_calls);
	st_forest_fini(&model->forest);
	memset(model, 0, sizeof(*model));
}

void st_model_saw_time(struct st_model *model, uint64_t ticks)
{
	if (ticks > model->last_ticks)
		model->last_ticks = ticks;
}

bool st_model_keep_text(struct st_model *model, struct st_text text, st_string_id *out)
{
	return st_text_table_add(&model->texts, text.bytes, text.size_bytes, out);
}

st_string_id st_model_add_text(struct st_model *model, const char *text)
{
	st_string_id id;

	st_text_table_add(&model->texts, text, strlen(text), &id);
	return id;
}

uint32_t st_model_process(struct st_model *model, uint32_t process_id)
{
	uint32_t index = st_id_map_get(&model->process_index, process_id);
	char name[64];

	if (index != ST_ID_NONE)
		return index;
	if (model->process_count >= PROCESSES_MAX ||
	    !ST_VEC_ROOM(model->processes, model->process_count, model->process_capacity) ||
	    !ST_VEC_ROOM(model->more, model->process_count, model->more_capacity) ||
	    !st_id_map_put(&model->process_index, process_id, model->process_count))
		return ST_ID_NONE;
	index = model->process_count++;
	memset(&model->processes[index], 0, sizeof(model->processes[index]));
	memset(&model->more[index], 0, sizeof(model->more[index]));
	model->processes[index].id = process_id;
	model->processes[index].parent = ST_NO_ROW;
	snprintf(name, sizeof(name), "[process %" PRIu32 " not recorded]", process_id);
	model->processes[index].name = st_model_add_text(model, name);
	return index;
}

struct st_track_definition *st_model_track(struct st_model *model, uint32_t process_id,
					   uint32_t track_id, bool add)
{
	struct st_track_definition none = {.process_id = process_id, .track_id = track_id};
	uint64_t key = st_id_pair(process_id, track_id);
	uint32_t index = st_id_map_get(&model->track_index, key);

	if (index != ST_ID_NONE)
		return &model->tracks[index];
	if (!add || model->track_count >= TRACKS_MAX)
		return NULL;
	index = model->track_count;
	if (!ST_VEC_PUSH(model->tracks, model->track_count, model->track_capacity, none) ||
	    !st_id_map_put(&model->track_index, key, index))
		return NULL;
	return &model->tracks[index];
}

enum id_kind { KIND_STRING, KIND_DOMAIN, KIND_OBJECT, KIND_SIGNATURE };

static uint32_t look_up(const struct st_model *model, enum id_kind kind, uint32_t process_id,
			uint32_t id)
{
	const struct st_id_map *maps[] = {&model->strings, &model->domains, &model->object_index,
					  &model->signature_index};

	for (unsigned int depth = 0; depth < INHERIT_DEPTH_MAX; depth++) {
		uint32_t value = st_id_map_get(maps[kind], st_id_pair(process_id, id));
		uint32_t index, inherited;
		const struct st_process_more *more;

		if (value != ST_ID_NONE)
			return value;
		index = st_id_map_get(&model->process_index, process_id);
		if (index == ST_ID_NONE)
			return ST_ID_NONE;
		more = &model->more[index];
		/* Of signatures no number is told: a child uses none that it does not know. */
		inherited = kind == KIND_STRING	  ? more->inherited_strings
			    : kind == KIND_DOMAIN ? more->inherited_domains
			    : kind == KIND_OBJECT ? more->inherited_objects
						  : UINT32_MAX;
		if (!more->ancestor_id || id > inherited)
			return ST_ID_NONE;
		process_id = more->ancestor_id;
	}
	return ST_ID_NONE;
}

static bool look_up_text(const struct st_model *model, enum id_kind kind, uint32_t process_id,
			 uint32_t id, st_string_id *out)
{
	uint32_t text = look_up(model, kind, process_id, id);

	*out = text == ST_ID_NONE ? 0 : text;
	return text != ST_ID_NONE;
}

bool st_model_string(const struct st_model *model, uint32_t process_id, uint32_t id,
		     st_string_id *out)
{
	return look_up_text(model, KIND_STRING, process_id, id, out);
}

bool st_model_domain(const struct st_model *model, uint32_t process_id, uint32_t id,
		     st_string_id *out)
{
	return look_up_text(model, KIND_DOMAIN, process_id, id, out);
}

uint32_t st_model_object(const struct st_model *model, uint32_t process_id, uint32_t id)
{
	return look_up(model, KIND_OBJECT, process_id, id);
}

uint32_t st_model_signature(const struct st_model *model, uint32_t process_id, uint32_t id)
{
	return look_up(model, KIND_SIGNATURE, process_id, id);
}

bool st_model_offer_head(struct st_model *model, const struct st_file_head *head)
{
	if (model->has_head)
		return memcmp(model->head.result_id, head->result_id, sizeof(head->result_id)) == 0;
	model->head = *head;
	model->has_head = true;
	return true;
}
