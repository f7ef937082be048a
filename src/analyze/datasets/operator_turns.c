// SPDX-License-Identifier: Apache-2.0
//
// Turns with and without operators, from the events that begin them.
//
// An operator of a burst stands for others by the work that was done around it, which allocations tell; where each step
// computes it as often, by steps (turn_steps.c). Their times are never more than there was time for.
//
// A turn that is compared has one of the other kind on each side. How long the work of the one with operators would have
// taken without them is told by the other's pace: steps where all of them begin and end with one, else how often the
// framework allocated. Single comparisons are noisy, and some are far off (another program, a page fault), so that the
// mean leaves out a fifth at either end; its error is that of the winsorized values.
#include "analyze/datasets/operator_turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/turn_steps.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "store/category.h"
#include "store/events.h"
#include "store/operators.h"
#include "store/result.h"

enum { COMPARED_MIN = 6, PROGRESS_MIN = 64, LEFT_OUT = 5, WORK_TOGETHER = 256, OTHER_KIND = 4 };
/* Where more than this was not extrapolated to, no error of the rest says anything. */
static const double unlike_max = 0.5;
/* What was done this much faster than in bursts was not done by operators of the same speed. */
static const double faster_min = 1.5;
static const double normal_95 = 1.96;

struct comparison {
	double operator_ns;
};

static int by_time(const void *a, const void *b)
{
	const struct st_turn *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static bool read_events(struct st_operator_turns *out, const struct st_result *result)
{
	const struct st_events *events = st_result_events(result);
	uint32_t track_count, capacity = 0;
	const struct st_track *tracks = st_result_tracks(result, &track_count);

	for (uint32_t i = 0; i < events->count; i++) {
		const struct st_event_row *row = &events->rows[i];
		struct st_turn turn = {.detail = row->detail,
				       .begin_ns = row->time_ns,
				       .progress = row->value,
				       .steps = row->extra,
				       .times = 1.0,
				       .times_ns = 1.0};

		if (row->kind != ST_EVENT_OPERATOR_TURN || row->track >= track_count)
			continue;
		turn.process = tracks[row->track].process;
		if (!ST_VEC_PUSH(out->rows, out->count, capacity, turn))
			return false;
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), by_time);
	return true;
}

/* From what had been done when a turn began to what was done in it. */
static void close_turns(struct st_operator_turns *turns, const struct st_result *result)
{
	uint32_t process_count;
	const struct st_process *processes = st_result_processes(result, &process_count);

	for (uint32_t i = 0; i < turns->count; i++) {
		struct st_turn *turn = &turns->rows[i];
		const struct st_turn *next = turn + 1;

		turn->is_last = i + 1 == turns->count || next->process != turn->process;
		if (!turn->is_last) {
			turn->end_ns = next->begin_ns;
			turn->progress = next->progress - turn->progress;
			turn->steps = next->steps - turn->steps;
			continue;
		}
		turn->end_ns = turn->process < process_count ? processes[turn->process].last_ns
							     : turn->begin_ns;
		if (turn->end_ns < turn->begin_ns)
			turn->end_ns = turn->begin_ns;
		turn->progress = turn->steps = 0;
	}
}

const struct st_turn *st_operator_turn_at(const struct st_operator_turns *turns, uint32_t process,
					  int64_t time_ns)
{
	uint32_t low = 0, high = turns->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct st_turn *turn = &turns->rows[middle];

		if (turn->process < process ||
		    (turn->process == process && turn->begin_ns <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || turns->rows[low - 1].process != process)
		return NULL;
	return &turns->rows[low - 1];
}

static void count_operators(struct st_operator_turns *turns, const struct st_result *result)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t count, track_count, signature_count;
	const struct st_operator *operators = st_result_operators(result, &count);
	const struct st_signature *signatures = st_result_signatures(result, &signature_count);
	const struct st_track *tracks = st_result_tracks(result, &track_count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = operators[i].row, signature = operators[i].signature;
		const struct st_turn *turn;

		if (row >= slices->count || slices->track[row] >= track_count ||
		    (signature < signature_count &&
		     (signatures[signature].scope == ST_SCOPE_USER ||
		      signatures[signature].scope == ST_SCOPE_MODULE)))
			continue;
		turn = st_operator_turn_at(turns, tracks[slices->track[row]].process,
					   slices->begin_ns[row]);
		if (turn)
			turns->rows[turn - turns->rows].operators++;
	}
}

