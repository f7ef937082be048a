/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that are not nested tasks: each one becomes one event with everything that was given.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "../programs/itt_static_part.h"
#include "inproc_server.h"

typedef unsigned long long ull;
typedef struct itt_id id_type;
typedef struct itt_domain domain_type;
typedef struct itt_string_handle string_type;

/* The function bound to an entry, as a function of the given type. */
#define FN(type, name) ((type)itt_pointer[ITT_I_##name])

static struct server server;
static const id_type no_id;
static const id_type id_a = {0xa1, 2, 3}, id_b = {0xb1, ~0ull, 7};

static int setup(void **state)
{
	(void)state;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	server_fini(&server);
	return 0;
}

static void load(void)
{
	if (!itt_part_load())
		_exit(99);
}

static string_type *text(const char *name)
{
	return itt_string_handle_create(name);
}

static const struct event *record(enum st_event_kind kind, size_t n)
{
	const struct event *event = server_record(&server, kind, n);

	assert_non_null(event);
	return event;
}

static void assert_id(const uint64_t *id, id_type expected)
{
	assert_int_equal(id[0], expected.d1);
	assert_int_equal(id[1], expected.d2);
	assert_int_equal(id[2], expected.d3);
}

/* --- structure --- */

static void structure(void)
{
	domain_type *d;
	id_type frame_id = id_a;
	ull now;

	load();
	d = itt_domain_create("dom");
	FN(void (*)(domain_type *, id_type, id_type, string_type *), task_begin_overlapped)
	(d, id_a, id_b, text("over"));
	FN(void (*)(domain_type *, id_type), task_end_overlapped)(d, id_a);
	now = FN(ull(*)(void), get_timestamp)();
	FN(void (*)(domain_type *, void *, ull, id_type, id_type, string_type *),
	   task_begin_overlapped_ex)
	(d, NULL, now, id_b, no_id, text("over ex"));
	FN(void (*)(domain_type *, void *, ull, id_type), task_end_overlapped_ex)
	(d, NULL, now + 5, id_b);
	FN(void (*)(domain_type *, id_type, id_type, string_type *), task_group)
	(d, id_a, no_id, text("group"));
	FN(void (*)(domain_type *, id_type, id_type, string_type *), region_begin)
	(d, id_a, no_id, NULL);
	FN(void (*)(domain_type *, id_type), region_end)(d, id_a);
	FN(void (*)(domain_type *, id_type *), frame_begin_v3)(d, NULL);
	FN(void (*)(domain_type *, id_type *), frame_end_v3)(d, NULL);
	FN(void (*)(domain_type *, id_type *, ull, ull), frame_submit_v3)(d, &frame_id, now, ~0ull);
	FN(void (*)(domain_type *, id_type *, ull, ull), frame_submit_v3)(d, NULL, now + 9, now);
	for (int scope = 0; scope <= 5; scope++)
		FN(void (*)(domain_type *, id_type, string_type *, int), marker)
	(d, no_id, text("mark"), scope);
	FN(void (*)(domain_type *, void *, ull, id_type, string_type *, int), marker_ex)
	(d, NULL, now, id_a, text("mark ex"), 1);
	FN(void (*)(domain_type *, id_type), id_create)(d, id_a);
	FN(void (*)(domain_type *, id_type), id_destroy)(d, id_a);
	FN(void (*)(domain_type *, void *, ull, id_type), id_create_ex)(d, NULL, now, id_b);
	FN(void (*)(domain_type *, void *, ull, id_type), id_destroy_ex)(d, NULL, now + 1, id_b);
	for (int relation = 0; relation <= 7; relation++)
		FN(void (*)(domain_type *, id_type, int, id_type), relation_add)
	(d, id_a, relation, id_b);
	itt_task_begin(d, text("current"));
	FN(void (*)(domain_type *, int, id_type), relation_add_to_current)(d, 3, id_a);
	FN(void (*)(domain_type *, void *, ull, int, id_type), relation_add_to_current_ex)
	(d, NULL, now, 4, id_a);
	FN(void (*)(domain_type *, void *, ull, id_type, int, id_type), relation_add_ex)
	(d, NULL, now, id_b, 5, id_a);
	itt_task_end(d);
}

