// SPDX-License-Identifier: Apache-2.0
//
// The result of events_result.h.
#include "events_result.h"

#include <string.h>

enum { U64 = 1, S64, U32, S32, U16, S16, FLOAT, DOUBLE };

struct maker {
	struct st_result *fake;
	uint32_t track, slice;
	int64_t time_ns;
	st_string_id domain;
	uint32_t span_id; /* of the first span */
};

/* A row with nothing but its place; the caller adds to it. */
static struct st_event_row row(struct maker *maker, uint16_t kind)
{
	return (struct st_event_row){.time_ns = maker->time_ns++,
				     .track = maker->track,
				     .slice = maker->slice,
				     .domain = maker->domain,
				     .object = ST_NO_ROW,
				     .kind = kind};
}

static void add_values(struct maker *maker, const char *key, uint32_t type, const void *data,
		       size_t size_bytes)
{
	struct st_event_row event = row(maker, ST_EVENT_METADATA);

	event.name = fake_text(maker->fake, key);
	event.detail = type;
	event.data = size_bytes ? fake_blob(maker->fake, data, size_bytes) : 0;
	fake_event(maker->fake, event);
}

static void add_text(struct maker *maker, uint16_t kind, const char *key, const char *text,
		     uint32_t id)
{
	struct st_event_row event = row(maker, kind);

	event.name = fake_text(maker->fake, key);
	event.data = fake_blob(maker->fake, text, strlen(text));
	event.id = id;
	fake_event(maker->fake, event);
}

/* Every type with its extremes, one element or several; none at all; the same key again. */
static void add_every_type(struct maker *maker)
{
	static const uint64_t u64 = UINT64_MAX;
	static const int64_t s64[] = {INT64_MIN, -1, INT64_MAX};
	static const uint32_t u32 = UINT32_MAX;
	static const int32_t s32[] = {INT32_MIN, 7};
	static const uint16_t u16 = UINT16_MAX;
	static const int16_t s16 = INT16_MIN;
	static const float narrow = 0.1f;
	static const double wide[] = {0.1, -1e300};

	add_values(maker, "u64", U64, &u64, sizeof(u64));
	add_values(maker, "s64", S64, s64, sizeof(s64));
	add_values(maker, "u32", U32, &u32, sizeof(u32));
	add_values(maker, "s32", S32, s32, sizeof(s32));
	add_values(maker, "u16", U16, &u16, sizeof(u16));
	add_values(maker, "s16", S16, &s16, sizeof(s16));
	add_values(maker, "float", FLOAT, &narrow, sizeof(narrow));
	add_values(maker, "double", DOUBLE, wide, sizeof(wide));
	add_values(maker, "nothing", U64, NULL, 0);
	add_text(maker, ST_EVENT_METADATA_TEXT, "text", "plain", 0);
	add_text(maker, ST_EVENT_METADATA_TEXT, "broken", "a\\\xff", 0);
	add_text(maker, ST_EVENT_METADATA_FORMATTED, "%s", "conv,fwd", 0);
	add_values(maker, "text", U32, &u32, sizeof(u32));
	/* The texts of the fake are not made one: say that the key is the same. */
	maker->fake->event_rows[maker->fake->events.count - 1].name =
		maker->fake->event_rows[maker->fake->events.count - 4].name;
}

static void add_id(struct maker *maker, uint32_t id, uint32_t parent)
{
	struct st_event_row event = row(maker, ST_EVENT_TASK_ID);

	event.id = id;
	event.other = parent;
	fake_event(maker->fake, event);
}

static void add_relation(struct maker *maker, uint32_t head, uint32_t kind, uint32_t tail)
{
	struct st_event_row event = row(maker, ST_EVENT_RELATION);

	event.id = head;
	event.detail = kind;
	event.other = tail;
	fake_event(maker->fake, event);
}

static void add_marker(struct maker *maker, const char *name, uint32_t scope, uint32_t id)
{
	struct st_event_row event = row(maker, ST_EVENT_MARKER);

	event.name = fake_text(maker->fake, name);
	event.detail = scope;
	event.id = id;
	fake_event(maker->fake, event);
}

static uint32_t add_object_event(struct maker *maker, uint16_t kind, uint32_t object,
				 uint32_t detail)
{
	struct st_event_row event = row(maker, kind);

	event.object = object;
	event.detail = detail;
	return fake_event(maker->fake, event);
}

static void add_sample(struct maker *maker, uint32_t object, uint64_t bits)
{
	struct st_event_row event = row(maker, ST_EVENT_COUNTER_SET);

	event.object = object;
	event.value = bits;
	fake_event(maker->fake, event);
}

