// SPDX-License-Identifier: Apache-2.0
//
// Spans of hand-made results: who ends whom, what is open in the end, what a pause or the edge of a ring
// buffer cuts, lanes; sync objects with waits and holds; worker copies.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/wait_kind.h"
#include "open_fixture.h"

enum { PROCESS_END = 10000 };

static int setup(void **state)
{
	struct fixture *f;

	fixture_setup(state);
	f = *state;
	maker_object(&f->m, 1, (struct st_object_head){.kind = ST_OBJECT_USER_EVENT}, "user", "");
	maker_object(&f->m, 2, (struct st_object_head){.kind = ST_OBJECT_MARK_TYPE}, "mark", "");
	maker_object(&f->m, 3, (struct st_object_head){.kind = ST_OBJECT_FRAME}, "old frames", "");
	maker_process_end(&f->m, PROCESS_END, ST_END_EXITED, 0);
	maker_define(&f->m, 1);
	return 0;
}

static const char *text(const struct fixture *f, st_string_id id)
{
	return st_result_text(f->result, id).bytes;
}

static void with_id(struct fixture *f, uint64_t time, uint32_t kind, uint64_t id)
{
	struct st_event event = {.kind = kind,
				 .mask = ST_FIELD_NAMES | (id ? (uint32_t)ST_FIELD_ID : 0u),
				 .domain = 1,
				 .name = 2,
				 .id = {id, 0, 0}};

	st_slice_encoder_event(&f->m.slices, time, &event);
}

static void with_object(struct fixture *f, uint64_t time, uint32_t kind, uint32_t object,
			uint32_t detail)
{
	struct st_event event = {
		.kind = kind, .mask = ST_FIELD_OBJECT, .object = object, .detail = detail};

	st_slice_encoder_event(&f->m.slices, time, &event);
}

static void need_span(const struct fixture *f, uint32_t at, enum st_span_kind kind,
		      int64_t begin_ns, int64_t end_ns, uint16_t flags)
{
	assert_in_range(at, 0, f->span_count - 1);
	assert_int_equal(f->spans[at].kind, kind);
	assert_int_equal(f->spans[at].begin_ns, begin_ns);
	assert_int_equal(f->spans[at].end_ns, end_ns);
	assert_int_equal(f->spans[at].flags, flags);
}

/* Begin on one thread, end on another, though the ending thread's chunk lies first in the file. */
static void test_overlapped_across_threads(void **state)
{
	struct fixture *f = *state;
	struct st_event begin = {.kind = ST_EVENT_OVERLAPPED_BEGIN,
				 .mask = ST_FIELD_NAMES | ST_FIELD_ID | ST_FIELD_OTHER,
				 .domain = 1,
				 .name = 2,
				 .id = {7, 8, 9},
				 .other = {1, 1, 1}};
	struct st_event end = begin;
	uint32_t ids;

	end.kind = ST_EVENT_OVERLAPPED_END;
	end.mask = ST_FIELD_NAMES | ST_FIELD_ID;
	end.name = 0;
	end.domain = 2; /* ids are of the process, whatever the domain */
	st_slice_encoder_event(&f->m.slices, 200, &end);
	maker_chunk(&f->m, 1, 2);
	st_slice_encoder_begin(&f->m.slices, 50, 1, 1, 0);
	st_slice_encoder_event(&f->m.slices, 100, &begin);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 1);
	need_span(f, 0, ST_SPAN_OVERLAPPED, 100, 200, 0);
	assert_int_equal(f->spans[0].begin_track, 0);
	assert_int_equal(f->spans[0].end_track, 1);
	assert_int_equal(f->spans[0].slice, 0);
	assert_int_equal(f->spans[0].process, 0);
	assert_int_equal(f->spans[0].object, ST_NO_ROW);
	assert_string_equal(text(f, f->spans[0].domain), "d");
	assert_string_equal(text(f, f->spans[0].name), "b");
	assert_int_equal(st_result_ids(f->result, &ids)[f->spans[0].id].d[2], 9);
	assert_int_equal(st_result_ids(f->result, &ids)[f->spans[0].parent].d[0], 1);
	assert_int_equal(st_result_events(f->result)->rows[f->spans[0].event].kind,
			 ST_EVENT_OVERLAPPED_BEGIN);
}

