// SPDX-License-Identifier: Apache-2.0
//
// The rows of what ran on devices, and of when nothing did, with their keys; and what is counted of kernels beside their
// time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/device_gaps.h"
#include "analyze/datasets/occupancy.h"
#include "analyze/datasets/places.h"
#include "analyze/datasets/row_sets.h"
#include "store/devices.h"

static struct st_text plain(const char *text)
{
	return (struct st_text){text, strlen(text)};
}

uint32_t st_launching_operator(const struct st_result *result, uint32_t call)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t count;
	const struct st_label *labels = st_result_labels(result, &count);

	while (call != ST_NO_ROW && !st_category_is_torch(labels[slices->label[call]].category))
		call = slices->parent[call];
	return call;
}

static void operator_key(struct st_rows *rows, uint32_t call)
{
	uint32_t slice = st_launching_operator(rows->result, call);

	st_rows_key(rows, ST_BY_OPERATOR,
		    slice == ST_NO_ROW
			    ? plain(call == ST_NO_ROW ? "[launch not recorded]" : "[no operator]")
			    : st_slice_name(rows->result, slice));
}

/* The text of the last device; rows come device by device. */
struct device_text {
	struct st_text text;
	struct st_device_place place;
	bool is_made;
};

/* Texts of launches that were made already; programs repeat theirs. */
enum { LAUNCHES_KEPT = 256 };
struct launch_texts {
	struct {
		uint32_t grid[3];
		uint16_t block[3];
		struct st_text text;
	} kept[LAUNCHES_KEPT];
};

/* "128 x 1 x 1 of 256 x 1 x 1" */
static struct st_text launch_text(struct launch_texts *texts, const struct st_device_item *item,
				  struct st_arena *arena)
{
	uint32_t hash = item->grid[0] * 31 + item->grid[1] * 7 + item->grid[2] + item->block[0];
	uint32_t at = (hash ^ hash >> 8) % LAUNCHES_KEPT;
	struct st_text *text = &texts->kept[at].text;
	char *made;

	if (text->bytes && !memcmp(texts->kept[at].grid, item->grid, sizeof(item->grid)) &&
	    !memcmp(texts->kept[at].block, item->block, sizeof(item->block)))
		return *text;
	made = st_arena_printf(arena, "%u x %u x %u of %u x %u x %u", item->grid[0], item->grid[1],
			       item->grid[2], item->block[0], item->block[1], item->block[2]);
	*text = plain(made ? made : "");
	memcpy(texts->kept[at].grid, item->grid, sizeof(item->grid));
	memcpy(texts->kept[at].block, item->block, sizeof(item->block));
	return *text;
}

static void launch_key(struct st_rows *rows, struct launch_texts *texts,
		       const struct st_device_item *item)
{
	bool is_kernel = item && item->kind == ST_DEVICE_KERNEL && item->block[0];

	st_rows_key(rows, ST_BY_LAUNCH,
		    is_kernel ? launch_text(texts, item, &rows->arena) : plain("[not known]"));
}

static void device_key(struct st_rows *rows, struct device_text *last,
		       const struct st_device_place *place)
{
	if (!last->is_made || !st_device_place_is(&last->place, place))
		*last = (struct device_text){st_device_text(place, &rows->arena), *place, true};
	st_rows_key(rows, ST_BY_DEVICE, last->text);
}

static void add_stream(struct st_rows *rows, uint32_t track, const uint32_t *launch_of,
		       struct launch_texts *texts)
{
	const struct st_slices *slices = st_result_slices(rows->result);
	uint32_t count;
	struct st_device_place place = st_track_device(rows->result, track);
	const struct st_label *labels = st_result_labels(rows->result, &count);
	const struct st_track *about = &st_result_tracks(rows->result, &count)[track];
	struct device_text last = {0};

	for (uint32_t row = about->row_begin; row < about->row_end && !rows->failed; row++) {
		enum st_category category = labels[slices->label[row]].category;

		if (!st_category_is_device(category))
			continue;
		st_rows_add(rows, &(struct st_new_row){
					  .source = {ST_NO_ROW, ST_NO_ROW, row, launch_of[row]},
					  .begin_ns = slices->begin_ns[row],
					  .end_ns = slices->end_ns[row],
					  .process = about->process,
					  .track = track,
					  .flags = slices->flags[row]});
		st_rows_key(rows, ST_BY_TASK_TYPE, st_slice_name(rows->result, row));
		st_rows_key(rows, ST_BY_CATEGORY, plain(st_category_name(category)));
		device_key(rows, &last, &place);
		launch_key(rows, texts, st_result_device_item_of(rows->result, row));
		operator_key(rows, launch_of[row]);
	}
}