/* A counter of every type, with the largest value of that type; of the last one the unit is known. */
static void add_counters(struct maker *maker)
{
	static const uint64_t bits[] = {[U64] = UINT64_MAX,
					[S64] = (uint64_t)INT64_MIN,
					[U32] = UINT32_MAX,
					[S32] = (uint32_t)INT32_MIN,
					[U16] = UINT16_MAX,
					[S16] = (uint16_t)INT16_MIN,
					[FLOAT] = 0x3fb99999a0000000ull,
					[DOUBLE] = 0x3fb999999999999aull};
	static const char *const names[] = {
		[U64] = "c.u64", [S64] = "c.s64", [U32] = "c.u32",     [S32] = "c.s32",
		[U16] = "c.u16", [S16] = "c.s16", [FLOAT] = "c.float", [DOUBLE] = "c.double"};
	struct st_result *fake = maker->fake;

	for (uint8_t type = U64; type <= DOUBLE; type++) {
		uint32_t object =
			fake_object(fake, ST_OBJECT_COUNTER, type, "counters", names[type]);

		add_sample(maker, object, 1);
		add_sample(maker, object, bits[type]);
		if (type == DOUBLE)
			fake->facts[fake->fact_count++] = (struct st_object_fact){
				.object = object, .type = 5, .text = fake_text(fake, "ms")};
		if (type == S64)
			fake->facts[fake->fact_count++] =
				(struct st_object_fact){.object = object, .type = 9, .number = 6};
	}
}

static void add_histogram(struct maker *maker)
{
	static const uint8_t data[] = {1, 0, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0};
	uint32_t object = fake_object(maker->fake, ST_OBJECT_HISTOGRAM, U16, "d", "histogram");
	struct st_event_row event = row(maker, ST_EVENT_HISTOGRAM);

	maker->fake->objects[object].type_y = U32;
	event.object = object;
	event.extra = 2;
	event.value = 4;
	event.data = fake_blob(maker->fake, data, sizeof(data));
	fake_event(maker->fake, event);
}

static void add_first_thread(struct maker *maker, uint32_t outer_id, uint32_t other_id)
{
	struct st_result *fake = maker->fake;
	uint32_t unknown = fake_id(fake, 77, 0, 0);
	struct st_event_row event;

	maker->time_ns = 101;
	maker->slice = EVENTS_OUTER;
	add_id(maker, outer_id, 0);
	event = row(maker, ST_EVENT_TASK_LINE);
	event.name = fake_text(fake, "train.py:88");
	fake_event(fake, event);
	event = row(maker, ST_EVENT_TASK_FN);
	event.value = 0xabc0;
	fake_event(fake, event);
	maker->time_ns = 201;
	maker->slice = EVENTS_FIRST;
	add_every_type(maker);
	maker->time_ns = 301;
	maker->slice = EVENTS_OUTER;
	add_text(maker, ST_EVENT_METADATA_TEXT, "late", "told after a task inside", 0);
	event = fake->event_rows[fake->events.count - 1];
	event.name = fake_text(fake, "again");
	event.time_ns = maker->time_ns++;
	fake_event(fake, event);
	add_text(maker, ST_EVENT_METADATA_TEXT, "of a span", "by id", maker->span_id);
	add_text(maker, ST_EVENT_METADATA_TEXT, "of nobody", "lost?", unknown);
	maker->time_ns = 401;
	maker->slice = EVENTS_SECOND;
	for (uint32_t kind = 1; kind <= 7; kind++)
		add_relation(maker, 0, kind, other_id);
	add_relation(maker, other_id, 1, unknown);
	add_relation(maker, unknown, 2, unknown);
	for (uint32_t scope = 0; scope <= 5; scope++) {
		char name[] = "marker 0";

		name[7] = (char)('0' + scope);
		add_marker(maker, name, scope, 0);
	}
	maker->time_ns = 600;
	maker->slice = EVENTS_OUTER;
	add_counters(maker);
	add_histogram(maker);
	add_object_event(maker, ST_EVENT_USER_START,
			 fake_object(fake, ST_OBJECT_USER_EVENT, 0, "", "never ended"), 0);
}

