// SPDX-License-Identifier: Apache-2.0
//
// Finds the steps of a program, from the best source that there is.
#include "analyze/steps/step_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "analyze/datasets/operator_turns.h"
#include "analyze/steps/step_rows.h"
#include "analyze/steps/steps.h"
#include "format/event_kind.h"
#include "store/result.h"

/* Steps at the beginning that take half again as long as the one in the middle are warm-up; at most one in four. */
enum { WARM_UP_STEPS_MIN = 4, WARM_UP_SHARE = 4 };

const char *const st_step_part_names[ST_STEP_PART_KINDS] = {
	[ST_STEP_DATA] = "data wait",	   [ST_STEP_FORWARD] = "forward",
	[ST_STEP_BACKWARD] = "backward",   [ST_STEP_OPTIMIZER] = "optimizer",
	[ST_STEP_OTHER] = "Python, other",
};

void st_step_list_fini(struct st_step_list *list)
{
	free(list->steps);
	memset(list, 0, sizeof(*list));
}

/* The slices of a family, each with what is in it. One inside another is part of that one. */
static bool add_family(struct st_step_list *list, const struct st_dataset *dataset, uint32_t family)
{
	const struct st_key_column *families = &dataset->keys[ST_BY_TASK_FAMILY];
	uint32_t track = ST_NO_ROW, number = 0;
	int64_t until_ns = 0;

	for (uint32_t row = 0; row < dataset->row_count; row++) {
		struct st_one_step step = {.track = dataset->track[row], .slice = row};
		uint16_t unused = dataset->hidden_flags | dataset->uncounted_flags;

		if (st_key_of(families, row) != family || dataset->flags[row] & unused)
			continue;
		if (dataset->track[row] != track) {
			track = dataset->track[row];
			until_ns = INT64_MIN;
			number = 0;
		}
		if (dataset->begin_ns[row] < until_ns) {
			list->overlapping += dataset->end_ns[row] > until_ns;
			continue;
		}
		step.begin_ns = dataset->begin_ns[row];
		step.end_ns = until_ns = dataset->end_ns[row];
		step.number = number++;
		if (!ST_VEC_PUSH(list->steps, list->count, list->capacity, step))
			return false;
	}
	return true;
}

/* Of several optimizers of a thread the one that is used least, and of those the last in a round: "step" is what all
 * of them do once. */
static uint32_t optimizer_of(const struct st_step_rows *rows, const struct st_track *track)
{
	const struct st_slices *slices = rows->slices;
	uint32_t count, best = UINT32_MAX, best_count = 0;
	uint32_t *counts;

	st_result_labels(rows->result, &count);
	counts = calloc((size_t)count + 1, sizeof(*counts));
	for (uint32_t row = track->row_begin; counts && row < track->row_end; row++)
		if (st_step_row_is(rows, row, ST_STEP_LABEL_OPTIMIZER))
			counts[slices->label[row]]++;
	for (uint32_t row = track->row_end; counts && row > track->row_begin; row--) {
		uint32_t label = slices->label[row - 1];

		if (counts[label] >= 2 && (best == UINT32_MAX || counts[label] < best_count)) {
			best = label;
			best_count = counts[label];
		}
	}
	free(counts);
	return best;
}

/* The first step has no optimizer before it. It begins with what the second begins with. */
static int64_t first_begin(const struct st_step_rows *rows, const struct st_track *track,
			   const int64_t ends[2])
{
	const struct st_slices *slices = rows->slices;
	uint32_t like = UINT32_MAX;
	int64_t earliest = INT64_MAX, begin = INT64_MAX;

	for (uint32_t row = track->row_begin; row < track->row_end; row++) {
		if (slices->begin_ns[row] < ends[0] || !st_step_row_is_outermost(rows, row))
			continue;
		if (slices->begin_ns[row] < ends[1])
			like = slices->label[row];
		break;
	}
	for (uint32_t row = track->row_begin;
	     row < track->row_end && slices->begin_ns[row] < ends[0]; row++) {
		if (!st_step_row_is_outermost(rows, row))
			continue;
		if (earliest == INT64_MAX)
			earliest = slices->begin_ns[row];
		if (slices->label[row] == like)
			begin = slices->begin_ns[row];
	}
	return begin == INT64_MAX ? earliest : begin;
}