static bool was_paused(const struct st_result *result, const struct st_turn *turn)
{
	uint32_t count;
	const struct st_pause_window *pauses = st_result_pauses(result, &count);

	for (uint32_t i = 0; i < count; i++)
		if ((pauses[i].process == ST_NO_ROW || pauses[i].process == turn->process) &&
		    pauses[i].begin_ns < turn->end_ns && pauses[i].end_ns > turn->begin_ns)
			return true;
	return false;
}

/* What was done in a turn that counts as work, of the last one by the time it took. */
static double work_of(const struct st_turn *turn, double pace)
{
	return turn->is_last ? (double)(turn->end_ns - turn->begin_ns) * pace
			     : (double)turn->progress;
}

bool st_turn_is_burst(const struct st_turn *turn)
{
	return turn->detail & ST_TURN_WITH && !(turn->detail & ST_TURN_WHOLE);
}

static double ns_of(const struct st_turn *turn)
{
	return (double)(turn->end_ns - turn->begin_ns);
}

/* Bursts that follow each other, and stand for what was done around them. */
struct bursts {
	uint32_t first, end; /* turns, from a burst to a burst */
	double with, with_ns, made;
	double without;	       /* of the turns in which no operators were recorded */
	double without_slowly; /* what of it there was time for at the pace of these */
};

/* As many as did some work, which is counted coarsely; false: there are none. */
static bool next_bursts(const struct st_operator_turns *turns, uint32_t at, uint32_t end,
			double pace, struct bursts *out)
{
	double without = 0.0, without_ns = 0.0, ns = 0.0;

	while (at < end && !st_turn_is_burst(&turns->rows[at]))
		at++;
	*out = (struct bursts){.first = at, .end = at};
	for (; at < end && out->with < WORK_TOGETHER; at++) {
		const struct st_turn *turn = &turns->rows[at];

		if (!st_turn_is_burst(turn)) {
			without += work_of(turn, pace);
			without_ns += ns_of(turn);
			continue;
		}
		out->with += work_of(turn, pace);
		out->with_ns += ns_of(turn);
		out->made += turn->made;
		out->without = without;
		ns = without_ns;
		out->end = at + 1;
	}
	if (out->with <= 0.0 || out->with_ns <= 0.0)
		return false;
	out->without_slowly = fmin(out->without, out->with / out->with_ns * ns);
	return true;
}

/* Whether a turn's steps took as much work as those of the bursts beside it: the program did what it does in them, if at
 * another pace (others may have had the CPUs). */
static bool is_same_loop(const struct bursts *beside, double work, double made)
{
	double own, usual;

	if (!beside || beside->made < 1.0 || made < 1.0)
		return false;
	own = work / made;
	usual = beside->with / beside->made;
	return own < usual * OTHER_KIND && usual < own * OTHER_KIND;
}

static bool are_alike(double a, double b)
{
	return a > b * 0.8 && a < b * 1.25;
}

/* Of the time between two bursts, how much of the work is like the first: as if the program had gone on at its pace until it
 * went over to the other's (it trains, and then it evaluates). Half, where they are alike. */
static double share_of_first(const struct bursts *before, const struct bursts *after, double work,
			     double ns)
{
	double first = before->with / before->with_ns, second = after->with / after->with_ns, until;

	if (are_alike(first, second) ||
	    (before->made >= 1.0 && after->made >= 1.0 &&
	     are_alike(before->with / before->made, after->with / after->made)))
		return 0.5;
	until = (second * ns - work) / (second - first);
	if (until <= 0.0)
		return 0.0;
	return until >= ns ? 1.0 : first * until / work;
}

/* Operators took no longer than there was time: what was done faster than in bursts was done by faster operators. */
static void give_work(struct bursts *before, struct bursts *after, const double work[2], double ns)
{
	double first_ns = before ? work[0] / before->with * before->with_ns : 0.0;
	double second_ns = after ? work[1] / after->with * after->with_ns : 0.0;
	double slowly = fmin(1.0, ns / (first_ns + second_ns));

	if (before) {
		before->without += work[0];
		before->without_slowly += work[0] * slowly;
	}
	if (after) {
		after->without += work[1];
		after->without_slowly += work[1] * slowly;
	}
}

