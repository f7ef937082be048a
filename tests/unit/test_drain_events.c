/* SPDX-License-Identifier: Apache-2.0
 *
 * Events, callers and objects through the drain: honest ones arrive whole and in their place, others
 * are counted and never believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drain_fixture.h"
#include "format/chunk.h"
#include "format/event.h"
#include "format/ring_record.h"
#include "format/wait_kind.h"

static uint64_t suspects(const struct fixture *f)
{
	return st_drain_counts(f->drain)->suspect;
}

static void test_events_keep_their_place_and_fields(void **state)
{
	struct fixture *f = *state;
	uint64_t words[] = {
		st_word_slice(ST_WORD_BEGIN, 1, 2, 10),
		st_word_ext(ST_EXT_EVENT, 10, 5),
		st_word_event(ST_EVENT_METADATA,
			      ST_FIELD_NAMES | ST_FIELD_ID | ST_FIELD_EXTRA | ST_FIELD_DATA, 7),
		1 | 3ull << 32,
		11,
		12,
		13,
		2,
		9, /* bytes of data */
		0,
		0,
		st_word_slice(ST_WORD_END, 1, 0, 20),
	};
	struct st_event event;
	struct st_error err = {0};

	memcpy(&words[9], "nine byte", 9);
	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, words, sizeof(words) / 8);
	drain_all(f);
	assert_int_equal(f->record_count, 3);
	assert_int_equal(f->records[0].record.op, ST_SLICE_BEGIN);
	assert_int_equal(f->records[1].record.mark, ST_MARK_EVENT);
	assert_int_equal(f->records[1].record.time, f->start + 15);
	assert_int_equal(f->records[2].record.op, ST_SLICE_END);
	assert_int_equal(st_event_decode(&event, f->records[1].record.body,
					 f->records[1].record.value, &err),
			 ST_OK);
	assert_int_equal(event.kind, ST_EVENT_METADATA);
	assert_int_equal(event.detail, 7);
	assert_int_equal(event.domain, 1);
	assert_int_equal(event.name, 3);
	assert_int_equal(event.id[0], 11);
	assert_int_equal(event.id[2], 13);
	assert_int_equal(event.extra, 2);
	assert_int_equal(event.data_bytes, 9);
	assert_memory_equal(event.data, "nine byte", 9);
	assert_int_equal(st_drain_counts(f->drain)->events, 1);
	assert_int_equal(suspects(f), 0);
}

static void push_event(struct fixture *f, const uint64_t *payload, uint32_t payload_words)
{
	uint64_t words[64] = {st_word_ext(ST_EXT_EVENT, payload_words + 1, 1)};

	memcpy(words + 1, payload, payload_words * sizeof(*payload));
	fake_segment_push(&f->segment, 0, words, payload_words + 1);
}

/* Each is refused by itself; what comes behind it is still taken. */
static void test_events_that_cannot_be(void **state)
{
	struct fixture *f = *state;
	const uint64_t bad[][3] = {
		{st_word_event(0, 0, 0)},
		{st_word_event(ST_EVENT_KINDS, 0, 0)},
		{st_word_event(ST_EVENT_MARKER, 512, 0)},
		{st_word_event(ST_EVENT_MARKER, ST_FIELD_ID, 0), 1, 2},		 /* too short */
		{st_word_event(ST_EVENT_MARKER, ST_FIELD_NAMES, 0), 5000},	 /* domain */
		{st_word_event(ST_EVENT_MARKER, ST_FIELD_NAMES, 0), 1ull << 52}, /* name of ours */
		{st_word_event(ST_EVENT_COUNTER_SET, ST_FIELD_OBJECT, 0), ST_SHM_OBJECTS_MAX + 2},
		{st_word_event(ST_EVENT_MARKER, ST_FIELD_CLOCK, 0), UINT32_MAX},
		{st_word_event(ST_EVENT_METADATA, ST_FIELD_DATA, 0), 9, 0},
		{st_word_event(ST_EVENT_METADATA, ST_FIELD_DATA, 0), UINT64_MAX, 0},
	};
	uint64_t good = st_word_event(ST_EVENT_THREAD_IGNORE, 0, 0);

	fake_segment_own(&f->segment, 0, 1, f->start);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		push_event(f, bad[i], 3);
		push_event(f, &good, 1);
		st_drain_cycle(f->drain, 1, NULL);
		assert_int_equal(suspects(f), i + 1);
	}
	drain_all(f);
	assert_int_equal(f->record_count, sizeof(bad) / sizeof(bad[0]));
	assert_int_equal(st_drain_counts(f->drain)->events, sizeof(bad) / sizeof(bad[0]));
}