static bool add_optimizer(struct st_step_list *list, const struct st_step_rows *rows,
			  const struct st_track *track, uint32_t label)
{
	const struct st_slices *slices = rows->slices;
	uint32_t first = list->count;
	int64_t end_ns = INT64_MIN;

	for (uint32_t row = track->row_begin; row < track->row_end; row++) {
		struct st_one_step step = {.slice = ST_NO_ROW, .begin_ns = end_ns};

		/* One inside another (a wrapper of the same name) is part of it. */
		if (slices->label[row] != label || slices->end_ns[row] <= end_ns ||
		    !st_step_row_is(rows, row, ST_STEP_LABEL_OPTIMIZER))
			continue;
		step.end_ns = end_ns = slices->end_ns[row];
		step.track = slices->track[row];
		step.number = list->count - first;
		if (!ST_VEC_PUSH(list->steps, list->count, list->capacity, step))
			return false;
	}
	if (list->count - first >= 2)
		list->steps[first].begin_ns = first_begin(
			rows, track,
			(int64_t[]){list->steps[first].end_ns, list->steps[first + 1].end_ns});
	else
		list->count = first;
	return true;
}

static bool add_optimizers(struct st_step_list *list, const struct st_step_rows *rows)
{
	uint32_t count, labels;
	const struct st_track *tracks = st_result_tracks(rows->result, &count);
	const struct st_label *all = st_result_labels(rows->result, &labels);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t label = optimizer_of(rows, &tracks[i]);

		if (label == UINT32_MAX)
			continue;
		if (!add_optimizer(list, rows, &tracks[i], label))
			return false;
		list->source = ST_STEPS_OPTIMIZER;
		list->what = st_result_text(rows->result, all[label].name);
	}
	return true;
}

static bool find(struct st_step_list *out, const struct st_dataset *dataset,
		 struct st_step_rows *rows, const struct st_steps *named)
{
	if (named->found) {
		out->source = named->is_profiler  ? ST_STEPS_PROFILER
			      : named->is_counted ? ST_STEPS_COUNTED
						  : ST_STEPS_NAMED;
		out->what = named->family.text;
		out->is_numbered =
			memchr(named->family.text.bytes, '*', named->family.text.size_bytes);
		return add_family(out, dataset, named->family_key);
	}
	if (!rows->has_operators)
		return true;
	if (!add_optimizers(out, rows))
		return false;
	return out->count || st_step_pattern_find(out, rows);
}

/* torch.profiler opens one step more than there are. */
static bool is_too_many(const struct st_step_list *list, uint32_t at)
{
	const struct st_one_step *step = &list->steps[at];
	bool is_last = at + 1 == list->count || step[1].track != step->track;

	return is_last && at && step[-1].track == step->track &&
	       step[-1].part_ns[ST_STEP_FORWARD] && !step->part_ns[ST_STEP_FORWARD] &&
	       !step->part_ns[ST_STEP_BACKWARD] && !step->part_ns[ST_STEP_OPTIMIZER];
}

static void drop_last(struct st_step_list *list)
{
	uint32_t kept = 0;

	if (list->source != ST_STEPS_PROFILER)
		return;
	for (uint32_t i = 0; i < list->count; i++)
		if (!is_too_many(list, i))
			list->steps[kept++] = list->steps[i];
	list->count = kept;
}

/* By thread, from its first step on. */
static bool mark_warm_up(struct st_step_list *list)
{
	uint64_t *ns = calloc((size_t)list->count + 1, sizeof(*ns));

	if (!ns)
		return false;
	for (uint32_t i = 0, end; i < list->count; i = end) {
		uint64_t median_ns;
		uint32_t most;

		for (end = i; end < list->count && list->steps[end].track == list->steps[i].track;
		     end++)
			ns[end - i] = list->steps[end].wall_ns;
		median_ns = st_percentiles_take(ns, end - i).median;
		most = end - i >= WARM_UP_STEPS_MIN ? (end - i) / WARM_UP_SHARE : 0;
		for (uint32_t at = i; at < i + most && list->steps[at].wall_ns > median_ns / 2 * 3;
		     at++) {
			list->steps[at].is_warm_up = true;
			list->warm_up_count++;
		}
	}
	free(ns);
	return true;
}

