// SPDX-License-Identifier: Apache-2.0
//
// Things with a begin and an end that do not nest: overlapped tasks, regions, frames, tasks with times of
// their own, user events, marks. All their events, in the order of the calls, are walked once; what is open
// hangs in one list for each key (an id of the process, an object of a thread …), newest first.
#include "store/index/index_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "store/model/model.h"

enum {
	/* How far down an end looks for its begin, as with slices. */
	SEARCH_DEPTH_MAX = 4096,
};

enum key_tag {
	KEY_OVERLAPPED = 1,
	KEY_REGION,
	KEY_FRAME,
	KEY_CURRENT_FRAME, /* of a domain, whatever its id */
	KEY_OLD_FRAME,
	KEY_TIMED,
	KEY_USER,
	KEY_MARK
};

struct open_list {
	uint32_t top;	 /* span + 1 */
	bool was_seen;	 /* an event of this key came */
	int64_t last_ns; /* the last of them */
};

struct links { /* span + 1 that lies below: in its list, and of frames in that of their domain */
	uint32_t own, current;
};

struct pairing {
	struct st_span_builder out;
	struct st_key_table keys;
	struct open_list *lists; /* by key */
	uint32_t list_capacity;
	struct links *below; /* by span */
	uint32_t below_capacity;
	/* Of the process whose events are being walked. */
	uint32_t process_id;
	struct st_pause_range pauses;
	bool no_memory;
};

struct call { /* the event at hand */
	const struct st_event_row *row;
	uint32_t at; /* its number */
	int64_t ns;  /* when the call was made */
};

uint32_t st_spans_begin(struct st_span_builder *spans, enum st_span_kind kind, uint32_t row)
{
	struct st_index_builder *builder = spans->builder;
	const struct st_event_row *event = &builder->index->columns.events[row];
	struct st_model *model = builder->request->model;

	if (spans->count >= ST_NO_ROW - 1 ||
	    !ST_VEC_ROOM(spans->spans, spans->count, spans->capacity))
		return ST_NO_ROW;
	spans->spans[spans->count] = (struct st_span){
		.begin_ns = event->time_ns,
		.end_ns = ST_SPAN_OPEN,
		.kind = kind,
		.process = st_model_process(model, builder->meta->tracks[event->track].process_id),
		.begin_track = event->track,
		.end_track = ST_NO_ROW,
		.slice = event->slice,
		.domain = event->domain,
		.name = event->name,
		.object = event->object,
		.id = event->id,
		.parent = event->other,
		.event = row,
		.flags = event->flags & ST_EVENT_TIME_ESTIMATED ? ST_SPAN_ESTIMATED : 0,
	};
	return spans->count++;
}

void st_span_close_at(struct st_span *span, int64_t ns)
{
	span->end_ns = ns < span->begin_ns ? span->begin_ns : ns;
}

void st_spans_end(struct st_span_builder *spans, uint32_t span, uint32_t row)
{
	const struct st_event_row *event = &spans->builder->index->columns.events[row];

	st_span_close_at(&spans->spans[span], event->time_ns);
	spans->spans[span].end_track = event->track;
	if (event->flags & ST_EVENT_TIME_ESTIMATED)
		spans->spans[span].flags |= ST_SPAN_ESTIMATED;
}

/* The list of a key; lists may move when another key is added. */
static struct open_list *list_of(struct pairing *p, enum key_tag tag, uint64_t a, uint64_t b)
{
	uint32_t known = p->keys.count;
	uint32_t key = st_key_table_add(&p->keys, (uint64_t)tag << 32 | p->process_id, a, b);

	if (key == ST_ID_NONE || !ST_VEC_ROOM(p->lists, key, p->list_capacity)) {
		p->no_memory = true;
		return NULL;
	}
	if (key >= known)
		memset(&p->lists[key], 0, sizeof(p->lists[key]));
	return &p->lists[key];
}

