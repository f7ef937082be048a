// SPDX-License-Identifier: Apache-2.0
//
// The kernel's absences of a thread are laid over the waits that it told: what of them lies in a wait is of that wait's class,
// what it did not choose is preemption, what is left nobody explains.
#include "analyze/datasets/thread_time.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/datasets/dataset_parts.h"
#include "analyze/datasets/dataset_rows.h"
#include "analyze/datasets/wait_class.h"
#include "analyze/datasets/wait_sites.h"
#include "base/vec.h"
#include "store/off_cpu.h"
#include "store/samples.h"

static const int64_t sum_ns = ST_OFF_SUM_MS * 1000000;
/* Waits that are shorter on the average are too short to leave a CPU for. */
static const uint64_t short_ns = 2000;

struct work {
	const struct st_result *result;
	struct st_thread_times *out;
	struct st_wait_classes classes;
	struct st_arena arena;
	struct st_pause_list pauses;
	int64_t range_ns[2];
	uint32_t *waits; /* spans, by track and begin */
	uint32_t *first; /* [track count + 1] into waits */
};

static const struct st_span *span_of(const struct work *work, uint32_t wait)
{
	uint32_t count;

	return &st_result_spans(work->result, &count)[work->waits[wait]];
}

/* By counting: the spans are in order of their begins. */
static bool sort_waits(struct work *work)
{
	uint32_t count, tracks = work->out->count, *next;
	const struct st_span *spans = st_result_spans(work->result, &count);

	work->first = calloc((size_t)tracks + 2, sizeof(*work->first));
	work->waits = calloc((size_t)count + 1, sizeof(*work->waits));
	next = calloc((size_t)tracks + 1, sizeof(*next));
	for (uint32_t i = 0; work->first && i < count; i++)
		if (st_library_wait(&spans[i]) && spans[i].begin_track < tracks)
			work->first[spans[i].begin_track + 1]++;
	for (uint32_t i = 0; work->first && i < tracks; i++)
		work->first[i + 1] += work->first[i];
	for (uint32_t i = 0; work->first && work->waits && next && i < count; i++) {
		uint32_t track = spans[i].begin_track;

		if (st_library_wait(&spans[i]) && track < tracks)
			work->waits[work->first[track] + next[track]++] = i;
	}
	free(next);
	return work->first && work->waits && next;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Of the time between the two that is asked for. */
static uint64_t recorded(const struct work *work, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(work->result, &count);

	begin_ns = later(begin_ns, work->range_ns[0]);
	end_ns = earlier(end_ns, work->range_ns[1]);
	if (end_ns <= begin_ns)
		return 0;
	return st_pause_list_recorded(&work->pauses, tracks[track].process, begin_ns, end_ns);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t share_of(uint64_t ns, uint64_t part_ns, uint64_t whole_ns)
{
	if (part_ns >= whole_ns)
		return ns;
	return smaller(ns, (uint64_t)((double)ns * (double)part_ns / (double)whole_ns));
}

/* Of a sum over a stretch of time, of which no more is known: as much as the stretch is recorded. */
static uint64_t recorded_of(const struct work *work, uint32_t track, uint64_t ns,
			    const int64_t stretch_ns[2])
{
	int64_t begin_ns = earlier(stretch_ns[0], stretch_ns[1] - 1);

	return share_of(ns, recorded(work, track, begin_ns, stretch_ns[1]),
			(uint64_t)(stretch_ns[1] - begin_ns));
}

static void add_preempted(struct work *work, uint32_t track, uint32_t span, int64_t begin_ns,
			  uint64_t ns)
{
	struct st_thread_times *out = work->out;

	if (ns && !ST_VEC_PUSH(out->preempted, out->preempted_count, out->preempted_capacity,
			       ((struct st_preempted){track, span, begin_ns, ns})))
		out->failed = true;
}

/* An absence, over the waits of the thread. *at: the first wait that may reach into it. */
static void take_interval(struct work *work, uint32_t track, const struct st_off_row *row,
			  uint32_t *at)
{
	struct st_thread_time *time = &work->out->threads[track];
	int64_t begin_ns = later(row->begin_ns, time->begin_ns);
	int64_t end_ns = earlier(row->begin_ns + (int64_t)row->off_ns, time->end_ns);
	bool preempted = row->flags & ST_OFF_PREEMPTED, lost = row->flags & ST_OFF_LOST;
	uint64_t left_ns = recorded(work, track, begin_ns, end_ns), apart_ns = left_ns;

	if (lost)
		time->lost_ns += left_ns;
	while (*at < work->first[track + 1] && span_of(work, *at)->end_ns <= begin_ns)
		++*at;
	for (uint32_t i = *at; i < work->first[track + 1] && left_ns && !lost; i++) {
		const struct st_span *span = span_of(work, i);
		struct st_wait_parts *parts = &work->out->waits[work->waits[i]];
		uint64_t inside_ns;

		if (span->begin_ns >= end_ns)
			break;
		inside_ns = smaller(preempted ? apart_ns : left_ns,
				    recorded(work, track, later(begin_ns, span->begin_ns),
					     earlier(end_ns, span->end_ns)));
		if (preempted) {
			parts->preempted_ns += inside_ns;
			add_preempted(work, track, work->waits[i], later(begin_ns, span->begin_ns),
				      inside_ns);
			apart_ns -= inside_ns;
			continue;
		}
		parts->inactive_ns += inside_ns;
		time->class_ns[work->classes.of_span[work->waits[i]]] += inside_ns;
		left_ns -= inside_ns;
	}
	time->class_ns[preempted ? ST_WAITS_PREEMPTED : ST_WAITS_UNEXPLAINED] += left_ns;
	if (preempted)
		add_preempted(work, track, ST_NO_ROW, begin_ns, apart_ns);
}

/* An absence whose last part is known: the thread was ready, and waited for a CPU. */
static void take_woken(struct work *work, uint32_t track, const struct st_off_row *rows,
		       uint32_t *at)
{
	struct st_off_row asleep = rows[0], ready = rows[0];

	ready.off_ns = smaller(rows[1].off_ns, asleep.off_ns);
	asleep.off_ns -= ready.off_ns;
	ready.begin_ns += (int64_t)asleep.off_ns;
	ready.flags = ST_OFF_PREEMPTED;
	take_interval(work, track, &asleep, at);
	take_interval(work, track, &ready, at);
}

/* Many short absences: their sum goes to the waits around, none of which gets more than it took. */
static void take_sum(struct work *work, uint32_t track, const struct st_off_row *row, uint32_t *at)
{
	struct st_thread_time *time = &work->out->threads[track];
	int64_t begin_ns = row->begin_ns, end_ns = earlier(begin_ns + sum_ns, time->end_ns);
	uint64_t left_ns =
		recorded_of(work, track, row->off_ns, (const int64_t[2]){begin_ns, end_ns});

	while (*at < work->first[track + 1] && span_of(work, *at)->end_ns <= begin_ns)
		++*at;
	if (row->flags & ST_OFF_PREEMPTED) {
		time->class_ns[ST_WAITS_PREEMPTED] += left_ns;
		add_preempted(work, track, ST_NO_ROW, begin_ns, left_ns);
		return;
	}
	for (uint32_t i = *at; i < work->first[track + 1] && left_ns; i++) {
		const struct st_span *span = span_of(work, i);
		struct st_wait_parts *parts = &work->out->waits[work->waits[i]];
		uint64_t room_ns;

		if (span->begin_ns >= end_ns)
			break;
		room_ns = recorded(work, track, span->begin_ns, span->end_ns);
		room_ns -= smaller(room_ns, parts->inactive_ns + parts->preempted_ns);
		room_ns = smaller(room_ns, left_ns);
		parts->inactive_ns += room_ns;
		time->class_ns[work->classes.of_span[work->waits[i]]] += room_ns;
		left_ns -= room_ns;
	}
	time->class_ns[ST_WAITS_UNEXPLAINED] += left_ns;
}

/* Waits that were told as a sum though they were not short, because there were so many: out of what is not explained. */
static void explain_by_sums(struct work *work, uint32_t track)
{
	const struct st_events *events = st_result_events(work->result);
	uint64_t *class_ns = work->out->threads[track].class_ns;

	if (!events->count)
		return;
	for (uint32_t i = events->first_of_track[track]; i < events->first_of_track[track + 1];
	     i++) {
		const struct st_event_row *row = &events->rows[i];
		uint32_t kind = row->detail & ST_WAIT_KIND_MASK,
			 many = st_wait_sum_count(row->detail);
		uint64_t part_ns;

		if (row->kind != ST_EVENT_WAIT_SUM || !kind || !many ||
		    row->extra / many < short_ns)
			continue;
		part_ns = recorded_of(work, track, row->extra,
				      (const int64_t[2]){row->time_ns - sum_ns, row->time_ns});
		part_ns = smaller(part_ns, class_ns[ST_WAITS_UNEXPLAINED]);
		class_ns[st_wait_class_of(kind)] += part_ns;
		class_ns[ST_WAITS_UNEXPLAINED] -= part_ns;
	}
}

static void find_life(struct st_thread_time *time, const struct st_off_row *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].flags & ST_OFF_BORN && !time->is_known) {
			time->is_known = time->is_exact = true;
			time->begin_ns = rows[i].begin_ns;
			time->end_ns = time->begin_ns;
		}
		if (rows[i].flags & ST_OFF_RAN)
			time->is_exact = false;
		if (time->is_known)
			time->end_ns = later(
				time->end_ns,
				rows[i].begin_ns +
					(rows[i].flags & ST_OFF_RAN ? 0 : (int64_t)rows[i].off_ns));
	}
}