/* A turn with operators ends where an optimizer steps: its part is known by its own range. */
static bool is_whole(const struct st_operator_turns *turns, uint32_t process,
		     const struct st_one_step *step)
{
	const struct st_turn *turn = st_operator_turn_at(turns, process, step->begin_ns);
	int64_t end_ns = step->end_ns - (int64_t)step->part_ns[ST_STEP_OPTIMIZER];

	for (; turn && turn->detail & ST_TURN_WITH; turn++) {
		if (turn->is_last || end_ns <= turn->end_ns)
			return true;
	}
	return !turn;
}

/* Where operators were not recorded all the time, steps cannot be told by them. */
static bool mark_whole(struct st_step_list *list, const struct st_result *result)
{
	struct st_operator_turns turns;
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(result, &count);

	if (st_operator_turns_make(&turns, result, NULL))
		return false;
	if (turns.is_partial && list->source == ST_STEPS_PATTERN)
		list->count = 0;
	for (uint32_t i = 0; i < list->count; i++)
		list->steps[i].is_whole =
			!turns.is_partial ||
			is_whole(&turns, tracks[list->steps[i].track].process, &list->steps[i]);
	st_operator_turns_fini(&turns);
	return true;
}

enum st_status st_step_list_make(struct st_step_list *out, const struct st_dataset *dataset,
				 const struct st_result *result, struct st_error *err)
{
	struct st_steps named;
	enum st_status status;

	memset(out, 0, sizeof(*out));
	status = st_steps_find(&named, dataset, result, err);
	return status ? status : st_step_list_make_of(out, dataset, result, &named, err);
}

enum st_status st_step_list_make_of(struct st_step_list *out, const struct st_dataset *dataset,
				    const struct st_result *result, const struct st_steps *named,
				    struct st_error *err)
{
	struct st_step_rows rows = {.result = result, .slices = st_result_slices(result)};
	bool done;

	memset(out, 0, sizeof(*out));
	st_arena_init(&rows.arena, SIZE_MAX / 2);
	done = st_step_rows_init(&rows) && find(out, dataset, &rows, named) &&
	       st_step_parts_fill(out, &rows);
	out->has_parts = rows.has_operators && out->source != ST_STEPS_FUNCTION;
	st_arena_fini(&rows.arena);
	drop_last(out);
	done = done && mark_whole(out, result) && mark_warm_up(out);
	if (!out->count)
		out->source = ST_STEPS_NONE;
	for (uint32_t i = 0; done && i < out->count; i++)
		out->whole_count += out->steps[i].is_whole && !out->steps[i].is_warm_up;
	out->has_parts = out->has_parts && out->whole_count;
	if (done)
		return ST_OK;
	st_step_list_fini(out);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory while looking for steps");
}

bool st_step_list_is_guess(const struct st_step_list *list)
{
	return list->source == ST_STEPS_COUNTED || list->source >= ST_STEPS_FUNCTION;
}

bool st_step_list_is_timed(const struct st_step_list *list)
{
	return list->source > ST_STEPS_COUNTED;
}

struct st_text st_step_text(const struct st_step_list *list, uint32_t step,
			    const struct st_result *result, struct st_arena *arena)
{
	const struct st_one_step *one = &list->steps[step];
	struct st_text name = {"step", 4};
	uint32_t count;
	char *text;

	if (one->slice != ST_NO_ROW) {
		uint32_t label = st_result_slices(result)->label[one->slice];

		name = st_result_text(result, st_result_labels(result, &count)[label].name);
		if (list->is_numbered)
			return name;
	}
	text = st_arena_printf(arena, "%.*s %u",
			       name.size_bytes < 1000 ? (int)name.size_bytes : 1000, name.bytes,
			       one->number);
	return text ? (struct st_text){text, strlen(text)} : name;
}