/* Turns without operators, between two bursts or at an end. What was done far faster, and not in steps like theirs, is of
 * another kind (a program reads its data, and then it trains): it is no more of what bursts saw. */
static void share_out(struct st_operator_turns *turns, const uint32_t range[2], double pace,
		      struct bursts *before, struct bursts *after)
{
	double work = 0.0, ns = 0.0, most = 0.0, share;

	if (before && before->with > most * before->with_ns)
		most = before->with / before->with_ns;
	if (after && after->with > most * after->with_ns)
		most = after->with / after->with_ns;
	for (uint32_t i = range[0]; i < range[1]; i++) {
		const struct st_turn *turn = &turns->rows[i];
		double usual = most * ns_of(turn), own = work_of(turn, pace);

		if (turn->detail & ST_TURN_WITH)
			continue;
		if (own > OTHER_KIND * usual && !is_same_loop(before, own, turn->made) &&
		    !is_same_loop(after, own, turn->made)) {
			turns->sums.uncounted += own - usual;
			own = usual;
		}
		work += own;
		ns += ns_of(turn);
	}
	if (work <= 0.0 || (!before && !after))
		return;
	share = !before ? 0.0 : !after ? 1.0 : share_of_first(before, after, work, ns);
	give_work(before, after, (const double[2]){share * work, (1.0 - share) * work}, ns);
}

static void give_times(struct st_operator_turns *turns, const struct bursts *bursts)
{
	for (uint32_t i = bursts->first; i < bursts->end; i++) {
		if (!st_turn_is_burst(&turns->rows[i]))
			continue;
		turns->rows[i].times = (bursts->with + bursts->without) / bursts->with;
		turns->rows[i].times_ns = (bursts->with + bursts->without_slowly) / bursts->with;
		turns->bursts++;
	}
	turns->sums.counted += bursts->with + bursts->without;
	turns->sums.slowly += bursts->with + bursts->without_slowly;
}

/* What of the work was recorded, and how that in steps compares with the number of them. */
static void add_up(struct st_operator_turns *turns, const struct st_turn *turn, double pace)
{
	struct st_turn_sums *sums = &turns->sums;
	bool with = turn->detail & ST_TURN_WITH;
	double work = work_of(turn, pace);

	sums->all += work;
	sums->with += with ? work : 0.0;
	turns->is_partial = turns->is_partial || !with;
	if (!with && turn->is_last)
		sums->by_time += work;
	if (turn->made <= 0.0)
		return;
	if (st_turn_is_burst(turn)) {
		sums->in_bursts += work;
		sums->made_in_bursts += turn->made;
	} else if (!with) {
		sums->out += work;
		sums->made_out += turn->made;
	}
}

/* Of one process: how many an operator of a burst stands for. */
static void set_times(struct st_operator_turns *turns, uint32_t first, uint32_t end)
{
	double closed_ns = 0.0, closed = 0.0, pace;
	struct bursts before = {0}, now;

	for (uint32_t i = first; i < end; i++) {
		if (turns->rows[i].is_last)
			continue;
		closed += (double)turns->rows[i].progress;
		closed_ns += ns_of(&turns->rows[i]);
	}
	pace = closed_ns > 0.0 ? closed / closed_ns : 1.0;
	for (uint32_t i = first; i < end; i++)
		add_up(turns, &turns->rows[i], pace);
	while (next_bursts(turns, first, end, pace, &now)) {
		share_out(turns, (const uint32_t[2]){first, now.first}, pace,
			  before.with > 0.0 ? &before : NULL, &now);
		give_times(turns, &before);
		before = now;
		first = now.end;
	}
	share_out(turns, (const uint32_t[2]){first, end}, pace, before.with > 0.0 ? &before : NULL,
		  NULL);
	give_times(turns, &before);
}

static uint64_t pace_of(const struct st_turn *turn, bool by_steps)
{
	return by_steps ? turn->steps : turn->progress;
}

