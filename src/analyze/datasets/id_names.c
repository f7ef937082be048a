// SPDX-License-Identifier: Apache-2.0
//
// Names of what ITT ids stand for, gathered from every record that gives an id to something named.
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/itt_values.h"

struct st_id_names {
	const struct st_result *result;
	uint32_t count;
	struct st_text *texts; /* by id; bytes NULL: not known */
};

struct st_text st_slice_name(const struct st_result *result, uint32_t slice)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);

	if (slice >= slices->count)
		return (struct st_text){"[no task]", 9};
	return st_result_text(result, labels[slices->label[slice]].name);
}

static struct st_text name_of(const struct st_result *result, const struct st_event_row *row)
{
	switch (row->kind) {
	case ST_EVENT_TASK_ID:
		return st_slice_name(result, row->slice);
	case ST_EVENT_FRAME_BEGIN:
	case ST_EVENT_FRAME_SUBMIT:
		return st_result_text(result, row->domain);
	case ST_EVENT_TIMED_BEGIN:
	case ST_EVENT_OVERLAPPED_BEGIN:
	case ST_EVENT_TASK_GROUP:
	case ST_EVENT_REGION_BEGIN:
	case ST_EVENT_MARKER:
		return st_result_text(result, row->name);
	default:
		return (struct st_text){NULL, 0};
	}
}

struct st_id_names *st_id_names_make(const struct st_result *result)
{
	const struct st_events *events = st_result_events(result);
	struct st_id_names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->result = result;
	st_result_ids(result, &names->count);
	names->texts = calloc((size_t)names->count + 1, sizeof(*names->texts));
	if (!names->texts) {
		free(names);
		return NULL;
	}
	for (uint32_t i = 0; i < events->count; i++) {
		const struct st_event_row *row = &events->rows[i];
		struct st_text name;

		if (!row->id || row->id >= names->count || names->texts[row->id].bytes)
			continue;
		name = name_of(result, row);
		if (name.size_bytes)
			names->texts[row->id] = name;
	}
	return names;
}

void st_id_names_free(struct st_id_names *names)
{
	if (!names)
		return;
	free(names->texts);
	free(names);
}

struct st_text st_id_names_text(const struct st_id_names *names, uint32_t id,
				struct st_arena *arena)
{
	uint32_t count;
	const struct st_itt_id *ids = st_result_ids(names->result, &count);
	struct st_text text;
	char *shown;

	if (id < names->count && names->texts[id].bytes)
		return names->texts[id];
	if (!id || id >= count)
		return (struct st_text){"[no id]", 7};
	text = st_itt_id_text(&ids[id], arena);
	shown = st_arena_printf(arena, "id %s", text.bytes);
	return (struct st_text){shown ? shown : "", shown ? strlen(shown) : 0};
}

/* What a piece of metadata is about when its scope says so. */
static struct st_text scope_owner(const struct st_result *result, const struct st_event_row *row)
{
	switch (row->detail >> 16) {
	case 1:
		return (struct st_text){"[everything]", 12};
	case 2:
		return (struct st_text){"[process]", 9};
	case 3:
		return (struct st_text){"[thread]", 8};
	case 5:
		return (struct st_text){"[marker]", 8};
	default:
		return st_slice_name(result, row->slice);
	}
}

struct st_text st_metadata_owner(const struct st_result *result, const struct st_id_names *names,
				 const struct st_event_row *row, struct st_arena *arena)
{
	if (row->kind == ST_EVENT_METADATA_SCOPED || row->kind == ST_EVENT_METADATA_TEXT_SCOPED)
		return scope_owner(result, row);
	return row->id ? st_id_names_text(names, row->id, arena)
		       : st_slice_name(result, row->slice);
}
