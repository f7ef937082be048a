// SPDX-License-Identifier: Apache-2.0
//
// The reports of everything that is no nested task, against figures counted by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "analyze/datasets/itt_values.h"
#include "analyze/tables/report.h"
#include "fake_result.h"

static struct st_report report;

static void build(struct st_result *fake, const char *name, const struct st_report_options *options)
{
	static const struct st_report_options none;
	struct st_error err = {0};

	assert_int_equal(st_report_build(fake, name, options ? options : &none, &report, &err),
			 ST_OK);
}

static const struct st_cell *cell(uint32_t row, const char *key)
{
	const struct st_cell *cells =
		row == ST_NO_ROW ? report.totals.cells : report.rows[row].cells;

	for (uint32_t i = 0; i < report.column_count; i++)
		if (strcmp(report.columns[i].key, key) == 0)
			return &cells[i];
	fail_msg("no column %s", key);
	return NULL;
}

static double number(uint32_t row, const char *key)
{
	const struct st_cell *found = cell(row, key);

	switch (found->kind) {
	case ST_CELL_U64:
		return (double)found->as.u64;
	case ST_CELL_I64:
		return (double)found->as.i64;
	case ST_CELL_DOUBLE:
		return found->as.number;
	default:
		fail_msg("%s of row %u is no number", key, row);
		return 0;
	}
}

static void check_number(uint32_t row, const char *key, double expected)
{
	double got = number(row, key);

	if (!(fabs(got - expected) <= 1e-12 * fabs(expected)))
		fail_msg("%s of row %u: %g instead of %g", key, row, got, expected);
}

static void check_word(uint32_t row, const char *key, const char *expected)
{
	const struct st_cell *found = cell(row, key);

	assert_int_equal(found->kind, ST_CELL_TEXT);
	assert_int_equal(found->as.text.size_bytes, strlen(expected));
	assert_memory_equal(found->as.text.bytes, expected, strlen(expected));
}

/* One process with two threads; a slice "outer" on the first. */
static struct st_result *make(void)
{
	struct st_result *fake = fake_create();
	uint32_t label = fake_label(fake, "D", "outer");

	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	fake_slice(fake, label, 0, 1000, ST_NO_ROW);
	fake_track(fake, 0, "worker", 101);
	return fake;
}

static void span(struct st_result *fake, uint32_t kind, int64_t begin, int64_t end, uint32_t track,
		 struct st_span more)
{
	more.kind = kind;
	more.begin_ns = begin;
	more.end_ns = end;
	more.begin_track = more.end_track = track;
	more.slice = more.event = ST_NO_ROW;
	fake_span(fake, more);
}

static uint32_t event(struct st_result *fake, uint16_t kind, int64_t time_ns, uint32_t track,
		      struct st_event_row more)
{
	more.kind = kind;
	more.time_ns = time_ns;
	more.track = track;
	more.slice = track == 0 ? 0 : ST_NO_ROW;
	if (!more.object)
		more.object = ST_NO_ROW;
	return fake_event(fake, more);
}

static void test_frames(void **state)
{
	struct st_report_options single = {
		.question = {.groupings = {ST_BY_FRAME_DOMAIN, ST_BY_FRAME}, .grouping_count = 2}};
	struct st_result *fake = make();
	st_string_id render = fake_text(fake, "render"), audio = fake_text(fake, "audio");

	(void)state;
	/* They overlap: each counts with all of its time. */
	span(fake, ST_SPAN_FRAME, 100, 110, 0, (struct st_span){.domain = render});
	span(fake, ST_SPAN_FRAME, 105, 135, 1, (struct st_span){.domain = render});
	span(fake, ST_SPAN_FRAME, 200, 220, 0, (struct st_span){.domain = render});
	span(fake, ST_SPAN_FRAME, 300, 305, 1,
	     (struct st_span){.domain = audio, .flags = ST_SLICE_UNFINISHED});
	fake_finish(fake);

	build(fake, "frames", NULL);
	assert_int_equal(report.row_count, 2);
	check_word(0, "frame_domain", "render");
	check_number(0, "count", 3);
	check_number(0, "wall_total_ns", 60);
	check_number(0, "wall_min_ns", 10);
	check_number(0, "wall_avg_ns", 20);
	check_number(0, "wall_median_ns", 20);
	check_number(0, "wall_p99_ns", 30);
	check_number(0, "wall_max_ns", 30);
	check_number(0, "wall_stddev_ns", 8); /* sqrt(200/3) = 8.16 */
	check_number(0, "frame_rate_hz", 3e9 / 60);
	check_number(ST_NO_ROW, "count", 4);
	check_number(ST_NO_ROW, "wall_total_ns", 65);
	st_report_fini(&report);

	build(fake, "frames", &single);
	assert_int_equal(report.row_count, 6);
	check_word(2, "frame", "0");
	check_number(3, "start_ns", 105);
	check_number(3, "wall_total_ns", 30);
	check_word(3, "thread", "worker (101)");
	check_word(5, "flags", "unfinished");
	st_report_fini(&report);
	fake_destroy(fake);
}

