// SPDX-License-Identifier: Apache-2.0
//
// What is made of events: values by type, counters over time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/datasets/counters.h"
#include "analyze/datasets/itt_values.h"
#include "base/arena.h"
#include "base/buf.h"
#include "fake_result.h"

static uint64_t bits_of(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static void test_values(void **state)
{
	float narrow = 2.5f;
	uint32_t bits;

	(void)state;
	memcpy(&bits, &narrow, sizeof(bits));
	assert_true(st_value_number(ST_VALUE_FLOAT, bits) == 2.5);
	assert_true(st_value_number(ST_VALUE_DOUBLE, bits_of(-0.125)) == -0.125);
	assert_true(st_value_number(ST_VALUE_U64, UINT64_MAX) == 18446744073709551615.0);
	/* Whether a collector widens with the sign or with zeros makes no difference. */
	assert_true(st_value_number(ST_VALUE_S32, 0xfffffffe) == -2.0);
	assert_true(st_value_number(ST_VALUE_S32, (uint64_t)-2) == -2.0);
	assert_true(st_value_number(ST_VALUE_S16, 0x8000) == -32768.0);
	assert_true(st_value_number(ST_VALUE_U16, 0xffff8000) == 32768.0);
	assert_int_equal((int64_t)st_value_integer(ST_VALUE_S64, (uint64_t)INT64_MIN), INT64_MIN);
}

static void check_text(uint32_t type, const void *data, size_t size, const char *expected)
{
	struct st_buf out;

	st_buf_init(&out, 1000);
	st_values_write(&out, type, (struct st_text){data, size});
	assert_int_equal(out.size_bytes, strlen(expected));
	assert_memory_equal(out.data, expected, out.size_bytes);
	st_buf_fini(&out);
}

static void test_arrays(void **state)
{
	const int16_t words[] = {-1, 2, 32767};
	const double numbers[] = {0.5};
	const uint64_t large[] = {UINT64_MAX, 0};

	(void)state;
	check_text(ST_VALUE_S16, words, sizeof(words), "[-1,2,32767]");
	check_text(ST_VALUE_U16, words, sizeof(words), "[65535,2,32767]");
	check_text(ST_VALUE_DOUBLE, numbers, sizeof(numbers), "0.5");
	check_text(ST_VALUE_U64, large, sizeof(large), "[18446744073709551615,0]");
	/* No whole elements, or a type nobody knows: the bytes. */
	check_text(ST_VALUE_U32, "\x01\x02\x03", 3, "010203");
	check_text(99, "\xff\x00", 2, "ff00");
	check_text(ST_VALUE_U32, "", 0, "");
}

static void test_id_text(void **state)
{
	const struct st_itt_id id = {{1, UINT64_MAX, 0}}, null = {{0, 0, 0}};
	struct st_arena arena;

	(void)state;
	st_arena_init(&arena, 1000);
	assert_string_equal(st_itt_id_text(&id, &arena).bytes, "1:18446744073709551615:0");
	assert_int_equal(st_itt_id_text(&null, &arena).size_bytes, 0);
	st_arena_fini(&arena);
}

static void add_sample(struct st_result *fake, uint32_t object, uint16_t kind, uint32_t track,
		       int64_t time_ns, uint64_t value)
{
	fake_event(fake, (struct st_event_row){.time_ns = time_ns,
					       .track = track,
					       .slice = ST_NO_ROW,
					       .object = object,
					       .kind = kind,
					       .value = value});
}

static void test_counters(void **state)
{
	struct st_result *fake = fake_create();
	uint32_t queue, loss, level, never, mark;
	struct st_counters counters;
	struct st_error err;
	const struct st_counter *counter;

	(void)state;
	fake_process(fake, "train.py", 100);
	fake_track(fake, 0, "", 100);
	fake_track(fake, 0, "", 101);
	queue = fake_object(fake, ST_OBJECT_COUNTER, ST_VALUE_U64, "D", "queue");
	mark = fake_object(fake, ST_OBJECT_MARK_TYPE, 0, NULL, "no counter");
	loss = fake_object(fake, ST_OBJECT_COUNTER, ST_VALUE_FLOAT, NULL, "loss");
	level = fake_object(fake, ST_OBJECT_COUNTER, ST_VALUE_U64, "D", "level");
	never = fake_object(fake, ST_OBJECT_COUNTER, ST_VALUE_S32, "D", "never");
	fake->facts[fake->fact_count++] =
		(struct st_object_fact){loss, 5, 0, fake_text(fake, "nats")};
	fake->facts[fake->fact_count++] = (struct st_object_fact){mark, 5, 0, 0};
	/* Both threads count the queue up and down; its value follows time, not the threads. */
	add_sample(fake, queue, ST_EVENT_COUNTER_ADD, 0, 10, 5);
	add_sample(fake, queue, ST_EVENT_COUNTER_ADD, 0, 30, (uint64_t)-3);
	/* A float is widened to a double by the collector. */
	add_sample(fake, loss, ST_EVENT_COUNTER_SET, 0, 11, bits_of(2.5));
	add_sample(fake, loss, ST_EVENT_COUNTER_SET, 0, 12, bits_of(2.0));
	add_sample(fake, level, ST_EVENT_COUNTER_SET, 0, 13, UINT64_MAX);
	add_sample(fake, ST_NO_ROW, ST_EVENT_COUNTER_ADD, 0, 14, 1);
	add_sample(fake, mark, ST_EVENT_MARK, 0, 15, 1);
	add_sample(fake, queue, ST_EVENT_COUNTER_ADD, 1, 20, (uint64_t)-6);
	fake_finish(fake);

	assert_int_equal(st_counters_make(&counters, fake, &err), ST_OK);
	assert_int_equal(counters.count, 4);
	assert_int_equal(counters.sample_count, 6);
	counter = &counters.counters[0];
	assert_int_equal(counter->object, queue);
	assert_int_equal(counter->sample_count, 3);
	assert_int_equal(counter->form, ST_COUNTER_SIGNED);
	assert_int_equal(counter->samples[0].integer, 5);
	assert_int_equal(counter->samples[1].integer, -1);
	assert_int_equal(counter->samples[1].track, 1);
	assert_int_equal(counter->samples[2].integer, -4);
	assert_true(counter->samples[1].number == -1.0 && counter->samples[1].delta == -6.0);
	counter = &counters.counters[1];
	assert_int_equal(counter->form, ST_COUNTER_FLOAT);
	assert_true(counter->samples[1].number == 2.0 && counter->samples[1].delta == -0.5);
	assert_string_equal(st_result_text(fake, counter->unit).bytes, "nats");
	counter = &counters.counters[2];
	assert_int_equal(counter->form, ST_COUNTER_UNSIGNED);
	assert_true((uint64_t)counter->samples[0].integer == UINT64_MAX);
	assert_true(counter->samples[0].number == 18446744073709551615.0);
	assert_int_equal(counters.counters[3].object, never);
	assert_int_equal(counters.counters[3].sample_count, 0);
	st_counters_fini(&counters);
	fake_destroy(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_id_text),
		cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