static void test_overlapped_ids(void **state)
{
	struct fixture *f = *state;

	with_id(f, 10, ST_EVENT_OVERLAPPED_BEGIN, 1);
	with_id(f, 20, ST_EVENT_OVERLAPPED_BEGIN, 2);
	with_id(f, 30, ST_EVENT_OVERLAPPED_END, 1);
	with_id(f, 40, ST_EVENT_OVERLAPPED_BEGIN, 1); /* the id is used again */
	with_id(f, 50, ST_EVENT_OVERLAPPED_END, 2);
	with_id(f, 60, ST_EVENT_OVERLAPPED_END, 3); /* never begun */
	with_id(f, 70, ST_EVENT_OVERLAPPED_END, 1);
	with_id(f, 80, ST_EVENT_OVERLAPPED_BEGIN, 4); /* never ended */
	with_id(f, 90, ST_EVENT_OVERLAPPED_BEGIN, 5);
	with_id(f, 95, ST_EVENT_OVERLAPPED_BEGIN, 5); /* again though open */
	with_id(f, 99, ST_EVENT_OVERLAPPED_END, 5);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 6);
	need_span(f, 0, ST_SPAN_OVERLAPPED, 10, 30, 0);
	need_span(f, 1, ST_SPAN_OVERLAPPED, 20, 50, 0);
	need_span(f, 2, ST_SPAN_OVERLAPPED, 40, 70, 0);
	need_span(f, 3, ST_SPAN_OVERLAPPED, 80, PROCESS_END, ST_SLICE_UNFINISHED);
	need_span(f, 4, ST_SPAN_OVERLAPPED, 90, 95, ST_SLICE_UNFINISHED);
	need_span(f, 5, ST_SPAN_OVERLAPPED, 95, 99, 0);
	assert_int_equal(f->spans[0].lane, 0);
	assert_int_equal(f->spans[1].lane, 1);
	assert_int_equal(f->spans[2].lane, 0);
	assert_int_equal(f->spans[3].lane, 0);
	assert_int_equal(f->spans[4].lane, 1);
	assert_int_equal(f->spans[5].lane, 1);
	assert_int_equal(st_result_quality(f->result)->spans_unfinished, 2);
}

static void test_regions(void **state)
{
	struct fixture *f = *state;

	with_id(f, 10, ST_EVENT_REGION_BEGIN, 1);
	with_id(f, 20, ST_EVENT_REGION_BEGIN, 1); /* repeated: ignored */
	with_id(f, 30, ST_EVENT_REGION_END, 1);
	with_id(f, 40, ST_EVENT_REGION_END, 1); /* repeated: ignored */
	with_id(f, 50, ST_EVENT_REGION_BEGIN, 1);
	with_id(f, 60, ST_EVENT_OVERLAPPED_END, 1); /* another kind of thing */
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 2);
	need_span(f, 0, ST_SPAN_REGION, 10, 30, 0);
	need_span(f, 1, ST_SPAN_REGION, 50, PROCESS_END, ST_SLICE_UNFINISHED);
}

static void test_frames(void **state)
{
	struct fixture *f = *state;
	struct st_event submit = {.kind = ST_EVENT_FRAME_SUBMIT,
				  .mask = ST_FIELD_NAMES | ST_FIELD_TIME | ST_FIELD_EXTRA,
				  .domain = 2,
				  .time = 500,
				  .extra = 600};

	with_id(f, 10, ST_EVENT_FRAME_BEGIN, 0);
	with_id(f, 20, ST_EVENT_FRAME_END, 0);
	with_id(f, 30, ST_EVENT_FRAME_BEGIN, 7);
	with_id(f, 40, ST_EVENT_FRAME_BEGIN, 8);
	with_id(f, 50, ST_EVENT_FRAME_END, 7);
	with_id(f, 60, ST_EVENT_FRAME_END, 0); /* the domain's current one is 8 */
	with_id(f, 65, ST_EVENT_FRAME_END, 8); /* it has ended already */
	with_object(f, 70, ST_EVENT_FRAME_BEGIN, 3, 0);
	with_object(f, 80, ST_EVENT_FRAME_END, 3, 0);
	st_slice_encoder_event(&f->m.slices, 700, &submit);
	submit.extra = UINT64_MAX; /* until now */
	st_slice_encoder_event(&f->m.slices, 800, &submit);
	submit.time = 900;
	submit.extra = 850; /* ends before it begins */
	st_slice_encoder_event(&f->m.slices, 901, &submit);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 7);
	need_span(f, 0, ST_SPAN_FRAME, 10, 20, 0);
	need_span(f, 1, ST_SPAN_FRAME, 30, 50, 0);
	need_span(f, 2, ST_SPAN_FRAME, 40, 60, 0);
	need_span(f, 3, ST_SPAN_FRAME, 70, 80, 0);
	assert_string_equal(text(f, f->spans[3].domain), "old frames");
	need_span(f, 4, ST_SPAN_FRAME, 500, 600, 0);
	assert_string_equal(text(f, f->spans[4].domain), "e");
	need_span(f, 5, ST_SPAN_FRAME, 500, 800, 0);
	assert_int_equal(f->spans[4].lane + f->spans[5].lane, 1);
	need_span(f, 6, ST_SPAN_FRAME, 900, 900, 0);
}

