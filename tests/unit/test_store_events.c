// SPDX-License-Identifier: Apache-2.0
//
// Events of hand-made results: every field found back, in place, also from an index that was kept; objects,
// callers, clocks, marks of the family, what a ring buffer leaves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/ring_record.h"
#include "open_fixture.h"

static void add(struct fixture *f, uint64_t time, struct st_event event)
{
	st_slice_encoder_event(&f->m.slices, time, &event);
}

static const char *text(const struct fixture *f, st_string_id id)
{
	return st_result_text(f->result, id).bytes;
}

static void need_id(const struct fixture *f, uint32_t id, uint64_t d1, uint64_t d2, uint64_t d3)
{
	uint32_t count;
	const struct st_itt_id *ids = st_result_ids(f->result, &count);

	assert_in_range(id, 1, count - 1);
	assert_int_equal(ids[id].d[0], d1);
	assert_int_equal(ids[id].d[1], d2);
	assert_int_equal(ids[id].d[2], d3);
}

static void make_many_fields(struct fixture *f)
{
	st_slice_encoder_begin(&f->m.slices, 10, 1, 1, 0);
	add(f, 11,
	    (struct st_event){.kind = ST_EVENT_TASK_ID,
			      .mask = ST_FIELD_ID | ST_FIELD_OTHER,
			      .id = {1, 2, 3},
			      .other = {4, 5, 6}});
	st_slice_encoder_begin(&f->m.slices, 20, 1, 2, 0);
	add(f, 21,
	    (struct st_event){.kind = ST_EVENT_METADATA,
			      .mask = ST_FIELD_NAMES | ST_FIELD_EXTRA | ST_FIELD_DATA,
			      .detail = 3,
			      .domain = 2,
			      .name = 3,
			      .extra = 3,
			      .data = "eight by",
			      .data_bytes = 8});
	st_slice_encoder_end(&f->m.slices, 30, 1);
	add(f, 31,
	    (struct st_event){.kind = ST_EVENT_METADATA_TEXT,
			      .mask = ST_FIELD_ID | ST_FIELD_EXTRA | ST_FIELD_DATA,
			      .id = {1, 2, 3},
			      .extra = 8,
			      .data = "eight by",
			      .data_bytes = 8});
	st_slice_encoder_end(&f->m.slices, 40, 1);
	add(f, 41,
	    (struct st_event){.kind = ST_EVENT_CALL,
			      .mask = ST_FIELD_VALUE,
			      .detail = ST_CALL_STATE_SET,
			      .value = UINT64_MAX});
	add(f, 42, (struct st_event){.kind = 60000});
	maker_chunk(&f->m, 1, 1);
}

static void check_many_fields(struct fixture *f)
{
	const struct st_event_row *rows = f->events->rows;

	assert_int_equal(f->events->count, 5);
	assert_int_equal(f->events->first_of_track[0], 0);
	assert_int_equal(f->events->first_of_track[1], 5);
	assert_int_equal(rows[0].kind, ST_EVENT_TASK_ID);
	assert_int_equal(rows[0].time_ns, 11);
	assert_int_equal(rows[0].slice, 0);
	assert_int_equal(rows[0].track, 0);
	need_id(f, rows[0].id, 1, 2, 3);
	need_id(f, rows[0].other, 4, 5, 6);
	assert_int_equal(rows[0].object, ST_NO_ROW);
	assert_int_equal(rows[1].slice, 1);
	assert_string_equal(text(f, rows[1].domain), "e");
	assert_string_equal(text(f, rows[1].name), "c_12_3");
	assert_int_equal(rows[1].detail, 3);
	/* Three elements of four bytes were given, eight bytes kept. */
	assert_int_equal(rows[1].flags, ST_EVENT_DATA_CUT);
	assert_int_equal(rows[2].slice, 0);
	assert_int_equal(rows[2].id, rows[0].id);
	assert_int_equal(rows[2].flags, 0);
	assert_int_equal(rows[2].data, rows[1].data);
	assert_int_equal(st_result_blob(f->result, rows[2].data).size_bytes, 8);
	assert_string_equal(st_result_blob(f->result, rows[2].data).bytes, "eight by");
	assert_int_equal(rows[3].slice, ST_NO_ROW);
	assert_int_equal(rows[3].value, UINT64_MAX);
	assert_int_equal(rows[3].data, 0);
	assert_int_equal(st_result_blob(f->result, 0).size_bytes, 0);
	assert_int_equal(rows[4].kind, 60000);
	assert_int_equal(st_result_slice_event(f->result, 0, ST_EVENT_TASK_ID), 0);
	assert_int_equal(st_result_slice_event(f->result, 0, ST_EVENT_TASK_LINE), ST_NO_ROW);
	assert_int_equal(st_result_slice_event(f->result, 1, ST_EVENT_TASK_ID), ST_NO_ROW);
}

