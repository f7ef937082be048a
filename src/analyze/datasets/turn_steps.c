// SPDX-License-Identifier: Apache-2.0
//
// Steps between turns, and the operators that each step computes as often.
//
// Most operators of a program are part of its model: once per layer and step. Of these the number of steps tells how many
// there were, to the last one, whatever pace the program had meanwhile. What a step computes now more often and now less (with
// the length of a text) follows the work instead, as told by allocations.
#include "analyze/datasets/turn_steps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/operator_turns.h"
#include "base/search.h"
#include "base/vec.h"
#include "format/event_kind.h"
#include "store/category.h"
#include "store/result.h"

enum { STEPS_MIN = 2, UNLIKE = 2 };

/* What a label's slices may begin: optimizers tell steps better than modules, of which there are several. */
enum kind { NOTHING, MODULE, OPTIMIZER };

/* The label whose calls are the steps of a process. */
struct choice {
	enum kind kind;
	uint32_t label, track;
	uint64_t total_ns;
	bool is_shared; /* several threads call it, at the same time maybe */
};

struct finder {
	const struct st_result *result;
	uint8_t *kinds; /* by label */
	uint32_t *calls;
	uint64_t *total_ns; /* by label, of a track */
	uint32_t label_count;
};

static enum kind kind_of(const struct st_result *result, const struct st_label *label)
{
	if (label->category == ST_CATEGORY_MODULE)
		return MODULE;
	if (label->category == ST_CATEGORY_RANGE && !label->from_itt &&
	    st_text_begins(st_result_text(result, label->name), "Optimizer.step#"))
		return OPTIMIZER;
	return NOTHING;
}

/* The one that takes most time: modules lie in the model, and losses are short. */
static void choose(struct finder *finder, uint32_t track, const struct st_track *rows,
		   struct choice *best)
{
	const struct st_slices *slices = st_result_slices(finder->result);

	memset(finder->calls, 0, finder->label_count * sizeof(*finder->calls));
	memset(finder->total_ns, 0, finder->label_count * sizeof(*finder->total_ns));
	for (uint32_t row = rows->row_begin; row < rows->row_end; row++) {
		uint32_t label = slices->label[row];

		if (!finder->kinds[label])
			continue;
		finder->calls[label]++;
		finder->total_ns[label] += (uint64_t)(slices->end_ns[row] - slices->begin_ns[row]);
	}
	for (uint32_t label = 0; label < finder->label_count; label++) {
		enum kind kind = finder->kinds[label];

		if (finder->calls[label] < STEPS_MIN || kind < best->kind)
			continue;
		if (best->kind && label == best->label && track != best->track)
			best->is_shared = true;
		else if (kind > best->kind || finder->total_ns[label] > best->total_ns)
			*best = (struct choice){kind, label, track, finder->total_ns[label], false};
	}
}

static bool list_calls(struct st_turn_loop *loop, const struct st_result *result,
		       const struct choice *choice)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t count;
	const struct st_track *track = &st_result_tracks(result, &count)[choice->track];

	loop->end_ns = INT64_MIN;
	for (uint32_t row = track->row_begin; row < track->row_end; row++) {
		/* One inside another is part of it. */
		if (slices->label[row] != choice->label || slices->begin_ns[row] < loop->end_ns)
			continue;
		if (!ST_VEC_PUSH(loop->begin_ns, loop->count, loop->capacity,
				 slices->begin_ns[row]))
			return false;
		loop->end_ns = slices->end_ns[row];
	}
	/* What is behind the last optimizer is not known to be a step; before the first is one without the end of another. */
	loop->is_open = choice->kind == MODULE;
	if (choice->kind == OPTIMIZER && loop->count)
		loop->end_ns = loop->begin_ns[--loop->count];
	if (loop->count < STEPS_MIN)
		loop->count = 0;
	return true;
}

static bool find_loops(struct st_turn_steps *out, struct finder *finder, struct choice *choices)
{
	uint32_t track_count, label_count;
	const struct st_track *tracks = st_result_tracks(finder->result, &track_count);
	const struct st_label *labels = st_result_labels(finder->result, &label_count);

	for (uint32_t i = 0; i < label_count; i++)
		finder->kinds[i] = (uint8_t)kind_of(finder->result, &labels[i]);
	for (uint32_t i = 0; i < track_count; i++)
		if (tracks[i].process < out->count && tracks[i].row_begin < tracks[i].row_end)
			choose(finder, i, &tracks[i], &choices[tracks[i].process]);
	for (uint32_t i = 0; i < out->count; i++)
		if (choices[i].kind && !choices[i].is_shared &&
		    !list_calls(&out->loops[i], finder->result, &choices[i]))
			return false;
	return true;
}