static void timed(struct fixture *f, uint64_t time, uint32_t kind, uint32_t domain, uint64_t given)
{
	struct st_event event = {.kind = kind,
				 .mask = ST_FIELD_NAMES | ST_FIELD_TIME,
				 .domain = domain,
				 .name = kind == ST_EVENT_TIMED_BEGIN,
				 .time = given};

	st_slice_encoder_event(&f->m.slices, time, &event);
}

static void test_timed_tasks(void **state)
{
	struct fixture *f = *state;

	timed(f, 1000, ST_EVENT_TIMED_BEGIN, 1, 100);
	timed(f, 1001, ST_EVENT_TIMED_BEGIN, 2, 120);
	timed(f, 1002, ST_EVENT_TIMED_END, 1, 150); /* not the innermost */
	timed(f, 1003, ST_EVENT_TIMED_END, 1, 160); /* none of the domain left: the innermost */
	timed(f, 1004, ST_EVENT_TIMED_BEGIN, 1, 170);
	st_slice_encoder_mark(&f->m.slices, 2000, ST_MARK_TRACK_END, 1);
	maker_chunk(&f->m, 1, 1);
	timed(f, 1500, ST_EVENT_TIMED_END, 1, 180); /* of another thread: nothing to end */
	maker_chunk(&f->m, 1, 2);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 3);
	need_span(f, 0, ST_SPAN_TIMED_TASK, 100, 150, 0);
	need_span(f, 1, ST_SPAN_TIMED_TASK, 120, 160, 0);
	need_span(f, 2, ST_SPAN_TIMED_TASK, 170, 2000, ST_SLICE_UNFINISHED);
}

static void test_foreign_clock_is_flagged(void **state)
{
	struct fixture *f = *state;
	struct st_event event = {.kind = ST_EVENT_OVERLAPPED_BEGIN,
				 .mask = ST_FIELD_ID | ST_FIELD_TIME | ST_FIELD_CLOCK,
				 .id = {1},
				 .time = 1020,
				 .clock = 9};

	maker_object(
		&f->m, 9,
		(struct st_object_head){.kind = ST_OBJECT_CLOCK, .number = {1000000000, 1000, 100}},
		"", "");
	maker_define(&f->m, 1);
	st_slice_encoder_event(&f->m.slices, 500, &event);
	event.kind = ST_EVENT_OVERLAPPED_END;
	event.time = 1300;
	st_slice_encoder_event(&f->m.slices, 600, &event);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 1);
	need_span(f, 0, ST_SPAN_OVERLAPPED, 120, 400, ST_SPAN_ESTIMATED);
}

