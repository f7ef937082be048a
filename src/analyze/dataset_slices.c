// SPDX-License-Identifier: Apache-2.0
//
// Slices as a dataset: keys of processes, threads, domains, types and families out of the label and
// track columns of a result, and the time of slices that straddle a pause.
#include "analyze/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/result.h"

struct slices_private {
	const struct st_result *result;
	struct st_arena arena;
	/* key → string id, for groupings whose keys are texts */
	st_string_id *texts[ST_GROUPINGS];
	struct st_pause_window *pauses; /* of all processes, by begin */
	uint32_t pause_count;
};

/* Turns string ids into dense keys, equal texts to one key: ids of equal texts from two processes need
 * not be equal. Open addressing; sized for all labels being different. */
struct interner {
	const struct st_result *result;
	uint32_t *slots; /* key + 1 */
	uint32_t mask;
	st_string_id *texts;
	uint32_t count;
};

static uint32_t hash_text(struct st_text text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < text.size_bytes; i++)
		hash = (hash ^ (uint8_t)text.bytes[i]) * 0x100000001b3ull;
	return (uint32_t)(hash ^ hash >> 32);
}

static uint32_t intern(struct interner *table, st_string_id id)
{
	struct st_text text = st_result_text(table->result, id);
	uint32_t at = hash_text(text) & table->mask;

	for (; table->slots[at]; at = (at + 1) & table->mask) {
		st_string_id other = table->texts[table->slots[at] - 1];
		struct st_text known = st_result_text(table->result, other);

		if (other == id || (known.size_bytes == text.size_bytes &&
				    memcmp(known.bytes, text.bytes, text.size_bytes) == 0))
			return table->slots[at] - 1;
	}
	table->texts[table->count] = id;
	table->slots[at] = ++table->count;
	return table->count - 1;
}

static st_string_id label_text(const struct st_label *label, enum st_grouping grouping)
{
	if (grouping == ST_BY_TASK_DOMAIN)
		return label->domain;
	return grouping == ST_BY_TASK_FAMILY ? label->family : label->name;
}