/* Where nobody told when a thread was on no CPU waits count as long as they took, but no longer than it did not run: what it
 * spun in them is in its CPU time. Of its ready time it is not known how much lies in waits: at least what does not fit beside
 * them. */
static void take_waits(struct work *work, uint32_t track)
{
	struct st_thread_time *time = &work->out->threads[track];
	uint64_t *class_ns = time->class_ns, waited_ns = 0, room_ns, left_ns;
	unsigned int last = ST_WAITS_UNEXPLAINED;

	/* The first record of one that waits at once is of the end of that wait. */
	if (work->first[track] < work->first[track + 1])
		time->begin_ns =
			earlier(time->begin_ns, span_of(work, work->first[track])->begin_ns);
	time->life_ns = recorded(work, track, time->begin_ns, time->end_ns);
	for (uint32_t i = work->first[track]; i < work->first[track + 1]; i++) {
		const struct st_span *span = span_of(work, i);
		uint64_t ns =
			recorded(work, track, span->begin_ns, earlier(span->end_ns, time->end_ns));

		class_ns[work->classes.of_span[work->waits[i]]] += ns;
		waited_ns += ns;
	}
	/* Counts and samples are of the time before them: it may have run before anything else is known of it. */
	if (time->running_ns > time->life_ns)
		time->life_ns = time->running_ns;
	room_ns = time->life_ns - time->running_ns;
	class_ns[ST_WAITS_PREEMPTED] =
		smaller(class_ns[ST_WAITS_PREEMPTED], room_ns - smaller(room_ns, waited_ns));
	room_ns -= class_ns[ST_WAITS_PREEMPTED];
	left_ns = room_ns;
	for (unsigned int i = 0; i < ST_WAIT_CLASSES; i++) {
		if (i == ST_WAITS_PREEMPTED)
			continue;
		class_ns[i] = smaller(share_of(class_ns[i], room_ns, waited_ns), left_ns);
		left_ns -= class_ns[i];
		last = class_ns[i] ? i : last;
	}
	/* Of shares only what rounding left. */
	class_ns[waited_ns > room_ns ? last : ST_WAITS_UNEXPLAINED] += left_ns;
}