static void test_user_events_and_marks(void **state)
{
	struct fixture *f = *state;

	with_object(f, 10, ST_EVENT_USER_START, 1, 0);
	with_object(f, 20, ST_EVENT_USER_START, 1, 0);
	with_object(f, 30, ST_EVENT_USER_END, 1, 0);
	with_object(f, 40, ST_EVENT_USER_END, 1, 0);
	with_object(f, 50, ST_EVENT_USER_START, 1, 0); /* never ended: a moment */
	with_object(f, 60, ST_EVENT_MARK, 2, 0);
	with_object(f, 65, ST_EVENT_MARK, 2, 1);
	maker_chunk(&f->m, 1, 1);
	with_object(f, 55, ST_EVENT_USER_END, 1, 0); /* another thread's */
	with_object(f, 70, ST_EVENT_MARK_OFF, 2, 0);
	with_object(f, 75, ST_EVENT_MARK_OFF, 2, 1); /* global: whoever */
	maker_chunk(&f->m, 1, 2);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 3);
	need_span(f, 0, ST_SPAN_USER_EVENT, 10, 40, 0);
	need_span(f, 1, ST_SPAN_USER_EVENT, 20, 30, 0);
	need_span(f, 2, ST_SPAN_MARK, 65, 75, 0);
	assert_string_equal(text(f, f->spans[0].name), "user");
	assert_int_equal(f->spans[0].object, 0);
	assert_int_equal(f->spans[2].end_track, 1);
	assert_int_equal(st_result_quality(f->result)->spans_unfinished, 0);
}

static void test_pauses(void **state)
{
	struct fixture *f = *state;
	struct st_slice_encoder *slices = &f->m.slices;

	with_id(f, 10, ST_EVENT_OVERLAPPED_BEGIN, 1);
	with_id(f, 11, ST_EVENT_OVERLAPPED_BEGIN, 2);
	with_id(f, 12, ST_EVENT_REGION_BEGIN, 4);
	with_id(f, 13, ST_EVENT_REGION_END, 4);
	st_slice_encoder_mark(slices, 100, ST_MARK_PAUSE, 0);
	with_id(f, 150, ST_EVENT_OVERLAPPED_END, 1);
	with_id(f, 160, ST_EVENT_OVERLAPPED_END, 9); /* begun and ended in the pause */
	st_slice_encoder_mark(slices, 200, ST_MARK_RESUME, 0);
	with_id(f, 250, ST_EVENT_OVERLAPPED_END, 2);
	with_id(f, 260, ST_EVENT_OVERLAPPED_END, 3); /* begun in the pause */
	with_id(f, 270, ST_EVENT_OVERLAPPED_END, 3); /* that one not: something was seen since */
	with_object(f, 280, ST_EVENT_USER_END, 1, 0);
	with_id(f, 290, ST_EVENT_REGION_BEGIN, 4);
	with_id(f, 291, ST_EVENT_REGION_END, 4);
	with_id(f, 292, ST_EVENT_REGION_END, 4);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 6);
	need_span(f, 0, ST_SPAN_OVERLAPPED, 10, 100, ST_SLICE_CLIPPED);
	need_span(f, 1, ST_SPAN_OVERLAPPED, 11, 250, ST_SLICE_CLIPPED);
	need_span(f, 2, ST_SPAN_OVERLAPPED, 200, 260, ST_SLICE_CLIPPED);
	assert_int_equal(f->spans[2].begin_track, ST_NO_ROW);
	assert_int_equal(f->spans[2].end_track, 0);
	assert_int_equal(st_result_events(f->result)->rows[f->spans[2].event].kind,
			 ST_EVENT_OVERLAPPED_END);
	need_span(f, 3, ST_SPAN_REGION, 12, 13, 0);
	need_span(f, 4, ST_SPAN_REGION, 290, 291, 0);
	need_span(f, 5, ST_SPAN_USER_EVENT, 200, 280, ST_SLICE_CLIPPED);
	assert_int_equal(f->spans[5].begin_track, 0);
	assert_string_equal(text(f, f->spans[5].name), "user");
}

static void test_begun_before_the_window(void **state)
{
	struct fixture *f = *state;

	with_id(f, 500, ST_EVENT_OVERLAPPED_BEGIN, 1);
	with_id(f, 600, ST_EVENT_OVERLAPPED_END, 2);
	maker_chunk(&f->m, 1, 1);
	maker_end(&f->m);
	assert_int_equal(maker_open_as(&f->m, 4, &f->result, &f->err), ST_OK);
	f->spans = st_result_spans(f->result, &f->span_count);
	assert_int_equal(f->span_count, 2);
	need_span(f, 0, ST_SPAN_OVERLAPPED, 500, PROCESS_END, ST_SLICE_UNFINISHED);
	need_span(f, 1, ST_SPAN_OVERLAPPED, 500, 600, ST_SLICE_CLIPPED);
}