/* A turn with those beside it. Devices may be switched in between, which belongs to none of them. */
struct compared {
	const struct st_turn *before, *turn, *after, *then;
};

/* What an operator of the turn, or of those beside it, took longer than none; false: cannot be told. */
static bool compare(const struct compared *compared, struct comparison *out)
{
	const struct st_turn *before = compared->before, *turn = compared->turn;
	const struct st_turn *after = compared->after;
	bool with = turn->detail & ST_TURN_WITH;
	bool by_steps = turn->detail & before->detail & after->detail & compared->then->detail &
			ST_TURN_AT_STEP;
	double beside_ns = (double)(before->end_ns - before->begin_ns) +
			   (double)(after->end_ns - after->begin_ns);
	double beside = (double)(pace_of(before, by_steps) + pace_of(after, by_steps));
	double own_ns = (double)(turn->end_ns - turn->begin_ns);
	double own = (double)pace_of(turn, by_steps);
	uint64_t operators = with ? turn->operators : before->operators + after->operators;

	if ((by_steps ? own < 1.0 || beside < 2.0 : own < PROGRESS_MIN || beside < PROGRESS_MIN) ||
	    !operators)
		return false;
	out->operator_ns = with ? (own_ns - beside_ns / beside * own) / (double)operators
				: (beside_ns - own_ns / own * beside) / (double)operators;
	return true;
}

static bool is_switch(const struct st_operator_turns *turns, uint32_t at)
{
	return at < turns->count && turns->rows[at].detail & ST_TURN_SWITCH;
}