static void test_every_field(void **state)
{
	struct fixture *f = *state;

	make_many_fields(f);
	fixture_open_whole(f);
	check_many_fields(f);
}

static void add_flow(struct fixture *f, uint64_t time, uint32_t kind, uint64_t id, uint32_t detail)
{
	add(f, time,
	    (struct st_event){.kind = kind, .mask = ST_FIELD_VALUE, .detail = detail, .value = id});
}

/* A track of a device, in the order of its own chunk before that of the thread; id 7 is used again. */
static void make_flows(struct fixture *f)
{
	uint32_t name; /* four letters */

	memcpy(&name, "gpu0", sizeof(name));
	maker_numbers(&f->m, ST_DEF_THREAD, "448444", 2u, 7u, (uint64_t)0,
		      (uint32_t)ST_TRACK_DEVICE_STREAM, 4u, name);
	maker_numbers(&f->m, ST_DEF_THREAD, "44844", 3u, 100u, (uint64_t)0, 99u, 0u);
	maker_text(&f->m, ST_DEF_THREAD_NAME, 7, "no name of a stream");
	maker_define(&f->m, 1);
	st_slice_encoder_begin(&f->m.slices, 20, 1, 2, 0);
	add_flow(f, 20, ST_EVENT_FLOW_IN, 7, ST_FLOW_LAUNCH);
	add_flow(f, 21, ST_EVENT_FLOW_IN, 7, ST_FLOW_ENQUEUE); /* none left so */
	st_slice_encoder_end(&f->m.slices, 30, 1);
	st_slice_encoder_begin(&f->m.slices, 50, 1, 2, 0);
	add_flow(f, 50, ST_EVENT_FLOW_IN, 7, ST_FLOW_LAUNCH);
	st_slice_encoder_end(&f->m.slices, 60, 1);
	maker_chunk(&f->m, 1, 2);
	st_slice_encoder_begin(&f->m.slices, 10, 1, 1, 0);
	add_flow(f, 11, ST_EVENT_FLOW_OUT, 7, ST_FLOW_LAUNCH);
	st_slice_encoder_end(&f->m.slices, 12, 1);
	st_slice_encoder_begin(&f->m.slices, 40, 1, 1, 0);
	add_flow(f, 41, ST_EVENT_FLOW_OUT, 7, ST_FLOW_LAUNCH);
	add_flow(f, 41, ST_EVENT_FLOW_OUT, 8, ST_FLOW_LAUNCH); /* reaches nobody */
	st_slice_encoder_end(&f->m.slices, 42, 1);
	add_flow(f, 70, ST_EVENT_FLOW_IN, 7, ST_FLOW_LAUNCH); /* in no slice */
	maker_chunk(&f->m, 1, 1);
}