bool st_turn_steps_make(struct st_turn_steps *out, const struct st_result *result)
{
	struct finder finder = {.result = result};
	struct choice *choices;
	bool done;

	*out = (struct st_turn_steps){0};
	st_result_labels(result, &finder.label_count);
	st_result_processes(result, &out->count);
	out->loops = calloc((size_t)out->count + 1, sizeof(*out->loops));
	choices = calloc((size_t)out->count + 1, sizeof(*choices));
	finder.kinds = calloc((size_t)finder.label_count + 1, sizeof(*finder.kinds));
	finder.calls = calloc((size_t)finder.label_count + 1, sizeof(*finder.calls));
	finder.total_ns = calloc((size_t)finder.label_count + 1, sizeof(*finder.total_ns));
	done = out->loops && choices && finder.kinds && finder.calls && finder.total_ns &&
	       find_loops(out, &finder, choices);
	free(choices);
	free(finder.kinds);
	free(finder.calls);
	free(finder.total_ns);
	if (!done)
		st_turn_steps_fini(out);
	return done;
}

void st_turn_steps_fini(struct st_turn_steps *steps)
{
	for (uint32_t i = 0; steps->loops && i < steps->count; i++)
		free(steps->loops[i].begin_ns);
	free(steps->loops);
	*steps = (struct st_turn_steps){0};
}

static int64_t step_end(const struct st_turn_loop *loop, uint32_t step)
{
	return step + 1 < loop->count ? loop->begin_ns[step + 1] : loop->end_ns;
}

/* Steps that begin until a time. */
static uint32_t begun(const struct st_turn_loop *loop, int64_t time_ns)
{
	return ST_SEARCH(i, 0, loop->count, loop->begin_ns[i] <= time_ns);
}

double st_turn_steps_until(const struct st_turn_steps *steps, uint32_t process, int64_t time_ns)
{
	const struct st_turn_loop *loop = process < steps->count ? &steps->loops[process] : NULL;
	uint32_t at = loop ? begun(loop, time_ns + ST_TURN_AT_CALL_NS) : 0;
	int64_t begin_ns, end_ns;

	if (!at)
		return 0.0;
	begin_ns = loop->begin_ns[at - 1];
	end_ns = step_end(loop, at - 1);
	if (time_ns <= begin_ns)
		return at - 1;
	if (time_ns >= end_ns)
		return at;
	return at - 1 + (double)(time_ns - begin_ns) / (double)(end_ns - begin_ns);
}

/* What is known of the operators of a label, in one process. */
struct seen {
	uint32_t track, step, count; /* of the latest step */
	uint32_t usual;		     /* in each step */
	uint32_t steps;		     /* whole ones with such an operator */
	uint64_t in_bursts, before;  /* recorded, in steps; before: not in bursts */
	bool varies;
};

/* One process. */
struct counter {
	const struct st_operator_turns *turns;
	const struct st_turn_loop *loop;
	uint32_t process;
	struct seen *seen; /* by label */
};

static bool is_whole(const struct st_turn_loop *loop, uint32_t step, const struct st_turn *turn)
{
	if (loop->is_open && step + 1 == loop->count)
		return false;
	return loop->begin_ns[step] >= turn->begin_ns - ST_TURN_AT_CALL_NS &&
	       step_end(loop, step) <= turn->end_ns + ST_TURN_AT_CALL_NS;
}

/* Steps all of whose operators were recorded lie together; the first of them is returned. */
static uint32_t first_whole(const struct st_turn_loop *loop, const struct st_turn *turn)
{
	return begun(loop, turn->begin_ns - ST_TURN_AT_CALL_NS - 1);
}

static bool has_whole(const struct st_turn_loop *loop, const struct st_turn *turn)
{
	uint32_t first = first_whole(loop, turn);

	return first < loop->count && is_whole(loop, first, turn);
}

static uint32_t whole_steps(const struct st_turn_loop *loop, const struct st_turn *turn)
{
	uint32_t first = first_whole(loop, turn), end = first;

	while (end < loop->count && is_whole(loop, end, turn))
		end++;
	return end - first;
}

