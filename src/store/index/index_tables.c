// SPDX-License-Identifier: Apache-2.0
//
// Sections to tables and back (store/index/index_tables.h), and the check of what a file from disk says.
#include "store/index/index_tables.h"

#include <stdlib.h>
#include <string.h>

#include "store/index/index_meta.h"
#include "store/model/text_table.h"

void st_index_tables_fini(struct st_index_tables *tables)
{
	if (!tables)
		return;
	if (!tables->is_mapped) {
		free(tables->ids);
		free(tables->blob_ends);
		free(tables->blob_bytes);
		free(tables->spans);
		free(tables->sync_objects);
		free(tables->objects);
		free(tables->facts);
		free(tables->callers);
		free(tables->task_events);
		free(tables->operators);
		free(tables->moments);
		free(tables->calls);
	}
	memset(tables, 0, sizeof(*tables));
}

static struct st_index_block block_of(const void *data, uint32_t count, size_t item_bytes)
{
	return (struct st_index_block){.data = data, .size_bytes = (uint64_t)count * item_bytes};
}

void st_index_tables_blocks(const struct st_index_tables *tables,
			    struct st_index_block blocks[ST_SECTIONS])
{
	blocks[ST_SECTION_IDS] = block_of(tables->ids, tables->id_count, sizeof(*tables->ids));
	blocks[ST_SECTION_BLOB_ENDS] =
		block_of(tables->blob_ends, tables->blob_count, sizeof(*tables->blob_ends));
	blocks[ST_SECTION_BLOB_BYTES] = (struct st_index_block){
		.data = tables->blob_bytes, .size_bytes = tables->blob_size_bytes};
	blocks[ST_SECTION_SPANS] =
		block_of(tables->spans, tables->span_count, sizeof(*tables->spans));
	blocks[ST_SECTION_SYNC_OBJECTS] = block_of(tables->sync_objects, tables->sync_object_count,
						   sizeof(*tables->sync_objects));
	blocks[ST_SECTION_OBJECTS] =
		block_of(tables->objects, tables->object_count, sizeof(*tables->objects));
	blocks[ST_SECTION_FACTS] =
		block_of(tables->facts, tables->fact_count, sizeof(*tables->facts));
	blocks[ST_SECTION_CALLERS] =
		block_of(tables->callers, tables->caller_count, sizeof(*tables->callers));
	blocks[ST_SECTION_TASK_EVENTS] = block_of(tables->task_events, tables->task_event_count,
						  sizeof(*tables->task_events));
	blocks[ST_SECTION_OPERATORS] =
		block_of(tables->operators, tables->operator_count, sizeof(*tables->operators));
	blocks[ST_SECTION_MEMORY] =
		block_of(tables->moments, tables->moment_count, sizeof(*tables->moments));
	blocks[ST_SECTION_CALLS] =
		block_of(tables->calls, tables->call_count, sizeof(*tables->calls));
}

static void *items_of(const struct st_index_block *block, size_t item_bytes, uint32_t *count,
		      bool *ok)
{
	uint64_t items = block->size_bytes / item_bytes;

	if (block->size_bytes % item_bytes || items >= ST_NO_ROW)
		*ok = false;
	*count = *ok ? (uint32_t)items : 0;
	return *count ? (void *)(uintptr_t)block->data : NULL;
}

/* Every blob ends behind the one before and is terminated. */
static bool blobs_are_sound(const struct st_index_tables *tables)
{
	uint64_t begin = 0;

	for (uint32_t i = 0; i < tables->blob_count; i++) {
		uint64_t end = tables->blob_ends[i];

		if (end < begin || end >= tables->blob_size_bytes || tables->blob_bytes[end])
			return false;
		begin = end + 1;
	}
	return begin == tables->blob_size_bytes;
}

bool st_index_tables_read(struct st_index_tables *tables,
			  const struct st_index_block sections[ST_SECTIONS])
{
	bool ok = true;

	memset(tables, 0, sizeof(*tables));
	tables->is_mapped = true;
	tables->ids =
		items_of(&sections[ST_SECTION_IDS], sizeof(*tables->ids), &tables->id_count, &ok);
	tables->blob_ends = items_of(&sections[ST_SECTION_BLOB_ENDS], sizeof(*tables->blob_ends),
				     &tables->blob_count, &ok);
	tables->blob_bytes = (char *)(uintptr_t)sections[ST_SECTION_BLOB_BYTES].data;
	tables->blob_size_bytes = sections[ST_SECTION_BLOB_BYTES].size_bytes;
	tables->spans = items_of(&sections[ST_SECTION_SPANS], sizeof(*tables->spans),
				 &tables->span_count, &ok);
	tables->sync_objects =
		items_of(&sections[ST_SECTION_SYNC_OBJECTS], sizeof(*tables->sync_objects),
			 &tables->sync_object_count, &ok);
	tables->objects = items_of(&sections[ST_SECTION_OBJECTS], sizeof(*tables->objects),
				   &tables->object_count, &ok);
	tables->facts = items_of(&sections[ST_SECTION_FACTS], sizeof(*tables->facts),
				 &tables->fact_count, &ok);
	tables->callers = items_of(&sections[ST_SECTION_CALLERS], sizeof(*tables->callers),
				   &tables->caller_count, &ok);
	tables->task_events =
		items_of(&sections[ST_SECTION_TASK_EVENTS], sizeof(*tables->task_events),
			 &tables->task_event_count, &ok);
	tables->operators = items_of(&sections[ST_SECTION_OPERATORS], sizeof(*tables->operators),
				     &tables->operator_count, &ok);
	tables->moments = items_of(&sections[ST_SECTION_MEMORY], sizeof(*tables->moments),
				   &tables->moment_count, &ok);
	tables->calls = items_of(&sections[ST_SECTION_CALLS], sizeof(*tables->calls),
				 &tables->call_count, &ok);
	return ok && blobs_are_sound(tables);
}