static void test_structure(void **state)
{
	const struct event *event;

	(void)state;
	server_run(&server, NULL, structure);
	event = record(ST_EVENT_OVERLAPPED_BEGIN, 0);
	assert_string_equal(event->domain, "dom");
	assert_string_equal(event->name, "over");
	assert_id(event->id, id_a);
	assert_id(event->other, id_b);
	assert_false(event->mask & (ST_FIELD_TIME | ST_FIELD_CLOCK));
	assert_id(record(ST_EVENT_OVERLAPPED_END, 0)->id, id_a);
	event = record(ST_EVENT_OVERLAPPED_BEGIN, 1);
	assert_string_equal(event->name, "over ex");
	assert_true(event->given_time && event->given_time <= event->time);
	assert_false(event->mask & (ST_FIELD_OTHER | ST_FIELD_CLOCK));
	assert_int_equal(record(ST_EVENT_OVERLAPPED_END, 1)->given_time, event->given_time + 5);
	assert_string_equal(record(ST_EVENT_TASK_GROUP, 0)->name, "group");
	assert_string_equal(record(ST_EVENT_REGION_BEGIN, 0)->name, "");
	assert_id(record(ST_EVENT_REGION_BEGIN, 0)->id, id_a);
	assert_id(record(ST_EVENT_REGION_END, 0)->id, id_a);
	assert_int_equal(record(ST_EVENT_FRAME_BEGIN, 0)->mask, ST_FIELD_NAMES);
	assert_string_equal(record(ST_EVENT_FRAME_END, 0)->domain, "dom");
	event = record(ST_EVENT_FRAME_SUBMIT, 0);
	assert_id(event->id, id_a);
	assert_true(event->extra > event->given_time && event->extra <= event->time);
	event = record(ST_EVENT_FRAME_SUBMIT, 1);
	assert_int_equal(event->given_time, event->extra + 9);
	for (uint32_t scope = 0; scope <= 5; scope++)
		assert_int_equal(record(ST_EVENT_MARKER, scope)->detail, scope);
	event = record(ST_EVENT_MARKER, 6);
	assert_string_equal(event->name, "mark ex");
	assert_id(event->id, id_a);
	assert_true(event->mask & ST_FIELD_TIME);
	assert_id(record(ST_EVENT_ID_CREATE, 0)->id, id_a);
	assert_id(record(ST_EVENT_ID_DESTROY, 0)->id, id_a);
	assert_int_equal(record(ST_EVENT_ID_DESTROY, 1)->given_time,
			 record(ST_EVENT_ID_CREATE, 1)->given_time + 1);
	for (uint32_t relation = 0; relation <= 7; relation++)
		assert_int_equal(record(ST_EVENT_RELATION, relation)->detail, relation);
	assert_id(record(ST_EVENT_RELATION, 1)->id, id_a);
	assert_id(record(ST_EVENT_RELATION, 1)->other, id_b);
	assert_false(record(ST_EVENT_RELATION, 8)->mask & ST_FIELD_ID);
	assert_int_equal(record(ST_EVENT_RELATION, 9)->detail, 4);
	assert_id(record(ST_EVENT_RELATION, 10)->id, id_b);
	assert_int_equal(server_record_count(&server, ST_EVENT_RELATION), 11);
	assert_int_equal(server_events_dropped(&server), 0);
	assert_int_equal(server_dropped(&server), 0);
}

/* --- tasks with more than a name --- */

static void begin_with_ids(domain_type *d, id_type id, id_type parent, const char *name)
{
	FN(void (*)(domain_type *, id_type, id_type, string_type *), task_begin)
	(d, id, parent, text(name));
}

static void task_facts(void)
{
	domain_type *d;

	load();
	d = itt_domain_create("dom");
	begin_with_ids(d, id_a, no_id, "with id");
	begin_with_ids(d, no_id, id_a, "with parent");
	begin_with_ids(d, no_id, no_id, "without");
	itt_task_end(d);
	itt_task_end(d);
	itt_task_end(d);
	FN(void (*)(domain_type *, id_type, id_type, void *), task_begin_fn)
	(d, id_b, no_id, (void *)0xabc0);
	itt_task_end(d);
}