static void check_flows(struct fixture *f)
{
	uint32_t count;
	const struct st_slice_flow *flows = st_result_flows(f->result, &count);
	const struct st_process *process = st_result_processes(f->result, &count);
	const struct st_track *tracks = st_result_tracks(f->result, &count);

	assert_int_equal(count, 3);
	assert_int_equal(tracks[0].kind, ST_TRACK_THREAD);
	assert_string_equal(st_track_word(&tracks[0], process), "main");
	assert_int_equal(tracks[1].kind, ST_TRACK_DEVICE_STREAM);
	assert_int_equal(tracks[1].tid, 7);
	assert_string_equal(text(f, tracks[1].name), "gpu0");
	assert_string_equal(st_track_word(&tracks[1], process), "device stream");
	assert_int_equal(tracks[2].kind, ST_TRACK_OTHER); /* a kind of a later version */
	assert_string_equal(st_track_word(&tracks[2], process), "track");
	st_result_flows(f->result, &count);
	assert_int_equal(count, 2);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(flows[i].kind, ST_FLOW_LAUNCH);
		assert_int_equal(flows[i].from, i);
		assert_int_equal(flows[i].to, 2 + i);
	}
}

static void count_call(void *arg, double fraction, const char *what)
{
	(void)fraction, (void)what;
	++*(unsigned int *)arg;
}

static void check_kept(struct fixture *f, void (*check)(struct fixture *f))
{
	char *folder = temporary_folder();
	unsigned int builds = 0;
	const struct st_result_options options = {.progress = count_call, .progress_arg = &builds};

	maker_end(&f->m);
	maker_write(&f->m, folder);
	for (unsigned int i = 0; i < 2; i++) {
		st_result_close(f->result);
		assert_int_equal(st_result_open(&f->result, folder, &options, &f->err), ST_OK);
		f->events = st_result_events(f->result);
		check(f);
		assert_int_equal(builds, 1); /* the second time it is only read */
	}
	remove_folder(folder);
	free(folder);
}

static void test_kept_index_says_the_same(void **state)
{
	make_many_fields(*state);
	check_kept(*state, check_many_fields);
}

static void test_flows_and_kinds_of_tracks(void **state)
{
	make_flows(*state);
	check_kept(*state, check_flows);
}

static uint8_t *read_index(const char *folder, size_t *size_bytes)
{
	uint8_t *bytes = malloc(1 << 20);
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/index.strata", folder);
	file = fopen(path, "re");
	assert_non_null(file);
	*size_bytes = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

/* Whatever happens to the index, the rows come out the same. */
static void test_damaged_index(void **state)
{
	struct fixture *f = *state;
	char *folder = temporary_folder();
	size_t size_bytes;
	uint8_t *bytes;

	make_many_fields(f);
	maker_end(&f->m);
	maker_write(&f->m, folder);
	assert_int_equal(st_result_open(&f->result, folder, NULL, &f->err), ST_OK);
	bytes = read_index(folder, &size_bytes);
	assert_in_range(size_bytes, 4096 + 5 * 64, 1 << 16);
	for (size_t at = 0; at < size_bytes; at += at < 192 || at >= 4096 ? 5 : 500) {
		st_result_close(f->result);
		bytes[at] ^= 0x10;
		write_file(folder, "index.strata", bytes, at % 3 ? size_bytes : at);
		bytes[at] ^= 0x10;
		assert_int_equal(st_result_open(&f->result, folder, NULL, &f->err), ST_OK);
		f->events = st_result_events(f->result);
		check_many_fields(f);
	}
	remove_folder(folder);
	free(folder);
	free(bytes);
}

static void test_several_tracks(void **state)
{
	struct fixture *f = *state;
	const uint32_t tracks[] = {2, 1, 2};

	for (uint32_t i = 0; i < 3; i++) {
		add(f, 100 + i,
		    (struct st_event){.kind = ST_EVENT_CALL, .mask = ST_FIELD_VALUE, .value = i});
		maker_chunk(&f->m, 1, tracks[i]);
	}
	fixture_open_whole(f);
	assert_int_equal(f->events->count, 3);
	assert_int_equal(f->events->first_of_track[1], 1);
	assert_int_equal(f->events->first_of_track[2], 3);
	assert_int_equal(f->events->rows[0].value, 1);
	assert_int_equal(f->events->rows[1].value, 0);
	assert_int_equal(f->events->rows[2].value, 2);
	assert_int_equal(f->events->rows[2].track, 1);
}

static void test_no_events_no_tables(void **state)
{
	struct fixture *f = *state;
	uint32_t count;

	st_slice_encoder_begin(&f->m.slices, 10, 1, 1, 0);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->events->count, 0);
	assert_null(st_result_slice_callers(f->result));
	st_result_spans(f->result, &count);
	assert_int_equal(count, 0);
	st_result_callers(f->result, &count);
	assert_int_equal(count, 0);
	assert_int_equal(st_result_slice_event(f->result, 0, ST_EVENT_TASK_ID), ST_NO_ROW);
}