const char *st_step_source_text(const struct st_step_list *list, struct st_arena *arena)
{
	static const char *const words[] = {
		[ST_STEPS_NONE] = "no steps were found",
		[ST_STEPS_PROFILER] = "steps of torch.profiler",
		[ST_STEPS_NAMED] = "tasks named as steps",
		[ST_STEPS_COUNTED] = "guessed (likely) from numbered tasks",
		[ST_STEPS_OPTIMIZER] = "a step ends with the optimizer",
		[ST_STEPS_DATA] = "a step begins with a DataLoader batch",
		[ST_STEPS_FUNCTION] = "guessed (likely): a step is a call of tf.function",
		[ST_STEPS_MODULE] = "guessed (likely): a step begins with the model call",
		[ST_STEPS_PATTERN] =
			"guessed (uncertain) from repeating operators; a step begins with",
	};
	const char *certain =
		list->source == ST_STEPS_FUNCTION
			? "; to be certain, put strata.itt.task(\"step\") around each step"
			: "; to be certain, put record_function(\"step\") around each step";
	int size = list->what.size_bytes < 200 ? (int)list->what.size_bytes : 200;
	const char *more = "", *text, *parts = "";

	if (!list->what.size_bytes)
		return words[list->source];
	if (list->has_parts && list->whole_count + list->warm_up_count < list->count)
		parts = st_arena_printf(arena, "; parts from the %u whose operators were recorded",
					list->whole_count);
	if (list->overlapping)
		more = st_arena_printf(arena, "; %u more that overlap these are not counted",
				       list->overlapping);
	text = st_arena_printf(arena, "%s: %.*s%s%s%s", words[list->source], size, list->what.bytes,
			       more ? more : "", parts ? parts : "",
			       st_step_list_is_guess(list) ? certain : "");
	return text ? text : words[list->source];
}

/* The steps of a track: first, and one behind the last. */
static void range_of(const struct st_step_list *list, uint32_t track, uint32_t range[2])
{
	range[0] = ST_SEARCH(i, 0, list->count, list->steps[i].track < track);
	range[1] = ST_SEARCH(i, range[0], list->count, list->steps[i].track <= track);
}

/* The track whose steps a thread without any takes part in, or ST_NO_ROW. */
static uint32_t leading_track(const struct st_step_list *list, const struct st_result *result,
			      uint32_t track)
{
	uint32_t count, found = ST_NO_ROW, range[2];
	const struct st_track *tracks = st_result_tracks(result, &count);

	for (uint32_t i = 0; i < list->count; i = range[1]) {
		uint32_t at = list->steps[i].track;

		range_of(list, at, range);
		if (tracks[at].process != tracks[track].process)
			continue;
		if (found != ST_NO_ROW)
			return ST_NO_ROW;
		found = at;
	}
	return found;
}

void st_step_range(const struct st_step_list *list, const struct st_result *result, uint32_t track,
		   uint32_t range[2])
{
	range_of(list, track, range);
	if (range[0] != range[1])
		return;
	track = leading_track(list, result, track);
	if (track != ST_NO_ROW)
		range_of(list, track, range);
}

uint32_t st_step_at(const struct st_step_list *list, const struct st_result *result, uint32_t track,
		    int64_t time_ns)
{
	uint32_t range[2], low;

	st_step_range(list, result, track, range);
	low = ST_SEARCH(i, range[0], range[1], list->steps[i].end_ns <= time_ns);
	return low < range[1] && list->steps[low].begin_ns <= time_ns ? low : ST_NO_ROW;
}

/* Of the steps whose parts are known, as if they were all. */
static void spread_parts(struct st_step_figures *figures, uint64_t whole_ns)
{
	uint64_t known_ns = 0;

	if (!whole_ns || whole_ns == figures->wall_ns)
		return;
	for (unsigned int i = 0; i < ST_STEP_OTHER; i++) {
		figures->part_ns[i] = (uint64_t)((double)figures->part_ns[i] / (double)whole_ns *
						 (double)figures->wall_ns);
		known_ns += figures->part_ns[i];
	}
	figures->part_ns[ST_STEP_OTHER] =
		known_ns < figures->wall_ns ? figures->wall_ns - known_ns : 0;
}

enum st_status st_step_figures_make(const struct st_step_list *list, struct st_step_figures *out,
				    struct st_error *err)
{
	uint64_t *ns = calloc((size_t)list->count + 1, sizeof(*ns)), whole_ns = 0;

	memset(out, 0, sizeof(*out));
	if (!ns)
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for steps");
	for (uint32_t i = 0; i < list->count; i++) {
		const struct st_one_step *step = &list->steps[i];

		if (step->is_warm_up)
			continue;
		ns[out->count++] = step->wall_ns;
		out->wall_ns += step->wall_ns;
		whole_ns += step->is_whole ? step->wall_ns : 0;
		for (unsigned int part = 0; step->is_whole && part < ST_STEP_PART_KINDS; part++)
			out->part_ns[part] += step->part_ns[part];
	}
	spread_parts(out, whole_ns);
	out->took = st_percentiles_take(ns, out->count);
	free(ns);
	return ST_OK;
}
