// SPDX-License-Identifier: Apache-2.0
//
// The accessors of store/events.h over an open result.
#include "store/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "store/read/result_state.h"

const struct st_events *st_result_events(const struct st_result *result)
{
	return &result->events;
}

const struct st_itt_id *st_result_ids(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.id_count;
	return result->meta.tables.ids;
}

struct st_text st_result_blob(const struct st_result *result, uint32_t blob)
{
	const struct st_index_tables *tables = &result->meta.tables;
	uint64_t begin;

	if (blob >= tables->blob_count)
		return (struct st_text){.bytes = "", .size_bytes = 0};
	begin = blob ? tables->blob_ends[blob - 1] + 1 : 0;
	return (struct st_text){.bytes = tables->blob_bytes + begin,
				.size_bytes = (size_t)(tables->blob_ends[blob] - begin)};
}

const struct st_span *st_result_spans(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.span_count;
	return result->meta.tables.spans;
}

const struct st_sync_object *st_result_sync_objects(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.sync_object_count;
	return result->named_objects ? result->named_objects : result->meta.tables.sync_objects;
}

/* The one to be changed, in a copy: the index is mapped for reading. */
static struct st_sync_object *own_sync_object(struct st_result *result, uint32_t object)
{
	const struct st_index_tables *tables = &result->meta.tables;
	size_t bytes = tables->sync_object_count * sizeof(*tables->sync_objects);

	if (object >= tables->sync_object_count)
		return NULL;
	if (!result->named_objects) {
		result->named_objects = malloc(bytes);
		if (!result->named_objects)
			return NULL;
		memcpy(result->named_objects, tables->sync_objects, bytes);
	}
	return &result->named_objects[object];
}

bool st_result_name_sync_object(struct st_result *result, uint32_t object, struct st_text name)
{
	struct st_sync_object *own = own_sync_object(result, object);

	return own &&
	       st_text_table_add(&result->model.texts, name.bytes, name.size_bytes, &own->name);
}

bool st_result_place_sync_object(struct st_result *result, uint32_t object, struct st_text made_at)
{
	struct st_sync_object *own = own_sync_object(result, object);

	return own && st_text_table_add(&result->model.texts, made_at.bytes, made_at.size_bytes,
					&own->made_at);
}

const struct st_object *st_result_objects(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.object_count;
	return result->meta.tables.objects;
}

const struct st_object_fact *st_result_object_facts(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.fact_count;
	return result->meta.tables.facts;
}

const struct st_code *st_result_code(const struct st_result *result, uint32_t *count)
{
	*count = result->code.count;
	return result->code.items;
}

const struct st_code_map *st_result_code_maps(const struct st_result *result, uint32_t *count)
{
	*count = result->code.map_count;
	return result->code.maps;
}

const struct st_caller *st_result_callers(const struct st_result *result, uint32_t *count)
{
	*count = result->meta.tables.caller_count;
	return result->meta.tables.callers;
}

const uint32_t *st_result_slice_callers(const struct st_result *result)
{
	return result->index.columns.callers;
}

uint32_t st_result_slice_event(const struct st_result *result, uint32_t slice, uint32_t kind)
{
	const struct st_index_tables *tables = &result->meta.tables;
	const struct st_event_row *rows = result->events.rows;
	uint32_t low = ST_SEARCH(i, 0, tables->task_event_count,
				 rows[tables->task_events[i]].slice < slice);

	for (; low < tables->task_event_count; low++) {
		uint32_t row = tables->task_events[low];

		if (rows[row].slice != slice)
			break;
		if (rows[row].kind == kind)
			return row;
	}
	return ST_NO_ROW;
}