static void go_to_track(struct fixture *f, uint64_t time, uint32_t object)
{
	add(f, time,
	    (struct st_event){.kind = ST_EVENT_SET_TRACK,
			      .mask = object ? ST_FIELD_OBJECT : 0,
			      .object = object});
}

/* One thread, two ITT tracks and its own: tasks nest on each by itself, and an end belongs to the track
 * that is set when it comes. */
static void test_tracks_nest_apart(void **state)
{
	static const int64_t ends[] = {100, 95, 60, 90};
	static const uint32_t parents[] = {ST_NO_ROW, ST_NO_ROW, ST_NO_ROW, 1};
	struct fixture *f = *state;
	const struct st_slices *slices;

	maker_object(&f->m, 1, (struct st_object_head){.kind = ST_OBJECT_TRACK}, "one", "");
	maker_object(&f->m, 2, (struct st_object_head){.kind = ST_OBJECT_TRACK}, "two", "");
	maker_define(&f->m, 1);
	st_slice_encoder_begin(&f->m.slices, 10, 1, 1, 0); /* row 0, the thread's own */
	go_to_track(f, 15, 1);
	st_slice_encoder_begin(&f->m.slices, 20, 1, 1, 0); /* row 1, on one */
	go_to_track(f, 25, 2);
	st_slice_encoder_begin(&f->m.slices, 30, 1, 1, 0); /* row 2, on two */
	go_to_track(f, 35, 1);
	st_slice_encoder_begin(&f->m.slices, 40, 1, 1, 0); /* row 3, on one, inside row 1 */
	go_to_track(f, 50, 2);
	st_slice_encoder_end(&f->m.slices, 60, 1);
	go_to_track(f, 65, 1);
	st_slice_encoder_end(&f->m.slices, 90, 1); /* row 3 */
	st_slice_encoder_end(&f->m.slices, 95, 1); /* row 1 */
	go_to_track(f, 96, 0);
	st_slice_encoder_end(&f->m.slices, 100, 1);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	slices = st_result_slices(f->result);
	assert_int_equal(slices->count, 4);
	for (uint32_t row = 0; row < 4; row++) {
		assert_int_equal(slices->end_ns[row], ends[row]);
		assert_int_equal(slices->parent[row], parents[row]);
		assert_int_equal(slices->flags[row], 0);
	}
	/* What is told on a track belongs to the task that is open there. */
	assert_int_equal(f->events->rows[3].slice, 3);
	assert_int_equal(f->events->rows[4].slice, ST_NO_ROW);
}

static void counter(struct fixture *f, uint64_t time, uint32_t object)
{
	add(f, time,
	    (struct st_event){.kind = ST_EVENT_COUNTER_SET,
			      .mask = ST_FIELD_OBJECT | ST_FIELD_VALUE,
			      .object = object,
			      .value = time});
}

