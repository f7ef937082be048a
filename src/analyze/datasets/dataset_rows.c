// SPDX-License-Identifier: Apache-2.0
//
// What the datasets of spans and events share: rows that are appended one by one with their keys. Which
// rows a set has is in row_sets.c.
#include "analyze/datasets/dataset_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/row_sets.h"
#include "base/search.h"

static bool grow_column(void **column, size_t capacity, size_t size_bytes)
{
	void *larger = realloc(*column, capacity * size_bytes);

	if (larger)
		*column = larger;
	return larger;
}

static bool grow(struct st_rows *rows)
{
	size_t capacity = rows->capacity ? 2 * (size_t)rows->capacity : 64;
	bool done = capacity < UINT32_MAX;

	done = done && grow_column((void **)&rows->source, capacity, sizeof(*rows->source)) &&
	       grow_column((void **)&rows->begin_ns, capacity, sizeof(*rows->begin_ns)) &&
	       grow_column((void **)&rows->end_ns, capacity, sizeof(*rows->end_ns)) &&
	       grow_column((void **)&rows->flags, capacity, sizeof(*rows->flags));
	for (unsigned int i = 0; done && i < ST_GROUPINGS; i++) {
		if (st_set_has(rows->answers, i))
			done = grow_column((void **)&rows->columns[i], capacity,
					   sizeof(*rows->columns[i]));
	}
	if (!done)
		rows->failed = true;
	else
		rows->capacity = (uint32_t)capacity;
	return done;
}

void st_rows_add(struct st_rows *rows, const struct st_new_row *row)
{
	uint32_t at = rows->count;

	if (rows->failed || (at == rows->capacity && !grow(rows)))
		return;
	rows->source[at] = row->source;
	rows->begin_ns[at] = row->begin_ns;
	/* Times that programs give may be in any order. */
	rows->end_ns[at] = row->end_ns > row->begin_ns ? row->end_ns : row->begin_ns;
	rows->flags[at] = row->flags;
	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		if (rows->columns[i])
			rows->columns[i][at] = 0;
	}
	rows->columns[ST_BY_PROCESS][at] =
		row->process < rows->process_count ? row->process : rows->process_count;
	rows->columns[ST_BY_THREAD][at] =
		row->track < rows->track_count ? row->track : rows->track_count;
	rows->count++;
}

void st_rows_key(struct st_rows *rows, enum st_grouping grouping, struct st_text text)
{
	if (rows->failed || !rows->columns[grouping])
		return;
	rows->columns[grouping][rows->count - 1] = st_key_texts_add(&rows->texts[grouping], text);
	if (rows->texts[grouping].failed)
		rows->failed = true;
}

static struct st_text row_text(const struct st_dataset *dataset, enum st_grouping grouping,
			       uint32_t key, struct st_arena *arena)
{
	static const struct st_text no_process = {"[all processes]", 15};
	const struct st_rows *rows = dataset->private_data;
	char *number;

	if (grouping == ST_BY_PROCESS)
		return key < rows->process_count ? st_place_process(rows->result, key, arena)
						 : no_process;
	if (grouping == ST_BY_THREAD)
		return st_place_thread(rows->result, key, arena);
	if (grouping == ST_BY_FRAME) {
		number = st_arena_printf(arena, "%u", rows->source[key].number);
		return (struct st_text){number ? number : "", number ? strlen(number) : 0};
	}
	if (grouping == dataset->instance) {
		grouping = dataset->named_by;
		key = rows->columns[grouping][key];
	}
	return rows->texts[grouping].texts[key];
}

static bool row_alias(const struct st_dataset *dataset, enum st_grouping grouping, uint32_t key,
		      unsigned int index, struct st_text *out, struct st_arena *arena)
{
	const struct st_rows *rows = dataset->private_data;

	if (grouping == ST_BY_PROCESS && key >= rows->process_count)
		return false;
	if (grouping == ST_BY_FRAME && index == 0) {
		key = rows->columns[ST_BY_FRAME_DOMAIN][key];
		*out = rows->texts[ST_BY_FRAME_DOMAIN].texts[key];
		return true;
	}
	return st_place_alias(rows->result, grouping, key, index, out, arena);
}

