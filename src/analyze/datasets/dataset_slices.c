// SPDX-License-Identifier: Apache-2.0
//
// Slices as a dataset: keys of processes, threads, domains, types and families out of the label and
// track columns of a result, and the time of slices that straddle a pause. Steps, callers and Python
// lines are made when a question needs them.
#include "analyze/engine/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/datasets/operator_turns.h"
#include "analyze/datasets/dataset_slices.h"
#include "store/events.h"
#include "store/result.h"

struct slices_private {
	const struct st_result *result;
	struct st_arena arena;
	struct st_key_texts texts[ST_GROUPINGS]; /* of groupings whose keys are texts */
	struct st_pause_list pauses;
	const struct st_slices_more *more;
	void *kept; /* of those groupings */
};

struct st_text st_label_text(const struct st_result *result, const struct st_label *label,
			     enum st_grouping grouping)
{
	const char *category = st_category_name(label->category);

	if (grouping == ST_BY_CATEGORY)
		return (struct st_text){category, strlen(category)};
	/* Operators are PyTorch's, however they were recorded. */
	if (grouping == ST_BY_TASK_DOMAIN && st_category_is_torch(label->category))
		return (struct st_text){"PyTorch", 7};
	if (grouping == ST_BY_TASK_DOMAIN)
		return st_result_text(result, label->domain);
	return st_result_text(result, grouping == ST_BY_TASK_FAMILY ? label->family : label->name);
}

static bool map_labels(struct st_dataset *dataset, enum st_grouping grouping,
		       const struct st_slices *slices)
{
	struct slices_private *own = dataset->private_data;
	struct st_key_texts *keys = &own->texts[grouping];
	uint32_t count;
	const struct st_label *labels = st_result_labels(own->result, &count);
	uint32_t *map = st_arena_calloc(&own->arena, (size_t)count + 1, sizeof(*map));

	if (!map)
		return false;
	for (uint32_t i = 0; i < count; i++)
		map[i] = st_key_texts_add(keys, st_label_text(own->result, &labels[i], grouping));
	dataset->keys[grouping] = st_keys(slices->label, map, keys->count);
	return !keys->failed;
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
	dataset->keys[ST_BY_PROCESS] = st_keys(slices->track, map, process_count);
	dataset->keys[ST_BY_THREAD] = st_keys(slices->track, NULL, track_count);
	return true;
}

static uint64_t slice_part_ns(const struct st_dataset *dataset, uint32_t row, int64_t begin_ns,
			      int64_t end_ns)
{
	const struct slices_private *own = dataset->private_data;
	uint32_t process = st_key_of(&dataset->keys[ST_BY_PROCESS], row);

	if (begin_ns == dataset->begin_ns[row] && end_ns == dataset->end_ns[row])
		return st_result_wall_ns(own->result, row);
	return st_pause_list_recorded(&own->pauses, process, begin_ns, end_ns);
}

static struct st_text slice_text(const struct st_dataset *dataset, enum st_grouping grouping,
				 uint32_t key, struct st_arena *arena)
{
	const struct slices_private *own = dataset->private_data;

	switch (grouping) {
	case ST_BY_PROCESS:
		return st_place_process(own->result, key, arena);
	case ST_BY_THREAD:
		return st_place_thread(own->result, key, arena);
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
	return own->texts[grouping].texts[key];
}

static bool slice_alias(const struct st_dataset *dataset, enum st_grouping grouping, uint32_t key,
			unsigned int index, struct st_text *out, struct st_arena *arena)
{
	const struct slices_private *own = dataset->private_data;

	return st_place_alias(own->result, grouping, key, index, out, arena);
}

static bool add_callers(struct st_dataset *dataset)
{
	static const struct st_text unknown = {"[unknown]", 9};
	struct slices_private *own = dataset->private_data;
	struct st_key_texts *keys = &own->texts[ST_BY_CALLER];
	uint32_t count;
	const struct st_caller *callers = st_result_callers(own->result, &count);
	const uint32_t *column = st_result_slice_callers(own->result);
	uint32_t *map = st_arena_calloc(&own->arena, (size_t)count + 1, sizeof(*map));

	if (!map)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct st_text place = st_result_text(own->result, callers[i].place);
		char *address;

		if (!callers[i].address) {
			place = unknown;
		} else if (!place.size_bytes) {
			address = st_arena_printf(&own->arena, "0x%llx",
						  (unsigned long long)callers[i].address);
			place = (struct st_text){address, address ? strlen(address) : 0};
		}
		map[i] = st_key_texts_add(keys, place);
	}
	dataset->keys[ST_BY_CALLER] = st_keys(column, map, keys->count);
	return !keys->failed && !own->arena.failed;
}