static bool map_labels(struct st_dataset *dataset, enum st_grouping grouping,
		       const struct st_slices *slices)
{
	struct slices_private *own = dataset->private_data;
	struct interner table = {.result = own->result, .mask = 15};
	uint32_t count;
	const struct st_label *labels = st_result_labels(own->result, &count);
	uint32_t *map = st_arena_calloc(&own->arena, (size_t)count + 1, sizeof(*map));

	while (table.mask < 2 * (uint64_t)count)
		table.mask = table.mask * 2 + 1;
	table.texts = st_arena_calloc(&own->arena, (size_t)count + 1, sizeof(*table.texts));
	table.slots = calloc((size_t)table.mask + 1, sizeof(*table.slots));
	if (!map || !table.texts || !table.slots) {
		free(table.slots);
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		map[i] = intern(&table, label_text(&labels[i], grouping));
	free(table.slots);
	own->texts[grouping] = table.texts;
	dataset->keys[grouping] = (struct st_key_column){slices->label, map, table.count};
	return true;
}

static bool map_tracks(struct st_dataset *dataset, const struct st_slices *slices)
{
	struct slices_private *own = dataset->private_data;
	uint32_t track_count, process_count;
	const struct st_track *tracks = st_result_tracks(own->result, &track_count);
	struct st_row_span *spans =
		st_arena_calloc(&own->arena, (size_t)track_count + 1, sizeof(*spans));
	uint32_t *map = st_arena_calloc(&own->arena, (size_t)track_count + 1, sizeof(*map));

	if (!spans || !map)
		return false;
	st_result_processes(own->result, &process_count);
	for (uint32_t i = 0; i < track_count; i++) {
		spans[i] = (struct st_row_span){tracks[i].row_begin, tracks[i].row_end};
		map[i] = tracks[i].process;
	}
	dataset->tracks = spans;
	dataset->track_count = track_count;
	dataset->keys[ST_BY_PROCESS] = (struct st_key_column){slices->track, map, process_count};
	dataset->keys[ST_BY_THREAD] = (struct st_key_column){slices->track, NULL, track_count};
	return true;
}

static int by_begin(const void *a, const void *b)
{
	const struct st_pause_window *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Windows of one process and of the whole family may overlap: sorted together, one pass tells their
 * union. */
static bool sort_pauses(struct slices_private *own)
{
	const struct st_pause_window *pauses = st_result_pauses(own->result, &own->pause_count);

	own->pauses = st_arena_calloc(&own->arena, (size_t)own->pause_count + 1, sizeof(*pauses));
	if (!own->pauses)
		return false;
	if (own->pause_count) {
		memcpy(own->pauses, pauses, own->pause_count * sizeof(*pauses));
		qsort(own->pauses, own->pause_count, sizeof(*pauses), by_begin);
	}
	return true;
}

static uint64_t slice_part_ns(const struct st_dataset *dataset, uint32_t row, int64_t begin_ns,
			      int64_t end_ns)
{
	const struct slices_private *own = dataset->private_data;
	uint32_t process = st_key_of(&dataset->keys[ST_BY_PROCESS], row);
	int64_t covered_ns = begin_ns;
	uint64_t paused_ns = 0;

	if (begin_ns == dataset->begin_ns[row] && end_ns == dataset->end_ns[row])
		return st_result_wall_ns(own->result, row);
	for (uint32_t i = 0; i < own->pause_count && covered_ns < end_ns; i++) {
		const struct st_pause_window *pause = &own->pauses[i];
		int64_t from = pause->begin_ns > covered_ns ? pause->begin_ns : covered_ns;
		int64_t to = pause->end_ns < end_ns ? pause->end_ns : end_ns;

		if ((pause->process != process && pause->process != ST_NO_ROW) || from >= to)
			continue;
		paused_ns += (uint64_t)(to - from);
		covered_ns = to;
	}
	return (uint64_t)(end_ns - begin_ns) - paused_ns;
}

static struct st_text make_text(char *bytes)
{
	return (struct st_text){bytes ? bytes : "", bytes ? strlen(bytes) : 0};
}

static struct st_text join_text(struct st_arena *arena, struct st_text name, const char *tail)
{
	size_t tail_bytes = strlen(tail);
	char *bytes = st_arena_alloc(arena, name.size_bytes + tail_bytes + 1);

	if (!bytes)
		return (struct st_text){"", 0};
	memcpy(bytes, name.bytes, name.size_bytes);
	memcpy(bytes + name.size_bytes, tail, tail_bytes + 1);
	return (struct st_text){bytes, name.size_bytes + tail_bytes};
}

static struct st_text process_text(const struct st_result *result, uint32_t key,
				   struct st_arena *arena)
{
	uint32_t count;
	const struct st_process *process = &st_result_processes(result, &count)[key];
	struct st_text name = st_result_text(result, process->name);
	char tail[64];

	if (process->incarnation)
		snprintf(tail, sizeof(tail), " (%u, exec %u)", process->pid, process->incarnation);
	else
		snprintf(tail, sizeof(tail), " (%u)", process->pid);
	if (!name.size_bytes)
		name = (struct st_text){"process", 7};
	return join_text(arena, name, tail);
}

static struct st_text thread_name(const struct st_result *result, uint32_t key)
{
	uint32_t count, process_count;
	const struct st_track *track = &st_result_tracks(result, &count)[key];
	const struct st_process *processes = st_result_processes(result, &process_count);
	struct st_text name = st_result_text(result, track->name);

	if (name.size_bytes)
		return name;
	if (track->process < process_count && processes[track->process].pid == track->tid)
		return (struct st_text){"main", 4};
	return (struct st_text){"thread", 6};
}

static struct st_text thread_text(const struct st_result *result, uint32_t key,
				  struct st_arena *arena)
{
	uint32_t count;
	const struct st_track *track = &st_result_tracks(result, &count)[key];
	char tail[32];

	snprintf(tail, sizeof(tail), " (%u)", track->tid);
	return join_text(arena, thread_name(result, key), tail);
}

static struct st_text slice_text(const struct st_dataset *dataset, enum st_grouping grouping,
				 uint32_t key, struct st_arena *arena)
{
	const struct slices_private *own = dataset->private_data;

	switch (grouping) {
	case ST_BY_PROCESS:
		return process_text(own->result, key, arena);
	case ST_BY_THREAD:
		return thread_text(own->result, key, arena);
	case ST_BY_TASK:
		key = st_key_of(&dataset->keys[ST_BY_TASK_TYPE], key);
		grouping = ST_BY_TASK_TYPE;
		break;
	case ST_BY_TASK_STACK:
		grouping = ST_BY_TASK_TYPE;
		break;
	default:
		break;
	}
	return st_result_text(own->result, own->texts[grouping][key]);
}

static bool slice_alias(const struct st_dataset *dataset, enum st_grouping grouping, uint32_t key,
			unsigned int index, struct st_text *out, struct st_arena *arena)
{
	const struct slices_private *own = dataset->private_data;
	uint32_t count;

	if ((grouping != ST_BY_PROCESS && grouping != ST_BY_THREAD) || index > 1)
		return false;
	if (grouping == ST_BY_PROCESS) {
		const struct st_process *process = &st_result_processes(own->result, &count)[key];

		*out = index == 0 ? st_result_text(own->result, process->name)
				  : make_text(st_arena_printf(arena, "%u", process->pid));
	} else {
		const struct st_track *track = &st_result_tracks(own->result, &count)[key];

		*out = index == 0 ? thread_name(own->result, key)
				  : make_text(st_arena_printf(arena, "%u", track->tid));
	}
	return true;
}

enum st_status st_dataset_slices_init(struct st_dataset *out, const struct st_result *result,
				      struct st_error *err)
{
	const struct st_slices *slices = st_result_slices(result);
	struct slices_private *own = calloc(1, sizeof(*own));

	memset(out, 0, sizeof(*out));
	if (!own)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while preparing the tasks");
	own->result = result;
	st_arena_init(&own->arena, SIZE_MAX / 2);
	out->private_data = own;
	out->row_count = slices->count;
	out->begin_ns = slices->begin_ns;
	out->end_ns = slices->end_ns;
	out->self_ns = slices->self_ns;
	out->parent = slices->parent;
	out->track = slices->track;
	out->flags = slices->flags;
	out->slow_flags = ST_SLICE_CLIPPED;
	out->part_ns = slice_part_ns;
	out->text = slice_text;
	out->alias = slice_alias;
	if (!sort_pauses(own) || !map_tracks(out, slices) ||
	    !map_labels(out, ST_BY_TASK_DOMAIN, slices) ||
	    !map_labels(out, ST_BY_TASK_TYPE, slices) ||
	    !map_labels(out, ST_BY_TASK_FAMILY, slices)) {
		st_dataset_slices_fini(out);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while preparing the tasks");
	}
	out->keys[ST_BY_TASK] = (struct st_key_column){NULL, NULL, slices->count};
	out->keys[ST_BY_TASK_STACK] = out->keys[ST_BY_TASK_TYPE];
	return ST_OK;
}

void st_dataset_slices_fini(struct st_dataset *dataset)
{
	struct slices_private *own = dataset ? dataset->private_data : NULL;

	if (!own)
		return;
	st_arena_fini(&own->arena);
	free(own);
	memset(dataset, 0, sizeof(*dataset));
}