static uint64_t row_part_ns(const struct st_dataset *dataset, uint32_t row, int64_t begin_ns,
			    int64_t end_ns)
{
	const struct st_rows *rows = dataset->private_data;

	return st_pause_list_recorded(&rows->pauses, rows->columns[ST_BY_PROCESS][row], begin_ns,
				      end_ns);
}

/* Columns that follow from the others. */
static bool finish(struct st_dataset *dataset, struct st_rows *rows)
{
	size_t count = (size_t)rows->count + 1;
	uint64_t *self_ns = st_arena_calloc(&rows->arena, count, sizeof(*self_ns));
	uint32_t *parent = st_arena_calloc(&rows->arena, count, sizeof(*parent));
	uint32_t *track = st_arena_calloc(&rows->arena, count, sizeof(*track));
	struct st_row_span *tracks = st_arena_calloc(&rows->arena, count, sizeof(*tracks));

	if (!self_ns || !parent || !track || !tracks || rows->failed)
		return false;
	dataset->row_count = dataset->track_count = rows->count;
	dataset->begin_ns = rows->begin_ns;
	dataset->end_ns = rows->end_ns;
	dataset->flags = rows->flags;
	dataset->self_ns = self_ns;
	dataset->parent = parent;
	dataset->track = track;
	dataset->tracks = tracks;
	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		if (st_set_has(rows->answers, i))
			dataset->keys[i] = st_keys(rows->columns[i], NULL, rows->texts[i].count);
	}
	dataset->keys[ST_BY_PROCESS].key_count = rows->process_count + 1;
	dataset->keys[ST_BY_THREAD].key_count = rows->track_count + 1;
	dataset->keys[dataset->instance] = st_keys(NULL, NULL, rows->count);
	for (uint32_t i = 0; i < rows->count; i++) {
		parent[i] = ST_NO_ROW;
		track[i] = i;
		tracks[i] = (struct st_row_span){i, i + 1};
		self_ns[i] = rows->flags[i] & ST_SLICE_CLIPPED
				     ? row_part_ns(dataset, i, rows->begin_ns[i], rows->end_ns[i])
				     : (uint64_t)(rows->end_ns[i] - rows->begin_ns[i]);
	}
	return true;
}

/* Those of rows that last, and the set's own. */
static bool set_measures(struct st_dataset *dataset, const struct st_row_set_info *info)
{
	uint32_t count = ST_WALL_MEASURES + info->measure_count;
	struct st_measure *measures = st_arena_calloc(dataset->arena, count, sizeof(*measures));

	if (!measures)
		return false;
	memcpy(measures, st_wall_measures, ST_WALL_MEASURES * sizeof(*measures));
	if (info->measure_count)
		memcpy(measures + ST_WALL_MEASURES, info->measures,
		       info->measure_count * sizeof(*measures));
	dataset->measures = measures;
	dataset->measure_count = count;
	return true;
}

/* What a set is made from, beside the result. */
struct given {
	const struct st_named *named;
	const struct st_path_range *ranges;
	uint32_t range_count;
	const int64_t *within_ns;
};

static enum st_status open_set(struct st_dataset *out, const struct st_result *result,
			       enum st_row_set set, const struct given *given, struct st_error *err)
{
	const struct st_row_set_info *info = &st_row_sets[set];
	struct st_rows *rows = calloc(1, sizeof(*rows));
	enum st_status status;

	memset(out, 0, sizeof(*out));
	if (!rows)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for %s", info->noun);
	rows->result = result;
	rows->named = given->named;
	rows->ranges = given->ranges;
	rows->range_count = given->range_count;
	rows->within_ns = given->within_ns;
	rows->answers = st_dataset_rows_answers(set);
	st_set_remove(&rows->answers, info->instance);
	st_arena_init(&rows->arena, SIZE_MAX / 2);
	st_result_processes(result, &rows->process_count);
	st_result_tracks(result, &rows->track_count);
	*out = (struct st_dataset){
		.private_data = rows,
		.arena = &rows->arena,
		.sorted_by = ST_WALL_TOTAL,
		.total = ST_WALL_TOTAL,
		.slow_flags = ST_SLICE_CLIPPED,
		.uncounted_flags = ST_ROW_UNCOUNTED,
		.answers = st_dataset_rows_answers(set),
		.instance = info->instance,
		.named_by = info->named_by,
		.part_ns = row_part_ns,
		.text = row_text,
		.alias = row_alias,
	};
	status = set == ST_ROWS_SYNC || set == ST_ROWS_THREAD_TIME || set == ST_ROWS_PATH
			 ? st_wait_sites_init(&rows->sites, result, given->named, err)
			 : ST_OK;
	if (status) {
		st_dataset_rows_fini(out);
		return status;
	}
	if (!set_measures(out, info) || !grow(rows) ||
	    !st_pause_list_make(&rows->pauses, result, &rows->arena) || !info->fill(rows) ||
	    !finish(out, rows)) {
		st_dataset_rows_fini(out);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for %s", info->noun);
	}
	return ST_OK;
}