static void test_task_facts(void **state)
{
	const struct event *begin, *event;

	(void)state;
	server_run(&server, NULL, task_facts);
	assert_int_equal(server_count(&server, EVENT_BEGIN, NULL), 4);
	assert_int_equal(server_record_count(&server, ST_EVENT_TASK_ID), 3);
	begin = server_event(&server, EVENT_BEGIN, 0);
	event = record(ST_EVENT_TASK_ID, 0);
	assert_true(event == begin + 1); /* right behind it, at the same time */
	assert_int_equal(event->time, begin->time);
	assert_int_equal(event->mask, ST_FIELD_ID);
	assert_id(event->id, id_a);
	assert_int_equal(record(ST_EVENT_TASK_ID, 1)->mask, ST_FIELD_OTHER);
	assert_id(record(ST_EVENT_TASK_ID, 1)->other, id_a);
	assert_id(record(ST_EVENT_TASK_ID, 2)->id, id_b);
	assert_int_equal(record(ST_EVENT_TASK_FN, 0)->value, 0xabc0);
	assert_int_equal(server_count(&server, EVENT_BEGIN, "0xabc0"), 1);
}

enum { FUNCTION_BYTES = 2048 }; /* more than any of these has, however compiled */

/* Two places that call, so that one name is begun by both in turn. */
static __attribute__((noinline)) void first_caller(domain_type *d, const char *name)
{
	FN(void (*)(domain_type *, id_type, id_type, string_type *), task_begin)
	(d, no_id, no_id, text(name));
	itt_task_end(d);
}

static __attribute__((noinline)) void second_caller(domain_type *d, const char *name)
{
	FN(void (*)(domain_type *, id_type, id_type, string_type *), task_begin)
	(d, no_id, no_id, text(name));
	itt_task_end(d);
}

static void callers(void)
{
	domain_type *d;

	load();
	d = itt_domain_create("dom");
	for (int i = 0; i < 3; i++) {
		first_caller(d, "shared");
		first_caller(d, "first");
		second_caller(d, "shared");
	}
	itt_pause();
	FN(void (*)(domain_type *, id_type, id_type, string_type *), task_begin)
	(d, no_id, no_id, text("first"));
	itt_resume();
	itt_task_end(d);
}

static void test_callers(void **state)
{
	uint64_t first, second;

	(void)state;
	server_run(&server, NULL, callers);
	first = server_event(&server, EVENT_BEGIN, 0)->caller;
	second = server_event(&server, EVENT_BEGIN, 2)->caller;
	assert_true(first != second);
	/* The child has our own text segment, at the same place. */
	assert_in_range(first, (uintptr_t)first_caller, (uintptr_t)first_caller + FUNCTION_BYTES);
	assert_in_range(second, (uintptr_t)second_caller,
			(uintptr_t)second_caller + FUNCTION_BYTES);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(server_event(&server, EVENT_BEGIN, i)->caller,
				 i % 3 == 2 ? second : first);
	assert_in_range(server_event(&server, EVENT_BEGIN, 9)->caller, (uintptr_t)callers,
			(uintptr_t)callers + FUNCTION_BYTES);
}

/* --- metadata --- */

enum { HUGE_COUNT = 100000 };

static void metadata(void)
{
	void (*add)(domain_type *, id_type, string_type *, int, size_t, void *);
	void (*add_text)(domain_type *, id_type, string_type *, const char *, size_t);
	static uint64_t values[HUGE_COUNT];
	static char long_text[ST_EVENT_DATA_MAX + 100];
	char raw[32];
	domain_type *d;

	load();
	d = itt_domain_create("dom");
	/* A two-byte character lies across the cut. */
	for (size_t i = 1; i + 1 < sizeof(long_text); i += 2)
		memcpy(long_text + i, "\xc3\xa4", 2);
	long_text[0] = 'x';
	add = FN(__typeof__(add), metadata_add);
	add_text = FN(__typeof__(add_text), metadata_str_add);
	for (int i = 0; i < HUGE_COUNT; i++)
		values[i] = (uint64_t)i * 3;
	memcpy(raw, "0123456789abcdefghijklmnopqrstu", 32);
	itt_task_begin(d, text("task"));
	for (int type = 0; type <= 9; type++)
		add(d, no_id, text("key"), type, 2, raw + 1);
	add(d, id_a, text("nothing"), 1, 0, raw);
	add(d, no_id, text("null"), 1, 3, NULL);
	add(d, no_id, text("huge"), 1, HUGE_COUNT, values);
	add_text(d, no_id, text("text"), "whole", (size_t)-1);
	add_text(d, no_id, text("text"), "a\0b-not this", 3);
	add_text(d, id_b, text("text"), "", 0);
	add_text(d, id_b, text("text"), NULL, (size_t)-1);
	add_text(d, id_b, text("text"), long_text, sizeof(long_text));
	FN(void (*)(domain_type *, int, string_type *, int, size_t, void *),
	   metadata_add_with_scope)
	(d, 3, text("scoped"), 3, 1, raw);
	FN(void (*)(domain_type *, int, string_type *, const char *, size_t),
	   metadata_str_add_with_scope)
	(d, 5, text("scoped"), "abc", 2);
	itt_task_end(d);
}

