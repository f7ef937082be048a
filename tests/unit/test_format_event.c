// SPDX-License-Identifier: Apache-2.0
//
// Events: words of a ring to struct to bytes and back, at the edges of every field; hostile input.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/event.h"
#include "format/ring_record.h"

static const struct st_event full = {
	.kind = ST_EVENT_METADATA,
	.mask = ST_FIELDS_ALL,
	.detail = UINT32_MAX,
	.domain = 3,
	.name = UINT32_MAX,
	.id = {1, UINT64_MAX, 0},
	.other = {7, 8, 9},
	.value = UINT64_MAX,
	.extra = 128,
	.object = 5,
	.time = 1ull << 63,
	.clock = 6,
	.data = "nine byte",
	.data_bytes = 9,
};

static void same(const struct st_event *a, const struct st_event *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->mask, b->mask);
	assert_int_equal(a->detail, b->detail);
	assert_int_equal(a->domain, b->domain);
	assert_int_equal(a->name, b->name);
	assert_memory_equal(a->id, b->id, sizeof(a->id));
	assert_memory_equal(a->other, b->other, sizeof(a->other));
	assert_int_equal(a->value, b->value);
	assert_int_equal(a->extra, b->extra);
	assert_int_equal(a->object, b->object);
	assert_int_equal(a->time, b->time);
	assert_int_equal(a->clock, b->clock);
	assert_int_equal(a->data_bytes, b->data_bytes);
	if (a->data_bytes)
		assert_memory_equal(a->data, b->data, a->data_bytes);
}

/* What format/event_kind.h says about the words of a ring, written down a second time. */
static uint32_t full_words(uint64_t *words)
{
	uint64_t all[] = {ST_EVENT_METADATA | 511ull << 16 | 0xffffffffull << 32,
			  3 | 0xffffffffull << 32,
			  1,
			  UINT64_MAX,
			  0,
			  7,
			  8,
			  9,
			  UINT64_MAX,
			  128,
			  5,
			  1ull << 63,
			  6,
			  9,
			  0,
			  0};

	memcpy(&all[14], "nine byte", 9);
	memcpy(words, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]);
}

static void test_from_words(void **state)
{
	uint64_t words[20];
	uint32_t count = full_words(words);
	struct st_event event;

	(void)state;
	assert_true(st_event_from_words(&event, words, count));
	same(&event, &full);
	words[0] = st_word_event(ST_EVENT_SUPPRESS_POP, 0, 0);
	assert_true(st_event_from_words(&event, words, 1));
	assert_int_equal(event.kind, ST_EVENT_SUPPRESS_POP);
	assert_int_equal(event.mask, 0);
}

static void test_from_words_refuses(void **state)
{
	uint64_t words[20];
	uint32_t count = full_words(words);
	struct st_event event;

	(void)state;
	for (uint32_t i = 0; i < count; i++)
		assert_false(st_event_from_words(&event, words, i));
	words[count] = 0;
	assert_false(st_event_from_words(&event, words, count + 1));
	words[13] = UINT64_MAX;
	assert_false(st_event_from_words(&event, words, count));
	words[13] = 17;
	assert_false(st_event_from_words(&event, words, count));
	words[0] = st_word_event(ST_EVENT_MARKER, ST_FIELDS_ALL + 1, 0);
	assert_false(st_event_from_words(&event, words, 1));
	words[0] = st_word_event(0, 0, 0);
	assert_false(st_event_from_words(&event, words, 1));
}

static void test_round_trip(void **state)
{
	struct st_event got;
	struct st_error err;
	struct st_buf body;

	(void)state;
	st_buf_init(&body, 1 << 20);
	for (uint32_t mask = 0; mask <= ST_FIELDS_ALL; mask++) {
		struct st_event want = full;

		want.mask = mask;
		st_buf_clear(&body);
		st_event_encode(&want, &body);
		assert_false(body.failed);
		assert_int_equal(st_event_decode(&got, body.data, body.size_bytes, &err), ST_OK);
		assert_int_equal(got.mask, mask);
		assert_int_equal(got.name, mask & ST_FIELD_NAMES ? want.name : 0);
		assert_int_equal(got.id[1], mask & ST_FIELD_ID ? want.id[1] : 0);
		assert_int_equal(got.other[2], mask & ST_FIELD_OTHER ? want.other[2] : 0);
		assert_int_equal(got.clock, mask & ST_FIELD_CLOCK ? want.clock : 0);
		assert_int_equal(got.data_bytes, mask & ST_FIELD_DATA ? 9 : 0);
		if (mask == ST_FIELDS_ALL)
			same(&got, &want);
	}
	st_buf_fini(&body);
}

/* The bytes of the example in docs/format/trace.md. */
static void test_documented_example(void **state)
{
	static const uint8_t documented[] = {0x12, 0x91, 0x02, 0x07, 0x01, 0x03,
					     0x02, 0x04, 0x2a, 0x00, 0x00, 0x00};
	struct st_event event = {.kind = ST_EVENT_METADATA,
				 .mask = ST_FIELD_NAMES | ST_FIELD_EXTRA | ST_FIELD_DATA,
				 .detail = 7,
				 .domain = 1,
				 .name = 3,
				 .extra = 2,
				 .data = "\x2a\0\0",
				 .data_bytes = 4};
	struct st_buf body;

	(void)state;
	st_buf_init(&body, 1 << 20);
	st_event_encode(&event, &body);
	assert_int_equal(body.size_bytes, sizeof(documented));
	assert_memory_equal(body.data, documented, sizeof(documented));
	st_buf_fini(&body);
}

static void test_decode_refuses(void **state)
{
	static const uint8_t unknown_field[] = {14, 0x80, 0x04, 0};
	static const uint8_t long_kind[] = {0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0};
	struct st_event got;
	struct st_error err;
	struct st_buf body;

	(void)state;
	st_buf_init(&body, 1 << 20);
	st_event_encode(&full, &body);
	for (size_t i = 0; i < body.size_bytes; i++)
		assert_int_equal(st_event_decode(&got, body.data, i, &err), ST_ECORRUPT);
	st_buf_append_u8(&body, 0);
	assert_int_equal(st_event_decode(&got, body.data, body.size_bytes, &err), ST_ECORRUPT);
	assert_int_equal(st_event_decode(&got, unknown_field, sizeof(unknown_field), &err),
			 ST_ECORRUPT);
	assert_non_null(strstr(err.text, "unknown fields"));
	assert_int_equal(st_event_decode(&got, long_kind, sizeof(long_kind), &err), ST_ECORRUPT);
	st_buf_fini(&body);
}

static void test_unknown_kind_is_kept(void **state)
{
	static const uint8_t later[] = {0xe8, 0x07, ST_FIELD_VALUE, 2, 5};
	struct st_event got;
	struct st_error err;

	(void)state;
	assert_int_equal(st_event_decode(&got, later, sizeof(later), &err), ST_OK);
	assert_int_equal(got.kind, 1000);
	assert_int_equal(got.value, 5);
}

static void test_no_room(void **state)
{
	struct st_buf tiny;

	(void)state;
	st_buf_init(&tiny, 16);
	st_event_encode(&full, &tiny);
	assert_true(tiny.failed);
	assert_int_equal(tiny.size_bytes, 0);
	st_buf_fini(&tiny);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_words),     cmocka_unit_test(test_from_words_refuses),
		cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_documented_example),
		cmocka_unit_test(test_decode_refuses), cmocka_unit_test(test_unknown_kind_is_kept),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