static void test_code_goes_to_the_definitions(void **state)
{
	struct fixture *f = *state;
	uint64_t payload[5] = {st_word_event(ST_EVENT_MODULE_LOAD,
					     ST_FIELD_VALUE | ST_FIELD_EXTRA | ST_FIELD_DATA, 0),
			       0x1000, 0x2000, 5, 0};
	const struct seen_definition *d = NULL;
	struct st_cursor body;
	struct st_event event;
	struct st_error err = {0};
	uint32_t size_bytes;

	memcpy(&payload[4], "/a.so", 5);
	fake_segment_own(&f->segment, 0, 77, f->start);
	push_event(f, payload, 5);
	drain_all(f);
	assert_int_equal(f->record_count, 0);
	for (size_t i = 0; i < f->definition_count; i++)
		if (f->definitions[i].type == ST_DEF_CODE_EVENT)
			d = &f->definitions[i];
	assert_non_null(d);
	body = (struct st_cursor){.at = d->body, .end = d->body + d->body_bytes};
	assert_int_equal(st_cursor_u64(&body), f->start + 1);
	assert_int_equal(st_cursor_u32(&body), 77);
	size_bytes = st_cursor_u32(&body);
	assert_int_equal(size_bytes, body.end - body.at);
	assert_int_equal(st_event_decode(&event, body.at, size_bytes, &err), ST_OK);
	assert_int_equal(event.kind, ST_EVENT_MODULE_LOAD);
	assert_int_equal(event.value, 0x1000);
	assert_int_equal(event.extra, 0x2000);
	assert_memory_equal(event.data, "/a.so", 5);
}

/* Names 1 and 65 share a slot of the table. */
static void test_callers(void **state)
{
	struct fixture *f = *state;
	uint64_t words[] = {
		st_word_slice(ST_WORD_BEGIN, 1, 1, 1), /* nobody told */
		st_word_ext(ST_EXT_CALLER, 2, 1),
		0xaaa,
		st_word_slice(ST_WORD_BEGIN, 1, 1, 1),
		st_word_slice(ST_WORD_BEGIN, 1, 65, 1), /* the slot's */
		st_word_slice(ST_WORD_BEGIN, 1, 2, 1),
		st_word_ext(ST_EXT_CALLER, 2, 1),
		0xbbb,
		st_word_ext(ST_EXT_TEXT, 3, 0),
		4,
		0,
		st_word_ext(ST_EXT_BEGIN, 3, 1),
		1 | 2ull << 32,
		ST_BEGIN_TEXT,
		st_word_slice(ST_WORD_BEGIN, 1, 2, 1), /* the family's slot was set */
		st_word_slice(ST_WORD_BEGIN, 1, 1, 1),
	};
	const uint64_t expected[] = {0, 0xaaa, 0xaaa, 0, 0xbbb, 0xbbb, 0xaaa};
	uint64_t again = st_word_slice(ST_WORD_BEGIN, 1, 1, 1);
	size_t begins = 0;

	memcpy(&words[10], "text", 4);
	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, words, sizeof(words) / 8);
	fake_segment_own(&f->segment, 0, 2, f->start + 100);
	fake_segment_push(&f->segment, 0, &again, 1);
	drain_all(f);
	for (size_t i = 0; i < f->record_count; i++) {
		const struct st_slice_record *record = &f->records[i].record;

		if (record->op != ST_SLICE_BEGIN)
			continue;
		assert_int_equal(record->caller, begins < 7 ? expected[begins] : 0);
		begins++;
	}
	assert_int_equal(begins, 8);
	assert_int_equal(suspects(f), 0);
}

