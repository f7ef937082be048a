// SPDX-License-Identifier: Apache-2.0
//
// Finds what ids name (analyze/datasets/ties.h): a table of everything that has one, by process, id and begin; then
// one pass over what names them.
#include "analyze/datasets/ties.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

struct named {
	uint32_t process, id;
	int64_t begin_ns;
	st_thing thing;
};

struct maker {
	const struct st_result *result;
	const struct st_events *events;
	const struct st_slices *slices;
	const struct st_track *tracks;
	const struct st_span *spans;
	uint32_t track_count, span_count;
	struct named *named;
	size_t named_count;
	struct st_ties *out;
	bool failed;
};

static bool is_metadata(const struct st_event_row *row)
{
	return row->kind == ST_EVENT_METADATA || row->kind == ST_EVENT_METADATA_TEXT ||
	       row->kind == ST_EVENT_METADATA_FORMATTED;
}

/* Whether the event gives its id to something that is drawn. */
static bool gives_id(const struct st_event_row *row)
{
	return row->id && ((row->kind == ST_EVENT_TASK_ID && row->slice != ST_NO_ROW) ||
			   row->kind == ST_EVENT_MARKER || row->kind == ST_EVENT_TASK_GROUP);
}

static bool names_id(const struct st_event_row *row)
{
	switch (row->kind) {
	case ST_EVENT_RELATION:
		return true;
	case ST_EVENT_TASK_ID:
	case ST_EVENT_TASK_GROUP:
		return row->other != 0;
	default:
		return row->id && is_metadata(row);
	}
}

static uint32_t process_of(const struct maker *maker, const struct st_event_row *row)
{
	return row->track < maker->track_count ? maker->tracks[row->track].process : ST_NO_ROW;
}

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->thing > y->thing) - (x->thing < y->thing);
}

static struct named named_by(const struct maker *maker, uint32_t event)
{
	const struct st_event_row *row = &maker->events->rows[event];
	struct named named = {process_of(maker, row), row->id, row->time_ns, 0};

	if (row->kind == ST_EVENT_TASK_ID) {
		named.begin_ns = maker->slices->begin_ns[row->slice];
		named.thing = st_thing_make(ST_THING_SLICE, row->slice);
	} else {
		named.thing = st_thing_make(ST_THING_EVENT, event);
	}
	return named;
}

static bool make_table(struct maker *maker, size_t count)
{
	size_t at = 0;

	maker->named = calloc(count + 1, sizeof(*maker->named));
	if (!maker->named)
		return false;
	for (uint32_t i = 0; i < maker->span_count; i++) {
		const struct st_span *span = &maker->spans[i];

		if (span->id)
			maker->named[at++] = (struct named){span->process, span->id, span->begin_ns,
							    st_thing_make(ST_THING_SPAN, i)};
	}
	for (uint32_t i = 0; i < maker->events->count; i++) {
		if (gives_id(&maker->events->rows[i]))
			maker->named[at++] = named_by(maker, i);
	}
	maker->named_count = at;
	qsort(maker->named, at, sizeof(*maker->named), compare_named);
	return true;
}

/* The thing that got the id last before that time, else the first that gets it later. */
static const struct named *find(const struct maker *maker, uint32_t process, uint32_t id,
				int64_t time_ns)
{
	const struct named wanted = {process, id, time_ns, UINT64_MAX};
	size_t low =
		ST_SEARCH(i, 0, maker->named_count, compare_named(&maker->named[i], &wanted) <= 0);

	for (size_t at = low ? low - 1 : 0; at <= low && at < maker->named_count; at++) {
		if (maker->named[at].process == process && maker->named[at].id == id)
			return &maker->named[at];
	}
	return NULL;
}

static void add(struct maker *maker, struct st_tie tie)
{
	struct st_ties *out = maker->out;

	if (!ST_VEC_PUSH(out->ties, out->count, out->capacity, tie))
		maker->failed = true;
}

/* Arrows go forward in time: that is the only way readers draw them. */
static void add_pair(struct maker *maker, const struct named *head, const struct named *tail,
		     const struct st_tie *like)
{
	struct st_tie first = *like, second = *like;

	first.thing = head->thing;
	first.is_head = true;
	second.thing = tail->thing;
	if (head->thing != tail->thing) {
		first.flow = second.flow = ++maker->out->flow_count;
		first.end = second.end = ST_TIE_EITHER;
		if (head->begin_ns != tail->begin_ns) {
			bool forward = head->begin_ns < tail->begin_ns;

			first.end = forward ? ST_TIE_SOURCE : ST_TIE_TARGET;
			second.end = forward ? ST_TIE_TARGET : ST_TIE_SOURCE;
		}
	}
	add(maker, first);
	if (head->thing != tail->thing)
		add(maker, second);
}

static void tie_relation(struct maker *maker, uint32_t event)
{
	const struct st_event_row *row = &maker->events->rows[event];
	uint32_t process = process_of(maker, row);
	const struct named *tail = find(maker, process, row->other, row->time_ns);
	const struct named *head = row->id ? find(maker, process, row->id, row->time_ns) : NULL;
	struct named current = {.process = process};

	if (!row->id && row->slice != ST_NO_ROW) {
		current.begin_ns = maker->slices->begin_ns[row->slice];
		current.thing = st_thing_make(ST_THING_SLICE, row->slice);
		head = &current;
	}
	if (head && tail)
		add_pair(maker, head, tail, &(struct st_tie){.event = event});
	else if (head || tail)
		add(maker, (struct st_tie){.thing = head ? head->thing : tail->thing,
					   .event = event,
					   .is_head = head != NULL});
	else
		add(maker, (struct st_tie){.thing = st_thing_make(ST_THING_EVENT, event),
					   .event = event,
					   .is_head = true});
}