static void test_metadata(void **state)
{
	static const size_t sizes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8, 0};
	const struct event *event;

	(void)state;
	server_run(&server, NULL, metadata);
	for (uint32_t type = 0; type <= 9; type++) {
		event = record(ST_EVENT_METADATA, type);
		assert_int_equal(event->detail, type);
		assert_string_equal(event->name, "key");
		assert_int_equal(event->extra, 2);
		assert_false(event->mask & ST_FIELD_ID);
		assert_int_equal(event->data_bytes, 2 * sizes[type]);
		assert_int_equal(!(event->mask & ST_FIELD_DATA), !sizes[type]);
		assert_memory_equal(event->data ? event->data : "", "123456789abcdefghi",
				    event->data_bytes);
	}
	event = record(ST_EVENT_METADATA, 10);
	assert_id(event->id, id_a);
	assert_true(event->mask & ST_FIELD_DATA && !event->data_bytes);
	event = record(ST_EVENT_METADATA, 11);
	assert_int_equal(event->extra, 3);
	assert_false(event->mask & ST_FIELD_DATA);
	event = record(ST_EVENT_METADATA, 12);
	assert_int_equal(event->extra, HUGE_COUNT);
	assert_int_equal(event->data_bytes, ST_EVENT_DATA_MAX);
	for (uint64_t i = 0; i < ST_EVENT_DATA_MAX / 8; i++)
		assert_int_equal(((const uint64_t *)(const void *)event->data)[i], i * 3);
	assert_int_equal(server_events_cut(&server), 2);
	assert_string_equal(record(ST_EVENT_METADATA_TEXT, 0)->data, "whole");
	event = record(ST_EVENT_METADATA_TEXT, 1);
	assert_int_equal(event->data_bytes, 3);
	assert_memory_equal(event->data, "a\0b", 3);
	assert_int_equal(record(ST_EVENT_METADATA_TEXT, 2)->data_bytes, 0);
	assert_id(record(ST_EVENT_METADATA_TEXT, 2)->id, id_b);
	assert_false(record(ST_EVENT_METADATA_TEXT, 3)->mask & ST_FIELD_DATA);
	event = record(ST_EVENT_METADATA_TEXT, 4);
	assert_int_equal(event->extra, ST_EVENT_DATA_MAX + 100);
	assert_int_equal(event->data_bytes, ST_EVENT_DATA_MAX - 1);
	event = record(ST_EVENT_METADATA_SCOPED, 0);
	assert_int_equal(event->detail, 3 | 3 << 16);
	assert_memory_equal(event->data, "0123", 4);
	event = record(ST_EVENT_METADATA_TEXT_SCOPED, 0);
	assert_int_equal(event->detail, 5 << 16);
	assert_string_equal(event->data, "ab");
}

/* --- counters --- */