/* Callers last over the end of a chunk, whose table starts empty. */
static void test_callers_over_chunks(void **state)
{
	struct fixture *f = *state;
	uint64_t caller[] = {st_word_ext(ST_EXT_CALLER, 2, 1), 0xccc};
	uint64_t pair[] = {st_word_slice(ST_WORD_BEGIN, 1, 1, 1),
			   st_word_slice(ST_WORD_END, 1, 0, 1)};
	size_t begins = 0;

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, caller, 2);
	for (int i = 0; i < ST_CHUNK_RECORDS_MAX; i++) {
		fake_segment_push(&f->segment, 0, pair, 2);
		if (i % 128 == 0)
			st_drain_cycle(f->drain, 1, NULL);
	}
	drain_all(f);
	assert_true(f->chunk_count >= 2);
	for (size_t i = 0; i < f->record_count; i++)
		if (f->records[i].record.op == ST_SLICE_BEGIN) {
			assert_int_equal(f->records[i].record.caller, 0xccc);
			begins++;
		}
	assert_int_equal(begins, ST_CHUNK_RECORDS_MAX);
}

static void test_big_events_fill_chunks(void **state)
{
	struct fixture *f = *state;
	static uint64_t words[300];
	const int rounds = 4000;
	int events = 0;

	words[0] = st_word_ext(ST_EXT_EVENT, 300, 1);
	words[1] = st_word_event(ST_EVENT_METADATA, ST_FIELD_DATA, 1);
	words[2] = 297 * 8;
	fake_segment_own(&f->segment, 0, 1, f->start);
	for (int i = 0; i < rounds; i++) {
		fake_segment_push(&f->segment, 0, words, 300);
		st_drain_cycle(f->drain, 1, NULL);
	}
	drain_all(f);
	for (size_t i = 0; i < f->record_count; i++)
		events += f->records[i].record.mark == ST_MARK_EVENT;
	assert_int_equal(events, rounds);
	assert_true(f->chunk_count > 2); /* 9 MB do not fit into two */
	assert_int_equal(suspects(f), 0);
}

struct object_text {
	struct st_object_head head;
	char text[16];
};

static void test_objects(void **state)
{
	struct fixture *f = *state;
	struct object_text object = {.head = {.kind = ST_OBJECT_COUNTER,
					      .type = 2,
					      .flags = 1,
					      .name_bytes = 5,
					      .second_bytes = 3},
				     .text = "bytesmem"};
	struct {
		struct st_object_metadata head;
		char text[8];
	} fact = {.head = {.type = 1, .text_bytes = 4}, .text = "unit"};
	const struct seen_definition *d;

	fake_segment_define(&f->segment, ST_DEFINE_OBJECT, 3, &object, sizeof(object.head) + 8);
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT_METADATA, 3, &fact,
			    sizeof(fact.head) + 4);
	st_drain_definitions(f->drain);
	assert_int_equal(f->definition_count, 2);
	d = find_definition(f, ST_DEF_OBJECT, 3);
	assert_non_null(d);
	assert_int_equal(d->body_bytes, 8 + sizeof(object.head) + 8);
	assert_memory_equal(d->body + 8, &object, sizeof(object.head) + 8);
	d = find_definition(f, ST_DEF_OBJECT_METADATA, 3);
	assert_non_null(d);
	assert_memory_equal(d->body + 8, &fact, sizeof(fact.head) + 4);
	assert_int_equal(suspects(f), 0);
}