static bool add_python_lines(struct st_dataset *dataset)
{
	static const struct st_text unknown = {"[unknown]", 9};
	struct slices_private *own = dataset->private_data;
	struct st_key_texts *keys = &own->texts[ST_BY_PYTHON_LINE];
	const struct st_events *events = st_result_events(own->result);
	uint32_t *column =
		st_arena_calloc(&own->arena, (size_t)dataset->row_count + 1, sizeof(*column));

	if (!column)
		return false;
	st_key_texts_add(keys, unknown); /* key 0: what the column is filled with */
	for (uint32_t i = 0; i < events->count; i++) {
		const struct st_event_row *row = &events->rows[i];

		if (row->kind == ST_EVENT_TASK_LINE && row->slice < dataset->row_count)
			column[row->slice] =
				st_key_texts_add(keys, st_result_text(own->result, row->name));
	}
	dataset->keys[ST_BY_PYTHON_LINE] = st_keys(column, NULL, keys->count);
	return !keys->failed;
}

/* The operator, or range, that a slice is or lies in; where there is none, oneDNN's primitive. */
static bool add_operators(struct st_dataset *dataset)
{
	static const struct st_text outside = {"[no operator]", 13};
	struct slices_private *own = dataset->private_data;
	struct st_key_texts *keys = &own->texts[ST_BY_OPERATOR];
	const struct st_slices *slices = st_result_slices(own->result);
	uint32_t count;
	const struct st_label *labels = st_result_labels(own->result, &count);
	struct {
		uint32_t key;
		bool is_primitive;
	} *map = calloc((size_t)count + 1, sizeof(*map));
	uint32_t *column =
		st_arena_calloc(&own->arena, (size_t)dataset->row_count + 1, sizeof(*column));
	bool done = map && column;

	st_key_texts_add(keys, outside);
	for (uint32_t i = 0; map && i < count; i++) {
		map[i].is_primitive = st_category_is_execution(labels[i].category);
		if (st_category_is_torch(labels[i].category) || map[i].is_primitive)
			map[i].key =
				st_key_texts_add(keys, st_result_text(own->result, labels[i].name));
	}
	/* Rows come after the rows around them. */
	for (uint32_t row = 0; done && row < dataset->row_count; row++) {
		uint32_t parent = dataset->parent[row], label = slices->label[row];
		uint32_t around = parent == ST_NO_ROW ? 0 : column[parent];

		column[row] = around && (!map[label].key || map[label].is_primitive)
				      ? around
				      : map[label].key;
	}
	dataset->keys[ST_BY_OPERATOR] = st_keys(column, NULL, keys->count);
	free(map);
	return done && !keys->failed;
}

static bool slice_prepare(struct st_dataset *dataset, enum st_grouping grouping)
{
	struct slices_private *own = dataset->private_data;

	switch (grouping) {
	case ST_BY_CATEGORY:
		return map_labels(dataset, grouping, st_result_slices(own->result));
	case ST_BY_CALLER:
		return add_callers(dataset);
	case ST_BY_PYTHON_LINE:
		return add_python_lines(dataset);
	case ST_BY_OPERATOR:
		return add_operators(dataset);
	case ST_BY_NN_MODULE:
	case ST_BY_STEP:
		return own->more->prepare(dataset, own->result, grouping, &own->texts[grouping],
					  &own->arena, &own->kept);
	default:
		return true; /* is there already, or there are no rows */
	}
}

/* Whether there are Python lines is found out when somebody asks for them: it takes a look at every event. */
static struct st_set groupings_of(const struct st_result *result)
{
	uint32_t callers;
	struct st_set set = ST_SET(ST_BY_PROCESS, ST_BY_THREAD, ST_BY_CATEGORY, ST_BY_TASK_DOMAIN,
				   ST_BY_TASK_TYPE, ST_BY_TASK_FAMILY, ST_BY_TASK, ST_BY_TASK_STACK,
				   ST_BY_STEP, ST_BY_PYTHON_LINE);