static void sync_call(struct fixture *f, uint64_t time, uint32_t kind, uint64_t address)
{
	struct st_event event = {.kind = kind, .mask = ST_FIELD_VALUE, .value = address};

	st_slice_encoder_event(&f->m.slices, time, &event);
}

static void sync_create(struct fixture *f, uint64_t time, uint64_t address, uint32_t attribute,
			const char *names, size_t names_bytes)
{
	struct st_event event = {.kind = ST_EVENT_SYNC_CREATE,
				 .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_DATA,
				 .detail = attribute,
				 .value = address,
				 .extra = 3,
				 .data = names,
				 .data_bytes = names_bytes};

	st_slice_encoder_event(&f->m.slices, time, &event);
}

static void test_waits_and_holds(void **state)
{
	struct fixture *f = *state;

	sync_call(f, 10, ST_EVENT_SYNC_PREPARE, 0x100);
	sync_call(f, 20, ST_EVENT_SYNC_ACQUIRED, 0x100);
	sync_call(f, 30, ST_EVENT_SYNC_RELEASING, 0x100);
	sync_call(f, 40, ST_EVENT_SYNC_PREPARE, 0x100);
	sync_call(f, 50, ST_EVENT_SYNC_CANCEL, 0x100);
	sync_call(f, 60, ST_EVENT_SYNC_RELEASING, 0x100); /* not held */
	sync_call(f, 70, ST_EVENT_SYNC_PREPARE, 0x100);
	sync_call(f, 80, ST_EVENT_SYNC_PREPARE, 0x100); /* the answer to the first got lost */
	sync_call(f, 90, ST_EVENT_SYNC_ACQUIRED, 0x100);
	sync_call(f, 95, ST_EVENT_SYNC_ACQUIRED, 0x100); /* and a release */
	st_slice_encoder_mark(&f->m.slices, 3000, ST_MARK_TRACK_END, 1);
	maker_chunk(&f->m, 1, 1);
	sync_call(f, 97, ST_EVENT_SYNC_RELEASING, 0x100); /* another thread does not hold it */
	maker_chunk(&f->m, 1, 2);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 5);
	need_span(f, 0, ST_SPAN_WAIT, 10, 20, 0);
	need_span(f, 1, ST_SPAN_WAIT, 40, 50, ST_SPAN_CANCELLED);
	need_span(f, 2, ST_SPAN_WAIT, 80, 90, 0);
	need_span(f, 3, ST_SPAN_HOLD, 20, 30, 0);
	need_span(f, 4, ST_SPAN_HOLD, 95, 3000, ST_SLICE_UNFINISHED);
}

static void library_call(struct fixture *f, uint64_t end, uint32_t kind, uint64_t took)
{
	struct st_event event = {.kind = kind,
				 .mask = ST_FIELD_VALUE | ST_FIELD_EXTRA,
				 .detail = ST_WAIT_GIL,
				 .value = 0x100,
				 .extra = took};

	st_slice_encoder_event(&f->m.slices, end, &event);
}

/* Between two looks at its clock nobody waits for the condition, and nobody is woken when the lock is dropped. */
static void test_who_drops_the_gil_lets_others_go_on(void **state)
{
	struct fixture *f = *state;

	library_call(f, 50, ST_EVENT_HOLD, 40);
	library_call(f, 90, ST_EVENT_HOLD, 20);
	maker_chunk(&f->m, 1, 1);
	library_call(f, 52, ST_EVENT_WAIT, 22);
	library_call(f, 99, ST_EVENT_WAIT, 5); /* too late for the second */
	maker_chunk(&f->m, 1, 2);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 4);
	need_span(f, 0, ST_SPAN_WAIT, 30, 52, 0);
	need_span(f, 1, ST_SPAN_WAIT, 94, 99, 0);
	need_span(f, 2, ST_SPAN_HOLD, 10, 50, 0);
	assert_int_equal(f->spans[0].end_track, f->spans[2].begin_track);
	assert_int_equal(f->spans[1].end_track, f->spans[1].begin_track);
	assert_int_not_equal(f->spans[0].begin_track, f->spans[2].begin_track);
}

static void fsync_call(struct fixture *f, uint64_t time, uint32_t kind, uint64_t address)
{
	struct st_event event = {
		.kind = kind, .mask = ST_FIELD_VALUE, .detail = 1, .value = address};

	st_slice_encoder_event(&f->m.slices, time, &event);
}