static void close_step(struct seen *seen)
{
	if (!seen->count)
		return;
	seen->varies = seen->varies || (seen->steps && seen->count != seen->usual);
	seen->usual = seen->count;
	seen->steps++;
	seen->count = 0;
}

static void count_one(const struct counter *counter, struct seen *seen, uint32_t track,
		      int64_t begin_ns)
{
	const struct st_turn_loop *loop = counter->loop;
	const struct st_turn *turn =
		st_operator_turn_at(counter->turns, counter->process, begin_ns);
	uint32_t step = begun(loop, begin_ns);

	if (!turn)
		return;
	if (!st_turn_is_burst(turn)) {
		seen->before += step > 0;
		return;
	}
	if (!step || !has_whole(loop, turn)) {
		seen->varies = true;
		return;
	}
	seen->in_bursts++;
	if ((begin_ns >= loop->end_ns && !loop->is_open) || !is_whole(loop, --step, turn))
		return;
	if (seen->count && seen->step != step)
		close_step(seen);
	if ((seen->steps || seen->count) && seen->track != track)
		seen->varies = true;
	seen->track = track;
	seen->step = step;
	seen->count++;
}

static void count_rows(const struct counter *counter, const struct st_result *result)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t track_count, label_count;
	const struct st_track *tracks = st_result_tracks(result, &track_count);
	const struct st_label *labels = st_result_labels(result, &label_count);

	for (uint32_t i = 0; i < track_count; i++) {
		if (tracks[i].process != counter->process)
			continue;
		for (uint32_t row = tracks[i].row_begin; row < tracks[i].row_end; row++) {
			uint32_t label = slices->label[row];

			if (st_turn_scales(&labels[label]) &&
			    !(slices->flags[row] & (ST_SLICE_TWIN | ST_SLICE_COPY)))
				count_one(counter, &counter->seen[label], i, slices->begin_ns[row]);
		}
	}
}

/* Whole steps in bursts; none, where steps outside of them are others by the work they take: a program that trains and
 * evaluates, say, and bursts saw one of the two. */
static uint32_t steps_seen(const struct counter *counter)
{
	double work[2] = {0.0}, made[2] = {0.0}, out, in_bursts;
	uint32_t whole = 0;

	for (uint32_t i = 0; i < counter->turns->count; i++) {
		const struct st_turn *turn = &counter->turns->rows[i];
		bool is_burst = st_turn_is_burst(turn);

		if (turn->process != counter->process)
			continue;
		whole += is_burst ? whole_steps(counter->loop, turn) : 0;
		if (turn->is_last || (!is_burst && turn->detail & ST_TURN_WITH))
			continue;
		work[is_burst] += turn->made > 0.0 ? (double)turn->progress : 0.0;
		made[is_burst] += turn->made;
	}
	out = work[false] * made[true];
	in_bursts = work[true] * made[false];
	return out <= in_bursts * UNLIKE && in_bursts <= out * UNLIKE ? whole : 0;
}

static void set_times(const struct counter *counter, uint32_t label_count, double *times)
{
	uint32_t whole = steps_seen(counter);

	for (uint32_t i = 0; i < label_count; i++) {
		struct seen *seen = &counter->seen[i];
		double all;

		close_step(seen);
		if (seen->varies || seen->steps != whole || whole < STEPS_MIN)
			continue;
		all = (double)seen->usual * counter->loop->count - (double)seen->before;
		times[i] = all > (double)seen->in_bursts ? all / (double)seen->in_bursts : 1.0;
	}
}

double *st_turn_steps_times(const struct st_turn_steps *steps,
			    const struct st_operator_turns *turns, const struct st_result *result)
{
	uint32_t label_count;
	struct counter counter = {.turns = turns};
	double *times;

	st_result_labels(result, &label_count);
	times = calloc((size_t)steps->count * label_count + 1, sizeof(*times));
	counter.seen = malloc(((size_t)label_count + 1) * sizeof(*counter.seen));
	for (uint32_t i = 0; times && counter.seen && i < steps->count; i++) {
		counter.process = i;
		counter.loop = &steps->loops[i];
		if (!counter.loop->count)
			continue;
		memset(counter.seen, 0, ((size_t)label_count + 1) * sizeof(*counter.seen));
		count_rows(&counter, result);
		set_times(&counter, label_count, times + (size_t)i * label_count);
	}
	if (!counter.seen) {
		free(times);
		times = NULL;
	}
	free(counter.seen);
	return times;
}