	st_result_callers(result, &callers);
	if (callers && st_result_slice_callers(result))
		st_set_add(&set, ST_BY_CALLER);
	return set;
}

/* What samples and operators can be asked for, too, where there is such a thing. */
static struct st_set filters_of(const struct st_result *result)
{
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);
	struct st_set set = {{0}};

	for (uint32_t i = 0; i < count; i++) {
		if (labels[i].category == ST_CATEGORY_MODULE)
			st_set_add(&set, ST_BY_NN_MODULE);
		if (st_category_is_torch(labels[i].category) ||
		    st_category_is_execution(labels[i].category))
			st_set_add(&set, ST_BY_OPERATOR);
	}
	return set;
}

static bool scale(struct st_dataset *out, const struct st_result *result)
{
	struct st_scaled_rows rows = {
		.count = out->row_count, .parent = out->parent, .self_ns = out->self_ns};

	if (!st_scaled_rows_make(&rows, result, out->arena))
		return false;
	out->times = rows.times;
	out->times_ns = rows.times_ns;
	out->more_self_ns = rows.more_self_ns;
	return true;
}

enum st_status st_dataset_slices_open(struct st_dataset *out, const struct st_result *result,
				      const struct st_slices_more *more, struct st_error *err)
{
	const struct st_slices *slices = st_result_slices(result);
	struct slices_private *own = calloc(1, sizeof(*own));

	memset(out, 0, sizeof(*out));
	if (!own)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while preparing the tasks");
	own->result = result;
	own->more = more;
	st_arena_init(&own->arena, SIZE_MAX / 2);
	*out = (struct st_dataset){
		.private_data = own,
		.arena = &own->arena,
		.row_count = slices->count,
		.begin_ns = slices->begin_ns,
		.end_ns = slices->end_ns,
		.self_ns = slices->self_ns,
		.parent = slices->parent,
		.track = slices->track,
		.flags = slices->flags,
		.measures = st_wall_measures,
		.measure_count = ST_WALL_MEASURES,
		.sorted_by = ST_WALL_TOTAL,
		.total = ST_WALL_TOTAL,
		.slow_flags = ST_SLICE_CLIPPED,
		.uncounted_flags = ST_SLICE_COPY,
		.hidden_flags = ST_SLICE_TWIN,
		.answers = groupings_of(result),
		.filters = filters_of(result),
		.instance = ST_BY_TASK,
		.named_by = ST_BY_TASK_TYPE,
		.part_ns = slice_part_ns,
		.text = slice_text,
		.alias = slice_alias,
		.prepare = slice_prepare,
	};
	if (!st_pause_list_make(&own->pauses, result, &own->arena) || !scale(out, result) ||
	    !map_tracks(out, slices) || !map_labels(out, ST_BY_TASK_DOMAIN, slices) ||
	    !map_labels(out, ST_BY_TASK_TYPE, slices) ||
	    !map_labels(out, ST_BY_TASK_FAMILY, slices)) {
		st_dataset_slices_fini(out);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory while preparing the tasks");
	}
	out->keys[ST_BY_TASK] = st_keys(NULL, NULL, slices->count);
	out->keys[ST_BY_TASK_STACK] = out->keys[ST_BY_TASK_TYPE];
	out->keys[ST_BY_TASK_STACK].tree = ST_TREE_ROWS;
	out->keys[ST_BY_TASK_STACK].filtered_by = ST_BY_TASK_TYPE;
	return ST_OK;
}

void st_dataset_slices_fini(struct st_dataset *dataset)
{
	struct slices_private *own = dataset ? dataset->private_data : NULL;

	if (!own)
		return;
	for (unsigned int i = 0; i < ST_GROUPINGS; i++)
		st_key_texts_fini(&own->texts[i]);
	own->more->fini(own->kept);
	st_arena_fini(&own->arena);
	free(own);
	memset(dataset, 0, sizeof(*dataset));
}

void *st_dataset_slices_kept(const struct st_dataset *dataset)
{
	const struct slices_private *own = dataset->private_data;

	return own->kept;
}