/* Of the kernel's counts alone. */
static void take_counts(struct work *work, uint32_t track, const struct st_off_row *rows,
			uint32_t count)
{
	struct st_thread_time *time = &work->out->threads[track];
	int64_t read_ns[2] = {rows[0].begin_ns, rows[0].begin_ns}; /* the last two times */
	uint32_t tracks;
	const struct st_track *info = &st_result_tracks(work->result, &tracks)[track];

	/* It was there before the first count was read, and after the last. */
	if (info->last_ns > info->first_ns) {
		time->begin_ns = earlier(time->begin_ns, info->first_ns);
		time->end_ns = later(time->end_ns, info->last_ns);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t ns;

		if (!(rows[i].flags & ST_OFF_RAN))
			continue;
		if (rows[i].begin_ns > read_ns[1]) {
			read_ns[0] = read_ns[1];
			read_ns[1] = rows[i].begin_ns;
		}
		ns = recorded_of(work, track, rows[i].off_ns, read_ns);
		*(rows[i].flags & ST_OFF_PREEMPTED ? &time->class_ns[ST_WAITS_PREEMPTED]
						   : &time->running_ns) += ns;
	}
	take_waits(work, track);
	add_preempted(work, track, ST_NO_ROW, time->begin_ns, time->class_ns[ST_WAITS_PREEMPTED]);
	explain_by_sums(work, track);
}