static void counters(void)
{
	void *(*create)(const char *, const char *, int);
	void (*set)(void *, void *);
	domain_type *d;
	void *counter;
	uint64_t u64 = ~0ull - 5;
	int64_t s64 = -6;
	uint32_t u32 = 4000000000u;
	int32_t s32 = -7;
	uint16_t u16 = 65000;
	int16_t s16 = -8;
	float f32 = 1.5f;
	double f64 = NAN;
	void *values[] = {NULL, &u64, &s64, &u32, &s32, &u16, &s16, &f32, &f64};
	char name[16];

	load();
	d = itt_domain_create("dom");
	create = FN(__typeof__(create), counter_create_typed);
	set = FN(__typeof__(set), counter_set_value);
	for (int type = 1; type <= 8; type++) {
		snprintf(name, sizeof(name), "typed %d", type);
		counter = create(name, "counters", type);
		if (counter != create(name, "counters", type) ||
		    counter == create(name, NULL, type))
			_exit(1);
		set(counter, values[type]);
		FN(__typeof__(set), counter_set_value_v3)(counter, values[type]);
	}
	counter = FN(void *(*)(const char *, const char *), counter_create)("plain", NULL);
	FN(void (*)(void *), counter_inc)(counter);
	FN(void (*)(void *), counter_dec)(counter);
	FN(void (*)(void *, ull), counter_inc_delta)(counter, 10);
	FN(void (*)(void *, ull), counter_dec_delta)(counter, 4);
	FN(void (*)(void *, void *, ull, void *), counter_set_value_ex)(counter, NULL, 123, &u64);
	set(counter, NULL);
	set(NULL, &u64);
	counter = FN(void *(*)(domain_type *, const char *, int), counter_create_v3)(d, "v3", 1);
	if (counter != create("v3", "dom", 1))
		_exit(2);
	FN(void (*)(void *), counter_destroy)(counter);
	set(counter, &u64);
	FN(void (*)(domain_type *, string_type *), counter_inc_v3)(d, text("named"));
	FN(void (*)(domain_type *, string_type *), counter_dec_v3)(d, text("named"));
	FN(void (*)(domain_type *, string_type *, ull), counter_inc_delta_v3)(d, text("named"), 7);
	FN(void (*)(domain_type *, string_type *, ull), counter_dec_delta_v3)(d, text("named"), 8);
}

static void test_counters(void **state)
{
	static const int64_t expected[] = {0, -6, -6, 4000000000, -7, 65000, -8};
	const struct event *event;
	double value;

	(void)state;
	server_run(&server, NULL, counters);
	for (uint32_t type = 1; type <= 8; type++) {
		event = record(ST_EVENT_COUNTER_SET, 2 * (type - 1));
		assert_int_equal(event->object->head.type, type);
		assert_string_equal(event->object->second, "counters");
		assert_int_equal(event->object->head.flags, 1);
		if (type <= 6)
			assert_int_equal((int64_t)event->value, expected[type]);
		memcpy(&value, &event->value, sizeof(value));
		assert_true(type != 7 || value == 1.5);
		assert_true(type != 8 || isnan(value));
		assert_int_equal(record(ST_EVENT_COUNTER_SET, 2 * type - 1)->value, event->value);
	}
	assert_int_equal((int64_t)record(ST_EVENT_COUNTER_ADD, 0)->value, 1);
	assert_int_equal((int64_t)record(ST_EVENT_COUNTER_ADD, 1)->value, -1);
	assert_int_equal((int64_t)record(ST_EVENT_COUNTER_ADD, 2)->value, 10);
	assert_int_equal((int64_t)record(ST_EVENT_COUNTER_ADD, 3)->value, -4);
	assert_string_equal(record(ST_EVENT_COUNTER_ADD, 0)->object->name, "plain");
	assert_int_equal(record(ST_EVENT_COUNTER_ADD, 0)->object->head.flags, 0);
	event = record(ST_EVENT_COUNTER_SET, 16);
	assert_int_equal(event->given_time, 123);
	assert_false(record(ST_EVENT_COUNTER_SET, 17)->mask & ST_FIELD_VALUE);
	assert_string_equal(record(ST_EVENT_COUNTER_DESTROY, 0)->object->second, "dom");
	assert_int_equal(server_record_count(&server, ST_EVENT_COUNTER_SET), 19);
	for (size_t i = 4; i < 8; i++) {
		event = record(ST_EVENT_COUNTER_ADD, i);
		assert_string_equal(event->name, "named");
		assert_string_equal(event->domain, "dom");
		assert_null(event->object);
	}
	assert_int_equal((int64_t)record(ST_EVENT_COUNTER_ADD, 7)->value, -8);
	/* 16 typed ones (with and without domain), plain, v3. */
	assert_int_equal(server.processes[0].object_count, 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_structure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_task_facts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_callers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_metadata, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
