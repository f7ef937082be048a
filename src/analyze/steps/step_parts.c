// SPDX-License-Identifier: Apache-2.0
//
// The parts of steps. One pass over the slices of each thread that has steps, in order of time: every moment belongs to
// the innermost slice that is open then, and so to the part of that slice; what is left of a step is "other".
#include "analyze/steps/step_rows.h"

#include <assert.h>
#include <stdlib.h>

#include "analyze/datasets/dataset_parts.h"
#include "base/search.h"

/* Between two nodes of one backward pass autograd's engine itself is at work, for a few µs; two calls of backward()
 * have Python between them. */
enum { ENGINE_GAP_NS = 20000 };

struct open_slice {
	int64_t end_ns;
	int64_t closure_ns; /* of an optimizer: until then it evaluates the model, and its own time is Python's */
	unsigned int part; /* ST_STEP_LOOSE is decided */
};

/* The backward pass on a thread of autograd's own, as it has one for each device: meanwhile the thread that called
 * backward() waits, and nothing is open there. */
struct away {
	int64_t begin_ns, end_ns;
};

struct sweep {
	const struct st_step_rows *rows;
	struct st_step_list *list;
	struct st_pause_list pauses;
	struct open_slice *open; /* one for each depth */
	uint32_t open_count;
	int64_t *last_backward;	 /* by step: when the last backward node began, or INT64_MIN */
	uint32_t step, step_end; /* of the thread: the first that is not over */
	uint32_t process;
	int64_t now_ns, backward_end_ns; /* where the newest outermost backward node ended */
	struct away *off_times;		 /* of the process, by time, disjoint; in the arena */
	uint32_t away_count, away;	 /* the first that is not over */
};

static uint64_t recorded(const struct sweep *sweep, int64_t begin_ns, int64_t end_ns)
{
	if (!sweep->pauses.count)
		return (uint64_t)(end_ns - begin_ns);
	return st_pause_list_recorded(&sweep->pauses, sweep->process, begin_ns, end_ns);
}

/* The time up to then belongs to a part. */
static void pass_as(struct sweep *sweep, int64_t until_ns, unsigned int part)
{
	while (sweep->now_ns < until_ns && sweep->step < sweep->step_end) {
		struct st_one_step *step = &sweep->list->steps[sweep->step];
		int64_t from = sweep->now_ns > step->begin_ns ? sweep->now_ns : step->begin_ns;
		int64_t to = until_ns < step->end_ns ? until_ns : step->end_ns;

		if (from < to && part < ST_STEP_OTHER)
			step->part_ns[part] += recorded(sweep, from, to);
		if (until_ns < step->end_ns)
			break;
		sweep->now_ns = step->end_ns > sweep->now_ns ? step->end_ns : sweep->now_ns;
		sweep->step++;
	}
	if (until_ns > sweep->now_ns)
		sweep->now_ns = until_ns;
}

/* What is nothing else here is the backward pass as long as that runs elsewhere. */
static void pass(struct sweep *sweep, int64_t until_ns, unsigned int part)
{
	while (part == ST_STEP_OTHER && sweep->away < sweep->away_count) {
		const struct away *away = &sweep->off_times[sweep->away];

		if (away->begin_ns >= until_ns)
			break;
		pass_as(sweep, away->begin_ns, ST_STEP_OTHER);
		pass_as(sweep, away->end_ns < until_ns ? away->end_ns : until_ns, ST_STEP_BACKWARD);
		if (away->end_ns > until_ns)
			break;
		sweep->away++;
	}
	pass_as(sweep, until_ns, part);
}

/* The time up to then lies in a slice, and in nothing inside it. */
static void pass_in(struct sweep *sweep, int64_t until_ns, const struct open_slice *slice)
{
	if (sweep->now_ns < slice->closure_ns)
		pass(sweep, until_ns < slice->closure_ns ? until_ns : slice->closure_ns,
		     ST_STEP_OTHER);
	pass(sweep, until_ns, slice->part);
}

/* Ends what ends before then. */
static void close_until(struct sweep *sweep, int64_t time_ns)
{
	while (sweep->open_count && sweep->open[sweep->open_count - 1].end_ns <= time_ns) {
		const struct open_slice *top = &sweep->open[--sweep->open_count];

		pass_in(sweep, top->end_ns, top);
		if (top->part == ST_STEP_BACKWARD)
			sweep->backward_end_ns = top->end_ns;
	}
}