/* libomp tells each use of a lock by both interfaces, and its flags by fsync alone. */
static void test_two_sync_interfaces(void **state)
{
	struct fixture *f = *state;
	const struct st_events *events;

	sync_call(f, 10, ST_EVENT_SYNC_PREPARE, 0x100);
	fsync_call(f, 11, ST_EVENT_SYNC_PREPARE, 0x100);
	fsync_call(f, 20, ST_EVENT_SYNC_ACQUIRED, 0x100);
	sync_call(f, 21, ST_EVENT_SYNC_ACQUIRED, 0x100);
	sync_call(f, 30, ST_EVENT_SYNC_RELEASING, 0x100);
	fsync_call(f, 31, ST_EVENT_SYNC_RELEASING, 0x100);
	fsync_call(f, 40, ST_EVENT_SYNC_PREPARE, 0x200);
	fsync_call(f, 50, ST_EVENT_SYNC_ACQUIRED, 0x200); /* let go by another thread: not held */
	fsync_call(f, 60, ST_EVENT_SYNC_ACQUIRED, 0x200);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 3);
	need_span(f, 0, ST_SPAN_WAIT, 10, 21, 0);
	need_span(f, 1, ST_SPAN_WAIT, 40, 50, 0);
	need_span(f, 2, ST_SPAN_HOLD, 21, 30, 0);
	events = st_result_events(f->result);
	for (uint32_t i = 0; i < events->count; i++)
		assert_int_equal(!!(events->rows[i].flags & ST_EVENT_REPEATED),
				 i == 1 || i == 2 || i == 5);
}

static void test_sync_objects(void **state)
{
	struct fixture *f = *state;
	const struct st_sync_object *objects;
	struct st_event rename = {.kind = ST_EVENT_SYNC_RENAME,
				  .mask = ST_FIELD_VALUE | ST_FIELD_DATA,
				  .value = 0x100,
				  .data = "new name",
				  .data_bytes = 8};
	uint32_t count;

	sync_create(f, 10, 0x100, 2, "mutex\0first", 11);
	sync_create(f, 11, 0x100, 2, "mutex\0first", 11); /* the same again is no new one */
	st_slice_encoder_event(&f->m.slices, 12, &rename);
	sync_call(f, 60, ST_EVENT_SYNC_DESTROY, 0x100);
	sync_create(f, 70, 0x100, 1, "barrier\0", 8);
	maker_chunk(&f->m, 1, 1);
	sync_call(f, 20, ST_EVENT_SYNC_PREPARE, 0x100);
	sync_call(f, 30, ST_EVENT_SYNC_ACQUIRED, 0x100);
	sync_call(f, 40, ST_EVENT_SYNC_RELEASING, 0x100);
	sync_call(f, 80, ST_EVENT_SYNC_PREPARE, 0x100);
	sync_call(f, 90, ST_EVENT_SYNC_ACQUIRED, 0x100); /* a barrier is not held */
	sync_call(f, 95, ST_EVENT_SYNC_PREPARE, 0x200);	 /* nobody told of it */
	sync_call(f, 96, ST_EVENT_SYNC_ACQUIRED, 0x200);
	sync_call(f, 97, ST_EVENT_SYNC_RELEASING, 0x200);
	maker_chunk(&f->m, 1, 2);
	sync_call(f, 94, ST_EVENT_SYNC_PREPARE, 0x200);
	sync_call(f, 99, ST_EVENT_SYNC_ACQUIRED, 0x200);
	sync_call(f, 100, ST_EVENT_SYNC_RELEASING, 0x200);
	maker_chunk(&f->m, 1, 3);
	fixture_open_whole(f);
	objects = st_result_sync_objects(f->result, &count);
	assert_int_equal(count, 3);
	assert_string_equal(text(f, objects[0].type), "mutex");
	assert_string_equal(text(f, objects[0].name), "new name");
	assert_int_equal(objects[0].attribute, 2);
	assert_int_equal(objects[0].first_ns, 10);
	assert_string_equal(text(f, objects[1].type), "barrier");
	assert_string_equal(text(f, objects[1].name), "");
	assert_int_equal(objects[1].first_ns, 70);
	assert_int_equal(objects[2].address, 0x200);
	assert_int_equal(objects[2].first_ns, 94);
	assert_int_equal(objects[2].name, 0);
	assert_int_equal(f->span_count, 7);
	need_span(f, 0, ST_SPAN_WAIT, 20, 30, 0);
	assert_int_equal(f->spans[0].object, 0);
	assert_string_equal(text(f, f->spans[0].name), "new name");
	need_span(f, 1, ST_SPAN_WAIT, 80, 90, 0);
	assert_int_equal(f->spans[1].object, 1);
	need_span(f, 2, ST_SPAN_WAIT, 94, 99, 0);
	need_span(f, 3, ST_SPAN_WAIT, 95, 96, 0);
	assert_int_equal(f->spans[2].object, 2);
	assert_int_equal(f->spans[3].object, 2);
	assert_int_equal(f->spans[2].lane, 0);
	assert_int_equal(f->spans[3].lane, 1);
	need_span(f, 4, ST_SPAN_HOLD, 30, 40, 0);
}