/* A span without a place in any list. */
static uint32_t add_span(struct pairing *p, enum st_span_kind kind, const struct call *call)
{
	uint32_t span = st_spans_begin(&p->out, kind, call->at);

	if (span == ST_NO_ROW || !ST_VEC_ROOM(p->below, span, p->below_capacity)) {
		p->no_memory = true;
		return ST_NO_ROW;
	}
	p->below[span] = (struct links){0};
	return span;
}

/* Opens a span at the top of its list. */
static uint32_t open_span(struct pairing *p, struct open_list *list, enum st_span_kind kind,
			  const struct call *call)
{
	uint32_t span = add_span(p, kind, call);

	if (span == ST_NO_ROW)
		return ST_NO_ROW;
	p->below[span].own = list->top;
	list->top = span + 1;
	return span;
}

static bool is_open(const struct pairing *p, uint32_t span)
{
	return p->out.spans[span].end_ns == ST_SPAN_OPEN;
}

/* Takes the newest out of a list, or the newest of a domain; ST_NO_ROW: there is none. What has ended by
 * another way lies in the list until it is come across. */
static uint32_t take_open(struct pairing *p, struct open_list *list, const st_string_id *domain)
{
	uint32_t *link = &list->top;

	for (unsigned int passed = 0; *link && passed < SEARCH_DEPTH_MAX;) {
		uint32_t at = *link - 1;
		bool fits = !domain || p->out.spans[at].domain == *domain;

		if (fits || !is_open(p, at))
			*link = p->below[at].own;
		if (fits && is_open(p, at))
			return at;
		if (!fits && is_open(p, at)) {
			link = &p->below[at].own;
			passed++;
		}
	}
	return ST_NO_ROW;
}

/* When recording (again) began before this call: the last resume, or the begin of what was kept. */
static int64_t recorded_since(const struct pairing *p, int64_t ns)
{
	const struct st_index_builder *builder = p->out.builder;
	int64_t since = -1;
	uint32_t hint = 0;

	if (builder->has_window)
		since = st_clock_map_ns(&builder->meta->clock, &hint, builder->window_ticks);
	for (uint32_t i = p->pauses.count; i > 0; i--) {
		int64_t end_ns = p->pauses.spans[i - 1].end_ns;

		if (end_ns <= ns)
			return end_ns > since ? end_ns : since;
	}
	return since;
}

/* An end whose begin nobody recorded. In a pause that is nothing. After one, and when nothing of its key
 * was recorded since, the begin lies in the pause: what was recorded of it begins with the resume. */
static void end_without_begin(struct pairing *p, struct open_list *list, enum st_span_kind kind,
			      const struct call *call)
{
	int64_t since = recorded_since(p, call->ns);
	struct st_span *span;
	uint32_t at;

	if (since < 0 || st_pause_at(p->pauses, call->ns) ||
	    (list->was_seen && list->last_ns >= since))
		return;
	at = add_span(p, kind, call);
	if (at == ST_NO_ROW)
		return;
	span = &p->out.spans[at];
	span->begin_ns = since;
	span->slice = ST_NO_ROW;
	span->flags |= ST_SLICE_CLIPPED;
	if (kind != ST_SPAN_TIMED_TASK && kind != ST_SPAN_USER_EVENT)
		span->begin_track = ST_NO_ROW;
	st_spans_end(&p->out, at, call->at);
}

static void end_span(struct pairing *p, struct open_list *list, enum st_span_kind kind,
		     const struct call *call)
{
	uint32_t span = take_open(p, list, NULL);

	if (span == ST_NO_ROW)
		end_without_begin(p, list, kind, call);
	else
		st_spans_end(&p->out, span, call->at);
}

/* The same id begins again though it has not ended: nobody will end the first one. */
static void give_up(struct pairing *p, struct open_list *list, const struct call *call)
{
	uint32_t span = take_open(p, list, NULL);

	if (span == ST_NO_ROW)
		return;
	st_span_close_at(&p->out.spans[span], call->ns);
	p->out.spans[span].flags |= ST_SLICE_UNFINISHED;
}