static unsigned int part_now(const struct sweep *sweep)
{
	const struct open_slice *top = &sweep->open[sweep->open_count - 1];

	if (!sweep->open_count || sweep->now_ns < top->closure_ns)
		return ST_STEP_OTHER;
	return top->part;
}

static unsigned int decided(const struct sweep *sweep, uint32_t row)
{
	unsigned int part = sweep->rows->part[row];
	int64_t last;

	if (part == ST_STEP_NOWHERE)
		return ST_STEP_OTHER;
	if (part != ST_STEP_LOOSE)
		return part;
	if (sweep->step >= sweep->step_end)
		return ST_STEP_OTHER;
	last = sweep->last_backward[sweep->step];
	return last == INT64_MIN || sweep->rows->slices->begin_ns[row] < last ? ST_STEP_FORWARD
									      : ST_STEP_OTHER;
}

static bool follows_node(const struct sweep *sweep, unsigned int part, int64_t begin_ns)
{
	return part == ST_STEP_BACKWARD && part_now(sweep) == ST_STEP_OTHER &&
	       sweep->backward_end_ns == sweep->now_ns && begin_ns - sweep->now_ns < ENGINE_GAP_NS;
}

static void sweep_track(struct sweep *sweep, const struct st_track *track)
{
	const struct st_slices *slices = sweep->rows->slices;

	sweep->open_count = 0;
	sweep->now_ns = sweep->backward_end_ns = INT64_MIN;
	for (uint32_t row = track->row_begin; row < track->row_end; row++) {
		struct open_slice next = {.end_ns = slices->end_ns[row], .closure_ns = INT64_MIN};
		const struct st_closure *closure = st_step_closure(sweep->rows, row);
		uint32_t parent = slices->parent[row];

		if (closure)
			next.closure_ns = closure->until_ns;
		close_until(sweep, slices->begin_ns[row]);
		next.part = decided(sweep, row);
		if (follows_node(sweep, next.part, slices->begin_ns[row]))
			pass(sweep, slices->begin_ns[row], ST_STEP_BACKWARD);
		else if (sweep->open_count)
			pass_in(sweep, slices->begin_ns[row], &sweep->open[sweep->open_count - 1]);
		else
			pass(sweep, slices->begin_ns[row], ST_STEP_OTHER);
		/* A range that ends behind what is around it takes only what lies inside. Modules and operators go on
		 * behind the end of a range. */
		if (sweep->open_count && parent != ST_NO_ROW &&
		    sweep->rows->of_label[slices->label[row]] == ST_STEP_LABEL_NONE &&
		    next.end_ns > sweep->open[sweep->open_count - 1].end_ns)
			next.end_ns = sweep->open[sweep->open_count - 1].end_ns;
		if (sweep->open_count <= UINT16_MAX)
			sweep->open[sweep->open_count++] = next;
	}
	close_until(sweep, INT64_MAX);
	pass(sweep, INT64_MAX, ST_STEP_OTHER);
}

/* When the backward pass of each step was last heard of. */
static void find_backward(struct sweep *sweep, const struct st_track *track)
{
	const struct st_slices *slices = sweep->rows->slices;
	uint32_t at = sweep->step;

	for (uint32_t row = track->row_begin; row < track->row_end; row++) {
		while (at < sweep->step_end &&
		       sweep->list->steps[at].end_ns <= slices->begin_ns[row])
			at++;
		if (at >= sweep->step_end)
			return;
		if (sweep->rows->part[row] == ST_STEP_BACKWARD &&
		    sweep->list->steps[at].begin_ns <= slices->begin_ns[row])
			sweep->last_backward[at] = slices->begin_ns[row];
	}
}

static void heard_of_backward(struct sweep *sweep, int64_t begin_ns)
{
	const struct st_one_step *steps = sweep->list->steps;
	uint32_t at = ST_SEARCH(i, sweep->step, sweep->step_end, steps[i].end_ns <= begin_ns);

	if (at < sweep->step_end && steps[at].begin_ns <= begin_ns &&
	    sweep->last_backward[at] < begin_ns)
		sweep->last_backward[at] = begin_ns;
}