bool st_index_tables_take_blobs(struct st_index_tables *tables, const struct st_text_table *texts)
{
	char *at;

	if (texts->count < 2)
		return true;
	tables->blob_ends = calloc(texts->count, sizeof(*tables->blob_ends));
	at = tables->blob_bytes = malloc((size_t)texts->size_bytes + texts->count);
	if (!tables->blob_ends || !tables->blob_bytes)
		return false;
	for (uint32_t i = 0; i < texts->count; i++) {
		size_t bytes = texts->texts[i].size_bytes;

		memcpy(at, texts->texts[i].bytes, bytes + 1);
		tables->blob_ends[i] = (uint64_t)(at - tables->blob_bytes) + bytes;
		at += bytes + 1;
	}
	tables->blob_count = texts->count;
	tables->blob_size_bytes = (uint64_t)(at - tables->blob_bytes);
	return true;
}

struct st_text st_index_tables_blob(const struct st_index_tables *tables, uint32_t blob)
{
	uint64_t begin;

	if (blob >= tables->blob_count)
		return (struct st_text){.bytes = "", .size_bytes = 0};
	begin = blob ? tables->blob_ends[blob - 1] + 1 : 0;
	return (struct st_text){.bytes = tables->blob_bytes + begin,
				.size_bytes = (size_t)(tables->blob_ends[blob] - begin)};
}

struct limits {
	const struct st_index_tables *tables;
	uint32_t rows, events, texts, processes, tracks;
};

static bool is_row(uint32_t value, uint32_t count)
{
	return value == ST_NO_ROW || value < count;
}

/* The first of ids and blobs stands for none and need not be there. */
static bool is_item(uint32_t value, uint32_t count)
{
	return !value || value < count;
}

static bool event_is_sound(const struct st_event_row *row, const struct limits *limits)
{
	const struct st_index_tables *tables = limits->tables;

	return row->domain < limits->texts && row->name < limits->texts &&
	       is_row(row->object, tables->object_count) && is_item(row->id, tables->id_count) &&
	       is_item(row->other, tables->id_count) && is_item(row->data, tables->blob_count);
}

static bool span_is_sound(const struct st_span *span, const struct limits *limits)
{
	const struct st_index_tables *tables = limits->tables;
	bool is_sync = span->kind == ST_SPAN_WAIT || span->kind == ST_SPAN_HOLD;

	return span->kind < ST_SPAN_KINDS && span->process < limits->processes &&
	       is_row(span->begin_track, limits->tracks) &&
	       is_row(span->end_track, limits->tracks) && is_row(span->slice, limits->rows) &&
	       span->domain < limits->texts && span->name < limits->texts &&
	       is_row(span->object, is_sync ? tables->sync_object_count : tables->object_count) &&
	       is_item(span->id, tables->id_count) && is_item(span->parent, tables->id_count) &&
	       span->event < limits->events && span->begin_ns <= span->end_ns;
}

static bool tables_are_sound(const struct limits *limits)
{
	const struct st_index_tables *tables = limits->tables;
	bool sound = true;

	for (uint32_t i = 0; i < tables->span_count; i++)
		sound &= span_is_sound(&tables->spans[i], limits);
	for (uint32_t i = 0; i < tables->sync_object_count; i++)
		sound &= tables->sync_objects[i].process < limits->processes &&
			 tables->sync_objects[i].type < limits->texts &&
			 tables->sync_objects[i].name < limits->texts;
	for (uint32_t i = 0; i < tables->object_count; i++)
		sound &= tables->objects[i].process < limits->processes &&
			 tables->objects[i].name < limits->texts &&
			 tables->objects[i].domain < limits->texts &&
			 is_row(tables->objects[i].parent, tables->object_count);
	for (uint32_t i = 0; i < tables->fact_count; i++)
		sound &= tables->facts[i].object < tables->object_count &&
			 tables->facts[i].text < limits->texts;
	for (uint32_t i = 0; i < tables->caller_count; i++)
		sound &= (!i || tables->callers[i].process < limits->processes) &&
			 tables->callers[i].place < limits->texts;
	for (uint32_t i = 0; i < tables->task_event_count; i++)
		sound &= tables->task_events[i] < limits->events;
	return sound;
}

bool st_index_events_are_sound(const struct st_index *index, const struct st_index_meta *meta,
			       uint32_t text_count, uint32_t process_count)
{
	const struct limits limits = {.tables = &meta->tables,
				      .rows = index->shape.row_count,
				      .events = index->shape.event_count,
				      .texts = text_count,
				      .processes = process_count,
				      .tracks = meta->track_count};
	const struct st_event_row *rows = index->columns.events;
	uint32_t family = 0;
	bool sound = true;

	for (uint32_t t = 0; t < meta->track_count; t++) {
		const struct st_index_track *track = &meta->tracks[t];

		for (uint32_t i = track->event_begin; i < track->event_end; i++)
			sound &=
				event_is_sound(&rows[i], &limits) && rows[i].track == t &&
				(rows[i].slice == ST_NO_ROW || (rows[i].slice >= track->row_begin &&
								rows[i].slice < track->row_end));
		family = track->event_end;
	}
	for (uint32_t i = family; i < limits.events; i++)
		sound &= event_is_sound(&rows[i], &limits) && rows[i].track == ST_NO_ROW &&
			 rows[i].slice == ST_NO_ROW;
	for (uint32_t i = 0; index->columns.callers && i < limits.rows; i++)
		sound &= is_item(index->columns.callers[i], meta->tables.caller_count);
	return sound && tables_are_sound(&limits);
}
