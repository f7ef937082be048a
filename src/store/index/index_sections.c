// SPDX-License-Identifier: Apache-2.0
//
// The sections of the index: one table says where each lies in memory, how large its items are, and how its content
// is checked (store/index/index_meta.h). A checksum only shows that an index from disk is undamaged; values used as
// subscripts must also be in range.
#include "store/index/index_meta.h"

#include <stdlib.h>
#include <string.h>

#include "format/wait_kind.h"
#include "store/model/model.h"

struct view {
	const struct st_index *index;
	const struct st_index_meta *meta;
	const struct st_index_tables *tables;
	const struct st_model *model;
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

/* Tracks divide the rows among them, in order and without a gap; events too, but for the last ones, which are
 * the family's. */
static bool tracks_are_sound(const struct view *view)
{
	const struct st_index_shape *shape = &view->index->shape;
	uint32_t rows = 0, events = 0, samples = 0;

	for (uint32_t i = 0; i < view->tracks; i++) {
		const struct st_index_track *track = &view->meta->tracks[i];

		if (track->row_begin != rows || track->row_end < rows ||
		    track->event_begin != events || track->event_end < events ||
		    track->sample_begin != samples || track->sample_end < samples ||
		    !is_row(track->creator, view->tracks))
			return false;
		samples = track->sample_end;
		rows = track->row_end;
		events = track->event_end;
	}
	return rows == shape->row_count && events <= shape->event_count &&
	       samples == shape->sample_count;
}

static bool labels_are_sound(const struct view *view)
{
	const struct st_index_label *labels = view->meta->labels;
	bool sound = true;

	for (uint32_t i = 0; i < view->meta->label_count; i++)
		sound &= labels[i].domain < view->texts && labels[i].name < view->texts &&
			 labels[i].category < ST_CATEGORIES && labels[i].from_itt <= 1;
	return sound;
}

static bool clock_is_sound(const struct view *view)
{
	const struct st_clock_map *clock = &view->meta->clock;
	bool sound = clock->count > 0;

	for (uint32_t i = 0; i < clock->count; i++)
		sound &= clock->knots[i].ns >= 0;
	return sound;
}

/* Every blob ends behind the one before and is terminated. */
static bool blobs_are_sound(const struct view *view)
{
	const struct st_index_tables *tables = view->tables;
	uint64_t begin = 0;

	for (uint32_t i = 0; i < tables->blob_count; i++) {
		uint64_t end = tables->blob_ends[i];

		if (end < begin || end >= tables->blob_size_bytes || tables->blob_bytes[end])
			return false;
		begin = end + 1;
	}
	return begin == tables->blob_size_bytes;
}

static bool span_event_is_sound(const struct st_span *span, const struct view *view)
{
	if (span->kind == ST_SPAN_WAIT && span->event & ST_SPAN_TOLD)
		return !(span->event & ~(ST_SPAN_TOLD | ST_WAIT_DETAIL_MASK));
	return span->event < view->events;
}

static bool spans_are_sound(const struct view *view)
{
	const struct st_index_tables *tables = view->tables;
	bool sound = true;

	for (uint32_t i = 0; i < tables->span_count; i++) {
		const struct st_span *span = &tables->spans[i];
		bool is_sync = span->kind == ST_SPAN_WAIT || span->kind == ST_SPAN_HOLD;

		sound &= span->kind < ST_SPAN_KINDS && span->process < view->processes &&
			 is_row(span->begin_track, view->tracks) &&
			 is_row(span->end_track, view->tracks) && is_row(span->slice, view->rows) &&
			 span->domain < view->texts && span->name < view->texts &&
			 is_row(span->object,
				is_sync ? tables->sync_object_count : tables->object_count) &&
			 is_item(span->id, tables->id_count) &&
			 is_item(span->parent, tables->id_count) &&
			 span_event_is_sound(span, view) && span->begin_ns <= span->end_ns;
	}
	return sound;
}

static bool sync_objects_are_sound(const struct view *view)
{
	const struct st_sync_object *objects = view->tables->sync_objects;
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->sync_object_count; i++)
		sound &= objects[i].process < view->processes && objects[i].type < view->texts &&
			 objects[i].name < view->texts && objects[i].made_at < view->texts;
	return sound;
}