bool st_rows_fill_kernels(struct st_rows *rows)
{
	struct launch_texts *texts = calloc(1, sizeof(*texts));
	uint32_t *launch_of = texts ? st_launches_make(rows->result) : NULL;
	uint32_t count;
	bool done = launch_of;

	st_result_tracks(rows->result, &count);
	for (uint32_t track = 0; done && track < count; track++)
		if (st_track_is_stream(rows->result, track))
			add_stream(rows, track, launch_of, texts);
	free(launch_of);
	free(texts);
	return done;
}

bool st_rows_fill_gaps(struct st_rows *rows)
{
	struct st_device_gaps gaps;
	struct device_text last = {0};
	bool done = st_device_gaps_make(&gaps, rows->result);

	for (uint32_t i = 0; done && i < gaps.count && !rows->failed; i++) {
		const struct st_device_gap *gap = &gaps.gaps[i];

		st_rows_add(rows, &(struct st_new_row){.source = {ST_NO_ROW, ST_NO_ROW, gap->next,
								  gaps.launch_of[gap->next]},
						       .begin_ns = gap->begin_ns,
						       .end_ns = gap->end_ns,
						       .process = gap->place.process,
						       .track = ST_NO_ROW});
		st_rows_key(rows, ST_BY_GAP_REASON, plain(st_gap_reason_words[gap->reason]));
		st_rows_key(rows, ST_BY_TASK_TYPE, st_slice_name(rows->result, gap->next));
		device_key(rows, &last, &gap->place);
		operator_key(rows, gaps.launch_of[gap->next]);
	}
	st_device_gaps_fini(&gaps);
	return done;
}

/* Measures ----------------------------------------------------------------------------------------- */

static const struct st_rows *rows_of(const struct st_dataset *dataset)
{
	return dataset->private_data;
}

static const struct st_device_item *item_of(const struct st_dataset *dataset, uint32_t row)
{
	const struct st_rows *rows = rows_of(dataset);

	return st_result_device_item_of(rows->result, rows->source[row].number);
}

static uint64_t read_moved(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_device_item *item = item_of(dataset, row);

	(void)arg;
	return item && (item->kind == ST_DEVICE_COPY || item->kind == ST_DEVICE_FILL) ? item->value
										      : 0;
}

/* From the call's begin to its own. */
static uint64_t read_delay(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	const struct st_rows *rows = rows_of(dataset);
	uint32_t call = rows->source[row].sample;
	int64_t after_ns;

	if (call == ST_NO_ROW)
		return 0;
	if (arg == ST_LAUNCHES)
		return 1;
	after_ns = rows->begin_ns[row] - st_result_slices(rows->result)->begin_ns[call];
	return after_ns > 0 ? (uint64_t)after_ns : 0;
}

bool st_kernel_occupancy(const struct st_dataset *dataset, uint32_t row, struct st_occupancy *out)
{
	const struct st_rows *rows = rows_of(dataset);
	const struct st_device_item *item = item_of(dataset, row);

	return item && !(item->flags & ST_DEVICE_MAKERS) &&
	       st_occupancy_of(st_result_device_about(rows->result,
						      rows->columns[ST_BY_PROCESS][row],
						      item->device),
			       item, out);
}

/* Percent, by time. */
static uint64_t read_occupancy(const struct st_dataset *dataset, uint32_t row, unsigned int arg)
{
	struct st_occupancy occupancy;

	if (!st_kernel_occupancy(dataset, row, &occupancy))
		return 0;
	if (arg == ST_OCCUPANCY_NS)
		return dataset->self_ns[row];
	return (uint64_t)(100 * occupancy.share * (double)dataset->self_ns[row] + 0.5);
}

#define SUM(how, what) .fold = ST_FOLD_SUM, .read = (how), .arg = (what)

const struct st_measure st_kernel_measures[ST_KERNEL_MEASURES] = {
	{ST_KERNEL_BYTES, "moved-bytes", "moved_bytes", "Bytes", "bytes", SUM(read_moved, 0),
	 .known_by = ST_KERNEL_BYTES},
	{ST_LAUNCH_DELAY, "launch-delay", "launch_delay_ns", "Launch to Begin", "ns",
	 ST_FOLD_AVERAGE, .part = ST_LAUNCH_DELAY_NS, .whole = ST_LAUNCHES,
	 .known_by = ST_LAUNCHES},
	{ST_OCCUPANCY, "occupancy", "occupancy_percent", "Occupancy % (Estimate)", "",
	 ST_FOLD_AVERAGE, .part = ST_OCCUPANCY_SUM, .whole = ST_OCCUPANCY_NS,
	 .known_by = ST_OCCUPANCY_NS},
	{ST_LAUNCH_DELAY_NS, SUM(read_delay, 0)},
	{ST_LAUNCHES, SUM(read_delay, ST_LAUNCHES)},
	{ST_OCCUPANCY_SUM, SUM(read_occupancy, 0), .is_time = true},
	{ST_OCCUPANCY_NS, SUM(read_occupancy, ST_OCCUPANCY_NS), .is_time = true},
};