static void saw(struct open_list *list, const struct call *call)
{
	list->was_seen = true;
	list->last_ns = call->ns;
}

static void begin_frame(struct pairing *p, struct open_list *list, struct open_list *current,
			const struct call *call)
{
	uint32_t span;

	if (call->row->id)
		give_up(p, list, call);
	span = open_span(p, list, ST_SPAN_FRAME, call);
	if (span == ST_NO_ROW)
		return;
	p->below[span].current = current->top;
	current->top = span + 1;
	if (call->row->object != ST_NO_ROW)
		p->out.spans[span].domain =
			p->out.builder->meta->tables.objects[call->row->object].name;
}

/* Without an id it is the domain's newest that ends, whatever id it has. */
static void end_current_frame(struct pairing *p, struct open_list *list, struct open_list *current,
			      const struct call *call)
{
	while (current->top && !is_open(p, current->top - 1))
		current->top = p->below[current->top - 1].current;
	if (!current->top) {
		end_without_begin(p, list, ST_SPAN_FRAME, call);
		return;
	}
	st_spans_end(&p->out, current->top - 1, call->at);
	current->top = p->below[current->top - 1].current;
}

static void take_frame(struct pairing *p, const struct call *call)
{
	bool is_old = call->row->object != ST_NO_ROW;
	uint64_t domain = is_old ? call->row->object : call->row->domain;
	struct open_list *list, *current;

	/* Once more for the first, because the second may move it. */
	if (!list_of(p, is_old ? KEY_OLD_FRAME : KEY_FRAME, domain, call->row->id))
		return;
	current = list_of(p, KEY_CURRENT_FRAME, domain, is_old);
	list = current ? list_of(p, is_old ? KEY_OLD_FRAME : KEY_FRAME, domain, call->row->id)
		       : NULL;
	if (!list)
		return;
	if (call->row->kind == ST_EVENT_FRAME_BEGIN)
		begin_frame(p, list, current, call);
	else if (call->row->id)
		end_span(p, list, ST_SPAN_FRAME, call);
	else
		end_current_frame(p, list, current, call);
	saw(list, call);
}

/* All ones as the end means now; an end before the begin is the begin. */
static void take_submitted_frame(struct pairing *p, const struct call *call)
{
	const struct st_index_builder *builder = p->out.builder;
	uint32_t at = add_span(p, ST_SPAN_FRAME, call), hint = 0;
	int64_t end_ns = call->ns;

	if (at == ST_NO_ROW)
		return;
	if (call->row->extra != UINT64_MAX)
		end_ns = st_clock_map_ns(&builder->meta->clock, &hint, call->row->extra);
	st_span_close_at(&p->out.spans[at], end_ns);
	p->out.spans[at].end_track = call->row->track;
}

static void take_by_id(struct pairing *p, const struct call *call)
{
	bool is_region =
		call->row->kind == ST_EVENT_REGION_BEGIN || call->row->kind == ST_EVENT_REGION_END;
	enum st_span_kind kind = is_region ? ST_SPAN_REGION : ST_SPAN_OVERLAPPED;
	struct open_list *list =
		list_of(p, is_region ? KEY_REGION : KEY_OVERLAPPED, call->row->id, 0);

	if (!list)
		return;
	if (call->row->kind == ST_EVENT_REGION_END || call->row->kind == ST_EVENT_OVERLAPPED_END) {
		end_span(p, list, kind, call);
	} else if (!is_region || !list->top) {
		if (!is_region)
			give_up(p, list, call);
		open_span(p, list, kind, call);
	}
	saw(list, call);
}