static void test_many_lanes(void **state)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < 100; i++)
		with_id(f, 10 + i, ST_EVENT_OVERLAPPED_BEGIN, 1 + i);
	with_id(f, 200, ST_EVENT_OVERLAPPED_END, 51);
	with_id(f, 201, ST_EVENT_OVERLAPPED_END, 21);
	with_id(f, 300, ST_EVENT_OVERLAPPED_BEGIN, 500);
	with_id(f, 301, ST_EVENT_OVERLAPPED_BEGIN, 501);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->span_count, 102);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(f->spans[i].lane, i);
	/* The lowest that is free, not the one that has been free for longest. */
	assert_int_equal(f->spans[100].lane, 20);
	assert_int_equal(f->spans[101].lane, 50);
}

/* oneDNN: domain 3 is a primitive's; a slice of it with an id (0: none). */
static void primitive(struct fixture *f, uint64_t begin, uint64_t end, uint32_t name, uint64_t id)
{
	st_slice_encoder_begin(&f->m.slices, begin, 3, name, 0);
	if (id)
		with_id(f, begin, ST_EVENT_ID_CREATE, id);
	st_slice_encoder_end(&f->m.slices, end, 3);
}

static uint32_t copies_of_track(const struct fixture *f, uint32_t track)
{
	const struct st_slices *slices = st_result_slices(f->result);
	uint32_t tracks, copies = 0;
	const struct st_track *t = &st_result_tracks(f->result, &tracks)[track];

	for (uint32_t row = t->row_begin; row < t->row_end; row++)
		copies += (slices->flags[row] & ST_SLICE_COPY) != 0;
	return copies;
}

static void test_copies_by_id(void **state)
{
	struct fixture *f = *state;

	maker_text(&f->m, ST_DEF_DOMAIN, 3, "dnnl::primitive::execute");
	maker_define(&f->m, 1);
	st_slice_encoder_begin(&f->m.slices, 50, 1, 1, 0);
	primitive(f, 100, 200, 1, 11);
	primitive(f, 300, 400, 1, 12);
	primitive(f, 410, 420, 2, 14);
	st_slice_encoder_end(&f->m.slices, 900, 1);
	maker_chunk(&f->m, 1, 1);
	primitive(f, 110, 190, 1, 11); /* a copy */
	primitive(f, 310, 390, 1, 13); /* the caller's is lost: a call, as far as we know */
	primitive(f, 412, 418, 2, 14); /* a copy */
	primitive(f, 500, 600, 1, 11); /* the id again, at another time */
	maker_chunk(&f->m, 1, 2);
	st_slice_encoder_begin(&f->m.slices, 300, 1, 1, 0);
	primitive(f, 310, 390, 1, 12); /* not the outermost of its thread */
	st_slice_encoder_end(&f->m.slices, 395, 1);
	maker_chunk(&f->m, 1, 3);
	fixture_open_whole(f);
	assert_int_equal(copies_of_track(f, 0), 0);
	assert_int_equal(copies_of_track(f, 1), 2);
	assert_true(st_result_slices(f->result)->flags[4] & ST_SLICE_COPY);
	assert_int_equal(copies_of_track(f, 2), 0);
	assert_int_equal(st_result_quality(f->result)->copies, 2);
}

