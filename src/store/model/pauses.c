// SPDX-License-Identifier: Apache-2.0
//
// Pause windows (store/model/pauses.h): from events to disjoint spans, and the questions asked of them.
#include "store/model/pauses.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "format/slices.h"

enum { EVENTS_MAX = 1 << 22 };

void st_pauses_fini(struct st_pauses *pauses)
{
	if (!pauses)
		return;
	free(pauses->events);
	free(pauses->spans);
	if (pauses->merged != pauses->spans)
		free(pauses->merged);
	st_id_map_fini(&pauses->first_merged);
	memset(pauses, 0, sizeof(*pauses));
}

bool st_pauses_add_event(struct st_pauses *pauses, struct st_pause_event event)
{
	return pauses->event_count < EVENTS_MAX &&
	       ST_VEC_PUSH(pauses->events, pauses->event_count, pauses->event_capacity, event);
}

bool st_pauses_add_span(struct st_pauses *pauses, struct st_pause_span span)
{
	return span.end_ns <= span.begin_ns ||
	       (pauses->span_count < EVENTS_MAX &&
		ST_VEC_PUSH(pauses->spans, pauses->span_count, pauses->span_capacity, span));
}

static int by_process_and_time(const void *a, const void *b)
{
	const struct st_pause_event *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	/* A resume and a pause at the same moment: the resume belongs to the pause before. */
	return (x->kind == ST_MARK_PAUSE) - (y->kind == ST_MARK_PAUSE);
}

/* The spans of one process from its events in order. */
static bool build_one(struct st_pauses *pauses, const struct st_pause_event *events, uint32_t count,
		      int64_t end_ns)
{
	struct st_pause_span span = {.process_id = events[0].process_id};
	bool paused = events[0].kind == ST_MARK_RESUME;

	for (uint32_t i = 0; i < count; i++) {
		if (events[i].kind == ST_MARK_RESUME) {
			span.end_ns = events[i].ns;
			if (paused && !st_pauses_add_span(pauses, span))
				return false;
			paused = false;
		} else if (!paused) {
			paused = true;
			span.begin_ns = events[i].ns;
		}
		if (events[i].kind == ST_MARK_DETACH)
			break;
	}
	span.end_ns = end_ns;
	return !paused || st_pauses_add_span(pauses, span);
}

bool st_pauses_build(struct st_pauses *pauses, int64_t end_ns)
{
	uint32_t begin = 0;
	bool ok = true;

	if (pauses->event_count)
		qsort(pauses->events, pauses->event_count, sizeof(*pauses->events),
		      by_process_and_time);
	while (ok && begin < pauses->event_count) {
		uint32_t end = begin + 1;

		while (end < pauses->event_count &&
		       pauses->events[end].process_id == pauses->events[begin].process_id)
			end++;
		ok = build_one(pauses, pauses->events + begin, end - begin, end_ns);
		begin = end;
	}
	free(pauses->events);
	pauses->events = NULL;
	pauses->event_count = pauses->event_capacity = 0;
	return ok;
}

static int by_begin(const void *a, const void *b)
{
	const struct st_pause_span *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Joins what touches or overlaps within a process; returns the new count. */
static uint32_t unite(struct st_pause_span *spans, uint32_t count)
{
	uint32_t kept = 0;

	if (count)
		qsort(spans, count, sizeof(*spans), by_begin);
	for (uint32_t i = 0; i < count; i++) {
		struct st_pause_span *last = kept ? &spans[kept - 1] : NULL;

		if (last && last->process_id == spans[i].process_id &&
		    spans[i].begin_ns <= last->end_ns) {
			if (spans[i].end_ns > last->end_ns)
				last->end_ns = spans[i].end_ns;
		} else {
			spans[kept++] = spans[i];
		}
	}
	return kept;
}

bool st_pauses_merge(struct st_pauses *pauses)
{
	uint32_t own, count = 0, processes = 0;
	struct st_pause_span *all;
	size_t room;

	pauses->span_count = unite(pauses->spans, pauses->span_count);
	while (pauses->family_count < pauses->span_count &&
	       pauses->spans[pauses->family_count].process_id == ST_PAUSE_FAMILY)
		pauses->family_count++;
	own = pauses->span_count - pauses->family_count;
	for (uint32_t i = pauses->family_count; i < pauses->span_count; i++)
		processes += i == pauses->family_count ||
			     pauses->spans[i].process_id != pauses->spans[i - 1].process_id;
	room = own + (size_t)(processes + 1) * pauses->family_count;
	all = malloc((room ? room : 1) * sizeof(*all));
	if (!all)
		return false;
	for (uint32_t i = 0; i < pauses->span_count; i++) {
		bool is_first = i >= pauses->family_count &&
				(i == pauses->family_count ||
				 pauses->spans[i].process_id != pauses->spans[i - 1].process_id);

		for (uint32_t f = 0; is_first && f < pauses->family_count; f++) {
			all[count] = pauses->spans[f];
			all[count++].process_id = pauses->spans[i].process_id;
		}
		all[count++] = pauses->spans[i];
	}
	pauses->merged = all;
	pauses->merged_count = unite(all, count);
	for (uint32_t i = pauses->merged_count; i > 0; i--)
		if (!st_id_map_put(&pauses->first_merged, all[i - 1].process_id, i - 1))
			return false;
	return true;
}

struct st_pause_range st_pauses_of(const struct st_pauses *pauses, uint32_t process_id)
{
	struct st_pause_range range = {0};
	uint32_t first = st_id_map_get(&pauses->first_merged, process_id);

	if (first == ST_ID_NONE) {
		process_id = ST_PAUSE_FAMILY;
		first = st_id_map_get(&pauses->first_merged, process_id);
	}
	if (first == ST_ID_NONE)
		return range;
	range.spans = pauses->merged + first;
	while (first + range.count < pauses->merged_count &&
	       range.spans[range.count].process_id == process_id)
		range.count++;
	return range;
}

/* First span that ends at or behind ns. */
static uint32_t first_ending_at(struct st_pause_range range, int64_t ns)
{
	return ST_SEARCH(i, 0, range.count, range.spans[i].end_ns < ns);
}

uint64_t st_pause_overlap_ns(struct st_pause_range range, int64_t begin_ns, int64_t end_ns)
{
	uint64_t sum = 0;

	for (uint32_t i = first_ending_at(range, begin_ns);
	     i < range.count && range.spans[i].begin_ns < end_ns; i++) {
		int64_t from = range.spans[i].begin_ns, to = range.spans[i].end_ns;

		if (from < begin_ns)
			from = begin_ns;
		if (to > end_ns)
			to = end_ns;
		if (to > from)
			sum += (uint64_t)(to - from);
	}
	return sum;
}

const struct st_pause_span *st_pause_at(struct st_pause_range range, int64_t end_ns)
{
	uint32_t i = first_ending_at(range, end_ns);

	if (i < range.count && range.spans[i].begin_ns < end_ns)
		return &range.spans[i];
	return NULL;
}