static bool objects_are_sound(const struct view *view)
{
	const struct st_object *objects = view->tables->objects;
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->object_count; i++)
		sound &= objects[i].process < view->processes && objects[i].name < view->texts &&
			 objects[i].domain < view->texts &&
			 is_row(objects[i].parent, view->tables->object_count);
	return sound;
}

static bool facts_are_sound(const struct view *view)
{
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->fact_count; i++)
		sound &= view->tables->facts[i].object < view->tables->object_count &&
			 view->tables->facts[i].text < view->texts;
	return sound;
}

static bool callers_are_sound(const struct view *view)
{
	const uint32_t *of_slice = view->index->columns.callers;
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->caller_count; i++)
		sound &= (!i || view->tables->callers[i].process < view->processes) &&
			 view->tables->callers[i].place < view->texts;
	for (uint32_t i = 0; of_slice && i < view->rows; i++)
		sound &= is_item(of_slice[i], view->tables->caller_count);
	return sound;
}

static bool task_events_are_sound(const struct view *view)
{
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->task_event_count; i++)
		sound &= view->tables->task_events[i] < view->events;
	return sound;
}

static bool operators_are_sound(const struct view *view)
{
	const struct st_operator *items = view->tables->operators;
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->operator_count; i++)
		sound &= items[i].row < view->rows && (!i || items[i].row > items[i - 1].row) &&
			 is_row(items[i].signature, view->model->signature_count) &&
			 is_item(items[i].stack, view->model->forest.node_count);
	return sound;
}

static bool moments_are_sound(const struct view *view, const struct st_memory_moment *items,
			      uint32_t count)
{
	bool sound = true;

	for (uint32_t i = 0; i < count; i++)
		sound &= items[i].track < view->tracks && is_row(items[i].row, view->rows) &&
			 items[i].time_ns >= (i ? items[i - 1].time_ns : 0);
	return sound;
}

static bool memory_is_sound(const struct view *view)
{
	return moments_are_sound(view, view->tables->moments, view->tables->moment_count);
}

static bool device_memory_is_sound(const struct view *view)
{
	return moments_are_sound(view, view->tables->device_moments,
				 view->tables->device_moment_count);
}

static bool calls_are_sound(const struct view *view)
{
	const struct st_traced_call *calls = view->tables->calls;
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->call_count; i++) {
		uint32_t up = calls[i].parent;

		sound &= calls[i].track < view->tracks && calls[i].name < view->texts &&
			 calls[i].begin_ns <= calls[i].end_ns;
		sound &= up == ST_NO_ROW || (up < i && calls[up].track == calls[i].track);
		sound &= !i || calls[i - 1].track < calls[i].track ||
			 (calls[i - 1].track == calls[i].track &&
			  calls[i - 1].begin_ns <= calls[i].begin_ns);
	}
	return sound;
}

static bool flows_are_sound(const struct view *view)
{
	const struct st_slice_flow *flows = view->tables->flows;
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->flow_count; i++)
		sound &= flows[i].from < view->rows && flows[i].to < view->rows;
	return sound;
}

static bool devices_are_sound(const struct view *view)
{
	const struct st_device_item *items = view->tables->devices;
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->device_count; i++)
		sound &= items[i].row < view->rows && (!i || items[i].row > items[i - 1].row) &&
			 items[i].kind && items[i].kind < ST_DEVICE_KINDS;
	return sound;
}

static bool off_cpu_is_sound(const struct view *view)
{
	const struct st_off_row *rows = view->tables->off_cpu;
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->off_cpu_count; i++)
		sound &= rows[i].track < view->tracks && rows[i].begin_ns >= 0 &&
			 (!i || rows[i - 1].track < rows[i].track ||
			  (rows[i - 1].track == rows[i].track &&
			   rows[i - 1].begin_ns <= rows[i].begin_ns));
	return sound;
}

static bool abouts_are_sound(const struct view *view)
{
	const struct st_device_about *abouts = view->tables->abouts;
	bool sound = true;

	for (uint32_t i = 0; i < view->tables->about_count; i++)
		sound &= abouts[i].process < view->processes && abouts[i].name < view->texts;
	return sound;
}