static bool can_compare(const struct st_operator_turns *turns, const struct st_result *result,
			uint32_t at, struct compared *out)
{
	const struct st_turn *turn = &turns->rows[at];
	uint32_t switched = is_switch(turns, at + 1);
	bool was_switched = at && is_switch(turns, at - 1);

	if (!(turn->detail & ST_TURN_COMPARED) || at < 1u + was_switched ||
	    at + 2 + switched >= turns->count)
		return false;
	*out = (struct compared){turn - 1 - was_switched, turn, turn + 1 + switched,
				 turn + 2 + switched};
	if (out->before->process != turn->process || out->then->process != turn->process ||
	    !(out->before->detail & out->after->detail & ST_TURN_BESIDE))
		return false;
	return !was_paused(result, out->before) && !was_paused(result, turn) &&
	       !was_paused(result, out->after);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Mean without the outer fifths, with its error (Tukey and McLaughlin). */
static struct st_estimate trimmed(double *values, uint32_t count)
{
	uint32_t cut = count / LEFT_OUT, kept = count - 2 * cut;
	double sum = 0.0, mean, winsorized = 0.0, squares = 0.0;

	qsort(values, count, sizeof(*values), by_value);
	for (uint32_t i = cut; i < count - cut; i++)
		sum += values[i];
	mean = sum / kept;
	for (uint32_t i = 0; i < cut; i++) {
		values[i] = values[cut];
		values[count - 1 - i] = values[count - 1 - cut];
	}
	for (uint32_t i = 0; i < count; i++)
		winsorized += values[i] / count;
	for (uint32_t i = 0; i < count; i++)
		squares += (values[i] - winsorized) * (values[i] - winsorized);
	return (struct st_estimate){mean, normal_95 * sqrt(squares / (count - 1)) /
						  ((double)kept / count * sqrt(count))};
}

static bool measure(struct st_operator_turns *turns, const struct st_result *result)
{
	double *values = malloc(((size_t)turns->count + 1) * sizeof(*values));
	struct comparison comparison;
	struct compared compared;

	if (!values)
		return false;
	for (uint32_t i = 0; i < turns->count; i++)
		turns->has_devices =
			turns->has_devices || turns->rows[i].detail & ST_TURN_NO_DEVICES;
	/* Before a device was used there was less to pay for. */
	for (uint32_t i = 0; i < turns->count; i++)
		if (can_compare(turns, result, i, &compared) &&
		    (!turns->has_devices || turns->rows[i].detail & ST_TURN_NO_DEVICES) &&
		    compare(&compared, &comparison))
			values[turns->compared++] = comparison.operator_ns;
	turns->is_measured = turns->compared >= COMPARED_MIN;
	if (turns->is_measured)
		turns->operator_ns = trimmed(values, turns->compared);
	free(values);
	return true;
}

/* Student's factor for an interval that holds the true mean 19 times of 20, instead of that of many values. */
static double of_few(uint32_t kept)
{
	static const double factors[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
	enum { KNOWN = sizeof(factors) / sizeof(factors[0]) };

	return (kept < 2 ? factors[0] : kept - 2 < KNOWN ? factors[kept - 2] : 2.1) / normal_95;
}

/* How far the number of operators in a burst, for the work done in it, is from that in all of them; NAN: not known. */
static bool rate_error(const struct st_operator_turns *turns, double *out)
{
	double *values = malloc(((size_t)turns->count + 1) * sizeof(*values));
	struct st_estimate rate;
	uint32_t count = 0;

	if (!values)
		return false;
	for (uint32_t i = 0; i < turns->count; i++) {
		const struct st_turn *turn = &turns->rows[i];

		if (turn->times > 1.0 && turn->progress && !turn->is_last)
			values[count++] = (double)turn->operators / (double)turn->progress;
	}
	*out = NAN;
	if (count >= 2) {
		rate = trimmed(values, count);
		if (rate.value > 0.0)
			*out = rate.error / rate.value * of_few(count - 2 * (count / LEFT_OUT));
	}
	free(values);
	return true;
}

/* Besides: steps tell another number than the work does, where those of bursts were not like the others. An operator may
 * follow either. What is known by its time only may not have been done at all. */
static bool estimate_error(struct st_operator_turns *turns)
{
	const struct st_turn_sums *sums = &turns->sums;
	double rate, by_work, by_steps;

	if (!rate_error(turns, &rate))
		return false;
	turns->count_error = rate;
	turns->has_steps = sums->made_in_bursts >= 1.0 && sums->made_out >= 1.0 &&
			   sums->in_bursts > 0.0 && sums->out > 0.0;
	if (turns->has_steps) {
		by_work = sums->out / sums->in_bursts;
		by_steps = sums->made_out / sums->made_in_bursts;
		turns->count_error = hypot(isnan(rate) ? 0.0 : rate,
					   fmax(by_work, by_steps) / fmin(by_work, by_steps) - 1.0);
		/* The first and the last step may have been recorded in part. */
		turns->count_error += 1.0 / (sums->made_in_bursts + sums->made_out);
	}
	if (sums->counted > 0.0)
		turns->count_error += (sums->by_time + sums->uncounted) / sums->counted;
	return true;
}

static bool count_steps(struct st_operator_turns *turns, const struct st_result *result)
{
	struct st_turn_steps steps;

	if (!st_turn_steps_make(&steps, result))
		return false;
	for (uint32_t i = 0; i < turns->count; i++) {
		struct st_turn *turn = &turns->rows[i];

		turn->made = st_turn_steps_until(&steps, turn->process, turn->end_ns) -
			     st_turn_steps_until(&steps, turn->process, turn->begin_ns);
	}
	st_turn_steps_fini(&steps);
	return true;
}

enum st_status st_operator_turns_make(struct st_operator_turns *out, const struct st_result *result,
				      struct st_error *err)
{
	bool done;

	*out = (struct st_operator_turns){0};
	done = read_events(out, result);
	if (done && out->count) {
		close_turns(out, result);
		count_operators(out, result);
		done = count_steps(out, result);
		for (uint32_t first = 0, i = 0; i < out->count; i++)
			if (out->rows[i].is_last) {
				set_times(out, first, i + 1);
				first = i + 1;
			}
		out->recorded_ratio = out->sums.all > 0.0 ? out->sums.with / out->sums.all : 1.0;
		done = done && measure(out, result) && estimate_error(out);
	}
	if (done)
		return ST_OK;
	st_operator_turns_fini(out);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory for operators");
}

void st_operator_turns_fini(struct st_operator_turns *turns)
{
	free(turns->rows);
	*turns = (struct st_operator_turns){0};
}

bool st_turn_scales(const struct st_label *label)
{
	return !label->from_itt && label->category == ST_CATEGORY_OPERATOR;
}

/* Times of labels are by process; 0: those of the turn. */
static void scale(struct st_scaled_rows *rows, const struct st_operator_turns *turns,
		  const struct st_result *result, const double *label_times)
{
	const struct st_slices *slices = st_result_slices(result);
	uint32_t track_count, label_count;
	const struct st_track *tracks = st_result_tracks(result, &track_count);
	const struct st_label *labels = st_result_labels(result, &label_count);

	for (uint32_t row = 0; row < rows->count; row++) {
		uint32_t slice = rows->slice ? rows->slice[row] : row, up = rows->parent[row];
		uint32_t process, label;
		const struct st_turn *turn;
		double by_steps;

		rows->times[row] = rows->times_ns[row] = 1.0;
		if (slice >= slices->count || !st_turn_scales(&labels[slices->label[slice]]) ||
		    slices->track[slice] >= track_count)
			continue;
		process = tracks[slices->track[slice]].process;
		label = slices->label[slice];
		turn = st_operator_turn_at(turns, process, slices->begin_ns[slice]);
		if (!turn || !st_turn_is_burst(turn))
			continue;
		by_steps = label_times[(size_t)process * label_count + label];
		rows->times[row] = by_steps > 0.0 ? by_steps : turn->times;
		rows->times_ns[row] = turn->times_ns;
		if (turn->times_ns <= 1.0)
			continue;
		rows->more_self_ns[row] += (turn->times_ns - 1.0) * (double)rows->self_ns[row];
		if (up != ST_NO_ROW && rows->times_ns[up] == 1.0)
			rows->more_self_ns[up] -=
				(turn->times_ns - 1.0) * (double)st_result_wall_ns(result, slice);
	}
}

static bool scale_by_steps(struct st_scaled_rows *rows, const struct st_operator_turns *turns,
			   const struct st_result *result)
{
	struct st_turn_steps steps;
	double *label_times;
	bool is_known;

	if (!st_turn_steps_make(&steps, result))
		return false;
	label_times = st_turn_steps_times(&steps, turns, result);
	is_known = label_times != NULL;
	if (is_known)
		scale(rows, turns, result, label_times);
	free(label_times);
	st_turn_steps_fini(&steps);
	return is_known;
}

bool st_scaled_rows_make(struct st_scaled_rows *rows, const struct st_result *result,
			 struct st_arena *arena)
{
	size_t count = (size_t)rows->count + 1;
	struct st_operator_turns turns;
	bool done = true;

	rows->times = rows->times_ns = rows->more_self_ns = NULL;
	if (st_operator_turns_make(&turns, result, NULL))
		return false;
	if (turns.is_partial) {
		rows->times = st_arena_calloc(arena, count, sizeof(*rows->times));
		rows->times_ns = st_arena_calloc(arena, count, sizeof(*rows->times_ns));
		rows->more_self_ns = st_arena_calloc(arena, count, sizeof(*rows->more_self_ns));
		done = rows->times && rows->times_ns && rows->more_self_ns &&
		       scale_by_steps(rows, &turns, result);
	}
	st_operator_turns_fini(&turns);
	return done;
}

void st_operator_turns_words(const struct st_operator_turns *turns, struct st_buf *out)
{
	const struct st_turn_sums *sums = &turns->sums;
	double unlike = sums->counted > 0.0 ? sums->uncounted / sums->counted : 0.0;

	if (!turns->is_partial)
		return;
	st_buf_printf(out, "in %u turn%s, %.1f %% of the work: counts and times are estimates",
		      turns->bursts, turns->bursts == 1 ? "" : "s", 100.0 * turns->recorded_ratio);
	if (unlike > unlike_max)
		st_buf_printf(
			out,
			", counts are too low by up to a factor of %.1f: the rest of the work was "
			"done far faster than in these turns, and may be other work",
			1.0 + unlike);
	else if (!isnan(turns->count_error))
		st_buf_printf(out, ", counts \302\261 %.1f %%%s", 100.0 * turns->count_error,
			      turns->has_steps ? " of operators in every step" : " in all");
	else
		st_buf_append_text(out, " whose error is not known: too few turns");
	if (sums->counted > faster_min * sums->slowly)
		st_buf_printf(out, "; times are uncertain: the rest was done %.1f times as fast",
			      sums->counted / sums->slowly);
}
