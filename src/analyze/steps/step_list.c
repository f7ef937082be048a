// SPDX-License-Identifier: Apache-2.0
//
// Finds the steps of a program, from the best source that there is.
#include "analyze/steps/step_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "analyze/datasets/operator_turns.h"
#include "analyze/datasets/turn_steps.h"
#include "analyze/steps/step_rows.h"
#include "analyze/steps/steps.h"
#include "format/event_kind.h"
#include "store/result.h"

/* Steps at the beginning that take half again as long as the one in the middle are warm-up; at most one in four. */
enum { WARM_UP_STEPS_MIN = 4, WARM_UP_SHARE = 4, WARM_UP_MAX = 20 };

const char *const st_step_part_names[ST_STEP_PART_KINDS] = {
	[ST_STEP_DATA] = "data wait",
	[ST_STEP_FORWARD] = "forward",
	[ST_STEP_BACKWARD] = "backward",
	[ST_STEP_OPTIMIZER] = "optimizer",
	[ST_STEP_DEVICE] = "waits for the device",
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

/* How many of a thread's first steps are longer than usual; scratch has room for them. None, if that is how a program
 * begins that does two things in turns (train, evaluate): there are more than warm up, or as long ones come again. */
static uint32_t count_warm_up(const struct st_one_step *steps, uint32_t count, uint64_t median_ns,
			      uint64_t *scratch)
{
	uint32_t most = count >= WARM_UP_STEPS_MIN ? count / WARM_UP_SHARE : 0, first = 0,
		 again = 0;
	uint64_t usual_ns;

	for (; first < count && steps[first].wall_ns > median_ns / 2 * 3; first++)
		scratch[first] = steps[first].wall_ns;
	if (!first || first > most || first > WARM_UP_MAX)
		return 0;
	usual_ns = st_percentiles_take(scratch, first).median;
	for (uint32_t i = first; i < count; i++)
		again += steps[i].wall_ns > usual_ns / 5 * 4;
	return again > 1 && again > (count - first) / 10 ? 0 : first;
}

/* By thread, from its first step on. */
static bool mark_warm_up(struct st_step_list *list)
{
	uint64_t *ns = calloc((size_t)list->count + 1, sizeof(*ns));

	if (!ns)
		return false;
	for (uint32_t i = 0, end; i < list->count; i = end) {
		uint64_t median_ns;
		uint32_t first;

		for (end = i; end < list->count && list->steps[end].track == list->steps[i].track;
		     end++)
			ns[end - i] = list->steps[end].wall_ns;
		median_ns = st_percentiles_take(ns, end - i).median;
		first = count_warm_up(list->steps + i, end - i, median_ns, ns);
		for (uint32_t at = i; at < i + first; at++)
			list->steps[at].is_warm_up = true;
		list->warm_up_count += first;
		/* Another function is compiled at its first call. */
		for (uint32_t at = i; at < end; at++) {
			struct st_one_step *step = &list->steps[at];

			if (step->is_warm_up || !step->begins_loop ||
			    step->wall_ns <= median_ns / 2 * 3)
				continue;
			step->is_warm_up = true;
			list->warm_up_count++;
		}
	}
	free(ns);
	return true;
}

/* A turn with operators ends where an optimizer steps: its part is known by its own range. Or where the model is called. */
static bool is_whole(const struct st_operator_turns *turns, uint32_t process,
		     const struct st_one_step *step)
{
	const struct st_turn *turn = st_operator_turn_at(turns, process, step->begin_ns);
	int64_t end_ns = step->end_ns - (int64_t)step->part_ns[ST_STEP_OPTIMIZER];

	for (; turn && turn->detail & ST_TURN_WITH; turn++) {
		if (turn->is_last || end_ns <= turn->end_ns + ST_TURN_AT_CALL_NS)
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

/* Steps that are no warm-up and whose parts are known, by their length. */
struct whole_steps {
	const struct st_one_step **of;
	uint32_t count;
};

static int by_length(const void *a, const void *b)
{
	const struct st_one_step *x = *(const struct st_one_step *const *)a;
	const struct st_one_step *y = *(const struct st_one_step *const *)b;

	return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

static bool whole_steps_make(struct whole_steps *whole, const struct st_step_list *list)
{
	whole->count = 0;
	whole->of = calloc((size_t)list->count + 1, sizeof(*whole->of));
	if (!whole->of)
		return false;
	for (uint32_t i = 0; i < list->count; i++)
		if (list->steps[i].is_whole && !list->steps[i].is_warm_up && list->steps[i].wall_ns)
			whole->of[whole->count++] = &list->steps[i];
	qsort(whole->of, whole->count, sizeof(*whole->of), by_length);
	return true;
}

static const struct st_one_step *most_like(const struct whole_steps *whole, uint64_t wall_ns)
{
	uint32_t at = ST_SEARCH(i, 0, whole->count, whole->of[i]->wall_ns < wall_ns);

	if (!whole->count)
		return NULL;
	if (!at || (at < whole->count &&
		    whole->of[at]->wall_ns - wall_ns < wall_ns - whole->of[at - 1]->wall_ns))
		return whole->of[at];
	return whole->of[at - 1];
}

/* Parts are told of all steps, if most of their time is that of steps as long, or as short, as those that were recorded. */
static bool mark_parts(struct st_step_list *list)
{
	struct whole_steps whole;
	uint64_t all_ns = 0, unlike_ns = 0;

	if (!whole_steps_make(&whole, list))
		return false;
	list->whole_count = whole.count;
	for (uint32_t i = 0; i < list->count; i++) {
		uint64_t wall_ns = list->steps[i].wall_ns;
		const struct st_one_step *like = most_like(&whole, wall_ns);

		if (list->steps[i].is_warm_up)
			continue;
		all_ns += wall_ns;
		if (!like || like->wall_ns > 2 * wall_ns || wall_ns > 2 * like->wall_ns)
			unlike_ns += wall_ns;
	}
	free(whole.of);
	list->is_unlike = list->has_parts && whole.count && unlike_ns > all_ns / 4;
	list->has_parts = list->has_parts && whole.count && !list->is_unlike;
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
	done = done && mark_whole(out, result) && mark_warm_up(out) && mark_parts(out);
	if (!out->count)
		out->source = ST_STEPS_NONE;
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
	else if (list->is_unlike)
		parts = st_arena_printf(
			arena,
			"; parts are not shown: the %u whose operators were recorded "
			"are much shorter or longer than most "
			"(-knob collect-operators=true records all)",
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

bool st_step_piece(const struct st_step_list *list, const uint32_t range[2],
		   const int64_t whole_ns[2], uint32_t *at, int64_t piece_ns[2])
{
	if (*at == range[0])
		*at = ST_SEARCH(i, range[0], range[1], list->steps[i].end_ns <= whole_ns[0]);
	while (*at < range[1] && list->steps[*at].begin_ns < whole_ns[1]) {
		const struct st_one_step *step = &list->steps[(*at)++];

		piece_ns[0] = step->begin_ns > whole_ns[0] ? step->begin_ns : whole_ns[0];
		piece_ns[1] = step->end_ns < whole_ns[1] ? step->end_ns : whole_ns[1];
		if (!step->is_warm_up && piece_ns[1] > piece_ns[0])
			return true;
	}
	return false;
}

/* Of a step whose operators were not recorded: as those of the one whose length is nearest. Long steps and short ones may do
 * different things (train, evaluate), and of short ones more are recorded whole. */
static void borrow_parts(struct st_step_figures *figures, const struct st_one_step *step,
			 const struct st_one_step *like)
{
	uint64_t known_ns = 0;

	for (unsigned int i = 0; i < ST_STEP_OTHER; i++) {
		uint64_t part_ns = (uint64_t)((double)like->part_ns[i] / (double)like->wall_ns *
					      (double)step->wall_ns);

		figures->part_ns[i] += part_ns;
		known_ns += part_ns;
	}
	figures->part_ns[ST_STEP_OTHER] += known_ns < step->wall_ns ? step->wall_ns - known_ns : 0;
}

enum st_status st_step_figures_make(const struct st_step_list *list, struct st_step_figures *out,
				    struct st_error *err)
{
	uint64_t *ns = calloc((size_t)list->count + 1, sizeof(*ns));
	struct whole_steps whole;

	memset(out, 0, sizeof(*out));
	if (!whole_steps_make(&whole, list) || !ns) {
		free(whole.of);
		free(ns);
		return st_error_set(err, ST_ENOMEM, 0, "out of memory for steps");
	}
	for (uint32_t i = 0; i < list->count; i++) {
		const struct st_one_step *step = &list->steps[i], *like;

		if (step->is_warm_up)
			continue;
		ns[out->count++] = step->wall_ns;
		out->wall_ns += step->wall_ns;
		for (unsigned int part = 0; step->is_whole && part < ST_STEP_PART_KINDS; part++)
			out->part_ns[part] += step->part_ns[part];
		like = step->is_whole ? NULL : most_like(&whole, step->wall_ns);
		if (like)
			borrow_parts(out, step, like);
	}
	free(whole.of);
	out->took = st_percentiles_take(ns, out->count);
	free(ns);
	return ST_OK;
}