static void add_spans(struct maker *maker, uint32_t user_start, uint32_t mark)
{
	struct st_result *fake = maker->fake;
	st_string_id name = fake_text(fake, "request");
	uint32_t parent = maker->span_id;
	struct st_span span = {.kind = ST_SPAN_OVERLAPPED,
			       .slice = ST_NO_ROW,
			       .domain = maker->domain,
			       .name = name,
			       .object = ST_NO_ROW,
			       .event = ST_NO_ROW};

	/* Three that overlap, the second from thread to thread, the third without an end. */
	span.id = parent;
	span.begin_ns = 110, span.end_ns = 700;
	fake_span(fake, span);
	span.id = fake_id(fake, 4, 0, 0), span.parent = parent, span.lane = 1, span.end_track = 1;
	span.begin_ns = 120, span.end_ns = 710;
	fake_span(fake, span);
	span.id = fake_id(fake, 5, 0, 0), span.parent = 0, span.lane = 2, span.end_track = 0;
	span.begin_ns = 130, span.end_ns = 1000, span.flags = ST_SLICE_UNFINISHED;
	fake_span(fake, span);
	span.flags = 0, span.lane = 0, span.id = 0;
	span.kind = ST_SPAN_REGION, span.name = 0, span.begin_ns = 100, span.end_ns = 200;
	fake_span(fake, span);
	span.kind = ST_SPAN_FRAME, span.begin_ns = 200, span.end_ns = 200;
	fake_span(fake, span);
	span.kind = ST_SPAN_USER_EVENT, span.domain = 0, span.event = user_start;
	span.object = fake->event_rows[user_start].object, span.begin_ns = 650, span.end_ns = 660;
	span.begin_track = span.end_track = 1;
	fake_span(fake, span);
	span.kind = ST_SPAN_MARK, span.event = mark, span.object = fake->event_rows[mark].object;
	span.begin_ns = 651, span.end_ns = 670;
	fake_span(fake, span);
	fake->sync_objects[fake->sync_object_count++] = (struct st_sync_object){
		.address = 0xbeef, .type = fake_text(fake, "mutex"), .name = 0};
	span.kind = ST_SPAN_WAIT, span.object = 0, span.event = ST_NO_ROW;
	span.begin_ns = 652, span.end_ns = 655, span.flags = ST_SPAN_CANCELLED;
	fake_span(fake, span);
}

struct st_result *events_create(void)
{
	struct st_result *fake = fake_create();
	struct maker maker = {.fake = fake};
	uint32_t outer, outer_id, other_id, user_start, mark;
	struct st_event_row event;

	fake_process(fake, "p", 5);
	maker.domain = fake_text(fake, "d");
	outer_id = fake_id(fake, 1, 2, 3);
	other_id = fake_id(fake, UINT64_MAX, 0, 0);
	maker.span_id = fake_id(fake, 3, 0, 0);
	for (int i = 0; i < 4; i++)
		fake_label(fake, "d", (const char *[]){"outer", "first", "second", "other"}[i]);
	fake_track(fake, 0, "", 5);
	outer = fake_slice(fake, 0, 100, 1000, ST_NO_ROW);
	fake_slice(fake, 1, 200, 300, outer);
	fake_slice(fake, 2, 400, 500, outer);
	fake_track(fake, 0, "", 6);
	fake_slice(fake, 3, 150, 900, ST_NO_ROW);
	fake->callers[0] = (struct st_caller){0};
	fake->callers[1] = (struct st_caller){.address = 0x1234};
	fake->callers[2] = (struct st_caller){.address = 1, .place = fake_text(fake, "lib.so+0x1")};
	fake->caller_count = 3;
	fake->slice_callers[EVENTS_FIRST] = 1;
	fake->slice_callers[EVENTS_OUTER] = 2;
	add_first_thread(&maker, outer_id, other_id);
	maker.track = 1, maker.slice = EVENTS_OTHER, maker.time_ns = 151;
	add_id(&maker, other_id, outer_id); /* a child of a task of the other thread */
	user_start = add_object_event(&maker, ST_EVENT_USER_START,
				      fake_object(fake, ST_OBJECT_USER_EVENT, 0, "", "ended"), 0);
	mark = add_object_event(&maker, ST_EVENT_MARK,
				fake_object(fake, ST_OBJECT_MARK_TYPE, 0, "", "global mark"), 1);
	add_spans(&maker, user_start, mark);
	/* A mark by strata -command: of nobody's thread. */
	maker.track = ST_NO_ROW, maker.slice = ST_NO_ROW, maker.time_ns = 800, maker.domain = 0;
	event = row(&maker, ST_EVENT_MARK);
	event.data = fake_blob(fake, "here", 4);
	fake_event(fake, event);
	fake_finish(fake);
	return fake;
}