/* A parent that is drawn around its child needs no arrow. */
static bool is_around(const struct maker *maker, st_thing parent, uint32_t row)
{
	return parent < st_thing_make(ST_THING_SPAN, 0) &&
	       maker->slices->track[parent] == maker->slices->track[row];
}

static void tie_event(struct maker *maker, uint32_t event)
{
	const struct st_event_row *row = &maker->events->rows[event];
	const struct named *found;
	struct named child;

	if (row->kind == ST_EVENT_RELATION) {
		tie_relation(maker, event);
		return;
	}
	if (is_metadata(row)) {
		found = find(maker, process_of(maker, row), row->id, row->time_ns);
		add(maker, (struct st_tie){.thing = found ? found->thing
							  : st_thing_make(ST_THING_EVENT, event),
					   .event = event});
		return;
	}
	if (row->kind == ST_EVENT_TASK_ID && row->slice == ST_NO_ROW)
		return;
	child = named_by(maker, event);
	found = find(maker, child.process, row->other, row->time_ns);
	if (!found || found->thing == child.thing ||
	    (row->kind == ST_EVENT_TASK_ID && is_around(maker, found->thing, row->slice)))
		return;
	add_pair(maker, found, &child, &(struct st_tie){.event = ST_NO_ROW});
}

static void tie_span(struct maker *maker, uint32_t index)
{
	const struct st_span *span = &maker->spans[index];
	struct named child = {span->process, span->id, span->begin_ns,
			      st_thing_make(ST_THING_SPAN, index)};
	const struct named *found = find(maker, span->process, span->parent, span->begin_ns);

	if (found && found->thing != child.thing)
		add_pair(maker, found, &child, &(struct st_tie){.event = ST_NO_ROW});
}

/* From each call to what it launched. */
static void tie_launches(struct maker *maker)
{
	uint32_t count;
	const struct st_slice_flow *flows = st_result_flows(maker->result, &count);

	for (uint32_t i = 0; i < count && !maker->failed; i++) {
		const struct named call = {.begin_ns = maker->slices->begin_ns[flows[i].from],
					   .thing = st_thing_make(ST_THING_SLICE, flows[i].from)};
		const struct named ran = {.begin_ns = maker->slices->begin_ns[flows[i].to],
					  .thing = st_thing_make(ST_THING_SLICE, flows[i].to)};

		if (flows[i].kind != ST_FLOW_LAUNCH)
			continue;
		add_pair(maker, &call, &ran,
			 &(struct st_tie){.event = ST_NO_ROW, .is_launch = true});
	}
}

static int compare_ties(const void *a, const void *b)
{
	const struct st_tie *x = a, *y = b;

	if (x->thing != y->thing)
		return x->thing < y->thing ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->flow > y->flow) - (x->flow < y->flow);
}

static bool make(struct maker *maker)
{
	const struct st_events *events = maker->events;
	size_t named = 0, names = 0;

	for (uint32_t i = 0; i < events->count; i++) {
		named += gives_id(&events->rows[i]);
		names += names_id(&events->rows[i]);
	}
	for (uint32_t i = 0; i < maker->span_count; i++) {
		named += maker->spans[i].id != 0;
		names += maker->spans[i].parent != 0;
	}
	tie_launches(maker);
	if (names && !make_table(maker, named))
		return false;
	for (uint32_t i = 0; i < maker->span_count && !maker->failed; i++) {
		if (maker->spans[i].parent)
			tie_span(maker, i);
	}
	for (uint32_t i = 0; i < events->count && !maker->failed; i++) {
		if (names_id(&events->rows[i]))
			tie_event(maker, i);
	}
	if (maker->out->count)
		qsort(maker->out->ties, maker->out->count, sizeof(*maker->out->ties), compare_ties);
	return !maker->failed;
}

enum st_status st_ties_make(struct st_ties *out, const struct st_result *result,
			    struct st_error *err)
{
	struct maker maker = {.result = result, .out = out};
	bool made;

	memset(out, 0, sizeof(*out));
	maker.events = st_result_events(result);
	maker.slices = st_result_slices(result);
	maker.tracks = st_result_tracks(result, &maker.track_count);
	maker.spans = st_result_spans(result, &maker.span_count);
	made = make(&maker);
	free(maker.named);
	if (made)
		return ST_OK;
	st_ties_fini(out);
	return st_error_set(err, ST_ENOMEM, 0, "out of memory");
}

void st_ties_fini(struct st_ties *ties)
{
	free(ties->ties);
	memset(ties, 0, sizeof(*ties));
}

const struct st_tie *st_ties_of(const struct st_ties *ties, st_thing thing, size_t *count)
{
	size_t low = ST_SEARCH(i, 0, ties->count, ties->ties[i].thing < thing);

	*count = 0;
	while (low + *count < ties->count && ties->ties[low + *count].thing == thing)
		(*count)++;
	return ties->ties + low;
}
