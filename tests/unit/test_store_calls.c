// SPDX-License-Identifier: Apache-2.0
//
// Calls of Python functions of an open result: nesting, what is open when recording stops, tracks among each other, and
// damage. Expected values are worked out by hand from what each test writes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "open_fixture.h"
#include "store/traced_calls.h"

static void call(struct fixture *f, uint64_t time, uint32_t name)
{
	st_slice_encoder_begin(&f->m.slices, time, 0, name, 0);
}

static void leave(struct fixture *f, uint64_t time)
{
	st_slice_encoder_end(&f->m.slices, time, 0);
}

static void stop(struct fixture *f, uint64_t time)
{
	st_slice_encoder_mark(&f->m.slices, time, ST_MARK_CALLS_STOP, 0);
}

/* What was added since, as a chunk of calls. */
static void write_as(struct fixture *f, uint32_t track)
{
	struct st_chunk_header header = {.type = ST_CHUNK_CALLS, .process = 1, .track = track};
	struct st_buf payload;

	st_buf_init(&payload, 1 << 20);
	assert_true(st_slice_encoder_finish(&f->m.slices, &header, &payload));
	maker_raw_chunk(&f->m, header, payload.data, payload.size_bytes);
	st_slice_encoder_clear(&f->m.slices);
	st_buf_fini(&payload);
}

static const struct st_traced_call *open_calls(struct fixture *f, uint32_t expected)
{
	const struct st_traced_call *calls;
	uint32_t count;

	maker_end(&f->m);
	fixture_open(f);
	calls = st_result_traced_calls(f->result, &count);
	assert_int_equal(count, expected);
	return calls;
}

static void check(const struct fixture *f, const struct st_traced_call *call, const char *name,
		  int64_t begin_ns, int64_t end_ns)
{
	struct st_text text = st_result_text(f->result, call->name);

	assert_int_equal(text.size_bytes, strlen(name));
	assert_memory_equal(text.bytes, name, text.size_bytes);
	assert_int_equal(call->begin_ns, begin_ns);
	assert_int_equal(call->end_ns, end_ns);
}

/* They are no slices: whoever looks at those sees none. */
static void test_nesting(void **state)
{
	struct fixture *f = *state;
	const struct st_traced_call *calls;

	leave(f, 5); /* began where nobody looked */
	call(f, 10, 1);
	call(f, 20, 2);
	leave(f, 30);
	write_as(f, 1);
	call(f, 40, 2);
	leave(f, 50);
	leave(f, 60);
	write_as(f, 1);
	calls = open_calls(f, 3);
	check(f, &calls[0], "a", 10, 60);
	check(f, &calls[1], "b", 20, 30);
	check(f, &calls[2], "b", 40, 50);
	assert_int_equal(calls[0].parent, ST_NO_ROW);
	assert_int_equal(calls[1].parent, 0);
	assert_int_equal(calls[2].parent, 0);
	assert_int_equal(st_result_slices(f->result)->count, 0);
}

/* On every thread; what comes back later was it, no more. What began after it is of the next time. */
static void test_stop(void **state)
{
	struct fixture *f = *state;
	const struct st_traced_call *calls;

	maker_thread(&f->m, 2, 102);
	maker_define(&f->m, 1);
	call(f, 10, 1);
	write_as(f, 2);
	call(f, 20, 2);
	leave(f, 25);
	stop(f, 30);
	call(f, 50, 2);
	write_as(f, 1);
	leave(f, 40);
	call(f, 60, 1);
	leave(f, 70);
	write_as(f, 2);
	calls = open_calls(f, 4);
	check(f, &calls[0], "b", 20, 25);
	check(f, &calls[1], "b", 50, calls[1].end_ns);
	assert_int_equal(calls[1].flags, ST_SLICE_UNFINISHED);
	check(f, &calls[2], "a", 10, 30);
	check(f, &calls[3], "a", 60, 70);
	assert_int_equal(calls[2].flags, 0);
	assert_int_equal(calls[3].parent, ST_NO_ROW);
}

/* An index from disk holds them, too. */
static void test_twice(void **state)
{
	struct fixture *f = *state;
	char *folder = temporary_folder();
	const struct st_traced_call *calls;
	uint32_t count;

	call(f, 10, 1);
	leave(f, 20);
	write_as(f, 1);
	maker_end(&f->m);
	maker_write(&f->m, folder);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(st_result_open(&f->result, folder, NULL, &f->err), ST_OK);
		calls = st_result_traced_calls(f->result, &count);
		assert_int_equal(count, 1);
		check(f, calls, "a", 10, 20);
		st_result_close(f->result);
		f->result = NULL;
	}
	remove_folder(folder);
	free(folder);
}

/* A chunk that cannot be, and one that is cut off in the middle: the others are there. */
static void test_damage(void **state)
{
	struct fixture *f = *state;
	const struct st_traced_call *calls;
	const uint8_t cut[20] = {4};
	struct st_chunk_header header = {.type = ST_CHUNK_CALLS,
					 .process = 1,
					 .track = 1,
					 .record_count = 4,
					 .begin_count = 400};

	call(f, 10, 1);
	leave(f, 20);
	write_as(f, 1);
	maker_raw_chunk(&f->m, header, cut, sizeof(cut));
	header.begin_count = header.record_count = 1;
	maker_raw_chunk(&f->m, header, cut, sizeof(cut));
	calls = open_calls(f, 1);
	check(f, &calls[0], "a", 10, 20);
	assert_true(has_note(f->result, "damaged"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nesting, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_stop, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_twice, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_damage, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
