// SPDX-License-Identifier: Apache-2.0
//
// The slice columns: what goes in comes out, at the edges of every field; damage is named.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/chunk.h"
#include "format/event.h"
#include "format/ring_record.h"
#include "format/slices.h"

struct fixture {
	struct st_slice_encoder enc;
	struct st_chunk_header header;
	struct st_buf payload;
	struct st_slice_decoder dec;
	struct st_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	st_slice_encoder_init(&f->enc);
	st_buf_init(&f->payload, ST_CHUNK_RAW_MAX);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	st_slice_encoder_fini(&f->enc);
	st_buf_fini(&f->payload);
	free(f);
	return 0;
}

static void finish(struct fixture *f)
{
	st_buf_clear(&f->payload);
	assert_true(st_slice_encoder_finish(&f->enc, &f->header, &f->payload));
	assert_int_equal(st_slice_decoder_init(&f->dec, &f->header, f->payload.data,
					       f->payload.size_bytes, &f->err),
			 ST_OK);
}

static void expect(struct fixture *f, struct st_slice_record want)
{
	struct st_slice_record got;

	assert_true(st_slice_decoder_next(&f->dec, &got, &f->err));
	assert_int_equal(got.op, want.op);
	assert_int_equal(got.time, want.time);
	assert_int_equal(got.domain, want.domain);
	assert_int_equal(got.name, want.name);
	assert_int_equal(got.flags, want.flags);
	assert_int_equal(got.mark, want.mark);
	assert_int_equal(got.value, want.value);
}

static void expect_end(struct fixture *f, enum st_status status)
{
	struct st_slice_record got;

	f->err.status = ST_OK;
	assert_false(st_slice_decoder_next(&f->dec, &got, &f->err));
	assert_int_equal(f->err.status, status);
}

static void test_round_trip_edges(void **state)
{
	struct fixture *f = *state;
	const uint64_t late = UINT64_MAX - 1;

	st_slice_encoder_begin(&f->enc, 1000, 0, 0, 0);
	st_slice_encoder_begin(&f->enc, 1000, 62, 127, 0);
	st_slice_encoder_begin(&f->enc, 1127, 63, 128, 0);
	st_slice_encoder_begin(&f->enc, 1255, UINT32_MAX, UINT32_MAX, ST_BEGIN_CLIPPED);
	st_slice_encoder_begin(&f->enc, 17639, 1, 16384, UINT32_MAX);
	st_slice_encoder_end(&f->enc, 17639, 62);
	st_slice_encoder_end(&f->enc, 1ull << 40, UINT32_MAX);
	st_slice_encoder_mark(&f->enc, late, ST_MARK_LOST, UINT64_MAX);
	st_slice_encoder_mark(&f->enc, late, ST_MARK_TRACK_END, 0);
	finish(f);
	assert_int_equal(f->header.record_count, 9);
	assert_int_equal(f->header.begin_count, 5);
	assert_int_equal(f->header.first_time, 1000);
	assert_int_equal(f->header.last_time, late);
	expect(f, (struct st_slice_record){.op = ST_SLICE_BEGIN, .time = 1000});
	expect(f, (struct st_slice_record){.time = 1000, .domain = 62, .name = 127});
	expect(f, (struct st_slice_record){.time = 1127, .domain = 63, .name = 128});
	expect(f, (struct st_slice_record){.time = 1255,
					   .domain = UINT32_MAX,
					   .name = UINT32_MAX,
					   .flags = ST_BEGIN_CLIPPED});
	expect(f, (struct st_slice_record){
			  .time = 17639, .domain = 1, .name = 16384, .flags = UINT32_MAX});
	expect(f, (struct st_slice_record){.op = ST_SLICE_END, .time = 17639, .domain = 62});
	expect(f, (struct st_slice_record){
			  .op = ST_SLICE_END, .time = 1ull << 40, .domain = UINT32_MAX});
	expect(f, (struct st_slice_record){.op = ST_SLICE_MARK,
					   .time = late,
					   .mark = ST_MARK_LOST,
					   .value = UINT64_MAX});
	expect(f, (struct st_slice_record){
			  .op = ST_SLICE_MARK, .time = late, .mark = ST_MARK_TRACK_END});
	expect_end(f, ST_OK);
}