static int by_begin(const void *a, const void *b)
{
	const struct away *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Joins what overlaps, and nodes between which only the engine works. */
static void merge(struct sweep *sweep)
{
	uint32_t kept = 0;

	if (sweep->away_count)
		qsort(sweep->off_times, sweep->away_count, sizeof(*sweep->off_times), by_begin);
	for (uint32_t i = 0; i < sweep->away_count; i++) {
		struct away *last = kept ? &sweep->off_times[kept - 1] : NULL;

		if (last && sweep->off_times[i].begin_ns - last->end_ns < ENGINE_GAP_NS) {
			if (sweep->off_times[i].end_ns > last->end_ns)
				last->end_ns = sweep->off_times[i].end_ns;
			continue;
		}
		sweep->off_times[kept++] = sweep->off_times[i];
	}
	sweep->away_count = kept;
}

static bool has_steps(const struct st_step_list *list, uint32_t track)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->steps[i].track == track)
			return true;
	return false;
}

/* Outermost backward nodes of the process's threads that have no steps themselves. */
static void find_off_times(struct sweep *sweep)
{
	const struct st_slices *slices = sweep->rows->slices;
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(sweep->rows->result, &count);

	sweep->away_count = sweep->away = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (tracks[i].process != sweep->process || tracks[i].kind != ST_TRACK_THREAD ||
		    has_steps(sweep->list, i))
			continue;
		for (uint32_t row = tracks[i].row_begin; row < tracks[i].row_end; row++) {
			uint32_t up = slices->parent[row];

			if (sweep->rows->part[row] != ST_STEP_BACKWARD ||
			    (up != ST_NO_ROW && sweep->rows->part[up] == ST_STEP_BACKWARD))
				continue;
			heard_of_backward(sweep, slices->begin_ns[row]);
			sweep->off_times[sweep->away_count++] =
				(struct away){slices->begin_ns[row], slices->end_ns[row]};
		}
	}
	merge(sweep);
}

static void fill(struct sweep *sweep)
{
	struct st_step_list *list = sweep->list;
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(sweep->rows->result, &count);

	for (uint32_t i = 0; i < list->count && sweep->rows->part;) {
		const struct st_track *track = &tracks[list->steps[i].track];

		sweep->process = track->process;
		sweep->step = sweep->step_end = i;
		while (sweep->step_end < list->count &&
		       list->steps[sweep->step_end].track == list->steps[i].track)
			sweep->step_end++;
		i = sweep->step_end;
		find_backward(sweep, track);
		find_off_times(sweep);
		sweep_track(sweep, track);
	}
	for (uint32_t i = 0; i < list->count; i++) {
		struct st_one_step *step = &list->steps[i];
		uint64_t known_ns = 0;

		sweep->process = tracks[step->track].process;
		step->wall_ns = recorded(sweep, step->begin_ns, step->end_ns);
		for (unsigned int part = 0; part < ST_STEP_OTHER; part++)
			known_ns += step->part_ns[part];
		assert(known_ns <= step->wall_ns);
		step->part_ns[ST_STEP_OTHER] = step->wall_ns - known_ns;
	}
}

static uint32_t count_backward(const struct st_step_rows *rows)
{
	uint32_t count = 0;

	for (uint32_t row = 0; rows->part && row < rows->slices->count; row++)
		count += rows->part[row] == ST_STEP_BACKWARD;
	return count;
}

bool st_step_parts_fill(struct st_step_list *list, struct st_step_rows *rows)
{
	struct sweep sweep = {.rows = rows, .list = list};
	struct st_arena *arena = &rows->arena;

	sweep.open = st_arena_alloc(arena, ((size_t)UINT16_MAX + 1) * sizeof(*sweep.open));
	sweep.last_backward =
		st_arena_alloc(arena, ((size_t)list->count + 1) * sizeof(*sweep.last_backward));
	sweep.off_times = st_arena_alloc(arena, ((size_t)count_backward(rows) + 1) *
							sizeof(*sweep.off_times));
	if (!st_pause_list_make(&sweep.pauses, rows->result, arena) || arena->failed)
		return false;
	for (uint32_t i = 0; i < list->count; i++)
		sweep.last_backward[i] = INT64_MIN;
	fill(&sweep);
	return true;
}