static void take_rows(struct work *work, uint32_t track, const struct st_off_row *rows,
		      uint32_t count)
{
	struct st_thread_time *time = &work->out->threads[track];
	uint32_t at = work->first[track];
	uint64_t off_ns = 0;

	find_life(time, rows, count);
	if (!time->is_known)
		return;
	if (!time->is_exact) {
		take_counts(work, track, rows, count);
		return;
	}
	time->life_ns = recorded(work, track, time->begin_ns, time->end_ns);
	work->out->is_exact = true;
	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].flags & (ST_OFF_BORN | ST_OFF_ENDED | ST_OFF_WOKEN))
			continue;
		if (rows[i].flags & ST_OFF_SEVERAL)
			take_sum(work, track, &rows[i], &at);
		else if (i + 1 < count && rows[i + 1].flags & ST_OFF_WOKEN)
			take_woken(work, track, &rows[i], &at);
		else
			take_interval(work, track, &rows[i], &at);
	}
	explain_by_sums(work, track);
	for (unsigned int i = 0; i < ST_WAIT_CLASSES; i++)
		off_ns += time->class_ns[i];
	time->running_ns = time->life_ns - smaller(time->life_ns, off_ns);
}

static void take_exact(struct work *work)
{
	uint32_t count;
	const struct st_off_row *rows = st_result_off_cpu(work->result, &count);

	for (uint32_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && rows[end].track == rows[i].track; end++)
			;
		if (rows[i].track < work->out->count)
			take_rows(work, rows[i].track, &rows[i], end - i);
	}
}

/* Without the kernel's word: what it told of itself, and its samples. */
static void estimate(struct work *work, uint32_t track, const struct st_track *info)
{
	const struct st_samples *samples = st_result_samples(work->result);
	struct st_thread_time *time = &work->out->threads[track];

	*time = (struct st_thread_time){
		.is_known = true, .begin_ns = info->first_ns, .end_ns = info->last_ns};
	for (uint32_t i = samples->count ? samples->first_of_track[track] : 0;
	     samples->count && i < samples->first_of_track[track + 1]; i++)
		if (!(samples->flags[i] & (ST_SAMPLE_WAITING | ST_SAMPLE_RUNNABLE)) &&
		    samples->time_ns[i] >= work->range_ns[0] &&
		    samples->time_ns[i] < work->range_ns[1])
			time->running_ns += samples->weight_ns[i];
	take_waits(work, track);
	explain_by_sums(work, track);
}

static void make(struct work *work)
{
	uint32_t count;
	const struct st_track *tracks = st_result_tracks(work->result, &count);

	take_exact(work);
	for (uint32_t i = 0; i < count; i++)
		if (tracks[i].kind == ST_TRACK_THREAD && !work->out->threads[i].is_known &&
		    tracks[i].last_ns > tracks[i].first_ns)
			estimate(work, i, &tracks[i]);
	for (uint32_t i = 0; i < count; i++) {
		struct st_thread_time *time = &work->out->threads[i];

		time->begin_ns = later(time->begin_ns, work->range_ns[0]);
		time->end_ns = earlier(time->end_ns, work->range_ns[1]);
		time->is_known = time->is_known && time->begin_ns <= time->end_ns;
	}
}

bool st_thread_times_make(struct st_thread_times *out, const struct st_wait_sites *sites,
			  const int64_t *range_ns)
{
	const struct st_result *result = sites->result;
	struct work work = {.result = result,
			    .out = out,
			    .range_ns = {range_ns ? range_ns[0] : INT64_MIN,
					 range_ns ? range_ns[1] : INT64_MAX}};
	uint32_t spans;
	bool done;

	memset(out, 0, sizeof(*out));
	st_result_tracks(result, &out->count);
	st_result_spans(result, &spans);
	st_arena_init(&work.arena, SIZE_MAX / 2);
	out->threads = calloc((size_t)out->count + 1, sizeof(*out->threads));
	out->waits = calloc((size_t)spans + 1, sizeof(*out->waits));
	done = out->threads && out->waits && sort_waits(&work) &&
	       st_pause_list_make(&work.pauses, result, &work.arena) &&
	       st_wait_classes_make(&work.classes, sites);
	if (done)
		make(&work);
	done = done && !out->failed;
	if (!done)
		st_thread_times_fini(out);
	st_wait_classes_fini(&work.classes);
	free(work.waits);
	free(work.first);
	st_arena_fini(&work.arena);
	return done;
}

void st_thread_times_fini(struct st_thread_times *times)
{
	free(times->threads);
	free(times->waits);
	free(times->preempted);
	memset(times, 0, sizeof(*times));
}