static void take_timed(struct pairing *p, const struct call *call)
{
	struct open_list *list = list_of(p, KEY_TIMED, call->row->track, 0);
	uint32_t span;

	if (!list)
		return;
	if (call->row->kind == ST_EVENT_TIMED_BEGIN) {
		open_span(p, list, ST_SPAN_TIMED_TASK, call);
	} else {
		span = take_open(p, list, &call->row->domain);
		if (span != ST_NO_ROW)
			st_spans_end(&p->out, span, call->at);
		else
			end_span(p, list, ST_SPAN_TIMED_TASK, call);
	}
	saw(list, call);
}

/* A start or mark that nothing ends is a moment, not a span: it is taken back in the end. */
static void take_user_event(struct pairing *p, const struct call *call)
{
	bool is_mark = call->row->kind == ST_EVENT_MARK || call->row->kind == ST_EVENT_MARK_OFF;
	bool is_global = is_mark && call->row->detail & 1;
	enum st_span_kind kind = is_mark ? ST_SPAN_MARK : ST_SPAN_USER_EVENT;
	struct open_list *list = list_of(p, is_mark ? KEY_MARK : KEY_USER, call->row->object,
					 is_global ? UINT64_MAX : call->row->track);
	uint32_t at = p->out.count;

	if (!list)
		return;
	if (call->row->kind == ST_EVENT_MARK_OFF || call->row->kind == ST_EVENT_USER_END)
		end_span(p, list, kind, call);
	else
		open_span(p, list, kind, call);
	saw(list, call);
	if (p->out.count > at && call->row->object != ST_NO_ROW)
		p->out.spans[at].name =
			p->out.builder->meta->tables.objects[call->row->object].name;
}

static void take_call(struct pairing *p, const struct call *call)
{
	switch (call->row->kind) {
	case ST_EVENT_TIMED_BEGIN:
	case ST_EVENT_TIMED_END:
		take_timed(p, call);
		break;
	case ST_EVENT_OVERLAPPED_BEGIN:
	case ST_EVENT_OVERLAPPED_END:
	case ST_EVENT_REGION_BEGIN:
	case ST_EVENT_REGION_END:
		take_by_id(p, call);
		break;
	case ST_EVENT_FRAME_BEGIN:
	case ST_EVENT_FRAME_END:
		take_frame(p, call);
		break;
	case ST_EVENT_FRAME_SUBMIT:
		take_submitted_frame(p, call);
		break;
	case ST_EVENT_USER_START:
	case ST_EVENT_USER_END:
	case ST_EVENT_MARK:
	case ST_EVENT_MARK_OFF:
		take_user_event(p, call);
		break;
	default:
		break;
	}
}

static int by_call(const void *a, const void *b)
{
	const struct st_wide_event *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static bool pair(struct pairing *p)
{
	struct st_index_builder *builder = p->out.builder;
	struct st_event_tables *tables = &builder->tables;

	if (tables->wide_count)
		qsort(tables->wide, tables->wide_count, sizeof(*tables->wide), by_call);
	for (uint32_t i = 0; i < tables->wide_count && !p->no_memory; i++) {
		const struct st_wide_event *event = &tables->wide[i];
		struct call call = {.row = &builder->index->columns.events[event->row],
				    .at = event->row,
				    .ns = event->ns};

		if (!i || event->process_id != p->process_id) {
			p->process_id = event->process_id;
			p->pauses = st_pauses_of(&builder->meta->pauses, p->process_id);
		}
		take_call(p, &call);
	}
	return !p->no_memory;
}

bool st_index_spans_finish(struct st_index_builder *builder)
{
	struct pairing p = {.out.builder = builder};
	struct st_index_tables *tables = &builder->meta->tables;
	bool ok;

	if (!builder->event_count && !builder->tables.wait_count)
		return true;
	ok = pair(&p) && st_spans_add_sync(&p.out) && st_spans_complete(&p.out);
	tables->spans = p.out.spans;
	tables->span_count = ok ? p.out.count : 0;
	st_key_table_fini(&p.keys);
	free(p.lists);
	free(p.below);
	return ok;
}
