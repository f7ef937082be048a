// SPDX-License-Identifier: Apache-2.0
//
// Which stretches of which threads are followed.
#include "analyze/steps/critical_path.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_slices.h"
#include "analyze/steps/step_list.h"
#include "base/vec.h"
#include "format/analysis.h"

struct ranges {
	struct st_path_range *items;
	uint32_t count, capacity;
	struct st_arena arena;
};

static bool add_steps(struct ranges *ranges, const struct st_step_list *list,
		      const struct st_result *result)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct st_one_step *step = &list->steps[i];
		struct st_path_range range = {step->track, step->begin_ns, step->end_ns,
					      st_step_text(list, i, result, &ranges->arena)};

		if (!step->is_warm_up &&
		    !ST_VEC_PUSH(ranges->items, ranges->count, ranges->capacity, range))
			return false;
	}
	return true;
}

static uint32_t first_thread(const struct st_track *tracks, uint32_t count)
{
	uint32_t first = ST_NO_ROW;

	for (uint32_t i = 0; i < count; i++)
		if (tracks[i].kind == ST_TRACK_THREAD &&
		    (first == ST_NO_ROW || tracks[i].first_ns < tracks[first].first_ns))
			first = i;
	return first;
}

/* The first thread of the first process, in each program that it executes one after the other. */
static bool add_main(struct ranges *ranges, const struct st_result *result)
{
	uint32_t count, process_count;
	const struct st_track *tracks = st_result_tracks(result, &count);
	const struct st_process *processes = st_result_processes(result, &process_count);
	uint32_t first = first_thread(tracks, count);

	for (uint32_t i = 0; first != ST_NO_ROW && i < count; i++) {
		struct st_path_range range = {
			i, tracks[i].first_ns, tracks[i].last_ns, {"[no step]", 9}};

		if (tracks[i].kind == ST_TRACK_THREAD && tracks[i].tid == tracks[first].tid &&
		    processes[tracks[i].process].pid == processes[tracks[first].process].pid &&
		    !ST_VEC_PUSH(ranges->items, ranges->count, ranges->capacity, range))
			return false;
	}
	return true;
}

static void keep_nothing(void *kept)
{
	(void)kept;
}

static enum st_status find_ranges(struct ranges *ranges, const struct st_result *result,
				  struct st_error *err)
{
	static const struct st_slices_more nothing = {.fini = keep_nothing};
	struct st_dataset slices;
	struct st_step_list list;
	enum st_status status;

	if (!st_analysis_is_for(st_result_info(result)->type, ST_RECORDS_WAITS))
		return ST_OK;
	status = st_dataset_slices_open(&slices, result, &nothing, err);
	if (status)
		return status;
	status = st_step_list_make(&list, &slices, result, err);
	if (!status) {
		if (!add_steps(ranges, &list, result) ||
		    (!ranges->count && !add_main(ranges, result)))
			status = st_error_set(err, ST_ENOMEM, 0, "out of memory for the paths");
		st_step_list_fini(&list);
	}
	st_dataset_slices_fini(&slices);
	return status;
}

enum st_status st_dataset_path_init(struct st_dataset *out, const struct st_result *result,
				    struct st_error *err)
{
	struct ranges ranges = {0};
	enum st_status status;

	memset(out, 0, sizeof(*out));
	st_arena_init(&ranges.arena, SIZE_MAX / 2);
	status = find_ranges(&ranges, result, err);
	if (!status)
		status = st_dataset_path_open(out, result, ranges.items, ranges.count, err);
	free(ranges.items);
	st_arena_fini(&ranges.arena);
	return status;
}