/* Paused time is no part of a frame; a time range cuts it. */
static void test_frames_are_clipped(void **state)
{
	struct st_report_options part = {
		.question = {.has_time_range = true, .time_begin_ns = 150, .time_end_ns = 1000}};
	struct st_result *fake = make();
	st_string_id render = fake_text(fake, "render");

	(void)state;
	fake->pauses[fake->pause_count++] = (struct st_pause_window){0, 110, 130};
	span(fake, ST_SPAN_FRAME, 100, 200, 0,
	     (struct st_span){.domain = render, .flags = ST_SLICE_CLIPPED});
	span(fake, ST_SPAN_FRAME, 0, 50, 0, (struct st_span){.domain = render});
	fake_finish(fake);
	build(fake, "frames", NULL);
	check_number(0, "wall_total_ns", 80 + 50);
	st_report_fini(&report);
	build(fake, "frames", &part);
	check_number(0, "count", 1);
	check_number(0, "wall_total_ns", 50);
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_overlapped_and_regions(void **state)
{
	struct st_report_options family = {
		.question = {.groupings = {ST_BY_TASK_FAMILY}, .grouping_count = 1}};
	struct st_result *fake = make();
	st_string_id net = fake_text(fake, "net"), get = fake_text(fake, "get 1"),
		     put = fake_text(fake, "get 2");

	(void)state;
	span(fake, ST_SPAN_OVERLAPPED, 10, 50, 0, (struct st_span){.domain = net, .name = get});
	span(fake, ST_SPAN_OVERLAPPED, 20, 30, 1, (struct st_span){.domain = net, .name = put});
	span(fake, ST_SPAN_REGION, 15, 25, 1, (struct st_span){.domain = net, .name = get});
	fake_finish(fake);
	build(fake, "overlapped", NULL);
	assert_int_equal(report.row_count, 2);
	check_word(0, "task_type", "get 1");
	check_word(0, "task_domain", "net");
	check_number(ST_NO_ROW, "wall_total_ns", 50);
	st_report_fini(&report);
	build(fake, "overlapped", &family);
	assert_int_equal(report.row_count, 1);
	check_word(0, "task_family", "get *");
	check_number(0, "count", 2);
	st_report_fini(&report);
	/* Nested tasks know nothing of them. */
	build(fake, "tasks", NULL);
	check_number(ST_NO_ROW, "count", 1);
	check_number(ST_NO_ROW, "wall_total_ns", 1000);
	st_report_fini(&report);
	build(fake, "regions", NULL);
	check_number(0, "count", 1);
	check_word(0, "domain", "net");
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_markers(void **state)
{
	struct st_report_options named = {
		.question = {.groupings = {ST_BY_MARKER}, .grouping_count = 1}};
	struct st_result *fake = make();
	st_string_id domain = fake_text(fake, "D2"), epoch = fake_text(fake, "epoch");
	uint32_t paired, user;

	(void)state;
	fake_object(fake, ST_OBJECT_OTHERS, 0, NULL, "");
	user = fake_object(fake, ST_OBJECT_USER_EVENT, 0, NULL, "load");
	event(fake, ST_EVENT_MARKER, 30, 0,
	      (struct st_event_row){.domain = domain, .name = epoch, .detail = 2});
	paired = event(fake, ST_EVENT_USER_START, 40, 0, (struct st_event_row){.object = user});
	event(fake, ST_EVENT_USER_START, 20, 1, (struct st_event_row){.object = user});
	event(fake, ST_EVENT_MARK, 90, ST_NO_ROW,
	      (struct st_event_row){.data = fake_blob(fake, "half", 4)});
	span(fake, ST_SPAN_USER_EVENT, 40, 47, 0, (struct st_span){.object = user});
	fake->spans[0].event = paired;
	fake_finish(fake);

	build(fake, "markers", NULL);
	assert_int_equal(report.row_count, 4); /* the paired start is in its span */
	check_word(0, "instance", "load");
	check_number(0, "start_ns", 20);
	check_word(0, "thread", "worker (101)");
	check_word(1, "instance", "epoch");
	check_word(1, "domain", "D2");
	check_word(1, "scope", "process");
	check_word(1, "task", "outer");
	check_number(2, "wall_total_ns", 7);
	check_word(3, "instance", "strata command mark");
	check_word(3, "text", "half");
	check_word(3, "thread", "[no thread]");
	st_report_fini(&report);
	build(fake, "markers", &named);
	assert_int_equal(report.row_count, 3);
	check_word(0, "marker", "load");
	check_number(0, "count", 2);
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_sync(void **state)
{
	struct st_report_options by_thread = {
		.question = {.groupings = {ST_BY_SYNC_OBJECT, ST_BY_THREAD}, .grouping_count = 2}};
	struct st_result *fake = make();
	st_string_id mutex = fake_text(fake, "Mutex"), queue = fake_text(fake, "queue lock");

	(void)state;
	fake->sync_objects[0] = (struct st_sync_object){0, 2, 0x10, mutex, queue, 0, 0, 0, 0};
	fake->sync_objects[1] = (struct st_sync_object){0, 1, 0x20, mutex, 0, 0, 0, 0, 0};
	/* The same address again, as another object. */
	fake->sync_objects[2] = (struct st_sync_object){0, 2, 0x10, mutex, mutex, 500, 0, 0, 0};
	fake->sync_object_count = 3;
	event(fake, ST_EVENT_SYNC_ACQUIRED, 110, 0, (struct st_event_row){.value = 0x10});
	event(fake, ST_EVENT_SYNC_RELEASING, 150, 0, (struct st_event_row){.value = 0x10});
	event(fake, ST_EVENT_SYNC_ACQUIRED, 600, 0, (struct st_event_row){.value = 0x10});
	event(fake, ST_EVENT_SYNC_ACQUIRED, 160, 1, (struct st_event_row){.value = 0x10});
	event(fake, ST_EVENT_SYNC_RELEASING, 170, 1, (struct st_event_row){.value = 0x20});
	span(fake, ST_SPAN_WAIT, 100, 110, 0, (struct st_span){.object = 0});
	span(fake, ST_SPAN_WAIT, 120, 160, 1, (struct st_span){.object = 0});
	span(fake, ST_SPAN_WAIT, 300, 305, 1,
	     (struct st_span){.object = 0, .flags = ST_SPAN_CANCELLED});
	span(fake, ST_SPAN_HOLD, 110, 150, 0, (struct st_span){.object = 0});
	fake_finish(fake);

	build(fake, "sync", NULL);
	assert_int_equal(report.row_count, 3);
	check_word(0, "sync_object", "queue lock");
	check_word(0, "sync_type", "Mutex");
	check_number(0, "count", 3);
	check_number(0, "wall_total_ns", 55);
	check_number(0, "wall_max_ns", 40);
	check_number(0, "cancelled", 1);
	check_number(0, "acquisitions", 2);
	check_number(0, "releases", 1);
	check_number(0, "hold_total_ns", 40);
	check_number(0, "hold_avg_ns", 40);
	check_word(1, "sync_object", "Mutex");
	check_number(1, "acquisitions", 1);
	check_word(2, "sync_object", "Mutex 0x20");
	check_number(2, "releases", 1);
	check_number(2, "count", 0);
	check_number(ST_NO_ROW, "acquisitions", 3);
	st_report_fini(&report);
	build(fake, "sync", &by_thread);
	check_word(3, "thread", "worker (101)");
	check_number(3, "count", 2);
	check_number(3, "acquisitions", 1);
	check_number(3, "hold_total_ns", 0);
	st_report_fini(&report);
	/* Waits and holds side by side. */
	by_thread.question.groupings[1] = ST_BY_INSTANCE;
	build(fake, "sync", &by_thread);
	assert_string_equal(report.columns[2].title, "Duration");
	st_report_fini(&report);
	/* Releases are no waits, and yet a figure to sort by. */
	by_thread.question = (struct st_question){.groupings = {ST_BY_SYNC_OBJECT},
						  .grouping_count = 1,
						  .sort = {ST_RELEASES, ST_HOLD_AVG},
						  .sort_ascending = true,
						  .sort_count = 2};
	build(fake, "sync", &by_thread);
	check_word(0, "sync_object", "Mutex");
	check_word(1, "sync_object", "Mutex 0x20");
	check_word(2, "sync_object", "queue lock");
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_counters(void **state)
{
	struct st_report_options samples = {
		.question = {.groupings = {ST_BY_COUNTER, ST_BY_SAMPLE}, .grouping_count = 2}};
	struct st_report_options late = {
		.question = {.has_time_range = true, .time_begin_ns = 15, .time_end_ns = 1000}};
	struct st_result *fake = make();
	uint32_t queue, other;

	(void)state;
	fake_object(fake, ST_OBJECT_OTHERS, 0, NULL, "");
	queue = fake_object(fake, ST_OBJECT_COUNTER, ST_VALUE_U64, "D", "queue");
	other = fake_object(fake, ST_OBJECT_COUNTER, ST_VALUE_DOUBLE, "E", "queue");
	fake->facts[fake->fact_count++] =
		(struct st_object_fact){queue, 5, 0, fake_text(fake, "items")};
	fake->facts[fake->fact_count++] = (struct st_object_fact){queue, 10, 64, 0};
	event(fake, ST_EVENT_COUNTER_ADD, 10, 0,
	      (struct st_event_row){.object = queue, .value = 5});
	event(fake, ST_EVENT_COUNTER_ADD, 30, 0,
	      (struct st_event_row){.object = queue, .value = (uint64_t)-3});
	event(fake, ST_EVENT_COUNTER_SET, 12, 0,
	      (struct st_event_row){.object = other, .value = 0x3fe0000000000000});
	event(fake, ST_EVENT_COUNTER_ADD, 20, 1,
	      (struct st_event_row){.object = queue, .value = 1});
	fake_finish(fake);

	/* Of the same name, but two: their values have nothing to do with each other. */
	build(fake, "counters", NULL);
	assert_int_equal(report.row_count, 2);
	check_word(0, "domain", "D");
	check_word(0, "type", "u64");
	check_number(0, "count", 3);
	check_number(0, "first", 5);
	check_number(0, "last", 3);
	check_number(0, "min", 3);
	check_number(0, "max", 6);
	check_number(0, "average", 14.0 / 3);
	check_number(0, "delta_sum", 3);
	check_word(0, "unit", "items");
	check_word(0, "context", "max_value=64");
	check_number(1, "last", 0.5);
	assert_int_equal(cell(1, "unit")->kind, ST_CELL_NONE);
	st_report_fini(&report);
	build(fake, "counters", &samples);
	check_number(2, "value", 5);
	check_number(3, "value", 6);
	check_number(3, "delta", 1);
	check_number(4, "value", 3);
	st_report_fini(&report);
	/* A part of the run does not forget what came before. */
	build(fake, "counters", &late);
	assert_int_equal(report.row_count, 1);
	check_number(0, "first", 6);
	check_number(0, "delta_sum", -2);
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_relations_and_metadata(void **state)
{
	static const uint16_t shape[] = {64, 3};
	struct st_result *fake = make();
	st_string_id key = fake_text(fake, "shape"), tail_name = fake_text(fake, "backward");
	uint32_t head = fake_id(fake, 7, 0, 0), tail = fake_id(fake, 8, 0, 0),
		 stranger = fake_id(fake, 9, 1, 2);

	(void)state;
	event(fake, ST_EVENT_TASK_ID, 0, 0, (struct st_event_row){.id = head});
	event(fake, ST_EVENT_TASK_GROUP, 1, 0,
	      (struct st_event_row){.id = tail, .name = tail_name});
	event(fake, ST_EVENT_RELATION, 2, 0,
	      (struct st_event_row){.id = head, .other = tail, .detail = 7});
	event(fake, ST_EVENT_RELATION, 3, 0, (struct st_event_row){.other = tail, .detail = 7});
	event(fake, ST_EVENT_RELATION, 4, 0, (struct st_event_row){.other = stranger, .detail = 1});
	event(fake, ST_EVENT_METADATA, 5, 0,
	      (struct st_event_row){.name = key,
				    .detail = ST_VALUE_U16,
				    .extra = 2,
				    .data = fake_blob(fake, shape, sizeof(shape))});
	event(fake, ST_EVENT_METADATA_TEXT, 6, 1,
	      (struct st_event_row){.name = key, .id = tail, .data = fake_blob(fake, "x", 1)});
	event(fake, ST_EVENT_METADATA_TEXT_SCOPED, 7, 1,
	      (struct st_event_row){.name = key, .detail = 1 << 16});
	fake_finish(fake);

	build(fake, "relations", NULL);
	assert_int_equal(report.root_count, 1);
	check_word(0, "head", "outer");
	check_number(0, "count", 3);
	check_word(1, "relation", "predecessor_to");
	check_number(1, "count", 2);
	check_word(2, "relation", "dependent_on");
	check_word(3, "tail", "backward");
	check_number(3, "count", 2);
	check_word(4, "tail", "id 9:1:2");
	st_report_fini(&report);
	build(fake, "metadata", NULL);
	assert_int_equal(report.row_count, 3);
	check_word(0, "instance", "outer");
	check_word(0, "key", "shape");
	check_word(0, "value", "[64,3]");
	check_word(0, "type", "u16");
	check_word(1, "instance", "backward");
	check_word(1, "value", "x");
	check_word(1, "id", "8:0:0");
	check_word(2, "instance", "[everything]");
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_heap(void **state)
{
	struct st_report_options by_thread = {.question = {.groupings = {ST_BY_THREAD},
							   .grouping_count = 1,
							   .sort = {ST_HEAP_KEPT},
							   .sort_ascending = true,
							   .sort_count = 1}};
	struct st_result *fake = make();
	uint32_t pool;

	(void)state;
	fake_object(fake, ST_OBJECT_OTHERS, 0, NULL, "");
	pool = fake_object(fake, ST_OBJECT_HEAP_FUNCTION, 0, "alloc", "pool");
	event(fake, ST_EVENT_HEAP_ALLOCATE_BEGIN, 1, 0, (struct st_event_row){.object = pool});
	event(fake, ST_EVENT_HEAP_ALLOCATE_END, 2, 0,
	      (struct st_event_row){.object = pool, .value = 0x100, .extra = 50});
	event(fake, ST_EVENT_HEAP_ALLOCATE_END, 3, 0,
	      (struct st_event_row){.object = pool, .value = 0x200, .extra = 70});
	event(fake, ST_EVENT_HEAP_REALLOCATE_END, 4, 0,
	      (struct st_event_row){.object = pool,
				    .value = 0x300,
				    .extra = 80,
				    .id = fake_id(fake, 0x200, 0, 0)});
	/* Freed by the other thread, though the event comes later in the table. */
	event(fake, ST_EVENT_HEAP_FREE_END, 5, 1,
	      (struct st_event_row){.object = pool, .value = 0x100});
	event(fake, ST_EVENT_HEAP_FREE_END, 6, 1,
	      (struct st_event_row){.object = pool, .value = 0x100});
	fake_finish(fake);
	build(fake, "heap", NULL);
	check_word(0, "heap_function", "pool");
	check_word(0, "domain", "alloc");
	check_number(0, "allocations", 2);
	check_number(0, "reallocations", 1);
	check_number(0, "frees", 2);
	check_number(0, "alloc_bytes", 200);
	check_number(0, "free_bytes", 120); /* the second free finds nothing */
	check_number(0, "delta_bytes", 80);
	check_number(ST_NO_ROW, "delta_bytes", 80);
	st_report_fini(&report);
	/* The thread that only frees has less than nothing left. */
	build(fake, "heap", &by_thread);
	check_word(0, "thread", "worker (101)");
	check_number(0, "free_bytes", 50);
	check_number(0, "delta_bytes", -50);
	check_number(1, "delta_bytes", 130);
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_histograms(void **state)
{
	static const struct {
		int32_t x[2];
		double y[2];
	} one = {{-5, 9}, {1.5, 2.5}};
	struct st_result *fake = make();
	uint32_t sizes;

	(void)state;
	fake_object(fake, ST_OBJECT_OTHERS, 0, NULL, "");
	sizes = fake_object(fake, ST_OBJECT_HISTOGRAM, ST_VALUE_S32, "D", "sizes");
	fake->objects[sizes].type_y = ST_VALUE_DOUBLE;
	event(fake, ST_EVENT_HISTOGRAM, 1, 0,
	      (struct st_event_row){.object = sizes,
				    .extra = 2,
				    .value = sizeof(one.x),
				    .data = fake_blob(fake, &one, sizeof(one))});
	event(fake, ST_EVENT_HISTOGRAM, 2, 0,
	      (struct st_event_row){
		      .object = sizes, .extra = 2, .data = fake_blob(fake, one.y, sizeof(one.y))});
	fake_finish(fake);
	build(fake, "histograms", NULL);
	check_number(0, "count", 2);
	check_number(0, "elements", 4);
	check_number(0, "x_min", -5);
	check_number(0, "x_max", 9);
	check_number(0, "y_sum", 8);
	check_word(0, "x_type", "s32");
	st_report_fini(&report);
	fake_destroy(fake);
}

/* The row of a section of the summary that has this name. */
static uint32_t summary_row(const char *section, const char *name)
{
	for (uint32_t i = 0; i < report.row_count; i++) {
		const struct st_cell *cells = report.rows[i].cells;

		if (strncmp(cells[0].as.text.bytes, section, strlen(section)) == 0 &&
		    cells[1].as.text.size_bytes == strlen(name) &&
		    memcmp(cells[1].as.text.bytes, name, strlen(name)) == 0)
			return i;
	}
	fail_msg("no %s in section %s", name, section);
	return 0;
}

/* Threads of a pool repeat the task of their caller: one call. */
static void test_copies(void **state)
{
	struct st_result *fake = fake_create();
	uint32_t conv = fake_label(fake, "dnnl::primitive::execute", "convolution");

	(void)state;
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	fake_slice(fake, conv, 0, 100, ST_NO_ROW);
	fake_track(fake, 0, "", 101);
	fake->flags[fake_slice(fake, conv, 10, 90, ST_NO_ROW)] = ST_SLICE_COPY;
	fake_track(fake, 0, "", 102);
	fake->flags[fake_slice(fake, conv, 10, 80, ST_NO_ROW)] = ST_SLICE_COPY;
	fake->quality.copies = 2;
	fake_finish(fake);
	build(fake, "tasks", NULL);
	assert_int_equal(report.row_count, 1);
	check_number(0, "count", 1);
	check_number(0, "copies", 2);
	check_number(0, "threads", 3);
	check_number(0, "wall_total_ns", 100);
	check_number(0, "wall_self_ns", 100);
	check_number(0, "wall_max_ns", 100);
	st_report_fini(&report);
	build(fake, "summary", NULL);
	check_number(summary_row("cost", "tasks"), "value", 1);
	check_number(summary_row("cost", "copies"), "value", 2);
	check_number(summary_row("thread", "thread (101)"), "count", 0);
	check_number(summary_row("thread", "thread (101)"), "copies", 1);
	check_number(summary_row("thread", "thread (101)"), "wall_total_ns", 80);
	st_report_fini(&report);
	build(fake, "timeline", NULL);
	assert_int_equal(report.totals.cells[6].as.u64, 1);
	st_report_fini(&report);
	fake_destroy(fake);
}

/* A stop is no pause, and a thread's share is of the time that was recorded. */
static void test_stopped_early(void **state)
{
	struct st_result *fake = fake_create();
	unsigned int said = 0;

	(void)state;
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	fake_slice(fake, fake_label(fake, "app", "tick"), 0, 300, ST_NO_ROW);
	fake->info.elapsed_ns = 1200;
	fake->info.stop_reason = "duration";
	/* Started paused, resumed by the program itself; stopped. */
	fake->pauses[fake->pause_count++] = (struct st_pause_window){ST_NO_ROW, 0, 10};
	fake->pauses[fake->pause_count++] = (struct st_pause_window){ST_NO_ROW, 400, 401};
	fake->pauses[fake->pause_count++] = (struct st_pause_window){0, 0, 10};
	fake_finish(fake);
	fake->info.collected_ns = 400;
	build(fake, "summary", NULL);
	check_number(summary_row("thread", "main (100)"), "share_ratio", 0.75);
	for (uint32_t i = 0; i < report.row_count; i++)
		said += cell(i, "value")->kind == ST_CELL_TEXT &&
			strncmp(cell(i, "value")->as.text.bytes, "recording was paused 1 time ",
				28) == 0;
	assert_int_equal(said, 1);
	st_report_fini(&report);
	fake_destroy(fake);
}

/* What a ring buffer dropped is no time without tasks. */
static void test_ring_buffer(void **state)
{
	struct st_result *fake = fake_create();

	(void)state;
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	fake_slice(fake, fake_label(fake, "app", "tick"), 600, 900, ST_NO_ROW);
	fake->info.elapsed_ns = 1000;
	fake->info.kept_from_ns = 600;
	fake_finish(fake);
	build(fake, "summary", NULL);
	check_number(summary_row("thread", "main (100)"), "share_ratio", 0.75);
	st_report_fini(&report);
	build(fake, "timeline", NULL);
	check_number(ST_NO_ROW, "start_ns", 600);
	st_report_fini(&report);
	fake_destroy(fake);
}

/* A report is sorted by the figures it has, and by no others: an option without an effect is refused. */
static void test_sorting_by_what_there_is(void **state)
{
	static const struct {
		const char *report, *typed;
		int metric; /* -1: refused */
	} cases[] = {
		{"frames", "Frame Time", ST_WALL_TOTAL},
		{"frames", "p95", ST_WALL_P95},
		{"frames", "Task Time:Self", -1},
		{"counters", "Samples", ST_COUNT},
		{"counters", "max", -1},
		{"heap", "alloc_bytes", ST_HEAP_ALLOCATED},
		{"tasks", "copies", ST_COPIES},
		{"sync", "longest wait", ST_WALL_MAX},
		{"tasks", "total", ST_WALL_TOTAL},
		{"hotspots", "total", ST_CPU_TOTAL},
		{"callstacks", "Self", ST_CPU_SELF},
		{"operators", "Total Time", ST_WALL_TOTAL},
	};
	struct st_result *fake = make();
	struct st_report_options options = {.question = {.sort = {ST_WALL_MAX}, .sort_count = 1}};
	struct st_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct st_report_kind *kind = st_report_kinds;
		enum st_metric metric = ST_METRICS;
		enum st_status status;
		bool plain;

		while (strcmp(kind->name, cases[i].report) != 0)
			kind++;
		status = st_report_metric_parse(
			kind, (struct st_text){cases[i].typed, strlen(cases[i].typed)}, &metric,
			&plain, &err);
		assert_int_equal(status, cases[i].metric < 0 ? ST_EUSAGE : ST_OK);
		if (!status)
			assert_int_equal(metric, cases[i].metric);
	}
	/* Whoever asks without words is told as well. */
	fake_finish(fake);
	assert_int_equal(st_report_build(fake, "counters", &options, &report, &err), ST_EUSAGE);
	assert_non_null(strstr(err.text, "only by: count"));
	assert_int_equal(st_report_build(fake, "metadata", &options, &report, &err), ST_EUSAGE);
	fake_destroy(fake);
}

static struct st_report_options grouped(enum st_grouping grouping)
{
	return (struct st_report_options){
		.question = {.groupings = {grouping}, .grouping_count = 1}};
}

static void test_steps_callers_lines_categories(void **state)
{
	struct st_result *fake = fake_create();
	struct st_report_options options;
	uint32_t step[2] = {fake_label(fake, "app", "step_1"), fake_label(fake, "app", "step_2")};
	uint32_t add = fake_label(fake, "PyTorch", "aten::add"), outer;

	(void)state;
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	for (uint32_t i = 0; i < 2; i++) {
		outer = fake_slice(fake, step[i], 100 * i, 100 * i + 90, ST_NO_ROW);
		fake_slice(fake, add, 100 * i + 10, 100 * i + 20, outer);
	}
	fake_slice(fake, add, 300, 305, ST_NO_ROW);
	fake->caller_count = 3;
	fake->callers[1] = (struct st_caller){0, 0x1234, fake_text(fake, "libapp.so+0x34")};
	fake->callers[2] = (struct st_caller){0, 0x5678, 0};
	fake->slice_callers[0] = fake->slice_callers[2] = 1;
	fake->slice_callers[1] = 2;
	event(fake, ST_EVENT_TASK_LINE, 10, 0,
	      (struct st_event_row){.name = fake_text(fake, "train.py:7")});
	fake->event_rows[0].slice = 1;
	fake_finish(fake);

	options = grouped(ST_BY_STEP);
	build(fake, "tasks", &options);
	assert_int_equal(report.row_count, 3);
	check_word(0, "step", "step_1");
	check_number(0, "count", 2);
	check_word(2, "step", "[no step]");
	st_report_fini(&report);
	options = grouped(ST_BY_CALLER);
	build(fake, "tasks", &options);
	check_word(0, "caller", "libapp.so+0x34");
	check_number(0, "count", 2);
	assert_int_equal(report.row_count, 3); /* and one by its address, and two nobody knows */
	st_report_fini(&report);
	options = grouped(ST_BY_PYTHON_LINE);
	build(fake, "tasks", &options);
	check_word(1, "python_line", "train.py:7");
	check_number(1, "count", 1);
	st_report_fini(&report);
	options = grouped(ST_BY_CATEGORY);
	build(fake, "tasks", &options);
	check_word(0, "category", "task");
	check_word(1, "category", "op");
	check_number(1, "count", 3);
	st_report_fini(&report);
	fake_destroy(fake);
}

static void test_what_is_not_there(void **state)
{
	static const char *const names[] = {"frames",	  "regions", "overlapped", "markers",
					    "counters",	  "sync",    "relations",  "metadata",
					    "histograms", "heap"};
	struct st_report_options lines = grouped(ST_BY_PYTHON_LINE),
				 wrong = grouped(ST_BY_TASK_STACK);
	struct st_result *fake = make();
	struct st_error err;

	(void)state;
	fake_finish(fake);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		build(fake, names[i], NULL);
		assert_int_equal(report.row_count, 0);
		assert_non_null(strstr(report.empty, "This result has no "));
		st_report_fini(&report);
		assert_int_equal(st_report_build(fake, names[i], &wrong, &report, &err), ST_EUSAGE);
		assert_non_null(strstr(err.text, "available: process, thread"));
	}
	assert_int_equal(st_report_build(fake, "tasks", &lines, &report, &err), ST_EUSAGE);
	assert_non_null(strstr(err.text, "task-lines"));
	fake_destroy(fake);
}

static void test_choosing_columns(void **state)
{
	struct st_result *fake = make();
	struct st_error err;

	(void)state;
	fake_finish(fake);
	build(fake, "tasks", NULL);
	assert_int_equal(st_report_choose_columns(&report, "task time,MAX,count", &err), ST_OK);
	assert_int_equal(report.column_count, 4);
	assert_string_equal(report.columns[0].key, "task_type");
	assert_string_equal(report.columns[1].key, "count");
	assert_string_equal(report.columns[2].key, "wall_total_ns"); /* the exact title alone */
	assert_string_equal(report.columns[3].key, "wall_max_ns");
	check_number(0, "wall_total_ns", 1000);
	check_number(ST_NO_ROW, "count", 1);
	assert_int_equal(st_report_choose_columns(&report, "wall_tota,nothing", &err), ST_EUSAGE);
	assert_non_null(strstr(err.text, "nothing"));
	st_report_fini(&report);
	build(fake, "summary", NULL);
	assert_int_equal(st_report_choose_columns(&report, "self", &err), ST_OK);
	assert_true(report.as_table);
	st_report_fini(&report);
	fake_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_frames_are_clipped),
		cmocka_unit_test(test_overlapped_and_regions),
		cmocka_unit_test(test_markers),
		cmocka_unit_test(test_sync),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_relations_and_metadata),
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_histograms),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_stopped_early),
		cmocka_unit_test(test_ring_buffer),
		cmocka_unit_test(test_sorting_by_what_there_is),
		cmocka_unit_test(test_steps_callers_lines_categories),
		cmocka_unit_test(test_what_is_not_there),
		cmocka_unit_test(test_choosing_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