static void test_objects(void **state)
{
	struct fixture *f = *state;
	const struct st_object *objects;
	uint32_t count;

	maker_object(&f->m, 1, (struct st_object_head){.kind = ST_OBJECT_TRACK_GROUP}, "group", "");
	maker_object(&f->m, 2, (struct st_object_head){.kind = ST_OBJECT_TRACK, .parent = 1},
		     "track", "");
	maker_object(&f->m, 3,
		     (struct st_object_head){
			     .kind = ST_OBJECT_COUNTER, .type = 8, .flags = 1, .number = {7}},
		     "temperature", "sensors");
	maker_define(&f->m, 1);
	counter(f, 10, 3);
	counter(f, 11, 9); /* nobody defines it */
	counter(f, 12, 9);
	add(f, 13,
	    (struct st_event){.kind = ST_EVENT_COUNTER_ADD,
			      .mask = ST_FIELD_NAMES | ST_FIELD_VALUE,
			      .domain = 1,
			      .name = 2,
			      .value = (uint64_t)-5});
	add(f, 14,
	    (struct st_event){.kind = ST_EVENT_COUNTER_ADD,
			      .mask = ST_FIELD_NAMES | ST_FIELD_VALUE,
			      .domain = 1,
			      .name = 2,
			      .value = 6});
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	objects = st_result_objects(f->result, &count);
	assert_int_equal(count, 5);
	assert_int_equal(objects[1].parent, 0);
	assert_int_equal(objects[0].parent, ST_NO_ROW);
	assert_int_equal(f->events->rows[0].object, 2);
	assert_int_equal(objects[2].type, 8);
	assert_int_equal(objects[2].number[0], 7);
	assert_string_equal(text(f, objects[2].name), "temperature");
	assert_string_equal(text(f, objects[2].domain), "sensors");
	assert_int_equal(f->events->rows[1].object, 3);
	assert_int_equal(f->events->rows[2].object, 3);
	assert_string_equal(text(f, objects[3].name), "[object 9 not recorded]");
	assert_int_equal(objects[3].kind, ST_OBJECT_COUNTER);
	assert_int_equal(st_result_quality(f->result)->missing_names, 1);
	assert_int_equal(f->events->rows[3].object, 4);
	assert_int_equal(f->events->rows[4].object, 4);
	assert_int_equal(objects[4].kind, ST_OBJECT_COUNTER);
	assert_string_equal(text(f, objects[4].name), "b");
	assert_string_equal(text(f, objects[4].domain), "d");
}

static void add_fact(struct fixture *f, uint32_t object, uint32_t type, const char *text_value)
{
	size_t at = st_definition_begin(&f->m.records, ST_DEF_OBJECT_METADATA);

	st_buf_append_u32(&f->m.records, object);
	st_buf_append_u32(&f->m.records, 0);
	st_buf_append_u32(&f->m.records, type);
	st_definition_text(&f->m.records, "", 0); /* length of the text, filled in below */
	f->m.records.size_bytes -= 4;
	st_buf_append_u32(&f->m.records, (uint32_t)strlen(text_value));
	st_buf_append_u64(&f->m.records, 40 + type);
	st_buf_append_text(&f->m.records, text_value);
	st_definition_end(&f->m.records, at);
	f->m.record_count++;
}

/* The child has objects of its own from the fork on, with all that was told of them before. */
static void test_objects_over_fork(void **state)
{
	struct fixture *f = *state;
	const struct st_object_fact *facts;
	const struct st_object *objects;
	uint32_t count;

	maker_object(&f->m, 1, (struct st_object_head){.kind = ST_OBJECT_COUNTER, .type = 1},
		     "inherited", "");
	maker_object(&f->m, 2, (struct st_object_head){.kind = ST_OBJECT_COUNTER, .type = 1},
		     "later", "");
	add_fact(f, 1, 5, "degrees");
	maker_define(&f->m, 1);
	maker_process(&f->m, 101, 1, ST_PROCESS_FORKED, 5);
	maker_numbers(&f->m, ST_DEF_INHERIT, "4444", 1u, 3u, 2u, 1u);
	maker_define(&f->m, 2);
	counter(f, 10, 1);
	counter(f, 11, 2);
	maker_chunk(&f->m, 1, 1);
	counter(f, 12, 1);
	counter(f, 13, 2); /* not inherited */
	maker_chunk(&f->m, 2, 1);
	fixture_open_whole(f);
	objects = st_result_objects(f->result, &count);
	assert_int_equal(count, 4);
	assert_int_equal(f->events->rows[0].object, 0);
	assert_int_equal(f->events->rows[1].object, 1);
	assert_int_equal(f->events->rows[2].object, 2);
	assert_int_equal(f->events->rows[3].object, 3);
	assert_int_equal(objects[0].process, 0);
	assert_int_equal(objects[2].process, 1);
	assert_string_equal(text(f, objects[2].name), "inherited");
	assert_string_equal(text(f, objects[3].name), "[object 2 not recorded]");
	facts = st_result_object_facts(f->result, &count);
	assert_int_equal(count, 2);
	assert_int_equal(facts[0].object, 0);
	assert_int_equal(facts[1].object, 2);
	assert_int_equal(facts[1].type, 5);
	assert_int_equal(facts[1].number, 45);
	assert_string_equal(text(f, facts[1].text), "degrees");
}