static void test_time_never_goes_back(void **state)
{
	struct fixture *f = *state;

	st_slice_encoder_begin(&f->enc, 500, 1, 1, 0);
	st_slice_encoder_end(&f->enc, 400, 1);
	finish(f);
	assert_int_equal(f->header.last_time, 500);
	expect(f, (struct st_slice_record){.time = 500, .domain = 1, .name = 1});
	expect(f, (struct st_slice_record){.op = ST_SLICE_END, .time = 500, .domain = 1});
}

static void test_empty_and_clear(void **state)
{
	struct fixture *f = *state;

	finish(f);
	assert_int_equal(f->header.record_count, 0);
	expect_end(f, ST_OK);
	st_slice_encoder_begin(&f->enc, 500, 1, 1, 0);
	st_slice_encoder_clear(&f->enc);
	st_slice_encoder_end(&f->enc, 3, 1);
	finish(f);
	assert_int_equal(f->header.first_time, 3);
	expect(f, (struct st_slice_record){.op = ST_SLICE_END, .time = 3, .domain = 1});
	expect_end(f, ST_OK);
}

static void test_overfull_encoder_says_so(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 2000000; i++)
		st_slice_encoder_begin(&f->enc, i, 1000, 1 << 30, 1);
	assert_false(st_slice_encoder_finish(&f->enc, &f->header, &f->payload));
	st_slice_encoder_clear(&f->enc);
	st_slice_encoder_begin(&f->enc, 1, 1, 1, 0);
	finish(f);
}

static void test_payload_without_room(void **state)
{
	struct fixture *f = *state;
	struct st_buf tiny;

	st_slice_encoder_begin(&f->enc, 1, 1, 1, 0);
	st_buf_init(&tiny, 10);
	assert_false(st_slice_encoder_finish(&f->enc, &f->header, &tiny));
	st_buf_fini(&tiny);
}

static void test_init_refuses(void **state)
{
	struct fixture *f = *state;
	struct st_chunk_header bad;

	st_slice_encoder_begin(&f->enc, 10, 1, 1, 0);
	st_slice_encoder_end(&f->enc, 20, 1);
	finish(f);
	for (size_t size = 0; size < f->payload.size_bytes; size++)
		assert_int_equal(
			st_slice_decoder_init(&f->dec, &f->header, f->payload.data, size, &f->err),
			ST_ECORRUPT);
	bad = f->header;
	bad.record_count = 3;
	assert_int_equal(st_slice_decoder_init(&f->dec, &bad, f->payload.data,
					       f->payload.size_bytes, &f->err),
			 ST_ECORRUPT);
	bad = f->header;
	bad.begin_count = 3;
	assert_int_equal(st_slice_decoder_init(&f->dec, &bad, f->payload.data,
					       f->payload.size_bytes, &f->err),
			 ST_ECORRUPT);
	bad = f->header;
	bad.first_time = 21;
	assert_int_equal(st_slice_decoder_init(&f->dec, &bad, f->payload.data,
					       f->payload.size_bytes, &f->err),
			 ST_ECORRUPT);
}

/* Walks whatever is in the payload; must end, within as many records as there are ops. */
static enum st_status walk(struct fixture *f)
{
	struct st_slice_record record;
	uint32_t count = 0;

	f->err.status = ST_OK;
	if (st_slice_decoder_init(&f->dec, &f->header, f->payload.data, f->payload.size_bytes,
				  &f->err))
		return f->err.status;
	while (st_slice_decoder_next(&f->dec, &record, &f->err))
		count++;
	assert_true(count <= f->header.record_count);
	return f->err.status;
}

static void test_every_byte_replaced(void **state)
{
	const struct st_event event = {
		.kind = ST_EVENT_MARKER, .mask = ST_FIELD_NAMES | ST_FIELD_DATA, .data = "d"};
	struct fixture *f = *state;

	for (uint32_t i = 0; i < 20; i++) {
		st_slice_encoder_begin(&f->enc, i * 300, i * 7, i * 9, i & 2);
		st_slice_encoder_mark(&f->enc, i * 301, ST_MARK_LOST, i);
		st_slice_encoder_caller(&f->enc, i * 301, i, i * 3);
		st_slice_encoder_event(&f->enc, i * 301, &event);
		st_slice_encoder_end(&f->enc, i * 302, i * 7);
	}
	finish(f);
	for (size_t i = 0; i < f->payload.size_bytes; i++) {
		uint8_t keep = f->payload.data[i];

		for (unsigned int value = 0; value < 256; value++) {
			f->payload.data[i] = (uint8_t)value;
			walk(f);
		}
		f->payload.data[i] = keep;
	}
	assert_int_equal(walk(f), ST_OK);
}