enum st_status st_dataset_rows_init(struct st_dataset *out, const struct st_result *result,
				    enum st_row_set set, struct st_error *err)
{
	return open_set(out, result, set, &(struct given){0}, err);
}

enum st_status st_dataset_waits_open(struct st_dataset *out, const struct st_result *result,
				     const struct st_named *named, struct st_error *err)
{
	return open_set(out, result, ST_ROWS_SYNC, &(struct given){.named = named}, err);
}

enum st_status st_dataset_path_open(struct st_dataset *out, const struct st_result *result,
				    const struct st_path_range *ranges, uint32_t count,
				    struct st_error *err)
{
	const struct given given = {.ranges = ranges, .range_count = count};

	return open_set(out, result, ST_ROWS_PATH, &given, err);
}

enum st_status st_dataset_thread_time_open(struct st_dataset *out, const struct st_result *result,
					   const int64_t *range_ns, struct st_error *err)
{
	return open_set(out, result, ST_ROWS_THREAD_TIME, &(struct given){.within_ns = range_ns},
			err);
}

void st_dataset_rows_fini(struct st_dataset *dataset)
{
	struct st_rows *rows = dataset ? dataset->private_data : NULL;

	if (!rows)
		return;
	for (unsigned int i = 0; i < ST_GROUPINGS; i++) {
		free(rows->columns[i]);
		st_key_texts_fini(&rows->texts[i]);
	}
	free(rows->source);
	free(rows->begin_ns);
	free(rows->end_ns);
	free(rows->flags);
	free(rows->samples);
	st_thread_times_fini(&rows->times);
	st_wait_sites_fini(&rows->sites);
	st_counters_fini(&rows->counters);
	st_arena_fini(&rows->arena);
	free(rows);
	memset(dataset, 0, sizeof(*dataset));
}

struct st_row_source st_dataset_rows_source(const struct st_dataset *dataset, uint32_t row)
{
	return ((const struct st_rows *)dataset->private_data)->source[row];
}

const struct st_counters *st_dataset_rows_counters(const struct st_dataset *dataset)
{
	const struct st_rows *rows = dataset->private_data;

	return rows->counters.memory ? &rows->counters : NULL;
}

uint32_t st_dataset_waits_sample(const struct st_dataset *dataset, uint32_t row)
{
	const struct st_rows *rows = dataset->private_data;

	return rows->samples && row < rows->count ? rows->samples[row] : ST_NO_ROW;
}

const struct st_thread_times *st_dataset_waits_times(const struct st_dataset *dataset)
{
	return &((const struct st_rows *)dataset->private_data)->times;
}

uint32_t st_dataset_waits_row(const struct st_dataset *dataset, uint32_t span)
{
	const struct st_rows *rows = dataset->private_data;
	uint32_t at = ST_SEARCH(i, 0, rows->span_rows, rows->source[i].span < span);

	return at < rows->span_rows && rows->source[at].span == span ? at : ST_NO_ROW;
}

const struct st_wait_sites *st_dataset_waits_sites(const struct st_dataset *dataset)
{
	return &((const struct st_rows *)dataset->private_data)->sites;
}

struct st_set st_dataset_rows_answers(enum st_row_set set)
{
	return st_set_join(st_set_of(st_row_sets[set].answers),
			   ST_SET(ST_BY_PROCESS, ST_BY_THREAD, st_row_sets[set].instance));
}