static void marker_at(struct fixture *f, uint64_t time, uint64_t given, uint32_t clock)
{
	add(f, time,
	    (struct st_event){.kind = ST_EVENT_MARKER,
			      .mask = ST_FIELD_NAMES | ST_FIELD_TIME |
				      (clock ? (uint32_t)ST_FIELD_CLOCK : 0u),
			      .domain = 1,
			      .name = 1,
			      .time = given,
			      .clock = clock});
}

static void test_times_given(void **state)
{
	struct fixture *f = *state;
	const struct st_event_row *rows;

	/* A thousand ticks a second; 50 of them were gone when we asked, at 1,000 ns. */
	maker_object(&f->m, 1,
		     (struct st_object_head){.kind = ST_OBJECT_CLOCK, .number = {1000, 50, 1000}},
		     "", "");
	/* Asked again at 9,000 ns. */
	maker_object(&f->m, 1,
		     (struct st_object_head){.kind = ST_OBJECT_CLOCK, .number = {1000, 0, 9000}},
		     "", "");
	maker_object(&f->m, 2, (struct st_object_head){.kind = ST_OBJECT_CLOCK}, "", "");
	maker_define(&f->m, 1);
	marker_at(f, 2000, 1234, 0);
	marker_at(f, 2001, 52, 1);
	marker_at(f, 2002, 49, 1); /* before the start of collection */
	marker_at(f, 9500, 3, 1);
	marker_at(f, 9501, 77, 2); /* a clock without a frequency */
	marker_at(f, 9502, 78, 3); /* and one that nobody defines */
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	rows = f->events->rows;
	assert_int_equal(rows[0].time_ns, 1234);
	assert_int_equal(rows[0].flags, ST_EVENT_TIME_GIVEN);
	assert_int_equal(rows[1].time_ns, 1000 + 2 * 1000000);
	assert_int_equal(rows[1].flags, ST_EVENT_TIME_GIVEN | ST_EVENT_TIME_ESTIMATED);
	assert_int_equal(rows[2].time_ns, 0);
	assert_int_equal(rows[3].time_ns, 9000 + 3 * 1000000);
	assert_int_equal(rows[4].time_ns, 9501);
	assert_int_equal(rows[4].flags, 0);
	assert_int_equal(rows[5].time_ns, 9502);
}

static void test_callers(void **state)
{
	struct fixture *f = *state;
	const struct st_caller *callers;
	const uint32_t *of_slice;
	uint32_t count;

	maker_code_map(&f->m, 0x1000, 0x2000, 0x400, "/usr/lib/libone.so");
	maker_code_map(&f->m, 0x8000, 0x9000, 0, "libtwo.so");
	maker_define(&f->m, 1);
	st_slice_encoder_begin(&f->m.slices, 10, 1, 1, 0);
	st_slice_encoder_caller(&f->m.slices, 20, 2, 0x1010);
	st_slice_encoder_begin(&f->m.slices, 20, 1, 2, 0);
	st_slice_encoder_caller(&f->m.slices, 30, 1, 0x8fff);
	st_slice_encoder_begin(&f->m.slices, 30, 1, 1, 0);
	st_slice_encoder_caller(&f->m.slices, 40, 1, 0x5000);
	st_slice_encoder_begin(&f->m.slices, 40, 1, 1, 0);
	maker_chunk(&f->m, 1, 1);
	st_slice_encoder_caller(&f->m.slices, 50, 3, 0x1010);
	st_slice_encoder_begin(&f->m.slices, 50, 1, 3, 0);
	maker_chunk(&f->m, 1, 2);
	fixture_open_whole(f);
	of_slice = st_result_slice_callers(f->result);
	callers = st_result_callers(f->result, &count);
	assert_non_null(of_slice);
	assert_int_equal(count, 4);
	assert_int_equal(of_slice[0], 0);
	assert_int_equal(of_slice[1], of_slice[4]);
	assert_int_equal(callers[of_slice[1]].address, 0x1010);
	assert_string_equal(text(f, callers[of_slice[1]].place), "libone.so+0x410");
	assert_string_equal(text(f, callers[of_slice[2]].place), "libtwo.so+0xfff");
	assert_int_equal(callers[of_slice[3]].address, 0x5000);
	assert_int_equal(callers[of_slice[3]].place, 0);
}