/* Ids are an address and a millisecond: callers of the same primitive at the same time share them. */
static void test_callers_are_no_copies_of_each_other(void **state)
{
	struct fixture *f = *state;

	maker_text(&f->m, ST_DEF_DOMAIN, 3, "dnnl::primitive::execute");
	maker_text(&f->m, ST_DEF_DOMAIN, 4, "dnnl::primitive::create");
	maker_define(&f->m, 1);
	primitive(f, 100, 200, 1, 11);
	maker_chunk(&f->m, 1, 1);
	primitive(f, 110, 190, 1, 11); /* most of this thread's are calls */
	primitive(f, 300, 400, 1, 12);
	primitive(f, 500, 600, 1, 13);
	maker_chunk(&f->m, 1, 2);
	st_slice_encoder_begin(&f->m.slices, 101, 4, 1, 0); /* this one creates its primitives */
	st_slice_encoder_end(&f->m.slices, 105, 4);
	primitive(f, 120, 180, 1, 11);
	maker_chunk(&f->m, 1, 3);
	primitive(f, 130, 170, 1, 11); /* whoever's worker */
	maker_chunk(&f->m, 1, 4);
	st_slice_encoder_begin(&f->m.slices, 102, 4, 1, 0); /* workers create nothing */
	st_slice_encoder_end(&f->m.slices, 104, 4);
	maker_chunk(&f->m, 1, 5);
	fixture_open_whole(f);
	for (uint32_t track = 0; track < 5; track++)
		assert_int_equal(copies_of_track(f, track), track == 3);
	assert_int_equal(st_result_quality(f->result)->copies, 1);
}

static void test_copies_without_ids(void **state)
{
	struct fixture *f = *state;

	maker_text(&f->m, ST_DEF_DOMAIN, 3, "dnnl::primitive::execute");
	maker_define(&f->m, 1);
	primitive(f, 100, 200, 1, 0);
	primitive(f, 300, 400, 1, 0);
	maker_chunk(&f->m, 1, 1);
	primitive(f, 110, 190, 1, 0);
	primitive(f, 310, 350, 1, 0);
	primitive(f, 360, 400, 1, 0);
	maker_chunk(&f->m, 1, 2);
	primitive(f, 120, 180, 1, 0); /* this thread calls for itself, too */
	primitive(f, 500, 600, 1, 0);
	maker_chunk(&f->m, 1, 3);
	maker_process(&f->m, 200, 0, 0, 0);
	maker_text(&f->m, ST_DEF_DOMAIN, 3, "dnnl::primitive::execute");
	maker_text(&f->m, ST_DEF_STRING, 1, "a");
	maker_define(&f->m, 2);
	primitive(f, 120, 180, 1, 0); /* and this is another process */
	maker_chunk(&f->m, 2, 1);
	fixture_open_whole(f);
	assert_int_equal(copies_of_track(f, 0), 0);
	assert_int_equal(copies_of_track(f, 1), 3);
	assert_int_equal(copies_of_track(f, 2), 0);
	assert_int_equal(copies_of_track(f, 3), 0);
	assert_int_equal(st_result_quality(f->result)->copies, 3);
}

static void test_other_domains_have_no_copies(void **state)
{
	struct fixture *f = *state;

	st_slice_encoder_begin(&f->m.slices, 100, 1, 1, 0);
	st_slice_encoder_end(&f->m.slices, 200, 1);
	maker_chunk(&f->m, 1, 1);
	st_slice_encoder_begin(&f->m.slices, 110, 1, 1, 0);
	st_slice_encoder_end(&f->m.slices, 190, 1);
	maker_chunk(&f->m, 1, 2);
	fixture_open_whole(f);
	assert_int_equal(st_result_quality(f->result)->copies, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_overlapped_across_threads, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_overlapped_ids, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_regions, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_frames, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_timed_tasks, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_foreign_clock_is_flagged, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_user_events_and_marks, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_pauses, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_begun_before_the_window, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_waits_and_holds, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_two_sync_interfaces, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_sync_objects, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_many_lanes, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_who_drops_the_gil_lets_others_go_on, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_copies_by_id, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_callers_are_no_copies_of_each_other, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_copies_without_ids, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_other_domains_have_no_copies, setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