static void test_damaged_columns_are_named(void **state)
{
	struct fixture *f = *state;
	static const struct {
		size_t column;
		uint8_t byte;
		const char *text;
	} cases[] = {{1, 0xff, "name"}, {2, 0xff, "time"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t sizes[4];
		size_t at = 16;

		st_slice_encoder_clear(&f->enc);
		st_slice_encoder_begin(&f->enc, 10, 1, 1, 0);
		finish(f);
		memcpy(sizes, f->payload.data, sizeof(sizes));
		for (size_t c = 0; c < cases[i].column; c++)
			at += sizes[c];
		f->payload.data[at] = cases[i].byte;
		assert_int_equal(walk(f), ST_ECORRUPT);
		assert_non_null(strstr(f->err.text, cases[i].text));
	}
}

static void test_left_over_bytes_are_damage(void **state)
{
	struct fixture *f = *state;

	st_slice_encoder_begin(&f->enc, 10, 1, 1, 0);
	finish(f);
	/* The begin becomes an end, so nobody reads its name. */
	f->payload.data[16] = 1 << 2 | ST_SLICE_END;
	assert_int_equal(walk(f), ST_ECORRUPT);
	assert_non_null(strstr(f->err.text, "longer"));
}

static uint64_t next_begin_caller(struct fixture *f)
{
	struct st_slice_record got;

	do
		assert_true(st_slice_decoder_next(&f->dec, &got, &f->err));
	while (got.op != ST_SLICE_BEGIN);
	return got.caller;
}

static void begin_from(struct fixture *f, uint32_t name, uint64_t caller)
{
	st_slice_encoder_caller(&f->enc, 10, name, caller);
	st_slice_encoder_begin(&f->enc, 10, 1, name, 0);
}

static void test_callers(void **state)
{
	struct fixture *f = *state;

	begin_from(f, 1, 0);
	begin_from(f, 1, 0x1000);
	begin_from(f, 2, UINT64_MAX);
	begin_from(f, 1, 0x1000);
	begin_from(f, 1 + ST_CALLER_SLOTS, 0x2000);
	begin_from(f, 1, 0x1000);
	begin_from(f, 2, 0);
	finish(f);
	/* 7 begins, and a mark whenever the slot changed. */
	assert_int_equal(f->header.record_count, 7 + 5);
	assert_int_equal(f->header.begin_count, 7);
	assert_int_equal(next_begin_caller(f), 0);
	assert_int_equal(next_begin_caller(f), 0x1000);
	assert_int_equal(next_begin_caller(f), UINT64_MAX);
	assert_int_equal(next_begin_caller(f), 0x1000);
	assert_int_equal(next_begin_caller(f), 0x2000);
	assert_int_equal(next_begin_caller(f), 0x1000);
	assert_int_equal(next_begin_caller(f), 0);
	expect_end(f, ST_OK);
	/* The next chunk begins with an empty table on both sides. */
	st_slice_encoder_clear(&f->enc);
	begin_from(f, 1, 0x1000);
	finish(f);
	assert_int_equal(f->header.record_count, 2);
	assert_int_equal(next_begin_caller(f), 0x1000);
}

static void next_operator(struct fixture *f, struct st_slice_record *got)
{
	do
		assert_true(st_slice_decoder_next(&f->dec, got, &f->err));
	while (got->op != ST_SLICE_BEGIN);
}

/* Signature and sequence are the next begin's and nobody else's; such a begin has no caller and changes none. */
static void test_operators(void **state)
{
	static const int64_t sequences[] = {0, INT64_MAX, -1, 5, 4};
	static const uint64_t memory[] = {UINT64_MAX, 0, 7};
	struct fixture *f = *state;
	struct st_slice_record got;

	begin_from(f, 1, 0x1000);
	for (uint32_t i = 0; i < 5; i++) {
		st_slice_encoder_operator(&f->enc, 10, UINT32_MAX - i, sequences[i]);
		st_slice_encoder_begin(&f->enc, 10, 2, 1, 0);
	}
	st_slice_encoder_memory(&f->enc, 11, memory);
	begin_from(f, 1, 0x1000);
	finish(f);
	next_operator(f, &got);
	assert_int_equal(got.signature, 0);
	for (uint32_t i = 0; i < 5; i++) {
		next_operator(f, &got);
		assert_int_equal(got.signature, UINT32_MAX - i);
		assert_int_equal(got.sequence, sequences[i]);
		assert_int_equal(got.caller, 0);
		assert_int_equal(got.domain, 2);
	}
	assert_true(st_slice_decoder_next(&f->dec, &got, &f->err));
	assert_int_equal(got.mark, ST_MARK_ALLOCATED);
	assert_int_equal(got.value, UINT64_MAX);
	assert_true(st_slice_decoder_next(&f->dec, &got, &f->err));
	assert_int_equal(got.mark, ST_MARK_PEAK);
	assert_int_equal(got.value, 7);
	next_operator(f, &got);
	assert_int_equal(got.signature, 0);
	assert_int_equal(got.sequence, -1);
	assert_int_equal(got.caller, 0x1000);
	expect_end(f, ST_OK);
	/* Sequence numbers count from 0 again in the next chunk. */
	st_slice_encoder_clear(&f->enc);
	st_slice_encoder_operator(&f->enc, 10, 1, 3);
	st_slice_encoder_begin(&f->enc, 10, 2, 1, 0);
	finish(f);
	next_operator(f, &got);
	assert_int_equal(got.sequence, 3);
}

/* A stack is that of all operators until the next one, and of nothing else. */
static void test_stacks(void **state)
{
	static const uint32_t stacks[] = {0, 7, 7, UINT32_MAX, 0, 7};
	struct fixture *f = *state;
	struct st_slice_record got;

	for (uint32_t i = 0; i < 6; i++) {
		st_slice_encoder_stack(&f->enc, 10, stacks[i]);
		st_slice_encoder_operator(&f->enc, 10, 1, -1);
		st_slice_encoder_begin(&f->enc, 10, 2, 1, 0);
	}
	st_slice_encoder_begin(&f->enc, 10, 2, 1, 0);
	finish(f);
	assert_int_equal(f->header.record_count, 6 * 2 + 1 + 4);
	for (uint32_t i = 0; i < 6; i++) {
		next_operator(f, &got);
		assert_int_equal(got.stack, stacks[i]);
	}
	next_operator(f, &got);
	assert_int_equal(got.stack, 0);
	expect_end(f, ST_OK);
	st_slice_encoder_clear(&f->enc);
	st_slice_encoder_stack(&f->enc, 10, 7);
	st_slice_encoder_operator(&f->enc, 10, 1, -1);
	st_slice_encoder_begin(&f->enc, 10, 2, 1, 0);
	finish(f);
	next_operator(f, &got);
	assert_int_equal(got.stack, 7);
	st_slice_encoder_clear(&f->enc);
	st_slice_encoder_mark(&f->enc, 1, ST_MARK_STACK, 1ull << 32);
	finish(f);
	assert_false(st_slice_decoder_next(&f->dec, &got, &f->err));
	assert_int_equal(f->err.status, ST_ECORRUPT);
}

static void test_signature_beyond_32_bits_is_damage(void **state)
{
	struct fixture *f = *state;
	struct st_slice_record got;

	st_slice_encoder_mark(&f->enc, 1, ST_MARK_SIGNATURE, 1ull << 32);
	finish(f);
	assert_false(st_slice_decoder_next(&f->dec, &got, &f->err));
	assert_int_equal(f->err.status, ST_ECORRUPT);
}

static void expect_event(struct fixture *f, uint64_t time, const struct st_event *want)
{
	struct st_slice_record got;
	struct st_event event;

	assert_true(st_slice_decoder_next(&f->dec, &got, &f->err));
	assert_int_equal(got.op, ST_SLICE_MARK);
	assert_int_equal(got.mark, ST_MARK_EVENT);
	assert_int_equal(got.time, time);
	assert_int_equal(st_event_decode(&event, got.body, got.value, &f->err), ST_OK);
	assert_int_equal(event.kind, want->kind);
	assert_int_equal(event.value, want->value);
	assert_int_equal(event.data_bytes, want->data_bytes);
	if (want->data_bytes)
		assert_memory_equal(event.data, want->data, want->data_bytes);
}

static void test_events(void **state)
{
	const struct st_event value = {
		.kind = ST_EVENT_COUNTER_SET, .mask = ST_FIELD_VALUE, .value = 77};
	const struct st_event text = {.kind = ST_EVENT_METADATA_TEXT,
				      .mask = ST_FIELD_DATA,
				      .data = "some text",
				      .data_bytes = 9};
	struct fixture *f = *state;

	st_slice_encoder_event(&f->enc, 5, &value);
	st_slice_encoder_begin(&f->enc, 6, 1, 2, 0);
	st_slice_encoder_event(&f->enc, 7, &text);
	st_slice_encoder_event(&f->enc, 8, &value);
	st_slice_encoder_end(&f->enc, 9, 1);
	finish(f);
	assert_int_equal(f->header.record_count, 5);
	assert_int_equal(f->header.event_count, 3);
	expect_event(f, 5, &value);
	expect(f, (struct st_slice_record){.time = 6, .domain = 1, .name = 2});
	expect_event(f, 7, &text);
	expect_event(f, 8, &value);
	expect(f, (struct st_slice_record){.op = ST_SLICE_END, .time = 9, .domain = 1});
	expect_end(f, ST_OK);
	/* Bytes behind the last body, and a body that is longer than what is left. */
	f->payload.size_bytes--;
	assert_int_equal(walk(f), ST_ECORRUPT);
	f->payload.size_bytes++;
	st_buf_append_u8(&f->payload, 0);
	assert_int_equal(walk(f), ST_ECORRUPT);
	f->header.event_count = 5;
	assert_int_equal(walk(f), ST_ECORRUPT);
}

static void test_full_of_events(void **state)
{
	static uint8_t data[ST_EVENT_DATA_MAX];
	const struct st_event large = {.kind = ST_EVENT_METADATA,
				       .mask = ST_FIELD_DATA,
				       .data = data,
				       .data_bytes = sizeof(data)};
	struct fixture *f = *state;
	uint32_t count = 0;

	while (!st_slice_encoder_is_full(&f->enc)) {
		st_slice_encoder_event(&f->enc, 1, &large);
		count++;
	}
	assert_in_range(count, 2, 16);
	finish(f);
	assert_int_equal(f->header.event_count, count);
	for (uint32_t i = 0; i < count; i++)
		expect_event(f, 1, &large);
	for (uint32_t i = 0; i < 100; i++)
		st_slice_encoder_event(&f->enc, 1, &large);
	assert_false(st_slice_encoder_finish(&f->enc, &f->header, &f->payload));
	st_slice_encoder_clear(&f->enc);
	assert_false(st_slice_encoder_is_full(&f->enc));
	for (uint32_t i = 0; i < ST_CHUNK_RECORDS_MAX; i++)
		st_slice_encoder_end(&f->enc, i, 1);
	assert_true(st_slice_encoder_is_full(&f->enc));
}

/* The bytes of the example in docs/format/trace.md. */
static void test_documented_example(void **state)
{
	static const uint8_t documented[] = {2, 0, 0, 0, 1, 0, 0, 0, 3, 0,    0,
					     0, 0, 0, 0, 0, 4, 5, 3, 0, 0xac, 2};
	struct fixture *f = *state;

	st_slice_encoder_begin(&f->enc, 1000, 1, 3, 0);
	st_slice_encoder_end(&f->enc, 1300, 1);
	finish(f);
	assert_int_equal(f->header.first_time, 1000);
	assert_int_equal(f->payload.size_bytes, sizeof(documented));
	assert_memory_equal(f->payload.data, documented, sizeof(documented));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip_edges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time_never_goes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_and_clear, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overfull_encoder_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(test_payload_without_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_init_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_byte_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_columns_are_named, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_over_bytes_are_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_callers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_operators, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signature_beyond_32_bits_is_damage, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_of_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_documented_example, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