static void test_family_marks(void **state)
{
	struct fixture *f = *state;
	const struct st_event_row *row;
	size_t at;

	at = st_definition_begin(&f->m.records, ST_DEF_FAMILY_MARK);
	st_buf_append_u64(&f->m.records, 500);
	st_definition_text(&f->m.records, "here", 4);
	st_definition_end(&f->m.records, at);
	f->m.record_count++;
	maker_define(&f->m, 0);
	counter(f, 10, 1);
	maker_chunk(&f->m, 1, 1);
	fixture_open_whole(f);
	assert_int_equal(f->events->count, 2);
	assert_int_equal(f->events->first_of_track[1], 1);
	row = &f->events->rows[1];
	assert_int_equal(row->kind, ST_EVENT_MARKER);
	assert_int_equal(row->track, ST_NO_ROW);
	assert_int_equal(row->slice, ST_NO_ROW);
	assert_int_equal(row->detail, 1);
	assert_int_equal(row->time_ns, 500);
	assert_string_equal(text(f, row->name), "here");
}

static void test_losses(void **state)
{
	struct fixture *f = *state;

	maker_numbers(&f->m, ST_DEF_LOSS, "488888888", 0u, (uint64_t)1, (uint64_t)2, (uint64_t)3,
		      (uint64_t)4, (uint64_t)5, (uint64_t)6, (uint64_t)7, (uint64_t)8);
	maker_define(&f->m, 1);
	fixture_open_whole(f);
	assert_int_equal(st_result_quality(f->result)->loss.suspect, 6);
	assert_int_equal(st_result_quality(f->result)->loss.events_dropped, 7);
	assert_int_equal(st_result_quality(f->result)->loss.events_cut, 8);
}

static void open_chunk(struct fixture *f, uint64_t time)
{
	const struct st_open_record records[] = {
		{.track = 1, .domain = 1, .name = 1, .begin = 5},
		{.track = 1, .domain = 2, .name = 2, .begin = 6},
		{.track = 2, .domain = 1, .name = 3, .begin = 7},
	};
	struct st_chunk_header header = {.type = ST_CHUNK_OPEN,
					 .process = 1,
					 .record_count = 3,
					 .first_time = time,
					 .last_time = time};

	maker_raw_chunk(&f->m, header, records, sizeof(records));
}

static void make_window(struct fixture *f)
{
	open_chunk(f, 1000);
	st_slice_encoder_end(&f->m.slices, 1100, 2);
	st_slice_encoder_begin(&f->m.slices, 1200, 1, 2, 0);
	st_slice_encoder_end(&f->m.slices, 1300, 1);
	st_slice_encoder_end(&f->m.slices, 1400, 1);
	maker_chunk(&f->m, 1, 1);
	maker_end(&f->m);
}