static void test_objects_that_cannot_be(void **state)
{
	struct fixture *f = *state;
	struct object_text object = {.head = {.kind = ST_OBJECT_COUNTER, .name_bytes = 5}};
	struct object_text kind = object, parent = object, longer = object, overflow = object;
	struct st_object_metadata fact = {.type = 1, .text_bytes = 1};
	const size_t size = sizeof(object.head) + 5;

	kind.head.kind = ST_OBJECT_KINDS;
	parent.head.parent = ST_SHM_OBJECTS_MAX + 2;
	longer.head.second_bytes = 1;
	overflow.head.name_bytes = UINT32_MAX;
	overflow.head.second_bytes = 6;
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT, 0, &object, size);
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT, ST_SHM_OBJECTS_MAX + 2, &object, size);
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT, 1, &object, 39);
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT, 1, &kind, size);
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT, 1, &parent, size);
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT, 1, &longer, size);
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT, 1, &overflow, size);
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT_METADATA, 1, &fact, sizeof(fact));
	fake_segment_define(&f->segment, ST_DEFINE_OBJECT_METADATA, 1, &fact, 15);
	fake_segment_define(&f->segment, 6, 1, "unknown", 7);
	st_drain_definitions(f->drain);
	assert_int_equal(f->definition_count, 0);
	assert_int_equal(suspects(f), 10);
}

/* What an earlier owner of the slot lost is not the next one's. */
static void test_dropped_events(void **state)
{
	struct fixture *f = *state;
	struct st_shm_ring *ring = &fake_segment_slot(&f->segment, 0)->ring[0];
	uint64_t end = st_word_ext(ST_EXT_THREAD_END, 1, 1);

	fake_segment_own(&f->segment, 0, 1, f->start);
	fake_segment_push(&f->segment, 0, &end, 1);
	atomic_store(&ring->events_dropped, 5);
	atomic_store(&ring->events_cut, 1);
	fake_segment_own(&f->segment, 0, 2, f->start + 100);
	st_drain_cycle(f->drain, 1, NULL);
	atomic_store(&ring->events_dropped, 7);
	drain_all(f);
	assert_int_equal(find_definition(f, ST_DEF_LOSS, 1)->fields[6], 5);
	assert_int_equal(find_definition(f, ST_DEF_LOSS, 1)->fields[7], 1);
	assert_int_equal(find_definition(f, ST_DEF_LOSS, 2)->fields[6], 2);
	assert_int_equal(find_definition(f, ST_DEF_LOSS, 2)->fields[7], 0);
	assert_int_equal(find_definition(f, ST_DEF_LOSS, 0)->fields[6], 7);
	assert_int_equal(find_definition(f, ST_DEF_LOSS, 0)->fields[7], 1);
}

/* What a killed thread had only added up: more than one sum can count. */
static void test_sums_that_were_not_told(void **state)
{
	struct fixture *f = *state;
	struct st_shm_wait *wait = &fake_segment_slot(&f->segment, 0)->wait;
	uint64_t count[2] = {0}, ticks[2] = {0};
	struct st_error err = {0};
	struct st_event event;

	fake_segment_own(&f->segment, 0, 1, f->start);
	atomic_store(&wait->short_count, 5000000);
	atomic_store(&wait->short_ticks, 70);
	atomic_store(&wait->hold_count, 2 * ST_WAIT_COUNT_MAX);
	atomic_store(&wait->hold_ticks, 80);
	drain_all(f);
	st_drain_end_waits(f->drain);
	for (size_t i = 0; i < f->record_count; i++) {
		const struct st_slice_record *record = &f->records[i].record;

		if (record->mark != ST_MARK_EVENT)
			continue;
		assert_int_equal(st_event_decode(&event, record->body, record->value, &err), ST_OK);
		count[event.kind == ST_EVENT_HOLD_SUM] += st_wait_sum_count(event.detail);
		ticks[event.kind == ST_EVENT_HOLD_SUM] += event.extra;
	}
	assert_int_equal(count[0], 5000000);
	assert_int_equal(ticks[0], 70);
	assert_int_equal(count[1], 2 * ST_WAIT_COUNT_MAX);
	assert_int_equal(ticks[1], 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sums_that_were_not_told, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_events_keep_their_place_and_fields,
						drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_events_that_cannot_be, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_code_goes_to_the_definitions, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_callers, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_callers_over_chunks, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_big_events_fill_chunks, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_objects, drain_setup, drain_teardown),
		cmocka_unit_test_setup_teardown(test_objects_that_cannot_be, drain_setup,
						drain_teardown),
		cmocka_unit_test_setup_teardown(test_dropped_events, drain_setup, drain_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