static bool slices_are_sound(const struct view *view)
{
	const struct st_index_columns *columns = &view->index->columns;
	bool sound = true;

	for (uint32_t t = 0; t < view->tracks && sound; t++) {
		const struct st_index_track *track = &view->meta->tracks[t];

		for (uint32_t row = track->row_begin; row < track->row_end; row++) {
			uint32_t parent = columns->parent[row];

			sound &= columns->label[row] < view->meta->label_count;
			sound &= columns->track[row] == t;
			sound &=
				parent == ST_NO_ROW || (parent >= track->row_begin && parent < row);
			sound &= columns->begin_ns[row] >= 0 &&
				 columns->end_ns[row] >= columns->begin_ns[row];
		}
	}
	return sound;
}

static bool is_in_track(uint32_t slice, const struct st_index_track *track)
{
	return slice == ST_NO_ROW || (slice >= track->row_begin && slice < track->row_end);
}

static bool samples_are_sound(const struct view *view)
{
	const struct st_sample_columns *columns = &view->index->columns.samples;
	bool sound = true;

	for (uint32_t t = 0; t < view->tracks && sound; t++) {
		const struct st_index_track *track = &view->meta->tracks[t];
		int64_t last_ns = 0;

		for (uint32_t i = track->sample_begin; i < track->sample_end; i++) {
			sound &= columns->node[i] < view->model->forest.node_count &&
				 columns->track[i] == t;
			sound &= is_in_track(columns->slice[i], track) &&
				 is_row(columns->inherited[i], view->rows);
			sound &= columns->time_ns[i] >= last_ns;
			last_ns = columns->time_ns[i];
		}
	}
	return sound;
}

static bool event_is_sound(const struct st_event_row *row, const struct view *view)
{
	const struct st_index_tables *tables = view->tables;

	return row->domain < view->texts && row->name < view->texts &&
	       is_row(row->object, tables->object_count) && is_item(row->id, tables->id_count) &&
	       is_item(row->other, tables->id_count) && is_item(row->data, tables->blob_count);
}

static bool events_are_sound(const struct view *view)
{
	const struct st_event_row *rows = view->index->columns.events;
	uint32_t family = 0;
	bool sound = true;

	for (uint32_t t = 0; t < view->tracks; t++) {
		const struct st_index_track *track = &view->meta->tracks[t];

		for (uint32_t i = track->event_begin; i < track->event_end; i++)
			sound &= event_is_sound(&rows[i], view) && rows[i].track == t &&
				 is_in_track(rows[i].slice, track);
		family = track->event_end;
	}
	for (uint32_t i = family; i < view->events; i++)
		sound &= event_is_sound(&rows[i], view) && rows[i].track == ST_NO_ROW &&
			 rows[i].slice == ST_NO_ROW;
	return sound;
}

/* Tracks come first: what follows relies on them. */
static const struct section {
	const char *name;
	size_t item_bytes, items_at, count_at, count_bytes; /* in struct st_index_meta */
	bool (*is_sound)(const struct view *);
} sections[] = {
#define MEMBER(member) ((struct st_index_meta *)0)->member
#define SECTION(name, items, count, is_sound)                                                      \
	{                                                                                          \
		name, sizeof(*MEMBER(items)), offsetof(struct st_index_meta, items),               \
			offsetof(struct st_index_meta, count), sizeof(MEMBER(count)), is_sound     \
	}
	SECTION("tracks", tracks, track_count, tracks_are_sound),
	SECTION("labels", labels, label_count, labels_are_sound),
	SECTION("clock", clock.knots, clock.count, clock_is_sound),
	SECTION("ids", tables.ids, tables.id_count, NULL),
	SECTION("ends of data", tables.blob_ends, tables.blob_count, NULL),
	SECTION("data", tables.blob_bytes, tables.blob_size_bytes, blobs_are_sound),
	SECTION("spans", tables.spans, tables.span_count, spans_are_sound),
	SECTION("sync objects", tables.sync_objects, tables.sync_object_count,
		sync_objects_are_sound),
	SECTION("objects", tables.objects, tables.object_count, objects_are_sound),
	SECTION("facts", tables.facts, tables.fact_count, facts_are_sound),
	SECTION("callers", tables.callers, tables.caller_count, callers_are_sound),
	SECTION("task events", tables.task_events, tables.task_event_count, task_events_are_sound),
	SECTION("operators", tables.operators, tables.operator_count, operators_are_sound),
	SECTION("memory", tables.moments, tables.moment_count, memory_is_sound),
	SECTION("flows", tables.flows, tables.flow_count, flows_are_sound),
	SECTION("calls", tables.calls, tables.call_count, calls_are_sound),
	SECTION("devices", tables.devices, tables.device_count, devices_are_sound),
	SECTION("off CPU", tables.off_cpu, tables.off_cpu_count, off_cpu_is_sound),
	SECTION("about devices", tables.abouts, tables.about_count, abouts_are_sound),
	SECTION("device memory", tables.device_moments, tables.device_moment_count,
		device_memory_is_sound),
};
enum { SECTIONS = sizeof(sections) / sizeof(sections[0]) };
_Static_assert(sizeof(sections) / sizeof(sections[0]) <= ST_SECTIONS_MAX,
	       "the head of the index has room for every section");