static void test_ring_buffer(void **state)
{
	struct fixture *f = *state;
	const struct st_slices *slices;

	f->m.json = "{\"schema\": \"strata.result/1\", \"state\": \"finished\", "
		    "\"ring_buffer\": {\"seconds\": 2.5, \"records_dropped\": 77}}";
	make_window(f);
	assert_int_equal(maker_open_as(&f->m, 3, &f->result, &f->err), ST_OK);
	slices = st_result_slices(f->result);
	assert_int_equal(slices->count, 4);
	assert_int_equal(slices->begin_ns[0], 1000);
	assert_int_equal(slices->end_ns[0], 1400);
	assert_int_equal(slices->flags[0], ST_SLICE_CLIPPED);
	assert_int_equal(slices->begin_ns[1], 1000);
	assert_int_equal(slices->end_ns[1], 1100);
	assert_int_equal(slices->parent[1], 0);
	assert_int_equal(slices->parent[2], 0);
	assert_int_equal(slices->flags[2], 0);
	assert_string_equal(label_name(f->result, 1), "b");
	assert_string_equal(label_domain(f->result, 1), "e");
	assert_int_equal(slices->flags[3], ST_SLICE_CLIPPED | ST_SLICE_UNFINISHED);
	assert_int_equal(st_result_quality(f->result)->loss.unmatched_ends, 0);
	assert_int_equal(st_result_quality(f->result)->missing_segments, 0);
	assert_true(has_note(f->result, "ring buffer: kept the last 2.5 s; 3 files with 77 "
					"records dropped"));
}

/* Without a ring buffer a missing file is damage; what was open is known all the same. */
static void test_first_file_missing(void **state)
{
	struct fixture *f = *state;

	make_window(f);
	assert_int_equal(maker_open_as(&f->m, 1, &f->result, &f->err), ST_OK);
	assert_int_equal(st_result_slices(f->result)->count, 4);
	assert_int_equal(st_result_quality(f->result)->missing_segments, 1);
	assert_true(has_note(f->result, "missing"));
	assert_false(has_note(f->result, "ring buffer"));
}

/* When the files before are there, what was open says nothing new. */
static void test_open_chunk_in_first_file(void **state)
{
	struct fixture *f = *state;

	st_slice_encoder_begin(&f->m.slices, 900, 1, 1, 0);
	maker_chunk(&f->m, 1, 1);
	make_window(f);
	assert_int_equal(maker_open(&f->m, &f->result, &f->err), ST_OK);
	assert_int_equal(st_result_slices(f->result)->count, 2);
}

/* Chunks whose header does not tell the truth about events, and bodies that are none. */
static void test_lies(void **state)
{
	struct fixture *f = *state;
	struct st_chunk_header header = {.type = ST_CHUNK_SLICES, .process = 1, .track = 1};
	struct st_buf payload;

	st_buf_init(&payload, ST_CHUNK_RAW_MAX);
	for (uint64_t i = 0; i < 4; i++)
		counter(f, 10 + i, 1);
	st_slice_encoder_begin(&f->m.slices, 20, 1, 1, 0);
	assert_true(st_slice_encoder_finish(&f->m.slices, &header, &payload));
	header.event_count = 3; /* one fewer than there are */
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	header.event_count = 4;
	header.track = 2;
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	header.track = 3;
	payload.data[payload.size_bytes - 5] = 0xff; /* the mask of the last body */
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	header.event_count = 5; /* more than the records leave room for */
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	maker_end(&f->m);
	assert_int_equal(maker_open(&f->m, &f->result, &f->err), ST_OK);
	f->events = st_result_events(f->result);
	assert_int_equal(f->events->count, 3 + 4 + 3);
	assert_int_equal(st_result_slices(f->result)->count, 1);
	assert_int_equal(f->events->rows[6].track, 1);
	assert_int_equal(f->events->rows[6].value, 13);
	assert_int_equal(st_result_quality(f->result)->damaged_chunks, 3);
	assert_true(has_note(f->result, "more events than its header says"));
	st_buf_fini(&payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_field, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_kept_index_says_the_same, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_flows_and_kinds_of_tracks, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_damaged_index, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_several_tracks, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_no_events_no_tables, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_objects, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_objects_over_fork, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_times_given, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_callers, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_family_marks, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_losses, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_ring_buffer, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_first_file_missing, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_open_chunk_in_first_file, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(test_lies, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_tracks_nest_apart, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