/* Columns are placed by index_map.c; their content is checked like that of sections. */
static bool (*const columns_are_sound[])(const struct view *) = {
	slices_are_sound, samples_are_sound, events_are_sound};

static void *items_of(const struct st_index_meta *meta, const struct section *section)
{
	void *items;

	memcpy(&items, (const char *)meta + section->items_at, sizeof(items));
	return items;
}

static void set_items(struct st_index_meta *meta, const struct section *section, const void *items,
		      uint64_t count)
{
	uint32_t narrow = (uint32_t)count;

	memcpy((char *)meta + section->items_at, &items, sizeof(items));
	memcpy((char *)meta + section->count_at,
	       section->count_bytes == sizeof(count) ? (const void *)&count : &narrow,
	       section->count_bytes);
}

void st_index_sections_fini(struct st_index_meta *meta)
{
	for (unsigned int i = 0; i < SECTIONS; i++) {
		if (!meta->is_mapped)
			free(items_of(meta, &sections[i]));
		set_items(meta, &sections[i], NULL, 0);
	}
}

void st_index_sections_write(const struct st_index_meta *meta,
			     struct st_index_block blocks[ST_SECTIONS_MAX])
{
	memset(blocks, 0, ST_SECTIONS_MAX * sizeof(*blocks));
	for (unsigned int i = 0; i < SECTIONS; i++) {
		const struct section *section = &sections[i];
		uint64_t count = 0; /* the format and we are little-endian */

		memcpy(&count, (const char *)meta + section->count_at, section->count_bytes);
		blocks[i] = (struct st_index_block){.data = items_of(meta, section),
						    .size_bytes = count * section->item_bytes};
	}
}

bool st_index_sections_read(struct st_index_meta *meta,
			    const struct st_index_block blocks[ST_SECTIONS_MAX])
{
	meta->is_mapped = true;
	for (unsigned int i = 0; i < SECTIONS; i++) {
		const struct section *section = &sections[i];
		uint64_t count = blocks[i].size_bytes / section->item_bytes;

		if (blocks[i].size_bytes % section->item_bytes ||
		    (section->count_bytes == sizeof(uint32_t) && count >= ST_NO_ROW))
			return false;
		set_items(meta, section, count ? blocks[i].data : NULL, count);
	}
	return true;
}

bool st_index_is_sound(const struct st_index *index, const struct st_index_meta *meta,
		       const struct st_model *model)
{
	const struct view view = {.index = index,
				  .meta = meta,
				  .tables = &meta->tables,
				  .model = model,
				  .rows = index->shape.row_count,
				  .events = index->shape.event_count,
				  .texts = model->texts.count,
				  .processes = model->process_count,
				  .tracks = meta->track_count};

	for (unsigned int i = 0; i < SECTIONS; i++)
		if (sections[i].is_sound && !sections[i].is_sound(&view))
			return false;
	for (size_t i = 0; i < sizeof(columns_are_sound) / sizeof(columns_are_sound[0]); i++)
		if (!columns_are_sound[i](&view))
			return false;
	return true;
}
